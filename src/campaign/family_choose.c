/* From costs to entries, the model and the simulator taking turns.
 *
 * The model knows every shape, the simulator few. So the cover is made on the
 * model; then candidates that serve an interval about equally well are simulated
 * at samples of it, one for each way to cut the shapes. One that turns out slower
 * than the default of a sample, or far from the best simulated there, is refuted:
 * it may no longer serve the shapes around that sample, and the cover is made
 * anew. What the model misjudges is mostly the clipped tile at the edge, so all
 * that clip as the refuted one does go with it. The best round counts. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "campaign/family_study.h"

enum { ROUNDS = 4 };
#define MODEL_LIMIT 0.05  /* loss on the model that simulation cannot excuse */
#define MODEL_SLACK 0.02  /* more loss on the model a candidate may have for better simulation */
#define REFUTED_LOSS 0.03 /* in simulation */

/* ---- the cover -------------------------------------------------------------- */

static void forbid(family *f, int member, int64_t i)
{
  int64_t *cost = &f->cost[(ptrdiff_t)member * f->n + i];
  if (*cost >= 0) *cost = ~*cost;
}

/* Never worse than the default: who is, may not serve that shape. */
static void forbid_worse(family *f)
{
  for (int c = 0; c < f->members; c++)
    for (int64_t i = 0; i < f->n; i++)
      if (!family_as_good(f, c, i)) forbid(f, c, i);
}

static bool is_served(const family *f, int64_t i)
{
  for (int c = 0; c < f->members; c++)
    if (f->cost[(ptrdiff_t)c * f->n + i] >= 0) return true;
  return false;
}

/* Where all are forbidden by now the best on the model may serve after all, for a
 * shape without an entry is worse. */
static void keep_served(family *f)
{
  for (int64_t i = 0; i < f->n; i++) {
    int best;
    if (is_served(f, i) || pool_best(f, i, 1, &best) == 0 || !family_as_good(f, best, i)) continue;
    f->cost[(ptrdiff_t)best * f->n + i] = family_cost(f, best, i);
  }
}

static int cover(const family *f, hone_cover_piece *piece, double *worst)
{
  hone_cover_problem p = { .n = f->n, .candidates = f->members, .cost = f->cost, .reference = f->reference };
  return hone_cover_choose(&p, f->task->entries, f->floor, piece, worst);
}

/* The first shape that something is legal at and nothing may serve; -1: none. */
static int64_t find_unserved(const family *f)
{
  for (int64_t i = 0; i < f->n; i++)
    if (f->reference[i] >= 0 && !is_served(f, i)) return i;
  return -1;
}

static void no_cover(family *f, int needed)
{
  hone_family_result *out = f->out;
  out->status = HONE_TUNE_INFEASIBLE;
  out->entries_needed = needed;
  if (needed == 0) snprintf(out->reason, sizeof out->reason, "no legal schedule was found at any shape of the range");
  else
    snprintf(out->reason, sizeof out->reason, "%d %s cannot serve the range without being worse than the default somewhere; %d can",
             f->task->entries, f->task->entries == 1 ? "entry" : "entries", needed);
}

static void unserved(family *f, int64_t i)
{
  hone_family_result *out = f->out;
  out->status = HONE_TUNE_INFEASIBLE;
  snprintf(out->reason, sizeof out->reason, "of the %d schedules tried everywhere none is legal and no worse than the default at %s=%lld",
           f->members, out->size, (long long)(f->lo + i));
}

/* ---- who competes ----------------------------------------------------------- */

typedef struct {
  int candidate;
  double mean;   /* loss over the piece */
  hone_hash cut; /* at its high end */
} rival;

/* Worst and mean loss of a candidate over a piece; false when not allowed. */
static bool loss_over(const family *f, const hone_cover_piece *a, int candidate, double *worst, double *mean)
{
  const int64_t *cost = f->cost + (ptrdiff_t)candidate * f->n;
  *worst = *mean = 0;
  for (int64_t i = a->lo; i <= a->hi; i++) {
    if (cost[i] < 0) return false;
    double loss = (double)(cost[i] - f->reference[i]) / (double)f->reference[i];
    *worst = fmax(*worst, loss);
    *mean += loss / (double)(a->hi - a->lo + 1);
  }
  return true;
}

static bool is_before(const rival *a, const rival *b)
{
  return a->mean < b->mean;
}

/* Keeps the best of each way to cut, the first place excepted. */
static void enter(rival *list, int *n, int room, const rival *new)
{
  int k = 0;
  for (int same = 0; same < *n; same++) {
    if (hone_hash_cmp(list[same].cut, new->cut) != 0) continue;
    if (same == 0 || !is_before(new, &list[same])) return;
    memmove(&list[same], &list[same + 1], (size_t)(*n - same - 1) * sizeof *list);
    --*n;
    break;
  }
  for (k = *n; k > 1 && is_before(new, &list[k - 1]); k--)
    if (k < room) list[k] = list[k - 1];
  if (k >= room) return;
  list[k] = *new;
  if (*n < room) ++*n;
}

/* The chosen one, and the best by mean loss of those within the slack. */
static hone_status make_shortlist(const family *f, const hone_cover_piece *a, double most, shortlist *out, hone_err *err)
{
  int room = (int)hone_min64(f->task->top_k, MOST_CANDIDATES), n = 0;
  rival list[MOST_CANDIDATES + 1];
  shape *x = NULL;
  double worst;
  hone_status st = shape_new(f, a->hi, SHAPE_MODEL, &x, err);
  if (st != HONE_OK) return st;
  for (int k = -1; k < f->members; k++) {
    rival r = { .candidate = k < 0 ? a->candidate : k };
    hone_schedule cut;
    bool allowed = loss_over(f, a, r.candidate, &worst, &r.mean) && worst <= most;
    if (k >= 0 && (k == a->candidate || !allowed)) continue;
    shape_cost(f, x, &f->member[r.candidate], &cut);
    r.cut = shape_cut(f, x, &cut);
    enter(list, &n, room, &r);
  }
  out->n = n;
  for (int k = 0; k < n; k++) out->candidate[k] = list[k].candidate;
  shape_free(x);
  return HONE_OK;
}

/* ---- verdicts --------------------------------------------------------------- */

static double loss_at(const sample *x, int k)
{
  return (double)(x->sim[k] - x->best) / (double)x->best;
}

static double margin_at(const sample *x, int k)
{
  return x->by_default >= 0 ? (double)x->by_default / (double)x->sim[k] - 1 : NAN;
}

/* A program too long to simulate is no failure; nothing is known there. */
static bool refuted(const sample *x, int k)
{
  if (x->failed[k]) return true;
  return x->sim[k] >= 0 && (loss_at(x, k) > REFUTED_LOSS || margin_at(x, k) < -HONE_SIGNIFICANT_GAIN_PCT / 100);
}

static verdict judge(const study *s, int piece, int k)
{
  verdict v = { .chosen = k, .loss = -1, .margin = NAN };
  for (int64_t j = 0; j < s->n; j++) {
    const sample *x = &s->sample[j];
    if (x->piece != piece) continue;
    v.failed += x->failed[k];
    v.refuted += refuted(x, k);
    v.unknown += x->sim[k] < 0 && !x->failed[k];
    if (x->sim[k] < 0) continue;
    v.samples++;
    v.margin = fmin(v.margin, margin_at(x, k));
    if (loss_at(x, k) <= v.loss) continue;
    v.loss = loss_at(x, k);
    v.loss_at = x->i;
  }
  return v;
}

/* What cannot be compiled loses to all else, then what is slower than the default;
 * and no program wins by being too long to simulate. */
static bool better(const verdict *a, const verdict *b)
{
  if (a->failed != b->failed) return a->failed < b->failed;
  if (a->unknown > b->unknown) return false;
  double under_a = fmin(a->margin, 0), under_b = fmin(b->margin, 0);
  if (under_a > under_b || under_a < under_b) return under_a > under_b;
  return a->loss < b->loss;
}

static verdict judge_all(const study *s, int piece)
{
  verdict best = judge(s, piece, 0);
  for (int k = 1; k < s->list[piece].n; k++) {
    verdict v = judge(s, piece, k);
    if (better(&v, &best)) best = v;
  }
  return best;
}

/* The worst of a round's pieces in each respect. */
static verdict worst_of(const verdict *v, int n)
{
  verdict w = { .loss = -1, .margin = NAN };
  for (int k = 0; k < n; k++) {
    w.failed += v[k].failed;
    w.refuted += v[k].refuted;
    w.unknown += v[k].unknown;
    w.samples += v[k].samples;
    w.margin = fmin(w.margin, v[k].margin);
    w.loss = fmax(w.loss, v[k].loss);
  }
  return w;
}

/* Does s clip a tile of what the range changes? */
static bool clips(const family *f, const shape *x, const hone_schedule *s)
{
  for (int d = 0; d < x->op.ndims; d++)
    for (int l = 1; l < f->task->machine->nlevels; l++)
      if ((f->moving >> d & 1u) && s->tile[l - 1][d] % s->tile[l][d] != 0) return true;
  return false;
}

/* A candidate refuted at a sample loses the shapes up to the samples beside it, as
 * do those that cut the sample as it does, if they clip. */
static hone_status forbid_refuted_at(family *f, const sample *at, int candidate, int64_t from, int64_t to, hone_err *err)
{
  shape *x = NULL;
  hone_schedule cut;
  hone_status st = shape_new(f, at->i, SHAPE_MODEL, &x, err);
  if (st != HONE_OK) return st;
  shape_cost(f, x, &f->member[candidate], &cut);
  hone_hash key = shape_cut(f, x, &cut);
  bool all = clips(f, x, &cut);
  for (int c = 0; c < f->members; c++) {
    if (c != candidate) shape_cost(f, x, &f->member[c], &cut);
    if (c != candidate && (!all || hone_hash_cmp(shape_cut(f, x, &cut), key) != 0)) continue;
    for (int64_t i = from; i <= to; i++) forbid(f, c, i);
  }
  shape_free(x);
  return HONE_OK;
}

static hone_status forbid_refuted(family *f, const study *s, const hone_cover_piece *piece, hone_err *err)
{
  hone_status st = HONE_OK;
  for (int64_t j = 0; j < s->n; j++) {
    const sample *x = &s->sample[j];
    int64_t from = piece[x->piece].lo, to = piece[x->piece].hi;
    if (j > 0 && s->sample[j - 1].piece == x->piece) from = s->sample[j - 1].i + 1;
    if (j + 1 < s->n && s->sample[j + 1].piece == x->piece) to = s->sample[j + 1].i - 1;
    for (int k = 0; k < s->list[x->piece].n && st == HONE_OK; k++)
      if (refuted(x, k)) st = forbid_refuted_at(f, x, s->list[x->piece].candidate[k], from, to, err);
  }
  keep_served(f);
  return st;
}

/* ---- rounds ----------------------------------------------------------------- */

typedef struct {
  int n;
  hone_cover_piece *piece;
  verdict *verdict;
  hone_fidelity fidelity;
} choice;

static choice choice_new(int entries)
{
  return (choice){ .piece = hone_heap_alloc((size_t)entries, sizeof(hone_cover_piece)),
                   .verdict = hone_heap_alloc((size_t)entries, sizeof(verdict)) };
}

static void choice_free(choice *c)
{
  free(c->piece);
  free(c->verdict);
}

/* Simulates the pieces' candidates and those with losses of at most `most`
 * (negative: nobody else); each piece gets the best of them. */
static hone_status simulate_round(family *f, study *s, double most, choice *c, hone_err *err)
{
  free(s->list);
  s->list = hone_heap_alloc((size_t)c->n, sizeof *s->list);
  hone_status st = HONE_OK;
  for (int k = 0; k < c->n && st == HONE_OK; k++) st = make_shortlist(f, &c->piece[k], most, &s->list[k], err);
  if (st == HONE_OK) st = study_run(f, s, c->piece, c->n, err);
  for (int k = 0; k < c->n && st == HONE_OK; k++) {
    c->verdict[k] = judge_all(s, k);
    c->piece[k].candidate = s->list[k].candidate[c->verdict[k].chosen];
  }
  if (st == HONE_OK) study_fidelity(s, c->verdict, &c->fidelity);
  return st;
}

/* Covers and simulates until nothing chosen is refuted. */
static hone_status take_turns(family *f, choice *best, hone_err *err)
{
  study s = { .n = 0 };
  choice now = choice_new(f->task->entries);
  hone_status st = HONE_OK;
  double worst;
  for (int round = 0; round < ROUNDS && st == HONE_OK; round++) {
    now.n = cover(f, now.piece, &worst);
    if (round == 0) f->out->least_loss_pct = 100 * worst;
    if (round == 0 && (now.n == 0 || now.n > f->task->entries)) no_cover(f, now.n);
    if (now.n == 0 || now.n > f->task->entries || (round > 0 && worst > MODEL_LIMIT)) break;
    double most = fmax(worst, fmin(fmax(worst, f->floor) + MODEL_SLACK, MODEL_LIMIT));
    if (f->task->machine->tile_machine) st = simulate_round(f, &s, most, &now, err);
    if (st != HONE_OK) break;
    verdict a = worst_of(now.verdict, now.n), b = worst_of(best->verdict, best->n);
    if (round == 0 || better(&a, &b)) {
      best->n = now.n;
      best->fidelity = now.fidelity;
      memcpy(best->piece, now.piece, (size_t)now.n * sizeof *now.piece);
      memcpy(best->verdict, now.verdict, (size_t)now.n * sizeof *now.verdict);
    }
    if (a.refuted == 0) break;
    st = forbid_refuted(f, &s, now.piece, err);
  }
  /* Again, for what losses are counted from may have fallen since; all is known. */
  if (st == HONE_OK && best->n > 0 && f->task->machine->tile_machine) st = simulate_round(f, &s, -1, best, err);
  choice_free(&now);
  study_fini(&s);
  return st;
}

static void take(family *f, choice *c)
{
  hone_family_result *out = f->out;
  out->fidelity = c->fidelity;
  out->nentries = f->npieces = c->n;
  out->entry = hone_arena_alloc(out->arena, (size_t)(c->n + 1) * sizeof *out->entry);
  for (int k = 0; k < c->n; k++) {
    const verdict *v = &c->verdict[k];
    hone_family_entry *e = &out->entry[k];
    *e = (hone_family_entry){ .sim_loss_pct = NAN, .sim_margin_pct = NAN, .sim_cycles = -1, .default_sim_cycles = -1 };
    e->sim_samples = v->samples;
    if (v->samples == 0) continue;
    out->simulated = true;
    e->sim_loss_pct = 100 * v->loss;
    e->sim_loss_at = f->lo + v->loss_at;
    e->sim_margin_pct = 100 * v->margin;
  }
}

hone_status family_choose(family *f, hone_err *err)
{
  choice best = choice_new(f->task->entries);
  forbid_worse(f);
  int64_t bare = find_unserved(f);
  if (bare >= 0) unserved(f, bare);
  hone_status st = bare >= 0 ? HONE_OK : take_turns(f, &best, err);
  if (st == HONE_OK) take(f, &best);
  free(best.verdict);
  f->piece = best.piece;
  return st;
}
