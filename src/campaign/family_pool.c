/* The pool: schedules found anywhere in the range, costed everywhere in it.
 *
 * A member is kept in terms of the largest shape: hone_schedule_fit cuts it to any
 * other, and cutting twice is cutting once. It need not be legal at the largest. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "campaign/family_int.h"

enum { MOST_MEMBERS = 1024, MOST_CELLS = 1 << 24, RESERVE_SHARE = 8 }; /* 128 MiB of costs, and an eighth */

/* Dims whose extents differ between the ends; all when the low end has no problem. */
static void find_moving(family *f)
{
  shape *low = NULL;
  bool known = shape_new(f, 0, SHAPE_MODEL, &low, NULL) == HONE_OK;
  for (int d = 0; d < f->top->op.ndims; d++)
    if (!known || low->op.dim[d].extent != f->top->op.dim[d].extent) f->moving |= 1u << d;
  shape_free(low);
}

hone_status pool_init(family *f, hone_err *err)
{
  hone_status st = shape_new(f, f->n - 1, SHAPE_MODEL, &f->top, err);
  if (st != HONE_OK) return st;
  find_moving(f);
  f->limit = (int)hone_min64(MOST_MEMBERS, MOST_CELLS / f->n);
  size_t room = (size_t)(f->limit + f->limit / RESERVE_SHARE);
  f->member = hone_heap_alloc(room, sizeof *f->member);
  f->key = hone_heap_alloc(room, sizeof *f->key);
  f->cost = hone_heap_alloc(room * (size_t)f->n, sizeof *f->cost);
  return HONE_OK;
}

void pool_use_reserve(family *f)
{
  f->limit += f->limit / RESERVE_SHARE;
}

void pool_fini(family *f)
{
  shape_free(f->top);
  free(f->member);
  free(f->key);
  free(f->cost);
}

static void add(family *f, hone_schedule *s)
{
  const hone_machine *m = f->task->machine;
  hone_schedule_fit(&f->top->op, m, s);
  hone_hash key = hone_schedule_hash(&f->top->op, m, &f->top->params, s);
  for (int i = 0; i < f->members; i++)
    if (hone_hash_cmp(f->key[i], key) == 0) return;
  if (f->members == f->limit) return;
  f->member[f->members] = *s;
  f->key[f->members++] = key;
}

/* Tiles that hold all there is at x, outside in, along dims the range changes. */
static bool open_whole_tiles(const family *f, const shape *x, hone_schedule *s)
{
  bool any = false;
  for (int d = 0; d < x->op.ndims; d++) {
    if (!(f->moving >> d & 1u)) continue;
    for (int l = 1; l < f->task->machine->nlevels && s->tile[l][d] == s->tile[0][d]; l++) {
      s->tile[l][d] = f->top->op.dim[d].extent;
      any = true;
    }
  }
  return any;
}

void pool_add(family *f, const shape *x, const hone_schedule *s)
{
  hone_schedule opened = *s, plain = *s;
  if (open_whole_tiles(f, x, &opened)) add(f, &opened);
  add(f, &plain);
}

static hone_status cost_shape(family *f, void *arg, int64_t i, hone_err *err)
{
  int first = *(int *)arg;
  shape *x = NULL;
  hone_schedule cut;
  for (int c = first; c < f->members; c++) f->cost[(ptrdiff_t)c * f->n + i] = -1;
  if (f->hole[i]) return HONE_OK;
  hone_status st = shape_new(f, i, SHAPE_MODEL, &x, err);
  if (st != HONE_OK) return st;
  for (int c = first; c < f->members; c++) {
    int64_t cycles = shape_cost(f, x, &f->member[c], &cut);
    f->cost[(ptrdiff_t)c * f->n + i] = cycles;
    if (cycles >= 0 && (f->reference[i] < 0 || cycles < f->reference[i])) f->reference[i] = cycles;
  }
  shape_free(x);
  return HONE_OK;
}

hone_status pool_cost(family *f, int first, hone_err *err)
{
  if (first == f->members) return HONE_OK;
  hone_status st = family_each(f, "pool at every shape", f->n, cost_shape, &first, err);
  f->out->counts.evaluated += (int64_t)(f->members - first) * f->n;
  f->out->counts.pool = f->members;
  return st;
}

int pool_best(const family *f, int64_t i, int most, int *member)
{
  int n = 0;
  for (int c = 0; c < f->members; c++) {
    int64_t cycles = family_cost(f, c, i);
    if (cycles < 0) continue;
    int k = n < most ? n++ : most;
    for (; k > 0 && cycles < family_cost(f, member[k - 1], i); k--)
      if (k < most) member[k] = member[k - 1];
    if (k < most) member[k] = c;
  }
  return n;
}
