/* hone explain: why a schedule takes the time it takes. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "cli/cli.h"
#include "cost/model.h"

enum { EXPLAIN_SCHEDULE = CLI_PROBLEM_COUNT, EXPLAIN_CHANGES, EXPLAIN_OPTIONS };

static const hone_option options[] = {
  CLI_COMMON_OPTIONS,
  CLI_PROBLEM_OPTIONS,
  { "schedule", HONE_OPTION_TEXT, 0, 0, "default", "TEXT|@FILE", "Schedule in canonical text.", false },
  { "changes", HONE_OPTION_INT, 0, 100, "5", "N", "How many of the single changes that help most to list.", false },
};

static void explain_time(cli_run *r, const cli_problem *p, const hone_cost *cost, const hone_bound *bound)
{
  json_t *causes = json_object();
  hone_text_add(&r->out, "model       ");
  cli_text_cycles(&r->out, cost->cycles, &p->machine);
  hone_text_add(&r->out, ", limited by %s\n", hone_cause_name(cost->bottleneck));
  for (int c = 0; c < HONE_CAUSE_COUNT; c++) {
    json_object_set_new(causes, hone_cause_name((hone_cause)c), json_integer(cost->by_cause[c]));
    if (cost->by_cause[c] == 0) continue;
    hone_text_add(&r->out, "  %-14s %5.1f %%  ", hone_cause_name((hone_cause)c), 100.0 * (double)cost->by_cause[c] / (double)cost->cycles);
    cli_text_count(&r->out, cost->by_cause[c]);
    hone_text_add(&r->out, "\n");
  }
  hone_text_add(&r->out, "bound       ");
  cli_text_cycles(&r->out, bound->cycles, &p->machine);
  double gap = 100.0 * ((double)cost->cycles / (double)bound->cycles - 1.0);
  hone_text_add(&r->out, ", set by %s; the model is %.1f %% above it\n", bound->limit, gap);
  json_object_set_new(r->document, "model_cycles", json_integer(cost->cycles));
  json_object_set_new(r->document, "cycles_by_cause", causes);
  json_object_set_new(r->document, "bottleneck", json_string(hone_cause_name(cost->bottleneck)));
  json_object_set_new(r->document, "busy_cycles",
                      json_pack("{s:I, s:I, s:I, s:I}", "matrix", (json_int_t)cost->busy_matrix, "vector", (json_int_t)cost->busy_vector,
                                "dram", (json_int_t)cost->busy_dram, "dma", (json_int_t)cost->busy_dma));
  json_object_set_new(r->document, "energy_pj", cost->energy_fj < 0 ? json_null() : json_real((double)cost->energy_fj / 1000));
  json_object_set_new(r->document, "bound",
                      json_pack("{s:I, s:s, s:I, s:I, s:I, s:I, s:I}", "cycles", (json_int_t)bound->cycles, "limit", bound->limit,
                                "matrix_cycles", (json_int_t)bound->matrix_cycles, "vector_cycles", (json_int_t)bound->vector_cycles,
                                "dram_cycles", (json_int_t)bound->dram_cycles, "first_fill_cycles", (json_int_t)bound->first_fill_cycles,
                                "last_drain_cycles", (json_int_t)bound->last_drain_cycles));
  json_object_set_new(r->document, "gap_pct", cli_json_real(gap));
}

static void explain_traffic(cli_run *r, const cli_problem *p, const hone_counts *c)
{
  cli_table t = { .columns = 5, .align = "llrrr" };
  static const char *const head[] = { "tensor", "memory", "read", "written", "compulsory" };
  hone_text_add(&r->out, "\nTraffic, bytes\n");
  for (int i = 0; i < 5; i++) cli_table_add(&t, "%s", head[i]);
  for (int x = 0; x < p->op.ntensors; x++)
    for (int l = 0; l < p->machine.nlevels; l++) {
      if (c->read_bytes[x][l] == 0 && c->write_bytes[x][l] == 0) continue;
      int64_t least = -1;
      cli_table_add(&t, "%s", p->op.tensor[x].name);
      cli_table_add(&t, "%s", p->machine.memory[l].name);
      cli_table_add(&t, "%" PRId64, c->read_bytes[x][l]);
      cli_table_add(&t, "%" PRId64, c->write_bytes[x][l]);
      if (l == 0 && hone_tensor_compulsory(&p->op, x, &least)) cli_table_add(&t, "%" PRId64, least);
      else cli_table_add(&t, "%s", "");
    }
  cli_table_print(&t, &r->out);
  json_object_set_new(r->document, "traffic", cli_json_traffic(&p->op, &p->machine, c));
}

/* What is in each memory, and what is left of it. */
static void explain_memories(cli_run *r, const cli_problem *p, const hone_events *e)
{
  int64_t used[HONE_MAX_LEVELS];
  hone_events_footprint(e, used);
  json_t *list = json_array();
  hone_text_add(&r->out, "\nMemories\n");
  for (int l = 1; l < p->machine.nlevels; l++) {
    const hone_memory *m = &p->machine.memory[l];
    json_t *buffers = json_array();
    hone_text_add(&r->out, "%s: ", m->name);
    cli_text_bytes(&r->out, used[l]);
    hone_text_add(&r->out, " of ");
    cli_text_bytes(&r->out, m->capacity_bytes);
    hone_text_add(&r->out, ", slack ");
    cli_text_bytes(&r->out, m->capacity_bytes - used[l]);
    hone_text_add(&r->out, "\n");
    for (int b = 0; b < e->nbuffers; b++) {
      const hone_buffer *x = &e->buffer[b];
      if (x->level != l) continue;
      hone_text_add(&r->out, "  %s %d x ", p->op.tensor[x->tensor].name, x->depth);
      cli_text_bytes(&r->out, x->bytes);
      hone_text_add(&r->out, "\n");
      json_array_append_new(buffers, json_pack("{s:s, s:i, s:I}", "tensor", p->op.tensor[x->tensor].name, "copies", x->depth,
                                               "bytes_per_copy", (json_int_t)x->bytes));
    }
    json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:o}", "memory", m->name, "used_bytes", (json_int_t)used[l],
                                          "capacity_bytes", (json_int_t)m->capacity_bytes, "slack_bytes",
                                          (json_int_t)(m->capacity_bytes - used[l]), "buffers", buffers));
  }
  json_object_set_new(r->document, "memories", list);
}

typedef struct {
  int64_t cycles, index;
} change;

static int by_cycles(const void *x, const void *y)
{
  const change *a = x, *b = y;
  if (a->cycles != b->cycles) return a->cycles < b->cycles ? -1 : 1;
  return (a->index > b->index) - (a->index < b->index);
}

static void list_change(cli_run *r, const cli_problem *p, const int64_t *from, const int64_t *to, int64_t cycles, int64_t now, json_t *list)
{
  hone_text t = { 0 };
  for (int i = 0; i < hone_space_parameters(p->space); i++) {
    if (from[i] == to[i]) continue;
    const hone_param *q = hone_space_param(p->space, i);
    hone_text_add(&t, "%s%s ", t.length ? ", " : "", q->name);
    hone_param_print_value(&p->op, &p->machine, q, from[i], &t);
    hone_text_add(&t, " -> ");
    hone_param_print_value(&p->op, &p->machine, q, to[i], &t);
  }
  double gain = 100.0 * ((double)now / (double)cycles - 1.0);
  hone_text_add(&r->out, "  %+6.1f %%  %s\n", gain, t.data ? t.data : "");
  json_array_append_new(list, json_pack("{s:s, s:I, s:f}", "change", t.data ? t.data : "", "model_cycles", (json_int_t)cycles, "gain_pct", gain));
  hone_text_fini(&t);
}

/* Counterfactuals: every legal schedule one change away, by the model. */
static void explain_changes(cli_run *r, const cli_problem *p, const hone_model *model, const hone_schedule *s, int64_t now)
{
  int parameters = hone_space_parameters(p->space);
  int64_t *from = hone_heap_alloc((size_t)parameters + 1, sizeof *from), *near = NULL, n = 0, better = 0;
  hone_space_point(p->space, s, from);
  hone_space_neighbours(p->space, from, &near, &n);
  change *all = hone_heap_alloc((size_t)n + 1, sizeof *all);
  for (int64_t i = 0; i < n; i++) {
    hone_schedule other;
    hone_cost cost;
    hone_space_schedule(p->space, near + i * parameters, &other);
    if (hone_model_evaluate(model, &other, &cost) == HONE_REASON_NONE && cost.cycles < now)
      all[better++] = (change){ cost.cycles, i };
  }
  qsort(all, (size_t)better, sizeof *all, by_cycles);
  json_t *list = json_array();
  hone_text_add(&r->out, "\nOne change away: %" PRId64 " legal schedules, %" PRId64 " faster on the model\n", n, better);
  for (int64_t i = 0; i < better && i < r->value[EXPLAIN_CHANGES].i; i++)
    list_change(r, p, from, near + all[i].index * parameters, all[i].cycles, now, list);
  json_object_set_new(r->document, "changes", list);
  free(all);
  free(near);
  free(from);
}

static hone_status explain(cli_run *r, const cli_problem *p, const hone_schedule *s, hone_err *err)
{
  hone_model *model = NULL;
  hone_cost cost;
  hone_bound bound;
  hone_events *e = hone_heap_alloc(1, sizeof *e);
  hone_status st = hone_model_new(&p->op, &p->machine, &model, err);
  if (st == HONE_OK) st = hone_bound_cycles(&p->op, &p->machine, &bound, err);
  hone_reason reason = st == HONE_OK ? hone_model_evaluate(model, s, &cost) : HONE_REASON_NONE;
  if (st == HONE_OK && reason == HONE_REASON_NONE) reason = hone_events_build(&p->op, &p->machine, s, e, NULL);
  if (st == HONE_OK && reason != HONE_REASON_NONE) {
    hone_why why = { 0 };
    hone_schedule_check(&p->op, &p->machine, s, &why);
    st = hone_err_set(err, HONE_INFEASIBLE, "schedule.illegal", "%s", why.text[0] ? why.text : hone_reason_text(reason));
    json_object_set_new(r->document, "reason", cli_json_why(reason, why.text));
  }
  if (st == HONE_OK) {
    explain_time(r, p, &cost, &bound);
    explain_traffic(r, p, &cost.counts);
    explain_memories(r, p, e);
    explain_changes(r, p, model, s, cost.cycles);
  }
  hone_model_free(model);
  free(e);
  return st;
}

static hone_status run(cli_run *r, hone_err *err)
{
  cli_problem p;
  hone_schedule s;
  hone_status st = cli_problem_load(r, &p, err);
  if (st != HONE_OK) return st;
  r->document = json_object();
  json_object_set_new(r->document, "problem", cli_json_problem(&p));
  st = cli_schedule_load(&p, r->value[EXPLAIN_SCHEDULE].text, &s, err);
  if (st == HONE_OK) {
    hone_text t = { 0 };
    hone_schedule_print(&p.op, &p.machine, &p.params, &s, &t);
    json_object_set_new(r->document, "schedule", json_string(t.data ? t.data : ""));
    hone_text_add(&r->out, "schedule    %s\n", t.data ? t.data : "");
    hone_text_fini(&t);
    st = explain(r, &p, &s, err);
  }
  cli_problem_fini(&p);
  return st;
}

const cli_command cli_explain = {
  .name = "explain",
  .summary = "say where a schedule's time goes and what would change it",
  .detail = "Breaks the model's time of --schedule (or the default one) down by cause, shows the traffic of every tensor, what fills "
            "each memory and what is left, the physical bound, and the single changes that would help most.",
  .option = options,
  .noptions = EXPLAIN_OPTIONS,
  .run = run,
};
