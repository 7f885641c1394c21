/* The wrapper around every strategy: no point twice, statistics, the log. When a
 * strategy finds nothing new, the rest of the space is swept in order, within a
 * limit: so a small space ends EXHAUSTED under every strategy. */
#include "config.h"

#include "search/strategy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "search/strategy_int.h"

enum { REPEATS_IN_A_ROW = 400, SWEEP_LIMIT = 2000000 };

/* ---- the list of types ---- */

#define HONE_STRATEGY(name) extern const hone_strategy_type hone_strategy_##name;
#include "search/strategy.def"
#undef HONE_STRATEGY

static const hone_strategy_type *const types[] = {
#define HONE_STRATEGY(name) &hone_strategy_##name,
#include "search/strategy.def"
#undef HONE_STRATEGY
};

int hone_strategy_types(void) { return (int)(sizeof types / sizeof *types); }
const hone_strategy_type *hone_strategy_type_at(int i) { return types[i]; }

const hone_strategy_type *hone_strategy_find(const char *name)
{
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(types[i]->name, name) == 0) return types[i];
  return NULL;
}

/* ---- making ---- */

enum { MAX_OPTIONS = 32 };

/* "name=value" texts through the common option parser, as "--name=value". */
static hone_status parse_options(const hone_strategy_type *t, const hone_strategy_setup *setup, hone_option_value *values,
                                 hone_err *err)
{
  char *argv[MAX_OPTIONS];
  int n = 0;
  if (setup->noptions > MAX_OPTIONS) return hone_err_set(err, HONE_USAGE, "strategy.options", "too many strategy options");
  for (; n < setup->noptions; n++) {
    size_t room = strlen(setup->options[n]) + 3;
    argv[n] = hone_heap_alloc(room, 1);
    snprintf(argv[n], room, "--%s", setup->options[n]);
  }
  hone_status st = hone_options_parse(t->options, t->noptions, n, argv, values, NULL, 0, NULL, err);
  for (int i = 0; i < n; i++) free(argv[i]);
  return st;
}

hone_status hone_strategy_new(const hone_strategy_type *t, const hone_strategy_setup *setup, hone_strategy **out, hone_err *err)
{
  hone_option_value values[MAX_OPTIONS] = {{0}};
  assert(t->noptions <= MAX_OPTIONS);
  hone_strategy *s = hone_heap_alloc(1, sizeof *s);
  s->type = t;
  s->setup = *setup;
  s->setup.options = NULL; /* read now, not kept */
  s->setup.noptions = 0;
  hone_rng base;
  hone_rng_init(&base, setup->seed);
  hone_rng_split(&base, hone_hash_text(t->name).lo, &s->rng);
  hone_status st = parse_options(t, setup, values, err);
  if (st == HONE_OK) st = t->init(s, values, &s->state, err);
  hone_options_fini(values, t->noptions);
  if (st == HONE_OK)
    *out = s;
  else
    hone_strategy_free(s);
  return st;
}

void hone_strategy_free(hone_strategy *s)
{
  if (!s) return;
  if (s->state) s->type->fini(s->state);
  hone_space_walk_free(s->sweep);
  hone_keyset_fini(&s->known);
  free(s->pending);
  free(s->log);
  free(s->seeds);
  free(s);
}

const hone_strategy_type *hone_strategy_kind(const hone_strategy *s) { return s->type; }
const hone_space *hone_strategy_space(const hone_strategy *s) { return s->setup.space; }
const hone_strategy_setup *hone_strategy_get_setup(const hone_strategy *s) { return &s->setup; }
hone_rng *hone_strategy_rng(hone_strategy *s) { return &s->rng; }
void hone_strategy_get_stats(const hone_strategy *s, hone_strategy_stats *out) { *out = s->stats; }

bool hone_strategy_is_known(const hone_strategy *s, const int64_t *values)
{
  return hone_keyset_has(&s->known, hone_space_key(s->setup.space, values));
}

/* ---- asking and telling ---- */

static void add_log(hone_strategy *s, strategy_entry e)
{
  if (s->nlog == s->log_room) {
    s->log_room = s->log_room ? 2 * s->log_room : 256;
    s->log = hone_heap_realloc(s->log, (size_t)s->log_room, sizeof *s->log);
  }
  s->log[s->nlog++] = e;
}

static void note_best(hone_strategy *s, const hone_result *r)
{
  if (r->reason != HONE_REASON_NONE || (s->stats.has_best && r->value >= s->stats.best)) return;
  s->stats.has_best = true;
  s->stats.best = r->value;
}

void hone_strategy_seed(hone_strategy *s, const int64_t *values, const hone_result *r)
{
  size_t n = (size_t)hone_space_parameters(s->setup.space);
  assert(s->npending == 0);
  s->seeds = hone_heap_realloc(s->seeds, ((size_t)s->nseeds + 1) * n + 1, sizeof *s->seeds);
  memcpy(s->seeds + (size_t)s->nseeds * n, values, n * sizeof *values);
  add_log(s, (strategy_entry){.kind = STRATEGY_SEED, .n = s->nseeds++, .result = *r});
  hone_keyset_add(&s->known, hone_space_key(s->setup.space, values));
  note_best(s, r);
  s->type->tell(s->state, values, r);
}

/* A new point from the sweep. */
static hone_ask sweep(hone_strategy *s, int64_t *values)
{
  if (!s->sweep) {
    s->sweep = hone_space_walk_new(s->setup.space);
    hone_space_walk_set_limit(s->sweep, SWEEP_LIMIT);
  }
  while (hone_space_walk_next(s->sweep, values))
    if (!hone_strategy_is_known(s, values)) return HONE_ASK_MORE;
  return hone_space_walk_at_end(s->sweep) ? HONE_ASK_EXHAUSTED : HONE_ASK_DRY;
}

static hone_ask propose_new(hone_strategy *s, int64_t *values)
{
  if (s->sweep) return sweep(s, values);
  for (int k = 0; k < REPEATS_IN_A_ROW; k++) {
    hone_ask a = s->type->propose(s->state, values);
    if (a == HONE_ASK_EXHAUSTED) return a;
    if (a == HONE_ASK_DRY) break;
    if (!hone_strategy_is_known(s, values)) return a;
    s->stats.repeats++;
  }
  return sweep(s, values);
}

int hone_strategy_ask(hone_strategy *s, int n, int64_t *values, hone_ask *status)
{
  int width = hone_space_parameters(s->setup.space), got = 0;
  assert(s->npending == 0);
  *status = HONE_ASK_MORE;
  while (got < n && *status == HONE_ASK_MORE) {
    int64_t *point = values + (size_t)got * (size_t)width;
    *status = propose_new(s, point);
    if (*status != HONE_ASK_MORE) break;
    hone_keyset_add(&s->known, hone_space_key(s->setup.space, point));
    got++;
  }
  if (got > s->room) {
    s->room = got;
    s->pending = hone_heap_realloc(s->pending, (size_t)got * (size_t)width + 1, sizeof *s->pending);
  }
  if (got > 0) memcpy(s->pending, values, (size_t)got * (size_t)width * sizeof *values);
  s->npending = got;
  add_log(s, (strategy_entry){.kind = STRATEGY_ASK, .n = n});
  return got;
}

void hone_strategy_tell(hone_strategy *s, int n, const hone_result *results)
{
  int width = hone_space_parameters(s->setup.space);
  assert(n == s->npending);
  for (int i = 0; i < n; i++) {
    const int64_t *point = s->pending + (size_t)i * (size_t)width;
    add_log(s, (strategy_entry){.kind = STRATEGY_RESULT, .key = hone_space_key(s->setup.space, point), .result = results[i]});
    s->stats.asked++;
    s->stats.failed += results[i].reason != HONE_REASON_NONE;
    note_best(s, &results[i]);
    s->type->tell(s->state, point, &results[i]);
  }
  s->npending = 0;
}
