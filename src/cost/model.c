/* The model: a plan of (operator, machine), then per schedule legality, exact
 * counts (counts.c, derivation in pieces.c) and estimated time (time.c).
 * Reading order: pieces.h, pieces.c, counts.c, time.c; bound.c stands alone. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "cost/cost_int.h"

static const char *const cause_names[] = {
#define HONE_CAUSE(id, name) name,
#include "cost/cause.def"
#undef HONE_CAUSE
};
_Static_assert(sizeof cause_names / sizeof *cause_names == HONE_CAUSE_COUNT, "one name per cause");

const char *hone_cause_name(hone_cause c)
{
  return cause_names[c];
}

/* The closed form needs every axis to be a constant or one dim in steps of 1
 * that never leaves the tensor, so that a box is a product of piece lengths. */
static bool plain_axis(const hone_operator *op, const hone_affine *e, int64_t extent)
{
  if (e->nterms == 0) return e->constant >= 0 && e->constant < extent;
  int64_t end;
  return e->nterms == 1 && e->term[0].coef == 1 && e->constant >= 0 &&
         hone_checked_add(e->constant, op->dim[e->term[0].dim].extent, &end) && end <= extent;
}

static bool plain_access(const hone_operator *op, const hone_access *a)
{
  const hone_tensor *t = &op->tensor[a->tensor];
  for (int i = 0; i < t->rank; i++) {
    if (a->axis[i].table >= 0 || !plain_axis(op, &a->axis[i].affine, t->extent[i])) return false;
  }
  return hone_format_bits(t->format) % 8 == 0;
}

static hone_status check_stage(const hone_operator *op, int s, hone_err *err)
{
  const hone_stage *st = &op->stage[s];
  bool plain = plain_access(op, &st->write) && !st->nguards;
  for (int r = 0; r < st->nreads; r++) plain = plain && plain_access(op, &st->read[r]);
  if (plain && (hone_stage_accumulates(st) || st->kind == HONE_STAGE_MAP)) return HONE_OK;
  return hone_err_set(err, HONE_UNSUPPORTED, "model.stage",
                      "stage %s: the model costs unguarded contract, map and reduce stages whose axes are one dim or a constant",
                      st->name);
}

static double rate_of(hone_rate r)
{
  return r.den > 0 ? (double)r.num / (double)r.den : 0;
}

static void read_rates(const hone_machine *m, hone_rates *k)
{
  *k = (hone_rates){
      .dma = rate_of(m->dma.rate),
      .stream = rate_of(hone_machine_dram_stream(m)),
      .setup = (double)m->dma.setup_cycles,
      .latency = (double)m->memory[0].latency_cycles,
      .turnaround = (double)m->dram.turnaround_cycles,
      .burst = (double)m->dma.burst_bytes,
      .access = (double)m->dram.access_bytes,
      .row = (double)m->dram.row_bytes,
      .miss = (double)m->dram.row_miss_cycles / (m->dram.banks * m->dram.channels), /* banks work at once */
  };
  double engines = rate_of(m->dma.engine_rate) * m->dma.engines;
  if (engines > 0 && engines < k->dma) k->dma = engines;
  for (int e = 0; e < m->nengines; e++) k->move[e] = rate_of(m->engine[e].vector.rate[HONE_COST_SIMPLE]);
}

hone_status hone_model_new(const hone_operator *op, const hone_machine *m, hone_model **out, hone_err *err)
{
  for (int s = 0; s < op->nstages; s++) {
    hone_status status = check_stage(op, s, err);
    if (status != HONE_OK) return status;
  }
  hone_bound bound;
  hone_status status = hone_bound_cycles(op, m, &bound, err);
  if (status != HONE_OK) return status;
  hone_model *c = hone_heap_alloc(1, sizeof *c);
  c->bound = bound.cycles;
  c->op = *op;
  c->m = *m;
  read_rates(m, &c->rates);
  for (int s = 0; s < op->nstages; s++) {
    for (int r = 0; r < op->stage[s].nreads; r++) c->access_dims[s][r] = hone_access_dims(op, &op->stage[s].read[r]);
  }
  *out = c;
  return HONE_OK;
}

void hone_model_free(hone_model *c)
{
  free(c);
}

/* The first instance's own load, when it is not all there is. */
static void load_core(hone_evaluation *v)
{
  v->cores_used = 1;
  for (int d = 0; d < v->c->op.ndims; d++) v->cores_used *= (double)v->all.cuts.of[d][0].count;
  v->core = v->cores_used > 1 ? &v->first : &v->all;
  if (v->core == &v->first) hone_cost_load(v, HONE_CUTS_FIRST, &v->first);
}

hone_reason hone_model_evaluate(const hone_model *c, const hone_schedule *s, hone_cost *out)
{
  hone_evaluation v;
  hone_cost cost;
  hone_reason bad = hone_schedule_check_events(&c->op, &c->m, s, &v.e, NULL);
  if (bad) return bad;
  v.c = c;
  v.s = s;
  v.over = false;
  hone_cost_load(&v, HONE_CUTS_ALL, &v.all);
  hone_cost_count(&v, &cost.counts);
  if (v.over) return HONE_REASON_OVERFLOW;
  load_core(&v);
  hone_cost_time(&v, &cost);
  if (v.over) return HONE_REASON_OVERFLOW;
  cost.energy_fj = hone_cost_energy(&v, &cost.counts);
  *out = cost;
  return HONE_REASON_NONE;
}

void hone_model_evaluate_batch(const hone_model *c, int n, const hone_schedule *s, hone_reason *reason, hone_cost *out)
{
#pragma omp parallel for schedule(static)
  for (int i = 0; i < n; i++) reason[i] = hone_model_evaluate(c, &s[i], &out[i]);
}
