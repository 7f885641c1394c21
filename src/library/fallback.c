/* The schedule of a family for shapes nothing was tuned for: the plain one of a
 * shape so large (doubled from ones until it is) that every dim takes several trips
 * and memory alone limits the tiles. No loop is missing from its text, so at any
 * other shape hone_schedule_fit can only shrink buffers: it is legal there too. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "ir/schedule.h"
#include "library/library_int.h"

enum { MAX_DOUBLINGS = 24, TRIPS = 2 };

typedef struct {
  const char *path;
  const hone_machine *m;
  hone_spec spec;
  hone_operator op, other;
  hone_schedule s;
  hone_err err;
} search;

static bool load(search *x, hone_operator *op)
{
  return hone_operator_load_spec(x->path, &x->spec, op, &x->err) == HONE_OK;
}

/* Starts from ones; from the tuned shape when the operator has none of ones. */
static bool start(search *x, const hone_spec *tuned)
{
  x->spec = *tuned;
  for (int i = 0; i < x->spec.nsizes; i++) x->spec.size[i].value = x->spec.size[i].to = 1;
  if (load(x, &x->op)) return true;
  x->spec = *tuned;
  for (int i = 0; i < x->spec.nsizes; i++) x->spec.size[i].to = x->spec.size[i].value;
  return load(x, &x->op);
}

static bool short_of_trips(const search *x, int d)
{
  return x->s.tile[0][d] / TRIPS < x->s.tile[1][d]; /* of the block of one core */
}

/* Doubles size i if that lengthens a dim that is short of trips. */
static bool lengthen(search *x, int i)
{
  bool helps = false;
  int64_t old = x->spec.size[i].value;
  if (old > INT64_MAX / 2) return false;
  x->spec.size[i].value = x->spec.size[i].to = 2 * old;
  bool there = load(x, &x->other);
  for (int d = 0; there && d < x->op.ndims; d++)
    helps = helps || (x->other.dim[d].extent > x->op.dim[d].extent && short_of_trips(x, d));
  if (helps) x->op = x->other;
  else x->spec.size[i].value = x->spec.size[i].to = old;
  return helps;
}

static bool run(search *x, const hone_spec *tuned)
{
  if (!start(x, tuned)) return false;
  bool any = true;
  for (int k = 0; any && k < MAX_DOUBLINGS; k++) {
    if (hone_schedule_plain(&x->op, x->m, &x->s, &x->err) != HONE_OK) return false;
    any = false;
    for (int i = 0; i < x->spec.nsizes; i++) any |= lengthen(x, i);
  }
  return hone_schedule_plain(&x->op, x->m, &x->s, &x->err) == HONE_OK;
}

void hone_library_make_fallback(hone_arena *a, const char *operator_path, const hone_spec *tuned, const hone_machine *m,
                                hone_library_family *f)
{
  search *x = hone_heap_alloc(1, sizeof *x);
  hone_params p = {0};
  hone_text text = {0};
  x->path = operator_path;
  x->m = m;
  f->fallback = NULL;
  f->fallback_reason = "";
  if (run(x, tuned) && hone_params_new(&x->op, m, &p, &x->err) == HONE_OK) {
    hone_schedule_print(&x->op, m, &p, &x->s, &text);
    f->fallback = hone_arena_strdup(a, text.data);
    for (int i = 0; i < x->op.spec.nsizes; i++) f->fallback_size[i] = x->op.spec.size[i].value;
  } else {
    f->fallback_reason = hone_arena_strdup(a, x->err.message);
  }
  hone_params_free(&p);
  hone_text_fini(&text);
  free(x);
}
