/* Lowering: the event tree projected onto each stream.
 *
 * A stream walks the tree and keeps the loops that hold something for it. In the
 * body where a buffer is placed it acquires the buffer before the first child
 * that uses it and releases it after the last; fills and drains stand where the
 * tree has them. Every acquisition rotates the stream's slot exactly once a
 * visit, at the stream's first part in the buffer. The order is program order
 * everywhere and every wait is for something earlier in it, so nothing deadlocks.
 *
 * Reading order: emit_fill, emit_drain, emit_acquire, emit_release (the four
 * protocols), then walk. */
#include "config.h"

#include "backend/backend_int.h"
#include "base/arena.h"

#include <stdlib.h>

typedef struct {
  const hone_plan *plan;
  hone_program *p;
  int insns, bodies; /* capacity */
  int s;             /* the stream */
  int nopen;
  struct {
    int position;
    uint8_t dim, range;
  } open[HONE_MAX_OPEN];
} emitter;

static const hone_predicate always = {0};

static hone_insn *push(emitter *e, hone_insn_op op, hone_predicate when)
{
  if (e->p->ninsns == e->insns) {
    e->insns = e->insns ? 2 * e->insns : 64;
    e->p->insn = hone_heap_realloc(e->p->insn, (size_t)e->insns, sizeof *e->p->insn);
  }
  hone_insn *x = &e->p->insn[e->p->ninsns++];
  *x = (hone_insn){.op = op, .when = when, .b = HONE_NO_BUFFER, .body = -1};
  return x;
}

static hone_insn_body *push_body(emitter *e, hone_insn_op op, hone_predicate when)
{
  if (e->p->nbodies == e->bodies) {
    e->bodies = e->bodies ? 2 * e->bodies : 16;
    e->p->body = hone_heap_realloc(e->p->body, (size_t)e->bodies, sizeof *e->p->body);
  }
  push(e, op, when)->body = e->p->nbodies;
  hone_insn_body *b = &e->p->body[e->p->nbodies++];
  *b = (hone_insn_body){0};
  return b;
}

enum { NO_ROTATION = HONE_NO_BUFFER };

static void control(emitter *e, hone_insn_op op, int semaphore, int64_t n, int rotate, hone_predicate when)
{
  hone_insn *x = push(e, op, when);
  x->a = (uint8_t)semaphore;
  x->n = n;
  x->b = (uint8_t)rotate;
}

/* Loop positions of the tree -> loops open in this stream. */
static uint32_t mask_of(const emitter *e, hone_loopset set)
{
  uint32_t mask = 0;
  for (int i = 0; i < e->nopen; i++)
    if (set >> e->open[i].position & 1) mask |= UINT32_C(1) << i;
  return mask;
}

static hone_predicate when(const emitter *e, const hone_buffer *x, hone_visit visit, hone_edge edge)
{
  hone_predicate w = {0};
  uint32_t keys = mask_of(e, x->keys);
  if (keys != mask_of(e, ~(hone_loopset)0)) { /* when every open loop is a key, every turn is a visit of its own */
    w.visit = (uint8_t)visit;
    w.visit_mask = keys;
  }
  w.edge_mask = mask_of(e, x->reduced);
  if (w.edge_mask || edge == HONE_EDGE_NOT_FIRST || edge == HONE_EDGE_NOT_LAST)
    w.edge = (uint8_t)edge;
  if (!w.edge) w.edge_mask = 0;
  return w;
}

/* The range register of dim d as seen inside the first `position` loops. */
static uint8_t range_at(const emitter *e, int d, int position)
{
  for (int i = e->nopen; i-- > 0;)
    if (e->open[i].dim == d && e->open[i].position < position) return e->open[i].range;
  return (uint8_t)d;
}

static int axis_dim(const hone_access *a, int axis)
{
  const hone_affine *x = &a->axis[axis].affine;
  return x->nterms > 0 ? x->term[0].dim : -1;
}

static hone_operand dram_operand(const emitter *e, int buffer, hone_format format)
{
  const hone_buffer *x = &e->plan->e.buffer[buffer];
  const hone_tensor *t = &e->plan->op->tensor[x->tensor];
  hone_operand o = {.buffer = HONE_NO_BUFFER, .arg = (uint8_t)x->tensor, .format = (uint8_t)format, .rank = (uint8_t)t->rank};
  for (int a = 0; a < t->rank; a++) {
    int d = axis_dim(&x->access, a);
    o.inner[a] = d < 0 ? HONE_NO_RANGE : range_at(e, d, x->position);
    o.outer[a] = HONE_NO_RANGE;
    o.origin[a] = x->access.axis[a].affine.constant;
  }
  return o;
}

/* Buffer b as `access` sees it from inside the first `position` loops. */
static hone_operand local_operand(const emitter *e, int b, const hone_access *access, int position)
{
  const hone_buffer *x = &e->plan->e.buffer[b];
  int rank = e->plan->op->tensor[x->tensor].rank;
  hone_operand o = {.buffer = (uint8_t)b, .format = (uint8_t)x->format, .rank = (uint8_t)rank};
  int64_t stride = 1;
  for (int a = rank; a-- > 0; stride *= x->extent[a]) {
    int d = axis_dim(access, a), outer = axis_dim(&x->access, a);
    o.stride[a] = (int32_t)stride; /* at most the elements of a memory, checked by the caller */
    o.inner[a] = d < 0 ? HONE_NO_RANGE : range_at(e, d, position);
    o.outer[a] = outer < 0 || d < 0 ? HONE_NO_RANGE : range_at(e, outer, x->position);
    if (o.outer[a] == o.inner[a]) o.outer[a] = HONE_NO_RANGE;
  }
  return o;
}

/* The move between buffer b and its parent. */
static void emit_move(emitter *e, int b, bool drain, bool partial, hone_predicate w)
{
  const hone_buffer *x = &e->plan->e.buffer[b];
  hone_insn_op op = x->parent >= 0 ? HONE_INSN_COPY : drain ? HONE_INSN_STORE : HONE_INSN_LOAD;
  hone_format there = partial ? x->format : e->plan->op->tensor[x->tensor].format;
  hone_operand inside = local_operand(e, b, &x->access, x->position);
  hone_operand outside = x->parent >= 0 ? local_operand(e, x->parent, &x->access, x->position) : dram_operand(e, b, there);
  hone_insn_body *y = push_body(e, op, w);
  y->nreads = 1;
  y->read[0] = drain ? inside : outside;
  y->write = drain ? outside : inside;
  y->tensor = (uint8_t)x->tensor;
  y->level = (uint8_t)x->level;
  y->drain = drain;
  y->partial = partial && x->parent < 0;
}

static void emit_step(emitter *e, int stage)
{
  const hone_stage *st = &e->plan->op->stage[stage];
  const hone_schedule *s = e->plan->s;
  static const hone_insn_op step[HONE_STAGE_KIND_COUNT] = {
      [HONE_STAGE_CONTRACT] = HONE_INSN_MATMUL, [HONE_STAGE_MAP] = HONE_INSN_MAP, [HONE_STAGE_REDUCE] = HONE_INSN_REDUCE};
  hone_insn_body *y = push_body(e, step[st->kind], always);
  y->stage = (uint8_t)stage;
  y->nreads = (uint8_t)st->nreads;
  for (int r = 0; r < st->nreads; r++)
    y->read[r] = local_operand(e, e->plan->e.read_buffer[stage][r], &st->read[r], HONE_MAX_LOOPS);
  y->write = local_operand(e, e->plan->e.write_buffer[stage], &st->write, HONE_MAX_LOOPS);
  for (int d = 0; d < e->plan->op->ndims; d++)
    if (st->dims >> d & 1) y->iter[y->niter++] = range_at(e, d, HONE_MAX_LOOPS);
  for (int i = 0; hone_stage_accumulates(st) && i < e->nopen; i++)
    if (st->reduced >> e->open[i].dim & 1) y->zero_mask |= UINT32_C(1) << i;
  if (st->kind != HONE_STAGE_CONTRACT) {
    y->apply = st->apply;
    y->reduction = (uint8_t)st->reduction;
    return;
  }
  const hone_matrix *x = &e->plan->m->engine[s->engine[stage]].matrix;
  const hone_array_rate *rate = hone_machine_find_rate(x, e->plan->op->tensor[st->read[0].tensor].format,
                                                       e->plan->op->tensor[st->read[1].tensor].format, st->accumulator);
  y->rate = (uint8_t)(rate - x->rate);
  y->row = range_at(e, s->map_row[stage], HONE_MAX_LOOPS);
  y->column = range_at(e, s->map_column[stage], HONE_MAX_LOOPS);
  y->dataflow = s->dataflow[stage];
}

/* Waits until all who release copies of b have released one; rotates with the
 * first wait if asked to. */
static void wait_free(emitter *e, int b, int rotate)
{
  hone_predicate w = when(e, &e->plan->e.buffer[b], HONE_VISIT_NEW, HONE_EDGE_ALWAYS);
  for (int s = 0; s < e->plan->nstreams; s++) {
    if (e->plan->free[s][b] < 0) continue;
    control(e, HONE_INSN_WAIT, e->plan->free[s][b], 1, rotate, w);
    rotate = NO_ROTATION;
  }
  if (rotate != NO_ROTATION) control(e, HONE_INSN_EXPECT, 0, 0, rotate, w);
}

/* Before a read-back: a copy is free, the partial result has left. Visits that
 * start at zero belong to the writer; they are only counted here. */
static void emit_read_back(emitter *e, int b)
{
  const hone_plan *plan = e->plan;
  const hone_buffer *x = &plan->e.buffer[b];
  int drain = plan->drain_stream[b], copy = plan->free[drain][b];
  hone_predicate first = when(e, x, HONE_VISIT_NEW, HONE_EDGE_FIRST), again = when(e, x, HONE_VISIT_NEW, HONE_EDGE_NOT_FIRST);
  if (copy >= 0 && !(drain == e->s && hone_plan_in_order(plan, drain))) {
    control(e, HONE_INSN_EXPECT, copy, 1, b, first);
    control(e, HONE_INSN_WAIT, copy, 1, b, again);
  } else {
    control(e, HONE_INSN_EXPECT, 0, 0, b, when(e, x, HONE_VISIT_NEW, HONE_EDGE_ALWAYS));
  }
  if (plan->partial[b] >= 0) control(e, HONE_INSN_WAIT, plan->partial[b], plan->ordered[b], NO_ROTATION, again);
  emit_move(e, b, false, true, again);
  if (plan->loaded[b] >= 0) control(e, HONE_INSN_SIGNAL, plan->loaded[b], 1, NO_ROTATION, again);
}

static void emit_fill(emitter *e, int b)
{
  const hone_buffer *x = &e->plan->e.buffer[b];
  if (x->kind == HONE_BUFFER_WRITTEN) {
    emit_read_back(e, b);
    return;
  }
  hone_predicate w = when(e, x, HONE_VISIT_NEW, HONE_EDGE_ALWAYS);
  wait_free(e, b, b);
  emit_move(e, b, false, false, w);
  if (e->plan->full[b] >= 0) control(e, HONE_INSN_SIGNAL, e->plan->full[b], 1, NO_ROTATION, w);
}

static void emit_drain(emitter *e, int b)
{
  const hone_plan *plan = e->plan;
  const hone_buffer *x = &plan->e.buffer[b];
  hone_predicate last = when(e, x, HONE_VISIT_LAST, HONE_EDGE_ALWAYS);
  hone_predicate partial = when(e, x, HONE_VISIT_LAST, HONE_EDGE_NOT_LAST);
  bool rotated = plan->part[e->s][b].roles & ~HONE_ROLE_DRAINS;
  if (plan->full[b] >= 0) control(e, HONE_INSN_WAIT, plan->full[b], 1, rotated ? NO_ROTATION : b, last);
  if (plan->returns[b]) emit_move(e, b, true, true, partial);
  emit_move(e, b, true, false, plan->returns[b] ? when(e, x, HONE_VISIT_LAST, HONE_EDGE_LAST) : last);
  if (plan->free[e->s][b] >= 0) control(e, HONE_INSN_SIGNAL, plan->free[e->s][b], 1, NO_ROTATION, last);
  if (plan->partial[b] >= 0) control(e, HONE_INSN_SIGNAL, plan->partial[b], 1, NO_ROTATION, partial);
}

/* A writer, or the read-back of the child, enters a visit of a written buffer:
 * either it starts at zero in a free copy, or it has been read back. */
static void acquire_written(emitter *e, int b)
{
  const hone_plan *plan = e->plan;
  const hone_buffer *x = &plan->e.buffer[b];
  unsigned roles = plan->part[e->s][b].roles;
  bool rotated = roles & HONE_ROLE_FILLS;
  int copy = roles & HONE_ROLE_WRITES ? plan->free[plan->drain_stream[b]][b] : -1;
  hone_predicate any = when(e, x, HONE_VISIT_NEW, HONE_EDGE_ALWAYS), first = when(e, x, HONE_VISIT_NEW, HONE_EDGE_FIRST);
  hone_predicate again = when(e, x, HONE_VISIT_NEW, HONE_EDGE_NOT_FIRST);
  if (copy >= 0 && !plan->returns[b])
    control(e, HONE_INSN_WAIT, copy, 1, b, any);
  else if (copy >= 0 && rotated)
    control(e, HONE_INSN_WAIT, copy, 0, NO_ROTATION, first); /* counted by its own read-back */
  else if (copy >= 0) {
    control(e, HONE_INSN_WAIT, copy, 1, b, first);
    control(e, HONE_INSN_EXPECT, copy, 1, b, again);
  } else if (!rotated) {
    control(e, HONE_INSN_EXPECT, 0, 0, b, any);
  }
  if (plan->loaded[b] >= 0 && !(rotated && hone_plan_in_order(plan, e->s)))
    control(e, HONE_INSN_WAIT, plan->loaded[b], 1, NO_ROTATION, again);
}

static void emit_acquire(emitter *e, int b)
{
  const hone_buffer *x = &e->plan->e.buffer[b];
  unsigned roles = e->plan->part[e->s][b].roles;
  bool own = hone_plan_in_order(e->plan, e->s) && (roles & (HONE_ROLE_FILLS | HONE_ROLE_WRITES));
  hone_predicate w = when(e, x, HONE_VISIT_NEW, HONE_EDGE_ALWAYS);
  if (x->kind == HONE_BUFFER_WRITTEN)
    acquire_written(e, b);
  else if (roles & HONE_ROLE_WRITES)
    wait_free(e, b, b);
  else if (!(roles & HONE_ROLE_READS))
    control(e, HONE_INSN_EXPECT, 0, 0, b, w); /* reads back what the writer has put there */
  else if (!own)
    control(e, HONE_INSN_WAIT, e->plan->full[b], 1, roles & HONE_ROLE_FILLS ? NO_ROTATION : b, w);
}

static void emit_release(emitter *e, int b, bool written)
{
  const hone_plan *plan = e->plan;
  const hone_buffer *x = &plan->e.buffer[b];
  int semaphore = written ? plan->full[b] : x->kind == HONE_BUFFER_WRITTEN ? -1 : plan->free[e->s][b];
  if (semaphore >= 0) control(e, HONE_INSN_SIGNAL, semaphore, 1, NO_ROTATION, when(e, x, HONE_VISIT_LAST, HONE_EDGE_ALWAYS));
}

/* At child c of a loop body: outer memory first, then tensor order, as fills. */
static void emit_acquires(emitter *e, int c)
{
  const hone_events *ev = &e->plan->e;
  for (int l = 1; l < ev->nlevels; l++)
    for (int t = 0; t < e->plan->op->ntensors; t++)
      for (int b = 0; b < ev->nbuffers; b++)
        if (ev->buffer[b].level == l && ev->buffer[b].tensor == t && e->plan->part[e->s][b].first == c) emit_acquire(e, b);
}

static void emit_releases(emitter *e, int c)
{
  for (int b = 0; b < e->plan->e.nbuffers; b++) {
    if (e->plan->part[e->s][b].last_write == c) emit_release(e, b, true);
    if (e->plan->part[e->s][b].last_read == c) emit_release(e, b, false);
  }
}

/* The tensor that node i fills from (or drains to) DRAM, -1. */
static int dram_tensor(const hone_plan *plan, int i, hone_node_kind kind)
{
  const hone_event_node *x = &plan->e.node[i];
  if (x->kind != kind || plan->e.buffer[x->index].parent >= 0) return -1;
  return kind == HONE_NODE_FILL && plan->e.buffer[x->index].kind != HONE_BUFFER_READ ? -1 : plan->e.buffer[x->index].tensor;
}

/* Stage done: the first root child that reads tensor t from DRAM waits once, the
 * last that stores it signals once, whatever the number of transfers. */
static void emit_done(emitter *e, int c, bool before)
{
  const hone_plan *plan = e->plan;
  hone_node_kind kind = before ? HONE_NODE_FILL : HONE_NODE_DRAIN;
  for (int t = 0; t < plan->op->ntensors; t++) {
    if (plan->done[t] < 0) continue;
    bool here = false, elsewhere = false;
    for (int i = 0; i < plan->e.nnodes; i++) {
      if (hone_plan_event_stream(plan, i) != e->s || dram_tensor(plan, i, kind) != t) continue;
      bool inside = i >= c && i < plan->e.node[c].end;
      here |= inside;
      elsewhere |= before ? i < c : !inside && i > c;
    }
    if (here && !elsewhere) control(e, before ? HONE_INSN_WAIT : HONE_INSN_SIGNAL, plan->done[t], 1, NO_ROTATION, always);
  }
}

static bool concerns(const emitter *e, int from)
{
  for (int i = from; i < e->plan->e.node[from].end; i++)
    if (hone_plan_event_stream(e->plan, i) == e->s) return true;
  return false;
}

/* A read-back that may follow any earlier drain waits for all of them. */
static void count_partial_drain(emitter *e, const hone_event_node *x)
{
  const hone_plan *plan = e->plan;
  int b = x->index;
  if (x->kind != HONE_NODE_DRAIN || plan->fill_stream[b] != e->s || plan->partial[b] < 0 || plan->ordered[b]) return;
  control(e, HONE_INSN_EXPECT, plan->partial[b], 1, NO_ROTATION,
          when(e, &plan->e.buffer[b], HONE_VISIT_LAST, HONE_EDGE_NOT_LAST));
}

static void walk(emitter *e, int from, int end);

static void emit_loop(emitter *e, int node)
{
  const hone_event_node *x = &e->plan->e.node[node];
  const hone_loop *l = &e->plan->e.loop[x->index];
  uint8_t parent = range_at(e, l->dim, HONE_MAX_LOOPS), range = (uint8_t)(e->plan->op->ndims + e->nopen);
  hone_insn *loop = push(e, HONE_INSN_LOOP, always);
  loop->a = range;
  loop->b = parent;
  loop->n = l->step;
  e->open[e->nopen].position = x->index;
  e->open[e->nopen].dim = l->dim;
  e->open[e->nopen++].range = range;
  walk(e, node + 1, x->end);
  e->nopen--;
  push(e, HONE_INSN_END, always);
}

static void emit_node(emitter *e, int node)
{
  const hone_event_node *x = &e->plan->e.node[node];
  if (x->kind == HONE_NODE_LOOP)
    emit_loop(e, node);
  else if (x->kind == HONE_NODE_FILL)
    emit_fill(e, x->index);
  else if (x->kind == HONE_NODE_DRAIN)
    emit_drain(e, x->index);
  else
    emit_step(e, x->index);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the loops, at most HONE_MAX_OPEN. */
static void walk(emitter *e, int from, int end)
{
  for (int i = from; i < end; i = e->plan->e.node[i].end) {
    count_partial_drain(e, &e->plan->e.node[i]);
    if (!concerns(e, i)) continue;
    if (e->nopen == 0) emit_done(e, i, true);
    emit_acquires(e, i);
    emit_node(e, i);
    emit_releases(e, i);
    if (e->nopen == 0) emit_done(e, i, false);
  }
}

static void copy_tables(const hone_plan *plan, hone_program *p)
{
  p->ndims = plan->op->ndims;
  p->nargs = plan->op->ntensors;
  p->nbuffers = plan->e.nbuffers;
  p->nsemaphores = plan->nsemaphores;
  p->stream = hone_heap_alloc((size_t)plan->nstreams + 1, sizeof *p->stream);
  p->buffer = hone_heap_alloc((size_t)p->nbuffers + 1, sizeof *p->buffer);
  p->semaphore = hone_heap_alloc((size_t)p->nsemaphores + 1, sizeof *p->semaphore);
  for (int b = 0; b < p->nbuffers; b++) {
    const hone_buffer *x = &plan->e.buffer[b];
    p->buffer[b] = (hone_program_buffer){.level = (uint8_t)x->level, .copies = (uint8_t)x->depth, .tensor = (uint8_t)x->tensor,
                                         .slot_bytes = x->bytes};
  }
  for (int s = 0; s < p->nsemaphores; s++) p->semaphore[s] = plan->semaphore[s];
}

void hone_plan_emit(const hone_plan *plan, hone_program *p)
{
  emitter e = {.plan = plan, .p = p};
  copy_tables(plan, p);
  for (int s = 0; s < plan->nstreams; s++) {
    e.s = s;
    int first = p->ninsns;
    walk(&e, 0, plan->e.nnodes);
    push(&e, HONE_INSN_HALT, always);
    p->stream[s] = plan->stream[s];
    p->stream[s].first = first;
    p->stream[s].count = p->ninsns - first;
  }
  p->nstreams = plan->nstreams;
}
