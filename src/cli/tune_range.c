/* hone tune --size m=1..4096: few schedules for every shape of a range. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "campaign/family.h"
#include "cli/tune_int.h"

/* ---- the task --------------------------------------------------------------- */

/* An option that would do nothing is refused rather than ignored. */
static hone_status check_options(const cli_run *r, hone_err *err)
{
  static const struct {
    int option;
    const char *why;
  } refused[] = {
    { CLI_SPACE, "the entries are used at shapes it was not made for" },
    { TUNE_TIME, "the budget decides how long it takes" },
    { TUNE_RESUME, "it starts from nothing" },
    { TUNE_TOP, "it lists its entries" },
    { TUNE_MAX_K, "--top-k schedules compete for each entry" },
  };
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    if (r->value[refused[i].option].given)
      return hone_err_set(err, HONE_USAGE, "range.option", "--%s does not go with a range of sizes: %s",
                          r->command->option[refused[i].option].name, refused[i].why);
  return HONE_OK;
}

static hone_status make_task(const cli_run *r, const hone_tune_task *from, hone_family_task *task, hone_err *err)
{
  hone_status st = check_options(r, err);
  *task = (hone_family_task){ .strategy = from->strategy, .strategy_options = from->strategy_options,
                              .nstrategy_options = from->nstrategy_options, .seed = from->seed, .budget = from->budget,
                              .batch = from->batch, .entries = (int)r->value[TUNE_ENTRIES].i, .top_k = from->top_k,
                              .samples = from->samples, .store = from->store, .interrupted = from->interrupted,
                              .progress = tune_progress_show };
  return st;
}

/* The operator's spec, with the range in it. */
static void put_range(hone_spec *spec, const cli_range *range)
{
  int i = hone_spec_find_size(spec, range->name);
  spec->size[i].value = range->lo;
  spec->size[i].to = range->hi;
}

static void add_label(const hone_spec *spec, hone_text *out)
{
  hone_text_add(out, "%s ", spec->operator_name);
  for (int i = 0; i < spec->nsizes; i++) {
    hone_text_add(out, "%s%s=%" PRId64, i ? "," : "", spec->size[i].name, spec->size[i].value);
    if (spec->size[i].to != spec->size[i].value) hone_text_add(out, "..%" PRId64, spec->size[i].to);
  }
  for (int i = 0; i < spec->nformats; i++)
    hone_text_add(out, " %s%s%s", spec->format[i].tensor, spec->format[i].tensor[0] ? "=" : "", hone_format_name(spec->format[i].format));
}

/* ---- the document ----------------------------------------------------------- */

static json_t *counts_document(const hone_family_counts *c)
{
  return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "shapes", (json_int_t)c->shapes, "searches", (json_int_t)c->searches, "searched",
                   (json_int_t)c->searched, "evaluated", (json_int_t)c->evaluated, "pool", (json_int_t)c->pool, "simulated",
                   (json_int_t)c->simulated);
}

static json_t *fidelity_document(const hone_fidelity *f)
{
  if (f->n == 0) return json_null();
  return json_pack("{s:i, s:o, s:o}", "schedules", f->n, "mape_pct", cli_json_real(f->mape_pct), "bias_pct",
                   cli_json_real(f->bias_pct));
}

/* What the store has of it, and the rest. */
static json_t *document(const hone_family_task *task, const hone_family_result *x)
{
  json_t *o = x->document ? json_loads(x->document, 0, NULL) : json_object();
  json_object_set_new(o, "status", json_string(hone_tune_status_word(x->status)));
  if (!x->document) {
    hone_text spec = { 0 };
    hone_spec_print(task->spec, &spec);
    json_object_set_new(o, "spec", json_string(spec.data));
    json_object_set_new(o, "size", json_string(x->size));
    json_object_set_new(o, "lo", json_integer(x->lo));
    json_object_set_new(o, "hi", json_integer(x->hi));
    json_object_set_new(o, "machine", json_string(task->machine->name));
    json_object_set_new(o, "seed", json_integer((json_int_t)task->seed));
    json_object_set_new(o, "budget", json_integer(task->budget));
    json_object_set_new(o, "entries", json_array());
    hone_text_fini(&spec);
  }
  if (x->reason[0]) json_object_set_new(o, "reason", cli_json_text(x->reason));
  if (x->entries_needed > 0) json_object_set_new(o, "entries_needed", json_integer(x->entries_needed));
  json_object_set_new(o, "entries_limit", json_integer(task->entries));
  json_object_set_new(o, "evidence", json_string(x->simulated ? "simulator" : "model"));
  bool found = x->nentries > 0;
  json_object_set_new(o, "model_worst_loss_pct", found ? cli_json_real(x->model_loss_pct) : json_null());
  json_object_set_new(o, "model_worst_loss_at", found ? json_integer(x->model_loss_at) : json_null());
  json_object_set_new(o, "model_mean_loss_pct", found ? cli_json_real(x->mean_loss_pct) : json_null());
  json_object_set_new(o, "model_margin_pct", cli_json_real(x->model_margin_pct));
  json_object_set_new(o, "bound_worst_gap_pct", cli_json_real(x->bound_gap_pct));
  json_object_set_new(o, "sim_worst_loss_pct", cli_json_real(x->sim_loss_pct));
  json_object_set_new(o, "sim_worst_loss_at", x->simulated ? json_integer(x->sim_loss_at) : json_null());
  json_object_set_new(o, "sim_margin_pct", cli_json_real(x->sim_margin_pct));
  json_object_set_new(o, "fidelity", fidelity_document(&x->fidelity));
  json_object_set_new(o, "counts", counts_document(&x->counts));
  json_object_set_new(o, "strategy", json_string(task->strategy->name));
  json_object_set_new(o, "batch_size", json_integer(task->batch));
  json_object_set_new(o, "elapsed_s", json_real(x->elapsed_s));
  return o;
}

/* ---- the text --------------------------------------------------------------- */

static void add_count_cell(cli_table *t, int64_t n)
{
  hone_text s = { 0 };
  if (n < 0) hone_text_add(&s, "-");
  else cli_text_count(&s, n);
  cli_table_add(t, "%s", s.data);
  hone_text_fini(&s);
}

static void add_loss_cell(cli_table *t, double pct, int64_t at)
{
  if (isfinite(pct)) cli_table_add(t, "%.2f %% at %" PRId64, pct, at);
  else cli_table_add(t, "-");
}

static void add_percent_cell(cli_table *t, double pct)
{
  if (isfinite(pct)) cli_table_add(t, "%.2f %%", pct);
  else cli_table_add(t, "-");
}

static hone_status add_row(cli_problem *p, const hone_family_task *task, const hone_family_entry *e, cli_table *t, hone_err *err)
{
  hone_schedule s;
  hone_text schedule = { 0 };
  hone_spec spec = *task->spec;
  int i = hone_spec_range(&spec);
  spec.size[i].value = spec.size[i].to = e->hi;
  hone_params_free(&p->params);
  hone_status st = hone_operator_load_spec(p->operator_path, &spec, &p->op, err);
  if (st == HONE_OK) st = hone_params_new(&p->op, &p->machine, &p->params, err);
  if (st == HONE_OK) st = hone_schedule_parse(&p->op, &p->machine, &p->params, e->schedule, &s, err);
  if (st != HONE_OK) return st;
  tune_schedule_short(p, &s, &schedule);
  cli_table_add(t, "%" PRId64 "..%" PRId64, e->lo, e->hi);
  add_loss_cell(t, e->model_loss_pct, e->model_loss_at);
  add_loss_cell(t, e->sim_loss_pct, e->sim_loss_at);
  add_percent_cell(t, e->bound_gap_pct);
  add_count_cell(t, e->sim_cycles >= 0 ? e->sim_cycles : e->model_cycles);
  add_count_cell(t, e->sim_cycles >= 0 ? e->default_sim_cycles : e->default_model_cycles);
  add_count_cell(t, e->bound_cycles);
  cli_table_add(t, "%s", schedule.data ? schedule.data : "");
  hone_text_fini(&schedule);
  return HONE_OK;
}

static hone_status add_entries(cli_problem *p, const hone_family_task *task, const hone_family_result *x, hone_text *out, hone_err *err)
{
  static const char *const head[] = { NULL, "loses at most", "simulated", "above bound", "cycles at end", "default", "bound", "schedule at end" };
  cli_table t = { .columns = 8, .align = "rrrrrrrl" };
  cli_table_add(&t, "%s", x->size);
  for (int i = 1; i < t.columns; i++) cli_table_add(&t, "%s", head[i]);
  hone_status st = HONE_OK;
  for (int k = 0; k < x->nentries && st == HONE_OK; k++) st = add_row(p, task, &x->entry[k], &t, err);
  if (st == HONE_OK) cli_table_print(&t, out);
  else cli_table_fini(&t);
  return st;
}

static void add_check(const hone_family_check *c, const char *size, hone_text *out)
{
  hone_text_add(out, "%d full searches at random shapes ", c->shapes);
  if (c->worst_pct > 0)
    hone_text_add(out, "found at most %.2f %% better than the best known (%s=%" PRId64 ")", c->worst_pct, size, c->worst_at);
  else hone_text_add(out, "found nothing better than the best known");
  hone_text_add(out, "; in round %d of the check.\n", c->rounds);
}

static void add_summary(const hone_family_task *task, const hone_family_result *x, hone_text *out)
{
  for (int k = 0; k < x->nholes; k++)
    hone_text_add(out, "not served: %s=%" PRId64 "..%" PRId64 ": %s\n", x->size, x->hole[k].lo, x->hole[k].hi, x->hole[k].reason);
  hone_text_add(out, "\n");
  add_check(&x->check, x->size, out);
  cli_text_count(out, x->counts.evaluated);
  hone_text_add(out, " schedules evaluated at ");
  cli_text_count(out, x->counts.shapes);
  hone_text_add(out, " shapes, ");
  cli_text_count(out, x->counts.simulated);
  hone_text_add(out, " simulated, in %.1f s with seed %" PRIu64 ".\n", x->elapsed_s, task->seed);
  if (x->simulated)
    hone_text_add(out, "In simulation at most %.2f %% (%s=%" PRId64 ") against the best simulated of a shape.\n", x->sim_loss_pct, x->size,
                  x->sim_loss_at);
  hone_text_add(out,
                "%d %s at most %.2f %% (%s=%" PRId64 ", %.2f %% on average) against the best known schedule of any of the "
                "%" PRId64 " shapes on the model, never more than its default.\n",
                x->nentries, x->nentries == 1 ? "entry loses" : "entries lose", x->model_loss_pct, x->size, x->model_loss_at, x->mean_loss_pct, x->counts.shapes);
}

static void warn(cli_run *r, const hone_family_result *x)
{
  if (x->sim_margin_pct < 0)
    cli_warn(r, "range.simulated-worse", "in simulation an entry is up to %.2f %% slower than the default at a sample", -x->sim_margin_pct);
  if (x->check.worst_pct > HONE_SIGNIFICANT_GAIN_PCT)
    cli_warn(r, "range.weak-reference",
             "full searches still found up to %.2f %% better than the best known; losses may be that much larger: raise --budget",
             x->check.worst_pct);
}

static hone_status report(cli_run *r, cli_problem *p, const hone_family_task *task, const hone_family_result *x, hone_err *err)
{
  hone_status st = HONE_OK;
  r->document = document(task, x);
  r->outcome = tune_exit(x->status);
  hone_text_add(&r->out, "%s on %s\n", task->label, task->machine->name);
  hone_text_add(&r->out, "%-11s %s: %s\n", "status", hone_tune_status_word(x->status), x->reason[0] ? x->reason : hone_tune_status_text(x->status));
  if (x->status == HONE_TUNE_INTERRUPTED) {
    cli_warn(r, "tune.interrupted", "interrupted; the same command starts again");
    return HONE_OK;
  }
  if (x->nentries == 0) return HONE_OK;
  hone_text_add(&r->out, "\n");
  st = add_entries(p, task, x, &r->out, err);
  if (st != HONE_OK) return st;
  add_summary(task, x, &r->out);
  warn(r, x);
  return HONE_OK;
}

hone_status tune_range(cli_run *r, hone_tune_task *from, tune_progress *progress, hone_err *err)
{
  cli_problem p;
  cli_range range;
  hone_family_task task;
  hone_family_result x;
  char template_path[512];
  hone_text label = { 0 };
  hone_status st = make_task(r, from, &task, err);
  if (st == HONE_OK) st = cli_find_file(r, "spaces", "template", template_path, sizeof template_path, err);
  if (st != HONE_OK) return st;
  st = cli_problem_load_range(r, &p, &range, err);
  if (st == HONE_INFEASIBLE) r->document = json_pack("{s:s}", "status", hone_tune_status_word(HONE_TUNE_INFEASIBLE));
  if (st != HONE_OK) return st;
  const hone_space_source sources[] = { { template_path, NULL }, { p.operator_path, NULL } };
  hone_spec spec = p.op.spec;
  put_range(&spec, &range);
  add_label(&spec, &label);
  task.operator_path = p.operator_path;
  task.spec = &spec;
  task.machine = &p.machine;
  task.space = sources;
  task.nspace = 2;
  task.label = label.data;
  task.progress_arg = progress;
  st = hone_family_run(&task, &x, err);
  tune_progress_clear(progress);
  if (st == HONE_OK) st = report(r, &p, &task, &x, err);
  hone_family_result_fini(&x);
  hone_text_fini(&label);
  cli_problem_fini(&p);
  return st;
}
