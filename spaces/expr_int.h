/* The stack machine shared by expr.c (compiler) and expr_eval.c. */
#ifndef HONE_SPACES_EXPR_INT_H
#define HONE_SPACES_EXPR_INT_H

/* Unary ops replace the top, binary ones the top two. AND / OR look at the top:
 * when it decides, they normalise it to 0 or 1 and jump to `argument`, else pop. */
typedef enum {
  EXPR_CONSTANT,
  EXPR_VALUE,
  EXPR_FIELD,
  EXPR_PLACE,
  EXPR_NEGATE,
  EXPR_NOT,
  EXPR_BOOL,
  EXPR_AND,
  EXPR_OR,
  EXPR_JUMP,
  EXPR_JUMP_FALSE, /* pops */
  EXPR_ADD,        /* binary from here on */
  EXPR_SUBTRACT,
  EXPR_MULTIPLY,
  EXPR_DIVIDE,
  EXPR_MODULO,
  EXPR_CEILDIV,
  EXPR_MIN,
  EXPR_MAX,
  EXPR_EQ,
  EXPR_NE,
  EXPR_LT,
  EXPR_LE,
  EXPR_GT,
  EXPR_GE
} expr_op;

#endif
