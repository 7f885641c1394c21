/* The best known schedule of every integer: what losses are counted from.
 *
 * 1. The default of every shape. They are the first members of the pool.
 * 2. Full searches at few shapes: the ends, then between two of them (halving in
 *    the logarithm, since what matters about a size is its ratio to a tile) as
 *    long as a search finds more than the pool gives there; then shorter ones at
 *    equal distances.
 * 3. Every shape: the pool, and a short search from the pool's best.
 * 4. What such a search found beyond the pool joins the pool, the largest gains
 *    first, and is tried everywhere.
 * 5. The check: full searches at random shapes. While they find much better
 *    schedules, those join the pool and other shapes are checked.
 *
 * 6. The default, or else the find, of shapes at which the pool still has nothing
 *    that may serve.
 *
 * So a figure exists of how far the reference may be from the optimum: what the
 * last check found (the bound of each shape gives another). */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "campaign/family_int.h"

enum { FIRST_HALVINGS = 3, MOST_ANCHORS = 65, MOST_DEFAULTS = 64 };
enum { GRID = 32, GRID_SHARE = 8 };                    /* shapes at equal distances; their share of the budget */
enum { LOCAL_SHARE = 100, LOCAL_LEAST = 48 };          /* budget of the short searches */
enum { JOIN_ROUNDS = 8, JOIN_AT_ONCE = 24 };           /* finds tried everywhere */
enum { CHECK_SHAPES = 8, CHECK_ROUNDS = 4 };
#define WORTH_A_SEARCH 0.005 /* = HONE_SIGNIFICANT_GAIN_PCT */
#define WORTH_JOINING 0.001
#define WORTH_KEEPING 0.05 /* loss against the best find of the same search */

static uint64_t seed_of(const family *f, uint64_t step, int64_t i)
{
  hone_rng all, one;
  hone_rng_init(&all, f->task->seed);
  hone_rng_split(&all, step, &one);
  hone_rng_split(&one, (uint64_t)(f->lo + i), &all);
  return hone_rng_next(&all) >> 1;
}

static void count(family *f, int64_t searches, int64_t searched)
{
  hone_family_counts *c = &f->out->counts;
#pragma omp atomic
  c->searches += searches;
#pragma omp atomic
  c->searched += searched;
#pragma omp atomic
  c->evaluated += searched;
}

static void note(family *f, int64_t i, int64_t cycles, const hone_schedule *s)
{
  if (f->found[i] < 0 || cycles < f->found[i]) {
    f->found[i] = cycles;
    f->found_schedule[i] = *s;
  }
  if (f->reference[i] < 0 || cycles < f->reference[i]) f->reference[i] = cycles;
}

/* By how much `cycles` undercuts `known`; all of it when nothing is known. */
static double gain_over(int64_t known, int64_t cycles)
{
  return known < 0 ? INFINITY : (double)known / (double)cycles - 1;
}

/* ---- defaults --------------------------------------------------------------- */

/* Of one shape: its default, where by_default says that there is one, and its dims. */
typedef struct {
  hone_schedule schedule;
  int64_t extent[HONE_MAX_DIMS];
} start;

/* An entry's schedule is written for its largest shape and cut to the others. */
static hone_status check_growing(const family *f, const start *list, hone_err *err)
{
  for (int64_t i = 1; i < f->n; i++) {
    if (f->hole[i - 1] || f->hole[i]) continue;
    for (int d = 0; d < f->top->op.ndims; d++)
      if (list[i].extent[d] < list[i - 1].extent[d])
        return hone_err_set(err, HONE_USAGE, "range.shrinks", "dim %s shrinks from %lld to %lld as %s grows to %lld; a range needs dims that do not",
                            f->top->op.dim[d].name, (long long)list[i - 1].extent[d], (long long)list[i].extent[d], f->out->size,
                            (long long)(f->lo + i));
  }
  return HONE_OK;
}

static hone_status take_default(family *f, void *arg, int64_t i, hone_err *err)
{
  start *list = arg;
  hone_schedule cut;
  shape *x = NULL;
  hone_bound bound = { 0 };
  hone_status st = shape_new(f, i, SHAPE_MODEL, &x, err);
  f->hole[i] = st == HONE_INFEASIBLE;
  if (st != HONE_OK) return f->hole[i] ? HONE_OK : st;
  for (int d = 0; d < x->op.ndims; d++) list[i].extent[d] = x->op.dim[d].extent;
  st = hone_bound_cycles(&x->op, f->task->machine, &bound, err);
  f->bound[i] = bound.cycles;
  if (st == HONE_OK && hone_schedule_default(&x->op, f->task->machine, &list[i].schedule, NULL) == HONE_OK) {
    f->by_default[i] = shape_cost(f, x, &list[i].schedule, &cut);
    f->reference[i] = f->by_default[i];
  }
  shape_free(x);
  return st;
}

/* From the largest shape down, for there one member stands for many shapes. */
static hone_status add_defaults(family *f, hone_err *err)
{
  start *list = hone_heap_alloc((size_t)f->n, sizeof *list);
  hone_status st = family_each(f, "defaults", f->n, take_default, list, err);
  if (st == HONE_OK) st = check_growing(f, list, err);
  f->out->counts.evaluated += f->n;
  for (int64_t i = f->n - 1; i >= 0 && st == HONE_OK && f->members < MOST_DEFAULTS; i--) {
    shape *x = NULL;
    if (f->by_default[i] < 0) continue;
    st = shape_new(f, i, SHAPE_MODEL, &x, err);
    if (st == HONE_OK) pool_add(f, x, &list[i].schedule);
    shape_free(x);
  }
  free(list);
  return st;
}

/* ---- full searches ---------------------------------------------------------- */

typedef struct {
  int64_t i;
  uint64_t step;    /* part of the seed */
  int64_t budget;
  int64_t known;    /* best of the pool and the default at i before the search */
  finds found;
} anchor;

static hone_status search_anchor(family *f, void *arg, int64_t k, hone_err *err)
{
  anchor *a = (anchor *)arg + k;
  shape *x = NULL;
  hone_schedule cut;
  a->known = f->reference[a->i];
  hone_status st = shape_new(f, a->i, SHAPE_SPACE, &x, err);
  if (st == HONE_INFEASIBLE) return HONE_OK;
  if (st != HONE_OK) return st;
  for (int c = 0; c < f->members; c++) {
    int64_t cycles = shape_cost(f, x, &f->member[c], &cut);
    if (cycles >= 0 && (a->known < 0 || cycles < a->known)) a->known = cycles;
  }
  st = shape_search(f, x, seed_of(f, a->step, a->i), a->budget, 0, NULL, &a->found, err);
  count(f, a->budget == f->task->budget, a->found.evaluated);
  shape_free(x);
  return st;
}

/* Searches at n shapes; what was found joins the pool, uncosted. */
static hone_status search_all(family *f, const char *step, anchor *a, int n, hone_err *err)
{
  hone_status st = family_each(f, step, n, search_anchor, a, err);
  for (int k = 0; k < n && st == HONE_OK; k++) {
    shape *x = NULL;
    if (a[k].found.n == 0) continue;
    note(f, a[k].i, a[k].found.cycles[0], &a[k].found.schedule[0]);
    st = shape_new(f, a[k].i, SHAPE_MODEL, &x, err);
    for (int j = 0; j < a[k].found.n && st == HONE_OK; j++)
      if (gain_over(a[k].found.cycles[j], a[k].found.cycles[0]) <= WORTH_KEEPING) pool_add(f, x, &a[k].found.schedule[j]);
    shape_free(x);
  }
  return st;
}

static double gain_at(const anchor *a)
{
  return a->found.n > 0 ? gain_over(a->known, a->found.cycles[0]) : 0;
}

/* The geometric mean of two sizes, -1 when there is none between them. */
static int64_t between(const family *f, int64_t a, int64_t b)
{
  if (b - a < 2) return -1;
  int64_t middle = (int64_t)sqrt((double)(f->lo + a) * (double)(f->lo + b)) - f->lo;
  return hone_min64(b - 1, hone_max64(a + 1, middle));
}

typedef struct {
  int64_t a, b;
} stretch;

static hone_status search_anchors(family *f, hone_err *err)
{
  anchor *a = hone_heap_alloc(MOST_ANCHORS, sizeof *a);
  stretch open[MOST_ANCHORS] = { { 0, f->n - 1 } }, of[MOST_ANCHORS];
  int nopen = 1, done = f->n > 1 ? 2 : 1;
  a[0] = (anchor){ .i = 0, .budget = f->task->budget };
  a[1] = (anchor){ .i = f->n - 1, .budget = f->task->budget };
  hone_status st = search_all(f, "full search", a, done, err);
  for (int halving = 0; st == HONE_OK && nopen > 0; halving++) {
    int n = 0;
    for (int k = 0; k < nopen && done + n < MOST_ANCHORS; k++) {
      int64_t i = between(f, open[k].a, open[k].b);
      if (i < 0) continue;
      a[n] = (anchor){ .i = i, .budget = f->task->budget };
      of[n++] = open[k];
    }
    st = search_all(f, "full search", a, n, err);
    done += n;
    nopen = 0;
    for (int k = 0; k < n; k++) {
      if (halving + 1 >= FIRST_HALVINGS && gain_at(&a[k]) <= WORTH_A_SEARCH) continue;
      if (nopen + 2 > MOST_ANCHORS) break;
      open[nopen++] = (stretch){ of[k].a, a[k].i };
      open[nopen++] = (stretch){ a[k].i, of[k].b };
    }
  }
  free(a);
  return st;
}

/* Shorter ones at equal distances, for the ways to cut that they find good. */
static hone_status search_grid(family *f, hone_err *err)
{
  anchor *a = hone_heap_alloc(GRID, sizeof *a);
  int n = (int)hone_min64(GRID, f->n);
  for (int k = 0; k < n; k++)
    a[k] = (anchor){ .i = f->n * (2 * k + 1) / (2 * n), .step = 1, .budget = hone_max64(LOCAL_LEAST, f->task->budget / GRID_SHARE) };
  hone_status st = search_all(f, "search", a, n, err);
  free(a);
  return st;
}

/* ---- every shape ------------------------------------------------------------ */

static hone_status search_near(family *f, void *arg, int64_t i, hone_err *err)
{
  (void)arg;
  if (f->hole[i]) return HONE_OK;
  shape *x = NULL;
  hone_schedule seeds[FINDS];
  int member[FINDS];
  int64_t budget = hone_max64(LOCAL_LEAST, f->task->budget / LOCAL_SHARE);
  hone_status st = shape_new(f, i, SHAPE_SPACE, &x, err);
  if (st == HONE_INFEASIBLE) return HONE_OK; /* the space's text leaves nothing here; the pool may */
  if (st != HONE_OK) return st;
  int n = pool_best(f, i, FINDS, member);
  for (int k = 0; k < n; k++) shape_cost(f, x, &f->member[member[k]], &seeds[k]);
  finds found;
  st = shape_search(f, x, seed_of(f, 1, i), budget, n, seeds, &found, err);
  count(f, 0, found.evaluated);
  if (st == HONE_OK && found.n > 0) note(f, i, found.cycles[0], &found.schedule[0]);
  shape_free(x);
  return st;
}

/* ---- finds join the pool ---------------------------------------------------- */

typedef struct {
  int64_t i;
  double gain; /* of the search over the pool */
} find;

static int by_gain(const void *x, const void *y)
{
  const find *a = x, *b = y;
  if (a->gain != b->gain) return a->gain > b->gain ? -1 : 1;
  return (a->i > b->i) - (a->i < b->i);
}

/* What searches at a shape found beyond the pool, largest gain first. */
static int64_t list_finds(const family *f, find *list)
{
  int64_t n = 0;
  for (int64_t i = 0; i < f->n; i++) {
    int best;
    if (f->found[i] < 0) continue;
    int64_t known = pool_best(f, i, 1, &best) ? family_cost(f, best, i) : -1;
    double gain = gain_over(known, f->found[i]);
    if (gain > WORTH_JOINING) list[n++] = (find){ i, gain };
  }
  qsort(list, (size_t)n, sizeof *list, by_gain);
  return n;
}

/* The best find, and others not near one taken: neighbours found much the same. */
static hone_status take_finds(family *f, const find *list, int64_t n, hone_err *err)
{
  int64_t taken[JOIN_AT_ONCE];
  int ntaken = 0;
  hone_status st = HONE_OK;
  for (int64_t k = 0; k < n && ntaken < JOIN_AT_ONCE && st == HONE_OK; k++) {
    bool near = false;
    for (int j = 0; j < ntaken; j++) {
      int64_t apart = taken[j] > list[k].i ? taken[j] - list[k].i : list[k].i - taken[j];
      near |= apart <= (f->lo + list[k].i) / 32;
    }
    if (near) continue;
    shape *x = NULL;
    st = shape_new(f, list[k].i, SHAPE_MODEL, &x, err);
    if (st == HONE_OK) pool_add(f, x, &f->found_schedule[list[k].i]);
    shape_free(x);
    taken[ntaken++] = list[k].i;
  }
  return st;
}

static hone_status join_finds(family *f, hone_err *err)
{
  find *list = hone_heap_alloc((size_t)f->n, sizeof *list);
  hone_status st = HONE_OK;
  for (int round = 0; round < JOIN_ROUNDS && st == HONE_OK; round++) {
    int first = f->members;
    st = take_finds(f, list, list_finds(f, list), err);
    if (first == f->members) break;
    if (st == HONE_OK) st = pool_cost(f, first, err);
  }
  free(list);
  return st;
}

/* ---- the check -------------------------------------------------------------- */

static hone_status check(family *f, hone_err *err)
{
  hone_family_check *c = &f->out->check;
  anchor *a = hone_heap_alloc(CHECK_SHAPES, sizeof *a);
  hone_rng rng;
  hone_rng_init(&rng, seed_of(f, 2, 0));
  hone_status st = HONE_OK;
  for (c->rounds = 0; c->rounds < CHECK_ROUNDS && st == HONE_OK;) {
    int n = (int)hone_min64(CHECK_SHAPES, f->n), first = f->members;
    c->rounds++;
    *c = (hone_family_check){ .shapes = n, .rounds = c->rounds, .worst_at = f->lo };
    for (int k = 0; k < n; k++) a[k] = (anchor){ .i = hone_rng_below(&rng, f->n), .step = 2 + (uint64_t)c->rounds, .budget = f->task->budget };
    st = search_all(f, "check", a, n, err);
    for (int k = 0; k < n && st == HONE_OK; k++) {
      if (100 * gain_at(&a[k]) <= c->worst_pct || isinf(gain_at(&a[k]))) continue;
      c->worst_pct = 100 * gain_at(&a[k]);
      c->worst_at = f->lo + a[k].i;
    }
    if (st == HONE_OK) st = pool_cost(f, first, err);
    if (c->worst_pct <= 100 * WORTH_A_SEARCH) break;
  }
  free(a);
  return st;
}

/* ---- shapes nothing serves yet ---------------------------------------------- */

static bool may_be_served(const family *f, int64_t i)
{
  for (int c = 0; c < f->members; c++)
    if (family_as_good(f, c, i)) return true;
  return f->reference[i] < 0;
}

/* From the largest shape down, one at a time, for one may serve many. */
static hone_status serve_all(family *f, hone_err *err)
{
  hone_status st = HONE_OK;
  pool_use_reserve(f);
  for (int64_t i = f->n - 1; i >= 0 && st == HONE_OK; i--) {
    if (may_be_served(f, i)) continue;
    int first = f->members;
    shape *x = NULL;
    hone_schedule s = f->found_schedule[i];
    st = shape_new(f, i, SHAPE_MODEL, &x, err);
    if (st == HONE_OK && f->by_default[i] >= 0) st = hone_schedule_default(&x->op, f->task->machine, &s, err);
    if (st == HONE_OK) pool_add(f, x, &s);
    if (st == HONE_OK) st = pool_cost(f, first, err);
    shape_free(x);
  }
  return st;
}

hone_status family_reference(family *f, hone_err *err)
{
  hone_status st = add_defaults(f, err);
  if (st == HONE_OK) st = search_anchors(f, err);
  if (st == HONE_OK) st = search_grid(f, err);
  if (st == HONE_OK) st = pool_cost(f, 0, err);
  if (st == HONE_OK) st = family_each(f, "search near the pool", f->n, search_near, NULL, err);
  if (st == HONE_OK) st = join_finds(f, err);
  if (st == HONE_OK) st = check(f, err);
  if (st == HONE_OK) st = serve_all(f, err);
  return st;
}
