/* Operators once loaded: look-ups, and the work and bytes no schedule avoids
 * (DESIGN section 4 line 11). */
#include "config.h"

#include "ir/operator.h"

#include <string.h>

#include "base/checked.h"
#include "ir/operator_int.h"

int hone_operator_find_dim(const hone_operator *op, const char *name)
{
  for (int d = 0; d < op->ndims; d++)
    if (strcmp(op->dim[d].name, name) == 0) return d;
  return -1;
}

int hone_operator_find_tensor(const hone_operator *op, const char *name)
{
  for (int t = 0; t < op->ntensors; t++)
    if (strcmp(op->tensor[t].name, name) == 0) return t;
  return -1;
}

int hone_operator_writer(const hone_operator *op, int tensor)
{
  for (int s = 0; s < op->nstages; s++)
    if (op->stage[s].write.tensor == tensor) return s;
  return -1;
}

static hone_dimset affine_dims(const hone_affine *a)
{
  hone_dimset dims = 0;
  for (int i = 0; i < a->nterms; i++)
    dims |= 1u << a->term[i].dim;
  return dims;
}

hone_dimset hone_access_dims(const hone_operator *op, const hone_access *a)
{
  hone_dimset dims = 0;
  for (int i = 0; i < op->tensor[a->tensor].rank; i++) {
    const hone_axis_expr *e = &a->axis[i];
    if (e->table < 0) dims |= affine_dims(&e->affine);
    for (int j = 0; e->table >= 0 && j < op->tensor[e->table].rank; j++)
      dims |= affine_dims(&e->table_axis[j]);
  }
  return dims;
}

static bool same_affine(const hone_affine *a, const hone_affine *b)
{
  if (a->constant != b->constant || a->nterms != b->nterms) return false;
  for (int i = 0; i < a->nterms; i++) {
    int k = 0;
    while (k < b->nterms && b->term[k].dim != a->term[i].dim) k++;
    if (k == b->nterms || b->term[k].coef != a->term[i].coef) return false;
  }
  return true;
}

bool hone_access_same(const hone_operator *op, const hone_access *a, const hone_access *b)
{
  bool same = a->tensor == b->tensor;
  for (int x = 0; same && x < op->tensor[a->tensor].rank; x++) {
    const hone_axis_expr *e = &a->axis[x], *f = &b->axis[x];
    same = e->table == f->table;
    if (same && e->table < 0) same = same_affine(&e->affine, &f->affine);
    if (same && e->table >= 0) same = same_affine(&e->table_axis[0], &f->table_axis[0]) && same_affine(&e->table_axis[1], &f->table_axis[1]);
  }
  return same;
}

/* The axis dim d runs along, -1: none. */
static int axis_along(const hone_operator *op, const hone_access *a, int d)
{
  for (int x = 0; x < op->tensor[a->tensor].rank; x++)
    if (a->axis[x].table < 0 && affine_dims(&a->axis[x].affine) >> d & 1) return x;
  return -1;
}

bool hone_access_aligned(const hone_operator *op, const hone_access *a, const hone_access *b, int d)
{
  int x = axis_along(op, a, d);
  return x >= 0 && x == axis_along(op, b, d) && same_affine(&a->axis[x].affine, &b->axis[x].affine);
}

hone_dimset hone_operator_parallel(const hone_operator *op)
{
  hone_dimset dims = 0;
  for (int d = 0; d < op->ndims; d++)
    if (!op->dim[d].sequential) dims |= 1u << d;
  for (int s = 0; s < op->nstages; s++) {
    const hone_stage *st = &op->stage[s];
    dims &= st->dims & ~st->reduced;
    for (int r = 0; r < st->nreads; r++) {
      int w = op->tensor[st->read[r].tensor].role == HONE_ROLE_INTERMEDIATE ? hone_operator_writer(op, st->read[r].tensor) : -1;
      for (int d = 0; w >= 0 && d < op->ndims; d++)
        if (!hone_access_aligned(op, &op->stage[w].write, &st->read[r], d)) dims &= ~(1u << d);
    }
  }
  return dims;
}

int64_t hone_tensor_elements(const hone_operator *op, int tensor)
{
  int64_t n = 1;
  for (int a = 0; a < op->tensor[tensor].rank; a++)
    n *= op->tensor[tensor].extent[a];
  return n;
}

/* Guards and ragged dims are refused at load: the domain is a box. */
bool hone_stage_useful(const hone_operator *op, int stage, int64_t *points)
{
  int64_t n = 1;
  for (int d = 0; d < op->ndims; d++)
    if (op->stage[stage].dims >> d & 1 && !hone_checked_mul(n, op->dim[d].extent, &n)) return false;
  *points = n;
  return true;
}

/* Boxes an axis of which is start..end (exclusive). */
enum { MAX_BOXES = HONE_MAX_STAGES * (HONE_MAX_READS + 1) };
typedef struct {
  int64_t start[HONE_MAX_RANK], end[HONE_MAX_RANK];
} box;

static box box_of(const hone_operator *op, const hone_access *a)
{
  box b = {0};
  for (int i = 0; i < op->tensor[a->tensor].rank; i++) {
    const hone_affine *f = &a->axis[i].affine;
    b.start[i] = f->nterms ? 0 : f->constant;
    b.end[i] = f->nterms ? op->dim[f->term[0].dim].extent : f->constant + 1;
  }
  return b;
}

/* Elements in the union of the boxes: cut axis 0 wherever a box starts or ends;
 * between two cuts the union is that of the boxes there over the other axes. */
static int64_t count_union(const box *const *boxes, int n, int axis, int rank)
{
  int64_t total = 0, at = INT64_MIN;
  if (n == 0 || axis == rank) return n > 0;
  for (;;) {
    const box *here[MAX_BOXES];
    int m = 0;
    int64_t next = INT64_MAX;
    for (int i = 0; i < n; i++) {
      int64_t start = boxes[i]->start[axis], end = boxes[i]->end[axis];
      if (start <= at && at < end) here[m++] = boxes[i];
      if (start > at) next = hone_min64(next, start);
      if (end > at) next = hone_min64(next, end);
    }
    if (next == INT64_MAX) return total;
    if (m > 0) total += (next - at) * count_union(here, m, axis + 1, rank);
    at = next;
  }
}

bool hone_tensor_compulsory(const hone_operator *op, int tensor, int64_t *bytes)
{
  const hone_tensor *t = &op->tensor[tensor];
  box boxes[MAX_BOXES];
  const box *list[MAX_BOXES];
  int n = 0;
  for (int s = 0; s < op->nstages && t->role != HONE_ROLE_INTERMEDIATE; s++) {
    const hone_stage *st = &op->stage[s];
    for (int r = 0; r < st->nreads && t->role == HONE_ROLE_INPUT; r++)
      if (st->read[r].tensor == tensor) boxes[n++] = box_of(op, &st->read[r]);
    if (st->write.tensor == tensor) boxes[n++] = box_of(op, &st->write);
  }
  for (int i = 0; i < n; i++)
    list[i] = &boxes[i];
  *bytes = hone_format_bytes(t->format, count_union(list, n, 0, t->rank));
  return true;
}
