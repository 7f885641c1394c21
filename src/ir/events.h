/* What a schedule means: the event sequence of DESIGN section 6 line 16, kept
 * as a tree of loops and events instead of an unrolled list. The model, the
 * backend and the verifier read it; the walker in tests/lib is written from
 * section 6 directly and checks it.
 *
 * The nest. N memories below DRAM, D dims: loops at positions 0 .. N*D-1, group
 * L = 1..N outermost first, inside a group order[L]. Loop (L, d) cuts the range
 * of d around it (the next outer loop of d, or the instance's block) into pieces
 * of step tile[L][d]; the last piece is clipped. A stage runs only the loops of
 * its own dims.
 *
 * Visits. A buffer at position p holds box(tensor, ranges of the loops before
 * p). Walking the nest to depth p visits the buffer. Let K be the loops before p
 * (of the stage's nest) whose dim the access uses. A visit is NEW when the
 * ranges of K differ from those of the visit before, or there was none; it is
 * LAST when the visit after differs or there is none.
 *   read buffer     fill on NEW, from its parent
 *   written buffer  on NEW: starts at zero if every reduced loop before p is at
 *                   its first piece, else reads back (fill in accumulator format)
 *                   on LAST: drains to its parent; final (in the tensor's format)
 *                   if every reduced loop before p is at its last piece, else
 *                   partial (in accumulator format)
 *   local buffer    an intermediate in its home memory, position = join: written
 *                   by the producer, read by the consumers, no fill, no drain
 * Both can be told from the loop counters alone: scan loops before p from the
 * innermost outwards, `wrap` = false; at a loop with counter 0 (for LAST: at its
 * last piece) set wrap |= (loop in K and it has several pieces here) and go on;
 * at the first other loop the answer is (loop in K) or wrap; if none is left the
 * answer is true.
 *
 * The order in which things happen (program order): node (stages G sharing loops
 * 0..p-1, position p) cuts G into maximal runs of stages that share loop p (at
 * p = N*D: into single stages). For each run in stage order: fills of the buffers
 * at p whose first stage is in the run, outer memory first, then tensor order
 * (read-backs among them); the run, looped over and entered at p+1 (at p = N*D:
 * the stage's step); drains of the buffers at p whose last stage is in the run,
 * inner memory first, then tensor order. So what a stage reads from the stage
 * before it has been drained before it is filled.
 * A loop whose dim none of the run's stages has is passed through; the loop of a
 * run with one stage is executed if the stage has its dim.
 *
 * Waits: data present (fill or producer done), copy free (fill i waits for the
 * release of use i - depth), engine free. A step or drain releases a buffer on
 * its LAST visit. A read-back waits for the partial drain of the same box. An
 * intermediate whose home is DRAM is read only after all its drains on this core. */
#ifndef HONE_IR_EVENTS_H
#define HONE_IR_EVENTS_H

#include "ir/machine.h"
#include "ir/operator.h"
#include "ir/schedule.h"

typedef uint64_t hone_loopset; /* bit i = loop at position i; N*D <= HONE_MAX_LOOPS (60) */

typedef struct {
  uint8_t dim, level;
  int64_t step;   /* tile[level][dim] */
  int64_t trips;  /* of a full piece: ceil(tile[level-1] / tile[level]); edge pieces may have fewer */
} hone_loop;

typedef enum { HONE_BUFFER_READ, HONE_BUFFER_WRITTEN, HONE_BUFFER_LOCAL } hone_buffer_kind;

/* One tensor in one memory for a set of stages that share its visits. */
typedef struct {
  hone_buffer_kind kind;
  int tensor, level, position, depth;
  int parent; /* buffer filled from / drained to, -1: the tensor in DRAM */
  int child;  /* buffer one step nearer the engine, -1: the engine itself */
  hone_move mover; /* moves between parent and this; NONE for LOCAL */
  uint32_t stages; /* readers (READ), the writer (WRITTEN), both (LOCAL: writer and readers) */
  int writer;      /* stage, -1 for READ */
  hone_access access; /* of the tensor, in the writer's or first reader's dims */
  hone_dimset dims;   /* of access */
  hone_loopset keys, reduced; /* loops before position with nominal trips > 1: dims of access; reduced dims of the writer */
  hone_format format; /* of the elements held: accumulator format while partial results may be here */
  bool partial;       /* WRITTEN: some reduced loop before position has several trips: it leaves and returns */
  int64_t extent[HONE_MAX_RANK]; /* largest box, elements per axis */
  int64_t elements;   /* product */
  int64_t bytes;      /* of one copy, rounded up to the memory's alignment */
} hone_buffer;

typedef enum { HONE_NODE_LOOP, HONE_NODE_FILL, HONE_NODE_STEP, HONE_NODE_DRAIN } hone_node_kind;

/* Preorder. LOOP: `index` = position, children are the nodes up to `end`
 * (exclusive). FILL, DRAIN: index = buffer. STEP: index = stage. `stages` = G.
 * Loops with nominal trips 1 have no node (their range equals the one around).
 * FILL of a WRITTEN buffer is its read-back; present only when `partial`. */
typedef struct {
  hone_node_kind kind;
  int index, end, depth; /* depth: LOOP nodes around this one */
  uint32_t stages;
} hone_event_node;

enum { HONE_MAX_BUFFERS = 48, HONE_MAX_NODES = 512 };

typedef struct {
  int nlevels, ndims;
  int nloops; /* N*D */
  hone_loop loop[HONE_MAX_LOOPS];
  int nbuffers;
  hone_buffer buffer[HONE_MAX_BUFFERS];
  int nnodes;
  hone_event_node node[HONE_MAX_NODES];
  /* Of stage s: the buffer the engine touches, per read and for the write. */
  int read_buffer[HONE_MAX_STAGES][HONE_MAX_READS];
  int write_buffer[HONE_MAX_STAGES];
} hone_events;

/* Builds the tree. Assumes the parameters are in range; structural faults (join,
 * path, operand, overflow) come back as a reason. Allocates nothing. */
hone_reason hone_events_build(const hone_operator *op, const hone_machine *m, const hone_schedule *s, hone_events *out,
                              hone_why *why);

/* hone_schedule_check, leaving the tree it has built when the schedule is legal. */
hone_reason hone_schedule_check_events(const hone_operator *op, const hone_machine *m, const hone_schedule *s,
                                       hone_events *out, hone_why *why);

/* Bytes each memory needs per instance: sum over buffers of depth * bytes. */
void hone_events_footprint(const hone_events *e, int64_t bytes[HONE_MAX_LEVELS]);

/* Ranges of dims; a box is what an access touches over them (section 4 line 12). */
typedef struct {
  int64_t start, length;
} hone_range;

/* Distinct in-range values of each axis over the ranges; product in *elements. */
void hone_access_box(const hone_operator *op, const hone_access *a, const hone_range range[HONE_MAX_DIMS],
                     hone_range box[HONE_MAX_RANK], int64_t *elements);

/* What the events amount to; the model, the walker and the simulator's counters
 * agree on every field (section 6 lines 16-18). Summed over instances. */
typedef struct {
  int64_t read_bytes[HONE_MAX_TENSORS][HONE_MAX_LEVELS];  /* out of a memory by fills and drains, in the format there */
  int64_t write_bytes[HONE_MAX_TENSORS][HONE_MAX_LEVELS]; /* into a memory likewise */
  int64_t fills[HONE_MAX_TENSORS][HONE_MAX_LEVELS], drains[HONE_MAX_TENSORS][HONE_MAX_LEVELS]; /* by buffer's level */
  int64_t steps[HONE_MAX_STAGES];
  int64_t useful[HONE_MAX_STAGES]; /* points */
  int64_t issued[HONE_MAX_STAGES]; /* contract: array slots used, useful + padding (ceil to rows and columns per step); map: points */
} hone_counts;

/* Array passes of one contract step over `range`: the work of section 6 line 18
 * and the cycles it occupies the engine (machine.h, hone_matrix). */
typedef struct {
  int64_t passes, useful, issued, busy_cycles;
} hone_step_work;
void hone_contract_step(const hone_operator *op, const hone_machine *m, const hone_schedule *s, int stage,
                        const hone_range range[HONE_MAX_DIMS], hone_step_work *out);
/* Are row, column a legal map of a contract stage under the dataflow? If so,
 * *held is the read that is stationary (ws), -1 for os. */
bool hone_map_check(const hone_operator *op, int stage, hone_dataflow flow, int row, int column, int *held);
/* Is read r of a contract stage held in the array under the schedule's map? */
bool hone_read_held(const hone_operator *op, const hone_schedule *s, int stage, int r);
/* Cycles `stream` > 0 rows through one array block occupy the engine; saturates. */
int64_t hone_block_cycles(const hone_matrix *x, const hone_array_rate *rate, int64_t stream);
/* Cycles a map step, or a vector move of `elements`, occupies the engine. */
int64_t hone_vector_cycles(const hone_vector *v, hone_function_cost c, int64_t elements);
/* The vector engine that moves between memories (lowest number that reaches both), -1. */
int hone_machine_mover(const hone_machine *m, int from, int to);

#endif
