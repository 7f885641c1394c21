/* Fidelity figures on lists worked out by hand, and the ladder over an evaluator
 * whose values the test chooses. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "eval/evaluator.h"

START_TEST(fidelity_of_a_perfect_model)
{
  const int64_t v[] = { 10, 20, 30, 40 };
  hone_fidelity f;
  hone_fidelity_measure(4, v, v, 2, &f);
  ck_assert_double_eq(f.mape_pct, 0);
  ck_assert_double_eq(f.bias_pct, 0);
  ck_assert_double_eq(f.kendall_tau, 1);
  ck_assert_double_eq(f.regret_pct, 0);
  ck_assert_int_eq(f.top_k, 2);
}
END_TEST

START_TEST(fidelity_counts_ties_as_tau_b)
{
  /* Counted here by the definition, pair by pair. */
  const int64_t model[] = { 1, 1, 2, 3 }, sim[] = { 5, 6, 6, 5 };
  int agree = 0, differ = 0, tm = 0, ts = 0;
  for (int i = 0; i < 4; i++)
    for (int j = i + 1; j < 4; j++) {
      int64_t a = model[i] - model[j], b = sim[i] - sim[j];
      agree += a * b > 0;
      differ += a * b < 0;
      tm += a == 0;
      ts += b == 0;
    }
  hone_fidelity f;
  hone_fidelity_measure(4, model, sim, 1, &f);
  ck_assert_double_eq_tol(f.kendall_tau, (agree - differ) / sqrt((6.0 - tm) * (6.0 - ts)), 1e-12);
}
END_TEST

START_TEST(fidelity_regret_and_bias)
{
  const int64_t model[] = { 100, 110, 120 }, sim[] = { 200, 100, 150 };
  hone_fidelity f;
  hone_fidelity_measure(3, model, sim, 1, &f);
  ck_assert_double_eq_tol(f.regret_pct, 100.0, 1e-9);
  ck_assert_double_eq_tol(f.bias_pct, 100.0 * (-0.5 + 0.1 - 0.2) / 3, 1e-9);
  ck_assert_double_eq_tol(f.mape_pct, 100.0 * 0.8 / 3, 1e-9);
  hone_fidelity_measure(3, model, sim, 2, &f);
  ck_assert_double_eq(f.regret_pct, 0);
}
END_TEST

START_TEST(fidelity_without_data_is_undefined)
{
  const int64_t one[] = { 7 }, tied[] = { 3, 3, 3 }, sim[] = { 1, 2, 3 };
  hone_fidelity f;
  hone_fidelity_measure(1, one, one, 1, &f);
  ck_assert(isnan(f.kendall_tau));
  hone_fidelity_measure(3, tied, sim, 1, &f);
  ck_assert(isnan(f.kendall_tau));
}
END_TEST

/* An evaluator whose value is written in the schedule's first tile; 0: it fails. */
static hone_status fake_init(const hone_operator *op, const hone_machine *m, void **state, hone_err *err)
{
  (void)op, (void)m, (void)err;
  *state = NULL;
  return HONE_OK;
}
static void fake_fini(void *state)
{
  (void)state;
}
static hone_status fake_evaluate(void *state, const hone_schedule *s, hone_outcome *out, hone_err *err)
{
  (void)state;
  *out = (hone_outcome){ .cycles = s->tile[1][0], .reason = s->tile[1][0] ? HONE_REASON_NONE : HONE_REASON_ALLOCATION };
  if (s->tile[1][0] < 0) return hone_err_set(err, HONE_INTERNAL, "fake", "rung %d", (int)s->tile[1][1]);
  return HONE_OK;
}
static const hone_evaluator_type fake = { .name = "fake", .init = fake_init, .fini = fake_fini, .evaluate = fake_evaluate };

enum { RUNGS = 100 };

static hone_status climb(hone_rung *rung, const int64_t *sim, hone_ladder_options o, hone_fidelity *f, int *simulated)
{
  hone_evaluator *e = NULL;
  hone_err err;
  hone_err_init(&err);
  ck_assert_int_eq(hone_evaluator_new(&fake, NULL, NULL, &e, &err), HONE_OK);
  for (int i = 0; i < RUNGS; i++) {
    bool wanted = rung[i].wanted;
    memset(&rung[i], 0, sizeof rung[i]);
    rung[i].wanted = wanted;
    rung[i].model.cycles = 1000 + i;
    rung[i].schedule.tile[1][0] = sim[i];
    rung[i].schedule.tile[1][1] = i;
  }
  hone_status st = hone_ladder_run(e, RUNGS, rung, &o, f, &err);
  *simulated = 0;
  for (int i = 0; i < RUNGS; i++) *simulated += rung[i].simulated;
  hone_evaluator_free(e);
  return st;
}

START_TEST(ladder_stops_when_nobody_can_win)
{
  hone_rung *rung = hone_heap_alloc(RUNGS, sizeof *rung);
  int64_t sim[RUNGS];
  for (int i = 0; i < RUNGS; i++) sim[i] = 1000 + i;
  rung[50].wanted = true;
  hone_fidelity f;
  int simulated;
  ck_assert_int_eq(climb(rung, sim, (hone_ladder_options){ .k = 5, .samples = 4, .max_k = 100 }, &f, &simulated), HONE_OK);
  ck_assert(rung[50].simulated);
  ck_assert_int_eq(f.top_k, 5);
  ck_assert_int_le(simulated, 10);
  ck_assert_double_eq(f.kendall_tau, 1);
  free(rung);
}
END_TEST

START_TEST(ladder_widens_while_an_unsimulated_rung_may_win)
{
  /* Rung 12 (say the default) runs at half its model time: every rung with
   * model * 0.5 below its 506 might win: ranks 0 .. 11. */
  hone_rung *rung = hone_heap_alloc(RUNGS, sizeof *rung);
  int64_t sim[RUNGS];
  for (int i = 0; i < RUNGS; i++) sim[i] = 2000;
  sim[12] = 506;
  rung[12].wanted = true;
  hone_fidelity f;
  int simulated;
  ck_assert_int_eq(climb(rung, sim, (hone_ladder_options){ .k = 4, .samples = 0, .max_k = 100 }, &f, &simulated), HONE_OK);
  for (int i = 0; i <= 12; i++) ck_assert_msg(rung[i].simulated, "rung %d", i);
  ck_assert_int_eq(simulated, 13);
  ck_assert_int_eq(f.top_k, 12);
  ck_assert_int_eq(climb(rung, sim, (hone_ladder_options){ .k = 4, .samples = 0, .max_k = 6 }, &f, &simulated), HONE_OK);
  ck_assert_int_eq(f.top_k, 6);
  ck_assert_int_eq(simulated, 7);
  free(rung);
}
END_TEST

/* All tiles but those of rungs 70 and 95 are alike and bad: 70 has its turn although the model
 * ranks 62 others before it. */
START_TEST(ladder_gives_every_kind_of_tiles_a_turn)
{
  hone_rung *rung = hone_heap_alloc(RUNGS, sizeof *rung);
  hone_evaluator *e = NULL;
  hone_fidelity f;
  hone_err err;
  hone_err_init(&err);
  ck_assert_int_eq(hone_evaluator_new(&fake, NULL, NULL, &e, &err), HONE_OK);
  for (int i = 0; i < RUNGS; i++) {
    rung[i].model.cycles = 1000 + i;
    rung[i].schedule.tile[1][0] = i == 70 ? 900 : i == 95 ? 1005 : 1300;
    rung[i].schedule.at[0][1] = (int8_t)i;
  }
  rung[95].wanted = true; /* shows that schedules may do far better than the model says */
  hone_ladder_options o = { .k = 8, .samples = 0, .max_k = 16 };
  ck_assert_int_eq(hone_ladder_run(e, RUNGS, rung, &o, &f, &err), HONE_OK);
  ck_assert(rung[70].simulated && !rung[70].sampled && rung[14].simulated && !rung[15].simulated);
  ck_assert_int_eq(f.top_k, 16);
  hone_evaluator_free(e);
  free(rung);
}
END_TEST

START_TEST(ladder_ranks_the_samples)
{
  /* The first ten run in the opposite order of their model figures, the rest in
   * order: the samples are right, the best of all are wrong. */
  hone_rung *rung = hone_heap_alloc(RUNGS, sizeof *rung);
  int64_t sim[RUNGS];
  for (int i = 0; i < RUNGS; i++) sim[i] = i < 10 ? 1010 - i : 2 * (1000 + i);
  hone_fidelity f;
  int simulated;
  ck_assert_int_eq(climb(rung, sim, (hone_ladder_options){ .k = 10, .samples = 9, .max_k = 10 }, &f, &simulated), HONE_OK);
  ck_assert_int_eq(simulated, 19);
  ck_assert_int_eq(f.n, 9);
  ck_assert_double_eq(f.kendall_tau, 1);
  ck_assert_double_eq_tol(f.bias_pct, -50, 1e-9);
  ck_assert_double_eq(f.kendall_tau_top_decile, -1);
  ck_assert_double_eq(f.regret_pct, 0);
  free(rung);
}
END_TEST

START_TEST(ladder_goes_on_past_failures)
{
  hone_rung *rung = hone_heap_alloc(RUNGS, sizeof *rung);
  int64_t sim[RUNGS] = { 0 };
  sim[13] = 900;
  hone_fidelity f;
  int simulated;
  ck_assert_int_eq(climb(rung, sim, (hone_ladder_options){ .k = 4, .samples = 0, .max_k = 50 }, &f, &simulated), HONE_OK);
  ck_assert(rung[13].simulated);
  ck_assert_int_eq(rung[13].sim.reason, HONE_REASON_NONE);
  ck_assert_int_eq(rung[0].sim.reason, HONE_REASON_ALLOCATION);
  ck_assert_int_eq(f.n, 1);
  free(rung);
}
END_TEST

START_TEST(ladder_reports_the_first_error_and_obeys_interrupts)
{
  hone_rung *rung = hone_heap_alloc(RUNGS, sizeof *rung);
  int64_t sim[RUNGS];
  for (int i = 0; i < RUNGS; i++) sim[i] = i < 2 ? 5 : -1;
  hone_fidelity f;
  int simulated;
  ck_assert_int_eq(climb(rung, sim, (hone_ladder_options){ .k = 8, .max_k = 8 }, &f, &simulated), HONE_INTERNAL);
  volatile sig_atomic_t stop = 1;
  ck_assert_int_eq(climb(rung, sim, (hone_ladder_options){ .k = 8, .max_k = 8, .interrupted = &stop }, &f, &simulated), HONE_OK);
  ck_assert_int_eq(simulated, 0);
  free(rung);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("ladder");
  TCase *c = tcase_create("all");
  tcase_add_test(c, fidelity_of_a_perfect_model);
  tcase_add_test(c, fidelity_counts_ties_as_tau_b);
  tcase_add_test(c, fidelity_regret_and_bias);
  tcase_add_test(c, fidelity_without_data_is_undefined);
  tcase_add_test(c, ladder_stops_when_nobody_can_win);
  tcase_add_test(c, ladder_widens_while_an_unsimulated_rung_may_win);
  tcase_add_test(c, ladder_gives_every_kind_of_tiles_a_turn);
  tcase_add_test(c, ladder_ranks_the_samples);
  tcase_add_test(c, ladder_goes_on_past_failures);
  tcase_add_test(c, ladder_reports_the_first_error_and_obeys_interrupts);
  suite_add_tcase(s, c);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
