/* The document and the text of one tuning result. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "cli/tune_int.h"

static json_t *schedule_document(const cli_problem *p, const hone_tuned *t)
{
  if (!t->text) return json_null();
  json_t *o = json_object();
  json_object_set_new(o, "schedule", json_string(t->text));
  json_object_set_new(o, "model_cycles", cli_json_cycles(t->model_cycles));
  json_object_set_new(o, "sim_cycles", cli_json_cycles(t->sim_cycles));
  json_object_set_new(o, "sim_warm_cycles", cli_json_cycles(t->sim_warm_cycles));
  json_object_set_new(o, "sim_seconds", t->sim_cycles < 0 ? json_null() : json_real(cli_seconds(t->sim_cycles, &p->machine)));
  json_object_set_new(o, "bottleneck", cli_json_text(t->bottleneck));
  if (t->reason != HONE_REASON_NONE) json_object_set_new(o, "failure", cli_json_why(t->reason, t->failure));
  return o;
}

static json_t *counts_document(const hone_tune_counts *c)
{
  json_t *o = json_object(), *by = json_object();
  json_object_set_new(o, "space", json_string(c->space));
  const struct {
    const char *key;
    int64_t n;
  } rows[] = { { "generated", c->generated }, { "feasible", c->feasible }, { "unique", c->unique }, { "evaluated", c->evaluated },
               { "simulated", c->simulated }, { "failed", c->failed } };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) json_object_set_new(o, rows[i].key, json_integer(rows[i].n));
  for (int i = 1; i < HONE_REASON_COUNT; i++)
    if (c->failed_by[i] > 0) json_object_set_new(by, hone_reason_code((hone_reason)i), json_integer(c->failed_by[i]));
  json_object_set_new(o, "failed_by", by);
  return o;
}

static json_t *fidelity_document(const hone_fidelity *f)
{
  if (f->n == 0) return json_null();
  json_t *o = json_object();
  json_object_set_new(o, "schedules", json_integer(f->n));
  json_object_set_new(o, "mape_pct", cli_json_real(f->mape_pct));
  json_object_set_new(o, "bias_pct", cli_json_real(f->bias_pct));
  json_object_set_new(o, "kendall_tau", cli_json_real(f->kendall_tau));
  json_object_set_new(o, "kendall_tau_top_decile", cli_json_real(f->kendall_tau_top_decile));
  json_object_set_new(o, "top_k", json_integer(f->top_k));
  json_object_set_new(o, "regret_pct", cli_json_real(f->regret_pct));
  return o;
}

/* Cycles the matrix engine would need for the useful points alone, all of its
 * slots filled. */
static double matrix_ideal(const cli_problem *p, const hone_schedule *s, const hone_counts *c)
{
  double cycles = 0;
  for (int i = 0; i < p->op.nstages; i++) {
    const hone_stage *st = &p->op.stage[i];
    const hone_engine *e = &p->machine.engine[s->engine[i]];
    if (st->kind != HONE_STAGE_CONTRACT || e->kind != HONE_ENGINE_MATRIX) continue;
    const hone_array_rate *rate = hone_machine_find_rate(&e->matrix, p->op.tensor[st->read[0].tensor].format,
                                                         p->op.tensor[st->read[1].tensor].format, st->accumulator);
    if (!rate) return NAN;
    cycles += (double)c->useful[i] / ((double)e->matrix.rows * e->matrix.columns * hone_machine_cores(&p->machine)) *
              (double)rate->cycles_per_row_num / (double)rate->cycles_per_row_den;
  }
  return cycles;
}

tune_shares tune_shares_of(const cli_problem *p, const hone_schedule *s, int64_t cycles)
{
  tune_shares x = { NAN, NAN };
  hone_model *model = NULL;
  hone_cost cost;
  if (cycles <= 0 || hone_model_new(&p->op, &p->machine, &model, NULL) != HONE_OK) return x;
  if (hone_model_evaluate(model, s, &cost) == HONE_REASON_NONE) {
    const hone_memory *dram = &p->machine.memory[0];
    double bytes = 0;
    for (int t = 0; t < p->op.ntensors; t++) bytes += (double)(cost.counts.read_bytes[t][0] + cost.counts.write_bytes[t][0]);
    x.matrix_pct = 100.0 * matrix_ideal(p, s, &cost.counts) / (double)cycles;
    x.dram_pct = 100.0 * bytes * (double)dram->bandwidth.den / (double)dram->bandwidth.num / (double)cycles;
  }
  hone_model_free(model);
  return x;
}

static void add_split(const cli_problem *p, const hone_schedule *s, hone_text *out)
{
  for (int a = 0; a < p->machine.naxes; a++)
    for (int d = 0; d < p->op.ndims; d++)
      if (s->split[a][d] > 1)
        hone_text_add(out, "%s/%" PRId64 " ", p->op.dim[d].name, s->split[a][d]);
}

void tune_schedule_short(const cli_problem *p, const hone_schedule *s, hone_text *out)
{
  add_split(p, s, out);
  for (int l = 1; l < p->machine.nlevels; l++) {
    hone_text_add(out, "%s%s ", l > 1 ? " " : "", p->machine.memory[l].name);
    for (int d = 0, first = 1; d < p->op.ndims; d++) {
      if (p->op.dim[d].extent == 1) continue;
      hone_text_add(out, "%s%" PRId64, first ? "" : "x", s->tile[l][d]);
      first = 0;
    }
    for (int i = 0, first = 1; i < p->op.ndims; i++) {
      if (s->tile[l - 1][s->order[l][i]] <= s->tile[l][s->order[l][i]]) continue;
      hone_text_add(out, "%s%s", first ? " " : "", p->op.dim[s->order[l][i]].name);
      first = 0;
    }
  }
}

json_t *tune_document(const cli_problem *p, const hone_tune_task *task, const hone_tune_result *x)
{
  json_t *o = json_object(), *top = json_array();
  json_object_set_new(o, "status", json_string(hone_tune_status_word(x->status)));
  json_object_set_new(o, "problem", cli_json_problem(p));
  json_object_set_new(o, "evidence", json_string(x->simulated ? "simulator" : "model"));
  json_object_set_new(o, "counts", counts_document(&x->counts));
  json_object_set_new(o, "default", schedule_document(p, &x->by_default));
  json_object_set_new(o, "best", schedule_document(p, &x->best));
  json_object_set_new(o, "bound_cycles", json_integer(x->bound.cycles));
  json_object_set_new(o, "bound_limit", cli_json_text(x->bound.limit));
  json_object_set_new(o, "model_optimum_cycles", cli_json_cycles(x->model_optimum_cycles));
  json_object_set_new(o, "gap_pct", cli_json_real(x->gap_pct));
  json_object_set_new(o, "gain_pct", cli_json_real(x->gain_pct));
  json_object_set_new(o, "bottleneck", cli_json_text(x->best.bottleneck));
  tune_shares share = tune_shares_of(p, &x->best.schedule, x->best.text ? x->best.sim_cycles : -1);
  json_object_set_new(o, "share_of_matrix_peak_pct", cli_json_real(share.matrix_pct));
  json_object_set_new(o, "share_of_dram_peak_pct", cli_json_real(share.dram_pct));
  json_object_set_new(o, "fidelity", fidelity_document(&x->fidelity));
  for (int i = 0; i < x->ntop; i++) json_array_append_new(top, schedule_document(p, &x->top[i]));
  json_object_set_new(o, "top", top);
  json_object_set_new(o, "strategy", json_string(task->strategy->name));
  json_object_set_new(o, "seed", json_integer((json_int_t)task->seed));
  json_object_set_new(o, "budget", json_integer(x->budget_used));
  json_object_set_new(o, "batch_size", json_integer(task->batch));
  if (x->status == HONE_TUNE_INFEASIBLE) json_object_set_new(o, "reason", cli_json_text(x->reason));
  json_object_set_new(o, "elapsed_s", json_real(x->elapsed_s));
  return o;
}

static void add_cycles(const char *name, const cli_problem *p, int64_t cycles, hone_text *out)
{
  hone_text_add(out, "%-11s ", name);
  cli_text_cycles(out, cycles, &p->machine);
}

static void counts_text(const hone_tune_counts *c, hone_text *out)
{
  hone_text_add(out, "%-11s ", "evaluated");
  cli_text_count(out, c->evaluated);
  hone_text_add(out, " schedules of a space of %s points, ", c->space);
  cli_text_count(out, c->simulated);
  hone_text_add(out, " simulated");
  if (c->failed > 0) {
    hone_text_add(out, ", %" PRId64 " failed:", c->failed);
    for (int i = 1; i < HONE_REASON_COUNT; i++)
      if (c->failed_by[i] > 0) hone_text_add(out, " %s %" PRId64, hone_reason_code((hone_reason)i), c->failed_by[i]);
  }
  hone_text_add(out, "\n");
}

static void fidelity_text(const hone_fidelity *f, hone_text *out)
{
  if (f->n == 0) return;
  hone_text_add(out, "%-11s off by %.1f %% on average (bias %+.1f %%)", "model", f->mape_pct, f->bias_pct);
  if (!isnan(f->kendall_tau)) hone_text_add(out, ", rank correlation %.2f", f->kendall_tau);
  if (!isnan(f->kendall_tau_top_decile)) hone_text_add(out, ", among the best %.2f", f->kendall_tau_top_decile);
  hone_text_add(out, "; top %d lose %.1f %%\n", f->top_k, f->regret_pct);
}

void tune_text(const cli_problem *p, const hone_tune_task *task, const hone_tune_result *x, hone_text *out)
{
  hone_text_add(out, "%s on %s\n%-11s %s: %s\n", task->label, p->machine.name, "status", hone_tune_status_word(x->status),
                hone_tune_status_text(x->status));
  if (x->reason[0]) hone_text_add(out, "%-11s %s\n", "reason", x->reason);
  if (x->status == HONE_TUNE_ALL_FAILED && x->by_default.text)
    hone_text_add(out, "%-11s of the default: %s [%s]\n", "failure", x->by_default.failure, hone_reason_code(x->by_default.reason));
  const char *by = x->simulated ? "" : p->machine.tile_machine ? " on the model (too long to simulate)"
                                                               : " on the model (this machine is not simulated)";
  int64_t best = x->simulated ? x->best.sim_cycles : x->best.model_cycles;
  int64_t start = x->simulated ? x->by_default.sim_cycles : x->by_default.model_cycles;
  if (x->best.text && best >= 0) {
    add_cycles("best", p, best, out);
    hone_text_add(out, "%s, %.1f %% above the bound, limited by %s\n", by, x->gap_pct, x->best.bottleneck);
  }
  if (x->by_default.text && start >= 0) {
    add_cycles("default", p, start, out);
    if (best >= 0) hone_text_add(out, ", so the best is %.1f %% faster", x->gain_pct);
    hone_text_add(out, "\n");
  }
  add_cycles("bound", p, x->bound.cycles, out);
  hone_text_add(out, ", set by %s\n", x->bound.limit ? x->bound.limit : "nothing");
  if (x->best.text) hone_text_add(out, "%-11s %s\n", "schedule", x->best.text);
  fidelity_text(&x->fidelity, out);
  counts_text(&x->counts, out);
  hone_text_add(out, "%-11s %.2f s with seed %" PRIu64, "took", x->elapsed_s, task->seed);
  if (x->time_limited) hone_text_add(out, "; --budget %" PRId64 " without --time reproduces it", x->budget_used);
  hone_text_add(out, "\n");
}

hone_status tune_exit(hone_tune_status s)
{
  if (s == HONE_TUNE_INTERRUPTED) return HONE_INTERRUPTED;
  return s == HONE_TUNE_INFEASIBLE || s == HONE_TUNE_ALL_FAILED ? HONE_INFEASIBLE : HONE_OK;
}
