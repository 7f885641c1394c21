/* The canonical text of an operator: its identity (DESIGN section 4 line 14).
 * Numbers only: dims d0.., tensors t0.., stages in order; no name enters. */
#include "config.h"

#include "ir/operator.h"

#include <inttypes.h>

#include "base/hash.h"

static const char *const kind_names[] = {
#define HONE_STAGE_KIND(id, name) name,
#include "ir/stage_kind.def"
#undef HONE_STAGE_KIND
};
static const char *const role_names[] = {"input", "output", "intermediate", "state"};
static const char *const outside_names[] = {"refuse", "zero", "-inf"};

/* Terms in dim order, so that n + m and m + n print alike. */
static void print_affine(const hone_affine *a, hone_text *out)
{
  bool first = true;
  for (int d = 0; d < HONE_MAX_DIMS; d++)
    for (int i = 0; i < a->nterms; i++) {
      if (a->term[i].dim != d) continue;
      hone_text_add(out, first ? "%" PRId64 "*d%d" : "%+" PRId64 "*d%d", a->term[i].coef, d);
      first = false;
    }
  if (first)
    hone_text_add(out, "%" PRId64, a->constant);
  else if (a->constant != 0)
    hone_text_add(out, "%+" PRId64, a->constant);
}

static void print_axis(const hone_operator *op, const hone_axis_expr *e, hone_text *out)
{
  if (e->table < 0) {
    print_affine(&e->affine, out);
    return;
  }
  hone_text_add(out, "t%d[", e->table);
  for (int i = 0; i < op->tensor[e->table].rank; i++) {
    hone_text_add(out, "%s", i ? "," : "");
    print_affine(&e->table_axis[i], out);
  }
  hone_text_add(out, "]");
}

static void print_access(const hone_operator *op, const hone_access *a, hone_text *out)
{
  hone_text_add(out, " t%d[", a->tensor);
  for (int i = 0; i < op->tensor[a->tensor].rank; i++) {
    hone_text_add(out, "%s", i ? "," : "");
    print_axis(op, &a->axis[i], out);
  }
  hone_text_add(out, "]");
}

static void print_dim(const hone_dim *d, int number, hone_text *out)
{
  hone_text_add(out, "dim d%d %" PRId64, number, d->extent);
  if (d->sequential) hone_text_add(out, " sequential");
  if (d->extent_from >= 0) hone_text_add(out, " from t%d[d%d]", d->extent_from, d->extent_dim);
  hone_text_add(out, "\n");
}

static void print_tensor(const hone_tensor *t, int number, hone_text *out)
{
  hone_text_add(out, "tensor t%d %s %s [", number, role_names[t->role], hone_format_name(t->format));
  for (int a = 0; a < t->rank; a++)
    hone_text_add(out, "%s%" PRId64, a ? "," : "", t->extent[a]);
  hone_text_add(out, "] outside %s", outside_names[t->outside]);
  for (int a = 0; a < t->rank; a++)
    if (t->scattered >> a & 1) hone_text_add(out, " scattered %d", a);
  hone_text_add(out, " layouts");
  for (int l = 0; l < t->nlayouts; l++) {
    hone_text_add(out, " ");
    for (int a = 0; a < t->rank; a++)
      hone_text_add(out, "%s%d", a ? "," : "", t->layout[l][a]);
  }
  hone_text_add(out, "\n");
}

static void print_stage(const hone_operator *op, const hone_stage *st, hone_text *out)
{
  hone_text_add(out, "stage %s", kind_names[st->kind]);
  if (st->kind == HONE_STAGE_REDUCE) hone_text_add(out, " %s", hone_reduction_name(st->reduction));
  if (st->kind == HONE_STAGE_MAP || st->kind == HONE_STAGE_REDUCE) {
    hone_text_add(out, " %s", hone_function_name(st->apply.function));
    if (!hone_apply_plain(&st->apply)) hone_text_add(out, " scale %a offset %a", st->apply.scale, st->apply.offset);
  }
  if (hone_stage_accumulates(st)) hone_text_add(out, " %s", hone_format_name(st->accumulator));
  print_access(op, &st->write, out);
  hone_text_add(out, " =");
  for (int i = 0; i < st->nreads; i++)
    print_access(op, &st->read[i], out);
  for (int i = 0; i < st->nguards; i++) {
    hone_text_add(out, "%s", i ? " and " : " where ");
    print_affine(&st->guard[i], out);
    hone_text_add(out, " >= 0");
  }
  hone_text_add(out, "\n");
}

void hone_operator_print(const hone_operator *op, hone_text *out)
{
  for (int d = 0; d < op->ndims; d++)
    print_dim(&op->dim[d], d, out);
  for (int t = 0; t < op->ntensors; t++)
    print_tensor(&op->tensor[t], t, out);
  for (int s = 0; s < op->nstages; s++)
    print_stage(op, &op->stage[s], out);
}

hone_hash hone_operator_hash(const hone_operator *op)
{
  hone_text t = {0};
  hone_operator_print(op, &t);
  hone_hash h = hone_hash_text(t.data);
  hone_text_fini(&t);
  return h;
}
