/* The function table of map and reduce stages, and how the latter join values. */
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

/* What an engine does at one point: f(scale * x + offset, y). */
typedef struct {
  hone_function function;
  double scale, offset; /* finite; 1 and 0: the arguments as they are */
} hone_apply;
static inline bool hone_apply_plain(const hone_apply *a) { return a->scale == 1 && a->offset == 0; }
double hone_apply_eval(const hone_apply *a, const double *args); /* args[arity] */

typedef enum {
#define HONE_REDUCTION(id, name, start, formula) HONE_REDUCTION_##id,
#include "ir/reduction.def"
#undef HONE_REDUCTION
  HONE_REDUCTION_COUNT
} hone_reduction;

const char *hone_reduction_name(hone_reduction r);
double hone_reduction_start(hone_reduction r);
double hone_reduction_join(hone_reduction r, double x, double y); /* not rounded */

#endif
