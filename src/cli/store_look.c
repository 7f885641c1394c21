/* hone store, looking only: totals, records, documents, differences, misses. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/store_look_int.h"
#include "eval/evaluator.h"

static bool is_hash(const char *s)
{
  size_t n = strspn(s, "0123456789abcdef");
  return n >= 6 && s[n] == '\0';
}

hone_status store_make_filter(const cli_run *r, hone_store_filter *f, hone_err *err)
{
  static const char *const outcome[] = { "any", "succeeded", "failed" };
  *f = (hone_store_filter){ .evaluator = r->value[STORE_EVALUATOR].text, .reason_code = r->value[STORE_REASON].text };
  const char *op = r->value[CLI_OPERATOR].text, *m = r->value[CLI_MACHINE].text, *o = r->value[STORE_OUTCOME].text;
  if (op && is_hash(op)) f->operator_hash = op;
  else f->operator_name = op;
  if (m && is_hash(m)) f->machine_hash = m;
  else f->machine_name = m;
  int i = 0;
  while (i < 3 && strcmp(outcome[i], o) != 0) i++;
  if (i == 3) return hone_err_set(err, HONE_USAGE, "option.value", "--outcome: '%.40s' is not any, succeeded or failed", o);
  f->outcome = (hone_store_outcome)i;
  return HONE_OK;
}

/* ---- records ---------------------------------------------------------------- */

typedef struct {
  cli_run *r;
  json_t *list;
  cli_table table;
  int64_t shown, most;
} listing;

static json_t *record_json(const hone_record *x)
{
  json_t *o = json_object();
  char key[HONE_HASH_TEXT];
  hone_hash_print(hone_record_key(x), key);
  bool ok = x->reason == HONE_REASON_NONE;
  json_object_set_new(o, "key", json_string(key));
  json_object_set_new(o, "operator", json_string(x->task.operator_name));
  json_object_set_new(o, "machine", json_string(x->task.machine_name));
  json_object_set_new(o, "label", json_string(x->task.label));
  json_object_set_new(o, "spec", json_string(x->task.spec));
  json_object_set_new(o, "evaluator", json_string(x->evaluator));
  json_object_set_new(o, "evaluator_version", json_integer(x->evaluator_version));
  json_object_set_new(o, "schedule", json_string(x->schedule));
  json_object_set_new(o, "cycles", ok ? json_integer(x->cycles) : json_null());
  json_object_set_new(o, "warm_cycles", ok ? json_integer(x->warm_cycles) : json_null());
  json_object_set_new(o, "model_cycles", cli_json_cycles(x->model_cycles));
  json_object_set_new(o, "reason", ok ? json_null() : cli_json_why(x->reason, x->message));
  json_object_set_new(o, "observations", json_integer(x->observations));
  json_object_set_new(o, "contested", json_boolean(x->contested));
  return o;
}

static hone_status add_record(void *arg, const hone_record *x, hone_err *err)
{
  (void)err;
  listing *l = arg;
  if (l->shown++ >= l->most) return HONE_OK;
  json_array_append_new(l->list, record_json(x));
  cli_table_add(&l->table, "%s", x->task.label[0] ? x->task.label : x->task.operator_name);
  cli_table_add(&l->table, "%s", x->task.machine_name);
  cli_table_add(&l->table, "%s", x->evaluator);
  if (x->reason == HONE_REASON_NONE) cli_table_add(&l->table, "%" PRId64, x->cycles);
  else cli_table_add(&l->table, "%s", hone_reason_code(x->reason));
  cli_table_add(&l->table, "%s", x->schedule);
  return HONE_OK;
}

static hone_status list_records(cli_run *r, hone_store *s, bool top, hone_err *err)
{
  hone_store_filter f;
  hone_status st = store_make_filter(r, &f, err);
  if (st != HONE_OK) return st;
  listing l = { .r = r, .list = json_array(), .table = { .columns = 5, .align = "lllrl" },
                .most = top ? INT64_MAX : r->value[STORE_COUNT].i };
  static const char *const head[] = { "task", "machine", "by", "cycles", "schedule" };
  for (int i = 0; i < 5; i++) cli_table_add(&l.table, "%s", head[i]);
  st = top ? hone_store_top(s, &f, (int)r->value[STORE_COUNT].i, add_record, &l, err) : hone_store_query(s, &f, add_record, &l, err);
  cli_table_print(&l.table, &r->out);
  if (l.shown > l.most) hone_text_add(&r->out, "(%" PRId64 " of %" PRId64 " records; --count shows more)\n", l.most, l.shown);
  json_object_set_new(r->document, "matching", json_integer(l.shown));
  json_object_set_new(r->document, "records", l.list);
  if (st == HONE_OK && l.shown == 0) r->outcome = HONE_NOT_FOUND;
  return st;
}

hone_status store_query(cli_run *r, hone_store *s, hone_err *err)
{
  return list_records(r, s, false, err);
}

hone_status store_top(cli_run *r, hone_store *s, hone_err *err)
{
  return list_records(r, s, true, err);
}

/* ---- totals ----------------------------------------------------------------- */

static hone_status add_task(void *arg, const hone_store_task_info *t, hone_err *err)
{
  (void)err;
  listing *l = arg;
  json_array_append_new(l->list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:I, s:I, s:I, s:o}", "operator", t->task.operator_name,
                                           "machine", t->task.machine_name, "label", t->task.label, "spec",
                                           t->task.spec, "evaluator", t->evaluator,
                                           "evaluator_version", t->evaluator_version, "records", (json_int_t)t->records,
                                           "failed", (json_int_t)t->failed, "contested", (json_int_t)t->contested,
                                           "best_cycles", cli_json_cycles(t->best_cycles)));
  cli_table_add(&l->table, "%s", t->task.label[0] ? t->task.label : t->task.operator_name);
  cli_table_add(&l->table, "%s", t->task.machine_name);
  cli_table_add(&l->table, "%s %d", t->evaluator, t->evaluator_version);
  cli_table_add(&l->table, "%" PRId64, t->records);
  cli_table_add(&l->table, "%" PRId64, t->failed);
  if (t->best_cycles >= 0) cli_table_add(&l->table, "%" PRId64, t->best_cycles);
  else cli_table_add(&l->table, "-");
  return HONE_OK;
}

hone_status store_info(cli_run *r, hone_store *s, hone_err *err)
{
  hone_store_info i;
  hone_status st = hone_store_get_info(s, &i, err);
  if (st != HONE_OK) return st;
  char snapshot[HONE_HASH_TEXT];
  hone_hash_print(hone_store_snapshot(s), snapshot);
  hone_text_add(&r->out, "snapshot   %s\nsegments   %" PRId64 ", ", snapshot, i.segments);
  cli_text_bytes(&r->out, i.bytes);
  hone_text_add(&r->out, "\nrecords    %" PRId64 " (%" PRId64 " failed, %" PRId64 " repeats merged, %" PRId64 " keys contested)\n",
                i.records, i.failed, i.repeated, i.contested);
  hone_text_add(&r->out, "documents  %" PRId64 "\n\n", i.documents);
  json_object_set_new(r->document, "snapshot", json_string(snapshot));
  const struct {
    const char *key;
    int64_t value;
  } figures[] = { { "segments", i.segments }, { "bytes", i.bytes }, { "tasks", i.tasks }, { "records", i.records },
                  { "failed", i.failed }, { "repeated", i.repeated }, { "contested", i.contested },
                  { "documents", i.documents } };
  for (size_t k = 0; k < sizeof figures / sizeof figures[0]; k++)
    json_object_set_new(r->document, figures[k].key, json_integer(figures[k].value));
  store_add_damage(r, s);
  listing l = { .r = r, .list = json_array(), .table = { .columns = 6, .align = "lllrrr" } };
  static const char *const head[] = { "task", "machine", "by", "records", "failed", "best cycles" };
  for (int k = 0; k < 6; k++) cli_table_add(&l.table, "%s", head[k]);
  hone_store_filter f;
  st = store_make_filter(r, &f, err);
  if (st == HONE_OK) st = hone_store_tasks(s, &f, add_task, &l, err);
  cli_table_print(&l.table, &r->out);
  json_object_set_new(r->document, "by_task", l.list);
  return st;
}

void store_add_damage(cli_run *r, hone_store *s)
{
  json_t *list = json_array();
  for (int i = 0; i < hone_store_damaged_count(s); i++) {
    const hone_store_damage *d = hone_store_get_damaged(s, i);
    hone_text_add(&r->out, "damaged    %s: %s [%s]\n", d->file, d->message, d->code);
    json_array_append_new(list, json_pack("{s:o, s:s, s:o}", "file", cli_json_string(d->file), "code", d->code, "message", cli_json_string(d->message)));
  }
  json_object_set_new(r->document, "damaged", list);
}

/* ---- documents -------------------------------------------------------------- */

/* Most are JSON and are shown as such; any other text is a string. */
static json_t *text_json(const char *text)
{
  json_t *o = json_loads(text, JSON_DECODE_ANY, NULL);
  return o ? o : json_string(text);
}

static hone_status add_document(void *arg, const hone_store_document *d, hone_err *err)
{
  (void)err;
  listing *l = arg;
  l->shown++;
  json_t *o = json_object();
  json_object_set_new(o, "kind", json_string(d->kind));
  json_object_set_new(o, "subject", json_string(d->subject));
  json_object_set_new(o, "time_unix_ns", json_integer(d->time_unix_ns));
  json_object_set_new(o, "host", cli_json_string(d->host));
  json_object_set_new(o, "document", text_json(d->text));
  json_array_append_new(l->list, o);
  cli_table_add(&l->table, "%s", d->kind);
  cli_table_add(&l->table, "%s", d->subject);
  cli_table_add(&l->table, "%zu", strlen(d->text));
  cli_table_add(&l->table, "%s", d->host);
  return HONE_OK;
}

hone_status store_list_documents(cli_run *r, hone_store *s, hone_err *err)
{
  listing l = { .r = r, .list = json_array(), .table = { .columns = 4, .align = "llrl" } };
  static const char *const head[] = { "kind", "subject", "bytes", "host" };
  for (int i = 0; i < 4; i++) cli_table_add(&l.table, "%s", head[i]);
  hone_status st = hone_store_documents(s, r->value[STORE_KIND].text, add_document, &l, err);
  cli_table_print(&l.table, &r->out);
  json_object_set_new(r->document, "documents", l.list);
  if (st == HONE_OK && l.shown == 0) r->outcome = HONE_NOT_FOUND;
  return st;
}

/* ---- differences ------------------------------------------------------------ */

static void add_outcome(cli_table *t, const hone_record *x)
{
  if (!x) cli_table_add(t, "-");
  else if (x->reason == HONE_REASON_NONE) cli_table_add(t, "%" PRId64, x->cycles);
  else cli_table_add(t, "%s", hone_reason_code(x->reason));
}

static hone_status add_difference(void *arg, const hone_record *a, const hone_record *b, hone_err *err)
{
  (void)err;
  listing *l = arg;
  const hone_record *x = a ? a : b;
  if (l->shown++ >= l->most) return HONE_OK;
  json_array_append_new(l->list, json_pack("{s:o, s:o}", "a", a ? record_json(a) : json_null(), "b", b ? record_json(b) : json_null()));
  cli_table_add(&l->table, "%s", x->task.label[0] ? x->task.label : x->task.operator_name);
  cli_table_add(&l->table, "%s", x->task.machine_name);
  cli_table_add(&l->table, "%s %d", x->evaluator, x->evaluator_version);
  add_outcome(&l->table, a);
  add_outcome(&l->table, b);
  cli_table_add(&l->table, "%s", x->schedule);
  return HONE_OK;
}

hone_status store_diff(cli_run *r, hone_store *s, hone_err *err)
{
  hone_store_filter f;
  hone_store *b = NULL;
  hone_status st = store_make_filter(r, &f, err);
  if (st == HONE_OK) st = hone_store_open(r->positional[2], HONE_STORE_READ, &b, err);
  if (st != HONE_OK) return st;
  cli_warn_damaged(r, b);
  listing l = { .r = r, .list = json_array(), .table = { .columns = 6, .align = "lllrrl" }, .most = r->value[STORE_COUNT].i };
  static const char *const head[] = { "task", "machine", "by", "cycles in A", "in B", "schedule" };
  for (int i = 0; i < 6; i++) cli_table_add(&l.table, "%s", head[i]);
  hone_store_difference d;
  st = hone_store_diff(s, b, &f, &d, add_difference, &l, err);
  if (l.shown) cli_table_print(&l.table, &r->out);
  else cli_table_fini(&l.table);
  if (l.shown > l.most) hone_text_add(&r->out, "(%" PRId64 " of %" PRId64 " differences; --count shows more)\n", l.most, l.shown);
  store_add_counts(r, 4, (const char *const[]){ "only_a", "only_b", "different", "same" },
                   (int64_t[]){ d.only_a, d.only_b, d.different, d.same });
  json_object_set_new(r->document, "with", cli_json_string(hone_store_path(b)));
  json_object_set_new(r->document, "differences", l.list);
  hone_store_close(b, NULL);
  return st;
}

/* ---- misses ----------------------------------------------------------------- */

static hone_status find_evaluator(const cli_run *r, const cli_problem *p, const hone_evaluator_type **out, hone_err *err)
{
  static const hone_evaluator_type *const known[] = { &hone_evaluator_model, &hone_evaluator_simulator };
  const char *name = r->value[STORE_EVALUATOR].text;
  *out = known[p->machine.tile_machine];
  for (int i = 0; name && i < 2; i++)
    if (strcmp(known[i]->name, name) == 0) {
      *out = known[i];
      return HONE_OK;
    }
  if (!name) return HONE_OK;
  return hone_err_set(err, HONE_USAGE, "option.value", "--evaluator: '%.40s' is not model or simulator", name);
}

static hone_status print_schedule(const cli_run *r, const cli_problem *p, hone_text *out, hone_err *err)
{
  hone_schedule schedule;
  if (!r->value[STORE_SCHEDULE].given) return HONE_OK;
  const hone_status st = cli_schedule_load(p, r->value[STORE_SCHEDULE].text, &schedule, err);
  if (st == HONE_OK) hone_schedule_print(&p->op, &p->machine, &p->params, &schedule, out);
  return st;
}

static void report_miss(cli_run *r, hone_status st, const hone_err *why)
{
  const bool miss = st != HONE_OK;
  json_object_set_new(r->document, "miss", json_boolean(miss));
  json_object_set_new(r->document, "field", miss ? cli_json_text(why->path) : json_null());
  json_object_set_new(r->document, "why", miss ? cli_json_string(why->message) : json_null());
  hone_text_add(&r->out, "%s\n", miss ? why->message : "found: a lookup would not miss");
  if (miss && why->hint[0]) hone_text_add(&r->out, "%s\n", why->hint);
  if (miss) r->outcome = HONE_NOT_FOUND;
}

hone_status store_why_miss(cli_run *r, hone_store *s, hone_err *err)
{
  cli_problem p;
  hone_status st = cli_problem_load(r, &p, err);
  if (st != HONE_OK) return st;
  hone_text op = { 0 }, machine = { 0 }, schedule = { 0 };
  const hone_evaluator_type *by;
  hone_operator_print(&p.op, &op);
  hone_machine_print(&p.machine, &machine);
  st = find_evaluator(r, &p, &by, err);
  if (st == HONE_OK) st = print_schedule(r, &p, &schedule, err);
  if (st == HONE_OK) {
    const hone_store_task task = { .operator_text = op.data, .machine_text = machine.data, .operator_name = p.op.name,
                                   .machine_name = p.machine.name };
    hone_err why;
    hone_err_init(&why);
    json_object_set_new(r->document, "problem", cli_json_problem(&p));
    json_object_set_new(r->document, "evaluator", json_string(by->name));
    json_object_set_new(r->document, "evaluator_version", json_integer(by->version));
    json_object_set_new(r->document, "schedule", cli_json_text(schedule.data));
    st = hone_store_why_miss(s, &task, by->name, by->version, r->value[STORE_SCHEDULE].given ? schedule.data : NULL, &why);
    if (st == HONE_OK || st == HONE_NOT_FOUND) report_miss(r, st, &why);
    else *err = why;
    if (st == HONE_NOT_FOUND) st = HONE_OK;
  }
  hone_text_fini(&op);
  hone_text_fini(&machine);
  hone_text_fini(&schedule);
  cli_problem_fini(&p);
  return st;
}
