/* DRAM, first timing model: one server of the streaming rate (bandwidth after
 * refresh) for all cores.
 *
 * A run of b bytes takes ceil(b to accesses) / rate, and when it is shorter than
 * a row a share of the row miss that its bank cannot hide:
 *     row_miss_cycles / (banks x channels) x (1 - b / row_bytes)
 * (activates of different banks overlap; a run that fills its row hides its own).
 *
 * Reads have priority. The bus turns (turnaround_cycles) to writes when
 * WRITES_HIGH pieces wait, when reads have gone on for READ_BATCH pieces while
 * writes wait, or when no read has come for turnaround_cycles; back to reads when
 * no write is left or after WRITES_HIGH of them. */
#include "config.h"

#include "base/arena.h"
#include "sim/sim_int.h"

enum { WRITES_HIGH = 16, READ_BATCH = 64, READ = 0, WRITE = 1 };

sim_tick hone_sim_dram_ticks(const sim *s, int64_t runs, int64_t bytes)
{
  const hone_dram *d = &s->m->dram;
  int64_t charged = hone_ceil_div(bytes, d->access_bytes) * d->access_bytes;
  sim_tick stream = hone_rate_cycles(s->stream_rate, sim_ticks(runs * charged));
  if (bytes >= d->row_bytes) return stream;
  int64_t miss = hone_muldiv_ceil(s->miss_ticks, d->row_bytes - bytes, d->row_bytes), all;
  return hone_checked_mul(runs, miss, &all) && hone_checked_add(stream, all, &stream) ? stream : INT64_MAX;
}

void hone_sim_dram_push(sim *s, const sim_piece *p, bool write)
{
  sim_fifo *f = &s->dram.fifo[write];
  if (f->count == f->capacity) {
    int old = f->capacity;
    f->capacity = old ? 2 * old : 64;
    sim_piece *ring = hone_heap_alloc((size_t)f->capacity, sizeof *ring);
    for (int i = 0; i < f->count; i++) ring[i] = f->ring[(f->head + i) % old];
    free(f->ring);
    f->ring = ring;
    f->head = 0;
  }
  f->ring[(f->head + f->count++) % f->capacity] = *p;
  hone_sim_dram_pump(s);
}

/* No read waits: have they been absent long enough? If not, look again then. */
static bool reads_are_over(sim *s)
{
  sim_dram *d = &s->dram;
  sim_tick until = d->idle_since + sim_ticks(s->m->dram.turnaround_cycles);
  if (s->now >= until) return true;
  if (!d->turn_posted) hone_sim_post(s, SIM_EVENT_TURN, until, 0, 0, 0);
  d->turn_posted = true;
  return false;
}

/* The direction to serve next, -1: none now. */
static int choose(sim *s)
{
  const sim_dram *d = &s->dram;
  int reads = d->fifo[READ].count, writes = d->fifo[WRITE].count;
  if (d->direction == WRITE) {
    if (writes > 0 && (reads == 0 || d->batch < WRITES_HIGH)) return WRITE;
    return reads > 0 ? READ : -1;
  }
  if (writes >= WRITES_HIGH || (writes > 0 && d->batch >= READ_BATCH)) return WRITE;
  if (reads > 0) return READ;
  return writes > 0 && reads_are_over(s) ? WRITE : -1;
}

void hone_sim_dram_pump(sim *s)
{
  sim_dram *d = &s->dram;
  if (d->busy) return;
  int direction = choose(s);
  if (direction < 0) return;
  sim_tick start = s->now;
  hone_sim_charge(d->unit, &d->accounted, start >> SIM_TICK_BITS, HONE_STALL_IDLE);
  if (direction != d->direction) {
    start += sim_ticks(s->m->dram.turnaround_cycles);
    hone_sim_charge(d->unit, &d->accounted, start >> SIM_TICK_BITS, HONE_STALL_TURNAROUND);
    d->direction = direction;
    d->batch = 0;
  }
  sim_fifo *f = &d->fifo[direction];
  d->current = f->ring[f->head];
  f->head = (f->head + 1) % f->capacity;
  f->count--;
  d->batch++;
  d->busy = true;
  sim_stream *t = &s->stream[d->current.stream];
  hone_sim_queue_charge(t, start >> SIM_TICK_BITS);
  t->being_served++;
  hone_sim_post(s, SIM_EVENT_SERVED, start + d->current.service, 0, 0, 0);
}

void hone_sim_dram_served(sim *s)
{
  sim_dram *d = &s->dram;
  sim_piece p = d->current;
  d->busy = false;
  if (d->direction == READ) d->idle_since = s->now;
  hone_sim_charge(d->unit, &d->accounted, s->now >> SIM_TICK_BITS, HONE_STALL_BUSY);
  hone_sim_dma_served(s, &p);
  hone_sim_dram_pump(s);
  hone_sim_dma_pump(s, s->stream[p.stream].core);
}
