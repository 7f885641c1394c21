/* The cover in three steps.
 *
 * 1. For a given loss t, going through the shapes once and always taking the
 *    candidate that reaches furthest uses the fewest pieces: by induction the k-th
 *    piece of any other cover ends no later. A shape that nothing serves ends a
 *    piece and is left out.
 * 2. The least t that needs at most `entries` pieces, by bisection over doubles; a
 *    feasible t is at once lowered to the largest loss its cover really has, so
 *    the end is exact.
 * 3. Alternately each piece takes its best candidate and each edge its best place,
 *    as in Lloyd's quantizer. Every change lowers the sum of losses, so it ends.
 *
 * Losses are compared as cost <= limit[shape], with the limits made once per t. */
#include "config.h"

#include "campaign/cover.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { SETTLE_ROUNDS = 64 };

static double loss_of(const hone_cover_problem *p, int64_t cost, int64_t i)
{
  return (double)(cost - p->reference[i]) / (double)p->reference[i];
}

/* The largest cost with a loss of at most t. */
static int64_t limit_at(const hone_cover_problem *p, double t, int64_t i)
{
  double guess = (double)p->reference[i] * (1 + t);
  if (guess >= 0x1p62) return INT64_MAX;
  int64_t c = (int64_t)guess;
  while (loss_of(p, c, i) > t) c--;
  while (loss_of(p, c + 1, i) <= t) c++;
  return c;
}

static void make_limits(const hone_cover_problem *p, double t, int64_t *limit)
{
  for (int64_t i = 0; i < p->n; i++) limit[i] = limit_at(p, t, i);
}

/* First shape at or after i that the candidate does not serve. */
static int64_t reach(const hone_cover_problem *p, const int64_t *limit, int c, int64_t i)
{
  const int64_t *cost = p->cost + (ptrdiff_t)c * p->n;
  while (i < p->n && cost[i] >= 0 && cost[i] <= limit[i]) i++;
  return i;
}

static double worst_of(const hone_cover_problem *p, const hone_cover_piece *a)
{
  double worst = 0;
  for (int64_t i = a->lo; i <= a->hi; i++) worst = fmax(worst, loss_of(p, p->cost[(ptrdiff_t)a->candidate * p->n + i], i));
  return worst;
}

static bool allowed_by_any(const hone_cover_problem *p, int64_t i)
{
  for (int c = 0; c < p->candidates; c++)
    if (p->cost[(ptrdiff_t)c * p->n + i] >= 0) return true;
  return false;
}

/* Fewest pieces within the limits; INT64_MAX when a shape that could be served is
 * not. The first `room` are stored, their largest loss in *worst. */
static int64_t cover(const hone_cover_problem *p, const int64_t *limit, int room, hone_cover_piece *piece, double *worst)
{
  int64_t count = 0;
  *worst = 0;
  for (int64_t i = 0; i < p->n;) {
    hone_cover_piece best = { .lo = i, .hi = i - 1 };
    for (int c = 0; c < p->candidates; c++) {
      int64_t end = reach(p, limit, c, i);
      if (end - 1 > best.hi) best = (hone_cover_piece){ .lo = i, .hi = end - 1, .candidate = c };
    }
    if (best.hi < i) {
      if (allowed_by_any(p, i)) return INT64_MAX;
      i++;
      continue;
    }
    if (count < room) {
      piece[count] = best;
      *worst = fmax(*worst, worst_of(p, &best));
    }
    count++;
    i = best.hi + 1;
  }
  return count;
}

/* ---- settling --------------------------------------------------------------- */

/* Sum of losses; infinite when over a limit. */
static double sum_of(const hone_cover_problem *p, const int64_t *limit, const hone_cover_piece *a)
{
  if (reach(p, limit, a->candidate, a->lo) <= a->hi) return INFINITY;
  double sum = 0;
  for (int64_t i = a->lo; i <= a->hi; i++) sum += loss_of(p, p->cost[(ptrdiff_t)a->candidate * p->n + i], i);
  return sum;
}

static bool choose_candidate(const hone_cover_problem *p, const int64_t *limit, hone_cover_piece *a)
{
  double best = sum_of(p, limit, a);
  bool changed = false;
  for (int c = 0; c < p->candidates; c++) {
    hone_cover_piece other = { a->lo, a->hi, c };
    double sum = sum_of(p, limit, &other);
    if (!(sum < best)) continue;
    best = sum;
    *a = other;
    changed = true;
  }
  return changed;
}

/* Moves the edge between two neighbours; each keeps at least one shape. */
static bool choose_edge(const hone_cover_problem *p, const int64_t *limit, hone_cover_piece *a, hone_cover_piece *b)
{
  const int64_t *first = p->cost + (ptrdiff_t)a->candidate * p->n, *second = p->cost + (ptrdiff_t)b->candidate * p->n;
  int64_t lowest = b->hi; /* where b may begin */
  while (lowest - 1 > a->lo && second[lowest - 1] >= 0 && second[lowest - 1] <= limit[lowest - 1]) lowest--;
  int64_t end = reach(p, limit, a->candidate, a->lo);
  int64_t highest = end - 1 < b->hi - 1 ? end - 1 : b->hi - 1; /* where a may end */
  if (lowest - 1 > highest || lowest <= a->lo) return false;
  double sum = 0, least = 0; /* of a up to e less b up to e, from lowest - 1 on */
  int64_t best = lowest - 1;
  for (int64_t e = lowest; e <= highest; e++) {
    sum += loss_of(p, first[e], e) - loss_of(p, second[e], e);
    if (sum < least) least = sum, best = e;
  }
  if (best == a->hi) return false;
  hone_cover_piece left = { a->lo, best, a->candidate }, right = { best + 1, b->hi, b->candidate };
  if (!(sum_of(p, limit, &left) + sum_of(p, limit, &right) < sum_of(p, limit, a) + sum_of(p, limit, b))) return false;
  *a = left;
  *b = right;
  return true;
}

static void settle(const hone_cover_problem *p, const int64_t *limit, int count, hone_cover_piece *piece)
{
  bool changed = true;
  for (int round = 0; changed && round < SETTLE_ROUNDS; round++) {
    changed = false;
    for (int k = 0; k < count; k++) changed |= choose_candidate(p, limit, &piece[k]);
    for (int k = 0; k + 1 < count; k++)
      if (piece[k].hi + 1 == piece[k + 1].lo) changed |= choose_edge(p, limit, &piece[k], &piece[k + 1]);
  }
}

/* ---- the whole -------------------------------------------------------------- */

/* The least loss for `entries` pieces, below `high`, which suffices. */
static double bisect(const hone_cover_problem *p, int entries, double high, int64_t *limit, hone_cover_piece *piece)
{
  double low = -1, worst;
  for (;;) {
    double middle = low < 0 ? 0 : low + (high - low) / 2;
    if (low >= 0 && (middle <= low || middle >= high)) return high;
    make_limits(p, middle, limit);
    if (cover(p, limit, entries, piece, &worst) > entries) low = middle;
    else if (worst <= 0) return 0;
    else high = worst;
  }
}

int hone_cover_choose(const hone_cover_problem *p, int entries, double floor, hone_cover_piece *piece, double *worst)
{
  hone_cover_piece *work = hone_heap_alloc((size_t)entries + 1, sizeof *work);
  int64_t *limit = hone_heap_alloc((size_t)p->n + 1, sizeof *limit);
  for (int64_t i = 0; i < p->n; i++) limit[i] = INT64_MAX;
  int64_t count = cover(p, limit, entries, work, worst);
  if (count > 0 && count <= entries) {
    *worst = bisect(p, entries, *worst, limit, work);
    make_limits(p, fmax(*worst, floor), limit);
    double real;
    count = cover(p, limit, entries, work, &real);
    settle(p, limit, (int)count, work);
    memcpy(piece, work, (size_t)count * sizeof *piece);
  }
  free(limit);
  free(work);
  return (int)count;
}
