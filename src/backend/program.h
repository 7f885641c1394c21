/* The program format: what the backend emits and the simulator executes. The
 * bytes are the program; this header gives the decoded form and encode, decode.
 *
 * A program is one set of instruction streams, run by every core; a core's
 * instance number selects its root ranges (the block of each dim). Streams run
 * concurrently and in order, one per engine and DMA queue, and meet only at
 * semaphores (per core). Nothing else orders them. An engine's instruction sees
 * the results of those before it in its stream; transfers of one DMA queue may
 * overlap and see each other only through semaphores. A core with an empty root
 * range has no work and executes nothing.
 *
 * Range registers. 0 .. ndims-1 hold the instance's blocks {start, length}. LOOP
 * a, b, step runs its body for each piece of range b: start = b.start + i*step,
 * length = min(step, what is left); no body when b.length is 0. Range registers
 * are per stream.
 *
 * Predicates. An instruction executes when both parts hold, over the loops open
 * around it in its stream, bit 0 the outermost:
 *   visit  ALWAYS | NEW | LAST with mask K  (ir/events.h gives the counter rule)
 *   edge   ALWAYS | FIRST: all loops of mask E at counter 0 | NOT_FIRST |
 *          LAST: all at their last piece | NOT_LAST
 *
 * Semaphores count up from an initial value. Each stream keeps its own
 * `expected` per semaphore, starting at 0.
 *
 * Buffers (address registers). Buffer b is `copies` slots of `slot_bytes` from
 * `base` in a memory. Each stream keeps its own current slot per buffer, before
 * the first rotation none; a rotation moves to the next slot modulo copies,
 * beginning with slot 0. In a memory that the cores share, each core has its own
 * region of capacity / cores bytes.
 *
 * Operands. A local operand is a box in the current slot of a buffer: elements
 * dense, axis a has stride[a] elements. The box starts at the element offset
 * sum over axes of (start of range inner[a] - start of range outer[a]) * stride[a]
 * and is length of range inner[a] long on each axis; outer = 255 means offset 0.
 * A DRAM operand is argument `arg` at the box given by ranges inner[a], moved by
 * origin[a]; strides and base, or an address per index of the scattered axes, are bound at load. inner = 255 is the range {0, 1}
 * (an axis no dim runs along). */
#ifndef HONE_BACKEND_PROGRAM_H
#define HONE_BACKEND_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "ir/format.h"
#include "ir/function.h"
#include "ir/limits.h"
#include "ir/machine.h"
#include "ir/operator.h"

#define HONE_PROGRAM_VERSION 2

typedef enum {
#define HONE_INSN(id, name, engines, timing, help) HONE_INSN_##id,
#include "backend/isa.def"
#undef HONE_INSN
  HONE_INSN_COUNT
} hone_insn_op;

typedef enum { HONE_VISIT_ALWAYS, HONE_VISIT_NEW, HONE_VISIT_LAST } hone_visit;
typedef enum { HONE_EDGE_ALWAYS, HONE_EDGE_FIRST, HONE_EDGE_NOT_FIRST, HONE_EDGE_LAST, HONE_EDGE_NOT_LAST } hone_edge;

enum { HONE_NO_BUFFER = 255, HONE_NO_RANGE = 255, HONE_MAX_RANGES = 64, HONE_MAX_ITER = 8 };

typedef struct {
  uint8_t visit, edge;
  uint32_t visit_mask, edge_mask; /* over open loops, bit 0 outermost */
} hone_predicate;

/* buffer = HONE_NO_BUFFER: DRAM, argument `arg`. */
typedef struct {
  uint8_t buffer, arg, format, rank;
  uint8_t inner[HONE_MAX_RANK], outer[HONE_MAX_RANK]; /* range registers */
  int32_t stride[HONE_MAX_RANK];                      /* elements; unused for DRAM */
  int64_t origin[HONE_MAX_RANK];                      /* DRAM: constant of the axis; 0 in a buffer */
} hone_operand;

/* MATMUL, MAP and REDUCE (the steps) iterate over the ranges iter[0..niter-1], one per dim of the
 * stage; operand axes name range registers among them (inner). */
typedef struct {
  uint8_t stage;     /* which stage of the operator, for accounting */
  uint8_t nreads;
  hone_operand read[HONE_MAX_READS], write; /* LOAD, STORE, COPY: read[0] -> write */
  uint8_t niter, iter[HONE_MAX_ITER];
  uint8_t row, column; /* MATMUL: the range registers mapped on the array */
  uint8_t dataflow, rate; /* MATMUL: index into the engine's rates */
  hone_apply apply;       /* MAP, REDUCE */
  uint8_t reduction;      /* REDUCE: hone_reduction */
  uint32_t zero_mask;     /* MATMUL, REDUCE: overwrite when all these loops are at counter 0 */
  uint8_t tensor, level, drain; /* LOAD, STORE, COPY: for accounting: tensor, buffer's level, 1 if a drain */
  bool partial;           /* LOAD, STORE: the accumulator-format workspace of `arg` instead of the tensor */
} hone_insn_body;

static inline bool hone_insn_is_step(hone_insn_op op)
{
  return op == HONE_INSN_MATMUL || op == HONE_INSN_MAP || op == HONE_INSN_REDUCE;
}

typedef struct {
  hone_insn_op op;
  hone_predicate when;
  uint8_t a, b;  /* LOOP: range, parent. WAIT, EXPECT: semaphore, buffer to rotate or HONE_NO_BUFFER. SIGNAL: semaphore */
  int64_t n;     /* LOOP: step. WAIT, EXPECT, SIGNAL: count (WAIT, EXPECT: may be 0) */
  int32_t body;  /* index into bodies, -1: none */
} hone_insn;

typedef enum { HONE_STREAM_LOAD, HONE_STREAM_STORE, HONE_STREAM_ENGINE } hone_stream_kind;

typedef struct {
  hone_stream_kind kind;
  uint8_t unit; /* DMA queue number within its kind, or engine number of the machine */
  int first, count; /* instructions */
} hone_stream;

typedef struct {
  uint8_t level, copies, tensor;
  int64_t base, slot_bytes;
} hone_program_buffer;

typedef struct {
  int64_t initial;
  uint8_t buffer; /* the buffer it guards, for reports; HONE_NO_BUFFER */
  uint8_t role;   /* 0 data present, 1 copy free, 2 partial drained, 3 stage done */
} hone_program_semaphore;

typedef struct {
  int ndims;
  int nargs; /* tensors of the operator; argument number = tensor number */
  int nstreams, ninsns, nbodies, nbuffers, nsemaphores;
  hone_stream *stream;
  hone_insn *insn;
  hone_insn_body *body;
  hone_program_buffer *buffer;
  hone_program_semaphore *semaphore;
} hone_program;

/* Program <-> bytes: little-endian, versioned, inverse of each other; decode
 * checks every index and refuses anything else with the byte offset. The caller
 * frees *bytes and the program. */
hone_status hone_program_encode(const hone_program *p, uint8_t **bytes, size_t *n, hone_err *err);
hone_status hone_program_decode(const uint8_t *bytes, size_t n, hone_program **out, hone_err *err);
void hone_program_free(hone_program *p); /* NULL allowed */
/* Text for people, one instruction a line, loops indented. */
void hone_program_print(const hone_program *p, hone_text *out);
/* Bytes of instructions and bodies: what must fit the microcode memory. */
int64_t hone_program_microcode_bytes(const hone_program *p);

#endif
