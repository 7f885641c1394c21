/* Bounds worked out by hand. */
#include "config.h"

#include <check.h>
#include <stdio.h>

#include "cost/model.h"
#include "tests/unit/unit.h"

static hone_operator op;
static hone_machine m;
static hone_err err;

static hone_bound bound(const char *machine, hone_format f, int64_t mm, int64_t n, int64_t k)
{
  hone_bound b;
  char path[512];
  hone_size sizes[] = {{"m", mm}, {"n", n}, {"k", k}};
  hone_format_choice format = {NULL, f};
  snprintf(path, sizeof path, HONE_SRCDIR "/data/machines/%s.yaml", machine);
  ck_assert_msg(hone_machine_load(path, &m, &err) == HONE_OK, "%s", err.message);
  ck_assert_msg(hone_operator_load(HONE_SRCDIR "/spaces/matmul.yaml", sizes, 3, &format, 1, NULL, 0, &op, &err) == HONE_OK,
                "%s", err.message);
  ck_assert_msg(hone_bound_cycles(&op, &m, &b, &err) == HONE_OK, "%s", err.message);
  ck_assert_int_eq(b.cycles, b.first_fill_cycles + b.last_drain_cycles +
                                 (b.limit[0] == 'm'   ? b.matrix_cycles
                                  : b.limit[0] == 'v' ? b.vector_cycles
                                                      : b.dram_cycles));
  return b;
}

/* 16 x 32 blocks of 128 x 128 stream 2048 rows each, one a cycle and core; then
 * 3120 to set the first load up, 960 until it is there; 256 until the array is
 * empty, 250 (100 at 0.96 GHz) to start the move, 3120 to set the store up. */
START_TEST(prefill)
{
  hone_bound b = bound("trainium2-core", HONE_FORMAT_BF16, 2048, 4096, 2048);
  ck_assert_str_eq(b.limit, "matrix");
  ck_assert_int_eq(b.matrix_cycles, 16 * 32 * 2048);
  ck_assert_int_eq(b.first_fill_cycles, 3120 + 960);
  ck_assert_int_ge(b.last_drain_cycles, 256 + 3120 + 200);
  ck_assert_int_le(b.last_drain_cycles, 256 + 3120 + 250);
}
END_TEST

/* One row: 2 * (4096 + 4096 * 4096 + 4096) bytes at 362.5 GB/s * 0.95 and 2.4 GHz. */
START_TEST(decode)
{
  hone_bound b = bound("trainium2-core", HONE_FORMAT_BF16, 1, 4096, 4096);
  double want = 2.0 * (4096 + 4096.0 * 4096 + 4096) / (362.5e9 * 0.95 / 2.4e9);
  ck_assert_str_eq(b.limit, "dram");
  ck_assert_int_eq(b.dram_cycles, (int64_t)want);
  ck_assert_int_eq(b.first_fill_cycles, 3120);
}
END_TEST

/* Passes of fewer rows than the least take the least; edge blocks count whole. Two
 * cores with 5 columns at most: ceil(17 / 8) * ceil(5 / 8) blocks of 8 cycles for
 * 1 row. On this machine either operand may be held, and the output. */
START_TEST(padding)
{
  bound("teaching", HONE_FORMAT_BF16, 1, 9, 17);
  hone_bound b;
  m.memory[0].bandwidth = (hone_rate){1000, 1}; /* no reason to use one core only */
  m.dma.rate = m.dma.engine_rate = (hone_rate){1000, 1};
  ck_assert(hone_bound_cycles(&op, &m, &b, &err) == HONE_OK);
  int64_t weights = 3 * 1 * 8, inputs = 3 * 1 * 8, output = 1 * 1 * 17, best = inputs < output ? inputs : output;
  ck_assert_int_eq(b.matrix_cycles, best < weights ? best : weights);
}
END_TEST

/* Of all ways to cut rows and columns over 48 cores: each core loads the rows and
 * the columns it needs, so X comes once for every cut of n and W once for every
 * cut of m; a block of the array streams two cycles a row, 128 at least. */
START_TEST(cores_load_copies)
{
  const int64_t mm = 2048, n = 4096, k = 4096;
  hone_bound b = bound("napier-public", HONE_FORMAT_BF16, mm, n, k);
  double best = 1e18, rate = 4.8e12 * 0.95 / 1.33e9;
  for (int64_t i = 1; i <= 48; i++)
    for (int64_t j = 1; i * j <= 48; j++) {
      int64_t rows = (mm + i - 1) / i, columns = (n + j - 1) / j;
      int64_t weights = k / 128 * ((columns + 127) / 128) * (2 * rows > 128 ? 2 * rows : 128);
      int64_t inputs = k / 128 * ((rows + 127) / 128) * (2 * columns > 128 ? 2 * columns : 128);
      double matrix = (double)(weights < inputs ? weights : inputs);
      double dram = 2.0 * (double)(mm * k * j + k * n * i + mm * n) / rate;
      if ((matrix > dram ? matrix : dram) < best) best = matrix > dram ? matrix : dram;
    }
  ck_assert_int_ge(b.cycles, (int64_t)best);
  ck_assert_int_le(b.cycles, (int64_t)best + 133 + 532 + 256 + 32 + 133 + 1000);
  m.memory[1].per_core = false; /* then it could come once */
  ck_assert(hone_bound_cycles(&op, &m, &b, &err) == HONE_OK);
  ck_assert_int_eq(b.matrix_cycles, k / 128 * (n / 128) * 2 * mm / 48);
}
END_TEST

/* 4096^3 int8 against 256 KiB + 64 KiB and the array: 2 MACs / sqrt(S) - 2 S bytes
 * is more than the 3 * 2^24 compulsory ones. */
START_TEST(capacity_limited)
{
  hone_bound b = bound("gemmini-default", HONE_FORMAT_INT8, 4096, 4096, 4096);
  double s = (256 + 64) * 1024 + 2 * 16 * 16, bytes = 2 * 4096.0 * 4096 * 4096 / 572.881 - 2 * s;
  ck_assert(s < 572.881 * 572.881 && s > 572.88 * 572.88);
  ck_assert(bytes > 4 * 3 * 16777216.0);
  double rate = 16 * 0.96;
  ck_assert_int_ge(b.dram_cycles, (int64_t)(bytes / rate * 0.999));
  ck_assert_int_le(b.dram_cycles, (int64_t)(bytes / rate * 1.001));
}
END_TEST

START_TEST(no_engine)
{
  hone_bound b;
  bound("gemmini-default", HONE_FORMAT_INT8, 8, 8, 8);
  hone_machine gemmini = m;
  bound("teaching", HONE_FORMAT_BF16, 8, 8, 8);
  ck_assert(hone_bound_cycles(&op, &gemmini, &b, &err) == HONE_INFEASIBLE);
  ck_assert_str_eq(err.code, "bound.no-engine");
}
END_TEST

int main(void)
{
  Suite *s = suite_create("bound");
  TCase *t = tcase_create("by hand");
  tcase_add_test(t, prefill);
  tcase_add_test(t, decode);
  tcase_add_test(t, padding);
  tcase_add_test(t, cores_load_copies);
  tcase_add_test(t, capacity_limited);
  tcase_add_test(t, no_engine);
  suite_add_tcase(s, t);
  return unit_run(s);
}
