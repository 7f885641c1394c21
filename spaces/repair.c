/* Repairing points: look at the first reason why a point is not legal and make one
 * change that can remove it, until none is left. What overflows a memory shrinks
 * or moves inwards, positions are put in order, a join retreats before the loop it
 * may not share or that loop is undone; for anything else a parameter that the
 * reason points at is drawn anew. Reading order: helpers, one fix per reason, the
 * table, repair. */
#include "config.h"

#include <stdlib.h>

#include "ir/events.h"
#include "spaces/walk_int.h"

enum { REPAIR_STEPS = 80 };

static bool redraw(const hone_space *s, hone_rng *rng, int i, int64_t *values)
{
  hone_domain d = {0};
  hone_space_domain(s, i, values, &d);
  if (d.n > 0) values[i] = hone_domain_at(&d, space_draw_index(&d, rng));
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
      values[i] = hone_domain_at(&d, v->param->domain == HONE_DOMAIN_ORDER ? space_draw_index(&d, rng)
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

/* Brings values to normal form, in which positions count loops as the events do. */
static void normalize(const hone_space *s, int64_t *values, hone_schedule *schedule)
{
  hone_space_schedule(s, values, schedule);
  hone_space_point(s, schedule, values);
}

/* ---- a memory is too small ---- */

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

/* Moves the buffer inside a loop that its tensor uses; a kept intermediate's place is its join. */
static bool deepen_buffer(const hone_space *s, const hone_events *e, const hone_buffer *b, hone_rng *rng, int64_t *values)
{
  int choice[HONE_MAX_LOOPS], n = 0;
  int slot = b->kind == HONE_BUFFER_LOCAL ? find_slot(s, HONE_PARAM_JOIN, -1, -1, b->tensor)
                                          : find_slot(s, HONE_PARAM_AT, b->level, -1, b->tensor);
  for (int p = b->position; p < e->nloops; p++)
    if (e->loop[p].trips > 1 && (b->dims >> e->loop[p].dim & 1u)) choice[n++] = p + 1;
  if (slot < 0 || n == 0) return false;
  values[slot] = choice[hone_rng_below(rng, n)];
  return true;
}

static bool fix_capacity(const hone_space *s, hone_rng *rng, const hone_why *why, int64_t *values)
{
  hone_schedule schedule;
  hone_events e;
  normalize(s, values, &schedule);
  if (hone_events_build(s->op, s->m, &schedule, &e, NULL) != HONE_REASON_NONE) return false;
  const hone_buffer *b = pick_buffer(&e, why->level, rng);
  if (!b) return false;
  int64_t way = hone_rng_below(rng, 8);
  int depth = find_slot(s, HONE_PARAM_DEPTH, b->level, -1, b->tensor);
  int home = b->kind == HONE_BUFFER_LOCAL ? find_slot(s, HONE_PARAM_HOME, -1, -1, b->tensor) : -1;
  if (way == 7 && home >= 0 && halve(s, home, values)) return true; /* to a memory further out */
  if (way < 2 && b->depth > 1 && depth >= 0 && halve(s, depth, values)) return true;
  if (way < 4 && deepen_buffer(s, &e, b, rng, values)) return true;
  return shrink_buffer(s, &e, b, rng, values) || deepen_buffer(s, &e, b, rng, values) ||
         (depth >= 0 && halve(s, depth, values));
}

/* ---- positions and joins ---- */

/* Sorts the positions of every tensor from the outermost memory inwards. */
static bool order_positions(const hone_space *s, bool up, int64_t *values)
{
  bool changed = false;
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

static bool fix_placement(const hone_space *s, hone_rng *rng, const hone_why *why, int64_t *values)
{
  bool up = hone_rng_below(rng, 2) == 0;
  if (order_positions(s, up, values)) return true;
  int at = find_slot(s, HONE_PARAM_AT, why->level, -1, why->tensor), join = find_slot(s, HONE_PARAM_JOIN, -1, -1, why->tensor);
  if (at < 0 || join < 0) return false;
  values[up ? at : join] = values[up ? join : at]; /* inside the join */
  return true;
}

/* The first loop over one of the dims that has several trips; -1 if none has. */
static int first_loop(const hone_space *s, const hone_schedule *c, hone_dimset dims)
{
  for (int l = 1; l < s->m->nlevels; l++)
    for (int i = 0; i < s->op->ndims; i++) {
      int d = c->order[l][i];
      if ((dims >> d & 1u) && c->tile[l][d] < c->tile[l - 1][d]) return (l - 1) * s->op->ndims + i;
    }
  return -1;
}

/* Joins end before loop p, of one intermediate or (tensor < 0) of all. */
static bool retreat(const hone_space *s, int tensor, int p, int64_t *values)
{
  bool changed = false;
  for (int i = 0; i < s->nvariables; i++) {
    const hone_param *q = s->variable[i].param;
    if (q->kind != HONE_PARAM_JOIN || (tensor >= 0 && q->tensor != tensor) || values[i] <= p) continue;
    values[i] = p;
    changed = true;
  }
  return changed;
}

/* Every kept intermediate joins where the outermost of them does. */
static bool align_joins(const hone_space *s, const hone_schedule *c, int64_t *values)
{
  int least = HONE_MAX_LOOPS;
  for (int t = 0; t < s->op->ntensors; t++)
    if (s->op->tensor[t].role == HONE_ROLE_INTERMEDIATE && c->home[t] > 0 && c->join[t] < least) least = c->join[t];
  return retreat(s, -1, least, values);
}

static bool set_last(const hone_space *s, int slot, int64_t *values)
{
  hone_domain d = {0};
  int64_t before = slot >= 0 ? values[slot] : 0;
  if (slot < 0) return false;
  hone_space_domain(s, slot, values, &d);
  if (d.n > 0) values[slot] = hone_domain_at(&d, d.n - 1);
  hone_domain_fini(&d);
  return values[slot] != before;
}

static bool fix_join(const hone_space *s, hone_rng *rng, const hone_why *why, int64_t *values)
{
  hone_schedule c;
  int64_t way = hone_rng_below(rng, 16);
  int home = find_slot(s, HONE_PARAM_HOME, -1, -1, why->tensor);
  normalize(s, values, &c);
  if (way == 0 && home >= 0) return values[home] = 0, true; /* through DRAM after all */
  if (why->dim < 0) return align_joins(s, &c, values);
  int p = first_loop(s, &c, 1u << why->dim);
  if (p < 0) return false;
  int tile = find_slot(s, HONE_PARAM_TILE, p / s->op->ndims + 1, why->dim, -1);
  return (way < 7 && set_last(s, tile, values)) || retreat(s, why->tensor, p, values);
}

/* Keeps the tensor in another set of memories, from which it reaches its engines
 * if any set does; buffers that are new there sit where their group ends. */
static bool fix_operand(const hone_space *s, hone_rng *rng, const hone_why *why, int64_t *values)
{
  int slot[HONE_MAX_LEVELS], n = 0;
  int64_t before[HONE_MAX_LEVELS];
  for (int i = 0; i < s->nvariables; i++) {
    const hone_param *p = s->variable[i].param;
    if (p->kind != HONE_PARAM_AT || p->tensor != why->tensor || p->min != HONE_BYPASS) continue;
    before[n] = values[i];
    slot[n++] = i;
  }
  if (n == 0 || hone_rng_below(rng, 8) == 0) return false;
  unsigned sets = 1u << n, first = (unsigned)hone_rng_below(rng, sets);
  for (unsigned k = 0; k < sets; k++) {
    hone_why now;
    for (int i = 0; i < n; i++) {
      bool here = (((first + k) % sets) >> i & 1u) != 0;
      int64_t place = before[i] == HONE_BYPASS ? (int64_t)s->variable[slot[i]].param->level * s->op->ndims : before[i];
      values[slot[i]] = here ? place : HONE_BYPASS;
    }
    hone_reason bad = space_check_schedule(s, values, &now);
    if ((bad != HONE_REASON_OPERAND && bad != HONE_REASON_PATH) || now.tensor != why->tensor) return true;
  }
  return false;
}

/* Partial results may not come back: the buffer moves before the reduced loops.
 * Where a tensor cannot get from one of its memories to the next, as an operand. */
static bool fix_path(const hone_space *s, hone_rng *rng, const hone_why *why, int64_t *values)
{
  hone_schedule c;
  int at = find_slot(s, HONE_PARAM_AT, why->level, -1, why->tensor);
  if (why->level <= 0) return fix_operand(s, rng, why, values);
  normalize(s, values, &c);
  int p = why->stage >= 0 ? first_loop(s, &c, s->op->stage[why->stage].reduced) : -1;
  if (at < 0 || p < 0 || values[at] <= p || hone_rng_below(rng, 4) == 0) return false;
  values[at] = p;
  order_positions(s, false, values);
  return true;
}

/* ---- too many loops ---- */

/* Undoes as many loops as there are too many: a tile becomes as large as the one
 * around it, or as small as the one inside. */
static bool fix_loops(const hone_space *s, hone_rng *rng, const hone_why *why, int64_t *values)
{
  hone_schedule c;
  bool changed = false;
  normalize(s, values, &c);
  for (int64_t k = why->limit; k < why->have; k++) {
    int level = 0, dim = 0, n = 0;
    for (int l = 1; l < s->m->nlevels; l++)
      for (int d = 0; d < s->op->ndims; d++)
        if (c.tile[l][d] < c.tile[l - 1][d] && hone_rng_below(rng, ++n) == 0) level = l, dim = d;
    if (n == 0) break;
    bool inner = level + 1 < s->m->nlevels && hone_rng_below(rng, 2) == 0;
    int slot = find_slot(s, HONE_PARAM_TILE, level, dim, -1);
    if (slot < 0) continue;
    values[slot] = c.tile[level][dim] = c.tile[inner ? level + 1 : level - 1][dim];
    changed = true;
  }
  return changed;
}

/* ---- anything else ---- */

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

static const struct {
  hone_reason reason;
  bool (*fix)(const hone_space *s, hone_rng *rng, const hone_why *why, int64_t *values);
} fixes[] = {{HONE_REASON_CAPACITY, fix_capacity},
             {HONE_REASON_PLACEMENT, fix_placement},
             {HONE_REASON_JOIN, fix_join},
             {HONE_REASON_LOOPS, fix_loops},
             {HONE_REASON_PATH, fix_path},
             {HONE_REASON_OPERAND, fix_operand}};

static bool fix_schedule(const hone_space *s, hone_rng *rng, const hone_why *why, int64_t *values)
{
  int any = (int)hone_rng_below(rng, s->nvariables);
  if (hone_rng_below(rng, 24) == 0) return redraw(s, rng, any, values); /* out of a dead end */
  for (size_t i = 0; i < sizeof fixes / sizeof *fixes; i++)
    if (fixes[i].reason == why->reason && fixes[i].fix(s, rng, why, values)) return true;
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
