/* From a schedule to a verified program. */
#ifndef HONE_BACKEND_H
#define HONE_BACKEND_H

#include "backend/program.h"
#include "ir/events.h"
#include "ir/schedule.h"

/* Events -> streams with hardware loops, semaphores, SRAM addresses. The schedule
 * must be legal. NONE, or ALLOCATION / MICROCODE with what overlaps what and by
 * how much; a machine that is no tile machine gives UNSUPPORTED through err. */
hone_status hone_backend_compile(const hone_operator *op, const hone_machine *m, const hone_schedule *s,
                                 hone_program **out, hone_reason *reason, hone_why *why, hone_err *err);

typedef struct {
  int64_t microcode_bytes, sram_bytes[HONE_MAX_LEVELS];
  int semaphores, buffers, ranges, loop_depth, streams;
} hone_resources;
void hone_backend_resources(const hone_program *p, hone_resources *out);

/* Independent of the lowering: executes the decoded program on boxes instead of
 * numbers and proves, for every instance, that each needed point is computed once
 * on the right boxes, nothing is read before it is there or overwritten while
 * needed, addresses are in bounds and disjoint, every wait ends, resources fit.
 * HONE_OK, or INPUT with the first violation in err (stream, instruction, box). */
hone_status hone_backend_verify(const hone_program *p, const hone_operator *op, const hone_machine *m,
                                const hone_schedule *s, hone_err *err);

#endif
