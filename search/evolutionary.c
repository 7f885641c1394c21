/* Evolution with local search, the default.
 *
 * A population of points with distinct values. A new point is a mutated copy of
 * a tournament's winner or of a cross of two; a better one takes the place of the
 * worst, one of equal value may take its equal's place, so that the population
 * drifts along plateaus instead of filling with copies. Beside it runs a climb:
 * the neighbours of the best point not yet climbed from are proposed one by one;
 * the share of climbing grows as the budget goes, and ends as the final polish. A
 * population that stalls is put into the archive and a new one is drawn; the last
 * part of the budget works on the best of all.
 *
 * Where the caller gives a prior, each child is the best of a few by the prior. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "search/strategy.h"

enum { POPULATION, INITIAL, STALL, CLIMB, NOPTIONS };
static const hone_option options_table[NOPTIONS] = {
    [POPULATION] = {.name = "population", .type = HONE_OPTION_INT, .min = 2, .max = 4096, .fallback = "40", .argument = "N",
                    .help = "Points kept to breed from."},
    [INITIAL] = {.name = "initial", .type = HONE_OPTION_INT, .min = 1, .max = 100000, .fallback = "64", .argument = "N",
                 .help = "Random points a population starts with."},
    [STALL] = {.name = "stall", .type = HONE_OPTION_INT, .min = 1, .max = 1000000, .fallback = "400", .argument = "N",
               .help = "Results without progress after which a new population is drawn."},
    [CLIMB] = {.name = "climb", .type = HONE_OPTION_INT, .min = 0, .max = 100, .fallback = "15", .argument = "PERCENT",
               .help = "Share of proposals spent on neighbours before the final polish."}};

enum { SAMPLE_TRIES = 50, CROSS_PERCENT = 25, PRIOR_CHOICES = 4, POLISH_PERCENT = 70, BREED_TRIES = 40, TOURNAMENT = 3 };

typedef struct {
  double value;
  bool climbed; /* its neighbours were proposed */
  int64_t *point;
} individual;

typedef struct {
  hone_strategy *s;
  const hone_space *space;
  int width;
  int64_t option[NOPTIONS];
  individual *member; /* ascending by value, all values distinct */
  int n;
  individual *elite; /* of all populations, likewise */
  int nelite;
  int64_t *queue, nqueue, next; /* neighbours still to propose, in drawn order */
  double queue_value;           /* of the point they belong to */
  int64_t drawn, told, last_progress;
  bool polishing;
} evolution;

/* ---- sets of individuals ---- */

static void release(individual *set, int *n)
{
  for (int i = 0; i < *n; i++) free(set[i].point);
  *n = 0;
}

static int find_place(const individual *set, int n, double value)
{
  int i = 0;
  while (i < n && set[i].value < value) i++;
  return i;
}

/* Keeps `set` sorted, distinct in value and at most `max` long. True if it got in
 * as a new value. An equal one replaces its equal when `swap`. */
static bool enter(const evolution *e, individual *set, int *n, int max, const int64_t *point, double value, bool swap)
{
  int i = find_place(set, *n, value);
  size_t bytes = (size_t)e->width * sizeof *point;
  if (i < *n && set[i].value == value) {
    if (swap) memcpy(set[i].point, point, bytes);
    if (swap) set[i].climbed = false;
    return false;
  }
  if (i == max) return false;
  int64_t *room = *n == max ? set[max - 1].point : hone_heap_alloc((size_t)e->width + 1, sizeof *room);
  if (*n < max) ++*n;
  memmove(set + i + 1, set + i, (size_t)(*n - 1 - i) * sizeof *set);
  set[i] = (individual){.value = value, .point = room};
  memcpy(room, point, bytes);
  return true;
}

/* ---- climbing ---- */

static void shuffle(evolution *e)
{
  size_t bytes = (size_t)e->width * sizeof *e->queue;
  int64_t *spare = hone_heap_alloc((size_t)e->width + 1, sizeof *spare);
  for (int64_t i = e->nqueue - 1; i > 0; i--) {
    int64_t j = hone_rng_below(hone_strategy_rng(e->s), i + 1);
    int64_t *a = e->queue + i * e->width, *b = e->queue + j * e->width;
    memcpy(spare, a, bytes);
    memcpy(a, b, bytes);
    memcpy(b, spare, bytes);
  }
  free(spare);
}

/* Neighbours of the best point of the set that was not climbed from. */
static bool refill(evolution *e, individual *set, int n)
{
  for (int i = 0; i < n; i++) {
    if (set[i].climbed) continue;
    set[i].climbed = true;
    free(e->queue);
    hone_space_neighbours(e->space, set[i].point, &e->queue, &e->nqueue);
    e->next = 0;
    e->queue_value = set[i].value;
    shuffle(e);
    return true;
  }
  return false;
}

static bool climb(evolution *e, int64_t *values)
{
  individual *set = e->polishing ? e->elite : e->member;
  int n = e->polishing ? e->nelite : e->n;
  /* A better point than the one being climbed from comes first. */
  if (e->next < e->nqueue && n > 0 && !set[0].climbed && set[0].value < e->queue_value) e->next = e->nqueue;
  for (;;) {
    while (e->next < e->nqueue) {
      const int64_t *point = e->queue + e->next++ * e->width;
      if (hone_strategy_is_known(e->s, point)) continue;
      memcpy(values, point, (size_t)e->width * sizeof *values);
      return true;
    }
    if (!refill(e, set, n)) return false;
  }
}

/* ---- breeding ---- */

static const individual *tournament(const evolution *e, const individual *set, int n)
{
  int64_t best = n;
  for (int k = 0; k < TOURNAMENT; k++) best = hone_min64(best, hone_rng_below(hone_strategy_rng(e->s), n));
  return &set[best];
}

static bool breed_one(evolution *e, int64_t *values)
{
  hone_rng *rng = hone_strategy_rng(e->s);
  const individual *set = e->polishing ? e->elite : e->member;
  int n = e->polishing ? e->nelite : e->n;
  const individual *a = tournament(e, set, n), *b = tournament(e, set, n);
  int64_t from[HONE_SPACE_PARAMETERS];
  memcpy(from, a->point, (size_t)e->width * sizeof *from);
  if (a != b && hone_rng_below(rng, 100) < CROSS_PERCENT) {
    if (!hone_space_cross(e->space, rng, a->point, b->point, values)) return false;
    if (!hone_strategy_is_known(e->s, values)) return true;
    memcpy(from, values, (size_t)e->width * sizeof *from);
  }
  for (int more = 1; more;) { /* mostly one move, sometimes several */
    if (!hone_space_mutate(e->space, rng, from, values)) return false;
    memcpy(from, values, (size_t)e->width * sizeof *from);
    more = hone_rng_below(rng, 100) < 35;
  }
  return true;
}

static bool breed_new(evolution *e, int64_t *values)
{
  for (int k = 0; k < BREED_TRIES; k++)
    if (breed_one(e, values) && !hone_strategy_is_known(e->s, values)) return true;
  return false;
}

static double prior_of(const evolution *e, const int64_t *values)
{
  const hone_strategy_callbacks *c = &hone_strategy_get_setup(e->s)->callbacks;
  hone_schedule schedule;
  hone_space_schedule(e->space, values, &schedule);
  return c->prior(c->arg, &schedule);
}

static bool breed(evolution *e, int64_t *values)
{
  int64_t other[HONE_SPACE_PARAMETERS];
  bool choose = hone_strategy_get_setup(e->s)->callbacks.prior && hone_space_operator(e->space);
  bool found = breed_new(e, values);
  if (!found || !choose) return found;
  double best = prior_of(e, values);
  for (int k = 1; k < PRIOR_CHOICES; k++) {
    if (!breed_new(e, other)) break;
    double p = prior_of(e, other);
    if (p >= best) continue;
    best = p;
    memcpy(values, other, (size_t)e->width * sizeof *values);
  }
  return true;
}

/* ---- the strategy ---- */

static hone_status init(hone_strategy *s, const hone_option_value *options, void **state, hone_err *err)
{
  (void)err;
  evolution *e = hone_heap_alloc(1, sizeof *e);
  e->s = s;
  e->space = hone_strategy_space(s);
  e->width = hone_space_parameters(e->space);
  for (int i = 0; i < NOPTIONS; i++) e->option[i] = options[i].i;
  e->member = hone_heap_alloc((size_t)e->option[POPULATION] + 1, sizeof *e->member);
  e->elite = hone_heap_alloc((size_t)e->option[POPULATION] + 1, sizeof *e->elite);
  int64_t budget = hone_strategy_get_setup(s)->budget;
  if (budget > 0) e->option[INITIAL] = hone_min64(e->option[INITIAL], hone_max64(1, budget / 8));
  *state = e;
  return HONE_OK;
}

static void fini(void *state)
{
  evolution *e = state;
  release(e->member, &e->n);
  release(e->elite, &e->nelite);
  free(e->member);
  free(e->elite);
  free(e->queue);
  free(e);
}

static void restart(evolution *e)
{
  release(e->member, &e->n);
  e->drawn = 0;
  e->last_progress = e->told;
  e->next = e->nqueue = 0;
}

/* Percent of the budget that is spent; unknown budgets stay in the middle. */
static int64_t spent(const evolution *e)
{
  int64_t budget = hone_strategy_get_setup(e->s)->budget;
  return budget > 0 ? hone_min64(100, e->told * 100 / budget) : 50;
}

static hone_ask propose(void *state, int64_t *values)
{
  evolution *e = state;
  hone_rng *rng = hone_strategy_rng(e->s);
  if (!e->polishing && spent(e) >= POLISH_PERCENT && e->nelite > 0) {
    e->polishing = true;
    e->next = e->nqueue = 0;
  }
  if (!e->polishing && e->told - e->last_progress > e->option[STALL]) restart(e);
  if (!e->polishing && (e->drawn < e->option[INITIAL] || e->n == 0)) {
    e->drawn++;
    return hone_space_sample(e->space, rng, SAMPLE_TRIES, values) ? HONE_ASK_MORE : HONE_ASK_DRY;
  }
  int64_t share = e->polishing ? hone_max64(60, e->option[CLIMB]) : e->option[CLIMB];
  if (hone_rng_below(rng, 100) < share && climb(e, values)) return HONE_ASK_MORE;
  if (breed(e, values) || climb(e, values)) return HONE_ASK_MORE;
  return hone_space_sample(e->space, rng, SAMPLE_TRIES, values) ? HONE_ASK_MORE : HONE_ASK_DRY;
}

static void tell(void *state, const int64_t *values, const hone_result *r)
{
  evolution *e = state;
  int max = (int)e->option[POPULATION];
  e->told++;
  if (r->reason != HONE_REASON_NONE) return;
  bool better = e->n == 0 || r->value < e->member[0].value;
  bool swap = hone_rng_below(hone_strategy_rng(e->s), 2) == 0;
  enter(e, e->member, &e->n, max, values, r->value, swap);
  enter(e, e->elite, &e->nelite, max, values, r->value, swap);
  if (better) e->last_progress = e->told;
}

const hone_strategy_type hone_strategy_evolutionary = {.name = "evolutionary",
                                                       .summary = "population search with moves made for schedules, and climbing",
                                                       .options = options_table,
                                                       .noptions = NOPTIONS,
                                                       .init = init,
                                                       .fini = fini,
                                                       .propose = propose,
                                                       .tell = tell};
