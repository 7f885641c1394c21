/* The simulator on compiled random schedules: its counters equal the walker's
 * field by field, every unit's cycles add up, time is not below what the work
 * needs and the bound, and its numbers are those of the reference interpreter. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/case_count.h"
#include "tests/lib/cases.h"
#include "tests/lib/walker.h"
#include "tests/unit/unit.h"
#include "backend/backend.h"
#include "base/arena.h"
#include "cost/model.h"
#include "ir/reference.h"
#include "sim/simulator.h"

enum { CASES = 2000, NUMERIC_CASES = 300, SEED = 1 };

/* False: the allocator or the microcode memory refused; counted by the caller. */
static bool compile(const test_case *c, uint8_t **bytes, size_t *n)
{
  hone_program *p = NULL;
  hone_reason reason = HONE_REASON_NONE;
  hone_why why;
  hone_err err;
  ck_assert_msg(hone_backend_compile(&c->op, &c->m, &c->s, &p, &reason, &why, &err) == HONE_OK, "%s: %s", err.message, c->text);
  if (reason) return false;
  ck_assert_msg(hone_program_encode(p, bytes, n, &err) == HONE_OK, "%s: %s", err.message, c->text);
  hone_program_free(p);
  return true;
}

static void units_add_up(const test_case *c, const hone_sim_result *r)
{
  for (int u = 0; u < r->nunits; u++) {
    int64_t sum = 0, least = 0;
    for (int i = 0; i < HONE_STALL_COUNT; i++) {
      sum += r->unit[u].cycles[i];
      least = hone_min64(least, r->unit[u].cycles[i]);
    }
    ck_assert_msg(sum == r->cycles && least == 0, "%s: %lld of %lld cycles: %s", r->unit[u].name, (long long)sum, (long long)r->cycles, c->text);
  }
}

/* No faster than the DRAM streams, nor than the bound of the cost model. */
static void limits_hold(const test_case *c, const hone_sim_result *r)
{
  int64_t bytes = 0;
  hone_bound bound;
  hone_err err;
  for (int t = 0; t < c->op.ntensors; t++) bytes += r->counts.read_bytes[t][0] + r->counts.write_bytes[t][0];
  int64_t least = hone_rate_cycles(hone_machine_dram_stream(&c->m), bytes);
  ck_assert_msg(r->cycles >= least, "%lld cycles, DRAM alone needs %lld: %s", (long long)r->cycles, (long long)least, c->text);
  ck_assert_msg(r->warm_cycles > 0 && r->warm_cycles <= r->cycles, "warm %lld, cold %lld: %s", (long long)r->warm_cycles,
                (long long)r->cycles, c->text);
  ck_assert_msg(hone_bound_cycles(&c->op, &c->m, &bound, &err) == HONE_OK && bound.cycles <= r->cycles, "%lld cycles, bound %lld: %s",
                (long long)r->cycles, (long long)bound.cycles, c->text);
}

/* Matrix engines are busy for exactly what ir says their steps take. */
typedef struct {
  const test_case *c;
  int64_t busy[HONE_MAX_ENGINES][64]; /* by core */
} matrix_time;

static void add_step(void *arg, const walk_event *e)
{
  matrix_time *x = arg;
  const test_case *c = x->c;
  if (e->kind != WALK_STEP || c->op.stage[e->stage].kind != HONE_STAGE_CONTRACT) return;
  hone_step_work w;
  hone_contract_step(&c->op, &c->m, &c->s, e->stage, e->range, &w);
  x->busy[c->s.engine[e->stage]][e->instance] += w.busy_cycles;
}

static void engines_take_their_time(const matrix_time *x, const hone_sim_result *r)
{
  const hone_machine *m = &x->c->m;
  for (int core = 0; core < hone_machine_cores(m); core++)
    for (int e = 0; e < m->nengines; e++) {
      char name[HONE_MAX_NAME + 8];
      snprintf(name, sizeof name, "core%d.%s", core, m->engine[e].name);
      int64_t busy = 0;
      for (int u = 0; u < r->nunits; u++)
        if (strcmp(r->unit[u].name, name) == 0) busy = r->unit[u].cycles[HONE_STALL_BUSY];
      ck_assert_msg(m->engine[e].kind != HONE_ENGINE_MATRIX || busy == x->busy[e][core], "%s busy %lld, not %lld: %s", name,
                    (long long)busy, (long long)x->busy[e][core], x->c->text);
    }
}

START_TEST(counts_agree)
{
  int compared = 0, refused = 0;
  for (uint64_t i = 0; compared < case_count(CASES); i++) {
    test_case c;
    uint8_t *bytes;
    size_t n;
    if (!case_draw(SEED, i, NULL, &c)) continue;
    compared++;
    if (!compile(&c, &bytes, &n)) {
      refused++;
      case_fini(&c);
      continue;
    }
    hone_counts walked;
    hone_sim_result r;
    hone_err err;
    hone_range *block = hone_sim_blocks(&c.op, &c.m, &c.s);
    hone_sim_options options = {.warm = i % 4 == 0};
    matrix_time time = {.c = &c};
    ck_assert_int_le(hone_machine_cores(&c.m), 64);
    ck_assert_msg(walker_run(&c.op, &c.m, &c.s, 100000, &walked, add_step, &time) >= 0, "too many steps: %s", c.text);
    hone_status st = hone_sim_run(bytes, n, &c.op, &c.m, block, NULL, &options, &r, &err);
    ck_assert_msg(st == HONE_OK, "%s: %s", err.message, c.text);
    const char *differs = walker_compare(&c.op, &r.counts, &walked);
    ck_assert_msg(!differs, "simulator %s: %s", differs, c.text);
    units_add_up(&c, &r);
    engines_take_their_time(&time, &r);
    limits_hold(&c, &r);
    hone_sim_result_fini(&r);
    free(block);
    free(bytes);
    case_fini(&c);
  }
  ck_assert_msg(refused * 50 <= case_count(CASES), "%d of %d legal schedules were not compiled", refused, case_count(CASES));
}
END_TEST

/* ---- Numbers ------------------------------------------------------------------------ */

static double random_value(hone_rng *r, hone_format f)
{
  if (hone_format_is_integer(f)) return (double)(hone_rng_below(r, 11) - 5);
  return hone_format_round(f, 2 * hone_rng_unit(r) - 1);
}

typedef struct {
  double *value[HONE_MAX_TENSORS];
  hone_sim_argument args[HONE_MAX_TENSORS];
} tensors;

static void tensors_init(const test_case *c, hone_rng *r, tensors *x)
{
  *x = (tensors){0};
  for (int t = 0; t < c->op.ntensors; t++) {
    int64_t n = hone_tensor_elements(&c->op, t);
    x->value[t] = hone_heap_alloc((size_t)n, sizeof(double));
    x->args[t].layout = c->s.layout[t];
    x->args[t].data = hone_heap_alloc((size_t)hone_format_bytes(c->op.tensor[t].format, n), 1);
    for (int64_t i = 0; c->op.tensor[t].role == HONE_ROLE_INPUT && i < n; i++) x->value[t][i] = random_value(r, c->op.tensor[t].format);
    if (c->op.tensor[t].role == HONE_ROLE_INPUT) hone_reference_encode(&c->op, t, c->s.layout[t], x->value[t], x->args[t].data);
  }
}

static void tensors_fini(const test_case *c, tensors *x)
{
  for (int t = 0; t < c->op.ntensors; t++) {
    free(x->value[t]);
    free(x->args[t].data);
  }
}

/* A final rounding either way, and fp32 sums in another order. */
static double tolerance(hone_format f, double magnitude)
{
  double unit = f == HONE_FORMAT_FP32 ? 0x1p-18 : f == HONE_FORMAT_BF16 ? 0x1p-7 : f == HONE_FORMAT_FP16 ? 0x1p-9 : 0x1p-2;
  return hone_format_is_integer(f) ? 0 : unit * (1 + fabs(magnitude));
}

static void numbers_agree(const test_case *c, const tensors *x)
{
  for (int t = 0; t < c->op.ntensors; t++) {
    if (c->op.tensor[t].role != HONE_ROLE_OUTPUT) continue;
    int64_t n = hone_tensor_elements(&c->op, t);
    double *got = hone_heap_alloc((size_t)n, sizeof *got);
    hone_reference_decode(&c->op, t, c->s.layout[t], x->args[t].data, got);
    for (int64_t i = 0; i < n; i++) {
      double want = x->value[t][i], allowed = tolerance(c->op.tensor[t].format, want);
      ck_assert_msg(fabs(got[i] - want) <= allowed, "%s[%lld] = %.9g, not %.9g: %s", c->op.tensor[t].name, (long long)i, got[i], want, c->text);
    }
    free(got);
  }
}

START_TEST(numbers_are_right)
{
  const case_options small = {.max_points = 1 << 16, .max_steps = 1000};
  int compared = 0;
  for (uint64_t i = 0; compared < case_count(NUMERIC_CASES); i++) {
    test_case c;
    uint8_t *bytes;
    size_t n;
    tensors x;
    hone_sim_result r;
    hone_err err;
    hone_rng rng;
    if (!case_draw(SEED + 1, i, &small, &c)) continue;
    compared++;
    if (!compile(&c, &bytes, &n)) {
      case_fini(&c);
      continue;
    }
    hone_rng_init(&rng, i);
    tensors_init(&c, &rng, &x);
    ck_assert_msg(hone_reference_run(&c.op, x.value, &err) == HONE_OK, "%s: %s", err.message, c.text);
    hone_range *block = hone_sim_blocks(&c.op, &c.m, &c.s);
    hone_sim_options options = {.functional = true};
    hone_status st = hone_sim_run(bytes, n, &c.op, &c.m, block, x.args, &options, &r, &err);
    ck_assert_msg(st == HONE_OK, "%s: %s", err.message, c.text);
    numbers_agree(&c, &x);
    hone_sim_result_fini(&r);
    free(block);
    free(bytes);
    tensors_fini(&c, &x);
    case_fini(&c);
  }
}
END_TEST

int main(void)
{
  Suite *s = suite_create("simulator against walker and reference");
  TCase *t = tcase_create("random cases");
  printf("seed %d, %d cases, %d with numbers\n", SEED, case_count(CASES), case_count(NUMERIC_CASES));
  unit_timeout(t, 120);
  tcase_add_test(t, counts_agree);
  tcase_add_test(t, numbers_are_right);
  suite_add_tcase(s, t);
  return unit_run(s);
}
