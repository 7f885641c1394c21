/* Maintenance: compaction, merging of stores, repair.
 *
 * Compaction is safe at every instant because of one rule for readers: a segment
 * named in another's /replaces does not count. The new segment appears by rename
 * and takes the old ones' place in that moment; removing them only frees space. */
#include "config.h"

#include "store/store_int.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_RECORDS = 131072, RECORD_BYTES = 1024 }; /* some 100 MB of memory while one is made */

static void add_replaced(hone_batch *b, const hone_segment *g)
{
  b->replaces = hone_heap_realloc(b->replaces, (size_t)(b->nreplaces + g->nreplaces + 1), sizeof *b->replaces);
  b->replaces[b->nreplaces++] = g->seal.digest;
  if (g->nreplaces) memcpy(b->replaces + b->nreplaces, g->replaces, (size_t)g->nreplaces * sizeof *b->replaces);
  b->nreplaces += g->nreplaces; /* a copy of these may still come back by a merge */
}

static hone_status add_group(const hone_store *s, const hone_part *p, int n, hone_batch *b, hone_err *err)
{
  hone_merge *m = hone_merge_new(s, p, n);
  hone_merged x;
  hone_status st;
  while ((st = hone_merge_next(m, &x, err)) == HONE_OK && x.r)
    hone_batch_add(b, x.r);
  hone_merge_free(m);
  return st;
}

static bool is_among(const hone_segment *x, hone_segment *const *g, int32_t n)
{
  while (n-- > 0)
    if (g[n] == x) return true;
  return false;
}

/* Of the group's documents those that count; the others' newer ones are durable. */
static hone_status add_documents(const hone_store *s, hone_segment *const *g, int32_t n, hone_batch *b, hone_err *err)
{
  int32_t count;
  hone_document_part *newest = hone_store_newest(s, NULL, &count);
  hone_status st = HONE_OK;
  for (int32_t i = 0; i < count && st == HONE_OK; i++) {
    hone_store_document d;
    char *text = NULL;
    if (!is_among(newest[i].segment, g, n)) continue;
    d = newest[i].document->d;
    st = hone_store_document_text(s, &newest[i], &text, err);
    d.text = text;
    if (st == HONE_OK) hone_batch_put(b, &d);
    free(text);
  }
  free(newest);
  return st;
}

static hone_status add_segments(const hone_store *s, hone_segment *const *g, int32_t n, hone_batch *b, hone_err *err)
{
  int nparts;
  hone_part *part = hone_segment_parts(g, n, NULL, &nparts);
  hone_status st = HONE_OK;
  for (int i = 0, run; i < nparts && st == HONE_OK; i += run) {
    run = hone_part_run(part + i, nparts - i);
    st = add_group(s, part + i, run, b, err);
  }
  if (st == HONE_OK) st = add_documents(s, g, n, b, err);
  for (int32_t i = 0; i < n; i++)
    add_replaced(b, g[i]);
  free(part);
  return st;
}

/* Reads the segment back from the disk before what it replaces is removed. */
static hone_status publish_checked(hone_store *s, hone_batch *b, hone_err *err)
{
  hone_segment again;
  char name[HONE_SEGMENT_NAME];
  hone_status st = hone_store_publish(s, b, name, err);
  if (st == HONE_OK) st = hone_segment_load(s->directory, name, &s->pool, &again, err);
  if (st == HONE_OK) hone_segment_fini(&again);
  return st;
}

static hone_status compact_group(hone_store *s, hone_segment *const *g, int32_t n, hone_store_compaction *out, hone_err *err)
{
  hone_batch b;
  hone_batch_init(&b);
  hone_status st = add_segments(s, g, n, &b, err);
  if (st == HONE_OK) st = publish_checked(s, &b, err);
  hone_batch_fini(&b);
  if (st == HONE_OK) out->merged += n, out->made++;
  return st;
}

/* What counts against the limit: records, and documents by the memory they take. */
static int64_t weight_of(const hone_segment *g)
{
  int64_t bytes = 0;
  for (int32_t i = 0; i < g->ndocuments; i++)
    bytes += g->document[i].bytes;
  return g->seal.records + bytes / RECORD_BYTES;
}

/* Whether a segment holds documents that no longer count. */
static bool *mark_superseded(const hone_store *s)
{
  bool *mark = hone_heap_alloc((size_t)s->nsegments, sizeof *mark);
  int32_t count;
  hone_document_part *newest = hone_store_newest(s, NULL, &count);
  for (int32_t i = 0; i < s->nsegments; i++) {
    int32_t kept = 0;
    for (int32_t k = 0; k < count; k++)
      kept += newest[k].segment == s->segment[i];
    mark[i] = kept < s->segment[i]->ndocuments;
  }
  free(newest);
  return mark;
}

/* Small segments, gathered until their records reach the limit. One alone is made
 * anew only to drop documents. */
static hone_status compact_all(hone_store *s, int64_t limit, hone_store_compaction *out, hone_err *err)
{
  hone_segment **group = hone_heap_alloc((size_t)s->nsegments, sizeof *group);
  bool *superseded = mark_superseded(s), drops = false;
  int32_t n = 0;
  int64_t weight = 0;
  hone_status st = HONE_OK;
  for (int32_t i = 0; i <= s->nsegments && st == HONE_OK; i++) {
    hone_segment *g = i < s->nsegments ? s->segment[i] : NULL;
    if (g && weight_of(g) > limit / 2 && !superseded[i]) continue;
    if (!g || weight + weight_of(g) > limit) {
      if (n > 1 || drops) st = compact_group(s, group, n, out, err);
      n = 0, weight = 0, drops = false;
    }
    if (g) group[n++] = g, weight += weight_of(g), drops |= superseded[i];
  }
  free(superseded);
  free(group);
  return st;
}

static int64_t remove_stale(hone_store *s)
{
  int64_t removed = 0;
  for (int32_t i = 0; i < s->nstale; i++)
    removed += unlinkat(s->dir, s->stale[i], 0) == 0; /* one that stays is only unread */
  s->nstale = 0;
  return removed;
}

hone_status hone_store_compact(hone_store *s, int64_t max_records, hone_store_compaction *out, hone_err *err)
{
  assert(s->mode == HONE_STORE_WRITE);
  *out = (hone_store_compaction){0};
  hone_status st = hone_store_refresh(s, err);
  if (st == HONE_OK) st = compact_all(s, max_records > 0 ? max_records : MAX_RECORDS, out, err);
  const hone_status again = hone_store_refresh(s, st == HONE_OK ? err : NULL);
  if (again == HONE_OK) out->removed = remove_stale(s);
  return st == HONE_OK ? again : st;
}

/* ---- merge ---- */

static bool is_known(const hone_store *s, uint64_t digest)
{
  for (int32_t i = 0; i < s->nsegments; i++) {
    const hone_segment *g = s->segment[i];
    if (g->seal.digest == digest) return true;
    for (int32_t k = 0; k < g->nreplaces; k++)
      if (g->replaces[k] == digest) return true;
  }
  return false;
}

/* The loader checked the seal; the copy is checked again when it is next read. */
static hone_status copy_segment(hone_store *s, const hone_store *from, const hone_segment *g, hone_err *err)
{
  char name[HONE_SEGMENT_NAME], *bytes = NULL;
  hone_text path = {0};
  size_t n;
  hone_text_add(&path, "%s/%s", from->directory, g->file);
  hone_status st = hone_text_load(path.data, (size_t)g->seal.bytes, &bytes, &n, err);
  hone_text_fini(&path);
  if (st != HONE_OK) return st;
  hone_segment_name(g->seal.digest, name);
  st = hone_publish_file(&s->writer, s->dir, s->path, name, bytes, n, err);
  free(bytes);
  return st;
}

hone_status hone_store_merge(hone_store *s, const char *from, hone_store_merger *out, hone_err *err)
{
  hone_store *source;
  assert(s->mode == HONE_STORE_WRITE);
  *out = (hone_store_merger){0};
  hone_status st = hone_store_open(from, HONE_STORE_READ, &source, err);
  if (st != HONE_OK) return st;
  st = hone_store_refresh(s, err);
  out->damaged = source->ndamaged;
  for (int32_t i = 0; i < source->nsegments && st == HONE_OK; i++) {
    if (is_known(s, source->segment[i]->seal.digest))
      out->known++;
    else if ((st = copy_segment(s, source, source->segment[i], err)) == HONE_OK)
      out->copied++;
  }
  hone_store_close(source, NULL);
  if (st == HONE_OK) st = hone_store_refresh(s, err);
  if (st == HONE_OK && out->damaged) {
    hone_err_set(err, HONE_STORE, "store.partial-merge", "%lld damaged segments were not merged, %lld were",
                 (long long)out->damaged, (long long)(out->copied + out->known));
    hone_err_at(err, from, 0, 0);
    return HONE_STORE;
  }
  return st;
}

/* ---- repair ---- */

/* Renames to the first of <name>.damaged, <name>.damaged-2, ... that is free: what
 * an earlier repair moved stays. */
static hone_status move_aside(const hone_store *s, const char *file, hone_err *err)
{
  hone_text name = {0};
  struct stat there;
  hone_text_add(&name, "%s.damaged", file);
  for (int i = 2; fstatat(s->dir, name.data, &there, AT_SYMLINK_NOFOLLOW) == 0; i++) {
    hone_text_clear(&name);
    hone_text_add(&name, "%s.damaged-%d", file, i);
  }
  hone_status st = HONE_OK;
  if (renameat(s->dir, file, s->dir, name.data) != 0) {
    st = hone_err_set(err, HONE_IO, "store.write", "cannot rename a damaged segment: %s", strerror(errno));
    hone_err_at(err, file, 0, 0);
  }
  hone_text_fini(&name);
  return st;
}

/* What cannot be read now (no permission, a failing disk) may be whole. */
static bool is_unreadable(const hone_store_damage *d) { return !strcmp(d->code, "store.unreadable"); }

hone_status hone_store_repair(hone_store *s, int *moved, hone_err *err)
{
  assert(s->mode == HONE_STORE_WRITE);
  int n = 0;
  hone_status st = hone_store_verify(s, err);
  if (st == HONE_STORE) st = HONE_OK; /* the damage is listed */
  for (int32_t i = 0; i < s->ndamaged && st == HONE_OK; i++)
    if (!is_unreadable(&s->damaged[i]) && (st = move_aside(s, s->damaged[i].file, err)) == HONE_OK) n++;
  if (moved) *moved = n;
  if (st == HONE_OK) st = hone_store_refresh(s, err);
  for (int32_t i = 0; i < s->ndamaged && st == HONE_OK; i++)
    if (is_unreadable(&s->damaged[i])) {
      st = hone_err_set(err, HONE_IO, "store.unreadable", "left as it is, for it may be whole: %s", s->damaged[i].message);
      hone_err_at(err, s->damaged[i].file, 0, 0);
    }
  return st;
}
