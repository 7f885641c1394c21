/* Identity, order and filters of records. */
#include "config.h"

#include "store/store_int.h"

#include <stdio.h>
#include <string.h>

hone_reason hone_reason_of(const char *code)
{
  for (int i = 0; i < HONE_REASON_COUNT; i++)
    if (!strcmp(hone_reason_code((hone_reason)i), code)) return (hone_reason)i;
  return HONE_REASON_EVALUATOR;
}

const char *hone_record_kind_name(unsigned bit)
{
  switch (bit) {
#define HONE_RECORD_KIND(id, bit_, name) \
  case HONE_KIND_##id: \
    return name;
#include "store/kind.def"
#undef HONE_RECORD_KIND
  default:
    return NULL;
  }
}

/* The key is the hash of one line of text, so that anyone can recompute it. */
static hone_hash key_of(hone_hash operator_hash, hone_hash machine_hash, const char *evaluator, int version,
                        const char *schedule)
{
  char op[HONE_HASH_TEXT], machine[HONE_HASH_TEXT];
  hone_text line = {0};
  hone_hash_print(operator_hash, op);
  hone_hash_print(machine_hash, machine);
  hone_text_add(&line, "%s %s %s %d ", op, machine, evaluator, version);
  hone_text_add_bytes(&line, schedule, strlen(schedule));
  const hone_hash h = hone_hash_bytes(line.data, line.length);
  hone_text_fini(&line);
  return h;
}

static const char *or_empty(const char *s) { return s ? s : ""; }

hone_hash hone_record_key(const hone_record *r)
{
  return key_of(hone_hash_text(or_empty(r->task.operator_text)), hone_hash_text(or_empty(r->task.machine_text)),
                or_empty(r->evaluator), r->evaluator_version, or_empty(r->schedule));
}

uint64_t hone_task_key(const hone_task *t, const char *schedule)
{
  return key_of(t->operator_hash, t->machine_hash, t->evaluator, t->evaluator_version, schedule).hi;
}

int hone_task_cmp(const hone_task *a, const hone_task *b)
{
  int c = hone_hash_cmp(a->operator_hash, b->operator_hash);
  if (!c) c = hone_hash_cmp(a->machine_hash, b->machine_hash);
  if (!c) c = strcmp(a->evaluator, b->evaluator);
  if (!c) c = (a->evaluator_version > b->evaluator_version) - (a->evaluator_version < b->evaluator_version);
  return c;
}

bool hone_record_failed(const hone_record *r) { return r->reason != HONE_REASON_NONE; }

static int cmp64(int64_t a, int64_t b) { return (a > b) - (a < b); }

int hone_outcome_cmp(const hone_record *a, const hone_record *b)
{
  int c = hone_record_failed(a) - hone_record_failed(b);
  if (!c) c = cmp64(a->cycles, b->cycles);
  if (!c) c = strcmp(a->schedule, b->schedule);
  if (!c) c = cmp64(a->warm_cycles, b->warm_cycles);
  if (!c) c = cmp64(a->energy_fj, b->energy_fj);
  if (!c) c = strcmp(a->reason_code, b->reason_code);
  return c;
}

int hone_evidence_cmp(const hone_record *a, const hone_record *b)
{
  int c = cmp64(a->time_unix_ns, b->time_unix_ns);
  if (!c) c = (a->seed > b->seed) - (a->seed < b->seed);
  if (!c) c = cmp64(a->order, b->order);
  if (!c) c = strcmp(a->host, b->host);
  return c;
}

static bool hash_begins(hone_hash h, const char *prefix)
{
  char text[HONE_HASH_TEXT];
  hone_hash_print(h, text);
  return !prefix || !strncmp(text, prefix, strlen(prefix));
}

static bool is(const char *want, const char *have) { return !want || !strcmp(want, have); }

bool hone_task_matches(const hone_task *t, const hone_store_filter *f)
{
  if (!f) return true;
  if (f->task && (strcmp(or_empty(f->task->operator_text), t->text.operator_text) ||
                  strcmp(or_empty(f->task->machine_text), t->text.machine_text)))
    return false;
  return hash_begins(t->operator_hash, f->operator_hash) && hash_begins(t->machine_hash, f->machine_hash) &&
         is(f->operator_name, t->text.operator_name) && is(f->machine_name, t->text.machine_name) &&
         is(f->evaluator, t->evaluator) && (!f->evaluator_version || f->evaluator_version == t->evaluator_version);
}

bool hone_record_matches(const hone_record *r, const hone_store_filter *f)
{
  if (!f) return true;
  if (f->outcome == HONE_STORE_SUCCEEDED && hone_record_failed(r)) return false;
  if (f->outcome == HONE_STORE_FAILED && !hone_record_failed(r)) return false;
  return is(f->reason_code, r->reason_code) && (!f->kinds || (f->kinds & r->kinds));
}
