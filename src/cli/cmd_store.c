/* hone store: what a store holds. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "store/store.h"

enum {
  STORE_OPERATOR = CLI_COMMON_COUNT, STORE_MACHINE, STORE_EVALUATOR, STORE_OUTCOME, STORE_REASON, STORE_COUNT, STORE_AS,
  STORE_OPTIONS
};

static const hone_option options[] = {
  CLI_COMMON_OPTIONS,
  { "operator", HONE_OPTION_TEXT, 0, 0, NULL, "NAME|HASH", "Only records of this operator.", false },
  { "machine", HONE_OPTION_TEXT, 0, 0, NULL, "NAME|HASH", "Only records of this machine.", false },
  { "evaluator", HONE_OPTION_TEXT, 0, 0, NULL, "NAME", "Only records of this evaluator: model or simulator.", false },
  { "outcome", HONE_OPTION_TEXT, 0, 0, "any", "any|succeeded|failed", "Only records with this outcome.", false },
  { "reason", HONE_OPTION_TEXT, 0, 0, NULL, "CODE", "Only failures with this reason.", false },
  { "count", HONE_OPTION_INT, 1, 1000000, "20", "N", "Most records query shows; schedules per task of top.", false },
  { "as", HONE_OPTION_TEXT, 0, 0, "csv", "csv|json", "Form of export; json is one document a line.", false },
};

static bool is_hash(const char *s)
{
  size_t n = strspn(s, "0123456789abcdef");
  return n >= 6 && s[n] == '\0';
}

static hone_status make_filter(const cli_run *r, hone_store_filter *f, hone_err *err)
{
  static const char *const outcome[] = { "any", "succeeded", "failed" };
  *f = (hone_store_filter){ .evaluator = r->value[STORE_EVALUATOR].text, .reason_code = r->value[STORE_REASON].text };
  const char *op = r->value[STORE_OPERATOR].text, *m = r->value[STORE_MACHINE].text, *o = r->value[STORE_OUTCOME].text;
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
  hone_status st = make_filter(r, &f, err);
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

static hone_status query(cli_run *r, hone_store *s, hone_err *err)
{
  return list_records(r, s, false, err);
}

static hone_status top(cli_run *r, hone_store *s, hone_err *err)
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

static void add_damage(cli_run *r, hone_store *s)
{
  json_t *list = json_array();
  for (int i = 0; i < hone_store_damaged_count(s); i++) {
    const hone_store_damage *d = hone_store_get_damaged(s, i);
    hone_text_add(&r->out, "damaged    %s: %s [%s]\n", d->file, d->message, d->code);
    json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "file", d->file, "code", d->code, "message", d->message));
  }
  json_object_set_new(r->document, "damaged", list);
}

static hone_status info(cli_run *r, hone_store *s, hone_err *err)
{
  hone_store_info i;
  hone_status st = hone_store_get_info(s, &i, err);
  if (st != HONE_OK) return st;
  char snapshot[HONE_HASH_TEXT];
  hone_hash_print(hone_store_snapshot(s), snapshot);
  hone_text_add(&r->out, "snapshot   %s\nsegments   %" PRId64 ", ", snapshot, i.segments);
  cli_text_bytes(&r->out, i.bytes);
  hone_text_add(&r->out, "\nrecords    %" PRId64 " (%" PRId64 " failed, %" PRId64 " repeats merged, %" PRId64 " keys contested)\n\n",
                i.records, i.failed, i.repeated, i.contested);
  json_object_set_new(r->document, "snapshot", json_string(snapshot));
  const struct {
    const char *key;
    int64_t value;
  } figures[] = { { "segments", i.segments }, { "bytes", i.bytes }, { "tasks", i.tasks }, { "records", i.records },
                  { "failed", i.failed }, { "repeated", i.repeated }, { "contested", i.contested } };
  for (size_t k = 0; k < sizeof figures / sizeof figures[0]; k++)
    json_object_set_new(r->document, figures[k].key, json_integer(figures[k].value));
  add_damage(r, s);
  listing l = { .r = r, .list = json_array(), .table = { .columns = 6, .align = "lllrrr" } };
  static const char *const head[] = { "task", "machine", "by", "records", "failed", "best cycles" };
  for (int k = 0; k < 6; k++) cli_table_add(&l.table, "%s", head[k]);
  hone_store_filter f;
  st = make_filter(r, &f, err);
  if (st == HONE_OK) st = hone_store_tasks(s, &f, add_task, &l, err);
  cli_table_print(&l.table, &r->out);
  json_object_set_new(r->document, "by_task", l.list);
  return st;
}

static hone_status verify(cli_run *r, hone_store *s, hone_err *err)
{
  hone_status st = hone_store_verify(s, err);
  add_damage(r, s);
  json_object_set_new(r->document, "sound", json_boolean(st == HONE_OK));
  if (st == HONE_OK) hone_text_add(&r->out, "sound\n");
  return st;
}

static hone_status write_out(void *arg, const char *bytes, size_t n, hone_err *err)
{
  (void)arg;
  return cli_stream(bytes, n, err);
}

static hone_status export(cli_run *r, hone_store *s, hone_err *err)
{
  const char *as = r->value[STORE_AS].text;
  bool json = r->json || strcmp(as, "json") == 0;
  if (!json && strcmp(as, "csv") != 0) return hone_err_set(err, HONE_USAGE, "option.value", "--as: '%.40s' is not csv or json", as);
  hone_store_filter f;
  hone_status st = make_filter(r, &f, err);
  if (st != HONE_OK) return st;
  st = (json ? hone_store_export_json : hone_store_export_csv)(s, &f, write_out, NULL, err);
  r->json = false; /* what was streamed is the output */
  return st;
}

/* ---- maintenance ------------------------------------------------------------ */

static void add_counts(cli_run *r, int n, const char *const *name, const int64_t *count)
{
  for (int i = 0; i < n; i++) {
    json_object_set_new(r->document, name[i], json_integer(count[i]));
    hone_text_add(&r->out, "%s%" PRId64 " %s", i ? ", " : "", count[i], name[i]);
  }
  hone_text_add(&r->out, "\n");
}

static hone_status compact(cli_run *r, hone_store *s, hone_err *err)
{
  hone_store_compaction c;
  hone_status st = hone_store_compact(s, 0, &c, err);
  if (st == HONE_OK) add_counts(r, 3, (const char *const[]){ "merged", "made", "removed" }, (int64_t[]){ c.merged, c.made, c.removed });
  return st;
}

static hone_status merge(cli_run *r, hone_store *s, hone_err *err)
{
  hone_store_merger m = { 0 };
  hone_status st = hone_store_merge(s, r->positional[2], &m, err);
  add_counts(r, 3, (const char *const[]){ "copied", "known", "damaged" }, (int64_t[]){ m.copied, m.known, m.damaged });
  return st;
}

static hone_status repair(cli_run *r, hone_store *s, hone_err *err)
{
  int moved = 0;
  hone_status st = hone_store_repair(s, &moved, err);
  if (st == HONE_OK) add_counts(r, 1, (const char *const[]){ "renamed" }, (int64_t[]){ moved });
  return st;
}

static const struct {
  const char *name;
  hone_status (*run)(cli_run *r, hone_store *s, hone_err *err);
  bool writes;
  int stores;
  bool mends; /* runs on a store with nothing but damage */
} subcommands[] = { { "info", info, false, 1, false },     { "query", query, false, 1, false },
                    { "top", top, false, 1, false },       { "export", export, false, 1, false },
                    { "verify", verify, false, 1, true },  { "compact", compact, true, 1, false },
                    { "merge", merge, true, 2, false },    { "repair", repair, true, 1, true } };
enum { NSUBCOMMANDS = sizeof subcommands / sizeof subcommands[0] };

static const char *subcommand_at(void *arg, int i)
{
  (void)arg;
  return subcommands[i].name;
}

/* Only merge makes a store that is not there. */
static hone_status open_store(const cli_run *r, int which, hone_store **s, hone_err *err)
{
  hone_status st = HONE_OK;
  if (subcommands[which].stores == 1) st = hone_store_open(r->positional[1], HONE_STORE_READ, s, err);
  if (st != HONE_OK || !subcommands[which].writes) return st;
  if (subcommands[which].stores == 1) hone_store_close(*s, NULL);
  return hone_store_open(r->positional[1], HONE_STORE_WRITE, s, err);
}

void cli_warn_damaged(cli_run *r, const hone_store *s)
{
  int n = s ? hone_store_damaged_count(s) : 0;
  if (n > 0)
    cli_warn(r, "store.damaged", "%d of the store's files %s damaged and left out; hone store verify names them", n, n == 1 ? "is" : "are");
}

/* Damage beside good files is a warning; with nothing good there is no store. */
static hone_status check_readable(hone_store *s, hone_err *err)
{
  hone_store_info info;
  hone_status st = hone_store_get_info(s, &info, err);
  if (st != HONE_OK || info.segments > 0 || hone_store_damaged_count(s) == 0) return st;
  const hone_store_damage *d = hone_store_get_damaged(s, 0);
  hone_err_set(err, HONE_STORE, d->code, "%s", d->message);
  hone_err_at(err, d->file, 0, 0);
  return HONE_STORE;
}

static hone_status run(cli_run *r, hone_err *err)
{
  int which = cli_subcommand_find(r, NSUBCOMMANDS, subcommand_at, err);
  if (which < 0) return HONE_USAGE;
  const int stores = subcommands[which].stores;
  if (r->npositional != 1 + stores) {
    hone_err_set(err, HONE_USAGE, r->npositional > stores ? "cli.surplus-argument" : "cli.missing-argument",
                 stores == 1 ? "one store is wanted" : "two stores are wanted: into, from");
    hone_err_hint(err, "hone store %s %s", subcommands[which].name, stores == 1 ? "DIR" : "INTO FROM");
    return HONE_USAGE;
  }
  hone_store *s = NULL;
  hone_status st = open_store(r, which, &s, err);
  if (st != HONE_OK) return st;
  r->document = json_object();
  json_object_set_new(r->document, "store", json_string(hone_store_path(s)));
  cli_warn_damaged(r, s);
  if (!subcommands[which].mends) st = check_readable(s, err);
  if (st == HONE_OK) st = subcommands[which].run(r, s, err);
  hone_status closed = hone_store_close(s, st == HONE_OK ? err : NULL);
  return st == HONE_OK ? closed : st;
}

const cli_command cli_store = {
  .name = "store",
  .summary = "look into, merge and mend stores of evaluations",
  .arguments = "info|query|top|export|verify|compact|repair STORE, or merge INTO FROM",
  .detail = "info gives totals and what was tuned; query lists records; top the best schedules of each task; export writes CSV or "
            "JSON lines to standard output; verify reads everything again and names what is damaged (exit status 4); repair renames that to "
            "*.damaged; compact joins small segments; merge copies what the store FROM has and INTO has not (docs/store.md).",
  .option = options,
  .noptions = STORE_OPTIONS,
  .max_positional = 3,
  .run = run,
};
