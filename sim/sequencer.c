/* One sequencer per stream. Every instruction reached costs issue_cycles, whether
 * its predicate holds or not; a loop's end costs nothing (hardware loops). A
 * sequencer runs ahead of its engine by one instruction, of its DMA queue by
 * in_flight transfers. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "sim/sim_int.h"

void hone_sim_fault(sim *s, const sim_stream *t, hone_status status, const char *code, const char *fmt, ...)
{
  if (s->status) return;
  char text[400];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  s->status = hone_err_set(s->err, status, code, "%s, instruction %d: %s", t->unit->name, t->pc - t->code->first, text);
}

/* ---- Predicates ------------------------------------------------------------------
 * ir/events.h scans the open loops from the innermost: the first one not `at` its
 * end of interest decides, those inside it count if they have several pieces. */
static bool changes(uint32_t open, uint32_t at, uint32_t keys, uint32_t several)
{
  uint32_t not_at = open & ~at;
  if (not_at == 0) return true;
  int top = 31 - __builtin_clz(not_at);
  uint32_t inner = top == 31 ? 0 : open >> (top + 1) << (top + 1);
  return (keys >> top & 1) || (inner & keys & several) != 0;
}

static bool holds(const sim_stream *t, const hone_predicate *p)
{
  uint32_t open = t->depth == 32 ? UINT32_MAX : (UINT32_C(1) << t->depth) - 1, e = p->edge_mask & open;
  if (p->visit == HONE_VISIT_NEW && !changes(open, t->at_zero, p->visit_mask, t->several)) return false;
  if (p->visit == HONE_VISIT_LAST && !changes(open, t->at_last, p->visit_mask, t->several)) return false;
  switch (p->edge) {
  case HONE_EDGE_FIRST: return (e & ~t->at_zero) == 0;
  case HONE_EDGE_NOT_FIRST: return (e & ~t->at_zero) != 0;
  case HONE_EDGE_LAST: return (e & ~t->at_last) == 0;
  case HONE_EDGE_NOT_LAST: return (e & ~t->at_last) != 0;
  default: return true;
  }
}

/* ---- Loops -------------------------------------------------------------------------- */

static void set_bit(uint32_t *mask, int bit, bool value)
{
  *mask = (*mask & ~(UINT32_C(1) << bit)) | (uint32_t)value << bit;
}

static void set_piece(sim_stream *t, sim_loop *l, int64_t start)
{
  t->range[l->range].start = start;
  t->range[l->range].length = hone_min64(l->step, l->left);
  set_bit(&t->at_zero, t->depth - 1, l->counter == 0);
  set_bit(&t->at_last, t->depth - 1, l->counter == l->trips - 1);
}

static void loop_enter(sim *s, sim_stream *t, const hone_insn *i, bool taken)
{
  sim_range parent = t->range[i->b];
  if (!taken || parent.length <= 0 || s->match[t->pc] == t->pc + 1) { /* an empty body would take no time for ever */
    t->pc = s->match[t->pc];
    return;
  }
  sim_loop *l = &t->loop[t->depth++];
  *l = (sim_loop){.begin = t->pc + 1, .range = i->a, .left = parent.length, .step = i->n,
                  .trips = hone_ceil_div(parent.length, i->n)};
  t->range[i->a].dim = parent.dim;
  set_bit(&t->several, t->depth - 1, l->trips > 1);
  set_piece(t, l, parent.start);
}

static void loop_end(sim_stream *t)
{
  sim_loop *l = &t->loop[t->depth - 1];
  if (++l->counter == l->trips) {
    t->depth--;
    return;
  }
  l->left -= l->step;
  set_piece(t, l, t->range[l->range].start + l->step);
  t->pc = l->begin - 1;
}

/* ---- Semaphores ----------------------------------------------------------------------- */

static hone_stall wait_cause(const sim *s, int semaphore)
{
  static const hone_stall by_role[] = {HONE_STALL_WAIT_DATA, HONE_STALL_WAIT_FREE, HONE_STALL_WAIT_PARTIAL, HONE_STALL_WAIT_STAGE};
  return by_role[s->program->semaphore[semaphore].role];
}

static void rotate(const sim *s, sim_stream *t, int buffer)
{
  if (buffer == HONE_NO_BUFFER) return;
  if (++t->slot[buffer] >= s->program->buffer[buffer].copies) t->slot[buffer] = 0;
}

/* False: the stream blocks here. */
static bool wait(sim *s, sim_stream *t, const hone_insn *i)
{
  size_t at = (size_t)(t->core * s->program->nsemaphores + i->a);
  t->need = t->expected[i->a] += i->n;
  rotate(s, t, i->b);
  if (s->semaphore[at] >= t->need) return true;
  t->state = SIM_WAITING;
  t->waiting_for = i->a;
  t->next_waiter = s->waiter[at];
  s->waiter[at] = t->number;
  return false;
}

static void wake(sim *s, sim_stream *t)
{
  int64_t at = s->now >> SIM_TICK_BITS; /* signals come at whole cycles */
  if (at > t->time) {
    hone_sim_blocked(t, t->time, at, wait_cause(s, t->waiting_for));
    t->time = at;
  }
  t->state = SIM_RUNNING;
  t->pc++;
  hone_sim_stream_run(s, t);
}

void hone_sim_signal(sim *s, int core, int semaphore, int64_t n)
{
  size_t at = (size_t)(core * s->program->nsemaphores + semaphore);
  s->semaphore[at] += n;
  int list = s->waiter[at], keep = -1;
  s->waiter[at] = -1;
  while (list >= 0) {
    sim_stream *t = &s->stream[list];
    list = t->next_waiter;
    if (s->semaphore[at] >= t->need) {
      wake(s, t);
    } else {
      t->next_waiter = keep;
      keep = t->number;
    }
  }
  for (; keep >= 0; keep = list) { /* put back; a woken stream may have come to wait here again */
    list = s->stream[keep].next_waiter;
    s->stream[keep].next_waiter = s->waiter[at];
    s->waiter[at] = keep;
  }
}

/* ---- The dispatch loop -------------------------------------------------------------------- */

static void halt(sim *s, sim_stream *t)
{
  s->end = hone_max64(s->end, t->time);
  if (--t->runs_left > 0) {
    t->pc = t->code->first - 1;
    t->depth = 0;
    return;
  }
  t->state = SIM_HALTED;
}

static void send_signal(sim *s, sim_stream *t, const hone_insn *i)
{
  if (t->code->kind == HONE_STREAM_ENGINE)
    hone_sim_post(s, SIM_EVENT_SIGNAL, sim_ticks(hone_max64(t->time, t->complete_at)), t->core, i->a, i->n);
  else
    hone_sim_dma_signal(s, t, i->a, i->n);
}

/* Issues to the engine or queue. False: the queue is full, or a fault. */
static bool issue(sim *s, sim_stream *t, const hone_insn *i)
{
  if (t->code->kind == HONE_STREAM_ENGINE) return hone_sim_engine_issue(s, t, i);
  if (t->count < s->m->dma.in_flight) return hone_sim_dma_issue(s, t, i);
  t->state = SIM_FULL;
  return false;
}

static bool execute(sim *s, sim_stream *t, const hone_insn *i)
{
  switch (i->op) {
  case HONE_INSN_WAIT: return wait(s, t, i);
  case HONE_INSN_EXPECT:
    t->expected[i->a] += i->n;
    rotate(s, t, i->b);
    return true;
  case HONE_INSN_SIGNAL: send_signal(s, t, i); return true;
  case HONE_INSN_HALT: halt(s, t); return t->state == SIM_RUNNING;
  default: return issue(s, t, i);
  }
}

void hone_sim_stream_run(sim *s, sim_stream *t)
{
  const hone_insn *insn = s->program->insn;
  const int64_t cost = s->m->sequencer.issue_cycles;
  while (!s->status) {
    const hone_insn *i = &insn[t->pc];
    if (i->op == HONE_INSN_END) {
      loop_end(t);
    } else {
      t->time += cost;
      bool taken = holds(t, &i->when);
      if (i->op == HONE_INSN_LOOP)
        loop_enter(s, t, i, taken);
      else if (taken && !execute(s, t, i))
        return;
    }
    t->pc++;
    if (t->time > s->max_cycles || ++s->insns > s->max_insns) {
      hone_sim_fault(s, t, HONE_INFEASIBLE, "sim.watchdog", "still running after %lld cycles, %lld instructions", (long long)t->time,
                     (long long)s->insns);
      return;
    }
  }
}
