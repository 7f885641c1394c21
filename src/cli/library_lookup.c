/* hone library lookup: what a library says of a shape, checked against the operator
 * and machine at hand: a stale answer is refused, a schedule for another shape is
 * cut to this one and costed again, and never given when the default beats it. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "cli/answer_int.h"
#include "eval/evaluator.h"

typedef struct {
  cli_run *r;
  const hone_library *l;
  cli_problem p;          /* operator, and the machine when it is at hand */
  bool have_machine;
  const char *machine;    /* as asked for, or the library's only one */
  hone_library_answer a;
  bool have_cost;
  hone_library_cost cost; /* of a.schedule at the asked shape */
  const char *used;       /* "entry", "fallback", "default"; NULL: there is no schedule */
  hone_text schedule;     /* at the asked shape; empty when there is none */
} question;

/* ---- asking ------------------------------------------------------------------- */

/* The machine of the option; without one, that of a library with a single one. Its
 * description may be elsewhere: then nothing is costed. */
static hone_status find_machine(question *q, hone_err *err)
{
  const hone_option_value *v = &q->r->value[CLI_MACHINE];
  const hone_library_family *f = q->l->family;
  hone_err missing;
  q->machine = v->text;
  for (int i = 0; !v->given && i < q->l->nfamilies; i++) {
    if (strcmp(f[i].machine_name, f[0].machine_name) == 0) continue;
    hone_err_set(err, HONE_USAGE, "option.missing", "the library is for several machines: --machine is required");
    hone_err_hint(err, "for example --machine %s", f[0].machine_name);
    return HONE_USAGE;
  }
  if (!v->given && q->l->nfamilies > 0) q->machine = f[0].machine_name;
  if (!q->machine) return HONE_OK;
  hone_status st = cli_find_file(q->r, "machines", q->machine, q->p.machine_path, sizeof q->p.machine_path, &missing);
  if (st == HONE_OK) {
    st = hone_machine_load(q->p.machine_path, &q->p.machine, err);
    q->have_machine = st == HONE_OK;
    return st;
  }
  bool known = false;
  for (int i = 0; i < q->l->nfamilies; i++)
    known = known || strcmp(f[i].machine_name, q->machine) == 0 || strcmp(f[i].machine_hash, q->machine) == 0;
  if (known) {
    cli_warn(q->r, "library.machine-absent", "%s is not described here: nothing is checked or costed again", q->machine);
    return HONE_OK;
  }
  if (err) *err = missing;
  return st;
}

static hone_status stale(hone_err *err, const char *code, const char *what, const char *name, const char *then, const char *now)
{
  hone_err_set(err, HONE_NOT_FOUND, code, "the %s %s changed after the library was written: it has the identity %s, not %s", what, name, now,
               then);
  hone_err_hint(err, "tune again, then hone emit; hone library check names everything that is stale");
  return HONE_NOT_FOUND;
}

/* By the machine's identity; a family that has only its name is stale. */
static hone_status ask(question *q, hone_err *err)
{
  char hash[HONE_HASH_TEXT];
  if (!q->have_machine) {
    hone_library_lookup(q->l, &q->p.op.spec, q->machine, &q->a);
    return HONE_OK;
  }
  hone_hash_print(hone_machine_hash(&q->p.machine), hash);
  hone_library_lookup(q->l, &q->p.op.spec, hash, &q->a);
  if (q->a.family) return HONE_OK;
  hone_library_lookup(q->l, &q->p.op.spec, q->p.machine.name, &q->a); /* also for a reason that names the machine */
  return q->a.family ? stale(err, "library.stale-machine", "machine", q->a.family->machine_name, q->a.family->machine_hash, hash) : HONE_OK;
}

/* Figures of another model or simulator. */
static void warn_of_evaluators(question *q)
{
  const struct {
    const char *name;
    int version;
  } now[] = { { hone_evaluator_model.name, hone_evaluator_model.version }, { hone_evaluator_simulator.name, hone_evaluator_simulator.version } };
  for (int i = 0; i < q->l->nevaluators; i++)
    for (int k = 0; k < 2; k++)
      if (strcmp(q->l->evaluator[i].name, now[k].name) == 0 && q->l->evaluator[i].version != now[k].version)
        cli_warn(q->r, "library.stale-evaluator", "the %s was at version %d and is at %d: figures may differ", now[k].name,
                 q->l->evaluator[i].version, now[k].version);
}

/* ---- costing again -------------------------------------------------------------- */

static void print_schedule(question *q, const hone_schedule *s)
{
  hone_params params;
  if (hone_params_new(&q->p.op, &q->p.machine, &params, NULL) != HONE_OK) return;
  hone_text_clear(&q->schedule);
  hone_schedule_print(&q->p.op, &q->p.machine, &params, s, &q->schedule);
  hone_params_free(&params);
}

/* A fallback is a makeshift: the default is taken when it is faster. A near schedule
 * was found no slower by whoever wrote the library; if that is no longer so, say it.
 * An exact one may rest on better evidence than the model's. */
static void choose(question *q)
{
  const hone_library_cost *c = &q->cost;
  const bool legal = c->why.reason == HONE_REASON_NONE;
  hone_schedule by_default;
  print_schedule(q, &c->schedule);
  if (legal && (q->a.kind == HONE_LOOKUP_EXACT || c->default_cycles < 0 || c->cycles <= c->default_cycles)) return;
  if (q->a.kind != HONE_LOOKUP_FALLBACK)
    cli_warn(q->r, legal ? "library.near-worse" : "library.illegal", "the library's schedule is %s here: the default is given",
             legal ? "slower than the default" : "not legal");
  hone_text_clear(&q->schedule);
  q->used = NULL;
  if (hone_schedule_default(&q->p.op, &q->p.machine, &by_default, NULL) != HONE_OK) return;
  print_schedule(q, &by_default);
  q->used = "default";
}

static hone_status cost_again(question *q, hone_err *err)
{
  hone_operator *tuned = hone_heap_alloc(1, sizeof *tuned);
  hone_status st = HONE_OK;
  char hash[HONE_HASH_TEXT];
  st = hone_library_operator(q->a.family, q->a.entry ? q->a.entry->size : q->a.family->fallback_size, q->p.operator_path, tuned, err);
  if (q->a.entry && st == HONE_OK) {
    hone_hash_print(hone_operator_hash(tuned), hash);
    if (strcmp(hash, q->a.entry->operator_hash) != 0)
      st = stale(err, "library.stale-operator", "operator", tuned->name, q->a.entry->operator_hash, hash);
  }
  if (st == HONE_OK && q->a.schedule && q->have_machine) {
    st = hone_library_recost(q->a.schedule, tuned, &q->p.op, &q->p.machine, &q->cost, err);
    q->have_cost = st == HONE_OK;
    if (q->have_cost) choose(q);
  }
  free(tuned);
  return st;
}

/* ---- saying --------------------------------------------------------------------- */

static json_t *sizes_json(const hone_library_family *f, const int64_t *size)
{
  json_t *o = json_object();
  for (int k = 0; k < f->spec.nsizes; k++) json_object_set_new(o, f->spec.size[k].name, json_integer(size[k]));
  return o;
}

static json_t *entry_json(const hone_library_family *f, const hone_library_entry *e)
{
  if (!e) return json_null();
  json_t *o = json_object();
  const struct {
    const char *key;
    json_t *value;
  } row[] = { { "sizes", sizes_json(f, e->size) }, { "schedule", json_string(e->schedule) }, { "evidence", json_string(hone_evidence_word(e->evidence)) },
              { "cycles", cli_json_cycles(e->cycles) }, { "default_cycles", cli_json_cycles(e->default_cycles) },
              { "warm_cycles", cli_json_cycles(e->warm_cycles) }, { "default_warm_cycles", cli_json_cycles(e->default_warm_cycles) }, { "model_cycles", cli_json_cycles(e->model_cycles) },
              { "bound_cycles", cli_json_cycles(e->bound_cycles) }, { "margin_pct", cli_json_real(e->margin_pct) },
              { "gap_pct", cli_json_real(e->gap_pct) }, { "no_significant_gain", json_boolean(e->no_significant_gain) },
              { "key", json_string(e->key) }, { "microcode", cli_json_text(e->microcode) } };
  for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) json_object_set_new(o, row[i].key, row[i].value);
  return o;
}

static json_t *interval_json(const hone_library_family *f, const hone_library_interval *x)
{
  if (!x) return json_null();
  return json_pack("{s:s, s:I, s:I, s:o, s:I, s:s, s:o, s:i, s:f}", "size", f->spec.size[x->axis].name, "lo", (json_int_t)x->lo, "hi",
                   (json_int_t)x->hi, "loss_pct", cli_json_real(x->loss_pct), "loss_at", (json_int_t)x->loss_at, "loss_of",
                   hone_loss_basis_word(x->basis), "sim_loss_pct", cli_json_real(x->sim_loss_pct), "sim_samples", x->sim_samples,
                   "margin_pct", x->margin_pct);
}

static double above_pct(int64_t a, int64_t b)
{
  return a >= 0 && b > 0 ? 100.0 * ((double)a / (double)b - 1.0) : NAN;
}

static json_t *cost_json(const question *q)
{
  const hone_library_cost *c = &q->cost;
  if (!q->have_cost) return json_null();
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "model_cycles", cli_json_cycles(c->cycles), "default_model_cycles",
                   cli_json_cycles(c->default_cycles), "bound_cycles", cli_json_cycles(c->bound_cycles), "margin_pct",
                   cli_json_real(c->cycles < 0 ? NAN : above_pct(c->default_cycles, c->cycles)), "gap_pct",
                   cli_json_real(above_pct(c->cycles, c->bound_cycles)), "refused",
                   c->why.reason == HONE_REASON_NONE ? json_null() : cli_json_why(c->why.reason, c->why.text));
}

static void fill_document(question *q)
{
  json_t *o = q->r->document;
  const hone_library_answer *a = &q->a;
  hone_text spec = { 0 };
  hone_spec_print(&q->p.op.spec, &spec);
  json_object_set_new(o, "asked", json_string(spec.data));
  json_object_set_new(o, "machine", cli_json_text(q->have_machine ? q->p.machine.name : q->machine));
  json_object_set_new(o, "kind", json_string(hone_lookup_kind_word(a->kind)));
  json_object_set_new(o, "reason", json_string(a->reason));
  json_object_set_new(o, "family", a->family ? json_string(a->family->id) : json_null());
  json_object_set_new(o, "expected_loss_pct", cli_json_real(a->loss_pct));
  json_object_set_new(o, "used", cli_json_text(q->used));
  json_object_set_new(o, "schedule", cli_json_text(q->schedule.data));
  json_object_set_new(o, "entry", entry_json(a->family, a->entry));
  json_object_set_new(o, "interval", interval_json(a->family, a->interval));
  json_object_set_new(o, "cost", cost_json(q));
  hone_text_fini(&spec);
}

static void print_loss(const question *q, hone_text *out)
{
  const hone_library_interval *x = q->a.interval;
  if (q->a.kind == HONE_LOOKUP_EXACT || !q->a.family) return;
  if (isnan(q->a.loss_pct)) {
    hone_text_add(out, "loss        not known\n");
    return;
  }
  hone_text_add(out, "loss        at most %.2f %% on the model, over %s\n", q->a.loss_pct,
                x && x->basis == HONE_LOSS_OF_BOUND ? "the physical bound" : "the best schedule found");
}

static void print_cost(const question *q, hone_text *out)
{
  const hone_library_cost *c = &q->cost;
  if (c->why.reason != HONE_REASON_NONE) {
    hone_text_add(out, "refused     %s\n", c->why.text[0] ? c->why.text : hone_reason_text(c->why.reason));
  } else {
    hone_text_add(out, "here        ");
    cli_text_cycles(out, c->cycles, &q->p.machine);
    if (c->bound_cycles > 0) hone_text_add(out, " by the model, %.1f %% above the bound", above_pct(c->cycles, c->bound_cycles));
    hone_text_add(out, "\n");
  }
  if (c->default_cycles < 0) return;
  hone_text_add(out, "default     ");
  cli_text_cycles(out, c->default_cycles, &q->p.machine);
  if (c->cycles > 0) hone_text_add(out, " by the model, %+.1f %%", above_pct(c->default_cycles, c->cycles));
  hone_text_add(out, "\n");
}

static void print_answer(question *q)
{
  hone_text *out = &q->r->out;
  const hone_library_entry *e = q->a.entry;
  hone_text_add(out, "%-11s %s\n", hone_lookup_kind_word(q->a.kind), q->a.reason);
  if (q->a.family) hone_text_add(out, "family      %s\n", q->a.family->id);
  print_loss(q, out);
  if (e) {
    hone_text_add(out, "tuned       ");
    cli_text_count(out, e->cycles);
    hone_text_add(out, " cycles (%s), ", hone_evidence_word(e->evidence));
    if (e->no_significant_gain) hone_text_add(out, "no significant gain over the default\n");
    else hone_text_add(out, "%.1f %% over the default\n", e->margin_pct);
  }
  if (q->have_cost) print_cost(q, out);
  if (q->used) hone_text_add(out, "schedule    (%s) %s\n", q->used, q->schedule.data ? q->schedule.data : "");
}

hone_status cli_library_lookup(cli_run *r, const hone_library *l, hone_err *err)
{
  question *q = hone_heap_alloc(1, sizeof *q);
  q->r = r;
  q->l = l;
  hone_status st = cli_operator_load(r, &q->p, err);
  if (st == HONE_OK) st = find_machine(q, err);
  if (st == HONE_OK) st = ask(q, err);
  if (st == HONE_OK && q->a.schedule) {
    q->used = q->a.entry ? "entry" : "fallback";
    hone_text_add(&q->schedule, "%s", q->a.schedule);
    warn_of_evaluators(q);
    st = cost_again(q, err);
  }
  if (st == HONE_OK) {
    fill_document(q);
    print_answer(q);
    if (!q->a.family) r->outcome = HONE_NOT_FOUND;
  }
  hone_text_fini(&q->schedule);
  free(q);
  return st;
}
