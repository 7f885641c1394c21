/* Tuning: ask -> evaluate on the model -> tell -> record, then the ladder.
 *
 * The result depends on the task's fields alone, never on threads or clock, but
 * for a time limit (which stops at a batch boundary and reports the budget that
 * gives the same run) and an interrupt. Nothing here prints. */
#ifndef HONE_CAMPAIGN_H
#define HONE_CAMPAIGN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "eval/evaluator.h"
#include "ir/schedule.h"
#include "search/strategy.h"
#include "spaces/space.h"
#include "store/store.h"

typedef enum {
#define HONE_TUNE_STATUS(id, word, text) HONE_TUNE_##id,
#include "campaign/tune_status.def"
#undef HONE_TUNE_STATUS
  HONE_TUNE_STATUS_COUNT
} hone_tune_status;
const char *hone_tune_status_word(hone_tune_status s);
const char *hone_tune_status_text(hone_tune_status s);

/* Where a run stands; given to the callback between batches, on the caller's thread. */
typedef struct {
  const char *label;
  bool simulating;      /* the ladder has begun */
  int64_t evaluated, budget;
  double elapsed_s, rate_per_s, eta_s; /* eta of the search alone; negative: not known */
  int64_t best_cycles, bound_cycles;   /* best on the model; -1: none yet */
} hone_tune_progress;
typedef void (*hone_tune_progress_fn)(void *arg, const hone_tune_progress *p);

/* Everything is borrowed for the call. */
typedef struct {
  const hone_operator *op;
  const hone_machine *machine;
  const hone_params *params;
  const hone_space *space;
  const char *label; /* for people: "matmul m=8,n=4096,k=4096 bf16" */
  const hone_strategy_type *strategy;
  const char *const *strategy_options;
  int nstrategy_options;
  uint64_t seed;
  int64_t budget; /* model evaluations, the default's included, >= 1 */
  double time_s;  /* 0: no limit */
  int batch;      /* proposals per ask, >= 1 */
  int top_k, samples, max_k; /* ladder: first simulated, stratified samples, most ever */
  int ntop;       /* best schedules to list */
  hone_store *store; /* NULL: nothing is kept */
  bool resume;    /* use what the store's snapshot knows of this very task: its
                   * simulations are not run again, its best competes */
  const volatile sig_atomic_t *interrupted; /* NULL allowed */
  hone_tune_progress_fn progress;           /* NULL allowed */
  void *progress_arg;
} hone_tune_task;

/* A schedule and what was found about it; -1 cycles: not known. */
typedef struct {
  const char *text; /* canonical; NULL: there is none */
  hone_schedule schedule;
  int64_t model_cycles, sim_cycles, sim_warm_cycles;
  hone_reason reason; /* of the dearest evaluation done */
  char failure[160];
  char bottleneck[24];
} hone_tuned;

typedef struct {
  char space[HONE_COUNT_TEXT]; /* points before constraints, decimal */
  int64_t generated;           /* proposals of the strategy, repeats included, and the default */
  int64_t feasible;            /* of them legal */
  int64_t unique;              /* of them distinct */
  int64_t evaluated;           /* on the model */
  int64_t simulated, reused;   /* by the ladder; of them taken from the store */
  int64_t failed;              /* evaluations with a reason, model and simulator */
  int64_t failed_by[HONE_REASON_COUNT];
} hone_tune_counts;

enum { HONE_TUNE_MAX_TOP = 64 };

/* Texts live in `arena`. Free with hone_tune_result_fini. */
typedef struct {
  hone_arena *arena;
  hone_tune_status status;
  char reason[512];           /* infeasible: why */
  hone_tune_counts counts;
  hone_tuned by_default, best; /* best is never worse than the default */
  bool simulated;             /* best is by simulation; false: the machine cannot be simulated, or every
                               * program was too long for it */
  hone_bound bound;
  int64_t model_optimum_cycles; /* -1: not proven */
  double gap_pct;             /* best / bound - 1; NaN when there is no best */
  double gain_pct;            /* default / best - 1; NaN likewise */
  hone_fidelity fidelity;
  int ntop;
  hone_tuned top[HONE_TUNE_MAX_TOP];
  int64_t budget_used;        /* --budget that reproduces the run */
  bool time_limited;          /* the time ended it, not the budget */
  double elapsed_s;
} hone_tune_result;

/* HONE_OK also when infeasible, all failed or interrupted: the status says so.
 * The store is flushed in every case in which records are pending. */
hone_status hone_tune_run(const hone_tune_task *task, hone_tune_result *out, hone_err *err);
void hone_tune_result_fini(hone_tune_result *r);

#endif
