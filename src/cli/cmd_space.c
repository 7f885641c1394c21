/* hone space: what can be chosen, how much of it is legal, and examples. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "cli/cli.h"

enum { SPACE_SCHEDULE = CLI_PROBLEM_COUNT, SPACE_COUNT, SPACE_SEED, SPACE_LIMIT, SPACE_OPTIONS };

static const hone_option options[] = {
  CLI_COMMON_OPTIONS,
  CLI_PROBLEM_OPTIONS,
  { "schedule", HONE_OPTION_TEXT, 0, 0, "default", "TEXT|@FILE", "Schedule in canonical text, for check and neighbours.", false },
  { "count", HONE_OPTION_INT, 1, 100000, "10", "N", "How many schedules sample and neighbours list.", false },
  { "seed", HONE_OPTION_INT, 0, INT64_MAX, "1", "N", "Seed of sample and of count beyond the limit.", false },
  { "limit", HONE_OPTION_INT, 1, INT64_C(1000000000), "100000", "N", "Points count tries one by one; larger spaces are sampled.", false },
};

static void describe(const hone_param *p, const cli_problem *problem, hone_text *out)
{
  if (p->domain == HONE_DOMAIN_RANGE) {
    hone_text_add(out, "%" PRId64 " .. %" PRId64, p->min, p->max);
  } else if (p->domain == HONE_DOMAIN_ORDER) {
    hone_text_add(out, "orders of the loops");
  } else {
    for (int i = 0; i < p->nset; i++) {
      hone_text_add(out, i ? " | " : "");
      hone_param_print_value(&problem->op, &problem->machine, p, p->set[i], out);
    }
  }
}

static hone_status show(cli_run *r, const cli_problem *p, hone_err *err)
{
  (void)err;
  json_t *params = json_array(), *constraints = json_array();
  cli_table table = { .columns = 2, .align = "ll" };
  cli_table_add(&table, "parameter");
  cli_table_add(&table, "values");
  for (int i = 0; i < hone_space_parameters(p->space); i++) {
    const hone_param *q = hone_space_param(p->space, i);
    hone_text t = { 0 };
    describe(q, p, &t);
    cli_table_add(&table, "%s", q->name);
    cli_table_add(&table, "%s", t.data ? t.data : "");
    json_array_append_new(params, json_pack("{s:s, s:s}", "name", q->name, "values", t.data ? t.data : ""));
    hone_text_fini(&t);
  }
  cli_table_print(&table, &r->out);
  for (int i = 0; i < hone_space_constraints(p->space); i++) {
    const char *name = hone_space_constraint_name(p->space, i), *reason = hone_space_constraint_reason(p->space, i);
    hone_text_add(&r->out, "constraint %s: %s\n", name, reason ? reason : "");
    json_array_append_new(constraints, json_pack("{s:s, s:s?}", "name", name, "reason", reason));
  }
  json_object_set_new(r->document, "parameters", params);
  json_object_set_new(r->document, "constraints", constraints);
  return HONE_OK;
}

static hone_status count(cli_run *r, const cli_problem *p, hone_err *err)
{
  (void)err;
  hone_space_count c;
  hone_space_count_run(p->space, r->value[SPACE_LIMIT].i, (uint64_t)r->value[SPACE_SEED].i, &c);
  json_t *killed = json_object();
  hone_text_add(&r->out, "points     %s (10^%.1f)\n", c.points, c.log10_points);
  if (c.counted) hone_text_add(&r->out, "legal      %" PRId64 " points, %" PRId64 " schedules (every point tried)\n", c.legal, c.schedules);
  else hone_text_add(&r->out, "tried      %" PRId64 " points at random\n", c.tried);
  for (int i = 1; i < HONE_REASON_COUNT; i++) {
    if (c.killed[i] == 0) continue;
    hone_text_add(&r->out, "  %10" PRId64 " %s: %s\n", c.killed[i], hone_reason_code((hone_reason)i), hone_reason_text((hone_reason)i));
    json_object_set_new(killed, hone_reason_code((hone_reason)i), json_integer(c.killed[i]));
  }
  json_object_set_new(r->document, "points", json_string(c.points));
  json_object_set_new(r->document, "log10_points", cli_json_real(c.log10_points));
  json_object_set_new(r->document, "counted", json_boolean(c.counted));
  json_object_set_new(r->document, "legal", cli_json_cycles(c.legal));
  json_object_set_new(r->document, "schedules", cli_json_cycles(c.schedules));
  json_object_set_new(r->document, "tried", json_integer(c.tried));
  json_object_set_new(r->document, "killed", killed);
  bool empty = c.state != HONE_SPACE_HAS_LEGAL;
  json_object_set_new(r->document, "empty", json_boolean(empty));
  if (empty) {
    hone_text_add(&r->out, "empty      %s\n", c.text);
    json_object_set_new(r->document, "reason", json_string(c.text));
    r->outcome = HONE_INFEASIBLE;
  }
  hone_space_count_fini(&c);
  return HONE_OK;
}

static void list_point(cli_run *r, const cli_problem *p, const int64_t *values, json_t *list)
{
  hone_text t = { 0 };
  hone_space_print(p->space, values, &t);
  hone_text_add(&r->out, "%s\n", t.data ? t.data : "");
  json_array_append_new(list, json_string(t.data ? t.data : ""));
  hone_text_fini(&t);
}

static hone_status sample(cli_run *r, const cli_problem *p, hone_err *err)
{
  enum { TRIES = 1000 };
  json_t *list = json_array();
  hone_rng rng;
  hone_rng_init(&rng, (uint64_t)r->value[SPACE_SEED].i);
  int64_t *values = hone_heap_alloc((size_t)hone_space_parameters(p->space) + 1, sizeof *values);
  hone_status st = HONE_OK;
  for (int64_t i = 0; i < r->value[SPACE_COUNT].i && st == HONE_OK; i++) {
    if (hone_space_sample(p->space, &rng, TRIES, values)) list_point(r, p, values, list);
    else st = hone_err_set(err, HONE_NOT_FOUND, "space.no-sample", "no legal schedule in %d tries", TRIES);
  }
  free(values);
  json_object_set_new(r->document, "schedules", list);
  return st;
}

static hone_status neighbours(cli_run *r, const cli_problem *p, hone_err *err)
{
  hone_schedule s;
  hone_status st = cli_schedule_load(p, r->value[SPACE_SCHEDULE].text, &s, err);
  if (st != HONE_OK) return st;
  int parameters = hone_space_parameters(p->space);
  int64_t *values = hone_heap_alloc((size_t)parameters + 1, sizeof *values), *near = NULL, n = 0;
  json_t *list = json_array();
  hone_space_point(p->space, &s, values);
  hone_space_neighbours(p->space, values, &near, &n);
  for (int64_t i = 0; i < n && i < r->value[SPACE_COUNT].i; i++) list_point(r, p, near + i * parameters, list);
  if (!r->json && n > r->value[SPACE_COUNT].i)
    hone_text_add(&r->out, "(%" PRId64 " of %" PRId64 "; --count shows more)\n", r->value[SPACE_COUNT].i, n);
  json_object_set_new(r->document, "neighbours", json_integer(n));
  json_object_set_new(r->document, "schedules", list);
  free(near);
  free(values);
  return HONE_OK;
}

static hone_status check(cli_run *r, const cli_problem *p, hone_err *err)
{
  hone_schedule s;
  hone_status st = cli_schedule_load(p, r->value[SPACE_SCHEDULE].text, &s, err);
  if (st != HONE_OK) return st;
  int64_t *values = hone_heap_alloc((size_t)hone_space_parameters(p->space) + 1, sizeof *values);
  hone_space_why why;
  memset(&why, 0, sizeof why);
  hone_space_point(p->space, &s, values);
  hone_reason reason = hone_space_check(p->space, values, &why);
  const char *text = why.text[0] ? why.text : why.ir.text[0] ? why.ir.text : hone_reason_text(reason);
  json_object_set_new(r->document, "legal", json_boolean(reason == HONE_REASON_NONE));
  if (reason != HONE_REASON_NONE) {
    json_object_set_new(r->document, "reason", cli_json_why(reason, text));
    r->outcome = HONE_INFEASIBLE;
    hone_text_add(&r->out, "illegal: %s [%s]\n", text, hone_reason_code(reason));
  } else {
    hone_text_add(&r->out, "legal\n");
  }
  free(values);
  return HONE_OK;
}

enum { FOR_SHOW = 1, FOR_COUNT = 2, FOR_SAMPLE = 4, FOR_NEIGHBOURS = 8, FOR_CHECK = 16 };

static const struct {
  const char *name;
  hone_status (*run)(cli_run *r, const cli_problem *p, hone_err *err);
  int bit;
} subcommands[] = { { "show", show, FOR_SHOW }, { "count", count, FOR_COUNT }, { "sample", sample, FOR_SAMPLE },
                    { "neighbours", neighbours, FOR_NEIGHBOURS }, { "check", check, FOR_CHECK } };
enum { NSUBCOMMANDS = sizeof subcommands / sizeof subcommands[0] };

static const int heeded[SPACE_OPTIONS] = {
  [CLI_JSON] = CLI_ALL, [CLI_HELP] = CLI_ALL, [CLI_DATA] = CLI_ALL, [CLI_OPERATOR] = CLI_ALL, [CLI_SIZE] = CLI_ALL, [CLI_DTYPE] = CLI_ALL,
  [CLI_FORMAT] = CLI_ALL, [CLI_OPTION] = CLI_ALL, [CLI_MACHINE] = CLI_ALL, [CLI_SPACE] = CLI_ALL,
  [SPACE_SCHEDULE] = FOR_NEIGHBOURS | FOR_CHECK, [SPACE_COUNT] = FOR_SAMPLE | FOR_NEIGHBOURS, [SPACE_SEED] = FOR_SAMPLE | FOR_COUNT,
  [SPACE_LIMIT] = FOR_COUNT,
};

static const char *subcommand_at(void *arg, int i)
{
  (void)arg;
  return subcommands[i].name;
}

static hone_status run(cli_run *r, hone_err *err)
{
  int which = cli_subcommand_find(r, NSUBCOMMANDS, subcommand_at, err);
  if (which < 0) return HONE_USAGE;
  cli_problem p;
  hone_status st = cli_check_heeded(r, heeded, subcommands[which].bit, subcommands[which].name, err);
  if (st == HONE_OK) st = cli_problem_load(r, &p, err);
  if (st != HONE_OK) return st;
  r->document = json_object();
  json_object_set_new(r->document, "problem", cli_json_problem(&p));
  st = subcommands[which].run(r, &p, err);
  cli_problem_fini(&p);
  return st;
}

const cli_command cli_space = {
  .name = "space",
  .summary = "show, count and sample the schedules of an operator on a machine",
  .arguments = "show|count|sample|neighbours|check",
  .detail = "show lists the parameters and constraints; count says how many schedules there are and what makes others illegal; "
            "sample draws legal ones; neighbours lists those one step from --schedule; check says whether --schedule is legal, "
            "and if not why (exit status 3).",
  .option = options,
  .noptions = SPACE_OPTIONS,
  .max_positional = 1,
  .run = run,
};
