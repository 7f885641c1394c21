/* The parameters of (operator, machine), generated in the order of DESIGN
 * section 6 lines 3-15. A parameter with one possible value is left out. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ir/ir_int.h"

static const char *const kind_names[] = {
#define HONE_PARAM(id, name) name,
#include "ir/param.def"
#undef HONE_PARAM
};
_Static_assert(sizeof kind_names / sizeof *kind_names == HONE_PARAM_COUNT, "one name per kind");

typedef struct {
  const hone_operator *op;
  const hone_machine *m;
  hone_params *p;
  int capacity;
} generator;

static hone_param blank(hone_param_kind kind)
{
  return (hone_param){.kind = kind, .axis = -1, .level = -1, .dim = -1, .tensor = -1, .stage = -1};
}

static void add(generator *g, const hone_param *x)
{
  bool single = x->domain == HONE_DOMAIN_RANGE ? x->min >= x->max : x->domain == HONE_DOMAIN_SET && x->nset < 2;
  if (single) return;
  if (g->p->n == g->capacity) {
    g->capacity = g->capacity ? 2 * g->capacity : 64;
    g->p->param = hone_heap_realloc(g->p->param, (size_t)g->capacity, sizeof *g->p->param);
  }
  g->p->param[g->p->n++] = *x;
}

static void set_range(hone_param *x, int64_t min, int64_t max)
{
  x->domain = HONE_DOMAIN_RANGE;
  x->min = min;
  x->max = max;
}

static void set_value(hone_param *x, int64_t v)
{
  x->domain = HONE_DOMAIN_SET;
  if (x->nset < HONE_MAX_SET) x->set[x->nset++] = v;
}

static void gen_splits(generator *g)
{
  for (int a = 0; a < g->m->naxes; a++)
    for (int d = 0; d < g->op->ndims; d++) {
      bool parallel = dim_in(hone_operator_parallel(g->op), d);
      hone_param x = blank(HONE_PARAM_SPLIT);
      x.axis = (int8_t)a;
      x.dim = (int8_t)d;
      snprintf(x.name, sizeof x.name, "split.%s.%s", g->m->axis[a].name, g->op->dim[d].name);
      set_range(&x, 1, parallel ? hone_min64(g->m->axis[a].size, g->op->dim[d].extent) : 1);
      add(g, &x);
    }
}

static void gen_loops(generator *g)
{
  int several = 0;
  for (int l = 1; l < g->m->nlevels; l++)
    for (int d = 0; d < g->op->ndims; d++) {
      hone_param x = blank(HONE_PARAM_TILE);
      x.level = (int8_t)l;
      x.dim = (int8_t)d;
      snprintf(x.name, sizeof x.name, "tile.%d.%s", l, g->op->dim[d].name);
      set_range(&x, 1, g->op->dim[d].extent);
      add(g, &x);
    }
  for (int d = 0; d < g->op->ndims; d++) several += g->op->dim[d].extent > 1;
  for (int l = 1; l < g->m->nlevels && several > 1; l++) {
    hone_param x = blank(HONE_PARAM_ORDER);
    x.level = (int8_t)l;
    x.domain = HONE_DOMAIN_ORDER;
    snprintf(x.name, sizeof x.name, "order.%d", l);
    add(g, &x);
  }
}

static hone_status gen_placement(generator *g, hone_err *err)
{
  int nloops = g->op->ndims * (g->m->nlevels - 1);
  unsigned with[HONE_MAX_TENSORS], without[HONE_MAX_TENSORS], homes[HONE_MAX_TENSORS];
  for (int t = 0; t < g->op->ntensors; t++)
    if (!hone_ir_survey(g->op, g->m, t, &with[t], &without[t], &homes[t]))
      return hone_err_set(err, HONE_INFEASIBLE, "schedule.no-path", "tensor %s cannot reach the engines of machine %s",
                          g->op->tensor[t].name, g->m->name);
  for (int kind = HONE_PARAM_AT; kind <= HONE_PARAM_DEPTH; kind++)
    for (int t = 0; t < g->op->ntensors; t++)
      for (int l = 1; l < g->m->nlevels; l++) {
        hone_param x = blank((hone_param_kind)kind);
        x.tensor = (int8_t)t;
        x.level = (int8_t)l;
        bool here = (with[t] >> l & 1u) != 0;
        snprintf(x.name, sizeof x.name, "%s.%s.%d", kind_names[kind], g->op->tensor[t].name, l);
        if (kind == HONE_PARAM_AT && here) set_range(&x, (without[t] >> l & 1u) ? HONE_BYPASS : 0, nloops);
        if (kind == HONE_PARAM_DEPTH) set_range(&x, 1, here || (homes[t] >> l & 1u) ? HONE_MAX_DEPTH : 1);
        add(g, &x);
      }
  for (int kind = HONE_PARAM_JOIN; kind <= HONE_PARAM_HOME; kind++)
    for (int t = 0; t < g->op->ntensors; t++) {
      if (g->op->tensor[t].role != HONE_ROLE_INTERMEDIATE) continue;
      hone_param x = blank((hone_param_kind)kind);
      x.tensor = (int8_t)t;
      snprintf(x.name, sizeof x.name, "%s.%s", kind_names[kind], g->op->tensor[t].name);
      if (kind == HONE_PARAM_JOIN) set_range(&x, 0, homes[t] == 1 ? 0 : nloops);
      for (int h = 0; kind == HONE_PARAM_HOME && h < g->m->nlevels; h++)
        if (homes[t] >> h & 1u) set_value(&x, h);
      add(g, &x);
    }
  return HONE_OK;
}

static void list_formats(const generator *g, char *out, size_t n)
{
  size_t used = 0;
  out[0] = '\0';
  for (int e = 0; e < g->m->nengines; e++)
    for (int i = 0; g->m->engine[e].kind == HONE_ENGINE_MATRIX && i < g->m->engine[e].matrix.nrates; i++) {
      const hone_array_rate *r = &g->m->engine[e].matrix.rate[i];
      int k = snprintf(out + used, n - used, "%s%s x %s -> %s", used ? ", " : "", hone_format_name(r->a),
                       hone_format_name(r->b), hone_format_name(r->accumulator));
      if (k < 0 || (used += (size_t)k) >= n) return;
    }
}

static hone_status no_engine(const generator *g, int s, hone_err *err)
{
  const hone_stage *st = &g->op->stage[s];
  if (st->kind == HONE_STAGE_CONTRACT) {
    char have[512];
    hone_err_set(err, HONE_INFEASIBLE, "schedule.format", "machine %s has no matrix engine for %s x %s -> %s (stage %s)", g->m->name,
                 hone_format_name(g->op->tensor[st->read[0].tensor].format),
                 hone_format_name(g->op->tensor[st->read[1].tensor].format), hone_format_name(st->accumulator), st->name);
    list_formats(g, have, sizeof have);
    hone_err_hint(err, "it has %s", have[0] ? have : "no matrix engine");
    return HONE_INFEASIBLE;
  }
  for (int e = 0; e < g->m->nengines; e++)
    if (hone_engine_check(g->op, g->m, s, e) == HONE_REASON_FORMAT)
      return hone_err_set(err, HONE_INFEASIBLE, "schedule.format", "engine %s of machine %s does not take the formats of stage %s",
                          g->m->engine[e].name, g->m->name, st->name);
  return hone_err_set(err, HONE_INFEASIBLE, "schedule.function", "machine %s has no engine for function %s (stage %s)",
                      g->m->name, hone_function_name(st->apply.function), st->name);
}

static hone_status gen_engines(generator *g, hone_err *err)
{
  for (int s = 0; s < g->op->nstages; s++) {
    hone_param x = blank(HONE_PARAM_ENGINE);
    x.stage = (int8_t)s;
    snprintf(x.name, sizeof x.name, "engine.%s", g->op->stage[s].name);
    for (int e = 0; e < g->m->nengines; e++)
      if (hone_engine_check(g->op, g->m, s, e) == HONE_REASON_NONE) set_value(&x, e);
    if (x.nset == 0) return no_engine(g, s, err);
    add(g, &x);
  }
  return HONE_OK;
}

static bool maps_somehow(const generator *g, int s, unsigned flows, int row, int column)
{
  int held;
  for (int f = 0; f < HONE_DATAFLOW_COUNT; f++)
    if ((flows >> f & 1u) && hone_map_check(g->op, s, (hone_dataflow)f, row, column, &held)) return true;
  return false;
}

static void gen_maps(generator *g)
{
  for (int kind = HONE_PARAM_DATAFLOW; kind <= HONE_PARAM_MAP; kind++)
    for (int s = 0; s < g->op->nstages; s++) {
      if (g->op->stage[s].kind != HONE_STAGE_CONTRACT) continue;
      hone_param x = blank((hone_param_kind)kind);
      unsigned flows = hone_ir_dataflows(g->op, g->m, s);
      x.stage = (int8_t)s;
      snprintf(x.name, sizeof x.name, "%s.%s", kind_names[kind], g->op->stage[s].name);
      for (int f = 0; kind == HONE_PARAM_DATAFLOW && f < HONE_DATAFLOW_COUNT; f++)
        if (flows >> f & 1u) set_value(&x, f);
      for (int c = 0; kind == HONE_PARAM_MAP && c < g->op->ndims; c++)
        for (int r = 0; r < g->op->ndims; r++)
          if (maps_somehow(g, s, flows, r, c)) set_value(&x, r | c << 8);
      add(g, &x);
    }
}

static void gen_layouts(generator *g)
{
  for (int t = 0; t < g->op->ntensors; t++) {
    hone_param x = blank(HONE_PARAM_LAYOUT);
    x.tensor = (int8_t)t;
    snprintf(x.name, sizeof x.name, "layout.%s", g->op->tensor[t].name);
    for (int l = 0; l < g->op->tensor[t].nlayouts; l++) set_value(&x, l);
    add(g, &x);
  }
}

/* What machine texts can say and schedules cannot, so far. */
static hone_status check_schedulable(const hone_machine *m, hone_err *err)
{
  for (int a = 0; a < m->naxes; a++)
    if (m->axis[a].above > 0) {
      hone_err_set(err, HONE_UNSUPPORTED, "schedule.unsupported",
                   "schedules over processing-element axes ('%s' of machine %s) are not supported yet", m->axis[a].name, m->name);
      hone_err_hint(err, "hone machine show describes the machine; machines with core axes only can be tuned for");
      return HONE_UNSUPPORTED;
    }
  if (m->buffering == HONE_BUFFERING_COPIES && m->partial_sums == HONE_SUMS_ACCUMULATOR) return HONE_OK;
  return hone_err_set(err, HONE_UNSUPPORTED, "schedule.unsupported", "schedules under the accounting of machine %s (%s) are not supported yet",
                      m->name, m->buffering != HONE_BUFFERING_COPIES ? "buffering" : "partial_sums");
}

hone_status hone_params_new(const hone_operator *op, const hone_machine *m, hone_params *out, hone_err *err)
{
  generator g = {op, m, out, 0};
  *out = (hone_params){0};
  hone_status can = check_schedulable(m, err);
  if (can != HONE_OK) return can;
  if (op->ndims * (m->nlevels - 1) > HONE_MAX_LOOPS)
    return hone_err_set(err, HONE_UNSUPPORTED, "schedule.loops", "%d dims in %d memories need more than %d loops", op->ndims,
                        m->nlevels - 1, HONE_MAX_LOOPS);
  gen_splits(&g);
  gen_loops(&g);
  hone_params engines = {0};
  generator ge = {op, m, &engines, 0};
  hone_status s = gen_engines(&ge, err); /* first: the clearest diagnostic */
  if (s == HONE_OK) s = gen_placement(&g, err);
  for (int i = 0; s == HONE_OK && i < engines.n; i++) add(&g, &engines.param[i]);
  hone_params_free(&engines);
  if (s == HONE_OK) {
    gen_maps(&g);
    gen_layouts(&g);
  } else
    hone_params_free(out);
  return s;
}

void hone_params_free(hone_params *p)
{
  free(p->param);
  *p = (hone_params){0};
}

int hone_params_find(const hone_params *p, const char *name)
{
  for (int i = 0; i < p->n; i++)
    if (!strcmp(p->param[i].name, name)) return i;
  return -1;
}

static int64_t pack_order(const uint8_t *order)
{
  uint64_t v = 0;
  for (int i = 0; i < HONE_MAX_DIMS; i++) v |= (uint64_t)order[i] << (4 * i);
  return (int64_t)v;
}

int64_t hone_param_get(const hone_param *p, const hone_schedule *s)
{
  switch (p->kind) {
  case HONE_PARAM_SPLIT: return s->split[p->axis][p->dim];
  case HONE_PARAM_TILE: return s->tile[p->level][p->dim];
  case HONE_PARAM_ORDER: return pack_order(s->order[p->level]);
  case HONE_PARAM_AT: return s->at[p->tensor][p->level];
  case HONE_PARAM_DEPTH: return s->depth[p->tensor][p->level];
  case HONE_PARAM_SHARE: return s->share[p->tensor];
  case HONE_PARAM_JOIN: return s->join[p->tensor];
  case HONE_PARAM_HOME: return s->home[p->tensor];
  case HONE_PARAM_ENGINE: return s->engine[p->stage];
  case HONE_PARAM_DATAFLOW: return s->dataflow[p->stage];
  case HONE_PARAM_MAP: return s->map_row[p->stage] | s->map_column[p->stage] << 8;
  case HONE_PARAM_LAYOUT: return s->layout[p->tensor];
  case HONE_PARAM_COUNT: break;
  }
  return 0;
}

void hone_param_set(const hone_param *p, hone_schedule *s, int64_t v)
{
  switch (p->kind) {
  case HONE_PARAM_SPLIT: s->split[p->axis][p->dim] = v; break;
  case HONE_PARAM_TILE: s->tile[p->level][p->dim] = v; break;
  case HONE_PARAM_ORDER:
    for (int i = 0; i < HONE_MAX_DIMS; i++) s->order[p->level][i] = (uint8_t)((uint64_t)v >> (4 * i) & 15u);
    break;
  case HONE_PARAM_AT: s->at[p->tensor][p->level] = (int8_t)v; break;
  case HONE_PARAM_DEPTH: s->depth[p->tensor][p->level] = (uint8_t)v; break;
  case HONE_PARAM_SHARE: s->share[p->tensor] = (uint8_t)v; break;
  case HONE_PARAM_JOIN: s->join[p->tensor] = (int8_t)v; break;
  case HONE_PARAM_HOME: s->home[p->tensor] = (uint8_t)v; break;
  case HONE_PARAM_ENGINE: s->engine[p->stage] = (uint8_t)v; break;
  case HONE_PARAM_DATAFLOW: s->dataflow[p->stage] = (uint8_t)v; break;
  case HONE_PARAM_MAP:
    s->map_row[p->stage] = (uint8_t)(v & 255);
    s->map_column[p->stage] = (uint8_t)(v >> 8 & 255);
    break;
  case HONE_PARAM_LAYOUT: s->layout[p->tensor] = (uint8_t)v; break;
  case HONE_PARAM_COUNT: break;
  }
}
