/* The best schedules of a task by the rule for contested keys: of all
 * observations of a key the upper median counts, failures last.
 *
 * Algorithm: read the first m distinct keys off the merged stream (ascending by
 * cycles); count their rows over the whole task, a scan of /keys only; gather all
 * observations of those keys that have more rows than were seen; settle each. What
 * sorts before the next record of the stream is final, because an unseen key
 * settles no lower than its best observation, which is still to come. With fewer
 * than k final ones, start again with twice m. */
#include "config.h"

#include "store/store_int.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  hone_store *store;
  const hone_part *part;
  int n, k;
  hone_arena *arena;
  hone_found *head;   /* the first m keys */
  int nhead;
  hone_record next;   /* the record after them */
  bool exhausted;     /* there is none */
  hone_found *found;  /* all observations of them */
  int nfound;
  hone_record *settled;
  int nsettled;
} top;

/* Adds a schedule to those met; false when it was there. Within a task it is the key. */
static bool is_new(hone_pool *met, const char *schedule)
{
  const int32_t before = met->n;
  hone_pool_add(met, schedule);
  return met->n > before;
}

static hone_status read_head(top *t, int most, hone_err *err)
{
  hone_merge *m = hone_merge_new(t->store, t->part, t->n);
  hone_merged x;
  hone_status st;
  hone_pool met;
  hone_pool_init(&met);
  t->nhead = 0;
  t->exhausted = true;
  t->head = hone_arena_alloc(t->arena, (size_t)most * sizeof *t->head);
  while ((st = hone_merge_next(m, &x, err)) == HONE_OK && x.r && !hone_record_failed(x.r)) {
    if (!is_new(&met, x.r->schedule)) continue;
    if (t->nhead == most) {
      hone_record_copy(t->arena, x.r, &t->next);
      t->exhausted = false;
      break;
    }
    hone_found *f = &t->head[t->nhead++];
    f->key = x.key, f->rows = x.rows;
    hone_record_copy(t->arena, x.r, &f->r);
  }
  hone_pool_fini(&met);
  hone_merge_free(m);
  return st;
}

static int key_order(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static int found_order(const void *pa, const void *pb)
{
  const hone_found *a = pa, *b = pb;
  int c = (a->key > b->key) - (a->key < b->key);
  if (!c) c = strcmp(a->r.schedule, b->r.schedule);
  if (!c) c = hone_outcome_cmp(&a->r, &b->r);
  if (!c) c = hone_evidence_cmp(&a->r, &b->r);
  return c;
}

/* Keys with rows the head does not show are contested (or share 64 bits of hash):
 * their rows are read. The head speaks for the others. */
static hone_status gather_rest(top *t, const uint64_t *key, const int64_t *count, hone_err *err)
{
  uint64_t *rest = hone_heap_alloc((size_t)t->nhead, sizeof *rest);
  bool *whole = hone_heap_alloc((size_t)t->nhead, sizeof *whole);
  int nrest = 0, nwhole = 0;
  for (int i = 0; i < t->nhead; i++) {
    const uint64_t *at = bsearch(&t->head[i].key, key, (size_t)t->nhead, sizeof *key, key_order);
    whole[i] = count[at - key] == t->head[i].rows;
    if (!whole[i]) rest[nrest++] = t->head[i].key;
  }
  qsort(rest, (size_t)nrest, sizeof *rest, key_order);
  hone_found *found = NULL;
  int n = 0;
  const hone_status st = nrest ? hone_merge_gather(t->store, t->part, t->n, rest, nrest, t->arena, &found, &n, err) : HONE_OK;
  t->found = hone_arena_alloc(t->arena, (size_t)(n + t->nhead) * sizeof *t->found);
  for (int i = 0; i < t->nhead; i++)
    if (whole[i]) t->found[nwhole++] = t->head[i];
  if (n) memcpy(t->found + nwhole, found, (size_t)n * sizeof *found);
  t->nfound = nwhole + n;
  free(rest);
  free(whole);
  return st;
}

static hone_status gather(top *t, hone_err *err)
{
  uint64_t *key = hone_heap_alloc((size_t)t->nhead, sizeof *key);
  int64_t *count = hone_heap_alloc((size_t)t->nhead, sizeof *count);
  for (int i = 0; i < t->nhead; i++)
    key[i] = t->head[i].key;
  qsort(key, (size_t)t->nhead, sizeof *key, key_order);
  hone_status st = hone_merge_count(t->store, t->part, t->n, key, t->nhead, count, err);
  if (st == HONE_OK) st = gather_rest(t, key, count, err);
  free(key);
  free(count);
  if (st == HONE_OK && t->nfound) qsort(t->found, (size_t)t->nfound, sizeof *t->found, found_order);
  return st;
}

/* Merges equal outcomes of the run in place; how many remain. */
static int merge_outcomes(hone_found *f, int n)
{
  int kept = 0;
  for (int i = 0, run; i < n; i += run) {
    hone_found *first = &f[kept++];
    *first = f[i];
    hone_record previous = f[i].r;
    for (run = 1; i + run < n && hone_outcome_cmp(&first->r, &f[i + run].r) == 0; run++)
      hone_record_merge(&first->r, &f[i + run].r, &previous);
  }
  return kept;
}

/* The upper median of the observations of one key, given in canonical order. */
static hone_record choose(hone_found *f, int n)
{
  unsigned __int128 total = 0, below = 0; /* each may be INT64_MAX */
  const int outcomes = merge_outcomes(f, n);
  int i = 0;
  for (int k = 0; k < outcomes; k++)
    total += (uint64_t)f[k].r.observations;
  while (i < outcomes - 1 && (below += (uint64_t)f[i].r.observations) <= total / 2)
    i++;
  hone_record chosen = f[i].r;
  chosen.contested = outcomes > 1;
  return chosen;
}

static int record_order(const void *a, const void *b) { return hone_outcome_cmp(a, b); }

static int same_key(const hone_found *f, int n)
{
  int i = 1;
  while (i < n && f[i].key == f[0].key && !strcmp(f[i].r.schedule, f[0].r.schedule))
    i++;
  return i;
}

/* Settles every key found; returns how many are final. */
static int settle(top *t)
{
  int final = 0;
  t->settled = hone_arena_alloc(t->arena, (size_t)(t->nfound + 1) * sizeof *t->settled);
  t->nsettled = 0;
  for (int i = 0, run; i < t->nfound; i += run) {
    run = same_key(&t->found[i], t->nfound - i);
    const hone_record chosen = choose(&t->found[i], run);
    if (!hone_record_failed(&chosen)) t->settled[t->nsettled++] = chosen;
  }
  qsort(t->settled, (size_t)t->nsettled, sizeof *t->settled, record_order);
  while (final < t->nsettled && (t->exhausted || hone_outcome_cmp(&t->settled[final], &t->next) < 0))
    final++;
  return final;
}

static hone_status top_group(top *t, hone_store_visit visit, void *arg, hone_err *err)
{
  int final = 0;
  hone_status st;
  for (int most = t->k + 16;; most *= 2) {
    hone_arena_reset(t->arena);
    st = read_head(t, most, err);
    if (st == HONE_OK && t->nhead) st = gather(t, err);
    if (st != HONE_OK || t->nhead == 0) return st;
    final = settle(t);
    if (final >= t->k || t->exhausted || most > INT32_MAX / 2) break;
  }
  for (int i = 0; i < final && i < t->k && st == HONE_OK; i++)
    st = visit(arg, &t->settled[i], err);
  return st;
}

hone_status hone_store_top(hone_store *s, const hone_store_filter *filter, int k, hone_store_visit visit, void *arg,
                           hone_err *err)
{
  int n;
  hone_part *part = hone_store_parts(s, filter, &n);
  hone_status st = HONE_OK;
  hone_arena *arena = hone_arena_new();
  for (int i = 0, run; i < n && st == HONE_OK; i += run) {
    run = hone_part_run(part + i, n - i);
    top t = {.store = s, .part = part + i, .n = run, .k = k < INT32_MAX / 4 ? k : INT32_MAX / 4, .arena = arena};
    if (k > 0) st = top_group(&t, visit, arg, err);
  }
  hone_arena_free(arena);
  free(part);
  return st;
}

typedef struct {
  hone_arena *arena;
  hone_record *out;
  bool any;
} best;

static const char *keep(hone_arena *a, const char *s) { return hone_arena_strdup(a, s); }

static hone_status keep_best(void *arg, const hone_record *r, hone_err *err)
{
  best *b = arg;
  (void)err;
  b->any = true; /* versions ascend, so the newest stays */
  hone_record_copy(b->arena, r, b->out);
  b->out->task = (hone_store_task){.operator_text = keep(b->arena, r->task.operator_text),
                                   .machine_text = keep(b->arena, r->task.machine_text),
                                   .operator_name = keep(b->arena, r->task.operator_name),
                                   .machine_name = keep(b->arena, r->task.machine_name),
                                   .label = keep(b->arena, r->task.label),
                                   .spec = keep(b->arena, r->task.spec)};
  b->out->evaluator = keep(b->arena, r->evaluator);
  b->out->reason_code = keep(b->arena, r->reason_code);
  b->out->bottleneck = keep(b->arena, r->bottleneck);
  b->out->host = keep(b->arena, r->host);
  return HONE_OK;
}

hone_status hone_store_best(hone_store *s, const hone_store_task *task, const char *evaluator, int evaluator_version,
                            hone_arena *a, hone_record *out, hone_err *err)
{
  const hone_store_filter f = {.task = task, .evaluator = evaluator, .evaluator_version = evaluator_version};
  best b = {.arena = a, .out = out};
  const hone_status st = hone_store_top(s, &f, 1, keep_best, &b, err);
  if (st != HONE_OK) return st;
  return b.any ? HONE_OK : hone_store_why_miss(s, task, evaluator, evaluator_version, NULL, err);
}
