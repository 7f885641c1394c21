/* The evaluator object and its parallel batch. */
#include "config.h"

#include "eval/evaluator.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

struct hone_evaluator {
  const hone_evaluator_type *type;
  void *state;
};

hone_status hone_evaluator_new(const hone_evaluator_type *t, const hone_operator *op, const hone_machine *m,
                               hone_evaluator **out, hone_err *err)
{
  void *state = NULL;
  hone_status st = t->init(op, m, &state, err);
  if (st != HONE_OK) return st;
  hone_evaluator *e = hone_heap_alloc(1, sizeof *e);
  *e = (hone_evaluator){ .type = t, .state = state };
  *out = e;
  return HONE_OK;
}

void hone_evaluator_free(hone_evaluator *e)
{
  if (!e) return;
  e->type->fini(e->state);
  free(e);
}

const hone_evaluator_type *hone_evaluator_kind(const hone_evaluator *e)
{
  return e->type;
}

hone_status hone_evaluator_batch(hone_evaluator *e, int n, const hone_schedule *const *s, hone_outcome *out, hone_err *err)
{
  if (n <= 0) return HONE_OK;
  /* Of several errors the one with the lowest index is reported, so that the
   * answer does not depend on the number of threads. */
  hone_err *each = hone_heap_alloc((size_t)n, sizeof *each);
#pragma omp parallel for schedule(dynamic, 1)
  for (int i = 0; i < n; i++) each[i].status = e->type->evaluate(e->state, s[i], &out[i], &each[i]);
  hone_status st = HONE_OK;
  for (int i = 0; i < n && st == HONE_OK; i++) {
    if (each[i].status == HONE_OK) continue;
    st = each[i].status;
    if (err) *err = each[i];
  }
  free(each);
  return st;
}
