/* DMA: queues, and the engines of a core as one server of the sustained rate.
 *
 *   issue --setup_cycles--> ready --pieces--> [engines, rate] --> [DRAM] --latency--> done
 *
 * A queue holds up to in_flight transfers; their setups overlap, their data moves
 * in order. Queues of a core take turns, piece by piece; at most WINDOW pieces
 * of one direction wait at the DRAM, so that a core that is faster than the DRAM
 * does not run ahead and its queues stay fair. A load is done latency_cycles
 * after the DRAM served its last piece, a store when its last piece is in DRAM, a
 * copy when the engines have moved it. */
#include "config.h"

#include "base/arena.h"
#include "sim/sim_int.h"

enum { WINDOW_READ = 8, WINDOW_WRITE = 16 };

static sim_transfer *at(const sim *s, const sim_stream *t, int i) /* i-th from the head */
{
  return &t->ring[(t->head + i) % s->m->dma.in_flight];
}

/* ---- Issue ------------------------------------------------------------------------- */

/* Engines' and DRAM's time for the runs of a transfer. False: beyond the watchdog. */
static bool cost_transfer(sim *s, const hone_insn_body *b, const sim_box *from, const sim_box *to, sim_transfer *x)
{
  int64_t runs, bytes, moved, charged;
  if (x->dram)
    hone_sim_runs(s, x->write ? &b->write : &b->read[0], x->write ? to : from, &runs, &bytes);
  else
    hone_sim_copy_runs(from, to, &runs, &bytes);
  int64_t access = s->m->dram.access_bytes, per_run = hone_ceil_div(bytes, access);
  if (!hone_checked_mul(runs, hone_max64(bytes, s->m->dma.burst_bytes), &moved) || !hone_checked_mul(runs, per_run * access, &charged) ||
      moved > INT64_MAX >> (SIM_TICK_BITS + 1) || charged > INT64_MAX >> (SIM_TICK_BITS + 1))
    return false;
  sim_tick dma = hone_rate_cycles(s->dma_rate, sim_ticks(moved)), service = 0;
  int64_t size = hone_max64(moved / 4, x->dram ? charged : 0);
  if (x->dram) {
    service = hone_sim_dram_ticks(s, runs, bytes);
    x->accesses = runs * per_run;
    x->misses = runs * hone_ceil_div(bytes, s->m->dram.row_bytes);
  }
  x->pieces = (int)hone_min64(hone_max64(1, hone_ceil_div(size, s->piece_bytes)), INT32_MAX);
  x->dma = dma / x->pieces;
  x->dma_rest = (int)(dma % x->pieces);
  x->service = service / x->pieces;
  x->service_rest = (int)(service % x->pieces);
  return dma <= sim_ticks(s->max_cycles) && service <= sim_ticks(s->max_cycles);
}

bool hone_sim_dma_issue(sim *s, sim_stream *t, const hone_insn *i)
{
  const hone_insn_body *b = &s->program->body[i->body];
  sim_box from, to;
  if (!hone_sim_move_boxes(s, t, b, &from, &to)) return false;
  if (from.elements == 0) return true;
  sim_transfer x = {.dram = i->op != HONE_INSN_COPY, .write = i->op == HONE_INSN_STORE, .pending = -1, .last_pending = -1, .job = -1};
  if (!cost_transfer(s, b, &from, &to, &x)) {
    hone_sim_fault(s, t, HONE_INFEASIBLE, "sim.watchdog", "one transfer of %lld elements", (long long)from.elements);
    return false;
  }
  if (t->count == 0)
    hone_sim_gap(t, t->time);
  else
    t->nblocked = 0;
  if (s->functional) x.job = hone_sim_job_new(s, t, i, &from, &to);
  *at(s, t, t->count++) = x;
  hone_sim_count_move(s, b, &from, &to);
  s->result->dram_requests += x.accesses;
  s->result->dram_row_misses += x.misses;
  hone_sim_post(s, SIM_EVENT_READY, sim_ticks(t->time + s->m->dma.setup_cycles), t->number, 0, 0);
  return true;
}

void hone_sim_dma_ready(sim *s, sim_stream *t)
{
  hone_sim_queue_charge(t, s->now >> SIM_TICK_BITS);
  t->ready++;
  t->moving++;
  s->dma[t->core].waiting |= UINT64_C(1) << (t->number - s->dma[t->core].first_stream);
  hone_sim_dma_pump(s, t->core);
}

/* ---- Moving ------------------------------------------------------------------------ */

/* The next of n pieces: `each`, and one more whenever the rest makes up for one;
 * piece i ends at floor((i + 1) * whole / n). */
static sim_tick share(sim_tick each, int rest, int *over, int n)
{
  int64_t sum = (int64_t)*over + rest;
  *over = (int)(sum >= n ? sum - n : sum);
  return each + (sum >= n);
}

/* Moves a piece of queue q's oldest transfer that has one; false when it has to wait. */
static bool move_piece(sim *s, sim_dma *d, int core, int q)
{
  sim_stream *t = &s->stream[d->first_stream + q];
  sim_transfer *x = at(s, t, t->requested);
  if (x->dram && d->window[x->write] >= (x->write ? WINDOW_WRITE : WINDOW_READ)) return false;
  hone_sim_queue_charge(t, s->now >> SIM_TICK_BITS);
  t->being_served++;
  d->current = (sim_piece){t->number, (int)(x - t->ring), share(x->service, x->service_rest, &x->service_over, x->pieces)};
  d->busy = true;
  d->turn = q + 1 < d->nstreams ? q + 1 : 0;
  if (x->dram) d->window[x->write]++;
  hone_sim_post(s, SIM_EVENT_MOVED, s->now + share(x->dma, x->dma_rest, &x->dma_over, x->pieces), core, 0, 0);
  if (++x->requested < x->pieces) return true;
  if (++t->requested == t->ready) d->waiting &= ~(UINT64_C(1) << q);
  return true;
}

void hone_sim_dma_pump(sim *s, int core)
{
  sim_dma *d = &s->dma[core];
  if (d->busy || !d->waiting) return;
  uint64_t now = d->waiting >> d->turn << d->turn, later = d->waiting & ~now; /* from the turn on, then from the first */
  for (uint64_t left = now; left; left &= left - 1)
    if (move_piece(s, d, core, __builtin_ctzll(left))) return;
  for (uint64_t left = later; left; left &= left - 1)
    if (move_piece(s, d, core, __builtin_ctzll(left))) return;
}

void hone_sim_dma_moved(sim *s, int core)
{
  sim_dma *d = &s->dma[core];
  sim_piece p = d->current;
  sim_stream *t = &s->stream[p.stream];
  sim_transfer *x = &t->ring[p.slot];
  d->busy = false;
  if (x->dram) {
    hone_sim_queue_charge(t, s->now >> SIM_TICK_BITS);
    t->being_served--;
    hone_sim_dram_push(s, &p, x->write);
  } else {
    hone_sim_dma_served(s, &p);
  }
  hone_sim_dma_pump(s, core);
}

void hone_sim_dma_served(sim *s, const sim_piece *p)
{
  sim_stream *t = &s->stream[p->stream];
  sim_transfer *x = &t->ring[p->slot];
  hone_sim_queue_charge(t, s->now >> SIM_TICK_BITS);
  t->being_served--;
  if (x->dram) s->dma[t->core].window[x->write]--;
  if (++x->served < x->pieces) return;
  t->moving--;
  sim_tick latency = x->dram && !x->write ? sim_ticks(s->m->memory[0].latency_cycles) : 0;
  hone_sim_post(s, SIM_EVENT_DONE, sim_ticks(sim_cycle_up(s->now + latency)), t->number, 0, p->slot);
}

/* ---- Completion --------------------------------------------------------------------- */

static void fire_pending(sim *s, const sim_stream *t, sim_transfer *x)
{
  for (int i = x->pending; i >= 0;) {
    sim_pending *p = &s->pending[i];
    int next = p->next;
    hone_sim_post(s, SIM_EVENT_SIGNAL, hone_max64(s->now, sim_ticks(p->time)), t->core, p->semaphore, p->n);
    p->next = s->pending_free;
    s->pending_free = i;
    i = next;
  }
}

void hone_sim_dma_done(sim *s, sim_stream *t, int slot)
{
  int64_t cycle = s->now >> SIM_TICK_BITS;
  hone_sim_queue_charge(t, cycle);
  s->end = hone_max64(s->end, cycle);
  t->ring[slot].done = true;
  if (t->ring[slot].job >= 0) hone_sim_job_run(s, t->ring[slot].job);
  while (t->count > 0 && at(s, t, 0)->done) {
    fire_pending(s, t, at(s, t, 0));
    t->head = (t->head + 1) % s->m->dma.in_flight;
    t->count--;
    t->ready--;
    t->requested--;
  }
  if (t->state != SIM_FULL || t->count == s->m->dma.in_flight) return;
  t->state = SIM_RUNNING;
  t->time = hone_max64(t->time, cycle);
  if (!hone_sim_dma_issue(s, t, &s->program->insn[t->pc])) return;
  t->pc++;
  hone_sim_stream_run(s, t);
}

/* ---- Signals --------------------------------------------------------------------------- */

static int pending_new(sim *s)
{
  int i = s->pending_free;
  if (i >= 0) {
    s->pending_free = s->pending[i].next;
    return i;
  }
  if (s->npending == s->pending_capacity) {
    s->pending_capacity = s->pending_capacity ? 2 * s->pending_capacity : 64;
    s->pending = hone_heap_realloc(s->pending, (size_t)s->pending_capacity, sizeof *s->pending);
  }
  return s->npending++;
}

/* Fires when the newest transfer, and with it all before, is done. */
void hone_sim_dma_signal(sim *s, sim_stream *t, int semaphore, int64_t n)
{
  if (t->count == 0) {
    hone_sim_post(s, SIM_EVENT_SIGNAL, hone_max64(s->now, sim_ticks(t->time)), t->core, semaphore, n);
    return;
  }
  sim_transfer *x = at(s, t, t->count - 1);
  int i = pending_new(s);
  s->pending[i] = (sim_pending){semaphore, -1, n, t->time};
  if (x->pending < 0)
    x->pending = i;
  else
    s->pending[x->last_pending].next = i;
  x->last_pending = i;
}
