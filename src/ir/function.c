/* Functions and reductions, from the rows of their tables. */
#include "config.h"

#include "ir/function.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct {
  const char *name;
  int arity;
  hone_function_cost cost;
} rows[] = {
#define HONE_FUNCTION(id, name, arity, cost, formula) [HONE_FUNCTION_##id] = {name, arity, HONE_COST_##cost},
#include "ir/function.def"
#undef HONE_FUNCTION
};
_Static_assert(sizeof rows / sizeof rows[0] == HONE_FUNCTION_COUNT, "one row per function");

const char *hone_function_name(hone_function f) { return rows[f].name; }
int hone_function_arity(hone_function f) { return rows[f].arity; }
hone_function_cost hone_function_cost_class(hone_function f) { return rows[f].cost; }

bool hone_function_find(const char *name, hone_function *out)
{
  for (int f = 0; f < HONE_FUNCTION_COUNT; f++)
    if (strcmp(name, rows[f].name) == 0) {
      *out = (hone_function)f;
      return true;
    }
  return false;
}

double hone_function_eval(hone_function f, const double *args)
{
  assert(f < HONE_FUNCTION_COUNT);
  double x = args[0], y = rows[f].arity > 1 ? args[1] : 0;
  switch (f) {
#define HONE_FUNCTION(id, name, arity, cost, formula) \
  case HONE_FUNCTION_##id: \
    return formula;
#include "ir/function.def"
#undef HONE_FUNCTION
  case HONE_FUNCTION_COUNT:
    break;
  }
  return NAN;
}

double hone_apply_eval(const hone_apply *a, const double *args)
{
  double x[2] = {args[0], rows[a->function].arity > 1 ? args[1] : 0};
  if (!hone_apply_plain(a)) x[0] = a->scale * x[0] + a->offset;
  return hone_function_eval(a->function, x);
}

static const struct {
  const char *name;
  double start;
} reductions[] = {
#define HONE_REDUCTION(id, name, start, formula) [HONE_REDUCTION_##id] = {name, start},
#include "ir/reduction.def"
#undef HONE_REDUCTION
};

const char *hone_reduction_name(hone_reduction r) { return reductions[r].name; }
double hone_reduction_start(hone_reduction r) { return reductions[r].start; }

double hone_reduction_join(hone_reduction r, double x, double y)
{
  switch (r) {
#define HONE_REDUCTION(id, name, start, formula) \
  case HONE_REDUCTION_##id: \
    return formula;
#include "ir/reduction.def"
#undef HONE_REDUCTION
  case HONE_REDUCTION_COUNT:
    break;
  }
  return NAN;
}
