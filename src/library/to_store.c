/* A library goes back into a store: a record for each entry and its default, a range
 * document for each line of measured intervals. First everything is proven to be
 * about the operators and machines of now; nothing is appended when it is not. */
#include "config.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "library/emit_int.h"

typedef struct {
  const hone_library *l;
  library_finder *finder;
  hone_store *store;
  bool writing; /* false: proving */
  int64_t order;
  const hone_library_family *f; /* at hand */
  const hone_machine *machine;
  const char *path;
} import;

/* ---- records ------------------------------------------------------------------ */

/* "matmul b=1,m=8,n=64,k=64 bf16" */
static void spell_label(const hone_spec *s, hone_text *out)
{
  hone_text_add(out, "%s ", s->operator_name);
  for (int i = 0; i < s->nsizes; i++) hone_text_add(out, "%s%s=%lld", i ? "," : "", s->size[i].name, (long long)s->size[i].value);
  for (int i = 0; i < s->nformats; i++) hone_text_add(out, "%s%s", i ? "/" : " ", hone_format_name(s->format[i].format));
}

/* What the model adds to its own records. */
static void add_cost(const library_shape *x, const char *schedule, hone_record *r)
{
  hone_schedule s;
  hone_cost cost;
  if (hone_schedule_parse(&x->op, x->machine, &x->params, schedule, &s, NULL) != HONE_OK) return;
  if (hone_model_evaluate(x->model, &s, &cost) != HONE_REASON_NONE) return;
  r->energy_fj = cost.energy_fj;
  r->bottleneck = hone_cause_name(cost.bottleneck);
  r->model_cycles = -1;
}

static hone_status append(import *p, const library_shape *x, const hone_library_entry *e, bool by_default, unsigned kinds, hone_err *err)
{
  hone_text op = {0}, machine = {0}, spec = {0}, label = {0};
  const int64_t cycles = by_default ? e->default_cycles : e->cycles, warm = by_default ? e->default_warm_cycles : e->warm_cycles;
  hone_operator_print(&x->op, &op);
  hone_machine_print(x->machine, &machine);
  hone_spec_print(&x->op.spec, &spec);
  spell_label(&x->op.spec, &label);
  hone_record r = {
      .task = {.operator_text = op.data, .machine_text = machine.data, .operator_name = x->op.name, .machine_name = x->machine->name,
               .label = label.data, .spec = spec.data},
      .evaluator = e->evaluator, .evaluator_version = e->evaluator_version, .fidelity = (int)e->evidence,
      .schedule = by_default ? e->by_default : e->schedule, .cycles = cycles, .warm_cycles = warm < 0 ? cycles : warm, .energy_fj = -1,
      .model_cycles = by_default ? e->default_model_cycles : e->model_cycles, .kinds = kinds, .order = p->order++};
  if (e->evidence == HONE_EVIDENCE_MODEL) add_cost(x, r.schedule, &r);
  hone_status st = hone_store_append(p->store, &r, err);
  hone_text_fini(&op);
  hone_text_fini(&machine);
  hone_text_fini(&spec);
  hone_text_fini(&label);
  return st;
}

static hone_status prove(const import *p, const library_shape *x, const hone_library_entry *e, hone_err *err)
{
  char hash[HONE_HASH_TEXT];
  hone_schedule s;
  hone_hash_print(hone_operator_hash(&x->op), hash);
  if (strcmp(hash, e->operator_hash) != 0)
    return hone_err_set(err, HONE_INPUT, "library.stale", "the operator %s is now %.12s; an entry of %s is for %.12s", x->op.name, hash,
                        p->f->id, e->operator_hash);
  if (e->cycles < 1 || e->default_cycles < 1)
    return hone_err_set(err, HONE_INPUT, "library.content", "an entry of %s has no cycles", p->f->id);
  hone_status st = hone_schedule_parse(&x->op, x->machine, &x->params, e->schedule, &s, err);
  return st == HONE_OK ? hone_schedule_parse(&x->op, x->machine, &x->params, e->by_default, &s, err) : st;
}

static hone_status take_entry(import *p, const hone_library_entry *e, hone_err *err)
{
  library_shape *x = NULL;
  hone_spec spec = p->f->spec;
  for (int i = 0; i < spec.nsizes; i++) spec.size[i].value = spec.size[i].to = e->size[i];
  const bool same = strcmp(e->schedule, e->by_default) == 0;
  hone_status st = library_shape_new(p->path, &spec, p->machine, &x, err);
  if (st == HONE_OK && !p->writing) st = prove(p, x, e, err);
  if (st == HONE_OK && p->writing) st = append(p, x, e, false, HONE_KIND_BEST | (same ? HONE_KIND_DEFAULT : 0u), err);
  if (st == HONE_OK && p->writing && !same) st = append(p, x, e, true, HONE_KIND_DEFAULT, err);
  library_shape_free(x);
  return st;
}

/* ---- ranges ------------------------------------------------------------------- */

static json_t *interval_document(const hone_library_interval *x, const hone_library_entry *e)
{
  json_t *sim = isfinite(x->sim_loss_pct) ? json_real(x->sim_loss_pct) : json_null();
  return json_pack("{s:I, s:I, s:I, s:s, s:f, s:I, s:o, s:i, s:I, s:I, s:I}", "lo", (json_int_t)x->lo, "hi", (json_int_t)x->hi, "at",
                   (json_int_t)e->size[x->axis], "schedule", e->schedule, "model_worst_loss_pct", x->loss_pct, "model_worst_loss_at",
                   (json_int_t)x->loss_at, "sim_worst_loss_pct", sim, "sim_samples", x->sim_samples, "model_cycles",
                   (json_int_t)e->model_cycles, "default_model_cycles", (json_int_t)e->default_model_cycles, "bound_cycles",
                   (json_int_t)e->bound_cycles);
}

static json_t *line_document(const import *p, const hone_spec *spec, const char *text, int axis, json_t *entries)
{
  json_t *evaluators = json_object();
  for (int i = 0; i < p->l->nevaluators; i++)
    json_object_set_new(evaluators, p->l->evaluator[i].name, json_integer(p->l->evaluator[i].version));
  return json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:o, s:o}", "spec", text, "size", spec->size[axis].name, "lo",
                   (json_int_t)spec->size[axis].value, "hi", (json_int_t)spec->size[axis].to, "machine", p->f->machine_name, "machine_hash",
                   p->f->machine_hash, "evaluators", evaluators, "entries", entries);
}

/* The n intervals of one line; those of another basis are made anew by emission. */
static hone_status put_line(import *p, const hone_library_interval *x, int n, hone_err *err)
{
  hone_text spec_text = {0}, subject = {0};
  hone_spec spec = p->f->spec;
  hone_spec_size *range = &spec.size[x->axis];
  json_t *entries = json_array();
  for (int i = 0; i < spec.nsizes; i++) spec.size[i].value = spec.size[i].to = p->f->entry[x->entry].size[i];
  for (int i = 0; i < n; i++) {
    if (x[i].basis != HONE_LOSS_OF_OPTIMUM) continue;
    if (json_array_size(entries) == 0) range->value = x[i].lo;
    range->to = x[i].hi;
    json_array_append_new(entries, interval_document(&x[i], &p->f->entry[x[i].entry]));
  }
  const bool any = json_array_size(entries) > 0;
  hone_spec_print(&spec, &spec_text);
  hone_text_add(&subject, "%s on %s", spec_text.data, p->f->machine_hash);
  json_t *o = line_document(p, &spec, spec_text.data, x->axis, entries);
  char *text = json_dumps(o, JSON_COMPACT);
  hone_store_document d = {.kind = "range", .subject = subject.data, .text = text};
  hone_status st = any ? hone_store_put(p->store, &d, err) : HONE_OK;
  free(text);
  json_decref(o);
  hone_text_fini(&spec_text);
  hone_text_fini(&subject);
  return st;
}

static hone_status put_lines(import *p, hone_err *err)
{
  const hone_library_family *f = p->f;
  hone_status st = HONE_OK;
  for (int i = 0, n; i < f->nintervals && st == HONE_OK; i += n) {
    const hone_library_interval *x = &f->interval[i];
    for (n = 1; i + n < f->nintervals; n++)
      if (x[n].axis != x->axis || library_size_cmp(f->entry[x->entry].size, f->entry[x[n].entry].size, f->spec.nsizes, x->axis) != 0) break;
    st = put_line(p, x, n, err);
  }
  return st;
}

/* ---- all ---------------------------------------------------------------------- */

static hone_status walk(import *p, bool writing, hone_err *err)
{
  hone_status st = HONE_OK;
  p->writing = writing;
  for (int i = 0; i < p->l->nfamilies && st == HONE_OK; i++) {
    p->f = &p->l->family[i];
    st = library_find_machine(p->finder, p->f->machine_name, p->f->machine_hash, &p->machine, err);
    if (st == HONE_OK) st = library_find_operator(p->finder, p->f->spec.operator_name, &p->path, err);
    for (int k = 0; k < p->f->nentries && st == HONE_OK; k++) st = take_entry(p, &p->f->entry[k], err);
    if (st == HONE_OK && writing) st = put_lines(p, err);
  }
  return st;
}

hone_status hone_library_to_store(const hone_library *l, const hone_library_source *source, hone_store *s, hone_err *err)
{
  import p = {.l = l, .finder = library_finder_new(source), .store = s};
  hone_status st = walk(&p, false, err);
  if (st == HONE_OK) st = walk(&p, true, err);
  if (st == HONE_OK) st = hone_store_flush(s, err);
  library_finder_free(p.finder);
  return st;
}
