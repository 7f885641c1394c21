/* Schedules as values: starting values, normal form, instance blocks. */
#include "config.h"

#include "ir/schedule.h"

#include <string.h>

#include "ir/ir_int.h"

static int64_t splits_of(const hone_machine *m, const hone_schedule *s, int d)
{
  int64_t n = 1;
  for (int a = 0; a < m->naxes; a++) n *= hone_max64(s->split[a][d], 1); /* each at most an axis size */
  return n;
}

/* The first dataflow on offer and the first map it takes. */
static void init_map(const hone_operator *op, const hone_machine *m, hone_schedule *s, int stage)
{
  unsigned flows = hone_ir_dataflows(op, m, stage);
  for (int f = 0; f < HONE_DATAFLOW_COUNT; f++)
    for (int c = 0; (flows >> f & 1u) && c < op->ndims; c++)
      for (int r = 0, held; r < op->ndims; r++)
        if (hone_map_check(op, stage, (hone_dataflow)f, r, c, &held)) {
          s->dataflow[stage] = (uint8_t)f;
          s->map_row[stage] = (uint8_t)r;
          s->map_column[stage] = (uint8_t)c;
          return;
        }
}

void hone_schedule_init(const hone_operator *op, const hone_machine *m, hone_schedule *s)
{
  memset(s, 0, sizeof *s);
  for (int a = 0; a < HONE_MAX_AXES; a++)
    for (int d = 0; d < HONE_MAX_DIMS; d++) s->split[a][d] = 1;
  for (int l = 0; l < HONE_MAX_LEVELS; l++)
    for (int d = 0; d < HONE_MAX_DIMS; d++) {
      s->tile[l][d] = l == 0 && d < op->ndims ? op->dim[d].extent : 1;
      s->order[l][d] = (uint8_t)d;
    }
  /* Where no order is a parameter, the one dim that loops comes first: positions
   * in a text then mean the same before and after normalization. */
  for (int l = 0; l < m->nlevels; l++)
    for (int i = 0, k = 0; i < 2; i++)
      for (int d = 0; d < op->ndims; d++)
        if ((op->dim[d].extent > 1) == (i == 0)) s->order[l][k++] = (uint8_t)d;
  for (int t = 0; t < HONE_MAX_TENSORS; t++) {
    unsigned with = 0, without, homes = 0;
    if (t < op->ntensors) hone_ir_survey(op, m, t, &with, &without, &homes);
    s->home[t] = (uint8_t)(homes ? __builtin_ctz(homes) : 0);
    for (int l = 0; l < HONE_MAX_LEVELS; l++) {
      s->at[t][l] = (int8_t)((with >> l & 1u) ? l * op->ndims : HONE_BYPASS);
      s->depth[t][l] = 1;
    }
  }
  for (int i = 0; i < op->nstages; i++) {
    for (int e = m->nengines - 1; e >= 0; e--)
      if (hone_engine_check(op, m, i, e) == HONE_REASON_NONE) s->engine[i] = (uint8_t)e;
    if (op->stage[i].kind == HONE_STAGE_CONTRACT) init_map(op, m, s, i);
  }
}

/* Positions count loops of the nest; loops with one trip move to the end of
 * their group, so a position is kept by the number of several-trip loops before it. */
typedef struct {
  int8_t to[HONE_MAX_LOOPS + 1];
} position_map;

static void map_positions(const hone_operator *op, const hone_machine *m, hone_schedule *s, position_map *map)
{
  int n = op->ndims, several = 0, nloops = n * (m->nlevels - 1);
  int after[HONE_MAX_LOOPS + 1]; /* after[c]: normal position right after the c-th several-trip loop */
  int before[HONE_MAX_LOOPS + 1];
  after[0] = before[0] = 0;
  for (int l = 1; l < m->nlevels; l++) {
    uint8_t order[HONE_MAX_DIMS];
    bool single[HONE_MAX_DIMS];
    int k = 0;
    for (int d = 0; d < n; d++) single[d] = s->tile[l][d] >= s->tile[l - 1][d];
    for (int i = 0; i < n; i++) {
      int d = s->order[l][i];
      if (!single[d]) {
        order[k++] = (uint8_t)d;
        after[++several] = (l - 1) * n + k;
      }
      before[(l - 1) * n + i + 1] = several;
    }
    for (int d = 0; d < n; d++)
      if (single[d]) order[k++] = (uint8_t)d;
    memcpy(s->order[l], order, sizeof(uint8_t) * (size_t)n);
  }
  for (int p = 0; p <= nloops; p++) map->to[p] = (int8_t)after[before[p]];
}

static bool is_permutation(const uint8_t *order, int n)
{
  unsigned seen = 0;
  for (int i = 0; i < n; i++) {
    if (order[i] >= n || (seen >> order[i] & 1u)) return false;
    seen |= 1u << order[i];
  }
  return true;
}

static int8_t mapped(const position_map *map, int p, int nloops)
{
  return p > 0 && p <= nloops ? map->to[p] : (int8_t)p;
}

void hone_schedule_normalize(const hone_operator *op, const hone_machine *m, hone_schedule *s)
{
  int nloops = op->ndims * (m->nlevels - 1);
  position_map map;
  for (int d = 0; d < op->ndims; d++) s->tile[0][d] = hone_ceil_div(op->dim[d].extent, splits_of(m, s, d));
  for (int l = 1; l < m->nlevels; l++)
    if (!is_permutation(s->order[l], op->ndims)) return; /* illegal: left for check to say */
  map_positions(op, m, s, &map);
  for (int t = 0; t < op->ntensors; t++) {
    s->join[t] = op->tensor[t].role == HONE_ROLE_INTERMEDIATE && s->home[t] > 0 ? mapped(&map, s->join[t], nloops) : 0;
    for (int l = 1; l < m->nlevels; l++) {
      s->at[t][l] = hone_ir_at_active(op, m, s, t, l) ? mapped(&map, s->at[t][l], nloops) : HONE_BYPASS;
      if (!hone_ir_depth_active(op, m, s, t, l)) s->depth[t][l] = 1;
    }
  }
}

void hone_schedule_fit(const hone_operator *op, const hone_machine *m, hone_schedule *s)
{
  for (int d = 0; d < op->ndims; d++) {
    for (int a = 0; a < m->naxes; a++) s->split[a][d] = hone_min64(s->split[a][d], op->dim[d].extent);
    s->tile[0][d] = hone_ceil_div(op->dim[d].extent, splits_of(m, s, d));
    for (int l = 1; l < m->nlevels; l++) s->tile[l][d] = hone_min64(s->tile[l][d], s->tile[l - 1][d]);
  }
  hone_schedule_normalize(op, m, s);
}

/* Within an axis the split dims are digits in dim order, the first most
 * significant; axes likewise. Instances beyond the product have no block. */
void hone_schedule_block(const hone_operator *op, const hone_machine *m, const hone_schedule *s, int instance, int dim,
                         int64_t *start, int64_t *length)
{
  int64_t index[HONE_MAX_DIMS] = {0}, rest = instance;
  int64_t coordinate[HONE_MAX_AXES];
  for (int a = m->naxes - 1; a >= 0; a--) {
    coordinate[a] = rest % m->axis[a].size;
    rest /= m->axis[a].size;
  }
  bool idle = rest != 0;
  for (int a = 0; a < m->naxes; a++) {
    int64_t digits[HONE_MAX_DIMS], c = coordinate[a];
    for (int d = op->ndims - 1; d >= 0; d--) {
      digits[d] = c % s->split[a][d];
      c /= s->split[a][d];
    }
    idle |= c != 0;
    for (int d = 0; d < op->ndims; d++) index[d] = index[d] * s->split[a][d] + digits[d];
  }
  int64_t extent = op->dim[dim].extent, block = hone_ceil_div(extent, splits_of(m, s, dim));
  *start = 0;
  *length = 0;
  if (idle || !hone_checked_mul(index[dim], block, start) || *start >= extent) {
    *start = 0;
    return;
  }
  *length = hone_min64(block, extent - *start);
}
