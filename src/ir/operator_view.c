/* Gathered tensors become views. A tensor read, or written, through an index table,
 * E[I[t], w], is from here on the tensor of what is touched, E'[t, w], whose elements
 * along t lie anywhere in DRAM: `scattered`. So boxes, counts and legality need no
 * table; only runs in DRAM end at a scattered axis. The table is bound with the
 * tensor (a program's argument is then an address per index) and is no tensor of
 * the operator any more; that reading it takes time too, 4 bytes beside a row, is
 * left out. Two indices that are equal are moved twice. */
#include "config.h"

#include <string.h>

#include "ir/operator_int.h"

/* The dims and extents a table is asked along: single dims, over the whole table. */
static hone_status check_table(const hone_loader *l, hone_node *n, const hone_axis_expr *e)
{
  const hone_tensor *t = &l->op.tensor[e->table];
  if (t->role != HONE_ROLE_INPUT || !hone_format_is_integer(t->format))
    return REFUSE(n, "table", "'%s' must be an input of integers to be an index table", t->name);
  for (int a = 0; a < t->rank; a++) {
    const hone_affine *f = &e->table_axis[a];
    bool dim = f->nterms == 1 && f->term[0].coef == 1 && f->constant == 0;
    if (!dim || l->op.dim[f->term[0].dim].extent != t->extent[a])
      return REFUSE(n, "table", "axis %d of the index table '%s' must be one dim, of its extent", a, t->name);
  }
  return HONE_OK;
}

/* One access by axes of its own, the tables' axes in their place. */
static hone_status widen(const hone_loader *l, hone_node *n, hone_access *x)
{
  hone_access wide = {.tensor = x->tensor};
  int rank = 0;
  for (int a = 0; a < l->op.tensor[x->tensor].rank; a++) {
    const hone_axis_expr *e = &x->axis[a];
    int parts = e->table < 0 ? 1 : l->op.tensor[e->table].rank;
    hone_status s = e->table < 0 ? HONE_OK : check_table(l, n, e);
    if (s != HONE_OK) return s;
    if (rank + parts > HONE_MAX_RANK)
      return hone_node_err(l->doc, n, l->err, HONE_UNSUPPORTED, "operator.too-many", "more than %d axes with those of the index table", HONE_MAX_RANK);
    for (int i = 0; i < parts; i++)
      wide.axis[rank++] = e->table < 0 ? *e : (hone_axis_expr){.affine = e->table_axis[i], .table = -1};
  }
  *x = wide;
  return HONE_OK;
}

/* Extents of the view that access x, before it is widened, makes of its tensor. */
static hone_status make_view(hone_loader *l, hone_node *n, const hone_access *x, hone_tensor *view)
{
  const hone_tensor *t = &l->op.tensor[x->tensor];
  *view = *t;
  view->rank = 0;
  if (t->nlayouts > 1) return REFUSE(n, "layout", "'%s' is reached through an index table and has one layout", t->name);
  for (int a = 0; a < t->rank; a++) {
    const hone_axis_expr *e = &x->axis[a];
    int parts = e->table < 0 ? 1 : l->op.tensor[e->table].rank;
    if (e->table >= 0 && t->layout[0][view->scattered ? 0 : a] != a && a > 0)
      return REFUSE(n, "layout", "an axis of '%s' that an index table gives must be outermost", t->name);
    for (int i = 0; i < parts; i++) {
      if (e->table >= 0) view->scattered |= (uint8_t)(1u << view->rank);
      view->extent[view->rank++] = e->table < 0 ? t->extent[a] : l->op.tensor[e->table].extent[i];
    }
  }
  if (view->scattered & (view->scattered + 1)) return REFUSE(n, "layout", "an axis of '%s' that an index table gives must be outermost", t->name);
  for (int a = 0; a < view->rank; a++) view->layout[0][a] = (uint8_t)a;
  return HONE_OK;
}

static bool gathers(const hone_operator *op, const hone_access *x)
{
  for (int a = 0; a < op->tensor[x->tensor].rank; a++)
    if (x->axis[a].table >= 0) return true;
  return false;
}

/* Every access of tensor t through the same tables, or none. */
static hone_status view_tensor(hone_loader *l, int t)
{
  hone_tensor view = {0};
  bool any = false, plain = false;
  for (int s = 0; s < l->op.nstages; s++) {
    hone_stage *st = &l->op.stage[s];
    for (int r = 0; r <= st->nreads; r++) {
      hone_access *x = r < st->nreads ? &st->read[r] : &st->write;
      hone_tensor made;
      if (x->tensor != t) continue;
      plain = plain || !gathers(&l->op, x);
      if (!gathers(&l->op, x)) continue;
      hone_status bad = make_view(l, l->at.stage[s], x, &made);
      if (bad != HONE_OK) return bad;
      if (any && (made.rank != view.rank || memcmp(made.extent, view.extent, sizeof made.extent) != 0 || made.scattered != view.scattered))
        return REFUSE(l->at.stage[s], "table", "'%s' is reached in two ways", made.name);
      view = made;
      any = true;
    }
  }
  if (!any) return HONE_OK;
  if (plain) return REFUSE(l->at.tensor[t], "table", "'%s' is reached both with and without an index table", view.name);
  for (int s = 0; s < l->op.nstages; s++) {
    hone_stage *st = &l->op.stage[s];
    for (int r = 0; r <= st->nreads; r++) {
      hone_access *x = r < st->nreads ? &st->read[r] : &st->write;
      hone_status bad = x->tensor == t ? widen(l, l->at.stage[s], x) : HONE_OK;
      if (bad != HONE_OK) return bad;
    }
  }
  l->op.tensor[t] = view;
  return HONE_OK;
}

static void remove_tensor(hone_loader *l, int gone)
{
  hone_operator *op = &l->op;
  for (int t = gone; t + 1 < op->ntensors; t++) {
    op->tensor[t] = op->tensor[t + 1];
    l->at.tensor[t] = l->at.tensor[t + 1];
  }
  op->ntensors--;
  for (int s = 0; s < op->nstages; s++) {
    for (int r = 0; r < op->stage[s].nreads; r++) op->stage[s].read[r].tensor -= op->stage[s].read[r].tensor > gone;
    op->stage[s].write.tensor -= op->stage[s].write.tensor > gone;
  }
}

hone_status hone_loader_make_views(hone_loader *l)
{
  bool table[HONE_MAX_TENSORS] = {false};
  for (int s = 0; s < l->op.nstages; s++) {
    const hone_stage *st = &l->op.stage[s];
    for (int r = 0; r <= st->nreads; r++) {
      const hone_access *x = r < st->nreads ? &st->read[r] : &st->write;
      for (int a = 0; a < l->op.tensor[x->tensor].rank; a++)
        if (x->axis[a].table >= 0) table[x->axis[a].table] = true;
    }
  }
  for (int t = 0; t < l->op.ntensors; t++) {
    hone_status s = view_tensor(l, t);
    if (s != HONE_OK) return s;
  }
  for (int t = l->op.ntensors - 1; t >= 0; t--) {
    if (!table[t]) continue;
    for (int s = 0; s < l->op.nstages; s++)
      for (int r = 0; r < l->op.stage[s].nreads; r++)
        if (l->op.stage[s].read[r].tensor == t)
          return REFUSE(l->at.stage[s], "table", "the index table '%s' is also read as numbers", l->op.tensor[t].name);
    remove_tensor(l, t);
  }
  return HONE_OK;
}
