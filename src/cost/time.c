/* Estimated time of one schedule, of the first (busiest) core.
 *
 * Resources are the engines, the DMA of the core and the DRAM shared by all
 * cores; each is busy for what its events need alone. The event tree is then
 * folded from the inside out, in totals over all visits: the time of a list of
 * events is at least what its resources need and at least what its parts need;
 * a buffer of depth n lets n - 1 transfers run ahead of their use, so over V
 * transfers of latency l around an inside that takes T,
 *
 *     depth 1    T + V * l             fill and use take turns
 *     depth n    max(T, (T + V * l) / n)
 *
 * Joined stages take turns likewise at their intermediate. Before the first step
 * and after the last the chain of memories is passed once with nothing to
 * overlap: prologue and epilogue. */
#include "config.h"

#include <string.h>

#include "cost/cost_int.h"

enum { DMA = HONE_MAX_ENGINES, DRAM, RESOURCES };

typedef struct {
  hone_evaluation *v;
  double busy[HONE_MAX_BUFFERS][2]; /* of all fills, all drains of a buffer: the mover's occupancy */
  double wait[HONE_MAX_BUFFERS][2]; /* latency of one fill, one drain: allowed to done */
  double total[RESOURCES];
} timing;

/* What a list of events needs over all its visits. */
typedef struct {
  double time;
  double need[RESOURCES];
} span;

static double rate_of(hone_rate r) { return (double)r.num / (double)r.den; }
static double larger(double a, double b) { return a > b ? a : b; }

/* Bytes of one contiguous run of the buffer's box in DRAM. */
static double run_bytes(const timing *t, const hone_buffer *b)
{
  const hone_operator *op = &t->v->c->op;
  const hone_tensor *x = &op->tensor[b->tensor];
  const uint8_t *layout = x->layout[t->v->s->layout[b->tensor]];
  double run = hone_format_bits(x->format) / 8;
  for (int i = x->rank - 1; i >= 0; i--) {
    run *= (double)b->extent[layout[i]];
    if (b->extent[layout[i]] < x->extent[layout[i]]) break;
  }
  return run;
}

/* Occupancy and latency of `visits` transfers of `bytes` in all through the DMA. */
static void dma_transfer(timing *t, const hone_buffer *b, int drain, double visits, double bytes, double payload)
{
  const hone_machine *m = &t->v->c->m;
  double run = run_bytes(t, b), burst = (double)m->dma.burst_bytes;
  double cost = bytes * (run < burst ? burst / run : 1), access = (double)m->dram.access_bytes;
  double dram = payload * (run < access ? access / run : 1);
  double rate = rate_of(m->dma.rate);
  t->busy[b - t->v->e.buffer][drain] = cost / rate;
  t->wait[b - t->v->e.buffer][drain] = (double)(m->dma.setup_cycles + m->memory[0].latency_cycles) + cost / rate / larger(visits, 1);
  t->total[DMA] += cost / rate;
  if (b->parent < 0) t->total[DRAM] += dram / rate_of(hone_machine_dram_stream(m)) * t->v->c->cores;
}

static void vector_transfer(timing *t, const hone_buffer *b, int drain, double visits, double elements)
{
  const hone_machine *m = &t->v->c->m;
  int outer = b->parent < 0 ? 0 : t->v->e.buffer[b->parent].level;
  int e = drain ? hone_machine_mover(m, b->level, outer) : hone_machine_mover(m, outer, b->level);
  if (e < 0 || visits < 1) return;
  const hone_vector *x = &m->engine[e].vector;
  double busy = visits * (double)x->startup_cycles + elements / rate_of(x->rate[HONE_COST_SIMPLE]);
  t->busy[b - t->v->e.buffer][drain] = busy;
  t->wait[b - t->v->e.buffer][drain] = busy / visits;
  t->total[e] += busy;
}

static void time_buffer(timing *t, int i)
{
  const hone_buffer *b = &t->v->e.buffer[i];
  const hone_visits *n = &t->v->first_visits[i];
  double width = hone_format_bits(b->format) / 8;
  for (int drain = 0; drain < 2; drain++) {
    t->busy[i][drain] = t->wait[i][drain] = 0;
    double visits = (double)n->visits, elements = (double)n->elements;
    if (b->kind == HONE_BUFFER_LOCAL || (b->kind == HONE_BUFFER_READ && drain)) continue;
    if (b->kind == HONE_BUFFER_WRITTEN && !drain) {
      visits -= (double)n->distinct;
      elements -= (double)n->coverage;
    }
    if (visits < 1) continue;
    if (b->mover == HONE_MOVE_VECTOR)
      vector_transfer(t, b, drain, visits, elements);
    else
      dma_transfer(t, b, drain, visits, elements * width, elements * width);
  }
}

static span fold(const timing *t, int from, int end);

/* Engine of the transfers of a buffer as a resource. */
static void need_transfer(const timing *t, int i, int drain, span *s)
{
  const hone_buffer *b = &t->v->e.buffer[i];
  int outer = b->parent < 0 ? 0 : t->v->e.buffer[b->parent].level;
  int e = DMA;
  if (b->mover == HONE_MOVE_VECTOR)
    e = drain ? hone_machine_mover(&t->v->c->m, b->level, outer) : hone_machine_mover(&t->v->c->m, outer, b->level);
  if (e >= 0) s->need[e] += t->busy[i][drain];
}

static span fold_step(const timing *t, int stage)
{
  span s = {.time = (double)t->v->work[stage].busy_cycles};
  s.need[t->v->s->engine[stage]] = s.time;
  return s;
}

/* Joins or follows the part before it: turns in full at depth 1 and through
 * DRAM, else in parallel. */
static void append(const timing *t, span *all, const span *part, int depth)
{
  (void)t;
  double sum = all->time + part->time, longest = larger(all->time, part->time);
  all->time = depth > 1 ? larger(longest, sum / depth) : sum;
  for (int r = 0; r < RESOURCES; r++) all->need[r] += part->need[r];
}

/* Depth of the intermediate between the stages before and those of `stages`. */
static int local_depth(const timing *t, uint32_t before, uint32_t stages)
{
  int depth = 0;
  for (int i = 0; i < t->v->e.nbuffers; i++) {
    const hone_buffer *b = &t->v->e.buffer[i];
    if (b->kind != HONE_BUFFER_LOCAL || !(b->stages & before) || !(b->stages & stages)) continue;
    if (depth == 0 || b->depth < depth) depth = b->depth;
  }
  return depth > 0 ? depth : 1;
}

static span fold(const timing *t, int from, int end)
{
  const hone_evaluation *v = t->v;
  span all = {0};
  uint32_t seen = 0;
  for (int i = from; i < end; i = v->e.node[i].end) {
    const hone_event_node *n = &v->e.node[i];
    if (n->kind == HONE_NODE_FILL || n->kind == HONE_NODE_DRAIN) continue;
    span part = n->kind == HONE_NODE_LOOP ? fold(t, i + 1, n->end) : fold_step(t, n->index);
    if (seen)
      append(t, &all, &part, local_depth(t, seen, n->stages));
    else
      all = part;
    seen |= n->stages;
  }
  double turns[2] = {0, 0}, ahead = 0;
  for (int i = from; i < end; i = v->e.node[i].end) {
    const hone_event_node *n = &v->e.node[i];
    if (n->kind != HONE_NODE_FILL && n->kind != HONE_NODE_DRAIN) continue;
    int drain = n->kind == HONE_NODE_DRAIN;
    const hone_buffer *b = &v->e.buffer[n->index];
    const hone_visits *c = &v->first_visits[n->index];
    double visits = (double)(b->kind == HONE_BUFFER_WRITTEN && !drain ? c->visits - c->distinct : c->visits);
    double waits = visits * t->wait[n->index][drain];
    need_transfer(t, n->index, drain, &all);
    if (b->depth == 1 && visits > 1)
      turns[drain] = larger(turns[drain], waits);
    else if (visits > 1)
      ahead = larger(ahead, (all.time + waits) / b->depth);
  }
  all.time = larger(all.time + turns[0] + turns[1], ahead);
  for (int r = 0; r < RESOURCES; r++) all.time = larger(all.time, all.need[r]);
  return all;
}

/* The first fills on the way to the first step: the slowest chain of reads. */
static double prologue(const timing *t)
{
  double longest = 0;
  for (int i = 0; i < t->v->e.nbuffers; i++) {
    double chain = 0;
    if (t->v->e.buffer[i].kind != HONE_BUFFER_READ) continue;
    for (int k = i; k >= 0; k = t->v->e.buffer[k].parent) chain += t->wait[k][0];
    longest = larger(longest, chain);
  }
  return longest;
}

/* The last results on their way out. */
static double epilogue(const timing *t)
{
  double longest = 0;
  for (int s = 0; s < t->v->c->op.nstages; s++) {
    double chain = 0;
    const hone_engine *e = &t->v->c->m.engine[t->v->s->engine[s]];
    if (e->kind == HONE_ENGINE_MATRIX) chain += (double)e->matrix.latency_cycles;
    for (int k = t->v->e.write_buffer[s]; k >= 0; k = t->v->e.buffer[k].parent) chain += t->wait[k][1];
    longest = larger(longest, chain);
  }
  return longest;
}

static const struct {
  hone_cause cause;
} resource_cause[] = {[DMA] = {HONE_CAUSE_DMA}, [DRAM] = {HONE_CAUSE_DRAM}};

static hone_cause cause_of(const timing *t, int resource)
{
  if (resource >= DMA) return resource_cause[resource].cause;
  return t->v->c->m.engine[resource].kind == HONE_ENGINE_MATRIX ? HONE_CAUSE_MATRIX : HONE_CAUSE_VECTOR;
}

static int64_t whole(double cycles) { return (int64_t)(cycles + 0.5); }

void hone_cost_time(hone_evaluation *v, hone_cost *out)
{
  timing t = {.v = v};
  hone_cuts_make(&v->c->op, v->s, &v->e, HONE_CUTS_FIRST, &v->first);
  for (int i = 0; i < v->e.nbuffers; i++) {
    const hone_buffer *b = &v->e.buffer[i];
    int stage = __builtin_ctz(b->stages);
    if (b->kind != HONE_BUFFER_LOCAL)
      hone_visits_count(&v->e, &v->first, v->c->op.stage[stage].dims, b->dims, b->position, &v->first_visits[i], &v->over);
    time_buffer(&t, i);
  }
  for (int s = 0; s < v->c->op.nstages; s++) {
    hone_cost_work(v, s, &v->first, &v->work[s]);
    t.total[v->s->engine[s]] += (double)v->work[s].busy_cycles;
  }
  int top = 0;
  for (int r = 1; r < RESOURCES; r++) {
    if (t.total[r] > t.total[top]) top = r;
  }
  span all = fold(&t, 0, v->e.nnodes);
  memset(out->by_cause, 0, sizeof out->by_cause);
  out->bottleneck = cause_of(&t, top);
  out->by_cause[out->bottleneck] = whole(t.total[top]);
  out->by_cause[HONE_CAUSE_SERIAL] = whole(larger(all.time - t.total[top], 0));
  out->by_cause[HONE_CAUSE_PROLOGUE] = whole(prologue(&t));
  out->by_cause[HONE_CAUSE_EPILOGUE] = whole(epilogue(&t));
  out->cycles = 0;
  for (int c = 0; c < HONE_CAUSE_COUNT; c++) out->cycles += out->by_cause[c];
  out->busy_matrix = out->busy_vector = 0;
  for (int r = 0; r < DMA; r++) {
    int64_t *busy = cause_of(&t, r) == HONE_CAUSE_MATRIX ? &out->busy_matrix : &out->busy_vector;
    *busy = hone_max64(*busy, whole(t.total[r]));
  }
  out->busy_dma = whole(t.total[DMA]);
  out->busy_dram = whole(t.total[DRAM]);
  out->energy_fj = -1;
}
