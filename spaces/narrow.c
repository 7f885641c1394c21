/* Narrowing: clauses whose values are known at once are folded into a variable's
 * base domain; those that read other values wait until hone_space_domain. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "spaces/space_int.h"

void space_clause_free(space_clause *c)
{
  for (int i = 0; i < c->nitems; i++) {
    for (int f = 0; f < HONE_FIELD_COUNT; f++) hone_expr_free(&c->item[i].field[f]);
    for (int v = 0; v < c->item[i].nvalues; v++) hone_expr_free(&c->item[i].value[v]);
    free(c->item[i].value);
  }
  free(c->item);
}

/* ---- values of a clause ---- */

/* Fields of an item on these values, with defaults; false on a fault. */
static bool eval_fields(const space_item *item, const int64_t *values, int64_t lo, int64_t hi, int64_t field[HONE_FIELD_COUNT])
{
  for (int f = 0; f < HONE_FIELD_COUNT; f++) {
    field[f] = f == HONE_FIELD_OF ? 2 : f == HONE_FIELD_FROM ? lo : f == HONE_FIELD_TO ? hi : 1;
    if (item->given[f] && hone_expr_eval(&item->field[f], values, &field[f], NULL) != HONE_FAULT_NONE) return false;
  }
  field[HONE_FIELD_TO] = hone_min64(field[HONE_FIELD_TO], hi); /* what lies outside would be cut anyway */
  if (!item->given[HONE_FIELD_STEP]) field[HONE_FIELD_FROM] = hone_max64(field[HONE_FIELD_FROM], lo);
  return true;
}

static bool is_interval(const space_clause *c)
{
  return c->nitems == 1 && c->item[0].kind == HONE_ITEM_RANGE && !c->item[0].given[HONE_FIELD_STEP];
}

static void keep_between(hone_domain *d, int64_t begin, int64_t from, int64_t to)
{
  int64_t n = begin;
  for (int64_t i = begin; i < d->n; i++)
    if (d->own[i] >= from && d->own[i] <= to) d->own[n++] = d->own[i];
  d->n = n;
}

/* The union of the items, sorted, clipped to [lo, hi], in d's own list. */
static bool clause_values(const space_clause *c, const int64_t *values, int64_t lo, int64_t hi, hone_domain *d)
{
  hone_domain_clear(d);
  for (int i = 0; i < c->nitems; i++) {
    const space_item *item = &c->item[i];
    int64_t field[HONE_FIELD_COUNT], v;
    if (item->kind != HONE_ITEM_VALUES) {
      int64_t before = d->n;
      if (!eval_fields(item, values, lo, hi, field) || !hone_item_generate(item->kind, field, d)) return false;
      keep_between(d, before, field[HONE_FIELD_FROM], field[HONE_FIELD_TO]);
      continue;
    }
    for (int k = 0; k < item->nvalues; k++)
      if (hone_expr_eval(&item->value[k], values, &v, NULL) != HONE_FAULT_NONE || !hone_domain_push(d, v)) return false;
  }
  hone_domain_sort(d);
  hone_domain_clip(d, lo, hi);
  return true;
}

/* Intersects d, whose list if any it may take over, with the clause. */
static bool meet(const space_clause *c, const int64_t *values, int64_t lo, int64_t hi, hone_domain *d)
{
  int64_t field[HONE_FIELD_COUNT];
  if (is_interval(c) && d->places == 0) {
    if (!eval_fields(&c->item[0], values, lo, hi, field)) return false;
    lo = hone_max64(lo, field[HONE_FIELD_FROM]);
    hi = hone_min64(hi, field[HONE_FIELD_TO]);
    if (!d->list) {
      hone_domain_set_interval(d, hone_max64(lo, d->first), hone_min64(hi, d->first + (d->n - 1)));
      return true;
    }
    hone_domain own = {0};
    hone_domain_clear(&own);
    for (int64_t i = 0; i < d->n; i++)
      if (d->list[i] >= lo && d->list[i] <= hi) hone_domain_push(&own, d->list[i]);
    free(d->own);
    *d = own;
    return true;
  }
  hone_domain mine = {0};
  if (!clause_values(c, values, lo, hi, &mine)) {
    hone_domain_fini(&mine);
    return false;
  }
  if (d->list)
    hone_domain_intersect(&mine, d->list, d->n);
  else if (d->places > 0) { /* keep the permutations among the values */
    int64_t n = 0;
    for (int64_t i = 0; i < mine.n; i++)
      if (hone_order_rank(d->places, mine.own[i]) >= 0) mine.own[n++] = mine.own[i];
    mine.n = n;
  } else if (d->n == 0)
    mine.n = 0;
  else
    hone_domain_clip(&mine, d->first, d->first + (d->n - 1));
  free(d->own);
  *d = mine;
  return true;
}

/* ---- the base domain of a variable ---- */

static void base_of(const space_variable *v, hone_domain *d)
{
  if (v->list)
    hone_domain_borrow(d, v->list, v->nlist);
  else if (v->places > 0)
    hone_domain_set_orders(d, v->places);
  else
    hone_domain_set_interval(d, v->lo, v->hi);
}

/* Smallest and largest value, for the defaults of from and to. */
static void bounds_of(const space_variable *v, int64_t *lo, int64_t *hi)
{
  *lo = v->list ? (v->nlist > 0 ? v->list[0] : 1) : v->places > 0 ? 0 : v->lo;
  *hi = v->list ? (v->nlist > 0 ? v->list[v->nlist - 1] : 0) : v->places > 0 ? INT64_MAX : v->hi;
}

static void set_base(space_variable *v, const hone_domain *d)
{
  if (!d->list && d->places > 0) return; /* still all orders */
  if (!d->list) {
    v->lo = d->first;
    v->hi = d->first + (d->n - 1);
    return;
  }
  int64_t *copy = hone_heap_alloc((size_t)d->n + 1, sizeof *copy);
  if (d->n > 0) memcpy(copy, d->list, (size_t)d->n * sizeof *copy);
  free(v->list);
  v->list = copy;
  v->nlist = d->n;
}

static hone_status fold(space_variable *v, const space_clause *c, hone_err *err)
{
  hone_domain d = {0};
  int64_t lo, hi;
  hone_status s = HONE_OK;
  bounds_of(v, &lo, &hi);
  base_of(v, &d);
  if (!meet(c, NULL, lo, hi, &d))
    s = hone_err_set(err, HONE_INPUT, "space.domain",
                     "the values for %s cannot be listed: an overflow, a division by zero, a field below 1, or more than %d values",
                     v->param->name, HONE_DOMAIN_LIMIT);
  else if (d.n == 0)
    s = hone_err_set(err, HONE_INFEASIBLE, "space.empty-domain", "no value is left for %s after %s", v->param->name, c->where);
  else
    set_base(v, &d);
  hone_domain_fini(&d);
  return s;
}

/* ---- dependencies ---- */

static void add_read(space_variable *v, int slot)
{
  int i = 0;
  while (i < v->nreads && v->reads[i] < slot) i++;
  if (i < v->nreads && v->reads[i] == slot) return;
  v->reads = hone_heap_realloc(v->reads, (size_t)v->nreads + 1, sizeof *v->reads);
  memmove(v->reads + i + 1, v->reads + i, (size_t)(v->nreads - i) * sizeof *v->reads);
  v->reads[i] = slot;
  v->nreads++;
}

typedef struct {
  bool any;
  int largest;
} reading;

static void read_expr(const hone_expr *e, reading *r)
{
  if (e->nuses == 0) return;
  r->any = true;
  if (e->uses[e->nuses - 1] > r->largest) r->largest = e->uses[e->nuses - 1];
}

static void add_reads(space_variable *v, const hone_expr *e)
{
  for (int i = 0; i < e->nuses; i++) add_read(v, e->uses[i]);
}

hone_status space_narrow(hone_space *s, int slot, space_clause *clause_take, hone_err *err)
{
  space_variable *v = &s->variable[slot];
  reading r = {.largest = -1};
  for (int i = 0; i < clause_take->nitems; i++) {
    for (int f = 0; f < HONE_FIELD_COUNT; f++) read_expr(&clause_take->item[i].field[f], &r);
    for (int k = 0; k < clause_take->item[i].nvalues; k++) read_expr(&clause_take->item[i].value[k], &r);
  }
  hone_status st = HONE_OK;
  if (r.largest >= slot)
    st = hone_err_set(err, HONE_INPUT, "space.order", "the values of %s may depend on earlier parameters only, not on %s",
                      v->param->name, s->variable[r.largest].param->name);
  else if (!r.any)
    st = fold(v, clause_take, err);
  if (st != HONE_OK || !r.any) {
    space_clause_free(clause_take);
    return st;
  }
  for (int i = 0; i < clause_take->nitems; i++) {
    for (int f = 0; f < HONE_FIELD_COUNT; f++) add_reads(v, &clause_take->item[i].field[f]);
    for (int k = 0; k < clause_take->item[i].nvalues; k++) add_reads(v, &clause_take->item[i].value[k]);
  }
  v->clause = hone_heap_realloc(v->clause, (size_t)v->nclauses + 1, sizeof *v->clause);
  v->clause[v->nclauses++] = *clause_take;
  return HONE_OK;
}

/* Values of slot i that fail a constraint which reads nothing else. */
static void filter(const hone_space *s, int c, space_variable *v, int slot)
{
  hone_domain d = {0}, kept = {0};
  int64_t *values = hone_heap_alloc((size_t)s->nvariables, sizeof *values);
  base_of(v, &d);
  hone_domain_clear(&kept);
  for (int64_t i = 0; i < d.n; i++) {
    values[slot] = hone_domain_at(&d, i);
    if (space_constraint_holds(s, c, values, NULL)) hone_domain_push(&kept, values[slot]);
  }
  if (kept.n < d.n) {
    hone_domain_sort(&kept);
    set_base(v, &kept);
  }
  hone_domain_fini(&d);
  hone_domain_fini(&kept);
  free(values);
}

hone_status space_apply_constraints(hone_space *s, hone_err *err)
{
  for (int c = 0; c < s->nconstraints; c++) {
    const hone_expr *e = &s->constraint[c].expr;
    hone_domain d = {0};
    if (e->nuses != 1) continue;
    space_variable *v = &s->variable[e->uses[0]];
    base_of(v, &d);
    if (d.n > SPACE_LARGEST_FILTER) continue;
    filter(s, c, v, e->uses[0]);
    base_of(v, &d);
    if (d.n > 0) continue;
    return hone_err_set(err, HONE_INFEASIBLE, "space.empty-domain", "no value of %s satisfies constraint '%s' (%s)",
                        v->param->name, s->constraint[c].name, s->constraint[c].where);
  }
  return HONE_OK;
}

/* ---- domains on given values ---- */

/* Cuts d at `top`: a borrowed or own list keeps its beginning. */
static void cut(hone_domain *d, int64_t top)
{
  if (d->n == 0 || d->places > 0) return;
  if (hone_domain_at(d, 0) > top)
    d->n = 0;
  else
    d->n = hone_domain_nearest(d, top) + 1;
}

bool hone_space_domain(const hone_space *s, int i, const int64_t *values, hone_domain *out)
{
  const space_variable *v = &s->variable[i];
  int64_t top = INT64_MAX, lo, hi;
  base_of(v, out);
  bool ok = !v->nested || hone_expr_eval(&v->outer, values, &top, NULL) == HONE_FAULT_NONE;
  bounds_of(v, &lo, &hi);
  hi = hone_min64(hi, top);
  if (v->nested) cut(out, top);
  for (int c = 0; ok && c < v->nclauses && out->n > 0; c++) {
    hone_domain d = *out; /* meet takes over the list it is given, if own */
    d.own = out->list == out->own ? out->own : NULL;
    int64_t *spare = d.own ? NULL : out->own;
    ok = meet(&v->clause[c], values, lo, hi, &d);
    free(spare);
    *out = d;
  }
  if (!ok) out->n = 0;
  return ok;
}
