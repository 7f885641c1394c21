/* From the options to a problem: files found, operator and machine loaded,
 * parameters and space made. */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "cli/cli.h"

enum { MAX_ITEMS = 64, SCHEDULE_BYTES = 1 << 16 };

/* ---- finding files ---------------------------------------------------------- */

/* What a kind is called; where its things are, below a root: in the source tree and
 * installed. */
static const struct {
  const char *kind, *noun, *unknown;
} kinds[] = {
  { "spaces", "operator", "operator.unknown" }, { "machines", "machine", "file.not-found" }, { "models", "model", "file.not-found" },
};
static const struct {
  const char *kind, *folder;
} places[] = {
  { "spaces", "spaces" }, { "machines", "data/machines" }, { "machines", "machines" },
  { "models", "data/models" }, { "models", "models" },
};

typedef struct {
  const char *root[3];
  int n;
} roots;

static roots roots_of(const cli_run *r)
{
  roots x = { .n = 0 };
  if (r->value[CLI_DATA].given) x.root[x.n++] = r->value[CLI_DATA].text;
  x.root[x.n++] = ".";
  x.root[x.n++] = HONE_DATADIR;
  return x;
}

static const char *name_at(void *arg, int i)
{
  return ((cli_names *)arg)->name[i];
}

static int by_name(const void *a, const void *b)
{
  return strcmp(a, b);
}

/* Names without extension of the files in a folder. */
static void list_folder(const char *path, cli_names *out)
{
  DIR *d = opendir(path);
  if (!d) return;
  for (struct dirent *e; (e = readdir(d)) && out->n < CLI_MAX_NAMES;) {
    const char *dot = strrchr(e->d_name, '.');
    if (!dot || dot == e->d_name || (strcmp(dot, ".yaml") != 0 && strcmp(dot, ".json") != 0)) continue;
    snprintf(out->name[out->n++], sizeof out->name[0], "%.*s", (int)(dot - e->d_name), e->d_name);
  }
  closedir(d);
}

void cli_list_names(const cli_run *r, const char *kind, cli_names *out)
{
  roots where = roots_of(r);
  char path[600];
  out->n = 0;
  for (int i = 0; i < where.n; i++)
    for (size_t p = 0; p < sizeof places / sizeof places[0]; p++) {
      if (strcmp(places[p].kind, kind) != 0) continue;
      snprintf(path, sizeof path, "%s/%s", where.root[i], places[p].folder);
      list_folder(path, out);
    }
  qsort(out->name, (size_t)out->n, sizeof out->name[0], by_name); /* readdir has no order */
  int n = 0;
  for (int i = 0; i < out->n; i++)
    if (n == 0 || strcmp(out->name[n - 1], out->name[i]) != 0) memmove(out->name[n++], out->name[i], sizeof out->name[0]);
  out->n = n;
}

static hone_status not_found(const cli_run *r, const char *kind, const char *name, hone_err *err)
{
  cli_names all;
  cli_list_names(r, kind, &all);
  int k = 0;
  while (strcmp(kinds[k].kind, kind) != 0) k++;
  hone_err_set(err, HONE_INPUT, kinds[k].unknown, "no %s named '%.100s'", kinds[k].noun, name);
  const char *near = hone_text_nearest(name, all.n, name_at, &all);
  if (near) hone_err_hint(err, "did you mean '%s'?", near);
  else hone_err_hint(err, "give a file, or --data with the folder that holds spaces/ and data/");
  return HONE_INPUT;
}

static bool readable(const char *path)
{
  return access(path, R_OK) == 0;
}

hone_status cli_path_copy(const char *given, char *path, size_t n, hone_err *err)
{
  if (strlen(given) < n) {
    memcpy(path, given, strlen(given) + 1);
    return HONE_OK;
  }
  hone_err_set(err, HONE_INPUT, "file.name-too-long", "a path of more than %zu bytes", n - 1);
  hone_err_at(err, given, 0, 0);
  return HONE_INPUT;
}

hone_status cli_find_file(const cli_run *r, const char *kind, const char *name, char *path, size_t n, hone_err *err)
{
  static const char *const extension[] = { ".yaml", ".json" };
  roots where = roots_of(r);
  const char *dot = strrchr(name, '.');
  if (strchr(name, '/') || (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".json") == 0)))
    return cli_path_copy(name, path, n, err); /* a file: what is wrong with it is for the loader to say */
  for (int i = 0; i < where.n; i++)
    for (size_t p = 0; p < sizeof places / sizeof places[0]; p++)
      for (int e = 0; e < 2; e++) {
        if (strcmp(places[p].kind, kind) != 0) continue;
        int length = snprintf(path, n, "%s/%s/%s%s", where.root[i], places[p].folder, name, extension[e]);
        if (length < (int)n && readable(path)) return HONE_OK;
      }
  return not_found(r, kind, name, err);
}

/* ---- name=value lists ------------------------------------------------------- */

typedef struct {
  int n;
  char *storage[MAX_ITEMS]; /* "name\0value" */
  const char *name[MAX_ITEMS], *value[MAX_ITEMS];
} pairs;

static void pairs_fini(pairs *p)
{
  for (int i = 0; i < p->n; i++) free(p->storage[i]);
}

static hone_status pairs_parse(const cli_run *r, int option, pairs *out, hone_err *err)
{
  const hone_option_value *v = &r->value[option];
  *out = (pairs){ .n = 0 };
  for (int i = 0; i < v->nlist; i++) {
    const char *equal = strchr(v->list[i], '=');
    if (!equal || equal == v->list[i] || !equal[1])
      return hone_err_set(err, HONE_USAGE, "option.value", "--%s: '%.80s' is not NAME=VALUE", r->command->option[option].name,
                          v->list[i]);
    size_t len = strlen(v->list[i]);
    char *s = hone_heap_alloc(len + 1, 1);
    memcpy(s, v->list[i], len);
    s[equal - v->list[i]] = '\0';
    for (int j = 0; j < out->n; j++)
      if (strcmp(out->name[j], s) == 0) {
        hone_err_set(err, HONE_USAGE, "option.twice", "--%s: '%s' is given twice", r->command->option[option].name, s);
        free(s);
        return HONE_USAGE;
      }
    out->storage[out->n] = s;
    out->name[out->n] = s;
    out->value[out->n++] = s + (equal - v->list[i]) + 1;
  }
  return HONE_OK;
}

static const char *format_at(void *arg, int i)
{
  (void)arg;
  return hone_format_name((hone_format)i);
}

hone_status cli_format_find(const char *name, hone_format *out, hone_err *err)
{
  if (hone_format_find(name, out)) return HONE_OK;
  hone_err_set(err, HONE_USAGE, "format.unknown", "unknown number format '%.40s'", name);
  const char *near = hone_text_nearest(name, HONE_FORMAT_COUNT, format_at, NULL);
  if (near) {
    hone_err_hint(err, "did you mean '%s'?", near);
    return HONE_USAGE;
  }
  hone_text all = { 0 };
  for (int f = 0; f < HONE_FORMAT_COUNT; f++) hone_text_add(&all, "%s%s", f ? ", " : "", hone_format_name((hone_format)f));
  hone_err_hint(err, "formats: %s", all.data);
  hone_text_fini(&all);
  return HONE_USAGE;
}

/* ---- loading ---------------------------------------------------------------- */

bool cli_range_given(const cli_run *r)
{
  int64_t lo, hi;
  for (int i = 0; i < r->value[CLI_SIZE].nlist; i++) {
    const char *equal = strchr(r->value[CLI_SIZE].list[i], '=');
    if (equal && hone_spec_parse_size(equal + 1, &lo, &hi) && hi > lo) return true;
  }
  return false;
}

/* A number, or where `range` is not NULL one range among them. */
static hone_status parse_size(const char *name, const char *text, int64_t *value, cli_range *range, hone_err *err)
{
  int64_t lo, hi;
  if (!strstr(text, "..")) {
    if (hone_text_parse_int(text, value)) return HONE_OK;
    return hone_err_set(err, HONE_USAGE, "option.value", "--size %s: '%.40s' is not a whole number below 2^63", name, text);
  }
  if (!hone_spec_parse_size(text, &lo, &hi)) {
    hone_err_set(err, HONE_USAGE, "size.range", "--size %s: '%.40s' is not a range LOW..HIGH with 1 <= LOW <= HIGH", name, text);
    return HONE_USAGE;
  }
  *value = hi;
  if (lo == hi) return HONE_OK;
  if (!range) {
    hone_err_set(err, HONE_USAGE, "size.range", "--size %s=%.40s is a range; only hone tune --operator takes one", name, text);
    hone_err_hint(err, "give one number, for example --size %s=%lld", name, (long long)hi);
    return HONE_USAGE;
  }
  if (range->name[0]) {
    hone_err_set(err, HONE_USAGE, "range.one", "both %s and %s are ranges; one size may be", range->name, name);
    hone_err_hint(err, "tune one range for each value of the other");
    return HONE_USAGE;
  }
  *range = (cli_range){ .lo = lo, .hi = hi };
  snprintf(range->name, sizeof range->name, "%s", name);
  return HONE_OK;
}

static hone_status load_operator(const cli_run *r, cli_problem *out, const pairs *size, const pairs *format,
                                 const pairs *option, cli_range *range, hone_err *err)
{
  hone_size sizes[MAX_ITEMS];
  hone_format_choice formats[MAX_ITEMS + 1];
  hone_operator_option opts[MAX_ITEMS];
  for (int i = 0; i < size->n; i++) {
    sizes[i].name = size->name[i];
    hone_status parsed = parse_size(size->name[i], size->value[i], &sizes[i].value, range, err);
    if (parsed != HONE_OK) return parsed;
  }
  int nformats = 0;
  hone_status st = HONE_OK;
  if (r->value[CLI_DTYPE].given) st = cli_format_find(r->value[CLI_DTYPE].text, &formats[nformats++].format, err);
  formats[0].tensor = NULL;
  for (int i = 0; i < format->n && st == HONE_OK; i++) {
    formats[nformats].tensor = format->name[i];
    st = cli_format_find(format->value[i], &formats[nformats++].format, err);
  }
  if (st != HONE_OK) return st;
  for (int i = 0; i < option->n; i++) opts[i] = (hone_operator_option){ option->name[i], option->value[i] };
  st = hone_operator_load(out->operator_path, sizes, size->n, formats, nformats, opts, option->n, &out->op, err);
  if (st == HONE_INPUT && range && range->name[0] && !err->hint[0])
    hone_err_hint(err, "at %s=%lld of the range", range->name, (long long)range->hi);
  return st;
}

hone_status cli_machine_load(const cli_run *r, cli_problem *out, hone_err *err)
{
  if (!r->value[CLI_MACHINE].given) {
    hone_err_set(err, HONE_USAGE, "option.missing", "--machine is required");
    hone_err_hint(err, "for example --machine data/machines/gemmini-default.yaml");
    return HONE_USAGE;
  }
  hone_status st = cli_find_file(r, "machines", r->value[CLI_MACHINE].text, out->machine_path, sizeof out->machine_path, err);
  return st == HONE_OK ? hone_machine_load(out->machine_path, &out->machine, err) : st;
}

hone_status cli_problem_make_space(const cli_run *r, cli_problem *out, hone_err *err)
{
  char template_path[512];
  hone_status st = cli_find_file(r, "spaces", "template", template_path, sizeof template_path, err);
  if (st != HONE_OK) return st;
  st = hone_params_new(&out->op, &out->machine, &out->params, err);
  if (st != HONE_OK) return st;
  const hone_option_value *user = &r->value[CLI_SPACE];
  const hone_space_source sources[] = { { template_path, NULL }, { out->operator_path, NULL }, { user->text, NULL } };
  return hone_space_new(&out->op, &out->machine, &out->params, sources, user->given ? 3 : 2, &out->space, err);
}

static hone_status load_named_operator(const cli_run *r, cli_problem *out, cli_range *range, hone_err *err)
{
  if (!r->value[CLI_OPERATOR].given) {
    hone_err_set(err, HONE_USAGE, "option.missing", "--operator is required");
    hone_err_hint(err, "for example --operator matmul --size m=1,n=4096,k=4096 --dtype bf16");
    return HONE_USAGE;
  }
  pairs size = { 0 }, format = { 0 }, option = { 0 };
  hone_status st = cli_find_file(r, "spaces", r->value[CLI_OPERATOR].text, out->operator_path, sizeof out->operator_path, err);
  if (st == HONE_OK) st = pairs_parse(r, CLI_SIZE, &size, err);
  if (st == HONE_OK) st = pairs_parse(r, CLI_FORMAT, &format, err);
  if (st == HONE_OK) st = pairs_parse(r, CLI_OPTION, &option, err);
  if (st == HONE_OK) st = load_operator(r, out, &size, &format, &option, range, err);
  pairs_fini(&size);
  pairs_fini(&format);
  pairs_fini(&option);
  return st;
}

hone_status cli_operator_load(const cli_run *r, cli_problem *out, hone_err *err)
{
  return load_named_operator(r, out, NULL, err);
}

static hone_status load_problem(const cli_run *r, cli_problem *out, cli_range *range, hone_err *err)
{
  memset(out, 0, sizeof *out);
  hone_status st = r->value[CLI_OPERATOR].given ? cli_machine_load(r, out, err) : HONE_OK;
  if (st == HONE_OK) st = load_named_operator(r, out, range, err);
  if (st == HONE_OK) st = cli_problem_make_space(r, out, err);
  if (st != HONE_OK) cli_problem_fini(out);
  return st;
}

hone_status cli_problem_load(const cli_run *r, cli_problem *out, hone_err *err)
{
  return load_problem(r, out, NULL, err);
}

hone_status cli_problem_load_range(const cli_run *r, cli_problem *out, cli_range *range, hone_err *err)
{
  *range = (cli_range){ .lo = 0 };
  return load_problem(r, out, range, err);
}

void cli_problem_fini(cli_problem *p)
{
  hone_space_free(p->space);
  hone_params_free(&p->params);
  p->space = NULL;
}

void cli_problem_label(const cli_problem *p, hone_text *out)
{
  hone_text_add(out, "%s ", p->op.name);
  for (int d = 0; d < p->op.ndims; d++)
    hone_text_add(out, "%s%s=%lld", d ? "," : "", p->op.dim[d].name, (long long)p->op.dim[d].extent);
  unsigned seen = 0;
  for (int t = 0; t < p->op.ntensors; t++) {
    if (p->op.tensor[t].role == HONE_ROLE_INTERMEDIATE || seen >> p->op.tensor[t].format & 1) continue;
    hone_text_add(out, "%s%s", seen ? "/" : " ", hone_format_name(p->op.tensor[t].format));
    seen |= 1u << p->op.tensor[t].format;
  }
}

hone_status cli_schedule_load(const cli_problem *p, const char *text, hone_schedule *out, hone_err *err)
{
  if (!text || strcmp(text, "default") == 0) return hone_schedule_default(&p->op, &p->machine, out, err);
  if (text[0] != '@') return hone_schedule_parse(&p->op, &p->machine, &p->params, text, out, err);
  char *s = NULL;
  size_t n = 0;
  hone_status st = hone_text_load(text + 1, SCHEDULE_BYTES, &s, &n, err);
  if (st != HONE_OK) return st;
  while (n > 0 && (s[n - 1] == '\n' || s[n - 1] == '\r' || s[n - 1] == ' ')) s[--n] = '\0';
  st = hone_schedule_parse(&p->op, &p->machine, &p->params, s, out, err);
  free(s);
  return st;
}
