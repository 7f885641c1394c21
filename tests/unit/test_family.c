/* Range runs on the teaching machine: what the entries promise is computed again
 * from their texts alone, at every integer. */
#include "config.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "campaign/family.h"
#include "unit/unit.h"

static const char matmul[] = HONE_SRCDIR "/spaces/matmul.yaml";
static const hone_space_source sources[] = { { HONE_SRCDIR "/spaces/template.yaml", NULL }, { matmul, NULL } };
static hone_machine machine;
static hone_err err;

#define OK(call) ck_assert_msg((call) == HONE_OK, "%s: %s", #call, err.message)

static hone_family_task set_up(const char *text, hone_spec *spec)
{
  hone_err_init(&err);
  OK(hone_machine_load(HONE_SRCDIR "/data/machines/teaching.yaml", &machine, &err));
  OK(hone_spec_parse(text, spec, &err));
  return (hone_family_task){ .operator_path = matmul, .spec = spec, .machine = &machine, .space = sources, .nspace = 2, .label = "test",
                             .strategy = hone_strategy_find("evolutionary"), .seed = 3, .budget = 100, .batch = 16, .entries = 6,
                             .top_k = 2, .samples = 1 };
}

/* ---- what a user of the entries finds ----------------------------------------- */

typedef struct {
  hone_operator op;
  hone_params params;
  hone_model *model;
  int64_t bound, by_default;
} problem;

static void problem_at(const hone_spec *family, int64_t value, problem *p)
{
  hone_spec spec = *family;
  int axis = hone_spec_range(family);
  hone_bound bound;
  hone_schedule s;
  hone_cost cost;
  spec.size[axis].value = spec.size[axis].to = value;
  OK(hone_operator_load_spec(matmul, &spec, &p->op, &err));
  OK(hone_params_new(&p->op, &machine, &p->params, &err));
  OK(hone_model_new(&p->op, &machine, &p->model, &err));
  OK(hone_bound_cycles(&p->op, &machine, &bound, &err));
  OK(hone_schedule_default(&p->op, &machine, &s, &err));
  ck_assert(hone_model_evaluate(p->model, &s, &cost) == HONE_REASON_NONE);
  p->bound = bound.cycles;
  p->by_default = cost.cycles;
}

static void problem_end(problem *p)
{
  hone_model_free(p->model);
  hone_params_free(&p->params);
}

/* An entry's schedule, as read at its high end. */
static void read_entry(const hone_spec *family, const hone_family_entry *e, hone_schedule *out)
{
  problem p;
  hone_text text = { 0 };
  problem_at(family, e->hi, &p);
  OK(hone_schedule_parse(&p.op, &machine, &p.params, e->schedule, out, &err));
  hone_schedule_print(&p.op, &machine, &p.params, out, &text);
  ck_assert_str_eq(text.data, e->schedule);
  hone_text_fini(&text);
  problem_end(&p);
}

/* Every integer once; legal, never worse than the default, never below the bound;
 * the stated margins, gaps and cycles. Best cycles of any entry at each integer go
 * to `least`. */
static void check_entries(const hone_spec *family, const hone_family_result *x, int64_t *least)
{
  int64_t next = x->lo;
  for (int k = 0; k < x->nentries; k++) {
    const hone_family_entry *e = &x->entry[k];
    double margin = INFINITY, gap = 0;
    hone_schedule at_hi;
    ck_assert_int_eq(e->lo, next);
    read_entry(family, e, &at_hi);
    for (; next <= e->hi; next++) {
      problem p;
      hone_cost cost;
      hone_schedule s = at_hi;
      problem_at(family, next, &p);
      hone_schedule_fit(&p.op, &machine, &s);
      ck_assert_msg(hone_model_evaluate(p.model, &s, &cost) == HONE_REASON_NONE, "illegal at %d", (int)next);
      ck_assert_int_le(cost.cycles, p.by_default);
      margin = fmin(margin, 100 * ((double)p.by_default / (double)cost.cycles - 1));
      gap = fmax(gap, 100 * ((double)cost.cycles / (double)p.bound - 1));
      least[next - x->lo] = cost.cycles;
      if (next == e->hi) {
        ck_assert_int_eq(e->model_cycles, cost.cycles);
        ck_assert_int_eq(e->default_model_cycles, p.by_default);
        ck_assert_int_eq(e->bound_cycles, p.bound);
      }
      problem_end(&p);
    }
    ck_assert_double_eq_tol(e->model_margin_pct, margin, 1e-9);
    ck_assert_double_eq_tol(e->bound_gap_pct, gap, 1e-9);
  }
  ck_assert_int_eq(next, x->hi + 1);
}

/* Against full searches of another seed that know nothing of the range. */
static void check_reference(const hone_spec *spec, const hone_family_task *t, const hone_family_result *x)
{
  for (int64_t m = 5; m <= 96; m += 26) {
    problem p;
    hone_space *space;
    hone_tune_result tuned;
    problem_at(spec, m, &p);
    OK(hone_space_new(&p.op, &machine, &p.params, sources, 2, &space, &err));
    hone_tune_task one = { .op = &p.op, .machine = &machine, .params = &p.params, .space = space, .label = "one", .strategy = t->strategy,
                           .seed = 77, .budget = 1000, .batch = 16, .top_k = 1, .max_k = 1, .ntop = 1 };
    machine.tile_machine = false; /* the model's word alone */
    OK(hone_tune_run(&one, &tuned, &err));
    machine.tile_machine = true;
    ck_assert_msg((double)x->reference[m - 1] <= 1.02 * (double)tuned.best.model_cycles, "m=%d: %lld, a search of it alone finds %lld", (int)m,
                  (long long)x->reference[m - 1], (long long)tuned.best.model_cycles);
    hone_tune_result_fini(&tuned);
    hone_space_free(space);
    problem_end(&p);
  }
}

START_TEST(entries_keep_their_promises)
{
  hone_spec spec;
  hone_family_result x;
  hone_family_task t = set_up("matmul --size m=1..96,n=24,k=40 --dtype bf16", &spec);
  t.budget = 800;
  OK(hone_family_run(&t, &x, &err));
  ck_assert_int_ge(x.nentries, 1);
  ck_assert_int_le(x.nentries, t.entries);
  int64_t cycles[96];
  check_entries(&spec, &x, cycles);
  check_reference(&spec, &t, &x);
  /* Losses: against the reference, which no entry and no default undercuts. */
  double worst = 0;
  for (int k = 0; k < x.nentries; k++) {
    double here = -1, sum = 0;
    for (int64_t m = x.entry[k].lo; m <= x.entry[k].hi; m++) {
      int64_t reference = x.reference[m - x.lo];
      double loss = 100 * (double)(cycles[m - x.lo] - reference) / (double)reference;
      ck_assert_int_ge(cycles[m - x.lo], reference);
      here = fmax(here, loss);
      sum += loss;
      if (m == x.entry[k].model_loss_at) ck_assert_double_eq_tol(loss, x.entry[k].model_loss_pct, 1e-9);
    }
    ck_assert_double_eq_tol(here, x.entry[k].model_loss_pct, 1e-9);
    ck_assert_double_eq_tol(sum / (double)(x.entry[k].hi - x.entry[k].lo + 1), x.entry[k].mean_loss_pct, 1e-9);
    worst = fmax(worst, here);
  }
  ck_assert_double_eq_tol(worst, x.model_loss_pct, 1e-9);
  hone_family_result_fini(&x);
}
END_TEST

/* ---- the run ------------------------------------------------------------------ */

START_TEST(threads_do_not_matter)
{
#ifdef _OPENMP
  hone_spec spec;
  hone_family_result x[2];
  hone_family_task t = set_up("matmul --size m=20,n=1..40,k=30 --dtype bf16", &spec);
  int before = omp_get_max_threads();
  for (int i = 0; i < 2; i++) {
    omp_set_num_threads(i + 1);
    OK(hone_family_run(&t, &x[i], &err));
  }
  omp_set_num_threads(before);
  ck_assert_str_eq(x[0].document, x[1].document);
  ck_assert_int_eq(x[0].counts.evaluated, x[1].counts.evaluated);
  ck_assert_int_eq(x[0].counts.simulated, x[1].counts.simulated);
  for (int i = 0; i < 2; i++) hone_family_result_fini(&x[i]);
#endif
}
END_TEST

/* One entry for each integer is possible: then nothing is lost. */
START_TEST(an_entry_each_loses_nothing)
{
  hone_spec spec;
  hone_family_result x;
  hone_family_task t = set_up("matmul --size m=17,n=24,k=7..8 --dtype bf16", &spec);
  OK(hone_family_run(&t, &x, &err));
  ck_assert(x.least_loss_pct <= 0);
  ck_assert_int_eq(x.lo, 7);
  ck_assert_int_eq(x.entry[x.nentries - 1].hi, 8);
  hone_family_result_fini(&x);
}
END_TEST

START_TEST(more_entries_lose_no_more)
{
  hone_spec spec;
  double before = INFINITY;
  for (int entries = 2; entries <= 8; entries *= 2) {
    hone_family_result x;
    hone_family_task t = set_up("matmul --size m=1..64,n=24,k=40 --dtype bf16", &spec);
    t.entries = entries;
    OK(hone_family_run(&t, &x, &err));
    if (x.nentries == 0) ck_assert_int_gt(x.entries_needed, entries);
    else ck_assert(x.least_loss_pct <= before);
    if (x.nentries > 0) before = x.least_loss_pct;
    hone_family_result_fini(&x);
  }
}
END_TEST

START_TEST(a_model_only_machine_gives_model_evidence)
{
  hone_spec spec;
  hone_family_result x;
  hone_family_task t = set_up("matmul --size m=1..9,n=24,k=40 --dtype bf16", &spec);
  machine.tile_machine = false;
  OK(hone_family_run(&t, &x, &err));
  ck_assert(!x.simulated);
  ck_assert_int_eq(x.counts.simulated, 0);
  ck_assert(isnan(x.sim_loss_pct));
  ck_assert_int_eq(x.entry[0].sim_samples, 0);
  ck_assert_int_eq(x.entry[0].sim_cycles, -1);
  hone_family_result_fini(&x);
}
END_TEST

/* Simulation refutes much when budgets are small; still no shape is left without an
 * entry, whichever candidates it took away. */
START_TEST(every_shape_has_an_entry)
{
  static const char *const family[] = { "matmul --size m=17,n=1..40,k=40 --dtype bf16", "matmul --size b=1..25,m=5,n=24,k=16 --dtype bf16",
                                        "matmul --size m=9,n=24,k=1..50 --dtype bf16" };
  for (int i = 0; i < 3; i++)
    for (int budget = 1; budget <= 10; budget += 9) {
      hone_spec spec;
      hone_family_result x;
      hone_family_task t = set_up(family[i], &spec);
      int64_t cycles[150];
      t.budget = budget;
      t.seed = 1;
      t.batch = 64;
      t.entries = 100;
      OK(hone_family_run(&t, &x, &err));
      ck_assert_int_eq(x.nholes, 0);
      check_entries(&spec, &x, cycles);
      hone_family_result_fini(&x);
    }
}
END_TEST

static volatile sig_atomic_t stop;

static void stop_soon(void *arg, const hone_tune_progress *p)
{
  (void)arg, (void)p;
  static int calls;
  if (++calls == 4) stop = 1;
}

/* Searches longer than anyone waits for end, too. */
static void stop_in_search(void *arg, const hone_tune_progress *p)
{
  (void)arg;
  stop = strstr(p->label, "full search") != NULL;
}

START_TEST(an_interrupt_ends_a_search)
{
  hone_spec spec;
  hone_family_result x;
  hone_family_task t = set_up("matmul --size m=1..20,n=24,k=40 --dtype bf16", &spec);
  stop = 0;
  t.strategy = hone_strategy_find("random");
  t.budget = INT64_MAX / 2;
  t.interrupted = &stop;
  t.progress = stop_in_search;
  OK(hone_family_run(&t, &x, &err));
  ck_assert_int_eq(x.status, HONE_TUNE_INTERRUPTED);
  hone_family_result_fini(&x);
}
END_TEST

START_TEST(an_interrupt_ends_it)
{
  hone_spec spec;
  hone_family_result x;
  hone_family_task t = set_up("matmul --size m=1..200,n=24,k=40 --dtype bf16", &spec);
  stop = 0;
  t.interrupted = &stop;
  t.progress = stop_soon;
  OK(hone_family_run(&t, &x, &err));
  ck_assert_int_eq(x.status, HONE_TUNE_INTERRUPTED);
  ck_assert_int_eq(x.nentries, 0);
  hone_family_result_fini(&x);
}
END_TEST

START_TEST(what_is_no_family_is_refused)
{
  static const char *const bad[] = { "matmul --size m=4,n=24,k=40 --dtype bf16", "matmul --size m=1..4,n=1..24,k=40 --dtype bf16",
                                     "matmul --size m=1..65537,n=24,k=40 --dtype bf16", "matmul --size m=1..1099511627776,n=24,k=40 --dtype bf16" };
  static const char *const code[] = { "range.one", "range.one", "range.long", "range.long" };
  for (int i = 0; i < 4; i++) {
    hone_spec spec;
    hone_family_result x;
    hone_family_task t = set_up(bad[i], &spec);
    ck_assert_int_eq(hone_family_run(&t, &x, &err), HONE_USAGE);
    ck_assert_str_eq(err.code, code[i]);
    hone_family_result_fini(&x);
  }
}
END_TEST

/* ---- the store ------------------------------------------------------------------ */

typedef struct {
  int documents, records, defaults, bests;
  char text[1 << 16], subject[256];
} seen;

static hone_status see_document(void *arg, const hone_store_document *d, hone_err *e)
{
  (void)e;
  seen *s = arg;
  s->documents++;
  snprintf(s->text, sizeof s->text, "%s", d->text);
  snprintf(s->subject, sizeof s->subject, "%s", d->subject);
  return HONE_OK;
}

static hone_status see_record(void *arg, const hone_record *r, hone_err *e)
{
  (void)e;
  seen *s = arg;
  s->records++;
  s->bests += (r->kinds & HONE_KIND_BEST) != 0;
  s->defaults += (r->kinds & HONE_KIND_DEFAULT) != 0;
  ck_assert(r->reason == HONE_REASON_NONE);
  return HONE_OK;
}

START_TEST(the_store_gets_entries_and_document)
{
  char folder[] = "/tmp/hone-family.XXXXXX", path[64], command[96];
  hone_spec spec;
  hone_family_result x;
  hone_family_task t = set_up("matmul --size m=1..12,n=24,k=40 --dtype bf16", &spec);
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/s", folder);
  OK(hone_store_open(path, HONE_STORE_WRITE, &t.store, &err));
  OK(hone_family_run(&t, &x, &err));
  OK(hone_store_refresh(t.store, &err));
  seen *s = calloc(1, sizeof *s);
  OK(hone_store_documents(t.store, "range", see_document, s, &err));
  OK(hone_store_query(t.store, NULL, see_record, s, &err));
  ck_assert_int_eq(s->documents, 1);
  ck_assert_str_eq(s->text, x.document);
  ck_assert_msg(strncmp(s->subject, "matmul --size b=1,m=1..12,n=24,k=40 --dtype bf16 ", 49) == 0 && strstr(s->subject, " on "), "%s", s->subject);
  ck_assert_int_eq(s->bests, 2 * x.nentries); /* by model and simulator */
  ck_assert_int_eq(s->defaults, 2 * x.nentries);
  json_t *o = json_loads(s->text, 0, NULL);
  ck_assert_ptr_nonnull(o);
  ck_assert_int_eq((int)json_array_size(json_object_get(o, "entries")), x.nentries);
  ck_assert_str_eq(json_string_value(json_object_get(json_array_get(json_object_get(o, "entries"), 0), "schedule")), x.entry[0].schedule);
  json_decref(o);
  OK(hone_store_close(t.store, &err));
  hone_family_result_fini(&x);
  free(s);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  ck_assert_int_eq(system(command), 0);
}
END_TEST

/* Cutting to a shape and then to a smaller one is cutting to the smaller. */
START_TEST(cutting_twice_is_cutting_once)
{
  hone_spec spec;
  problem top, middle, low;
  hone_space *space;
  hone_rng rng;
  int64_t values[HONE_SPACE_PARAMETERS];
  set_up("matmul --size m=1..200,n=24,k=40 --dtype bf16 --option bias=row", &spec);
  hone_rng_init(&rng, 5);
  for (int round = 0; round < 40; round++) {
    int64_t a = 1 + hone_rng_below(&rng, 200), b = 1 + hone_rng_below(&rng, 200);
    problem_at(&spec, 200, &top);
    problem_at(&spec, a > b ? a : b, &middle);
    problem_at(&spec, a > b ? b : a, &low);
    problem *from = round % 2 ? &top : &middle; /* also up and down again */
    OK(hone_space_new(&from->op, &machine, &from->params, sources, 2, &space, &err));
    for (int i = 0; i < 20 && hone_space_sample(space, &rng, 50, values); i++) {
      hone_schedule once, twice;
      hone_space_schedule(space, values, &once);
      twice = once;
      hone_schedule_fit(&low.op, &machine, &once);
      hone_schedule_fit(&top.op, &machine, &twice);
      hone_schedule_fit(&middle.op, &machine, &twice);
      hone_schedule_fit(&low.op, &machine, &twice);
      ck_assert_msg(hone_hash_cmp(hone_schedule_hash(&low.op, &machine, &low.params, &once),
                                  hone_schedule_hash(&low.op, &machine, &low.params, &twice)) == 0,
                    "round %d, point %d: %d and %d", round, i, (int)a, (int)b);
    }
    hone_space_free(space);
    problem_end(&low);
    problem_end(&middle);
    problem_end(&top);
  }
}
END_TEST

int main(void)
{
  Suite *s = suite_create("family");
  TCase *c = tcase_create("family");
  tcase_add_test(c, entries_keep_their_promises);
  tcase_add_test(c, threads_do_not_matter);
  tcase_add_test(c, an_entry_each_loses_nothing);
  tcase_add_test(c, more_entries_lose_no_more);
  tcase_add_test(c, a_model_only_machine_gives_model_evidence);
  tcase_add_test(c, every_shape_has_an_entry);
  tcase_add_test(c, an_interrupt_ends_it);
  tcase_add_test(c, an_interrupt_ends_a_search);
  tcase_add_test(c, what_is_no_family_is_refused);
  tcase_add_test(c, the_store_gets_entries_and_document);
  tcase_add_test(c, cutting_twice_is_cutting_once);
  suite_add_tcase(s, c);
  return unit_run(s);
}
