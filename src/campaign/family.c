/* A range run from start to end. Reading order: hone_family_run; the steps in
 * family_reference.c, family_choose.c (with cover.c and family_simulate.c),
 * family_record.c.
 *
 * What the entries promise is measured last and from nothing but their texts, as
 * a user of them would: parsed at hi, cut to each shape, costed there. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "campaign/family_int.h"

/* ---- setting up ------------------------------------------------------------- */

static hone_status check_task(const hone_family_task *t, int *axis, hone_err *err)
{
  int ranges = 0;
  for (int i = 0; i < t->spec->nsizes; i++) ranges += t->spec->size[i].to != t->spec->size[i].value;
  if (ranges != 1)
    return hone_err_set(err, HONE_USAGE, "range.one", "%d sizes are ranges; a family has exactly one", ranges);
  *axis = hone_spec_range(t->spec);
  const hone_spec_size *s = &t->spec->size[*axis];
  if (s->to - s->value < HONE_FAMILY_MAX_SHAPES) return HONE_OK;
  hone_err_set(err, HONE_USAGE, "range.long", "%s=%lld..%lld has %lld shapes; every one is measured, so at most %d are taken", s->name,
               (long long)s->value, (long long)s->to, (long long)(s->to - s->value + 1), HONE_FAMILY_MAX_SHAPES);
  hone_err_hint(err, "narrow the range, or tune it in parts");
  return HONE_USAGE;
}

static hone_status family_init(family *f, hone_err *err)
{
  const hone_spec_size *s = &f->task->spec->size[f->axis];
  size_t n = (size_t)(s->to - s->value + 1);
  f->lo = s->value;
  f->n = (int64_t)n;
  f->floor = HONE_SIGNIFICANT_GAIN_PCT / 100;
  f->hole = hone_heap_alloc(n, sizeof *f->hole);
  f->bound = hone_heap_alloc(n, sizeof *f->bound);
  f->by_default = hone_heap_alloc(n, sizeof *f->by_default);
  f->reference = hone_heap_alloc(n, sizeof *f->reference);
  f->found = hone_heap_alloc(n, sizeof *f->found);
  f->found_schedule = hone_heap_alloc(n, sizeof *f->found_schedule);
  for (size_t i = 0; i < n; i++) f->by_default[i] = f->reference[i] = f->found[i] = -1;
  return pool_init(f, err);
}

static void family_fini(family *f)
{
  pool_fini(f);
  free(f->hole);
  free(f->bound);
  free(f->by_default);
  free(f->reference);
  free(f->found);
  free(f->found_schedule);
  free(f->piece);
}

/* ---- measuring -------------------------------------------------------------- */

typedef struct {
  hone_schedule schedule; /* as parsed at hi */
  int64_t *cycles;        /* of every shape, by the entry that serves it; shared by the pieces */
} measured;

/* The entry's text, and the schedule it means. */
static hone_status name_entry(family *f, int k, hone_schedule *parsed, hone_err *err)
{
  const hone_machine *m = f->task->machine;
  hone_family_entry *e = &f->out->entry[k];
  shape *x = NULL;
  hone_schedule cut;
  hone_text text = { 0 };
  hone_status st = shape_new(f, f->piece[k].hi, SHAPE_MODEL, &x, err);
  if (st != HONE_OK) return st;
  shape_cost(f, x, &f->member[f->piece[k].candidate], &cut);
  hone_schedule_print(&x->op, m, &x->params, &cut, &text);
  e->schedule = hone_arena_strdup(f->out->arena, text.data ? text.data : "");
  st = hone_schedule_parse(&x->op, m, &x->params, e->schedule, parsed, err);
  hone_text_fini(&text);
  shape_free(x);
  return st;
}

static hone_status measure_shape(family *f, void *arg, int64_t i, hone_err *err)
{
  measured *all = arg;
  int k = 0;
  shape *x = NULL;
  hone_schedule cut;
  all[0].cycles[i] = -1;
  while (k < f->npieces && f->piece[k].hi < i) k++;
  if (k == f->npieces || i < f->piece[k].lo) return HONE_OK;
  hone_status st = shape_new(f, i, SHAPE_MODEL, &x, err);
  if (st != HONE_OK) return st;
  all[0].cycles[i] = shape_cost(f, x, &all[k].schedule, &cut);
  shape_free(x);
  if (all[0].cycles[i] == family_cost(f, f->piece[k].candidate, i)) return HONE_OK;
  return hone_err_set(err, HONE_INTERNAL, "range.cut", "the entry for %lld..%lld means another schedule at %lld than the one chosen",
                      (long long)(f->lo + f->piece[k].lo), (long long)(f->lo + f->piece[k].hi), (long long)(f->lo + i));
}

static void sum_up_entry(family *f, int k, const int64_t *cycles)
{
  const hone_cover_piece *a = &f->piece[k];
  hone_family_entry *e = &f->out->entry[k];
  e->lo = f->lo + a->lo;
  e->hi = f->lo + a->hi;
  e->model_loss_pct = -1;
  e->model_margin_pct = e->bound_gap_pct = NAN;
  for (int64_t i = a->lo; i <= a->hi; i++) {
    double c = (double)cycles[i], loss = 100 * (c - (double)f->reference[i]) / (double)f->reference[i];
    if (loss > e->model_loss_pct) e->model_loss_pct = loss, e->model_loss_at = f->lo + i;
    e->mean_loss_pct += loss / (double)(a->hi - a->lo + 1);
    if (f->bound[i] > 0) e->bound_gap_pct = fmax(e->bound_gap_pct, 100 * (c / (double)f->bound[i] - 1));
    if (f->by_default[i] >= 0) e->model_margin_pct = fmin(e->model_margin_pct, 100 * ((double)f->by_default[i] / c - 1));
  }
  e->model_cycles = cycles[a->hi];
  e->default_model_cycles = f->by_default[a->hi];
  e->bound_cycles = f->bound[a->hi];
}

static void sum_up(family *f, const int64_t *cycles)
{
  hone_family_result *out = f->out;
  double most_gained = NAN;
  int64_t served = 0;
  out->model_loss_pct = out->sim_loss_pct = -1;
  for (int k = 0; k < f->npieces; k++) {
    hone_family_entry *e = &out->entry[k];
    sum_up_entry(f, k, cycles);
    if (e->model_loss_pct > out->model_loss_pct) out->model_loss_pct = e->model_loss_pct, out->model_loss_at = e->model_loss_at;
    if (e->sim_loss_pct > out->sim_loss_pct) out->sim_loss_pct = e->sim_loss_pct, out->sim_loss_at = e->sim_loss_at;
    out->bound_gap_pct = fmax(out->bound_gap_pct, e->bound_gap_pct);
    out->model_margin_pct = fmin(out->model_margin_pct, e->model_margin_pct);
    out->sim_margin_pct = fmin(out->sim_margin_pct, e->sim_margin_pct);
    out->mean_loss_pct += e->mean_loss_pct * (double)(e->hi - e->lo + 1);
    served += e->hi - e->lo + 1;
    for (int64_t i = f->piece[k].lo; i <= f->piece[k].hi; i++)
      if (f->by_default[i] >= 0) most_gained = fmax(most_gained, 100 * ((double)f->by_default[i] / (double)cycles[i] - 1));
  }
  out->mean_loss_pct /= (double)served;
  if (!out->simulated) out->sim_loss_pct = NAN;
  if (most_gained < HONE_SIGNIFICANT_GAIN_PCT) out->status = HONE_TUNE_NO_SIGNIFICANT_GAIN;
}

static hone_status measure(family *f, hone_err *err)
{
  measured *all = hone_heap_alloc((size_t)f->npieces, sizeof *all);
  hone_status st = HONE_OK;
  all[0].cycles = hone_heap_alloc((size_t)f->n, sizeof *all[0].cycles);
  for (int k = 0; k < f->npieces && st == HONE_OK; k++) st = name_entry(f, k, &all[k].schedule, err);
  if (st == HONE_OK) st = family_each(f, "measure", f->n, measure_shape, all, err);
  f->out->counts.evaluated += f->n;
  if (st == HONE_OK) sum_up(f, all[0].cycles);
  free(all[0].cycles);
  free(all);
  return st;
}

/* ---- shapes nothing serves -------------------------------------------------- */

static void explain_hole(const family *f, int64_t i, char *reason, size_t n)
{
  shape *x = NULL;
  hone_err why;
  hone_err_init(&why);
  if (shape_new(f, i, SHAPE_MODEL, &x, &why) != HONE_OK) snprintf(reason, n, "%.190s", why.message);
  else snprintf(reason, n, "no legal schedule was found");
  shape_free(x);
}

static void list_holes(family *f)
{
  hone_family_result *out = f->out;
  int64_t room = 0;
  for (int64_t i = 0; i < f->n; i++) room += f->reference[i] < 0;
  out->hole = hone_arena_alloc(out->arena, (size_t)(room + 1) * sizeof *out->hole);
  for (int64_t i = 0; i < f->n; i++) {
    if (f->reference[i] >= 0) continue;
    hone_family_hole *last = out->nholes > 0 ? &out->hole[out->nholes - 1] : NULL;
    if (last && last->hi == f->lo + i - 1) {
      last->hi++;
      continue;
    }
    hone_family_hole *h = &out->hole[out->nholes++];
    h->lo = h->hi = f->lo + i;
    explain_hole(f, i, h->reason, sizeof h->reason);
  }
}

/* ---- the whole -------------------------------------------------------------- */

static hone_status steps(family *f, hone_err *err)
{
  hone_status st = family_reference(f, err);
  if (st != HONE_OK) return st;
  int64_t *reference = hone_arena_alloc(f->out->arena, (size_t)f->n * sizeof *reference);
  memcpy(reference, f->reference, (size_t)f->n * sizeof *reference);
  f->out->reference = reference;
  list_holes(f);
  st = family_choose(f, err);
  if (st == HONE_OK && f->npieces > 0) st = measure(f, err);
  if (st == HONE_OK && f->npieces > 0) st = family_record(f, err);
  return st;
}

hone_status hone_family_run(const hone_family_task *task, hone_family_result *out, hone_err *err)
{
  struct timespec start, end;
  *out = (hone_family_result){ .arena = hone_arena_new(), .status = HONE_TUNE_BUDGET_SPENT, .least_loss_pct = NAN, .bound_gap_pct = NAN,
                               .model_margin_pct = NAN, .sim_loss_pct = NAN, .sim_margin_pct = NAN };
  family f = { .task = task, .out = out, .start = &start };
  clock_gettime(CLOCK_MONOTONIC, &start);
  hone_status st = check_task(task, &f.axis, err);
  if (st != HONE_OK) return st;
  const hone_spec_size *size = &task->spec->size[f.axis];
  snprintf(out->size, sizeof out->size, "%s", size->name);
  out->lo = size->value;
  out->hi = size->to;
  out->counts.shapes = size->to - size->value + 1;
  st = family_init(&f, err);
  if (st == HONE_OK) st = steps(&f, err);
  if (st == HONE_INTERRUPTED) {
    out->status = HONE_TUNE_INTERRUPTED;
    snprintf(out->reason, sizeof out->reason, "stopped by a signal; nothing is kept of a range before its end");
    out->nentries = 0;
    st = HONE_OK;
  }
  family_fini(&f);
  clock_gettime(CLOCK_MONOTONIC, &end);
  out->elapsed_s = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  return st;
}

void hone_family_result_fini(hone_family_result *r)
{
  hone_arena_free(r->arena);
  *r = (hone_family_result){ 0 };
}
