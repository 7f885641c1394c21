/* What a store knows, task by task: three walks over it, all in its canonical order
 * (operator, machine, evaluator, version), so that one cursor finds the task again. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/emit_int.h"

typedef struct {
  const hone_library_source *source;
  hone_arena *arena;
  library_task *task;
  int n, capacity, cursor;
} gathering;

static bool is_wanted(const hone_library_source *s, const char *machine_name, const char *machine_hash)
{
  return !s->machine || strcmp(s->machine, machine_name) == 0 || strcmp(s->machine, machine_hash) == 0;
}

/* -1: not one of this build's. */
static int find_evaluator(const hone_library_source *s, const char *name, int version)
{
  for (int i = 0; i < s->nevaluators; i++)
    if (strcmp(s->evaluator[i].name, name) == 0 && s->evaluator[i].version == version) return i;
  return -1;
}

/* ---- tasks -------------------------------------------------------------------- */

static library_task *last_or_new(gathering *g, const char *operator_hash, const char *machine_hash, const hone_store_task *task)
{
  if (g->n > 0 && strcmp(g->task[g->n - 1].operator_hash, operator_hash) == 0 &&
      strcmp(g->task[g->n - 1].machine_hash, machine_hash) == 0)
    return &g->task[g->n - 1];
  if (g->n == g->capacity) {
    g->capacity = g->capacity ? 2 * g->capacity : 16;
    g->task = hone_heap_realloc(g->task, (size_t)g->capacity, sizeof *g->task);
  }
  library_task *t = &g->task[g->n++];
  *t = (library_task){.spec = "", .operator_name = hone_arena_strdup(g->arena, task->operator_name),
                      .machine_name = hone_arena_strdup(g->arena, task->machine_name), .label = hone_arena_strdup(g->arena, task->label)};
  snprintf(t->operator_hash, sizeof t->operator_hash, "%s", operator_hash);
  snprintf(t->machine_hash, sizeof t->machine_hash, "%s", machine_hash);
  return t;
}

static hone_status take_task(void *arg, const hone_store_task_info *info, hone_err *err)
{
  (void)err;
  gathering *g = arg;
  char operator_hash[HONE_HASH_TEXT], machine_hash[HONE_HASH_TEXT];
  hone_hash_print(info->operator_hash, operator_hash);
  hone_hash_print(info->machine_hash, machine_hash);
  if (!is_wanted(g->source, info->task.machine_name, machine_hash)) return HONE_OK;
  library_task *t = last_or_new(g, operator_hash, machine_hash, &info->task);
  if (!t->spec[0] && info->task.spec) t->spec = hone_arena_strdup(g->arena, info->task.spec);
  if (find_evaluator(g->source, info->evaluator, info->evaluator_version) >= 0) return HONE_OK;
  library_other *other = hone_arena_alloc(g->arena, ((size_t)t->nothers + 1) * sizeof *other);
  if (t->nothers) memcpy(other, t->other, (size_t)t->nothers * sizeof *other);
  other[t->nothers++] = (library_other){hone_arena_strdup(g->arena, info->evaluator), info->evaluator_version};
  t->other = other;
  return HONE_OK;
}

/* ---- records ------------------------------------------------------------------ */

/* Moves the cursor to the record's task; NULL: it was not wanted. */
static library_task *seek(gathering *g, const hone_record *r)
{
  char operator_hash[HONE_HASH_TEXT], machine_hash[HONE_HASH_TEXT];
  hone_hash_print(hone_hash_text(r->task.operator_text), operator_hash);
  hone_hash_print(hone_hash_text(r->task.machine_text), machine_hash);
  for (; g->cursor < g->n; g->cursor++) {
    library_task *t = &g->task[g->cursor];
    int c = strcmp(t->operator_hash, operator_hash);
    if (c == 0) c = strcmp(t->machine_hash, machine_hash);
    if (c == 0) return t;
    if (c > 0) return NULL;
  }
  return NULL;
}

static library_record copy(const gathering *g, const hone_record *r)
{
  return (library_record){hone_arena_strdup(g->arena, r->schedule), r->cycles, r->warm_cycles};
}

static hone_status take_best(void *arg, const hone_record *r, hone_err *err)
{
  (void)err;
  gathering *g = arg;
  int i = find_evaluator(g->source, r->evaluator, r->evaluator_version);
  library_task *t = i >= 0 && r->reason == HONE_REASON_NONE ? seek(g, r) : NULL;
  if (t) t->best[i] = copy(g, r);
  return HONE_OK;
}

static hone_status take_default(void *arg, const hone_record *r, hone_err *err)
{
  (void)err;
  gathering *g = arg;
  int i = find_evaluator(g->source, r->evaluator, r->evaluator_version);
  library_task *t = i >= 0 ? seek(g, r) : NULL;
  if (!t) return HONE_OK;
  library_default *list = hone_arena_alloc(g->arena, ((size_t)t->ndefaults + 1) * sizeof *list);
  if (t->ndefaults) memcpy(list, t->by_default, (size_t)t->ndefaults * sizeof *list);
  list[t->ndefaults++] = (library_default){i, r->reason != HONE_REASON_NONE, r->observations, copy(g, r)};
  t->by_default = list;
  return HONE_OK;
}

hone_status library_gather(hone_store *s, const hone_library_source *source, hone_arena *a, library_task **out, int *n, hone_err *err)
{
  gathering g = {.source = source, .arena = a};
  const hone_store_filter defaults = {.kinds = HONE_KIND_DEFAULT};
  hone_status st = hone_store_tasks(s, NULL, take_task, &g, err);
  if (st == HONE_OK) st = hone_store_top(s, NULL, 1, take_best, &g, err);
  g.cursor = 0;
  if (st == HONE_OK) st = hone_store_query(s, &defaults, take_default, &g, err);
  if (st != HONE_OK) free(g.task);
  *out = st == HONE_OK ? g.task : NULL;
  *n = st == HONE_OK ? g.n : 0;
  return st;
}
