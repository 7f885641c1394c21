/* Value sets and big numbers against their definitions. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/rng.h"
#include "spaces/bignum.h"
#include "spaces/domain.h"
#include "spaces/keyset.h"
#include "tests/unit/unit.h"

static void generate(hone_item_kind kind, int64_t of, int64_t from, int64_t to, int64_t step, int64_t times, int64_t granule,
                     hone_domain *d)
{
  int64_t field[HONE_FIELD_COUNT] = {of, from, to, step, times, granule};
  hone_domain_clear(d);
  ck_assert(hone_item_generate(kind, field, d));
  hone_domain_sort(d);
}

static void expect_list(const hone_domain *d, const int64_t *want, int64_t n)
{
  ck_assert_int_eq(d->n, n);
  for (int64_t i = 0; i < n; i++) ck_assert_int_eq(hone_domain_at(d, i), want[i]);
}

START_TEST(items)
{
  hone_domain d = {0};
  generate(HONE_ITEM_DIVISORS, 12, 1, 100, 1, 1, 1, &d);
  expect_list(&d, (int64_t[]){1, 2, 3, 4, 6, 12}, 6);
  generate(HONE_ITEM_POWERS, 2, 4, 100, 1, 3, 1, &d);
  expect_list(&d, (int64_t[]){6, 12, 24, 48, 96}, 5);
  generate(HONE_ITEM_MULTIPLES, 8, 9, 40, 1, 1, 1, &d);
  expect_list(&d, (int64_t[]){16, 24, 32, 40}, 4);
  generate(HONE_ITEM_RANGE, 2, 1, 10, 4, 1, 1, &d);
  expect_list(&d, (int64_t[]){1, 5, 9}, 3);
  generate(HONE_ITEM_QUOTIENTS, 10, 1, 100, 1, 1, 1, &d);
  expect_list(&d, (int64_t[]){1, 2, 3, 4, 5, 10}, 6);
  generate(HONE_ITEM_QUOTIENTS, 1000, 1, 1000, 1, 1, 128, &d);
  expect_list(&d, (int64_t[]){128, 256, 384, 512, 1000}, 5);
  hone_domain_fini(&d);
}
END_TEST

/* t is kept exactly when no smaller tile makes as few trips. */
static int ascending(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Random lists, from a few long runs to none, against qsort. */
START_TEST(sorting)
{
  hone_domain d = {0};
  hone_rng rng;
  hone_rng_init(&rng, 1);
  for (int64_t n = 0; n < 200; n++) {
    int64_t want[200], run = 1 + hone_rng_below(&rng, 40), kept = 0;
    hone_domain_clear(&d);
    for (int64_t i = 0; i < n; i++) {
      want[i] = i % run ? want[i - 1] + hone_rng_below(&rng, 3) : hone_rng_below(&rng, 100) - 50;
      ck_assert(hone_domain_push(&d, want[i]));
    }
    if (n > 0) qsort(want, (size_t)n, sizeof *want, ascending);
    for (int64_t i = 0; i < n; i++)
      if (i == 0 || want[i] != want[i - 1]) want[kept++] = want[i];
    hone_domain_sort(&d);
    expect_list(&d, want, kept);
    ck_assert(hone_domain_push(&d, 1000)); /* the list is still its own */
  }
  hone_domain_fini(&d);
}
END_TEST

START_TEST(quotients_by_definition)
{
  hone_domain d = {0};
  for (int64_t e = 1; e <= 400; e++) {
    generate(HONE_ITEM_QUOTIENTS, e, 1, e, 1, 1, 1, &d);
    int64_t n = 0;
    for (int64_t t = 1; t <= e; t++) {
      bool wanted = t == 1 || hone_ceil_div(e, t - 1) > hone_ceil_div(e, t);
      ck_assert_msg((hone_domain_find(&d, t) >= 0) == wanted, "extent %lld, tile %lld", (long long)e, (long long)t);
      n += wanted;
    }
    ck_assert_int_eq(d.n, n);
  }
  hone_domain_fini(&d);
}
END_TEST

/* `from` only leaves out what lies below it. */
START_TEST(quotients_from)
{
  hone_domain all = {0}, some = {0};
  for (int64_t e = 1; e <= 60; e++)
    for (int64_t granule = 1; granule <= 4; granule++)
      for (int64_t from = 1; from <= e; from++) {
        generate(HONE_ITEM_QUOTIENTS, e, 1, e, 1, 1, granule, &all);
        generate(HONE_ITEM_QUOTIENTS, e, from, e, 1, 1, granule, &some);
        hone_domain_clip(&all, from, e);
        hone_domain_clip(&some, from, e);
        ck_assert_msg(all.n == some.n && memcmp(all.own, some.own, (size_t)all.n * sizeof *all.own) == 0,
                      "of %lld in %lld from %lld", (long long)e, (long long)granule, (long long)from);
      }
  hone_domain_fini(&all);
  hone_domain_fini(&some);
}
END_TEST

START_TEST(senseless_fields_are_refused)
{
  hone_domain d = {0};
  int64_t zero[HONE_FIELD_COUNT] = {0}, huge[HONE_FIELD_COUNT] = {1, 1, INT64_MAX, 1, 1, 1};
  for (int k = 0; k < HONE_ITEM_VALUES; k++) {
    hone_domain_clear(&d);
    ck_assert_msg(!hone_item_generate((hone_item_kind)k, zero, &d), "kind %d", k);
  }
  hone_domain_clear(&d);
  ck_assert(!hone_item_generate(HONE_ITEM_RANGE, huge, &d));
  hone_domain_clear(&d);
  ck_assert(!hone_item_generate(HONE_ITEM_MULTIPLES, huge, &d));
  hone_domain_fini(&d);
}
END_TEST

START_TEST(finding)
{
  static const int64_t list[] = {2, 4, 8, 100};
  hone_domain d = {0};
  hone_domain_borrow(&d, list, 4);
  ck_assert_int_eq(hone_domain_find(&d, 8), 2);
  ck_assert_int_eq(hone_domain_find(&d, 9), -1);
  ck_assert_int_eq(hone_domain_nearest(&d, 99), 2);
  ck_assert_int_eq(hone_domain_nearest(&d, 1), 0);
  ck_assert_int_eq(hone_domain_nearest(&d, INT64_MAX), 3);
  hone_domain_set_interval(&d, -1, 3);
  ck_assert_int_eq(d.n, 5);
  ck_assert_int_eq(hone_domain_at(&d, 0), -1);
  ck_assert_int_eq(hone_domain_find(&d, 3), 4);
  ck_assert_int_eq(hone_domain_find(&d, 4), -1);
  ck_assert_int_eq(hone_domain_find(&d, INT64_MIN), -1);
  hone_domain_set_interval(&d, 3, 2);
  ck_assert_int_eq(d.n, 0);
  ck_assert_int_eq(hone_domain_find(&d, 3), -1);
}
END_TEST

START_TEST(orders)
{
  int64_t before = -1;
  for (int64_t i = 0; i < 120; i++) { /* every rank comes back; all differ */
    int64_t order = hone_order_at(5, i);
    ck_assert_int_eq(hone_order_rank(5, order), i);
    ck_assert_int_ne(order, before);
    before = order;
    for (int p = 5; p < HONE_MAX_DIMS; p++) ck_assert_int_eq(hone_order_place(order, p), p);
  }
  int64_t identity = hone_order_at(4, 0), moved = hone_order_move(identity, 3, 0);
  static const int want[] = {3, 0, 1, 2};
  for (int p = 0; p < 4; p++) ck_assert_int_eq(hone_order_place(moved, p), want[p]);
  ck_assert_int_eq(hone_order_move(moved, 0, 3), identity);
  ck_assert_int_eq(hone_order_rank(4, hone_order_swap(identity, 0, 4)), -1);
  ck_assert_int_eq(hone_order_rank(4, 0), -1);
  ck_assert_int_eq(hone_order_rank(4, -1), -1);
}
END_TEST

START_TEST(big_numbers)
{
  hone_bignum b, c;
  char text[HONE_BIGNUM_TEXT + 1];
  hone_bignum_set(&b, 1);
  for (uint64_t i = 2; i <= 30; i++) {
    hone_bignum_set(&c, i);
    hone_bignum_multiply(&b, &c);
  }
  hone_bignum_print(&b, text);
  ck_assert_str_eq(text, "265252859812191058636308480000000"); /* 30! */
  ck_assert_double_eq_tol(hone_bignum_log10(&b), 32.4236600749, 1e-9);
  ck_assert_int_eq(hone_bignum_small(&b, INT64_MAX), -1);
  hone_bignum_set(&b, UINT64_C(999999999999999999));
  hone_bignum_set(&c, 1);
  hone_bignum_add(&b, &c);
  hone_bignum_print(&b, text);
  ck_assert_str_eq(text, "1000000000000000000");
  ck_assert_int_eq(hone_bignum_small(&b, INT64_MAX), INT64_C(1000000000000000000));
  ck_assert_int_eq(hone_bignum_small(&b, 5), -1);
  hone_bignum_set(&b, 0);
  hone_bignum_print(&b, text);
  ck_assert_str_eq(text, "0");
  ck_assert_int_eq(hone_bignum_small(&b, 5), 0);
}
END_TEST

START_TEST(big_numbers_saturate)
{
  hone_bignum b, c;
  char text[HONE_BIGNUM_TEXT + 1];
  hone_bignum_set(&b, 10);
  hone_bignum_set(&c, 10);
  for (int i = 1; i < 314; i++) hone_bignum_multiply(&b, &c);
  ck_assert(!b.saturated); /* 10^314 has 315 digits */
  hone_bignum_multiply(&b, &c);
  ck_assert(b.saturated);
  hone_bignum_print(&b, text);
  ck_assert_int_eq(text[strlen(text) - 1], '+');
}
END_TEST

START_TEST(key_sets)
{
  hone_keyset s = {0};
  for (int i = 0; i < 1000; i++) ck_assert(hone_keyset_add(&s, hone_hash_bytes(&i, sizeof i)));
  for (int i = 0; i < 1000; i++) ck_assert(!hone_keyset_add(&s, hone_hash_bytes(&i, sizeof i)));
  for (int i = 1000; i < 2000; i++) ck_assert(!hone_keyset_has(&s, hone_hash_bytes(&i, sizeof i)));
  ck_assert(!hone_keyset_has(&s, (hone_hash){0, 0}));
  ck_assert(hone_keyset_add(&s, (hone_hash){0, 0}));
  ck_assert(!hone_keyset_add(&s, (hone_hash){0, 0}));
  ck_assert_uint_eq(s.count, 1001);
  hone_keyset_fini(&s);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("domain");
  TCase *t = tcase_create("domain");
  tcase_add_test(t, items);
  tcase_add_test(t, sorting);
  tcase_add_test(t, quotients_by_definition);
  tcase_add_test(t, quotients_from);
  tcase_add_test(t, senseless_fields_are_refused);
  tcase_add_test(t, finding);
  tcase_add_test(t, orders);
  tcase_add_test(t, big_numbers);
  tcase_add_test(t, big_numbers_saturate);
  tcase_add_test(t, key_sets);
  suite_add_tcase(s, t);
  return unit_run(s);
}
