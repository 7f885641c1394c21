/* Schedule libraries: the chosen schedules of a store, for compilers and
 * runtimes. One library is one JSON document (data/schema/library.schema.json);
 * the C header and the microcode files are projections of it.
 *
 * A family is an operator with formats, options and machine fixed: shapes differ
 * only in the values of its sizes. Its entries are tuned shapes. Its intervals say
 * for which other shapes an entry's schedule may be used: those that differ in one
 * size only, at every integer of lo..hi, each of which was costed with the model
 * and found legal and no worse than the default schedule there. So a lookup needs
 * no model: it is exact (an entry), near (an interval) or fallback (neither), in
 * C as here.
 *
 * A schedule found near its tuned shape is used by cutting splits and tiles to the
 * asked shape (hone_schedule_fit). A library is read-only once made: threads may
 * share it. */
#ifndef HONE_LIBRARY_LIBRARY_H
#define HONE_LIBRARY_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"
#include "ir/machine.h"
#include "ir/operator.h"
#include "ir/schedule.h"
#include "ir/spec.h"
#include "store/store.h"

enum { HONE_LIBRARY_SCHEMA = 1 };
enum { HONE_LIBRARY_NEAR_MOST = 1024 }; /* near answers reach at most so many integers to either side */

typedef enum {
#define HONE_EVIDENCE(id, word) HONE_EVIDENCE_##id,
#include "library/evidence.def"
#undef HONE_EVIDENCE
  HONE_EVIDENCE_COUNT
} hone_evidence;
const char *hone_evidence_word(hone_evidence e);

/* One tuned shape. Cycles of the machine's base clock; -1: not known. The schedule
 * is never worse than the default by the figures of `evidence`: when nothing better
 * is known it is the default. */
typedef struct {
  int64_t size[HONE_MAX_SIZES];       /* in the order of the family's spec */
  const char *schedule, *by_default;  /* canonical texts at this shape; by_default is always there */
  hone_evidence evidence;             /* behind cycles and default_cycles */
  int64_t cycles, default_cycles;     /* from an idle machine */
  int64_t warm_cycles, default_warm_cycles; /* back to back */
  int64_t model_cycles, default_model_cycles;
  int64_t bound_cycles;
  double margin_pct;                  /* default_cycles / cycles - 1, >= 0 */
  double gap_pct;                     /* cycles / bound_cycles - 1 */
  bool no_significant_gain;           /* margin below HONE_SIGNIFICANT_GAIN_PCT */
  char operator_hash[HONE_HASH_TEXT], key[HONE_HASH_TEXT]; /* identity; key: hone_record_key of the chosen record */
  const char *evaluator;
  int evaluator_version;
  const char *microcode;              /* file beside the document; NULL: none, for the reason below */
  const char *microcode_reason;       /* "" when there is one */
  int64_t microcode_bytes;
} hone_library_entry;

/* What loss_pct is counted from. */
typedef enum {
  HONE_LOSS_OF_OPTIMUM, /* the best found for each integer by the range run */
  HONE_LOSS_OF_BOUND,   /* the physical bound of each shape: the true loss is lower */
  HONE_LOSS_BASIS_COUNT
} hone_loss_basis;
const char *hone_loss_basis_word(hone_loss_basis b); /* "optimum", "bound" */

/* Shapes that have all sizes of the entry but `axis`, which is in lo..hi. */
typedef struct {
  int entry, axis;
  int64_t lo, hi;        /* inclusive; the entry's own value need not be inside */
  double loss_pct;       /* the most, over every integer, on the model */
  int64_t loss_at;       /* where; outside lo..hi when a longer interval was cut, whose loss this is */
  hone_loss_basis basis;
  double sim_loss_pct;   /* the most over sim_samples shapes, simulated; NaN when there are none */
  int sim_samples;
  double margin_pct;     /* the least gain over the default of the same shape, on the model, >= 0 */
} hone_library_interval;

typedef struct {
  hone_spec spec;              /* of the family: value and to are the least and largest size covered */
  char id[128];                /* a C identifier, unique in the library: "matmul_bf16_on_trainium2_core" */
  const char *machine_name;
  char machine_hash[HONE_HASH_TEXT];
  int64_t clock_hz;
  int nentries;
  hone_library_entry *entry;   /* ascending by sizes */
  int nintervals;
  hone_library_interval *interval; /* by axis, then the other sizes, then lo; those of one axis and
                                    * the same other sizes do not overlap */
  const char *fallback;        /* a schedule of array granules that fits every shape, tuned for none; NULL: there is none */
  int64_t fallback_size[HONE_MAX_SIZES]; /* the shape its text is written at: parse there, then fit */
  const char *fallback_reason; /* why there is none, else "" */
} hone_library_family;

/* A task of the store that is not in the library, and why. */
typedef struct {
  const char *what, *code, *reason;
} hone_library_left_out;

/* An evaluator as a build has it; a library is made of records of these versions only. */
typedef struct {
  const char *name; /* "simulator" */
  int version;
  hone_evidence evidence;
} hone_library_evaluator;

typedef struct hone_library {
  hone_arena *arena;           /* owns this struct and everything below */
  char name[64];               /* a C identifier: prefix of the header's names */
  const char *writer;          /* program and version */
  double near_pct;             /* how far from tuned sizes near answers were looked for */
  int nevaluators;
  hone_library_evaluator *evaluator; /* behind every figure */
  int nfamilies;
  hone_library_family *family; /* by id */
  int nleft_out;
  hone_library_left_out *left_out; /* in the order of the store */
} hone_library;

/* How a store's tasks are turned back into operators and machines: by the spec and
 * the machine name they were recorded with; the identities must then agree, else
 * the task is left out as stale. find_* give a file for a name. */
typedef struct hone_library_source {
  const char *name;    /* of the library; a C identifier */
  const hone_library_evaluator *evaluator; /* of this build; one of MODEL evidence is among them; records of other
                                            * versions are left out, one by one */
  int nevaluators;
  const char *machine; /* only this machine (name or hash); NULL: every one */
  double near_pct;     /* how far from a tuned size near answers reach, 0 .. 100 */
  bool microcode;      /* compile every entry */
  hone_status (*find_operator)(void *arg, const char *name, char *path, size_t n, hone_err *err);
  hone_status (*find_machine)(void *arg, const char *name, char *path, size_t n, hone_err *err);
  void *find_arg;
  /* One microcode file; called in the order of the entries. */
  hone_status (*write_microcode)(void *arg, const char *file, const void *bytes, size_t n, hone_err *err);
  void *write_arg;
} hone_library_source;

hone_status hone_library_from_store(hone_store *s, const hone_library_source *source, hone_library **out, hone_err *err);
/* Fills the three fallback fields. tuned: any spec of the family, without ranges. */
void hone_library_make_fallback(hone_arena *a, const char *operator_path, const hone_spec *tuned, const hone_machine *m,
                                hone_library_family *f);
/* The inverse: records of entries and defaults and the range documents, from which
 * from_store makes the same library. Operators and machines are found as there and
 * must have the library's identities, else INPUT library.stale and nothing is written. */
hone_status hone_library_to_store(const hone_library *l, const hone_library_source *source, hone_store *s, hone_err *err);

hone_status hone_library_load(const char *path, hone_library **out, hone_err *err); /* checks everything it reads */
hone_status hone_library_parse(const char *name, const char *text, size_t n, hone_library **out, hone_err *err); /* the same of a text; name: for messages */
void hone_library_free(hone_library *l); /* NULL allowed */
bool hone_library_is_name(const char *s); /* a C identifier that fits `name` */

/* One value a line, in a stable order. Load then write is the identity. */
void hone_library_write_json(const hone_library *l, hone_text *out);
/* Self-contained C: valid C99 and C++17 without warnings, its lookup allocates nothing. */
void hone_library_write_header(const hone_library *l, hone_text *out);

typedef enum { HONE_LOOKUP_EXACT, HONE_LOOKUP_NEAR, HONE_LOOKUP_FALLBACK } hone_lookup_kind;
const char *hone_lookup_kind_word(hone_lookup_kind k);

typedef struct {
  hone_lookup_kind kind;
  const hone_library_family *family;     /* NULL: the library has none of this operator, formats, options and machine */
  const hone_library_entry *entry;       /* NULL in a fallback */
  const hone_library_interval *interval; /* of a near answer, else NULL */
  const char *schedule;                  /* of the entry, at the entry's shape; or the family's fallback; or NULL */
  double loss_pct;                       /* expected at most; 0 exact; NaN: not known */
  char reason[240];                      /* "m=1000 is in 961..1023, tuned at m=1023" */
} hone_library_answer;

/* spec: without ranges. machine: name or hash, NULL when the library has one only. */
void hone_library_lookup(const hone_library *l, const hone_spec *spec, const char *machine, hone_library_answer *out);

/* A schedule tuned at one shape of a family, on the model at another: cut to it as
 * hone_schedule_fit does. */
typedef struct {
  hone_schedule schedule; /* at the other shape */
  hone_why why;           /* reason NONE: legal there */
  int64_t cycles;         /* -1 unless legal */
  int64_t default_cycles; /* of the default schedule there; -1: there is none */
  int64_t bound_cycles;   /* -1: not known */
} hone_library_cost;

/* tuned: the operator at the shape the text is for; asked: at the other. */
hone_status hone_library_recost(const char *schedule, const hone_operator *tuned, const hone_operator *asked, const hone_machine *m,
                                hone_library_cost *out, hone_err *err);
/* The operator of a family at a shape, from its file. */
hone_status hone_library_operator(const hone_library_family *f, const int64_t *size, const char *path, hone_operator *out,
                                  hone_err *err);

/* Something a check found; texts are valid until the visit returns. */
typedef struct {
  bool error;          /* the library says what does not hold; else a warning */
  const char *code;    /* "library.stale-machine", "library.near-worse", .. */
  const char *family;  /* id; "": of the whole library */
  const char *subject; /* "entry b=1,m=8,n=64,k=64"; "" when it is of the family */
  const char *message;
} hone_library_finding;
typedef void (*hone_library_visit_finding)(void *arg, const hone_library_finding *f);

typedef struct {
  int families, entries, intervals; /* looked at again */
  int absent;                       /* families whose operator or machine is not at hand */
  int64_t shapes;                   /* costed */
  int errors, warnings;
} hone_library_checked;

/* Does the library still hold, with the operators and machines of now (found by
 * source, whose evaluators are those of now)? Identities are compared; every entry
 * and default, both ends and the worst place of every interval, and the fallback
 * at all these are costed with the model: legal, as stated, and no near schedule
 * worse than the default. What a document says of itself is checked by load. */
void hone_library_check(const hone_library *l, const hone_library_source *source, hone_library_visit_finding visit, void *arg,
                        hone_library_checked *out);

/* What changed from a to b: families and entries gone, new and different (cycles,
 * schedule, evidence), and intervals, group by group; in a stable order. */
typedef enum { HONE_CHANGE_NEW, HONE_CHANGE_GONE, HONE_CHANGE_DIFFERENT, HONE_CHANGE_COUNT } hone_library_change_kind;
const char *hone_library_change_word(hone_library_change_kind k);

typedef struct {
  const char *field;     /* "cycles", "evidence", "tile.1.m", "default tile.1.m", "worst loss" */
  const char *from, *to; /* "none": it is not there */
} hone_library_change_item;

typedef struct {
  hone_library_change_kind kind;
  const char *what;    /* "family", "entry", "intervals", "left_out" */
  const char *family;  /* id; "" of left_out */
  const char *subject; /* "b=1,m=8,n=64,k=64"; "m with b=1,n=64,k=64"; what was left out; "" */
  const hone_library_entry *from, *to; /* of an entry, each NULL where it is not */
  int nitems;
  hone_library_change_item *item; /* of something different: all that differs */
} hone_library_change;

/* Texts are valid until the visit returns. Returns how many; visit may be NULL. */
typedef void (*hone_library_visit_change)(void *arg, const hone_library_change *c);
int hone_library_changes(const hone_library *a, const hone_library *b, hone_library_visit_change visit, void *arg);
/* The same as text for a reviewer, with a last line that counts. */
int hone_library_diff(const hone_library *a, const hone_library *b, hone_text *out);

#endif
