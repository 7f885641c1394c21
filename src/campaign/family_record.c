/* What a range run leaves behind: the entries and the defaults at each high end as
 * records, and one document that says what records cannot (docs/ranges.md). */
#include "config.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "campaign/family_int.h"

/* ---- records ---------------------------------------------------------------- */

typedef struct {
  const shape *shape;
  hone_evaluator *model, *sim; /* sim NULL: a model-only machine, or nothing could be simulated */
  recorder *recorder;
} desk;

/* Evaluates one schedule by both and records it. */
static hone_status record_one(const family *f, desk *d, const hone_schedule *s, unsigned kinds, int64_t *sim_cycles, hone_err *err)
{
  hone_outcome model, sim;
  hone_text text = { 0 };
  hone_schedule_print(&d->shape->op, f->task->machine, &d->shape->params, s, &text);
  hone_status st = hone_evaluator_batch(d->model, 1, &s, &model, err);
  if (st == HONE_OK) st = recorder_add(d->recorder, &hone_evaluator_model, text.data, &model, -1, kinds, err);
  if (st == HONE_OK && d->sim) {
    st = hone_evaluator_batch(d->sim, 1, &s, &sim, err);
    if (st == HONE_OK) st = recorder_add(d->recorder, &hone_evaluator_simulator, text.data, &sim, model.cycles, kinds, err);
    if (st == HONE_OK && sim.reason == HONE_REASON_NONE) *sim_cycles = sim.cycles;
  }
  hone_text_fini(&text);
  return st;
}

static hone_status record_both(const family *f, desk *d, hone_family_entry *e, hone_err *err)
{
  const hone_machine *m = f->task->machine;
  hone_schedule chosen, by_default;
  hone_status st = hone_schedule_parse(&d->shape->op, m, &d->shape->params, e->schedule, &chosen, err);
  if (st != HONE_OK) return st;
  bool has_default = hone_schedule_default(&d->shape->op, m, &by_default, NULL) == HONE_OK;
  bool same = has_default && hone_hash_cmp(hone_schedule_hash(&d->shape->op, m, &d->shape->params, &chosen),
                                           hone_schedule_hash(&d->shape->op, m, &d->shape->params, &by_default)) == 0;
  st = record_one(f, d, &chosen, HONE_KIND_BEST | (same ? HONE_KIND_DEFAULT : 0u), &e->sim_cycles, err);
  if (same) e->default_sim_cycles = e->sim_cycles;
  else if (st == HONE_OK && has_default) st = record_one(f, d, &by_default, HONE_KIND_DEFAULT, &e->default_sim_cycles, err);
  return st;
}

static void add_label(const family *f, const hone_spec *spec, hone_text *out)
{
  hone_text_add(out, "%s ", spec->operator_name);
  for (int i = 0; i < spec->nsizes; i++)
    hone_text_add(out, "%s%s=%lld", i ? "," : "", spec->size[i].name, (long long)spec->size[i].value);
  hone_text_add(out, ", of %s=%lld..%lld", f->out->size, (long long)f->out->lo, (long long)f->out->hi);
}

static hone_status record_entry(const family *f, int k, hone_err *err)
{
  hone_family_entry *e = &f->out->entry[k];
  shape *x = NULL;
  hone_text label = { 0 };
  hone_status st = shape_new(f, f->piece[k].hi, SHAPE_SPACE, &x, err);
  if (st != HONE_OK) return st;
  desk d = { .shape = x };
  add_label(f, &x->op.spec, &label);
  hone_tune_task task = { .op = &x->op, .machine = f->task->machine, .params = &x->params, .space = x->space, .label = label.data,
                          .seed = f->task->seed, .store = f->task->store };
  st = recorder_new(&task, &d.recorder, err);
  if (st == HONE_OK) st = hone_evaluator_new(&hone_evaluator_model, &x->op, f->task->machine, &d.model, err);
  if (st == HONE_OK && e->sim_samples > 0) st = hone_evaluator_new(&hone_evaluator_simulator, &x->op, f->task->machine, &d.sim, err);
  if (st == HONE_OK) st = record_both(f, &d, e, err);
  hone_evaluator_free(d.sim);
  hone_evaluator_free(d.model);
  recorder_free(d.recorder);
  hone_text_fini(&label);
  shape_free(x);
  return st;
}

/* ---- the document ----------------------------------------------------------- */

static json_t *real(double x)
{
  return isfinite(x) ? json_real(x) : json_null();
}

static json_t *cycles(int64_t n)
{
  return n < 0 ? json_null() : json_integer(n);
}

static json_t *entry_document(const hone_family_entry *e)
{
  json_t *o = json_object();
  bool sim = e->sim_samples > 0;
  json_object_set_new(o, "lo", json_integer(e->lo));
  json_object_set_new(o, "hi", json_integer(e->hi));
  json_object_set_new(o, "schedule", json_string(e->schedule));
  json_object_set_new(o, "model_worst_loss_pct", real(e->model_loss_pct));
  json_object_set_new(o, "model_worst_loss_at", json_integer(e->model_loss_at));
  json_object_set_new(o, "model_mean_loss_pct", real(e->mean_loss_pct));
  json_object_set_new(o, "model_margin_pct", real(e->model_margin_pct));
  json_object_set_new(o, "bound_worst_gap_pct", real(e->bound_gap_pct));
  json_object_set_new(o, "sim_worst_loss_pct", real(e->sim_loss_pct));
  json_object_set_new(o, "sim_worst_loss_at", sim ? json_integer(e->sim_loss_at) : json_null());
  json_object_set_new(o, "sim_margin_pct", real(e->sim_margin_pct));
  json_object_set_new(o, "sim_samples", json_integer(e->sim_samples));
  json_object_set_new(o, "model_cycles", json_integer(e->model_cycles));
  json_object_set_new(o, "sim_cycles", cycles(e->sim_cycles));
  json_object_set_new(o, "default_model_cycles", cycles(e->default_model_cycles));
  json_object_set_new(o, "default_sim_cycles", cycles(e->default_sim_cycles));
  json_object_set_new(o, "bound_cycles", json_integer(e->bound_cycles));
  return o;
}

static json_t *range_document(const family *f, const char *spec, const char *machine_hash)
{
  const hone_family_result *r = f->out;
  json_t *o = json_object(), *entries = json_array(), *holes = json_array();
  json_object_set_new(o, "spec", json_string(spec));
  json_object_set_new(o, "size", json_string(r->size));
  json_object_set_new(o, "lo", json_integer(r->lo));
  json_object_set_new(o, "hi", json_integer(r->hi));
  json_object_set_new(o, "machine", json_string(f->task->machine->name));
  json_object_set_new(o, "machine_hash", json_string(machine_hash));
  json_object_set_new(o, "evaluators", json_pack("{s:i, s:i}", hone_evaluator_model.name, hone_evaluator_model.version,
                                                 hone_evaluator_simulator.name, hone_evaluator_simulator.version));
  json_object_set_new(o, "seed", json_integer((json_int_t)f->task->seed));
  json_object_set_new(o, "budget", json_integer(f->task->budget));
  for (int k = 0; k < r->nentries; k++) json_array_append_new(entries, entry_document(&r->entry[k]));
  for (int k = 0; k < r->nholes; k++)
    json_array_append_new(holes, json_pack("{s:I, s:I, s:s}", "lo", (json_int_t)r->hole[k].lo, "hi", (json_int_t)r->hole[k].hi,
                                           "reason", r->hole[k].reason));
  json_object_set_new(o, "entries", entries);
  json_object_set_new(o, "not_served", holes);
  json_object_set_new(o, "reference_check", json_pack("{s:i, s:i, s:f, s:I}", "shapes", r->check.shapes, "rounds", r->check.rounds,
                                                      "worst_pct", r->check.worst_pct, "worst_at", (json_int_t)r->check.worst_at));
  return o;
}

/* The spec with everything the operator's text fills in, and the range. */
static void print_family(const family *f, hone_text *out)
{
  hone_spec spec = f->top->op.spec;
  int i = hone_spec_find_size(&spec, f->out->size);
  if (i >= 0) spec.size[i].value = f->out->lo;
  if (i >= 0) spec.size[i].to = f->out->hi;
  hone_spec_print(&spec, out);
}

/* The document, and its subject "<family> on <machine hash>". */
static void make_document(family *f, hone_text *subject)
{
  hone_text spec = { 0 };
  char hash[HONE_HASH_TEXT];
  print_family(f, &spec);
  hone_hash_print(hone_machine_hash(f->task->machine), hash);
  hone_text_add(subject, "%s on %s", spec.data, hash);
  json_t *o = range_document(f, spec.data, hash);
  char *text = json_dumps(o, JSON_COMPACT);
  f->out->document = hone_arena_strdup(f->out->arena, text);
  free(text);
  json_decref(o);
  hone_text_fini(&spec);
}

hone_status family_record(family *f, hone_err *err)
{
  hone_status st = HONE_OK;
  hone_text subject = { 0 };
  for (int k = 0; k < f->npieces && st == HONE_OK; k++) st = record_entry(f, k, err);
  if (st == HONE_OK) make_document(f, &subject);
  if (st == HONE_OK && f->task->store) {
    hone_store_document d = { .kind = "range", .subject = subject.data, .text = f->out->document };
    st = hone_store_put(f->task->store, &d, err);
  }
  if (st == HONE_OK && f->task->store) st = hone_store_flush(f->task->store, err);
  hone_text_fini(&subject);
  return st;
}
