/* A schedule space: the parameters of an operator on a machine, their domains
 * narrowed by text, and checked constraints (docs/spaces.md has the language).
 *
 * A POINT is one int64 value per parameter, in the canonical order of
 * hone_params, in an array the caller owns (hone_space_parameters(s) long). A point
 * is LEGAL when every value is in its domain, every constraint holds, and the
 * schedule it means is legal (ir/schedule.h). Two points may mean the same
 * schedule (an order differs only in loops of one trip): hone_space_key is equal
 * exactly then. Everything that proposes, counts or lists points works on keys.
 *
 * Domains may depend on the parameters before them (tile.2.m takes the useful
 * divisions of whatever tile.1.m is): hone_space_domain wants the values so far.
 *
 * An opaque space (op and machine NULL) has parameters and constraints but no
 * schedule: it can be searched, not lowered.
 *
 * A space is read-only once made: share it between threads. It keeps pointers to
 * op, machine and params; they must outlive it. */
#ifndef HONE_SPACES_SPACE_H
#define HONE_SPACES_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/rng.h"
#include "base/status.h"
#include "base/text.h"
#include "ir/machine.h"
#include "ir/operator.h"
#include "ir/schedule.h"

typedef struct hone_space hone_space;

enum { HONE_SPACE_PARAMETERS = 384 }; /* more than any operator and machine within ir/limits.h generate */

/* A text that narrows: a file with a `space:` section (one without is allowed:
 * operator files need none). `text` NULL: the file at `name`; else the text
 * itself and `name` stands in messages. */
typedef struct {
  const char *name, *text;
} hone_space_source;

/* Sources narrow in the given order: the generic template, the operator's file,
 * the user's. INPUT: a text is wrong (file, line, column, and the line with a
 * caret as the hint). INFEASIBLE: a domain became empty (which, and by what). */
hone_status hone_space_new(const hone_operator *op, const hone_machine *m, const hone_params *params,
                           const hone_space_source *sources, int nsources, hone_space **out, hone_err *err);
void hone_space_free(hone_space *s); /* NULL allowed */

const hone_operator *hone_space_operator(const hone_space *s); /* NULL: opaque */
const hone_machine *hone_space_machine(const hone_space *s);
int hone_space_parameters(const hone_space *s);
const hone_param *hone_space_param(const hone_space *s, int i);
/* Canonical name of the text that made it, for provenance. */
hone_hash hone_space_hash(const hone_space *s);

/* ---- domains -------------------------------------------------------------- */

/* The values of one parameter, ascending (orders: lexicographic). Init with {0};
 * reuse freely; end with hone_domain_fini. */
typedef struct {
  int64_t n;
  const int64_t *list; /* NULL: first, first+1, ... (or every order of `places` dims); the space's or `own` */
  int64_t first;
  int places;          /* > 0 and list NULL: all permutations */
  int64_t *own, capacity;
} hone_domain;

/* Domain of parameter i given values[0 .. i-1]; may come out empty. False (and
 * empty) when an expression overflows or divides by zero on these values. */
bool hone_space_domain(const hone_space *s, int i, const int64_t *values, hone_domain *out);
int64_t hone_domain_at(const hone_domain *d, int64_t i);
int64_t hone_domain_find(const hone_domain *d, int64_t value);    /* -1 */
int64_t hone_domain_nearest(const hone_domain *d, int64_t value); /* largest index with at(i) <= value, else 0 */
void hone_domain_fini(hone_domain *d);

/* ---- points --------------------------------------------------------------- */

/* Why a point is not legal. */
typedef struct {
  hone_reason reason; /* NONE: legal */
  int param;          /* DOMAIN: which, else -1 */
  int constraint;     /* CONSTRAINT: which, else -1 */
  hone_why ir;        /* what ir/schedule.h said; reason NONE there if it was not asked */
  char text[200];     /* empty unless asked for */
} hone_space_why;

/* NONE or the first reason in the order: domains, constraints, ir. */
hone_reason hone_space_check(const hone_space *s, const int64_t *values, hone_space_why *why /* NULL allowed */);
int hone_space_constraints(const hone_space *s);
const char *hone_space_constraint_name(const hone_space *s, int constraint);
const char *hone_space_constraint_reason(const hone_space *s, int constraint);

/* The schedule a point means, in normal form; asserts that the space is not opaque. */
void hone_space_schedule(const hone_space *s, const int64_t *values, hone_schedule *out);
/* The point of a schedule in normal form (its values need not be in the domains). */
void hone_space_point(const hone_space *s, const hone_schedule *schedule, int64_t *values);
/* Equal exactly when two points mean the same schedule. Not stable between versions. */
hone_hash hone_space_key(const hone_space *s, const int64_t *values);
/* "tile.1.m=64 ...": the schedule's canonical text, or the values of an opaque space. */
void hone_space_print(const hone_space *s, const int64_t *values, hone_text *out);

/* ---- drawing and moving: deterministic by rng, results are legal ------------ */

/* A legal point: drawn parameter by parameter, then repaired until legal. Every
 * legal point can come out. False after `tries` failures. */
bool hone_space_sample(const hone_space *s, hone_rng *rng, int tries, int64_t *values);
/* Makes values legal by few changes (snapping to domains, shrinking what
 * overflows a memory, redrawing what a reason points at). False: given up. */
bool hone_space_repair(const hone_space *s, hone_rng *rng, int64_t *values);
/* A legal point near `values` with another key: one random move (step, double or
 * halve a tile, trade one tile for another, fill a memory, swap loops, move a
 * buffer, ...) and what repair it needs. `values` is legal on entry. */
bool hone_space_mutate(const hone_space *s, hone_rng *rng, const int64_t *values, int64_t *out);
/* A legal child of two legal points: dims, tensors and stages taken whole from either. */
bool hone_space_cross(const hone_space *s, hone_rng *rng, const int64_t *a, const int64_t *b, int64_t *out);

/* All legal points one move away (next and previous value of each parameter,
 * any other value of a small one, exchanges of two loops), distinct by key, own
 * key excluded, in a fixed order. *out: heap, *n points one after another. */
void hone_space_neighbours(const hone_space *s, const int64_t *values, int64_t **out, int64_t *n);

/* ---- listing and counting -------------------------------------------------- */

/* Walks every legal point once per key, in lexicographic order of domain index.
 * A constraint is checked as soon as its last parameter has a value. */
typedef struct hone_space_walk hone_space_walk;
hone_space_walk *hone_space_walk_new(const hone_space *s);
void hone_space_walk_free(hone_space_walk *w);
/* False at the end (or after the point limit given by set_limit, see at_end). */
bool hone_space_walk_next(hone_space_walk *w, int64_t *values);
/* Stop when more than this many whole or cut assignments would be tried; 0: never. */
void hone_space_walk_set_limit(hone_space_walk *w, int64_t tried);
bool hone_space_walk_at_end(const hone_space_walk *w); /* every point was visited */

typedef enum {
  HONE_SPACE_HAS_LEGAL,   /* at least one legal point */
  HONE_SPACE_PROVEN_EMPTY, /* every point was tried */
  HONE_SPACE_NONE_FOUND    /* too large to try every point; sampling found none */
} hone_space_state;

enum { HONE_COUNT_TEXT = 320 }; /* larger numbers end in + */

typedef struct {
  char points[HONE_COUNT_TEXT]; /* exact size of the product of the domains (tiles nested), decimal */
  double log10_points;
  hone_space_state state;
  bool counted;        /* every point was tried: the next two are exact, else -1 */
  int64_t legal;       /* points */
  int64_t schedules;   /* distinct keys among them */
  int64_t tried;       /* points tried for what follows (sampled when not counted) */
  int64_t killed[HONE_REASON_COUNT]; /* by reason, of the tried */
  int64_t *by_constraint;            /* heap, hone_space_constraints(s) long */
  char text[256];      /* why it is empty; else empty */
} hone_space_count;

/* `limit`: largest number of points to try one by one. Free with _fini. */
void hone_space_count_run(const hone_space *s, int64_t limit, uint64_t seed, hone_space_count *out);
void hone_space_count_fini(hone_space_count *c);

#endif
