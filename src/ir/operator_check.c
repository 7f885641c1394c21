/* What an operator must satisfy once loaded, and what the rooms do not handle
 * yet (refused as UNSUPPORTED; the types have their place). */
#include "config.h"

#include "ir/operator_int.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"

typedef struct {
  const hone_operator *op;
  const hone_operator_places *at;
  hone_err *err;
} checker;

#define INVALID(n, code, ...) hone_node_err(c->at->doc, (n), c->err, HONE_INPUT, "operator." code, __VA_ARGS__)
#define UNSUPPORTED(n, ...) hone_node_err(c->at->doc, (n), c->err, HONE_UNSUPPORTED, "operator.unsupported", __VA_ARGS__)

static hone_status check_dim(const checker *c, int i)
{
  const hone_dim *d = &c->op->dim[i];
  hone_dimset used = 0;
  if (d->sequential) return UNSUPPORTED(c->at->dim[i], "sequential dims ('%s') are not supported yet", d->name);
  if (d->extent_from >= 0) return UNSUPPORTED(c->at->dim[i], "ragged dims ('%s') are not supported yet", d->name);
  for (int s = 0; s < c->op->nstages; s++)
    used |= c->op->stage[s].dims;
  if (!(used >> i & 1)) return INVALID(c->at->dim[i], "unused", "no stage uses the dim '%s'", d->name);
  return HONE_OK;
}

static bool reads(const hone_stage *st, int tensor)
{
  for (int i = 0; i < st->nreads; i++)
    if (st->read[i].tensor == tensor) return true;
  return false;
}

static hone_status check_bytes(const checker *c, int i)
{
  const hone_tensor *t = &c->op->tensor[i];
  int64_t elements = 1, bits;
  bool fits = true;
  for (int a = 0; a < t->rank; a++)
    fits = fits && hone_checked_mul(elements, t->extent[a], &elements);
  /* The accumulator format is the widest any copy takes. */
  if (fits && hone_checked_mul(elements, hone_format_bits(t->format), &bits) &&
      hone_checked_mul(elements, hone_format_bits(hone_format_accumulator(t->format)), &bits))
    return HONE_OK;
  return hone_node_err(c->at->doc, c->at->tensor[i], c->err, HONE_OVERFLOW, "operator.overflow",
                       "the size of tensor '%s' does not fit 64 bits", t->name);
}

static hone_status check_tensor(const checker *c, int i)
{
  const hone_tensor *t = &c->op->tensor[i];
  int readers = 0, writer = hone_operator_writer(c->op, i);
  if (t->role == HONE_ROLE_STATE) return UNSUPPORTED(c->at->tensor[i], "state tensors ('%s') are not supported yet", t->name);
  for (int s = 0; s < c->op->nstages; s++)
    readers += reads(&c->op->stage[s], i);
  if (t->role == HONE_ROLE_INPUT && readers == 0)
    return INVALID(c->at->tensor[i], "unused", "no stage reads the input '%s' (a 'when' may be missing)", t->name);
  if (t->role != HONE_ROLE_INPUT && writer < 0)
    return INVALID(c->at->tensor[i], "unused", "no stage writes '%s' (a 'when' may be missing)", t->name);
  if (t->role == HONE_ROLE_INTERMEDIATE && readers == 0)
    return INVALID(c->at->tensor[i], "unused", "what is written to '%s' is never read", t->name);
  return check_bytes(c, i);
}

/* One dim with coefficient 1 and no offset, or a constant; inside the tensor. */
static hone_status check_axis(const checker *c, hone_node *n, const hone_access *x, int axis)
{
  const hone_axis_expr *e = &x->axis[axis];
  const hone_affine *f = &e->affine;
  const hone_tensor *t = &c->op->tensor[x->tensor];
  if (e->table >= 0) return UNSUPPORTED(n, "reading through the index table '%s' is not supported yet", c->op->tensor[e->table].name);
  if (f->nterms > 1 || (f->nterms == 1 && (f->term[0].coef != 1 || f->constant != 0)))
    return UNSUPPORTED(n, "axis %d of '%s' is not a single dim or a constant; that is not supported yet", axis, t->name);
  int64_t last = f->nterms ? c->op->dim[f->term[0].dim].extent - 1 : f->constant;
  if (last >= 0 && last < t->extent[axis]) return HONE_OK;
  if (t->outside != HONE_OUTSIDE_REFUSE) return UNSUPPORTED(n, "reads outside a tensor ('%s') are not supported yet", t->name);
  return INVALID(n, "outside", "axis %d of '%s' is accessed at %" PRId64 ", outside 0..%" PRId64, axis, t->name, last,
                 t->extent[axis] - 1);
}

static hone_status check_access(const checker *c, hone_node *n, const hone_access *x)
{
  hone_dimset seen = 0;
  const hone_tensor *t = &c->op->tensor[x->tensor];
  for (int a = 0; a < t->rank; a++) {
    hone_dimset dims = 0;
    for (int i = 0; i < x->axis[a].affine.nterms; i++)
      dims |= 1u << x->axis[a].affine.term[i].dim;
    if (seen & dims) return INVALID(n, "access", "a dim occurs in two axes of '%s'", t->name);
    seen |= dims;
    hone_status s = check_axis(c, n, x, a);
    if (s != HONE_OK) return s;
  }
  return HONE_OK;
}

/* Every element is written. */
static hone_status check_write(const checker *c, hone_node *n, const hone_access *x)
{
  const hone_tensor *t = &c->op->tensor[x->tensor];
  for (int a = 0; a < t->rank; a++) {
    const hone_affine *f = &x->axis[a].affine;
    int64_t written = f->nterms ? c->op->dim[f->term[0].dim].extent : 1;
    if (written != t->extent[a])
      return INVALID(n, "partial-write", "axis %d of '%s' has %" PRId64 " elements, %" PRId64 " are written", a, t->name,
                     t->extent[a], written);
  }
  return HONE_OK;
}

static hone_status check_kind(const checker *c, hone_node *n, const hone_stage *st)
{
  bool applies = st->kind == HONE_STAGE_MAP || st->kind == HONE_STAGE_REDUCE;
  int arity = applies ? hone_function_arity(st->apply.function) : 2;
  if (!applies && st->kind != HONE_STAGE_CONTRACT)
    return UNSUPPORTED(n, "stages of this kind ('%s') are not supported yet", st->name);
  if (st->nguards > 0) return UNSUPPORTED(n, "guards ('%s') are not supported yet", st->name);
  if (st->nreads != arity)
    return INVALID(n, "arity", "stage '%s' reads %d tensors, %s reads %d", st->name, st->nreads,
                   applies ? hone_function_name(st->apply.function) : "a contraction", arity);
  if (st->kind == HONE_STAGE_MAP && st->reduced != 0)
    return INVALID(n, "reduced", "map stage '%s' would write an element more than once", st->name);
  if (st->kind == HONE_STAGE_REDUCE && st->reduced == 0)
    return INVALID(n, "reduced", "reduce stage '%s' has no dim to reduce: every dim it reads is in what it writes", st->name);
  return HONE_OK;
}

static hone_status check_stage(const checker *c, int i)
{
  const hone_stage *st = &c->op->stage[i];
  hone_node *n = c->at->stage[i], *read = hone_node_find(n, "read"), *write = hone_node_find(n, "write");
  int64_t points;
  hone_status s = check_kind(c, n, st);
  for (int j = 0; s == HONE_OK && j < i; j++)
    if (strcmp(st->name, c->op->stage[j].name) == 0) return INVALID(n, "name", "two stages are named '%s'", st->name);
  for (int r = 0; s == HONE_OK && r < st->nreads; r++)
    s = check_access(c, hone_node_item(read, r), &st->read[r]);
  if (s == HONE_OK) s = check_access(c, write, &st->write);
  if (s == HONE_OK) s = check_write(c, write, &st->write);
  if (s == HONE_OK && !hone_stage_useful(c->op, i, &points))
    return hone_node_err(c->at->doc, n, c->err, HONE_OVERFLOW, "operator.overflow",
                         "the points of stage '%s' do not fit 64 bits", st->name);
  return s;
}

hone_status hone_operator_check(const hone_operator *op, const hone_operator_places *at, hone_err *err)
{
  checker c = {op, at, err};
  hone_status s = HONE_OK;
  for (int i = 0; s == HONE_OK && i < op->ndims; i++)
    s = check_dim(&c, i);
  for (int i = 0; s == HONE_OK && i < op->ntensors; i++)
    s = check_tensor(&c, i);
  for (int i = 0; s == HONE_OK && i < op->nstages; i++)
    s = check_stage(&c, i);
  return s;
}
