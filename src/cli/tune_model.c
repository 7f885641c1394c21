/* Every distinct operator of a model, tuned one after another; the table a person
 * reads and the document a program reads. What is not tuned is listed with its
 * reason, never dropped. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/arena.h"
#include "cli/tune_int.h"
#include "model/model_config.h"

/* Totals over the operators tuned, weighted by count. */
typedef struct {
  int tuned, failed, skipped, infeasible; /* the last: skipped since the machine cannot run it */
  double best, by_default, bound; /* cycles */
  bool interrupted;
} totals;

typedef struct {
  cli_run *r;
  hone_tune_task *task;
  tune_progress *progress;
  hone_model_config config;
  hone_model_request request;
  bool formats_chosen; /* by the user: an operator never falls back to another */
  bool fell_back;
  hone_model_memory memory, whole; /* of a shard; of the model */
  hone_model_list list;
  cli_problem problem; /* of the operator at hand; the machine stays */
  cli_table table, skipped;
  json_t *operators, *not_tuned;
  totals sum;
} campaign;

static void add_shape(const hone_model_item *item, hone_text *out, json_t *sizes)
{
  const hone_spec *s = &item->spec;
  for (int i = 0; i < s->nsizes; i++) {
    hone_text_add(out, "%s%s=%" PRId64, i ? "," : "", s->size[i].name, s->size[i].value);
    json_object_set_new(sizes, s->size[i].name, json_integer(s->size[i].value));
  }
  for (int i = 0; i < s->noptions && !item->supported; i++)
    hone_text_add(out, ",%s=%s", s->option[i].name, s->option[i].value);
}

/* What both lists say of an operator. */
static void add_amounts(json_t *o, const hone_model_item *item)
{
  hone_text spec = { 0 };
  hone_spec_print(&item->spec, &spec);
  json_object_set_new(o, "spec", json_string(spec.data));
  json_object_set_new(o, "count", json_integer((json_int_t)item->count));
  json_object_set_new(o, "weight_bytes", json_integer((json_int_t)item->weight_bytes));
  json_object_set_new(o, "flops", json_real(item->flops));
  hone_text_fini(&spec);
}

static void skip(campaign *c, const hone_model_item *item, const char *reason)
{
  hone_text shape = { 0 };
  json_t *sizes = json_object();
  add_shape(item, &shape, sizes);
  c->sum.skipped++;
  cli_table_add(&c->skipped, "%s", item->role);
  cli_table_add(&c->skipped, "%" PRId64, item->count);
  cli_table_add(&c->skipped, "%s", shape.data ? shape.data : "");
  cli_table_add(&c->skipped, "%s", reason);
  json_t *o = json_pack("{s:s, s:s, s:o, s:o}", "role", item->role, "operator", item->spec.operator_name, "sizes", sizes, "reason",
                        cli_json_string(reason));
  add_amounts(o, item);
  json_array_append_new(c->not_tuned, o);
  hone_text_fini(&shape);
}

static void add_row(campaign *c, const hone_model_item *item, const hone_tune_result *x)
{
  const cli_problem *p = &c->problem;
  int64_t best = x->simulated ? x->best.sim_cycles : x->best.model_cycles;
  hone_text shape = { 0 }, cycles = { 0 }, seconds = { 0 }, schedule = { 0 };
  for (int d = 0; d < p->op.ndims; d++)
    if (p->op.dim[d].extent > 1) hone_text_add(&shape, "%s%s=%" PRId64, shape.length ? "," : "", p->op.dim[d].name, p->op.dim[d].extent);
  bool found = x->best.text && best >= 0;
  if (found) {
    cli_text_count(&cycles, best);
    cli_text_seconds(&seconds, cli_seconds(best, &p->machine));
    tune_schedule_short(p, &x->best.schedule, &schedule);
  }
  tune_shares share = tune_shares_of(p, &x->best.schedule, found ? best : -1);
  cli_table_add(&c->table, "%s", item->role);
  cli_table_add(&c->table, "%" PRId64, item->count);
  cli_table_add(&c->table, "%s", shape.data ? shape.data : "");
  cli_table_add(&c->table, "%s", found ? cycles.data : "-");
  cli_table_add(&c->table, "%s", found ? seconds.data : "-");
  if (found) cli_table_add(&c->table, "%.1f %%", x->gap_pct);
  else cli_table_add(&c->table, "-");
  if (isfinite(x->gain_pct)) cli_table_add(&c->table, "%.1f %%", x->gain_pct);
  else cli_table_add(&c->table, "-");
  if (isfinite(share.matrix_pct)) cli_table_add(&c->table, "%.0f %% / %.0f %%", share.matrix_pct, share.dram_pct);
  else cli_table_add(&c->table, "-");
  cli_table_add(&c->table, "%s", found ? x->best.bottleneck : hone_tune_status_word(x->status));
  cli_table_add(&c->table, "%s", schedule.data ? schedule.data : "");
  hone_text_fini(&shape);
  hone_text_fini(&cycles);
  hone_text_fini(&seconds);
  hone_text_fini(&schedule);
}

static void add_to_totals(totals *t, const hone_model_item *item, const hone_tune_result *x)
{
  int64_t best = x->simulated ? x->best.sim_cycles : x->best.model_cycles;
  int64_t start = x->simulated ? x->by_default.sim_cycles : x->by_default.model_cycles;
  if (x->status == HONE_TUNE_INTERRUPTED) t->interrupted = true;
  if (!x->best.text || best < 0) {
    t->failed++;
    return;
  }
  t->tuned++;
  t->best += (double)item->count * (double)best;
  t->by_default += (double)item->count * (double)(x->by_default.text && start >= 0 ? start : best);
  t->bound += (double)item->count * (double)x->bound.cycles;
}

static hone_status load_item(campaign *c, const hone_model_item *item, hone_err *err)
{
  cli_problem *p = &c->problem;
  hone_status st = cli_find_file(c->r, "spaces", item->spec.operator_name, p->operator_path, sizeof p->operator_path, err);
  if (st == HONE_OK) st = hone_operator_load_spec(p->operator_path, &item->spec, &p->op, err);
  if (st == HONE_OK) st = cli_problem_make_space(c->r, p, err);
  return st;
}

/* In the formats of the model's file, or, where the machine cannot and the user did
 * not choose them, in the model's own format. */
static hone_status load_somehow(campaign *c, const hone_model_item *item, hone_err *err)
{
  hone_status st = load_item(c, item, err);
  if (st != HONE_INFEASIBLE || c->formats_chosen || item->spec.nformats < 2 || strcmp(err->code, "schedule.format") != 0) return st;
  hone_model_item plain = *item;
  hone_err why;
  plain.spec.nformats = 1;
  plain.spec.format[0] = (hone_spec_format){ .format = c->config.format };
  hone_err_init(&why);
  cli_problem_fini(&c->problem);
  if (load_item(c, &plain, &why) != HONE_OK) return st; /* the first reason is the better one */
  if (!c->fell_back)
    cli_warn(c->r, "model.format", "%s; such operators are tuned in %s instead, which moves more bytes", err->message,
             hone_format_name(c->config.format));
  c->fell_back = true;
  hone_err_init(err);
  return HONE_OK;
}

/* A role that cannot be tuned here (a format the machine lacks, say) is skipped
 * with the reason; the others go on. */
static hone_status tune_item(campaign *c, const hone_model_item *item, hone_err *err)
{
  hone_tune_result x;
  hone_text label = { 0 };
  hone_status st = item->supported ? load_somehow(c, item, err)
                                   : hone_err_set(err, HONE_UNSUPPORTED, "model.not-yet", "%s", item->reason);
  if (st != HONE_OK) cli_problem_fini(&c->problem);
  if (st == HONE_INFEASIBLE || st == HONE_UNSUPPORTED) {
    c->sum.infeasible += st == HONE_INFEASIBLE;
    skip(c, item, err->message);
    hone_err_init(err);
    return HONE_OK;
  }
  if (st != HONE_OK) return st;
  hone_text_add(&label, "%s: ", item->role);
  cli_problem_label(&c->problem, &label);
  c->task->label = label.data;
  st = tune_problem(&c->problem, c->task, c->progress, &x, err);
  if (st == HONE_OK) {
    json_t *o = tune_document(&c->problem, c->task, &x);
    json_object_set_new(o, "role", json_string(item->role));
    add_amounts(o, item);
    json_array_append_new(c->operators, o);
    add_row(c, item, &x);
    add_to_totals(&c->sum, item, &x);
  }
  hone_tune_result_fini(&x);
  hone_text_fini(&label);
  cli_problem_fini(&c->problem);
  return st;
}

/* ---- what to tune ------------------------------------------------------------- */

/* The file's formats; --dtype: all of them; --format weights=int8,cache=fp8: one. */
static hone_status choose_formats(campaign *c, hone_err *err)
{
  const hone_option_value *v = c->r->value;
  hone_model_formats *f = &c->request.formats;
  hone_format all;
  const struct {
    const char *name;
    hone_format *format, *also;
  } parts[] = { { "activations=", &f->activations, &f->inputs }, { "weights=", &f->weights, &f->other_weights }, { "cache=", &f->cache, &f->cache } };
  *f = hone_model_formats_of(&c->config);
  c->formats_chosen = v[CLI_DTYPE].given;
  hone_status st = v[CLI_DTYPE].given ? cli_format_find(v[CLI_DTYPE].text, &all, err) : HONE_OK;
  if (st == HONE_OK && v[CLI_DTYPE].given) *f = (hone_model_formats){ all, all, all, all, all, false };
  for (int i = 0; i < v[CLI_FORMAT].nlist && st == HONE_OK; i++) {
    const char *item = v[CLI_FORMAT].list[i];
    size_t p = 0;
    while (p < 3 && strncmp(item, parts[p].name, strlen(parts[p].name)) != 0) p++;
    if (p == 3) return hone_err_set(err, HONE_USAGE, "option.value", "--format: '%.60s' is not activations=, weights= or cache=FORMAT", item);
    st = cli_format_find(item + strlen(parts[p].name), parts[p].format, err);
    *parts[p].also = *parts[p].format;
    if (parts[p].format != &f->cache) c->formats_chosen = true;
    if (p == 1) f->mxfp4_experts = false;
  }
  return st;
}

static hone_status missing(const char *option, const char *hint, hone_err *err)
{
  hone_err_set(err, HONE_USAGE, "option.missing", "--model needs --%s", option);
  hone_err_hint(err, "%s", hint);
  return HONE_USAGE;
}

/* A name, a file, or a folder of the hub with a config.json in it. */
static hone_status find_model(const cli_run *r, char *path, size_t n, hone_err *err)
{
  const char *name = r->value[TUNE_MODEL].text;
  struct stat is;
  if (strchr(name, '/') && stat(name, &is) == 0 && S_ISDIR(is.st_mode)) {
    hone_text file = { 0 };
    hone_text_add(&file, "%s/config.json", name);
    hone_status st = cli_path_copy(file.data, path, n, err);
    hone_text_fini(&file);
    return st;
  }
  return cli_find_file(r, "models", name, path, n, err);
}

static hone_status load_model(campaign *c, hone_err *err)
{
  const hone_option_value *v = c->r->value;
  char path[600];
  if (!v[TUNE_PHASE].given) return missing("phase", "--phase prefill or --phase decode", err);
  if (!hone_phase_find(v[TUNE_PHASE].text, &c->request.phase))
    return hone_err_set(err, HONE_USAGE, "option.value", "--phase: '%.40s' is not prefill or decode", v[TUNE_PHASE].text);
  if (!v[TUNE_CONTEXT].given) return missing("context", "the tokens of each sequence, e.g. --context 4096", err);
  c->request.batch = v[TUNE_BATCH].i;
  c->request.context = v[TUNE_CONTEXT].i;
  hone_status st = cli_machine_load(c->r, &c->problem, err);
  if (st == HONE_OK) st = find_model(c->r, path, sizeof path, err);
  if (st == HONE_OK) st = hone_model_config_load(path, &c->config, err);
  if (st == HONE_OK) st = choose_formats(c, err);
  c->request.shards = 1;
  if (st == HONE_OK) st = hone_model_memory_count(&c->config, &c->request, &c->whole, err);
  c->request.shards = v[TUNE_TENSOR_PARALLEL].i;
  if (st == HONE_OK) st = hone_model_operators(&c->config, &c->request, &c->list, err);
  if (st == HONE_OK) st = hone_model_memory_count(&c->config, &c->request, &c->memory, err);
  for (int i = 0; i < c->config.nnotes && st == HONE_OK; i++)
    if (c->config.note[i].warning) cli_warn(c->r, c->config.note[i].code, "%s", c->config.note[i].text);
  if (st == HONE_OK && c->request.formats.mxfp4_experts)
    cli_warn(c->r, "model.format", "the experts are stored as mxfp4 (4.25 bits); memory counts them so, operators read them as %s",
             hone_format_name(c->request.formats.weights));
  return st;
}

static json_t *capacity(campaign *c)
{
  int64_t have = c->problem.machine.memory[0].capacity_bytes;
  int64_t deficit = hone_model_memory_deficit(&c->memory, &c->problem.machine);
  if (deficit > 0) {
    hone_text t = { 0 };
    hone_text_add(&t, "%s does not fit %s: weights ", c->request.shards > 1 ? "a shard of the model" : "the model",
                  c->problem.machine.name);
    cli_text_bytes(&t, c->memory.weight_bytes);
    hone_text_add(&t, " and cache ");
    cli_text_bytes(&t, c->memory.cache_bytes);
    hone_text_add(&t, " need ");
    cli_text_bytes(&t, deficit);
    hone_text_add(&t, " more than the ");
    cli_text_bytes(&t, have);
    hone_text_add(&t, " of DRAM; its operators are tuned all the same");
    cli_warn(c->r, "machine.capacity", "%s", t.data);
    hone_text_fini(&t);
  }
  return json_pack("{s:b, s:I, s:I, s:I, s:I}", "fits", deficit == 0, "weight_bytes", (json_int_t)c->memory.weight_bytes, "cache_bytes",
                   (json_int_t)c->memory.cache_bytes, "dram_bytes", (json_int_t)have, "deficit_bytes", (json_int_t)deficit);
}

/* ---- the whole ---------------------------------------------------------------- */

static hone_status tune_items(campaign *c, hone_err *err)
{
  hone_status st = HONE_OK;
  int of = 0;
  for (int i = 0; i < c->list.n; i++) of += c->list.item[i].supported;
  c->progress->of = of;
  for (int i = 0; i < c->list.n && st == HONE_OK; i++) {
    const hone_model_item *item = &c->list.item[i];
    if (cli_interrupted && item->supported) {
      c->sum.interrupted = true;
      skip(c, item, "interrupted before its turn");
      continue;
    }
    st = tune_item(c, item, err);
    c->progress->index += item->supported;
  }
  return st;
}

static hone_tune_status overall(const totals *t)
{
  if (t->interrupted) return HONE_TUNE_INTERRUPTED;
  if (t->tuned + t->failed == 0) return t->infeasible > 0 ? HONE_TUNE_INFEASIBLE : HONE_TUNE_NOTHING_TO_TUNE;
  return t->tuned == 0 ? HONE_TUNE_ALL_FAILED : HONE_TUNE_BUDGET_SPENT;
}

static void add_totals_text(const campaign *c, hone_text *out)
{
  const totals *t = &c->sum;
  if (t->tuned == 0) return;
  double hz = (double)c->problem.machine.clock_hz;
  hone_text_add(out, "\nOne pass of the %d operators tuned: ", t->tuned);
  cli_text_seconds(out, t->best / hz);
  hone_text_add(out, ", default ");
  cli_text_seconds(out, t->by_default / hz);
  hone_text_add(out, " (%.1f %% slower), bound ", 100.0 * (t->by_default / t->best - 1.0));
  cli_text_seconds(out, t->bound / hz);
  hone_text_add(out, " (the best is %.1f %% above it).\n", 100.0 * (t->best / t->bound - 1.0));
}

/* Name in the document, and value, of each format. */
static json_t *formats_document(const hone_model_formats *f)
{
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:b}", "activations", hone_format_name(f->activations), "inputs",
                   hone_format_name(f->inputs), "weights", hone_format_name(f->weights), "other_weights",
                   hone_format_name(f->other_weights), "cache", hone_format_name(f->cache), "mxfp4_experts", f->mxfp4_experts);
}

static json_t *model_document(const campaign *c)
{
  const hone_model_request *q = &c->request;
  json_t *left_out = json_array();
  for (int i = 0; i < c->config.nnotes; i++)
    if (!c->config.note[i].warning) json_array_append_new(left_out, json_string(c->config.note[i].text));
  return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "architecture", c->config.architecture, "phase",
                   hone_phase_name(q->phase), "batch", (json_int_t)q->batch, "context", (json_int_t)q->context, "tensor_parallel",
                   (json_int_t)q->shards, "parameters", (json_int_t)c->whole.parameters, "active_parameters",
                   (json_int_t)c->whole.active_parameters, "formats", formats_document(&q->formats), "left_out", left_out);
}

static void add_head_text(const campaign *c, hone_text *out)
{
  const hone_model_request *q = &c->request;
  const hone_model_formats *f = &q->formats;
  hone_text_add(out, "%s, %s, batch %" PRId64 ", context %" PRId64 ", on %s", c->config.architecture, hone_phase_name(q->phase),
                q->batch, q->context, c->problem.machine.name);
  if (q->shards > 1) hone_text_add(out, ", one of %" PRId64 " shards", q->shards);
  hone_text_add(out, "\nformats: activations %s", hone_format_name(f->activations));
  if (f->inputs != f->activations) hone_text_add(out, ", inputs of linear layers %s", hone_format_name(f->inputs));
  hone_text_add(out, ", weights %s", hone_format_name(f->weights));
  if (f->other_weights != f->weights) hone_text_add(out, " (lm_head, router, embedding and norms %s)", hone_format_name(f->other_weights));
  hone_text_add(out, ", cache %s\n", hone_format_name(f->cache));
  for (int i = 0; i < c->config.nnotes; i++)
    if (!c->config.note[i].warning) hone_text_add(out, "note: %s\n", c->config.note[i].text);
  hone_text_add(out, "\n");
}

static void report(campaign *c, json_t *fits, double elapsed_s)
{
  cli_run *r = c->r;
  hone_tune_status status = overall(&c->sum);
  r->document = json_object();
  json_object_set_new(r->document, "status", json_string(hone_tune_status_word(status)));
  json_object_set_new(r->document, "model", model_document(c));
  json_object_set_new(r->document, "machine", json_string(c->problem.machine.name));
  json_object_set_new(r->document, "capacity", fits);
  json_object_set(r->document, "operators", c->operators);
  json_object_set(r->document, "not_tuned", c->not_tuned);
  json_object_set_new(r->document, "total", json_pack("{s:f, s:f, s:f}", "best_cycles", c->sum.best, "default_cycles", c->sum.by_default,
                                                      "bound_cycles", c->sum.bound));
  json_object_set_new(r->document, "seed", json_integer((json_int_t)c->task->seed));
  json_object_set_new(r->document, "elapsed_s", json_real(elapsed_s));
  add_head_text(c, &r->out);
  cli_table_print(&c->table, &r->out);
  add_totals_text(c, &r->out);
  if (json_array_size(c->not_tuned) > 0) {
    hone_text_add(&r->out, "\nNot tuned:\n");
    cli_table_print(&c->skipped, &r->out);
  }
  r->outcome = tune_exit(status);
  if (status == HONE_TUNE_INTERRUPTED) tune_resume_hint(r);
}

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void add_head(cli_table *t, const char *const *head)
{
  for (int i = 0; i < t->columns; i++) cli_table_add(t, "%s", head[i]);
}

hone_status tune_model(cli_run *r, hone_tune_task *task, tune_progress *progress, hone_err *err)
{
  static const char *const head[] = { "operator", "count", "shape", "cycles", "time", "gap", "gain", "matrix / DRAM peak", "limited by",
                                      "best schedule" };
  static const char *const skipped_head[] = { "operator", "count", "shape", "why" };
  double start = now();
  campaign *c = hone_heap_alloc(1, sizeof *c);
  *c = (campaign){ .r = r, .task = task, .progress = progress, .table = { .columns = 10, .align = "lrlrrrrrll" },
                   .skipped = { .columns = 4, .align = "lrll" }, .operators = json_array(), .not_tuned = json_array() };
  add_head(&c->table, head);
  add_head(&c->skipped, skipped_head);
  hone_status st = load_model(c, err);
  if (st == HONE_OK) {
    json_t *fits = capacity(c);
    st = tune_items(c, err);
    report(c, fits, now() - start);
  }
  json_decref(c->operators);
  json_decref(c->not_tuned);
  cli_table_fini(&c->table);
  cli_table_fini(&c->skipped);
  free(c);
  return st;
}
