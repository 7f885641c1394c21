/* The analytical cost model: exact counts, estimated time, physical bounds.
 * Independent of the simulator. */
#ifndef HONE_COST_MODEL_H
#define HONE_COST_MODEL_H

#include "ir/events.h"
#include "ir/machine.h"
#include "ir/operator.h"
#include "ir/schedule.h"

/* Where the cycles of the total go. */
typedef enum {
#define HONE_CAUSE(id, name) HONE_CAUSE_##id,
#include "cost/cause.def"
#undef HONE_CAUSE
  HONE_CAUSE_COUNT
} hone_cause;
const char *hone_cause_name(hone_cause c);

typedef struct {
  int64_t cycles;                    /* = sum of by_cause */
  int64_t by_cause[HONE_CAUSE_COUNT];
  hone_cause bottleneck;             /* the busiest resource; its busy time is by_cause[bottleneck] */
  int64_t busy_matrix, busy_vector, busy_dram, busy_dma; /* cycles each would need alone, busiest core */
  int64_t energy_fj;                 /* of transfers and MACs; -1 where the machine gives none, or beyond 64 bits */
  hone_counts counts;
} hone_cost;

typedef struct hone_model hone_model;

/* Compiles (op, machine) into a plan. Read-only afterwards: shared by threads. */
hone_status hone_model_new(const hone_operator *op, const hone_machine *m, hone_model **out, hone_err *err);
void hone_model_free(hone_model *c);
/* Checks legality, then costs. Allocates nothing. out is untouched unless NONE. */
hone_reason hone_model_evaluate(const hone_model *c, const hone_schedule *s, hone_cost *out);
/* The same, n schedules, in parallel with OpenMP: same bits as one by one. */
void hone_model_evaluate_batch(const hone_model *c, int n, const hone_schedule *s, hone_reason *reason, hone_cost *out);

/* bound_cycles (DESIGN section 7): below anything the simulator can return for
 * any legal schedule, from operator and machine alone. Derivation in bound.c. */
typedef struct {
  int64_t cycles; /* busy time of the limit + first_fill_cycles + last_drain_cycles */
  int64_t matrix_cycles, vector_cycles, dram_cycles; /* compulsory busy time of each */
  int64_t first_fill_cycles, last_drain_cycles;      /* what the limit cannot overlap */
  const char *limit; /* "matrix", "vector", "dram" */
} hone_bound;
hone_status hone_bound_cycles(const hone_operator *op, const hone_machine *m, hone_bound *out, hone_err *err);

#endif
