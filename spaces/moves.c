/* Moves: how a search goes from one legal point to another. Tiles move along the
 * useful sizes of their domain, by factors, against each other and until a memory
 * is full; loops are exchanged; buffers move to other positions. Reading order:
 * helpers, one function per move, the table, mutate, cross, neighbours. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "spaces/keyset.h"
#include "spaces/walk_int.h"

enum { SMALL_DOMAIN = 16, MUTATE_TRIES = 12 };

typedef struct {
  const hone_space *s;
  hone_rng *rng;
  int64_t *values;
} mover;

/* ---- helpers ---- */

/* A random parameter of the kind (and level, if >= 0), -1 if there is none. */
static int pick(const mover *m, hone_param_kind kind, int level)
{
  int found = -1, n = 0;
  for (int i = 0; i < m->s->nvariables; i++) {
    const hone_param *p = m->s->variable[i].param;
    if (p->kind == kind && (level < 0 || p->level == level) && hone_rng_below(m->rng, ++n) == 0) found = i;
  }
  return found;
}

/* Another value than the present one, chosen by `choose` among the domain's
 * indices given the present index. False when the domain has no other. */
static bool change(mover *m, int slot, int64_t (*choose)(const hone_domain *, int64_t at, int64_t value, hone_rng *))
{
  hone_domain d = {0};
  int64_t before;
  if (slot < 0) return false;
  before = m->values[slot];
  hone_space_domain(m->s, slot, m->values, &d);
  if (d.n > 0) {
    int64_t at = choose(&d, hone_domain_nearest(&d, before), before, m->rng);
    m->values[slot] = hone_domain_at(&d, hone_max64(0, hone_min64(at, d.n - 1)));
  }
  hone_domain_fini(&d);
  return m->values[slot] != before;
}

static int64_t choose_step(const hone_domain *d, int64_t at, int64_t value, hone_rng *rng)
{
  (void)d, (void)value;
  int64_t step = 1 + (hone_rng_below(rng, 3) == 0);
  return hone_rng_below(rng, 2) == 0 ? at - step : at + step;
}

static int64_t choose_any(const hone_domain *d, int64_t at, int64_t value, hone_rng *rng)
{
  (void)at, (void)value;
  return hone_rng_below(rng, d->n);
}

static int64_t choose_larger(const hone_domain *d, int64_t at, int64_t value, hone_rng *rng)
{
  int64_t factor = 2 << hone_rng_below(rng, 2);
  return value > INT64_MAX / factor ? d->n - 1 : hone_max64(at + 1, hone_domain_nearest(d, value * factor));
}

static int64_t choose_smaller(const hone_domain *d, int64_t at, int64_t value, hone_rng *rng)
{
  return hone_min64(at - 1, hone_domain_nearest(d, value / (2 << hone_rng_below(rng, 2))));
}

static int64_t choose_last(const hone_domain *d, int64_t at, int64_t value, hone_rng *rng)
{
  (void)at, (void)value, (void)rng;
  return d->n - 1;
}

static int64_t choose_first(const hone_domain *d, int64_t at, int64_t value, hone_rng *rng)
{
  (void)d, (void)at, (void)value, (void)rng;
  return 0;
}

/* ---- moves of tiles ---- */

static bool tile_step(mover *m) { return change(m, pick(m, HONE_PARAM_TILE, -1), choose_step); }
static bool tile_any(mover *m) { return change(m, pick(m, HONE_PARAM_TILE, -1), choose_any); }
static bool tile_whole(mover *m) { return change(m, pick(m, HONE_PARAM_TILE, -1), choose_last); }

static bool tile_scale(mover *m)
{
  bool larger = hone_rng_below(m->rng, 2) == 0; /* drawn before pick draws: arguments have no order in C */
  return change(m, pick(m, HONE_PARAM_TILE, -1), larger ? choose_larger : choose_smaller);
}

/* One tile grows, another of its memory shrinks. */
static bool tile_trade(mover *m)
{
  int a = pick(m, HONE_PARAM_TILE, -1);
  if (a < 0) return false;
  int b = pick(m, HONE_PARAM_TILE, m->s->variable[a].param->level);
  return a != b && change(m, b, choose_smaller) && change(m, a, choose_larger);
}

/* A dim's tiles of all memories, outermost first when they grow, so that each
 * finds room inside the one around it. */
static bool tile_column(mover *m)
{
  int a = pick(m, HONE_PARAM_TILE, -1);
  bool grow = hone_rng_below(m->rng, 2) == 0, changed = false;
  if (a < 0) return false;
  for (int i = 0; i < m->s->nvariables; i++) {
    const hone_param *p = m->s->variable[i].param;
    if (p->kind != HONE_PARAM_TILE || p->dim != m->s->variable[a].param->dim) continue;
    changed |= change(m, i, grow ? choose_larger : choose_smaller);
  }
  return changed;
}

static bool is_legal(const mover *m)
{
  return hone_space_check(m->s, m->values, NULL) == HONE_REASON_NONE;
}

/* The largest value that is still legal, supposing that smaller ones are. */
static bool fill_one(mover *m, int slot)
{
  hone_domain d = {0};
  int64_t before = m->values[slot];
  hone_space_domain(m->s, slot, m->values, &d);
  int64_t good = d.n > 0 ? hone_domain_nearest(&d, before) : 0, bad = d.n;
  while (bad - good > 1) {
    int64_t middle = good + (bad - good) / 2;
    m->values[slot] = hone_domain_at(&d, middle);
    if (is_legal(m))
      good = middle;
    else
      bad = middle;
  }
  m->values[slot] = d.n > 0 ? hone_domain_at(&d, good) : before;
  hone_domain_fini(&d);
  return m->values[slot] != before;
}

/* Fills a memory: its tiles grow in random order, one after another, as far as they go. */
static bool tile_fill(mover *m)
{
  int first = pick(m, HONE_PARAM_TILE, -1);
  if (first < 0) return false;
  int level = m->s->variable[first].param->level, n = (int)hone_rng_below(m->rng, 3) + 1;
  bool changed = fill_one(m, first);
  for (int k = 1; k < n; k++) changed |= fill_one(m, pick(m, HONE_PARAM_TILE, level));
  return changed;
}

/* ---- moves of orders ---- */

static int places_of(const hone_space *s, int slot)
{
  return s->op ? s->op->ndims : (int)s->variable[slot].param->max;
}

static bool order_swap(mover *m)
{
  int slot = pick(m, HONE_PARAM_ORDER, -1);
  if (slot < 0 || places_of(m->s, slot) < 2) return false;
  int n = places_of(m->s, slot), i = (int)hone_rng_below(m->rng, n), j = (int)hone_rng_below(m->rng, n - 1);
  m->values[slot] = hone_order_swap(m->values[slot], i, j + (j >= i));
  return true;
}

static bool order_move(mover *m)
{
  int slot = pick(m, HONE_PARAM_ORDER, -1);
  if (slot < 0 || places_of(m->s, slot) < 2) return false;
  int n = places_of(m->s, slot), i = (int)hone_rng_below(m->rng, n), j = (int)hone_rng_below(m->rng, n - 1);
  m->values[slot] = hone_order_move(m->values[slot], i, j + (j >= i));
  return true;
}

/* ---- moves of buffers ---- */

static bool at_any(mover *m) { return change(m, pick(m, HONE_PARAM_AT, -1), choose_any); }
static bool at_step(mover *m) { return change(m, pick(m, HONE_PARAM_AT, -1), choose_step); }

/* All buffers of a memory to the end of its group of loops: even placement. */
static bool at_even(mover *m)
{
  int first = pick(m, HONE_PARAM_AT, -1);
  bool changed = false;
  if (first < 0) return false;
  int level = m->s->variable[first].param->level;
  bool all = hone_rng_below(m->rng, 2) == 0;
  for (int i = 0; i < m->s->nvariables; i++) {
    const hone_param *p = m->s->variable[i].param;
    if (p->kind != HONE_PARAM_AT || p->level != level || (!all && i != first)) continue;
    if (m->values[i] == HONE_BYPASS && i != first) continue;
    changed |= m->values[i] != (int64_t)level * m->s->op->ndims;
    m->values[i] = (int64_t)level * m->s->op->ndims;
  }
  return changed;
}

/* An order changes and a buffer takes the place it opens. */
static bool order_at(mover *m) { return order_swap(m) && at_any(m); }
static bool tile_at(mover *m) { return tile_scale(m) && at_any(m); }

static bool depth_any(mover *m) { return change(m, pick(m, HONE_PARAM_DEPTH, -1), choose_any); }
static bool depth_step(mover *m) { return change(m, pick(m, HONE_PARAM_DEPTH, -1), choose_step); }

/* Gives up a copy to make room for larger tiles, or takes one. */
static bool depth_tile(mover *m)
{
  int slot = pick(m, HONE_PARAM_DEPTH, -1);
  if (slot < 0) return false;
  bool less = hone_rng_below(m->rng, 2) == 0;
  if (!change(m, slot, less ? choose_smaller : choose_larger)) return false;
  int tile = pick(m, HONE_PARAM_TILE, m->s->variable[slot].param->level);
  return tile < 0 || !less || fill_one(m, tile);
}

static bool split_any(mover *m) { return change(m, pick(m, HONE_PARAM_SPLIT, -1), choose_any); }

/* One split grows, another of its axis shrinks. */
static bool split_trade(mover *m)
{
  int a = pick(m, HONE_PARAM_SPLIT, -1), b = pick(m, HONE_PARAM_SPLIT, -1);
  return a >= 0 && a != b && change(m, b, choose_smaller) && change(m, a, choose_larger);
}

/* ---- any parameter ---- */

static bool choice_any(mover *m)
{
  static const hone_param_kind kinds[] = {HONE_PARAM_JOIN,   HONE_PARAM_HOME,     HONE_PARAM_ENGINE, HONE_PARAM_SHARE,
                                          HONE_PARAM_LAYOUT, HONE_PARAM_DATAFLOW, HONE_PARAM_MAP};
  int slot = -1, n = 0;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    int i = pick(m, kinds[k], -1);
    if (i >= 0 && hone_rng_below(m->rng, ++n) == 0) slot = i;
  }
  return change(m, slot, choose_any);
}

static bool any_any(mover *m) { return change(m, (int)hone_rng_below(m->rng, m->s->nvariables), choose_any); }

static bool any_step(mover *m)
{
  int slot = (int)hone_rng_below(m->rng, m->s->nvariables);
  if (m->s->variable[slot].param->domain != HONE_DOMAIN_ORDER) return change(m, slot, choose_step);
  int n = places_of(m->s, slot), i = n > 1 ? (int)hone_rng_below(m->rng, n - 1) : 0;
  if (n > 1) m->values[slot] = hone_order_swap(m->values[slot], i, i + 1);
  return n > 1;
}

/* All intermediates join at the same place, kept in their innermost home or not at all. */
static bool join_all(mover *m)
{
  int first = pick(m, HONE_PARAM_JOIN, -1);
  bool keep = hone_rng_below(m->rng, 4) != 0;
  if (first < 0 || !change(m, first, choose_any)) return false;
  for (int i = 0; i < m->s->nvariables; i++) {
    hone_param_kind kind = m->s->variable[i].param->kind;
    if (kind == HONE_PARAM_JOIN) m->values[i] = m->values[first];
    if (kind == HONE_PARAM_HOME) change(m, i, keep ? choose_last : choose_first);
  }
  return true;
}

typedef struct {
  bool (*apply)(mover *);
  int weight; /* in schedules */
  int opaque_weight;
} move_row;

/* Weights: how often each pays on matrix multiplications, roughly; tiles most. */
static const move_row moves[] = {
    {tile_step, 10, 0},  {tile_scale, 12, 0}, {tile_any, 4, 0},   {tile_whole, 3, 0}, {tile_trade, 10, 0}, {tile_column, 6, 0},
    {tile_fill, 12, 0},  {tile_at, 4, 0},     {order_swap, 5, 0}, {order_move, 4, 0}, {order_at, 4, 0},    {at_any, 8, 0},
    {at_step, 5, 0},     {at_even, 4, 0},     {depth_any, 3, 0},  {depth_step, 6, 0}, {depth_tile, 4, 0},  {split_any, 4, 0},
    {split_trade, 4, 0}, {choice_any, 6, 0},   {join_all, 5, 0},  {any_any, 2, 50},   {any_step, 2, 50}};

static bool apply_one(mover *m)
{
  int total = 0;
  for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) total += m->s->op ? moves[i].weight : moves[i].opaque_weight;
  int64_t x = hone_rng_below(m->rng, total);
  size_t i = 0;
  for (;; i++) {
    x -= m->s->op ? moves[i].weight : moves[i].opaque_weight;
    if (x < 0) break;
  }
  return moves[i].apply(m);
}

bool hone_space_mutate(const hone_space *s, hone_rng *rng, const int64_t *values, int64_t *out)
{
  hone_hash key = hone_space_key(s, values);
  size_t bytes = (size_t)s->nvariables * sizeof *out;
  if (s->nvariables == 0) return false;
  for (int k = 0; k < MUTATE_TRIES; k++) {
    mover m = {s, rng, out};
    memcpy(out, values, bytes);
    if (!apply_one(&m)) continue;
    if (hone_space_repair(s, rng, out) && hone_hash_cmp(hone_space_key(s, out), key) != 0) return true;
  }
  return false;
}

/* ---- crossing ---- */

/* Parameters that belong together have the same group. */
static int group_of(const hone_space *s, int i)
{
  const hone_param *p = s->variable[i].param;
  if (!s->op) return i;
  if (p->dim >= 0) return p->dim;
  if (p->tensor >= 0) return HONE_MAX_DIMS + p->tensor;
  if (p->stage >= 0) return HONE_MAX_DIMS + HONE_MAX_TENSORS + p->stage;
  return HONE_MAX_DIMS + HONE_MAX_TENSORS + HONE_MAX_STAGES + p->level;
}

bool hone_space_cross(const hone_space *s, hone_rng *rng, const int64_t *a, const int64_t *b, int64_t *out)
{
  bool from_b[HONE_SPACE_PARAMETERS];
  for (int g = 0; g < HONE_SPACE_PARAMETERS; g++) from_b[g] = hone_rng_below(rng, 2) == 0;
  for (int i = 0; i < s->nvariables; i++) out[i] = from_b[group_of(s, i)] ? b[i] : a[i];
  return hone_space_repair(s, rng, out);
}

/* ---- neighbours ---- */

typedef struct {
  const hone_space *s;
  const int64_t *values;
  hone_keyset seen;
  int64_t *out, n, capacity;
} collector;

/* Later values that no longer fit go to the next smaller one; then it must be legal. */
static void offer(collector *c, int slot, int64_t value)
{
  int64_t point[HONE_SPACE_PARAMETERS];
  size_t bytes = (size_t)c->s->nvariables * sizeof *point;
  hone_domain d = {0};
  bool ok = true;
  memcpy(point, c->values, bytes);
  point[slot] = value;
  for (int i = slot + 1; i < c->s->nvariables && ok; i++) {
    if (c->s->variable[i].nreads == 0) continue;
    hone_space_domain(c->s, i, point, &d);
    ok = d.n > 0;
    if (ok && hone_domain_find(&d, point[i]) < 0) point[i] = hone_domain_at(&d, hone_domain_nearest(&d, point[i]));
  }
  hone_domain_fini(&d);
  if (!ok || hone_space_check(c->s, point, NULL) != HONE_REASON_NONE) return;
  if (!hone_keyset_add(&c->seen, hone_space_key(c->s, point))) return;
  if (c->n == c->capacity) {
    c->capacity = c->capacity ? 2 * c->capacity : 64;
    c->out = hone_heap_realloc(c->out, (size_t)c->capacity, bytes);
  }
  memcpy(c->out + c->n * c->s->nvariables, point, bytes);
  c->n++;
}

static void offer_orders(collector *c, int slot, const hone_domain *d)
{
  int n = places_of(c->s, slot);
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) {
      int64_t order = hone_order_swap(c->values[slot], i, j);
      if (hone_domain_find(d, order) >= 0) offer(c, slot, order);
    }
}

static void offer_values(collector *c, int slot, const hone_domain *d)
{
  int64_t value = c->values[slot], at = hone_domain_nearest(d, value);
  if (d->n <= SMALL_DOMAIN) {
    for (int64_t i = 0; i < d->n; i++)
      if (hone_domain_at(d, i) != value) offer(c, slot, hone_domain_at(d, i));
    return;
  }
  int64_t index[] = {at - 1, at + 1, hone_domain_nearest(d, value / 2), value > INT64_MAX / 2 ? at : hone_domain_nearest(d, 2 * value)};
  for (size_t k = 0; k < sizeof index / sizeof *index; k++)
    if (index[k] >= 0 && index[k] < d->n && hone_domain_at(d, index[k]) != value) offer(c, slot, hone_domain_at(d, index[k]));
}

void hone_space_neighbours(const hone_space *s, const int64_t *values, int64_t **out, int64_t *n)
{
  collector c = {.s = s, .values = values};
  hone_domain d = {0};
  hone_keyset_add(&c.seen, hone_space_key(s, values));
  for (int i = 0; i < s->nvariables; i++) {
    hone_space_domain(s, i, values, &d);
    if (s->variable[i].param->domain == HONE_DOMAIN_ORDER)
      offer_orders(&c, i, &d);
    else if (d.n > 0)
      offer_values(&c, i, &d);
  }
  hone_domain_fini(&d);
  hone_keyset_fini(&c.seen);
  *out = c.out;
  *n = c.n;
}
