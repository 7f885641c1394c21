/* Every legal point, in the space's order. With a bound from the model, points
 * that cannot beat the best so far are passed over: the best is still proven. */
#include "config.h"

#include <stdlib.h>

#include "base/arena.h"
#include "search/strategy.h"

typedef struct {
  hone_strategy *s;
  hone_space_walk *walk;
  bool has_best;
  double best;
} exhaustive;

static hone_status init(hone_strategy *s, const hone_option_value *options, void **state, hone_err *err)
{
  (void)options, (void)err;
  exhaustive *x = hone_heap_alloc(1, sizeof *x);
  x->s = s;
  x->walk = hone_space_walk_new(hone_strategy_space(s));
  *state = x;
  return HONE_OK;
}

static void fini(void *state)
{
  exhaustive *x = state;
  hone_space_walk_free(x->walk);
  free(x);
}

static bool is_hopeless(const exhaustive *x, const int64_t *values)
{
  const hone_strategy_callbacks *c = &hone_strategy_get_setup(x->s)->callbacks;
  hone_schedule schedule;
  if (!c->bound || !x->has_best || !hone_space_operator(hone_strategy_space(x->s))) return false;
  hone_space_schedule(hone_strategy_space(x->s), values, &schedule);
  return c->bound(c->arg, &schedule) >= x->best;
}

static hone_ask propose(void *state, int64_t *values)
{
  exhaustive *x = state;
  while (hone_space_walk_next(x->walk, values))
    if (!hone_strategy_is_known(x->s, values) && !is_hopeless(x, values)) return HONE_ASK_MORE;
  return HONE_ASK_EXHAUSTED;
}

static void tell(void *state, const int64_t *values, const hone_result *r)
{
  exhaustive *x = state;
  (void)values;
  if (r->reason != HONE_REASON_NONE || (x->has_best && r->value >= x->best)) return;
  x->has_best = true;
  x->best = r->value;
}

const hone_strategy_type hone_strategy_exhaustive = {
    .name = "exhaustive", .summary = "every legal point, in order", .init = init, .fini = fini, .propose = propose, .tell = tell};
