/* What must fit together in a machine, beyond each field's own range. */
#include "config.h"

#include "ir/machine_int.h"

static const hone_tree *entry(const hone_tree *root, const char *block, int i)
{
  return hone_tree_find(root, block)->child[i];
}

static bool less(hone_rate a, hone_rate b)
{
  return (__int128)a.num * b.den < (__int128)b.num * a.den;
}

/* Data must be able to get everywhere. */
static hone_status check_reach(const hone_machine *m, const hone_tree *root, hone_err *err)
{
  unsigned reached = 1;
  for (int pass = 0; pass < m->nlevels; pass++)
    for (int a = 0; a < m->nlevels; a++)
      for (int b = 0; b < m->nlevels; b++)
        if (reached >> a & 1 && m->move[a][b] != HONE_MOVE_NONE) reached |= 1u << b;
  for (int a = 0; a < m->nlevels; a++)
    if (!(reached >> a & 1))
      return hone_tree_err(entry(root, "memories", a), err, HONE_INPUT, "machine.unreachable",
                           "no moves lead from %s to '%s'", m->memory[0].name, m->memory[a].name);
  return HONE_OK;
}

static hone_status check_movers(const hone_machine *m, const hone_tree *root, hone_err *err)
{
  for (int a = 0; a < m->nlevels; a++)
    for (int b = a + 1; b < m->nlevels; b++) {
      unsigned both = 1u << a | 1u << b;
      bool found = m->move[a][b] != HONE_MOVE_VECTOR;
      for (int e = 0; e < m->nengines; e++) {
        const hone_vector *v = &m->engine[e].vector;
        found = found || (m->engine[e].kind == HONE_ENGINE_VECTOR && (v->reads_from & both) == both &&
                          (v->writes_to & both) == both && v->rate[HONE_COST_SIMPLE].num > 0);
      }
      if (!found)
        return hone_tree_err(hone_tree_find(root, "moves"), err, HONE_INPUT, "machine.move",
                             "no vector engine with a simple rate reads and writes both '%s' and '%s'", m->memory[a].name,
                             m->memory[b].name);
    }
  return HONE_OK;
}

static hone_status check_memories(const hone_machine *m, const hone_tree *root, hone_err *err)
{
  for (int l = 0; l < m->nlevels; l++) {
    const hone_tree *t = entry(root, "memories", l);
    const hone_memory *x = &m->memory[l];
    if (x->cache && m->tile_machine)
      return hone_tree_err(hone_tree_find(t, "cache"), err, HONE_INPUT, "machine.cache",
                           "a tile machine has no hardware-managed memory; its kind must be model-only");
    if (x->align_bytes > x->capacity_bytes)
      return hone_tree_err(hone_tree_find(t, "align"), err, HONE_INPUT, "machine.range", "more than the whole memory");
    if (l == 0 && x->per_core)
      return hone_tree_err(hone_tree_find(t, "scope"), err, HONE_INPUT, "machine.memories", "the first memory is the chip's DRAM");
    if (l > 0 && !x->per_core && hone_machine_cores(m) > 1)
      return hone_tree_err(hone_tree_find(t, "scope"), err, HONE_UNSUPPORTED, "machine.unsupported",
                           "memories on chip shared by cores are not supported yet; say core");
  }
  return HONE_OK;
}

static hone_status check_engines(const hone_machine *m, const hone_tree *root, hone_err *err)
{
  for (int e = 0; e < m->nengines; e++) {
    const hone_tree *t = entry(root, "engines", e);
    const hone_matrix *x = &m->engine[e].matrix;
    if (m->engine[e].kind != HONE_ENGINE_MATRIX) continue;
    if (!(m->memory[x->operands_in].accepts & HONE_ACCEPT_INPUT))
      return hone_tree_err(hone_tree_find(t, "operands_in"), err, HONE_INPUT, "machine.accepts",
                           "'%s' does not accept input", m->memory[x->operands_in].name);
    if (!(m->memory[x->stationary_in].accepts & HONE_ACCEPT_INPUT))
      return hone_tree_err(hone_tree_find(t, "stationary_in"), err, HONE_INPUT, "machine.accepts",
                           "'%s' does not accept input", m->memory[x->stationary_in].name);
    if (!(m->memory[x->accumulates_in].accepts & HONE_ACCEPT_ACCUMULATE))
      return hone_tree_err(hone_tree_find(t, "accumulates_in"), err, HONE_INPUT, "machine.accepts",
                           "'%s' does not accept accumulate", m->memory[x->accumulates_in].name);
    for (int i = 0; i < x->nrates; i++)
      if (hone_machine_find_rate(x, x->rate[i].a, x->rate[i].b, x->rate[i].accumulator) != &x->rate[i])
        return hone_tree_err(hone_tree_find(t, "rates")->child[i], err, HONE_INPUT, "machine.rate",
                             "this pair of formats is there already");
  }
  return HONE_OK;
}

static hone_status check_dma(const hone_machine *m, const hone_tree *root, hone_err *err)
{
  hone_rate all = {m->dma.engine_rate.num * m->dma.engines, m->dma.engine_rate.den};
  if (!less(all, m->dma.rate)) return HONE_OK;
  return hone_tree_err(hone_tree_find(hone_tree_find(root, "dma"), "rate"), err, HONE_INPUT, "machine.bandwidth",
                       "more than the %d engines move together", m->dma.engines);
}

hone_status hone_machine_check(const hone_machine *m, const hone_tree *root, hone_err *err)
{
  hone_status s = check_memories(m, root, err);
  if (s == HONE_OK) s = check_reach(m, root, err);
  if (s == HONE_OK) s = check_movers(m, root, err);
  if (s == HONE_OK) s = check_engines(m, root, err);
  return s == HONE_OK ? check_dma(m, root, err) : s;
}
