/* base/status: the table, diagnostics and their printed form. */
#include "config.h"

#include <string.h>

#include "base/status.h"
#include "unit/unit.h"

START_TEST(table_gives_names_and_exit_codes)
{
  ck_assert_str_eq(hone_status_name(HONE_OK), "OK");
  ck_assert_str_eq(hone_status_name(HONE_INPUT), "INPUT");
  ck_assert_str_eq(hone_status_text(HONE_INFEASIBLE), "infeasible");
  /* DESIGN section 7: 0 done; 1 internal; 2 input; 3 infeasible; 4 disk; 5 interrupted */
  ck_assert_int_eq(hone_status_exit_code(HONE_OK), 0);
  ck_assert_int_eq(hone_status_exit_code(HONE_INTERNAL), 1);
  ck_assert_int_eq(hone_status_exit_code(HONE_OVERFLOW), 2);
  ck_assert_int_eq(hone_status_exit_code(HONE_NOT_FOUND), 3);
  ck_assert_int_eq(hone_status_exit_code(HONE_STORE), 4);
  ck_assert_int_eq(hone_status_exit_code(HONE_INTERRUPTED), 5);
  ck_assert_int_eq(hone_status_exit_code((hone_status)99), 1);
  for (int s = 0; s < HONE_STATUS_COUNT; s++) {
    ck_assert(hone_status_name((hone_status)s)[0] != '\0');
    ck_assert(hone_status_text((hone_status)s)[0] != '\0');
  }
}
END_TEST

static void assert_printed(const hone_err *err, const char *expected)
{
  char buf[2048];
  int n = hone_err_print(err, buf, sizeof buf);
  ck_assert_str_eq(buf, expected);
  ck_assert_int_eq(n, (int)strlen(expected));
}

START_TEST(print_says_what_is_known)
{
  hone_err err;
  ck_assert_int_eq(hone_err_set(&err, HONE_INPUT, "x.bad", "%d is bad", 7), HONE_INPUT);
  assert_printed(&err, "error: 7 is bad [x.bad]");
  hone_err_at(&err, "m.yaml", 0, 0);
  assert_printed(&err, "m.yaml: error: 7 is bad [x.bad]");
  hone_err_at(&err, "m.yaml", 3, 0);
  assert_printed(&err, "m.yaml:3: error: 7 is bad [x.bad]");
  hone_err_at(&err, "m.yaml", 3, 14);
  hone_err_path(&err, "memories[%d].capacity", 1);
  hone_err_hint(&err, "say %s", "8");
  assert_printed(&err, "m.yaml:3:14: error: memories[1].capacity: 7 is bad [x.bad]\n  hint: say 8");
}
END_TEST

START_TEST(names_from_files_cannot_drive_a_terminal)
{
  hone_err e;
  hone_err_set(&e, HONE_INPUT, "x.y", "no '%s'", "a\nb\033[2J\x7f \xc3\xa9");
  hone_err_path(&e, "a.%s", "\rb");
  hone_err_hint(&e, "x%s\n ^", "\t");
  ck_assert_str_eq(e.message, "no 'a?b?[2J? \xc3\xa9'");
  ck_assert_str_eq(e.path, "a.?b");
  ck_assert_str_eq(e.hint, "x?\n ^");
}
END_TEST

START_TEST(set_clears_and_may_quote_itself)
{
  hone_err err;
  hone_err_set(&err, HONE_INPUT, "x.bad", "inner");
  hone_err_at(&err, "m.yaml", 3, 14);
  hone_err_hint(&err, "hint");
  hone_err_set(&err, HONE_IO, err.code, "outer: %s", err.message);
  assert_printed(&err, "error: outer: inner [x.bad]");
  ck_assert_int_eq(err.status, HONE_IO);
  ck_assert_int_eq(err.line, 0);
}
END_TEST

START_TEST(null_is_allowed)
{
  ck_assert_int_eq(hone_err_set(NULL, HONE_IO, "x", "y"), HONE_IO);
  hone_err_init(NULL);
  hone_err_at(NULL, "f", 1, 1);
  hone_err_path(NULL, "p");
  hone_err_hint(NULL, "h");
}
END_TEST

START_TEST(long_texts_are_cut)
{
  char longer[2000], small[10];
  hone_err err;
  memset(longer, 'a', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  hone_err_set(&err, HONE_INPUT, longer, "%s", longer);
  hone_err_at(&err, longer, 1, 1);
  hone_err_path(&err, "%s", longer);
  hone_err_hint(&err, "%s", longer);
  ck_assert_uint_eq(strlen(err.message), sizeof err.message - 1);
  ck_assert_uint_eq(strlen(err.code), sizeof err.code - 1);
  ck_assert_uint_eq(strlen(err.file), sizeof err.file - 1);
  memcpy(longer + sizeof longer - 8, "/m.yaml", 8);
  hone_err_at(&err, longer, 1, 1); /* of a file the end is kept */
  ck_assert_int_eq(strncmp(err.file, "...a", 4), 0);
  ck_assert_str_eq(err.file + sizeof err.file - 9, "a/m.yaml");
  ck_assert_uint_eq(strlen(err.path), sizeof err.path - 1);
  ck_assert_uint_eq(strlen(err.hint), sizeof err.hint - 1);
  ck_assert_int_gt(hone_err_print(&err, small, sizeof small), 1000);
  ck_assert_str_eq(small, "...aaaaaa");
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("base/status");
  TCase *c = tcase_create("status");
  tcase_add_test(c, table_gives_names_and_exit_codes);
  tcase_add_test(c, print_says_what_is_known);
  tcase_add_test(c, set_clears_and_may_quote_itself);
  tcase_add_test(c, names_from_files_cannot_drive_a_terminal);
  tcase_add_test(c, null_is_allowed);
  tcase_add_test(c, long_texts_are_cut);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
