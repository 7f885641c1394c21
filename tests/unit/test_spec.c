/* Specs: text and back, what loading an operator notes, and fitting a schedule
 * of one shape to another. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ir/operator.h"
#include "ir/schedule.h"
#include "unit/unit.h"

#define MATMUL HONE_SRCDIR "/spaces/matmul.yaml"

static hone_err err;

static void setup(void) { hone_err_init(&err); }

static void load(const char *text, hone_operator *op)
{
  hone_spec spec;
  ck_assert_msg(hone_spec_parse(text, &spec, &err) == HONE_OK, "%s", err.message);
  ck_assert_msg(hone_operator_load_spec(MATMUL, &spec, op, &err) == HONE_OK, "%s", err.message);
}

static void expect_text(const hone_spec *s, const char *text)
{
  hone_text t = {0};
  hone_spec_print(s, &t);
  ck_assert_str_eq(t.data, text);
  hone_text_fini(&t);
}

START_TEST(print_is_the_inverse_of_parse)
{
  static const char *const texts[] = {
      "matmul", "matmul --size m=1..4096,n=4096,k=1 --dtype bf16",
      "matmul --size b=1,m=3,n=4,k=5 --dtype bf16 --format W=int8,Y=fp32 --option bias=row,activation=gelu",
      "x --format W=int8"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    hone_spec s;
    ck_assert_msg(hone_spec_parse(texts[i], &s, &err) == HONE_OK, "%s", err.message);
    expect_text(&s, texts[i]);
  }
}
END_TEST

START_TEST(bad_texts_are_refused)
{
  static const char *const texts[] = {
      "", "--size m=1", "matmul --size", "matmul --size m", "matmul --size m=0", "matmul --size m=5..4", "matmul --size m=1..",
      "matmul --size m=..4", "matmul --size m=1,m=2", "matmul --dtype", "matmul --dtype bf17", "matmul --dtype bf16 --dtype bf16",
      "matmul --format =int8", "matmul --format W=int8,W=int8", "matmul --option bias=", "matmul --seed 1", "matmul m=1",
      "matmul --size m=9223372036854775808", "a_name_that_is_longer_than_names_may_be_here --size m=1"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    hone_spec s;
    ck_assert_msg(hone_spec_parse(texts[i], &s, &err) == HONE_INPUT, "'%s' was taken", texts[i]);
    ck_assert_str_eq(err.code, "spec.syntax");
  }
}
END_TEST

START_TEST(an_operator_knows_its_spec)
{
  static hone_operator op;
  load("matmul --size k=5,m=3,n=4 --dtype bf16 --format Y=fp32,W=int8 --option activation=gelu", &op);
  expect_text(&op.spec, "matmul --size b=1,m=3,n=4,k=5 --dtype bf16 --format W=int8,Y=fp32 "
                        "--option bias=none,activation=gelu,residual=none");
}
END_TEST

START_TEST(families_differ_by_anything_but_sizes)
{
  hone_spec a, b;
  ck_assert(hone_spec_parse("matmul --size m=1..9,n=4 --dtype bf16", &a, &err) == HONE_OK);
  ck_assert(hone_spec_parse("matmul --size m=3,n=5 --dtype bf16", &b, &err) == HONE_OK);
  ck_assert(hone_spec_same_family(&a, &b));
  ck_assert_int_eq(hone_spec_range(&a), 0);
  ck_assert_int_eq(hone_spec_range(&b), -1);
  ck_assert(hone_spec_parse("matmul --size m=3,n=5 --dtype fp16", &b, &err) == HONE_OK);
  ck_assert(!hone_spec_same_family(&a, &b));
  ck_assert(hone_spec_parse("matmul --size m=3,k=5 --dtype bf16", &b, &err) == HONE_OK);
  ck_assert(!hone_spec_same_family(&a, &b));
}
END_TEST

/* The default schedule of a large shape, cut to every smaller one, is legal and
 * its text is one of that shape. */
START_TEST(a_schedule_fits_every_smaller_shape)
{
  static hone_operator large, small;
  static hone_machine m;
  hone_schedule s, fitted, again;
  ck_assert_msg(hone_machine_load(HONE_SRCDIR "/data/machines/teaching.yaml", &m, &err) == HONE_OK, "%s", err.message);
  load("matmul --size m=96,n=64,k=80 --dtype bf16", &large);
  ck_assert_msg(hone_schedule_default(&large, &m, &s, &err) == HONE_OK, "%s", err.message);
  for (int64_t i = 1; i <= 96; i++) {
    hone_params params;
    hone_text t = {0};
    hone_why why = {0};
    hone_text_add(&t, "matmul --size m=%lld,n=64,k=80 --dtype bf16", (long long)i);
    load(t.data, &small);
    fitted = s;
    hone_schedule_fit(&small, &m, &fitted);
    ck_assert_msg(hone_schedule_check(&small, &m, &fitted, &why) == HONE_REASON_NONE, "m=%lld: %s", (long long)i, why.text);
    ck_assert(hone_params_new(&small, &m, &params, &err) == HONE_OK);
    hone_text_clear(&t);
    hone_schedule_print(&small, &m, &params, &fitted, &t);
    ck_assert_msg(hone_schedule_parse(&small, &m, &params, t.data, &again, &err) == HONE_OK, "m=%lld: %s", (long long)i, err.message);
    ck_assert_msg(hone_schedule_check(&small, &m, &again, NULL) == HONE_REASON_NONE, "m=%lld", (long long)i);
    hone_params_free(&params);
    hone_text_fini(&t);
  }
}
END_TEST

START_TEST(a_document_makes_many_shapes)
{
  static hone_operator one, other;
  hone_yaml *text = NULL;
  hone_spec spec;
  ck_assert_int_eq(hone_yaml_load(MATMUL, &text, &err), HONE_OK);
  for (int m = 1; m < 4; m++) {
    ck_assert_int_eq(hone_spec_parse("matmul --size m=1,n=4,k=5 --dtype bf16 --format W=int8 --option bias=row", &spec, &err), HONE_OK);
    spec.size[0].value = spec.size[0].to = m;
    ck_assert_msg(hone_operator_make(text, &spec, &one, &err) == HONE_OK, "%s", err.message);
    ck_assert_int_eq(hone_operator_load_spec(MATMUL, &spec, &other, &err), HONE_OK);
    ck_assert_int_eq(hone_hash_cmp(hone_operator_hash(&one), hone_operator_hash(&other)), 0);
    ck_assert_int_eq(one.dim[1].extent, m);
  }
  strcpy(spec.operator_name, "another");
  ck_assert_int_eq(hone_operator_make(text, &spec, &one, &err), HONE_INPUT);
  ck_assert_str_eq(err.code, "spec.operator");
  hone_yaml_free(text);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("spec");
  TCase *t = tcase_create("spec");
  tcase_add_checked_fixture(t, setup, NULL);
  tcase_add_test(t, print_is_the_inverse_of_parse);
  tcase_add_test(t, bad_texts_are_refused);
  tcase_add_test(t, an_operator_knows_its_spec);
  tcase_add_test(t, families_differ_by_anything_but_sizes);
  tcase_add_test(t, a_schedule_fits_every_smaller_shape);
  tcase_add_test(t, a_document_makes_many_shapes);
  suite_add_tcase(s, t);
  return unit_run(s);
}
