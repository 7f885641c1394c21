/* A machine, as DESIGN section 5 describes it. A value type; read-only after
 * load. Times are kept in the machine's base clock: every rate is an exact
 * fraction per base cycle, every latency a whole number of base cycles
 * (rounded up). No C knows a machine by name. */
#ifndef HONE_IR_MACHINE_H
#define HONE_IR_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/checked.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"
#include "ir/format.h"
#include "ir/function.h"
#include "ir/limits.h"

/* amount per base cycle = num / den; 0/1: not there; 1/0: unlimited. */
typedef struct {
  int64_t num, den;
} hone_rate;
static inline bool hone_rate_unlimited(hone_rate r) { return r.den == 0; }

static inline int64_t hone_rate_cycles(hone_rate r, int64_t amount) /* ceil; r.num > 0 */
{
  return hone_muldiv_ceil(amount, r.den, r.num);
}

enum { /* roles a memory accepts */
  HONE_ACCEPT_INPUT = 1,      /* tensors read by stages */
  HONE_ACCEPT_OUTPUT = 2,     /* finished values and partial results moved there */
  HONE_ACCEPT_ACCUMULATE = 4  /* the matrix engine adds into it */
};

typedef struct {
  char name[HONE_MAX_NAME];
  int64_t capacity_bytes; /* per instance */
  bool per_core;          /* scope: one per core; false: one on the chip */
  bool per_pe;            /* scope: one per instance of the processing-element axes above it */
  unsigned accepts;
  int64_t align_bytes;    /* each copy of a buffer starts at a multiple */
  int banks, ports;
  int64_t bank_bytes;     /* interleave; 0: not given */
  hone_rate bandwidth;    /* bytes per cycle, each direction; reading only when write_bandwidth is there */
  hone_rate write_bandwidth;
  int64_t latency_cycles;
  int64_t read_fj_per_byte, write_fj_per_byte; /* femtojoule; -1: not known */
  bool cache;             /* hardware-managed (model-only machines) */
} hone_memory;

/* DRAM is memory 0; these fields add to it. Without a preset (model-only
 * machines) it is its bandwidth and latency and nothing else. */
typedef struct {
  char preset[HONE_MAX_NAME]; /* "": none */
  int64_t access_bytes, row_bytes;
  int banks, channels;
  int64_t row_miss_cycles, turnaround_cycles;
  int64_t available_permille; /* of bandwidth, after refresh */
} hone_dram;

/* A fan-out axis. Core axes (above == 0) stand above all memories but the chip's;
 * axes of processing elements stand between memory above - 1 and what is below it.
 * Core axes come first, then the others, outermost first. `multicast`: one read above serves
 * several instances; `reduce`: partial sums of several are added on the way up. */
typedef struct {
  char name[HONE_MAX_NAME];
  int size, above;
  bool multicast, reduce;
  hone_rate link_bandwidth; /* between cores, bytes per cycle of each; 0/1: no link */
  int64_t link_latency_cycles;
} hone_fanout;

/* Rules of accounting that a foreign model needs stated; values in file text. */
typedef enum {
  HONE_BUFFERING_COPIES,           /* "copies": overlap costs as many copies as `depth` says */
  HONE_BUFFERING_SINGLE_OVERLAPPED /* "single-overlapped": one copy, moves overlap work all the same */
} hone_buffering;
typedef enum {
  HONE_SUMS_ACCUMULATOR, /* "accumulator": partial sums travel in the accumulator format */
  HONE_SUMS_TENSOR       /* "tensor": in the tensor's own */
} hone_sums;

typedef enum { HONE_ENGINE_MATRIX, HONE_ENGINE_VECTOR, HONE_ENGINE_PE } hone_engine_kind;
typedef enum { HONE_DATAFLOW_WS, HONE_DATAFLOW_OS, HONE_DATAFLOW_COUNT } hone_dataflow;
const char *hone_dataflow_name(hone_dataflow d); /* "ws": weight-, "os": output-stationary */

typedef struct {
  hone_format a, b, accumulator;
  int64_t cycles_per_row_num, cycles_per_row_den; /* base cycles to stream one row through the array */
  int64_t energy_fj_per_mac;                      /* -1: not known */
} hone_array_rate;

/* Matrix engine timing. Weight-stationary: the operand that uses both mapped
 * dims is held, `rows` x `columns` of it at a time; the remaining dims stream
 * through as rows. Output-stationary: a rows x columns block of the output is
 * held and the reduced dims stream. One pass of r streamed rows occupies the
 * array max(r * cycles_per_row, min_pass_cycles); r is cut into chunks of at
 * most max_stream_rows, each its own pass. The stationary operand's load takes
 * load_cycles and is hidden behind the previous pass when load_hidden, else it
 * adds to every pass (os: draining the outputs takes load_cycles instead). The
 * result of a step is complete latency_cycles (fill + drain) after its last pass
 * was issued; the next step issues meanwhile. */
typedef struct {
  int rows, columns;
  unsigned dataflows; /* bit per hone_dataflow */
  int64_t load_cycles;
  bool load_hidden;
  int64_t min_pass_cycles, max_stream_rows, latency_cycles;
  int operands_in;    /* memory the operands are read from */
  int stationary_in;  /* weight-stationary: memory the held operand is read from instead; mostly operands_in */
  int accumulates_in; /* memory the result is added into */
  int nrates;
  hone_array_rate rate[HONE_MAX_RATES];
} hone_matrix;

/* One multiply-adder in every processing element (product of their axes). Of a rate, cycles_per_row is cycles per multiply-add. */
typedef struct {
  int operands_in, accumulates_in; /* memories */
  int nrates;
  hone_array_rate rate[HONE_MAX_RATES];
} hone_pe;

/* A map over e elements occupies the engine startup_cycles + e / rate[cost class].
 * It reads and writes tensors of its formats only. */
typedef struct {
  hone_rate rate[HONE_COST_COUNT]; /* elements per base cycle */
  int64_t startup_cycles;
  unsigned reads_from, writes_to;  /* bit per memory */
  unsigned formats;                /* bit per hone_format; 0: not stated, every one */
} hone_vector;

typedef struct {
  char name[HONE_MAX_NAME];
  hone_engine_kind kind;
  hone_matrix matrix;
  hone_vector vector;
  hone_pe pe;
} hone_engine;

/* DMA, per core; no engines: not described (model-only machines). A transfer starts setup_cycles after its semaphores allow it;
 * setups of successive transfers of one queue overlap while fewer than
 * in_flight are outstanding. A contiguous run shorter than burst_bytes costs as
 * much as burst_bytes. All engines together move at most `rate`. */
typedef struct {
  int engines, load_queues, store_queues;
  hone_rate engine_rate; /* bytes per cycle, one engine */
  hone_rate rate;        /* all engines of a core, sustained */
  int in_flight;         /* per queue */
  int64_t setup_cycles, burst_bytes;
  int max_rank;          /* descriptor dimensions */
} hone_dma;

typedef struct { /* loop_depth 0: not described (model-only machines) */
  int loop_depth, semaphores, address_registers, issue_slots;
  int64_t microcode_bytes;
  int64_t issue_cycles; /* to issue one instruction */
} hone_sequencer;

typedef enum { HONE_MOVE_NONE, HONE_MOVE_DMA, HONE_MOVE_VECTOR } hone_move; /* who moves between two memories */

typedef struct {
  char name[HONE_MAX_NAME]; /* not part of the identity */
  int64_t clock_hz;
  bool tile_machine;        /* the backend can emit microcode for it */
  int buffering, partial_sums; /* hone_buffering, hone_sums */
  int nlevels;              /* memories, DRAM included */
  hone_memory memory[HONE_MAX_LEVELS];
  hone_dram dram;
  hone_move move[HONE_MAX_LEVELS][HONE_MAX_LEVELS]; /* symmetric */
  int naxes;
  hone_fanout axis[HONE_MAX_AXES];
  int nengines;
  hone_engine engine[HONE_MAX_ENGINES];
  hone_dma dma;
  hone_sequencer sequencer;
} hone_machine;

/* The text is described in docs/formats.md. */
hone_status hone_machine_load(const char *path, hone_machine *out, hone_err *err);
void hone_machine_print(const hone_machine *m, hone_text *out); /* canonical resolved values, no names or sources */
hone_hash hone_machine_hash(const hone_machine *m);
int hone_machine_cores(const hone_machine *m); /* product of the core axes */
int64_t hone_machine_pes(const hone_machine *m, int level); /* instances of memory `level` in a core: product of the axes above it */
hone_rate hone_memory_write_rate(const hone_memory *x);
int hone_machine_find_memory(const hone_machine *m, const char *name); /* -1 */
/* Whether a rate is for these operands, in either order, summed in this format. */
bool hone_array_rate_fits(const hone_array_rate *r, hone_format a, hone_format b, hone_format acc);
const hone_array_rate *hone_machine_find_rate(const hone_matrix *x, hone_format a, hone_format b, hone_format acc); /* NULL; a, b in either order */
bool hone_vector_takes(const hone_vector *x, hone_format f);
/* Multiply-adds per base cycle of one engine (all processing elements) at a rate. */
hone_rate hone_engine_macs(const hone_machine *m, const hone_engine *e, const hone_array_rate *r);
/* Peaks of one core, all its engines together, by formats in the order of the text. */
typedef struct {
  hone_format a, b, accumulator;
  double macs_per_cycle;
} hone_peak;
int hone_machine_peaks(const hone_machine *m, hone_peak *out, int max);
/* Sustained DRAM streaming, bytes per base cycle: bandwidth x available_permille. */
hone_rate hone_machine_dram_stream(const hone_machine *m);

#endif
