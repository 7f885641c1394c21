/* Runs the streams of one instance: loops, predicates, semaphores, clocks. Every
 * stream goes on until it has to wait. Values of semaphores only grow and each has
 * one signaller, so what is run, and whether it comes to an end, does not depend
 * on the order streams are tried in. */
#include "config.h"

#include "backend/verify_int.h"
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

static const int64_t most_instructions = INT64_C(1) << 26; /* about ten seconds */

static bool in_mask(uint32_t mask, int i)
{
  return mask >> i & 1;
}

/* ir/events.h: from the innermost loop outwards; `last` asks whether the next
 * visit differs, else whether the one before did. */
static bool visit_differs(const verify_stream *s, uint32_t keys, bool last)
{
  bool wrap = false;
  for (int i = s->nopen; i-- > 0;) {
    const verify_loop *l = &s->open[i];
    if (l->counter != (last ? l->trips - 1 : 0)) return in_mask(keys, i) || wrap;
    wrap = wrap || (in_mask(keys, i) && l->trips > 1);
  }
  return true;
}

static bool at_edge(const verify_stream *s, uint32_t mask, bool last)
{
  for (int i = 0; i < s->nopen; i++)
    if (in_mask(mask, i) && s->open[i].counter != (last ? s->open[i].trips - 1 : 0)) return false;
  return true;
}

static bool holds(const verify_stream *s, const hone_predicate *w)
{
  if (w->visit != HONE_VISIT_ALWAYS && !visit_differs(s, w->visit_mask, w->visit == HONE_VISIT_LAST)) return false;
  if (w->edge == HONE_EDGE_ALWAYS) return true;
  bool last = w->edge == HONE_EDGE_LAST || w->edge == HONE_EDGE_NOT_LAST;
  bool negated = w->edge == HONE_EDGE_NOT_FIRST || w->edge == HONE_EDGE_NOT_LAST;
  return at_edge(s, w->edge_mask, last) != negated;
}

static void set_piece(verify_stream *s, const verify_loop *l)
{
  int64_t at = l->start + l->counter * l->step;
  s->range[l->range] = (hone_range){at, hone_min64(l->step, l->end - at)};
}

static bool run_loop(verifier *v, const hone_insn *x)
{
  verify_stream *s = &v->stream[v->now];
  hone_range parent = s->range[x->b];
  if (parent.length == 0) {
    s->pc = v->end[s->pc];
    return true;
  }
  verify_loop *l = &s->open[s->nopen++];
  *l = (verify_loop){.range = x->a, .start = parent.start, .end = parent.start + parent.length, .step = x->n,
                     .trips = hone_ceil_div(parent.length, x->n), .body = s->pc};
  s->dim[x->a] = s->dim[x->b];
  set_piece(s, l);
  return true;
}

static bool run_end(verifier *v, const hone_insn *x)
{
  (void)x;
  verify_stream *s = &v->stream[v->now];
  verify_loop *l = &s->open[s->nopen - 1];
  if (++l->counter == l->trips) {
    s->nopen--;
    return true;
  }
  set_piece(s, l);
  s->pc = l->body;
  return true;
}

static bool run_halt(verifier *v, const hone_insn *x)
{
  (void)x;
  v->stream[v->now].halted = true;
  return true;
}

static bool count(verifier *v, const hone_insn *x)
{
  verify_stream *s = &v->stream[v->now];
  if (x->n > 0) v->semaphore[x->a].counters |= UINT64_C(1) << v->now;
  if (!hone_checked_add(s->expected[x->a], x->n, &s->expected[x->a]))
    return verify_refuse(v, "verify.balance", "the count of s%u does not fit 64 bits", x->a);
  return true;
}

static void rotate(verifier *v, const hone_insn *x)
{
  if (x->b == HONE_NO_BUFFER) return;
  int *slot = &v->stream[v->now].slot[x->b];
  *slot = (*slot + 1) % v->p->buffer[x->b].copies;
}

static bool run_expect(verifier *v, const hone_insn *x)
{
  rotate(v, x);
  return count(v, x);
}

static void join(verify_stream *s, const uint32_t *clock, int n)
{
  for (int i = 0; i < n; i++)
    if (clock[i] > s->clock[i]) s->clock[i] = clock[i];
}

static bool run_wait(verifier *v, const hone_insn *x)
{
  verify_stream *s = &v->stream[v->now];
  verify_semaphore *q = &v->semaphore[x->a];
  if (!s->blocked && !count(v, x)) return false;
  int64_t want = s->expected[x->a];
  s->blocked = q->value < want;
  if (s->blocked) return true;
  for (int i = q->first; want > v->p->semaphore[x->a].initial && i < q->n; i++)
    if (q->signal[i].value >= want) {
      join(s, q->signal[i].clock, v->p->nstreams);
      break;
    }
  rotate(v, x);
  return true;
}

/* Drops signals that every waiter has passed. */
static void forget(verifier *v, verify_semaphore *q, int semaphore)
{
  int64_t least = INT64_MAX;
  for (int s = 0; s < v->p->nstreams; s++)
    if (q->waiters >> s & 1) least = hone_min64(least, v->stream[s].expected[semaphore]);
  while (q->first < q->n && q->signal[q->first].value < least) q->first++;
  if (q->first < q->n / 2 + 1) return;
  memmove(q->signal, q->signal + q->first, (size_t)(q->n - q->first) * sizeof *q->signal);
  q->n -= q->first;
  q->first = 0;
}

static bool run_signal(verifier *v, const hone_insn *x)
{
  verify_stream *s = &v->stream[v->now];
  verify_semaphore *q = &v->semaphore[x->a];
  if (!hone_checked_add(q->value, x->n, &q->value)) return verify_refuse(v, "verify.balance", "s%u does not fit 64 bits", x->a);
  forget(v, q, x->a);
  if (q->n == q->capacity) {
    q->capacity = q->capacity ? 2 * q->capacity : 8;
    q->signal = hone_heap_realloc(q->signal, (size_t)q->capacity, sizeof *q->signal);
  }
  verify_signal *sent = &q->signal[q->n++];
  sent->value = q->value;
  memcpy(sent->clock, s->clock, sizeof sent->clock);
  sent->clock[v->now] = s->operations; /* everything before has completed */
  return true;
}

/* Of its own stream an engine has completed everything before; a DMA queue only
 * what it knows by a semaphore. */
static bool run_operation(verifier *v, const hone_insn *x)
{
  verify_stream *s = &v->stream[v->now];
  if (s->engine) s->clock[v->now] = s->operations;
  s->operations++;
  return hone_insn_is_step(x->op) ? verify_step(v, x) : verify_transfer(v, x);
}

static bool (*const run[HONE_INSN_COUNT])(verifier *, const hone_insn *) = {
    [HONE_INSN_HALT] = run_halt,       [HONE_INSN_LOOP] = run_loop,        [HONE_INSN_END] = run_end,
    [HONE_INSN_WAIT] = run_wait,       [HONE_INSN_EXPECT] = run_expect,    [HONE_INSN_SIGNAL] = run_signal,
    [HONE_INSN_LOAD] = run_operation,  [HONE_INSN_STORE] = run_operation,  [HONE_INSN_COPY] = run_operation,
    [HONE_INSN_MATMUL] = run_operation, [HONE_INSN_MAP] = run_operation,
    [HONE_INSN_REDUCE] = run_operation,
};

/* Until it waits or ends; *moved if anything was done. */
static bool run_stream(verifier *v, bool *moved)
{
  verify_stream *s = &v->stream[v->now];
  while (!s->halted) {
    const hone_insn *x = &v->p->insn[s->pc];
    if (++v->executed > most_instructions)
      return hone_err_set(v->err, HONE_UNSUPPORTED, "verify.size", "more than %lld instructions: too long to verify",
                          (long long)most_instructions) == HONE_OK;
    if (holds(s, &x->when) && !run[x->op](v, x)) return false;
    if (s->blocked) return true;
    *moved = true;
    s->pc++;
  }
  return true;
}

bool verify_run(verifier *v)
{
  for (bool moved = true; moved;) {
    moved = false;
    for (v->now = 0; v->now < v->p->nstreams; v->now++)
      if (!run_stream(v, &moved)) return false;
  }
  for (v->now = 0; v->now < v->p->nstreams; v->now++) {
    const verify_stream *s = &v->stream[v->now];
    if (s->halted) continue;
    int q = v->p->insn[s->pc].a;
    return verify_refuse(v, "verify.deadlock", "waits for ever: s%d is %lld, not %lld", q, (long long)v->semaphore[q].value,
                         (long long)s->expected[q]);
  }
  return true;
}
