/* The model's counts equal the walker's, field by field, on random cases. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "cost/model.h"
#include "lib/case_count.h"
#include "tests/lib/cases.h"
#include "tests/lib/walker.h"
#include "tests/unit/unit.h"

enum { CASES = 2000, SEED = 1 };

START_TEST(counts_agree)
{
  int compared = 0;
  for (uint64_t i = 0; compared < case_count(CASES); i++) {
    test_case c;
    hone_model *model;
    hone_cost cost;
    hone_counts walked;
    hone_err err;
    if (!case_draw(SEED, i, NULL, &c)) continue;
    ck_assert_msg(hone_model_new(&c.op, &c.m, &model, &err) == HONE_OK, "%s", err.message);
    hone_reason bad = hone_model_evaluate(model, &c.s, &cost);
    ck_assert_msg(!bad, "%s: %s", hone_reason_text(bad), c.text);
    ck_assert_msg(walker_run(&c.op, &c.m, &c.s, 100000, &walked, NULL, NULL) >= 0, "too many steps: %s", c.text);
    const char *differs = walker_compare(&c.op, &cost.counts, &walked);
    ck_assert_msg(!differs, "model %s: %s", differs, c.text);
    compared++;
    hone_model_free(model);
    case_fini(&c);
  }
}
END_TEST

int main(void)
{
  Suite *s = suite_create("model against walker");
  TCase *t = tcase_create("random cases");
  printf("seed %d, %d cases\n", SEED, case_count(CASES));
  unit_timeout(t, 120);
  tcase_add_test(t, counts_agree);
  suite_add_tcase(s, t);
  return unit_run(s);
}
