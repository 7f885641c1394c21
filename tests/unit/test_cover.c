/* Covers of small random tables against all covers there are. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "campaign/cover.h"
#include "lib/case_count.h"
#include "unit/unit.h"

enum { SHAPES = 9, CANDIDATES = 5, ENTRIES = 5 };

typedef struct {
  int64_t cost[CANDIDATES * SHAPES], reference[SHAPES];
  hone_cover_problem p;
} table;

/* A table in which candidates are good in some stretch, with holes now and then. */
static void draw(hone_rng *rng, table *t)
{
  int64_t n = 1 + hone_rng_below(rng, SHAPES);
  t->p = (hone_cover_problem){ .n = n, .candidates = (int)(1 + hone_rng_below(rng, CANDIDATES)), .cost = t->cost, .reference = t->reference };
  for (int64_t i = 0; i < n; i++) t->reference[i] = INT64_MAX;
  for (int c = 0; c < t->p.candidates; c++) {
    int64_t home = hone_rng_below(rng, n);
    for (int64_t i = 0; i < n; i++) {
      int64_t away = i > home ? i - home : home - i;
      int64_t *cost = &t->cost[c * n + i];
      *cost = hone_rng_below(rng, 6) == 0 ? -1 : 100 + 10 * away + hone_rng_below(rng, 8);
      if (*cost >= 0 && *cost < t->reference[i]) t->reference[i] = *cost;
    }
  }
  for (int64_t i = 0; i < n; i++)
    if (t->reference[i] == INT64_MAX) t->reference[i] = 1;
}

static bool served(const table *t, int64_t i)
{
  for (int c = 0; c < t->p.candidates; c++)
    if (t->cost[c * t->p.n + i] >= 0) return true;
  return false;
}

static double loss(const table *t, int c, int64_t i)
{
  return (double)(t->cost[c * t->p.n + i] - t->reference[i]) / (double)t->reference[i];
}

/* By recursion over the end of the first piece: least largest loss of shapes from
 * i on with at most `entries` pieces; infinite when impossible. */
static double least(const table *t, int64_t i, int entries)
{
  while (i < t->p.n && !served(t, i)) i++;
  if (i == t->p.n) return 0;
  double best = INFINITY;
  for (int c = 0; entries > 0 && c < t->p.candidates; c++) {
    double worst = 0;
    for (int64_t e = i; e < t->p.n && t->cost[c * t->p.n + e] >= 0; e++) {
      worst = fmax(worst, loss(t, c, e));
      best = fmin(best, fmax(worst, least(t, e + 1, entries - 1)));
    }
  }
  return best;
}

/* Every shape that can be served is, once; the pieces' largest loss. */
static double walk(const table *t, const hone_cover_piece *piece, int n, double *sum)
{
  double worst = 0;
  int64_t next = 0;
  *sum = 0;
  for (int k = 0; k < n; k++) {
    for (; next < piece[k].lo; next++) ck_assert(!served(t, next));
    ck_assert_int_eq(piece[k].lo, next);
    ck_assert_int_le(piece[k].lo, piece[k].hi);
    for (; next <= piece[k].hi; next++) {
      ck_assert_int_ge(t->cost[piece[k].candidate * t->p.n + next], 0);
      worst = fmax(worst, loss(t, piece[k].candidate, next));
      *sum += loss(t, piece[k].candidate, next);
    }
  }
  for (; next < t->p.n; next++) ck_assert(!served(t, next));
  return worst;
}

START_TEST(no_cover_loses_less)
{
  table t;
  hone_cover_piece piece[ENTRIES];
  for (int round = 0; round < case_count(3000); round++) {
    hone_rng rng;
    hone_rng_init(&rng, (uint64_t)round);
    draw(&rng, &t);
    int entries = (int)(1 + hone_rng_below(&rng, ENTRIES));
    double worst, sum, want = least(&t, 0, entries);
    int n = hone_cover_choose(&t.p, entries, 0, piece, &worst);
    if (isinf(want)) {
      ck_assert_msg(n > entries && isinf(least(&t, 0, n - 1)) && !isinf(least(&t, 0, n)), "round %d: %d entries are said to do", round, n);
      continue;
    }
    ck_assert_msg(n <= entries && worst <= want && worst >= want, "round %d: %d of %d entries lose %.9g, not %.9g", round, n, entries,
                  worst, want);
    ck_assert_msg(walk(&t, piece, n, &sum) <= worst, "round %d: a piece loses more than stated", round);
    ck_assert_msg(n == 0 || least(&t, 0, n - 1) > worst, "round %d: fewer than %d entries lose no more", round, n);
  }
}
END_TEST

START_TEST(losses_below_the_floor_save_entries)
{
  table t;
  hone_cover_piece piece[ENTRIES];
  int saved = 0;
  for (int round = 0; round < case_count(1000); round++) {
    hone_rng rng;
    hone_rng_init(&rng, (uint64_t)round + 100000);
    draw(&rng, &t);
    double worst, sum;
    int without = hone_cover_choose(&t.p, ENTRIES, 0, piece, &worst);
    if (without > ENTRIES) continue;
    int with = hone_cover_choose(&t.p, ENTRIES, 0.1, piece, &worst);
    ck_assert_msg(walk(&t, piece, with, &sum) <= fmax(0.1, worst), "round %d", round);
    ck_assert_msg(with == 0 || least(&t, 0, with - 1) > fmax(0.1, worst), "round %d: fewer entries would do", round);
    ck_assert_int_le(with, without);
    saved += with < without;
  }
  ck_assert_int_gt(saved, 0);
}
END_TEST

/* Two candidates whose costs cross: the edge lies where they do. */
START_TEST(edges_lie_where_costs_cross)
{
  enum { N = 40, CROSS = 13 };
  int64_t cost[2 * N], reference[N];
  for (int i = 0; i < N; i++) {
    cost[i] = 1000 + 2 * i;
    cost[N + i] = 1000 + 2 * CROSS + (i < CROSS ? 3 * (CROSS - i) : 0) + (i > CROSS ? i - CROSS : 0);
    reference[i] = cost[i] < cost[N + i] ? cost[i] : cost[N + i];
  }
  hone_cover_problem p = { .n = N, .candidates = 2, .cost = cost, .reference = reference };
  hone_cover_piece piece[2];
  double worst;
  ck_assert_int_eq(hone_cover_choose(&p, 2, 0.02, piece, &worst), 2);
  ck_assert(worst <= 0);
  for (int i = 0; i < N; i++) {
    int c = i <= piece[0].hi ? piece[0].candidate : piece[1].candidate;
    ck_assert_msg(cost[c * N + i] == reference[i], "shape %d", i);
  }
}
END_TEST

int main(void)
{
  Suite *s = suite_create("cover");
  TCase *c = tcase_create("cover");
  tcase_add_test(c, no_cover_loses_less);
  tcase_add_test(c, losses_below_the_floor_save_entries);
  tcase_add_test(c, edges_lie_where_costs_cross);
  suite_add_tcase(s, c);
  return unit_run(s);
}
