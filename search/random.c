/* Random legal points, each once: the yardstick for every other strategy. */
#include "config.h"

#include <stdlib.h>

#include "base/arena.h"
#include "search/strategy.h"

enum { TRIES = 50 };

static hone_status init(hone_strategy *s, const hone_option_value *options, void **state, hone_err *err)
{
  (void)options, (void)err;
  *state = s; /* everything it needs is in the wrapper */
  return HONE_OK;
}

static void fini(void *state) { (void)state; }

static hone_ask propose(void *state, int64_t *values)
{
  hone_strategy *s = state;
  return hone_space_sample(hone_strategy_space(s), hone_strategy_rng(s), TRIES, values) ? HONE_ASK_MORE : HONE_ASK_DRY;
}

static void tell(void *state, const int64_t *values, const hone_result *r) { (void)state, (void)values, (void)r; }

const hone_strategy_type hone_strategy_random = {
    .name = "random", .summary = "distinct random legal points", .init = init, .fini = fini, .propose = propose, .tell = tell};
