/* What the files of this room share. */
#ifndef HONE_BACKEND_INT_H
#define HONE_BACKEND_INT_H

#include "backend/backend.h"

/* Engines of isa.def, as bits. */
enum { HONE_ON_DMA = 1, HONE_ON_MATRIX = 2, HONE_ON_VECTOR = 4 };

typedef enum { HONE_TIMING_CONTROL, HONE_TIMING_DMA, HONE_TIMING_MOVE, HONE_TIMING_ARRAY, HONE_TIMING_VECTOR } hone_timing;

/* Which fields of hone_insn an instruction has; the others hold 0, HONE_NO_BUFFER
 * in b, -1 in body. */
enum { HONE_HAS_A = 1, HONE_HAS_B = 2, HONE_HAS_N = 4, HONE_HAS_BODY = 8, HONE_HAS_WHEN = 16 };

typedef struct {
  const char *name, *help;
  unsigned engines, fields;
  hone_timing timing;
} hone_insn_row;

extern const hone_insn_row hone_insn_rows[HONE_INSN_COUNT];

enum { HONE_MAX_OPEN = 32, HONE_MAX_STREAMS = 64 };

/* Structure: every index in range, loops closed, streams back to back and ended
 * by HALT, bodies numbered in instruction order, fields that do not apply at
 * rest. What the machine can do is the verifier's business. *where is the
 * instruction at fault, -1 when it is none. */
hone_status hone_program_check(const hone_program *p, int *where, hone_err *err);

const char *hone_stream_print(const hone_stream *s, char buf[16]); /* "load0" */

/* What a stream does with a buffer, as bits. */
enum {
  HONE_ROLE_FILLS = 1,  /* moves its parent's box (or the read-back) into it */
  HONE_ROLE_DRAINS = 2, /* moves it to its parent */
  HONE_ROLE_READS = 4,  /* a step, or the fill of a read buffer nearer the engine */
  HONE_ROLE_WRITES = 8, /* a step, or the drain of the buffer nearer the engine */
  HONE_ROLE_BACKS = 16  /* the read-back of the buffer nearer the engine */
};

/* One stream's part in one buffer. The children are nodes of the loop body the
 * buffer is placed in: the first that uses it (any of READS, WRITES, BACKS), the
 * last that reads it, the last that writes it. */
typedef struct {
  uint8_t roles;
  int16_t first, last_read, last_write; /* -1: none */
} hone_part;

/* Decisions made before any instruction is emitted: which stream runs what,
 * which semaphore guards what (-1: none needed). */
typedef struct {
  const hone_operator *op;
  const hone_machine *m;
  const hone_schedule *s;
  hone_events e;
  int16_t around[HONE_MAX_NODES]; /* the LOOP node around each node, -1 */
  int nstreams;
  hone_stream stream[HONE_MAX_STREAMS]; /* in final order; instruction ranges not set */
  int fill_stream[HONE_MAX_BUFFERS], drain_stream[HONE_MAX_BUFFERS], step_stream[HONE_MAX_STAGES]; /* -1: none */
  hone_part part[HONE_MAX_STREAMS][HONE_MAX_BUFFERS];
  bool returns[HONE_MAX_BUFFERS]; /* a written buffer that is read back at least once */
  bool ordered[HONE_MAX_BUFFERS]; /* its read-backs come in the order of its partial drains */
  int nsemaphores;
  hone_program_semaphore semaphore[256];
  int16_t full[HONE_MAX_BUFFERS], loaded[HONE_MAX_BUFFERS], partial[HONE_MAX_BUFFERS];
  int16_t free[HONE_MAX_STREAMS][HONE_MAX_BUFFERS]; /* released by that stream */
  int16_t done[HONE_MAX_TENSORS];
  bool too_many; /* semaphores */
} hone_plan;

hone_status hone_plan_make(hone_plan *plan, hone_err *err); /* op, m, s, e set by the caller */
/* Is the stream's own order enough to see what it did before? */
bool hone_plan_in_order(const hone_plan *plan, int stream);
int hone_plan_event_stream(const hone_plan *plan, int node); /* who runs a FILL, STEP, DRAIN; -1 */
/* The child that holds node i in the body inside the loops before `position`. */
int hone_plan_climb(const hone_plan *plan, int i, int position);
void hone_plan_share(hone_plan *plan); /* share.c: fewer semaphores */
void hone_plan_emit(const hone_plan *plan, hone_program *p); /* into an empty program */

/* Addresses to the buffers of p, semaphores to the limit, both with numbers in
 * *why when they do not fit. */
hone_reason hone_backend_allocate(hone_program *p, const hone_machine *m, hone_why *why);
/* Notes "what: have of limit" in *why (NULL allowed); returns r. */
hone_reason hone_backend_fail(hone_why *why, hone_reason r, int level, int64_t have, int64_t limit, const char *what);

#endif
