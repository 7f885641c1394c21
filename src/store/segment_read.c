/* Reading segments. The seal vouches for the bytes; what they mean is checked
 * all the same (a file can be well-sealed nonsense), so nothing read here is used
 * as an index or a size before it was compared with its limit. */
#include "config.h"

#include "store/store_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 30 }; /* of one table or block */

static char *path_of(const char *directory, const char *file)
{
  hone_text t = {0};
  hone_text_add(&t, "%s/%s", directory, file);
  return t.data;
}

hid_t hone_segment_open(const char *directory, const hone_segment *g, hone_err *err)
{
  char *path = path_of(directory, g->file);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(access, 0, 1); /* segments never change, and network file systems may have no locks */
#endif
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
  if (file < 0) hone_h5_fail(err, "open", g->file);
  H5Pclose(access);
  free(path);
  return file;
}

static hone_status content(hone_err *err, const char *what)
{
  return hone_err_set(err, HONE_STORE, "store.content", "%s", what);
}

/* n rows of fixed-size strings, `width` apart. One byte more than in the file, so
 * that HDF5 converts and each has its final NUL whatever the file holds. */
static hone_status read_texts(hid_t file, const char *name, int64_t first, int64_t n, char **cells, size_t *capacity,
                              size_t *width, hone_err *err)
{
  hsize_t rows;
  size_t element;
  hone_status st = hone_h5_extent(file, name, &rows, &element, err);
  if (st != HONE_OK) return st;
  if (first < 0 || n < 0 || (uint64_t)first + (uint64_t)n > rows) return content(err, "a text points beyond its table");
  size_t bytes;
  *width = element + 1;
  if (__builtin_mul_overflow((size_t)n, *width, &bytes) || bytes > MOST_BYTES) return content(err, "a table of texts is too big");
  if (bytes > *capacity) {
    *cells = hone_heap_realloc(*cells, bytes, 1);
    *capacity = bytes;
  }
  const hid_t type = hone_h5_string_type(*width);
  st = hone_h5_read(file, name, type, (hsize_t)first, (hsize_t)n, *cells, err);
  H5Tclose(type);
  return st;
}

/* A whole table, interned; heap, caller frees the array. */
static hone_status read_table(hid_t file, const char *name, hone_pool *pool, const char ***out, int32_t *nout, hone_err *err)
{
  hsize_t rows;
  size_t element, capacity = 0, width = 0;
  char *cells = NULL;
  hone_status st = hone_h5_extent(file, name, &rows, &element, err);
  if (st == HONE_OK && rows > INT32_MAX) st = content(err, "a table of texts is too long");
  if (st == HONE_OK) st = read_texts(file, name, 0, (int64_t)rows, &cells, &capacity, &width, err);
  if (st == HONE_OK) {
    *nout = (int32_t)rows;
    *out = hone_heap_alloc(rows, sizeof **out);
    for (hsize_t i = 0; i < rows; i++)
      (*out)[i] = hone_pool_intern(pool, cells + i * width);
  }
  free(cells);
  return st;
}

typedef struct {
  const char **string, **text;
  int32_t nstrings, ntexts;
  bool good;
} tables;

static const char *string_at(tables *t, int32_t i)
{
  if (i < 0 || i >= t->nstrings) t->good = false;
  return t->good ? t->string[i] : "";
}

static const char *text_at(tables *t, int32_t i)
{
  if (i < 0 || i >= t->ntexts) t->good = false;
  return t->good ? t->text[i] : "";
}

static bool decode_task(const hone_task_row *row, int schema, tables *t, int64_t *next, hone_task *out)
{
  *out = (hone_task){.text = {.operator_text = text_at(t, row->operator_text),
                              .machine_text = text_at(t, row->machine_text),
                              .operator_name = string_at(t, row->operator_name),
                              .machine_name = string_at(t, row->machine_name),
                              .label = string_at(t, row->label),
                              .spec = schema < 2 ? "" : string_at(t, row->spec)},
                     .evaluator = string_at(t, row->evaluator),
                     .evaluator_version = row->evaluator_version,
                     .fidelity = row->fidelity,
                     .first = row->first_record,
                     .count = row->records,
                     .succeeded = row->succeeded,
                     .best_cycles = row->best_cycles};
  t->good = t->good && hone_hash_parse(string_at(t, row->operator_hash), &out->operator_hash) &&
            hone_hash_parse(string_at(t, row->machine_hash), &out->machine_hash) && row->first_record == *next &&
            row->records >= 0 && row->succeeded >= 0 && row->succeeded <= row->records &&
            !__builtin_add_overflow(*next, row->records, next);
  return t->good;
}

static hone_status read_tasks(hid_t file, tables *t, hone_segment *out, hone_err *err)
{
  hsize_t rows;
  size_t element;
  hone_status st = hone_h5_extent(file, "tasks", &rows, &element, err);
  if (st != HONE_OK) return st;
  if (rows > MOST_BYTES / sizeof(hone_task_row)) return content(err, "too many tasks");
  hone_task_row *row = hone_heap_alloc(rows, sizeof *row);
  const hid_t type = hone_task_type(false, out->seal.schema);
  st = hone_h5_read(file, "tasks", type, 0, rows, row, err);
  H5Tclose(type);
  int64_t next = 0;
  out->ntasks = (int32_t)rows;
  out->task = hone_heap_alloc(rows, sizeof *out->task);
  for (hsize_t i = 0; i < rows && st == HONE_OK; i++)
    if (!decode_task(&row[i], out->seal.schema, t, &next, &out->task[i])) st = content(err, "a row of /tasks points nowhere");
  if (st == HONE_OK && next != out->seal.records) st = content(err, "/tasks and the seal count records differently");
  free(row);
  return st;
}

/* Texts lie end to end, in the order of the rows. */
static bool decode_document(const hone_document_row *row, tables *t, int64_t *next, hone_document *out)
{
  *out = (hone_document){.d = {.kind = string_at(t, row->kind),
                               .subject = string_at(t, row->subject),
                               .time_unix_ns = row->time_unix_ns,
                               .host = string_at(t, row->host)},
                         .first = row->first_byte,
                         .bytes = row->bytes,
                         .digest = row->digest};
  return t->good && row->first_byte == *next && row->bytes >= 0 && row->bytes <= HONE_DOCUMENT_BYTES &&
         !__builtin_add_overflow(*next, row->bytes, next);
}

static hone_status read_documents(hid_t file, tables *t, hone_segment *out, hone_err *err)
{
  hsize_t rows, bytes;
  size_t element;
  if (H5Lexists(file, "documents", H5P_DEFAULT) <= 0) return HONE_OK; /* no segment has one that needs none */
  hone_status st = hone_h5_extent(file, "documents", &rows, &element, err);
  if (st == HONE_OK) st = hone_h5_extent(file, "document_bytes", &bytes, &element, err);
  if (st != HONE_OK) return st;
  if (rows > MOST_BYTES / sizeof(hone_document_row)) return content(err, "too many documents");
  hone_document_row *row = hone_heap_alloc(rows, sizeof *row);
  const hid_t type = hone_document_type(false);
  st = hone_h5_read(file, "documents", type, 0, rows, row, err);
  H5Tclose(type);
  int64_t next = 0;
  out->document = hone_heap_alloc(rows, sizeof *out->document);
  for (hsize_t i = 0; i < rows && st == HONE_OK; i++)
    if (!decode_document(&row[i], t, &next, &out->document[i])) st = content(err, "a row of /documents points nowhere");
  if (st == HONE_OK && (uint64_t)next != bytes) st = content(err, "/documents and /document_bytes are not of one length");
  if (st == HONE_OK) out->ndocuments = (int32_t)rows;
  free(row);
  return st;
}

hone_status hone_segment_document(hid_t file, const hone_document *d, char **text, hone_err *err)
{
  *text = hone_heap_alloc((size_t)d->bytes + 1, 1);
  const hone_status st =
    hone_h5_read(file, "document_bytes", H5T_NATIVE_UINT8, (hsize_t)d->first, (hsize_t)d->bytes, *text, err);
  if (st == HONE_OK) return st;
  free(*text);
  *text = NULL;
  return st;
}

static hone_status check_length(hid_t file, const char *name, int64_t want, hone_err *err)
{
  hsize_t rows;
  size_t element;
  const hone_status st = hone_h5_extent(file, name, &rows, &element, err);
  if (st != HONE_OK) return st;
  return rows == (uint64_t)want ? HONE_OK : content(err, "a table is not as long as the seal says");
}

static int digest_order(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Only compacted segments have the table. */
static hone_status read_replaces(hid_t file, hone_segment *out, hone_err *err)
{
  hsize_t rows;
  size_t element;
  if (H5Lexists(file, "replaces", H5P_DEFAULT) <= 0) return HONE_OK;
  hone_status st = hone_h5_extent(file, "replaces", &rows, &element, err);
  if (st != HONE_OK) return st;
  if (rows > MOST_BYTES / sizeof *out->replaces) return content(err, "too many replaced segments");
  out->replaces = hone_heap_alloc(rows, sizeof *out->replaces);
  st = hone_h5_read(file, "replaces", H5T_NATIVE_UINT64, 0, rows, out->replaces, err);
  out->nreplaces = st == HONE_OK ? (int32_t)rows : 0;
  if (out->nreplaces) qsort(out->replaces, rows, sizeof *out->replaces, digest_order);
  return st;
}

static hone_status load_tables(hid_t file, hone_pool *pool, hone_segment *out, hone_err *err)
{
  tables t = {.good = true};
  hone_status st = read_table(file, "strings", pool, &t.string, &t.nstrings, err);
  if (st == HONE_OK) st = read_table(file, "texts", pool, &t.text, &t.ntexts, err);
  if (st == HONE_OK) st = read_tasks(file, &t, out, err);
  if (st == HONE_OK) st = check_length(file, "records", out->seal.records, err);
  if (st == HONE_OK) st = check_length(file, "keys", out->seal.records, err);
  if (st == HONE_OK) st = check_length(file, "schedules", out->seal.records, err);
  if (st == HONE_OK) st = read_documents(file, &t, out, err);
  if (st == HONE_OK) st = read_replaces(file, out, err);
  out->string = t.string;
  out->nstrings = t.nstrings;
  free(t.text);
  return st;
}

static hone_status check_seal(const char *directory, const char *file, hone_seal *seal, hone_err *err)
{
  char *path = path_of(directory, file);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const int why = errno;
  free(path);
  if (fd < 0)
    return hone_err_set(err, why == ENOENT ? HONE_NOT_FOUND : HONE_IO, "store.unreadable", "cannot open: %s", strerror(why));
  const hone_status st = hone_seal_check(fd, seal, err);
  close(fd);
  return st;
}

hone_status hone_segment_load(const char *directory, const char *file, hone_pool *pool, hone_segment *out, hone_err *err)
{
  *out = (hone_segment){0};
  hone_status st = check_seal(directory, file, &out->seal, err);
  if (st != HONE_OK) return st;
  out->file = hone_heap_alloc(strlen(file) + 1, 1);
  strcpy(out->file, file);
  hone_h5_guard guard;
  hone_h5_enter(&guard);
  const hid_t h5 = hone_segment_open(directory, out, err);
  st = h5 < 0 ? HONE_STORE : load_tables(h5, pool, out, err);
  if (h5 >= 0) H5Fclose(h5);
  hone_h5_leave(&guard);
  if (st != HONE_OK) hone_segment_fini(out);
  return st;
}

void hone_segment_fini(hone_segment *g)
{
  free(g->file);
  free(g->task);
  free(g->string);
  free(g->document);
  free(g->replaces);
  *g = (hone_segment){0};
}

void hone_block_fini(hone_block *b)
{
  free(b->row);
  free(b->key);
  free(b->schedule);
  free(b->message);
  *b = (hone_block){0};
}

/* Messages are numbered in record order, so those of a block are one range. */
static bool message_range(const hone_block *b, int64_t *first, int64_t *n)
{
  *first = *n = 0;
  for (int64_t i = 0; i < b->n; i++) {
    const int64_t m = b->row[i].message;
    if (m < 0) continue;
    if (*n == 0) *first = m;
    if (m != *first + *n) return false;
    ++*n;
  }
  return true;
}

hone_status hone_segment_read(hid_t file, const hone_segment *g, int64_t first, int64_t n, hone_block *out, hone_err *err)
{
  if (first < 0 || n < 0 || first > g->seal.records - n) return content(err, "records beyond the end were asked for");
  if (n > out->capacity) {
    out->row = hone_heap_realloc(out->row, (size_t)n, sizeof *out->row);
    out->key = hone_heap_realloc(out->key, (size_t)n, sizeof *out->key);
    out->capacity = n;
  }
  out->n = n;
  const hid_t type = hone_record_type(false);
  hone_status st = hone_h5_read(file, "records", type, (hsize_t)first, (hsize_t)n, out->row, err);
  H5Tclose(type);
  if (st == HONE_OK) st = hone_segment_keys(file, g, first, n, out->key, err);
  if (st == HONE_OK)
    st = read_texts(file, "schedules", first, n, &out->schedule, &out->schedule_capacity, &out->schedule_bytes, err);
  if (st == HONE_OK && !message_range(out, &out->first_message, &out->nmessages))
    st = content(err, "messages are not in the order of their records");
  if (st == HONE_OK && out->nmessages)
    st = read_texts(file, "messages", out->first_message, out->nmessages, &out->message, &out->message_capacity,
                    &out->message_bytes, err);
  return st;
}

hone_status hone_segment_keys(hid_t file, const hone_segment *g, int64_t first, int64_t n, uint64_t *out, hone_err *err)
{
  if (first < 0 || n < 0 || first > g->seal.records - n) return content(err, "keys beyond the end were asked for");
  return hone_h5_read(file, "keys", H5T_NATIVE_UINT64, (hsize_t)first, (hsize_t)n, out, err);
}

bool hone_block_decode(const hone_block *b, const hone_segment *g, const hone_task *t, int64_t i, hone_record *out)
{
  const hone_record_row *row = &b->row[i];
  const int32_t used[] = {row->reason, row->bottleneck, row->space, row->host};
  for (int k = 0; k < 4; k++)
    if (used[k] < 0 || used[k] >= g->nstrings) return false;
  if (row->task < 0 || row->task >= g->ntasks || &g->task[row->task] != t || row->observations < 1) return false;
  *out = (hone_record){.task = t->text,
                       .evaluator = t->evaluator,
                       .evaluator_version = t->evaluator_version,
                       .fidelity = t->fidelity,
                       .schedule = b->schedule + (size_t)i * b->schedule_bytes,
                       .reason = hone_reason_of(g->string[row->reason]),
                       .reason_code = g->string[row->reason],
                       .message = row->message < 0 ? "" : b->message + (size_t)(row->message - b->first_message) * b->message_bytes,
                       .cycles = row->cycles,
                       .warm_cycles = row->warm_cycles,
                       .energy_fj = row->energy_fj,
                       .bottleneck = g->string[row->bottleneck],
                       .model_cycles = row->model_cycles,
                       .kinds = row->kinds,
                       .seed = row->seed,
                       .order = row->order,
                       .time_unix_ns = row->time_unix_ns,
                       .host = g->string[row->host],
                       .observations = row->observations};
  return hone_hash_parse(g->string[row->space], &out->space) != 0;
}
