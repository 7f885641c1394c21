/* hone store: what a store holds. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/store_look_int.h"

static const hone_option options[] = {
  CLI_COMMON_OPTIONS,
  { "operator", HONE_OPTION_TEXT, 0, 0, NULL, "NAME|HASH", "Only records of this operator; of why-miss: a name or a file.", false },
  { "size", HONE_OPTION_LIST, 0, 0, NULL, "NAME=N,...", "why-miss: sizes of the operator, e.g. m=1,n=4096,k=4096.", false },
  { "dtype", HONE_OPTION_TEXT, 0, 0, NULL, "FORMAT", "why-miss: number format of every tensor that does not name its own.", false },
  { "format", HONE_OPTION_LIST, 0, 0, NULL, "TENSOR=FORMAT,...", "why-miss: number format of one tensor.", false },
  { "option", HONE_OPTION_LIST, 0, 0, NULL, "NAME=VALUE,...", "why-miss: options of the operator.", false },
  { "machine", HONE_OPTION_TEXT, 0, 0, NULL, "NAME|HASH", "Only records of this machine; of why-miss: a name or a file.", false },
  { "space", HONE_OPTION_TEXT, 0, 0, NULL, "FILE", "why-miss: text that narrows the schedule space; no part of the identity.", false },
  { "evaluator", HONE_OPTION_TEXT, 0, 0, NULL, "NAME", "Only records of this evaluator: model or simulator.", false },
  { "outcome", HONE_OPTION_TEXT, 0, 0, "any", "any|succeeded|failed", "Only records with this outcome.", false },
  { "reason", HONE_OPTION_TEXT, 0, 0, NULL, "CODE", "Only failures with this reason.", false },
  { "count", HONE_OPTION_INT, 1, 1000000, "20", "N", "Most records query and diff show; schedules per task of top.", false },
  { "as", HONE_OPTION_TEXT, 0, 0, "csv", "csv|json", "Form of export; json is one document a line.", false },
  { "schedule", HONE_OPTION_TEXT, 0, 0, NULL, "TEXT|@FILE|default", "why-miss: the schedule asked for, instead of any.", false },
  { "kind", HONE_OPTION_TEXT, 0, 0, NULL, "KIND", "documents: only of this kind.", false },
};

static hone_status verify(cli_run *r, hone_store *s, hone_err *err)
{
  hone_status st = hone_store_verify(s, err);
  store_add_damage(r, s);
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
  hone_status st = store_make_filter(r, &f, err);
  if (st != HONE_OK) return st;
  st = (json ? hone_store_export_json : hone_store_export_csv)(s, &f, write_out, NULL, err);
  r->json = false; /* what was streamed is the output */
  return st;
}

/* ---- maintenance ------------------------------------------------------------ */

void store_add_counts(cli_run *r, int n, const char *const *name, const int64_t *count)
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
  if (st == HONE_OK) store_add_counts(r, 3, (const char *const[]){ "merged", "made", "removed" }, (int64_t[]){ c.merged, c.made, c.removed });
  return st;
}

static hone_status merge(cli_run *r, hone_store *s, hone_err *err)
{
  hone_store_merger m = { 0 };
  hone_status st = hone_store_merge(s, r->positional[2], &m, err);
  store_add_counts(r, 3, (const char *const[]){ "copied", "known", "damaged" }, (int64_t[]){ m.copied, m.known, m.damaged });
  return st;
}

static hone_status repair(cli_run *r, hone_store *s, hone_err *err)
{
  int moved = 0;
  hone_status st = hone_store_repair(s, &moved, err);
  if (st == HONE_OK) store_add_counts(r, 1, (const char *const[]){ "renamed" }, (int64_t[]){ moved });
  return st;
}

enum {
  FOR_INFO = 1, FOR_QUERY = 2, FOR_TOP = 4, FOR_DOCUMENTS = 8, FOR_WHY_MISS = 16, FOR_DIFF = 32, FOR_EXPORT = 64, FOR_REST = 128,
  FOR_RECORDS = FOR_INFO | FOR_QUERY | FOR_TOP | FOR_DIFF | FOR_EXPORT /* those that filter records */
};

static const struct {
  const char *name;
  store_subcommand *run;
  const char *arguments;
  int stores, bit;
  bool writes;
  bool makes; /* the store, when it is not there */
  bool mends; /* runs on a store with nothing but damage */
} subcommands[] = {
  { .name = "info", .run = store_info, .arguments = "STORE", .stores = 1, .bit = FOR_INFO },
  { .name = "query", .run = store_query, .arguments = "STORE", .stores = 1, .bit = FOR_QUERY },
  { .name = "top", .run = store_top, .arguments = "STORE", .stores = 1, .bit = FOR_TOP },
  { .name = "documents", .run = store_list_documents, .arguments = "STORE", .stores = 1, .bit = FOR_DOCUMENTS },
  { .name = "why-miss", .run = store_why_miss, .arguments = "STORE --operator NAME --size .. --machine NAME", .stores = 1, .bit = FOR_WHY_MISS },
  { .name = "diff", .run = store_diff, .arguments = "A B", .stores = 2, .bit = FOR_DIFF },
  { .name = "export", .run = export, .arguments = "STORE", .stores = 1, .bit = FOR_EXPORT },
  { .name = "verify", .run = verify, .arguments = "STORE", .stores = 1, .bit = FOR_REST, .mends = true },
  { .name = "compact", .run = compact, .arguments = "STORE", .stores = 1, .bit = FOR_REST, .writes = true },
  { .name = "merge", .run = merge, .arguments = "INTO FROM", .stores = 2, .bit = FOR_REST, .writes = true, .makes = true },
  { .name = "repair", .run = repair, .arguments = "STORE", .stores = 1, .bit = FOR_REST, .writes = true, .mends = true },
};
enum { NSUBCOMMANDS = sizeof subcommands / sizeof subcommands[0] };

static const int heeded[STORE_OPTIONS] = {
  [CLI_JSON] = CLI_ALL, [CLI_HELP] = CLI_ALL, [CLI_DATA] = CLI_ALL, [CLI_OPERATOR] = FOR_RECORDS | FOR_WHY_MISS, [CLI_SIZE] = FOR_WHY_MISS,
  [CLI_DTYPE] = FOR_WHY_MISS, [CLI_FORMAT] = FOR_WHY_MISS, [CLI_OPTION] = FOR_WHY_MISS, [CLI_MACHINE] = FOR_RECORDS | FOR_WHY_MISS,
  [CLI_SPACE] = FOR_WHY_MISS, [STORE_EVALUATOR] = FOR_RECORDS | FOR_WHY_MISS, [STORE_OUTCOME] = FOR_RECORDS, [STORE_REASON] = FOR_RECORDS,
  [STORE_COUNT] = FOR_QUERY | FOR_TOP | FOR_DIFF, [STORE_AS] = FOR_EXPORT, [STORE_SCHEDULE] = FOR_WHY_MISS, [STORE_KIND] = FOR_DOCUMENTS,
};

static const char *subcommand_at(void *arg, int i)
{
  (void)arg;
  return subcommands[i].name;
}

static hone_status open_store(const cli_run *r, int which, hone_store **s, hone_err *err)
{
  hone_status st = HONE_OK;
  if (!subcommands[which].makes) st = hone_store_open(r->positional[1], HONE_STORE_READ, s, err);
  if (st != HONE_OK || !subcommands[which].writes) return st;
  hone_store_close(*s, NULL);
  return hone_store_open(r->positional[1], HONE_STORE_WRITE, s, err);
}

void cli_warn_damaged(cli_run *r, const hone_store *s)
{
  int n = s ? hone_store_damaged_count(s) : 0;
  if (n > 0)
    cli_warn(r, "store.damaged", "%d of the store's files %s damaged and left out; hone store verify names them", n, n == 1 ? "is" : "are");
}

/* Damage beside good files is a warning; with nothing good there is no store. */
hone_status cli_check_readable(hone_store *s, hone_err *err)
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
                 stores == 1 ? "one store is wanted" : "two stores are wanted");
    hone_err_hint(err, "hone store %s %s", subcommands[which].name, subcommands[which].arguments);
    return HONE_USAGE;
  }
  hone_store *s = NULL;
  hone_status st = cli_check_heeded(r, heeded, subcommands[which].bit, subcommands[which].name, err);
  if (st == HONE_OK) st = open_store(r, which, &s, err);
  if (st != HONE_OK) return st;
  r->document = json_object();
  json_object_set_new(r->document, "store", cli_json_string(hone_store_path(s)));
  cli_warn_damaged(r, s);
  if (!subcommands[which].mends) st = cli_check_readable(s, err);
  if (st == HONE_OK) st = subcommands[which].run(r, s, err);
  hone_status closed = hone_store_close(s, st == HONE_OK ? err : NULL);
  return st == HONE_OK ? closed : st;
}

const cli_command cli_store = {
  .name = "store",
  .summary = "look into, merge and mend stores of evaluations",
  .arguments = "info|query|top|documents|why-miss|export|verify|compact|repair STORE, diff A B, or merge INTO FROM",
  .detail = "info gives totals and what was tuned; query lists records; top the best schedules of each task; documents what else was "
            "kept, such as the outcome of a range; why-miss says in what the nearest record differs from the task asked for (exit status 3 when "
            "a lookup would miss); diff what two stores know differently; export writes records as CSV or "
            "JSON lines to standard output; verify reads everything again and names what is damaged (exit status 4); repair renames that to "
            "*.damaged; compact joins small segments; merge copies what the store FROM has and INTO has not (docs/store.md).",
  .option = options,
  .noptions = STORE_OPTIONS,
  .max_positional = 3,
  .run = run,
};
