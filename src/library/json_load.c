/* Reading a library's document. Everything is checked: whoever looks up in what
 * was loaded may rely on library.h. Syntax errors have line and column; the others
 * the path of the field. The first error is kept and ends the reading. */
#include "config.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/library_int.h"

enum { LARGEST_FILE = 1 << 30 };

typedef struct {
  hone_library *l;
  const char *file;
  hone_err *err;
  hone_status status;
  char place[96]; /* of the object at hand: "families[0].entries[3]." */
} reader;

/* ---- errors ------------------------------------------------------------------- */

HONE_PRINTF(3, 4) static void refuse(reader *r, const char *key, const char *fmt, ...)
{
  if (r->status != HONE_OK) return;
  char message[200];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  r->status = hone_err_set(r->err, HONE_INPUT, "library.content", "%s", message);
  hone_err_at(r->err, r->file, 0, 0);
  hone_err_path(r->err, "%s%s", r->place, key);
}

static void move_to(reader *r, const char *fmt, int a, int b, int c)
{
  snprintf(r->place, sizeof r->place, fmt, a, b, c);
}

/* ---- values: a missing or wrong one gives something harmless, and the error ----- */

static json_t *get(reader *r, json_t *o, const char *key)
{
  json_t *v = json_object_get(o, key);
  if (!v) refuse(r, key, "missing");
  return v;
}

static const char *get_text(reader *r, json_t *o, const char *key)
{
  json_t *v = get(r, o, key);
  if (v && !json_is_string(v)) refuse(r, key, "a text is wanted");
  return json_is_string(v) ? hone_arena_strdup(r->l->arena, json_string_value(v)) : "";
}

static const char *get_text_or_null(reader *r, json_t *o, const char *key)
{
  json_t *v = get(r, o, key);
  return json_is_null(v) ? NULL : get_text(r, o, key);
}

static int64_t get_int(reader *r, json_t *o, const char *key, int64_t least, int64_t most)
{
  json_t *v = get(r, o, key);
  if (!v) return least;
  int64_t x = json_is_integer(v) ? json_integer_value(v) : 0;
  if (json_is_integer(v) && x >= least && x <= most) return x;
  refuse(r, key, "a whole number from %lld to %lld is wanted", (long long)least, (long long)most);
  return least;
}

static int64_t get_cycles(reader *r, json_t *o, const char *key)
{
  json_t *v = get(r, o, key);
  return json_is_null(v) ? -1 : get_int(r, o, key, 0, INT64_MAX);
}

static double get_real_or_null(reader *r, json_t *o, const char *key)
{
  json_t *v = get(r, o, key);
  if (v && !json_is_null(v) && !json_is_number(v)) refuse(r, key, "a number or null is wanted");
  return json_is_number(v) ? json_number_value(v) : NAN;
}

static double get_real(reader *r, json_t *o, const char *key)
{
  double x = get_real_or_null(r, o, key);
  if (!(x >= 0)) refuse(r, key, "a number from 0 is wanted");
  return x;
}

static bool get_bool(reader *r, json_t *o, const char *key)
{
  json_t *v = get(r, o, key);
  if (v && !json_is_boolean(v)) refuse(r, key, "true or false is wanted");
  return json_is_true(v);
}

static int get_list(reader *r, json_t *o, const char *key, json_t **list)
{
  *list = get(r, o, key);
  if (*list && !json_is_array(*list)) refuse(r, key, "a list is wanted");
  return (int)json_array_size(*list);
}

static void get_hash(reader *r, json_t *o, const char *key, char out[HONE_HASH_TEXT])
{
  hone_hash h;
  const char *s = get_text(r, o, key);
  if (!hone_hash_parse(s, &h)) refuse(r, key, "32 hexadecimal digits are wanted");
  snprintf(out, HONE_HASH_TEXT, "%s", s);
}

static bool check_keys(reader *r, json_t *o, const char *const *allowed)
{
  const char *key;
  json_t *v;
  if (!json_is_object(o)) refuse(r, "", "an object is wanted");
  json_object_foreach(o, key, v)
  {
    int i = 0;
    while (allowed[i] && strcmp(allowed[i], key) != 0) i++;
    if (!allowed[i]) refuse(r, key, "unknown field");
  }
  return r->status == HONE_OK;
}

/* ---- the document ------------------------------------------------------------- */

static void load_sizes(reader *r, json_t *o, const char *key, const hone_spec *spec, int64_t *size)
{
  json_t *sizes = get(r, o, key);
  if (!json_is_object(sizes) || (int)json_object_size(sizes) != spec->nsizes) refuse(r, key, "the sizes of the family's spec are wanted");
  for (int i = 0; i < spec->nsizes && r->status == HONE_OK; i++) {
    json_t *v = json_object_get(sizes, spec->size[i].name);
    size[i] = json_integer_value(v);
    if (!json_is_integer(v) || size[i] < 1) refuse(r, key, "a whole number from 1 is wanted for %s", spec->size[i].name);
  }
}

static void check_sizes(reader *r, const hone_spec *spec, const int64_t *size)
{
  for (int i = 0; i < spec->nsizes && r->status == HONE_OK; i++)
    if (size[i] < spec->size[i].value || size[i] > spec->size[i].to)
      refuse(r, "sizes", "%s=%lld is not in the range of the family's spec", spec->size[i].name, (long long)size[i]);
}

static void load_interval(reader *r, json_t *o, const hone_library_family *f, int entry, hone_library_interval *x)
{
  static const char *const keys[] = {"size", "lo", "hi", "loss_pct", "loss_at", "loss_of", "sim_loss_pct", "sim_samples", "margin_pct", NULL};
  if (!check_keys(r, o, keys)) return;
  const char *basis = get_text(r, o, "loss_of");
  x->entry = entry;
  x->axis = hone_spec_find_size(&f->spec, get_text(r, o, "size"));
  if (x->axis < 0) {
    refuse(r, "size", "no size of the family's spec");
    x->axis = 0;
  }
  const hone_spec_size *range = &f->spec.size[x->axis];
  x->lo = get_int(r, o, "lo", range->value, range->to);
  x->hi = get_int(r, o, "hi", x->lo, range->to);
  x->loss_pct = get_real(r, o, "loss_pct");
  x->loss_at = get_int(r, o, "loss_at", 1, INT64_MAX); /* may be where the default serves, outside the family */
  x->basis = strcmp(basis, hone_loss_basis_word(HONE_LOSS_OF_BOUND)) == 0 ? HONE_LOSS_OF_BOUND : HONE_LOSS_OF_OPTIMUM;
  if (strcmp(basis, hone_loss_basis_word(x->basis)) != 0) refuse(r, "loss_of", "optimum or bound is wanted");
  x->sim_loss_pct = get_real_or_null(r, o, "sim_loss_pct");
  x->sim_samples = (int)get_int(r, o, "sim_samples", 0, INT32_MAX);
  x->margin_pct = get_real(r, o, "margin_pct");
}

static hone_evidence get_evidence(reader *r, json_t *o)
{
  hone_evidence e = HONE_EVIDENCE_MODEL;
  if (!library_evidence_find(get_text(r, o, "evidence"), &e)) refuse(r, "evidence", "model, simulated or measured is wanted");
  return e;
}

static void load_figures(reader *r, json_t *o, hone_library_entry *x)
{
  x->evidence = get_evidence(r, o);
  x->cycles = get_cycles(r, o, "cycles");
  x->default_cycles = get_cycles(r, o, "default_cycles");
  x->warm_cycles = get_cycles(r, o, "warm_cycles");
  x->default_warm_cycles = get_cycles(r, o, "default_warm_cycles");
  x->model_cycles = get_cycles(r, o, "model_cycles");
  x->default_model_cycles = get_cycles(r, o, "default_model_cycles");
  x->bound_cycles = get_cycles(r, o, "bound_cycles");
  x->margin_pct = get_real(r, o, "margin_pct");
  x->gap_pct = get_real_or_null(r, o, "gap_pct");
  x->no_significant_gain = get_bool(r, o, "no_significant_gain");
}

static void load_entry(reader *r, json_t *o, hone_library_family *f, int e)
{
  static const char *const keys[] = {
      "sizes", "schedule", "default_schedule", "evidence", "cycles", "default_cycles", "warm_cycles",
      "default_warm_cycles", "model_cycles", "default_model_cycles", "bound_cycles", "margin_pct", "gap_pct", "no_significant_gain", "operator_hash", "key", "evaluator",
      "evaluator_version", "microcode", "microcode_reason", "microcode_bytes", "intervals", NULL};
  hone_library_entry *x = &f->entry[e];
  if (!check_keys(r, o, keys)) return;
  load_sizes(r, o, "sizes", &f->spec, x->size);
  check_sizes(r, &f->spec, x->size);
  if (e > 0 && library_size_cmp(x[-1].size, x->size, f->spec.nsizes, -1) >= 0) refuse(r, "sizes", "entries are not ascending by sizes");
  x->schedule = get_text(r, o, "schedule");
  x->by_default = get_text(r, o, "default_schedule");
  load_figures(r, o, x);
  get_hash(r, o, "operator_hash", x->operator_hash);
  get_hash(r, o, "key", x->key);
  x->evaluator = get_text(r, o, "evaluator");
  x->evaluator_version = (int)get_int(r, o, "evaluator_version", 0, INT32_MAX);
  x->microcode = get_text_or_null(r, o, "microcode");
  if (x->microcode && (strchr(x->microcode, '/') || x->microcode[0] == '.' || !x->microcode[0]))
    refuse(r, "microcode", "the name of a file beside this one is wanted");
  x->microcode_reason = get_text(r, o, "microcode_reason");
  x->microcode_bytes = get_int(r, o, "microcode_bytes", 0, INT64_MAX);
}

static void check_intervals(reader *r, int number, const hone_library_family *f)
{
  for (int i = 1; i < f->nintervals; i++) {
    const hone_library_interval *a = &f->interval[i - 1], *b = &f->interval[i];
    if (a->axis != b->axis || library_size_cmp(f->entry[a->entry].size, f->entry[b->entry].size, f->spec.nsizes, a->axis) != 0) continue;
    move_to(r, "families[%d].entries[%d].", number, b->entry, 0);
    if (a->hi >= b->lo) refuse(r, "intervals", "%s=%lld is also in an interval of entry %d", f->spec.size[a->axis].name, (long long)b->lo, a->entry);
  }
}

static void load_entries(reader *r, json_t *o, int number, hone_library_family *f)
{
  json_t *entries, *intervals;
  f->nentries = get_list(r, o, "entries", &entries);
  f->entry = hone_arena_alloc(r->l->arena, ((size_t)f->nentries + 1) * sizeof *f->entry);
  for (int e = 0; e < f->nentries && r->status == HONE_OK; e++) {
    move_to(r, "families[%d].entries[%d].", number, e, 0);
    load_entry(r, json_array_get(entries, (size_t)e), f, e);
    if (r->status == HONE_OK) f->nintervals += get_list(r, json_array_get(entries, (size_t)e), "intervals", &intervals);
  }
  if (r->status != HONE_OK) return;
  f->interval = hone_arena_alloc(r->l->arena, ((size_t)f->nintervals + 1) * sizeof *f->interval);
  for (int e = 0, k = 0; e < f->nentries && r->status == HONE_OK; e++) {
    intervals = json_object_get(json_array_get(entries, (size_t)e), "intervals");
    for (int i = 0; i < (int)json_array_size(intervals) && r->status == HONE_OK; i++) {
      move_to(r, "families[%d].entries[%d].intervals[%d].", number, e, i);
      load_interval(r, json_array_get(intervals, (size_t)i), f, e, &f->interval[k++]);
    }
  }
  if (r->status != HONE_OK) return;
  library_sort_intervals(f);
  check_intervals(r, number, f);
}

static void load_family(reader *r, json_t *o, int number)
{
  static const char *const keys[] = {"id", "spec", "machine", "machine_hash", "clock_hz",
                                     "fallback", "fallback_sizes", "fallback_reason", "entries", NULL};
  hone_library_family *f = &r->l->family[number];
  hone_err why;
  move_to(r, "families[%d].", number, 0, 0);
  if (!check_keys(r, o, keys)) return;
  const char *id = get_text(r, o, "id");
  if (!library_is_identifier(id, sizeof f->id)) refuse(r, "id", "a C identifier is wanted");
  snprintf(f->id, sizeof f->id, "%s", id);
  if (number > 0 && strcmp(f[-1].id, f->id) >= 0) refuse(r, "id", "families are not ascending by id");
  if (hone_spec_parse(get_text(r, o, "spec"), &f->spec, &why) != HONE_OK) refuse(r, "spec", "%s", why.message);
  f->machine_name = get_text(r, o, "machine");
  get_hash(r, o, "machine_hash", f->machine_hash);
  f->clock_hz = get_int(r, o, "clock_hz", 1, INT64_MAX);
  f->fallback = get_text_or_null(r, o, "fallback");
  if (f->fallback) load_sizes(r, o, "fallback_sizes", &f->spec, f->fallback_size);
  else if (!json_is_null(get(r, o, "fallback_sizes"))) refuse(r, "fallback_sizes", "null is wanted without a fallback");
  f->fallback_reason = get_text(r, o, "fallback_reason");
  if (r->status == HONE_OK) load_entries(r, o, number, f);
}

static void load_evaluators(reader *r, json_t *root)
{
  static const char *const keys[] = {"name", "version", "evidence", NULL};
  json_t *list;
  hone_library *l = r->l;
  l->nevaluators = get_list(r, root, "evaluators", &list);
  l->evaluator = hone_arena_alloc(l->arena, ((size_t)l->nevaluators + 1) * sizeof *l->evaluator);
  for (int i = 0; i < l->nevaluators && r->status == HONE_OK; i++) {
    json_t *o = json_array_get(list, (size_t)i);
    move_to(r, "evaluators[%d].", i, 0, 0);
    if (!check_keys(r, o, keys)) return;
    l->evaluator[i] = (hone_library_evaluator){get_text(r, o, "name"), (int)get_int(r, o, "version", 0, INT32_MAX), get_evidence(r, o)};
  }
  r->place[0] = '\0';
}

static void load_left_out(reader *r, json_t *root)
{
  static const char *const keys[] = {"what", "code", "reason", NULL};
  json_t *list;
  hone_library *l = r->l;
  r->place[0] = '\0';
  l->nleft_out = get_list(r, root, "left_out", &list);
  l->left_out = hone_arena_alloc(l->arena, ((size_t)l->nleft_out + 1) * sizeof *l->left_out);
  for (int i = 0; i < l->nleft_out && r->status == HONE_OK; i++) {
    json_t *o = json_array_get(list, (size_t)i);
    move_to(r, "left_out[%d].", i, 0, 0);
    if (!check_keys(r, o, keys)) return;
    l->left_out[i] = (hone_library_left_out){get_text(r, o, "what"), get_text(r, o, "code"), get_text(r, o, "reason")};
  }
}

/* A newer document is told by its number before its fields are looked at. */
static bool check_schema(reader *r, json_t *root)
{
  json_t *v = json_object_get(root, "schema");
  if (!json_is_integer(v)) {
    refuse(r, "schema", "this is no schedule library: it has no schema number");
    return false;
  }
  if (json_integer_value(v) == HONE_LIBRARY_SCHEMA) return true;
  r->status = hone_err_set(r->err, HONE_UNSUPPORTED, "library.schema", "the library has schema %lld; this build reads %d",
                           (long long)json_integer_value(v), HONE_LIBRARY_SCHEMA);
  hone_err_at(r->err, r->file, 0, 0);
  hone_err_hint(r->err, "emit it again from its store with this build");
  return false;
}

static void load_root(reader *r, json_t *root)
{
  static const char *const keys[] = {"schema", "name", "writer", "near_pct", "evaluators", "families", "left_out", NULL};
  json_t *families;
  hone_library *l = r->l;
  if (!check_schema(r, root) || !check_keys(r, root, keys)) return;
  const char *name = get_text(r, root, "name");
  if (!hone_library_is_name(name)) refuse(r, "name", "a C identifier is wanted");
  snprintf(l->name, sizeof l->name, "%s", name);
  l->writer = get_text(r, root, "writer");
  l->near_pct = get_real(r, root, "near_pct");
  load_evaluators(r, root);
  l->nfamilies = get_list(r, root, "families", &families);
  if (r->status != HONE_OK) return;
  l->family = hone_arena_alloc(l->arena, ((size_t)l->nfamilies + 1) * sizeof *l->family);
  for (int i = 0; i < l->nfamilies && r->status == HONE_OK; i++) load_family(r, json_array_get(families, (size_t)i), i);
  if (r->status == HONE_OK) load_left_out(r, root);
}

hone_status hone_library_parse(const char *name, const char *text, size_t n, hone_library **out, hone_err *err)
{
  json_error_t why;
  json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
  if (!root) {
    hone_err_set(err, HONE_INPUT, "library.syntax", "%s", why.text);
    hone_err_at(err, name, why.line, why.column);
    return HONE_INPUT;
  }
  reader r = {.l = library_new(), .file = name, .err = err};
  load_root(&r, root);
  json_decref(root);
  if (r.status != HONE_OK) hone_library_free(r.l);
  else *out = r.l;
  return r.status;
}

hone_status hone_library_load(const char *path, hone_library **out, hone_err *err)
{
  char *text = NULL;
  size_t n = 0;
  hone_status s = hone_text_load(path, LARGEST_FILE, &text, &n, err);
  if (s == HONE_OK) s = hone_library_parse(path, text, n, out, err);
  free(text);
  return s;
}
