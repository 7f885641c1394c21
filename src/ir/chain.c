/* Chains: through which memories a tensor reaches an engine, and what engines
 * can do. The only place that knows which roles a memory must accept. */
#include "config.h"

#include "ir/ir_int.h"

hone_reason hone_ir_why(hone_why *why, hone_reason r, int level, int tensor, int stage, int dim)
{
  if (why) *why = (hone_why){.reason = r, .level = level, .tensor = tensor, .stage = stage, .dim = dim};
  return r;
}

/* An accumulating memory is entered by matrix results only; the engine's own
 * accumulator is always part of the chain. */
static bool on_write_chain(const hone_machine *m, const hone_stage *st, const hone_engine *e, int level, bool placed)
{
  if (st->kind == HONE_STAGE_CONTRACT) {
    if (level == e->matrix.accumulates_in) return placed;
    if (level > e->matrix.accumulates_in) return false;
  }
  return placed && (m->memory[level].accepts & HONE_ACCEPT_OUTPUT);
}

static bool vector_bit(unsigned mask, int level)
{
  return (mask >> level & 1u) != 0;
}

static hone_reason check_path(const hone_machine *m, int outer, const hone_chain *c)
{
  for (int i = 0; i < c->n; outer = c->level[i++])
    if (m->move[outer][c->level[i]] == HONE_MOVE_NONE) return HONE_REASON_PATH;
  return HONE_REASON_NONE;
}

static bool engine_reads(const hone_engine *e, int level, bool held)
{
  if (e->kind == HONE_ENGINE_VECTOR) return vector_bit(e->vector.reads_from, level);
  return level == (held ? e->matrix.stationary_in : e->matrix.operands_in);
}

hone_reason hone_chain_read(const hone_operator *op, const hone_machine *m, int t, int engine, bool held,
                            const bool placed[HONE_MAX_LEVELS], int home, hone_chain *out)
{
  const hone_engine *e = &m->engine[engine];
  out->n = 0;
  if (op->tensor[t].role == HONE_ROLE_INTERMEDIATE && home > 0)
    return engine_reads(e, home, held) ? HONE_REASON_NONE : HONE_REASON_OPERAND;
  for (int l = 1; l < m->nlevels; l++)
    if (placed[l] && (m->memory[l].accepts & HONE_ACCEPT_INPUT)) out->level[out->n++] = l;
  if (out->n == 0 || !engine_reads(e, out->level[out->n - 1], held)) return HONE_REASON_OPERAND;
  return check_path(m, 0, out);
}

/* With a home, the chain holds the memories inside it; empty when the engine
 * writes the home itself. */
hone_reason hone_chain_write(const hone_operator *op, const hone_machine *m, int s, int t, int engine,
                             const bool placed[HONE_MAX_LEVELS], int home, hone_chain *out)
{
  const hone_stage *st = &op->stage[s];
  const hone_engine *e = &m->engine[engine];
  out->n = 0;
  if (op->tensor[t].role != HONE_ROLE_INTERMEDIATE) home = 0;
  bool contract = st->kind == HONE_STAGE_CONTRACT;
  if (home > 0 && !contract) {
    bool fits = (m->memory[home].accepts & HONE_ACCEPT_OUTPUT) && vector_bit(e->vector.writes_to, home);
    return fits ? HONE_REASON_NONE : HONE_REASON_HOME;
  }
  if (home > 0) {
    int acc = e->matrix.accumulates_in;
    if (home == acc) return HONE_REASON_NONE;
    if (home > acc || !(m->memory[home].accepts & HONE_ACCEPT_OUTPUT)) return HONE_REASON_HOME;
  }
  for (int l = home + 1; l < m->nlevels; l++)
    if (on_write_chain(m, st, e, l, placed[l])) out->level[out->n++] = l;
  if (out->n == 0) return HONE_REASON_OPERAND;
  int inner = out->level[out->n - 1];
  bool reach = contract ? inner == e->matrix.accumulates_in : vector_bit(e->vector.writes_to, inner);
  if (!reach) return HONE_REASON_OPERAND;
  return check_path(m, home, out);
}

hone_reason hone_engine_check(const hone_operator *op, const hone_machine *m, int stage, int engine)
{
  const hone_stage *st = &op->stage[stage];
  if (engine < 0 || engine >= m->nengines) return HONE_REASON_ENGINE;
  const hone_engine *e = &m->engine[engine];
  if (st->kind == HONE_STAGE_CONTRACT) {
    if (e->kind != HONE_ENGINE_MATRIX) return HONE_REASON_ENGINE;
    hone_format a = op->tensor[st->read[0].tensor].format, b = op->tensor[st->read[1].tensor].format;
    return hone_machine_find_rate(&e->matrix, a, b, st->accumulator) ? HONE_REASON_NONE : HONE_REASON_FORMAT;
  }
  if ((st->kind != HONE_STAGE_MAP && st->kind != HONE_STAGE_REDUCE) || e->kind != HONE_ENGINE_VECTOR) return HONE_REASON_ENGINE;
  if (e->vector.rate[hone_function_cost_class(st->apply.function)].num == 0) return HONE_REASON_ENGINE;
  hone_format result = st->kind == HONE_STAGE_REDUCE ? st->accumulator : op->tensor[st->write.tensor].format;
  bool takes = hone_vector_takes(&e->vector, result);
  for (int r = 0; r < st->nreads; r++) takes = takes && hone_vector_takes(&e->vector, op->tensor[st->read[r].tensor].format);
  return takes ? HONE_REASON_NONE : HONE_REASON_FORMAT;
}

bool hone_map_check(const hone_operator *op, int stage, hone_dataflow flow, int row, int column, int *held)
{
  const hone_stage *st = &op->stage[stage];
  if (row == column || row < 0 || column < 0 || !dim_in(st->dims, row) || !dim_in(st->dims, column)) return false;
  hone_dimset a = hone_access_dims(op, &st->read[0]), b = hone_access_dims(op, &st->read[1]);
  *held = -1;
  if (flow == HONE_DATAFLOW_WS) {
    if (!dim_in(st->reduced, row) || dim_in(st->reduced, column)) return false;
    if (!dim_in(a, row) || !dim_in(b, row) || dim_in(a, column) == dim_in(b, column)) return false;
    *held = dim_in(a, column) ? 0 : 1;
    return true;
  }
  if (dim_in(st->reduced, row) || dim_in(st->reduced, column)) return false;
  return dim_in(a, row) != dim_in(b, row) && dim_in(a, column) != dim_in(b, column) && dim_in(a, row) != dim_in(a, column);
}

bool hone_ir_accepts(const hone_operator *op, const hone_machine *m, int tensor, int level)
{
  unsigned accepts = m->memory[level].accepts;
  for (int s = 0; s < op->nstages; s++) {
    const hone_stage *st = &op->stage[s];
    for (int r = 0; r < st->nreads; r++)
      if (st->read[r].tensor == tensor && (accepts & HONE_ACCEPT_INPUT)) return true;
    if (st->write.tensor != tensor) continue;
    if (accepts & HONE_ACCEPT_OUTPUT) return true;
    if (st->kind == HONE_STAGE_CONTRACT && (accepts & HONE_ACCEPT_ACCUMULATE)) return true;
  }
  return false;
}

bool hone_ir_at_active(const hone_operator *op, const hone_machine *m, const hone_schedule *s, int tensor, int level)
{
  if (!hone_ir_accepts(op, m, tensor, level)) return false;
  if (op->tensor[tensor].role != HONE_ROLE_INTERMEDIATE || s->home[tensor] == 0) return true;
  if (level <= s->home[tensor]) return false;
  const hone_stage *st = &op->stage[hone_operator_writer(op, tensor)];
  if (st->kind != HONE_STAGE_CONTRACT) return false;
  const hone_engine *e = &m->engine[s->engine[st - op->stage]];
  return e->kind == HONE_ENGINE_MATRIX && on_write_chain(m, st, e, level, true);
}

bool hone_ir_depth_active(const hone_operator *op, const hone_machine *m, const hone_schedule *s, int tensor, int level)
{
  if (op->tensor[tensor].role == HONE_ROLE_INTERMEDIATE && s->home[tensor] > 0 && s->home[tensor] == level) return true;
  return hone_ir_at_active(op, m, s, tensor, level) && s->at[tensor][level] != HONE_BYPASS;
}

bool hone_read_held(const hone_operator *op, const hone_schedule *s, int stage, int r)
{
  int held = -1;
  return op->stage[stage].kind == HONE_STAGE_CONTRACT &&
         hone_map_check(op, stage, (hone_dataflow)s->dataflow[stage], s->map_row[stage], s->map_column[stage], &held) && held == r;
}

/* Can read r of the stage be held in the array (or must it move, for held false)
 * under some dataflow and map of the engine? */
static bool maps_so(const hone_operator *op, const hone_engine *e, int stage, int r, bool want)
{
  for (int f = 0; f < HONE_DATAFLOW_COUNT; f++)
    for (int i = 0; (e->matrix.dataflows >> f & 1u) && i < op->ndims * op->ndims; i++) {
      int held;
      if (hone_map_check(op, stage, (hone_dataflow)f, i / op->ndims, i % op->ndims, &held) && (held == r) == want) return true;
    }
  return false;
}

/* Does t get to read r of the stage on the engine? With a schedule, as its map has
 * it; else under some map. */
static bool reads_on(const hone_operator *op, const hone_machine *m, const hone_schedule *s, int stage, int r, int engine,
                     const bool placed[HONE_MAX_LEVELS], int home)
{
  const hone_engine *e = &m->engine[engine];
  hone_chain c;
  for (int held = 0; held < 2; held++) {
    if (hone_chain_read(op, m, op->stage[stage].read[r].tensor, engine, held, placed, home, &c) != HONE_REASON_NONE) continue;
    if (e->kind == HONE_ENGINE_VECTOR || e->matrix.stationary_in == e->matrix.operands_in) return true;
    if (s ? hone_read_held(op, s, stage, r) == held : maps_so(op, e, stage, r, held)) return true;
  }
  return false;
}

/* Does tensor t reach every stage that touches it with these memories and home,
 * each stage on its engine in the schedule (NULL: on some that can run it)? */
static bool reachable(const hone_operator *op, const hone_machine *m, const hone_schedule *s, int t,
                      const bool placed[HONE_MAX_LEVELS], int home)
{
  hone_chain c;
  for (int i = 0; i < op->nstages; i++) {
    const hone_stage *st = &op->stage[i];
    bool found = false;
    for (int e = 0; e < m->nengines && !found; e++) {
      if ((s && s->engine[i] != e) || hone_engine_check(op, m, i, e) != HONE_REASON_NONE) continue;
      found = st->write.tensor != t || hone_chain_write(op, m, i, t, e, placed, home, &c) == HONE_REASON_NONE;
      for (int r = 0; r < st->nreads; r++)
        found = found && (st->read[r].tensor != t || reads_on(op, m, s, i, r, e, placed, home));
    }
    if (!found) return false;
  }
  return true;
}

/* The set (bits from level 1 on) as flags; false when it holds a memory of no use. */
static bool place(const hone_operator *op, const hone_machine *m, int t, unsigned set, bool placed[HONE_MAX_LEVELS])
{
  bool sensible = true;
  placed[0] = false;
  for (int l = 1; l < m->nlevels; l++) {
    placed[l] = (set >> l & 1u) != 0;
    sensible &= !placed[l] || hone_ir_accepts(op, m, t, l);
  }
  return sensible;
}

unsigned hone_ir_places(const hone_operator *op, const hone_machine *m, const hone_schedule *s, int t)
{
  unsigned best = 0;
  bool placed[HONE_MAX_LEVELS];
  for (unsigned set = (1u << m->nlevels) - 2u; set > 0; set -= 2)
    if ((best == 0 || __builtin_popcount(set) < __builtin_popcount(best)) && place(op, m, t, set, placed) &&
        reachable(op, m, s, t, placed, 0))
      best = set;
  return best;
}

bool hone_ir_survey(const hone_operator *op, const hone_machine *m, int t, unsigned *with, unsigned *without, unsigned *homes)
{
  bool intermediate = op->tensor[t].role == HONE_ROLE_INTERMEDIATE;
  *with = *without = *homes = 0;
  for (unsigned set = 0; set < 1u << m->nlevels; set += 2) {
    bool placed[HONE_MAX_LEVELS], sensible = place(op, m, t, set, placed);
    for (int home = 0; sensible && home < (intermediate ? m->nlevels : 1); home++) {
      if (!reachable(op, m, NULL, t, placed, home)) continue;
      *homes |= 1u << home;
      *with |= set;
      *without |= ~set;
    }
  }
  return *homes != 0;
}

unsigned hone_ir_dataflows(const hone_operator *op, const hone_machine *m, int stage)
{
  unsigned all = 0;
  for (int e = 0; e < m->nengines; e++)
    if (hone_engine_check(op, m, stage, e) == HONE_REASON_NONE) all |= m->engine[e].matrix.dataflows;
  return all;
}
