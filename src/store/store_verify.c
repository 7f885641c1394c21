/* Verify: the digests again, then every row: that it decodes, that its key is
 * what its texts give, that rows stand in canonical order and the counts of
 * /tasks hold; documents by their own digests. */
#include "config.h"

#include "store/store_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What one task's rows must agree with, row after row. */
typedef struct {
  const hone_segment *segment;
  const hone_task *task;
  hone_text schedule; /* of the last row */
  hone_record last;
  int64_t rows, succeeded, best_cycles;
} audit;

static hone_status wrong(hone_err *err, const char *what)
{
  return hone_err_set(err, HONE_STORE, "store.content", "%s", what);
}

static hone_status audit_row(audit *a, const hone_block *b, int64_t i, hone_err *err)
{
  hone_record r;
  if (!hone_block_decode(b, a->segment, a->task, i, &r)) return wrong(err, "a record points nowhere");
  if (b->key[i] != hone_task_key(a->task, r.schedule)) return wrong(err, "a key does not belong to its record");
  if (a->rows) {
    a->last.schedule = a->schedule.data;
    const int c = hone_outcome_cmp(&a->last, &r);
    if (c > 0 || (c == 0 && hone_evidence_cmp(&a->last, &r) > 0)) return wrong(err, "records are not in canonical order");
  }
  if (!hone_record_failed(&r) && a->succeeded++ == 0) a->best_cycles = r.cycles;
  a->rows++;
  a->last = r;
  hone_text_clear(&a->schedule);
  hone_text_add(&a->schedule, "%s", r.schedule);
  return HONE_OK;
}

static hone_status audit_task(hid_t file, const hone_segment *g, const hone_task *t, hone_block *b, hone_err *err)
{
  enum { ROWS = 1024 };
  audit a = {.segment = g, .task = t, .best_cycles = -1};
  hone_status st = HONE_OK;
  if (hone_hash_cmp(t->operator_hash, hone_hash_text(t->text.operator_text)) != 0 ||
      hone_hash_cmp(t->machine_hash, hone_hash_text(t->text.machine_text)) != 0)
    return wrong(err, "a hash does not belong to its text");
  while (a.rows < t->count && st == HONE_OK) {
    const int64_t left = t->count - a.rows, n = left < ROWS ? left : ROWS;
    st = hone_segment_read(file, g, t->first + a.rows, n, b, err);
    for (int64_t i = 0; i < n && st == HONE_OK; i++)
      st = audit_row(&a, b, i, err);
  }
  hone_text_fini(&a.schedule);
  if (st == HONE_OK && (a.succeeded != t->succeeded || a.best_cycles != t->best_cycles))
    st = wrong(err, "/tasks does not agree with its records");
  return st;
}

static hone_status audit_documents(hid_t file, const hone_segment *g, hone_err *err)
{
  hone_status st = HONE_OK;
  for (int32_t i = 0; i < g->ndocuments && st == HONE_OK; i++) {
    const hone_document *d = &g->document[i];
    char *text = NULL;
    hone_digest digest;
    if (i && hone_document_cmp(d - 1, d) > 0) return wrong(err, "documents are not in canonical order");
    if ((st = hone_segment_document(file, d, &text, err)) != HONE_OK) return st;
    hone_digest_init(&digest);
    hone_digest_add(&digest, text, (size_t)d->bytes);
    if (hone_digest_end(&digest) != d->digest || memchr(text, '\0', (size_t)d->bytes))
      st = wrong(err, "a document does not match its digest");
    free(text);
  }
  return st;
}

static hone_status audit_segment(const hone_store *s, const hone_segment *g, hone_err *err)
{
  hone_h5_guard guard;
  hone_block block = {0};
  hone_h5_enter(&guard);
  const hid_t file = hone_segment_open(s->directory, g, err);
  hone_status st = file < 0 ? HONE_STORE : HONE_OK;
  for (int32_t i = 0; i < g->ntasks && st == HONE_OK; i++)
    st = audit_task(file, g, &g->task[i], &block, err);
  if (st == HONE_OK) st = audit_documents(file, g, err);
  if (file >= 0) H5Fclose(file);
  hone_h5_leave(&guard);
  hone_block_fini(&block);
  return st;
}

/* Compacted away since the store was opened: no damage. */
static bool is_gone(const hone_store *s, const char *file)
{
  return !s->only && faccessat(s->dir, file, F_OK, 0) != 0 && errno == ENOENT;
}

/* Takes a segment out of the snapshot. */
static void set_aside(hone_store *s, int32_t i, const hone_err *why)
{
  if (!is_gone(s, s->segment[i]->file)) hone_store_set_aside(s, s->segment[i]->file, why);
  hone_segment_fini(s->segment[i]);
  free(s->segment[i]);
  memmove(s->segment + i, s->segment + i + 1, (size_t)(--s->nsegments - i) * sizeof *s->segment);
}

hone_status hone_store_verify(hone_store *s, hone_err *err)
{
  for (int32_t i = 0; i < s->nsegments;) {
    hone_err why;
    hone_segment again;
    hone_err_init(&why);
    hone_status st = hone_segment_load(s->directory, s->segment[i]->file, &s->pool, &again, &why);
    if (st == HONE_OK) {
      hone_segment_fini(&again);
      st = audit_segment(s, s->segment[i], &why);
    }
    if (st == HONE_OK)
      i++;
    else
      set_aside(s, i, &why);
  }
  if (s->ndamaged == 0) return HONE_OK;
  hone_err_set(err, HONE_STORE, "store.damaged", "%d of %d segments are damaged, the first: %s (%s)", s->ndamaged,
               s->ndamaged + s->nsegments, s->damaged[0].file, s->damaged[0].message);
  hone_err_at(err, s->path, 0, 0);
  return HONE_STORE;
}
