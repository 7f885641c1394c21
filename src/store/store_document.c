/* Documents over all segments: of each (kind, subject) the newest counts. */
#include "config.h"

#include "store/store_int.h"

#include <stdlib.h>
#include <string.h>

int hone_document_subject_cmp(const hone_document *a, const hone_document *b)
{
  const int c = strcmp(a->d.kind, b->d.kind);
  return c ? c : strcmp(a->d.subject, b->d.subject);
}

/* Of one instant, host and digest settle which counts, so that every reader and
 * every compaction agree. */
int hone_document_cmp(const hone_document *a, const hone_document *b)
{
  int c = hone_document_subject_cmp(a, b);
  if (!c) c = (a->d.time_unix_ns > b->d.time_unix_ns) - (a->d.time_unix_ns < b->d.time_unix_ns);
  if (!c) c = strcmp(a->d.host, b->d.host);
  if (!c) c = (a->digest > b->digest) - (a->digest < b->digest);
  return c;
}

static int part_order(const void *pa, const void *pb)
{
  const hone_document_part *a = pa, *b = pb;
  const int c = hone_document_cmp(a->document, b->document);
  if (c) return c;
  return (a->segment->seal.digest > b->segment->seal.digest) - (a->segment->seal.digest < b->segment->seal.digest);
}

hone_document_part *hone_store_newest(const hone_store *s, const char *kind, int32_t *n)
{
  int32_t all = 0, kept = 0;
  for (int32_t i = 0; i < s->nsegments; i++)
    all += s->segment[i]->ndocuments;
  hone_document_part *part = hone_heap_alloc((size_t)all, sizeof *part);
  all = 0;
  for (int32_t i = 0; i < s->nsegments; i++)
    for (int32_t k = 0; k < s->segment[i]->ndocuments; k++) {
      const hone_document *d = &s->segment[i]->document[k];
      if (!kind || !strcmp(kind, d->d.kind)) part[all++] = (hone_document_part){.segment = s->segment[i], .document = d};
    }
  if (all) qsort(part, (size_t)all, sizeof *part, part_order);
  for (int32_t i = 0; i < all; i++)
    if (i + 1 == all || hone_document_subject_cmp(part[i].document, part[i + 1].document) != 0) part[kept++] = part[i];
  *n = kept;
  return part;
}

hone_status hone_store_document_text(const hone_store *s, const hone_document_part *p, char **text, hone_err *err)
{
  hone_h5_guard guard;
  hone_h5_enter(&guard);
  const hid_t file = hone_segment_open(s->directory, p->segment, err);
  const hone_status st = file < 0 ? HONE_STORE : hone_segment_document(file, p->document, text, err);
  if (file >= 0) H5Fclose(file);
  hone_h5_leave(&guard);
  if (st == HONE_OK) return st;
  hone_err_at(err, p->segment->file, 0, 0);
  hone_err_hint(err, "the store '%s' may have been changed meanwhile; open it again", s->path);
  return HONE_STORE;
}

hone_status hone_store_documents(hone_store *s, const char *kind, hone_store_visit_document visit, void *arg, hone_err *err)
{
  int32_t n;
  hone_document_part *part = hone_store_newest(s, kind, &n);
  hone_status st = HONE_OK;
  for (int32_t i = 0; i < n && st == HONE_OK; i++) {
    hone_store_document d = part[i].document->d;
    char *text = NULL;
    st = hone_store_document_text(s, &part[i], &text, err);
    d.text = text;
    if (st == HONE_OK) st = visit(arg, &d, err);
    free(text);
  }
  free(part);
  return st;
}
