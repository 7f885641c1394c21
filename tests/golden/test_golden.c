/* Results do not change unnoticed. The digest of what each evaluator says of fixed
 * schedules stands in results.txt beside its version: whoever changes results
 * raises the version (it is part of a record's identity), and whoever changes a
 * machine, the operator text or the case generator sees the inputs' digest change.
 *
 *     test_golden --update   writes results.txt anew */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/cases.h"
#include "tests/unit/unit.h"
#include "eval/evaluator.h"

enum { SEED = 20261201, CASES = 120 };

#define RESULTS HONE_SRCDIR "/tests/golden/results.txt"

static const hone_evaluator_type *const types[] = { &hone_evaluator_model, &hone_evaluator_simulator };
static bool updating;
static const case_options options = { .repository_only = true };

static void add_inputs(const test_case *c, hone_text *out)
{
  hone_operator_print(&c->op, out);
  hone_machine_print(&c->m, out);
  hone_schedule_print(&c->op, &c->m, &c->params, &c->s, out);
  hone_text_add(out, "\n");
}

static void add_results(const test_case *c, const hone_evaluator_type *t, hone_text *out)
{
  hone_evaluator *e;
  hone_outcome o;
  hone_err err;
  const hone_schedule *s = &c->s;
  ck_assert_msg(hone_evaluator_new(t, &c->op, &c->m, &e, &err) == HONE_OK, "%s: %s", err.message, c->text);
  ck_assert_msg(hone_evaluator_batch(e, 1, &s, &o, &err) == HONE_OK, "%s: %s", err.message, c->text);
  hone_text_add(out, "%s %" PRId64 " %" PRId64 " %" PRId64 " %s\n", hone_reason_code(o.reason), o.cycles, o.warm_cycles,
                o.energy_fj, o.bottleneck);
  hone_evaluator_free(e);
}

/* The lines results.txt must have. */
static void report(hone_text *out)
{
  hone_text text[3] = { { 0 }, { 0 }, { 0 } };
  char digest[HONE_HASH_TEXT];
  int drawn = 0;
  for (uint64_t i = 0; i < CASES; i++) {
    test_case c;
    if (!case_draw(SEED, i, &options, &c)) continue;
    add_inputs(&c, &text[0]);
    for (int t = 0; t < 2; t++) add_results(&c, types[t], &text[1 + t]);
    case_fini(&c);
    drawn++;
  }
  ck_assert_int_gt(drawn, CASES / 2);
  hone_hash_print(hone_hash_text(text[0].data), digest);
  hone_text_add(out, "inputs %s\n", digest);
  for (int t = 0; t < 2; t++) {
    hone_hash_print(hone_hash_text(text[1 + t].data), digest);
    hone_text_add(out, "%s %d %s\n", types[t]->name, types[t]->version, digest);
  }
  for (int i = 0; i < 3; i++) hone_text_fini(&text[i]);
}

static void write_results(const char *text)
{
  FILE *f = fopen(RESULTS, "w");
  ck_assert_ptr_nonnull(f);
  ck_assert_int_ge(fputs(text, f), 0);
  ck_assert_int_eq(fclose(f), 0);
}

START_TEST(results_are_those_of_their_version)
{
  hone_text now = { 0 };
  hone_err err;
  char *then;
  size_t n;
  report(&now);
  if (updating) write_results(now.data);
  ck_assert_msg(hone_text_load(RESULTS, 4096, &then, &n, &err) == HONE_OK, "%s", err.message);
  ck_assert_msg(!strcmp(now.data, then),
                "results differ from tests/golden/results.txt:\n%snow:\n%s"
                "If an evaluator's results were meant to change, raise its version in src/eval; if only the inputs "
                "line differs, nothing needs raising. Then run tests/golden/test_golden --update.",
                then, now.data);
  free(then);
  hone_text_fini(&now);
}
END_TEST

int main(int argc, char **argv)
{
  updating = argc > 1 && !strcmp(argv[1], "--update");
  Suite *s = suite_create("golden");
  TCase *c = tcase_create("all");
  unit_timeout(c, 120);
  tcase_add_test(c, results_are_those_of_their_version);
  suite_add_tcase(s, c);
  return unit_run(s);
}
