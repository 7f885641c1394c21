/* A machine with round figures, a plain matmul, and an assembler for programs
 * written by hand: what the simulator's unit tests share. */
#ifndef HONE_TESTS_UNIT_SIM_FIXTURE_H
#define HONE_TESTS_UNIT_SIM_FIXTURE_H

#include <string.h>

#include "backend/program.h"
#include "sim/simulator.h"

enum { DIM_M, DIM_N, DIM_K, X = 0, W, Y, SRAM = 1, ACC, ARRAY = 0, VECTOR = 1 };

/* One core. DRAM 8 bytes a cycle, latency 100, accesses of 64 bytes, rows of 1024.
 * DMA 16 bytes a cycle, setup 50, two in flight per queue, bursts of 64 bytes.
 * Array 4 x 4, a row a cycle, at least 8 a pass, at most 16 rows, latency 10.
 * Vector 4 elements a cycle, startup 5. */
static inline hone_machine fixture_machine(void)
{
  hone_machine m = {.name = "fixture", .clock_hz = 1000000000, .tile_machine = true, .nlevels = 3, .naxes = 1, .nengines = 2};
  m.memory[0] = (hone_memory){.name = "dram", .capacity_bytes = 1 << 30, .accepts = HONE_ACCEPT_INPUT | HONE_ACCEPT_OUTPUT,
                              .align_bytes = 64, .banks = 4, .ports = 1, .bandwidth = {8, 1}, .latency_cycles = 100};
  m.memory[SRAM] = (hone_memory){.name = "sram", .capacity_bytes = 1 << 17, .per_core = true,
                                 .accepts = HONE_ACCEPT_INPUT | HONE_ACCEPT_OUTPUT, .align_bytes = 1, .banks = 1, .ports = 1,
                                 .bandwidth = {64, 1}, .latency_cycles = 1};
  m.memory[ACC] = m.memory[SRAM];
  m.memory[ACC].accepts = HONE_ACCEPT_ACCUMULATE;
  m.dram = (hone_dram){.access_bytes = 64, .row_bytes = 1024, .banks = 4, .channels = 1, .row_miss_cycles = 40,
                       .turnaround_cycles = 10, .available_permille = 1000};
  m.axis[0] = (hone_fanout){.name = "core", .size = 1};
  m.engine[ARRAY] = (hone_engine){.name = "array", .kind = HONE_ENGINE_MATRIX};
  m.engine[ARRAY].matrix = (hone_matrix){.rows = 4, .columns = 4, .dataflows = 3, .load_cycles = 4, .load_hidden = true, .min_pass_cycles = 8,
                                         .max_stream_rows = 16, .latency_cycles = 10, .operands_in = SRAM, .stationary_in = SRAM, .accumulates_in = ACC, .nrates = 1};
  m.engine[ARRAY].matrix.rate[0] = (hone_array_rate){HONE_FORMAT_BF16, HONE_FORMAT_BF16, HONE_FORMAT_FP32, 1, 1, -1};
  m.engine[VECTOR] = (hone_engine){.name = "vector", .kind = HONE_ENGINE_VECTOR};
  m.engine[VECTOR].vector = (hone_vector){.rate = {{4, 1}, {1, 1}}, .startup_cycles = 5, .reads_from = 6, .writes_to = 6};
  m.dma = (hone_dma){.engines = 2, .load_queues = 2, .store_queues = 1, .engine_rate = {8, 1}, .rate = {16, 1}, .in_flight = 2,
                     .setup_cycles = 50, .burst_bytes = 64, .max_rank = 4};
  m.sequencer = (hone_sequencer){.loop_depth = 8, .semaphores = 64, .address_registers = 64, .issue_slots = 1,
                                 .microcode_bytes = 1 << 16, .issue_cycles = 1};
  return m;
}

/* Y[m,n] = X[m,k] W[k,n], then Y = relu(Y) as a second stage nobody has to use. */
static inline hone_operator fixture_matmul(int64_t m, int64_t n, int64_t k)
{
  static const uint8_t dims[3][2] = {{DIM_M, DIM_K}, {DIM_K, DIM_N}, {DIM_M, DIM_N}};
  int64_t extent[3] = {m, n, k};
  hone_operator op = {.name = "matmul", .ndims = 3, .ntensors = 3, .nstages = 2};
  hone_access access[3];
  memset(access, 0, sizeof access);
  for (int d = 0; d < 3; d++) op.dim[d] = (hone_dim){.name = {"mnk"[d]}, .extent = extent[d], .extent_from = -1, .extent_dim = -1};
  for (int t = 0; t < 3; t++) {
    op.tensor[t] = (hone_tensor){.name = {"XWY"[t]}, .role = t == Y ? HONE_ROLE_OUTPUT : HONE_ROLE_INPUT, .format = HONE_FORMAT_BF16,
                                 .rank = 2, .nlayouts = 2, .layout = {{0, 1}, {1, 0}}};
    access[t].tensor = t;
    for (int a = 0; a < 2; a++) {
      op.tensor[t].extent[a] = extent[dims[t][a]];
      access[t].axis[a].table = -1;
      access[t].axis[a].affine.nterms = 1;
      access[t].axis[a].affine.term[0].dim = dims[t][a];
      access[t].axis[a].affine.term[0].coef = 1;
    }
  }
  op.stage[0] = (hone_stage){.name = "product", .kind = HONE_STAGE_CONTRACT, .dims = 7, .reduced = 4, .write = access[Y], .nreads = 2,
                             .read = {access[X], access[W]}, .accumulator = HONE_FORMAT_FP32};
  op.stage[1] = (hone_stage){.name = "relu", .kind = HONE_STAGE_MAP, .dims = 3, .write = access[Y], .nreads = 1, .read = {access[Y]},
                             .apply = {HONE_FUNCTION_RELU, 1, 0}};
  return op;
}

/* ---- Assembler ------------------------------------------------------------------------ */

typedef struct {
  hone_program p;
  hone_stream stream[8];
  hone_insn insn[128];
  hone_insn_body body[32];
  hone_program_buffer buffer[8];
  hone_program_semaphore semaphore[16];
} assembly;

static inline void asm_init(assembly *a)
{
  memset(a, 0, sizeof *a);
  a->p = (hone_program){.ndims = 3, .nargs = 3, .stream = a->stream, .insn = a->insn, .body = a->body, .buffer = a->buffer,
                        .semaphore = a->semaphore};
}
static inline int asm_buffer(assembly *a, int level, int copies, int64_t base, int64_t slot_bytes, int tensor)
{
  a->buffer[a->p.nbuffers] = (hone_program_buffer){(uint8_t)level, (uint8_t)copies, (uint8_t)tensor, base, slot_bytes};
  return a->p.nbuffers++;
}
static inline int asm_semaphore(assembly *a, int64_t initial, int buffer, int role)
{
  a->semaphore[a->p.nsemaphores] = (hone_program_semaphore){initial, (uint8_t)buffer, (uint8_t)role};
  return a->p.nsemaphores++;
}
/* Instructions that follow belong to this stream. */
static inline void asm_stream(assembly *a, hone_stream_kind kind, int unit)
{
  a->stream[a->p.nstreams++] = (hone_stream){kind, (uint8_t)unit, a->p.ninsns, 0};
}
static inline hone_insn *asm_op(assembly *a, hone_insn_op op, int x, int y, int64_t n)
{
  hone_insn *i = &a->insn[a->p.ninsns++];
  *i = (hone_insn){.op = op, .a = (uint8_t)x, .b = (uint8_t)y, .n = n, .body = -1};
  a->stream[a->p.nstreams - 1].count++;
  return i;
}
static inline void asm_wait(assembly *a, int semaphore, int64_t n, int rotate) { asm_op(a, HONE_INSN_WAIT, semaphore, rotate, n); }
static inline void asm_signal(assembly *a, int semaphore) { asm_op(a, HONE_INSN_SIGNAL, semaphore, HONE_NO_BUFFER, 1); }
static inline void asm_loop(assembly *a, int range, int parent, int64_t step) { asm_op(a, HONE_INSN_LOOP, range, parent, step); }
static inline void asm_end(assembly *a) { asm_op(a, HONE_INSN_END, 0, HONE_NO_BUFFER, 0); }
static inline void asm_halt(assembly *a) { asm_op(a, HONE_INSN_HALT, 0, HONE_NO_BUFFER, 0); }

/* A box over ranges r0, r1 in the current slot, rows of `stride` elements. */
static inline hone_operand asm_local(int buffer, hone_format f, int r0, int r1, int stride)
{
  return (hone_operand){.buffer = (uint8_t)buffer, .format = (uint8_t)f, .rank = 2, .inner = {(uint8_t)r0, (uint8_t)r1},
                        .outer = {HONE_NO_RANGE, HONE_NO_RANGE}, .stride = {stride, 1}};
}
static inline hone_operand asm_dram(int arg, int r0, int r1)
{
  return (hone_operand){.buffer = HONE_NO_BUFFER, .arg = (uint8_t)arg, .format = HONE_FORMAT_BF16, .rank = 2,
                        .inner = {(uint8_t)r0, (uint8_t)r1}, .outer = {HONE_NO_RANGE, HONE_NO_RANGE}};
}
static inline hone_insn_body *asm_body(assembly *a, hone_insn_op op)
{
  asm_op(a, op, 0, HONE_NO_BUFFER, 0)->body = a->p.nbodies;
  return &a->body[a->p.nbodies++];
}
static inline void asm_move(assembly *a, hone_insn_op op, int tensor, int level, hone_operand from, hone_operand to)
{
  *asm_body(a, op) = (hone_insn_body){.nreads = 1, .read = {from}, .write = to, .tensor = (uint8_t)tensor, .level = (uint8_t)level,
                                      .drain = tensor == Y};
}
/* Weight-stationary product over ranges m, n, k; zero_mask as in program.h. */
static inline hone_insn_body *asm_matmul(assembly *a, int m, int n, int k, hone_operand x, hone_operand w, hone_operand y, uint32_t zero_mask)
{
  hone_insn_body *b = asm_body(a, HONE_INSN_MATMUL);
  *b = (hone_insn_body){.nreads = 2, .read = {x, w}, .write = y, .niter = 3, .iter = {(uint8_t)m, (uint8_t)n, (uint8_t)k},
                        .row = (uint8_t)k, .column = (uint8_t)n, .dataflow = HONE_DATAFLOW_WS, .zero_mask = zero_mask};
  return b;
}

#endif
