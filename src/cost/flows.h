/* Flows: what the moves of a schedule ask of their movers, and what the time
 * estimate adds up. Inside src/cost only. */
#ifndef HONE_COST_FLOWS_H
#define HONE_COST_FLOWS_H

#include "cost/cost_int.h"

/* Resources: the engines by number, the DMA of the core, the DRAM of all cores. */
enum { DMA = HONE_MAX_ENGINES, DRAM, RESOURCES };
enum { FILL, DRAIN };
enum { INSTRUCTIONS = 3 }; /* a stream issues around one event: wait, event, signal */

/* The fills, or the drains, of one buffer. */
typedef struct {
  double visits, busy, dram;
  double wait, latency; /* of one transfer; without the time it moves through DMA and DRAM */
  int mover;            /* resource */
} hone_flow;

/* One estimate's working state. */
typedef struct {
  hone_evaluation *v;
  const hone_rates *k;
  hone_flow flow[HONE_MAX_BUFFERS][2];
  int queue[HONE_MAX_BUFFERS][2]; /* of DMA flows */
  double issue;
} hone_timing;

/* Fills t->flow and t->queue from t->v. */
void hone_cost_flows(hone_timing *t);

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

#endif
