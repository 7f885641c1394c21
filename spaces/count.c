/* Counting. The size of the product is exact without listing it: variables whose
 * domains depend on each other form components (a chain of tiles; everything
 * else stands alone); a component is counted by recursion over its values, with
 * results kept by the values that later domains still read; components multiply.
 * Legal points are counted by walking, when there are few enough. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "spaces/bignum.h"
#include "spaces/walk_int.h"

enum { MEMO_LIMIT = 1 << 20, DRAWS = 2000 };

/* ---- the product ---- */

typedef struct {
  hone_hash key;
  hone_bignum count;
} memo_entry;

typedef struct {
  const hone_space *s;
  int n, *slot; /* variables of the component, ascending */
  int64_t values[HONE_SPACE_PARAMETERS];
  memo_entry *memo;
  size_t capacity, used;
  bool full;
} component;

static memo_entry *find_memo(component *c, hone_hash key)
{
  size_t i = (size_t)key.lo & (c->capacity - 1);
  while ((c->memo[i].key.hi != 0 || c->memo[i].key.lo != 0) && hone_hash_cmp(c->memo[i].key, key) != 0)
    i = (i + 1) & (c->capacity - 1);
  return &c->memo[i];
}

static void remember(component *c, hone_hash key, const hone_bignum *count)
{
  if (2 * (c->used + 1) > c->capacity) {
    component old = *c;
    c->capacity = old.capacity ? 2 * old.capacity : 256;
    c->memo = hone_heap_alloc(c->capacity, sizeof *c->memo);
    for (size_t i = 0; i < old.capacity; i++)
      if (old.memo[i].key.hi != 0 || old.memo[i].key.lo != 0) *find_memo(c, old.memo[i].key) = old.memo[i];
    free(old.memo);
  }
  *find_memo(c, key) = (memo_entry){key, *count};
  c->used++;
}

static bool reads(const space_variable *v, int slot)
{
  for (int i = 0; i < v->nreads; i++)
    if (v->reads[i] == slot) return true;
  return false;
}

/* What the count of variables k.. depends on: k, and the earlier values they read. */
static hone_hash memo_key(const component *c, int k)
{
  int64_t live[HONE_SPACE_PARAMETERS + 1];
  size_t n = 0;
  live[n++] = k;
  for (int i = 0; i < k; i++) {
    bool needed = false;
    for (int j = k; j < c->n && !needed; j++) needed = reads(&c->s->variable[c->slot[j]], c->slot[i]);
    if (needed) live[n++] = c->values[c->slot[i]];
  }
  return hone_hash_bytes(live, n * sizeof *live);
}

static bool read_later(const component *c, int k)
{
  for (int j = k + 1; j < c->n; j++)
    if (reads(&c->s->variable[c->slot[j]], c->slot[k])) return true;
  return false;
}

/* Points of variables k.. of the component, given the values before. */
static void count_from(component *c, int k, hone_bignum *out)
{
  hone_bignum_set(out, 1);
  if (k == c->n) return;
  hone_hash key = memo_key(c, k);
  memo_entry *known = c->capacity > 0 ? find_memo(c, key) : NULL;
  if (known && (known->key.hi != 0 || known->key.lo != 0)) {
    *out = known->count;
    return;
  }
  if (c->used >= MEMO_LIMIT) c->full = true;
  if (c->full) return;
  hone_domain d = {0};
  hone_bignum part;
  int slot = c->slot[k];
  hone_space_domain(c->s, slot, c->values, &d);
  if (read_later(c, k)) {
    hone_bignum_set(out, 0);
    for (int64_t i = 0; i < d.n && !c->full; i++) {
      c->values[slot] = hone_domain_at(&d, i);
      count_from(c, k + 1, &part);
      hone_bignum_add(out, &part);
    }
  } else { /* every value goes on alike */
    c->values[slot] = d.n > 0 ? hone_domain_at(&d, 0) : 0;
    hone_bignum_set(out, (uint64_t)d.n);
    if (d.n > 0) {
      count_from(c, k + 1, &part);
      hone_bignum_multiply(out, &part);
    }
  }
  hone_domain_fini(&d);
  remember(c, key, out);
}

/* Component numbers by repeated merging over the dependencies. */
static void find_components(const hone_space *s, int *number)
{
  for (int i = 0; i < s->nvariables; i++) number[i] = i;
  for (int i = 0; i < s->nvariables; i++)
    for (int k = 0; k < s->variable[i].nreads; k++) {
      int from = number[s->variable[i].reads[k]], to = number[i];
      for (int j = 0; j < s->nvariables; j++)
        if (number[j] == from) number[j] = to;
    }
}

/* False when the dependencies are too wide to count. */
static bool count_product(const hone_space *s, hone_bignum *out)
{
  int number[HONE_SPACE_PARAMETERS], slot[HONE_SPACE_PARAMETERS];
  bool ok = true;
  find_components(s, number);
  hone_bignum_set(out, 1);
  for (int id = 0; ok && id < s->nvariables; id++) {
    component c = {.s = s, .slot = slot};
    hone_bignum part;
    for (int i = 0; i < s->nvariables; i++)
      if (number[i] == id) slot[c.n++] = i;
    count_from(&c, 0, &part);
    hone_bignum_multiply(out, &part);
    ok = !c.full;
    free(c.memo);
  }
  return ok;
}

/* ---- legal points ---- */

/* Walks everything if it can within the limit. */
static void count_legal(const hone_space *s, int64_t limit, hone_space_count *out)
{
  hone_space_walk *w = hone_space_walk_new(s);
  int64_t values[HONE_SPACE_PARAMETERS], schedules = 0;
  hone_space_walk_set_limit(w, limit);
  while (hone_space_walk_next(w, values)) schedules++;
  out->counted = w->at_end;
  out->tried = w->tried;
  out->legal = out->counted ? w->legal : -1;
  out->schedules = out->counted ? schedules : -1;
  out->state = schedules > 0 ? HONE_SPACE_HAS_LEGAL : w->at_end ? HONE_SPACE_PROVEN_EMPTY : HONE_SPACE_NONE_FOUND;
  memcpy(out->killed, w->killed, sizeof out->killed);
  memcpy(out->by_constraint, w->by_constraint, (size_t)s->nconstraints * sizeof *out->by_constraint);
  hone_space_walk_free(w);
}

/* Too many to walk: what kills random points, and can one be repaired? */
static void survey(const hone_space *s, uint64_t seed, hone_space_count *out)
{
  int64_t values[HONE_SPACE_PARAMETERS];
  hone_space_why why;
  hone_rng rng;
  hone_rng_init(&rng, seed);
  memset(out->killed, 0, sizeof out->killed);
  memset(out->by_constraint, 0, (size_t)(s->nconstraints + 1) * sizeof *out->by_constraint);
  for (out->tried = 0; out->tried < DRAWS; out->tried++) {
    bool drawn = space_draw(s, &rng, values);
    hone_reason r = drawn ? hone_space_check(s, values, &why) : HONE_REASON_CONSTRAINT;
    if (r == HONE_REASON_NONE) out->state = HONE_SPACE_HAS_LEGAL;
    out->killed[r] += r != HONE_REASON_NONE;
    if (drawn && r == HONE_REASON_CONSTRAINT) out->by_constraint[why.constraint]++;
  }
  if (out->state != HONE_SPACE_HAS_LEGAL && hone_space_sample(s, &rng, 200, values)) out->state = HONE_SPACE_HAS_LEGAL;
}

static void explain(const hone_space *s, hone_space_count *out)
{
  if (out->state == HONE_SPACE_HAS_LEGAL) return;
  int n = snprintf(out->text, sizeof out->text, "%s", out->state == HONE_SPACE_PROVEN_EMPTY ? "no point is legal" : "no legal point was found");
  for (int r = 0; r < HONE_REASON_COUNT && n < (int)sizeof out->text; r++)
    if (out->killed[r] > 0 && r != HONE_REASON_CONSTRAINT)
      n += snprintf(out->text + n, sizeof out->text - (size_t)n, "; %s: %" PRId64, hone_reason_text((hone_reason)r), out->killed[r]);
  for (int c = 0; c < s->nconstraints && n < (int)sizeof out->text; c++)
    if (out->by_constraint[c] > 0)
      n += snprintf(out->text + n, sizeof out->text - (size_t)n, "; constraint '%s': %" PRId64, s->constraint[c].name, out->by_constraint[c]);
}

void hone_space_count_run(const hone_space *s, int64_t limit, uint64_t seed, hone_space_count *out)
{
  hone_bignum points;
  *out = (hone_space_count){.legal = -1, .schedules = -1, .state = HONE_SPACE_NONE_FOUND};
  out->by_constraint = hone_heap_alloc((size_t)s->nconstraints + 1, sizeof *out->by_constraint);
  bool sized = count_product(s, &points);
  if (sized) {
    hone_bignum_print(&points, out->points);
    out->log10_points = hone_bignum_log10(&points);
  } else
    snprintf(out->points, sizeof out->points, "not counted");
  bool few = sized && hone_bignum_small(&points, limit) >= 0;
  if (limit > 0 && (few || s->nconstraints > 0)) count_legal(s, limit, out);
  if (!out->counted) survey(s, seed, out);
  explain(s, out);
}

void hone_space_count_fini(hone_space_count *c)
{
  free(c->by_constraint);
  *c = (hone_space_count){0};
}
