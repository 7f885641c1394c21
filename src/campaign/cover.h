/* Which few of many schedules serve a whole range of shapes.
 *
 * Given what each candidate costs at each of n shapes, in order, and the best
 * known cost of each, the range is cut into at most `entries` pieces with one
 * candidate each such that the largest loss, cost / reference - 1, is the least
 * possible. Pure arithmetic: knows neither operators nor machines. */
#ifndef HONE_CAMPAIGN_COVER_H
#define HONE_CAMPAIGN_COVER_H

#include <stdint.h>

typedef struct {
  int64_t n;                /* shapes */
  int candidates;
  const int64_t *cost;      /* [candidate * n + shape]; negative: not allowed there */
  const int64_t *reference; /* [shape] >= 1; any value where nothing is allowed */
} hone_cover_problem;

typedef struct {
  int64_t lo, hi; /* shapes, inclusive */
  int candidate;
} hone_cover_piece;

/* Pieces ascending, disjoint, over every shape at which some candidate is allowed;
 * `piece` has room for `entries`. Returns how many there are. When entries do not
 * suffice at any loss: how many it takes (more than entries, piece untouched). 0
 * when no candidate is allowed anywhere.
 *
 * *worst: the least possible largest loss, exactly. Losses up to `floor` count as
 * equal: the fewest pieces for max(*worst, floor) are used. Then, within that loss,
 * edges and candidates move until the sum of losses falls no more: edges come to
 * lie where the neighbours cost the same. */
int hone_cover_choose(const hone_cover_problem *p, int entries, double floor, hone_cover_piece *piece, double *worst);

#endif
