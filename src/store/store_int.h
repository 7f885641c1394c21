/* Inside the store room. Reading order: seal.c (what protects a file), column.def
 * and segment_write.c / segment_read.c (what is in it), publish.c (how it gets
 * there), store.c (handle), merge.c (many segments as one), query.c, top.c,
 * store_diff.c, export.c, store_document.c, store_verify.c, compact.c. */
#ifndef HONE_STORE_STORE_INT_H
#define HONE_STORE_STORE_INT_H

#include <hdf5.h>

#include "store/digest.h"
#include "store/store.h"

/* ---- pool.c: strings by number, each once ---- */

typedef struct {
  hone_arena *arena;
  const char **string;
  uint64_t *hash;
  int32_t n, capacity;
  int32_t *slot;
  size_t nslots, longest;
} hone_pool;

void hone_pool_init(hone_pool *p);
void hone_pool_fini(hone_pool *p);
int32_t hone_pool_add(hone_pool *p, const char *s); /* NULL = "" */
const char *hone_pool_intern(hone_pool *p, const char *s);

/* ---- seal.c: first block of a segment ---- */

enum { HONE_SEAL_BYTES = 512 };

typedef struct {
  int schema;
  int64_t records, bytes;
  uint64_t digest;
} hone_seal;

/* Writes the seal into the first HONE_SEAL_BYTES of the image of n bytes. */
void hone_seal_apply(unsigned char *image, size_t n, int64_t records, hone_seal *out);
/* Reads the whole file. UNSUPPORTED: newer schema; IO: cannot read; STORE: damaged. */
hone_status hone_seal_check(int fd, hone_seal *out, hone_err *err);

/* ---- h5.c: HDF5 with our errors ---- */

/* Every use of HDF5 stands between enter and leave: one thread at a time, its
 * error printing off, the application's handler back afterwards. */
typedef struct {
  unsigned v2;
  void *function, *data;
} hone_h5_guard;

void hone_h5_enter(hone_h5_guard *g);
void hone_h5_leave(const hone_h5_guard *g);
/* STORE with HDF5's own innermost message. */
hone_status hone_h5_fail(hone_err *err, const char *what, const char *name);
hone_status hone_h5_write(hid_t file, const char *name, hid_t memory_type, hid_t file_type, hsize_t n, const void *data,
                          bool filtered, hone_err *err);
hone_status hone_h5_attribute_text(hid_t file, const char *name, const char *text, hone_err *err);
hone_status hone_h5_attribute_int(hid_t file, const char *name, int64_t value, hone_err *err);
/* Rows of a one-dimensional dataset; its element size as stored. An absent
 * dataset is an error like any other. */
hone_status hone_h5_extent(hid_t file, const char *name, hsize_t *n, size_t *element, hone_err *err);
hone_status hone_h5_read(hid_t file, const char *name, hid_t memory_type, hsize_t first, hsize_t n, void *out, hone_err *err);
hid_t hone_h5_string_type(size_t bytes); /* with the final NUL */

/* ---- rows as they are on disk ---- */

#define HONE_COLUMN_I64 int64_t
#define HONE_COLUMN_U64 uint64_t
#define HONE_COLUMN_I32 int32_t
#define HONE_COLUMN_U32 uint32_t

typedef struct {
#define HONE_RECORD_COLUMN(type, name) HONE_COLUMN_##type name;
#include "store/column.def"
#undef HONE_RECORD_COLUMN
} hone_record_row;

typedef struct {
#define HONE_TASK_COLUMN(since, type, name) HONE_COLUMN_##type name;
#include "store/column.def"
#undef HONE_TASK_COLUMN
} hone_task_row;

typedef struct {
#define HONE_DOCUMENT_COLUMN(type, name) HONE_COLUMN_##type name;
#include "store/column.def"
#undef HONE_DOCUMENT_COLUMN
} hone_document_row;

hid_t hone_record_type(bool file); /* compound; file: little-endian, packed */
hid_t hone_task_type(bool file, int schema); /* the columns there are since that schema */
hid_t hone_document_type(bool file);

/* ---- record.c: identity and order ---- */

/* One (operator, machine, evaluator version) of a segment or a batch. */
typedef struct {
  hone_store_task text;
  hone_hash operator_hash, machine_hash;
  const char *evaluator;
  int evaluator_version, fidelity;
  int64_t first, count, succeeded, best_cycles; /* of a segment */
} hone_task;

int hone_task_cmp(const hone_task *a, const hone_task *b); /* identity only */
bool hone_task_matches(const hone_task *t, const hone_store_filter *f);
bool hone_record_matches(const hone_record *r, const hone_store_filter *f); /* the rest of the filter */
bool hone_record_failed(const hone_record *r);
/* Canonical order within a task: outcome, then schedule. 0: one and the same. */
int hone_outcome_cmp(const hone_record *a, const hone_record *b);
int hone_evidence_cmp(const hone_record *a, const hone_record *b); /* when and where it was found */
uint64_t hone_task_key(const hone_task *t, const char *schedule); /* upper half of hone_record_key */
hone_reason hone_reason_of(const char *code);

/* A document of a segment or a batch. */
typedef struct {
  hone_store_document d; /* text: of a batch only */
  int64_t first, bytes;  /* of a segment: where in /document_bytes; bytes of both */
  uint64_t digest;       /* of the text */
} hone_document;

enum { HONE_DOCUMENT_BYTES = 64 << 20 }; /* the largest put takes */

/* By kind and subject, then age: the last of equal subjects is the one that counts. */
int hone_document_subject_cmp(const hone_document *a, const hone_document *b);
int hone_document_cmp(const hone_document *a, const hone_document *b);

/* ---- batch.c: records and documents waiting for a segment ---- */

typedef struct {
  hone_record r; /* texts in the batch; task and evaluator texts shared */
  int32_t task;
  uint64_t key;
} hone_pending;

typedef struct {
  hone_pool strings;   /* all texts but schedules and messages */
  hone_arena *arena;   /* schedules and messages */
  hone_pending *record;
  int64_t n, capacity;
  size_t text_bytes;
  hone_task *task;
  int32_t ntasks, task_capacity;
  hone_document *document;
  int32_t ndocuments, document_capacity;
  uint64_t *replaces; /* digests of the segments this one stands for; not cleared */
  int32_t nreplaces;
} hone_batch;

void hone_batch_init(hone_batch *b);
void hone_batch_fini(hone_batch *b);
void hone_batch_clear(hone_batch *b);
void hone_batch_add(hone_batch *b, const hone_record *r); /* host and time already set */
void hone_batch_put(hone_batch *b, const hone_store_document *d); /* likewise */
void hone_batch_sort(hone_batch *b); /* canonical order */

/* ---- segment_write.c, segment_read.c ---- */

/* The sealed file in memory; heap, caller frees. */
hone_status hone_segment_image(const hone_batch *sorted, unsigned char **image, size_t *n, hone_seal *seal, hone_err *err);

typedef struct {
  char *file; /* name within the store's directory */
  hone_seal seal;
  hone_task *task;
  int32_t ntasks;
  const char **string; /* interned in the store's pool */
  int32_t nstrings;
  hone_document *document; /* in order */
  int32_t ndocuments;
  uint64_t *replaces; /* digests, ascending */
  int32_t nreplaces;
} hone_segment;

/* Checks and loads the tables; err says what is wrong with the file. UNSUPPORTED:
 * newer schema; NOT_FOUND: the file is gone. */
hone_status hone_segment_load(const char *directory, const char *file, hone_pool *pool, hone_segment *out, hone_err *err);
void hone_segment_fini(hone_segment *g);

/* Rows read at once. Decoded records point into the block and the segment. */
typedef struct {
  hone_record_row *row;
  uint64_t *key;
  char *schedule, *message;
  size_t schedule_bytes, message_bytes; /* per row, with the final NUL */
  int64_t first_message, nmessages;
  int64_t n, capacity;
  size_t schedule_capacity, message_capacity;
} hone_block;

void hone_block_fini(hone_block *b);
/* Between enter and leave; < 0 with *err set. H5Fclose closes all there is. */
hid_t hone_segment_open(const char *directory, const hone_segment *g, hone_err *err);
hone_status hone_segment_read(hid_t file, const hone_segment *g, int64_t first, int64_t n, hone_block *out, hone_err *err);
hone_status hone_segment_keys(hid_t file, const hone_segment *g, int64_t first, int64_t n, uint64_t *out, hone_err *err);
/* The text of a document, NUL-terminated; heap, caller frees. */
hone_status hone_segment_document(hid_t file, const hone_document *d, char **text, hone_err *err);
/* false: an index in the row points nowhere. */
bool hone_block_decode(const hone_block *b, const hone_segment *g, const hone_task *t, int64_t i, hone_record *out);

/* ---- publish.c: files that are whole or not there ---- */

/* Who writes: names temporary files so that a dead writer's can be told. */
typedef struct {
  char tag[24];   /* host, boot and pid namespace, hashed */
  char host[65];
} hone_writer;

void hone_writer_init(hone_writer *w);
hone_status hone_publish_probe(const hone_writer *w, int dir, const char *path, hone_err *err);
void hone_publish_sweep(const hone_writer *w, int dir);
hone_status hone_publish_file(const hone_writer *w, int dir, const char *path, const char *name, const void *bytes, size_t n,
                              hone_err *err);

/* ---- store.c ---- */

struct hone_store {
  char *path, *directory; /* directory: where the segments are, absolute */
  char *only;             /* the one file of a single-file store, else NULL */
  hone_store_mode mode;
  int dir;                /* open directory; -1 for a single file */
  hone_writer writer;
  hone_batch batch;
  int64_t last_time_ns;
  hone_pool pool;
  hone_segment **segment; /* by digest */
  int32_t nsegments;
  const char **stale; /* files that others replace or repeat */
  int32_t nstale, stale_capacity;
  hone_store_damage *damaged;
  int32_t ndamaged, damaged_capacity;
};

enum { HONE_SEGMENT_NAME = 20 };
void hone_segment_name(uint64_t digest, char out[HONE_SEGMENT_NAME]);
/* Sorts b and makes it a durable segment. */
hone_status hone_store_publish(hone_store *s, hone_batch *b, char name[HONE_SEGMENT_NAME], hone_err *err);
void hone_store_set_aside(hone_store *s, const char *file, const hone_err *why);

/* ---- store_document.c ---- */

typedef struct {
  const hone_segment *segment;
  const hone_document *document;
} hone_document_part;

/* The documents of the snapshot that count, by kind (NULL: all) and subject; heap,
 * caller frees. */
hone_document_part *hone_store_newest(const hone_store *s, const char *kind, int32_t *n);
/* Heap, caller frees. */
hone_status hone_store_document_text(const hone_store *s, const hone_document_part *p, char **text, hone_err *err);

/* ---- merge.c: k-way merge of sorted segments ---- */

/* A task as one segment has it; runs of equal identity make a group. */
typedef struct {
  const hone_segment *segment;
  const hone_task *task;
} hone_part;

/* Matching parts, sorted by identity; heap, caller frees. */
hone_part *hone_store_parts(const hone_store *s, const hone_store_filter *f, int *n);
hone_part *hone_segment_parts(hone_segment *const *segment, int32_t nsegments, const hone_store_filter *f, int *n);
int hone_part_run(const hone_part *p, int n); /* length of the group at p[0] */

/* Streams the records of one group in canonical order, equal ones merged. */
typedef struct hone_merge hone_merge;

typedef struct {
  const hone_record *r; /* NULL at the end; valid until the next call */
  uint64_t key;
  int64_t rows; /* stored rows merged into r */
} hone_merged;

hone_merge *hone_merge_new(const hone_store *s, const hone_part *part, int n);
hone_status hone_merge_next(hone_merge *m, hone_merged *out, hone_err *err);
void hone_merge_free(hone_merge *m);
typedef struct {
  hone_record r;
  uint64_t key;
  int64_t rows; /* merged into r */
} hone_found;
/* Adds to count[i] how many stored rows of a group have key[i] (keys ascending). */
hone_status hone_merge_count(const hone_store *s, const hone_part *part, int n, const uint64_t *key, int nkeys,
                             int64_t *count, hone_err *err);
/* All rows of the group with one of these keys, in no order; they, their schedules
 * and messages are in a. */
hone_status hone_merge_gather(const hone_store *s, const hone_part *part, int n, const uint64_t *key, int nkeys,
                              hone_arena *a, hone_found **out, int *nout, hone_err *err);
/* b is the same outcome as a: adds its evidence to a. Call in order of evidence;
 * *previous begins as a and is kept here: what was merged last. */
void hone_record_merge(hone_record *a, const hone_record *b, hone_record *previous);
void hone_record_copy(hone_arena *a, const hone_record *r, hone_record *out); /* schedule and message copied */

#endif
