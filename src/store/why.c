/* Why a lookup misses: the first field, in order of identity (operator, machine,
 * evaluator, version, schedule), in which every record differs from what was asked
 * for, and how the nearest one differs there. Nearest: same name, then the longest
 * common beginning. */
#include "config.h"

#include "store/store_int.h"

#include <stdlib.h>
#include <string.h>

static size_t common_prefix(const char *a, const char *b)
{
  size_t n = 0;
  while (a[n] && a[n] == b[n])
    n++;
  return n;
}

/* The line of text that holds byte `at`: where it begins and how long it is. */
static int line_of(const char *text, size_t at, const char **line, int *length)
{
  int number = 1;
  const char *begin = text;
  for (size_t i = 0; i < at; i++)
    if (text[i] == '\n') number++, begin = text + i + 1;
  const size_t n = strcspn(begin, "\n");
  *line = begin;
  *length = n > 60 ? 60 : (int)n;
  return number;
}

static const hone_task *nearest(const hone_part *p, int n, const char *name, bool machine, const char *text)
{
  const hone_task *best = NULL;
  size_t best_length = 0;
  bool best_named = false;
  for (int i = 0; i < n; i++) {
    const hone_store_task *t = &p[i].task->text;
    const bool named = name && !strcmp(name, machine ? t->machine_name : t->operator_name);
    const size_t length = common_prefix(text, machine ? t->machine_text : t->operator_text);
    if (best && (named < best_named || (named == best_named && length <= best_length))) continue;
    best = p[i].task, best_length = length, best_named = named;
  }
  return best;
}

static hone_status text_differs(hone_err *err, const char *field, const hone_task *t, bool machine, const char *text)
{
  const char *other = machine ? t->text.machine_text : t->text.operator_text, *a, *b;
  const size_t at = common_prefix(text, other);
  int na, nb;
  const int line = line_of(text, at, &a, &na);
  line_of(other, at, &b, &nb);
  hone_err_set(err, HONE_NOT_FOUND, "store.miss", "no record of this %s; the nearest, '%s', differs first in line %d: '%.*s' asked, '%.*s' stored",
               field, machine ? t->text.machine_name : *t->text.label ? t->text.label : t->text.operator_name, line, na, a, nb, b);
  hone_err_path(err, "%s", field);
  return HONE_NOT_FOUND;
}

static int keep_matching(hone_part *p, int n, const hone_store_filter *f)
{
  int kept = 0;
  for (int i = 0; i < n; i++)
    if (hone_task_matches(p[i].task, f)) p[kept++] = p[i];
  return kept;
}

static int keep_operator(hone_part *p, int n, const char *text)
{
  int kept = 0;
  for (int i = 0; i < n; i++)
    if (!strcmp(p[i].task->text.operator_text, text)) p[kept++] = p[i];
  return kept;
}

static hone_status field_differs(hone_err *err, const char *field, const char *fmt, const char *asked, int a,
                                 const char *stored, int b)
{
  hone_err_set(err, HONE_NOT_FOUND, "store.miss", fmt, asked, a, stored, b);
  hone_err_path(err, "%s", field);
  return HONE_NOT_FOUND;
}

/* The blank-separated word of text that holds byte `at`. */
static int word_of(const char *text, size_t at, const char **word)
{
  const char *begin = text + at;
  while (begin > text && begin[-1] != ' ')
    begin--;
  *word = begin;
  const size_t n = strcspn(begin, " ");
  return n > 60 ? 60 : (int)n;
}

typedef struct {
  const char *asked;
  hone_text nearest;
  bool any, found, succeeded;
} schedule_search;

static hone_status compare_schedule(void *arg, const hone_record *r, hone_err *err)
{
  schedule_search *q = arg;
  (void)err;
  const bool same = q->asked && !strcmp(r->schedule, q->asked);
  q->found |= same;
  q->succeeded |= !hone_record_failed(r) && (same || !q->asked);
  if (q->asked && (!q->any || common_prefix(q->asked, r->schedule) > common_prefix(q->asked, q->nearest.data))) {
    hone_text_clear(&q->nearest);
    hone_text_add(&q->nearest, "%s", r->schedule);
  }
  q->any = true;
  return HONE_OK;
}

static hone_status judge_schedules(const schedule_search *q, hone_err *err)
{
  const char *a, *b;
  if (q->succeeded) return HONE_OK;
  if (!q->asked) return hone_err_set(err, HONE_NOT_FOUND, "store.miss", "recorded, but every schedule failed");
  if (q->found) return hone_err_set(err, HONE_NOT_FOUND, "store.miss", "recorded, but this schedule failed");
  const size_t at = common_prefix(q->asked, q->nearest.data);
  const int na = word_of(q->asked, at, &a), nb = word_of(q->nearest.data, at, &b);
  hone_err_set(err, HONE_NOT_FOUND, "store.miss", "recorded, but not this schedule; the nearest differs first in '%.*s' asked, '%.*s' stored",
               na, a, nb, b);
  hone_err_path(err, "schedule");
  return HONE_NOT_FOUND;
}

/* NOT_FOUND when no task matches; HONE_OK leaves the schedules to look at. */
static hone_status explain_task(hone_part *p, int n, const hone_store_task *task, const char *evaluator, int version,
                                hone_err *err)
{
  const char *operator_text = task->operator_text ? task->operator_text : "";
  const char *machine_text = task->machine_text ? task->machine_text : "";
  if (n == 0) return hone_err_set(err, HONE_NOT_FOUND, "store.miss", "the store holds no records");
  const hone_task *t = nearest(p, n, task->operator_name, false, operator_text);
  n = keep_operator(p, n, operator_text);
  if (n == 0) return text_differs(err, "operator", t, false, operator_text);
  t = nearest(p, n, task->machine_name, true, machine_text);
  n = keep_matching(p, n, &(hone_store_filter){.task = task});
  if (n == 0) return text_differs(err, "machine", t, true, machine_text);
  t = p[n - 1].task; /* the highest version of the last evaluator */
  n = keep_matching(p, n, &(hone_store_filter){.evaluator = evaluator});
  if (n == 0)
    return field_differs(err, "evaluator", "recorded, but not by evaluator '%s' version %d: there is '%s' version %d", evaluator,
                         version, t->evaluator, t->evaluator_version);
  t = p[n - 1].task;
  n = keep_matching(p, n, &(hone_store_filter){.evaluator = evaluator, .evaluator_version = version});
  if (n == 0)
    return field_differs(err, "evaluator_version", "recorded, but not by evaluator '%s' version %d: '%s' version %d is stale",
                         evaluator, version, t->evaluator, t->evaluator_version);
  return HONE_OK;
}

hone_status hone_store_why_miss(hone_store *s, const hone_store_task *task, const char *evaluator, int evaluator_version,
                                const char *schedule, hone_err *err)
{
  int n;
  schedule_search q = {.asked = schedule};
  const hone_store_filter f = {.task = task, .evaluator = evaluator, .evaluator_version = evaluator_version};
  hone_part *part = hone_store_parts(s, NULL, &n);
  hone_status st = explain_task(part, n, task, evaluator, evaluator_version, err);
  free(part);
  if (st == HONE_OK) st = hone_store_query(s, &f, compare_schedule, &q, err);
  if (st == HONE_OK) st = judge_schedules(&q, err);
  hone_text_fini(&q.nearest);
  if (st == HONE_NOT_FOUND && s->ndamaged) hone_err_hint(err, "%d damaged segments were not read", s->ndamaged);
  return st;
}
