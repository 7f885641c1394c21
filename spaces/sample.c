/* Drawing points: each variable gets a random value of its domain, going back a
 * bounded number of times where a constraint is broken; then repair.c. Every legal
 * point is a possible draw, so every one can come out. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "spaces/walk_int.h"

enum { DRAW_STEPS = 4000, DRAW_WIDTH = 6, WIDE = 4096 };

/* Uniform, but in very wide intervals half of the time uniform in the logarithm. */
int64_t space_draw_index(const hone_domain *d, hone_rng *rng)
{
  if (d->list || d->places > 0 || d->n < WIDE || hone_rng_below(rng, 2) == 0) return hone_rng_below(rng, d->n);
  double x = exp(hone_rng_unit(rng) * log((double)d->n)) - 1;
  return x >= (double)d->n ? d->n - 1 : (int64_t)x;
}

static bool draw_from(const hone_space *s, hone_rng *rng, int i, int *steps, int64_t *values)
{
  hone_domain d = {0};
  bool found = false;
  int which;
  if (i == s->nvariables) return true;
  hone_space_domain(s, i, values, &d);
  int64_t width = d.n < DRAW_WIDTH ? 2 * d.n : DRAW_WIDTH;
  for (int64_t k = 0; k < width && !found && --*steps > 0; k++) {
    values[i] = hone_domain_at(&d, space_draw_index(&d, rng));
    found = space_due_hold(s, i, values, &which) && draw_from(s, rng, i + 1, steps, values);
  }
  hone_domain_fini(&d);
  return found;
}

bool space_draw(const hone_space *s, hone_rng *rng, int64_t *values)
{
  int steps = DRAW_STEPS;
  return draw_from(s, rng, 0, &steps, values);
}

bool hone_space_sample(const hone_space *s, hone_rng *rng, int tries, int64_t *values)
{
  for (int k = 0; k < tries; k++)
    if (space_draw(s, rng, values) && hone_space_repair(s, rng, values)) return true;
  return false;
}
