/* The ladder: the model orders, the simulator decides.
 *
 * After the first round the ratio sim/model of everything simulated says how far
 * below its model figure a schedule may fall: 5 % fall below the quantile q. An
 * unsimulated rung with model * q under the best simulated could still win, so k
 * widens, a fixed number at a time (never one derived from threads), until there
 * is none or max_k is reached. The best by the model are often one set of tiles with
 * many placements, right or wrong together: kinds of tiles take turns. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "eval/evaluator.h"

static bool stop(const hone_ladder_options *o)
{
  return o->interrupted && *o->interrupted;
}

/* Simulates the picked rungs in pieces of fixed size, so that an interrupt is
 * noticed; what is left then stays unsimulated. */
static hone_status simulate(hone_evaluator *sim, int n, hone_rung *rung, const bool *pick, const hone_ladder_options *o,
                            hone_err *err)
{
  enum { PIECE = 8 };
  for (int i = 0; i < n && !stop(o);) {
    const hone_schedule *s[PIECE];
    int index[PIECE], m = 0;
    for (; i < n && m < PIECE; i++) {
      if (!pick[i] || rung[i].simulated) continue;
      if (o->known && o->known(o->known_arg, &rung[i], &rung[i].sim)) {
        rung[i].simulated = true;
        continue;
      }
      index[m] = i;
      s[m++] = &rung[i].schedule;
    }
    hone_outcome out[PIECE];
    hone_status st = hone_evaluator_batch(sim, m, s, out, err);
    if (st != HONE_OK) return st;
    for (int j = 0; j < m; j++) {
      rung[index[j]].sim = out[j];
      rung[index[j]].simulated = true;
    }
  }
  return HONE_OK;
}

static bool succeeded(const hone_rung *r)
{
  return r->simulated && r->sim.reason == HONE_REASON_NONE && r->model.reason == HONE_REASON_NONE;
}

static int by_value(const void *x, const void *y)
{
  double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

/* 5 % quantile of sim/model, the lower neighbour; 0 without data (so that
 * everything still looks promising). Also the best simulated cycles. */
static double lower_ratio(int n, const hone_rung *rung, int64_t *best)
{
  double *ratio = hone_heap_alloc((size_t)n, sizeof *ratio);
  int m = 0;
  *best = INT64_MAX;
  for (int i = 0; i < n; i++) {
    if (!succeeded(&rung[i])) continue;
    ratio[m++] = (double)rung[i].sim.cycles / (double)rung[i].model.cycles;
    *best = hone_min64(*best, rung[i].sim.cycles);
  }
  double q = 0;
  if (m > 0) {
    qsort(ratio, (size_t)m, sizeof *ratio, by_value);
    q = ratio[m / 20];
  }
  free(ratio);
  return q;
}

static bool affordable(const hone_rung *r, const hone_ladder_options *o)
{
  return o->max_events == 0 || r->model.events <= o->max_events;
}

/* Marks `samples` of the affordable ranks first..n-1, spread evenly: the middle
 * of each stratum. */
static void mark_samples(int n, const hone_rung *rung, int first, const hone_ladder_options *o, bool *sample)
{
  int64_t rest = 0, seen = 0, taken = 0;
  for (int i = first; i < n; i++) rest += affordable(&rung[i], o);
  int64_t samples = hone_min64(o->samples, rest);
  for (int i = first; i < n && taken < samples; i++) {
    if (!affordable(&rung[i], o)) continue;
    if (seen++ != (2 * taken + 1) * rest / (2 * samples)) continue;
    sample[i] = true;
    taken++;
  }
}

/* Do the schedules cut every dim alike? What the model gets wrong it gets wrong for
 * all of these. */
static bool alike(const hone_schedule *a, const hone_schedule *b)
{
  return memcmp(a->tile, b->tile, sizeof a->tile) == 0;
}

/* first[i]: the first rung with the tiles of rung i. */
static void group(int n, const hone_rung *rung, int *first)
{
  for (int i = 0; i < n; i++) {
    first[i] = i;
    for (int j = 0; j < i && first[i] == i; j++)
      if (first[j] == j && alike(&rung[i].schedule, &rung[j].schedule)) first[i] = j;
  }
}

/* Marks the next `chunk` unsimulated rungs that could still win, of kinds of tiles
 * simulated least often first, then by rank; 0 when none can. seen[i]: how often the
 * kind that begins at rung i has been simulated. */
static int mark_promising(int n, const hone_rung *rung, const hone_ladder_options *o, int chunk, double q, int64_t best,
                          const int *first, bool *pick)
{
  int marked = 0, *seen = hone_heap_alloc((size_t)n, sizeof *seen);
  for (int i = 0; i < n; i++) {
    seen[first[i]] += rung[i].simulated;
    pick[i] = false;
  }
  for (; marked < chunk; marked++) {
    int next = -1;
    for (int i = 0; i < n; i++) {
      if (pick[i] || rung[i].simulated || rung[i].model.reason != HONE_REASON_NONE || !affordable(&rung[i], o)) continue;
      if (best != INT64_MAX && (double)rung[i].model.cycles * q >= (double)best) break; /* ordered: nobody after it either */
      if (next < 0 || seen[first[i]] < seen[first[next]]) next = i;
    }
    if (next < 0) break;
    pick[next] = true;
    seen[first[next]]++;
  }
  free(seen);
  return marked;
}

/* Cycles of the rungs both could evaluate, of the samples only or of all. */
static int cycles_of(int n, const hone_rung *rung, const bool *only, int64_t *model, int64_t *sim)
{
  int m = 0;
  for (int i = 0; i < n; i++) {
    if (!succeeded(&rung[i]) || (only && !only[i])) continue;
    model[m] = rung[i].model.cycles;
    sim[m++] = rung[i].sim.cycles;
  }
  return m;
}

/* The first k are chosen for their model figures, which nearly tie: error and rank
 * correlation over them say how lucky the choice was, not how good the model is.
 * So those two are of the samples, the rest of all that was simulated. */
static void measure(int n, const hone_rung *rung, const bool *sample, int k, hone_fidelity *out)
{
  int64_t *model = hone_heap_alloc((size_t)n, sizeof *model), *sim = hone_heap_alloc((size_t)n, sizeof *sim);
  hone_fidelity all;
  hone_fidelity_measure(cycles_of(n, rung, NULL, model, sim), model, sim, k, &all);
  hone_fidelity_measure(cycles_of(n, rung, sample, model, sim), model, sim, k, out);
  if (out->n < 2) *out = all; /* none asked for, or k took everything */
  out->kendall_tau_top_decile = all.kendall_tau_top_decile;
  out->regret_pct = all.regret_pct;
  free(sim);
  free(model);
}

hone_status hone_ladder_run(hone_evaluator *sim, int n, hone_rung *rung, const hone_ladder_options *o,
                            hone_fidelity *fidelity, hone_err *err)
{
  *fidelity = (hone_fidelity){ 0 };
  if (n < 1) return HONE_OK;
  bool *pick = hone_heap_alloc((size_t)n, sizeof *pick), *sample = hone_heap_alloc((size_t)n, sizeof *sample);
  int k = o->k < n ? o->k : n, *first = hone_heap_alloc((size_t)n, sizeof *first);
  group(n, rung, first);
  mark_samples(n, rung, k, o, sample);
  for (int i = 0; i < n; i++) pick[i] = sample[i] || rung[i].wanted || (i < k && affordable(&rung[i], o));
  for (int i = 0; i < n; i++) rung[i].sampled = sample[i];
  hone_status st = simulate(sim, n, rung, pick, o, err);
  while (st == HONE_OK && k < o->max_k && !stop(o)) {
    int64_t best;
    double q = lower_ratio(n, rung, &best);
    int chunk = (int)hone_min64(o->k > 0 ? o->k : 1, o->max_k - k);
    int marked = mark_promising(n, rung, o, chunk, q, best, first, pick);
    if (marked == 0) break;
    k += marked;
    st = simulate(sim, n, rung, pick, o, err);
  }
  if (st == HONE_OK) measure(n, rung, sample, k, fidelity);
  free(first);
  free(sample);
  free(pick);
  return st;
}
