/* Expressions of the space language: checked int64 arithmetic, comparisons and
 * short-circuit logic over the values of a point, compiled to a small stack
 * machine. docs/spaces.md has the grammar. An expression owns its code; it is
 * read-only after compile and shared by threads. */
#ifndef HONE_SPACES_EXPR_H
#define HONE_SPACES_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "ir/limits.h"

enum { HONE_EXPR_NAME = 128, HONE_EXPR_TEXT = 512, HONE_EXPR_STACK = 64 };

/* What a name stands for. PLACE: the position of a dim in a packed order. FIELD:
 * eight bits of a packed value. TEXT: another expression, put in parentheses. */
typedef enum { HONE_SYMBOL_CONSTANT, HONE_SYMBOL_VALUE, HONE_SYMBOL_FIELD, HONE_SYMBOL_PLACE, HONE_SYMBOL_TEXT } hone_symbol_kind;

typedef struct {
  hone_symbol_kind kind;
  int64_t constant;
  int index;    /* VALUE, FIELD, PLACE: slot of the value */
  int argument; /* FIELD: shift; PLACE: dim */
  char text[HONE_EXPR_TEXT];
} hone_symbol;

/* A name bound by foreach: `{name}` in a dotted name gives text, bare `name` the
 * number; `{name-1}` and `{name+1}` give the neighbouring number. */
typedef struct {
  const char *name;
  char text[HONE_MAX_NAME];
  int64_t number;
  bool numeric; /* text is the number */
} hone_binding;

/* Resolves a dotted name. False: unknown, `hint` then says what is near. */
typedef bool (*hone_expr_resolve)(void *arg, const char *name, hone_symbol *out, char hint[HONE_EXPR_NAME]);

typedef struct {
  int nbindings;
  hone_binding binding[4];
  hone_expr_resolve resolve;
  void *arg;
} hone_scope;

typedef enum { HONE_FAULT_NONE, HONE_FAULT_OVERFLOW, HONE_FAULT_DIVISION } hone_fault;
const char *hone_fault_text(hone_fault f);

typedef struct {
  uint8_t op;
  int16_t column; /* 1-based, in the expression's own text */
  int32_t argument;
  int64_t value;
} hone_expr_insn;

typedef struct {
  hone_expr_insn *code;
  int ncode, capacity;
  int *uses; /* slots of values read, ascending, distinct */
  int nuses;
  char *text; /* the source */
} hone_expr;

/* On failure err has column (within text) and, as hint, the text with a caret. */
hone_status hone_expr_compile(const char *text, const hone_scope *scope, hone_expr *out, hone_err *err);
void hone_expr_free(hone_expr *e);
/* `column` of the failing operation when it faults; NULL allowed. */
hone_fault hone_expr_eval(const hone_expr *e, const int64_t *values, int64_t *out, int *column);
bool hone_expr_is_constant(const hone_expr *e); /* reads no value */

/* Puts the bindings of scope into `text`; INPUT when a {name} is not bound. */
hone_status hone_scope_expand(const hone_scope *scope, const char *text, char out[HONE_EXPR_NAME], hone_err *err);

#endif
