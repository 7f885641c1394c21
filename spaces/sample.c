/* Drawing and repairing points.
 *
 * A draw gives each variable a random value of its domain, going back a bounded
 * number of times where a constraint is broken. Repair then looks at the first
 * reason why a point is not legal and makes one change that can remove it, until
 * none is left: what overflows a memory shrinks or moves inwards, positions are
 * put in order, and for anything else a parameter that the reason points at is
 * drawn anew. Every legal point is a possible draw, so every one can come out. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "ir/events.h"
#include "spaces/walk_int.h"

enum { DRAW_STEPS = 4000, DRAW_WIDTH = 6, REPAIR_STEPS = 80, WIDE = 4096 };

/* ---- drawing ---- */

/* Uniform, but in very wide intervals half of the time uniform in the logarithm. */
static int64_t draw_index(const hone_domain *d, hone_rng *rng)
{
  if (d->list || d->places > 0 || d->n < WIDE || hone_rng_below(rng, 2) == 0) return hone_rng_below(rng, d->n);
  double x = exp(hone_rng_unit(rng) * log((double)d->n)) - 1;
  return x >= (double)d->n ? d->n - 1 : (int64_t)x;
}

static bool draw_from(const hone_space *s, hone_rng *rng, int i, int *steps, int64_t *values)
{
  hone_domain d = {0};
  bool found = false;
  int which;
  if (i == s->nvariables) return true;
  hone_space_domain(s, i, values, &d);
  int64_t width = d.n < DRAW_WIDTH ? 2 * d.n : DRAW_WIDTH;
  for (int64_t k = 0; k < width && !found && --*steps > 0; k++) {
    values[i] = hone_domain_at(&d, draw_index(&d, rng));
    found = space_due_hold(s, i, values, &which) && draw_from(s, rng, i + 1, steps, values);
  }
  hone_domain_fini(&d);
  return found;
}

bool space_draw(const hone_space *s, hone_rng *rng, int64_t *values)
{
  int steps = DRAW_STEPS;
  return draw_from(s, rng, 0, &steps, values);
}

/* ---- repairing ---- */

static bool redraw(const hone_space *s, hone_rng *rng, int i, int64_t *values)
{
  hone_domain d = {0};
  hone_space_domain(s, i, values, &d);
  if (d.n > 0) values[i] = hone_domain_at(&d, draw_index(&d, rng));
  hone_domain_fini(&d);
  return true;
}

/* Puts every value into its domain: the next smaller one, or any order. Where a
 * domain is empty, something it depends on is drawn anew. */
static bool snap(const hone_space *s, hone_rng *rng, int64_t *values)
{
  hone_domain d = {0};
  bool ok = true;
  for (int i = 0, again = 0; i < s->nvariables && ok; i++) {
    const space_variable *v = &s->variable[i];
    hone_space_domain(s, i, values, &d);
    if (d.n == 0) {
      ok = v->nreads > 0 && ++again < REPAIR_STEPS;
      if (!ok) break;
      int cause = v->reads[hone_rng_below(rng, v->nreads)];
      redraw(s, rng, cause, values);
      i = cause - 1;
    } else if (hone_domain_find(&d, values[i]) < 0)
      values[i] = hone_domain_at(&d, v->param->domain == HONE_DOMAIN_ORDER ? draw_index(&d, rng)
                                                                           : hone_domain_nearest(&d, values[i]));
  }
  hone_domain_fini(&d);
  return ok;
}

static int find_slot(const hone_space *s, hone_param_kind kind, int level, int dim, int tensor)
{
  for (int i = 0; i < s->nvariables; i++) {
    const hone_param *p = s->variable[i].param;
    if (p->kind == kind && p->level == level && p->dim == dim && p->tensor == tensor) return i;
  }
  return -1;
}

/* At most half (at least one step) of the present value. */
static bool halve(const hone_space *s, int i, int64_t *values)
{
  hone_domain d = {0};
  hone_space_domain(s, i, values, &d);
  int64_t at = d.n > 0 ? hone_domain_nearest(&d, values[i]) : 0;
  bool can = at > 0;
  if (can) values[i] = hone_domain_at(&d, hone_min64(at - 1, hone_domain_nearest(&d, values[i] / 2)));
  hone_domain_fini(&d);
  return can;
}

/* A buffer of the memory, drawn in proportion to what it takes there. */
static const hone_buffer *pick_buffer(const hone_events *e, int level, hone_rng *rng)
{
  double total = 0, x;
  const hone_buffer *last = NULL;
  for (int b = 0; b < e->nbuffers; b++)
    if (e->buffer[b].level == level) total += (double)e->buffer[b].depth * (double)e->buffer[b].bytes;
  x = hone_rng_unit(rng) * total;
  for (int b = 0; b < e->nbuffers && x >= 0; b++)
    if (e->buffer[b].level == level) {
      last = &e->buffer[b];
      x -= (double)last->depth * (double)last->bytes;
    }
  return last;
}

/* The tile that decides how much of dim d a buffer at `position` holds. */
static int deciding_tile(const hone_space *s, const hone_events *e, int position, int d)
{
  for (int p = position - 1; p >= 0; p--)
    if (e->loop[p].dim == d && e->loop[p].trips > 1) return find_slot(s, HONE_PARAM_TILE, e->loop[p].level, d, -1);
  return -1;
}

static bool shrink_buffer(const hone_space *s, const hone_events *e, const hone_buffer *b, hone_rng *rng, int64_t *values)
{
  int offset = (int)hone_rng_below(rng, s->op->ndims);
  for (int k = 0; k < s->op->ndims; k++) {
    int d = (k + offset) % s->op->ndims;
    if (!(b->dims >> d & 1u)) continue;
    int slot = deciding_tile(s, e, b->position, d);
    if (slot < 0) { /* the whole block: cut it in the buffer's own group, if the buffer is inside that */
      slot = find_slot(s, HONE_PARAM_TILE, b->level, d, -1);
      if (b->position == 0) continue;
    }
    if (slot >= 0 && halve(s, slot, values)) return true;
  }
  return false;
}

/* Moves the buffer inside a loop that its tensor uses. */
static bool deepen_buffer(const hone_space *s, const hone_events *e, const hone_buffer *b, hone_rng *rng, int64_t *values)
{
  int slot = find_slot(s, HONE_PARAM_AT, b->level, -1, b->tensor), choice[HONE_MAX_LOOPS], n = 0;
  for (int p = b->position; p < e->nloops; p++)
    if (e->loop[p].trips > 1 && (b->dims >> e->loop[p].dim & 1u)) choice[n++] = p + 1;
  if (slot < 0 || n == 0) return false;
  values[slot] = choice[hone_rng_below(rng, n)];
  return true;
}

static bool make_room(const hone_space *s, hone_rng *rng, const hone_why *why, int64_t *values)
{
  hone_schedule schedule;
  hone_events e;
  hone_space_schedule(s, values, &schedule);
  if (hone_events_build(s->op, s->m, &schedule, &e, NULL) != HONE_REASON_NONE) return false;
  const hone_buffer *b = pick_buffer(&e, why->level, rng);
  if (!b) return false;
  int64_t way = hone_rng_below(rng, 8);
  int depth = find_slot(s, HONE_PARAM_DEPTH, b->level, -1, b->tensor);
  /* Orders in the events are normal: positions of an unnormalized point follow it. */
  hone_space_point(s, &schedule, values);
  if (way < 2 && b->depth > 1 && depth >= 0 && halve(s, depth, values)) return true;
  if (way < 4 && deepen_buffer(s, &e, b, rng, values)) return true;
  return shrink_buffer(s, &e, b, rng, values) || deepen_buffer(s, &e, b, rng, values) ||
         (depth >= 0 && halve(s, depth, values));
}

/* Sorts the positions of every tensor from the outermost memory inwards. */
static bool order_positions(const hone_space *s, hone_rng *rng, int64_t *values)
{
  bool changed = false, up = hone_rng_below(rng, 2) == 0;
  for (int t = 0; t < s->op->ntensors; t++) {
    int slot[HONE_MAX_LEVELS], n = 0;
    for (int l = 1; l < s->m->nlevels; l++) {
      int i = find_slot(s, HONE_PARAM_AT, l, -1, t);
      if (i >= 0 && values[i] != HONE_BYPASS) slot[n++] = i;
    }
    for (int k = 1; k < n; k++) {
      int a = up ? k - 1 : n - 1 - k, b = a + 1;
      if (values[slot[a]] <= values[slot[b]]) continue;
      values[slot[up ? b : a]] = values[slot[up ? a : b]];
      changed = true;
    }
  }
  return changed;
}

/* Draws one of the parameters that share most with what the reason names. */
static bool redraw_named(const hone_space *s, hone_rng *rng, const hone_why *why, int64_t *values)
{
  int best = -1, score = 0, ties = 0;
  for (int i = 0; i < s->nvariables; i++) {
    const hone_param *p = s->variable[i].param;
    int points = (why->level >= 0 && p->level == why->level) + 2 * (why->tensor >= 0 && p->tensor == why->tensor) +
                 2 * (why->stage >= 0 && p->stage == why->stage) + 2 * (why->dim >= 0 && p->dim == why->dim);
    if (points < score) continue;
    ties = points == score ? ties + 1 : 1;
    score = points;
    if (hone_rng_below(rng, ties) == 0) best = i;
  }
  return best >= 0 && redraw(s, rng, best, values);
}

static bool fix_schedule(const hone_space *s, hone_rng *rng, const hone_why *why, int64_t *values)
{
  int any = (int)hone_rng_below(rng, s->nvariables);
  if (hone_rng_below(rng, 16) == 0) return redraw(s, rng, any, values); /* out of a dead end */
  if (why->reason == HONE_REASON_CAPACITY && make_room(s, rng, why, values)) return true;
  if (why->reason == HONE_REASON_PLACEMENT && order_positions(s, rng, values)) return true;
  return redraw_named(s, rng, why, values);
}

static bool fix_constraint(const hone_space *s, hone_rng *rng, int c, int64_t *values)
{
  const hone_expr *e = &s->constraint[c].expr;
  if (e->nuses == 0) return false;
  for (int k = 0; k < 8; k++) {
    int i = e->uses[hone_rng_below(rng, e->nuses)];
    int64_t before = values[i];
    redraw(s, rng, i, values);
    if (space_constraint_holds(s, c, values, NULL)) return true;
    if (k < 7) values[i] = before;
  }
  return true;
}

bool hone_space_repair(const hone_space *s, hone_rng *rng, int64_t *values)
{
  for (int step = 0; step < REPAIR_STEPS; step++) {
    int which = -1;
    bool hold = true;
    hone_why why;
    if (!snap(s, rng, values)) return false;
    for (int i = 0; i < s->nvariables && hold; i++) hold = space_due_hold(s, i, values, &which);
    if (!hold) {
      if (!fix_constraint(s, rng, which, values)) return false;
      continue;
    }
    if (space_check_schedule(s, values, &why) == HONE_REASON_NONE) return true;
    if (s->nvariables == 0 || !fix_schedule(s, rng, &why, values)) return false;
  }
  return false;
}

bool hone_space_sample(const hone_space *s, hone_rng *rng, int tries, int64_t *values)
{
  for (int k = 0; k < tries; k++)
    if (space_draw(s, rng, values) && hone_space_repair(s, rng, values)) return true;
  return false;
}
