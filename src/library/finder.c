/* Operators and machines found again by the names and specs of a store or a
 * library; and one shape of an operator, ready to be costed. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/emit_int.h"

enum { PATH_BYTES = 1024 };

/* What one name led to; a failure is kept, too. */
typedef struct {
  char name[PATH_BYTES], path[PATH_BYTES];
  hone_machine machine; /* of a machine */
  char hash[HONE_HASH_TEXT];
  hone_status status;
  hone_err why;
} found;

struct library_finder {
  const hone_library_source *source;
  int n[2];
  found **found[2];
};

enum { MACHINES, OPERATORS };

library_finder *library_finder_new(const hone_library_source *source)
{
  library_finder *f = hone_heap_alloc(1, sizeof *f);
  f->source = source;
  return f;
}

void library_finder_free(library_finder *f)
{
  if (!f) return;
  for (int kind = 0; kind < 2; kind++) {
    for (int i = 0; i < f->n[kind]; i++) free(f->found[kind][i]);
    free(f->found[kind]);
  }
  free(f);
}

static void look(library_finder *f, int kind, const char *name, found *x)
{
  const hone_library_source *s = f->source;
  hone_err_init(&x->why);
  snprintf(x->name, sizeof x->name, "%s", name);
  x->status = (kind == MACHINES ? s->find_machine : s->find_operator)(s->find_arg, name, x->path, sizeof x->path, &x->why);
  if (kind != MACHINES || x->status != HONE_OK) return;
  x->status = hone_machine_load(x->path, &x->machine, &x->why);
  if (x->status == HONE_OK) hone_hash_print(hone_machine_hash(&x->machine), x->hash);
}

static const found *find(library_finder *f, int kind, const char *name)
{
  for (int i = 0; i < f->n[kind]; i++)
    if (strcmp(f->found[kind][i]->name, name) == 0) return f->found[kind][i];
  found *x = hone_heap_alloc(1, sizeof *x);
  f->found[kind] = hone_heap_realloc(f->found[kind], (size_t)f->n[kind] + 1, sizeof *f->found[kind]);
  f->found[kind][f->n[kind]++] = x;
  look(f, kind, name, x);
  return x;
}

static hone_status fail(const found *x, hone_err *err)
{
  if (err) *err = x->why;
  return x->status;
}

hone_status library_find_machine(library_finder *f, const char *name, const char *hash, const hone_machine **out, hone_err *err)
{
  const found *x = find(f, MACHINES, name);
  if (x->status != HONE_OK) return fail(x, err);
  if (strcmp(x->hash, hash) != 0) {
    hone_err_set(err, HONE_INPUT, "library.stale", "the machine %s is now %.12s; this is for %.12s", name, x->hash, hash);
    hone_err_hint(err, "tune again, or give the machine's file of then");
    return HONE_INPUT;
  }
  *out = &x->machine;
  return HONE_OK;
}

hone_status library_find_operator(library_finder *f, const char *name, const char **path, hone_err *err)
{
  const found *x = find(f, OPERATORS, name);
  *path = x->path;
  return x->status == HONE_OK ? HONE_OK : fail(x, err);
}

/* ---- shapes ------------------------------------------------------------------- */

hone_status library_shape_make(hone_yaml *text, const hone_spec *spec, const hone_machine *m, library_shape **out, hone_err *err)
{
  library_shape *x = hone_heap_alloc(1, sizeof *x);
  x->machine = m;
  hone_status s = hone_operator_make(text, spec, &x->op, err);
  if (s == HONE_OK) s = hone_params_new(&x->op, m, &x->params, err);
  if (s == HONE_OK) s = hone_model_new(&x->op, m, &x->model, err);
  if (s == HONE_OK) x->has_default = hone_schedule_default(&x->op, m, &x->by_default, NULL) == HONE_OK;
  if (s != HONE_OK) library_shape_free(x);
  else *out = x;
  return s;
}

hone_status library_shape_new(const char *path, const hone_spec *spec, const hone_machine *m, library_shape **out, hone_err *err)
{
  hone_yaml *text = NULL;
  hone_status s = hone_yaml_load(path, &text, err);
  if (s == HONE_OK) s = library_shape_make(text, spec, m, out, err);
  hone_yaml_free(text);
  return s;
}

void library_shape_free(library_shape *x)
{
  if (!x) return;
  hone_model_free(x->model);
  hone_params_free(&x->params);
  free(x);
}

int64_t library_shape_cost(const library_shape *x, const hone_schedule *s)
{
  hone_cost cost;
  return hone_model_evaluate(x->model, s, &cost) == HONE_REASON_NONE ? cost.cycles : -1;
}

const char *library_shape_print(const library_shape *x, const hone_schedule *s, hone_arena *a)
{
  hone_text t = {0};
  hone_schedule_print(&x->op, x->machine, &x->params, s, &t);
  const char *text = hone_arena_strdup(a, t.data ? t.data : "");
  hone_text_fini(&t);
  return text;
}
