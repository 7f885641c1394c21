/* Documents: texts kept beside the records. In a segment they are the rows of
 * /documents, their texts those of /document_texts; segments without any have
 * neither table. The newest of a (kind, subject) counts; ties go to the greater
 * text, so that the order in which segments are seen does not matter. */
#include "config.h"

#include "store/store_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int subject_order(const hone_store_document *a, const hone_store_document *b)
{
  const int c = strcmp(a->kind, b->kind);
  return c ? c : strcmp(a->subject, b->subject);
}

/* The newest of a subject first. */
static int document_order(const void *pa, const void *pb)
{
  const hone_store_document *a = pa, *b = pb;
  int c = subject_order(a, b);
  if (!c) c = (a->time_unix_ns < b->time_unix_ns) - (a->time_unix_ns > b->time_unix_ns);
  if (!c) c = strcmp(b->text, a->text);
  return c ? c : strcmp(b->host, a->host);
}

void hone_documents_add(hone_documents *list, const hone_store_document *d)
{
  if (list->n == list->capacity) {
    list->capacity = list->capacity ? 2 * list->capacity : 8;
    list->document = hone_heap_realloc(list->document, (size_t)list->capacity, sizeof *list->document);
  }
  list->document[list->n++] = *d;
}

void hone_documents_fini(hone_documents *list)
{
  free(list->document);
  *list = (hone_documents){0};
}

void hone_documents_newest(hone_documents *list)
{
  int32_t kept = 0;
  if (list->n) qsort(list->document, (size_t)list->n, sizeof *list->document, document_order);
  for (int32_t i = 0; i < list->n; i++)
    if (!kept || subject_order(&list->document[kept - 1], &list->document[i]) != 0)
      list->document[kept++] = list->document[i];
  list->n = kept;
}

/* ---- on disk ---- */

hone_status hone_documents_write_rows(hid_t file, const hone_documents *list, hone_pool *strings, hone_err *err)
{
  hone_document_row *row = hone_heap_alloc((size_t)list->n, sizeof *row);
  for (int32_t i = 0; i < list->n; i++) {
    const hone_store_document *d = &list->document[i];
    row[i] = (hone_document_row){.time_unix_ns = d->time_unix_ns,
                                 .kind = hone_pool_add(strings, d->kind),
                                 .subject = hone_pool_add(strings, d->subject),
                                 .host = hone_pool_add(strings, d->host)};
  }
  const hid_t memory = hone_document_type(false), disk = hone_document_type(true);
  const hone_status st = hone_h5_write(file, "documents", memory, disk, (hsize_t)list->n, row, true, err);
  H5Tclose(memory);
  H5Tclose(disk);
  free(row);
  return st;
}

static hone_status wrong(hone_err *err, const char *what)
{
  return hone_err_set(err, HONE_STORE, "store.content", "%s", what);
}

hone_status hone_documents_read_rows(hid_t file, const char *const *string, int32_t nstrings, const char *const *text,
                                     int32_t ntexts, hone_documents *out, hone_err *err)
{
  hsize_t rows;
  size_t element;
  hone_status st = hone_h5_extent(file, "documents", &rows, &element, err);
  if (st != HONE_OK) return st;
  if (rows != (uint64_t)ntexts) return wrong(err, "/documents and /document_texts differ in length");
  hone_document_row *row = hone_heap_alloc(rows, sizeof *row);
  const hid_t type = hone_document_type(false);
  st = hone_h5_read(file, "documents", type, 0, rows, row, err);
  H5Tclose(type);
  for (int32_t i = 0; i < ntexts && st == HONE_OK; i++) {
    const int32_t used[] = {row[i].kind, row[i].subject, row[i].host};
    for (int k = 0; k < 3; k++)
      if (used[k] < 0 || used[k] >= nstrings) st = wrong(err, "a row of /documents points nowhere");
    if (st != HONE_OK) break;
    const hone_store_document d = {.kind = string[row[i].kind], .subject = string[row[i].subject], .text = text[i],
                                   .time_unix_ns = row[i].time_unix_ns, .host = string[row[i].host]};
    hone_documents_add(out, &d);
  }
  free(row);
  return st;
}

/* ---- outward ---- */

static const char *given(const char *s) { return s ? s : ""; }

hone_status hone_store_put(hone_store *s, const hone_store_document *d, hone_err *err)
{
  assert(s->mode == HONE_STORE_WRITE);
  if (!*given(d->kind) || !*given(d->subject))
    return hone_err_set(err, HONE_INTERNAL, "store.document", "a document needs a kind and a subject");
  const hone_store_document copy = {.kind = hone_arena_strdup(s->batch.arena, d->kind),
                                    .subject = hone_arena_strdup(s->batch.arena, d->subject),
                                    .text = hone_arena_strdup(s->batch.arena, given(d->text)),
                                    .time_unix_ns = d->time_unix_ns ? d->time_unix_ns : hone_store_now(s),
                                    .host = hone_arena_strdup(s->batch.arena, s->writer.host)};
  hone_documents_add(&s->batch.documents, &copy);
  return HONE_OK;
}

hone_status hone_store_documents(hone_store *s, const char *kind, hone_store_visit_document visit, void *arg, hone_err *err)
{
  hone_documents all = {0};
  hone_status st = HONE_OK;
  for (int32_t i = 0; i < s->nsegments; i++)
    for (int32_t k = 0; k < s->segment[i]->documents.n; k++) {
      const hone_store_document *d = &s->segment[i]->documents.document[k];
      if (!kind || strcmp(kind, d->kind) == 0) hone_documents_add(&all, d);
    }
  hone_documents_newest(&all);
  for (int32_t i = 0; i < all.n && st == HONE_OK; i++)
    st = visit(arg, &all.document[i], err);
  hone_documents_fini(&all);
  return st;
}
