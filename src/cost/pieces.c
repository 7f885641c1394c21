/* Exact traffic without unrolling the nest.
 *
 * 1. Pieces. Loop (L, d) cuts a range of length x into floor(x / t) pieces of
 *    t = tile[L][d] and, when t does not divide x, one of x mod t. Starting from
 *    the instances' blocks (one full length, at most one shorter last block),
 *    each group adds at most one length per length there was and merges all the
 *    full pieces into one class, so after l groups a dim has at most l + 2
 *    classes, whatever its extent. A class remembers `last`, the position of the
 *    innermost loop that really cut; a range no longer than t passes unchanged.
 *
 * 2. Visits. Let K be the dims of a buffer's access, R the other dims of its
 *    stage, p its position. A leaf is a combination of pieces of K's dims before
 *    p. While the nest runs, the leaf visited changes exactly when a loop of K
 *    advances, or when a loop of R at position j advances and some loop of K
 *    inside j wraps, i.e. has several pieces there. A loop of K at i > j has
 *    several pieces around this leaf if and only if the leaf's own range was cut
 *    there, so loop j repeats the leaf if and only if j < a, where
 *
 *        a = max over d in K of last(piece of d)
 *
 *    and the leaf is newly visited P(a) times, P(a) = the number of combinations
 *    of pieces of R's dims made by loops at positions < a (each dim of R cut on
 *    its own, clipped pieces included). This is the counter rule of ir/events.h.
 *
 * 3. Sums. Dims are cut independently, so the leaves with max last <= a number
 *    prod over d of C_d(a), C_d(a) = pieces of d with last <= a, and hold
 *    prod of the summed lengths in elements. Hence
 *
 *        visits   = sum over a of P(a) * (prod C_d(a) - prod C_d(a-))
 *
 *    with a running over -1 and the loops of K in nest order; the same with
 *    lengths gives the elements moved. One pass over the loops before p.
 *
 * 4. Written buffers. R is then the reduced dims. Each leaf's first visit finds
 *    every reduced loop before a at its first piece (start at zero) and its last
 *    visit finds them at their last (final drain); the other P(a) - 1 return and
 *    leave as partial results. So zero starts = finals = leaves (`distinct`).
 *
 * Instances need no sum of their own: the blocks of every dim are the first
 * classes, and an instance is a combination of blocks. */
#include "config.h"

#include "cost/pieces.h"

static void add_piece(hone_pieces *p, int64_t length, int64_t count, int last)
{
  p->piece[p->n++] = (hone_piece){.length = length, .count = count, .last = last};
  p->count += count;
  p->total += length * count;
}

/* Blocks of ceil(extent / parts): full ones, a shorter last one, none for the rest. */
static void cut_blocks(int64_t extent, int64_t block, hone_pieces *out)
{
  out->n = 0;
  out->count = out->total = 0;
  add_piece(out, block, extent / block, -1);
  if (extent % block) add_piece(out, extent % block, 1, -1);
}

static void cut_pieces(const hone_pieces *around, int64_t step, int position, hone_pieces *out)
{
  int64_t full = 0;
  out->n = 0;
  out->count = out->total = 0;
  for (int i = 0; i < around->n; i++) {
    const hone_piece *p = &around->piece[i];
    if (p->length <= step) {
      add_piece(out, p->length, p->count, p->last);
    } else {
      full += p->length / step * p->count;
      if (p->length % step) add_piece(out, p->length % step, p->count, position);
    }
  }
  if (full) add_piece(out, step, full, position);
}

void hone_cuts_make(const hone_operator *op, const hone_schedule *s, const hone_events *e, hone_cuts_of which, hone_cuts *out)
{
  for (int d = 0; d < op->ndims; d++) {
    int64_t block = s->tile[0][d];
    cut_blocks(which == HONE_CUTS_ALL ? op->dim[d].extent : block, block, &out->of[d][0]);
  }
  for (int i = 0; i < e->nloops; i++) {
    const hone_loop *l = &e->loop[i];
    if (l->trips == 1)
      out->of[l->dim][l->level] = out->of[l->dim][l->level - 1];
    else
      cut_pieces(&out->of[l->dim][l->level - 1], l->step, i, &out->of[l->dim][l->level]);
  }
}

int hone_cuts_level(const hone_events *e, int d, int position)
{
  int level = position / e->ndims;
  for (int i = level * e->ndims; i < position; i++) {
    if (e->loop[i].dim == d) return level + 1;
  }
  return level;
}

/* Sums over the pieces whose last cut is at or before the loop being passed. */
typedef struct {
  int64_t count, total;
} running;

static void products(hone_dimset dims, const running *sum, running *out, bool *over)
{
  *out = (running){1, 1};
  for (int d = 0; dims >> d; d++) {
    if (!(dims >> d & 1)) continue;
    out->count = hone_mul_over(out->count, sum[d].count, over);
    out->total = hone_mul_over(out->total, sum[d].total, over);
  }
}

/* Adds the classes made by the loop at `last`; false when there are none. */
static bool admit(const hone_pieces *p, int last, running *sum)
{
  bool any = false;
  for (int i = 0; i < p->n; i++) {
    if (p->piece[i].last != last) continue;
    sum->count += p->piece[i].count;
    sum->total += p->piece[i].count * p->piece[i].length;
    any = true;
  }
  return any;
}

void hone_visits_count(const hone_events *e, const hone_cuts *c, hone_dimset stage_dims, hone_dimset dims, int position,
                       hone_visits *out, bool *over)
{
  const hone_pieces *leaf[HONE_MAX_DIMS];
  running sum[HONE_MAX_DIMS], before, now;
  int64_t repeats[HONE_MAX_DIMS]; /* pieces of each dim outside the access so far */
  hone_dimset other = stage_dims & ~dims;
  for (int d = 0; d < e->ndims; d++) {
    sum[d] = (running){0, 0};
    repeats[d] = other >> d & 1 ? c->of[d][0].count : 1;
    if (!(dims >> d & 1)) continue;
    leaf[d] = &c->of[d][hone_cuts_level(e, d, position)];
    admit(leaf[d], -1, &sum[d]);
  }
  int64_t product = 1;
  for (int d = 0; d < e->ndims; d++) product = hone_mul_over(product, repeats[d], over);
  products(dims, sum, &before, over);
  out->visits = hone_mul_over(product, before.count, over);
  out->elements = hone_mul_over(product, before.total, over);
  for (int i = 0; i < position; i++) {
    const hone_loop *l = &e->loop[i];
    int d = l->dim;
    if (l->trips == 1 || !(stage_dims >> d & 1)) continue;
    if (other >> d & 1) {
      product = hone_mul_over(product / repeats[d], c->of[d][l->level].count, over);
      repeats[d] = c->of[d][l->level].count;
    } else if (dims >> d & 1 && admit(leaf[d], i, &sum[d])) {
      products(dims, sum, &now, over);
      out->visits = hone_add_over(out->visits, hone_mul_over(product, now.count - before.count, over), over);
      out->elements = hone_add_over(out->elements, hone_mul_over(product, now.total - before.total, over), over);
      before = now;
    }
  }
  out->distinct = before.count;
  out->coverage = before.total;
}
