/* Compile, verify, encode, simulate. What goes wrong with a schedule comes back as
 * a reason in the outcome, be it the schedule's fault or that of a program too
 * long to verify: one candidate never ends a campaign. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/arena.h"
#include "eval/evaluator.h"

typedef struct {
  hone_operator op;
  hone_machine machine;
} sim_state;

static hone_status init(const hone_operator *op, const hone_machine *m, void **state, hone_err *err)
{
  if (!m->tile_machine)
    return hone_err_set(err, HONE_UNSUPPORTED, "simulator.model-only",
                        "machine %s is model-only: no microcode, so no simulation", m->name);
  sim_state *st = hone_heap_alloc(1, sizeof *st);
  st->op = *op;
  st->machine = *m;
  *state = st;
  return HONE_OK;
}

static void fini(void *state)
{
  free(state);
}

static void fail(hone_outcome *out, hone_reason reason, const char *text)
{
  out->reason = reason;
  snprintf(out->text, sizeof out->text, "%.150s", text);
}

/* The busiest unit by its machine's name ("tensor", "load"), or the DRAM. */
static void name_bottleneck(const hone_sim_result *r, hone_outcome *out)
{
  const hone_sim_unit *busiest = &r->unit[0];
  for (int i = 1; i < r->nunits; i++)
    if (r->unit[i].cycles[HONE_STALL_BUSY] > busiest->cycles[HONE_STALL_BUSY]) busiest = &r->unit[i];
  const char *name = r->dram_busy_cycles > busiest->cycles[HONE_STALL_BUSY] ? "dram" : busiest->name;
  const char *dot = strrchr(name, '.'); /* behind the core's number */
  snprintf(out->bottleneck, sizeof out->bottleneck, "%.23s", dot ? dot + 1 : name);
}

static hone_status run(const sim_state *st, const hone_schedule *s, const hone_program *p, hone_outcome *out, hone_err *err)
{
  uint8_t *bytes = NULL;
  size_t n = 0;
  hone_status status = hone_program_encode(p, &bytes, &n, err);
  if (status != HONE_OK) return status;
  hone_range *block = hone_sim_blocks(&st->op, &st->machine, s);
  hone_sim_argument args[HONE_MAX_TENSORS];
  for (int t = 0; t < st->op.ntensors; t++) args[t] = (hone_sim_argument){ .layout = s->layout[t] };
  hone_sim_options options = { .warm = true };
  hone_sim_result r;
  memset(&r, 0, sizeof r);
  hone_err sim_err;
  hone_err_init(&sim_err);
  status = hone_sim_run(bytes, n, &st->op, &st->machine, block, args, &options, &r, &sim_err);
  if (status != HONE_OK) {
    bool stuck = strcmp(sim_err.code, "sim.deadlock") == 0; /* the watchdog stops what merely takes too long */
    fail(out, stuck ? HONE_REASON_DEADLOCK : HONE_REASON_EVALUATOR, sim_err.message);
  } else {
    out->cycles = r.cycles;
    out->warm_cycles = r.warm_cycles;
    name_bottleneck(&r, out);
  }
  hone_sim_result_fini(&r);
  free(block);
  free(bytes);
  return HONE_OK;
}

static hone_status evaluate(void *state, const hone_schedule *s, hone_outcome *out, hone_err *err)
{
  const sim_state *st = state;
  *out = (hone_outcome){ .energy_fj = -1 };
  hone_why why = { 0 };
  hone_reason reason = hone_schedule_check(&st->op, &st->machine, s, &why);
  if (reason != HONE_REASON_NONE) {
    fail(out, reason, why.text[0] ? why.text : hone_reason_text(reason));
    return HONE_OK;
  }
  hone_program *p = NULL;
  hone_status status = hone_backend_compile(&st->op, &st->machine, s, &p, &reason, &why, err);
  if (status != HONE_OK) return status;
  if (reason != HONE_REASON_NONE) {
    fail(out, reason, why.text[0] ? why.text : hone_reason_text(reason));
    return HONE_OK;
  }
  hone_err verify_err;
  hone_err_init(&verify_err);
  status = hone_backend_verify(p, &st->op, &st->machine, s, &verify_err);
  if (status == HONE_OK) {
    status = run(st, s, p, out, err);
  } else {
    fail(out, status == HONE_UNSUPPORTED ? HONE_REASON_SIZE : HONE_REASON_VERIFY, verify_err.message);
    status = HONE_OK;
  }
  hone_program_free(p);
  return status;
}

const hone_evaluator_type hone_evaluator_simulator = {
  .name = "simulator",
  .summary = "compiles, verifies and executes the microcode cycle by cycle",
  .fidelity = 1,
  .version = 1,
  .init = init,
  .fini = fini,
  .evaluate = evaluate,
};
