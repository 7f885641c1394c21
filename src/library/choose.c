/* One task's entry: the best record by the dearest evaluator that knows both it and
 * the default schedule, so that the margin compares like with like; else both on the
 * model. Model figures are made anew, and a store that remembers others is stale. */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/emit_int.h"

/* ---- percentages -------------------------------------------------------------- */

double library_percent_over(int64_t a, int64_t b) { return b > 0 ? 100.0 * ((double)a / (double)b - 1) : NAN; }
double library_percent_up(double x) { return ceil(x * 1e4) / 1e4; }
double library_percent_down(double x) { return floor(x * 1e4) / 1e4; }

/* ---- the draft ---------------------------------------------------------------- */

void library_leave_out(library_draft *d, const char *what, const char *code, const char *fmt, ...)
{
  char reason[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(reason, sizeof reason, fmt, ap);
  va_end(ap);
  if (d->nleft_out == d->left_out_capacity) {
    d->left_out_capacity = d->left_out_capacity ? 2 * d->left_out_capacity : 16;
    d->left_out = hone_heap_realloc(d->left_out, (size_t)d->left_out_capacity, sizeof *d->left_out);
  }
  hone_arena *a = d->l->arena;
  d->left_out[d->nleft_out++] =
      (hone_library_left_out){hone_arena_strdup(a, what), hone_arena_strdup(a, code), hone_arena_strdup(a, reason)};
}

library_draft_family *library_draft_find_family(library_draft *d, const library_shape *x, const char *path)
{
  for (int i = 0; i < d->nfamilies; i++)
    if (d->family[i]->machine == x->machine && hone_spec_same_family(&d->family[i]->spec, &x->op.spec)) return d->family[i];
  if (d->nfamilies == d->family_capacity) {
    d->family_capacity = d->family_capacity ? 2 * d->family_capacity : 16;
    d->family = hone_heap_realloc(d->family, (size_t)d->family_capacity, sizeof *d->family);
  }
  library_draft_family *f = d->family[d->nfamilies++] = hone_heap_alloc(1, sizeof *f);
  f->spec = x->op.spec;
  f->path = path;
  f->machine = x->machine;
  hone_hash_print(hone_machine_hash(x->machine), f->machine_hash);
  return f;
}

int library_draft_find_entry(const library_draft_family *f, const int64_t *size)
{
  for (int i = 0; i < f->nentries; i++)
    if (library_size_cmp(f->entry[i].e.size, size, f->spec.nsizes, -1) == 0) return i;
  return -1;
}

library_draft_entry *library_draft_add_entry(library_draft_family *f, const hone_spec *spec)
{
  if (f->nentries == f->entry_capacity) {
    f->entry_capacity = f->entry_capacity ? 2 * f->entry_capacity : 16;
    f->entry = hone_heap_realloc(f->entry, (size_t)f->entry_capacity, sizeof *f->entry);
  }
  library_draft_entry *x = &f->entry[f->nentries++];
  *x = (library_draft_entry){.e = {.microcode_reason = ""}};
  for (int i = 0; i < spec->nsizes; i++) x->e.size[i] = spec->size[i].value;
  return x;
}

library_claim *library_draft_add_claim(library_draft_family *f)
{
  if (f->nclaims == f->claim_capacity) {
    f->claim_capacity = f->claim_capacity ? 2 * f->claim_capacity : 16;
    f->claim = hone_heap_realloc(f->claim, (size_t)f->claim_capacity, sizeof *f->claim);
  }
  library_claim *c = &f->claim[f->nclaims++];
  *c = (library_claim){.basis = HONE_LOSS_OF_BOUND, .sim_loss_pct = NAN};
  return c;
}

/* ---- figures ------------------------------------------------------------------ */

const hone_library_evaluator *library_model(const hone_library_source *source)
{
  for (int i = 0; i < source->nevaluators; i++)
    if (source->evaluator[i].evidence == HONE_EVIDENCE_MODEL) return &source->evaluator[i];
  return NULL;
}

static void set_identity(const library_shape *x, hone_library_entry *e)
{
  hone_text op = {0}, machine = {0};
  hone_operator_print(&x->op, &op);
  hone_machine_print(x->machine, &machine);
  hone_record r = {.task = {.operator_text = op.data, .machine_text = machine.data}, .evaluator = e->evaluator,
                   .evaluator_version = e->evaluator_version, .schedule = e->schedule};
  hone_hash_print(hone_hash_text(op.data), e->operator_hash);
  hone_hash_print(hone_record_key(&r), e->key);
  hone_text_fini(&op);
  hone_text_fini(&machine);
}

/* By whom, and both records by them. The default stands where nothing is better. */
static void set_figures(library_draft *d, const library_shape *x, const hone_library_evaluator *by, library_record best,
                        library_record by_default, const hone_schedule *s, library_draft_entry *out)
{
  hone_library_entry *e = &out->e;
  hone_bound bound;
  hone_arena *a = d->l->arena;
  const bool better = best.cycles < by_default.cycles;
  out->schedule = better ? *s : x->by_default;
  e->by_default = library_shape_print(x, &x->by_default, a);
  e->schedule = better ? library_shape_print(x, s, a) : e->by_default;
  e->evidence = by->evidence;
  e->evaluator = hone_arena_strdup(a, by->name);
  e->evaluator_version = by->version;
  e->cycles = better ? best.cycles : by_default.cycles;
  e->warm_cycles = better ? best.warm_cycles : by_default.warm_cycles;
  e->default_cycles = by_default.cycles;
  e->default_warm_cycles = by_default.warm_cycles;
  e->model_cycles = library_shape_cost(x, &out->schedule);
  e->default_model_cycles = library_shape_cost(x, &x->by_default);
  e->bound_cycles = hone_bound_cycles(&x->op, x->machine, &bound, NULL) == HONE_OK ? bound.cycles : -1;
  e->margin_pct = library_percent_down(library_percent_over(e->default_cycles, e->cycles));
  e->gap_pct = library_percent_up(library_percent_over(e->cycles, e->bound_cycles));
  e->no_significant_gain = e->margin_pct < HONE_SIGNIFICANT_GAIN_PCT;
  set_identity(x, e);
}

static library_record on_model(const library_shape *x, const hone_schedule *s)
{
  int64_t cycles = library_shape_cost(x, s);
  return (library_record){"", cycles, cycles};
}

library_draft_entry *library_choose_by_model(library_draft *d, library_draft_family *f, const library_shape *x, const hone_schedule *s)
{
  library_draft_entry *e = library_draft_add_entry(f, &x->op.spec);
  set_figures(d, x, library_model(d->source), on_model(x, s), on_model(x, &x->by_default), s, e);
  return e;
}

void library_choose_instead(library_draft *d, const library_shape *x, const hone_schedule *s, library_draft_entry *e)
{
  e->schedule = *s;
  e->e.schedule = library_shape_print(x, s, d->l->arena);
  set_identity(x, &e->e);
}

/* ---- choosing ----------------------------------------------------------------- */

/* The store's rule for outcomes that disagree: the upper median over observations,
 * failures last, which is the order they are in. */
static bool find_default(const library_task *t, int evaluator, const char *schedule, library_record *out)
{
  int64_t total = 0, seen = 0;
  const library_default *chosen = NULL;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < t->ndefaults; i++) {
      const library_default *x = &t->by_default[i];
      if (x->evaluator != evaluator || strcmp(x->record.schedule, schedule) != 0) continue;
      if (pass == 0) total += x->observations;
      else if (!chosen || seen <= total / 2) chosen = x;
      if (pass == 1) seen += x->observations;
    }
  if (!chosen || chosen->failed) return false;
  *out = chosen->record;
  return true;
}

static hone_status parse(const library_shape *x, const char *text, hone_schedule *out, hone_err *err)
{
  hone_why why = {.text = ""};
  hone_status s = hone_schedule_parse(&x->op, x->machine, &x->params, text, out, err);
  if (s != HONE_OK) return s;
  hone_reason r = hone_schedule_check(&x->op, x->machine, out, &why);
  if (r == HONE_REASON_NONE) return HONE_OK;
  return hone_err_set(err, HONE_INPUT, "library.stale", "its best schedule is no longer legal: %s", why.text[0] ? why.text : hone_reason_text(r));
}

/* Evaluators from the dearest kind of evidence down. */
static int next_evaluator(const hone_library_source *s, int k)
{
  for (int e = HONE_EVIDENCE_COUNT - 1; e >= 0; e--)
    for (int i = 0; i < s->nevaluators; i++)
      if ((int)s->evaluator[i].evidence == e && k-- == 0) return i;
  return -1;
}

static hone_status check_model(const library_shape *x, const hone_library_evaluator *by, const hone_schedule *s, int64_t cycles, hone_err *err)
{
  int64_t now = by->evidence == HONE_EVIDENCE_MODEL ? library_shape_cost(x, s) : cycles;
  if (now == cycles) return HONE_OK;
  return hone_err_set(err, HONE_INPUT, "library.stale", "%s %d says %lld cycles now, %lld when it was recorded", by->name, by->version,
                      (long long)now, (long long)cycles);
}

/* An evaluator that knows the best and the default. NOT_FOUND: there is none. */
static hone_status choose_recorded(library_draft *d, const library_task *t, const library_shape *x, library_draft_family *f, hone_err *err)
{
  const char *text = library_shape_print(x, &x->by_default, d->l->arena);
  for (int k = 0; k < d->source->nevaluators; k++) {
    hone_schedule s;
    library_record by_default;
    int i = next_evaluator(d->source, k);
    const hone_library_evaluator *by = &d->source->evaluator[i];
    if (!t->best[i].schedule || !find_default(t, i, text, &by_default)) continue;
    hone_status st = parse(x, t->best[i].schedule, &s, err);
    if (st == HONE_OK) st = check_model(x, by, &s, t->best[i].cycles, err);
    if (st == HONE_OK) set_figures(d, x, by, t->best[i], by_default, &s, library_draft_add_entry(f, &x->op.spec));
    return st;
  }
  return HONE_NOT_FOUND;
}

/* The best record of each evaluator, all on the model. */
static hone_status choose_costed(library_draft *d, const library_task *t, const library_shape *x, library_draft_family *f, hone_err *err)
{
  hone_schedule best = x->by_default;
  int64_t cycles = library_shape_cost(x, &best);
  for (int k = 0; k < d->source->nevaluators; k++) {
    hone_schedule s;
    int i = next_evaluator(d->source, k);
    if (!t->best[i].schedule) continue;
    hone_status st = parse(x, t->best[i].schedule, &s, err);
    if (st == HONE_OK) st = check_model(x, &d->source->evaluator[i], &s, t->best[i].cycles, err);
    if (st != HONE_OK) return st;
    int64_t c = library_shape_cost(x, &s);
    if (c >= cycles) continue;
    best = s;
    cycles = c;
  }
  library_choose_by_model(d, f, x, &best);
  return HONE_OK;
}

static hone_status check_operator(const library_shape *x, const library_task *t, hone_err *err)
{
  char hash[HONE_HASH_TEXT];
  hone_hash_print(hone_operator_hash(&x->op), hash);
  if (strcmp(hash, t->operator_hash) != 0) {
    hone_err_set(err, HONE_INPUT, "library.stale", "the operator %s is now %.12s; this is for %.12s", x->op.name, hash, t->operator_hash);
    hone_err_hint(err, "tune again, or give the operator's file of then");
    return HONE_INPUT;
  }
  if (x->has_default) return HONE_OK;
  return hone_err_set(err, HONE_INFEASIBLE, "library.no-default", "its shape has no default schedule");
}

static hone_status make_entry(library_draft *d, const library_task *t, hone_err *err)
{
  hone_spec spec;
  const hone_machine *m = NULL;
  const char *path = NULL;
  library_shape *x = NULL;
  if (!t->spec[0])
    return hone_err_set(err, HONE_INPUT, "library.no-spec", "recorded by a Hone that did not say with which sizes, formats and options");
  hone_status s = hone_spec_parse(t->spec, &spec, err);
  if (s == HONE_OK) s = library_find_machine(d->finder, t->machine_name, t->machine_hash, &m, err);
  if (s == HONE_OK) s = library_find_operator(d->finder, spec.operator_name, &path, err);
  if (s == HONE_OK) s = library_shape_new(path, &spec, m, &x, err);
  if (s == HONE_OK) s = check_operator(x, t, err);
  if (s == HONE_OK) {
    library_draft_family *f = library_draft_find_family(d, x, path);
    s = choose_recorded(d, t, x, f, err);
    if (s == HONE_NOT_FOUND) s = choose_costed(d, t, x, f, err);
  }
  library_shape_free(x);
  return s;
}

/* Other versions matter only where this one has nothing. */
static void note_others(library_draft *d, const library_task *t, const char *what)
{
  for (int i = 0; i < t->nothers; i++) {
    const library_other *o = &t->other[i];
    int known = -1;
    for (int k = 0; k < d->source->nevaluators; k++)
      if (strcmp(d->source->evaluator[k].name, o->evaluator) == 0) known = k;
    if (known < 0) library_leave_out(d, what, "library.evaluator", "records of the evaluator %s, which this build does not have", o->evaluator);
    else if (!t->best[known].schedule)
      library_leave_out(d, what, "library.version", "records of %s version %d; this build has %d", o->evaluator, o->version,
                        d->source->evaluator[known].version);
  }
}

void library_choose(library_draft *d, const library_task *t)
{
  hone_text what = {0};
  hone_err err;
  bool any = false;
  hone_err_init(&err);
  hone_text_add(&what, "%s on %s", t->spec[0] ? t->spec : t->label[0] ? t->label : t->operator_name, t->machine_name);
  note_others(d, t, what.data);
  for (int i = 0; i < d->source->nevaluators; i++) any = any || t->best[i].schedule;
  if (any) {
    if (make_entry(d, t, &err) != HONE_OK)
      library_leave_out(d, what.data, err.code, "%s%s%s", err.message, err.hint[0] ? "; " : "", err.hint);
  } else if (t->nothers == 0) {
    library_leave_out(d, what.data, "library.failed", "none of its evaluations succeeded");
  }
  hone_text_fini(&what);
}
