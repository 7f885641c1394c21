/* Shared inside src/ir only. */
#ifndef HONE_IR_INT_H
#define HONE_IR_INT_H

#include "ir/events.h"
#include "ir/schedule.h"

static inline bool dim_in(hone_dimset s, int d)
{
  return (s >> d & 1u) != 0;
}

/* Records why (may be NULL) and returns r. Indices that do not apply are -1. */
hone_reason hone_ir_why(hone_why *why, hone_reason r, int level, int tensor, int stage, int dim);

/* Which memories a tensor goes through between DRAM (or its home) and an engine.
 * level[0] is the outermost; n = 0: the engine is met at home directly. */
typedef struct {
  int n;
  int level[HONE_MAX_LEVELS];
} hone_chain;

/* The chain of tensor t as a stage run on `engine` reads it (held: as the operand
 * that stays in the array), or as stage s writes it; placed[L] true where t is
 * kept in L, home the memory of an intermediate (0: DRAM). Reasons: OPERAND,
 * PATH, HOME. */
hone_reason hone_chain_read(const hone_operator *op, const hone_machine *m, int t, int engine, bool held,
                            const bool placed[HONE_MAX_LEVELS], int home, hone_chain *out);
hone_reason hone_chain_write(const hone_operator *op, const hone_machine *m, int s, int t, int engine,
                             const bool placed[HONE_MAX_LEVELS], int home, hone_chain *out);

/* Can the engine run the stage at all? NONE, ENGINE or FORMAT. */
hone_reason hone_engine_check(const hone_operator *op, const hone_machine *m, int stage, int engine);

/* Rough times (rough.c): of the work of one block (tile 0) and the traffic of
 * `cores` like it, under the schedule's engines and maps; of a legal schedule and
 * its events. */
double hone_ir_rough_block(const hone_operator *op, const hone_machine *m, const hone_schedule *s, double cores);
double hone_ir_rough_cycles(const hone_operator *op, const hone_machine *m, const hone_schedule *s, const hone_events *e);

/* Parameters that do not matter under the rest of the schedule (a depth where
 * bypassed, a placement replaced by a home): normalized away and not printed. */
bool hone_ir_at_active(const hone_operator *op, const hone_machine *m, const hone_schedule *s, int tensor, int level);
bool hone_ir_depth_active(const hone_operator *op, const hone_machine *m, const hone_schedule *s, int tensor, int level);
/* Does any stage use tensor t in memory L (as input, output or accumulator)? */
bool hone_ir_accepts(const hone_operator *op, const hone_machine *m, int tensor, int level);

/* Over all subsets of memories and all homes: where may t be kept (bits of
 * levels), where passed by, which homes work? False when nothing does. */
bool hone_ir_survey(const hone_operator *op, const hone_machine *m, int t, unsigned *with, unsigned *without, unsigned *homes);
/* The fewest memories (bits) t can be kept in with the schedule's engines and
 * maps, home in DRAM, rather nearer the engines; 0: it does not get through. */
unsigned hone_ir_places(const hone_operator *op, const hone_machine *m, const hone_schedule *s, int t);
/* The dataflows (bits) some engine offers for a contract stage. */
unsigned hone_ir_dataflows(const hone_operator *op, const hone_machine *m, int stage);

#endif
