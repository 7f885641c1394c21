/* Expressions of the space language: values, faults, diagnostics with columns. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "spaces/expr.h"
#include "tests/unit/unit.h"

/* a, b, c are values 0, 1, 2; p is a packed order; `twice` a macro; `loop` refers to itself. */
static bool resolve(void *arg, const char *name, hone_symbol *out, char hint[HONE_EXPR_NAME])
{
  (void)arg;
  *out = (hone_symbol){.kind = HONE_SYMBOL_VALUE};
  if (strlen(name) == 1 && strchr("abc", *name)) return out->index = *name - 'a', true;
  if (strcmp(name, "tile.1.m") == 0) return out->index = 0, true;
  if (strcmp(name, "place") == 0) return *out = (hone_symbol){.kind = HONE_SYMBOL_PLACE, .index = 3, .argument = 2}, true;
  if (strcmp(name, "field") == 0) return *out = (hone_symbol){.kind = HONE_SYMBOL_FIELD, .index = 3, .argument = 8}, true;
  out->kind = HONE_SYMBOL_TEXT;
  if (strcmp(name, "twice") == 0) return snprintf(out->text, sizeof out->text, "a + a"), true;
  if (strcmp(name, "loop") == 0) return snprintf(out->text, sizeof out->text, "1 + loop"), true;
  if (strcmp(name, "broken") == 0) return snprintf(out->text, sizeof out->text, "b / (a - a)"), true;
  snprintf(hint, HONE_EXPR_NAME, "tile.1.m");
  return false;
}

static const hone_scope scope = {.nbindings = 2,
                                 .binding = {{"level", "2", 2, true}, {"dim", "m", 5, false}},
                                 .resolve = resolve};

static const int64_t values[4] = {7, 3, -2, 0xba9876543102 /* dims 2 0 1 */};

static void expect_value(const char *text, int64_t want)
{
  hone_expr e;
  hone_err err;
  hone_err_init(&err);
  int64_t got = 0;
  ck_assert_msg(hone_expr_compile(text, &scope, &e, &err) == HONE_OK, "%s: %s", text, err.message);
  hone_fault f = hone_expr_eval(&e, values, &got, NULL);
  ck_assert_msg(f == HONE_FAULT_NONE && got == want, "%s = %lld, wanted %lld (%s)", text, (long long)got, (long long)want,
                hone_fault_text(f));
  hone_expr_free(&e);
}

static void expect_fault(const char *text, hone_fault want, int want_column)
{
  hone_expr e;
  int64_t got;
  int column = 0;
  ck_assert_int_eq(hone_expr_compile(text, &scope, &e, NULL), HONE_OK);
  ck_assert_msg(hone_expr_eval(&e, values, &got, &column) == want, "%s did not fault", text);
  ck_assert_msg(column == want_column, "%s: fault at column %d, wanted %d", text, column, want_column);
  hone_expr_free(&e);
}

static void expect_error(const char *text, int column, const char *part)
{
  hone_expr e;
  hone_err err;
  hone_err_init(&err);
  ck_assert_msg(hone_expr_compile(text, &scope, &e, &err) == HONE_INPUT, "%s was accepted", text);
  ck_assert_msg(err.column == column, "%s: column %d, wanted %d (%s)", text, err.column, column, err.message);
  ck_assert_msg(strstr(err.message, part) != NULL, "%s: '%s' lacks '%s'", text, err.message, part);
}

START_TEST(precedence)
{
  expect_value("1 + 2 * 3", 7);
  expect_value("(1 + 2) * 3", 9);
  expect_value("10 - 4 - 3", 3);
  expect_value("100 / 5 / 2", 10);
  expect_value("-2 * 3", -6);
  expect_value("- -4", 4);
  expect_value("2 - -2", 4);
  expect_value("1 + 1 == 2", 1);
  expect_value("not 1 == 2", 1);
  expect_value("not 0 and 0", 0);
  expect_value("1 or 0 and 0", 1);
  expect_value("(1 or 0) and 0", 0);
  expect_value("a < b or b < a", 1);
  expect_value("5 and 7", 1);
  expect_value("0 or 9", 1);
}
END_TEST

START_TEST(arithmetic)
{
  expect_value("7 / 2", 3);
  expect_value("-7 / 2", -4);
  expect_value("7 / -2", -4);
  expect_value("-7 % 3", 2);
  expect_value("7 % -3", -2);
  expect_value("7 % -1", 0);
  expect_value("ceildiv(7, 2)", 4);
  expect_value("ceildiv(-7, 2)", -3);
  expect_value("ceildiv(8, 2)", 4);
  expect_value("mod(9, 4)", 1);
  expect_value("min(3, 1, 2)", 1);
  expect_value("max(a, b, c, 5)", 7);
  expect_value("24 MiB", 24 * 1024 * 1024);
  expect_value("1_000", 1000);
  expect_value("2 KiB + 1", 2049);
}
END_TEST

START_TEST(names)
{
  expect_value("a * b + c", 19);
  expect_value("tile.1.m", 7);
  expect_value("tile.{level-1}.{dim}", 7);
  expect_value("level * 10 + dim", 25);
  expect_value("twice * 2", 28);
  expect_value("place", 0);
  expect_value("field", 0x31);
  expect_value("if(a > b, 10, 20)", 10);
  expect_value("if(a < b, 10, 20)", 20);
}
END_TEST

START_TEST(short_circuit)
{
  expect_value("0 and 1 / 0", 0);
  expect_value("1 or 1 / 0", 1);
  expect_value("a == 0 or b == 0 or 1", 1);
  expect_value("if(1, 2, 1 / 0)", 2);
  expect_value("if(0, 1 / 0, 2)", 2);
  expect_value("b != 0 and a / b == 2 and 1", 1);
}
END_TEST

START_TEST(faults)
{
  expect_fault("1 / 0", HONE_FAULT_DIVISION, 3);
  expect_fault("a + a % (b - 3)", HONE_FAULT_DIVISION, 7);
  expect_fault("ceildiv(1, a - 7)", HONE_FAULT_DIVISION, 1);
  expect_fault("9223372036854775807 + 1", HONE_FAULT_OVERFLOW, 21);
  expect_fault("1 - 9223372036854775807 - 3", HONE_FAULT_OVERFLOW, 25);
  expect_fault("4611686018427387904 * 2", HONE_FAULT_OVERFLOW, 21);
  expect_fault("-(-9223372036854775807 - 1)", HONE_FAULT_OVERFLOW, 1);
  expect_fault("(-9223372036854775807 - 1) / -1", HONE_FAULT_OVERFLOW, 28);
  expect_fault("2 * broken", HONE_FAULT_DIVISION, 5);
  expect_value("(-9223372036854775807 - 1) % -1", 0);
}
END_TEST

START_TEST(diagnostics)
{
  expect_error("", 1, "too early");
  expect_error("1 +", 4, "too early");
  expect_error("1 + * 2", 5, "expected a number");
  expect_error("(1 + 2", 7, "expected ')'");
  expect_error("1 2", 3, "expected an operator");
  expect_error("a < b < c", 7, "do not chain");
  expect_error("a = 3", 3, "'=='");
  expect_error("a & b", 3, "'and'");
  expect_error("1 + tile.1.q", 5, "did you mean 'tile.1.m'");
  expect_error("tile.{axis}.m", 1, "not bound");
  expect_error("5 apples", 3, "expected an operator");
  expect_error("5apples", 2, "not a unit");
  expect_error("foo(1)", 1, "unknown function");
  expect_error("ceildiv(1)", 10, "takes two");
  expect_error("ceildiv(1, 2, 3)", 13, "takes two");
  expect_error("99999999999999999999", 1, "64 bits");
  expect_error("a $ b", 3, "unexpected character");
  expect_error("loop", 1, "refers to itself");
}
END_TEST

START_TEST(caret)
{
  hone_expr e;
  hone_err err;
  ck_assert_int_eq(hone_expr_compile("a + * 2", &scope, &e, &err), HONE_INPUT);
  ck_assert_str_eq(err.hint, "a + * 2\n    ^");
}
END_TEST

START_TEST(deep_nesting_is_refused)
{
  char text[2001];
  memset(text, '(', 2000);
  text[2000] = 0;
  expect_error(text, 41, "nested");
  memset(text, '-', 2000);
  expect_error(text, 40, "nested");
}
END_TEST

/* Any bytes: an expression or a diagnostic, never a crash; what compiles runs. */
START_TEST(junk)
{
  static const char *const piece[] = {"a", "b", "(", ")", "+", "-", "*", "/", "%", "1", "0", "and", "or", "not", "min(", "if(", ",",
                                      "<", "==", "{", "}", "{level}", ".", " ", "9223372036854775807", "\t", "\"", "twice"};
  for (uint64_t seed = 1; seed <= 20000; seed++) {
    char text[200] = "";
    hone_rng rng;
    hone_expr e;
    int64_t out;
    hone_rng_init(&rng, seed);
    for (int64_t k = hone_rng_below(&rng, 8); k >= 0; k--)
      strcat(text, piece[hone_rng_below(&rng, (int64_t)(sizeof piece / sizeof *piece))]);
    if (hone_expr_compile(text, &scope, &e, NULL) != HONE_OK) continue;
    hone_expr_eval(&e, values, &out, NULL);
    hone_expr_free(&e);
  }
}
END_TEST

int main(void)
{
  Suite *s = suite_create("expr");
  TCase *t = tcase_create("expr");
  tcase_add_test(t, precedence);
  tcase_add_test(t, arithmetic);
  tcase_add_test(t, names);
  tcase_add_test(t, short_circuit);
  tcase_add_test(t, faults);
  tcase_add_test(t, diagnostics);
  tcase_add_test(t, caret);
  tcase_add_test(t, deep_nesting_is_refused);
  tcase_add_test(t, junk);
  suite_add_tcase(s, t);
  return unit_run(s);
}
