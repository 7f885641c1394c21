/* Costing a library's schedules again, at the shape they are asked for. */
#include "config.h"

#include "library/library.h"

#include "cost/model.h"

hone_status hone_library_operator(const hone_library_family *f, const int64_t *size, const char *path, hone_operator *out,
                                  hone_err *err)
{
  hone_spec spec = f->spec;
  for (int i = 0; i < spec.nsizes; i++) spec.size[i].value = spec.size[i].to = size[i];
  return hone_operator_load_spec(path, &spec, out, err);
}

static hone_status parse(const char *schedule, const hone_operator *op, const hone_machine *m, hone_schedule *out, hone_err *err)
{
  hone_params params;
  hone_status st = hone_params_new(op, m, &params, err);
  if (st != HONE_OK) return st;
  st = hone_schedule_parse(op, m, &params, schedule, out, err);
  hone_params_free(&params);
  return st;
}

hone_status hone_library_recost(const char *schedule, const hone_operator *tuned, const hone_operator *asked, const hone_machine *m,
                                hone_library_cost *out, hone_err *err)
{
  hone_model *model = NULL;
  hone_schedule by_default;
  hone_cost cost;
  hone_bound bound;
  *out = (hone_library_cost){.cycles = -1, .default_cycles = -1, .bound_cycles = -1};
  hone_status st = parse(schedule, tuned, m, &out->schedule, err);
  if (st == HONE_OK) st = hone_model_new(asked, m, &model, err);
  if (st != HONE_OK) return st;
  hone_schedule_fit(asked, m, &out->schedule);
  hone_schedule_check(asked, m, &out->schedule, &out->why);
  if (out->why.reason == HONE_REASON_NONE) out->why.reason = hone_model_evaluate(model, &out->schedule, &cost);
  if (out->why.reason == HONE_REASON_NONE) out->cycles = cost.cycles;
  if (hone_schedule_default(asked, m, &by_default, NULL) == HONE_OK &&
      hone_model_evaluate(model, &by_default, &cost) == HONE_REASON_NONE)
    out->default_cycles = cost.cycles;
  if (hone_bound_cycles(asked, m, &bound, NULL) == HONE_OK) out->bound_cycles = bound.cycles;
  hone_model_free(model);
  return HONE_OK;
}
