/* Damaged programs: whatever bytes pass the decoder, the simulator runs them or
 * says what is wrong, in numbers too. Under sanitizers this is the bounds check. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/cases.h"
#include "tests/unit/unit.h"
#include "backend/backend.h"
#include "base/arena.h"
#include "base/hash.h"
#include "sim/simulator.h"

enum { PROGRAMS = 60, MUTANTS = 300, SEED = 1, HEADER = 16 };

static int outcomes[HONE_STATUS_COUNT];

/* Flips bytes of the payload, mostly to small numbers, and signs the result again. */
static void damage(hone_rng *r, uint8_t *bytes, size_t n)
{
  for (int64_t k = 1 + hone_rng_below(r, 3); k > 0; k--) {
    uint8_t *p = &bytes[HEADER + hone_rng_below(r, (int64_t)n - HEADER)];
    *p = (uint8_t)(hone_rng_below(r, 2) ? *p + hone_rng_below(r, 5) - 2 : hone_rng_below(r, 256));
  }
  uint64_t sum = hone_hash_bytes(bytes + HEADER, n - HEADER).lo;
  for (int i = 0; i < 8; i++) bytes[8 + i] = (uint8_t)(sum >> 8 * i);
}

static void run_mutants(const test_case *c, const uint8_t *bytes, size_t n, hone_rng *r)
{
  hone_sim_argument args[HONE_MAX_TENSORS];
  hone_range *block = hone_sim_blocks(&c->op, &c->m, &c->s);
  uint8_t *mutant = hone_heap_alloc(n, 1);
  for (int t = 0; t < c->op.ntensors; t++) {
    size_t size = (size_t)hone_format_bytes(c->op.tensor[t].format, hone_tensor_elements(&c->op, t));
    args[t] = (hone_sim_argument){hone_heap_alloc(size, 1), c->s.layout[t]};
  }
  for (int i = 0; i < MUTANTS; i++) {
    hone_sim_options options = {.functional = true, .warm = i % 4 == 0, .max_cycles = 100000};
    hone_sim_result out;
    hone_err err;
    hone_err_init(&err);
    memcpy(mutant, bytes, n);
    damage(r, mutant, n);
    hone_status st = hone_sim_run(mutant, n, &c->op, &c->m, block, args, &options, &out, &err);
    outcomes[st]++;
    ck_assert_msg(st == HONE_OK || st == HONE_INPUT || st == HONE_INFEASIBLE, "%s: %s", hone_status_name(st), c->text);
    ck_assert_msg(st == HONE_OK ? out.cycles >= 0 : err.message[0] && out.nunits == 0, "%s", c->text);
    hone_sim_result_fini(&out);
  }
  for (int t = 0; t < c->op.ntensors; t++) free(args[t].data);
  free(mutant);
  free(block);
}

START_TEST(damage_is_survived)
{
  const case_options small = {.max_points = 1 << 12, .max_steps = 200, .machine = "data/machines/teaching.yaml"};
  for (uint64_t i = 0; i < PROGRAMS; i++) {
    test_case c;
    hone_program *p = NULL;
    hone_reason reason = HONE_REASON_NONE;
    hone_why why;
    hone_err err;
    hone_rng r;
    uint8_t *bytes;
    size_t n;
    if (!case_draw(SEED, i, &small, &c)) continue;
    ck_assert_int_eq(hone_backend_compile(&c.op, &c.m, &c.s, &p, &reason, &why, &err), HONE_OK);
    if (!reason) {
      ck_assert_int_eq(hone_program_encode(p, &bytes, &n, &err), HONE_OK);
      hone_rng_init(&r, i);
      run_mutants(&c, bytes, n, &r);
      free(bytes);
    }
    hone_program_free(p);
    case_fini(&c);
  }
  printf("ran %d, refused %d, stuck %d\n", outcomes[HONE_OK], outcomes[HONE_INPUT], outcomes[HONE_INFEASIBLE]);
  ck_assert_int_gt(outcomes[HONE_OK], 0); /* enough gets past the decoder to be worth it */
  ck_assert_int_gt(outcomes[HONE_INFEASIBLE], 0);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("damaged programs");
  TCase *t = tcase_create("mutants");
  printf("seed %d, %d programs x %d mutants\n", SEED, PROGRAMS, MUTANTS);
  unit_timeout(t, 120);
  tcase_add_test(t, damage_is_survived);
  suite_add_tcase(s, t);
  return unit_run(s);
}
