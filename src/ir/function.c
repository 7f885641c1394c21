/* The function table of map stages, from the rows of function.def. */
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
