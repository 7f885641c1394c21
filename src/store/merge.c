/* Many sorted segments as one stream: a heap of cursors, each with a block of
 * rows in memory. Files are opened per block, so neither the number of segments
 * nor their size meets a limit. */
#include "config.h"

#include "store/store_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

static int part_order(const void *pa, const void *pb)
{
  const hone_part *a = pa, *b = pb;
  const int c = hone_task_cmp(a->task, b->task);
  if (c) return c;
  if (a->segment != b->segment) return a->segment->seal.digest < b->segment->seal.digest ? -1 : 1;
  return (a->task > b->task) - (a->task < b->task);
}

hone_part *hone_segment_parts(hone_segment *const *segment, int32_t nsegments, const hone_store_filter *f, int *n)
{
  int capacity = 0;
  for (int32_t i = 0; i < nsegments; i++)
    capacity += segment[i]->ntasks;
  hone_part *part = hone_heap_alloc((size_t)capacity, sizeof *part);
  *n = 0;
  for (int32_t i = 0; i < nsegments; i++)
    for (int32_t k = 0; k < segment[i]->ntasks; k++)
      if (hone_task_matches(&segment[i]->task[k], f))
        part[(*n)++] = (hone_part){.segment = segment[i], .task = &segment[i]->task[k]};
  if (*n) qsort(part, (size_t)*n, sizeof *part, part_order);
  return part;
}

hone_part *hone_store_parts(const hone_store *s, const hone_store_filter *f, int *n)
{
  return hone_segment_parts(s->segment, s->nsegments, f, n);
}

int hone_part_run(const hone_part *p, int n)
{
  int i = 1;
  while (i < n && hone_task_cmp(p[0].task, p[i].task) == 0)
    i++;
  return i;
}

typedef struct {
  hone_part part;
  int64_t next; /* within the task: first row after the block */
  int64_t at;   /* within the block */
  int64_t ask;  /* rows to read next: few at first, for most readers want the best few */
  hone_block block;
  hone_record record; /* block[at], decoded */
} cursor;

struct hone_merge {
  const hone_store *store;
  cursor *cursor;
  int ncursors;
  cursor **heap;
  int nheap;
  bool primed;
  int64_t block_rows;
  hone_record out, last; /* last: newest evidence merged into out */
  hone_text schedule, message;
};

hone_merge *hone_merge_new(const hone_store *s, const hone_part *part, int n)
{
  enum { ROWS_IN_MEMORY = 131072, LEAST = 64, MOST = 4096 };
  hone_merge *m = hone_heap_alloc(1, sizeof *m);
  m->store = s;
  m->ncursors = n;
  m->cursor = hone_heap_alloc((size_t)n, sizeof *m->cursor);
  m->heap = hone_heap_alloc((size_t)n, sizeof *m->heap);
  m->block_rows = ROWS_IN_MEMORY / (n ? n : 1);
  if (m->block_rows < LEAST) m->block_rows = LEAST;
  if (m->block_rows > MOST) m->block_rows = MOST;
  for (int i = 0; i < n; i++)
    m->cursor[i].part = part[i], m->cursor[i].ask = LEAST;
  return m;
}

void hone_merge_free(hone_merge *m)
{
  if (!m) return;
  for (int i = 0; i < m->ncursors; i++)
    hone_block_fini(&m->cursor[i].block);
  free(m->cursor);
  free(m->heap);
  hone_text_fini(&m->schedule);
  hone_text_fini(&m->message);
  free(m);
}

/* A segment that was whole when the store was opened cannot be read now. */
static hone_status lost(const hone_merge *m, const cursor *c, hone_err *err)
{
  if (err) {
    hone_err_at(err, c->part.segment->file, 0, 0);
    hone_err_hint(err, "the store '%s' may have been changed meanwhile; open it again", m->store->path);
  }
  return HONE_STORE;
}

static hone_status refill(hone_merge *m, cursor *c, hone_err *err)
{
  const hone_task *t = c->part.task;
  const int64_t left = t->count - c->next, n = left < c->ask ? left : c->ask;
  hone_h5_guard guard;
  hone_h5_enter(&guard);
  const hid_t file = hone_segment_open(m->store->directory, c->part.segment, err);
  const hone_status st = file < 0 ? HONE_STORE : hone_segment_read(file, c->part.segment, t->first + c->next, n, &c->block, err);
  if (file >= 0) H5Fclose(file);
  hone_h5_leave(&guard);
  c->next += n;
  c->at = 0;
  c->ask = 8 * c->ask < m->block_rows ? 8 * c->ask : m->block_rows;
  return st == HONE_OK ? HONE_OK : lost(m, c, err);
}

/* Decodes the row at c->at, reading on when the block is used up; *more is false
 * at the end of the part. */
static hone_status settle(hone_merge *m, cursor *c, bool *more, hone_err *err)
{
  *more = true;
  if (c->at == c->block.n) {
    *more = c->next < c->part.task->count;
    if (!*more) return HONE_OK;
    const hone_status st = refill(m, c, err);
    if (st != HONE_OK) return st;
  }
  if (hone_block_decode(&c->block, c->part.segment, c->part.task, c->at, &c->record)) return HONE_OK;
  hone_err_set(err, HONE_STORE, "store.content", "a record points nowhere");
  return lost(m, c, err);
}

static int cursor_cmp(const cursor *a, const cursor *b)
{
  const int c = hone_outcome_cmp(&a->record, &b->record);
  return c ? c : hone_evidence_cmp(&a->record, &b->record);
}

static void sift_down(hone_merge *m, int i)
{
  for (;;) {
    int least = i;
    for (int k = 2 * i + 1; k <= 2 * i + 2 && k < m->nheap; k++)
      if (cursor_cmp(m->heap[k], m->heap[least]) < 0) least = k;
    if (least == i) return;
    cursor *t = m->heap[i];
    m->heap[i] = m->heap[least];
    m->heap[least] = t;
    i = least;
  }
}

static hone_status prime(hone_merge *m, hone_err *err)
{
  for (int i = 0; i < m->ncursors; i++) {
    bool more;
    const hone_status st = settle(m, &m->cursor[i], &more, err);
    if (st != HONE_OK) return st;
    if (more) m->heap[m->nheap++] = &m->cursor[i];
  }
  for (int i = m->nheap / 2; i-- > 0;)
    sift_down(m, i);
  m->primed = true;
  return HONE_OK;
}

static hone_status advance(hone_merge *m, hone_err *err)
{
  cursor *c = m->heap[0];
  bool more;
  c->at++;
  const hone_status st = settle(m, c, &more, err);
  if (st != HONE_OK) return st;
  if (!more) m->heap[0] = m->heap[--m->nheap];
  sift_down(m, 0);
  return HONE_OK;
}

/* Copies of one evaluation, which follow each other, count as the one with most
 * observations, whatever the order among them. */
void hone_record_merge(hone_record *a, const hone_record *b, hone_record *previous)
{
  const int64_t counted = hone_evidence_cmp(previous, b) == 0 ? previous->observations : 0;
  a->kinds |= b->kinds;
  if (!*a->task.spec) a->task.spec = b->task.spec; /* unknown to segments of schema 1 */
  *previous = *b;
  previous->observations = hone_max64(counted, b->observations);
  if (__builtin_add_overflow(a->observations, previous->observations - counted, &a->observations)) a->observations = INT64_MAX;
}

static const char *hold(hone_text *t, const char *s)
{
  hone_text_clear(t);
  hone_text_add(t, "%s", s);
  return t->data;
}

hone_status hone_merge_next(hone_merge *m, hone_merged *out, hone_err *err)
{
  *out = (hone_merged){0};
  hone_status st = m->primed ? HONE_OK : prime(m, err);
  if (st != HONE_OK || m->nheap == 0) return st;
  m->out = m->last = m->heap[0]->record;
  m->out.schedule = hold(&m->schedule, m->out.schedule);
  m->out.message = hold(&m->message, m->out.message);
  out->r = &m->out;
  out->key = m->heap[0]->block.key[m->heap[0]->at];
  for (out->rows = 1; (st = advance(m, err)) == HONE_OK && m->nheap; out->rows++) {
    const hone_record *next = &m->heap[0]->record;
    if (hone_outcome_cmp(&m->out, next) != 0) break;
    hone_record_merge(&m->out, next, &m->last);
  }
  return st;
}

void hone_record_copy(hone_arena *a, const hone_record *r, hone_record *out)
{
  *out = *r;
  out->schedule = hone_arena_strdup(a, r->schedule);
  out->message = hone_arena_strdup(a, r->message);
}

/* ---- gather ---- */

/* What a scan of /keys looks for: it counts, or reads the rows too when there is
 * an arena. The list of rows found doubles within the arena. */
typedef struct {
  const uint64_t *key;
  int nkeys;
  uint64_t present[64]; /* 4096 bits: which top bits occur among the keys */
  int64_t *count;       /* per key */
  hone_arena *arena;
  hone_found *found;
  int n, capacity;
} search;

static int key_order(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Which of the keys, -1 for none. */
static int find_key(const search *q, uint64_t key)
{
  if (!(q->present[key >> 58] >> (key >> 52 & 63) & 1)) return -1;
  const uint64_t *at = bsearch(&key, q->key, (size_t)q->nkeys, sizeof key, key_order);
  return at ? (int)(at - q->key) : -1;
}

static hone_found *grow(search *q)
{
  if (q->n == q->capacity) {
    const int capacity = q->capacity ? 2 * q->capacity : 64;
    hone_found *bigger = hone_arena_alloc(q->arena, (size_t)capacity * sizeof *bigger);
    if (q->n) memcpy(bigger, q->found, (size_t)q->n * sizeof *bigger);
    q->found = bigger;
    q->capacity = capacity;
  }
  return &q->found[q->n++];
}

static hone_status gather_row(search *q, hid_t file, const hone_part *p, int64_t row, uint64_t key, hone_block *block,
                              hone_err *err)
{
  hone_record r;
  const hone_status st = hone_segment_read(file, p->segment, row, 1, block, err);
  if (st != HONE_OK) return st;
  if (!hone_block_decode(block, p->segment, p->task, 0, &r))
    return hone_err_set(err, HONE_STORE, "store.content", "a record points nowhere");
  hone_found *f = grow(q);
  f->key = key;
  hone_record_copy(q->arena, &r, &f->r);
  return HONE_OK;
}

static hone_status scan_part(search *q, hid_t file, const hone_part *p, uint64_t *keys, int64_t nkeys, hone_err *err)
{
  hone_block block = {0};
  hone_status st = HONE_OK;
  for (int64_t at = 0; at < p->task->count && st == HONE_OK; at += nkeys) {
    const int64_t left = p->task->count - at, n = left < nkeys ? left : nkeys, first = p->task->first + at;
    st = hone_segment_keys(file, p->segment, first, n, keys, err);
    for (int64_t i = 0; i < n && st == HONE_OK; i++) {
      const int k = find_key(q, keys[i]);
      if (k < 0) continue;
      if (q->count) q->count[k]++;
      if (q->arena) st = gather_row(q, file, p, first + i, keys[i], &block, err);
    }
  }
  hone_block_fini(&block);
  return st;
}

static hone_status scan(const hone_store *s, const hone_part *part, int n, search *q, hone_err *err)
{
  enum { KEYS = 65536 };
  uint64_t *buffer = hone_heap_alloc(KEYS, sizeof *buffer);
  hone_status st = HONE_OK;
  for (int i = 0; i < q->nkeys; i++)
    q->present[q->key[i] >> 58] |= UINT64_C(1) << (q->key[i] >> 52 & 63);
  for (int i = 0; i < n && st == HONE_OK; i++) {
    hone_h5_guard guard;
    hone_h5_enter(&guard);
    const hid_t file = hone_segment_open(s->directory, part[i].segment, err);
    st = file < 0 ? HONE_STORE : scan_part(q, file, &part[i], buffer, KEYS, err);
    if (file >= 0) H5Fclose(file);
    hone_h5_leave(&guard);
    if (st != HONE_OK) hone_err_at(err, part[i].segment->file, 0, 0);
  }
  free(buffer);
  return st;
}

hone_status hone_merge_count(const hone_store *s, const hone_part *part, int n, const uint64_t *key, int nkeys,
                             int64_t *count, hone_err *err)
{
  search q = {.key = key, .nkeys = nkeys, .count = count};
  return scan(s, part, n, &q, err);
}

hone_status hone_merge_gather(const hone_store *s, const hone_part *part, int n, const uint64_t *key, int nkeys,
                              hone_arena *a, hone_found **out, int *nout, hone_err *err)
{
  search q = {.key = key, .nkeys = nkeys, .arena = a};
  const hone_status st = scan(s, part, n, &q, err);
  *out = q.found;
  *nout = q.n;
  return st;
}
