/* Every legal point: an odometer over the variables whose digits are domain
 * indices. A constraint cuts as soon as its last value is there, so that the
 * points below it are never made. */
#include "config.h"

#include <stdlib.h>

#include "base/arena.h"
#include "spaces/walk_int.h"

hone_space_walk *hone_space_walk_new(const hone_space *s)
{
  hone_space_walk *w = hone_heap_alloc(1, sizeof *w);
  w->s = s;
  w->depth = -1;
  w->by_constraint = hone_heap_alloc((size_t)s->nconstraints + 1, sizeof *w->by_constraint);
  return w;
}

void hone_space_walk_free(hone_space_walk *w)
{
  if (!w) return;
  for (int i = 0; i < w->s->nvariables; i++) hone_domain_fini(&w->domain[i]);
  hone_keyset_fini(&w->seen);
  free(w->by_constraint);
  free(w);
}

void hone_space_walk_set_limit(hone_space_walk *w, int64_t tried) { w->limit = tried; }
bool hone_space_walk_at_end(const hone_space_walk *w) { return w->at_end; }

hone_reason space_check_schedule(const hone_space *s, const int64_t *values, hone_why *why)
{
  hone_schedule schedule;
  if (!s->op) return HONE_REASON_NONE;
  hone_space_schedule(s, values, &schedule);
  return hone_schedule_check(s->op, s->m, &schedule, why);
}

/* Gives variable `depth` its value number index[depth]; false when there is none left. */
static bool assign(hone_space_walk *w)
{
  int i = w->depth;
  if (w->index[i] >= w->domain[i].n) return false;
  w->values[i] = hone_domain_at(&w->domain[i], w->index[i]);
  return true;
}

/* Only one more than the limit stops: a space of as many points as the limit ends. */
static bool beyond_limit(hone_space_walk *w)
{
  return w->stopped = w->limit > 0 && w->tried > w->limit;
}

/* Moves to the next complete assignment of which no due constraint is broken. */
static bool advance(hone_space_walk *w)
{
  int n = w->s->nvariables, which = -1;
  if (w->depth < 0) { /* the first */
    w->depth = 0;
    if (n == 0) return true;
    w->index[0] = -1;
    hone_space_domain(w->s, 0, w->values, &w->domain[0]);
  } else
    w->depth = n - 1;
  while (w->depth >= 0 && n > 0) {
    int i = w->depth;
    w->index[i]++;
    if (!assign(w)) {
      w->depth--;
      continue;
    }
    if (!space_due_hold(w->s, i, w->values, &which)) {
      w->killed[HONE_REASON_CONSTRAINT]++;
      w->by_constraint[which]++;
      w->tried++;
    } else if (i == n - 1) {
      return true;
    } else {
      w->depth++;
      w->index[i + 1] = -1;
      if (!hone_space_domain(w->s, i + 1, w->values, &w->domain[i + 1])) w->killed[HONE_REASON_OVERFLOW]++;
      w->tried += w->domain[i + 1].n == 0;
    }
    if (beyond_limit(w)) return false;
  }
  w->at_end = true;
  return false;
}

bool hone_space_walk_next(hone_space_walk *w, int64_t *values)
{
  while (!w->at_end && !w->stopped) {
    if (!advance(w)) break;
    w->tried++;
    if (beyond_limit(w)) break;
    hone_reason r = space_check_schedule(w->s, w->values, NULL);
    w->killed[r] += r != HONE_REASON_NONE;
    w->legal += r == HONE_REASON_NONE;
    if (r == HONE_REASON_NONE && hone_keyset_add(&w->seen, hone_space_key(w->s, w->values))) {
      for (int i = 0; i < w->s->nvariables; i++) values[i] = w->values[i];
      return true;
    }
  }
  return false;
}
