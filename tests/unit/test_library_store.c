/* From a store to a library and back: what is chosen, what is left out, where
 * schedules may be used. Simulated cycles are made up, model cycles are the model's. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/arena.h"
#include "cost/model.h"
#include "library/library.h"
#include "unit/unit.h"

enum { MODEL_VERSION = 7, SIM_VERSION = 3 };

static hone_err err;
static char folder[64];

#define OK(call) ck_assert_msg((call) == HONE_OK, "%s: %s [%s]", #call, err.message, err.code)

/* ---- problems ----------------------------------------------------------------- */

typedef struct {
  hone_operator op;
  hone_machine machine;
  hone_params params;
  hone_model *model;
  int64_t m;
  hone_schedule by_default, tuned; /* tuned: better on the model */
  int64_t default_cycles, tuned_cycles;
  char *default_text, *tuned_text, *operator_text, *machine_text, *spec;
} problem;

static int64_t cost(const problem *p, const hone_schedule *s)
{
  hone_cost c;
  return hone_model_evaluate(p->model, s, &c) == HONE_REASON_NONE ? c.cycles : -1;
}

static char *print_schedule(const problem *p, const hone_schedule *s)
{
  hone_text t = {0};
  hone_schedule_print(&p->op, &p->machine, &p->params, s, &t);
  return t.data;
}

static bool try_value(problem *p, const hone_param *x, int64_t value)
{
  hone_schedule s = p->tuned;
  hone_param_set(x, &s, value);
  hone_schedule_normalize(&p->op, &p->machine, &s);
  int64_t c = cost(p, &s);
  if (c < 0 || c >= p->tuned_cycles) return false;
  p->tuned = s;
  p->tuned_cycles = c;
  return true;
}

/* Climbs from the default, a parameter at a time. */
static void tune(problem *p)
{
  bool any = true;
  p->tuned = p->by_default;
  p->tuned_cycles = p->default_cycles;
  while (any) {
    any = false;
    for (int i = 0; i < p->params.n; i++) {
      const hone_param *x = &p->params.param[i];
      const int64_t now = hone_param_get(x, &p->tuned), other[] = {now * 2, now / 2, now + 1, now - 1};
      for (int k = 0; x->domain == HONE_DOMAIN_RANGE && k < 4; k++)
        if (other[k] >= x->min && other[k] <= x->max) any |= try_value(p, x, other[k]);
      for (int k = 0; x->domain == HONE_DOMAIN_SET && k < x->nset; k++) any |= try_value(p, x, x->set[k]);
    }
  }
}

static char *take(hone_text *t)
{
  char *s = t->data;
  *t = (hone_text){0};
  return s;
}

static problem *problem_new(int64_t m)
{
  problem *p = hone_heap_alloc(1, sizeof *p);
  const hone_size size[] = {{"m", m}, {"n", 40}, {"k", 56}};
  const hone_format_choice format = {NULL, HONE_FORMAT_BF16};
  hone_text t = {0};
  OK(hone_operator_load(HONE_SRCDIR "/spaces/matmul.yaml", size, 3, &format, 1, NULL, 0, &p->op, &err));
  OK(hone_machine_load(HONE_SRCDIR "/data/machines/teaching.yaml", &p->machine, &err));
  OK(hone_params_new(&p->op, &p->machine, &p->params, &err));
  OK(hone_model_new(&p->op, &p->machine, &p->model, &err));
  OK(hone_schedule_default(&p->op, &p->machine, &p->by_default, &err));
  p->default_cycles = cost(p, &p->by_default);
  tune(p);
  p->m = m;
  p->default_text = print_schedule(p, &p->by_default);
  p->tuned_text = print_schedule(p, &p->tuned);
  hone_operator_print(&p->op, &t);
  p->operator_text = take(&t);
  hone_machine_print(&p->machine, &t);
  p->machine_text = take(&t);
  hone_spec_print(&p->op.spec, &t);
  p->spec = take(&t);
  return p;
}

static void problem_free(problem *p)
{
  hone_model_free(p->model);
  hone_params_free(&p->params);
  free(p->default_text);
  free(p->tuned_text);
  free(p->operator_text);
  free(p->machine_text);
  free(p->spec);
  free(p);
}

/* The first m from here on at which something is better than the default, by so much on the model. */
static problem *problem_gaining(int64_t m, int64_t permille)
{
  for (int64_t i = m; i < m + 400; i++) {
    problem *p = problem_new(i);
    if (p->tuned_cycles * 1000 < p->default_cycles * (1000 - permille)) return p;
    problem_free(p);
  }
  ck_abort_msg("the default is the best from m=%lld on", (long long)m);
}

static problem *problem_from(int64_t m) { return problem_gaining(m, 0); }

/* ---- stores ------------------------------------------------------------------- */

static void set_up(void)
{
  strcpy(folder, "/tmp/hone-library.XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  hone_err_init(&err);
}

static void tear_down(void)
{
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  ck_assert_int_eq(system(command), 0);
}

static hone_store *store_new(const char *name)
{
  char path[128];
  hone_store *s = NULL;
  snprintf(path, sizeof path, "%s/%s.hone", folder, name);
  OK(hone_store_open(path, HONE_STORE_WRITE, &s, &err));
  return s;
}

static hone_record record_of(const problem *p, const char *evaluator, int version, const char *schedule, int64_t cycles, unsigned kinds)
{
  return (hone_record){.task = {p->operator_text, p->machine_text, "matmul", "teaching", "a matmul", p->spec}, .evaluator = evaluator,
                       .evaluator_version = version, .fidelity = strcmp(evaluator, "model") != 0, .schedule = schedule, .cycles = cycles,
                       .warm_cycles = cycles - 1, .energy_fj = -1, .model_cycles = -1, .kinds = kinds};
}

static void add(hone_store *s, const problem *p, const char *evaluator, int version, const char *schedule, int64_t cycles, unsigned kinds)
{
  hone_record r = record_of(p, evaluator, version, schedule, cycles, kinds);
  OK(hone_store_append(s, &r, &err));
}

static void add_model(hone_store *s, const problem *p)
{
  add(s, p, "model", MODEL_VERSION, p->default_text, p->default_cycles, HONE_KIND_DEFAULT);
  add(s, p, "model", MODEL_VERSION, p->tuned_text, p->tuned_cycles, HONE_KIND_BEST);
}

static void add_simulated(hone_store *s, const problem *p, int64_t tuned, int64_t by_default)
{
  add(s, p, "simulator", SIM_VERSION, p->default_text, by_default, HONE_KIND_DEFAULT);
  add(s, p, "simulator", SIM_VERSION, p->tuned_text, tuned, HONE_KIND_BEST);
}

static void publish(hone_store *s)
{
  OK(hone_store_flush(s, &err));
  OK(hone_store_refresh(s, &err));
}

/* ---- emission ----------------------------------------------------------------- */

static hone_status find_operator(void *arg, const char *name, char *path, size_t n, hone_err *e)
{
  (void)arg;
  if (strcmp(name, "matmul") != 0) return hone_err_set(e, HONE_INPUT, "operator.unknown", "no operator %s", name);
  snprintf(path, n, HONE_SRCDIR "/spaces/%s.yaml", name);
  return HONE_OK;
}

static hone_status find_machine(void *arg, const char *name, char *path, size_t n, hone_err *e)
{
  (void)arg;
  if (strcmp(name, "teaching") != 0) return hone_err_set(e, HONE_INPUT, "file.not-found", "no machine %s", name);
  snprintf(path, n, HONE_SRCDIR "/data/machines/%s.yaml", name);
  return HONE_OK;
}

static const hone_library_evaluator evaluators[] = {{"model", MODEL_VERSION, HONE_EVIDENCE_MODEL},
                                                    {"simulator", SIM_VERSION, HONE_EVIDENCE_SIMULATED}};

static hone_library_source source(double near_pct)
{
  return (hone_library_source){.name = "test", .evaluator = evaluators, .nevaluators = 2, .near_pct = near_pct,
                               .find_operator = find_operator, .find_machine = find_machine};
}

static hone_library *emit(hone_store *s, double near_pct)
{
  hone_library *l = NULL;
  hone_library_source from = source(near_pct);
  OK(hone_library_from_store(s, &from, &l, &err));
  return l;
}

static char *document_of(const hone_library *l)
{
  hone_text t = {0};
  hone_library_write_json(l, &t);
  return t.data;
}

static void expect_same(const hone_library *a, const hone_library *b)
{
  char *first = document_of(a), *second = document_of(b);
  hone_text diff = {0};
  hone_library_diff(a, b, &diff);
  ck_assert_msg(strcmp(first, second) == 0, "%.1500s", diff.data);
  hone_text_fini(&diff);
  free(first);
  free(second);
}

/* ---- choosing ----------------------------------------------------------------- */

START_TEST(the_best_is_chosen_with_its_evidence)
{
  hone_store *s = store_new("a");
  problem *p = problem_from(24);
  add_model(s, p);
  add_simulated(s, p, 8000, 10000);
  publish(s);
  hone_library *l = emit(s, 0);
  ck_assert_int_eq(l->nfamilies, 1);
  const hone_library_family *f = &l->family[0];
  const hone_library_entry *e = &f->entry[0];
  hone_bound bound;
  OK(hone_bound_cycles(&p->op, &p->machine, &bound, &err));
  ck_assert_str_eq(f->id, "matmul_bf16_on_teaching");
  ck_assert_int_eq(f->nentries, 1);
  ck_assert_int_eq(f->nintervals, 0);
  ck_assert_str_eq(e->schedule, p->tuned_text);
  ck_assert_str_eq(e->by_default, p->default_text);
  ck_assert_int_eq(e->evidence, HONE_EVIDENCE_SIMULATED);
  ck_assert_int_eq(e->cycles, 8000);
  ck_assert_int_eq(e->warm_cycles, 7999);
  ck_assert_int_eq(e->default_cycles, 10000);
  ck_assert_int_eq(e->model_cycles, p->tuned_cycles);
  ck_assert_int_eq(e->default_model_cycles, p->default_cycles);
  ck_assert_int_eq(e->bound_cycles, bound.cycles);
  ck_assert(e->margin_pct == 25 && !e->no_significant_gain);
  ck_assert(fabs(e->gap_pct - (8000.0 / (double)bound.cycles - 1) * 100) < 1e-3);
  hone_record r = record_of(p, "simulator", SIM_VERSION, p->tuned_text, 8000, 0);
  char key[HONE_HASH_TEXT];
  hone_hash_print(hone_record_key(&r), key);
  ck_assert_str_eq(e->key, key);
  ck_assert_ptr_null(e->microcode);
  ck_assert_int_eq(l->nleft_out, 0);
  hone_library_free(l);
  problem_free(p);
  OK(hone_store_close(s, &err));
}
END_TEST

/* What the simulator says of best and default, 0: nothing; and what comes out. */
static const struct {
  int64_t tuned, by_default;
  bool model;
  hone_evidence evidence;
  bool is_default, no_gain;
} choices[] = {
    {8000, 10000, true, HONE_EVIDENCE_SIMULATED, false, false},
    {9990, 10000, true, HONE_EVIDENCE_SIMULATED, false, true},
    {10000, 10000, true, HONE_EVIDENCE_SIMULATED, true, true},
    {12000, 10000, true, HONE_EVIDENCE_SIMULATED, true, true},
    {8000, 0, true, HONE_EVIDENCE_MODEL, false, false}, /* a margin compares like with like */
    {0, 10000, true, HONE_EVIDENCE_MODEL, false, false},
    {8000, 0, false, HONE_EVIDENCE_MODEL, false, false},
    {0, 0, true, HONE_EVIDENCE_MODEL, false, false},
};
enum { NCHOICES = sizeof choices / sizeof choices[0] };

START_TEST(evidence_is_the_same_for_both)
{
  hone_store *s = store_new("a");
  problem *p = problem_gaining(24, 30); /* significantly, on the model too */
  if (choices[_i].model) add_model(s, p);
  if (choices[_i].tuned) add(s, p, "simulator", SIM_VERSION, p->tuned_text, choices[_i].tuned, HONE_KIND_BEST);
  if (choices[_i].by_default) add(s, p, "simulator", SIM_VERSION, p->default_text, choices[_i].by_default, HONE_KIND_DEFAULT);
  publish(s);
  hone_library *l = emit(s, 0);
  /* Of the simulator alone the default is the best it knows. */
  const bool only_default = choices[_i].by_default && !choices[_i].tuned;
  const hone_library_entry *e = &l->family[0].entry[0];
  ck_assert_int_eq(e->evidence, only_default ? HONE_EVIDENCE_SIMULATED : choices[_i].evidence);
  ck_assert_str_eq(e->schedule, choices[_i].is_default || only_default ? p->default_text : p->tuned_text);
  ck_assert_int_eq(e->no_significant_gain, choices[_i].no_gain || only_default);
  ck_assert_int_le(e->cycles, e->default_cycles);
  if (e->evidence == HONE_EVIDENCE_MODEL) {
    ck_assert_int_eq(e->cycles, p->tuned_cycles);
    ck_assert_int_eq(e->default_cycles, p->default_cycles);
    ck_assert_str_eq(e->evaluator, "model");
  }
  hone_library_free(l);
  problem_free(p);
  OK(hone_store_close(s, &err));
}
END_TEST

/* Three outcomes of one key: the upper median counts, as in the store. */
START_TEST(a_contested_default_is_settled_as_the_store_does)
{
  hone_store *s = store_new("a");
  problem *p = problem_from(24);
  const int64_t outcome[] = {9000, 9500, 11000};
  for (int i = 0; i < 3; i++) add(s, p, "simulator", SIM_VERSION, p->default_text, outcome[i], HONE_KIND_DEFAULT);
  add(s, p, "simulator", SIM_VERSION, p->tuned_text, 8000, HONE_KIND_BEST);
  publish(s);
  hone_library *l = emit(s, 0);
  ck_assert_int_eq(l->family[0].entry[0].default_cycles, 9500);
  hone_library_free(l);
  problem_free(p);
  OK(hone_store_close(s, &err));
}
END_TEST

/* ---- what is left out --------------------------------------------------------- */

static void expect_left_out(hone_store *s, int i, const char *code, const char *what, const char *reason)
{
  publish(s);
  hone_library *l = emit(s, 0);
  ck_assert_int_gt(l->nleft_out, i);
  ck_assert_str_eq(l->left_out[i].code, code);
  ck_assert_ptr_nonnull(strstr(l->left_out[i].what, what));
  ck_assert_msg(strstr(l->left_out[i].reason, reason) != NULL, "%s", l->left_out[i].reason);
  ck_assert_int_eq(l->nfamilies, 0);
  hone_library_free(l);
}

START_TEST(what_cannot_be_used_is_left_out_with_its_reason)
{
  hone_store *s = store_new("a");
  problem *p = problem_from(24);
  char other[4096];
  hone_record r = record_of(p, "model", MODEL_VERSION, p->default_text, p->default_cycles, HONE_KIND_DEFAULT);
  switch (_i) {
  case 0:
    r.task.spec = "";
    OK(hone_store_append(s, &r, &err));
    expect_left_out(s, 0, "library.no-spec", "a matmul on teaching", "did not say");
    break;
  case 1:
    snprintf(other, sizeof other, "%s ", p->machine_text);
    r.task.machine_text = other;
    OK(hone_store_append(s, &r, &err));
    expect_left_out(s, 0, "library.stale", "matmul --size b=1,m=", "machine teaching is now");
    break;
  case 2:
    snprintf(other, sizeof other, "%s ", p->operator_text);
    r.task.operator_text = other;
    OK(hone_store_append(s, &r, &err));
    expect_left_out(s, 0, "library.stale", "matmul", "operator matmul is now");
    break;
  case 3:
    r.cycles++;
    OK(hone_store_append(s, &r, &err));
    expect_left_out(s, 0, "library.stale", "matmul", "cycles now");
    break;
  case 4:
    r.evaluator_version--;
    OK(hone_store_append(s, &r, &err));
    expect_left_out(s, 0, "library.version", "matmul", "records of model version 6; this build has 7");
    break;
  case 5:
    r.evaluator = "oracle";
    OK(hone_store_append(s, &r, &err));
    expect_left_out(s, 0, "library.evaluator", "matmul", "oracle");
    break;
  case 6:
    r.reason = HONE_REASON_CAPACITY;
    OK(hone_store_append(s, &r, &err));
    expect_left_out(s, 0, "library.failed", "matmul", "none of its evaluations succeeded");
    break;
  case 7:
    r.task.machine_name = "gone";
    OK(hone_store_append(s, &r, &err));
    expect_left_out(s, 0, "file.not-found", "on gone", "no machine gone");
    break;
  case 8:
    r.schedule = "tile.1.m=4096";
    r.evaluator = "simulator";
    r.evaluator_version = SIM_VERSION;
    OK(hone_store_append(s, &r, &err));
    expect_left_out(s, 0, "schedule.missing", "matmul", "missing");
    break;
  }
  problem_free(p);
  OK(hone_store_close(s, &err));
}
END_TEST

START_TEST(other_versions_are_named_beside_what_is_used)
{
  hone_store *s = store_new("a");
  problem *p = problem_from(24);
  add_model(s, p);
  add(s, p, "model", MODEL_VERSION - 1, p->default_text, 5, HONE_KIND_DEFAULT); /* superseded */
  add(s, p, "simulator", SIM_VERSION + 1, p->default_text, 5, HONE_KIND_DEFAULT);
  publish(s);
  hone_library *l = emit(s, 0);
  ck_assert_int_eq(l->family[0].entry[0].evidence, HONE_EVIDENCE_MODEL);
  ck_assert_int_eq(l->nleft_out, 1);
  ck_assert_str_eq(l->left_out[0].code, "library.version");
  ck_assert_ptr_nonnull(strstr(l->left_out[0].reason, "simulator version 4"));
  hone_library_free(l);
  problem_free(p);
  OK(hone_store_close(s, &err));
}
END_TEST

START_TEST(an_empty_store_is_nothing_found)
{
  hone_store *s = store_new("a");
  hone_library *l = NULL;
  hone_library_source from = source(10);
  ck_assert_int_eq(hone_library_from_store(s, &from, &l, &err), HONE_NOT_FOUND);
  ck_assert_str_eq(err.code, "library.empty");
  problem *p = problem_from(8);
  add_model(s, p);
  publish(s);
  from.machine = "another";
  ck_assert_int_eq(hone_library_from_store(s, &from, &l, &err), HONE_NOT_FOUND);
  from.machine = "teaching";
  OK(hone_library_from_store(s, &from, &l, &err));
  hone_library_free(l);
  problem_free(p);
  OK(hone_store_close(s, &err));
}
END_TEST

/* ---- intervals ---------------------------------------------------------------- */

/* The schedule of an entry at another value of one size, and the default there. */
static void recost(const hone_library_family *f, int entry, int axis, int64_t at, hone_library_cost *out)
{
  static hone_machine machine;
  hone_operator *op = hone_heap_alloc(2, sizeof *op);
  int64_t size[HONE_MAX_SIZES];
  const char *path = HONE_SRCDIR "/spaces/matmul.yaml";
  memcpy(size, f->entry[entry].size, sizeof size);
  OK(hone_machine_load(HONE_SRCDIR "/data/machines/teaching.yaml", &machine, &err));
  OK(hone_library_operator(f, size, path, &op[0], &err));
  size[axis] = at;
  OK(hone_library_operator(f, size, path, &op[1], &err));
  OK(hone_library_recost(f->entry[entry].schedule, &op[0], &op[1], &machine, out, &err));
  free(op);
}

static bool has_entry(const hone_library_family *f, int like, int axis, int64_t at)
{
  for (int i = 0; i < f->nentries; i++) {
    bool same = true;
    for (int k = 0; k < f->spec.nsizes; k++) same = same && f->entry[i].size[k] == (k == axis ? at : f->entry[like].size[k]);
    if (same) return true;
  }
  return false;
}

static bool same_line(const hone_library_family *f, int a, int b, int axis)
{
  for (int k = 0; k < f->spec.nsizes; k++)
    if (k != axis && f->entry[a].size[k] != f->entry[b].size[k]) return false;
  return true;
}

/* Every integer of an interval again, by the public way. */
static void check_interval(const hone_library_family *f, const hone_library_interval *x)
{
  double loss = 0, margin = INFINITY;
  for (int64_t at = x->lo; at <= x->hi; at++) {
    hone_library_cost c;
    if (has_entry(f, x->entry, x->axis, at)) continue;
    recost(f, x->entry, x->axis, at, &c);
    ck_assert_int_eq(c.why.reason, HONE_REASON_NONE);
    ck_assert_int_le(c.cycles, c.default_cycles);
    loss = fmax(loss, ((double)c.cycles / (double)c.bound_cycles - 1) * 100);
    margin = fmin(margin, ((double)c.default_cycles / (double)c.cycles - 1) * 100);
    for (int i = 0; i < f->nentries; i++) { /* no neighbour does better where its own interval reaches */
      if (i == x->entry || !same_line(f, i, x->entry, x->axis)) continue;
      hone_library_cost other;
      const int64_t v = f->entry[i].size[x->axis];
      if (llabs(at - v) * 10 > v) continue;
      recost(f, i, x->axis, at, &other);
      if (x->basis == HONE_LOSS_OF_BOUND && other.why.reason == HONE_REASON_NONE && other.cycles < c.cycles) {
        bool reached = true; /* a better one must have been cut off on its way */
        for (int64_t b = v; b != at; b += at > v ? 1 : -1) {
          recost(f, i, x->axis, b, &other);
          reached = reached && other.why.reason == HONE_REASON_NONE && other.cycles <= other.default_cycles;
        }
        ck_assert(!reached);
      }
    }
  }
  if (x->basis == HONE_LOSS_OF_BOUND) ck_assert(x->loss_pct >= loss - 1e-9 && x->loss_pct <= loss + 1.1e-4);
  ck_assert(x->margin_pct <= margin + 1e-9 && x->margin_pct >= margin - 1.1e-4);
}

static void check_intervals(const hone_library_family *f)
{
  for (int i = 0; i < f->nintervals; i++) {
    const hone_library_interval *x = &f->interval[i];
    check_interval(f, x);
    if (i == 0 || x[-1].axis != x->axis || !same_line(f, x[-1].entry, x->entry, x->axis)) continue;
    ck_assert_int_lt(x[-1].hi, x->lo);
  }
}

START_TEST(near_answers_are_never_worse_than_the_default)
{
  hone_store *s = store_new("a");
  int64_t m = 40;
  for (int i = 0; i < 3; i++) {
    problem *p = problem_from(m);
    add_model(s, p);
    m = p->m + (i == 0 ? 2 : 40); /* two whose ranges overlap, one alone */
    problem_free(p);
  }
  publish(s);
  hone_library *l = emit(s, 10);
  const hone_library_family *f = &l->family[0];
  ck_assert_int_eq(f->nentries, 3);
  ck_assert_int_gt(f->nintervals, 3);
  check_intervals(f);
  /* Each interval ends at the reach, at one, at a neighbour, or where the schedule is no good. */
  for (int i = 0; i < f->nintervals; i++) {
    const hone_library_interval *x = &f->interval[i];
    const int64_t v = f->entry[x->entry].size[x->axis], most = v + v / 10;
    ck_assert_int_le(x->hi, most);
    ck_assert_int_ge(x->lo, v - v / 10);
    if (x->hi == most || (i + 1 < f->nintervals && x[1].lo == x->hi + 1) || has_entry(f, x->entry, x->axis, x->hi + 1)) continue;
    hone_library_cost c;
    recost(f, x->entry, x->axis, x->hi + 1, &c);
    ck_assert(c.why.reason != HONE_REASON_NONE || c.cycles > c.default_cycles);
  }
  hone_library_free(l);
  OK(hone_store_close(s, &err));
}
END_TEST

/* ---- ranges ------------------------------------------------------------------- */

static void put_range(hone_store *s, const problem *p, int64_t lo, int64_t hi, const char *schedule, int64_t cycles, int version)
{
  hone_text t = {0};
  char hash[HONE_HASH_TEXT];
  hone_hash_print(hone_machine_hash(&p->machine), hash);
  hone_text_add(&t,
                "{\"spec\":\"matmul --size b=1,m=%lld..%lld,n=40,k=56 --dtype bf16\",\"size\":\"m\",\"machine\":\"teaching\",\"machine_hash\":"
                "\"%s\",\"evaluators\":{\"model\":%d,\"simulator\":%d},\"entries\":[{\"lo\":%lld,\"hi\":%lld,\"schedule\":\"%s\","
                "\"model_worst_loss_pct\":3.5,\"model_worst_loss_at\":%lld,\"sim_worst_loss_pct\":4.25,\"sim_samples\":2,\"model_cycles\":%lld}]}",
                (long long)lo, (long long)hi, hash, version, SIM_VERSION, (long long)lo, (long long)hi, schedule, (long long)lo,
                (long long)cycles);
  hone_store_document d = {.kind = "range", .subject = "matmul of a range", .text = t.data};
  OK(hone_store_put(s, &d, &err));
  hone_text_fini(&t);
}

static int count_basis(const hone_library_family *f, hone_loss_basis b)
{
  int n = 0;
  for (int i = 0; i < f->nintervals; i++) n += f->interval[i].basis == b;
  return n;
}

START_TEST(ranges_become_intervals_but_where_the_default_is_better)
{
  hone_store *s = store_new("a");
  problem *p = problem_from(60);
  add_model(s, p);
  put_range(s, p, 30, p->m, p->tuned_text, p->tuned_cycles, MODEL_VERSION);
  publish(s);
  hone_library *l = emit(s, 0);
  const hone_library_family *f = &l->family[0];
  ck_assert_int_eq(l->nleft_out, 0);
  ck_assert_int_eq(f->nentries, 1);
  ck_assert_int_gt(f->nintervals, 0);
  ck_assert_int_eq(count_basis(f, HONE_LOSS_OF_OPTIMUM), f->nintervals);
  check_intervals(f);
  /* Exactly the integers at which the schedule is no worse. */
  for (int64_t at = 30; at < p->m; at++) {
    hone_library_cost c;
    bool served = false;
    recost(f, 0, 1, at, &c);
    for (int i = 0; i < f->nintervals; i++) served = served || (f->interval[i].lo <= at && at <= f->interval[i].hi);
    ck_assert_int_eq(served, c.why.reason == HONE_REASON_NONE && c.cycles <= c.default_cycles);
  }
  ck_assert(f->interval[0].loss_pct == 3.5 && f->interval[0].loss_at == 30 && f->interval[0].sim_loss_pct == 4.25);
  hone_library_free(l);
  problem_free(p);
  OK(hone_store_close(s, &err));
}
END_TEST

START_TEST(a_better_schedule_at_the_end_of_a_range_moves_its_anchor)
{
  hone_store *s = store_new("a");
  problem *p = problem_from(60);
  add_model(s, p);
  put_range(s, p, 30, p->m, p->default_text, p->default_cycles, MODEL_VERSION); /* the default, cut; the tuned one is better at its end */
  publish(s);
  hone_library *l = emit(s, 0);
  const hone_library_family *f = &l->family[0];
  ck_assert_int_eq(l->nleft_out, 0);
  ck_assert_int_eq(f->nentries, 2);
  ck_assert_int_lt(f->entry[0].size[1], p->m);
  ck_assert_str_eq(f->entry[1].schedule, p->tuned_text);
  ck_assert_int_eq(f->interval[0].entry, 0);
  check_intervals(f);
  hone_library_free(l);
  problem_free(p);
  OK(hone_store_close(s, &err));
}
END_TEST

START_TEST(stale_ranges_are_left_out)
{
  static const struct {
    int version, off;
    const char *code;
  } stale[] = {{MODEL_VERSION - 1, 0, "library.version"}, {MODEL_VERSION, 1, "library.stale"}};
  hone_store *s = store_new("a");
  problem *p = problem_from(60);
  add_model(s, p);
  put_range(s, p, 30, p->m, p->tuned_text, p->tuned_cycles + stale[_i].off, stale[_i].version);
  publish(s);
  hone_library *l = emit(s, 0);
  ck_assert_int_eq(l->nleft_out, 1);
  ck_assert_str_eq(l->left_out[0].code, stale[_i].code);
  ck_assert_int_eq(l->family[0].nintervals, 0);
  hone_library_free(l);
  problem_free(p);
  OK(hone_store_close(s, &err));
}
END_TEST

/* ---- there and back ------------------------------------------------------------ */

START_TEST(back_in_a_store_it_gives_the_same_library)
{
  int64_t m = 24;
  hone_store *s = store_new("a"), *t = store_new("b");
  for (int i = 0; i < 3; i++) {
    problem *p = problem_from(m);
    m = p->m + 16;
    add_model(s, p);
    if (i < 2) add_simulated(s, p, 9000 - 100 * i, 10000);
    if (i == 2) put_range(s, p, 30, p->m, _i ? p->tuned_text : p->default_text, _i ? p->tuned_cycles : p->default_cycles, MODEL_VERSION);
    problem_free(p);
  }
  publish(s);
  hone_library *l = emit(s, 10);
  ck_assert_int_gt(count_basis(&l->family[0], HONE_LOSS_OF_OPTIMUM), 0);
  ck_assert_int_gt(count_basis(&l->family[0], HONE_LOSS_OF_BOUND), 0);
  hone_library_source from = source(10);
  OK(hone_library_to_store(l, &from, t, &err));
  OK(hone_store_refresh(t, &err));
  hone_library *again = emit(t, 10);
  expect_same(l, again);
  char *text = document_of(l);
  hone_library *read = NULL;
  OK(hone_library_parse("first", text, strlen(text), &read, &err));
  expect_same(l, read);
  free(text);
  hone_library_free(read);
  hone_library_free(again);
  hone_library_free(l);
  OK(hone_store_close(s, &err));
  OK(hone_store_close(t, &err));
}
END_TEST

START_TEST(a_stale_library_leaves_the_store_alone)
{
  hone_store *s = store_new("a"), *t = store_new("b");
  problem *p = problem_from(24);
  add_model(s, p);
  publish(s);
  hone_library *l = emit(s, 0);
  hone_library_source from = source(0);
  char *hash = _i ? l->family[0].machine_hash : l->family[0].entry[0].operator_hash;
  hash[0] = hash[0] == '0' ? '1' : '0';
  ck_assert_int_eq(hone_library_to_store(l, &from, t, &err), HONE_INPUT);
  ck_assert_str_eq(err.code, "library.stale");
  ck_assert_int_eq(hone_store_pending(t), 0);
  hone_library_free(l);
  problem_free(p);
  OK(hone_store_close(s, &err));
  OK(hone_store_close(t, &err));
}
END_TEST

/* ---- microcode ---------------------------------------------------------------- */

typedef struct {
  int n, fail_at;
  char file[8][256];
  const problem *p;
} written;

static hone_status write_microcode(void *arg, const char *file, const void *bytes, size_t n, hone_err *e)
{
  written *w = arg;
  hone_program *program = NULL;
  if (w->n == w->fail_at) return hone_err_set(e, HONE_IO, "test.full", "full");
  snprintf(w->file[w->n++], sizeof w->file[0], "%s", file);
  OK(hone_program_decode(bytes, n, &program, &err));
  if (w->p) OK(hone_backend_verify(program, &w->p->op, &w->p->machine, &w->p->tuned, &err));
  hone_program_free(program);
  return HONE_OK;
}

START_TEST(every_entry_is_compiled)
{
  hone_store *s = store_new("a");
  problem *p = problem_from(24);
  written w = {.fail_at = -1, .p = p};
  hone_library_source from = source(0);
  hone_library *l = NULL;
  add_model(s, p);
  publish(s);
  from.microcode = true;
  from.write_microcode = write_microcode;
  from.write_arg = &w;
  OK(hone_library_from_store(s, &from, &l, &err));
  const hone_library_entry *e = &l->family[0].entry[0];
  ck_assert_int_eq(w.n, 1);
  ck_assert_str_eq(e->microcode, w.file[0]);
  ck_assert_uint_eq(strspn(e->microcode, "abcdefghijklmnopqrstuvwxyz0123456789_-."), strlen(e->microcode));
  char name[64];
  snprintf(name, sizeof name, "matmul_bf16_on_teaching-b1-m%lld-n40-k56-", (long long)p->m);
  ck_assert_ptr_eq(strstr(e->microcode, name), e->microcode);
  ck_assert_int_gt(e->microcode_bytes, 0);
  ck_assert_str_eq(e->microcode_reason, "");
  hone_library_free(l);
  w.fail_at = w.n;
  ck_assert_int_eq(hone_library_from_store(s, &from, &l, &err), HONE_IO);
  ck_assert_str_eq(err.code, "test.full");
  problem_free(p);
  OK(hone_store_close(s, &err));
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("library_store");
  TCase *c = tcase_create("store");
  unit_timeout(c, 60);
  tcase_add_checked_fixture(c, set_up, tear_down);
  tcase_add_test(c, the_best_is_chosen_with_its_evidence);
  tcase_add_loop_test(c, evidence_is_the_same_for_both, 0, NCHOICES);
  tcase_add_test(c, a_contested_default_is_settled_as_the_store_does);
  tcase_add_loop_test(c, what_cannot_be_used_is_left_out_with_its_reason, 0, 9);
  tcase_add_test(c, other_versions_are_named_beside_what_is_used);
  tcase_add_test(c, an_empty_store_is_nothing_found);
  tcase_add_test(c, near_answers_are_never_worse_than_the_default);
  tcase_add_test(c, ranges_become_intervals_but_where_the_default_is_better);
  tcase_add_test(c, a_better_schedule_at_the_end_of_a_range_moves_its_anchor);
  tcase_add_loop_test(c, stale_ranges_are_left_out, 0, 2);
  tcase_add_loop_test(c, back_in_a_store_it_gives_the_same_library, 0, 2);
  tcase_add_loop_test(c, a_stale_library_leaves_the_store_alone, 0, 2);
  tcase_add_test(c, every_entry_is_compiled);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
