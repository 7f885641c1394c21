/* The store: every evaluation, durable, in HDF5 anyone can read (docs/store.md).
 *
 * A store is a directory of immutable segments. A writer keeps records in memory
 * and makes them one segment per flush: written to a temporary name, fsynced,
 * renamed, directory fsynced. No lock is taken, so any number of processes and
 * hosts write side by side while others read. One segment file (.h5) is a
 * read-only store too.
 *
 * A record's key is operator text + machine text + schedule text + evaluator
 * name and version; the rest is outcome or provenance. Records that agree in key
 * and outcome are shown once, their observations added up. When outcomes of one
 * key disagree all are kept, and the chosen one is the upper median over the
 * observations, a failure counting as infinitely slow (so the majority wins and
 * a draw goes to the worse value).
 *
 * A damaged segment is set aside with a diagnostic and the rest stays usable.
 * A segment of a newer schema refuses the open, by number.
 *
 * Threads: a handle belongs to one thread at a time; different handles may be
 * used at once. HDF5's error handler is left as the application set it. */
#ifndef HONE_STORE_STORE_H
#define HONE_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/status.h"
#include "ir/schedule.h"

enum { HONE_STORE_SCHEMA = 2 }; /* written; older ones are read */

typedef struct hone_store hone_store;
typedef enum { HONE_STORE_READ, HONE_STORE_WRITE } hone_store_mode;

/* Why a record was kept; a bit set, since the default may be the best. */
enum {
#define HONE_RECORD_KIND(id, bit, name) HONE_KIND_##id = 1 << bit,
#include "store/kind.def"
#undef HONE_RECORD_KIND
};

/* What was tuned. Hashes are hone_hash_text of the canonical texts. */
typedef struct {
  const char *operator_text; /* hone_operator_print */
  const char *machine_text;  /* hone_machine_print */
  const char *operator_name, *machine_name; /* provenance: names may change, identity does not */
  const char *label;         /* provenance, for people: "matmul m=8,n=4096,k=4096 bf16" */
  const char *spec;          /* provenance: hone_spec_print, what makes the operator anew; "" in records
                              * of schema 1 */
} hone_store_task;

/* One evaluation. append copies every text (NULL = ""); in a visit the texts are
 * valid until the visit returns. */
typedef struct {
  hone_store_task task;
  const char *evaluator;  /* "model", "simulator" */
  int evaluator_version, fidelity;
  const char *schedule;   /* canonical text */
  /* outcome */
  hone_reason reason;     /* NONE: succeeded. When read: EVALUATOR for a code this build does not know */
  const char *reason_code; /* filled when read; ignored by append */
  const char *message;    /* of a failure */
  int64_t cycles, warm_cycles; /* 0 of a failure */
  int64_t energy_fj;      /* -1: not known */
  const char *bottleneck; /* "dram" */
  int64_t model_cycles;   /* the model's word on the same schedule, -1: none */
  /* provenance */
  unsigned kinds;         /* HONE_KIND_* */
  uint64_t seed;
  int64_t order;          /* when within the run, 0 first */
  hone_hash space;        /* of the schedule space searched */
  int64_t time_unix_ns;   /* append: 0 = now */
  const char *host;       /* append: NULL = this one. A record as it was read, appended again with other
                           * kinds, is the same evaluation: the kinds unite, the observations stay. */
  int64_t observations;   /* append: 0 = 1 */
  bool contested;         /* filled by top and best: other outcomes exist for this key */
} hone_record;

/* READ: a directory or one segment file; needs no write permission. WRITE: makes
 * the directory when absent (its parent must be there), proves that it can be
 * written to, sweeps temporary files of dead writers. Either sees the segments
 * that are there now (the snapshot); later ones, its own included, appear at
 * hone_store_refresh. */
hone_status hone_store_open(const char *path, hone_store_mode mode, hone_store **out, hone_err *err);
hone_status hone_store_refresh(hone_store *s, hone_err *err);
/* Flushes what is pending; frees in any case. NULL allowed. */
hone_status hone_store_close(hone_store *s, hone_err *err);
const char *hone_store_path(const hone_store *s);
/* Names the snapshot: equal if and only if the same segments are seen. */
hone_hash hone_store_snapshot(const hone_store *s);

/* Buffers a copy. Acknowledged only by flush. Flushes by itself when much is
 * pending, so it can fail with IO; the record is kept nevertheless. */
hone_status hone_store_append(hone_store *s, const hone_record *r, hone_err *err);
/* One durable segment of all that is pending, documents too. On error (disk full, ...) nothing
 * becomes visible and everything stays pending: call again. */
hone_status hone_store_flush(hone_store *s, hone_err *err);
int64_t hone_store_pending(const hone_store *s); /* records and documents */

/* A filter; zeroed: everything. All given fields must hold. */
typedef enum { HONE_STORE_ANY, HONE_STORE_SUCCEEDED, HONE_STORE_FAILED } hone_store_outcome;
typedef struct {
  const hone_store_task *task; /* exact identity: both texts equal */
  const char *operator_hash, *machine_hash; /* hex, or the first digits of it */
  const char *operator_name, *machine_name;
  const char *evaluator;
  int evaluator_version;       /* 0: any */
  hone_store_outcome outcome;
  const char *reason_code;     /* NULL: any */
  unsigned kinds;              /* 0: any; else at least one of them */
} hone_store_filter;

/* Anything but HONE_OK ends the walk and is returned by it. */
typedef hone_status (*hone_store_visit)(void *arg, const hone_record *r, hone_err *err);

/* Every matching record, pending ones excepted, equal ones merged, in canonical
 * order: operator hash, machine hash, evaluator, version, then successes by
 * cycles, then failures; ties by schedule text. filter may be NULL. */
hone_status hone_store_query(hone_store *s, const hone_store_filter *filter, hone_store_visit visit, void *arg, hone_err *err);
/* The k best schedules of each matching (operator, machine, evaluator version):
 * one record per key, the chosen one; outcome and kinds of the filter are not used. */
hone_status hone_store_top(hone_store *s, const hone_store_filter *filter, int k, hone_store_visit visit, void *arg,
                           hone_err *err);
/* The best known schedule of exactly this task and evaluator version (0: any).
 * Texts of *out are copied into a. NOT_FOUND as hone_store_why_miss. */
hone_status hone_store_best(hone_store *s, const hone_store_task *task, const char *evaluator, int evaluator_version,
                            hone_arena *a, hone_record *out, hone_err *err);

/* Why a lookup misses: NOT_FOUND with the first field that differs from the nearest
 * record (err->path: operator, machine, evaluator, evaluator_version or schedule)
 * and how, or that there are failures only. HONE_OK when it would not miss.
 * schedule NULL: any. */
hone_status hone_store_why_miss(hone_store *s, const hone_store_task *task, const char *evaluator, int evaluator_version,
                                const char *schedule, hone_err *err);

/* What two stores know differently: evaluations (operator, machine, evaluator
 * version, schedule) one of them lacks, or of which their sets of outcomes differ.
 * visit gets a record of either, NULL where there is none; of several outcomes the
 * first that differs. Memory: the records of one task. */
typedef struct {
  int64_t only_a, only_b, different, same; /* evaluations */
} hone_store_difference;
typedef hone_status (*hone_store_visit_difference)(void *arg, const hone_record *a, const hone_record *b, hone_err *err);
hone_status hone_store_diff(hone_store *a, hone_store *b, const hone_store_filter *filter, hone_store_difference *out,
                            hone_store_visit_difference visit, void *arg, hone_err *err);

/* Totals over the snapshot. */
typedef struct {
  int64_t segments, bytes, damaged, tasks;
  int64_t records;   /* as visited by query */
  int64_t failed;    /* of these */
  int64_t repeated;  /* stored rows merged into another */
  int64_t contested; /* keys with more than one outcome */
  int64_t documents; /* as visited by hone_store_documents */
} hone_store_info;
hone_status hone_store_get_info(hone_store *s, hone_store_info *out, hone_err *err);

/* Counts of one (operator, machine, evaluator version). */
typedef struct {
  hone_store_task task;
  hone_hash operator_hash, machine_hash;
  const char *evaluator;
  int evaluator_version;
  int64_t records, failed, contested;
  int64_t best_cycles; /* lowest observed; -1: none succeeded */
} hone_store_task_info;
typedef hone_status (*hone_store_visit_task)(void *arg, const hone_store_task_info *t, hone_err *err);
hone_status hone_store_tasks(hone_store *s, const hone_store_filter *filter, hone_store_visit_task visit, void *arg,
                             hone_err *err);

/* Segments set aside, and why. */
typedef struct {
  const char *file;    /* name within the store */
  const char *code;    /* "store.truncated", "store.foreign", "store.digest", "store.content", "store.unreadable" */
  const char *message;
} hone_store_damage;
int hone_store_damaged_count(const hone_store *s);
const hone_store_damage *hone_store_get_damaged(const hone_store *s, int i);

/* Reads everything: digests again, every index in range, keys recomputed, order
 * as documented. Adds to the damaged list; returns STORE when it is not empty. */
hone_status hone_store_verify(hone_store *s, hone_err *err);

/* Documents: texts (JSON) that say more than records can, such as what a range
 * run concluded. Kept with the records, durable and merged like them; the newest
 * of a (kind, subject) is the one that counts, older ones are dropped by compact. */
typedef struct {
  const char *kind;    /* "range" */
  const char *subject; /* what it is about: a spec and a machine hash, "<spec> on <hash>" */
  const char *text;
  int64_t time_unix_ns; /* put: 0 = now, or just after the newest of its subject this handle knows */
  const char *host;     /* filled when read */
} hone_store_document;
/* Buffers a copy, pending until flush, as append does. USAGE for more than 64 MiB. */
hone_status hone_store_put(hone_store *s, const hone_store_document *d, hone_err *err);
typedef hone_status (*hone_store_visit_document)(void *arg, const hone_store_document *d, hone_err *err);
/* The newest of each subject, by kind (NULL: all), then subject; pending ones excepted. */
hone_status hone_store_documents(hone_store *s, const char *kind, hone_store_visit_document visit, void *arg, hone_err *err);

/* Exports what query visits (documents are no rows of it). Numbers in the C locale, failures with reason. */
typedef hone_status (*hone_store_write)(void *arg, const char *bytes, size_t n, hone_err *err);
hone_status hone_store_export_csv(hone_store *s, const hone_store_filter *filter, hone_store_write write, void *arg,
                                  hone_err *err);
hone_status hone_store_export_json(hone_store *s, const hone_store_filter *filter, hone_store_write write, void *arg,
                                   hone_err *err); /* JSON lines */

/* Maintenance; each needs a store open for WRITE and refreshes the snapshot. */

/* Merges small segments into larger ones of at most max_records (0: a good
 * default). What a new segment replaces is named in it and removed once it is
 * durable and was read back, so dying in between neither loses nor repeats
 * anything. Readers that still have a removed segment in their snapshot are told
 * to open the store again. */
typedef struct {
  int64_t merged, made, removed; /* segments in, segments out, files gone */
} hone_store_compaction;
hone_status hone_store_compact(hone_store *s, int64_t max_records, hone_store_compaction *out, hone_err *err);

/* Copies the segments of the store at `from` that s does not have. STORE when some
 * of them were damaged; the others are copied nevertheless. */
typedef struct {
  int64_t copied, known, damaged; /* segments */
} hone_store_merger;
hone_status hone_store_merge(hone_store *s, const char *from, hone_store_merger *out, hone_err *err);

/* Verifies, then renames damaged segments to <name>.damaged: nothing is thrown away,
 * and the store reads without complaint. IO when some cannot be read: these stay,
 * for they may be whole. `moved` may be NULL. */
hone_status hone_store_repair(hone_store *s, int *moved, hone_err *err);

/* Identity of one evaluation, equal on every host (test vectors in the tests). */
hone_hash hone_record_key(const hone_record *r);
const char *hone_record_kind_name(unsigned bit); /* "best"; NULL for an unknown bit */

#endif
