/* What must fit together in a machine, beyond each field's own range. */
#include "config.h"

#include "ir/machine_int.h"

static bool has_pe_axis(const hone_machine *m, int level) /* above that memory */
{
  for (int a = 0; a < m->naxes; a++)
    if (m->axis[a].above > 0 && m->axis[a].above <= level) return true;
  return false;
}

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
    if (m->tile_machine || l == 0) /* others may leave it open */
      for (int way = 0; way < 2; way++)
        if (hone_rate_unlimited(way ? hone_memory_write_rate(x) : x->bandwidth))
          return hone_tree_err(t, err, HONE_INPUT, "machine.bandwidth", "%s has a limit to its bandwidth; state it",
                               l == 0 ? "DRAM" : "a memory of a tile machine");
    if (m->tile_machine && l == 0 && x->write_bandwidth.num > 0)
      return hone_tree_err(hone_tree_find(t, "write_bandwidth"), err, HONE_INPUT, "machine.bandwidth",
                           "the DRAM of a tile machine has one bandwidth for reads and writes");
    if (x->align_bytes > x->capacity_bytes)
      return hone_tree_err(hone_tree_find(t, "align"), err, HONE_INPUT, "machine.range", "more than the whole memory");
    if (l == 0 && x->per_core)
      return hone_tree_err(hone_tree_find(t, "scope"), err, HONE_INPUT, "machine.memories", "the first memory is the chip's DRAM");
    if (x->per_pe != has_pe_axis(m, l))
      return hone_tree_err(hone_tree_find(t, "scope"), err, HONE_INPUT, "machine.memories",
                           x->per_pe ? "no axis of processing elements stands above it" : "an axis of processing elements stands above it; say pe");
    if (l > 0 && !x->per_core && hone_machine_cores(m) > 1)
      return hone_tree_err(hone_tree_find(t, "scope"), err, HONE_UNSUPPORTED, "machine.unsupported",
                           "memories on chip shared by cores are not supported yet; say core");
  }
  return HONE_OK;
}

static const hone_tree *entry_of(const hone_tree *root, const char *block, int i, const char *key)
{
  const hone_tree *t = entry(root, block, i);
  const hone_tree *value = hone_tree_find(t, key);
  return value ? value : t;
}

/* Rules of foreign accountings, and what only such machines have. */
static hone_status check_axes(const hone_machine *m, const hone_tree *root, hone_err *err)
{
  for (int a = 0; a < m->naxes; a++) {
    const hone_fanout *x = &m->axis[a];
    if (x->above > 0 && m->tile_machine)
      return hone_tree_err(entry_of(root, "axes", a, "below"), err, HONE_INPUT, "machine.axes",
                           "a tile machine has no axes of processing elements; its kind must be model-only");
    if (a > 0 && x->above < m->axis[a - 1].above)
      return hone_tree_err(entry_of(root, "axes", a, "below"), err, HONE_INPUT, "machine.axes",
                           "axes stand in order: cores, then processing elements, outermost first");
    if (x->above > 0 && x->link_bandwidth.num > 0)
      return hone_tree_err(entry_of(root, "axes", a, "link"), err, HONE_INPUT, "machine.axes", "only core axes have a link");
  }
  static const char *const rules[] = {"buffering", "partial_sums"};
  const int value[] = {m->buffering, m->partial_sums};
  for (int i = 0; i < 2; i++)
    if (value[i] != 0 && m->tile_machine)
      return hone_tree_err(hone_tree_find(root, rules[i]), err, HONE_INPUT, "machine.accounting",
                           "a tile machine is accounted for as it works; its kind must be model-only");
  return HONE_OK;
}

static hone_status check_pairs(const hone_array_rate *rate, int n, const hone_tree *engine, hone_err *err)
{
  for (int i = 0; i < n; i++)
    for (int k = 0; k < i; k++)
      if (hone_array_rate_fits(&rate[k], rate[i].a, rate[i].b, rate[i].accumulator))
        return hone_tree_err(hone_tree_find(engine, "rates")->child[i], err, HONE_INPUT, "machine.rate",
                             "this pair of formats is there already");
  return HONE_OK;
}

static hone_status check_accepts(const hone_machine *m, const hone_tree *engine, const char *key, int memory, unsigned role,
                                 hone_err *err)
{
  if (m->memory[memory].accepts & role) return HONE_OK;
  return hone_tree_err(hone_tree_find(engine, key), err, HONE_INPUT, "machine.accepts", "'%s' does not accept %s",
                       m->memory[memory].name, role == HONE_ACCEPT_INPUT ? "input" : "accumulate");
}

static hone_status check_pe(const hone_machine *m, const hone_pe *x, const hone_tree *t, hone_err *err)
{
  if (m->tile_machine)
    return hone_tree_err(hone_tree_find(t, "kind"), err, HONE_INPUT, "machine.engine",
                         "a tile machine has no scalar processing elements; its kind must be model-only");
  hone_status s = check_accepts(m, t, "operands_in", x->operands_in, HONE_ACCEPT_INPUT, err);
  if (s == HONE_OK) s = check_accepts(m, t, "accumulates_in", x->accumulates_in, HONE_ACCEPT_ACCUMULATE, err);
  return s == HONE_OK ? check_pairs(x->rate, x->nrates, t, err) : s;
}

static hone_status check_matrix(const hone_machine *m, const hone_matrix *x, const hone_tree *t, hone_err *err)
{
  hone_status s = check_accepts(m, t, "operands_in", x->operands_in, HONE_ACCEPT_INPUT, err);
  if (s == HONE_OK) s = check_accepts(m, t, "stationary_in", x->stationary_in, HONE_ACCEPT_INPUT, err);
  if (s == HONE_OK) s = check_accepts(m, t, "accumulates_in", x->accumulates_in, HONE_ACCEPT_ACCUMULATE, err);
  return s == HONE_OK ? check_pairs(x->rate, x->nrates, t, err) : s;
}

static hone_status check_engines(const hone_machine *m, const hone_tree *root, hone_err *err)
{
  hone_status s = HONE_OK;
  for (int e = 0; e < m->nengines && s == HONE_OK; e++) {
    const hone_tree *t = entry(root, "engines", e);
    if (m->engine[e].kind == HONE_ENGINE_MATRIX) s = check_matrix(m, &m->engine[e].matrix, t, err);
    if (m->engine[e].kind == HONE_ENGINE_PE) s = check_pe(m, &m->engine[e].pe, t, err);
  }
  return s;
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
  hone_status s = check_axes(m, root, err);
  if (s == HONE_OK) s = check_memories(m, root, err);
  if (s == HONE_OK) s = check_reach(m, root, err);
  if (s == HONE_OK) s = check_movers(m, root, err);
  if (s == HONE_OK) s = check_engines(m, root, err);
  return s == HONE_OK ? check_dma(m, root, err) : s;
}
