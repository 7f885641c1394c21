/* Why a lookup missed: the first field, in order of identity (operator, machine,
 * evaluator, version), in which every record differs from what was asked for, and
 * how the nearest one differs there. */
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

/* Same name first, then the longest common beginning. */
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

static hone_status explain(hone_part *p, int n, const hone_store_task *task, const char *evaluator, int version, hone_err *err)
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
  n = keep_matching(p, n, &(hone_store_filter){.evaluator_version = version});
  if (n == 0)
    return field_differs(err, "evaluator_version", "recorded, but not by evaluator '%s' version %d: '%s' version %d is stale",
                         evaluator, version, t->evaluator, t->evaluator_version);
  return hone_err_set(err, HONE_NOT_FOUND, "store.miss", "recorded, but every schedule failed");
}

hone_status hone_store_missing(const hone_store *s, const hone_store_task *task, const char *evaluator, int version,
                               hone_err *err)
{
  int n;
  hone_part *part = hone_store_parts(s, NULL, &n);
  const hone_status st = explain(part, n, task, evaluator, version, err);
  free(part);
  if (s->ndamaged) hone_err_hint(err, "%d damaged segments were not read", s->ndamaged);
  return st;
}
