/* Legality (DESIGN section 6 line 19): domains, engines, structure by building
 * the event tree, then capacities and sequencer limits. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "ir/ir_int.h"

typedef struct {
  const hone_operator *op;
  const hone_machine *m;
  const hone_schedule *s;
  hone_why *why;
} legality;

static hone_reason fail(const legality *c, hone_reason r, int level, int tensor, int stage, int dim, int64_t have, int64_t limit)
{
  hone_ir_why(c->why, r, level, tensor, stage, dim);
  if (c->why) {
    c->why->have = have;
    c->why->limit = limit;
  }
  return r;
}

static hone_reason check_splits(const legality *c)
{
  const hone_operator *op = c->op;
  for (int a = 0; a < c->m->naxes; a++) {
    int64_t product = 1, size = c->m->axis[a].size;
    for (int d = 0; d < op->ndims; d++) {
      int64_t n = c->s->split[a][d];
      if (n < 1 || n > size || n > op->dim[d].extent) return fail(c, HONE_REASON_SPLIT, -1, -1, -1, d, n, size);
      product *= n; /* each factor <= size <= INT32_MAX and checked as it grows */
      if (product > size) return fail(c, HONE_REASON_SPLIT, -1, -1, -1, d, product, size);
      if (n == 1) continue;
      if (op->dim[d].sequential) return fail(c, HONE_REASON_SPLIT, -1, -1, -1, d, n, 1);
      for (int s = 0; s < op->nstages; s++) {
        if (dim_in(op->stage[s].reduced, d)) return fail(c, HONE_REASON_SPLIT_REDUCED, -1, -1, s, d, n, 1);
        if (!dim_in(op->stage[s].dims, d)) return fail(c, HONE_REASON_SPLIT_STAGE, -1, -1, s, d, n, 1);
      }
      if (!dim_in(hone_operator_parallel(op), d)) return fail(c, HONE_REASON_SPLIT_STAGE, -1, -1, -1, d, n, 1);
    }
  }
  return HONE_REASON_NONE;
}

static int64_t block_of(const legality *c, int d)
{
  int64_t n = 1;
  for (int a = 0; a < c->m->naxes; a++) n *= c->s->split[a][d];
  return hone_ceil_div(c->op->dim[d].extent, n);
}

static hone_reason check_tiles(const legality *c)
{
  int n = c->op->ndims;
  for (int d = 0; d < n; d++)
    if (c->s->tile[0][d] != block_of(c, d))
      return fail(c, HONE_REASON_DOMAIN, 0, -1, -1, d, c->s->tile[0][d], block_of(c, d));
  for (int l = 1; l < c->m->nlevels; l++) {
    unsigned seen = 0;
    for (int d = 0; d < n; d++) {
      int64_t tile = c->s->tile[l][d], outer = c->s->tile[l - 1][d];
      if (tile < 1 || tile > outer) return fail(c, HONE_REASON_TILE, l, -1, -1, d, tile, outer);
      int i = c->s->order[l][d];
      if (i >= n || (seen >> i & 1u)) return fail(c, HONE_REASON_ORDER, l, -1, -1, d, i, n);
      seen |= 1u << i;
    }
  }
  return HONE_REASON_NONE;
}

static hone_reason check_tensors(const legality *c)
{
  const hone_operator *op = c->op;
  int nloops = op->ndims * (c->m->nlevels - 1);
  for (int t = 0; t < op->ntensors; t++) {
    const hone_tensor *x = &op->tensor[t];
    bool intermediate = x->role == HONE_ROLE_INTERMEDIATE;
    if (c->s->layout[t] >= x->nlayouts) return fail(c, HONE_REASON_DOMAIN, 0, t, -1, -1, c->s->layout[t], x->nlayouts);
    if (c->s->share[t] != HONE_SHARE_EACH) return fail(c, HONE_REASON_DOMAIN, 0, t, -1, -1, c->s->share[t], 0);
    if (c->s->home[t] >= c->m->nlevels || (!intermediate && c->s->home[t]))
      return fail(c, HONE_REASON_HOME, c->s->home[t], t, -1, -1, c->s->home[t], c->m->nlevels - 1);
    if (c->s->join[t] < 0 || c->s->join[t] > nloops || (!intermediate && c->s->join[t]))
      return fail(c, HONE_REASON_JOIN, -1, t, -1, -1, c->s->join[t], nloops);
    for (int l = 1; l < c->m->nlevels; l++) {
      int p = c->s->at[t][l], n = c->s->depth[t][l];
      if (p < HONE_BYPASS || p > nloops) return fail(c, HONE_REASON_DOMAIN, l, t, -1, -1, p, nloops);
      if (n < 1 || n > HONE_MAX_DEPTH) return fail(c, HONE_REASON_DOMAIN, l, t, -1, -1, n, HONE_MAX_DEPTH);
    }
  }
  return HONE_REASON_NONE;
}

/* Padded work must fit 64 bits: every step may pad one point to a whole array. */
static bool work_fits(const legality *c, int stage)
{
  int64_t points;
  if (!hone_stage_useful(c->op, stage, &points)) return false;
  if (c->op->stage[stage].kind != HONE_STAGE_CONTRACT) return true;
  const hone_matrix *x = &c->m->engine[c->s->engine[stage]].matrix;
  return hone_checked_mul(points, (int64_t)x->rows * x->columns, &points);
}

static hone_reason check_stages(const legality *c)
{
  for (int s = 0; s < c->op->nstages; s++) {
    int e = c->s->engine[s], held;
    hone_reason bad = hone_engine_check(c->op, c->m, s, e);
    if (bad) return fail(c, bad, -1, -1, s, -1, e, c->m->nengines);
    if (!work_fits(c, s)) return fail(c, HONE_REASON_OVERFLOW, -1, -1, s, -1, 0, 0);
    if (c->op->stage[s].kind != HONE_STAGE_CONTRACT) continue;
    hone_dataflow flow = (hone_dataflow)c->s->dataflow[s];
    if (flow >= HONE_DATAFLOW_COUNT || !(c->m->engine[e].matrix.dataflows >> flow & 1u))
      return fail(c, HONE_REASON_DOMAIN, -1, -1, s, -1, flow, HONE_DATAFLOW_COUNT);
    if (!hone_map_check(c->op, s, flow, c->s->map_row[s], c->s->map_column[s], &held))
      return fail(c, HONE_REASON_MAP, -1, -1, s, c->s->map_row[s], 0, 0);
  }
  return HONE_REASON_NONE;
}

/* "sbuf: W 2 x 8388608 B + ... = 27262976 B of 25165824 B" */
static void say_capacity(const legality *c, const hone_events *e, int level, int64_t need, int64_t limit)
{
  if (!c->why) return;
  char *out = c->why->text;
  size_t n = sizeof c->why->text, used = 0;
  int k = snprintf(out, n, "%s: ", c->m->memory[level].name);
  for (int i = 0; i < e->nbuffers && k >= 0 && (used += (size_t)k) < n; i++) {
    const hone_buffer *x = &e->buffer[i];
    if (x->level != level) k = 0;
    else
      k = snprintf(out + used, n - used, "%s %d x %lld B + ", c->op->tensor[x->tensor].name, x->depth, (long long)x->bytes);
  }
  if (k >= 0 && used + (size_t)k < n && used >= 2)
    snprintf(out + used - 2, n - used + 2, "= %lld B of %lld B", (long long)need, (long long)limit);
}

static hone_reason check_capacity(const legality *c, const hone_events *e)
{
  int64_t need[HONE_MAX_LEVELS];
  hone_events_footprint(e, need);
  for (int l = 1; l < c->m->nlevels; l++) {
    const hone_memory *x = &c->m->memory[l];
    int64_t all = need[l];
    if (!x->per_core && !hone_checked_mul(all, hone_machine_cores(c->m), &all)) all = INT64_MAX;
    if (all <= x->capacity_bytes) continue;
    fail(c, HONE_REASON_CAPACITY, l, -1, -1, -1, all, x->capacity_bytes);
    say_capacity(c, e, l, all, x->capacity_bytes);
    return HONE_REASON_CAPACITY;
  }
  return HONE_REASON_NONE;
}

static hone_reason check_loops(const legality *c, const hone_events *e)
{
  int deepest = 0;
  for (int i = 0; i < e->nnodes; i++)
    if (e->node[i].kind == HONE_NODE_LOOP && e->node[i].depth + 1 > deepest) deepest = e->node[i].depth + 1;
  int limit = c->m->sequencer.loop_depth;
  if (c->m->tile_machine && deepest > limit) return fail(c, HONE_REASON_LOOPS, -1, -1, -1, -1, deepest, limit);
  return HONE_REASON_NONE;
}

hone_reason hone_schedule_check_events(const hone_operator *op, const hone_machine *m, const hone_schedule *s,
                                       hone_events *e, hone_why *why)
{
  legality c = {op, m, s, why};
  if (why) memset(why, 0, sizeof *why);
  hone_reason bad = check_splits(&c);
  if (!bad) bad = check_tiles(&c);
  if (!bad) bad = check_tensors(&c);
  if (!bad) bad = check_stages(&c);
  if (!bad) bad = hone_events_build(op, m, s, e, why);
  if (!bad) bad = check_capacity(&c, e);
  if (!bad) bad = check_loops(&c, e);
  if (!why) return bad;
  if (!bad) hone_ir_why(why, bad, -1, -1, -1, -1);
  else if (!why->text[0]) snprintf(why->text, sizeof why->text, "%s", hone_reason_text(bad));
  return bad;
}

hone_reason hone_schedule_check(const hone_operator *op, const hone_machine *m, const hone_schedule *s, hone_why *why)
{
  hone_events e;
  return hone_schedule_check_events(op, m, s, &e, why);
}
