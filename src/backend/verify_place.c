/* Places: what the cells of a slot or of a tensor in DRAM hold, and the proof
 * that every two accesses of a cell of which one writes are ordered.
 *
 * An access is ordered after an operation of another stream when the running
 * stream's clock has reached that operation's number. */
#include "config.h"

#include "backend/verify_int.h"
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

/* The cells of a place that a box covers, in turn. */
typedef struct {
  int rank, at[HONE_MAX_RANK], lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  int64_t stride[HONE_MAX_RANK], index; /* -1: no more */
} span;

static bool span_of(verifier *v, const verify_place *x, const hone_range *box, span *out)
{
  verify_grid *g = &v->grid[x->tensor];
  int64_t stride = 1;
  out->rank = g->rank;
  out->index = 0;
  for (int a = g->rank; a-- > 0; stride *= x->n[a]) {
    int from = verify_axis_find(&g->axis[a], box[a].start), to = verify_axis_find(&g->axis[a], box[a].start + box[a].length);
    if (from < 0 || to <= from || from < x->lo[a] || to > x->lo[a] + x->n[a])
      return verify_refuse(v, "verify.box", "axis %d of %s: [%lld, %lld) is not a box of its tiles", a, v->op->tensor[x->tensor].name,
                           (long long)box[a].start, (long long)(box[a].start + box[a].length));
    out->lo[a] = out->at[a] = from - x->lo[a];
    out->hi[a] = to - x->lo[a];
    out->stride[a] = stride;
    out->index += out->at[a] * stride;
  }
  return true;
}

static void span_next(span *s)
{
  for (int a = s->rank; a-- > 0;) {
    if (++s->at[a] < s->hi[a]) {
      s->index += s->stride[a];
      return;
    }
    s->index -= (s->at[a] - 1 - s->lo[a]) * s->stride[a];
    s->at[a] = s->lo[a];
  }
  s->index = -1;
}

static bool ordered(const verifier *v, int stream, uint32_t operation)
{
  return operation <= v->stream[v->now].clock[stream];
}

static bool all_ordered(const verifier *v, const verify_place *x)
{
  for (int s = 0; s < v->p->nstreams; s++)
    if (!ordered(v, s, x->last[s])) return false;
  return true;
}

static bool race(verifier *v, const verify_place *x, int stream, const char *what)
{
  char name[16];
  return verify_refuse(v, "verify.race", "%s of %s by %s is not ordered before this", what, v->op->tensor[x->tensor].name,
                       hone_stream_print(&v->p->stream[stream], name));
}

static bool read_ordered(verifier *v, const verify_place *x, const verify_cell *c)
{
  return ordered(v, c->writer, c->written) || race(v, x, c->writer, "a write");
}

static bool write_ordered(verifier *v, const verify_place *x, const verify_cell *c)
{
  if (!read_ordered(v, x, c)) return false;
  for (int i = 0; i < 2; i++)
    if (!ordered(v, c->reader[i], c->read[i])) return race(v, x, c->reader[i], "a read");
  return !c->crowd || all_ordered(v, x) || race(v, x, v->now, "one of several reads");
}

static void set_fresh(verify_place *x, verify_cell *c, bool fresh)
{
  x->nfresh += fresh - c->fresh;
  c->fresh = fresh;
}

static void note_read(verifier *v, verify_place *x, verify_cell *c)
{
  uint32_t now = v->stream[v->now].operations;
  set_fresh(x, c, false);
  for (int i = 0; i < 2; i++)
    if (c->read[i] == 0 || c->reader[i] == v->now) {
      c->reader[i] = (uint8_t)v->now;
      c->read[i] = now;
      return;
    }
  c->crowd = true;
}

static bool note_write(verifier *v, verify_place *x, verify_cell *c, verify_cell holds, bool adds)
{
  if (c->fresh && !adds)
    return verify_refuse(v, "verify.lost", "a result of %s is overwritten before it has been taken", v->op->tensor[x->tensor].name);
  set_fresh(x, c, true);
  holds.fresh = true;
  holds.writer = (uint8_t)v->now;
  holds.written = v->stream[v->now].operations;
  *c = holds;
  return true;
}

static void make_cells(verify_place *x)
{
  if (x->ncells > x->capacity) {
    x->cell = hone_heap_realloc(x->cell, (size_t)x->ncells, sizeof *x->cell);
    x->capacity = x->ncells;
  }
  if (x->ncells > 0) memset(x->cell, 0, (size_t)x->ncells * sizeof *x->cell);
}

void verify_place_init(verifier *v, verify_place *x, int tensor)
{
  const verify_grid *g = &v->grid[tensor];
  x->tensor = tensor;
  x->set = true;
  x->ncells = 1;
  x->nfresh = 0;
  memset(x->last, 0, sizeof x->last);
  for (int a = 0; a < g->rank; a++) {
    x->lo[a] = 0;
    x->n[a] = g->axis[a].n;
    x->ncells *= x->n[a];
  }
  make_cells(x);
}

/* From now on the slot holds the box whose first element is at `base`. */
static bool reset(verifier *v, verify_place *x, int buffer, const int64_t *base)
{
  verify_grid *g = &v->grid[x->tensor];
  if (!all_ordered(v, x)) return race(v, x, v->now, "an access of the copy");
  if (x->nfresh) return verify_refuse(v, "verify.lost", "results of %s are overwritten before they have been taken", v->op->tensor[x->tensor].name);
  x->ncells = 1;
  for (int a = 0; a < g->rank; a++) {
    const verify_axis *axis = &g->axis[a];
    x->base[a] = base[a];
    x->lo[a] = verify_axis_find(&g->axis[a], base[a]);
    if (x->lo[a] < 0) return verify_refuse(v, "verify.box", "a copy of %s would begin inside a tile", v->op->tensor[x->tensor].name);
    int lo = x->lo[a], hi = axis->n; /* last boundary within the copy */
    while (lo < hi) {
      int mid = hi - (hi - lo) / 2;
      if (axis->at[mid] - base[a] <= v->extent[buffer][a])
        lo = mid;
      else
        hi = mid - 1;
    }
    x->n[a] = lo - x->lo[a];
    x->ncells *= x->n[a];
  }
  x->set = true;
  make_cells(x);
  return true;
}

bool verify_enter(verifier *v, verify_place *x, int buffer, const hone_range *box, const hone_range *local, bool writing)
{
  int64_t base[HONE_MAX_RANK] = {0};
  bool same = x->set;
  x->tensor = v->p->buffer[buffer].tensor;
  for (int a = 0; a < v->grid[x->tensor].rank; a++) {
    if (local[a].start < 0 || local[a].length < 1 || local[a].start > v->extent[buffer][a] - local[a].length)
      return verify_refuse(v, "verify.bounds", "axis %d of b%d: [%lld, %lld) is outside its %lld elements", a, buffer,
                           (long long)local[a].start, (long long)(local[a].start + local[a].length), (long long)v->extent[buffer][a]);
    if (local[a].length != box[a].length) return verify_refuse(v, "verify.box", "axis %d of b%d: lengths differ", a, buffer);
    base[a] = box[a].start - local[a].start;
    same = same && base[a] == x->base[a];
  }
  if (!same && !writing) return verify_refuse(v, "verify.content", "b%d holds another box of %s", buffer, v->op->tensor[x->tensor].name);
  if (!same && !reset(v, x, buffer, base)) return false;
  x->last[v->now] = v->stream[v->now].operations;
  return true;
}

bool verify_whole(const verifier *v, const verify_place *x, const verify_cell *c)
{
  if (c->state != VERIFY_SUM) return c->state == VERIFY_WHOLE;
  const verify_order *o = &v->order[hone_operator_writer(v->op, x->tensor)];
  return o->ncovered == o->total && c->next == o->n;
}

bool verify_read(verifier *v, verify_place *x, const hone_range *box, hone_format format)
{
  span s;
  if (!span_of(v, x, box, &s)) return false;
  for (; s.index >= 0; span_next(&s)) {
    verify_cell *c = &x->cell[s.index];
    if (!read_ordered(v, x, c)) return false;
    if (!verify_whole(v, x, c) || c->format != format)
      return verify_refuse(v, "verify.content", "%s is read before it is there", v->op->tensor[x->tensor].name);
    note_read(v, x, c);
  }
  return true;
}

bool verify_write(verifier *v, verify_place *x, const hone_range *box, hone_format format)
{
  span s;
  if (!span_of(v, x, box, &s)) return false;
  for (; s.index >= 0; span_next(&s)) {
    verify_cell *c = &x->cell[s.index];
    if (!write_ordered(v, x, c) || !note_write(v, x, c, (verify_cell){.state = VERIFY_WHOLE, .format = (uint8_t)format}, false))
      return false;
  }
  return true;
}

/* Marks the contribution in the map of the reduced dims; each part once. */
static bool cover(verifier *v, verify_order *o, const hone_range *range, int k, int64_t index)
{
  if (k == o->ndims) {
    uint8_t bit = (uint8_t)(1U << (index & 7));
    if (o->covered[index >> 3] & bit) return false;
    o->covered[index >> 3] |= bit;
    o->ncovered++;
    return true;
  }
  verify_axis *d = &v->dim[o->dim[k]];
  const hone_range *r = &range[o->dim[k]];
  int from = verify_axis_find(d, r->start), to = verify_axis_find(d, r->start + r->length);
  if (from < 0 || to < 0) return false;
  for (int i = from; i < to; i++)
    if (!cover(v, o, range, k + 1, index * d->n + i)) return false;
  return true;
}

/* Is `range` contribution number `next`? The first cell to get there decides. */
static bool in_order(verifier *v, verify_order *o, int next, const hone_range *range)
{
  if (next < o->n) {
    for (int k = 0; k < o->ndims; k++) {
      const hone_range *want = &o->piece[next * o->ndims + k], *got = &range[o->dim[k]];
      if (want->start != got->start || want->length != got->length) return false;
    }
    return true;
  }
  if (o->ncovered == o->total || !cover(v, o, range, 0, 0)) return false;
  if (o->n == o->capacity) {
    o->capacity = o->capacity ? 2 * o->capacity : 16;
    o->piece = hone_heap_realloc(o->piece, (size_t)o->capacity * (size_t)(o->ndims + 1), sizeof *o->piece);
  }
  for (int k = 0; k < o->ndims; k++) o->piece[o->n * o->ndims + k] = range[o->dim[k]];
  o->n++;
  return true;
}

bool verify_accumulate(verifier *v, verify_place *x, const hone_range *box, int stage, const hone_range *range, bool zero,
                       hone_format format)
{
  span s;
  if (!span_of(v, x, box, &s)) return false;
  for (; s.index >= 0; span_next(&s)) {
    verify_cell *c = &x->cell[s.index];
    if (!write_ordered(v, x, c)) return false;
    if (!zero && (c->state != VERIFY_SUM || c->format != format))
      return verify_refuse(v, "verify.content", "%s is added to before it has begun", v->op->tensor[x->tensor].name);
    int next = zero ? 0 : c->next;
    if (!in_order(v, &v->order[stage], next, range))
      return verify_refuse(v, "verify.work", "stage %s adds a piece of its reduced dims twice or out of order", v->op->stage[stage].name);
    if (!note_write(v, x, c, (verify_cell){.state = VERIFY_SUM, .format = (uint8_t)format, .next = next + 1}, !zero)) return false;
  }
  return true;
}

static bool take(verifier *v, verify_place *from, verify_cell *c, hone_format format, hone_format to_format, bool final)
{
  if (!read_ordered(v, from, c)) return false;
  if (c->state == VERIFY_EMPTY || c->format != format)
    return verify_refuse(v, "verify.content", "%s is moved before it is there", v->op->tensor[from->tensor].name);
  if ((final || format != to_format) && !verify_whole(v, from, c))
    return verify_refuse(v, "verify.content", "a partial result of %s is moved as if it were whole", v->op->tensor[from->tensor].name);
  return true;
}

bool verify_move(verifier *v, verify_place *from, verify_place *to, const hone_range *box, hone_format from_format,
                 hone_format to_format, bool final)
{
  span s, t;
  if ((from && !span_of(v, from, box, &s)) || !span_of(v, to, box, &t)) return false;
  for (; t.index >= 0; span_next(&t)) {
    verify_cell *c = from ? &from->cell[s.index] : NULL, *d = &to->cell[t.index];
    if (c && !take(v, from, c, from_format, to_format, final)) return false;
    if (!write_ordered(v, to, d)) return false;
    if (final && d->state != VERIFY_EMPTY)
      return verify_refuse(v, "verify.work", "a part of %s is stored twice", v->op->tensor[to->tensor].name);
    verify_cell holds = {.state = VERIFY_WHOLE, .format = (uint8_t)to_format};
    if (c && from_format == to_format) {
      holds.state = c->state;
      holds.next = c->next;
    }
    if (!note_write(v, to, d, holds, false)) return false;
    if (!c) continue;
    note_read(v, from, c);
    span_next(&s);
  }
  return true;
}
