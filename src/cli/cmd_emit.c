/* hone emit: a store becomes a schedule library others can use. Microcode first,
 * then the header, the document last, each file whole or not at all: until the
 * document is replaced the old library stands, for microcode names follow content. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "cli/library_source_int.h"
#include "store/store.h"

enum { EMIT_OUTPUT = CLI_COMMON_COUNT, EMIT_NAME, EMIT_MACHINE, EMIT_NEAR, EMIT_NO_MICROCODE, EMIT_OPERATOR_FILE, EMIT_OPTIONS };

static const hone_option options[] = {
  CLI_COMMON_OPTIONS,
  { "output", HONE_OPTION_TEXT, 0, 0, NULL, "DIR", "Folder to write the library to; made when absent.", true },
  { "name", HONE_OPTION_TEXT, 0, 0, NULL, "NAME", "Name of the library, a C identifier that begins the header's names; that of DIR when not given.", false },
  { "machine", HONE_OPTION_TEXT, 0, 0, NULL, "FILE|NAME|HASH", "Only what was tuned for this machine.", false },
  { "near", HONE_OPTION_REAL, 0, 100, "10", "PCT", "How far from a tuned size, in percent of it, near answers are looked for.", false },
  { "no-microcode", HONE_OPTION_FLAG, 0, 1, NULL, NULL, "Write schedules only, no programs.", false },
  CLI_OPERATOR_FILE_OPTION,
};

typedef struct {
  cli_run *r;
  const char *folder;
  char name[64], header[80];
  cli_places places;
  int held; /* the folder, while no other emission may write to it; -1 */
} emission;

/* ---- names -------------------------------------------------------------------- */

/* "out/demo-library/" -> "demo_library" */
static void name_of_folder(const char *folder, char *out, size_t n)
{
  size_t end = strlen(folder), k = 0;
  while (end > 0 && folder[end - 1] == '/') end--;
  size_t begin = end;
  while (begin > 0 && folder[begin - 1] != '/') begin--;
  for (size_t i = begin; i < end && k + 1 < n; i++) {
    char c = folder[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), digit = c >= '0' && c <= '9';
    if (k == 0 && !letter) k = (size_t)snprintf(out, n, "lib_"); /* names that begin with _ are C's own */
    if (k + 1 < n) out[k++] = letter || digit ? c : '_';
  }
  out[k] = '\0';
  if (!out[0] || (strncmp(out, "lib_", 4) == 0 && !out[4 + strspn(out + 4, "_")])) snprintf(out, n, "library"); /* of "." */
}

static hone_status take_options(emission *e, hone_err *err)
{
  const hone_option_value *v = e->r->value;
  e->folder = v[EMIT_OUTPUT].text;
  if (!e->folder[0]) return hone_err_set(err, HONE_USAGE, "option.value", "--output: a folder is wanted");
  if (v[EMIT_NAME].given) {
    if (!hone_library_is_name(v[EMIT_NAME].text))
      return hone_err_set(err, HONE_USAGE, "option.value", "--name: '%.80s' is no C identifier of at most 63 characters", v[EMIT_NAME].text);
    snprintf(e->name, sizeof e->name, "%s", v[EMIT_NAME].text);
  } else {
    name_of_folder(e->folder, e->name, sizeof e->name);
  }
  snprintf(e->header, sizeof e->header, "%s.h", e->name);
  return cli_places_init(&e->places, e->r, &v[EMIT_MACHINE], &v[EMIT_OPERATOR_FILE], err);
}

/* ---- writing ------------------------------------------------------------------ */

static void path_in(const emission *e, const char *file, hone_text *out)
{
  hone_text_add(out, "%s%s%s", e->folder, e->folder[strlen(e->folder) - 1] == '/' ? "" : "/", file);
}

/* Made when absent and ours alone until the process ends, however it does. Where the
 * file system has no locks nobody is kept out. */
static hone_status hold_folder(emission *e, hone_err *err)
{
  if (e->held >= 0) return HONE_OK;
  hone_status st = hone_file_make_directory(e->folder, err);
  if (st != HONE_OK) return st;
  e->held = open(e->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (e->held >= 0 && flock(e->held, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    hone_err_set(err, HONE_IO, "library.busy", "another hone emit is writing to it");
    hone_err_at(err, e->folder, 0, 0);
    return HONE_IO;
  }
  return HONE_OK;
}

static hone_status write_file(const emission *e, const char *file, const void *bytes, size_t n, hone_err *err)
{
  hone_text path = { 0 };
  path_in(e, file, &path);
  hone_status st = hone_file_write_atomic(path.data, bytes, n, err);
  hone_text_fini(&path);
  return st;
}

static hone_status write_microcode(void *arg, const char *file, const void *bytes, size_t n, hone_err *err)
{
  emission *e = arg;
  hone_status st = hold_folder(e, err);
  return st == HONE_OK ? write_file(e, file, bytes, n, err) : st;
}

static hone_status write_text(const emission *e, const char *file, const hone_library *l,
                              void (*write)(const hone_library *l, hone_text *out), hone_err *err)
{
  hone_text t = { 0 };
  write(l, &t);
  hone_status st = write_file(e, file, t.data, t.length, err);
  hone_text_fini(&t);
  return st;
}

static bool refers_to(const hone_library *l, const char *file)
{
  for (int i = 0; i < l->nfamilies; i++)
    for (int k = 0; k < l->family[i].nentries; k++)
      if (l->family[i].entry[k].microcode && strcmp(l->family[i].entry[k].microcode, file) == 0) return true;
  return false;
}

/* "NAME.tmp-PID-N": what base/file.c leaves when it is killed. */
static bool is_temporary(const char *file)
{
  const char *at = strstr(file, ".tmp-");
  if (!at) return false;
  at += 5;
  size_t n = strspn(at, "0123456789");
  return n > 0 && at[n] == '-' && at[n + 1] && !at[n + 1 + strspn(at + n + 1, "0123456789")];
}

/* "FAMILY-SHAPE-HASH.bin", as src/library/microcode.c names them. */
static bool is_microcode(const char *file)
{
  size_t n = strlen(file);
  return n > 21 && strcmp(file + n - 4, ".bin") == 0 && file[n - 21] == '-' && strspn(file + n - 20, "0123456789abcdef") == 16;
}

/* What an emission that was killed has left: temporaries, programs of no library. */
static void sweep_killed(const emission *e, const hone_library *l)
{
  DIR *d = opendir(e->folder);
  for (struct dirent *x; d && (x = readdir(d));) {
    if (!is_temporary(x->d_name) && !(is_microcode(x->d_name) && !refers_to(l, x->d_name))) continue;
    unlinkat(dirfd(d), x->d_name, 0);
  }
  if (d) closedir(d);
}

/* Microcode that only the library before this one named. */
static void sweep(const emission *e, const hone_library *old, const hone_library *l)
{
  for (int i = 0; old && i < old->nfamilies; i++)
    for (int k = 0; k < old->family[i].nentries; k++) {
      const char *file = old->family[i].entry[k].microcode;
      hone_text path = { 0 };
      if (!file || refers_to(l, file)) continue;
      path_in(e, file, &path);
      unlink(path.data);
      hone_text_fini(&path);
    }
}

static hone_status write_all(emission *e, const hone_library *l, hone_err *err)
{
  hone_library *old = NULL;
  hone_text path = { 0 };
  path_in(e, "library.json", &path);
  if (hone_library_load(path.data, &old, NULL) != HONE_OK) old = NULL; /* there is none, or none we know */
  hone_status st = hold_folder(e, err);
  if (st == HONE_OK) st = write_text(e, e->header, l, hone_library_write_header, err);
  if (st == HONE_OK) st = write_text(e, "library.json", l, hone_library_write_json, err);
  if (st == HONE_OK) {
    sweep(e, old, l);
    sweep_killed(e, l);
  }
  hone_library_free(old);
  hone_text_fini(&path);
  return st;
}

/* ---- reporting ---------------------------------------------------------------- */

static const char *evidence_of(const hone_library_family *f)
{
  hone_evidence least = HONE_EVIDENCE_COUNT - 1, most = 0;
  for (int i = 0; i < f->nentries; i++) {
    if (f->entry[i].evidence < least) least = f->entry[i].evidence;
    if (f->entry[i].evidence > most) most = f->entry[i].evidence;
  }
  return least == most ? hone_evidence_word(least) : "mixed";
}

static void report_family(const hone_library_family *f, cli_table *t, json_t *list)
{
  int programs = 0, plain = 0;
  int64_t bytes = 0;
  double least = f->entry[0].margin_pct, most = least;
  for (int i = 0; i < f->nentries; i++) {
    const hone_library_entry *e = &f->entry[i];
    programs += e->microcode != NULL;
    plain += e->no_significant_gain;
    bytes += e->microcode_bytes;
    if (e->margin_pct < least) least = e->margin_pct;
    if (e->margin_pct > most) most = e->margin_pct;
  }
  cli_table_add(t, "%s", f->id);
  cli_table_add(t, "%d", f->nentries);
  cli_table_add(t, "%d", f->nintervals);
  cli_table_add(t, "%s", evidence_of(f));
  if (least == most) cli_table_add(t, "%.1f %%", least);
  else cli_table_add(t, "%.1f - %.1f %%", least, most);
  cli_table_add(t, "%d", programs);
  cli_table_add(t, "%s", f->fallback ? "yes" : "no");
  json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:f, s:f, s:i, s:I, s:b}", "id", f->id, "machine", f->machine_name,
                                        "evidence", evidence_of(f), "entries", f->nentries, "intervals", f->nintervals,
                                        "no_significant_gain", plain, "least_margin_pct", least, "most_margin_pct", most, "programs", programs,
                                        "microcode_bytes", (json_int_t)bytes, "fallback", f->fallback != NULL));
}

static void report(const emission *e, const hone_library *l)
{
  static const char *const head[] = { "family", "entries", "intervals", "evidence", "margin", "programs", "fallback" };
  cli_run *r = e->r;
  cli_table t = { .columns = 7, .align = "lrrlrrl" };
  json_t *families = json_array(), *left_out = json_array();
  for (int i = 0; i < 7; i++) cli_table_add(&t, "%s", head[i]);
  for (int i = 0; i < l->nfamilies; i++) report_family(&l->family[i], &t, families);
  if (l->nfamilies) cli_table_print(&t, &r->out);
  else cli_table_fini(&t);
  for (int i = 0; i < l->nleft_out; i++) {
    const hone_library_left_out *x = &l->left_out[i];
    hone_text_add(&r->out, "left out  %s: %s [%s]\n", x->what, x->reason, x->code);
    json_array_append_new(left_out, json_pack("{s:s, s:s, s:o}", "what", x->what, "code", x->code, "reason", cli_json_string(x->reason)));
  }
  json_object_set_new(r->document, "families", families);
  json_object_set_new(r->document, "left_out", left_out);
}

static void report_files(const emission *e)
{
  static const char *const key[] = { "library", "header" };
  const char *const file[] = { "library.json", e->header };
  json_object_set_new(e->r->document, "name", json_string(e->name));
  for (int i = 0; i < 2; i++) {
    hone_text path = { 0 };
    path_in(e, file[i], &path);
    hone_text_add(&e->r->out, "%s%s", i ? ", " : "wrote ", path.data);
    json_object_set_new(e->r->document, key[i], cli_json_string(path.data));
    hone_text_fini(&path);
  }
  hone_text_add(&e->r->out, "\n");
}

/* ---- the command -------------------------------------------------------------- */

static hone_status emit(emission *e, hone_store *s, hone_err *err)
{
  const hone_option_value *v = e->r->value;
  hone_library_source source;
  cli_library_source(&e->places, &source);
  source.name = e->name;
  /* A file stands for the machine of its name, whatever its identity: what was tuned
   * for another one of that name is then named as stale. */
  if (v[EMIT_MACHINE].given) source.machine = e->places.machine_name[0] ? e->places.machine_name : e->places.machine_hash;
  source.near_pct = v[EMIT_NEAR].r;
  source.microcode = !v[EMIT_NO_MICROCODE].i;
  source.write_microcode = write_microcode;
  source.write_arg = e;
  hone_library *l = NULL;
  hone_status st = hone_library_from_store(s, &source, &l, err);
  if (st != HONE_OK) return st;
  report(e, l);
  if (l->nfamilies > 0) {
    st = write_all(e, l, err);
    if (st == HONE_OK) report_files(e);
  } else {
    e->r->outcome = HONE_NOT_FOUND;
    hone_text_add(&e->r->out, "nothing of the store can be emitted; %s is as it was\n", e->folder);
  }
  hone_library_free(l);
  return st;
}

static hone_status run(cli_run *r, hone_err *err)
{
  if (r->npositional != 1) {
    hone_err_set(err, HONE_USAGE, r->npositional ? "cli.surplus-argument" : "cli.missing-argument", "one store is wanted");
    hone_err_hint(err, "hone emit STORE --output DIR");
    return HONE_USAGE;
  }
  emission *e = hone_heap_alloc(1, sizeof *e);
  hone_store *s = NULL;
  e->r = r;
  e->held = -1;
  hone_status st = take_options(e, err);
  if (st == HONE_OK) st = hone_store_open(r->positional[0], HONE_STORE_READ, &s, err);
  if (st == HONE_OK) {
    r->document = json_object();
    json_object_set_new(r->document, "store", cli_json_string(hone_store_path(s)));
    cli_warn_damaged(r, s);
    st = cli_check_readable(s, err);
    if (st == HONE_OK) st = emit(e, s, err);
    hone_store_close(s, NULL);
  }
  if (e->held >= 0) close(e->held);
  free(e);
  return st;
}

const cli_command cli_emit = {
  .name = "emit",
  .summary = "write a schedule library from a store",
  .arguments = "STORE",
  .detail = "Writes DIR/library.json, DIR/NAME.h and a microcode file for each tuned shape that has one (docs/library.md). Each task of the "
            "store becomes an entry with its default schedule beside it; around entries and over tuned ranges every integer is costed on "
            "the model, so that a lookup is exact, near or fallback and says why. What cannot be used, such as records of "
            "another version, is listed with its reason. An old library in DIR stays usable until the new one is whole.",
  .option = options,
  .noptions = EMIT_OPTIONS,
  .max_positional = 1,
  .run = run,
};
