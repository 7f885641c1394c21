/* What every stream does and which semaphores tie them together.
 *
 * Streams: fills and read-backs over the load queues, drains over the store
 * queues, one buffer after the other round robin; moves of the vector engine and
 * steps on their engines. Semaphores per buffer: `full` says data is present,
 * `free` (one per stream that releases it) a copy is free, `loaded` a read-back
 * has arrived, `partial` a partial result has left; `done` per tensor that goes
 * through DRAM between stages. Those that nothing needs are left out: between
 * two parts of one engine's stream, and `free` of a buffer with no more visits
 * than copies. */
#include "config.h"

#include "backend/backend_int.h"

#include <string.h>

static bool in_set(hone_loopset s, int i)
{
  return (s >> i & 1) != 0;
}

bool hone_plan_in_order(const hone_plan *plan, int stream)
{
  return plan->stream[stream].kind == HONE_STREAM_ENGINE;
}

static int find_stream(hone_plan *plan, hone_stream_kind kind, int unit)
{
  for (int i = 0; i < plan->nstreams; i++)
    if (plan->stream[i].kind == kind && plan->stream[i].unit == unit) return i;
  if (plan->nstreams == HONE_MAX_STREAMS) return -1;
  plan->stream[plan->nstreams] = (hone_stream){.kind = kind, .unit = (uint8_t)unit};
  return plan->nstreams++;
}

static int last_of(hone_loopset s)
{
  return 63 - __builtin_clzll(s);
}

/* A buffer leaves and returns when a key loop turns inside a reduced one. */
static bool returns(const hone_buffer *x)
{
  return x->kind == HONE_BUFFER_WRITTEN && x->reduced && x->keys && __builtin_ctzll(x->reduced) < last_of(x->keys);
}

/* With one reduced loop around key loops, drain i and read-back i hold the same
 * box; with more, a read-back may follow any earlier drain. */
static bool ordered(const hone_buffer *x)
{
  int outside = 0;
  for (int i = 0; i < last_of(x->keys); i++) outside += in_set(x->reduced, i);
  return outside == 1;
}

static int mover_stream(hone_plan *plan, int buffer, bool fill, int *turn)
{
  const hone_buffer *x = &plan->e.buffer[buffer];
  int outer = x->parent < 0 ? 0 : plan->e.buffer[x->parent].level;
  if (x->mover == HONE_MOVE_DMA) {
    int queues = fill ? plan->m->dma.load_queues : plan->m->dma.store_queues;
    return queues < 1 ? -1 : find_stream(plan, fill ? HONE_STREAM_LOAD : HONE_STREAM_STORE, (*turn)++ % queues);
  }
  int e = outer == 0 ? -1 : fill ? hone_machine_mover(plan->m, outer, x->level) : hone_machine_mover(plan->m, x->level, outer);
  return e < 0 ? -1 : find_stream(plan, HONE_STREAM_ENGINE, e);
}

static hone_status no_mover(const hone_plan *plan, int buffer, hone_err *err)
{
  const hone_buffer *x = &plan->e.buffer[buffer];
  int outer = x->parent < 0 ? 0 : plan->e.buffer[x->parent].level;
  return hone_err_set(err, HONE_UNSUPPORTED, "backend.mover", "nothing moves %s between %s and %s", plan->op->tensor[x->tensor].name,
                      plan->m->memory[outer].name, plan->m->memory[x->level].name);
}

static hone_status assign_streams(hone_plan *plan, hone_err *err)
{
  int turn = 0;
  for (int b = 0; b < plan->e.nbuffers; b++) {
    const hone_buffer *x = &plan->e.buffer[b];
    plan->returns[b] = returns(x);
    plan->ordered[b] = plan->returns[b] && ordered(x);
    plan->fill_stream[b] = plan->drain_stream[b] = -1;
    if (x->kind == HONE_BUFFER_LOCAL || (x->kind == HONE_BUFFER_WRITTEN && !plan->returns[b])) continue;
    if ((plan->fill_stream[b] = mover_stream(plan, b, true, &turn)) < 0) return no_mover(plan, b, err);
  }
  turn = 0;
  for (int b = 0; b < plan->e.nbuffers; b++)
    if (plan->e.buffer[b].kind == HONE_BUFFER_WRITTEN && (plan->drain_stream[b] = mover_stream(plan, b, false, &turn)) < 0)
      return no_mover(plan, b, err);
  for (int s = 0; s < plan->op->nstages; s++) plan->step_stream[s] = find_stream(plan, HONE_STREAM_ENGINE, plan->s->engine[s]);
  return HONE_OK;
}

static void find_loops_around(hone_plan *plan)
{
  int open[HONE_MAX_LOOPS], n = 0;
  for (int i = 0; i < plan->e.nnodes; i++) {
    while (n > 0 && plan->e.node[open[n - 1]].end <= i) n--;
    plan->around[i] = (int16_t)(n > 0 ? open[n - 1] : -1);
    if (plan->e.node[i].kind == HONE_NODE_LOOP) open[n++] = i;
  }
}

int hone_plan_event_stream(const hone_plan *plan, int node)
{
  const hone_event_node *x = &plan->e.node[node];
  if (x->kind == HONE_NODE_FILL) return plan->fill_stream[x->index];
  if (x->kind == HONE_NODE_DRAIN) return plan->drain_stream[x->index];
  return x->kind == HONE_NODE_STEP ? plan->step_stream[x->index] : -1;
}

int hone_plan_climb(const hone_plan *plan, int i, int position)
{
  while (plan->around[i] >= 0 && plan->e.node[plan->around[i]].index >= position) i = plan->around[i];
  return i;
}

/* Node i uses buffer b in this role: note the child of b's body it lies in. */
static void add_use(hone_plan *plan, int stream, int b, unsigned role, int i)
{
  hone_part *p = &plan->part[stream][b];
  int16_t child = (int16_t)hone_plan_climb(plan, i, plan->e.buffer[b].position);
  p->roles |= (uint8_t)role;
  if (p->first < 0 || child < p->first) p->first = child;
  if (role == HONE_ROLE_READS && child > p->last_read) p->last_read = child;
  if (role == HONE_ROLE_WRITES && child > p->last_write) p->last_write = child;
}

static void add_step_uses(hone_plan *plan, int stream, int stage, int node)
{
  for (int r = 0; r < plan->op->stage[stage].nreads; r++)
    add_use(plan, stream, plan->e.read_buffer[stage][r], HONE_ROLE_READS, node);
  add_use(plan, stream, plan->e.write_buffer[stage], HONE_ROLE_WRITES, node);
}

static void assign_parts(hone_plan *plan)
{
  for (int s = 0; s < plan->nstreams; s++)
    for (int b = 0; b < plan->e.nbuffers; b++)
      plan->part[s][b] = (hone_part){.first = -1, .last_read = -1, .last_write = -1};
  for (int i = 0; i < plan->e.nnodes; i++) {
    const hone_event_node *x = &plan->e.node[i];
    int s = hone_plan_event_stream(plan, i);
    if (s < 0) continue;
    if (x->kind == HONE_NODE_STEP) {
      add_step_uses(plan, s, x->index, i);
      continue;
    }
    const hone_buffer *b = &plan->e.buffer[x->index];
    bool fill = x->kind == HONE_NODE_FILL;
    plan->part[s][x->index].roles |= fill ? HONE_ROLE_FILLS : HONE_ROLE_DRAINS;
    if (b->parent >= 0)
      add_use(plan, s, b->parent, !fill ? HONE_ROLE_WRITES : b->kind == HONE_BUFFER_READ ? HONE_ROLE_READS : HONE_ROLE_BACKS, i);
  }
}

static int16_t add_semaphore(hone_plan *plan, int buffer, int role, int64_t initial)
{
  if (plan->nsemaphores == 256) {
    plan->too_many = true;
    return 0;
  }
  plan->semaphore[plan->nsemaphores] =
      (hone_program_semaphore){.initial = initial, .buffer = (uint8_t)buffer, .role = (uint8_t)role};
  return (int16_t)plan->nsemaphores++;
}

/* At most how often is the buffer visited? Saturates. */
static int64_t visits(const hone_plan *plan, int b)
{
  const hone_buffer *x = &plan->e.buffer[b];
  int64_t n = 1;
  if (!x->keys) return 1;
  for (int i = 0; i < plan->e.nnodes; i++) {
    const hone_event_node *l = &plan->e.node[i];
    if (l->kind == HONE_NODE_LOOP && l->index <= last_of(x->keys) && (l->stages & x->stages) == x->stages &&
        !hone_checked_mul(n, plan->e.loop[l->index].trips, &n))
      return INT64_MAX;
  }
  return n;
}

/* The stream that makes the buffer's contents, by fill or by writing. */
static int producer(const hone_plan *plan, int b)
{
  if (plan->e.buffer[b].kind == HONE_BUFFER_READ) return plan->fill_stream[b];
  for (int s = 0; s < plan->nstreams; s++)
    if (plan->part[s][b].roles & HONE_ROLE_WRITES) return s;
  return -1;
}

static bool releases(const hone_plan *plan, int s, int b)
{
  unsigned roles = plan->part[s][b].roles;
  return plan->e.buffer[b].kind == HONE_BUFFER_WRITTEN ? (roles & HONE_ROLE_DRAINS) != 0 : (roles & HONE_ROLE_READS) != 0;
}

static void assign_semaphores(hone_plan *plan, int b)
{
  const hone_buffer *x = &plan->e.buffer[b];
  int from = producer(plan, b);
  bool scarce = visits(plan, b) > x->depth;
  plan->full[b] = plan->loaded[b] = plan->partial[b] = -1;
  for (int s = 0; s < plan->nstreams; s++) {
    plan->free[s][b] = -1;
    if (!releases(plan, s, b)) continue;
    bool same = s == from && hone_plan_in_order(plan, s);
    if (!same && plan->full[b] < 0) plan->full[b] = add_semaphore(plan, b, 0, 0);
    if (!same && scarce) plan->free[s][b] = add_semaphore(plan, b, 1, x->depth);
  }
  if (!plan->returns[b]) return;
  int back = plan->fill_stream[b], drain = plan->drain_stream[b];
  bool alone = hone_plan_in_order(plan, back);
  for (int s = 0; s < plan->nstreams; s++)
    if (s != back && (plan->part[s][b].roles & (HONE_ROLE_WRITES | HONE_ROLE_BACKS))) alone = false;
  if (!alone) plan->loaded[b] = add_semaphore(plan, b, 0, 0);
  if (back != drain || !hone_plan_in_order(plan, back)) plan->partial[b] = add_semaphore(plan, b, 2, 0);
}

/* Tensors a stage reads from DRAM after another stage has written them there. */
static void assign_done(hone_plan *plan)
{
  for (int t = 0; t < plan->op->ntensors; t++) {
    plan->done[t] = -1;
    for (int b = 0; b < plan->e.nbuffers; b++) {
      const hone_buffer *x = &plan->e.buffer[b];
      if (x->tensor != t || x->kind != HONE_BUFFER_READ || x->parent >= 0 || hone_operator_writer(plan->op, t) < 0) continue;
      plan->done[t] = add_semaphore(plan, HONE_NO_BUFFER, 3, 0);
      break;
    }
  }
}

hone_status hone_plan_make(hone_plan *plan, hone_err *err)
{
  plan->nstreams = plan->nsemaphores = 0;
  plan->too_many = false;
  find_loops_around(plan);
  hone_status st = assign_streams(plan, err);
  if (st) return st;
  assign_parts(plan);
  for (int b = 0; b < plan->e.nbuffers; b++) assign_semaphores(plan, b);
  assign_done(plan);
  if (plan->nsemaphores > plan->m->sequencer.semaphores && !plan->too_many) hone_plan_share(plan);
  return HONE_OK;
}
