/* The cells of the verifier: tile boundaries of each dim, carried over to the
 * axes of the tensors that run along it. */
#include "config.h"

#include "backend/verify_int.h"
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PIECES = 1 << 22 };

typedef struct {
  int n;
  hone_range *piece;
} pieces;

static int by_value(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void add_boundary(verify_axis *x, int *capacity, int64_t at)
{
  if (x->n == *capacity) {
    *capacity = *capacity ? 2 * *capacity : 16;
    x->at = hone_heap_realloc(x->at, (size_t)*capacity, sizeof *x->at);
  }
  x->at[x->n++] = at;
}

/* Boundaries in any order -> cells. */
static void close_axis(verify_axis *x)
{
  int n = 0;
  qsort(x->at, (size_t)x->n, sizeof *x->at, by_value);
  for (int i = 0; i < x->n; i++)
    if (n == 0 || x->at[n - 1] != x->at[i]) x->at[n++] = x->at[i];
  x->n = n - 1;
  x->hint = 0;
}

/* All pieces a loop makes of all pieces of its parent. */
static bool cut(const pieces *parent, int64_t step, pieces *out)
{
  int64_t n = 0;
  for (int i = 0; i < parent->n; i++) {
    n += hone_ceil_div(parent->piece[i].length, step);
    if (n > MAX_PIECES) return false;
  }
  out->n = 0;
  out->piece = hone_heap_alloc((size_t)n + 1, sizeof *out->piece);
  for (int i = 0; i < parent->n; i++)
    for (int64_t at = 0; at < parent->piece[i].length; at += step)
      out->piece[out->n++] = (hone_range){parent->piece[i].start + at, hone_min64(step, parent->piece[i].length - at)};
  return true;
}

/* Boundaries made by the loops of one engine's stream. */
static bool cut_stream(verifier *v, const hone_stream *s, int capacity[HONE_MAX_DIMS])
{
  pieces of[HONE_MAX_RANGES] = {{0, NULL}};
  uint8_t dim[HONE_MAX_RANGES];
  bool ok = true;
  for (int d = 0; d < v->p->ndims; d++) {
    of[d] = (pieces){1, &v->block[d]};
    dim[d] = (uint8_t)d;
  }
  for (int i = s->first; ok && i < s->first + s->count; i++) {
    const hone_insn *x = &v->p->insn[i];
    if (x->op != HONE_INSN_LOOP) continue;
    pieces made;
    ok = cut(&of[x->b], x->n, &made);
    if (!ok) break;
    free(of[x->a].piece);
    of[x->a] = made;
    dim[x->a] = dim[x->b];
    for (int k = 0; k < made.n; k++) add_boundary(&v->dim[dim[x->a]], &capacity[dim[x->a]], made.piece[k].start);
  }
  for (int r = v->p->ndims; r < HONE_MAX_RANGES; r++) free(of[r].piece);
  return ok;
}

static void add_access(verifier *v, const hone_access *a, int capacity[HONE_MAX_TENSORS][HONE_MAX_RANK])
{
  for (int i = 0; i < v->op->tensor[a->tensor].rank; i++) {
    const hone_affine *x = &a->axis[i].affine;
    verify_axis *axis = &v->grid[a->tensor].axis[i];
    int *room = &capacity[a->tensor][i];
    if (x->nterms == 0) {
      add_boundary(axis, room, x->constant);
      add_boundary(axis, room, x->constant + 1);
      continue;
    }
    const verify_axis *d = &v->dim[x->term[0].dim];
    for (int k = 0; k <= d->n; k++) add_boundary(axis, room, d->at[k] + x->constant);
  }
}

bool verify_grid_build(verifier *v)
{
  int room[HONE_MAX_DIMS] = {0}, rooms[HONE_MAX_TENSORS][HONE_MAX_RANK] = {{0}};
  for (int d = 0; d < v->p->ndims; d++) {
    add_boundary(&v->dim[d], &room[d], v->block[d].start);
    add_boundary(&v->dim[d], &room[d], v->block[d].start + v->block[d].length);
  }
  for (int s = 0; s < v->p->nstreams; s++)
    if (v->p->stream[s].kind == HONE_STREAM_ENGINE && !cut_stream(v, &v->p->stream[s], room)) {
      hone_err_set(v->err, HONE_UNSUPPORTED, "verify.size", "the program has too many tiles to verify");
      return false;
    }
  for (int d = 0; d < v->p->ndims; d++) close_axis(&v->dim[d]);
  for (int s = 0; s < v->op->nstages; s++) {
    for (int r = 0; r < v->op->stage[s].nreads; r++) add_access(v, &v->op->stage[s].read[r], rooms);
    add_access(v, &v->op->stage[s].write, rooms);
  }
  for (int t = 0; t < v->op->ntensors; t++) {
    v->grid[t].rank = v->op->tensor[t].rank;
    for (int i = 0; i < v->grid[t].rank; i++)
      if (v->grid[t].axis[i].n > 0) close_axis(&v->grid[t].axis[i]);
  }
  return true;
}

void verify_grid_free(verifier *v)
{
  for (int d = 0; d < HONE_MAX_DIMS; d++) free(v->dim[d].at);
  for (int t = 0; t < HONE_MAX_TENSORS; t++)
    for (int i = 0; i < HONE_MAX_RANK; i++) free(v->grid[t].axis[i].at);
  memset(v->dim, 0, sizeof v->dim);
  memset(v->grid, 0, sizeof v->grid);
}

int verify_axis_find(verify_axis *x, int64_t at)
{
  if (!x->at) return -1;
  for (int i = x->hint; i <= x->n && i < x->hint + 2; i++)
    if (x->at[i] == at) return x->hint = i;
  int lo = 0, hi = x->n;
  while (lo < hi) {
    int mid = lo + (hi - lo) / 2;
    if (x->at[mid] < at)
      lo = mid + 1;
    else
      hi = mid;
  }
  return x->at[lo] == at ? (x->hint = lo) : -1;
}
