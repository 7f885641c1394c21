/* hone simulate: cycles, where they went, and whether the numbers are right. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lowered_int.h"
#include "eval/evaluator.h"

enum { SIMULATE_SCHEDULE = CLI_PROBLEM_COUNT, SIMULATE_NUMERICS, SIMULATE_SEED, SIMULATE_OPTIONS };

static const hone_option options[] = {
  CLI_COMMON_OPTIONS,
  CLI_PROBLEM_OPTIONS,
  { "schedule", HONE_OPTION_TEXT, 0, 0, "default", "TEXT|@FILE", "Schedule in canonical text.", false },
  { "check-numerics", HONE_OPTION_FLAG, 0, 1, NULL, NULL, "Also run the numbers and compare them with the reference.", false },
  { "seed", HONE_OPTION_INT, 0, INT64_MAX, "1", "N", "Seed of the numbers.", false },
};

static void add_units(cli_run *r, const hone_sim_result *x)
{
  json_t *list = json_array();
  bool used[HONE_STALL_COUNT] = { false };
  int columns = 1;
  for (int c = 0; c < HONE_STALL_COUNT; c++) {
    for (int i = 0; i < x->nunits; i++) used[c] = used[c] || x->unit[i].cycles[c] > 0;
    columns += used[c];
  }
  static const char align[] = "lrrrrrrrrrrrrrrr";
  _Static_assert(HONE_STALL_COUNT + 1 < sizeof align, "one letter per column");
  cli_table t = { .columns = columns, .align = align };
  cli_table_add(&t, "unit");
  for (int c = 0; c < HONE_STALL_COUNT; c++)
    if (used[c]) cli_table_add(&t, "%s", hone_stall_name((hone_stall)c));
  for (int i = 0; i < x->nunits; i++) {
    json_t *o = json_object();
    json_object_set_new(o, "unit", json_string(x->unit[i].name));
    cli_table_add(&t, "%s", x->unit[i].name);
    for (int c = 0; c < HONE_STALL_COUNT; c++) {
      json_object_set_new(o, hone_stall_name((hone_stall)c), json_integer(x->unit[i].cycles[c]));
      if (used[c]) cli_table_add(&t, "%" PRId64, x->unit[i].cycles[c]);
    }
    json_array_append_new(list, o);
  }
  hone_text_add(&r->out, "\n");
  cli_table_print(&t, &r->out);
  json_object_set_new(r->document, "units", list);
}

static void report(cli_run *r, const cli_problem *p, const hone_sim_result *x)
{
  hone_text_add(&r->out, "cold  ");
  cli_text_cycles(&r->out, x->cycles, &p->machine);
  hone_text_add(&r->out, "\nwarm  ");
  cli_text_cycles(&r->out, x->warm_cycles, &p->machine);
  hone_text_add(&r->out, "\nDRAM  ");
  cli_text_count(&r->out, x->dram_requests);
  hone_text_add(&r->out, " requests, %.1f %% busy, ", 100.0 * (double)x->dram_busy_cycles / (double)x->cycles);
  cli_text_count(&r->out, x->dram_row_misses);
  hone_text_add(&r->out, " row misses\n");
  json_object_set_new(r->document, "sim_cycles", json_integer(x->cycles));
  json_object_set_new(r->document, "sim_warm_cycles", json_integer(x->warm_cycles));
  json_object_set_new(r->document, "seconds", json_real(cli_seconds(x->cycles, &p->machine)));
  json_object_set_new(r->document, "dram_requests", json_integer(x->dram_requests));
  json_object_set_new(r->document, "dram_busy_cycles", json_integer(x->dram_busy_cycles));
  json_object_set_new(r->document, "dram_row_misses", json_integer(x->dram_row_misses));
  json_object_set_new(r->document, "traffic", cli_json_traffic(&p->op, &p->machine, &x->counts));
  add_units(r, x);
}

static hone_status check_numerics(cli_run *r, const cli_problem *p, const hone_schedule *s, hone_err *err)
{
  hone_numerics n;
  hone_status st = hone_check_numerics(&p->op, &p->machine, s, (uint64_t)r->value[SIMULATE_SEED].i, &n, err);
  if (st != HONE_OK) return st;
  json_object_set_new(r->document, "numerics",
                      json_pack("{s:b, s:I, s:o, s:o, s:o}", "passed", n.passed, "checked_elements", (json_int_t)n.checked_elements,
                                "worst_error", cli_json_real(n.worst_error), "tolerance", cli_json_real(n.tolerance), "text", cli_json_text(n.text)));
  hone_text_add(&r->out, "\nnumerics  %s: ", n.passed ? "passed" : "FAILED");
  cli_text_count(&r->out, n.checked_elements);
  hone_text_add(&r->out, " elements compared, worst error %.3g, tolerance %.3g %s\n", n.worst_error, n.tolerance, n.text);
  if (!n.passed) return hone_err_set(err, HONE_INTERNAL, "numerics.wrong", "%s", n.text);
  return HONE_OK;
}

static hone_status simulate(cli_run *r, const lowered *l, hone_err *err)
{
  const cli_problem *p = &l->problem;
  hone_sim_argument args[HONE_MAX_TENSORS];
  for (int t = 0; t < p->op.ntensors; t++) args[t] = (hone_sim_argument){ .layout = l->schedule.layout[t] };
  hone_sim_options o = { .warm = true };
  hone_sim_result x;
  memset(&x, 0, sizeof x);
  hone_range *block = hone_sim_blocks(&p->op, &p->machine, &l->schedule);
  hone_status st = hone_sim_run(l->bytes, l->n, &p->op, &p->machine, block, args, &o, &x, err);
  if (st == HONE_OK) report(r, p, &x);
  hone_sim_result_fini(&x);
  free(block);
  if (st == HONE_OK && r->value[SIMULATE_NUMERICS].i) st = check_numerics(r, p, &l->schedule, err);
  return st;
}

static hone_status run(cli_run *r, hone_err *err)
{
  lowered l;
  hone_status st = lowered_load(r, r->value[SIMULATE_SCHEDULE].text, &l, err);
  if (st != HONE_OK) return st;
  st = simulate(r, &l, err);
  lowered_fini(&l);
  return st;
}

const cli_command cli_simulate = {
  .name = "simulate",
  .summary = "execute a schedule's microcode cycle by cycle",
  .detail = "Compiles, verifies and simulates --schedule (or the default one): cold and warm cycles and what every unit did with them. "
            "--check-numerics also runs the numbers, whole tensors of small operators and a slice of big ones, and compares them "
            "with the reference; a difference is an error.",
  .option = options,
  .noptions = SIMULATE_OPTIONS,
  .run = run,
};
