/* Inside the operator loader. Reading order: operator_expr.c (expressions and
 * accesses), operator_load.c (the text), operator_stage.c (its stages), operator_view.c (index tables), operator_check.c
 * (what it must satisfy, what is not supported yet), operator_print.c, operator.c. */
#ifndef HONE_IR_OPERATOR_INT_H
#define HONE_IR_OPERATOR_INT_H

#include <stdbool.h>

#include "base/status.h"
#include "base/yaml.h"
#include "ir/operator.h"

/* What names mean in an expression; dims win over sizes. */
typedef struct {
  const hone_operator *op; /* its dims and tensors; NULL: sizes only */
  int nsizes;
  hone_size size[HONE_MAX_SIZES];
} hone_scope;

/* A whole text as an integer, a real number, an access or a guard. The error has a message, no
 * place: the caller puts it at the node. */
hone_status hone_expr_parse_int(const hone_scope *s, const char *text, int64_t *out, hone_err *err);
hone_status hone_expr_parse_real(const hone_scope *s, const char *text, double *out, hone_err *err);
hone_status hone_expr_parse_access(const hone_scope *s, const char *text, hone_access *out, hone_err *err);
hone_status hone_expr_parse_guard(const hone_scope *s, const char *text, hone_affine *out, hone_err *err);

/* Where the parts of an operator came from, for diagnostics; intermediates made
 * by the loader have the node of the stage that writes them. */
typedef struct {
  hone_yaml *doc;
  hone_node *dim[HONE_MAX_DIMS], *tensor[HONE_MAX_TENSORS], *stage[HONE_MAX_STAGES];
} hone_operator_places;

/* A load under way. */
typedef struct {
  const hone_size *sizes;
  int nsizes;
  const hone_format_choice *formats;
  int nformats;
  const hone_operator_option *options;
  int noptions;
} hone_loader_request;

typedef struct {
  const hone_loader_request *ask;
  hone_yaml *doc;
  hone_node *root; /* operator: */
  hone_operator op;
  hone_operator_places at;
  hone_scope scope; /* of sizes; op set once dims are there */
  int noptions;
  hone_operator_option option[HONE_MAX_OPTIONS];
  bool accumulator[HONE_MAX_TENSORS]; /* format: accumulator, until the writer is known */
  int newest[HONE_MAX_TENSORS];       /* version a read of the declared tensor means; -1: none yet */
  int last_writer[HONE_MAX_TENSORS];  /* of the declared tensor, -1 */
  hone_err *err;
} hone_loader;

/* In a function with a loader l. */
#define REFUSE(n, code, ...) hone_node_err(l->doc, (n), l->err, HONE_INPUT, "operator." code, __VA_ARGS__)

/* Another parser's diagnostic, put at node n. */
hone_status hone_loader_err_at(hone_loader *l, hone_node *n, const hone_err *why);
hone_status hone_loader_need_text(hone_loader *l, hone_node *map, const char *key, hone_node **node, const char **out);
hone_status hone_loader_find_word(hone_loader *l, hone_node *n, const char *const *words, const char *text, int *out);
hone_status hone_loader_take_name(hone_loader *l, hone_node *n, const char *text, char out[HONE_MAX_NAME]);
const char *hone_loader_option(const hone_loader *l, const char *name); /* its value, NULL */
hone_status hone_loader_check_when(hone_loader *l, hone_node *n, bool *out);
hone_status hone_loader_load_stages(hone_loader *l);
hone_status hone_loader_make_views(hone_loader *l); /* operator_view.c */

hone_status hone_operator_check(const hone_operator *op, const hone_operator_places *at, hone_err *err);

#endif
