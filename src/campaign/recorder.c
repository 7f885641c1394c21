/* Records of one task, and on resume the memory of those from before: a hash
 * table from (evaluator, schedule text) to outcome, filled from the snapshot. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/campaign_int.h"

typedef struct {
  hone_hash key;
  bool used, contested; /* contested: records disagree, so it is evaluated again */
  hone_outcome outcome;
  /* the evaluation it is known from */
  unsigned kinds;
  bool specified; /* its task says a spec */
  uint64_t seed;
  int64_t order, time_unix_ns, model_cycles;
  hone_hash space;
  const char *host;
} known;

struct recorder {
  const hone_tune_task *task;
  hone_text operator_text, machine_text, spec;
  hone_hash space;
  int64_t order;
  hone_arena *arena;
  known *table; /* open addressing, capacity a power of two */
  int64_t nknown, capacity;
  const char *best[2]; /* by fidelity: model, simulator */
};

static hone_hash key_of(const char *evaluator, const char *schedule)
{
  return hone_hash_join(hone_hash_text(evaluator), hone_hash_text(schedule));
}

static known *slot_of(known *table, int64_t capacity, hone_hash key)
{
  int64_t i = (int64_t)(key.lo & (uint64_t)(capacity - 1));
  while (table[i].used && hone_hash_cmp(table[i].key, key) != 0) i = (i + 1) & (capacity - 1);
  return &table[i];
}

static void grow(recorder *r)
{
  if (2 * (r->nknown + 1) < r->capacity) return;
  int64_t capacity = r->capacity ? 2 * r->capacity : 256;
  known *table = hone_heap_alloc((size_t)capacity, sizeof *table);
  for (int64_t i = 0; i < r->capacity; i++)
    if (r->table[i].used) *slot_of(table, capacity, r->table[i].key) = r->table[i];
  free(r->table);
  r->table = table;
  r->capacity = capacity;
}

static hone_status remember(void *arg, const hone_record *record, hone_err *err)
{
  (void)err;
  recorder *r = arg;
  grow(r);
  known *k = slot_of(r->table, r->capacity, key_of(record->evaluator, record->schedule));
  if (k->used) {
    k->contested = true;
    return HONE_OK;
  }
  *k = (known){ .key = key_of(record->evaluator, record->schedule), .used = true, .kinds = record->kinds,
                .specified = record->task.spec[0] != '\0', .seed = record->seed, .order = record->order,
                .time_unix_ns = record->time_unix_ns, .model_cycles = record->model_cycles, .space = record->space,
                .host = hone_arena_strdup(r->arena, record->host) };
  hone_outcome *o = &k->outcome;
  *o = (hone_outcome){ .reason = record->reason, .cycles = record->cycles, .warm_cycles = record->warm_cycles,
                       .energy_fj = record->energy_fj };
  snprintf(o->bottleneck, sizeof o->bottleneck, "%s", record->bottleneck);
  snprintf(o->text, sizeof o->text, "%s", record->message);
  r->nknown++;
  return HONE_OK;
}

static hone_store_task store_task(const recorder *r)
{
  return (hone_store_task){ .operator_text = r->operator_text.data, .machine_text = r->machine_text.data,
                            .operator_name = r->task->op->name, .machine_name = r->task->machine->name,
                            .label = r->task->label, .spec = r->spec.data };
}

static hone_status load_known(recorder *r, hone_err *err)
{
  static const hone_evaluator_type *const types[] = { &hone_evaluator_model, &hone_evaluator_simulator };
  hone_store_task task = store_task(r);
  for (int i = 0; i < 2; i++) {
    hone_store_filter filter = { .task = &task, .evaluator = types[i]->name, .evaluator_version = types[i]->version };
    hone_status st = hone_store_query(r->task->store, &filter, remember, r, err);
    if (st != HONE_OK) return st;
    hone_record best;
    st = hone_store_best(r->task->store, &task, types[i]->name, types[i]->version, r->arena, &best, NULL);
    if (st == HONE_OK) r->best[i] = best.schedule;
  }
  return HONE_OK;
}

hone_status recorder_new(const hone_tune_task *task, recorder **out, hone_err *err)
{
  recorder *r = hone_heap_alloc(1, sizeof *r);
  r->task = task;
  r->arena = hone_arena_new();
  r->space = hone_space_hash(task->space);
  hone_operator_print(task->op, &r->operator_text);
  hone_machine_print(task->machine, &r->machine_text);
  hone_spec_print(&task->op->spec, &r->spec);
  hone_status st = task->store && task->resume ? load_known(r, err) : HONE_OK;
  if (st != HONE_OK) recorder_free(r);
  else *out = r;
  return st;
}

void recorder_free(recorder *r)
{
  if (!r) return;
  hone_text_fini(&r->operator_text);
  hone_text_fini(&r->machine_text);
  hone_text_fini(&r->spec);
  hone_arena_free(r->arena);
  free(r->table);
  free(r);
}

static const known *find(const recorder *r, const hone_evaluator_type *by, const char *schedule)
{
  if (r->capacity == 0) return NULL;
  const known *k = slot_of(r->table, r->capacity, key_of(by->name, schedule));
  return k->used && !k->contested ? k : NULL;
}

bool recorder_find(const recorder *r, const hone_evaluator_type *by, const char *schedule, hone_outcome *out)
{
  const known *k = find(r, by, schedule);
  if (k) *out = k->outcome;
  return k != NULL;
}

const char *recorder_best(const recorder *r, const hone_evaluator_type *by)
{
  return r->best[by->fidelity];
}

hone_status recorder_add(recorder *r, const hone_evaluator_type *by, const char *schedule, const hone_outcome *o,
                         int64_t model_cycles, unsigned kinds, hone_err *err)
{
  if (!r->task->store) return HONE_OK;
  const known *k = find(r, by, schedule);
  if (k && (!(kinds & HONE_KIND_BEST) || (k->kinds & HONE_KIND_BEST && k->specified))) return HONE_OK;
  bool ok = o->reason == HONE_REASON_NONE;
  hone_record record = {
    .task = store_task(r), .evaluator = by->name, .evaluator_version = by->version, .fidelity = by->fidelity,
    .schedule = schedule, .reason = o->reason, .message = ok ? NULL : o->text,
    .cycles = ok ? o->cycles : 0, .warm_cycles = ok ? o->warm_cycles : 0, .energy_fj = ok ? o->energy_fj : -1,
    .bottleneck = o->bottleneck, .model_cycles = model_cycles, .kinds = kinds, .seed = r->task->seed,
    .order = k ? k->order : r->order++, .space = r->space,
  };
  if (k) { /* what was evaluated then, now named the best: no further observation */
    record.seed = k->seed, record.time_unix_ns = k->time_unix_ns, record.host = k->host;
    record.model_cycles = k->model_cycles, record.space = k->space;
  }
  return hone_store_append(r->task->store, &record, err);
}

hone_status recorder_flush(recorder *r, hone_err *err)
{
  return r->task->store && hone_store_pending(r->task->store) > 0 ? hone_store_flush(r->task->store, err) : HONE_OK;
}
