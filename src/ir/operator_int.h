/* Inside the operator loader. Reading order: operator_expr.c (expressions and
 * accesses), operator_load.c (the text), operator_check.c (what it must satisfy,
 * what is not supported yet), operator_print.c, operator.c. */
#ifndef HONE_IR_OPERATOR_INT_H
#define HONE_IR_OPERATOR_INT_H

#include <stdbool.h>

#include "base/status.h"
#include "base/yaml.h"
#include "ir/operator.h"

enum { HONE_MAX_SIZES = 32 };

/* What names mean in an expression; dims win over sizes. */
typedef struct {
  const hone_operator *op; /* its dims and tensors; NULL: sizes only */
  int nsizes;
  hone_size size[HONE_MAX_SIZES];
} hone_scope;

/* A whole text as an integer, an access or a guard. The error has a message, no
 * place: the caller puts it at the node. */
hone_status hone_expr_parse_int(const hone_scope *s, const char *text, int64_t *out, hone_err *err);
hone_status hone_expr_parse_access(const hone_scope *s, const char *text, hone_access *out, hone_err *err);
hone_status hone_expr_parse_guard(const hone_scope *s, const char *text, hone_affine *out, hone_err *err);

/* Where the parts of an operator came from, for diagnostics; intermediates made
 * by the loader have the node of the stage that writes them. */
typedef struct {
  hone_yaml *doc;
  hone_node *dim[HONE_MAX_DIMS], *tensor[HONE_MAX_TENSORS], *stage[HONE_MAX_STAGES];
} hone_operator_places;

hone_status hone_operator_check(const hone_operator *op, const hone_operator_places *at, hone_err *err);

#endif
