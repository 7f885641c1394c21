/* Shared inside src/cost only. */
#ifndef HONE_COST_INT_H
#define HONE_COST_INT_H

#include "cost/model.h"
#include "cost/pieces.h"

/* Figures of the machine as the time estimate uses them: cycles, bytes per cycle. */
typedef struct {
  double dma, stream;                  /* sustained rates: all DMA engines of a core, DRAM */
  double setup, latency, turnaround;
  double burst, access, row, miss;     /* miss: cycles a short run adds */
  double move[HONE_MAX_ENGINES];       /* vector engines: elements a cycle */
} hone_rates;

struct hone_model {
  hone_operator op;
  hone_machine m;
  int64_t bound; /* no estimate is below it */
  hone_dimset access_dims[HONE_MAX_STAGES][HONE_MAX_READS]; /* of the reads */
  hone_rates rates;
};

/* Work of a stage over some cuts. */
typedef struct {
  int64_t steps, points, issued;
  int64_t busy_cycles; /* of its engine */
} hone_work;

/* Visits of every buffer and work of every stage over some cuts. */
typedef struct {
  hone_cuts cuts;
  hone_visits visits[HONE_MAX_BUFFERS];
  hone_work work[HONE_MAX_STAGES];
} hone_load;

/* One evaluation's working state; lives on the stack. */
typedef struct {
  const hone_model *c;
  const hone_schedule *s;
  hone_events e;
  hone_load all, first;    /* of all instances; of the first, when there are several */
  const hone_load *core;   /* of the first instance, the busiest: &all or &first */
  double cores_used;       /* cores with work */
  bool over;               /* a count did not fit */
} hone_evaluation;

/* Visits and work, of all instances or the first. */
void hone_cost_load(hone_evaluation *v, hone_cuts_of which, hone_load *out);
/* The counts of v->all. */
void hone_cost_count(hone_evaluation *v, hone_counts *out);
/* Of the counted transfers and array slots, femtojoules; -1: not known. */
int64_t hone_cost_energy(const hone_evaluation *v, const hone_counts *n);
/* Estimates the time from v->core. */
void hone_cost_time(hone_evaluation *v, hone_cost *out);

#endif
