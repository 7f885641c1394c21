/* The outward functions of libhone; see hone.h. They only translate: texts to the
 * rooms' types, statuses to exit codes, diagnostics to text. */
#include "config.h"

#include "hone.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "campaign/campaign.h"
#include "cost/model.h"
#include "eval/evaluator.h"
#include "ir/machine.h"
#include "ir/operator.h"
#include "ir/schedule.h"
#include "search/strategy.h"
#include "spaces/space.h"

enum { MAX_ITEMS = 64 };

struct hone_problem {
  hone_operator op;
  hone_machine machine;
  hone_params params;
  hone_space *space;
};

const char *hone_version(void) { return PACKAGE_VERSION; }

void hone_string_free(char *text) { free(text); }

static int answer(hone_status s, const hone_err *err, char *why)
{
  if (s != HONE_OK && why) hone_err_print(err, why, HONE_ERROR_TEXT);
  return hone_status_exit_code(s);
}

/* ---- problems --------------------------------------------------------------- */

/* A comma-separated list of NAME=VALUE, cut in place; `bare` takes the one item
 * that may come without a name. */
typedef struct {
  char *storage;
  int n;
  const char *name[MAX_ITEMS], *value[MAX_ITEMS];
} pairs;

static char *copy_text(const char *s)
{
  size_t n = strlen(s) + 1;
  return memcpy(hone_heap_alloc(n, 1), s, n);
}

static hone_status pairs_parse(const char *text, const char **bare, pairs *out, hone_err *err)
{
  *out = (pairs){0};
  if (!text || !*text) return HONE_OK;
  out->storage = copy_text(text);
  for (char *item = out->storage, *comma; item; item = comma) {
    comma = strchr(item, ',');
    if (comma) *comma++ = '\0';
    char *equal = strchr(item, '=');
    if (!equal && bare && !*bare && *item) {
      *bare = item;
      continue;
    }
    if (!equal || equal == item || !equal[1] || out->n == MAX_ITEMS)
      return hone_err_set(err, HONE_USAGE, "hone.list", "'%s' is not a list of NAME=VALUE", text);
    *equal = '\0';
    out->name[out->n] = item;
    out->value[out->n++] = equal + 1;
  }
  return HONE_OK;
}

static hone_status read_sizes(const pairs *list, hone_size *out, hone_err *err)
{
  for (int i = 0; i < list->n; i++) {
    out[i].name = list->name[i];
    if (!hone_text_parse_int(list->value[i], &out[i].value))
      return hone_err_set(err, HONE_USAGE, "hone.size", "size %s: '%s' is not a whole number", list->name[i], list->value[i]);
  }
  return HONE_OK;
}

static hone_status read_format(const char *tensor, const char *name, hone_format_choice *out, hone_err *err)
{
  out->tensor = tensor;
  if (hone_format_find(name, &out->format)) return HONE_OK;
  return hone_err_set(err, HONE_USAGE, "format.unknown", "unknown number format '%s'", name);
}

static hone_status load_operator(const hone_problem_source *source, const pairs *size, const char *dtype, const pairs *format,
                                 const pairs *option, hone_operator *out, hone_err *err)
{
  hone_size sizes[MAX_ITEMS];
  hone_format_choice formats[MAX_ITEMS + 1];
  hone_operator_option options[MAX_ITEMS];
  int nformats = 0;
  hone_status s = read_sizes(size, sizes, err);
  if (s == HONE_OK && dtype) s = read_format(NULL, dtype, &formats[nformats++], err);
  for (int i = 0; i < format->n && s == HONE_OK; i++)
    s = read_format(format->name[i], format->value[i], &formats[nformats++], err);
  if (s != HONE_OK) return s;
  for (int i = 0; i < option->n; i++)
    options[i] = (hone_operator_option){.name = option->name[i], .value = option->value[i]};
  return hone_operator_load(source->operator_file, sizes, size->n, formats, nformats, options, option->n, out, err);
}

static hone_status make_space(const hone_problem_source *source, hone_problem *p, hone_err *err)
{
  hone_text template = {0};
  hone_text_add(&template, "%s/spaces/template.yaml", source->data ? source->data : HONE_DATADIR);
  const hone_space_source sources[] = {{template.data, NULL}, {source->operator_file, NULL}};
  hone_status s = hone_params_new(&p->op, &p->machine, &p->params, err);
  if (s == HONE_OK) s = hone_space_new(&p->op, &p->machine, &p->params, sources, 2, &p->space, err);
  hone_text_fini(&template);
  return s;
}

static hone_status load_problem(const hone_problem_source *source, hone_problem *p, hone_err *err)
{
  const char *dtype = NULL;
  pairs size = {0}, format = {0}, option = {0};
  if (!source->operator_file || !source->machine_file)
    return hone_err_set(err, HONE_USAGE, "hone.source", "an operator file and a machine file are required");
  hone_status s = pairs_parse(source->sizes, NULL, &size, err);
  if (s == HONE_OK) s = pairs_parse(source->formats, &dtype, &format, err);
  if (s == HONE_OK) s = pairs_parse(source->options, NULL, &option, err);
  if (s == HONE_OK) s = load_operator(source, &size, dtype, &format, &option, &p->op, err);
  if (s == HONE_OK) s = hone_machine_load(source->machine_file, &p->machine, err);
  if (s == HONE_OK) s = make_space(source, p, err);
  free(size.storage);
  free(format.storage);
  free(option.storage);
  return s;
}

int hone_problem_new(const hone_problem_source *source, hone_problem **out, char *why)
{
  hone_err err;
  hone_err_init(&err);
  hone_problem *p = hone_heap_alloc(1, sizeof *p);
  hone_status s = load_problem(source, p, &err);
  if (s == HONE_OK)
    *out = p;
  else
    hone_problem_free(p);
  return answer(s, &err, why);
}

void hone_problem_free(hone_problem *p)
{
  if (!p) return;
  hone_space_free(p->space);
  hone_params_free(&p->params);
  free(p);
}

int hone_problem_bound(const hone_problem *p, int64_t *cycles, char *why)
{
  hone_err err;
  hone_bound bound;
  hone_status s = hone_bound_cycles(&p->op, &p->machine, &bound, &err);
  if (s == HONE_OK) *cycles = bound.cycles;
  return answer(s, &err, why);
}

/* ---- schedules -------------------------------------------------------------- */

int hone_problem_default(const hone_problem *p, char **schedule, char *why)
{
  hone_err err;
  hone_schedule s;
  hone_status st = hone_schedule_default(&p->op, &p->machine, &s, &err);
  if (st == HONE_OK) {
    hone_text text = {0};
    hone_schedule_print(&p->op, &p->machine, &p->params, &s, &text);
    *schedule = text.data ? text.data : copy_text("");
  }
  return answer(st, &err, why);
}

static hone_status evaluate(const hone_problem *p, const hone_evaluator_type *type, const hone_schedule *s, hone_outcome *out,
                            hone_err *err)
{
  hone_evaluator *e = NULL;
  hone_status st = hone_evaluator_new(type, &p->op, &p->machine, &e, err);
  if (st == HONE_OK) st = hone_evaluator_batch(e, 1, &s, out, err);
  hone_evaluator_free(e);
  if (st != HONE_OK || out->reason == HONE_REASON_NONE) return st;
  return hone_err_set(err, HONE_INFEASIBLE, hone_reason_code(out->reason), "%s",
                      out->text[0] ? out->text : hone_reason_text(out->reason));
}

int hone_problem_time(const hone_problem *p, const char *schedule, int simulate, hone_times *out, char *why)
{
  hone_err err;
  hone_schedule s;
  hone_outcome model, simulator;
  hone_status st = hone_schedule_parse(&p->op, &p->machine, &p->params, schedule, &s, &err);
  if (st == HONE_OK) st = evaluate(p, &hone_evaluator_model, &s, &model, &err);
  if (st == HONE_OK && simulate) st = evaluate(p, &hone_evaluator_simulator, &s, &simulator, &err);
  if (st != HONE_OK) return answer(st, &err, why);
  const hone_outcome *dearest = simulate ? &simulator : &model;
  out->model_cycles = model.cycles;
  out->simulated_cycles = simulate ? simulator.cycles : -1;
  out->warm_cycles = simulate ? simulator.warm_cycles : -1;
  memcpy(out->bottleneck, dearest->bottleneck, sizeof out->bottleneck);
  return HONE_DONE;
}

/* ---- tuning ----------------------------------------------------------------- */

static hone_times times_of(const hone_tuned *t)
{
  hone_times x = {.model_cycles = t->model_cycles, .simulated_cycles = t->sim_cycles, .warm_cycles = t->sim_warm_cycles};
  memcpy(x.bottleneck, t->bottleneck, sizeof x.bottleneck);
  return x;
}

static hone_status take_result(const hone_tune_result *r, hone_tuning *out, hone_err *err)
{
  if (!r->best.text)
    return hone_err_set(err, HONE_INFEASIBLE, hone_tune_status_word(r->status), "%s",
                        r->reason[0] ? r->reason : hone_tune_status_text(r->status));
  out->schedule = copy_text(r->best.text);
  out->best = times_of(&r->best);
  out->by_default = times_of(&r->by_default);
  out->bound_cycles = r->bound.cycles;
  return HONE_OK;
}

int hone_problem_tune(const hone_problem *p, const hone_tune_request *request, hone_tuning *out, char *why)
{
  hone_err err;
  hone_tune_result result;
  const char *strategy = request->strategy ? request->strategy : "evolutionary";
  memset(out, 0, sizeof *out);
  hone_tune_task task = {.op = &p->op, .machine = &p->machine, .params = &p->params, .space = p->space, .label = p->op.name,
                         .strategy = hone_strategy_find(strategy), .seed = request->seed, .budget = request->budget,
                         .batch = 64, .top_k = 8, .samples = 16, .max_k = 64};
  if (!task.strategy) return answer(hone_err_set(&err, HONE_USAGE, "strategy.unknown", "unknown strategy '%s'", strategy), &err, why);
  if (task.budget < 1) return answer(hone_err_set(&err, HONE_USAGE, "hone.budget", "the budget must be at least 1"), &err, why);
  hone_status s = hone_tune_run(&task, &result, &err);
  if (s == HONE_OK) s = take_result(&result, out, &err);
  hone_tune_result_fini(&result);
  return answer(s, &err, why);
}

void hone_tuning_clear(hone_tuning *t)
{
  free(t->schedule);
  memset(t, 0, sizeof *t);
}
