/* Making a space, and what its points mean. Reading order: variables from the
 * generated parameters, hone_space_new, check, schedule and key. */
#include "config.h"

#include "spaces/space.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "spaces/space_int.h"

/* ---- making ---- */

static void init_variable(const hone_space *s, const hone_param *p, space_variable *v)
{
  *v = (space_variable){.param = p, .lo = p->min, .hi = p->max};
  if (p->domain == HONE_DOMAIN_ORDER) v->places = s->op ? s->op->ndims : (int)p->max;
  if (p->domain != HONE_DOMAIN_SET) return;
  v->nlist = p->nset;
  v->list = hone_heap_alloc((size_t)p->nset + 1, sizeof *v->list);
  memcpy(v->list, p->set, (size_t)p->nset * sizeof *v->list);
}

/* tile.L.d is at most tile.(L-1).d. */
static hone_status nest(const hone_space *s, space_variable *v, hone_err *err)
{
  hone_scope scope;
  char text[HONE_EXPR_NAME];
  if (!s->op || v->param->kind != HONE_PARAM_TILE) return HONE_OK;
  space_scope_init(s, &scope);
  snprintf(text, sizeof text, "tile.%d.%s", v->param->level - 1, s->op->dim[v->param->dim].name);
  v->nested = true;
  hone_status st = hone_expr_compile(text, &scope, &v->outer, err);
  if (st != HONE_OK) return st;
  v->nreads = v->outer.nuses;
  v->reads = hone_heap_alloc((size_t)v->nreads + 1, sizeof *v->reads);
  for (int i = 0; i < v->nreads; i++) v->reads[i] = v->outer.uses[i];
  assert(v->nreads == 0 || v->reads[v->nreads - 1] < (int)(v - s->variable));
  return HONE_OK;
}

/* Sorts constraints by the slot that decides them, keeping their order. */
static void schedule_constraints(hone_space *s)
{
  int n = 0;
  s->due = hone_heap_alloc((size_t)s->nconstraints + 1, sizeof *s->due);
  s->ndue = hone_heap_alloc((size_t)s->nvariables + 1, sizeof *s->ndue);
  for (int i = 0; i < s->nvariables; i++) {
    s->ndue[i] = n;
    for (int c = 0; c < s->nconstraints; c++)
      if (s->constraint[c].last == i) s->due[n++] = c;
  }
  s->ndue[s->nvariables] = n;
}

hone_status hone_space_new(const hone_operator *op, const hone_machine *m, const hone_params *params,
                           const hone_space_source *sources, int nsources, hone_space **out, hone_err *err)
{
  hone_space *s = hone_heap_alloc(1, sizeof *s);
  hone_status st = HONE_OK;
  assert(!op == !m);
  if (params->n > HONE_SPACE_PARAMETERS) {
    free(s);
    return hone_err_set(err, HONE_UNSUPPORTED, "space.parameters", "%d parameters; at most %d are handled", params->n,
                        HONE_SPACE_PARAMETERS);
  }
  s->op = op;
  s->m = m;
  s->params = params;
  s->nvariables = params->n;
  s->variable = hone_heap_alloc((size_t)params->n + 1, sizeof *s->variable);
  s->hash = hone_hash_text("hone space 1");
  if (op) hone_schedule_init(op, m, &s->start);
  for (int i = 0; i < params->n; i++) init_variable(s, &params->param[i], &s->variable[i]);
  for (int i = 0; st == HONE_OK && i < params->n; i++) st = nest(s, &s->variable[i], err);
  for (int i = 0; st == HONE_OK && i < nsources; i++) st = space_read(s, &sources[i], err);
  if (st == HONE_OK) st = space_apply_constraints(s, err);
  if (st == HONE_OK) {
    schedule_constraints(s);
    *out = s;
  } else
    hone_space_free(s);
  return st;
}

void hone_space_free(hone_space *s)
{
  if (!s) return;
  for (int i = 0; i < s->nvariables; i++) {
    space_variable *v = &s->variable[i];
    for (int c = 0; c < v->nclauses; c++) space_clause_free(&v->clause[c]);
    hone_expr_free(&v->outer);
    free(v->clause);
    free(v->list);
    free(v->reads);
  }
  for (int c = 0; c < s->nconstraints; c++) hone_expr_free(&s->constraint[c].expr);
  for (int i = 0; i < s->nlets; i++) free(s->let[i].text);
  free(s->let);
  free(s->variable);
  free(s->constraint);
  free(s->due);
  free(s->ndue);
  free(s);
}

const hone_operator *hone_space_operator(const hone_space *s) { return s->op; }
const hone_machine *hone_space_machine(const hone_space *s) { return s->m; }
int hone_space_parameters(const hone_space *s) { return s->nvariables; }
const hone_param *hone_space_param(const hone_space *s, int i) { return s->variable[i].param; }
hone_hash hone_space_hash(const hone_space *s) { return s->hash; }
int hone_space_constraints(const hone_space *s) { return s->nconstraints; }
const char *hone_space_constraint_name(const hone_space *s, int c) { return s->constraint[c].name; }
const char *hone_space_constraint_reason(const hone_space *s, int c) { return s->constraint[c].reason; }

/* ---- schedules and keys ---- */

void hone_space_schedule(const hone_space *s, const int64_t *values, hone_schedule *out)
{
  assert(s->op);
  *out = s->start;
  for (int i = 0; i < s->nvariables; i++) hone_param_set(s->variable[i].param, out, values[i]);
  hone_schedule_normalize(s->op, s->m, out);
}

void hone_space_point(const hone_space *s, const hone_schedule *schedule, int64_t *values)
{
  assert(s->op);
  for (int i = 0; i < s->nvariables; i++) values[i] = hone_param_get(s->variable[i].param, schedule);
}

/* Two schedules have the same canonical text exactly when their normal forms have
 * the same parameter values, which is cheaper to hash. */
hone_hash hone_space_key(const hone_space *s, const int64_t *values)
{
  if (!s->op) return hone_hash_bytes(values, (size_t)s->nvariables * sizeof *values);
  hone_schedule normal;
  int64_t normalized[HONE_SPACE_PARAMETERS];
  hone_space_schedule(s, values, &normal);
  hone_space_point(s, &normal, normalized);
  return hone_hash_bytes(normalized, (size_t)s->nvariables * sizeof *normalized);
}

void hone_space_print(const hone_space *s, const int64_t *values, hone_text *out)
{
  if (s->op) {
    hone_schedule schedule;
    hone_space_schedule(s, values, &schedule);
    hone_schedule_print(s->op, s->m, s->params, &schedule, out);
    return;
  }
  for (int i = 0; i < s->nvariables; i++)
    hone_text_add(out, "%s%s=%" PRId64, i ? " " : "", s->variable[i].param->name, values[i]);
}

/* ---- legality ---- */

bool space_constraint_holds(const hone_space *s, int c, const int64_t *values, char *text)
{
  const space_constraint *k = &s->constraint[c];
  int64_t v = 0;
  int column = 0;
  hone_fault f = hone_expr_eval(&k->expr, values, &v, &column);
  if (f == HONE_FAULT_NONE && v != 0) return true;
  if (!text) return false;
  if (f == HONE_FAULT_NONE)
    snprintf(text, SPACE_TEXT, "%s: %.100s", k->name, k->reason[0] ? k->reason : k->expr.text);
  else
    snprintf(text, SPACE_TEXT, "%s: %s at column %d of '%.50s'", k->name, hone_fault_text(f), column, k->expr.text);
  return false;
}

bool space_due_hold(const hone_space *s, int i, const int64_t *values, int *which)
{
  for (int k = s->ndue[i]; k < s->ndue[i + 1]; k++)
    if (!space_constraint_holds(s, s->due[k], values, NULL)) {
      *which = s->due[k];
      return false;
    }
  return true;
}

static hone_reason check_domains(const hone_space *s, const hone_schedule *schedule, const int64_t *values, hone_space_why *why)
{
  hone_domain d = {0};
  int bad = -1;
  for (int i = 0; i < s->nvariables && bad < 0; i++) {
    if (schedule && !hone_param_active(s->op, s->m, s->variable[i].param, schedule)) continue;
    hone_space_domain(s, i, values, &d);
    if (hone_domain_find(&d, values[i]) < 0) bad = i;
  }
  hone_domain_fini(&d);
  if (bad < 0) return HONE_REASON_NONE;
  why->reason = HONE_REASON_DOMAIN;
  why->param = bad;
  return HONE_REASON_DOMAIN;
}

static void say(const hone_space *s, const int64_t *values, hone_space_why *why)
{
  if (why->reason == HONE_REASON_DOMAIN && why->param >= 0)
    snprintf(why->text, sizeof why->text, "%s = %" PRId64 " is not in its domain", s->variable[why->param].param->name,
             values[why->param]);
  else if (why->reason == HONE_REASON_CONSTRAINT)
    space_constraint_holds(s, why->constraint, values, why->text);
  else
    snprintf(why->text, sizeof why->text, "%s", why->ir.text[0] ? why->ir.text : hone_reason_text(why->reason));
}

hone_reason hone_space_check(const hone_space *s, const int64_t *values, hone_space_why *why)
{
  hone_space_why mine;
  hone_schedule schedule;
  if (s->op) hone_space_schedule(s, values, &schedule);
  mine = (hone_space_why){.param = -1, .constraint = -1};
  mine.reason = check_domains(s, s->op ? &schedule : NULL, values, &mine);
  for (int i = 0; i < s->nvariables && mine.reason == HONE_REASON_NONE; i++)
    if (!space_due_hold(s, i, values, &mine.constraint)) mine.reason = HONE_REASON_CONSTRAINT;
  if (mine.reason == HONE_REASON_NONE && s->op)
    mine.reason = hone_schedule_check(s->op, s->m, &schedule, why ? &mine.ir : NULL);
  if (!why) return mine.reason;
  if (mine.reason != HONE_REASON_NONE) say(s, values, &mine);
  *why = mine;
  return mine.reason;
}
