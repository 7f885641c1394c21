/* Estimated time of one schedule, of the first core, whose blocks are largest.
 *
 * Flows. The fills and the drains of a buffer are a flow: `visits` transfers that
 * occupy a mover (and the DRAM) for `busy` in all, and each take `wait` from being
 * allowed to being done. DMA and DRAM work on the contiguous runs of a box: a run
 * costs the DMA at least burst_bytes, the DRAM whole accesses and, when it is
 * shorter than a row, the share of a row miss that other banks do not hide.
 *
 * Fold. The event tree is folded from the inside out, in totals over all visits.
 * A list of events takes at least what it contains and what each resource needs.
 * A buffer with n copies is a ring of n slots; a slot is filled, used and released
 * in turn, so with V visits around an inside of T, each use T / V and each turn
 * `o` (transfer and completion latencies),
 *
 *     time >= V / n * (T / V + o) - o          (the first turn is in the prologue)
 *
 * When a buffer's only user is another buffer one step nearer the engine that is
 * filled as often, its use is just that move. Buffers of one copy next to the
 * engine all stop the same engine: their turns overlap when they fall on the same
 * visit, so V1 turns of o1 and V2 > V1 of o2 < o1 cost V1 o1 + (V2 - V1) o2.
 * Joined stages take turns at their intermediate by the same rule.
 *
 * Before the first step and after the last, the chain of memories is passed once
 * with nothing to overlap: prologue and epilogue. */
#include "config.h"

#include <string.h>

#include "cost/cost_int.h"

enum { DMA = HONE_MAX_ENGINES, DRAM, RESOURCES };
enum { FILL, DRAIN };
enum { INSTRUCTIONS = 3 }; /* a stream issues around one event: wait, event, signal */

typedef struct {
  double visits, busy, dram, wait;
  int mover; /* resource */
} flow;

typedef struct {
  hone_evaluation *v;
  const hone_rates *k;
  flow flow[HONE_MAX_BUFFERS][2];
  double issue;
} timing;

/* What a list of events needs over all its visits. */
typedef struct {
  double time;
  double need[RESOURCES];
} span;

static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }

/* ---- Flows ---- */

/* Contiguous run of the average box, in elements. */
static double run_elements(const timing *t, const hone_buffer *b)
{
  const hone_tensor *x = &t->v->c->op.tensor[b->tensor];
  const uint8_t *layout = x->layout[t->v->s->layout[b->tensor]];
  double run = 1;
  for (int i = x->rank - 1; i >= 0; i--) {
    const hone_affine *a = &b->access.axis[layout[i]].affine;
    double length = 1;
    if (a->nterms > 0) {
      int d = a->term[0].dim;
      const hone_pieces *p = &t->v->first.of[d][hone_cuts_level(&t->v->e, d, b->position)];
      length = (double)p->total / (double)p->count;
    }
    run *= length;
    if (length < (double)x->extent[layout[i]]) break;
  }
  return run;
}

/* Adds n transfers of `elements` in all, `width` bytes each, between DRAM and chip. */
static void add_dram_flow(const timing *t, const hone_buffer *b, flow *f, double n, double elements, double width)
{
  const hone_rates *k = t->k;
  double run = run_elements(t, b), runs = elements / run, bytes = run * width;
  if (n < 1) return;
  double dma = runs * larger(bytes, k->burst) / k->dma;
  double accesses = bytes / k->access, whole = (double)(int64_t)accesses;
  if (whole < accesses) whole += 1;
  double dram = runs * whole * k->access / k->stream;
  if (bytes < k->row) dram += runs * k->miss * (1 - bytes / k->row);
  f->visits += n;
  f->busy += dma;
  f->dram += dram * t->v->cores_used;
  f->mover = DMA;
}

static void time_dram_flows(const timing *t, const hone_buffer *b, const hone_visits *n, flow f[2])
{
  const hone_operator *op = &t->v->c->op;
  double width = hone_format_bits(op->tensor[b->tensor].format) / 8;
  double visits = (double)n->visits, elements = (double)n->elements;
  if (b->kind == HONE_BUFFER_READ) {
    add_dram_flow(t, b, &f[FILL], visits, elements, width);
    return;
  }
  double wide = hone_format_bits(op->stage[b->writer].accumulator) / 8;
  double distinct = (double)n->distinct, coverage = (double)n->coverage;
  add_dram_flow(t, b, &f[FILL], visits - distinct, elements - coverage, wide);
  add_dram_flow(t, b, &f[DRAIN], visits - distinct, elements - coverage, wide);
  add_dram_flow(t, b, &f[DRAIN], distinct, coverage, width);
}

static int outer_level(const timing *t, const hone_buffer *b)
{
  return b->parent < 0 ? 0 : t->v->e.buffer[b->parent].level;
}

static void time_vector_flow(const timing *t, const hone_buffer *b, int drain, double visits, double elements, flow *f)
{
  const hone_machine *m = &t->v->c->m;
  int outer = outer_level(t, b);
  int e = drain ? hone_machine_mover(m, b->level, outer) : hone_machine_mover(m, outer, b->level);
  if (e < 0 || visits < 1) return;
  f->visits = visits;
  f->mover = e;
  f->busy = visits * (double)m->engine[e].vector.startup_cycles + elements / t->k->move[e];
  f->wait = f->busy / visits + t->issue;
}

static void time_buffer(timing *t, int i)
{
  const hone_buffer *b = &t->v->e.buffer[i];
  const hone_visits *n = &t->v->first_visits[i];
  flow *f = t->flow[i];
  f[FILL] = f[DRAIN] = (flow){.mover = DMA};
  if (b->kind == HONE_BUFFER_LOCAL) return;
  double visits = (double)n->visits, elements = (double)n->elements;
  bool written = b->kind == HONE_BUFFER_WRITTEN;
  if (b->mover == HONE_MOVE_VECTOR) {
    double back = visits - (double)n->distinct, returning = elements - (double)n->coverage;
    time_vector_flow(t, b, FILL, written ? back : visits, written ? returning : elements, &f[FILL]);
    if (written) time_vector_flow(t, b, DRAIN, visits, elements, &f[DRAIN]);
    return;
  }
  time_dram_flows(t, b, n, f);
  for (int way = FILL; way <= DRAIN; way++) {
    if (f[way].visits < 1) continue;
    f[way].wait = t->k->setup + larger(f[way].busy, f[way].dram) / f[way].visits + t->issue;
    f[way].wait += way == FILL ? t->k->latency : t->k->turnaround;
  }
}

/* ---- Fold ---- */

/* From the last pass of a step to its result, for the stages that touch a buffer. */
static double completion(const timing *t, uint32_t stages)
{
  double longest = 0;
  for (int s = 0; stages >> s; s++) {
    if (!(stages >> s & 1)) continue;
    const hone_engine *e = &t->v->c->m.engine[t->v->s->engine[s]];
    if (e->kind == HONE_ENGINE_MATRIX) longest = larger(longest, (double)e->matrix.latency_cycles);
  }
  return longest + t->issue;
}

static span fold_step(const timing *t, int stage)
{
  const hone_work *w = &t->v->work[stage];
  span s = {.time = larger((double)w->busy_cycles, (double)w->steps * t->issue)};
  s.need[t->v->s->engine[stage]] = s.time;
  return s;
}

/* A ring of `depth` slots: `visits` uses of `use` cycles, turns of `turn`. */
static double ring(double visits, int depth, double use, double turn)
{
  double rounds = visits / depth;
  return rounds > 1 ? rounds * (use + turn) - turn : 0;
}

/* Joins the part before it at the intermediates between them. */
static void append(const timing *t, span *all, const span *part, uint32_t before, uint32_t stages)
{
  double sum = all->time + part->time, longest = larger(all->time, part->time), time = 0;
  bool joined = false;
  for (int i = 0; i < t->v->e.nbuffers; i++) {
    const hone_buffer *b = &t->v->e.buffer[i];
    if (b->kind != HONE_BUFFER_LOCAL || !(b->stages & before) || !(b->stages & stages)) continue;
    double visits = (double)t->v->first_visits[i].visits, turn = completion(t, UINT32_C(1) << b->writer);
    time = larger(time, larger(longest + sum / visits - longest / visits, ring(visits, b->depth, sum / visits, turn)));
    joined = true;
  }
  all->time = joined ? smaller(larger(time, longest), sum + time) : sum;
  for (int r = 0; r < RESOURCES; r++) all->need[r] += part->need[r];
}

/* A buffer at the end of an inside that takes `time`: what its ring needs; for
 * one copy next to the engine, the turn that stops the engine instead. */
static double buffer_ring(const timing *t, int i, double time, double *turn)
{
  const hone_buffer *b = &t->v->e.buffer[i];
  const flow *f = t->flow[i];
  double visits = (double)t->v->first_visits[i].visits, use = time / visits;
  *turn = b->kind == HONE_BUFFER_READ ? f[FILL].wait : f[DRAIN].wait + f[FILL].wait * f[FILL].visits / visits;
  if (b->child < 0) {
    *turn += completion(t, b->stages);
  } else {
    const flow *c = t->flow[b->child];
    double inside = larger((double)t->v->first_visits[b->child].visits / visits, 1);
    use = use * (inside - 1) / inside + (b->kind == HONE_BUFFER_READ ? c[FILL].wait : c[DRAIN].wait);
  }
  return ring(visits, b->depth, use, *turn);
}

/* Turns of one-copy buffers, largest first, each covering the visits it falls on. */
typedef struct {
  int n;
  struct {
    double turn, visits;
  } of[HONE_MAX_BUFFERS];
} turns;

static void add_turn(turns *x, double turn, double visits)
{
  int i = x->n++;
  for (; i > 0 && x->of[i - 1].turn < turn; i--) x->of[i] = x->of[i - 1];
  x->of[i].turn = turn;
  x->of[i].visits = visits;
}

static double total_turns(const turns *x)
{
  double covered = 0, sum = 0;
  for (int i = 0; i < x->n; i++) {
    if (x->of[i].visits <= covered) continue;
    sum += (x->of[i].visits - covered) * x->of[i].turn;
    covered = x->of[i].visits;
  }
  return sum;
}

/* The buffers of one list of events, around an inside that is folded already. */
static void fold_buffers(const timing *t, int from, int end, span *all)
{
  const hone_evaluation *v = t->v;
  turns single = {.n = 0};
  double ahead = 0;
  for (int i = from; i < end; i = v->e.node[i].end) {
    const hone_event_node *n = &v->e.node[i];
    if (n->kind != HONE_NODE_FILL && n->kind != HONE_NODE_DRAIN) continue;
    const hone_buffer *b = &v->e.buffer[n->index];
    const flow *f = &t->flow[n->index][n->kind == HONE_NODE_DRAIN];
    all->need[f->mover] += f->busy;
    all->need[DRAM] += f->dram;
    if (b->kind == HONE_BUFFER_WRITTEN && n->kind == HONE_NODE_FILL) continue; /* with its drain */
    double turn, visits = (double)v->first_visits[n->index].visits;
    double needed = buffer_ring(t, n->index, all->time, &turn);
    if (b->depth == 1 && b->child < 0)
      add_turn(&single, turn, visits - 1);
    else
      ahead = larger(ahead, needed);
  }
  all->time = larger(all->time + total_turns(&single), ahead);
  for (int r = 0; r < RESOURCES; r++) all->time = larger(all->time, all->need[r]);
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
      append(t, &all, &part, seen, n->stages);
    else
      all = part;
    seen |= n->stages;
  }
  fold_buffers(t, from, end, &all);
  return all;
}

/* ---- Ends ---- */

/* The first fills on the way to the first step: the slowest chain of reads. */
static double prologue(const timing *t)
{
  double longest = 0;
  for (int i = 0; i < t->v->e.nbuffers; i++) {
    double chain = 0;
    if (t->v->e.buffer[i].kind != HONE_BUFFER_READ) continue;
    for (int k = i; k >= 0; k = t->v->e.buffer[k].parent) chain += t->flow[k][FILL].wait;
    longest = larger(longest, chain);
  }
  return longest;
}

/* The last results on their way out. */
static double epilogue(const timing *t)
{
  double longest = 0;
  for (int s = 0; s < t->v->c->op.nstages; s++) {
    double chain = completion(t, UINT32_C(1) << s);
    for (int k = t->v->e.write_buffer[s]; k >= 0; k = t->v->e.buffer[k].parent) chain += t->flow[k][DRAIN].wait;
    longest = larger(longest, chain);
  }
  return longest;
}

/* What the DMA queues need: transfers of one queue overlap while fewer than
 * in_flight are under way. Buffers take the queues in turn. */
static double queues(const timing *t)
{
  const hone_dma *d = &t->v->c->m.dma;
  double need[2][HONE_MAX_BUFFERS] = {{0}}, longest = 0;
  int turn[2] = {0, 0}, count[2] = {d->load_queues, d->store_queues};
  for (int i = 0; i < t->v->e.nbuffers; i++) {
    for (int way = FILL; way <= DRAIN; way++) {
      const flow *f = &t->flow[i][way];
      if (f->visits < 1 || f->mover != DMA) continue;
      double *q = &need[way][turn[way]++ % count[way]];
      *q += f->visits * f->wait / d->in_flight;
      longest = larger(longest, *q);
    }
  }
  return longest;
}

/* ---- Result ---- */

static hone_cause cause_of(const timing *t, int resource)
{
  if (resource == DMA) return HONE_CAUSE_DMA;
  if (resource == DRAM) return HONE_CAUSE_DRAM;
  return t->v->c->m.engine[resource].kind == HONE_ENGINE_MATRIX ? HONE_CAUSE_MATRIX : HONE_CAUSE_VECTOR;
}

static int64_t whole(double cycles) { return (int64_t)(cycles + 0.5); }

static void report(const timing *t, const span *all, hone_cost *out)
{
  int top = 0;
  memset(out->by_cause, 0, sizeof out->by_cause);
  out->busy_matrix = out->busy_vector = 0;
  for (int r = 0; r < RESOURCES; r++) {
    if (all->need[r] > all->need[top]) top = r;
    if (r >= DMA || all->need[r] == 0) continue;
    int64_t *busy = cause_of(t, r) == HONE_CAUSE_MATRIX ? &out->busy_matrix : &out->busy_vector;
    *busy = hone_max64(*busy, whole(all->need[r]));
  }
  out->busy_dma = whole(all->need[DMA]);
  out->busy_dram = whole(all->need[DRAM]);
  out->bottleneck = cause_of(t, top);
  /* Rounded where one part ends and the next begins: the parts sum exactly. */
  const struct {
    hone_cause cause;
    double cycles;
  } part[] = {{out->bottleneck, all->need[top]},
              {HONE_CAUSE_SERIAL, larger(all->time - all->need[top], 0)},
              {HONE_CAUSE_OVERHEAD, larger(queues(t) - all->time, 0)},
              {HONE_CAUSE_PROLOGUE, prologue(t)},
              {HONE_CAUSE_EPILOGUE, epilogue(t)}};
  double end = 0;
  out->cycles = 0;
  for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
    end += part[i].cycles;
    out->by_cause[part[i].cause] = whole(end) - out->cycles;
    out->cycles = whole(end);
  }
}

void hone_cost_time(hone_evaluation *v, hone_cost *out)
{
  timing t = {.v = v, .k = &v->c->rates, .issue = INSTRUCTIONS * (double)v->c->m.sequencer.issue_cycles};
  hone_cuts_make(&v->c->op, v->s, &v->e, HONE_CUTS_FIRST, &v->first);
  v->cores_used = 1;
  for (int d = 0; d < v->c->op.ndims; d++) v->cores_used *= (double)v->all.of[d][0].count;
  for (int i = 0; i < v->e.nbuffers; i++) {
    const hone_buffer *b = &v->e.buffer[i];
    hone_dimset dims = v->c->op.stage[__builtin_ctz(b->stages)].dims;
    hone_visits_count(&v->e, &v->first, dims, b->dims, b->position, &v->first_visits[i], &v->over);
    time_buffer(&t, i);
  }
  for (int s = 0; s < v->c->op.nstages; s++) hone_cost_work(v, s, &v->first, &v->work[s]);
  span all = fold(&t, 0, v->e.nnodes);
  report(&t, &all, out);
}
