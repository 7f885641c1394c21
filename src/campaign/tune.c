/* One tuning task from the default schedule to the ladder's verdict.
 *
 * Reading order: hone_tune_run, then the steps in the order it calls them. The
 * search runs on the model alone; what it found is sorted by (model cycles,
 * canonical text) and handed to the ladder; the winner is the best simulated,
 * the default on a tie, then the model's better rank. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "campaign/campaign_int.h"

/* Points tried one by one to see whether the space is empty or small. */
enum { COUNT_LIMIT = 4096, FLUSH_EVERY = 64 /* batches */ };
/* About two seconds of simulation. */
enum { MAX_EVENTS = 300000 };

/* Candidates kept for the ladder. When twice as many have come, the better half
 * stays and of the worse half every other one, for the stratified samples. */
enum { KEEP = 16384 };

typedef struct {
  hone_schedule schedule;
  char *text; /* heap, owned */
  hone_outcome model;
  bool is_default, is_incumbent;
} candidate;

typedef struct {
  const hone_tune_task *task;
  hone_tune_result *out;
  struct timespec start;
  hone_evaluator *model, *sim; /* sim NULL: a model-only machine */
  hone_strategy *strategy;
  recorder *recorder;
  hone_text scratch;
  candidate *candidate; /* evaluated with success, distinct by text */
  int n, capacity;
  int64_t best_model, best_in_space; /* the default may lie outside a narrowed space; -1: none */
  hone_ask ask;
} run;

const char *hone_tune_status_word(hone_tune_status s)
{
  static const char *const word[] = {
#define HONE_TUNE_STATUS(id, w, text) w,
#include "campaign/tune_status.def"
#undef HONE_TUNE_STATUS
  };
  return word[s];
}

const char *hone_tune_status_text(hone_tune_status s)
{
  static const char *const text[] = {
#define HONE_TUNE_STATUS(id, w, t) t,
#include "campaign/tune_status.def"
#undef HONE_TUNE_STATUS
  };
  return text[s];
}

static double elapsed(const run *r)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - r->start.tv_sec) + 1e-9 * (double)(now.tv_nsec - r->start.tv_nsec);
}

static bool interrupted(const run *r)
{
  return r->task->interrupted && *r->task->interrupted;
}

static void report(run *r, bool simulating)
{
  if (!r->task->progress) return;
  double s = elapsed(r);
  int64_t done = r->out->counts.evaluated;
  hone_tune_progress p = { .label = r->task->label, .simulating = simulating, .evaluated = done,
                           .budget = r->task->budget, .elapsed_s = s, .best_cycles = r->best_model,
                           .bound_cycles = r->out->bound.cycles, .eta_s = -1 };
  if (s > 0) p.rate_per_s = (double)done / s;
  if (p.rate_per_s > 0 && p.budget < INT64_MAX) p.eta_s = (double)(p.budget - done) / p.rate_per_s;
  if (r->task->time_s > 0 && (p.eta_s < 0 || p.eta_s > r->task->time_s - s)) p.eta_s = fmax(0, r->task->time_s - s);
  r->task->progress(r->task->progress_arg, &p);
}

/* Valid until the next call. */
static const char *text_of(run *r, const hone_schedule *s)
{
  hone_text_clear(&r->scratch);
  hone_schedule_print(r->task->op, r->task->machine, r->task->params, s, &r->scratch);
  return r->scratch.data ? r->scratch.data : "";
}

static char *heap_text(const char *s)
{
  size_t n = strlen(s) + 1;
  return memcpy(hone_heap_alloc(n, 1), s, n);
}

static int by_model(const void *x, const void *y)
{
  const candidate *a = x, *b = y;
  if (a->model.cycles != b->model.cycles) return a->model.cycles < b->model.cycles ? -1 : 1;
  return strcmp(a->text, b->text);
}

static void thin_out(run *r)
{
  int kept = 0;
  qsort(r->candidate, (size_t)r->n, sizeof *r->candidate, by_model);
  for (int i = 0; i < r->n; i++) {
    candidate *c = &r->candidate[i];
    if (i < r->n / 2 || i % 2 == 0 || c->is_default || c->is_incumbent) r->candidate[kept++] = *c;
    else free(c->text);
  }
  r->n = kept;
}

static candidate *add_candidate(run *r, const hone_schedule *s, const char *text, const hone_outcome *o)
{
  if (r->n >= 2 * KEEP) thin_out(r);
  if (r->n == r->capacity) {
    r->capacity = r->capacity ? 2 * r->capacity : 256;
    r->candidate = hone_heap_realloc(r->candidate, (size_t)r->capacity, sizeof *r->candidate);
  }
  candidate *c = &r->candidate[r->n++];
  *c = (candidate){ .schedule = *s, .text = heap_text(text), .model = *o };
  if (r->best_model < 0 || o->cycles < r->best_model) r->best_model = o->cycles;
  return c;
}

static void count_failure(run *r, const hone_outcome *o)
{
  if (o->reason == HONE_REASON_NONE) return;
  r->out->counts.failed++;
  r->out->counts.failed_by[o->reason]++;
}

/* ---- before the search ------------------------------------------------------ */

/* The default is evaluated, told to the strategy and recorded before anything else. */
static hone_status evaluate_default(run *r, hone_err *err)
{
  const hone_tune_task *t = r->task;
  hone_schedule s;
  hone_err why;
  hone_err_init(&why);
  hone_status st = hone_schedule_default(t->op, t->machine, &s, &why);
  if (st == HONE_INFEASIBLE) return HONE_OK; /* the search may still find what the rule does not */
  if (st != HONE_OK) {
    if (err) *err = why;
    return st;
  }
  hone_outcome o;
  const hone_schedule *one = &s;
  st = hone_evaluator_batch(r->model, 1, &one, &o, err);
  if (st != HONE_OK) return st;
  const char *text = text_of(r, &s);
  bool ok = o.reason == HONE_REASON_NONE;
  hone_tune_counts *c = &r->out->counts;
  c->generated++, c->unique++, c->evaluated++;
  c->feasible += ok;
  count_failure(r, &o);
  if (ok) add_candidate(r, &s, text, &o)->is_default = true;
  int64_t *values = hone_heap_alloc((size_t)hone_space_parameters(t->space) + 1, sizeof *values);
  hone_space_point(t->space, &s, values);
  if (ok && hone_space_check(t->space, values, NULL) == HONE_REASON_NONE) r->best_in_space = o.cycles;
  hone_result result = { .reason = o.reason, .value = (double)o.cycles };
  hone_strategy_seed(r->strategy, values, &result);
  free(values);
  return recorder_add(r->recorder, &hone_evaluator_model, text, &o, -1, HONE_KIND_DEFAULT, err);
}

/* Resume: the best the store knows competes; after the search, which may have
 * found it again, and untold, so that the search is that of a first run. */
static hone_status evaluate_incumbent(run *r, hone_err *err)
{
  const char *text = recorder_best(r->recorder, r->sim ? &hone_evaluator_simulator : &hone_evaluator_model);
  if (!text) return HONE_OK;
  for (int i = 0; i < r->n; i++)
    if (strcmp(r->candidate[i].text, text) == 0) {
      r->candidate[i].is_incumbent = true;
      return HONE_OK;
    }
  hone_schedule s;
  if (hone_schedule_parse(r->task->op, r->task->machine, r->task->params, text, &s, NULL) != HONE_OK) return HONE_OK;
  hone_outcome o;
  const hone_schedule *one = &s;
  hone_status st = hone_evaluator_batch(r->model, 1, &one, &o, err);
  if (st == HONE_OK && o.reason == HONE_REASON_NONE)
    add_candidate(r, &s, text, &o)->is_incumbent = true;
  return st;
}

/* Counts the space and finds out whether there is anything in it. */
static bool space_has_something(run *r)
{
  hone_space_count count;
  hone_space_count_run(r->task->space, COUNT_LIMIT, r->task->seed, &count);
  snprintf(r->out->counts.space, sizeof r->out->counts.space, "%s", count.points);
  bool some = count.state == HONE_SPACE_HAS_LEGAL;
  if (!some) snprintf(r->out->reason, sizeof r->out->reason, "%s", count.text);
  if (some && count.counted && count.schedules <= 1) r->out->status = HONE_TUNE_NOTHING_TO_TUNE;
  hone_space_count_fini(&count);
  return some;
}

/* ---- the search ------------------------------------------------------------- */

typedef struct {
  int n;
  int64_t *values;
  hone_schedule *schedule;
  const hone_schedule **pointer;
  hone_outcome *outcome;
  hone_result *result;
} batch;

static batch batch_new(int n, int parameters)
{
  size_t k = (size_t)n;
  return (batch){ .n = n,
                  .values = hone_heap_alloc(k * (size_t)(parameters + 1), sizeof(int64_t)),
                  .schedule = hone_heap_alloc(k, sizeof(hone_schedule)),
                  .pointer = hone_heap_alloc(k, sizeof(hone_schedule *)),
                  .outcome = hone_heap_alloc(k, sizeof(hone_outcome)),
                  .result = hone_heap_alloc(k, sizeof(hone_result)) };
}

static void batch_free(batch *b)
{
  free(b->values);
  free(b->schedule);
  free(b->pointer);
  free(b->outcome);
  free(b->result);
}

/* Evaluates, tells and records the n points in b. */
static hone_status work_batch(run *r, batch *b, int n, hone_err *err)
{
  const hone_tune_task *t = r->task;
  int parameters = hone_space_parameters(t->space);
  for (int i = 0; i < n; i++) {
    hone_space_schedule(t->space, b->values + (ptrdiff_t)i * parameters, &b->schedule[i]);
    b->pointer[i] = &b->schedule[i];
  }
  hone_status st = hone_evaluator_batch(r->model, n, b->pointer, b->outcome, err);
  if (st != HONE_OK) return st;
  for (int i = 0; i < n; i++)
    b->result[i] = (hone_result){ .reason = b->outcome[i].reason, .value = (double)b->outcome[i].cycles };
  hone_strategy_tell(r->strategy, n, b->result);
  for (int i = 0; i < n && st == HONE_OK; i++) {
    const char *text = text_of(r, &b->schedule[i]);
    count_failure(r, &b->outcome[i]);
    r->out->counts.evaluated++;
    if (b->outcome[i].reason == HONE_REASON_NONE) {
      add_candidate(r, &b->schedule[i], text, &b->outcome[i]);
      if (r->best_in_space < 0 || b->outcome[i].cycles < r->best_in_space) r->best_in_space = b->outcome[i].cycles;
    }
    st = recorder_add(r->recorder, &hone_evaluator_model, text, &b->outcome[i], -1, HONE_KIND_SEARCH, err);
  }
  return st;
}

static bool time_is_up(run *r)
{
  if (r->task->time_s <= 0 || elapsed(r) < r->task->time_s) return false;
  r->out->time_limited = true;
  return true;
}

static hone_status search(run *r, hone_err *err)
{
  const hone_tune_task *t = r->task;
  batch b = batch_new(t->batch, hone_space_parameters(t->space));
  hone_status st = HONE_OK;
  r->ask = HONE_ASK_MORE;
  for (int64_t round = 1; st == HONE_OK && r->ask == HONE_ASK_MORE; round++) {
    int64_t left = t->budget - r->out->counts.evaluated;
    if (left <= 0 || interrupted(r) || time_is_up(r)) break;
    int n = hone_strategy_ask(r->strategy, left < b.n ? (int)left : b.n, b.values, &r->ask);
    if (n > 0) st = work_batch(r, &b, n, err);
    if (st == HONE_OK && round % FLUSH_EVERY == 0) st = recorder_flush(r->recorder, err);
    report(r, false);
  }
  hone_strategy_stats stats;
  hone_strategy_get_stats(r->strategy, &stats);
  r->out->counts.unique += stats.asked;
  r->out->counts.generated += stats.asked + stats.repeats;
  r->out->counts.feasible += stats.asked + stats.repeats;
  batch_free(&b);
  return st;
}

/* ---- the ladder ------------------------------------------------------------- */

static bool known_simulation(void *arg, const hone_rung *rung, hone_outcome *out)
{
  run *r = arg;
  hone_text_clear(&r->scratch);
  hone_schedule_print(r->task->op, r->task->machine, r->task->params, &rung->schedule, &r->scratch);
  if (!r->scratch.data || !recorder_find(r->recorder, &hone_evaluator_simulator, r->scratch.data, out)) return false;
  r->out->counts.reused++;
  return true;
}

/* Every bit of why record i was kept. */
static unsigned kinds_of(const run *r, const hone_rung *rung, int i, int winner)
{
  unsigned k = i == winner ? HONE_KIND_BEST : 0;
  if (r->candidate[i].is_default) k |= HONE_KIND_DEFAULT;
  return k | (rung[i].sampled ? HONE_KIND_SAMPLE : HONE_KIND_TOP);
}

static hone_status record_ladder(run *r, const hone_rung *rung, int winner, hone_err *err)
{
  hone_status st = HONE_OK;
  for (int i = 0; i < r->n && st == HONE_OK; i++) {
    if (!rung[i].simulated) continue;
    r->out->counts.simulated++;
    count_failure(r, &rung[i].sim);
    st = recorder_add(r->recorder, &hone_evaluator_simulator, r->candidate[i].text, &rung[i].sim,
                      rung[i].model.cycles, kinds_of(r, rung, i, winner), err);
  }
  return st;
}

static bool sim_ok(const hone_rung *rung)
{
  return rung->simulated && rung->sim.reason == HONE_REASON_NONE;
}

/* Lower cycles win; then the default; then the model's rank. */
static int choose_winner(const run *r, const hone_rung *rung)
{
  int winner = -1;
  for (int i = 0; i < r->n; i++) {
    if (!sim_ok(&rung[i])) continue;
    int64_t old = winner < 0 ? INT64_MAX : rung[winner].sim.cycles;
    if (rung[i].sim.cycles < old || (rung[i].sim.cycles == old && r->candidate[i].is_default)) winner = i;
  }
  return winner;
}

/* Nothing was simulated, and for no other reason than length: the model's word is
 * all there is. */
static bool beyond_simulation(const run *r, const hone_rung *rung)
{
  for (int i = 0; i < r->n; i++)
    if (rung[i].simulated && rung[i].sim.reason != HONE_REASON_SIZE) return false;
  return true;
}

static hone_tuned tuned(const run *r, const candidate *c, const hone_rung *rung)
{
  hone_tuned t = { .text = hone_arena_strdup(r->out->arena, c->text), .schedule = c->schedule, .model_cycles = c->model.cycles, .sim_cycles = -1,
                   .sim_warm_cycles = -1 };
  const hone_outcome *o = &c->model;
  if (r->out->simulated && rung->simulated) {
    o = &rung->sim;
    t.sim_cycles = sim_ok(rung) ? o->cycles : -1;
    t.sim_warm_cycles = sim_ok(rung) ? o->warm_cycles : -1;
  }
  t.reason = o->reason;
  memcpy(t.bottleneck, o->bottleneck, sizeof t.bottleneck);
  memcpy(t.failure, o->text, sizeof t.failure);
  return t;
}

typedef struct {
  int64_t cycles;
  int index;
} ranked;

static int by_cycles(const void *x, const void *y)
{
  const ranked *a = x, *b = y;
  if (a->cycles != b->cycles) return a->cycles < b->cycles ? -1 : 1;
  return a->index - b->index;
}

/* The ntop best: by simulation where there is one, else by the model. */
static void list_top(run *r, const hone_rung *rung)
{
  ranked *rank = hone_heap_alloc((size_t)r->n + 1, sizeof *rank);
  int n = 0;
  for (int i = 0; i < r->n; i++) {
    if (r->out->simulated && !sim_ok(&rung[i])) continue;
    rank[n++] = (ranked){ r->out->simulated ? rung[i].sim.cycles : r->candidate[i].model.cycles, i };
  }
  qsort(rank, (size_t)n, sizeof *rank, by_cycles);
  for (int i = 0; i < n && i < r->task->ntop && i < HONE_TUNE_MAX_TOP; i++)
    r->out->top[r->out->ntop++] = tuned(r, &r->candidate[rank[i].index], &rung[rank[i].index]);
  free(rank);
}

static hone_rung *make_rungs(const run *r)
{
  hone_rung *rung = hone_heap_alloc((size_t)r->n + 1, sizeof *rung);
  for (int i = 0; i < r->n; i++) {
    const candidate *c = &r->candidate[i];
    rung[i] = (hone_rung){ .schedule = c->schedule, .model = c->model, .wanted = c->is_default || c->is_incumbent };
  }
  return rung;
}

/* Sorts the candidates, simulates what must be, names default, best and top. */
static hone_status climb(run *r, hone_err *err)
{
  const hone_tune_task *t = r->task;
  qsort(r->candidate, (size_t)r->n, sizeof *r->candidate, by_model);
  hone_rung *rung = make_rungs(r);
  hone_status st = HONE_OK;
  report(r, true);
  if (r->sim) {
    hone_ladder_options o = { .k = t->top_k, .samples = t->samples, .max_k = t->max_k, .max_events = MAX_EVENTS,
                              .interrupted = t->interrupted,
                              .known = t->resume ? known_simulation : NULL, .known_arg = r };
    st = hone_ladder_run(r->sim, r->n, rung, &o, &r->out->fidelity, err);
  }
  int winner = r->sim ? choose_winner(r, rung) : -1;
  if (r->sim && beyond_simulation(r, rung) && !interrupted(r)) r->out->simulated = false;
  if (winner < 0 && r->n > 0 && (!r->out->simulated || interrupted(r))) winner = 0; /* on the model's word */
  for (int i = 0; i < r->n; i++)
    if (r->candidate[i].is_default) r->out->by_default = tuned(r, &r->candidate[i], &rung[i]);
  if (winner >= 0) r->out->best = tuned(r, &r->candidate[winner], &rung[winner]);
  if (st == HONE_OK) st = record_ladder(r, rung, winner, err);
  list_top(r, rung);
  free(rung);
  return st;
}

/* ---- the verdict ------------------------------------------------------------ */

static int64_t value_of(const run *r, const hone_tuned *t)
{
  return !t->text ? -1 : r->out->simulated ? t->sim_cycles : t->model_cycles;
}

static void conclude(run *r)
{
  hone_tune_result *o = r->out;
  int64_t best = value_of(r, &o->best), by_default = value_of(r, &o->by_default);
  if (best > 0 && o->bound.cycles > 0) o->gap_pct = 100.0 * ((double)best / (double)o->bound.cycles - 1.0);
  if (best > 0 && by_default > 0) o->gain_pct = 100.0 * ((double)by_default / (double)best - 1.0);
  if (r->ask == HONE_ASK_EXHAUSTED) o->model_optimum_cycles = r->best_in_space;
  o->budget_used = o->counts.evaluated;
  if (interrupted(r)) o->status = HONE_TUNE_INTERRUPTED;
  else if (r->n == 0 && o->counts.failed == 0) o->status = HONE_TUNE_INFEASIBLE;
  else if (best < 0) o->status = HONE_TUNE_ALL_FAILED;
  else if (o->status == HONE_TUNE_NOTHING_TO_TUNE) return;
  else if (r->ask == HONE_ASK_EXHAUSTED && o->counts.failed == 0) o->status = HONE_TUNE_EXHAUSTED;
  else if (o->gain_pct < HONE_SIGNIFICANT_GAIN_PCT) o->status = HONE_TUNE_NO_SIGNIFICANT_GAIN;
  else o->status = HONE_TUNE_BUDGET_SPENT;
}

static hone_status start(run *r, hone_err *err)
{
  const hone_tune_task *t = r->task;
  hone_status st = hone_bound_cycles(t->op, t->machine, &r->out->bound, err);
  if (st == HONE_OK) st = hone_evaluator_new(&hone_evaluator_model, t->op, t->machine, &r->model, err);
  if (st == HONE_OK && t->machine->tile_machine)
    st = hone_evaluator_new(&hone_evaluator_simulator, t->op, t->machine, &r->sim, err);
  /* The strategy is not told the budget: what it proposes must not depend on how
   * far the run will go, so that a run by time is reproduced by its budget, and a
   * longer run begins with the shorter one. */
  hone_strategy_setup setup = { .space = t->space, .seed = t->seed, .options = t->strategy_options,
                                .noptions = t->nstrategy_options };
  if (st == HONE_OK) st = hone_strategy_new(t->strategy, &setup, &r->strategy, err);
  if (st == HONE_OK) st = recorder_new(t, &r->recorder, err);
  r->out->simulated = r->sim != NULL;
  return st;
}

static hone_status tune(run *r, hone_err *err)
{
  hone_status st = start(r, err);
  if (st != HONE_OK) return st;
  if (!space_has_something(r)) {
    r->out->status = HONE_TUNE_INFEASIBLE;
    return HONE_OK;
  }
  report(r, false);
  st = evaluate_default(r, err);
  if (st == HONE_OK) st = search(r, err);
  if (st == HONE_OK) st = evaluate_incumbent(r, err);
  if (st == HONE_OK) st = climb(r, err);
  if (st == HONE_OK) conclude(r);
  return st;
}

hone_status hone_tune_run(const hone_tune_task *task, hone_tune_result *out, hone_err *err)
{
  *out = (hone_tune_result){ .arena = hone_arena_new(), .status = HONE_TUNE_BUDGET_SPENT, .model_optimum_cycles = -1,
                             .gap_pct = NAN, .gain_pct = NAN };
  run r = { .task = task, .out = out, .best_model = -1, .best_in_space = -1 };
  clock_gettime(CLOCK_MONOTONIC, &r.start);
  hone_status st = tune(&r, err);
  if (r.recorder) { /* also after a failure: what was evaluated stays known */
    hone_status flushed = recorder_flush(r.recorder, st == HONE_OK ? err : NULL);
    if (st == HONE_OK) st = flushed;
  }
  out->elapsed_s = elapsed(&r);
  recorder_free(r.recorder);
  hone_strategy_free(r.strategy);
  hone_evaluator_free(r.sim);
  hone_evaluator_free(r.model);
  hone_text_fini(&r.scratch);
  for (int i = 0; i < r.n; i++) free(r.candidate[i].text);
  free(r.candidate);
  return st;
}

void hone_tune_result_fini(hone_tune_result *r)
{
  hone_arena_free(r->arena);
  *r = (hone_tune_result){ 0 };
}
