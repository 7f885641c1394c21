/* Estimated time of one schedule, of the first core, whose blocks are largest.
 *
 * The moves between memories are flows (flows.c). The event tree is folded from
 * the inside out, in totals over all visits. A list of events takes at least what
 * it contains and what each resource needs.
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
 * Joined stages take turns at their intermediate by the same rule. An engine that
 * moves both what a step needs and what it leaves does so in program order: the
 * next fill waits for the drain, the drain for the step, whatever the depth.
 *
 * Rings speak of averages. A clipped tile at the edge of a dim is used for less
 * time, yet the fill beside it may be of a whole tile (uneven); and a clipped trip
 * of an outer loop may move as much as a whole one (by_trips).
 *
 * Before the first step and after the last, the chain of memories is passed once
 * with nothing to overlap: prologue and epilogue. Where DMA or DRAM set the pace,
 * what they move there is part of the steady state already and only latencies
 * count; so the fold keeps two times, with them and without. */
#include "config.h"

#include <string.h>

#include "cost/flows.h"

/* What a list of events needs over all its visits; `alone` is its time without
 * the needs of DMA and DRAM. */
typedef struct {
  double time, alone;
  double need[RESOURCES];
} span;

/* ---- Fold ---- */

/* From the last pass of a step to its result, for the stages that touch a buffer. */
static double completion(const hone_timing *t, uint32_t stages)
{
  double longest = 0;
  for (int s = 0; stages >> s; s++) {
    if (!(stages >> s & 1)) continue;
    const hone_engine *e = &t->v->c->m.engine[t->v->s->engine[s]];
    if (e->kind == HONE_ENGINE_MATRIX) longest = larger(longest, (double)e->matrix.latency_cycles);
  }
  return longest + t->issue;
}

static span fold_step(const hone_timing *t, int stage)
{
  const hone_work *w = &t->v->core->work[stage];
  span s = {.time = larger((double)w->busy_cycles, (double)w->steps * t->issue)};
  s.alone = s.time;
  s.need[t->v->s->engine[stage]] = s.time;
  return s;
}

/* A ring of `depth` slots: `visits` uses of `use` cycles, turns of `turn`. */
static double ring(double visits, int depth, double use, double turn)
{
  double rounds = visits / depth;
  return rounds > 1 ? rounds * (use + turn) - turn : 0;
}

/* The way in or out once: whole transfers, and their latencies only. */
typedef struct {
  double whole, latency;
} passage;

static void pass_longer(passage *longest, const passage *p)
{
  longest->whole = larger(longest->whole, p->whole);
  longest->latency = larger(longest->latency, p->latency);
}

/* From the buffer at the engine to DRAM. */
static passage chain(const hone_timing *t, int buffer, int way, double start)
{
  passage p = {start, start};
  for (int k = buffer; k >= 0; k = t->v->e.buffer[k].parent) {
    p.whole += t->flow[k][way].wait;
    p.latency += t->flow[k][way].latency;
  }
  return p;
}

/* Between stages that meet in DRAM: the last result on its way out, then the first
 * on its way in. */
static double handover(const hone_timing *t, uint32_t before, uint32_t stages)
{
  const hone_operator *op = &t->v->c->op;
  double longest = 0;
  for (int s = 0; stages >> s; s++) {
    for (int r = 0; (stages >> s & 1) && r < op->stage[s].nreads; r++) {
      int writer = hone_operator_writer(op, op->stage[s].read[r].tensor), buffer = t->v->e.read_buffer[s][r];
      if (writer < 0 || !(before >> writer & 1) || t->v->e.buffer[buffer].kind != HONE_BUFFER_READ) continue;
      passage out = chain(t, t->v->e.write_buffer[writer], DRAIN, completion(t, UINT32_C(1) << writer));
      longest = larger(longest, out.whole + chain(t, buffer, FILL, 0).whole);
    }
  }
  return longest;
}

/* Two times joined at the intermediates between `before` and `stages`. */
static double joined_time(const hone_timing *t, double first, double second, uint32_t before, uint32_t stages)
{
  double sum = first + second, longest = larger(first, second), time = 0;
  bool joined = false;
  for (int i = 0; i < t->v->e.nbuffers; i++) {
    const hone_buffer *b = &t->v->e.buffer[i];
    if (b->kind != HONE_BUFFER_LOCAL || !(b->stages & before) || !(b->stages & stages)) continue;
    double visits = (double)t->v->core->visits[i].visits, turn = completion(t, UINT32_C(1) << b->writer);
    time = larger(time, longest + (sum - longest) / visits);
    time = larger(time, ring(visits, b->depth, sum / visits, turn));
    joined = true;
  }
  return joined ? time : sum + handover(t, before, stages);
}

static void append(const hone_timing *t, span *all, const span *part, uint32_t before, uint32_t stages)
{
  all->time = joined_time(t, all->time, part->time, before, stages);
  all->alone = joined_time(t, all->alone, part->alone, before, stages);
  for (int r = 0; r < RESOURCES; r++) all->need[r] += part->need[r];
}

/* Turns that stop the engine, largest first, each covering the visits it falls on. */
typedef struct {
  int n;
  struct {
    double turn, visits;
  } of[3 * HONE_MAX_BUFFERS];
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

/* What the copies of a buffer impose: a ring of `visits` uses, each `share` of the
 * inside plus `use`, and turns of `turn`. */
typedef struct {
  double visits, share, use, turn;
  int depth;
} demand;

/* What other fills that fall on the same visits add to a fill of buffer i: all of
 * what is before it in its queue or as short of copies, else its share of the
 * DRAM while they overlap. */
static double crowding(const hone_timing *t, int i)
{
  const hone_flow *f = &t->flow[i][FILL];
  double sum = 0, own = f->wait - f->latency;
  if (f->mover != DMA || f->visits < 1) return 0;
  for (int k = 0; k < t->v->e.nbuffers; k++) {
    const hone_flow *g = &t->flow[k][FILL];
    const hone_buffer *b = &t->v->e.buffer[k];
    if (k == i || g->mover != DMA || g->visits < 1 || !(b->stages & t->v->e.buffer[i].stages)) continue;
    bool whole = t->queue[k][FILL] == t->queue[i][FILL] || b->depth == 1;
    double other = g->wait - g->latency;
    sum += (whole ? other : smaller(own, other)) * smaller(1, g->visits / f->visits);
  }
  return sum;
}

static demand demand_of(const hone_timing *t, int i)
{
  const hone_buffer *b = &t->v->e.buffer[i];
  const hone_flow *f = t->flow[i];
  bool read = b->kind == HONE_BUFFER_READ;
  demand d = {.visits = (double)t->v->core->visits[i].visits, .share = 1, .depth = b->depth};
  d.turn = read ? f[FILL].wait + crowding(t, i) : f[DRAIN].wait + f[FILL].wait * f[FILL].visits / d.visits;
  if (b->child < 0) {
    d.turn += completion(t, b->stages);
    return d;
  }
  const hone_flow *c = t->flow[b->child];
  double inside = larger((double)t->v->core->visits[b->child].visits / d.visits, 1);
  d.use = read ? c[FILL].wait : c[DRAIN].wait;
  d.share = (inside - 1) / inside;
  return d;
}

/* Time of a fill without its latencies while others that come as often share the DRAM. */
static double moving_time(const hone_timing *t, int i)
{
  const hone_flow *f = &t->flow[i][FILL];
  double own = f->wait - f->latency, sum = own;
  for (int k = 0; k < t->v->e.nbuffers; k++) {
    const hone_flow *g = &t->flow[k][FILL];
    if (k == i || g->mover != DMA || g->visits < f->visits || !(t->v->e.buffer[k].stages & t->v->e.buffer[i].stages)) continue;
    sum += smaller(own, g->wait - g->latency);
  }
  return sum;
}

/* Two copies and a clipped tile between whole ones: while it is used the next
 * whole tile comes in, and while a whole tile is used it comes in itself. More
 * copies level this out; clipped tiles in a row are a ring of their own. Of the
 * time `inside`, what the busiest engine works shrinks with the tile. */
static double uneven(const hone_timing *t, int i, double visits, double inside, const double need[])
{
  const hone_buffer *b = &t->v->e.buffer[i];
  const hone_flow *f = &t->flow[i][FILL];
  if (b->kind != HONE_BUFFER_READ || b->depth != 2 || b->child >= 0 || f->mover != DMA || b->keys == 0) return 0;
  int d = t->v->e.loop[63 - __builtin_clzll(b->keys)].dim; /* advances from fill to fill */
  const hone_pieces *p = &t->v->core->cuts.of[d][hone_cuts_level(&t->v->e, d, b->position)];
  double longest = 0, mean = (double)p->total / (double)p->count, clipped = 0, work = 0, time = 0;
  for (int k = 0; k < p->n; k++) longest = larger(longest, (double)p->piece[k].length);
  for (int e = 0; e < DMA; e++) work = larger(work, need[e] / visits);
  double rest = inside / visits - work, moving = moving_time(t, i) * longest / mean;
  work *= longest / mean;
  double use = rest + work;
  double fixed = f->latency + completion(t, b->stages);
  double fill = larger(moving, smaller(moving + fixed, use)); /* beyond, latencies overlap with other fills */
  for (int k = 0; k < p->n; k++) {
    double part = (double)p->piece[k].length / longest, n = visits * (double)p->piece[k].count / (double)p->count;
    if (part == 1) continue;
    time += n * (larger(rest + work * part, fill) + larger(use, moving * part));
    clipped += n;
  }
  if (clipped == 0 || clipped > visits / 2) return 0;
  return time + (visits - 2 * clipped) * larger(use, moving) - fill; /* the first is in the prologue */
}

/* One copy that leaves and returns: its next contents come only when it has left,
 * and its child's only then. */
static void add_return(const hone_timing *t, int i, turns *x)
{
  const hone_buffer *b = &t->v->e.buffer[i];
  const hone_flow *f = t->flow[i];
  if (b->depth == 1 && b->child >= 0 && f[FILL].visits > 0) add_turn(x, f[DRAIN].wait + f[FILL].wait, f[FILL].visits);
}

/* The engine that fills this buffer also drains some of the stage's: turns where
 * both fall on one visit. */
static void add_alternation(const hone_timing *t, int i, turns *x)
{
  const hone_buffer *b = &t->v->e.buffer[i];
  const hone_flow *f = &t->flow[i][FILL];
  double drains = 0, wait = 0;
  if (f->mover == DMA || f->visits < 1) return;
  for (int k = 0; k < t->v->e.nbuffers; k++) {
    const hone_flow *g = &t->flow[k][DRAIN];
    if (!(t->v->e.buffer[k].stages & b->stages) || g->visits < 1 || g->mover != f->mover) continue;
    drains = larger(drains, g->visits);
    wait = larger(wait, g->wait);
  }
  if (drains > 0) add_turn(x, f->wait + wait + completion(t, b->stages), smaller(f->visits, drains));
}

/* The buffers of one list of events, around an inside that is folded already. */
static void fold_buffers(const hone_timing *t, int from, int end, span *all)
{
  const hone_evaluation *v = t->v;
  turns single = {.n = 0};
  double time = 0, alone = 0;
  for (int i = from; i < end; i = v->e.node[i].end) {
    const hone_event_node *n = &v->e.node[i];
    if (n->kind != HONE_NODE_FILL && n->kind != HONE_NODE_DRAIN) continue;
    const hone_buffer *b = &v->e.buffer[n->index];
    const hone_flow *f = &t->flow[n->index][n->kind == HONE_NODE_DRAIN];
    all->need[f->mover] += f->busy;
    all->need[DRAM] += f->dram;
    if (n->kind == HONE_NODE_FILL) add_alternation(t, n->index, &single);
    if (b->kind == HONE_BUFFER_WRITTEN && n->kind == HONE_NODE_FILL) add_return(t, n->index, &single);
    if (b->kind == HONE_BUFFER_WRITTEN && n->kind == HONE_NODE_FILL) continue; /* with its drain */
    demand d = demand_of(t, n->index);
    if (d.depth == 1 && d.share == 1) {
      add_turn(&single, d.turn + d.use, d.visits - 1);
    } else {
      time = larger(time, ring(d.visits, d.depth, d.share * all->time / d.visits + d.use, d.turn));
      alone = larger(alone, ring(d.visits, d.depth, d.share * all->alone / d.visits + d.use, d.turn));
      time = larger(time, uneven(t, n->index, d.visits, all->time, all->need));
      alone = larger(alone, uneven(t, n->index, d.visits, all->alone, all->need));
    }
  }
  double stops = total_turns(&single);
  all->time = larger(all->time + stops, time);
  all->alone = larger(all->alone + stops, alone);
  for (int r = 0; r < RESOURCES; r++) {
    all->time = larger(all->time, all->need[r]);
    if (r != DMA && r != DRAM) all->alone = larger(all->alone, all->need[r]);
  }
}

/* What is moved again on every trip of loop l though it has not its dim: busy
 * cycles of r, less what the copies let run ahead into the trip before. */
static double moved_again(const hone_timing *t, int node, int r)
{
  const hone_evaluation *v = t->v;
  int l = v->e.node[node].index;
  double sum = 0;
  for (int i = node + 1; i < v->e.node[node].end; i++) {
    const hone_event_node *n = &v->e.node[i];
    if (n->kind != HONE_NODE_FILL && n->kind != HONE_NODE_DRAIN) continue;
    const hone_buffer *b = &v->e.buffer[n->index];
    const hone_flow *f = &t->flow[n->index][n->kind == HONE_NODE_DRAIN];
    double inside = 1;
    for (int k = l + 1; k < b->position; k++)
      if (b->keys >> k & 1) inside *= (double)v->e.loop[k].trips;
    if ((b->dims >> v->e.loop[l].dim & 1) || f->mover != DMA || inside <= b->depth) continue;
    sum += (r == DRAM ? f->dram : f->busy) * (1 - b->depth / inside);
  }
  return sum;
}

/* The least length of dim d that engines work for: a clipped tile is padded to it. */
static int64_t granule(const hone_timing *t, int d)
{
  const hone_evaluation *v = t->v;
  int64_t most = 1;
  for (int s = 0; s < v->c->op.nstages; s++) {
    const hone_engine *e = &v->c->m.engine[v->s->engine[s]];
    if (e->kind != HONE_ENGINE_MATRIX || !(v->c->op.stage[s].dims >> d & 1)) continue;
    int64_t least = d == v->s->map_row[s] ? e->matrix.rows : d == v->s->map_column[s] ? e->matrix.columns : e->matrix.min_pass_cycles;
    most = hone_max64(most, least);
  }
  return most;
}

/* A clipped trip of a loop works less but moves again what has not its dim, such
 * as all weights for the last rows: what a trip lasts is the longer of the two,
 * trip by trip, not on average. */
static double by_trips(const hone_timing *t, int node, const span *inside)
{
  const hone_evaluation *v = t->v;
  int l = v->e.node[node].index, d = v->e.loop[l].dim;
  const hone_pieces *p = &v->core->cuts.of[d][hone_cuts_level(&v->e, d, l + 1)];
  double work = 0, time = 0, again[2] = {0}, padded = 0;
  int64_t least = granule(t, d);
  if (p->n < 2) return 0;
  for (int k = 0; k < p->n; k++) padded += (double)p->piece[k].count * (double)hone_max64(p->piece[k].length, least);
  for (int e = 0; e < DMA; e++) work = larger(work, inside->need[e]);
  for (int r = DMA; r <= DRAM; r++) again[r - DMA] = smaller(moved_again(t, node, r), inside->need[r]);
  if (again[0] <= 0 && again[1] <= 0) return 0;
  for (int k = 0; k < p->n; k++) {
    double count = (double)p->piece[k].count, trips = count / (double)p->count, part = count * (double)p->piece[k].length / (double)p->total;
    double longest = work * count * (double)hone_max64(p->piece[k].length, least) / padded;
    for (int r = DMA; r <= DRAM; r++) longest = larger(longest, again[r - DMA] * trips + (inside->need[r] - again[r - DMA]) * part);
    time += longest;
  }
  return time;
}

static span fold(const hone_timing *t, int from, int end)
{
  const hone_evaluation *v = t->v;
  span all = {0};
  uint32_t seen = 0;
  for (int i = from; i < end; i = v->e.node[i].end) {
    const hone_event_node *n = &v->e.node[i];
    if (n->kind == HONE_NODE_FILL || n->kind == HONE_NODE_DRAIN) continue;
    span part = n->kind == HONE_NODE_LOOP ? fold(t, i + 1, n->end) : fold_step(t, n->index);
    if (n->kind == HONE_NODE_LOOP) part.time = larger(part.time, by_trips(t, i, &part));
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

/* The first fills on the way to the first step: the slowest chain of reads, and
 * the transfers of all of them, for they share the DRAM. */
static passage prologue(const hone_timing *t)
{
  passage longest = {0, 0};
  double moves = 0;
  for (int i = 0; i < t->v->e.nbuffers; i++) {
    const hone_buffer *b = &t->v->e.buffer[i];
    const hone_flow *f = &t->flow[i][FILL];
    if (b->kind != HONE_BUFFER_READ || !(b->stages & 1)) continue;
    passage p = chain(t, i, FILL, 0);
    pass_longer(&longest, &p);
    moves += f->wait - f->latency;
  }
  longest.whole = larger(longest.whole, longest.latency + moves);
  return longest;
}

/* The last results on their way out. */
static passage epilogue(const hone_timing *t)
{
  passage longest = {0, 0};
  for (int s = 0; s < t->v->c->op.nstages; s++) {
    passage p = chain(t, t->v->e.write_buffer[s], DRAIN, completion(t, UINT32_C(1) << s));
    pass_longer(&longest, &p);
  }
  return longest;
}

/* The work that follows the last load, from DRAM or by DMA at all: one use of the
 * buffer loaded most often. After DRAM's last, DMA may still move on the chip. */
static double last_use(const hone_timing *t, const span *all, int resource)
{
  double loads = 1, busiest = 0, chip = 0;
  for (int e = 0; e < DMA; e++) busiest = larger(busiest, all->need[e]);
  for (int i = 0; i < t->v->e.nbuffers; i++) {
    const hone_buffer *b = &t->v->e.buffer[i];
    const hone_flow *f = t->flow[i];
    bool on_chip = b->parent >= 0;
    if (b->kind == HONE_BUFFER_READ && f[FILL].mover == DMA && !(on_chip && resource == DRAM)) loads = larger(loads, f[FILL].visits);
    for (int way = FILL; on_chip && way <= DRAIN; way++) chip += f[way].mover == DMA ? f[way].busy : 0;
  }
  return larger(busiest, resource == DRAM ? chip : 0) / loads;
}

/* What the DMA queues need: transfers of one queue overlap while fewer than
 * in_flight are under way. */
static double queues(const hone_timing *t)
{
  double need[2][HONE_MAX_BUFFERS] = {{0}}, longest = 0;
  for (int i = 0; i < t->v->e.nbuffers; i++) {
    for (int way = FILL; way <= DRAIN; way++) {
      const hone_flow *f = &t->flow[i][way];
      if (f->visits < 1 || f->mover != DMA) continue;
      double *q = &need[way][t->queue[i][way]];
      *q += f->visits * f->wait / t->v->c->m.dma.in_flight;
      longest = larger(longest, *q);
    }
  }
  return longest;
}

/* ---- Result ---- */

static hone_cause cause_of(const hone_timing *t, int resource)
{
  if (resource == DMA) return HONE_CAUSE_DMA;
  if (resource == DRAM) return HONE_CAUSE_DRAM;
  return t->v->c->m.engine[resource].kind == HONE_ENGINE_MATRIX ? HONE_CAUSE_MATRIX : HONE_CAUSE_VECTOR;
}

static int64_t whole(double cycles) { return (int64_t)(cycles + 0.5); }

enum { MOST_BITS = 62 }; /* estimates beyond are reported as overflow */

static void report_busy(const hone_timing *t, const span *all, hone_cost *out)
{
  out->busy_matrix = out->busy_vector = 0;
  for (int r = 0; r < DMA; r++) {
    if (all->need[r] == 0) continue;
    int64_t *busy = cause_of(t, r) == HONE_CAUSE_MATRIX ? &out->busy_matrix : &out->busy_vector;
    *busy = hone_max64(*busy, whole(all->need[r]));
  }
  out->busy_dma = whole(all->need[DMA]);
  out->busy_dram = whole(all->need[DRAM]);
}

static void report(const hone_timing *t, const span *all, hone_cost *out)
{
  int top = 0;
  for (int r = 1; r < RESOURCES; r++) {
    if (all->need[r] > all->need[top]) top = r;
  }
  /* Four ways to see the whole: engines and turns set the pace; transfers do, from
   * loop to loop, or their queues; those of DMA, or of DRAM, do all along, and the
   * last use follows the last load. The first and last transfers are in the queues' time. */
  passage in = prologue(t), away = epilogue(t);
  const struct {
    double steady, in, away;
  } view[] = {{all->alone, in.whole, away.whole},
              {larger(all->time, queues(t)), in.latency, away.latency},
              {all->need[DMA], in.latency, away.latency + last_use(t, all, DMA)},
              {all->need[DRAM], in.latency, away.latency + last_use(t, all, DRAM)}};
  int most = 0;
  for (int i = 1; i < 4; i++) {
    if (view[i].steady + view[i].in + view[i].away > view[most].steady + view[most].in + view[most].away) most = i;
  }
  double steady = view[most].steady;
  double total = steady + view[most].in + view[most].away, waiting = most == 1 ? larger(steady - all->time, 0) : 0;
  steady -= waiting;
  double busy = smaller(all->need[top], steady);
  if (total >= (double)(INT64_C(1) << MOST_BITS)) {
    t->v->over = true;
    return;
  }
  report_busy(t, all, out);
  out->bottleneck = cause_of(t, top);
  memset(out->by_cause, 0, sizeof out->by_cause);
  /* Rounded where one part ends and the next begins: the parts sum exactly. */
  const struct {
    hone_cause cause;
    double cycles;
  } part[] = {{out->bottleneck, busy},
              {HONE_CAUSE_SERIAL, steady - busy},
              {HONE_CAUSE_OVERHEAD, waiting},
              {HONE_CAUSE_PROLOGUE, view[most].in},
              {HONE_CAUSE_EPILOGUE, view[most].away}};
  double end = 0;
  out->cycles = 0;
  for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
    end += part[i].cycles;
    out->by_cause[part[i].cause] = whole(end) - out->cycles;
    out->cycles = whole(end);
  }
  int64_t missing = hone_max64(t->v->c->bound - out->cycles, 0);
  out->by_cause[HONE_CAUSE_SERIAL] += missing;
  out->cycles += missing;
}

void hone_cost_time(hone_evaluation *v, hone_cost *out)
{
  hone_timing t = {.v = v, .k = &v->c->rates, .issue = INSTRUCTIONS * (double)v->c->m.sequencer.issue_cycles};
  hone_cost_flows(&t);
  span all = fold(&t, 0, v->e.nnodes);
  report(&t, &all, out);
}
