/* From a store to a library, inside src/library only. Reading order:
 *
 *   gather.c          a store's tasks: the best record and the defaults of each
 *   finder.c          a task's operator and machine anew, or why not
 *   choose.c          one task's entry
 *   range_document.c  what range runs concluded: claims and the entries they hang on
 *   near.c            claims around every entry; claims to intervals
 *   fallback.c, microcode.c
 *   from_store.c      all of it in order, then frozen into a library
 *   to_store.c        the way back
 */
#ifndef HONE_LIBRARY_EMIT_INT_H
#define HONE_LIBRARY_EMIT_INT_H

#include "backend/program.h"
#include "base/arena.h"
#include "cost/model.h"
#include "library/library_int.h"

/* ---- finder.c ----------------------------------------------------------------- */

/* Finds operators and machines by name, each once. */
typedef struct library_finder library_finder;
library_finder *library_finder_new(const hone_library_source *source);
void library_finder_free(library_finder *f);
/* The machine of that name; INPUT library.stale when its identity is another. */
hone_status library_find_machine(library_finder *f, const char *name, const char *hash, const hone_machine **out, hone_err *err);
/* The file of that operator. */
hone_status library_find_operator(library_finder *f, const char *name, const char **path, hone_err *err);

/* One shape of an operator on a machine, ready to be costed. */
typedef struct {
  hone_operator op;
  const hone_machine *machine; /* borrowed */
  hone_params params;
  hone_model *model;
  bool has_default;
  hone_schedule by_default;
} library_shape;
hone_status library_shape_new(const char *path, const hone_spec *spec, const hone_machine *m, library_shape **out, hone_err *err);
hone_status library_shape_make(hone_yaml *text, const hone_spec *spec, const hone_machine *m, library_shape **out, hone_err *err);
void library_shape_free(library_shape *x); /* NULL allowed */
int64_t library_shape_cost(const library_shape *x, const hone_schedule *s); /* model cycles, -1: illegal */
const char *library_shape_print(const library_shape *x, const hone_schedule *s, hone_arena *a);

/* ---- gather.c ----------------------------------------------------------------- */

enum { LIBRARY_MAX_EVALUATORS = 8 };

typedef struct {
  const char *schedule; /* NULL: none */
  int64_t cycles, warm_cycles;
} library_record;

typedef struct {
  int evaluator; /* index into the source's */
  bool failed;
  int64_t observations;
  library_record record;
} library_default;

typedef struct {
  const char *evaluator;
  int version;
} library_other;

/* One (operator, machine) of the store. Texts in the arena given. */
typedef struct {
  char operator_hash[HONE_HASH_TEXT], machine_hash[HONE_HASH_TEXT];
  const char *spec, *operator_name, *machine_name, *label;
  library_record best[LIBRARY_MAX_EVALUATORS];
  int ndefaults, nothers;
  library_default *by_default; /* records of kind DEFAULT, in the store's order */
  library_other *other;        /* evaluators and versions that are not this build's */
} library_task;

/* Tasks in the store's order; heap. */
hone_status library_gather(hone_store *s, const hone_library_source *source, hone_arena *a, library_task **out, int *n, hone_err *err);

/* ---- the library in the making -------------------------------------------------- */

typedef struct {
  hone_library_entry e;
  hone_schedule schedule; /* of e.schedule */
} library_draft_entry;

/* One integer of an interval, on the model. cycles -1: not served there. */
typedef struct {
  int64_t cycles, by_default, bound;
} library_point;

/* Where a schedule may be used along one axis; overlaps are settled later. */
typedef struct {
  int64_t size[HONE_MAX_SIZES]; /* of the entry it hangs on */
  int entry;                    /* its number, once entries are sorted */
  int axis;
  int64_t lo, hi;
  library_point *point; /* heap, hi - lo + 1 of them */
  hone_loss_basis basis;
  double loss_pct;      /* this and the rest: of basis OPTIMUM, as the range run measured */
  int64_t loss_at;
  double sim_loss_pct;
  int sim_samples;
} library_claim;

typedef struct {
  hone_spec spec; /* sizes: of some shape */
  const char *path;
  const hone_machine *machine;
  char machine_hash[HONE_HASH_TEXT], id[128];
  int nentries, entry_capacity;
  library_draft_entry *entry;
  int nclaims, claim_capacity;
  library_claim *claim;
} library_draft_family;

typedef struct {
  const hone_library_source *source;
  hone_library *l; /* its arena holds all texts */
  library_finder *finder;
  int nfamilies, family_capacity;
  library_draft_family **family;
  int nleft_out, left_out_capacity;
  hone_library_left_out *left_out;
} library_draft;

void library_leave_out(library_draft *d, const char *what, const char *code, const char *fmt, ...) HONE_PRINTF(4, 5);
library_draft_family *library_draft_find_family(library_draft *d, const library_shape *x, const char *path);
int library_draft_find_entry(const library_draft_family *f, const int64_t *size); /* -1 */
library_draft_entry *library_draft_add_entry(library_draft_family *f, const hone_spec *spec);
library_claim *library_draft_add_claim(library_draft_family *f);

/* choose.c: what the store knows of a task becomes an entry, or is left out. */
void library_choose(library_draft *d, const library_task *t);
/* A new entry of model evidence with this schedule, or the default where that is as good. */
library_draft_entry *library_choose_by_model(library_draft *d, library_draft_family *f, const library_shape *x, const hone_schedule *s);
/* Another schedule of the same figures. */
void library_choose_instead(library_draft *d, const library_shape *x, const hone_schedule *s, library_draft_entry *e);
const hone_library_evaluator *library_model(const hone_library_source *source);

/* range_document.c */
hone_status library_take_ranges(library_draft *d, hone_store *s, hone_err *err);

/* near.c: claims around every entry; then claims to intervals. Entries are sorted. */
void library_walk_near(library_draft *d);
void library_settle(library_draft_family *f, hone_library_family *out, hone_arena *a);
/* The schedule cut to each of the n shapes from `lo` on along the axis. */
void library_cost_points(const library_draft_family *f, const int64_t *size, int axis, int64_t lo, int64_t n, const hone_schedule *s,
                         library_point *out);

/* microcode.c: fills the microcode fields of every entry, in order, and hands the bytes out. */
hone_status library_make_microcode(library_draft *d, hone_err *err);

/* Percentages as documents hold them: four digits behind the point, rounded to the
 * side that promises less. */
double library_percent_up(double x);
double library_percent_down(double x);
double library_percent_over(int64_t a, int64_t b); /* a / b - 1, in percent */

#endif
