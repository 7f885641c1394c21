/* hone library: what is done with a schedule library once it is written. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/file.h"
#include "cli/answer_int.h"
#include "cli/library_source_int.h"
#include "store/store.h"

static const hone_option options[] = {
  CLI_COMMON_OPTIONS,
  CLI_PROBLEM_OPTIONS,
  CLI_OPERATOR_FILE_OPTION,
  { "output", HONE_OPTION_TEXT, 0, 0, NULL, "FILE", "Where header writes; standard output without it.", false },
  { "store", HONE_OPTION_TEXT, 0, 0, NULL, "DIR", "The store import writes to; made when absent.", false },
};

static void describe(const hone_library *l, const char *path, json_t *o)
{
  json_object_set_new(o, "file", cli_json_string(path));
  json_object_set_new(o, "name", json_string(l->name));
  json_object_set_new(o, "writer", cli_json_text(l->writer));
  json_object_set_new(o, "families", json_integer(l->nfamilies));
  json_int_t entries = 0, intervals = 0;
  for (int f = 0; f < l->nfamilies; f++) {
    entries += l->family[f].nentries;
    intervals += l->family[f].nintervals;
  }
  json_object_set_new(o, "entries", json_integer(entries));
  json_object_set_new(o, "intervals", json_integer(intervals));
}

static hone_status lookup(cli_run *r, hone_library *const *l, hone_err *err)
{
  json_t *o = json_object();
  describe(l[0], r->positional[1], o);
  json_object_set_new(r->document, "library", o);
  return cli_library_lookup(r, l[0], err);
}

/* ---- diff ----------------------------------------------------------------------- */

static json_t *cycles_of(const hone_library_entry *e)
{
  return e ? cli_json_cycles(e->cycles) : json_null();
}

static void add_change(void *arg, const hone_library_change *c)
{
  json_t *items = json_array(), *o = json_object();
  for (int i = 0; i < c->nitems; i++)
    json_array_append_new(items, json_pack("{s:s, s:s, s:s}", "field", c->item[i].field, "from", c->item[i].from, "to", c->item[i].to));
  json_object_set_new(o, "kind", json_string(hone_library_change_word(c->kind)));
  json_object_set_new(o, "what", json_string(c->what));
  json_object_set_new(o, "family", cli_json_text(c->family));
  json_object_set_new(o, "subject", cli_json_text(c->subject));
  json_object_set_new(o, "from_cycles", cycles_of(c->from));
  json_object_set_new(o, "to_cycles", cycles_of(c->to));
  json_object_set_new(o, "fields", items);
  json_array_append_new(arg, o);
}

static hone_status diff(cli_run *r, hone_library *const *l, hone_err *err)
{
  (void)err;
  json_t *from = json_object(), *to = json_object(), *list = json_array();
  describe(l[0], r->positional[1], from);
  describe(l[1], r->positional[2], to);
  hone_library_changes(l[0], l[1], add_change, list);
  json_object_set_new(r->document, "from", from);
  json_object_set_new(r->document, "to", to);
  json_object_set_new(r->document, "count", json_integer((json_int_t)json_array_size(list)));
  json_object_set_new(r->document, "changes", list);
  hone_library_diff(l[0], l[1], &r->out);
  return HONE_OK;
}

/* ---- header --------------------------------------------------------------------- */

static hone_status header(cli_run *r, hone_library *const *l, hone_err *err)
{
  const char *path = r->value[LIBRARY_OUTPUT].text;
  hone_text t = { 0 };
  hone_status st = HONE_OK;
  hone_library_write_header(l[0], &t);
  if (path) st = hone_file_write_atomic(path, t.data, t.length, err);
  else if (!r->json) st = cli_stream(t.data, t.length, err);
  json_object_set_new(r->document, "output", cli_json_text(path));
  json_object_set_new(r->document, "bytes", json_integer((json_int_t)t.length));
  json_object_set_new(r->document, "header", path ? json_null() : json_string(t.data));
  if (path && st == HONE_OK) hone_text_add(&r->out, "%s: %zu bytes\n", path, t.length);
  hone_text_fini(&t);
  return st;
}

/* ---- check ---------------------------------------------------------------------- */

typedef struct {
  cli_run *r;
  json_t *list;
} findings;

static void add_finding(void *arg, const hone_library_finding *f)
{
  findings *x = arg;
  json_array_append_new(x->list, json_pack("{s:s, s:s, s:s, s:o, s:o}", "severity", f->error ? "error" : "warning", "code", f->code, "family",
                                           f->family, "subject", cli_json_text(f->subject), "message", cli_json_string(f->message)));
  hone_text_add(&x->r->out, "%s: %s%s%s%s%s [%s]\n", f->error ? "error" : "warning", f->family, f->subject[0] ? ", " : "", f->subject,
                f->family[0] ? ": " : "", f->message, f->code);
}

static hone_status check(cli_run *r, hone_library *const *l, hone_err *err)
{
  cli_places *x = hone_heap_alloc(1, sizeof *x);
  hone_status st = cli_places_init(x, r, &r->value[CLI_MACHINE], &r->value[LIBRARY_OPERATOR_FILE], err);
  if (st == HONE_OK) {
    findings f = { r, json_array() };
    hone_library_checked c;
    hone_library_source source;
    cli_library_source(x, &source);
    hone_library_check(l[0], &source, add_finding, &f, &c);
    const struct {
      const char *key;
      json_int_t value;
    } row[] = { { "families", c.families }, { "entries", c.entries }, { "intervals", c.intervals }, { "absent", c.absent },
                { "shapes", c.shapes },     { "errors", c.errors },   { "warnings", c.warnings } };
    json_t *counts = json_object();
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) json_object_set_new(counts, row[i].key, json_integer(row[i].value));
    json_object_set_new(r->document, "counts", counts);
    json_object_set_new(r->document, "sound", json_boolean(c.errors == 0));
    json_object_set_new(r->document, "findings", f.list);
    hone_text_add(&r->out, "%d entries and %d intervals of %d families checked, %lld costed: %d errors, %d warnings\n", c.entries, c.intervals,
                  c.families, (long long)c.shapes, c.errors, c.warnings);
    if (c.errors > 0) st = hone_err_set(err, HONE_INPUT, "library.unsound", "%d of what the library says does not hold", c.errors);
  }
  free(x);
  return st;
}

/* ---- import --------------------------------------------------------------------- */

static hone_status import(cli_run *r, hone_library *const *l, hone_err *err)
{
  hone_library_source source;
  hone_store *s = NULL;
  cli_places *x = NULL;
  if (!r->value[LIBRARY_STORE].given) {
    hone_err_set(err, HONE_USAGE, "option.missing", "--store is required");
    hone_err_hint(err, "hone library import %s --store DIR", r->positional[1]);
    return HONE_USAGE;
  }
  x = hone_heap_alloc(1, sizeof *x);
  hone_status st = cli_places_init(x, r, &r->value[CLI_MACHINE], &r->value[LIBRARY_OPERATOR_FILE], err);
  cli_library_source(x, &source);
  if (st == HONE_OK) st = hone_store_open(r->value[LIBRARY_STORE].text, HONE_STORE_WRITE, &s, err);
  if (st == HONE_OK) st = hone_library_to_store(l[0], &source, s, err);
  hone_status closed = hone_store_close(s, st == HONE_OK ? err : NULL);
  free(x);
  describe(l[0], r->positional[1], r->document);
  json_object_set_new(r->document, "store", cli_json_string(r->value[LIBRARY_STORE].text));
  if (st == HONE_OK) st = closed;
  if (st == HONE_OK) hone_text_add(&r->out, "%s: entries of %d families imported\n", r->value[LIBRARY_STORE].text, l[0]->nfamilies);
  return st;
}

/* ---- which ---------------------------------------------------------------------- */

enum { FOR_LOOKUP = 1, FOR_CHECK = 2, FOR_HEADER = 4, FOR_IMPORT = 8, FOR_DIFF = 16 };

static const struct {
  const char *name;
  hone_status (*run)(cli_run *r, hone_library *const *l, hone_err *err);
  int libraries, bit;
  const char *usage;
} subcommands[] = {
  { "lookup", lookup, 1, FOR_LOOKUP, "lookup FILE --operator NAME --size .. --dtype .." },
  { "diff", diff, 2, FOR_DIFF, "diff OLD NEW" },
  { "header", header, 1, FOR_HEADER, "header FILE --output HEADER" },
  { "check", check, 1, FOR_CHECK, "check FILE" },
  { "import", import, 1, FOR_IMPORT, "import FILE --store DIR" },
};
enum { NSUBCOMMANDS = sizeof subcommands / sizeof subcommands[0] };

/* Which subcommands heed an option. */
static const int heeded[LIBRARY_OPTIONS] = {
  [CLI_JSON] = CLI_ALL, [CLI_HELP] = CLI_ALL, [CLI_DATA] = CLI_ALL, [CLI_OPERATOR] = FOR_LOOKUP, [CLI_SIZE] = FOR_LOOKUP, [CLI_DTYPE] = FOR_LOOKUP,
  [CLI_FORMAT] = FOR_LOOKUP, [CLI_OPTION] = FOR_LOOKUP, [CLI_MACHINE] = FOR_LOOKUP | FOR_CHECK | FOR_IMPORT, [CLI_SPACE] = 0,
  [LIBRARY_OPERATOR_FILE] = FOR_CHECK | FOR_IMPORT, [LIBRARY_OUTPUT] = FOR_HEADER, [LIBRARY_STORE] = FOR_IMPORT,
};

static const char *subcommand_at(void *arg, int i)
{
  (void)arg;
  return subcommands[i].name;
}

static hone_status check_usage(const cli_run *r, int which, hone_err *err)
{
  const int want = 1 + subcommands[which].libraries;
  hone_status st = HONE_OK;
  if (r->npositional != want)
    st = hone_err_set(err, HONE_USAGE, r->npositional > want ? "cli.surplus-argument" : "cli.missing-argument",
                      want == 2 ? "one library is wanted" : "two libraries are wanted: old, new");
  else
    st = cli_check_heeded(r, heeded, subcommands[which].bit, subcommands[which].name, err);
  if (st != HONE_OK) hone_err_hint(err, "hone library %s", subcommands[which].usage);
  return st;
}

/* A document, or the folder hone emit wrote it to. */
static hone_status load(const char *given, hone_library **out, hone_err *err)
{
  struct stat about;
  hone_text path = { 0 };
  hone_text_add(&path, "%s", given);
  if (stat(given, &about) == 0 && S_ISDIR(about.st_mode)) hone_text_add(&path, "/library.json");
  hone_status st = hone_library_load(path.data, out, err);
  hone_text_fini(&path);
  return st;
}

static hone_status run(cli_run *r, hone_err *err)
{
  int which = cli_subcommand_find(r, NSUBCOMMANDS, subcommand_at, err);
  if (which < 0) return HONE_USAGE;
  hone_library *l[2] = { NULL, NULL };
  hone_status st = check_usage(r, which, err);
  for (int i = 0; i < subcommands[which].libraries && st == HONE_OK; i++) st = load(r->positional[1 + i], &l[i], err);
  if (st == HONE_OK) {
    r->document = json_object();
    st = subcommands[which].run(r, l, err);
  }
  hone_library_free(l[0]);
  hone_library_free(l[1]);
  return st;
}

const cli_command cli_library = {
  .name = "library",
  .summary = "look shapes up in a schedule library, compare and check libraries",
  .arguments = "lookup|header|check|import FILE, or diff OLD NEW",
  .detail = "FILE is the document hone emit wrote, or its folder (docs/library.md). lookup says what it has for a shape: exact, near or fallback, why, and what the "
            "schedule costs there; diff says what changed, entry by entry; header writes the C header; check costs everything again and "
            "names what no longer holds (exit status 2); import puts the entries into a store, from which hone emit writes the same library.",
  .option = options,
  .noptions = LIBRARY_OPTIONS,
  .max_positional = 3,
  .run = run,
};
