/* The reference interpreter (DESIGN section 4 lines 7-13). Deliberately plain:
 * one function computes one element of a stage's result, `element`; running
 * whole tensors and computing single elements differ only in where operands
 * come from (`fetch`). */
#include "ir/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

typedef struct {
  int tensor; /* -1: free */
  int64_t offset;
  double value;
} memo_slot;

struct hone_reference {
  const hone_operator *op;
  double *const *value;       /* whole tensors, or NULL: */
  hone_reference_input input; /* elements on demand */
  void *arg;
  memo_slot *memo; /* open addressing; capacity a power of two */
  int64_t nmemo, capacity;
};

static double element(hone_reference *r, int stage, int64_t *point);

/* Odometer over row-major indices; false after the last. */
static bool advance(int rank, const int64_t *extent, int64_t *index)
{
  for (int a = rank - 1; a >= 0; a--) {
    if (++index[a] < extent[a]) return true;
    index[a] = 0;
  }
  return false;
}

int64_t hone_reference_offset(const hone_operator *op, int tensor, int layout, const int64_t *index)
{
  const hone_tensor *t = &op->tensor[tensor];
  int64_t offset = 0;
  for (int i = 0; i < t->rank; i++) {
    int a = layout < 0 ? i : t->layout[layout][i];
    offset = offset * t->extent[a] + index[a];
  }
  return offset;
}

void hone_reference_decode(const hone_operator *op, int tensor, int layout, const void *data, double *value)
{
  const hone_tensor *t = &op->tensor[tensor];
  int64_t index[HONE_MAX_RANK] = {0}, bytes = hone_format_bytes(t->format, 1);
  do {
    const char *at = (const char *)data + hone_reference_offset(op, tensor, layout, index) * bytes;
    *value++ = hone_format_decode(t->format, at);
  } while (advance(t->rank, t->extent, index));
}

void hone_reference_encode(const hone_operator *op, int tensor, int layout, const double *value, void *data)
{
  const hone_tensor *t = &op->tensor[tensor];
  int64_t index[HONE_MAX_RANK] = {0}, bytes = hone_format_bytes(t->format, 1);
  do {
    char *at = (char *)data + hone_reference_offset(op, tensor, layout, index) * bytes;
    hone_format_encode(t->format, *value++, at);
  } while (advance(t->rank, t->extent, index));
}

/* Elements on demand. */

static memo_slot *memo_find(const hone_reference *r, int tensor, int64_t offset)
{
  uint64_t h = ((uint64_t)offset * 16 + (uint64_t)tensor) * UINT64_C(0x9e3779b97f4a7c15);
  uint64_t mask = (uint64_t)r->capacity - 1;
  for (uint64_t i = h >> 20;; i++) {
    memo_slot *s = &r->memo[i & mask];
    if (s->tensor < 0 || (s->tensor == tensor && s->offset == offset)) return s;
  }
}

static void memo_grow(hone_reference *r)
{
  memo_slot *old = r->memo;
  int64_t n = r->capacity;
  r->capacity = n ? 2 * n : 1024;
  r->memo = hone_heap_alloc((size_t)r->capacity, sizeof *r->memo);
  for (int64_t i = 0; i < r->capacity; i++) r->memo[i].tensor = -1;
  for (int64_t i = 0; i < n; i++) {
    if (old[i].tensor >= 0) *memo_find(r, old[i].tensor, old[i].offset) = old[i];
  }
  free(old);
}

/* The point of the writer's kept dims that writes the element; false: none does. */
static bool writing_point(const hone_operator *op, const hone_access *w, const int64_t *index, int64_t *point)
{
  for (int a = 0; a < op->tensor[w->tensor].rank; a++) {
    const hone_affine *e = &w->axis[a].affine;
    int64_t rest = index[a] - e->constant;
    if (e->nterms == 0) {
      if (rest != 0) return false;
      continue;
    }
    int64_t coef = e->term[0].coef, x = rest / coef;
    if (rest % coef != 0 || x < 0 || x >= op->dim[e->term[0].dim].extent) return false;
    point[e->term[0].dim] = x;
  }
  return true;
}

static double produce(hone_reference *r, int tensor, const int64_t *index)
{
  int stage = hone_operator_writer(r->op, tensor);
  int64_t point[HONE_MAX_DIMS] = {0};
  if (stage < 0 || !writing_point(r->op, &r->op->stage[stage].write, index, point)) return 0;
  return element(r, stage, point);
}

double hone_reference_get(hone_reference *r, int tensor, const int64_t *index)
{
  if (r->op->tensor[tensor].role == HONE_ROLE_INPUT) return r->input(r->arg, tensor, index);
  int64_t offset = hone_reference_offset(r->op, tensor, -1, index);
  if (r->nmemo * 2 >= r->capacity) memo_grow(r);
  memo_slot *s = memo_find(r, tensor, offset);
  if (s->tensor >= 0) return s->value;
  double v = produce(r, tensor, index); /* may move the table */
  s = memo_find(r, tensor, offset);
  *s = (memo_slot){.tensor = tensor, .offset = offset, .value = v};
  r->nmemo++;
  return v;
}

/* One element of a stage's result. */

static double fetch(hone_reference *r, int tensor, const int64_t *index)
{
  if (r->value) return r->value[tensor][hone_reference_offset(r->op, tensor, -1, index)];
  return hone_reference_get(r, tensor, index);
}

/* Index of an access at a point; false when it is outside the tensor. */
static bool access_index(const hone_operator *op, const hone_access *a, const int64_t *point, int64_t *index)
{
  bool inside = true;
  for (int x = 0; x < op->tensor[a->tensor].rank; x++) {
    const hone_affine *e = &a->axis[x].affine;
    index[x] = e->constant;
    for (int i = 0; i < e->nterms; i++) index[x] += e->term[i].coef * point[e->term[i].dim];
    inside = inside && index[x] >= 0 && index[x] < op->tensor[a->tensor].extent[x];
  }
  return inside;
}

static double read_at(hone_reference *r, const hone_access *a, const int64_t *point)
{
  int64_t index[HONE_MAX_RANK];
  if (access_index(r->op, a, point, index)) return fetch(r, a->tensor, index);
  return r->op->tensor[a->tensor].outside == HONE_OUTSIDE_NEGINF ? -INFINITY : 0;
}

/* What a contraction adds, a reduction joins, at a point. */
static double contribution(hone_reference *r, const hone_stage *s, const int64_t *point)
{
  double x[HONE_MAX_READS];
  for (int i = 0; i < s->nreads; i++) x[i] = read_at(r, &s->read[i], point);
  return s->kind == HONE_STAGE_CONTRACT ? x[0] * x[1] : hone_apply_eval(&s->apply, x);
}

/* Over the reduced dims, rounded to the accumulator format each time. */
static double accumulate(hone_reference *r, const hone_stage *s, int64_t *point)
{
  int n = 0, dim[HONE_MAX_DIMS];
  for (int d = 0; d < r->op->ndims; d++) {
    if (s->reduced >> d & 1) dim[n++] = d;
  }
  for (int i = 0; i < n; i++) point[dim[i]] = 0;
  hone_reduction how = s->kind == HONE_STAGE_CONTRACT ? HONE_REDUCTION_SUM : s->reduction;
  for (double sum = hone_reduction_start(how);;) {
    sum = hone_format_round(s->accumulator, hone_reduction_join(how, sum, contribution(r, s, point)));
    int i = n - 1;
    while (i >= 0 && ++point[dim[i]] == r->op->dim[dim[i]].extent) point[dim[i--]] = 0;
    if (i < 0) return sum;
  }
}

static double element(hone_reference *r, int stage, int64_t *point)
{
  const hone_stage *s = &r->op->stage[stage];
  hone_format format = r->op->tensor[s->write.tensor].format;
  if (hone_stage_accumulates(s)) return hone_format_round(format, accumulate(r, s, point));
  double args[HONE_MAX_READS];
  for (int i = 0; i < s->nreads; i++) args[i] = read_at(r, &s->read[i], point);
  return hone_format_round(format, hone_apply_eval(&s->apply, args));
}

static bool affine_access(const hone_operator *op, const hone_access *a)
{
  for (int x = 0; x < op->tensor[a->tensor].rank; x++) {
    if (a->axis[x].table >= 0) return false;
  }
  return true;
}

static bool invertible_write(const hone_operator *op, const hone_access *w)
{
  for (int x = 0; x < op->tensor[w->tensor].rank; x++) {
    if (w->axis[x].table >= 0 || w->axis[x].affine.nterms > 1) return false;
  }
  return true;
}

static hone_status supported(const hone_operator *op, hone_err *err)
{
  for (int d = 0; d < op->ndims; d++) {
    if (op->dim[d].extent_from >= 0)
      return hone_err_set(err, HONE_UNSUPPORTED, "reference.ragged", "dim %s is ragged", op->dim[d].name);
  }
  for (int i = 0; i < op->nstages; i++) {
    const hone_stage *s = &op->stage[i];
    bool kind = hone_stage_accumulates(s) || (s->kind == HONE_STAGE_MAP && !s->reduced);
    bool accesses = invertible_write(op, &s->write);
    for (int k = 0; k < s->nreads; k++) accesses = accesses && affine_access(op, &s->read[k]);
    if (!kind || !accesses || s->nguards)
      return hone_err_set(err, HONE_UNSUPPORTED, "reference.stage",
                          "stage %s: only unguarded contract, map and reduce stages with affine accesses can be computed", s->name);
  }
  return HONE_OK;
}

hone_status hone_reference_run(const hone_operator *op, double *const *value, hone_err *err)
{
  hone_status status = supported(op, err);
  if (status != HONE_OK) return status;
  hone_reference r = {.op = op, .value = value};
  for (int i = 0; i < op->nstages; i++) {
    const hone_access *w = &op->stage[i].write;
    const hone_tensor *t = &op->tensor[w->tensor];
    int64_t index[HONE_MAX_RANK] = {0}, point[HONE_MAX_DIMS] = {0};
    double *out = value[w->tensor];
    do {
      *out++ = writing_point(op, w, index, point) ? element(&r, i, point) : 0;
    } while (advance(t->rank, t->extent, index));
  }
  return HONE_OK;
}

hone_status hone_reference_new(const hone_operator *op, hone_reference_input input, void *arg, hone_reference **out,
                               hone_err *err)
{
  hone_status status = supported(op, err);
  if (status != HONE_OK) return status;
  hone_reference *r = hone_heap_alloc(1, sizeof *r);
  r->op = op;
  r->input = input;
  r->arg = arg;
  *out = r;
  return HONE_OK;
}

void hone_reference_free(hone_reference *r)
{
  if (!r) return;
  free(r->memo);
  free(r);
}
