/* Walks over the merged records: query, counts. */
#include "config.h"

#include "store/store_int.h"

#include <stdlib.h>

static hone_status query_group(hone_store *s, const hone_part *p, int n, const hone_store_filter *f, hone_store_visit visit,
                               void *arg, hone_err *err)
{
  hone_merge *m = hone_merge_new(s, p, n);
  hone_merged x;
  hone_status st;
  while ((st = hone_merge_next(m, &x, err)) == HONE_OK && x.r)
    if (hone_record_matches(x.r, f) && (st = visit(arg, x.r, err)) != HONE_OK) break;
  hone_merge_free(m);
  return st;
}

hone_status hone_store_query(hone_store *s, const hone_store_filter *filter, hone_store_visit visit, void *arg, hone_err *err)
{
  int n;
  hone_part *part = hone_store_parts(s, filter, &n);
  hone_status st = HONE_OK;
  for (int i = 0, run; i < n && st == HONE_OK; i += run) {
    run = hone_part_run(part + i, n - i);
    st = query_group(s, part + i, run, filter, visit, arg, err);
  }
  free(part);
  return st;
}

/* ---- counts ---- */

typedef struct {
  uint64_t *key;
  int64_t n, capacity, repeated;
} tally;

static int key_order(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Keys met with more than one outcome. */
static int64_t count_contested(tally *t)
{
  int64_t contested = 0;
  if (t->n) qsort(t->key, (size_t)t->n, sizeof *t->key, key_order);
  for (int64_t i = 0, run; i < t->n; i += run) {
    for (run = 1; i + run < t->n && t->key[i + run] == t->key[i];)
      run++;
    contested += run > 1;
  }
  return contested;
}

static void count_record(tally *t, const hone_merged *x, hone_store_task_info *info)
{
  if (t->n == t->capacity) {
    t->capacity = t->capacity ? 2 * t->capacity : 1024;
    t->key = hone_heap_realloc(t->key, (size_t)t->capacity, sizeof *t->key);
  }
  t->key[t->n++] = x->key;
  t->repeated += x->rows - 1;
  info->records++;
  if (hone_record_failed(x->r))
    info->failed++;
  else if (info->best_cycles < 0)
    info->best_cycles = x->r->cycles;
}

static hone_status count_group(hone_store *s, const hone_part *p, int n, const hone_store_filter *f, tally *t,
                               hone_store_task_info *info, hone_err *err)
{
  const hone_task *task = p->task;
  hone_merge *m = hone_merge_new(s, p, n);
  hone_merged x;
  hone_status st;
  t->n = 0;
  *info = (hone_store_task_info){.task = task->text,
                                 .operator_hash = task->operator_hash,
                                 .machine_hash = task->machine_hash,
                                 .evaluator = task->evaluator,
                                 .evaluator_version = task->evaluator_version,
                                 .best_cycles = -1};
  while ((st = hone_merge_next(m, &x, err)) == HONE_OK && x.r)
    if (hone_record_matches(x.r, f)) count_record(t, &x, info);
  info->contested = count_contested(t);
  hone_merge_free(m);
  return st;
}

static hone_status walk_tasks(hone_store *s, const hone_store_filter *f, hone_store_visit_task visit, void *arg,
                              int64_t *repeated, hone_err *err)
{
  int n;
  hone_part *part = hone_store_parts(s, f, &n);
  tally t = {0};
  hone_status st = HONE_OK;
  for (int i = 0, run; i < n && st == HONE_OK; i += run) {
    hone_store_task_info info;
    run = hone_part_run(part + i, n - i);
    st = count_group(s, part + i, run, f, &t, &info, err);
    if (st == HONE_OK && info.records) st = visit(arg, &info, err);
  }
  *repeated = t.repeated;
  free(t.key);
  free(part);
  return st;
}

hone_status hone_store_tasks(hone_store *s, const hone_store_filter *filter, hone_store_visit_task visit, void *arg,
                             hone_err *err)
{
  int64_t repeated;
  return walk_tasks(s, filter, visit, arg, &repeated, err);
}

static hone_status add_up(void *arg, const hone_store_task_info *t, hone_err *err)
{
  hone_store_info *info = arg;
  (void)err;
  info->tasks++;
  info->records += t->records;
  info->failed += t->failed;
  info->contested += t->contested;
  return HONE_OK;
}

hone_status hone_store_get_info(hone_store *s, hone_store_info *out, hone_err *err)
{
  *out = (hone_store_info){.segments = s->nsegments, .damaged = s->ndamaged};
  for (int32_t i = 0; i < s->nsegments; i++)
    out->bytes += s->segment[i]->seal.bytes;
  int32_t documents;
  free(hone_store_newest(s, NULL, &documents));
  out->documents = documents;
  return walk_tasks(s, NULL, add_up, out, &out->repeated, err);
}
