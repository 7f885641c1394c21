/* store: what two stores know differently. */
#include "config.h"

#include "unit/store_unit.h"

static hone_store *a, *b;
static hone_text lines; /* "tile outcome-in-a outcome-in-b" of each visit */

static void setup(void)
{
  fixture_directory();
  a = unit_open(fixture_path("a.hone"), HONE_STORE_WRITE);
  b = unit_open(fixture_path("b.hone"), HONE_STORE_WRITE);
}

static void teardown(void)
{
  hone_text_fini(&lines);
  unit_close(a);
  unit_close(b);
  fixture_remove();
}

static void add_outcome(const hone_record *r)
{
  if (!r) hone_text_add(&lines, " -");
  else if (r->reason) hone_text_add(&lines, " %s", r->reason_code);
  else hone_text_add(&lines, " %lld", (long long)r->cycles);
}

static hone_status note(void *arg, const hone_record *x, const hone_record *y, hone_err *err)
{
  int schedule;
  (void)arg, (void)err;
  ck_assert_int_eq(sscanf((x ? x : y)->schedule, "tile.1.m=%d ", &schedule), 1);
  if (x && y) ck_assert_str_eq(x->schedule, y->schedule);
  hone_text_add(&lines, "%s%d", lines.length ? ", " : "", schedule);
  add_outcome(x);
  add_outcome(y);
  return HONE_OK;
}

static void check(const hone_store_filter *f, int only_a, int only_b, int different, int same, const char *want)
{
  hone_store_difference d;
  hone_err err = {0};
  unit_flush(a);
  unit_flush(b);
  unit_ok(hone_store_refresh(a, &err), &err);
  unit_ok(hone_store_refresh(b, &err), &err);
  hone_text_clear(&lines);
  hone_text_add(&lines, "%s", "");
  unit_ok(hone_store_diff(a, b, f, &d, note, NULL, &err), &err);
  ck_assert_str_eq(lines.data, want);
  ck_assert(d.only_a == only_a && d.only_b == only_b && d.different == different && d.same == same);
}

START_TEST(empty_stores_are_the_same)
{
  check(NULL, 0, 0, 0, 0, "");
}
END_TEST

START_TEST(each_side_and_both)
{
  unit_append(a, unit_record(1, 1, 100));
  unit_append(a, unit_record(1, 2, 100)); /* also in b, of another segment, host and time */
  unit_append(a, unit_record(1, 3, 100));
  unit_append(a, unit_record(1, 4, 100));
  unit_append(b, unit_record(1, 2, 100));
  unit_flush(b);
  unit_append(b, unit_record(1, 3, 90));
  unit_append(b, unit_failure(1, 4, HONE_REASON_DEADLOCK, "stuck"));
  unit_append(b, unit_record(1, 5, 100));
  check(NULL, 1, 1, 2, 1, "1 100 -, 3 100 90, 4 100 deadlock, 5 - 100");
}
END_TEST

START_TEST(contested_keys_differ_by_the_outcome_the_other_lacks)
{
  unit_append(a, unit_record(1, 1, 90));
  unit_append(a, unit_record(1, 1, 100));
  unit_append(b, unit_record(1, 1, 90));
  unit_append(a, unit_record(1, 2, 70));
  unit_append(a, unit_record(1, 2, 70)); /* more observations are no difference */
  unit_append(b, unit_record(1, 2, 70));
  check(NULL, 0, 0, 1, 1, "1 100 90");
}
END_TEST

START_TEST(tasks_and_versions_are_kept_apart)
{
  hone_record r = unit_record(1, 7, 100);
  unit_append(a, r);
  r.evaluator_version = 2;
  unit_append(b, r);
  unit_append(a, unit_record(2, 8, 100));
  unit_append(b, unit_record(2, 8, 100));
  unit_append(b, unit_record(3, 9, 100));
  hone_store_difference d;
  hone_err err = {0};
  check(&(hone_store_filter){.evaluator_version = 2}, 0, 1, 0, 0, "7 - 100");
  unit_ok(hone_store_diff(a, b, NULL, &d, note, NULL, &err), &err);
  ck_assert(d.only_a == 1 && d.only_b == 2 && d.different == 0 && d.same == 1);
}
END_TEST

START_TEST(filters_hold_for_both)
{
  unit_append(a, unit_record(1, 1, 100));
  unit_append(b, unit_failure(1, 1, HONE_REASON_DEADLOCK, "stuck"));
  check(&(hone_store_filter){.outcome = HONE_STORE_FAILED}, 0, 1, 0, 0, "1 - deadlock");
}
END_TEST

static hone_status stop(void *arg, const hone_record *x, const hone_record *y, hone_err *err)
{
  (void)x, (void)y, (void)err;
  ++*(int *)arg;
  return HONE_NOT_FOUND;
}

START_TEST(a_visit_can_end_the_walk)
{
  int n = 0;
  hone_store_difference d;
  unit_append(a, unit_record(1, 1, 100));
  unit_append(a, unit_record(2, 1, 100));
  check(NULL, 2, 0, 0, 0, "1 100 -, 1 100 -");
  ck_assert_int_eq(hone_store_diff(a, b, NULL, &d, stop, &n, NULL), HONE_NOT_FOUND);
  ck_assert_int_eq(n, 1);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("store/diff");
  TCase *c = tcase_create("diff");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, empty_stores_are_the_same);
  tcase_add_test(c, each_side_and_both);
  tcase_add_test(c, contested_keys_differ_by_the_outcome_the_other_lacks);
  tcase_add_test(c, tasks_and_versions_are_kept_apart);
  tcase_add_test(c, filters_hold_for_both);
  tcase_add_test(c, a_visit_can_end_the_walk);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
