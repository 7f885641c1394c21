/* Inside functional mode: functional.c (memories, moves, maps, reductions), contract.c. */
#ifndef HONE_SIM_FUNCTIONAL_H
#define HONE_SIM_FUNCTIONAL_H

#include "sim/sim_int.h"

/* Which indices of each iteration range are computed: all, or those sampled. */
typedef struct {
  bool any;                     /* at least one point is left */
  int64_t n[HONE_MAX_ITER];
  int32_t *list[HONE_MAX_ITER]; /* NULL: 0 .. n-1 */
} sim_picks;

static inline int64_t hone_sim_picked(const sim_picks *p, int iter, int64_t i)
{
  return p->list[iter] ? p->list[iter][i] : i;
}

/* kept: bit per iteration range that sampling applies to. */
void hone_sim_pick(const sim *s, const sim_job *j, uint32_t kept, sim_picks *out);
void hone_sim_picks_fini(sim_picks *p);
/* Elements each operand moves per iteration index; row HONE_MAX_READS is the write. */
void hone_sim_strides(const sim *s, const sim_job *j, int64_t stride[HONE_MAX_READS + 1][HONE_MAX_ITER]);

void hone_sim_convert(const sim_box *from, const sim_box *to);
void hone_sim_map(sim *s, sim_job *j);
void hone_sim_reduce(sim *s, sim_job *j);
void hone_sim_contract(sim *s, sim_job *j);

#endif
