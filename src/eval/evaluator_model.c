/* The analytical model as an evaluator. */
#include "config.h"

#include <stdio.h>

#include "eval/evaluator.h"

static hone_status init(const hone_operator *op, const hone_machine *m, void **state, hone_err *err)
{
  hone_model *model = NULL;
  hone_status st = hone_model_new(op, m, &model, err);
  *state = model;
  return st;
}

static void fini(void *state)
{
  hone_model_free(state);
}

static int64_t count_events(const hone_counts *c)
{
  int64_t n = 0;
  for (int s = 0; s < HONE_MAX_STAGES; s++) n += c->steps[s];
  for (int t = 0; t < HONE_MAX_TENSORS; t++)
    for (int l = 0; l < HONE_MAX_LEVELS; l++) n += c->fills[t][l] + c->drains[t][l];
  return n;
}

static hone_status evaluate(void *state, const hone_schedule *s, hone_outcome *out, hone_err *err)
{
  (void)err;
  hone_cost cost;
  *out = (hone_outcome){ .energy_fj = -1 };
  out->reason = hone_model_evaluate(state, s, &cost);
  if (out->reason != HONE_REASON_NONE) {
    snprintf(out->text, sizeof out->text, "%s", hone_reason_text(out->reason));
    return HONE_OK;
  }
  out->cycles = out->warm_cycles = cost.cycles;
  out->energy_fj = cost.energy_fj;
  out->events = count_events(&cost.counts);
  snprintf(out->bottleneck, sizeof out->bottleneck, "%s", hone_cause_name(cost.bottleneck));
  return HONE_OK;
}

const hone_evaluator_type hone_evaluator_model = {
  .name = "model",
  .summary = "the analytical cost model",
  .fidelity = 0,
  .version = 4,
  .init = init,
  .fini = fini,
  .evaluate = evaluate,
};
