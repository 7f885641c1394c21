/* Expressions of operator texts: recursive descent straight into affine forms.
 *
 *   sum    = term {("+" | "-") term}
 *   term   = factor {("*" | "/") factor}      "/" must divide evenly
 *   factor = number | name | "-" factor | "(" sum ")" | "ceildiv" "(" sum "," sum ")"
 *   axis   = sum | name "[" sum ["," sum] "]"  the latter reads an index from a tensor
 *   access = name ["[" [axis {"," axis}] "]"]
 *   guard  = sum (">=" | "<=") sum
 *   real   = ["1/"] (value | "sqrt(" value ")"), value = literal | sum
 *
 * Dims may be added, and multiplied by constants; everything else is constant. */
#include "config.h"

#include "ir/operator_int.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"

typedef struct {
  const hone_scope *scope;
  const char *text, *at;
  int nesting;
  hone_err *err;
} parser;

static hone_status parse_sum(parser *p, hone_affine *out);

static hone_status fail(parser *p, const char *what)
{
  return hone_err_set(p->err, HONE_INPUT, "operator.expression", "'%s': %s at column %d", p->text, what,
                      (int)(p->at - p->text) + 1);
}

static hone_status overflow(parser *p)
{
  return hone_err_set(p->err, HONE_OVERFLOW, "operator.overflow", "'%s' does not fit 64 bits", p->text);
}

static bool take(parser *p, const char *token)
{
  while (*p->at == ' ')
    p->at++;
  size_t n = strlen(token);
  if (strncmp(p->at, token, n) != 0) return false;
  p->at += n;
  return true;
}

static hone_status need(parser *p, const char *token)
{
  char what[32];
  if (take(p, token)) return HONE_OK;
  snprintf(what, sizeof what, "expected '%s'", token);
  return fail(p, what);
}

static hone_status need_end(parser *p)
{
  take(p, "");
  return *p->at == '\0' ? HONE_OK : fail(p, "unexpected text");
}

static bool is_letter(char c) { return isalpha((unsigned char)c) || c == '_'; }

static hone_status take_name(parser *p, char out[HONE_MAX_NAME])
{
  int n = 0;
  take(p, "");
  if (!is_letter(*p->at)) return fail(p, "expected a name");
  for (; is_letter(*p->at) || isdigit((unsigned char)*p->at); p->at++, n++) {
    if (n == HONE_MAX_NAME - 1) return fail(p, "too long a name");
    out[n] = *p->at;
  }
  out[n] = '\0';
  return HONE_OK;
}

static bool add_term(hone_affine *a, int dim, int64_t coef) /* false: too many or overflow */
{
  int i = 0;
  while (i < a->nterms && a->term[i].dim != dim)
    i++;
  if (i == a->nterms) {
    if (i == HONE_MAX_TERMS) return false;
    a->term[i].dim = dim, a->term[i].coef = 0;
    a->nterms++;
  }
  if (!hone_checked_add(a->term[i].coef, coef, &a->term[i].coef)) return false;
  if (a->term[i].coef == 0) a->term[i] = a->term[--a->nterms];
  return true;
}

static hone_status add(parser *p, hone_affine *a, const hone_affine *b, int64_t sign)
{
  int64_t v;
  if (!hone_checked_mul(b->constant, sign, &v) || !hone_checked_add(a->constant, v, &a->constant)) return overflow(p);
  for (int i = 0; i < b->nterms; i++) {
    if (!hone_checked_mul(b->term[i].coef, sign, &v)) return overflow(p);
    if (!add_term(a, b->term[i].dim, v)) return fail(p, "too many dims in one expression");
  }
  return HONE_OK;
}

static hone_status multiply(parser *p, hone_affine *a, hone_affine *b)
{
  if (a->nterms > 0 && b->nterms > 0) return fail(p, "a product of dims is not affine");
  if (a->nterms == 0) {
    hone_affine t = *a;
    *a = *b;
    *b = t;
  }
  hone_affine product = {0};
  if (!hone_checked_mul(a->constant, b->constant, &product.constant)) return overflow(p);
  for (int i = 0; i < a->nterms; i++) {
    int64_t coef;
    if (!hone_checked_mul(a->term[i].coef, b->constant, &coef)) return overflow(p);
    if (coef != 0) add_term(&product, a->term[i].dim, coef);
  }
  *a = product;
  return HONE_OK;
}

static hone_status divide(parser *p, hone_affine *a, const hone_affine *b, bool up)
{
  if (a->nterms > 0 || b->nterms > 0) return fail(p, "only constants can be divided");
  if (b->constant <= 0) return fail(p, "the divisor must be positive");
  if (!up && a->constant % b->constant != 0) return fail(p, "does not divide evenly (ceildiv(a, b) rounds up)");
  if (up && a->constant < 0) return fail(p, "ceildiv of a negative number");
  a->constant = hone_ceil_div(a->constant, b->constant);
  return HONE_OK;
}

static hone_status parse_number(parser *p, hone_affine *out)
{
  for (; isdigit((unsigned char)*p->at); p->at++)
    if (!hone_checked_mul(out->constant, 10, &out->constant) ||
        !hone_checked_add(out->constant, *p->at - '0', &out->constant))
      return overflow(p);
  return HONE_OK;
}

static const char *scope_name_at(void *arg, int i)
{
  const hone_scope *s = arg;
  int ndims = s->op ? s->op->ndims : 0;
  return i < ndims ? s->op->dim[i].name : s->size[i - ndims].name;
}

static hone_status resolve(parser *p, const char *name, hone_affine *out)
{
  const hone_scope *s = p->scope;
  int d = s->op ? hone_operator_find_dim(s->op, name) : -1;
  if (d >= 0) {
    *out = (hone_affine){.nterms = 1, .term = {{.dim = d, .coef = 1}}};
    return HONE_OK;
  }
  for (int i = 0; i < s->nsizes; i++)
    if (strcmp(s->size[i].name, name) == 0) {
      out->constant = s->size[i].value;
      return HONE_OK;
    }
  hone_err_set(p->err, HONE_INPUT, "operator.unknown-name", "'%s': no %s '%s'", p->text, s->op ? "dim or size" : "size", name);
  const char *near =
      hone_text_nearest(name, s->nsizes + (s->op ? s->op->ndims : 0), scope_name_at, (void *)(uintptr_t)s);
  if (near) hone_err_hint(p->err, "did you mean '%s'?", near);
  return HONE_INPUT;
}

static hone_status parse_ceildiv(parser *p, hone_affine *out)
{
  hone_affine b = {0};
  hone_status s = parse_sum(p, out);
  if (s == HONE_OK) s = need(p, ",");
  if (s == HONE_OK) s = parse_sum(p, &b);
  if (s == HONE_OK) s = need(p, ")");
  return s == HONE_OK ? divide(p, out, &b, true) : s;
}

static hone_status parse_factor(parser *p, hone_affine *out)
{
  char name[HONE_MAX_NAME];
  hone_status s;
  *out = (hone_affine){0};
  if (p->nesting > 32) return fail(p, "too deeply nested");
  p->nesting++;
  if (take(p, "-")) {
    hone_affine a;
    s = parse_factor(p, &a);
    if (s == HONE_OK) s = add(p, out, &a, -1);
  } else if (take(p, "(")) {
    s = parse_sum(p, out);
    if (s == HONE_OK) s = need(p, ")");
  } else if (isdigit((unsigned char)*p->at))
    s = parse_number(p, out);
  else {
    s = take_name(p, name);
    if (s == HONE_OK) s = strcmp(name, "ceildiv") == 0 && take(p, "(") ? parse_ceildiv(p, out) : resolve(p, name, out);
  }
  p->nesting--;
  return s;
}

static hone_status parse_term(parser *p, hone_affine *out)
{
  hone_status s = parse_factor(p, out);
  while (s == HONE_OK) {
    bool product = take(p, "*");
    hone_affine b;
    if (!product && !take(p, "/")) return HONE_OK;
    s = parse_factor(p, &b);
    if (s == HONE_OK) s = product ? multiply(p, out, &b) : divide(p, out, &b, false);
  }
  return s;
}

static hone_status parse_sum(parser *p, hone_affine *out)
{
  hone_status s = parse_term(p, out);
  while (s == HONE_OK) {
    bool plus = take(p, "+");
    hone_affine b;
    if (!plus && !take(p, "-")) return HONE_OK;
    s = parse_term(p, &b);
    if (s == HONE_OK) s = add(p, out, &b, plus ? 1 : -1);
  }
  return s;
}

static const char *tensor_at(void *arg, int i) { return ((const hone_operator *)arg)->tensor[i].name; }

static hone_status resolve_tensor(parser *p, int *out)
{
  char name[HONE_MAX_NAME];
  hone_status s = take_name(p, name);
  if (s != HONE_OK) return s;
  const hone_operator *op = p->scope->op;
  *out = hone_operator_find_tensor(op, name);
  if (*out >= 0) return HONE_OK;
  hone_err_set(p->err, HONE_INPUT, "operator.unknown-tensor", "'%s': no tensor '%s' with these options", p->text, name);
  const char *near = hone_text_nearest(name, op->ntensors, tensor_at, (void *)(uintptr_t)op);
  if (near) hone_err_hint(p->err, "did you mean '%s'?", near);
  return HONE_INPUT;
}

static bool is_gather(const char *at) /* a name, then "[" */
{
  while (*at == ' ')
    at++;
  if (!is_letter(*at)) return false;
  while (is_letter(*at) || isdigit((unsigned char)*at) || *at == ' ')
    at++;
  return *at == '[';
}

static hone_status parse_gather(parser *p, hone_axis_expr *out)
{
  hone_status s = resolve_tensor(p, &out->table);
  int n = 0;
  if (s == HONE_OK) s = need(p, "[");
  while (s == HONE_OK) {
    if (n == 2) return fail(p, "an index table has at most two axes");
    s = parse_sum(p, &out->table_axis[n++]);
    if (s == HONE_OK && !take(p, ",")) break;
  }
  if (s == HONE_OK) s = need(p, "]");
  return s == HONE_OK && p->scope->op->tensor[out->table].rank != n ? fail(p, "wrong number of axes of the table") : s;
}

static hone_status parse_axis(parser *p, hone_axis_expr *out)
{
  *out = (hone_axis_expr){.table = -1};
  return is_gather(p->at) ? parse_gather(p, out) : parse_sum(p, &out->affine);
}

static hone_status parse_access(parser *p, hone_access *out)
{
  *out = (hone_access){0};
  hone_status s = resolve_tensor(p, &out->tensor);
  int n = 0, rank = s == HONE_OK ? p->scope->op->tensor[out->tensor].rank : 0;
  if (s == HONE_OK && take(p, "[") && !take(p, "]")) {
    do {
      if (n == HONE_MAX_RANK) return fail(p, "too many axes");
      s = parse_axis(p, &out->axis[n++]);
    } while (s == HONE_OK && take(p, ","));
    if (s == HONE_OK) s = need(p, "]");
  }
  if (s == HONE_OK) s = need_end(p);
  if (s != HONE_OK || n == rank) return s;
  return hone_err_set(p->err, HONE_INPUT, "operator.rank", "'%s' has %d axes, the tensor has %d", p->text, n, rank);
}

hone_status hone_expr_parse_int(const hone_scope *s, const char *text, int64_t *out, hone_err *err)
{
  hone_scope sizes = *s;
  sizes.op = NULL;
  parser p = {&sizes, text, text, 0, err};
  hone_affine a;
  hone_status status = parse_sum(&p, &a);
  if (status == HONE_OK) status = need_end(&p);
  if (status == HONE_OK) *out = a.constant;
  return status;
}

/* A literal in the C locale, or an expression of sizes. */
static hone_status parse_real(const hone_scope *s, const char *text, double *out, hone_err *err)
{
  int64_t v;
  if (hone_text_parse_real(text, out)) return HONE_OK;
  hone_status status = hone_expr_parse_int(s, text, &v, err);
  if (status == HONE_OK) *out = (double)v;
  return status;
}

hone_status hone_expr_parse_real(const hone_scope *s, const char *text, double *out, hone_err *err)
{
  char inner[128];
  const char *at = text;
  bool inverse = strncmp(at, "1/", 2) == 0, root;
  if (inverse) at += 2;
  size_t n = strlen(at);
  root = n > 6 && n < sizeof inner && strncmp(at, "sqrt(", 5) == 0 && at[n - 1] == ')';
  if (root) {
    memcpy(inner, at + 5, n - 6);
    inner[n - 6] = '\0';
    at = inner;
  }
  hone_status status = parse_real(s, at, out, err);
  if (status != HONE_OK) return status;
  if (root) *out = sqrt(*out);
  if (inverse) *out = 1 / *out;
  return isfinite(*out) ? HONE_OK : hone_err_set(err, HONE_INPUT, "operator.expression", "'%s' is no finite number", text);
}

hone_status hone_expr_parse_access(const hone_scope *s, const char *text, hone_access *out, hone_err *err)
{
  parser p = {s, text, text, 0, err};
  return parse_access(&p, out);
}

hone_status hone_expr_parse_guard(const hone_scope *s, const char *text, hone_affine *out, hone_err *err)
{
  parser p = {s, text, text, 0, err};
  hone_affine b;
  hone_status status = parse_sum(&p, out);
  if (status != HONE_OK) return status;
  bool above = take(&p, ">=");
  if (!above && !take(&p, "<=")) return fail(&p, "expected '>=' or '<='");
  status = parse_sum(&p, &b);
  if (status == HONE_OK) status = need_end(&p);
  if (status == HONE_OK) status = add(&p, out, &b, -1);
  if (status != HONE_OK || above) return status;
  hone_affine zero = {0};
  status = add(&p, &zero, out, -1);
  *out = zero;
  return status;
}
