/* Spaces of real operators and machines, and what the texts say. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "spaces/keyset.h"
#include "tests/unit/space_fixture.h"
#include "tests/unit/unit.h"

static space_fixture f;

static int slot(const char *name)
{
  int i = hone_params_find(&f.params, name);
  ck_assert_msg(i >= 0, "no parameter %s", name);
  return i;
}

static void open_prefill(const char *text)
{
  fixture_load(&f, "trainium2-core", 2048, 4096, 4096, HONE_FORMAT_BF16);
  ck_assert_msg(fixture_open(&f, text) == HONE_OK, "%s", f.err.message);
}

/* ---- the template ---- */

START_TEST(template_is_rich)
{
  hone_space_count c;
  open_prefill(NULL);
  hone_space_count_run(f.s, 1000, 1, &c);
  ck_assert(c.log10_points > 9);
  ck_assert(!c.counted);
  ck_assert_int_eq(c.legal, -1);
  ck_assert_int_eq(c.state, HONE_SPACE_HAS_LEGAL);
  ck_assert(c.killed[HONE_REASON_CAPACITY] > 0);
  hone_space_count_fini(&c);
  fixture_close(&f);
}
END_TEST

START_TEST(default_is_inside)
{
  static const struct {
    const char *machine;
    int64_t m, n, k;
    hone_format format;
  } row[] = {{"trainium2-core", 2048, 4096, 4096, HONE_FORMAT_BF16}, {"trainium2-core", 1, 4096, 4096, HONE_FORMAT_BF16},
             {"trainium2-core", 2048, 14336, 4096, HONE_FORMAT_BF16}, {"trainium2-core", 8, 128256, 4096, HONE_FORMAT_BF16},
             {"gemmini-default", 229, 229, 229, HONE_FORMAT_INT8},    {"teaching", 300, 200, 100, HONE_FORMAT_BF16},
             {"teaching", 1, 1, 1, HONE_FORMAT_BF16}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    hone_schedule s, back;
    hone_space_why why;
    int64_t values[HONE_SPACE_PARAMETERS];
    fixture_load(&f, row[i].machine, row[i].m, row[i].n, row[i].k, row[i].format);
    ck_assert_int_eq(fixture_open(&f, NULL), HONE_OK);
    ck_assert_int_eq(hone_schedule_default(&f.op, &f.m, &s, &f.err), HONE_OK);
    hone_space_point(f.s, &s, values);
    ck_assert_msg(hone_space_check(f.s, values, &why) == HONE_REASON_NONE, "%s, case %zu: %s", row[i].machine, i, why.text);
    hone_space_schedule(f.s, values, &back);
    ck_assert_int_eq(hone_hash_cmp(hone_schedule_hash(&f.op, &f.m, &f.params, &s), hone_schedule_hash(&f.op, &f.m, &f.params, &back)), 0);
    fixture_close(&f);
  }
}
END_TEST

START_TEST(tiles_nest)
{
  hone_domain d = {0};
  int64_t values[HONE_SPACE_PARAMETERS] = {0};
  open_prefill(NULL);
  values[slot("tile.1.n")] = 600;
  ck_assert(hone_space_domain(f.s, slot("tile.2.n"), values, &d));
  ck_assert_int_eq(hone_domain_at(&d, d.n - 1), 600);
  ck_assert(hone_domain_find(&d, 300) >= 0); /* half */
  ck_assert(hone_domain_find(&d, 384) >= 0); /* in whole columns */
  ck_assert(hone_domain_find(&d, 512) >= 0); /* doubled up */
  ck_assert(hone_domain_find(&d, 4096) < 0);
  hone_domain_fini(&d);
  fixture_close(&f);
}
END_TEST

START_TEST(huge_extents_stay_workable)
{
  hone_domain d = {0};
  hone_rng rng;
  int64_t values[HONE_SPACE_PARAMETERS];
  hone_rng_init(&rng, 1);
  fixture_load(&f, "trainium2-core", INT64_C(10000000019), 3, 9, HONE_FORMAT_BF16);
  ck_assert_msg(fixture_open(&f, NULL) == HONE_OK, "%s", f.err.message);
  ck_assert(hone_space_domain(f.s, slot("tile.1.m"), values, &d));
  ck_assert_int_gt(d.n, 100);
  ck_assert_int_lt(d.n, 5000);
  ck_assert(hone_space_sample(f.s, &rng, 10, values));
  hone_domain_fini(&d);
  fixture_close(&f);
}
END_TEST

/* ---- texts ---- */

START_TEST(text_narrows)
{
  hone_domain d = {0};
  int64_t values[HONE_SPACE_PARAMETERS] = {0};
  open_prefill("space:\n"
               "  let: {half: 'ceildiv(extent.m, 2)'}\n"
               "  domains:\n"
               "  - parameter: tile.1.m\n"
               "    values:\n"
               "    - list: [half, 128]\n"
               "    - powers: {of: 2, times: 3}\n"
               "  - parameter: tile.1.m\n"
               "    values: [range: {from: 100, to: 1500}]\n"
               "  - parameter: order.{level}\n"
               "    foreach: level\n"
               "    when: level == 1\n"
               "    values: [permutations: [[b, m, n, k], [b, n, m, k]]]\n"
               "  - parameter: at.{tensor}.sbuf\n"
               "    foreach: [tensor]\n"
               "    values: [choices: [0, 2, 4]]\n"
               "  constraints:\n"
               "  - {name: few, foreach: [tensor], when: 'input.{tensor}', require: 'depth.{tensor}.1 <= 2', reason: two are enough}\n");
  ck_assert(hone_space_domain(f.s, slot("tile.1.m"), values, &d));
  /* half and 128 first, then 192, 384, 768 of the template's own values */
  for (int64_t i = 0; i < d.n; i++)
    ck_assert(hone_domain_at(&d, i) == 1024 || hone_domain_at(&d, i) == 128 || hone_domain_at(&d, i) % 3 == 0);
  ck_assert(hone_domain_find(&d, 1024) >= 0 && hone_domain_find(&d, 128) >= 0 && hone_domain_find(&d, 384) >= 0);
  ck_assert(hone_domain_find(&d, 1536) < 0 && hone_domain_find(&d, 96) < 0);
  hone_space_domain(f.s, slot("order.1"), values, &d);
  ck_assert_int_eq(d.n, 2);
  hone_space_domain(f.s, slot("order.2"), values, &d);
  ck_assert_int_eq(d.n, 24);
  hone_space_domain(f.s, slot("at.W.1"), values, &d);
  ck_assert_int_eq(d.n, 3);
  hone_space_domain(f.s, slot("depth.W.1"), values, &d); /* the constraint alone decides it */
  ck_assert_int_eq(d.n, 2);
  hone_space_domain(f.s, slot("depth.Y.1"), values, &d);
  ck_assert_int_eq(d.n, 4);
  ck_assert_int_eq(hone_space_constraints(f.s), 2);
  ck_assert_str_eq(hone_space_constraint_name(f.s, 0), "few(X)");
  ck_assert_str_eq(hone_space_constraint_reason(f.s, 0), "two are enough");
  hone_domain_fini(&d);
  fixture_close(&f);
}
END_TEST

START_TEST(constraints_say_why)
{
  int64_t values[HONE_SPACE_PARAMETERS];
  hone_schedule s;
  hone_space_why why;
  open_prefill("space:\n"
               "  constraints:\n"
               "  - {name: inner reduction, require: place.1.k == 0 and trips.1.m < 100, reason: the reduction goes outermost}\n"
               "  - {name: broken, require: tile.1.m / (row.product - row.product) > 0}\n");
  ck_assert_int_eq(hone_schedule_default(&f.op, &f.m, &s, &f.err), HONE_OK);
  hone_space_point(f.s, &s, values);
  ck_assert_int_eq(hone_space_check(f.s, values, &why), HONE_REASON_CONSTRAINT);
  ck_assert_int_eq(why.constraint, 0);
  ck_assert_str_eq(why.text, "inner reduction: the reduction goes outermost");
  ck_assert(!hone_space_sample(f.s, &(hone_rng){{1, 2, 3, 4}}, 3, values));
  fixture_close(&f);
  ck_assert_int_eq(fixture_opaque(&f, 2, 0, 9, "space: {constraints: [{name: broken, require: a / b > 2}]}"), HONE_OK);
  ck_assert_int_eq(hone_space_check(f.s, (int64_t[]){5, 0}, &why), HONE_REASON_CONSTRAINT);
  ck_assert_str_eq(why.text, "broken: division by zero at column 3 of 'a / b > 2'");
  ck_assert_int_eq(hone_space_check(f.s, (int64_t[]){9, 3}, &why), HONE_REASON_NONE);
  ck_assert_int_eq(hone_space_check(f.s, (int64_t[]){10, 3}, &why), HONE_REASON_DOMAIN);
  ck_assert_str_eq(why.text, "a = 10 is not in its domain");
  fixture_close(&f);
}
END_TEST

START_TEST(mistakes_are_located)
{
  static const struct {
    const char *text, *code;
    int line, column;
    const char *part; /* of message or hint */
  } row[] = {
      {"space: {domain: []}\n", "space.unknown-field", 1, 9, "domains"},
      {"space:\n  constraints:\n  - {name: x, require: tile.1.q < 3}\n", "space.expression", 3, 24, "tile.1.q"},
      {"space:\n  constraints:\n  - {name: x, require: '1 + * 3'}\n", "space.expression", 3, 29, "^"},
      {"space:\n  constraints:\n  - {name: x, require: 1 + * 3}\n", "space.expression", 3, 28, "^"},
      {"space:\n  constraints:\n  - {name: x}\n", "space.missing-field", 3, 5, "require"},
      {"space:\n  domains:\n  - {parameter: tiel.1.m, values: [list: [1]]}\n", "space.unknown-parameter", 3, 17, "tile.1.m"},
      {"space:\n  domains:\n  - {parameter: tile.1.m, values: [lists: [1]]}\n", "space.unknown-item", 3, 36, "list"},
      {"space:\n  domains:\n  - {parameter: tile.1.m, values: []}\n", "space.type", 3, 35, "list"},
      {"space:\n  domains:\n  - {parameter: tile.1.m, values: [list: [tile.2.m]]}\n", "space.order", 3, 5, "tile.2.m"},
      {"space:\n  domains:\n  - {parameter: tile.1.m, values: [divisors: 0]}\n", "space.domain", 3, 5, "tile.1.m"},
      {"space:\n  domains:\n  - {parameter: tile.1.m, values: [divisors: {to: 3}]}\n", "space.missing-field", 3, 46, "of"},
      {"space:\n  domains:\n  - {parameter: order.1, values: [permutations: [[m, n, k]]]}\n", "space.value", 3, 50, "m,n,k"},
      {"space:\n  domains:\n  - {parameter: at.W.1, values: [choices: [resident]]}\n", "space.value", 3, 44, "resident"},
      {"space:\n  domains:\n  - {parameter: x, foreach: [loop], values: [list: [1]]}\n", "space.foreach", 3, 30, "level"},
      {"space:\n  constraints:\n  - {name: x, when: tile.1.m > 3, require: 1}\n", "space.when", 3, 21, "constraint"},
      {"space:\n  let: {x: 1 +}\n", "space.expression", 2, 15, "early"},
      {"[1, 2]\n", "space.type", 1, 1, "space"},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    fixture_load(&f, "trainium2-core", 2048, 4096, 4096, HONE_FORMAT_BF16);
    hone_status st = fixture_open(&f, row[i].text);
    ck_assert_msg(st == HONE_INPUT, "case %zu: status %d: %s", i, st, f.err.message);
    ck_assert_msg(strcmp(f.err.code, row[i].code) == 0, "case %zu: %s: %s", i, f.err.code, f.err.message);
    ck_assert_msg(strcmp(f.err.file, "user.yaml") == 0, "case %zu: file %s", i, f.err.file);
    ck_assert_msg(f.err.line == row[i].line && f.err.column == row[i].column, "case %zu: at %d:%d, wanted %d:%d (%s)", i, f.err.line,
                  f.err.column, row[i].line, row[i].column, f.err.message);
    ck_assert_msg(strstr(f.err.message, row[i].part) || strstr(f.err.hint, row[i].part), "case %zu: %s / %s", i, f.err.message, f.err.hint);
    fixture_close(&f);
  }
}
END_TEST

START_TEST(files_that_are_not_there)
{
  fixture_load(&f, "teaching", 8, 8, 8, HONE_FORMAT_BF16);
  hone_space_source source = {"/no/such/space.yaml", NULL};
  ck_assert_int_eq(hone_space_new(&f.op, &f.m, &f.params, &source, 1, &f.s, &f.err), HONE_IO);
  ck_assert(strstr(f.err.file, "/no/such/space.yaml") || strstr(f.err.message, "/no/such/space.yaml"));
  fixture_close(&f);
}
END_TEST

/* A text with some bytes changed: a space, or a diagnostic with a code. */
START_TEST(junk)
{
  static const char whole[] = "space:\n"
                              "  let: {half: 'ceildiv(extent.m, 2)'}\n"
                              "  domains:\n"
                              "  - parameter: 'tile.{level}.{dim}'\n"
                              "    foreach: [level, dim]\n"
                              "    when: dim == m\n"
                              "    values: [list: [half, 1], quotients: {of: 'tile.{level-1}.{dim}', granule: 4}]\n"
                              "  constraints:\n"
                              "  - {name: a, foreach: tensor, require: 'depth.{tensor}.1 <= 2', reason: b}\n";
  static const char bytes[] = "{}[]:,-' \n.0a/%()<=x\"";
  fixture_load(&f, "teaching", 8, 8, 8, HONE_FORMAT_BF16);
  for (uint64_t seed = 1; seed <= 1500; seed++) {
    char text[sizeof whole];
    hone_rng rng;
    hone_rng_init(&rng, seed);
    memcpy(text, whole, sizeof whole);
    for (int64_t k = hone_rng_below(&rng, 3); k >= 0; k--)
      text[hone_rng_below(&rng, (int64_t)sizeof whole - 1)] = bytes[hone_rng_below(&rng, (int64_t)sizeof bytes - 1)];
    hone_err_init(&f.err);
    hone_space_source source = {"junk.yaml", text};
    hone_status st = hone_space_new(&f.op, &f.m, &f.params, &source, 1, &f.s, &f.err);
    ck_assert_msg(st == HONE_OK || f.err.code[0], "seed %llu: no code\n%s", (unsigned long long)seed, text);
    if (st == HONE_OK) hone_space_free(f.s);
    f.s = NULL;
  }
  fixture_close(&f);
}
END_TEST

START_TEST(empty_domains_are_refused_by_name)
{
  fixture_load(&f, "teaching", 8, 8, 8, HONE_FORMAT_BF16);
  ck_assert_int_eq(fixture_open(&f, "space:\n  domains:\n  - {parameter: tile.1.m, values: [list: [77]]}\n"), HONE_INFEASIBLE);
  ck_assert_str_eq(f.err.code, "space.empty-domain");
  ck_assert(strstr(f.err.message, "tile.1.m") && strstr(f.err.message, "user.yaml:3"));
  fixture_close(&f);
  fixture_load(&f, "teaching", 8, 8, 8, HONE_FORMAT_BF16);
  ck_assert_int_eq(fixture_open(&f, "space:\n  constraints:\n  - {name: none, require: tile.1.m > 100}\n"), HONE_INFEASIBLE);
  ck_assert(strstr(f.err.message, "'none'") && strstr(f.err.message, "tile.1.m"));
  fixture_close(&f);
}
END_TEST

START_TEST(contradictions_are_proven)
{
  hone_space_count c;
  ck_assert_int_eq(fixture_opaque(&f, 3, 1, 20, "space:\n  constraints:\n  - {name: up, require: a > b}\n  - {name: down, require: b > a + c}\n"), HONE_OK);
  hone_space_count_run(f.s, 100000, 1, &c);
  ck_assert_str_eq(c.points, "8000");
  ck_assert_int_eq(c.state, HONE_SPACE_PROVEN_EMPTY);
  ck_assert(c.counted);
  ck_assert_int_eq(c.legal, 0);
  ck_assert_int_eq(c.by_constraint[0], 210);       /* pairs with a <= b, cut before c */
  ck_assert_int_eq(c.by_constraint[1], 190 * 20);
  ck_assert(strstr(c.text, "'up': 210") != NULL);
  hone_space_count_fini(&c);
  fixture_close(&f);
  /* too large to try out */
  ck_assert_int_eq(fixture_opaque(&f, 3, 1, 1000000, "space:\n  constraints:\n  - {name: odd, require: 2 * a + 4 * b + 6 * c == 11}\n"), HONE_OK);
  hone_space_count_run(f.s, 1000, 1, &c);
  ck_assert_str_eq(c.points, "1000000000000000000");
  ck_assert_int_eq(c.state, HONE_SPACE_NONE_FOUND);
  hone_space_count_fini(&c);
  fixture_close(&f);
}
END_TEST

START_TEST(the_limit_itself_is_counted)
{
  hone_space_count c;
  ck_assert_int_eq(fixture_opaque(&f, 2, 1, 10, NULL), HONE_OK);
  for (int limit = 99; limit <= 101; limit++) {
    hone_space_count_run(f.s, limit, 1, &c);
    ck_assert_str_eq(c.points, "100");
    ck_assert_int_eq(c.counted, limit >= 100);
    ck_assert_int_eq(c.legal, limit >= 100 ? 100 : -1);
    hone_space_count_fini(&c);
  }
  fixture_close(&f);
}
END_TEST

/* ---- drawing and moving ---- */

static void expect_legal(const int64_t *values, const char *what, int i)
{
  hone_space_why why;
  ck_assert_msg(hone_space_check(f.s, values, &why) == HONE_REASON_NONE, "%s %d is not legal: %s", what, i, why.text);
}

START_TEST(moves_are_legal_and_distinct)
{
  int64_t a[HONE_SPACE_PARAMETERS], b[HONE_SPACE_PARAMETERS], child[HONE_SPACE_PARAMETERS], *near, n;
  hone_rng rng;
  hone_rng_init(&rng, 5);
  open_prefill(NULL);
  for (int i = 0; i < 100; i++) {
    ck_assert(hone_space_sample(f.s, &rng, 10, a));
    expect_legal(a, "sample", i);
    ck_assert(hone_space_mutate(f.s, &rng, a, b));
    expect_legal(b, "mutation", i);
    ck_assert(hone_hash_cmp(hone_space_key(f.s, a), hone_space_key(f.s, b)) != 0);
    ck_assert(hone_space_sample(f.s, &rng, 10, b));
    if (hone_space_cross(f.s, &rng, a, b, child)) expect_legal(child, "cross", i);
    if (i % 10) continue;
    hone_keyset seen = {0};
    hone_keyset_add(&seen, hone_space_key(f.s, a));
    hone_space_neighbours(f.s, a, &near, &n);
    ck_assert_int_gt(n, 5);
    for (int64_t k = 0; k < n; k++) {
      expect_legal(near + k * f.params.n, "neighbour", (int)k);
      ck_assert(hone_keyset_add(&seen, hone_space_key(f.s, near + k * f.params.n)));
    }
    hone_keyset_fini(&seen);
    free(near);
  }
  fixture_close(&f);
}
END_TEST

START_TEST(drawing_repeats_by_seed)
{
  int64_t a[HONE_SPACE_PARAMETERS], b[HONE_SPACE_PARAMETERS];
  hone_rng x, y;
  hone_rng_init(&x, 9);
  hone_rng_init(&y, 9);
  open_prefill(NULL);
  for (int i = 0; i < 20; i++) {
    ck_assert(hone_space_sample(f.s, &x, 10, a));
    ck_assert(hone_space_sample(f.s, &y, 10, b));
    ck_assert_mem_eq(a, b, (size_t)f.params.n * sizeof *a);
  }
  fixture_close(&f);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("space");
  TCase *t = tcase_create("space");
  tcase_add_test(t, template_is_rich);
  tcase_add_test(t, default_is_inside);
  tcase_add_test(t, tiles_nest);
  tcase_add_test(t, huge_extents_stay_workable);
  tcase_add_test(t, text_narrows);
  tcase_add_test(t, files_that_are_not_there);
  tcase_add_test(t, junk);
  tcase_add_test(t, constraints_say_why);
  tcase_add_test(t, mistakes_are_located);
  tcase_add_test(t, empty_domains_are_refused_by_name);
  tcase_add_test(t, contradictions_are_proven);
  tcase_add_test(t, the_limit_itself_is_counted);
  tcase_add_test(t, moves_are_legal_and_distinct);
  tcase_add_test(t, drawing_repeats_by_seed);
  suite_add_tcase(s, t);
  return unit_run(s);
}
