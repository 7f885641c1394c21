/* Inside src/campaign only: the parts of a range run. Shapes are counted from 0
 * (the range's low end); a cost of -1 means not legal. */
#ifndef HONE_CAMPAIGN_FAMILY_INT_H
#define HONE_CAMPAIGN_FAMILY_INT_H

#include <time.h>

#include "campaign/campaign_int.h"
#include "campaign/cover.h"
#include "campaign/family.h"

/* One integer of the range as a problem. */
typedef struct {
  hone_operator op;
  hone_params params;
  hone_space *space; /* NULL unless asked for */
  hone_model *model;
} shape;

/* The best of a search, ascending: the best of each way to cut what the range
 * changes, for ways that do equally well on the model may differ when simulated,
 * and at other shapes. */
enum { FINDS = 8 };
typedef struct {
  int n;
  int64_t cycles[FINDS];
  hone_hash cut[FINDS];
  hone_schedule schedule[FINDS];
  int64_t evaluated;
} finds;

typedef struct {
  const hone_family_task *task;
  hone_family_result *out;
  struct timespec *start;
  int axis;       /* of the range among the spec's sizes */
  int64_t lo, n;
  shape *top;     /* at the high end; schedules of the pool are kept in terms of it */
  hone_dimset moving; /* dims the range changes */

  /* The pool: schedules costed at every shape. */
  int members, limit; /* at most so many, and some more for shapes that nothing serves yet */
  hone_schedule *member;
  hone_hash *key;
  int64_t *cost;  /* [member * n + i]; negative: not allowed, and ~cost what it would be, -1 when not legal */

  /* Per shape. */
  bool *hole;
  int64_t *bound, *by_default, *reference; /* default -1: there is none; reference -1: nothing is legal */
  int64_t *found; /* by a search at the very shape; -1: none */
  hone_schedule *found_schedule;

  hone_cover_piece *piece; /* of the final choice */
  int npieces;
  double floor; /* loss that does not matter */
} family;

/* Cycles of a member at shape i, allowed or not; -1 when not legal. */
static inline int64_t family_cost(const family *f, int member, int64_t i)
{
  int64_t c = f->cost[(ptrdiff_t)member * f->n + i];
  return c >= -1 ? c : ~c;
}

/* Legal at shape i, and no worse than its default. */
static inline bool family_as_good(const family *f, int member, int64_t i)
{
  int64_t c = family_cost(f, member, i);
  return c >= 0 && (f->by_default[i] < 0 || c <= f->by_default[i]);
}

/* ---- family_shape.c ---- */
enum { SHAPE_MODEL = 0, SHAPE_SPACE = 1 };
/* INFEASIBLE when no schedule can exist at shape i. */
hone_status shape_new(const family *f, int64_t i, int with, shape **out, hone_err *err);
void shape_free(shape *x);
/* Cuts a schedule of the pool to x and costs it; -1 when it is not legal there. */
int64_t shape_cost(const family *f, const shape *x, const hone_schedule *member, hone_schedule *cut);
/* How s cuts the dims the range changes: their tiles in every memory, and splits. */
hone_hash shape_cut(const family *f, const shape *x, const hone_schedule *s);
/* A full search that knows the default only, or a short one from `nseeds` schedules. */
hone_status shape_search(const family *f, const shape *x, uint64_t seed, int64_t budget, int nseeds, const hone_schedule *seeds,
                         finds *out, hone_err *err);

/* INTERRUPTED when a signal came; work of more than moments asks now and then. */
hone_status family_go_on(const family *f, hone_err *err);
/* Calls work(f, arg, i) for i < n in parallel until interrupted, in pieces of fixed
 * size between which progress is reported. Of several errors the one with the
 * lowest i is returned. */
typedef hone_status (*family_work)(family *f, void *arg, int64_t i, hone_err *err);
hone_status family_each(family *f, const char *step, int64_t n, family_work work, void *arg, hone_err *err);

/* ---- family_pool.c ---- */
hone_status pool_init(family *f, hone_err *err);
void pool_fini(family *f);
/* Adds a schedule found at x, as it is and with the tiles that are whole there
 * kept whole everywhere; forgets it when known or when the pool is full. */
void pool_add(family *f, const shape *x, const hone_schedule *s);
/* From now on the pool takes what must be in it. */
void pool_use_reserve(family *f);
/* Costs the members from `first` on at every shape; lowers the reference. */
hone_status pool_cost(family *f, int first, hone_err *err);
/* The best members at shape i, cheapest first; returns how many. */
int pool_best(const family *f, int64_t i, int most, int *member);

/* ---- the steps ---- */
hone_status family_reference(family *f, hone_err *err);  /* family_reference.c */
/* Fills piece, and of the result the entries' simulated figures; with no cover the
 * result's status and reason. */
hone_status family_choose(family *f, hone_err *err);     /* family_choose.c, family_simulate.c */
hone_status family_record(family *f, hone_err *err);     /* family_record.c */

#endif
