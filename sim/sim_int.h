/* Inside the simulator. One struct per moving part, all owned by struct sim,
 * which lives for one call of hone_sim_run.
 *
 * Time. Streams and engines count whole base cycles; DMA and DRAM count ticks of
 * 2^-16 cycle so that rates that are fractions neither drift nor exceed their
 * limit. The event queue is ordered by (tick, order of posting): deterministic.
 *
 * A stream runs ahead of the queue on its own clock as far as nothing outside can
 * influence it: to a WAIT that is not yet satisfied, or a full DMA queue. What it
 * does to others it posts as events at the right time. Because semaphores only
 * count up, a WAIT that is satisfied early stays satisfied.
 *
 * Reading order: simulator.c (the call), load.c (checks once, so that the rest
 * needs no checks but those on ranges), sequencer.c, engine.c, dma.c, dram.c,
 * account.c, operand.c, functional.c. */
#ifndef HONE_SIM_INT_H
#define HONE_SIM_INT_H

#include <stdlib.h>

#include "sim/simulator.h"

typedef int64_t sim_tick;
enum { SIM_TICK_BITS = 16, SIM_MAX_NEST = 32 };
#define SIM_MAX_CYCLES (INT64_C(1) << 44)

static inline sim_tick sim_ticks(int64_t cycles) { return cycles << SIM_TICK_BITS; }
static inline int64_t sim_cycle_up(sim_tick t) { return (t + (INT64_C(1) << SIM_TICK_BITS) - 1) >> SIM_TICK_BITS; }

/* ---- Events ---------------------------------------------------------------- */

typedef enum {
  SIM_EVENT_JOB,    /* functional: the numbers of job `who` happen */
  SIM_EVENT_SIGNAL, /* core `who`, semaphore `what` += n */
  SIM_EVENT_READY,  /* stream `who`: the oldest transfer in setup may start to move */
  SIM_EVENT_MOVED,  /* core `who`: its DMA engines have moved a piece */
  SIM_EVENT_SERVED, /* the DRAM has served a piece */
  SIM_EVENT_TURN,   /* the DRAM has waited long enough for reads */
  SIM_EVENT_DONE    /* stream `who`: the transfer in slot n of its ring is complete */
} sim_event_kind;

typedef struct {
  sim_tick time;
  uint64_t order;
  int64_t n;
  int32_t who;
  int16_t what;
  uint8_t kind;
} sim_event;

typedef struct {
  sim_event *heap;
  int n, capacity;
  uint64_t order;
  bool serving; /* the DRAM serves one piece at a time: its event waits beside the heap */
  sim_event served;
} sim_events;

/* ---- Boxes ------------------------------------------------------------------ */

typedef struct {
  int64_t start, length;
  uint8_t dim; /* of the operator, HONE_NO_RANGE: none */
} sim_range;

/* A box of elements somewhere: resolved operand. `data` is NULL when only timing is wanted. */
typedef struct {
  uint8_t *data; /* of the first element */
  hone_format format;
  int rank;
  int64_t length[HONE_MAX_RANK], stride[HONE_MAX_RANK]; /* elements */
  int64_t elements;
} sim_box;

/* The numbers of one instruction, to be done when it completes. */
typedef struct {
  const hone_insn_body *body;
  hone_insn_op op;
  bool overwrite;
  sim_box read[HONE_MAX_READS], write;
  sim_range iter[HONE_MAX_ITER];
  int next_free;
} sim_job;

/* ---- Streams ---------------------------------------------------------------- */

typedef struct {
  int begin; /* first instruction of the body */
  uint8_t range;
  int64_t left, step, counter, trips; /* left: length from the current piece's start on */
} sim_loop;

typedef struct {
  int semaphore, next;
  int64_t n, time;
} sim_pending; /* SIGNAL behind a transfer */

/* A transfer in a DMA queue, cut into `pieces` equal pieces. */
typedef struct {
  bool dram, write, done;
  int pieces, requested, served;
  sim_tick dma, service; /* of a piece, rounded down: DMA engines', DRAM's time */
  int dma_rest, service_rest, dma_over, service_over; /* of all pieces; what of it the pieces so far have not taken */
  int64_t misses, accesses;
  int pending, last_pending; /* list of SIGNALs behind it, -1: none */
  int job;
} sim_transfer;

/* While the sequencer could not go on: [from, to) for `cause`. */
typedef struct {
  int64_t from, to;
  hone_stall cause;
} sim_blocked;

typedef enum { SIM_RUNNING, SIM_WAITING, SIM_FULL, SIM_HALTED } sim_state;

typedef struct {
  const hone_stream *code;
  int core, number; /* number: in sim.stream */
  int pc, runs_left;
  sim_state state;
  int64_t time; /* the sequencer's own clock */
  /* loops: bit i of a mask is the i-th open loop, outermost first */
  int depth;
  uint32_t at_zero, at_last, several;
  sim_loop loop[SIM_MAX_NEST];
  sim_range range[HONE_MAX_RANGES];
  /* semaphores and buffers */
  int64_t *expected;
  int16_t *slot;
  int waiting_for, next_waiter;
  int64_t need;
  /* engine: when it is free, when its last instruction started and completes */
  int64_t free_at, started_at, complete_at;
  /* DMA queue: ring of in_flight transfers */
  sim_transfer *ring;
  int head, count, ready, requested; /* of the count from head: setup over; all pieces handed to the engines */
  int moving, being_served;          /* transfers between setup and last piece; pieces in service */
  /* accounting */
  hone_sim_unit *unit;
  int64_t accounted;
  sim_blocked *blocked;
  int nblocked, blocked_capacity;
} sim_stream;

/* ---- DMA, DRAM --------------------------------------------------------------- */

typedef struct {
  int stream, slot;
  sim_tick service;
} sim_piece;

typedef struct {
  sim_piece *ring;
  int head, count, capacity;
} sim_fifo;

/* The DMA engines of one core: one server of the sustained rate. */
typedef struct {
  bool busy;
  sim_piece current;
  int first_stream, nstreams, turn; /* its queues; whose turn */
  uint64_t waiting;                 /* queues with a transfer that is ready to move */
  int window[2];                    /* pieces at the DRAM, by direction (0 read) */
} sim_dma;

typedef struct {
  sim_fifo fifo[2];
  bool busy, turn_posted;
  int direction, batch; /* pieces since the last change */
  sim_piece current;
  sim_tick idle_since;  /* no read waits since */
  hone_sim_unit *unit;
  int64_t accounted;
} sim_dram;

/* ---- The whole ---------------------------------------------------------------- */

typedef struct {
  int row, column;        /* iter positions mapped on the array */
  int8_t at[HONE_MAX_READS + 1][HONE_MAX_RANK]; /* iter position of each axis of read i / the write (last), -1: none */
} sim_body;

typedef struct {
  const hone_operator *op;
  const hone_machine *m;
  hone_program *program;
  sim_body *body;       /* as program->body */
  int *match;           /* per instruction: of a LOOP its END */
  const uint8_t *layout[HONE_MAX_TENSORS];
  int64_t stride[HONE_MAX_TENSORS][HONE_MAX_RANK]; /* DRAM, elements */
  /* derived figures */
  hone_rate dma_rate, stream_rate;
  int64_t piece_bytes;
  sim_tick miss_ticks;  /* of a run that uses one access of a row */
  int64_t max_cycles, max_insns;
  /* parts */
  int cores, nstreams;
  sim_stream *stream;
  int64_t *semaphore;   /* cores x nsemaphores */
  int *waiter;          /* same shape: first waiting stream, -1 */
  sim_dma *dma;
  sim_dram dram;
  sim_events events;
  sim_tick now;
  int64_t end;          /* latest completion so far, cycles */
  int64_t insns;
  sim_pending *pending;
  int npending, pending_capacity, pending_free;
  /* functional */
  bool functional;
  const uint8_t *const *sample;
  uint8_t *tensor[HONE_MAX_TENSORS], *workspace[HONE_MAX_TENSORS];
  uint8_t **sram;       /* cores x nlevels */
  sim_job *job;
  int njobs, job_capacity, job_free;
  int64_t workspace_bytes[HONE_MAX_TENSORS];
  void *scratch[3];
  size_t scratch_size[3];
  /* results */
  hone_sim_result *result;
  bool counting;
  hone_status status;   /* first fault */
  hone_err *err;
} sim;

/* load.c: decodes, checks everything static, fills the tables. */
hone_status hone_sim_load(sim *s, const uint8_t *bytes, size_t n, const hone_sim_argument *args);
int64_t hone_sim_capacity(const sim *s, int level); /* bytes a core may use */

/* event.c */
void hone_sim_post(sim *s, sim_event_kind kind, sim_tick time, int who, int what, int64_t n);
bool hone_sim_next(sim *s, sim_event *out);

/* sequencer.c */
void hone_sim_stream_run(sim *s, sim_stream *t);
void hone_sim_signal(sim *s, int core, int semaphore, int64_t n);
/* Records a fault of instruction pc of t; the run stops. */
void hone_sim_fault(sim *s, const sim_stream *t, hone_status status, const char *code, const char *fmt, ...)
    HONE_PRINTF(5, 6);

/* engine.c: MATMUL, MAP, REDUCE, COPY on an engine; false: fault. */
bool hone_sim_engine_issue(sim *s, sim_stream *t, const hone_insn *i);

/* dma.c: false: fault. The caller has made sure that the queue has room. */
bool hone_sim_dma_issue(sim *s, sim_stream *t, const hone_insn *i);
void hone_sim_dma_signal(sim *s, sim_stream *t, int semaphore, int64_t n);
void hone_sim_dma_ready(sim *s, sim_stream *t);
void hone_sim_dma_moved(sim *s, int core);
void hone_sim_dma_served(sim *s, const sim_piece *p); /* by the DRAM */
void hone_sim_dma_done(sim *s, sim_stream *t, int slot);
void hone_sim_dma_pump(sim *s, int core);

/* dram.c */
void hone_sim_dram_push(sim *s, const sim_piece *p, bool write);
void hone_sim_dram_served(sim *s);
void hone_sim_dram_pump(sim *s);
/* DRAM time of `runs` runs of `bytes` each. */
sim_tick hone_sim_dram_ticks(const sim *s, int64_t runs, int64_t bytes);

/* operand.c: operands to boxes; false: fault. */
bool hone_sim_box(sim *s, const sim_stream *t, const hone_insn_body *b, const hone_operand *o, sim_box *out);
bool hone_sim_move_boxes(sim *s, const sim_stream *t, const hone_insn_body *b, sim_box *from, sim_box *to); /* equal lengths */
void hone_sim_runs(const sim *s, const hone_operand *o, const sim_box *box, int64_t *runs, int64_t *bytes);
void hone_sim_copy_runs(const sim_box *from, const sim_box *to, int64_t *runs, int64_t *bytes);

/* account.c */
void hone_sim_charge(hone_sim_unit *u, int64_t *accounted, int64_t to, hone_stall cause);
void hone_sim_gap(sim_stream *t, int64_t to); /* up to `to`: blocked as logged, else issue */
void hone_sim_blocked(sim_stream *t, int64_t from, int64_t to, hone_stall cause);
void hone_sim_queue_charge(sim_stream *t, int64_t to); /* before the queue's state changes */
void hone_sim_finish(sim *s);
void hone_sim_count_move(sim *s, const hone_insn_body *b, const sim_box *from, const sim_box *to);

/* functional.c */
hone_status hone_sim_functional_init(sim *s, const hone_sim_argument *args);
void hone_sim_functional_fini(sim *s);
int hone_sim_job_new(sim *s, const sim_stream *t, const hone_insn *i, const sim_box *read, const sim_box *write);
void hone_sim_job_run(sim *s, int job);

#endif
