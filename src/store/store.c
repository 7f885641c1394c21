/* The handle: which segments there are, and what waits to become one. */
#include "config.h"

#include "store/store_int.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"

/* What a flush without being asked keeps in memory at most. */
enum { FLUSH_RECORDS = 65536, FLUSH_TEXT_BYTES = 32 << 20 };

static char *copy_text(const char *s)
{
  return strcpy(hone_heap_alloc(strlen(s) + 1, 1), s);
}

static hone_status path_fail(hone_err *err, const char *path, const char *code, const char *what)
{
  const int why = errno;
  hone_err_set(err, HONE_IO, code, "%s: %s", what, strerror(why));
  hone_err_at(err, path, 0, 0);
  return HONE_IO;
}

/* The name of a new directory must outlive a power cut too. */
static void sync_parent(const char *path)
{
  char *copy = copy_text(path);
  const int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    fsync(fd);
    close(fd);
  }
  free(copy);
}

static hone_status open_directory(hone_store *s, hone_err *err)
{
  char absolute[PATH_MAX];
  s->dir = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (s->dir < 0) return path_fail(err, s->path, "store.unreadable", "cannot open the store");
  if (!realpath(s->path, absolute)) return path_fail(err, s->path, "store.unreadable", "cannot resolve the path");
  s->directory = copy_text(absolute);
  return HONE_OK;
}

static hone_status open_file(hone_store *s, hone_err *err)
{
  char absolute[PATH_MAX];
  if (s->mode == HONE_STORE_WRITE) {
    hone_err_set(err, HONE_USAGE, "store.read-only", "a single file is a read-only store; write to a directory");
    hone_err_at(err, s->path, 0, 0);
    return HONE_USAGE;
  }
  if (!realpath(s->path, absolute)) return path_fail(err, s->path, "store.unreadable", "cannot resolve the path");
  char *slash = strrchr(absolute, '/');
  s->only = copy_text(slash + 1);
  slash[slash == absolute] = '\0';
  s->directory = copy_text(absolute);
  return HONE_OK;
}

static hone_status open_for_write(hone_store *s, hone_err *err)
{
  hone_status st = hone_publish_probe(&s->writer, s->dir, s->path, err);
  if (st == HONE_OK) hone_publish_sweep(&s->writer, s->dir);
  return st;
}

static hone_status open_path(hone_store *s, hone_err *err)
{
  struct stat st;
  if (stat(s->path, &st) != 0) {
    if (s->mode == HONE_STORE_READ) return path_fail(err, s->path, "store.missing", "no store there");
    if (errno != ENOENT || (mkdir(s->path, 0777) != 0 && errno != EEXIST))
      return path_fail(err, s->path, "store.unwritable", "cannot make the store's directory");
    sync_parent(s->path);
  } else if (!S_ISDIR(st.st_mode))
    return open_file(s, err);
  const hone_status opened = open_directory(s, err);
  return opened == HONE_OK && s->mode == HONE_STORE_WRITE ? open_for_write(s, err) : opened;
}

static void store_free(hone_store *s)
{
  for (int32_t i = 0; i < s->nsegments; i++) {
    hone_segment_fini(s->segment[i]);
    free(s->segment[i]);
  }
  free(s->segment);
  free(s->stale);
  free(s->damaged);
  hone_batch_fini(&s->batch);
  hone_pool_fini(&s->pool);
  if (s->dir >= 0) close(s->dir);
  free(s->directory);
  free(s->only);
  free(s->path);
  free(s);
}

hone_status hone_store_open(const char *path, hone_store_mode mode, hone_store **out, hone_err *err)
{
  hone_store *s = hone_heap_alloc(1, sizeof *s);
  *out = NULL;
  s->path = copy_text(path);
  s->mode = mode;
  s->dir = -1;
  hone_pool_init(&s->pool);
  hone_batch_init(&s->batch);
  hone_writer_init(&s->writer);
  hone_status st = open_path(s, err);
  if (st == HONE_OK) st = hone_store_refresh(s, err);
  if (st == HONE_OK)
    *out = s;
  else
    store_free(s);
  return st;
}

void hone_store_set_aside(hone_store *s, const char *file, const hone_err *why)
{
  if (s->ndamaged == s->damaged_capacity) {
    s->damaged_capacity = s->damaged_capacity ? 2 * s->damaged_capacity : 8;
    s->damaged = hone_heap_realloc(s->damaged, (size_t)s->damaged_capacity, sizeof *s->damaged);
  }
  s->damaged[s->ndamaged++] = (hone_store_damage){.file = hone_pool_intern(&s->pool, file),
                                                  .code = hone_pool_intern(&s->pool, why->code),
                                                  .message = hone_pool_intern(&s->pool, why->message)};
}

static hone_segment *find_file(const hone_store *s, const char *file)
{
  for (int32_t i = 0; i < s->nsegments; i++)
    if (!strcmp(s->segment[i]->file, file)) return s->segment[i];
  return NULL;
}

static int segment_order(const void *a, const void *b)
{
  const hone_segment *x = *(hone_segment *const *)a, *y = *(hone_segment *const *)b;
  if (x->seal.digest != y->seal.digest) return x->seal.digest < y->seal.digest ? -1 : 1;
  return strcmp(x->file, y->file);
}

/* The listed files, loaded; those known already are taken over, for they never
 * change. Copies of one segment under two names count once. */
typedef struct {
  hone_segment **segment;
  int32_t n, capacity;
} listing;

static hone_status list_add(hone_store *s, listing *l, const char *file, hone_err *err)
{
  hone_err why;
  hone_err_init(&why);
  hone_segment *g = find_file(s, file);
  if (!g) {
    g = hone_heap_alloc(1, sizeof *g);
    const hone_status st = hone_segment_load(s->directory, file, &s->pool, g, &why);
    if (st != HONE_OK) free(g);
    if (st == HONE_NOT_FOUND && !s->only) return HONE_OK; /* compacted away since it was listed */
    if (st == HONE_UNSUPPORTED) {
      hone_err_set(err, st, why.code, "%s", why.message);
      hone_err_at(err, file, 0, 0);
      hone_err_hint(err, "this store was written by a newer Hone");
      return st;
    }
    if (st != HONE_OK) {
      hone_store_set_aside(s, file, &why);
      return HONE_OK;
    }
  }
  if (l->n == l->capacity) {
    l->capacity = l->capacity ? 2 * l->capacity : 16;
    l->segment = hone_heap_realloc(l->segment, (size_t)l->capacity, sizeof *l->segment);
  }
  l->segment[l->n++] = g;
  return HONE_OK;
}

static hone_status list_directory(hone_store *s, listing *l, hone_err *err)
{
  hone_status st = HONE_OK;
  const int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = fd < 0 ? NULL : fdopendir(fd);
  if (!d) {
    st = path_fail(err, s->path, "store.unreadable", "cannot list the store");
    if (fd >= 0) close(fd);
    return st;
  }
  for (struct dirent *e; st == HONE_OK && (e = readdir(d));) {
    const size_t n = strlen(e->d_name);
    if (e->d_name[0] != '.' && n > 3 && !strcmp(e->d_name + n - 3, ".h5")) st = list_add(s, l, e->d_name, err);
  }
  closedir(d);
  return st;
}

static bool is_listed(const listing *l, const hone_segment *g)
{
  for (int32_t i = 0; i < l->n; i++)
    if (l->segment[i] == g) return true;
  return false;
}

static void drop(hone_segment *g)
{
  hone_segment_fini(g);
  free(g);
}

static int digest_order(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* A compaction that died between publishing and removing leaves both. */
static bool is_replaced(const listing *l, const hone_segment *g)
{
  for (int32_t i = 0; i < l->n; i++) {
    const hone_segment *by = l->segment[i];
    if (by != g && by->nreplaces &&
        bsearch(&g->seal.digest, by->replaces, (size_t)by->nreplaces, sizeof *by->replaces, digest_order))
      return true;
  }
  return false;
}

static void retire(hone_store *s, const hone_segment *g)
{
  if (s->nstale == s->stale_capacity) {
    s->stale_capacity = s->stale_capacity ? 2 * s->stale_capacity : 16;
    s->stale = hone_heap_realloc(s->stale, (size_t)s->stale_capacity, sizeof *s->stale);
  }
  s->stale[s->nstale++] = hone_pool_intern(&s->pool, g->file);
}

static void adopt(hone_store *s, listing *l)
{
  for (int32_t i = 0; i < s->nsegments; i++)
    if (!is_listed(l, s->segment[i])) drop(s->segment[i]);
  free(s->segment);
  if (l->n) qsort(l->segment, (size_t)l->n, sizeof *l->segment, segment_order);
  bool *unused = hone_heap_alloc((size_t)l->n, sizeof *unused);
  for (int32_t i = 0; i < l->n; i++)
    unused[i] = (i && l->segment[i - 1]->seal.digest == l->segment[i]->seal.digest) || is_replaced(l, l->segment[i]);
  int32_t kept = 0;
  s->nstale = 0;
  for (int32_t i = 0; i < l->n; i++) {
    if (!unused[i]) {
      l->segment[kept++] = l->segment[i];
      continue;
    }
    retire(s, l->segment[i]);
    drop(l->segment[i]);
  }
  free(unused);
  s->segment = l->segment;
  s->nsegments = kept;
}

hone_status hone_store_refresh(hone_store *s, hone_err *err)
{
  listing l = {0};
  s->ndamaged = 0;
  const hone_status st = s->only ? list_add(s, &l, s->only, err) : list_directory(s, &l, err);
  if (st != HONE_OK) { /* keep the snapshot there was */
    for (int32_t i = 0; i < l.n; i++)
      if (!find_file(s, l.segment[i]->file)) drop(l.segment[i]);
    free(l.segment);
    return st;
  }
  adopt(s, &l);
  return HONE_OK;
}

hone_status hone_store_close(hone_store *s, hone_err *err)
{
  if (!s) return HONE_OK;
  const hone_status st = hone_store_flush(s, err);
  store_free(s);
  return st;
}

const char *hone_store_path(const hone_store *s) { return s->path; }
int64_t hone_store_pending(const hone_store *s) { return s->batch.n + s->batch.ndocuments; }
int hone_store_damaged_count(const hone_store *s) { return s->ndamaged; }
const hone_store_damage *hone_store_get_damaged(const hone_store *s, int i) { return &s->damaged[i]; }

hone_hash hone_store_snapshot(const hone_store *s)
{
  hone_text t = {0};
  hone_text_add(&t, "snapshot");
  for (int32_t i = 0; i < s->nsegments; i++)
    hone_text_add(&t, " %016" PRIx64, s->segment[i]->seal.digest);
  const hone_hash h = hone_hash_bytes(t.data, t.length);
  hone_text_fini(&t);
  return h;
}

/* Strictly increasing, so that two records of one process are never taken for
 * copies of one. */
static int64_t now_ns(hone_store *s)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  const int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
  return s->last_time_ns = now > s->last_time_ns ? now : s->last_time_ns + 1;
}

static hone_status flush_much(hone_store *s, hone_err *err)
{
  if (s->batch.n < FLUSH_RECORDS && s->batch.text_bytes < FLUSH_TEXT_BYTES) return HONE_OK;
  return hone_store_flush(s, err);
}

hone_status hone_store_append(hone_store *s, const hone_record *r, hone_err *err)
{
  assert(s->mode == HONE_STORE_WRITE && r->reason < HONE_REASON_COUNT);
  hone_record copy = *r;
  if (!copy.time_unix_ns || !copy.host) copy.host = s->writer.host;
  copy.reason_code = hone_reason_code(r->reason);
  if (!copy.time_unix_ns) copy.time_unix_ns = now_ns(s);
  if (!copy.observations) copy.observations = 1;
  if (hone_record_failed(r)) copy.cycles = copy.warm_cycles = 0;
  hone_batch_add(&s->batch, &copy);
  return flush_much(s, err);
}

static int64_t newest_of(const hone_document *d, int32_t n, const hone_document *of, int64_t newest)
{
  for (int32_t i = 0; i < n; i++)
    if (hone_document_subject_cmp(&d[i], of) == 0) newest = hone_max64(newest, d[i].d.time_unix_ns);
  return newest;
}

/* Whoever sees a document and puts another of its subject means it to count,
 * though the clock of the first one's host may be ahead. */
static int64_t document_time(hone_store *s, const hone_store_document *d)
{
  const hone_document of = {.d = {.kind = d->kind ? d->kind : "", .subject = d->subject ? d->subject : ""}};
  int64_t newest = newest_of(s->batch.document, s->batch.ndocuments, &of, 0);
  for (int32_t i = 0; i < s->nsegments; i++)
    newest = newest_of(s->segment[i]->document, s->segment[i]->ndocuments, &of, newest);
  const int64_t now = now_ns(s);
  return newest < now || newest == INT64_MAX ? now : newest + 1;
}

hone_status hone_store_put(hone_store *s, const hone_store_document *d, hone_err *err)
{
  assert(s->mode == HONE_STORE_WRITE);
  hone_store_document copy = *d;
  if (d->text && strlen(d->text) > HONE_DOCUMENT_BYTES)
    return hone_err_set(err, HONE_USAGE, "store.document-size", "a document of %zu bytes; at most %d are stored", strlen(d->text),
                        HONE_DOCUMENT_BYTES);
  copy.host = s->writer.host;
  if (!copy.time_unix_ns) copy.time_unix_ns = document_time(s, d);
  hone_batch_put(&s->batch, &copy);
  return flush_much(s, err);
}

/* By its digest: unique, for records say when and where they were made. */
void hone_segment_name(uint64_t digest, char out[HONE_SEGMENT_NAME])
{
  snprintf(out, HONE_SEGMENT_NAME, "%016" PRIx64 ".h5", digest);
}

hone_status hone_store_publish(hone_store *s, hone_batch *b, char name[HONE_SEGMENT_NAME], hone_err *err)
{
  unsigned char *image = NULL;
  size_t n = 0;
  hone_seal seal;
  hone_batch_sort(b);
  hone_status st = hone_segment_image(b, &image, &n, &seal, err);
  if (st != HONE_OK) return st;
  hone_segment_name(seal.digest, name);
  st = hone_publish_file(&s->writer, s->dir, s->path, name, image, n, err);
  free(image);
  return st;
}

hone_status hone_store_flush(hone_store *s, hone_err *err)
{
  char name[HONE_SEGMENT_NAME];
  if (hone_store_pending(s) == 0) return HONE_OK;
  const hone_status st = hone_store_publish(s, &s->batch, name, err);
  if (st == HONE_OK) hone_batch_clear(&s->batch);
  return st;
}
