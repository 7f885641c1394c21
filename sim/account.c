/* Where the cycles went, and what was moved.
 *
 * Each unit has a clock up to which its cycles are attributed; charging moves it
 * forward, so that causes always add up to the whole. An engine's time between
 * two instructions is what its sequencer was blocked for, the rest is issue. A DMA
 * queue with transfers in it is busy, slowed or setting up, whichever comes
 * first in that order; an empty one is like an engine between instructions. */
#include "config.h"

#include "base/arena.h"
#include "sim/sim_int.h"

void hone_sim_charge(hone_sim_unit *u, int64_t *accounted, int64_t to, hone_stall cause)
{
  if (to <= *accounted) return;
  u->cycles[cause] += to - *accounted;
  *accounted = to;
}

void hone_sim_blocked(sim_stream *t, int64_t from, int64_t to, hone_stall cause)
{
  if (t->code->kind != HONE_STREAM_ENGINE && t->count > 0) return; /* the queue's own state tells */
  if (t->nblocked == t->blocked_capacity) {
    t->blocked_capacity = t->blocked_capacity ? 2 * t->blocked_capacity : 16;
    t->blocked = hone_heap_realloc(t->blocked, (size_t)t->blocked_capacity, sizeof *t->blocked);
  }
  t->blocked[t->nblocked++] = (sim_blocked){from, to, cause};
}

void hone_sim_gap(sim_stream *t, int64_t to)
{
  for (int i = 0; i < t->nblocked && t->blocked[i].from < to; i++) {
    hone_sim_charge(t->unit, &t->accounted, t->blocked[i].from, HONE_STALL_ISSUE);
    hone_sim_charge(t->unit, &t->accounted, hone_min64(t->blocked[i].to, to), t->blocked[i].cause);
  }
  t->nblocked = 0;
  hone_sim_charge(t->unit, &t->accounted, to, HONE_STALL_ISSUE);
}

void hone_sim_queue_charge(sim_stream *t, int64_t to)
{
  if (t->count == 0) return;
  hone_stall cause = t->being_served > 0 ? HONE_STALL_BUSY : t->moving > 0 ? HONE_STALL_DRAM : HONE_STALL_SETUP;
  hone_sim_charge(t->unit, &t->accounted, to, cause);
}

void hone_sim_finish(sim *s)
{
  for (int i = 0; i < s->nstreams; i++) {
    sim_stream *t = &s->stream[i];
    if (t->code->kind == HONE_STREAM_ENGINE) hone_sim_charge(t->unit, &t->accounted, t->complete_at, HONE_STALL_LATENCY);
    hone_sim_gap(t, t->time);
    hone_sim_charge(t->unit, &t->accounted, s->end, HONE_STALL_DRAINED);
  }
  hone_sim_charge(s->dram.unit, &s->dram.accounted, s->end, HONE_STALL_IDLE);
  s->result->dram_busy_cycles = s->dram.unit->cycles[HONE_STALL_BUSY];
}

/* A transfer, both its ends. */
void hone_sim_count_move(sim *s, const hone_insn_body *b, const sim_box *from, const sim_box *to)
{
  if (!s->counting) return;
  hone_counts *c = &s->result->counts;
  const hone_program_buffer *buffer = s->program->buffer;
  int source = b->read[0].buffer == HONE_NO_BUFFER ? 0 : buffer[b->read[0].buffer].level;
  int target = b->write.buffer == HONE_NO_BUFFER ? 0 : buffer[b->write.buffer].level;
  c->read_bytes[b->tensor][source] += hone_format_bytes(from->format, from->elements);
  c->write_bytes[b->tensor][target] += hone_format_bytes(to->format, to->elements);
  (b->drain ? c->drains : c->fills)[b->tensor][b->level]++;
}
