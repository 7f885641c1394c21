/* The simulator on programs written by hand, with cycle counts worked out by hand
 * from the timing rules in sim/simulator.h. Figures of the machine: sim_fixture.h. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "tests/unit/unit.h"
#include "tests/unit/sim_fixture.h"
#include "base/arena.h"

typedef struct {
  hone_operator op;
  hone_machine m;
  hone_range block[3 * 4];
  hone_sim_argument args[3];
  hone_sim_options options;
  hone_sim_result r;
  hone_err err;
} bench;

static void bench_init(bench *b, int64_t m, int64_t n, int64_t k)
{
  memset(b, 0, sizeof *b);
  b->op = fixture_matmul(m, n, k);
  b->m = fixture_machine();
  for (int c = 0; c < 4; c++)
    for (int d = 0; d < 3; d++) b->block[3 * c + d] = (hone_range){0, b->op.dim[d].extent};
}

static hone_status bench_run(bench *b, const assembly *a)
{
  uint8_t *bytes;
  size_t n;
  hone_err_init(&b->err);
  hone_sim_result_fini(&b->r);
  ck_assert_msg(hone_program_encode(&a->p, &bytes, &n, &b->err) == HONE_OK, "%s", b->err.message);
  hone_status st = hone_sim_run(bytes, n, &b->op, &b->m, b->block, b->args, &b->options, &b->r, &b->err);
  free(bytes);
  return st;
}

/* Runs and checks what holds of every run; gives the cycles. */
static int64_t cycles_of(bench *b, const assembly *a)
{
  ck_assert_msg(bench_run(b, a) == HONE_OK, "%s", b->err.message);
  for (int u = 0; u < b->r.nunits; u++) {
    int64_t sum = 0;
    for (int i = 0; i < HONE_STALL_COUNT; i++) sum += b->r.unit[u].cycles[i];
    ck_assert_msg(sum == b->r.cycles, "%s", b->r.unit[u].name);
  }
  return b->r.cycles;
}

static int64_t stall(const bench *b, const char *unit, hone_stall cause)
{
  for (int u = 0; u < b->r.nunits; u++)
    if (strcmp(b->r.unit[u].name, unit) == 0) return b->r.unit[u].cycles[cause];
  ck_abort_msg("no unit %s", unit);
}

/* ---- Engines ------------------------------------------------------------------------------ */

static hone_operand in_x(int r0, int r1) { return asm_local(X, HONE_FORMAT_BF16, r0, r1, 64); }
static hone_operand in_w(int r0, int r1) { return asm_local(W, HONE_FORMAT_BF16, r0, r1, 64); }
static hone_operand in_y(int r0, int r1) { return asm_local(Y, HONE_FORMAT_FP32, r0, r1, 64); }

/* Buffers X, W, Y of one slot, semaphore 0 that never blocks: three waits, `count` products. */
static void products(assembly *a, hone_dataflow flow, int count)
{
  asm_init(a);
  asm_buffer(a, SRAM, 1, 0, 1 << 15, X);
  asm_buffer(a, SRAM, 1, 1 << 15, 1 << 15, W);
  asm_buffer(a, ACC, 1, 0, 1 << 16, Y);
  asm_semaphore(a, 0, HONE_NO_BUFFER, 0);
  asm_stream(a, HONE_STREAM_ENGINE, ARRAY);
  for (int b = X; b <= Y; b++) asm_wait(a, 0, 0, b);
  for (int i = 0; i < count; i++) {
    hone_insn_body *x = asm_matmul(a, DIM_M, DIM_N, DIM_K, in_x(DIM_M, DIM_K), in_w(DIM_K, DIM_N), in_y(DIM_M, DIM_N), 0);
    x->dataflow = (uint8_t)flow;
    if (flow == HONE_DATAFLOW_OS) x->row = DIM_M;
  }
  asm_halt(a);
}

START_TEST(matrix_step)
{
  static const struct {
    int m, n, k;
    hone_dataflow flow;
    int64_t rows_per_cycle;
    bool hidden;
    int64_t cycles; /* 4 to issue + busy + latency 10 */
  } cases[] = {
      {16, 4, 4, HONE_DATAFLOW_WS, 1, true, 4 + 16 + 10},
      {8, 4, 4, HONE_DATAFLOW_WS, 1, true, 4 + 8 + 10},
      {7, 4, 4, HONE_DATAFLOW_WS, 1, true, 4 + 8 + 10}, /* at least 8 a pass */
      {9, 4, 4, HONE_DATAFLOW_WS, 1, true, 4 + 9 + 10},
      {17, 4, 4, HONE_DATAFLOW_WS, 1, true, 4 + 16 + 8 + 10}, /* chunks of 16 */
      {16, 5, 4, HONE_DATAFLOW_WS, 1, true, 4 + 2 * 16 + 10}, /* two tiles of W */
      {16, 5, 5, HONE_DATAFLOW_WS, 1, true, 4 + 4 * 16 + 10},
      {16, 4, 4, HONE_DATAFLOW_WS, 2, true, 4 + 8 + 10},
      {16, 4, 4, HONE_DATAFLOW_WS, 1, false, 4 + 16 + 4 + 10}, /* each pass loads W */
      {16, 4, 4, HONE_DATAFLOW_OS, 1, true, 4 + 4 * 8 + 10},   /* k streams, 4 blocks of Y */
      {4, 4, 20, HONE_DATAFLOW_OS, 1, true, 4 + 16 + 8 + 10},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    bench b;
    assembly a;
    bench_init(&b, cases[i].m, cases[i].n, cases[i].k);
    b.m.engine[ARRAY].matrix.load_hidden = cases[i].hidden;
    b.m.engine[ARRAY].matrix.rate[0].cycles_per_row_den = cases[i].rows_per_cycle;
    products(&a, cases[i].flow, 1);
    ck_assert_msg(cycles_of(&b, &a) == cases[i].cycles, "case %d: %lld", (int)i, (long long)b.r.cycles);
    ck_assert_int_eq(b.r.counts.useful[0], cases[i].m * cases[i].n * cases[i].k);
    hone_sim_result_fini(&b.r);
  }
}
END_TEST

START_TEST(steps_follow_without_gap)
{
  bench b;
  assembly a;
  bench_init(&b, 16, 4, 4);
  products(&a, HONE_DATAFLOW_WS, 3);
  ck_assert_int_eq(cycles_of(&b, &a), 4 + 3 * 16 + 10);
  ck_assert_int_eq(stall(&b, "core0.array", HONE_STALL_ISSUE), 4);
  ck_assert_int_eq(stall(&b, "core0.array", HONE_STALL_BUSY), 48);
  ck_assert_int_eq(stall(&b, "core0.array", HONE_STALL_LATENCY), 10);
  ck_assert_int_eq(b.r.counts.steps[0], 3);
  hone_sim_result_fini(&b.r);
}
END_TEST

START_TEST(vector_step)
{
  bench b;
  assembly a;
  bench_init(&b, 16, 4, 4);
  products(&a, HONE_DATAFLOW_WS, 0);
  a.stream[0].unit = VECTOR;
  a.p.ninsns = a.stream[0].count = 3; /* again without the halt */
  hone_insn_body *x = asm_body(&a, HONE_INSN_MAP);
  *x = (hone_insn_body){.stage = 1, .nreads = 1, .read = {in_y(DIM_M, DIM_N)}, .write = in_x(DIM_M, DIM_N), .niter = 2,
                        .iter = {DIM_M, DIM_N}, .apply = {HONE_FUNCTION_RELU, 1, 0}};
  asm_move(&a, HONE_INSN_COPY, Y, ACC, in_y(DIM_M, DIM_N), in_x(DIM_M, DIM_N));
  asm_halt(&a);
  ck_assert_int_eq(cycles_of(&b, &a), 4 + 2 * (5 + 16)); /* 64 elements, 4 a cycle */
  ck_assert_int_eq(b.r.counts.steps[1], 1);
  ck_assert_int_eq(b.r.counts.drains[Y][ACC], 1);
  ck_assert_int_eq(b.r.counts.read_bytes[Y][ACC], 256);
  ck_assert_int_eq(b.r.counts.write_bytes[Y][SRAM], 128);
  hone_sim_result_fini(&b.r);
}
END_TEST

/* ---- DMA and DRAM ------------------------------------------------------------------------ */

/* `count` loads of the whole block of X through one queue, or through two. */
static void loads(assembly *a, int count, int queues)
{
  asm_init(a);
  for (int q = 0; q < queues; q++) {
    asm_buffer(a, SRAM, 1, q << 16, 1 << 16, X);
    if (q == 0) asm_semaphore(a, 0, HONE_NO_BUFFER, 0);
    asm_stream(a, HONE_STREAM_LOAD, q);
    asm_wait(a, 0, 0, q);
    for (int i = 0; i < count; i++)
      asm_move(a, HONE_INSN_LOAD, X, SRAM, asm_dram(X, DIM_M, DIM_K), asm_local(q, HONE_FORMAT_BF16, DIM_M, DIM_K, 64));
    asm_halt(a);
  }
}

/* 1024 bytes in one run: two pieces of 512, DMA 32 and DRAM 64 cycles each.
 * Issued at 2, ready at 52, DMA until 84, DRAM until 84 + 2 * 64, data 100 later. */
START_TEST(one_load)
{
  bench b;
  assembly a;
  bench_init(&b, 16, 4, 32);
  loads(&a, 1, 1);
  ck_assert_int_eq(cycles_of(&b, &a), 2 + 50 + 32 + 128 + 100);
  ck_assert_int_eq(stall(&b, "core0.load0", HONE_STALL_ISSUE), 2);
  ck_assert_int_eq(stall(&b, "core0.load0", HONE_STALL_SETUP), 150);
  ck_assert_int_eq(stall(&b, "core0.load0", HONE_STALL_BUSY), 160);
  ck_assert_int_eq(stall(&b, "dram", HONE_STALL_BUSY), 128);
  ck_assert_int_eq(b.r.dram_requests, 16);
  ck_assert_int_eq(b.r.counts.read_bytes[X][0], 1024);
  ck_assert_int_eq(b.r.counts.fills[X][SRAM], 1);
  hone_sim_result_fini(&b.r);
}
END_TEST

START_TEST(setups_overlap)
{
  bench b;
  assembly a;
  bench_init(&b, 16, 4, 32);
  loads(&a, 2, 1);
  ck_assert_int_eq(cycles_of(&b, &a), 2 + 50 + 32 + 2 * 128 + 100);
  b.m.dma.in_flight = 1; /* the second is issued when the first is there */
  ck_assert_int_eq(cycles_of(&b, &a), 312 + 50 + 32 + 128 + 100);
  b.m.dma.in_flight = 2;
  loads(&a, 1, 2); /* two queues share the DRAM */
  ck_assert_int_eq(cycles_of(&b, &a), 2 + 50 + 32 + 2 * 128 + 100);
  hone_sim_result_fini(&b.r);
}
END_TEST

START_TEST(short_runs_cost_more)
{
  bench b;
  assembly a;
  bench_init(&b, 16, 4, 32);
  b.block[DIM_K].length = 8; /* 16 runs of 16 bytes; 64 each, and 10 * (1 - 16 / 1024) for the row */
  loads(&a, 1, 1);
  ck_assert_int_eq(cycles_of(&b, &a), (int64_t)ceil(2 + 50 + 32 + 16 * (8 + 9.84375) + 100));
  ck_assert_int_eq(b.r.dram_row_misses, 16);
  b.args[X].layout = 1; /* k outermost: one run of 256 bytes */
  ck_assert_int_eq(cycles_of(&b, &a), (int64_t)ceil(2 + 50 + 16 + 32 + 7.5 + 100));
  ck_assert_int_eq(b.r.dram_row_misses, 1);
  b.args[X].layout = 0;
  b.m.dma.burst_bytes = 1024; /* 16 KiB for the DMA: slower than the DRAM; 8 pieces */
  ck_assert_int_eq(cycles_of(&b, &a), (int64_t)ceil(2 + 50 + 1024 + 16 * (8 + 9.84375) / 8 + 100));
  hone_sim_result_fini(&b.r);
}
END_TEST

/* The bus turns to writing in 10 cycles. */
START_TEST(one_store)
{
  bench b;
  assembly a;
  bench_init(&b, 16, 32, 4);
  asm_init(&a);
  asm_buffer(&a, SRAM, 1, 0, 1 << 16, Y);
  asm_semaphore(&a, 0, HONE_NO_BUFFER, 0);
  asm_stream(&a, HONE_STREAM_STORE, 0);
  asm_wait(&a, 0, 0, 0);
  asm_move(&a, HONE_INSN_STORE, Y, SRAM, asm_local(0, HONE_FORMAT_BF16, DIM_M, DIM_N, 32), asm_dram(Y, DIM_M, DIM_N));
  asm_halt(&a);
  ck_assert_int_eq(cycles_of(&b, &a), 2 + 50 + 32 + 10 + 128);
  ck_assert_int_eq(stall(&b, "dram", HONE_STALL_TURNAROUND), 10);
  ck_assert_int_eq(b.r.counts.write_bytes[Y][0], 1024);
  ck_assert_int_eq(b.r.counts.drains[Y][SRAM], 1);
  hone_sim_result_fini(&b.r);
}
END_TEST

/* Loads, and stores when asked, of 32 KiB tiles over m: 1 MiB each way. */
static void stream(assembly *a, bool stores)
{
  enum { TILE = 16 };
  asm_init(a);
  asm_buffer(a, SRAM, 2, 0, 1 << 15, X);
  asm_buffer(a, SRAM, 2, 1 << 16, 1 << 15, Y);
  asm_semaphore(a, 0, HONE_NO_BUFFER, 0);
  asm_stream(a, HONE_STREAM_LOAD, 0);
  asm_loop(a, TILE, DIM_M, 128);
  asm_wait(a, 0, 0, 0);
  asm_move(a, HONE_INSN_LOAD, X, SRAM, asm_dram(X, TILE, DIM_K), asm_local(0, HONE_FORMAT_BF16, TILE, DIM_K, 128));
  asm_end(a);
  asm_halt(a);
  if (!stores) return;
  asm_stream(a, HONE_STREAM_STORE, 0);
  asm_loop(a, TILE, DIM_M, 128);
  asm_wait(a, 0, 0, 1);
  asm_move(a, HONE_INSN_STORE, Y, SRAM, asm_local(1, HONE_FORMAT_BF16, TILE, DIM_N, 128), asm_dram(Y, TILE, DIM_N));
  asm_end(a);
  asm_halt(a);
}

START_TEST(streaming_reaches_the_rate)
{
  bench b;
  assembly a;
  bench_init(&b, 4096, 128, 128);
  b.m.dram.available_permille = 950;
  hone_rate rate = hone_machine_dram_stream(&b.m);
  int64_t least = hone_rate_cycles(rate, 1 << 20);
  stream(&a, false);
  int64_t cycles = cycles_of(&b, &a);
  ck_assert_int_ge(cycles, least);
  ck_assert_int_le(97 * cycles, 100 * least);
  stream(&a, true); /* both ways: turnarounds cost, in batches little */
  cycles = cycles_of(&b, &a);
  ck_assert_int_ge(cycles, 2 * least);
  ck_assert_int_le(95 * cycles, 100 * 2 * least);
  ck_assert_int_gt(stall(&b, "dram", HONE_STALL_TURNAROUND), 0);
  hone_sim_result_fini(&b.r);
}
END_TEST

START_TEST(cores_share_the_dram)
{
  bench b;
  assembly a;
  bench_init(&b, 4096, 128, 128);
  b.m.axis[0].size = 2;
  b.block[DIM_M].length = b.block[3 + DIM_M].start = b.block[3 + DIM_M].length = 2048;
  stream(&a, false);
  int64_t cycles = cycles_of(&b, &a);
  ck_assert_int_ge(cycles, 1 << 17);
  ck_assert_int_le(97 * cycles, 100 << 17);
  ck_assert_int_eq(b.r.counts.read_bytes[X][0], 1 << 20);
  b.block[3 + DIM_M].length = 0; /* the second core has nothing to do */
  cycles_of(&b, &a);
  ck_assert_int_eq(stall(&b, "core1.load0", HONE_STALL_DRAINED), b.r.cycles);
  ck_assert_int_eq(b.r.counts.read_bytes[X][0], 1 << 19);
  hone_sim_result_fini(&b.r);
}
END_TEST

START_TEST(warm_runs_overlap)
{
  bench b;
  assembly a;
  bench_init(&b, 4096, 128, 128);
  b.options.warm = true;
  stream(&a, false);
  cycles_of(&b, &a);
  ck_assert_int_eq(b.r.warm_cycles, 1 << 17); /* latency and setup hide behind the run before */
  ck_assert_int_gt(b.r.cycles, b.r.warm_cycles);
  hone_sim_result_fini(&b.r);
}
END_TEST

/* ---- A whole program ----------------------------------------------------------------------- */

enum { M = 6, N = 5, K = 10, OUT = 3, DATA_X = 0, DATA_W, FREE_X, FREE_W, FREE_Y, DONE_Y, DATA_OUT };

/* k in tiles of 4, X and W double-buffered, sums in ACC, rounded by the vector
 * engine, stored. `need`: what consumers of X and W wait for (1; 0 is a bug). */
static void whole(assembly *a, int64_t need)
{
  enum { TILE = 10 };
  static const int role[] = {0, 0, 1, 1, 1, 3, 0}, guarded[] = {X, W, X, W, Y, Y, OUT}, initial[] = {0, 0, 2, 2, 1, 0, 0};
  hone_operand x = asm_local(X, HONE_FORMAT_BF16, DIM_M, TILE, 4), w = asm_local(W, HONE_FORMAT_BF16, TILE, DIM_N, N);
  hone_operand y = asm_local(Y, HONE_FORMAT_FP32, DIM_M, DIM_N, N), out = asm_local(OUT, HONE_FORMAT_BF16, DIM_M, DIM_N, N);
  asm_init(a);
  asm_buffer(a, SRAM, 2, 0, 64, X);
  asm_buffer(a, SRAM, 2, 128, 64, W);
  asm_buffer(a, ACC, 1, 0, 128, Y);
  asm_buffer(a, SRAM, 1, 256, 64, Y);
  for (int i = 0; i < 7; i++) asm_semaphore(a, initial[i], guarded[i], role[i]);
  asm_stream(a, HONE_STREAM_LOAD, 0);
  asm_loop(a, TILE, DIM_K, 4);
  asm_wait(a, FREE_X, 1, X);
  asm_move(a, HONE_INSN_LOAD, X, SRAM, asm_dram(X, DIM_M, TILE), x);
  asm_signal(a, DATA_X);
  asm_wait(a, FREE_W, 1, W);
  asm_move(a, HONE_INSN_LOAD, W, SRAM, asm_dram(W, TILE, DIM_N), w);
  asm_signal(a, DATA_W);
  asm_end(a);
  asm_halt(a);
  asm_stream(a, HONE_STREAM_STORE, 0);
  asm_wait(a, DATA_OUT, 1, OUT);
  asm_move(a, HONE_INSN_STORE, Y, SRAM, out, asm_dram(Y, DIM_M, DIM_N));
  asm_halt(a);
  asm_stream(a, HONE_STREAM_ENGINE, ARRAY);
  asm_wait(a, FREE_Y, 1, Y);
  asm_loop(a, TILE, DIM_K, 4);
  asm_wait(a, DATA_X, need, X);
  asm_wait(a, DATA_W, need, W);
  asm_matmul(a, DIM_M, DIM_N, TILE, x, w, y, 1);
  asm_signal(a, FREE_X);
  asm_signal(a, FREE_W);
  asm_end(a);
  asm_signal(a, DONE_Y);
  asm_halt(a);
  asm_stream(a, HONE_STREAM_ENGINE, VECTOR);
  asm_wait(a, DONE_Y, 1, Y);
  asm_op(a, HONE_INSN_EXPECT, DATA_OUT, OUT, 0);
  asm_move(a, HONE_INSN_COPY, Y, ACC, y, out);
  asm_signal(a, DATA_OUT);
  asm_signal(a, FREE_Y);
  asm_halt(a);
}

typedef struct {
  uint8_t x[2 * M * K], w[2 * K * N], y[2 * M * N];
} numbers;

static double bf16(const uint8_t *p, int i) { return hone_format_decode(HONE_FORMAT_BF16, p + 2 * i); }

static void bench_numbers(bench *b, numbers *v)
{
  bench_init(b, M, N, K);
  for (int i = 0; i < M * K; i++) hone_format_encode(HONE_FORMAT_BF16, (i * 7 % 23 - 11) / 8.0, v->x + 2 * i);
  for (int i = 0; i < K * N; i++) hone_format_encode(HONE_FORMAT_BF16, (i * 5 % 19 - 9) / 4.0, v->w + 2 * i);
  memset(v->y, 0, sizeof v->y);
  b->args[X].data = v->x;
  b->args[W].data = v->w;
  b->args[Y].data = v->y;
  b->options.functional = true;
}

static bool right(const numbers *v, int m, int n)
{
  double sum = 0; /* exact */
  for (int k = 0; k < K; k++) sum += bf16(v->x, m * K + k) * bf16(v->w, k * N + n);
  return bf16(v->y, m * N + n) == hone_format_round(HONE_FORMAT_BF16, sum);
}

START_TEST(numbers_come_out_right)
{
  bench b;
  assembly a;
  numbers v;
  bench_numbers(&b, &v);
  whole(&a, 1);
  cycles_of(&b, &a);
  for (int i = 0; i < M * N; i++) ck_assert_msg(right(&v, i / N, i % N), "Y[%d,%d] = %g", i / N, i % N, bf16(v.y, i));
  ck_assert_int_eq(b.r.counts.useful[0], M * N * K);
  ck_assert_int_eq(b.r.counts.issued[0], M * 8 * 12); /* n padded to 8; k tiles 4, 4, 2 padded to 4 */
  ck_assert_int_eq(b.r.counts.fills[X][SRAM], 3);
  hone_sim_result_fini(&b.r);
}
END_TEST

START_TEST(missing_waits_are_seen)
{
  bench b;
  assembly a;
  numbers v;
  bench_numbers(&b, &v);
  whole(&a, 0);
  cycles_of(&b, &a);
  ck_assert_msg(isnan(bf16(v.y, 0)), "read before it was loaded, yet %g", bf16(v.y, 0));
  hone_sim_result_fini(&b.r);
}
END_TEST

START_TEST(samples_suffice)
{
  static const uint8_t rows = 1 << 1 | 1 << 4, columns = 1 << 0 | 1 << 3;
  bench b;
  assembly a;
  numbers v;
  bench_numbers(&b, &v);
  whole(&a, 1);
  int64_t all = cycles_of(&b, &a);
  memset(v.y, 0, sizeof v.y);
  b.options.sample[DIM_M] = &rows;
  b.options.sample[DIM_N] = &columns;
  ck_assert_int_eq(cycles_of(&b, &a), all);
  for (int m = 0; m < M; m++)
    for (int n = 0; n < N; n++)
      if ((rows >> m & 1) && (columns >> n & 1)) ck_assert(right(&v, m, n));
  ck_assert(isnan(bf16(v.y, 0 * N + 1))); /* never computed */
  hone_sim_result_fini(&b.r);
}
END_TEST

/* One load of 1024 bytes is there at 312 (one_load), a wait ends, then issue, 8 tiles of W at 16 rows. */
START_TEST(waiting_is_accounted)
{
  bench b;
  assembly a;
  bench_init(&b, 16, 4, 32);
  products(&a, HONE_DATAFLOW_WS, 1);
  a.insn[0].n = 1;
  asm_stream(&a, HONE_STREAM_LOAD, 0);
  asm_wait(&a, 0, 0, X);
  asm_move(&a, HONE_INSN_LOAD, X, SRAM, asm_dram(X, DIM_M, DIM_K), in_x(DIM_M, DIM_K));
  asm_signal(&a, 0);
  asm_halt(&a);
  ck_assert_int_eq(cycles_of(&b, &a), 312 + 3 + 8 * 16 + 10);
  ck_assert_int_eq(stall(&b, "core0.array", HONE_STALL_WAIT_DATA), 311);
  ck_assert_int_eq(stall(&b, "core0.array", HONE_STALL_ISSUE), 4);
  ck_assert_int_eq(stall(&b, "core0.load0", HONE_STALL_DRAINED), b.r.cycles - 312);
  hone_sim_result_fini(&b.r);
}
END_TEST

/* ---- What goes wrong ------------------------------------------------------------------------- */

static void refused(bench *b, const assembly *a, hone_status status, const char *code)
{
  hone_status st = bench_run(b, a);
  ck_assert_msg(st == status && strcmp(b->err.code, code) == 0, "%s %s: %s", hone_status_name(st), b->err.code, b->err.message);
  ck_assert_int_eq(b->r.nunits, 0);
}

START_TEST(deadlock_names_the_waiter)
{
  bench b;
  assembly a;
  bench_init(&b, M, N, K);
  whole(&a, 2); /* never signalled twice per tile */
  refused(&b, &a, HONE_INFEASIBLE, "sim.deadlock");
  ck_assert_msg(strstr(b.err.message, "core0.array instruction 2 for data in X (buffer 0; semaphore 0 at 3 of 4)"),
                "%s", b.err.message);
  b.options.warm = true;
  refused(&b, &a, HONE_INFEASIBLE, "sim.deadlock");
}
END_TEST

START_TEST(watchdog_barks)
{
  bench b;
  assembly a;
  bench_init(&b, 16, 4, 32);
  loads(&a, 1, 1);
  b.options.max_cycles = 311;
  refused(&b, &a, HONE_INFEASIBLE, "sim.watchdog");
  b.options.max_cycles = 312;
  ck_assert_int_eq(cycles_of(&b, &a), 312);
  asm_init(&a); /* a loop that moves nothing */
  asm_semaphore(&a, 0, HONE_NO_BUFFER, 0);
  asm_stream(&a, HONE_STREAM_LOAD, 0);
  asm_loop(&a, 10, DIM_K, 1);
  asm_signal(&a, 0);
  asm_end(&a);
  asm_halt(&a);
  b.options.max_cycles = 32;
  refused(&b, &a, HONE_INFEASIBLE, "sim.watchdog");
  hone_sim_result_fini(&b.r);
}
END_TEST

START_TEST(bounds_are_kept)
{
  bench b;
  assembly a;
  bench_init(&b, 16, 4, 32);
  loads(&a, 1, 1);
  a.buffer[0].slot_bytes = 64 * 2 * 15 + 2 * 32; /* just enough for 16 rows of 64, 32 used */
  cycles_of(&b, &a);
  a.buffer[0].slot_bytes--;
  refused(&b, &a, HONE_INPUT, "sim.bounds");
  a.buffer[0].slot_bytes = (1 << 17) + 1;
  refused(&b, &a, HONE_INPUT, "sim.bounds");
  loads(&a, 1, 1);
  a.body[0].read[0].origin[1] = 1; /* one past X */
  refused(&b, &a, HONE_INPUT, "sim.bounds");
  loads(&a, 1, 1);
  a.insn[0].b = HONE_NO_BUFFER; /* no slot taken */
  refused(&b, &a, HONE_INPUT, "sim.slot");
  loads(&a, 1, 1);
  b.block[DIM_M].start = 1;
  refused(&b, &a, HONE_INPUT, "sim.block");
}
END_TEST

START_TEST(foreign_programs_are_refused)
{
  bench b;
  assembly a;
  bench_init(&b, 16, 4, 32);
  products(&a, HONE_DATAFLOW_WS, 1);
  a.p.nargs = 4;
  refused(&b, &a, HONE_INPUT, "sim.program");
  products(&a, HONE_DATAFLOW_WS, 1);
  a.body[0].read[1].format = HONE_FORMAT_FP16; /* the array has no such rate */
  refused(&b, &a, HONE_INPUT, "sim.program");
  products(&a, HONE_DATAFLOW_WS, 1);
  a.body[0].row = DIM_M; /* no operand has m and n */
  refused(&b, &a, HONE_INPUT, "sim.program");
  loads(&a, 1, 1);
  a.stream[0].unit = 2; /* two load queues only */
  refused(&b, &a, HONE_INPUT, "sim.program");
  loads(&a, 1, 1);
  b.options.functional = true; /* without data */
  refused(&b, &a, HONE_INPUT, "sim.argument");
  b.options.functional = false;
  b.m.tile_machine = false;
  refused(&b, &a, HONE_UNSUPPORTED, "sim.machine");
}
END_TEST

int main(void)
{
  Suite *s = suite_create("simulator");
  TCase *t = tcase_create("programs by hand");
  tcase_add_test(t, matrix_step);
  tcase_add_test(t, steps_follow_without_gap);
  tcase_add_test(t, vector_step);
  tcase_add_test(t, one_load);
  tcase_add_test(t, setups_overlap);
  tcase_add_test(t, short_runs_cost_more);
  tcase_add_test(t, one_store);
  tcase_add_test(t, streaming_reaches_the_rate);
  tcase_add_test(t, cores_share_the_dram);
  tcase_add_test(t, warm_runs_overlap);
  tcase_add_test(t, numbers_come_out_right);
  tcase_add_test(t, missing_waits_are_seen);
  tcase_add_test(t, samples_suffice);
  tcase_add_test(t, waiting_is_accounted);
  tcase_add_test(t, deadlock_names_the_waiter);
  tcase_add_test(t, watchdog_barks);
  tcase_add_test(t, bounds_are_kept);
  tcase_add_test(t, foreign_programs_are_refused);
  suite_add_tcase(s, t);
  return unit_run(s);
}
