/* From a schedule to its event tree (events.h). Order of reading: loops, joins,
 * buffers (chains first, then one buffer per tensor, memory and set of stages
 * that share its visits), then the tree. Nothing is allocated. */
#include "config.h"

#include "ir/events.h"

#include <string.h>

#include "ir/ir_int.h"

typedef struct {
  const hone_operator *op;
  const hone_machine *m;
  const hone_schedule *s;
  hone_events *e;
  hone_why *why;
  int join[HONE_MAX_STAGES]; /* join[s]: loops shared by stages s and s+1 */
  uint64_t positions;        /* bit p: some buffer sits at position p */
  uint8_t inward[HONE_MAX_BUFFERS], outward[HONE_MAX_BUFFERS]; /* buffers in the order of fills, of drains */
} build;

static hone_reason fail(const build *b, hone_reason r, int level, int tensor, int stage, int dim)
{
  return hone_ir_why(b->why, r, level, tensor, stage, dim);
}

static void build_loops(build *b)
{
  hone_events *e = b->e;
  e->nlevels = b->m->nlevels;
  e->ndims = b->op->ndims;
  e->nloops = 0;
  for (int l = 1; l < e->nlevels; l++)
    for (int i = 0; i < e->ndims; i++) {
      int d = b->s->order[l][i];
      int64_t step = b->s->tile[l][d], outer = b->s->tile[l - 1][d];
      e->loop[e->nloops++] =
          (hone_loop){.dim = (uint8_t)d, .level = (uint8_t)l, .step = step, .trips = hone_ceil_div(outer, step)};
    }
}

/* First and last stage that touch intermediate t. */
static void span(const hone_operator *op, int t, int *first, int *last)
{
  *first = *last = hone_operator_writer(op, t);
  for (int s = 0; s < op->nstages; s++)
    for (int r = 0; r < op->stage[s].nreads; r++)
      if (op->stage[s].read[r].tensor == t && s > *last) *last = s;
}

/* Neighbouring stages share as many loops as the least joined intermediate that
 * spans them allows; every join must then hold over its whole span, and each
 * shared loop with several trips must belong to both stages and index the
 * intermediate: else work would be repeated or a value used before it is whole. */
static hone_reason build_joins(build *b)
{
  const hone_operator *op = b->op;
  int n = op->nstages;
  bool spanned[HONE_MAX_STAGES] = {false};
  memset(b->join, 0, sizeof b->join);
  for (int t = 0; t < op->ntensors; t++) {
    if (op->tensor[t].role != HONE_ROLE_INTERMEDIATE) continue;
    int first, last;
    span(op, t, &first, &last);
    if ((b->s->home[t] == 0) && b->s->join[t] != 0) return fail(b, HONE_REASON_HOME, 0, t, first, -1);
    for (int s = first; s < last; s++) {
      b->join[s] = spanned[s] && b->join[s] < b->s->join[t] ? b->join[s] : b->s->join[t];
      spanned[s] = true;
    }
  }
  for (int t = 0; t < op->ntensors; t++) {
    if (op->tensor[t].role != HONE_ROLE_INTERMEDIATE) continue;
    int first, last, least = b->s->join[t];
    span(op, t, &first, &last);
    for (int s = first; s < last; s++)
      if (b->join[s] < least) return fail(b, HONE_REASON_JOIN, -1, t, s, -1);
    hone_dimset shared = hone_access_dims(op, &op->stage[first].write);
    for (int s = first + 1; s <= last; s++) {
      shared &= op->stage[s].dims;
      for (int r = 0; r < op->stage[s].nreads; r++)
        for (int d = 0; op->stage[s].read[r].tensor == t && d < op->ndims; d++)
          if (!hone_access_aligned(op, &op->stage[first].write, &op->stage[s].read[r], d)) shared &= ~(1u << d);
    }
    for (int p = 0; p < least; p++)
      if (b->e->loop[p].trips > 1 && !dim_in(shared, b->e->loop[p].dim))
        return fail(b, HONE_REASON_JOIN, -1, t, first, b->e->loop[p].dim);
  }
  for (int s = 0; s + 1 < n; s++)
    for (int p = 0; p < b->join[s]; p++)
      if (b->e->loop[p].trips > 1 && !dim_in(op->stage[s].dims & op->stage[s + 1].dims, b->e->loop[p].dim))
        return fail(b, HONE_REASON_JOIN, -1, -1, s, b->e->loop[p].dim);
  return HONE_REASON_NONE;
}

/* Do stages from..to share their first p loops? */
static bool shares(const build *b, int from, int to, int p)
{
  for (int s = from; s < to; s++)
    if (b->join[s] < p) return false;
  return true;
}

/* Loops before `position` with several trips whose dim is in `dims`. */
static hone_loopset loops_of(const build *b, int position, hone_dimset dims)
{
  hone_loopset set = 0;
  for (int p = 0; p < position; p++)
    if (b->e->loop[p].trips > 1 && dim_in(dims, b->e->loop[p].dim)) set |= (hone_loopset)1 << p;
  return set;
}

/* Has buffer x what access a wants at the same visits? It runs along the same dims,
 * or x holds an axis whole that a sees a part of. */
static bool holds(const build *b, const hone_buffer *x, const hone_access *a)
{
  if (hone_access_same(b->op, &x->access, a)) return true;
  for (int i = 0; i < b->op->tensor[a->tensor].rank; i++) {
    const hone_axis_expr *have = &x->access.axis[i], *want = &a->axis[i];
    if (have->table >= 0 || want->table >= 0 || have->affine.nterms != 1 || want->affine.nterms != 1) return false;
    int d = have->affine.term[0].dim, k = want->affine.term[0].dim;
    if (d == k && have->affine.constant == want->affine.constant) continue;
    bool whole = b->s->tile[0][d] == b->op->tensor[a->tensor].extent[i] && loops_of(b, x->position, 1u << d) == 0;
    if (!whole || have->affine.constant != 0 || want->affine.constant != 0 || b->op->dim[k].extent > b->op->dim[d].extent) return false;
  }
  return true;
}

static int find_read_buffer(const build *b, const hone_access *a, int level, int position, int stage, int parent)
{
  for (int i = 0; i < b->e->nbuffers; i++) {
    const hone_buffer *x = &b->e->buffer[i];
    if (x->kind != HONE_BUFFER_READ || x->tensor != a->tensor || x->level != level || x->parent != parent) continue;
    int first = __builtin_ctz(x->stages);
    if (holds(b, x, a) && shares(b, first, stage, position)) return i;
  }
  return -1;
}

/* Largest box: the piece of each dim inside the loops before `position`. */
static bool size_buffer(const build *b, hone_buffer *x)
{
  hone_range range[HONE_MAX_DIMS], box[HONE_MAX_RANK];
  for (int d = 0; d < b->op->ndims; d++) range[d] = (hone_range){0, b->s->tile[0][d]};
  for (int p = 0; p < x->position; p++) range[b->e->loop[p].dim].length = b->e->loop[p].step;
  hone_access_box(b->op, &x->access, range, box, &x->elements);
  int64_t align = b->m->memory[x->level].align_bytes, bits;
  for (int a = 0; a < b->op->tensor[x->tensor].rank; a++) x->extent[a] = box[a].length;
  if (x->elements < 0 || !hone_checked_mul(x->elements, hone_format_bits(x->format), &bits) || bits > INT64_MAX - 8) return false;
  x->bytes = hone_format_bytes(x->format, x->elements);
  if (align > 1 && !hone_checked_mul(hone_ceil_div(x->bytes, align), align, &x->bytes)) return false;
  return true;
}

static hone_reason add_buffer(build *b, hone_buffer x, int *index)
{
  if (b->e->nbuffers == HONE_MAX_BUFFERS) return fail(b, HONE_REASON_OVERFLOW, x.level, x.tensor, -1, -1);
  x.dims = hone_access_dims(b->op, &x.access);
  x.keys = loops_of(b, x.position, x.dims);
  x.reduced = x.writer >= 0 ? loops_of(b, x.position, b->op->stage[x.writer].reduced) : 0;
  x.partial = x.kind == HONE_BUFFER_WRITTEN && x.reduced != 0;
  x.child = -1;
  if (!size_buffer(b, &x)) return fail(b, HONE_REASON_OVERFLOW, x.level, x.tensor, -1, -1);
  *index = b->e->nbuffers;
  b->positions |= UINT64_C(1) << x.position;
  b->e->buffer[b->e->nbuffers++] = x;
  if (x.parent >= 0 && b->e->buffer[x.parent].child < 0) b->e->buffer[x.parent].child = *index;
  return HONE_REASON_NONE;
}

static hone_reason placed_levels(const build *b, int t, bool placed[HONE_MAX_LEVELS])
{
  for (int l = 1; l < b->m->nlevels; l++) {
    placed[l] = b->s->at[t][l] != HONE_BYPASS;
    if (b->s->at[t][l] > b->e->nloops) return fail(b, HONE_REASON_DOMAIN, l, t, -1, -1);
  }
  placed[0] = false;
  return HONE_REASON_NONE;
}

static hone_reason build_read(build *b, int s, int r)
{
  const hone_access *a = &b->op->stage[s].read[r];
  int t = a->tensor, parent = -1, outer = 0, position = 0;
  bool placed[HONE_MAX_LEVELS];
  hone_chain c;
  hone_reason bad = placed_levels(b, t, placed);
  if (bad) return bad;
  bool local = b->op->tensor[t].role == HONE_ROLE_INTERMEDIATE && b->s->home[t] > 0;
  bad = hone_chain_read(b->op, b->m, t, b->s->engine[s], hone_read_held(b->op, b->s, s, r), placed, b->s->home[t], &c);
  if (bad) return fail(b, bad, local ? b->s->home[t] : -1, t, s, -1);
  if (local) { /* made when its writer was built: stages are in order */
    for (int i = 0; i < b->e->nbuffers; i++) {
      hone_buffer *x = &b->e->buffer[i];
      if (x->kind != HONE_BUFFER_LOCAL || x->tensor != t) continue;
      x->stages |= 1u << s;
      b->e->read_buffer[s][r] = i;
    }
    return HONE_REASON_NONE;
  }
  for (int i = 0; i < c.n; i++) {
    int l = c.level[i], p = b->s->at[t][l];
    if (p < position) return fail(b, HONE_REASON_PLACEMENT, l, t, s, -1);
    int x = find_read_buffer(b, a, l, p, s, parent);
    if (x < 0) {
      hone_buffer nb = {.kind = HONE_BUFFER_READ, .tensor = t, .level = l, .position = p, .depth = b->s->depth[t][l],
                        .parent = parent, .mover = b->m->move[outer][l], .writer = -1, .access = *a,
                        .format = b->op->tensor[t].format};
      if ((bad = add_buffer(b, nb, &x))) return bad;
    }
    b->e->buffer[x].stages |= 1u << s;
    parent = x;
    outer = l;
    position = p;
  }
  b->e->read_buffer[s][r] = parent;
  return HONE_REASON_NONE;
}

/* Accumulator format while partial results may be held: next to the engine that
 * accumulates, and wherever a reduced loop runs outside the buffer one step nearer. */
static hone_format written_format(const build *b, int s, const hone_chain *c, int i)
{
  const hone_stage *st = &b->op->stage[s];
  hone_format whole = b->op->tensor[st->write.tensor].format;
  if (!hone_stage_accumulates(st)) return whole;
  if (i == c->n - 1) return st->accumulator;
  int inner = b->s->at[st->write.tensor][c->level[i + 1]];
  return loops_of(b, inner, st->reduced) ? st->accumulator : whole;
}

static hone_reason build_home(build *b, int s, int *parent)
{
  const hone_stage *st = &b->op->stage[s];
  int t = st->write.tensor, h = b->s->home[t];
  const hone_engine *e = &b->m->engine[b->s->engine[s]];
  bool in_place = st->kind == HONE_STAGE_REDUCE || (st->kind == HONE_STAGE_CONTRACT && h == e->matrix.accumulates_in);
  if (in_place && b->op->tensor[t].format != st->accumulator) return fail(b, HONE_REASON_FORMAT, h, t, s, -1);
  hone_buffer nb = {.kind = HONE_BUFFER_LOCAL, .tensor = t, .level = h, .position = b->s->join[t],
                    .depth = b->s->depth[t][h], .parent = -1, .mover = HONE_MOVE_NONE, .stages = 1u << s, .writer = s,
                    .access = st->write, .format = b->op->tensor[t].format};
  return add_buffer(b, nb, parent);
}

static hone_reason build_write(build *b, int s)
{
  const hone_stage *st = &b->op->stage[s];
  int t = st->write.tensor, parent = -1, outer = 0, position = 0;
  bool placed[HONE_MAX_LEVELS];
  hone_chain c;
  hone_reason bad = placed_levels(b, t, placed);
  if (bad) return bad;
  int home = b->op->tensor[t].role == HONE_ROLE_INTERMEDIATE ? b->s->home[t] : 0;
  bad = hone_chain_write(b->op, b->m, s, t, b->s->engine[s], placed, home, &c);
  if (bad) return fail(b, bad, home, t, s, -1);
  if (home > 0) {
    if ((bad = build_home(b, s, &parent))) return bad;
    outer = home;
    position = b->s->join[t];
  }
  for (int i = 0; i < c.n; i++) {
    int l = c.level[i], p = b->s->at[t][l];
    if (p < position) return fail(b, HONE_REASON_PLACEMENT, l, t, s, -1);
    hone_buffer nb = {.kind = HONE_BUFFER_WRITTEN, .tensor = t, .level = l, .position = p, .depth = b->s->depth[t][l],
                      .parent = parent, .mover = b->m->move[outer][l], .stages = 1u << s, .writer = s,
                      .access = st->write, .format = written_format(b, s, &c, i)};
    if ((bad = add_buffer(b, nb, &parent))) return bad;
    const hone_buffer *x = &b->e->buffer[parent];
    bool vector = x->mover == HONE_MOVE_VECTOR;
    if (vector && hone_machine_mover(b->m, l, outer) < 0) return fail(b, HONE_REASON_PATH, l, t, s, -1);
    if (vector && x->partial && hone_machine_mover(b->m, outer, l) < 0) return fail(b, HONE_REASON_PATH, l, t, s, -1);
    outer = l;
    position = p;
  }
  b->e->write_buffer[s] = parent;
  return HONE_REASON_NONE;
}

static hone_reason add_node(build *b, hone_node_kind kind, int index, int depth, uint32_t stages, int *at)
{
  if (b->e->nnodes == HONE_MAX_NODES) return fail(b, HONE_REASON_OVERFLOW, -1, -1, -1, -1);
  int i = b->e->nnodes++;
  b->e->node[i] = (hone_event_node){.kind = kind, .index = index, .end = i + 1, .depth = depth, .stages = stages};
  if (at) *at = i;
  return HONE_REASON_NONE;
}

/* Outer memories first, or inner ones first; of one memory by tensor, then as made. */
static void order_buffers(const build *b, bool inward, uint8_t order[HONE_MAX_BUFFERS])
{
  for (int i = 0; i < b->e->nbuffers; i++) {
    const hone_buffer *x = &b->e->buffer[i];
    int k = i;
    for (; k > 0; k--) {
      const hone_buffer *y = &b->e->buffer[order[k - 1]];
      bool after = x->level == y->level ? x->tensor >= y->tensor : (x->level > y->level) == inward;
      if (after) break;
      order[k] = order[k - 1];
    }
    order[k] = (uint8_t)i;
  }
}

/* Fills (outer memory first) or drains (inner first) of the buffers at p that the
 * group uses: fills before the run that uses them first, drains after the last. */
static hone_reason add_moves(build *b, hone_node_kind kind, uint32_t group, uint32_t run, int p, int depth)
{
  const hone_events *e = b->e;
  bool fill = kind == HONE_NODE_FILL;
  if (!(b->positions >> p & 1)) return HONE_REASON_NONE;
  for (int k = 0; k < e->nbuffers; k++) {
    int i = fill ? b->inward[k] : b->outward[k];
    const hone_buffer *x = &e->buffer[i];
    if (x->position != p || (x->stages & ~group)) continue;
    uint32_t when = fill ? x->stages & -x->stages : UINT32_C(1) << (31 - __builtin_clz(x->stages));
    if (!(when & run)) continue;
    bool due = fill ? x->kind == HONE_BUFFER_READ || x->partial : x->kind == HONE_BUFFER_WRITTEN;
    hone_reason bad = due ? add_node(b, kind, i, depth, x->stages, NULL) : HONE_REASON_NONE;
    if (bad) return bad;
  }
  return HONE_REASON_NONE;
}

/* NOLINTNEXTLINE(misc-no-recursion): depth is bounded by HONE_MAX_LOOPS. */
static hone_reason build_tree(build *b, int first, int last, int p, int depth)
{
  uint32_t all = ((1u << (last + 1)) - 1u) & ~((1u << first) - 1u);
  for (int s = first; s <= last;) {
    bool innermost = p == b->e->nloops;
    int end = s, loop = -1;
    hone_dimset dims = b->op->stage[s].dims;
    while (!innermost && end < last && b->join[end] > p) dims |= b->op->stage[++end].dims;
    uint32_t run = ((1u << (end + 1)) - 1u) & ~((1u << s) - 1u);
    bool looped = !innermost && b->e->loop[p].trips > 1 && dim_in(dims, b->e->loop[p].dim);
    hone_reason bad = add_moves(b, HONE_NODE_FILL, all, run, p, depth);
    if (!bad && looped) bad = add_node(b, HONE_NODE_LOOP, p, depth, run, &loop);
    if (!bad) bad = innermost ? add_node(b, HONE_NODE_STEP, s, depth, run, NULL) : build_tree(b, s, end, p + 1, depth + looped);
    if (looped && !bad) b->e->node[loop].end = b->e->nnodes;
    if (!bad) bad = add_moves(b, HONE_NODE_DRAIN, all, run, p, depth);
    if (bad) return bad;
    s = end + 1;
  }
  return HONE_REASON_NONE;
}

hone_reason hone_events_build(const hone_operator *op, const hone_machine *m, const hone_schedule *s, hone_events *out,
                              hone_why *why)
{
  build b = {.op = op, .m = m, .s = s, .e = out, .why = why};
  out->nbuffers = out->nnodes = 0;
  build_loops(&b);
  hone_reason bad = build_joins(&b);
  for (int i = 0; !bad && i < op->nstages; i++) {
    for (int r = 0; !bad && r < op->stage[i].nreads; r++) bad = build_read(&b, i, r);
    if (!bad) bad = build_write(&b, i);
  }
  order_buffers(&b, true, b.inward);
  order_buffers(&b, false, b.outward);
  return bad ? bad : build_tree(&b, 0, op->nstages - 1, 0, 0);
}

void hone_events_footprint(const hone_events *e, int64_t bytes[HONE_MAX_LEVELS])
{
  for (int l = 0; l < HONE_MAX_LEVELS; l++) bytes[l] = 0;
  for (int i = 0; i < e->nbuffers; i++) {
    const hone_buffer *x = &e->buffer[i];
    int64_t need;
    if (!hone_checked_mul(x->bytes, x->depth, &need) || !hone_checked_add(bytes[x->level], need, &bytes[x->level]))
      bytes[x->level] = INT64_MAX;
  }
}
