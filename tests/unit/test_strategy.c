/* The guarantees every strategy gives, and what each is for. Objectives are
 * synthetic: strategies see points and values only. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/strategy.h"
#include "spaces/keyset.h"
#include "tests/unit/space_fixture.h"
#include "tests/unit/unit.h"

typedef double (*objective)(const hone_space *s, const int64_t *values);

/* Distance from tiles of 512, loops m n k, results kept inside, in factors of two. */
static double rugged(const hone_space *s, const int64_t *values)
{
  double cost = 0;
  for (int i = 0; i < hone_space_parameters(s); i++) {
    const hone_param *p = hone_space_param(s, i);
    double v = (double)values[i];
    if (p->kind == HONE_PARAM_TILE) cost += fabs(log2(v) - 9) + ((values[i] & (values[i] - 1)) != 0) * 0.3;
    if (p->kind == HONE_PARAM_AT) cost += fabs(v - 4 - 2 * p->level) * 0.7;
    if (p->kind == HONE_PARAM_DEPTH) cost += 0.5 * (values[i] != 3);
    if (p->kind == HONE_PARAM_ORDER) cost += 0.4 * ((values[i] & 15) != 2) + 0.4 * ((values[i] >> 4 & 15) != 1);
  }
  return cost;
}

static double sum(const hone_space *s, const int64_t *values)
{
  double v = 0;
  for (int i = 0; i < hone_space_parameters(s); i++) v += (double)(values[i] * (i + 1));
  return v;
}

/* A run's record: keys in order of proposal. */
typedef struct {
  int64_t n, failed;
  double best;
  hone_ask end;
  hone_hash key[6000];
} history;

typedef struct {
  const char *strategy;
  uint64_t seed;
  int64_t budget;
  int batch;
  int fail_every; /* 0: never; 1: always */
  hone_strategy_callbacks callbacks;
} plan;

static hone_strategy *start(const space_fixture *f, const plan *p)
{
  hone_strategy *s;
  hone_err err;
  hone_strategy_setup setup = {.space = f->s, .seed = p->seed, .budget = p->budget, .callbacks = p->callbacks};
  hone_err_init(&err);
  ck_assert_msg(hone_strategy_new(hone_strategy_find(p->strategy), &setup, &s, &err) == HONE_OK, "%s", err.message);
  return s;
}

/* One ask and tell; false at the end. */
static bool step(const space_fixture *f, const plan *p, objective value, hone_strategy *s, history *h)
{
  int width = f->params.n;
  int64_t *points = hone_heap_alloc((size_t)(p->batch * width) + 1, sizeof *points);
  hone_result *results = hone_heap_alloc((size_t)p->batch, sizeof *results);
  int n = hone_strategy_ask(s, p->batch, points, &h->end);
  for (int i = 0; i < n; i++) {
    const int64_t *v = points + i * width;
    hone_space_why why;
    ck_assert_msg(hone_space_check(f->s, v, &why) == HONE_REASON_NONE, "%s proposed an illegal point: %s", p->strategy, why.text);
    bool fails = p->fail_every > 0 && (h->n + 1) % p->fail_every == 0;
    results[i] = (hone_result){fails ? HONE_REASON_ALLOCATION : HONE_REASON_NONE, fails ? NAN : value(f->s, v)};
    if (!fails && results[i].value < h->best) h->best = results[i].value;
    ck_assert(h->n < 6000);
    h->key[h->n++] = hone_space_key(f->s, v);
  }
  hone_strategy_tell(s, n, results);
  free(points);
  free(results);
  return h->end == HONE_ASK_MORE;
}

static void run(const space_fixture *f, const plan *p, objective value, history *h)
{
  hone_strategy *s = start(f, p);
  *h = (history){.best = INFINITY};
  while (h->n < p->budget && step(f, p, value, s, h)) continue;
  hone_strategy_free(s);
}

static void expect_distinct(const history *h, const char *who)
{
  hone_keyset seen = {0};
  for (int64_t i = 0; i < h->n; i++) ck_assert_msg(hone_keyset_add(&seen, h->key[i]), "%s repeats proposal %lld", who, (long long)i);
  hone_keyset_fini(&seen);
}

static void open_small(space_fixture *f)
{
  ck_assert_int_eq(fixture_opaque(f, 3, 1, 9, "space:\n  constraints:\n  - {name: fits, require: a * b * c <= 60}\n"), HONE_OK);
}

static void open_large(space_fixture *f)
{
  fixture_load(f, "trainium2-core", 2048, 4096, 4096, HONE_FORMAT_BF16);
  ck_assert_int_eq(fixture_open(f, NULL), HONE_OK);
}

/* ---- guarantees of all ---- */

static history first, second; /* too large for the stack */

START_TEST(proposals_are_legal_and_distinct)
{
  space_fixture f;
  open_large(&f);
  for (int i = 0; i < hone_strategy_types(); i++) {
    plan p = {.strategy = hone_strategy_type_at(i)->name, .seed = 3, .budget = 600, .batch = 16};
    run(&f, &p, rugged, &first);
    ck_assert_int_ge(first.n, 600);
    expect_distinct(&first, p.strategy);
  }
  fixture_close(&f);
}
END_TEST

START_TEST(same_seed_same_sequence)
{
  space_fixture f;
  open_large(&f);
  for (int i = 0; i < hone_strategy_types(); i++) {
    plan p = {.strategy = hone_strategy_type_at(i)->name, .seed = 11, .budget = 400, .batch = 20};
    run(&f, &p, rugged, &first);
    run(&f, &p, rugged, &second);
    ck_assert_int_eq(first.n, second.n);
    ck_assert_mem_eq(first.key, second.key, (size_t)first.n * sizeof *first.key);
    p.seed = 12;
    run(&f, &p, rugged, &second);
    bool same = memcmp(first.key, second.key, (size_t)first.n * sizeof *first.key) == 0;
    ck_assert_msg(same == (strcmp(p.strategy, "exhaustive") == 0), "%s does not use its seed", p.strategy);
  }
  fixture_close(&f);
}
END_TEST

START_TEST(small_spaces_end_exhausted)
{
  space_fixture f;
  hone_space_count c;
  open_small(&f);
  hone_space_count_run(f.s, 100000, 1, &c);
  ck_assert(c.counted && c.legal > 100);
  for (int i = 0; i < hone_strategy_types(); i++) {
    plan p = {.strategy = hone_strategy_type_at(i)->name, .seed = 1, .budget = 5000, .batch = 7};
    run(&f, &p, sum, &first);
    ck_assert_msg(first.end == HONE_ASK_EXHAUSTED, "%s ends with %d", p.strategy, first.end);
    ck_assert_msg(first.n == c.legal, "%s proposed %lld of %lld", p.strategy, (long long)first.n, (long long)c.legal);
    expect_distinct(&first, p.strategy);
    ck_assert(first.best == 6);
  }
  hone_space_count_fini(&c);
  fixture_close(&f);
}
END_TEST

START_TEST(failures_are_survived)
{
  space_fixture f;
  open_small(&f);
  for (int i = 0; i < hone_strategy_types(); i++) {
    plan p = {.strategy = hone_strategy_type_at(i)->name, .seed = 1, .budget = 5000, .batch = 5, .fail_every = 1};
    run(&f, &p, sum, &first);
    ck_assert_int_eq(first.end, HONE_ASK_EXHAUSTED);
    ck_assert(isinf(first.best));
    p.fail_every = 3;
    run(&f, &p, sum, &first);
    ck_assert_int_eq(first.end, HONE_ASK_EXHAUSTED);
    ck_assert(first.best < 12);
  }
  fixture_close(&f);
}
END_TEST

START_TEST(empty_space_ends_at_once)
{
  space_fixture f;
  ck_assert_int_eq(fixture_opaque(&f, 2, 1, 9, "space:\n  constraints:\n  - {name: a, require: a > b}\n  - {name: b, require: b > a}\n"), HONE_OK);
  for (int i = 0; i < hone_strategy_types(); i++) {
    plan p = {.strategy = hone_strategy_type_at(i)->name, .seed = 1, .budget = 100, .batch = 5};
    run(&f, &p, sum, &first);
    ck_assert_int_eq(first.n, 0);
    ck_assert_int_eq(first.end, HONE_ASK_EXHAUSTED);
  }
  fixture_close(&f);
}
END_TEST

START_TEST(seeds_are_not_proposed)
{
  space_fixture f;
  open_small(&f);
  for (int i = 0; i < hone_strategy_types(); i++) {
    plan p = {.strategy = hone_strategy_type_at(i)->name, .seed = 1, .budget = 5000, .batch = 5};
    hone_strategy *s = start(&f, &p);
    hone_strategy_stats stats;
    hone_hash known = hone_space_key(f.s, (int64_t[]){1, 1, 1});
    hone_strategy_seed(s, (int64_t[]){1, 1, 1}, &(hone_result){HONE_REASON_NONE, 6});
    first = (history){.best = INFINITY};
    while (step(&f, &p, sum, s, &first)) continue;
    for (int64_t k = 0; k < first.n; k++) ck_assert(hone_hash_cmp(first.key[k], known) != 0);
    hone_strategy_get_stats(s, &stats);
    ck_assert(stats.has_best && stats.best == 6 && stats.asked == first.n && stats.failed == 0);
    hone_strategy_free(s);
  }
  fixture_close(&f);
}
END_TEST

/* ---- state ---- */

START_TEST(state_resumes_exactly)
{
  space_fixture f;
  open_large(&f);
  for (int i = 0; i < hone_strategy_types(); i++) {
    plan p = {.strategy = hone_strategy_type_at(i)->name, .seed = 5, .budget = 600, .batch = 16, .fail_every = 9};
    hone_strategy_setup setup = {.space = f.s, .seed = 5, .budget = 600};
    hone_strategy *a = start(&f, &p), *b;
    hone_schedule d;
    int64_t values[HONE_SPACE_PARAMETERS];
    hone_text text = {0}, again = {0};
    hone_err err;
    ck_assert_int_eq(hone_schedule_default(&f.op, &f.m, &d, &err), HONE_OK);
    hone_space_point(f.s, &d, values);
    hone_strategy_seed(a, values, &(hone_result){HONE_REASON_NONE, 1.0 / 3});
    first = (history){.best = INFINITY};
    while (first.n < 200) step(&f, &p, rugged, a, &first);
    hone_strategy_save(a, &text);
    ck_assert_msg(hone_strategy_load(hone_strategy_kind(a), &setup, text.data, &b, &err) == HONE_OK, "%s: %s", p.strategy, err.message);
    hone_strategy_save(b, &again);
    ck_assert_str_eq(text.data, again.data);
    second = first;
    while (first.n < 500) step(&f, &p, rugged, a, &first);
    while (second.n < 500) step(&f, &p, rugged, b, &second);
    ck_assert_mem_eq(first.key, second.key, (size_t)first.n * sizeof *first.key);
    hone_strategy_free(a);
    hone_strategy_free(b);
    hone_text_fini(&text);
    hone_text_fini(&again);
  }
  fixture_close(&f);
}
END_TEST

/* Any damage to a saved state is a diagnostic. */
START_TEST(damaged_state_is_refused)
{
  space_fixture f;
  plan p = {.strategy = "evolutionary", .seed = 5, .budget = 100, .batch = 4};
  hone_strategy_setup setup = {.space = NULL, .seed = 5, .budget = 100};
  hone_text text = {0};
  hone_err err;
  open_small(&f);
  setup.space = f.s;
  hone_strategy *a = start(&f, &p), *b;
  first = (history){.best = INFINITY};
  for (int i = 0; i < 3; i++) step(&f, &p, sum, a, &first);
  hone_strategy_save(a, &text);
  for (size_t cut = 0; cut + 1 < text.length; cut += 3) { /* cut short anywhere but at the end of an ask's results */
    char *damaged = hone_heap_alloc(text.length + 1, 1);
    memcpy(damaged, text.data, cut);
    hone_status st = hone_strategy_load(hone_strategy_kind(a), &setup, damaged, &b, &err);
    if (st == HONE_OK) hone_strategy_free(b);
    else ck_assert_str_eq(err.code, "strategy.replay");
    free(damaged);
  }
  char *key = strstr(text.data, "result ") + 7;
  *key = *key == '0' ? '1' : '0';
  ck_assert_int_eq(hone_strategy_load(hone_strategy_kind(a), &setup, text.data, &b, &err), HONE_INPUT);
  ck_assert_msg(strstr(err.message, "another point") != NULL, "%s", err.message);
  *key = 'x';
  ck_assert_int_eq(hone_strategy_load(hone_strategy_kind(a), &setup, text.data, &b, &err), HONE_INPUT);
  setup.seed = 6;
  ck_assert_int_eq(hone_strategy_load(hone_strategy_kind(a), &setup, text.data, &b, &err), HONE_INPUT);
  hone_strategy_free(a);
  hone_text_fini(&text);
  fixture_close(&f);
}
END_TEST

START_TEST(options_are_checked)
{
  space_fixture f;
  hone_strategy *s;
  hone_err err;
  open_small(&f);
  const hone_strategy_type *t = hone_strategy_find("evolutionary");
  hone_strategy_setup setup = {.space = f.s, .options = (const char *const[]){"population=8", "climb=0"}, .noptions = 2};
  ck_assert_int_eq(hone_strategy_new(t, &setup, &s, &err), HONE_OK);
  hone_strategy_free(s);
  setup.options = (const char *const[]){"popluation=8", "climb=0"};
  ck_assert_int_eq(hone_strategy_new(t, &setup, &s, &err), HONE_USAGE);
  setup.options = (const char *const[]){"population=1", "climb=0"};
  ck_assert_int_ne(hone_strategy_new(t, &setup, &s, &err), HONE_OK);
  ck_assert_ptr_null(hone_strategy_find("evolutionar"));
  fixture_close(&f);
}
END_TEST

/* ---- what each is for ---- */

START_TEST(exhaustive_visits_in_order)
{
  space_fixture f;
  plan p = {.strategy = "exhaustive", .budget = 5000, .batch = 3};
  int64_t values[HONE_SPACE_PARAMETERS];
  open_small(&f);
  run(&f, &p, sum, &first);
  hone_space_walk *w = hone_space_walk_new(f.s);
  for (int64_t i = 0; i < first.n; i++) {
    ck_assert(hone_space_walk_next(w, values));
    ck_assert_int_eq(hone_hash_cmp(first.key[i], hone_space_key(f.s, values)), 0);
  }
  ck_assert(!hone_space_walk_next(w, values));
  hone_space_walk_free(w);
  fixture_close(&f);
}
END_TEST

/* Bounds and priors are functions of the schedule: tiles decide. */
static double tile_sum(void *arg, const hone_schedule *s)
{
  ++*(int64_t *)arg;
  return (double)(s->tile[1][1] + s->tile[1][2] + s->tile[1][3]);
}

static double tile_value(const hone_space *s, const int64_t *values)
{
  hone_schedule schedule;
  int64_t calls = 0;
  hone_space_schedule(s, values, &schedule);
  return tile_sum(&calls, &schedule) + schedule.depth[0][1];
}

START_TEST(exhaustive_cuts_by_bound)
{
  space_fixture f;
  int64_t calls = 0;
  plan p = {.strategy = "exhaustive", .budget = 5000, .batch = 1};
  fixture_load(&f, "teaching", 2, 2, 2, HONE_FORMAT_BF16);
  ck_assert_msg(fixture_open(&f, "space:\n  domains:\n"
                                 "  - {parameter: 'at.{tensor}.{level}', foreach: [tensor, level], values: [choices: [0, 4, 8]]}\n"
                                 "  - {parameter: 'depth.{tensor}.2', foreach: [tensor], values: [list: [1]]}\n"
                                 "  - {parameter: 'depth.{tensor}.1', foreach: [tensor], when: tensor > 0, values: [list: [1]]}\n"
                                 "  - {parameter: 'order.{level}', foreach: level, values: [permutations: [[b, m, n, k]]]}\n"
                                 "  - {parameter: 'split.core.{dim}', foreach: dim, values: [list: [1]]}\n"
                                 "  - {parameter: map.product, values: [choices: ['k,n']]}\n"
                                 "  - {parameter: layout.W, values: [list: [0]]}\n"
                                 "  - {parameter: dataflow.product, values: [choices: [ws]]}\n") == HONE_OK, "%s", f.err.message);
  run(&f, &p, tile_value, &first);
  ck_assert_int_eq(first.end, HONE_ASK_EXHAUSTED);
  double best = first.best;
  int64_t all = first.n;
  p.callbacks = (hone_strategy_callbacks){.bound = tile_sum, .arg = &calls};
  run(&f, &p, tile_value, &first);
  ck_assert_int_eq(first.end, HONE_ASK_EXHAUSTED);
  ck_assert(first.best == best);
  ck_assert_msg(first.n < all && calls > 0, "%lld of %lld evaluated", (long long)first.n, (long long)all);
  fixture_close(&f);
}
END_TEST

START_TEST(evolutionary_beats_random)
{
  space_fixture f;
  open_large(&f);
  for (uint64_t seed = 1; seed <= 5; seed++) {
    plan p = {.strategy = "random", .seed = seed, .budget = 1000, .batch = 16};
    run(&f, &p, rugged, &first);
    p.strategy = "evolutionary";
    run(&f, &p, rugged, &second);
    ck_assert_msg(second.best < 0.6 * first.best, "seed %llu: evolutionary %g, random %g", (unsigned long long)seed, second.best,
                  first.best);
  }
  fixture_close(&f);
}
END_TEST

/* The polish ends where no neighbour is better. */
START_TEST(evolutionary_ends_in_a_local_optimum)
{
  space_fixture f;
  plan p = {.strategy = "evolutionary", .seed = 2, .budget = 2000, .batch = 16};
  int64_t *points = hone_heap_alloc(16 * HONE_SPACE_PARAMETERS, sizeof *points), best[HONE_SPACE_PARAMETERS], *near, n;
  hone_result results[16];
  hone_ask status;
  double value = INFINITY;
  open_large(&f);
  hone_strategy *s = start(&f, &p);
  for (int64_t told = 0; told < p.budget;) {
    int got = hone_strategy_ask(s, 16, points, &status);
    for (int i = 0; i < got; i++) {
      results[i] = (hone_result){HONE_REASON_NONE, rugged(f.s, points + i * f.params.n)};
      if (results[i].value >= value) continue;
      value = results[i].value;
      memcpy(best, points + i * f.params.n, (size_t)f.params.n * sizeof *best);
    }
    hone_strategy_tell(s, got, results);
    told += got;
  }
  hone_space_neighbours(f.s, best, &near, &n);
  for (int64_t k = 0; k < n; k++) ck_assert_msg(rugged(f.s, near + k * f.params.n) >= value, "neighbour %lld is better", (long long)k);
  free(near);
  free(points);
  hone_strategy_free(s);
  fixture_close(&f);
}
END_TEST

START_TEST(prior_is_consulted)
{
  space_fixture f;
  int64_t calls = 0;
  plan p = {.strategy = "evolutionary", .seed = 2, .budget = 300, .batch = 16, .callbacks = {.prior = tile_sum, .arg = &calls}};
  open_large(&f);
  run(&f, &p, rugged, &first);
  ck_assert_int_gt(calls, 100);
  expect_distinct(&first, "evolutionary");
  fixture_close(&f);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("strategy");
  TCase *t = tcase_create("strategy");
  unit_timeout(t, 60);
  tcase_add_test(t, proposals_are_legal_and_distinct);
  tcase_add_test(t, same_seed_same_sequence);
  tcase_add_test(t, small_spaces_end_exhausted);
  tcase_add_test(t, failures_are_survived);
  tcase_add_test(t, empty_space_ends_at_once);
  tcase_add_test(t, seeds_are_not_proposed);
  tcase_add_test(t, state_resumes_exactly);
  tcase_add_test(t, damaged_state_is_refused);
  tcase_add_test(t, options_are_checked);
  tcase_add_test(t, exhaustive_visits_in_order);
  tcase_add_test(t, exhaustive_cuts_by_bound);
  tcase_add_test(t, evolutionary_beats_random);
  tcase_add_test(t, evolutionary_ends_in_a_local_optimum);
  tcase_add_test(t, prior_is_consulted);
  suite_add_tcase(s, t);
  return unit_run(s);
}
