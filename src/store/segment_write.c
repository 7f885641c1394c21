/* A sorted batch as the bytes of a sealed segment. HDF5 builds the file in memory
 * (core driver), so it never meets a full disk: writing the bytes is ours. */
#include "config.h"

#include "store/store_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The i-th row of a table of fixed-size strings. */
typedef const char *(*text_at)(const void *arg, int64_t i);

static const char *pool_at(const void *arg, int64_t i) { return ((const hone_pool *)arg)->string[i]; }
static const char *schedule_at(const void *arg, int64_t i) { return ((const hone_batch *)arg)->record[i].r.schedule; }

/* Messages have no table of their own in the batch: those of the failures in
 * record order, found by walking. */
typedef struct {
  const char **text;
  int64_t n;
} messages;

static const char *message_at(const void *arg, int64_t i) { return ((const messages *)arg)->text[i]; }

static hone_status write_texts(hid_t file, const char *name, text_at at, const void *arg, int64_t n, hone_err *err)
{
  size_t width = 1; /* with the final NUL */
  for (int64_t i = 0; i < n; i++) {
    const size_t length = strlen(at(arg, i));
    if (length >= width) width = length + 1;
  }
  char *cells = hone_heap_alloc((size_t)n, width);
  for (int64_t i = 0; i < n; i++) {
    const char *s = at(arg, i);
    memcpy(cells + (size_t)i * width, s, strlen(s));
  }
  const hid_t type = hone_h5_string_type(width);
  const hone_status st = hone_h5_write(file, name, type, type, (hsize_t)n, cells, true, err);
  H5Tclose(type);
  free(cells);
  return st;
}

static int32_t hash_index(hone_pool *strings, hone_hash h)
{
  char text[HONE_HASH_TEXT];
  hone_hash_print(h, text);
  return hone_pool_add(strings, text);
}

static hone_task_row task_row(const hone_task *t, hone_pool *strings, hone_pool *texts)
{
  return (hone_task_row){.first_record = t->first,
                         .records = t->count,
                         .succeeded = t->succeeded,
                         .best_cycles = t->best_cycles,
                         .operator_text = hone_pool_add(texts, t->text.operator_text),
                         .machine_text = hone_pool_add(texts, t->text.machine_text),
                         .operator_hash = hash_index(strings, t->operator_hash),
                         .machine_hash = hash_index(strings, t->machine_hash),
                         .operator_name = hone_pool_add(strings, t->text.operator_name),
                         .machine_name = hone_pool_add(strings, t->text.machine_name),
                         .label = hone_pool_add(strings, t->text.label),
                         .spec = hone_pool_add(strings, t->text.spec),
                         .evaluator = hone_pool_add(strings, t->evaluator),
                         .evaluator_version = t->evaluator_version,
                         .fidelity = t->fidelity};
}

static hone_record_row record_row(const hone_pending *p, hone_pool *strings, messages *m)
{
  const hone_record *r = &p->r;
  int32_t message = -1;
  if (*r->message) {
    message = (int32_t)m->n;
    m->text[m->n++] = r->message;
  }
  return (hone_record_row){.cycles = r->cycles,
                           .warm_cycles = r->warm_cycles,
                           .energy_fj = r->energy_fj,
                           .model_cycles = r->model_cycles,
                           .order = r->order,
                           .time_unix_ns = r->time_unix_ns,
                           .observations = r->observations,
                           .seed = r->seed,
                           .task = p->task,
                           .reason = hone_pool_add(strings, r->reason_code),
                           .message = message,
                           .bottleneck = hone_pool_add(strings, r->bottleneck),
                           .space = hash_index(strings, r->space),
                           .host = hone_pool_add(strings, r->host),
                           .kinds = r->kinds};
}

static hone_status write_tasks(hid_t file, const hone_batch *b, hone_pool *strings, hone_pool *texts, hone_err *err)
{
  hone_task_row *row = hone_heap_alloc((size_t)b->ntasks, sizeof *row);
  for (int32_t i = 0; i < b->ntasks; i++)
    row[i] = task_row(&b->task[i], strings, texts);
  const hid_t memory = hone_task_type(false, HONE_STORE_SCHEMA), disk = hone_task_type(true, HONE_STORE_SCHEMA);
  const hone_status st = hone_h5_write(file, "tasks", memory, disk, (hsize_t)b->ntasks, row, true, err);
  H5Tclose(memory);
  H5Tclose(disk);
  free(row);
  return st;
}

static hone_status write_records(hid_t file, const hone_batch *b, hone_pool *strings, messages *m, hone_err *err)
{
  hone_record_row *row = hone_heap_alloc((size_t)b->n, sizeof *row);
  uint64_t *key = hone_heap_alloc((size_t)b->n, sizeof *key);
  for (int64_t i = 0; i < b->n; i++) {
    row[i] = record_row(&b->record[i], strings, m);
    key[i] = b->record[i].key;
  }
  const hid_t memory = hone_record_type(false), disk = hone_record_type(true);
  hone_status st = hone_h5_write(file, "records", memory, disk, (hsize_t)b->n, row, true, err);
  /* Hash bits do not compress; plain, they are scanned at the speed of memory. */
  if (st == HONE_OK) st = hone_h5_write(file, "keys", H5T_NATIVE_UINT64, H5T_STD_U64LE, (hsize_t)b->n, key, false, err);
  H5Tclose(memory);
  H5Tclose(disk);
  free(row);
  free(key);
  return st;
}

/* Texts of very different length: end to end, not in cells of one width. */
static hone_status write_documents(hid_t file, const hone_batch *b, hone_pool *strings, hone_err *err)
{
  if (b->ndocuments == 0) return HONE_OK;
  hone_document_row *row = hone_heap_alloc((size_t)b->ndocuments, sizeof *row);
  hone_text bytes = {0};
  for (int32_t i = 0; i < b->ndocuments; i++) {
    const hone_document *p = &b->document[i];
    row[i] = (hone_document_row){.first_byte = (int64_t)bytes.length,
                                 .bytes = p->bytes,
                                 .time_unix_ns = p->d.time_unix_ns,
                                 .digest = p->digest,
                                 .kind = hone_pool_add(strings, p->d.kind),
                                 .subject = hone_pool_add(strings, p->d.subject),
                                 .host = hone_pool_add(strings, p->d.host)};
    hone_text_add_bytes(&bytes, p->d.text, (size_t)p->bytes);
  }
  const hid_t memory = hone_document_type(false), disk = hone_document_type(true);
  hone_status st = hone_h5_write(file, "documents", memory, disk, (hsize_t)b->ndocuments, row, true, err);
  if (st == HONE_OK)
    st = hone_h5_write(file, "document_bytes", H5T_NATIVE_UINT8, H5T_STD_U8LE, bytes.length, bytes.data, true, err);
  H5Tclose(memory);
  H5Tclose(disk);
  hone_text_fini(&bytes);
  free(row);
  return st;
}

/* What the bits of `kinds` mean, for readers without this source. */
static const char kind_legend[] =
#define HONE_RECORD_KIND(id, bit, name) "bit " #bit " " name "; "
#include "store/kind.def"
#undef HONE_RECORD_KIND
  ;

static hone_status write_replaces(hid_t file, const hone_batch *b, hone_err *err)
{
  if (b->nreplaces == 0) return HONE_OK;
  return hone_h5_write(file, "replaces", H5T_NATIVE_UINT64, H5T_STD_U64LE, (hsize_t)b->nreplaces, b->replaces, false, err);
}

static hone_status write_tables(hid_t file, const hone_batch *b, hone_err *err)
{
  hone_pool strings, texts;
  messages m = {.text = hone_heap_alloc((size_t)b->n, sizeof *m.text)};
  hone_pool_init(&strings);
  hone_pool_init(&texts);
  hone_status st = hone_h5_attribute_text(file, "format", "hone-store", err);
  if (st == HONE_OK) st = hone_h5_attribute_int(file, "schema", HONE_STORE_SCHEMA, err);
  if (st == HONE_OK) st = hone_h5_attribute_text(file, "writer", PACKAGE_STRING, err);
  if (st == HONE_OK) st = hone_h5_attribute_text(file, "kinds", kind_legend, err);
  if (st == HONE_OK) st = write_tasks(file, b, &strings, &texts, err);
  if (st == HONE_OK) st = write_records(file, b, &strings, &m, err);
  if (st == HONE_OK) st = write_texts(file, "schedules", schedule_at, b, b->n, err);
  if (st == HONE_OK) st = write_texts(file, "messages", message_at, &m, m.n, err);
  if (st == HONE_OK) st = write_documents(file, b, &strings, err);
  if (st == HONE_OK) st = write_texts(file, "strings", pool_at, &strings, strings.n, err);
  if (st == HONE_OK) st = write_texts(file, "texts", pool_at, &texts, texts.n, err);
  if (st == HONE_OK) st = write_replaces(file, b, err);
  hone_pool_fini(&strings);
  hone_pool_fini(&texts);
  free(m.text);
  return st;
}

/* The image HDF5 gives starts behind the user block. */
static hone_status take_image(hid_t file, unsigned char **image, size_t *n, hone_err *err)
{
  if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) return hone_h5_fail(err, "flush", "the image");
  const ssize_t size = H5Fget_file_image(file, NULL, 0);
  if (size <= 0) return hone_h5_fail(err, "size", "the image");
  *n = HONE_SEAL_BYTES + (size_t)size;
  *image = hone_heap_alloc(*n, 1);
  if (H5Fget_file_image(file, *image + HONE_SEAL_BYTES, (size_t)size) == size) return HONE_OK;
  free(*image);
  *image = NULL;
  return hone_h5_fail(err, "copy", "the image");
}

hone_status hone_segment_image(const hone_batch *sorted, unsigned char **image, size_t *n, hone_seal *seal, hone_err *err)
{
  hone_h5_guard guard;
  hone_h5_enter(&guard);
  const hid_t create = H5Pcreate(H5P_FILE_CREATE), access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_userblock(create, HONE_SEAL_BYTES);
  H5Pset_fapl_core(access, 1 << 20, 0);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  /* The core driver first looks for a file of that name: there can be none. */
  const hid_t file = H5Fcreate("/dev/null/segment", H5F_ACC_TRUNC, create, access);
  hone_status st = file < 0 ? hone_h5_fail(err, "create", "an image in memory") : write_tables(file, sorted, err);
  if (st == HONE_OK) st = take_image(file, image, n, err);
  if (file >= 0) H5Fclose(file);
  H5Pclose(create);
  H5Pclose(access);
  hone_h5_leave(&guard);
  if (st == HONE_OK) hone_seal_apply(*image, *n, sorted->n, seal);
  return st;
}
