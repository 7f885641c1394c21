/* Evaluators: what gives a schedule its value. And the ladder that climbs from
 * the cheap to the dear. */
#ifndef HONE_EVAL_EVALUATOR_H
#define HONE_EVAL_EVALUATOR_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "cost/model.h"
#include "ir/schedule.h"
#include "sim/simulator.h"

/* One evaluation's result. cycles is meaningful only when reason is NONE. */
typedef struct {
  hone_reason reason;
  int64_t cycles;      /* cold for the simulator */
  int64_t warm_cycles; /* simulator only, else = cycles */
  int64_t energy_fj;   /* -1: not known */
  int64_t events;      /* steps, fills and drains of all instances: what simulating takes; 0: not known */
  char bottleneck[24];
  char text[160];      /* of a failure */
} hone_outcome;

typedef struct hone_evaluator hone_evaluator;

typedef struct {
  const char *name, *summary;
  int fidelity;   /* 0 model, 1 simulator, 2 hardware */
  int version;    /* raised whenever results change; part of the identity */
  hone_status (*init)(const hone_operator *op, const hone_machine *m, void **state, hone_err *err);
  void (*fini)(void *state);
  hone_status (*evaluate)(void *state, const hone_schedule *s, hone_outcome *out, hone_err *err); /* thread-safe */
} hone_evaluator_type;

extern const hone_evaluator_type hone_evaluator_model, hone_evaluator_simulator;

hone_status hone_evaluator_new(const hone_evaluator_type *t, const hone_operator *op, const hone_machine *m,
                               hone_evaluator **out, hone_err *err);
void hone_evaluator_free(hone_evaluator *e);
const hone_evaluator_type *hone_evaluator_kind(const hone_evaluator *e);
/* n schedules in parallel (OpenMP); result i depends on schedule i only. */
hone_status hone_evaluator_batch(hone_evaluator *e, int n, const hone_schedule *const *s, hone_outcome *out, hone_err *err);

/* How well the model foretells the simulator, over schedules evaluated by both
 * (of a ladder: see hone_ladder_run). */
typedef struct {
  int n;                       /* schedules behind error and kendall_tau */
  double mape_pct, bias_pct;   /* of model against simulator: mean |m/s-1|, mean (m/s-1) */
  double kendall_tau, kendall_tau_top_decile; /* tau-b; NaN when n < 2 or all tied */
  int top_k;
  double regret_pct;           /* best simulated of the model's first top_k against best simulated overall */
} hone_fidelity;
/* Top decile: the best tenth as simulated, but HONE_DECILE_FLOOR of them when there
 * are that many, for a rank correlation of two or three says nothing. */
enum { HONE_DECILE_FLOOR = 10 };
void hone_fidelity_measure(int n, const int64_t *model_cycles, const int64_t *sim_cycles, int top_k, hone_fidelity *out);

/* One candidate of the ladder. The array handed in is ordered best model first
 * and distinct. */
typedef struct {
  hone_schedule schedule;
  hone_outcome model, sim;
  bool simulated;
  bool sampled; /* set by the ladder: simulated as one of the samples */
  bool wanted;  /* default, incumbent: simulate whatever the model says */
} hone_rung;

typedef struct {
  int k;       /* simulated first, and widened by */
  int samples; /* stratified over the rest */
  int max_k;
  int64_t max_events; /* rungs with more are simulated only when wanted: they would take minutes; 0: no limit */
  const volatile sig_atomic_t *interrupted; /* NULL, or looked at every few simulations: nonzero ends the ladder */
  /* NULL, or asked before each simulation: true when *out is known without one. */
  bool (*known)(void *arg, const hone_rung *rung, hone_outcome *out);
  void *known_arg;
} hone_ladder_options;

/* Simulates the first k rungs, the wanted ones and the samples; widens k until no
 * unsimulated rung has model cycles * (5 % quantile of sim/model so far) below the
 * best simulated (DESIGN section 7), at most to max_k. Of those, schedules with tiles
 * that were simulated least often come first: the model errs alike for equal tiles, so
 * the best by the model tend to be one schedule many times over.  A failed simulation never
 * wins. Fills fidelity: error and kendall_tau over the samples (the first k and an
 * incumbent were chosen by their figures and nearly tie, so they would only show
 * noise) or, when those are fewer than two, over all that was simulated, as are
 * the top decile and the regret; top_k = final k. */
hone_status hone_ladder_run(hone_evaluator *sim, int n, hone_rung *rung, const hone_ladder_options *options,
                            hone_fidelity *fidelity, hone_err *err);

/* Runs the winner's numbers on the simulator's functional mode against the
 * reference of DESIGN section 4: whole tensors up to max_points of the largest
 * stage, else a sampled slice; returns the worst error relative to tolerance. */
typedef struct {
  bool passed;
  int64_t checked_elements;
  double worst_error, tolerance;
  char text[160];
} hone_numerics;
hone_status hone_check_numerics(const hone_operator *op, const hone_machine *m, const hone_schedule *s, uint64_t seed,
                                hone_numerics *out, hone_err *err);

#endif
