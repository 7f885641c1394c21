/* base/option: parsing, refusals with the nearest name, help and man text. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/option.h"
#include "unit/unit.h"

enum { BUDGET, ALPHA, STORE, SIZE, JSON, SEED, NROWS };
static const hone_option rows[NROWS] = {
    [BUDGET] = {"budget", HONE_OPTION_INT, 1, 1000000, "2000", "N", "Evaluations to spend.", false},
    [ALPHA] = {"alpha", HONE_OPTION_REAL, 0, 1, NULL, "X", "A share.", false},
    [STORE] = {"store", HONE_OPTION_TEXT, 0, 0, NULL, "DIR", "Where records go.", false},
    [SIZE] = {"size", HONE_OPTION_LIST, 0, 0, NULL, "NAME=N", "Sizes of the operator.", false},
    [JSON] = {"json", HONE_OPTION_FLAG, 0, 0, NULL, NULL, "Print one JSON document on standard output and nothing else.", false},
    [SEED] = {"seed", HONE_OPTION_INT, INT64_MIN, INT64_MAX, "0", "N", "Seed.", false},
};

static hone_option_value values[NROWS];
static const char *positional[2];
static int npositional;
static hone_err err;

static hone_status parse_words(const char *line) /* words split at blanks */
{
  static char copy[2000];
  static char *argv[300];
  int argc = 0;
  hone_options_fini(values, NROWS);
  hone_err_init(&err);
  snprintf(copy, sizeof copy, "%s", line);
  for (char *w = strtok(copy, " "); w; w = strtok(NULL, " "))
    argv[argc++] = w;
  return hone_options_parse(rows, NROWS, argc, argv, values, positional, 2, &npositional, &err);
}

START_TEST(fallbacks_fill_in)
{
  ck_assert_int_eq(parse_words(""), HONE_OK);
  ck_assert(!values[BUDGET].given);
  ck_assert_int_eq(values[BUDGET].i, 2000);
  ck_assert_ptr_null(values[STORE].text);
  ck_assert_int_eq(values[JSON].i, 0);
  ck_assert_int_eq(values[SIZE].nlist, 0);
  ck_assert_int_eq(npositional, 0);
}
END_TEST

START_TEST(both_spellings)
{
  ck_assert_int_eq(parse_words("--budget 7 --alpha=0.25 top --store=a=b --json x --seed -9223372036854775808"), HONE_OK);
  ck_assert(values[BUDGET].given);
  ck_assert_int_eq(values[BUDGET].i, 7);
  ck_assert_double_eq(values[ALPHA].r, 0.25);
  ck_assert_str_eq(values[STORE].text, "a=b");
  ck_assert_int_eq(values[JSON].i, 1);
  ck_assert_int_eq(values[SEED].i, INT64_MIN);
  ck_assert_int_eq(npositional, 2);
  ck_assert_str_eq(positional[0], "top");
  ck_assert_str_eq(positional[1], "x");
}
END_TEST

START_TEST(lists_repeat_and_split)
{
  ck_assert_int_eq(parse_words("--size m=1,n=2 --size=k=3"), HONE_OK);
  ck_assert_int_eq(values[SIZE].nlist, 3);
  ck_assert_str_eq(values[SIZE].list[0], "m=1");
  ck_assert_str_eq(values[SIZE].list[1], "n=2");
  ck_assert_str_eq(values[SIZE].list[2], "k=3");
}
END_TEST

START_TEST(two_dashes_end_options)
{
  ck_assert_int_eq(parse_words("-- --budget -x"), HONE_OK);
  ck_assert_str_eq(positional[0], "--budget");
  ck_assert_str_eq(positional[1], "-x");
  ck_assert_int_eq(parse_words("-"), HONE_OK);
  ck_assert_str_eq(positional[0], "-");
}
END_TEST

static const struct {
  const char *line, *code, *message, *hint;
} refusals[] = {
    {"--bugdet 7", "option.unknown", "unknown option '--bugdet'", "did you mean '--budget'?"},
    {"--bugdet=7", "option.unknown", "unknown option '--bugdet'", "did you mean '--budget'?"},
    {"--frobnicate", "option.unknown", "unknown option '--frobnicate'", ""},
    {"-q", "option.unknown", "unknown option '-q'", ""},
    {"--budget", "option.value", "--budget needs N", ""},
    {"--budget --json", "option.value", "--budget needs N", ""},
    {"--budget many", "option.value", "--budget: 'many' is not a whole number", ""},
    {"--budget=", "option.value", "--budget: '' is not a whole number", ""},
    {"--budget 0", "option.range", "--budget: '0' is out of range: must be 1 to 1000000", ""},
    {"--budget 1000001", "option.range", "--budget: '1000001' is out of range: must be 1 to 1000000", ""},
    {"--alpha 1.01", "option.range", "--alpha: '1.01' is out of range: must be 0 to 1", ""},
    {"--alpha 1,0", "option.value", "--alpha: '1,0' is not a number", ""},
    {"--budget 1 --budget 2", "option.twice", "--budget is given twice", ""},
    {"--json=1", "option.value", "--json takes no value", ""},
    {"--size m=1,,n=2", "option.value", "--size: an item of the list is empty", ""},
    {"--size=", "option.value", "--size: an item of the list is empty", ""},
    {"a b c", "option.positional", "unexpected argument 'c' (at most 2)", ""},
};

START_TEST(refused)
{
  ck_assert_int_eq(parse_words(refusals[_i].line), HONE_USAGE);
  ck_assert_str_eq(err.code, refusals[_i].code);
  ck_assert_str_eq(err.message, refusals[_i].message);
  if (refusals[_i].hint[0]) ck_assert_str_eq(err.hint, refusals[_i].hint);
}
END_TEST

START_TEST(list_is_bounded)
{
  char line[1000] = "--size=1";
  for (int i = 1; i < 64; i++)
    strcat(line, ",1");
  ck_assert_int_eq(parse_words(line), HONE_OK);
  ck_assert_int_eq(values[SIZE].nlist, 64);
  strcat(line, ",1");
  ck_assert_int_eq(parse_words(line), HONE_USAGE);
}
END_TEST

START_TEST(required_and_no_positional)
{
  static const hone_option row = {"machine", HONE_OPTION_TEXT, 0, 0, NULL, "FILE", "The machine.", true};
  hone_option_value v;
  char word[] = "word", *argv[] = {word};
  ck_assert_int_eq(hone_options_parse(&row, 1, 0, argv, &v, NULL, 0, NULL, &err), HONE_USAGE);
  ck_assert_str_eq(err.message, "--machine is required");
  ck_assert_int_eq(hone_options_parse(&row, 1, 1, argv, &v, NULL, 0, NULL, &err), HONE_USAGE);
  ck_assert_str_eq(err.message, "unexpected argument 'word'");
  ck_assert_int_eq(hone_options_parse(&row, 1, 1, argv, &v, NULL, 0, NULL, NULL), HONE_USAGE);
}
END_TEST

START_TEST(help_text)
{
  hone_text t = {0};
  hone_options_help(rows, NROWS, &t);
  ck_assert_str_eq(t.data, "  --budget N     Evaluations to spend. (default 2000)\n"
                           "  --alpha X      A share.\n"
                           "  --store DIR    Where records go.\n"
                           "  --size NAME=N  Sizes of the operator.\n"
                           "  --json         Print one JSON document on standard output and nothing else.\n"
                           "  --seed N       Seed. (default 0)\n");
  for (char *line = strtok(t.data, "\n"); line; line = strtok(NULL, "\n"))
    ck_assert_uint_le(strlen(line), 80);
  hone_text_fini(&t);
}
END_TEST

START_TEST(help_wraps)
{
  static const hone_option row = {
      "long", HONE_OPTION_TEXT, 0, 0, NULL, "WORD",
      "A sentence that is longer than one line of the terminal can hold and so continues below.", true};
  hone_text t = {0};
  hone_options_help(&row, 1, &t);
  ck_assert_str_eq(t.data, "  --long WORD  A sentence that is longer than one line of the terminal can hold\n"
                           "               and so continues below. (required)\n");
  hone_text_fini(&t);
}
END_TEST

START_TEST(man_text)
{
  static const hone_option row = {"top-k", HONE_OPTION_INT, 0, 9, "3", "N", ".k \\ of them", false};
  hone_text t = {0};
  hone_options_man(&row, 1, &t);
  ck_assert_str_eq(t.data, ".TP\n\\fB\\-\\-top\\-k\\fR \\fIN\\fR\n\\&.k \\e of them (default 3)\n");
  hone_text_fini(&t);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("base/option");
  TCase *c = tcase_create("option");
  tcase_add_test(c, fallbacks_fill_in);
  tcase_add_test(c, both_spellings);
  tcase_add_test(c, lists_repeat_and_split);
  tcase_add_test(c, two_dashes_end_options);
  tcase_add_loop_test(c, refused, 0, (int)(sizeof refusals / sizeof *refusals));
  tcase_add_test(c, list_is_bounded);
  tcase_add_test(c, required_and_no_positional);
  tcase_add_test(c, help_text);
  tcase_add_test(c, help_wraps);
  tcase_add_test(c, man_text);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
