/* One tuning task on the teaching machine: verdicts, budgets, interrupts, resume. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/campaign.h"
#include "unit/unit.h"

typedef struct {
  hone_operator op;
  hone_machine machine;
  hone_params params;
  hone_space *space;
  hone_tune_task task;
} problem;

static hone_err err;

#define OK(call) ck_assert_msg((call) == HONE_OK, "%s: %s", #call, err.message)

static void set_up_narrowed(problem *p, int64_t m, int64_t n, int64_t k, const char *narrow)
{
  const hone_space_source sources[] = { { HONE_SRCDIR "/spaces/template.yaml", NULL }, { "test", narrow } };
  hone_size size[] = { { "m", m }, { "n", n }, { "k", k } };
  hone_format_choice format = { NULL, HONE_FORMAT_BF16 };
  hone_err_init(&err);
  memset(p, 0, sizeof *p);
  OK(hone_operator_load(HONE_SRCDIR "/spaces/matmul.yaml", size, 3, &format, 1, NULL, 0, &p->op, &err));
  OK(hone_machine_load(HONE_SRCDIR "/data/machines/teaching.yaml", &p->machine, &err));
  OK(hone_params_new(&p->op, &p->machine, &p->params, &err));
  OK(hone_space_new(&p->op, &p->machine, &p->params, sources, narrow ? 2 : 1, &p->space, &err));
  p->task = (hone_tune_task){ .op = &p->op, .machine = &p->machine, .params = &p->params, .space = p->space, .label = "test",
                              .strategy = hone_strategy_type_at(0), .seed = 3, .budget = 200, .batch = 16, .top_k = 4,
                              .samples = 4, .max_k = 8, .ntop = 3 };
}

static void set_up(problem *p, int64_t m, int64_t n, int64_t k)
{
  set_up_narrowed(p, m, n, k, NULL);
}

static void tear_down(problem *p)
{
  hone_space_free(p->space);
  hone_params_free(&p->params);
}

START_TEST(best_is_between_bound_and_default)
{
  problem p;
  hone_tune_result x;
  set_up(&p, 24, 20, 28);
  OK(hone_tune_run(&p.task, &x, &err));
  ck_assert(x.simulated);
  ck_assert_int_le(x.bound.cycles, x.best.sim_cycles);
  ck_assert_int_le(x.best.sim_cycles, x.by_default.sim_cycles);
  ck_assert_int_eq(x.counts.evaluated, 200);
  ck_assert_int_eq(x.counts.unique, 200);
  ck_assert_int_eq(x.budget_used, 200);
  ck_assert_int_eq(x.ntop, 3);
  ck_assert_str_eq(x.top[0].text, x.best.text);
  hone_tune_result_fini(&x);
  tear_down(&p);
}
END_TEST

START_TEST(a_budget_of_one_is_the_default)
{
  problem p;
  hone_tune_result x;
  set_up(&p, 24, 20, 28);
  p.task.budget = 1;
  OK(hone_tune_run(&p.task, &x, &err));
  ck_assert_str_eq(x.best.text, x.by_default.text);
  ck_assert_int_eq(x.counts.evaluated, 1);
  ck_assert_int_eq(x.status, HONE_TUNE_NO_SIGNIFICANT_GAIN);
  hone_tune_result_fini(&x);
  tear_down(&p);
}
END_TEST

START_TEST(a_small_space_is_exhausted)
{
  problem p;
  hone_tune_result x;
  set_up_narrowed(&p, 1, 1, 1, "space: {domains: [{parameter: 'depth.{tensor}.{level}', foreach: [tensor, level], values: [list: [2]]}]}");
  p.task.strategy = hone_strategy_find("exhaustive");
  p.task.budget = 100000;
  p.task.batch = 512;
  OK(hone_tune_run(&p.task, &x, &err));
  ck_assert_int_eq(x.status, HONE_TUNE_EXHAUSTED);
  ck_assert_int_gt(x.model_optimum_cycles, 0);
  ck_assert_int_le(x.model_optimum_cycles, x.best.model_cycles);
  hone_tune_result_fini(&x);
  tear_down(&p);
}
END_TEST

START_TEST(an_interrupt_keeps_the_best_so_far)
{
  problem p;
  hone_tune_result x;
  volatile sig_atomic_t stop = 1;
  set_up(&p, 24, 20, 28);
  p.task.interrupted = &stop;
  OK(hone_tune_run(&p.task, &x, &err));
  ck_assert_int_eq(x.status, HONE_TUNE_INTERRUPTED);
  ck_assert_ptr_nonnull(x.best.text);
  ck_assert_int_eq(x.counts.simulated, 0);
  hone_tune_result_fini(&x);
  tear_down(&p);
}
END_TEST

typedef struct {
  int n;
  int64_t best[64];
} trajectory;

static void note(void *arg, const hone_tune_progress *p)
{
  trajectory *t = arg;
  if (!p->simulating && t->n < 64) t->best[t->n++] = p->best_cycles;
}

START_TEST(a_longer_run_begins_with_the_shorter)
{
  problem p;
  hone_tune_result x;
  trajectory less = { 0 }, more = { 0 };
  set_up(&p, 24, 20, 28);
  p.task.progress = note;
  p.task.progress_arg = &less;
  p.task.budget = 1 + 6 * 16; /* whole batches behind the default */
  OK(hone_tune_run(&p.task, &x, &err));
  hone_tune_result_fini(&x);
  p.task.progress_arg = &more;
  p.task.budget = 1 + 12 * 16;
  OK(hone_tune_run(&p.task, &x, &err));
  hone_tune_result_fini(&x);
  ck_assert_int_eq(less.n, 7); /* one before the first batch */
  ck_assert_int_eq(more.n, 13);
  for (int i = 0; i < less.n; i++) ck_assert_int_eq(less.best[i], more.best[i]);
  tear_down(&p);
}
END_TEST

static void remove_folder(const char *path)
{
  char command[256];
  snprintf(command, sizeof command, "rm -rf '%s'", path);
  ck_assert_int_eq(system(command), 0);
}

/* All is evaluated once, whatever it is named later; and says what it was made of. */
static hone_status seen_once(void *arg, const hone_record *r, hone_err *e)
{
  (void)arg, (void)e;
  ck_assert_int_eq(r->observations, 1);
  ck_assert_str_eq(r->task.spec, "matmul --size b=1,m=24,n=20,k=28 --dtype bf16 --option bias=none,activation=none,residual=none");
  return HONE_OK;
}

START_TEST(resume_simulates_nothing_twice)
{
  problem p;
  hone_tune_result first, again;
  char folder[] = "/tmp/hone-tune.XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  set_up(&p, 24, 20, 28);
  OK(hone_store_open(folder, HONE_STORE_WRITE, &p.task.store, &err));
  OK(hone_tune_run(&p.task, &first, &err));
  ck_assert_int_eq(first.counts.reused, 0);
  ck_assert_int_eq(hone_store_pending(p.task.store), 0);
  OK(hone_store_refresh(p.task.store, &err));
  hone_store_info before, after;
  OK(hone_store_get_info(p.task.store, &before, &err));
  ck_assert_int_eq(before.records, first.counts.evaluated + first.counts.simulated);

  p.task.resume = true;
  OK(hone_tune_run(&p.task, &again, &err));
  ck_assert_int_eq(again.counts.reused, again.counts.simulated);
  ck_assert_int_eq(again.counts.simulated, first.counts.simulated);
  ck_assert_int_eq(again.best.sim_cycles, first.best.sim_cycles);
  ck_assert_str_eq(again.best.text, first.best.text);
  OK(hone_store_refresh(p.task.store, &err));
  OK(hone_store_get_info(p.task.store, &after, &err));
  ck_assert_int_eq(after.records, before.records);
  ck_assert_int_eq(after.repeated, before.repeated); /* the best was named so the first time */
  OK(hone_store_query(p.task.store, NULL, seen_once, NULL, &err));
  hone_tune_result_fini(&first);
  hone_tune_result_fini(&again);
  OK(hone_store_close(p.task.store, &err));
  tear_down(&p);
  remove_folder(folder);
}
END_TEST

/* Appends what it sees once more, as if it had taken one cycle. */
static hone_status contradict(void *arg, const hone_record *r, hone_err *e)
{
  hone_record lie = *r;
  lie.cycles = lie.warm_cycles = 1;
  return hone_store_append(arg, &lie, e);
}

START_TEST(resume_evaluates_again_where_records_disagree)
{
  problem p;
  hone_tune_result first, again;
  char folder[] = "/tmp/hone-tune.XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  set_up(&p, 24, 20, 28);
  OK(hone_store_open(folder, HONE_STORE_WRITE, &p.task.store, &err));
  OK(hone_tune_run(&p.task, &first, &err));
  OK(hone_store_refresh(p.task.store, &err));
  hone_store_filter filter = { .evaluator = hone_evaluator_simulator.name };
  OK(hone_store_top(p.task.store, &filter, 1, contradict, p.task.store, &err));
  OK(hone_store_flush(p.task.store, &err));
  OK(hone_store_refresh(p.task.store, &err));
  p.task.resume = true;
  OK(hone_tune_run(&p.task, &again, &err));
  ck_assert_int_eq(again.best.sim_cycles, first.best.sim_cycles);
  ck_assert_int_eq(again.counts.reused, again.counts.simulated - 1);
  hone_tune_result_fini(&first);
  hone_tune_result_fini(&again);
  OK(hone_store_close(p.task.store, &err));
  tear_down(&p);
  remove_folder(folder);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("tune");
  TCase *c = tcase_create("all");
  unit_timeout(c, 60);
  tcase_add_test(c, best_is_between_bound_and_default);
  tcase_add_test(c, a_budget_of_one_is_the_default);
  tcase_add_test(c, a_small_space_is_exhausted);
  tcase_add_test(c, an_interrupt_keeps_the_best_so_far);
  tcase_add_test(c, a_longer_run_begins_with_the_shorter);
  tcase_add_test(c, resume_simulates_nothing_twice);
  tcase_add_test(c, resume_evaluates_again_where_records_disagree);
  suite_add_tcase(s, c);
  return unit_run(s);
}
