/* What must hold of the model whatever the case: parts sum to the total, work and
 * traffic cannot be less than the operator needs, more bandwidth never slows,
 * batches give the same bits with any number of threads, and sizes up to 2^40
 * give a right answer or OVERFLOW, never a wrapped one. */
#include "config.h"

#include <check.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/model.h"
#include "lib/case_count.h"
#include "tests/lib/cases.h"
#include "tests/unit/unit.h"

enum { CASES = 700, SEED = 2, BATCH = 64, HUGE_CASES = 400 };

static hone_err err;

static hone_cost evaluate(const hone_operator *op, const hone_machine *m, const hone_schedule *s, const char *text)
{
  hone_model *model;
  hone_cost cost;
  ck_assert_msg(hone_model_new(op, m, &model, &err) == HONE_OK, "%s", err.message);
  hone_reason bad = hone_model_evaluate(model, s, &cost);
  ck_assert_msg(!bad, "%s: %s", hone_reason_text(bad), text);
  hone_model_free(model);
  return cost;
}

static void parts_sum(const test_case *c, const hone_cost *k)
{
  int64_t sum = 0;
  for (int i = 0; i < HONE_CAUSE_COUNT; i++) {
    ck_assert_msg(k->by_cause[i] >= 0, "%s is negative: %s", hone_cause_name((hone_cause)i), c->text);
    sum += k->by_cause[i];
  }
  ck_assert_msg(sum == k->cycles, "parts sum to %lld, not %lld: %s", (long long)sum, (long long)k->cycles, c->text);
}

static void enough_work(const test_case *c, const hone_cost *k)
{
  for (int s = 0; s < c->op.nstages; s++) {
    int64_t points;
    ck_assert(hone_stage_useful(&c->op, s, &points));
    ck_assert_msg(k->counts.useful[s] == points, "useful %lld, not %lld: %s", (long long)k->counts.useful[s],
                  (long long)points, c->text);
    ck_assert_msg(k->counts.issued[s] >= points, "issued below useful: %s", c->text);
  }
  for (int t = 0; t < c->op.ntensors; t++) {
    int64_t bytes;
    if (c->op.tensor[t].role == HONE_ROLE_INTERMEDIATE) continue;
    ck_assert(hone_tensor_compulsory(&c->op, t, &bytes));
    bool output = c->op.tensor[t].role == HONE_ROLE_OUTPUT;
    int64_t moved = output ? k->counts.write_bytes[t][0] : k->counts.read_bytes[t][0];
    ck_assert_msg(moved >= bytes, "tensor %s: %lld bytes of %lld: %s", c->op.tensor[t].name, (long long)moved,
                  (long long)bytes, c->text);
  }
}

static void bandwidth_helps(test_case *c, const hone_cost *k)
{
  c->m.memory[0].bandwidth.num *= 2;
  c->m.dma.rate.num *= 2;
  c->m.dma.engine_rate.num *= 2;
  hone_cost faster = evaluate(&c->op, &c->m, &c->s, c->text);
  ck_assert_msg(faster.cycles <= k->cycles, "twice the bandwidth: %lld cycles, not %lld: %s", (long long)faster.cycles,
                (long long)k->cycles, c->text);
}

START_TEST(invariants)
{
  int done = 0;
  for (uint64_t i = 0; done < case_count(CASES); i++) {
    test_case c;
    if (!case_draw(SEED, i, NULL, &c)) continue;
    hone_cost k = evaluate(&c.op, &c.m, &c.s, c.text);
    hone_bound b;
    ck_assert_msg(hone_bound_cycles(&c.op, &c.m, &b, &err) == HONE_OK, "%s", err.message);
    ck_assert_msg(b.cycles <= k.cycles, "model %lld below bound %lld: %s", (long long)k.cycles, (long long)b.cycles, c.text);
    parts_sum(&c, &k);
    enough_work(&c, &k);
    bandwidth_helps(&c, &k);
    case_fini(&c);
    done++;
  }
}
END_TEST

static bool same(const hone_cost *a, const hone_cost *b)
{
  return a->cycles == b->cycles && !memcmp(a->by_cause, b->by_cause, sizeof a->by_cause) && a->bottleneck == b->bottleneck &&
         a->busy_matrix == b->busy_matrix && a->busy_vector == b->busy_vector && a->busy_dram == b->busy_dram &&
         a->busy_dma == b->busy_dma && a->energy_fj == b->energy_fj && !memcmp(&a->counts, &b->counts, sizeof a->counts);
}

/* Some schedules illegal, so that reasons are compared too. */
START_TEST(batch_is_scalar)
{
  static hone_schedule s[BATCH];
  static hone_cost one[BATCH], many[BATCH];
  hone_reason reason[BATCH], again[BATCH];
  hone_rng r;
  test_case c;
  hone_model *model;
  hone_rng_init(&r, SEED);
  ck_assert(case_draw(SEED, 11, NULL, &c));
  ck_assert(hone_model_new(&c.op, &c.m, &model, &err) == HONE_OK);
  for (int i = 0; i < BATCH; i++) {
    s[i] = c.s;
    case_draw_schedule(&r, &c.op, &c.m, &c.params, 3000, &s[i]);
    if (i % 9 == 8) s[i].tile[1][0] = s[i].tile[0][0] + 1;
    reason[i] = hone_model_evaluate(model, &s[i], &one[i]);
    ck_assert((reason[i] != HONE_REASON_NONE) == (i % 9 == 8));
  }
  for (int threads = 1; threads <= 2; threads++) {
    omp_set_num_threads(threads);
    hone_model_evaluate_batch(model, BATCH, s, again, many);
    for (int i = 0; i < BATCH; i++) {
      ck_assert_int_eq(reason[i], again[i]);
      if (!reason[i]) ck_assert_msg(same(&one[i], &many[i]), "%d threads, schedule %d: %s", threads, i, c.text);
    }
  }
  hone_model_free(model);
  case_fini(&c);
}
END_TEST

static int64_t huge(hone_rng *r)
{
  int bits = (int)hone_rng_below(r, 41);
  return (INT64_C(1) << bits) + (bits ? hone_rng_below(r, INT64_C(1) << bits) : 0);
}

START_TEST(huge_sizes)
{
  static const char *const machines[] = {"teaching", "trainium2-core"};
  int fitted = 0, overflowed = 0;
  hone_rng r;
  hone_rng_init(&r, SEED);
  for (int i = 0; i < HUGE_CASES; i++) {
    hone_operator op;
    hone_machine m;
    hone_params p;
    hone_model *model;
    hone_schedule s;
    hone_cost k;
    char path[512];
    hone_size sizes[] = {{"b", 1}, {"m", huge(&r)}, {"n", huge(&r)}, {"k", huge(&r)}};
    hone_format_choice format = {NULL, HONE_FORMAT_BF16};
    snprintf(path, sizeof path, HONE_SRCDIR "/data/machines/%s.yaml", machines[i % 2]);
    ck_assert(hone_machine_load(path, &m, &err) == HONE_OK);
    hone_status status = hone_operator_load(HONE_SRCDIR "/spaces/matmul.yaml", sizes, 4, &format, 1, NULL, 0, &op, &err);
    if (status != HONE_OK) { /* a tensor alone is beyond 64 bits */
      ck_assert_msg(status == HONE_OVERFLOW || status == HONE_INPUT, "%s", err.message);
      continue;
    }
    ck_assert_msg(hone_params_new(&op, &m, &p, &err) == HONE_OK, "%s", err.message);
    hone_schedule_init(&op, &m, &s);
    hone_schedule_normalize(&op, &m, &s);
    ck_assert(hone_model_new(&op, &m, &model, &err) == HONE_OK);
    hone_schedule drawn;
    if (i % 3 && case_draw_schedule(&r, &op, &m, &p, INT64_MAX, &drawn)) s = drawn;
    hone_reason bad = hone_model_evaluate(model, &s, &k);
    if (bad) {
      ck_assert_msg(bad == HONE_REASON_OVERFLOW || bad == HONE_REASON_LOOPS, "%s", hone_reason_text(bad));
      overflowed += bad == HONE_REASON_OVERFLOW;
    } else {
      __int128 points = (__int128)sizes[1].value * sizes[2].value * sizes[3].value;
      ck_assert_msg(points == k.counts.useful[0], "useful wraps at m=%lld n=%lld k=%lld", (long long)sizes[1].value,
                    (long long)sizes[2].value, (long long)sizes[3].value);
      ck_assert(k.counts.issued[0] >= k.counts.useful[0] && k.counts.steps[0] == case_steps(&op, &m, &s));
      ck_assert_msg(k.cycles > 0, "%lld cycles", (long long)k.cycles);
      ck_assert_int_ge(k.counts.read_bytes[0][0], 2 * sizes[1].value * sizes[3].value);
      fitted++;
    }
    hone_model_free(model);
    hone_params_free(&p);
  }
  ck_assert_msg(fitted > 20 && overflowed > 20, "too one-sided: %d fit, %d do not", fitted, overflowed);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("model properties");
  TCase *t = tcase_create("random cases");
  printf("seed %d\n", SEED);
  unit_timeout(t, 120);
  tcase_add_test(t, invariants);
  tcase_add_test(t, batch_is_scalar);
  tcase_add_test(t, huge_sizes);
  suite_add_tcase(s, t);
  return unit_run(s);
}
