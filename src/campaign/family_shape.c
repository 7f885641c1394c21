/* One integer of a range as a problem, searches at it, and the loop over them all. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/checked.h"
#include "campaign/family_int.h"

enum { PIECE = 64 }; /* shapes between two reports */

void shape_free(shape *x)
{
  if (!x) return;
  hone_model_free(x->model);
  hone_space_free(x->space);
  hone_params_free(&x->params);
  free(x);
}

hone_status shape_new(const family *f, int64_t i, int with, shape **out, hone_err *err)
{
  const hone_family_task *t = f->task;
  hone_spec spec = *t->spec;
  spec.size[f->axis].value = spec.size[f->axis].to = f->lo + i;
  shape *x = hone_heap_alloc(1, sizeof *x);
  hone_status st = hone_operator_load_spec(t->operator_path, &spec, &x->op, err);
  if (st == HONE_OK) st = hone_params_new(&x->op, t->machine, &x->params, err);
  if (st == HONE_OK && with == SHAPE_SPACE) st = hone_space_new(&x->op, t->machine, &x->params, t->space, t->nspace, &x->space, err);
  if (st == HONE_OK) st = hone_model_new(&x->op, t->machine, &x->model, err);
  if (st != HONE_OK && st != HONE_INFEASIBLE) hone_err_hint(err, "at %s=%lld of the range", f->out->size, (long long)(f->lo + i));
  if (st != HONE_OK) shape_free(x);
  else *out = x;
  return st;
}

int64_t shape_cost(const family *f, const shape *x, const hone_schedule *member, hone_schedule *cut)
{
  hone_cost cost;
  *cut = *member;
  hone_schedule_fit(&x->op, f->task->machine, cut);
  return hone_model_evaluate(x->model, cut, &cost) == HONE_REASON_NONE ? cost.cycles : -1;
}

/* ---- searching -------------------------------------------------------------- */

hone_hash shape_cut(const family *f, const shape *x, const hone_schedule *s)
{
  const hone_machine *m = f->task->machine;
  int64_t of[HONE_MAX_DIMS * (HONE_MAX_LEVELS + HONE_MAX_AXES)];
  size_t n = 0;
  for (int d = 0; d < x->op.ndims; d++) {
    if (!(f->moving >> d & 1u)) continue;
    for (int l = 0; l < m->nlevels; l++) of[n++] = s->tile[l][d];
    for (int a = 0; a < m->naxes; a++) of[n++] = s->split[a][d];
  }
  return hone_hash_bytes(of, n * sizeof *of);
}

static void keep(finds *k, int64_t cycles, hone_hash cut, const hone_schedule *s)
{
  int i = 0, same = 0;
  while (i < k->n && k->cycles[i] <= cycles) i++;
  while (same < k->n && hone_hash_cmp(k->cut[same], cut) != 0) same++;
  if (i == FINDS || same < i) return;
  if (same == k->n && k->n < FINDS) k->n++;
  if (same >= k->n) same = k->n - 1;
  for (int j = same; j > i; j--) {
    k->cycles[j] = k->cycles[j - 1];
    k->cut[j] = k->cut[j - 1];
    k->schedule[j] = k->schedule[j - 1];
  }
  k->cycles[i] = cycles;
  k->cut[i] = cut;
  k->schedule[i] = *s;
}

static hone_result judge(const family *f, const shape *x, const hone_schedule *s, finds *out)
{
  hone_cost cost;
  hone_result r = { .reason = hone_model_evaluate(x->model, s, &cost) };
  out->evaluated++;
  if (r.reason != HONE_REASON_NONE) return r;
  if (out->n < FINDS || cost.cycles < out->cycles[FINDS - 1]) keep(out, cost.cycles, shape_cut(f, x, s), s);
  r.value = (double)cost.cycles;
  return r;
}

static hone_status ask_and_tell(const family *f, const shape *x, hone_strategy *strategy, int batch, int64_t budget, finds *out, hone_err *err)
{
  int width = hone_space_parameters(x->space);
  int64_t *values = hone_heap_alloc((size_t)batch * (size_t)(width + 1), sizeof *values);
  hone_result *result = hone_heap_alloc((size_t)batch, sizeof *result);
  hone_ask ask = HONE_ASK_MORE;
  hone_status st = HONE_OK;
  while (ask == HONE_ASK_MORE && out->evaluated < budget && (st = family_go_on(f, err)) == HONE_OK) {
    int n = hone_strategy_ask(strategy, (int)hone_min64(batch, budget - out->evaluated), values, &ask);
    for (int i = 0; i < n; i++) {
      hone_schedule s;
      hone_space_schedule(x->space, values + (ptrdiff_t)i * width, &s);
      result[i] = judge(f, x, &s, out);
    }
    if (n > 0) hone_strategy_tell(strategy, n, result);
  }
  free(result);
  free(values);
  return st;
}

hone_status shape_search(const family *f, const shape *x, uint64_t seed, int64_t budget, int nseeds, const hone_schedule *seeds,
                         finds *out, hone_err *err)
{
  static const char *const warm[] = { "initial=4", "population=16" }; /* the seeds are the population */
  const hone_family_task *t = f->task;
  hone_strategy_setup setup = { .space = x->space, .seed = seed, .budget = budget, .options = nseeds ? warm : t->strategy_options,
                                .noptions = nseeds ? 2 : t->nstrategy_options };
  hone_schedule by_default;
  hone_strategy *strategy = NULL;
  *out = (finds){ .n = 0 };
  hone_status st = hone_strategy_new(nseeds ? hone_strategy_find("evolutionary") : t->strategy, &setup, &strategy, err);
  if (st != HONE_OK) return st;
  if (nseeds == 0 && hone_schedule_default(&x->op, t->machine, &by_default, NULL) == HONE_OK) {
    seeds = &by_default;
    nseeds = 1;
  }
  for (int i = 0; i < nseeds; i++) {
    int64_t values[HONE_SPACE_PARAMETERS];
    hone_space_point(x->space, &seeds[i], values);
    hone_result r = judge(f, x, &seeds[i], out);
    hone_strategy_seed(strategy, values, &r);
  }
  st = ask_and_tell(f, x, strategy, t->batch, budget, out, err);
  hone_strategy_free(strategy);
  return st;
}

/* ---- every shape ------------------------------------------------------------ */

static double seconds_since(const struct timespec *start)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static void report(const family *f, const char *step, const struct timespec *begin, int64_t done, int64_t n)
{
  const hone_family_task *t = f->task;
  if (!t->progress) return;
  hone_text label = { 0 };
  hone_text_add(&label, "%s: %s %lld/%lld", t->label, step, (long long)done, (long long)n);
  hone_tune_progress p = { .label = label.data, .evaluated = f->out->counts.evaluated, .elapsed_s = seconds_since(f->start),
                           .budget = INT64_MAX, .best_cycles = -1, .eta_s = -1 };
  if (p.elapsed_s > 0) p.rate_per_s = (double)p.evaluated / p.elapsed_s;
  if (done > 0) p.eta_s = seconds_since(begin) * (double)(n - done) / (double)done;
  t->progress(t->progress_arg, &p);
  hone_text_fini(&label);
}

hone_status family_go_on(const family *f, hone_err *err)
{
  if (!f->task->interrupted || !*f->task->interrupted) return HONE_OK;
  return hone_err_set(err, HONE_INTERRUPTED, "tune.interrupted", "interrupted");
}

hone_status family_each(family *f, const char *step, int64_t n, family_work work, void *arg, hone_err *err)
{
  struct timespec begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  hone_err *each = hone_heap_alloc(PIECE, sizeof *each);
  hone_status st = HONE_OK;
  for (int64_t from = 0; from < n && st == HONE_OK; from += PIECE) {
    int m = (int)hone_min64(PIECE, n - from);
    report(f, step, &begin, from, n);
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < m; i++) {
      hone_err_init(&each[i]);
      each[i].status = family_go_on(f, &each[i]);
      if (each[i].status == HONE_OK) each[i].status = work(f, arg, from + i, &each[i]);
    }
    for (int i = 0; i < m && st == HONE_OK; i++) {
      if (each[i].status == HONE_OK) continue;
      st = each[i].status;
      if (err) *err = each[i];
    }
  }
  free(each);
  return st;
}
