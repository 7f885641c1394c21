/* The event queue: ordered by time, then by order of posting. A binary heap, and
 * beside it the one event that comes most often. */
#include "config.h"

#include "base/arena.h"
#include "sim/sim_int.h"

static bool before(const sim_event *a, const sim_event *b)
{
  return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void hone_sim_post(sim *s, sim_event_kind kind, sim_tick time, int who, int what, int64_t n)
{
  sim_events *q = &s->events;
  sim_event e = {.time = time, .order = q->order++, .n = n, .who = who, .what = (int16_t)what, .kind = (uint8_t)kind};
  if (kind == SIM_EVENT_SERVED) {
    q->serving = true;
    q->served = e;
    return;
  }
  if (q->n == q->capacity) {
    q->capacity = q->capacity ? 2 * q->capacity : 256;
    q->heap = hone_heap_realloc(q->heap, (size_t)q->capacity, sizeof *q->heap);
  }
  int i = q->n++;
  for (; i > 0 && before(&e, &q->heap[(i - 1) / 2]); i = (i - 1) / 2) q->heap[i] = q->heap[(i - 1) / 2];
  q->heap[i] = e;
}

bool hone_sim_next(sim *s, sim_event *out)
{
  sim_events *q = &s->events;
  if (q->serving && (q->n == 0 || before(&q->served, &q->heap[0]))) {
    q->serving = false;
    *out = q->served;
    return true;
  }
  if (q->n == 0) return false;
  *out = q->heap[0];
  sim_event e = q->heap[--q->n];
  int i = 0;
  for (int c = 1; c < q->n; i = c, c = 2 * i + 1) {
    if (c + 1 < q->n && before(&q->heap[c + 1], &q->heap[c])) c++;
    if (!before(&q->heap[c], &e)) break;
    q->heap[i] = q->heap[c];
  }
  q->heap[i] = e;
  return true;
}
