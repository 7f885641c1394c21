/* The function table of map stages. */
#ifndef HONE_IR_FUNCTION_H
#define HONE_IR_FUNCTION_H

#include <stdbool.h>

typedef enum {
#define HONE_FUNCTION(id, name, arity, cost, formula) HONE_FUNCTION_##id,
#include "ir/function.def"
#undef HONE_FUNCTION
  HONE_FUNCTION_COUNT
} hone_function;

typedef enum { HONE_COST_SIMPLE, HONE_COST_TABLE, HONE_COST_COUNT } hone_function_cost;

const char *hone_function_name(hone_function f);
bool hone_function_find(const char *name, hone_function *out);
int hone_function_arity(hone_function f);
hone_function_cost hone_function_cost_class(hone_function f);
double hone_function_eval(hone_function f, const double *args); /* args[arity] */

#endif
