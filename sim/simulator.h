/* The cycle-level simulator. Executes the encoded bytes of a program and nothing
 * else; knows machines and operators as data. Deterministic. Does not see the
 * cost model. Thread-safe: no state outside the call.
 *
 * Timing, in base cycles; the fields are ir/machine.h's.
 *   sequencer  one per stream; each instruction reached costs issue_cycles, also
 *              when its predicate does not hold; a loop's end costs nothing. It
 *              runs ahead of its engine by one instruction, of its DMA queue by
 *              in_flight transfers.
 *   matrix     hone_matrix: a step starts when the one before has issued its last
 *              pass and is complete latency_cycles after its own last pass.
 *   vector     startup_cycles + elements / rate; COPY counts as SIMPLE.
 *   DMA        data moves setup_cycles after issue, in order in a queue, queues
 *              in turn, in pieces of about 64 cycles; all of a core's engines
 *              together min(rate, engines x engine_rate) bytes a cycle, a run
 *              shorter than burst_bytes counting as that long. A run is what lies
 *              together in DRAM under the tensor's layout.
 *   DRAM       one server for all cores at hone_machine_dram_stream; runs are
 *              rounded up to access_bytes, and one shorter than a row adds
 *              row_miss_cycles / (banks x channels) x (1 - bytes / row_bytes).
 *              turnaround_cycles between reads and writes, which it serves in
 *              batches, reads first. A load is complete latency_cycles of memory
 *              0 after its last piece was served, a store when it was.
 * On-chip memories serve everybody at once: their ports, banks, bandwidth and
 * latency do not limit anything here, and DRAM addresses do not matter. Nor do the
 * DRAM's ports, the rank of a descriptor (max_rank), issue_slots (a stream has its
 * own sequencer), or engine_rate for one transfer alone. */
#ifndef HONE_SIM_SIMULATOR_H
#define HONE_SIM_SIMULATOR_H

#include "backend/program.h"
#include "base/status.h"
#include "ir/events.h"
#include "ir/machine.h"
#include "ir/operator.h"
#include "ir/schedule.h"

/* Where an engine's cycles went; every cycle of every engine has exactly one. */
typedef enum {
#define HONE_STALL(id, name) HONE_STALL_##id,
#include "sim/stall.def"
#undef HONE_STALL
  HONE_STALL_COUNT
} hone_stall;
const char *hone_stall_name(hone_stall s);

/* Arguments bound at load: one per tensor of the operator. `data` is in the
 * tensor's format and the layout's order, NULL when only timing is wanted. */
typedef struct {
  void *data;
  uint8_t layout;     /* index into the tensor's layouts */
} hone_sim_argument;

typedef struct {
  bool functional;    /* run the numbers; needs data for every tensor */
  bool warm;          /* also report warm time: back to back, previous drain overlapped */
  int64_t max_cycles; /* watchdog, 0: generous default */
  /* Functional mode on a slice: sample[d] is a bitmap over dim d, index i in bit
   * i % 8 of byte i / 8 (NULL: every index); stages compute only points whose non-reduced dims are all sampled,
   * other elements of what they write are undefined. Timing and counts are those
   * of the whole program. */
  const uint8_t *sample[HONE_MAX_DIMS];
} hone_sim_options;

typedef struct {
  char name[HONE_MAX_NAME + 8]; /* "core0.load2" */
  int64_t cycles[HONE_STALL_COUNT]; /* sums to hone_sim_result.cycles */
} hone_sim_unit;

typedef struct {
  int64_t cycles;      /* cold: from an idle machine to the last byte in DRAM */
  /* The increment per run when repeated back to back, on other buffers in DRAM:
   * every stream runs the program twice, semaphores and slots go on counting, so
   * the second run's fills start when queues and copies are free; this is the
   * time of both less `cycles`, at most `cycles` (one could wait for the machine to
   * be idle). = cycles when not asked for. */
  int64_t warm_cycles;
  hone_counts counts;
  int nunits; /* core by core: DMA queues, engines; then the DRAM */
  hone_sim_unit *unit; /* heap, owned */
  int64_t dram_requests;   /* accesses of access_bytes */
  int64_t dram_busy_cycles;
  int64_t dram_row_misses; /* rows opened: at least one per run */
} hone_sim_result;

/* Runs `bytes` for every core of m; the root range of dim d on core c is
 * block[c*ndims + d]. args may be NULL without functional mode (layout 0 of each).
 * HONE_OK; INFEASIBLE with code "sim.deadlock" or "sim.watchdog" saying who waits
 * for what; INPUT for bytes that are no program for op and m, or whose ranges
 * leave a buffer or a tensor. On failure *out is empty. */
hone_status hone_sim_run(const uint8_t *bytes, size_t n, const hone_operator *op, const hone_machine *m,
                         const hone_range *block, const hone_sim_argument *args, const hone_sim_options *options,
                         hone_sim_result *out, hone_err *err);
void hone_sim_result_fini(hone_sim_result *r);
/* block[] for a schedule: cores x ndims; heap, caller frees. */
hone_range *hone_sim_blocks(const hone_operator *op, const hone_machine *m, const hone_schedule *s);

#endif
