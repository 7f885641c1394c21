#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "ir/function.h"

static double eval(hone_function f, double x, double y)
{
  return hone_function_eval(f, (double[]){x, y});
}

START_TEST(every_name_is_found)
{
  hone_function f;
  for (int i = 0; i < HONE_FUNCTION_COUNT; i++) {
    ck_assert(hone_function_find(hone_function_name((hone_function)i), &f) && (int)f == i);
    ck_assert_int_ge(hone_function_arity(f), 1);
  }
  ck_assert(!hone_function_find("", &f));
  ck_assert_int_eq(hone_function_cost_class(HONE_FUNCTION_ADD), HONE_COST_SIMPLE);
  ck_assert_int_eq(hone_function_cost_class(HONE_FUNCTION_GELU), HONE_COST_TABLE);
}
END_TEST

START_TEST(values_are_those_of_the_definitions)
{
  ck_assert_double_eq(eval(HONE_FUNCTION_COPY, 3, 0), 3);
  ck_assert_double_eq(eval(HONE_FUNCTION_ADD, 3, 4), 7);
  ck_assert_double_eq(eval(HONE_FUNCTION_SUB, 3, 4), -1);
  ck_assert_double_eq(eval(HONE_FUNCTION_MUL, 3, 4), 12);
  ck_assert_double_eq(eval(HONE_FUNCTION_MAX, 3, 4), 4);
  ck_assert_double_eq(eval(HONE_FUNCTION_MIN, 3, 4), 3);
  ck_assert_double_eq(eval(HONE_FUNCTION_RELU, -3, 0), 0);
  ck_assert_double_eq_tol(eval(HONE_FUNCTION_EXP, 1, 0), 2.718281828459045, 1e-15);
  ck_assert_double_eq_tol(eval(HONE_FUNCTION_SIGMOID, 1, 0), 0.7310585786300049, 1e-15);
  ck_assert_double_eq_tol(eval(HONE_FUNCTION_TANH, 1, 0), 0.7615941559557649, 1e-15);
  ck_assert_double_eq_tol(eval(HONE_FUNCTION_SILU, 1, 0), 0.7310585786300049, 1e-15);
  ck_assert_double_eq_tol(eval(HONE_FUNCTION_GELU, 1, 0), 0.8411919906082768, 1e-15);
  ck_assert_double_eq(eval(HONE_FUNCTION_RSQRT, 16, 0), 0.25);
  ck_assert_double_eq(eval(HONE_FUNCTION_RECIPROCAL, 8, 0), 0.125);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("function");
  TCase *t = tcase_create("function");
  tcase_add_test(t, every_name_is_found);
  tcase_add_test(t, values_are_those_of_the_definitions);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
