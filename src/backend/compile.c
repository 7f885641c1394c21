/* Schedule -> events -> plan -> streams -> addresses -> program. */
#include "config.h"

#include "backend/backend_int.h"
#include "base/arena.h"

#include <stdlib.h>

/* The forms an operand of the program can have: one dim with coefficient 1, or a
 * constant, and never outside the tensor. */
static bool access_fits(const hone_operator *op, const hone_access *a)
{
  for (int i = 0; i < op->tensor[a->tensor].rank; i++) {
    const hone_affine *x = &a->axis[i].affine;
    int64_t last = x->nterms > 0 ? op->dim[x->term[0].dim].extent : 1;
    if (a->axis[i].table >= 0 || x->nterms > 1 || (x->nterms == 1 && x->term[0].coef != 1) || x->constant < 0 ||
        x->constant + last > op->tensor[a->tensor].extent[i])
      return false;
  }
  return true;
}

static hone_status check_supported(const hone_operator *op, const hone_machine *m, hone_err *err)
{
  if (!m->tile_machine)
    return hone_err_set(err, HONE_UNSUPPORTED, "backend.model-only", "machine %s is model-only: no microcode can be made for it", m->name);
  for (int s = 0; s < op->nstages; s++) {
    const hone_stage *st = &op->stage[s];
    bool ok = (st->kind == HONE_STAGE_CONTRACT && st->nreads == 2) || st->kind == HONE_STAGE_MAP || st->kind == HONE_STAGE_REDUCE;
    ok = ok && st->nguards == 0 && __builtin_popcount(st->dims) <= HONE_MAX_ITER && access_fits(op, &st->write);
    for (int r = 0; r < st->nreads; r++) ok = ok && access_fits(op, &st->read[r]);
    if (!ok) return hone_err_set(err, HONE_UNSUPPORTED, "backend.stage", "stage %s has a form the backend cannot lower yet", st->name);
  }
  return HONE_OK;
}

/* What the program format itself has room for. */
static hone_reason check_format(const hone_plan *plan, hone_why *why)
{
  int64_t have = plan->too_many ? 257 : 0, limit = 256;
  const char *what = "semaphores of a program";
  for (int b = 0; b < plan->e.nbuffers; b++)
    if (have <= limit && plan->e.buffer[b].elements > INT32_MAX) { /* strides are 32 bits wide */
      have = plan->e.buffer[b].elements;
      limit = INT32_MAX;
      what = "elements of a buffer";
    }
  return have > limit ? hone_backend_fail(why, HONE_REASON_ALLOCATION, -1, have, limit, what) : HONE_REASON_NONE;
}

static hone_status lower(hone_plan *plan, hone_program **out, hone_reason *reason, hone_why *why, hone_err *err)
{
  hone_status st = hone_plan_make(plan, err);
  if (st) return st;
  *reason = check_format(plan, why);
  if (*reason) return HONE_OK;
  hone_program *p = hone_heap_alloc(1, sizeof *p);
  hone_plan_emit(plan, p);
  *reason = hone_backend_allocate(p, plan->m, why);
  if (*reason == HONE_REASON_NONE && (st = hone_program_check(p, NULL, err)) == HONE_OK)
    *out = p;
  else
    hone_program_free(p);
  if (st && err) err->status = HONE_INTERNAL;
  return st ? HONE_INTERNAL : HONE_OK;
}

hone_status hone_backend_compile(const hone_operator *op, const hone_machine *m, const hone_schedule *s, hone_program **out,
                                 hone_reason *reason, hone_why *why, hone_err *err)
{
  *out = NULL;
  *reason = HONE_REASON_NONE;
  hone_status st = check_supported(op, m, err);
  if (st) return st;
  hone_plan *plan = hone_heap_alloc(1, sizeof *plan);
  *plan = (hone_plan){.op = op, .m = m, .s = s};
  *reason = hone_events_build(op, m, s, &plan->e, why);
  if (*reason == HONE_REASON_NONE) st = lower(plan, out, reason, why, err);
  free(plan);
  return st;
}
