/* The naive walker: unrolls a schedule step by step, exactly as DESIGN section 6
 * words it, and counts what happens. Slow and plain on purpose: it is what the
 * model, the backend and the simulator are compared with. It reads the schedule
 * only, never the event tree. */
#ifndef HONE_TESTS_WALKER_H
#define HONE_TESTS_WALKER_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/events.h"

typedef enum { WALK_FILL, WALK_STEP, WALK_DRAIN } walk_kind;

/* One event, in program order. */
typedef struct {
  walk_kind kind;
  int instance;
  int stage;               /* of the step; of a transfer: the stage that reads or writes */
  int tensor, level, parent; /* transfers: the buffer's memory and the one it is filled from or drained to */
  bool partial;            /* transfers: a partial result leaves or returns */
  bool zero;               /* steps: every reduced dim is at its start, so results overwrite instead of adding */
  int64_t elements;        /* transfers: of the box; steps: points */
  const hone_range *range; /* of every dim, where the event happens */
} walk_event;

typedef void (*walk_sink)(void *arg, const walk_event *event);

/* Walks a legal schedule over all instances; sink may be NULL. Returns the
 * number of steps, or -1 when there are more than max_steps (nothing is then
 * counted). */
int64_t walker_run(const hone_operator *op, const hone_machine *m, const hone_schedule *s, int64_t max_steps,
                   hone_counts *counts, walk_sink sink, void *arg);

/* First difference between two counts as text ("read_bytes[W][1]: 12, not 16"),
 * NULL when equal; kept in a static buffer. */
const char *walker_compare(const hone_operator *op, const hone_counts *got, const hone_counts *want);

#endif
