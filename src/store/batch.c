/* Records and documents waiting to become a segment. */
#include "config.h"

#include "store/store_int.h"

#include <stdlib.h>
#include <string.h>

void hone_batch_init(hone_batch *b)
{
  *b = (hone_batch){.arena = hone_arena_new()};
  hone_pool_init(&b->strings);
}

void hone_batch_fini(hone_batch *b)
{
  hone_pool_fini(&b->strings);
  hone_arena_free(b->arena);
  free(b->record);
  free(b->task);
  free(b->document);
  free(b->replaces);
  *b = (hone_batch){0};
}

void hone_batch_clear(hone_batch *b)
{
  hone_pool_fini(&b->strings);
  hone_pool_init(&b->strings);
  hone_arena_reset(b->arena);
  b->n = 0, b->ntasks = 0, b->ndocuments = 0, b->text_bytes = 0;
}

static bool same(const char *a, const char *b) { return !strcmp(a ? a : "", b); }

static bool is_task(const hone_task *t, const hone_record *r)
{
  return t->evaluator_version == r->evaluator_version && t->fidelity == r->fidelity && same(r->evaluator, t->evaluator) &&
         same(r->task.label, t->text.label) && same(r->task.spec, t->text.spec) && same(r->task.operator_name, t->text.operator_name) &&
         same(r->task.machine_name, t->text.machine_name) && same(r->task.operator_text, t->text.operator_text) &&
         same(r->task.machine_text, t->text.machine_text);
}

/* Records come task after task, so the search from the newest ends at once. */
static int32_t find_task(hone_batch *b, const hone_record *r)
{
  for (int32_t i = b->ntasks; i-- > 0;)
    if (is_task(&b->task[i], r)) return i;
  if (b->ntasks == b->task_capacity) {
    b->task_capacity = b->task_capacity ? 2 * b->task_capacity : 8;
    b->task = hone_heap_realloc(b->task, (size_t)b->task_capacity, sizeof *b->task);
  }
  hone_pool *p = &b->strings;
  hone_task *t = &b->task[b->ntasks];
  *t = (hone_task){.text = {.operator_text = hone_pool_intern(p, r->task.operator_text),
                            .machine_text = hone_pool_intern(p, r->task.machine_text),
                            .operator_name = hone_pool_intern(p, r->task.operator_name),
                            .machine_name = hone_pool_intern(p, r->task.machine_name),
                            .label = hone_pool_intern(p, r->task.label),
                            .spec = hone_pool_intern(p, r->task.spec)},
                   .evaluator = hone_pool_intern(p, r->evaluator),
                   .evaluator_version = r->evaluator_version,
                   .fidelity = r->fidelity};
  t->operator_hash = hone_hash_text(t->text.operator_text);
  t->machine_hash = hone_hash_text(t->text.machine_text);
  return b->ntasks++;
}

static const char *keep(hone_batch *b, const char *s)
{
  if (!s || !*s) return "";
  b->text_bytes += strlen(s) + 1;
  return hone_arena_strdup(b->arena, s);
}

void hone_batch_add(hone_batch *b, const hone_record *r)
{
  if (b->n == b->capacity) {
    b->capacity = b->capacity ? 2 * b->capacity : 256;
    b->record = hone_heap_realloc(b->record, (size_t)b->capacity, sizeof *b->record);
  }
  hone_pending *p = &b->record[b->n++];
  p->task = find_task(b, r);
  p->r = *r;
  p->r.schedule = keep(b, r->schedule);
  p->r.message = keep(b, r->message);
  p->r.reason_code = hone_pool_intern(&b->strings, r->reason_code);
  p->r.bottleneck = hone_pool_intern(&b->strings, r->bottleneck);
  p->r.host = hone_pool_intern(&b->strings, r->host);
  p->key = hone_task_key(&b->task[p->task], p->r.schedule);
}

void hone_batch_put(hone_batch *b, const hone_store_document *d)
{
  if (b->ndocuments == b->document_capacity) {
    b->document_capacity = b->document_capacity ? 2 * b->document_capacity : 8;
    b->document = hone_heap_realloc(b->document, (size_t)b->document_capacity, sizeof *b->document);
  }
  hone_document *p = &b->document[b->ndocuments++];
  *p = (hone_document){.d = {.kind = hone_pool_intern(&b->strings, d->kind),
                             .subject = hone_pool_intern(&b->strings, d->subject),
                             .text = keep(b, d->text),
                             .time_unix_ns = d->time_unix_ns,
                             .host = hone_pool_intern(&b->strings, d->host)}};
  hone_digest digest;
  p->bytes = (int64_t)strlen(p->d.text);
  hone_digest_init(&digest);
  hone_digest_add(&digest, p->d.text, (size_t)p->bytes);
  p->digest = hone_digest_end(&digest);
}

/* Identity first, then names, so that the order of tasks is the same whatever
 * came first. */
static int task_order(const void *pa, const void *pb)
{
  const hone_task *a = pa, *b = pb;
  int c = hone_task_cmp(a, b);
  if (!c) c = strcmp(a->text.operator_name, b->text.operator_name);
  if (!c) c = strcmp(a->text.machine_name, b->text.machine_name);
  if (!c) c = strcmp(a->text.label, b->text.label);
  if (!c) c = strcmp(a->text.spec, b->text.spec);
  if (!c) c = a->fidelity - b->fidelity;
  return c;
}

static int record_order(const void *pa, const void *pb)
{
  const hone_pending *a = pa, *b = pb;
  int c = (a->task > b->task) - (a->task < b->task);
  if (!c) c = hone_outcome_cmp(&a->r, &b->r);
  if (!c) c = hone_evidence_cmp(&a->r, &b->r);
  return c;
}

static int document_order(const void *a, const void *b) { return hone_document_cmp(a, b); }

void hone_batch_sort(hone_batch *b)
{
  if (b->ndocuments) qsort(b->document, (size_t)b->ndocuments, sizeof *b->document, document_order);
  if (b->n == 0) return;
  int32_t *rank = hone_heap_alloc((size_t)b->ntasks, sizeof *rank);
  for (int32_t i = 0; i < b->ntasks; i++)
    b->task[i].first = i; /* where it was, while sorting */
  qsort(b->task, (size_t)b->ntasks, sizeof *b->task, task_order);
  for (int32_t i = 0; i < b->ntasks; i++)
    rank[b->task[i].first] = i;
  for (int64_t i = 0; i < b->n; i++)
    b->record[i].task = rank[b->record[i].task];
  free(rank);
  qsort(b->record, (size_t)b->n, sizeof *b->record, record_order);
  for (int32_t i = 0; i < b->ntasks; i++) {
    hone_task *t = &b->task[i];
    t->first = t->count = t->succeeded = 0, t->best_cycles = -1;
  }
  for (int64_t i = b->n; i-- > 0;) {
    const hone_pending *p = &b->record[i];
    hone_task *t = &b->task[p->task];
    t->first = i, t->count++;
    if (hone_record_failed(&p->r)) continue;
    t->succeeded++, t->best_cycles = p->r.cycles; /* ascending: the last one seen is the least */
  }
}
