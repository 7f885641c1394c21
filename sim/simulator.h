/* The cycle-level simulator. Executes the encoded bytes of a program and nothing
 * else; knows machines and operators as data. Deterministic. Does not see the
 * cost model. Thread-safe: no state outside the call. */
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
  /* Functional mode on a slice: sample[d] is a bitmap over dim d (NULL: every
   * index); stages compute only points whose non-reduced dims are all sampled,
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
  int64_t warm_cycles; /* steady increment per run when repeated back to back; = cycles when not asked for */
  hone_counts counts;
  int nunits;
  hone_sim_unit *unit; /* heap, owned */
  int64_t dram_requests, dram_busy_cycles, dram_row_misses;
} hone_sim_result;

/* Runs `bytes` for every core of m. `instances`: the root ranges of core c are
 * block[c*ndims + d]. HONE_OK; or INFEASIBLE with code "sim.deadlock" /
 * "sim.watchdog" naming who waits for what. */
hone_status hone_sim_run(const uint8_t *bytes, size_t n, const hone_operator *op, const hone_machine *m,
                         const hone_range *block, const hone_sim_argument *args, const hone_sim_options *options,
                         hone_sim_result *out, hone_err *err);
void hone_sim_result_fini(hone_sim_result *r);
/* block[] for a schedule: cores x ndims; heap, caller frees. */
hone_range *hone_sim_blocks(const hone_operator *op, const hone_machine *m, const hone_schedule *s);

#endif
