/* Two stores compared, task by task: the records of a task are put in order of
 * schedule, then outcome, and both lists are walked side by side. */
#include "config.h"

#include "store/store_int.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  hone_store *store;
  hone_part *part;
  int nparts, next;
  hone_arena *arena;
  hone_record *record; /* of the task at hand */
  int n, capacity;
} side;

static int schedule_order(const void *pa, const void *pb)
{
  const hone_record *a = pa, *b = pb;
  const int c = strcmp(a->schedule, b->schedule);
  return c ? c : hone_outcome_cmp(a, b);
}

static hone_status load_task(side *x, const hone_store_filter *f, hone_err *err)
{
  const int run = hone_part_run(x->part + x->next, x->nparts - x->next);
  hone_merge *m = hone_merge_new(x->store, x->part + x->next, run);
  hone_merged found;
  hone_status st;
  while ((st = hone_merge_next(m, &found, err)) == HONE_OK && found.r) {
    if (!hone_record_matches(found.r, f)) continue;
    if (x->n == x->capacity) {
      x->capacity = x->capacity ? 2 * x->capacity : 256;
      x->record = hone_heap_realloc(x->record, (size_t)x->capacity, sizeof *x->record);
    }
    hone_record_copy(x->arena, found.r, &x->record[x->n++]);
  }
  hone_merge_free(m);
  if (x->n) qsort(x->record, (size_t)x->n, sizeof *x->record, schedule_order);
  x->next += run;
  return st;
}

/* How many outcomes the schedule at i has. */
static int outcomes_at(const side *x, int i)
{
  int n = i < x->n;
  while (n && i + n < x->n && !strcmp(x->record[i].schedule, x->record[i + n].schedule))
    n++;
  return n;
}

/* One schedule that both sides have: the first outcomes that differ, if any. */
static hone_status compare(const hone_record *a, int na, const hone_record *b, int nb, hone_store_difference *out,
                           hone_store_visit_difference visit, void *arg, hone_err *err)
{
  int i = 0;
  while (i < na && i < nb && hone_outcome_cmp(&a[i], &b[i]) == 0)
    i++;
  if (i == na && i == nb) {
    out->same++;
    return HONE_OK;
  }
  out->different++;
  return visit(arg, &a[i < na ? i : na - 1], &b[i < nb ? i : nb - 1], err);
}

static hone_status compare_task(side *a, side *b, hone_store_difference *out, hone_store_visit_difference visit, void *arg,
                                hone_err *err)
{
  hone_status st = HONE_OK;
  for (int i = 0, k = 0; (i < a->n || k < b->n) && st == HONE_OK;) {
    const int na = outcomes_at(a, i), nb = outcomes_at(b, k);
    const int c = !na ? 1 : !nb ? -1 : strcmp(a->record[i].schedule, b->record[k].schedule);
    if (c == 0)
      st = compare(a->record + i, na, b->record + k, nb, out, visit, arg, err);
    else if (c < 0) {
      out->only_a++;
      st = visit(arg, &a->record[i], NULL, err);
    } else {
      out->only_b++;
      st = visit(arg, NULL, &b->record[k], err);
    }
    if (c <= 0) i += na;
    if (c >= 0) k += nb;
  }
  return st;
}

static hone_status compare_all(side *a, side *b, const hone_store_filter *f, hone_store_difference *out,
                               hone_store_visit_difference visit, void *arg, hone_err *err)
{
  hone_status st = HONE_OK;
  while ((a->next < a->nparts || b->next < b->nparts) && st == HONE_OK) {
    const int c = a->next == a->nparts   ? 1
                  : b->next == b->nparts ? -1
                                         : hone_task_cmp(a->part[a->next].task, b->part[b->next].task);
    a->n = b->n = 0;
    if (c <= 0) st = load_task(a, f, err);
    if (c >= 0 && st == HONE_OK) st = load_task(b, f, err);
    if (st == HONE_OK) st = compare_task(a, b, out, visit, arg, err);
    hone_arena_reset(a->arena);
    hone_arena_reset(b->arena);
  }
  return st;
}

hone_status hone_store_diff(hone_store *a, hone_store *b, const hone_store_filter *filter, hone_store_difference *out,
                            hone_store_visit_difference visit, void *arg, hone_err *err)
{
  side x[2] = {{.store = a}, {.store = b}};
  *out = (hone_store_difference){0};
  for (int i = 0; i < 2; i++) {
    x[i].part = hone_store_parts(x[i].store, filter, &x[i].nparts);
    x[i].arena = hone_arena_new();
  }
  const hone_status st = compare_all(&x[0], &x[1], filter, out, visit, arg, err);
  for (int i = 0; i < 2; i++) {
    hone_arena_free(x[i].arena);
    free(x[i].record);
    free(x[i].part);
  }
  return st;
}
