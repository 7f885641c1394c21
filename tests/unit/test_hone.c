/* libhone from outside: only hone.h, linked to the shared library. */
#include "config.h"

#include <string.h>

#include "hone.h"
#include "unit/unit.h"

static hone_problem_source source = {
    .operator_file = HONE_SRCDIR "/spaces/matmul.yaml",
    .machine_file = HONE_SRCDIR "/data/machines/teaching.yaml",
    .sizes = "m=24,n=16,k=32",
    .formats = "int8",
    .data = HONE_SRCDIR,
};
static char why[HONE_ERROR_TEXT];

static hone_problem *problem(void)
{
  hone_problem *p = NULL;
  ck_assert_msg(hone_problem_new(&source, &p, why) == HONE_DONE, "%s", why);
  return p;
}

START_TEST(version_is_the_package_s)
{
  ck_assert_str_eq(hone_version(), PACKAGE_VERSION);
}
END_TEST

START_TEST(bound_default_and_tuning_are_in_order)
{
  hone_problem *p = problem();
  hone_tuning t, again;
  hone_times d, b;
  char *schedule = NULL;
  int64_t bound = 0;
  ck_assert_int_eq(hone_problem_bound(p, &bound, why), HONE_DONE);
  ck_assert_int_eq(hone_problem_default(p, &schedule, why), HONE_DONE);
  ck_assert_msg(hone_problem_time(p, schedule, 1, &d, why) == HONE_DONE, "%s", why);
  const hone_tune_request request = {.seed = 3, .budget = 200};
  ck_assert_msg(hone_problem_tune(p, &request, &t, why) == HONE_DONE, "%s", why);
  ck_assert_int_eq(t.bound_cycles, bound);
  ck_assert_int_eq(t.by_default.simulated_cycles, d.simulated_cycles);
  ck_assert(0 < bound && bound <= t.best.simulated_cycles && t.best.simulated_cycles <= d.simulated_cycles);
  ck_assert_int_eq(hone_problem_time(p, t.schedule, 1, &b, why), HONE_DONE); /* the best, timed by itself */
  ck_assert_int_eq(b.simulated_cycles, t.best.simulated_cycles);
  ck_assert_int_eq(b.model_cycles, t.best.model_cycles);
  ck_assert_int_eq(b.warm_cycles, t.best.warm_cycles);
  ck_assert_int_eq(hone_problem_tune(p, &request, &again, NULL), HONE_DONE);
  ck_assert_str_eq(t.schedule, again.schedule);
  hone_tuning_clear(&t);
  hone_tuning_clear(&again);
  hone_string_free(schedule);
  hone_problem_free(p);
}
END_TEST

START_TEST(model_alone_is_not_simulated)
{
  hone_problem *p = problem();
  hone_times t;
  char *schedule = NULL;
  ck_assert_int_eq(hone_problem_default(p, &schedule, why), HONE_DONE);
  ck_assert_int_eq(hone_problem_time(p, schedule, 0, &t, why), HONE_DONE);
  ck_assert(t.model_cycles > 0 && t.simulated_cycles == -1 && t.warm_cycles == -1 && t.bottleneck[0]);
  hone_string_free(schedule);
  hone_problem_free(p);
}
END_TEST

/* Field of `source` to spoil, what with, the answer, and what `why` must hold. */
static const struct {
  const char **field, *text;
  int answer;
  const char *says;
} refusals[] = {
    {&source.operator_file, "no/such.yaml", HONE_BAD_FILE, "no/such.yaml"},
    {&source.operator_file, NULL, HONE_BAD_INPUT, "required"},
    {&source.machine_file, "no/such.yaml", HONE_BAD_FILE, "no/such.yaml"},
    {&source.sizes, "m=24,n=16", HONE_BAD_INPUT, "k"},
    {&source.sizes, "m=24,n=16,k=many", HONE_BAD_INPUT, "'many'"},
    {&source.sizes, "m=24,,k=3", HONE_BAD_INPUT, "NAME=VALUE"},
    {&source.sizes, "24", HONE_BAD_INPUT, "NAME=VALUE"},
    {&source.formats, "int9", HONE_BAD_INPUT, "'int9'"},
    {&source.formats, "int8,int8", HONE_BAD_INPUT, "NAME=VALUE"},
    {&source.data, "no", HONE_BAD_FILE, "no/spaces/template.yaml"},
};

START_TEST(refusals_say_why)
{
  hone_problem *p = NULL;
  const char *before = *refusals[_i].field;
  *refusals[_i].field = refusals[_i].text;
  ck_assert_int_eq(hone_problem_new(&source, &p, why), refusals[_i].answer);
  ck_assert_msg(strstr(why, refusals[_i].says) != NULL, "'%s' does not hold '%s'", why, refusals[_i].says);
  ck_assert_ptr_null(p);
  ck_assert_int_eq(hone_problem_new(&source, &p, NULL), refusals[_i].answer);
  *refusals[_i].field = before;
}
END_TEST

START_TEST(bad_schedules_and_requests)
{
  hone_problem *p = problem();
  hone_times t;
  hone_tuning tuning;
  ck_assert_int_eq(hone_problem_time(p, "tile.9.z=4", 0, &t, why), HONE_BAD_INPUT);
  ck_assert(strstr(why, "tile.9.z") != NULL);
  ck_assert_int_eq(hone_problem_tune(p, &(hone_tune_request){.budget = 0}, &tuning, why), HONE_BAD_INPUT);
  ck_assert_int_eq(hone_problem_tune(p, &(hone_tune_request){.budget = 9, .strategy = "luck"}, &tuning, why), HONE_BAD_INPUT);
  ck_assert(strstr(why, "'luck'") != NULL);
  hone_problem_free(p);
  hone_problem_free(NULL);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hone");
  TCase *c = tcase_create("hone");
  tcase_add_test(c, version_is_the_package_s);
  tcase_add_test(c, bound_default_and_tuning_are_in_order);
  tcase_add_test(c, model_alone_is_not_simulated);
  tcase_add_loop_test(c, refusals_say_why, 0, (int)(sizeof refusals / sizeof *refusals));
  tcase_add_test(c, bad_schedules_and_requests);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
