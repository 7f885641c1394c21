/* The verifier's own state; shares nothing with the lowering.
 *
 * The verifier runs the streams of one instance cooperatively, on cells instead
 * of numbers. Cells are the boxes that the tile boundaries of all steps cut a
 * tensor into; every box a sound program moves is a union of cells. A place (a
 * slot of a buffer, a tensor in DRAM, its workspace of partial results) knows for
 * each of its cells what it holds and who touched it last. Order between streams
 * is proven by vector clocks, so a race is found whatever order was run. */
#ifndef HONE_VERIFY_INT_H
#define HONE_VERIFY_INT_H

#include "backend/backend_int.h"

/* Cells 0 .. n-1 along one axis; cell i is [at[i], at[i+1]). */
typedef struct {
  int n, hint;
  int64_t *at;
} verify_axis;

typedef struct {
  int rank;
  verify_axis axis[HONE_MAX_RANK];
} verify_grid;

typedef enum { VERIFY_EMPTY, VERIFY_SUM, VERIFY_WHOLE } verify_state;

/* SUM: the first `next` contributions of the writer stage's order are in. */
typedef struct {
  uint8_t state, format;
  bool fresh; /* a result nobody has taken yet */
  bool crowd; /* more than two streams have read it */
  uint8_t writer, reader[2];
  uint32_t written, read[2]; /* numbers of the operations in those streams; 0: none */
  int32_t next;
} verify_cell;

typedef struct {
  int tensor;
  bool set;
  int64_t base[HONE_MAX_RANK]; /* tensor coordinate of the place's first element */
  int lo[HONE_MAX_RANK], n[HONE_MAX_RANK]; /* cells of the tensor's grid it covers */
  int64_t ncells, capacity;
  verify_cell *cell;
  uint32_t last[HONE_MAX_STREAMS]; /* latest access by each stream */
  int64_t nfresh;
} verify_place;

/* The order in which contributions arrive at an output cell: the same for all
 * cells; recorded from the first, proven to cover the reduced dims once. */
typedef struct {
  int ndims, dim[HONE_MAX_DIMS];
  int n, capacity;
  hone_range *piece; /* n x ndims */
  uint8_t *covered;  /* bit per cell of the reduced dims */
  int64_t ncovered, total;
} verify_order;

typedef struct {
  uint8_t range;
  int64_t start, end, step; /* of the parent */
  int64_t counter, trips;
  int body;
} verify_loop;

typedef struct {
  int pc;
  bool halted, engine, blocked; /* blocked: the WAIT at pc has counted already */
  hone_range range[HONE_MAX_RANGES];
  uint8_t dim[HONE_MAX_RANGES]; /* the dim a register belongs to */
  int nopen;
  verify_loop open[HONE_MAX_OPEN];
  int64_t *expected; /* per semaphore */
  int *slot;         /* per buffer, -1 */
  uint32_t operations;
  uint32_t clock[HONE_MAX_STREAMS]; /* operations known complete */
} verify_stream;

typedef struct {
  int64_t value; /* after this signal */
  uint32_t clock[HONE_MAX_STREAMS];
} verify_signal;

/* Signals not yet passed by every waiter, oldest first. */
typedef struct {
  int64_t value;
  int signaller; /* -1: nobody */
  uint64_t waiters, counters; /* streams that wait; that have counted on it */
  int first, n, capacity;
  verify_signal *signal;
} verify_semaphore;

typedef struct {
  const hone_program *p;
  const hone_operator *op;
  const hone_machine *m;
  const hone_schedule *s;
  hone_err *err;
  int64_t extent[HONE_NO_BUFFER][HONE_MAX_RANK]; /* elements a slot holds per axis */
  int instance;
  hone_range block[HONE_MAX_DIMS];
  verify_axis dim[HONE_MAX_DIMS];
  verify_grid grid[HONE_MAX_TENSORS];
  verify_place *slot[HONE_NO_BUFFER]; /* copies of each buffer */
  verify_place whole[HONE_MAX_TENSORS], workspace[HONE_MAX_TENSORS];
  verify_order order[HONE_MAX_STAGES];
  int64_t points[HONE_MAX_STAGES];
  verify_stream stream[HONE_MAX_STREAMS];
  verify_semaphore *semaphore;
  int *end; /* of each LOOP: its END */
  bool shifts; /* equal blocks behave alike wherever they start */
  int64_t executed;
  int now; /* stream being run */
} verifier;

/* The instance's grids from the program's loops; false with err set. */
bool verify_grid_build(verifier *v);
void verify_grid_free(verifier *v);
int verify_axis_find(verify_axis *x, int64_t at); /* index of the boundary, -1 */

/* Refuses with the stream, the instruction and the instance; returns false. */
bool verify_refuse(verifier *v, const char *code, const char *fmt, ...) HONE_PRINTF(3, 4);

/* Accesses of the running operation; boxes are in tensor coordinates. Each
 * refuses what is not there, not ordered, or would be lost. */
void verify_place_init(verifier *v, verify_place *x, int tensor); /* a tensor in DRAM: all cells, empty */
/* The slot holds (or, when writing, from now on holds) `box` at `local`. */
bool verify_enter(verifier *v, verify_place *x, int buffer, const hone_range *box, const hone_range *local, bool writing);
bool verify_read(verifier *v, verify_place *x, const hone_range *box, hone_format format);
bool verify_write(verifier *v, verify_place *x, const hone_range *box, hone_format format);
/* range: of every dim of the step */
bool verify_accumulate(verifier *v, verify_place *x, const hone_range *box, int stage, const hone_range *range, bool zero,
                       hone_format format);
/* from NULL: an input in DRAM. `final`: to the tensor in DRAM. */
bool verify_move(verifier *v, verify_place *from, verify_place *to, const hone_range *box, hone_format from_format,
                 hone_format to_format, bool final);
bool verify_whole(const verifier *v, const verify_place *x, const verify_cell *c);

/* Can the machine do it, and is it what the schedule says? Once per program. */
bool verify_static(verifier *v);
/* One instruction of the running stream; false with err set. */
bool verify_step(verifier *v, const hone_insn *x);
bool verify_transfer(verifier *v, const hone_insn *x);
/* Runs the instance's streams until none can go on; false with err set. */
bool verify_run(verifier *v);

#endif
