/* Simulating candidates at samples of the range.
 *
 * A sample's timings are kept by the thread that makes them and put into the
 * common table when all are done, so that threads only read it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "campaign/family_study.h"

enum { MAX_EVENTS = 150000 /* about a second of simulation */ };
enum { SHAPE_BEST = 3 }; /* the pool's best at a sample, to be measured against */
enum { MOST_TIMED = MOST_CANDIDATES + SHAPE_BEST + 2 };

/* ---- what is known ---------------------------------------------------------- */

static timing *slot_of(timing *table, int64_t capacity, hone_hash key)
{
  int64_t i = (int64_t)(key.lo & (uint64_t)(capacity - 1));
  while (table[i].used && hone_hash_cmp(table[i].key, key) != 0) i = (i + 1) & (capacity - 1);
  return &table[i];
}

static const timing *find(const study *s, hone_hash key)
{
  if (s->capacity == 0) return NULL;
  const timing *t = slot_of(s->table, s->capacity, key);
  return t->used ? t : NULL;
}

static void put(study *s, const timing *t)
{
  if (2 * (s->ntimings + 1) >= s->capacity) {
    int64_t capacity = s->capacity ? 2 * s->capacity : 256;
    timing *table = hone_heap_alloc((size_t)capacity, sizeof *table);
    for (int64_t i = 0; i < s->capacity; i++)
      if (s->table[i].used) *slot_of(table, capacity, s->table[i].key) = s->table[i];
    free(s->table);
    s->table = table;
    s->capacity = capacity;
  }
  timing *slot = slot_of(s->table, s->capacity, t->key);
  s->ntimings += !slot->used;
  *slot = *t;
}

/* ---- samples ---------------------------------------------------------------- */

static void add_sample(study *s, int piece, int64_t i)
{
  if (s->n > 0 && s->sample[s->n - 1].i == i && s->sample[s->n - 1].piece == piece) return;
  s->sample[s->n++] = (sample){ .i = i, .piece = piece };
}

static void draw_samples(const family *f, study *s, const hone_cover_piece *piece, int npieces)
{
  int64_t inner = hone_ceil_div(f->task->samples, npieces);
  hone_rng all, rng;
  hone_rng_init(&all, f->task->seed);
  free(s->sample);
  s->n = 0;
  s->sample = hone_heap_alloc((size_t)npieces * (size_t)(inner + 2), sizeof *s->sample);
  for (int k = 0; k < npieces; k++) {
    int64_t lo = piece[k].lo + 1, n = piece[k].hi - lo, parts = hone_max64(0, hone_min64(inner, n)); /* strictly between the ends */
    hone_rng_split(&all, (uint64_t)piece[k].lo, &rng);
    add_sample(s, k, piece[k].lo);
    for (int64_t j = 0; j < parts; j++) {
      int64_t from = lo + n * j / parts, to = lo + n * (j + 1) / parts;
      add_sample(s, k, from + hone_rng_below(&rng, to - from));
    }
    add_sample(s, k, piece[k].hi);
  }
}

/* ---- simulating one --------------------------------------------------------- */

typedef struct {
  const family *family;
  const study *known;
  const shape *shape;
  const hone_machine *machine;
  int64_t i;
  hone_evaluator *model, *sim;
  int n;
  timing made[MOST_TIMED];
} bench;

/* A table of timings, one row per sample. */
typedef struct {
  study *s;
  bench *bench;
} job;

static hone_hash key_of(const bench *b, const hone_schedule *s)
{
  hone_hash schedule = hone_schedule_hash(&b->shape->op, b->machine, &b->shape->params, s);
  return hone_hash_join(schedule, hone_hash_bytes(&b->i, sizeof b->i));
}

/* Simulated cycles; -1: failed, or too long to try. */
static hone_status time_one(bench *b, const hone_schedule *s, int64_t *model, timing *out, hone_err *err)
{
  hone_outcome o;
  *out = (timing){ .cycles = -1 };
  hone_status st = family_go_on(b->family, err);
  if (st == HONE_OK) st = hone_evaluator_batch(b->model, 1, &s, &o, err);
  if (st != HONE_OK) return st;
  *model = o.reason == HONE_REASON_NONE ? o.cycles : -1;
  *out = (timing){ .key = key_of(b, s), .used = true, .cycles = -1 };
  if (*model < 0) return HONE_OK;
  const timing *known = find(b->known, out->key);
  for (int i = 0; i < b->n && !known; i++)
    if (hone_hash_cmp(b->made[i].key, out->key) == 0) known = &b->made[i];
  if (known) {
    *out = *known;
    return HONE_OK;
  }
  if (o.events <= MAX_EVENTS) {
    st = hone_evaluator_batch(b->sim, 1, &s, &o, err);
    if (st == HONE_OK && o.reason == HONE_REASON_NONE) out->cycles = o.cycles;
    out->failed = o.reason != HONE_REASON_NONE && o.reason != HONE_REASON_SIZE;
  }
  b->made[b->n++] = *out;
  return st;
}

static hone_status time_candidates(family *f, bench *b, const shortlist *list, sample *s, hone_err *err)
{
  hone_status st = HONE_OK;
  for (int k = 0; k < list->n && st == HONE_OK; k++) {
    hone_schedule cut;
    timing t;
    shape_cost(f, b->shape, &f->member[list->candidate[k]], &cut);
    st = time_one(b, &cut, &s->model[k], &t, err);
    s->sim[k] = t.cycles;
    s->failed[k] = t.failed;
  }
  return st;
}

/* The default, what a search found here, and the pool's best. */
static hone_status time_others(family *f, bench *b, sample *s, hone_err *err)
{
  hone_schedule cut;
  timing t;
  int64_t model;
  int best[SHAPE_BEST], n = pool_best(f, s->i, SHAPE_BEST, best);
  hone_status st = HONE_OK;
  if (f->by_default[s->i] >= 0 && hone_schedule_default(&b->shape->op, b->machine, &cut, NULL) == HONE_OK) {
    st = time_one(b, &cut, &model, &t, err);
    s->by_default = t.cycles;
  }
  if (st == HONE_OK && f->found[s->i] >= 0) st = time_one(b, &f->found_schedule[s->i], &model, &t, err);
  for (int k = 0; k < n && st == HONE_OK; k++) {
    shape_cost(f, b->shape, &f->member[best[k]], &cut);
    st = time_one(b, &cut, &model, &t, err);
  }
  return st;
}

static hone_status simulate_sample(family *f, void *arg, int64_t k, hone_err *err)
{
  const job *j = arg;
  sample *s = &j->s->sample[k];
  bench *b = &j->bench[k];
  shape *x = NULL;
  hone_status st = shape_new(f, s->i, SHAPE_MODEL, &x, err);
  if (st != HONE_OK) return st;
  *b = (bench){ .family = f, .known = j->s, .shape = x, .machine = f->task->machine, .i = s->i };
  s->by_default = -1;
  st = hone_evaluator_new(&hone_evaluator_model, &x->op, f->task->machine, &b->model, err);
  if (st == HONE_OK) st = hone_evaluator_new(&hone_evaluator_simulator, &x->op, f->task->machine, &b->sim, err);
  if (st == HONE_OK) st = time_candidates(f, b, &j->s->list[s->piece], s, err);
  if (st == HONE_OK) st = time_others(f, b, s, err);
  hone_evaluator_free(b->sim);
  hone_evaluator_free(b->model);
  shape_free(x);
  return st;
}

static void take_timing(family *f, study *s, int64_t i, const timing *t)
{
  f->out->counts.simulated += t->cycles >= 0 || t->failed;
  if (t->cycles >= 0 && (s->best[i] == 0 || t->cycles < s->best[i])) s->best[i] = t->cycles;
  put(s, t);
}

hone_status study_run(family *f, study *s, const hone_cover_piece *piece, int npieces, hone_err *err)
{
  if (!s->best) s->best = hone_heap_alloc((size_t)f->n, sizeof *s->best);
  draw_samples(f, s, piece, npieces);
  job j = { s, hone_heap_alloc((size_t)s->n, sizeof *j.bench) };
  hone_status st = family_each(f, "simulate", s->n, simulate_sample, &j, err);
  for (int64_t k = 0; k < s->n; k++)
    for (int i = 0; i < j.bench[k].n; i++) take_timing(f, s, s->sample[k].i, &j.bench[k].made[i]);
  for (int64_t k = 0; k < s->n; k++) s->sample[k].best = s->best[s->sample[k].i];
  free(j.bench);
  return st;
}

void study_fidelity(const study *s, const verdict *v, hone_fidelity *out)
{
  int64_t *model = hone_heap_alloc((size_t)s->n + 1, sizeof *model), *sim = hone_heap_alloc((size_t)s->n + 1, sizeof *sim);
  int n = 0;
  for (int64_t j = 0; j < s->n; j++) {
    const sample *x = &s->sample[j];
    int k = v[x->piece].chosen;
    if (x->sim[k] < 0) continue;
    model[n] = x->model[k];
    sim[n++] = x->sim[k];
  }
  hone_fidelity_measure(n, model, sim, n, out);
  free(model);
  free(sim);
}

void study_fini(study *s)
{
  free(s->sample);
  free(s->list);
  free(s->best);
  free(s->table);
}
