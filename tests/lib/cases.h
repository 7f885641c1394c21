/* Random cases for the tests of all rooms: an operator, a machine and a legal
 * schedule, small enough to walk. Case `number` of `seed` is the same on every
 * host and does not depend on the cases before it.
 *
 *     for (uint64_t i = 0; i < 500; i++) {
 *       test_case c;
 *       if (!case_draw(SEED, i, NULL, &c)) continue;    // nothing legal found: rare
 *       ... c.op, c.m, c.s ...; ck_assert_msg(ok, "%s", c.text)
 *       case_fini(&c);
 *     }
 *
 * A good share has uneven placement, bypassed memories, depths up to 4, clipped
 * edge tiles, partial results that leave and return, fused and unfused
 * intermediates, every map and dataflow, core splits. */
#ifndef HONE_TESTS_CASES_H
#define HONE_TESTS_CASES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "ir/events.h"
#include "ir/machine.h"
#include "ir/operator.h"
#include "ir/schedule.h"

/* What to draw from; zero fields mean the defaults. */
typedef struct {
  int64_t max_steps;     /* engine steps of all stages and instances; default 3000 */
  int64_t max_points;    /* of the largest stage; default 2^22 */
  const char *machine;   /* only this file, relative to the source tree, e.g. "data/machines/teaching.yaml" */
  bool repository_only;  /* only data/machines, unmutated */
  bool plain;            /* only the plain matmul: one stage */
} case_options;

typedef struct {
  hone_operator op;
  hone_machine m;
  hone_params params;
  hone_schedule s;
  char text[4096]; /* one-line reproducer: seed, number, machine, sizes, options, canonical schedule */
} test_case;

/* False when no legal schedule was found in a few hundred tries, or the machine
 * cannot run the operator at all. Aborts when a file of the tree does not load. */
bool case_draw(uint64_t seed, uint64_t number, const case_options *options, test_case *out);
void case_fini(test_case *c);

/* The parts, for tests that want many schedules of one operator and machine. */
bool case_draw_schedule(hone_rng *r, const hone_operator *op, const hone_machine *m, const hone_params *p,
                        int64_t max_steps, hone_schedule *out);
/* Steps of all stages and instances of a schedule, saturating. */
int64_t case_steps(const hone_operator *op, const hone_machine *m, const hone_schedule *s);

#endif
