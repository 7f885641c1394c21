/* What a machine text said: its tree of values as a list, after the loader has
 * filled in what each became. */
#include "config.h"

#include "ir/machine_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ir/machine_int.h"

enum { MAX_FINDINGS = 64 };

struct hone_machine_text {
  hone_tree_set set;
  hone_machine machine;
  int n, capacity;
  hone_machine_value *value;
  hone_machine_finding finding[MAX_FINDINGS];
  int nfindings;
};

static void place(const hone_tree *t, char path[HONE_MACHINE_PATH], int *line, int *column)
{
  hone_err at;
  hone_err_init(&at);
  hone_tree_err(t, &at, HONE_OK, "", "%s", "");
  snprintf(path, HONE_MACHINE_PATH, "%.*s", HONE_MACHINE_PATH - 1, at.path);
  *line = at.line;
  *column = at.column;
}

static char *joined(const hone_tree *t) /* heap */
{
  hone_text list = {0};
  for (int i = 0; i < t->n; i++) hone_text_add(&list, "%s%s", i ? ", " : "", t->text[i]);
  return list.data;
}

static void list_tree(hone_machine_text *x, const hone_tree *t)
{
  for (int i = 0; t->block && i < t->n; i++) list_tree(x, t->child[i]);
  if (t->block) return;
  if (x->n == x->capacity) {
    x->capacity = x->capacity ? 2 * x->capacity : 64;
    x->value = hone_heap_realloc(x->value, (size_t)x->capacity, sizeof *x->value);
  }
  hone_machine_value *v = &x->value[x->n++];
  *v = (hone_machine_value){.text = joined(t), .value = t->quantity->value, .unit = t->quantity->unit, .source = t->quantity->plain ? NULL : t->source,
                            .assumed = t->assumed && !t->quantity->plain, .inherited = strcmp(t->file, x->set.path[0]) != 0, .file = t->file};
  place(t, v->path, &v->line, &v->column);
}

hone_status hone_machine_text_load(const char *path, hone_machine_text **out, hone_err *err)
{
  hone_machine_text *x = hone_heap_alloc(1, sizeof *x);
  hone_status s = hone_tree_load(path, &x->set, err);
  if (s == HONE_OK) s = hone_machine_load_tree(x->set.root, &x->machine, err);
  if (s != HONE_OK) {
    hone_machine_text_free(x);
    return s;
  }
  list_tree(x, x->set.root);
  hone_findings list = {x->finding, 0, MAX_FINDINGS};
  hone_machine_review(&x->machine, x->set.root, &list);
  x->nfindings = list.n;
  *out = x;
  return HONE_OK;
}

void hone_machine_text_free(hone_machine_text *x)
{
  if (!x) return;
  for (int i = 0; i < x->n; i++) free(x->value[i].text);
  free(x->value);
  hone_tree_fini(&x->set);
  free(x);
}

const hone_machine *hone_machine_text_machine(const hone_machine_text *t) { return &t->machine; }
int hone_machine_text_count(const hone_machine_text *t) { return t->n; }
const hone_machine_value *hone_machine_text_value(const hone_machine_text *t, int i) { return &t->value[i]; }

const hone_machine_value *hone_machine_text_find(const hone_machine_text *t, const char *path)
{
  for (int i = 0; i < t->n; i++)
    if (strcmp(t->value[i].path, path) == 0) return &t->value[i];
  return NULL;
}

int hone_machine_text_findings(const hone_machine_text *t, const hone_machine_finding **out)
{
  *out = t->finding;
  return t->nfindings;
}

bool hone_machine_value_eq(const hone_machine_value *a, const hone_machine_value *b)
{
  if (strcmp(a->text, b->text) == 0) return true;
  if (!a->unit || !b->unit || strcmp(a->unit, b->unit) != 0) return false;
  return (__int128)a->value.num * b->value.den == (__int128)b->value.num * a->value.den;
}
