/* The stack machine of the space language. Every operation is checked: a value
 * that leaves int64 or a zero divisor ends the evaluation with a fault. Division
 * rounds down and a remainder has its divisor's sign, so a = (a/b)*b + a%b and
 * blocks of negative numbers behave like those of positive ones. */
#include "config.h"

#include "spaces/expr.h"

#include <assert.h>

#include "base/checked.h"
#include "spaces/expr_int.h"

const char *hone_fault_text(hone_fault f)
{
  static const char *const text[] = {"no fault", "overflow", "division by zero"};
  return text[f];
}

static hone_fault divide(int64_t a, int64_t b, int64_t *quotient, int64_t *remainder)
{
  if (b == 0) return HONE_FAULT_DIVISION;
  if (b == -1) { /* INT64_MIN / -1 would trap */
    *remainder = 0;
    return hone_checked_sub(0, a, quotient) ? HONE_FAULT_NONE : HONE_FAULT_OVERFLOW;
  }
  *quotient = a / b;
  *remainder = a % b;
  if (*remainder != 0 && (*remainder < 0) != (b < 0)) {
    *quotient -= 1;
    *remainder += b;
  }
  return HONE_FAULT_NONE;
}

static hone_fault ceil_divide(int64_t a, int64_t b, int64_t *out)
{
  int64_t q = 0, r = 0;
  hone_fault f = divide(a, b, &q, &r);
  *out = q + (f == HONE_FAULT_NONE && r != 0); /* r != 0: |b| > 1, q + 1 fits */
  return f;
}

static hone_fault binary(expr_op op, int64_t a, int64_t b, int64_t *out)
{
  int64_t other = 0;
  switch (op) {
  case EXPR_ADD: return hone_checked_add(a, b, out) ? HONE_FAULT_NONE : HONE_FAULT_OVERFLOW;
  case EXPR_SUBTRACT: return hone_checked_sub(a, b, out) ? HONE_FAULT_NONE : HONE_FAULT_OVERFLOW;
  case EXPR_MULTIPLY: return hone_checked_mul(a, b, out) ? HONE_FAULT_NONE : HONE_FAULT_OVERFLOW;
  case EXPR_DIVIDE: return divide(a, b, out, &other);
  case EXPR_MODULO:
    if (b != -1) return divide(a, b, &other, out);
    *out = 0; /* whatever the quotient would be */
    return HONE_FAULT_NONE;
  case EXPR_CEILDIV: return ceil_divide(a, b, out);
  case EXPR_MIN: *out = hone_min64(a, b); return HONE_FAULT_NONE;
  case EXPR_MAX: *out = hone_max64(a, b); return HONE_FAULT_NONE;
  case EXPR_EQ: *out = a == b; return HONE_FAULT_NONE;
  case EXPR_NE: *out = a != b; return HONE_FAULT_NONE;
  case EXPR_LT: *out = a < b; return HONE_FAULT_NONE;
  case EXPR_LE: *out = a <= b; return HONE_FAULT_NONE;
  case EXPR_GT: *out = a > b; return HONE_FAULT_NONE;
  case EXPR_GE: *out = a >= b; return HONE_FAULT_NONE;
  default: assert(op >= EXPR_ADD && op <= EXPR_GE); return HONE_FAULT_OVERFLOW;
  }
}

/* Position of `dim` in an order packed 4 bits per place. */
static int64_t place_of(int64_t order, int dim)
{
  for (int i = 0; i < HONE_MAX_DIMS; i++)
    if (((order >> (4 * i)) & 15) == dim) return i;
  return -1;
}

hone_fault hone_expr_eval(const hone_expr *e, const int64_t *values, int64_t *out, int *column)
{
  int64_t stack[HONE_EXPR_STACK];
  int top = 0; /* the compiler proved that it stays within the stack */
  for (int pc = 0; pc < e->ncode; pc++) {
    const hone_expr_insn *in = &e->code[pc];
    hone_fault fault = HONE_FAULT_NONE;
    switch ((expr_op)in->op) {
    case EXPR_CONSTANT: stack[top++] = in->value; break;
    case EXPR_VALUE: stack[top++] = values[in->argument]; break;
    case EXPR_FIELD: stack[top++] = (values[in->argument] >> in->value) & 255; break;
    case EXPR_PLACE: stack[top++] = place_of(values[in->argument], (int)in->value); break;
    case EXPR_NEGATE:
      if (!hone_checked_sub(0, stack[top - 1], &stack[top - 1])) fault = HONE_FAULT_OVERFLOW;
      break;
    case EXPR_NOT: stack[top - 1] = stack[top - 1] == 0; break;
    case EXPR_BOOL: stack[top - 1] = stack[top - 1] != 0; break;
    case EXPR_AND:
    case EXPR_OR:
      if ((stack[top - 1] != 0) == (in->op == EXPR_OR)) {
        stack[top - 1] = in->op == EXPR_OR;
        pc = in->argument - 1;
      } else {
        top--;
      }
      break;
    case EXPR_JUMP: pc = in->argument - 1; break;
    case EXPR_JUMP_FALSE:
      if (stack[--top] == 0) pc = in->argument - 1;
      break;
    default:
      top--;
      fault = binary((expr_op)in->op, stack[top - 1], stack[top], &stack[top - 1]);
      break;
    }
    if (fault != HONE_FAULT_NONE) {
      if (column) *column = in->column;
      return fault;
    }
  }
  *out = stack[0];
  return HONE_FAULT_NONE;
}

bool hone_expr_is_constant(const hone_expr *e) { return e->nuses == 0; }
