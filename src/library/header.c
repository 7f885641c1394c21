/* A library as a C header. The code in it is header_template.txt with NAME_ put
 * for the library's name; the build makes header_template.inc of it, a string per
 * line. Written here are the tables, a function per family, and the names: texts
 * of users never become C but as escaped strings, purged comments and mangled
 * identifiers. Reading order: hone_library_write_header at the end, then up. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "library/header_int.h"

enum { LONGEST_LITERAL = 4000 }; /* C99 promises string literals of 4095 bytes only */

typedef struct {
  const hone_library *l;
  hone_text *out;
  hone_header_name prefix;
  int most_sizes; /* of a family, at least 1 */
  hone_arena *arena;
  int nlong, capacity;
  const char **long_text; /* too long for a literal: arrays PREFIX_text_N, defined in texts */
  hone_text texts;
} writer;

/* ---- values ------------------------------------------------------------------- */

static bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '\'' && c != '?'; }

/* Octal escapes take three digits, so what follows is not read as part of them;
 * ? would make trigraphs. */
static void add_char(hone_text *out, char c)
{
  if (is_plain(c)) hone_text_add_bytes(out, &c, 1);
  else hone_text_add(out, "\\%03o", (unsigned)(unsigned char)c);
}

/* The number of the array that holds a text too long for a literal. */
static int add_long(writer *w, const char *s)
{
  for (int i = 0; i < w->nlong; i++)
    if (strcmp(w->long_text[i], s) == 0) return i;
  if (w->nlong == w->capacity) {
    w->capacity = w->capacity ? 2 * w->capacity : 16;
    w->long_text = hone_heap_realloc(w->long_text, (size_t)w->capacity, sizeof *w->long_text);
  }
  w->long_text[w->nlong] = hone_arena_strdup(w->arena, s);
  hone_text_add(&w->texts, "static const char %s_text_%d[] = {", w->prefix, w->nlong);
  for (size_t k = 0; s[k]; k++) {
    hone_text_add(&w->texts, "%s'", k % 20 ? " " : "\n  ");
    add_char(&w->texts, s[k]);
    hone_text_add(&w->texts, "',");
  }
  hone_text_add(&w->texts, "\n  0};\n\n");
  return w->nlong++;
}

static void add_string(writer *w, const char *s)
{
  if (!s) {
    hone_text_add(w->out, "NULL");
  } else if (strlen(s) > LONGEST_LITERAL) {
    hone_text_add(w->out, "%s_text_%d", w->prefix, add_long(w, s));
  } else {
    hone_text_add(w->out, "\"");
    for (; *s; s++) add_char(w->out, *s);
    hone_text_add(w->out, "\"");
  }
}

static void add_int(writer *w, int64_t v)
{
  if (v == INT64_MIN) hone_text_add(w->out, "(-INT64_C(%" PRId64 ") - 1)", INT64_MAX);
  else hone_text_add(w->out, "%sINT64_C(%" PRId64 ")", v < 0 ? "-" : "", v < 0 ? -v : v);
}

/* A double literal, whole numbers too; -1 for what is no number, which also works
 * under -ffast-math. */
static void add_real(writer *w, double x)
{
  char text[64];
  hone_text t = {0};
  hone_text_add(&t, "%.17g", isfinite(x) ? x : -1.0);
  snprintf(text, sizeof text, "%s", t.data);
  hone_text_fini(&t);
  hone_text_add(w->out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

/* Into a comment: what could end it, or the line, becomes an underscore. */
static void add_comment(writer *w, const char *s)
{
  for (; *s; s++) {
    char c = (is_plain(*s) && *s != '*') || *s == '\'' ? *s : '_';
    hone_text_add_bytes(w->out, &c, 1);
  }
}

/* ---- tables ------------------------------------------------------------------- */

static void open_table(writer *w, const char *type, int f, const char *what)
{
  hone_text_add(w->out, "static const %s%s_%d_%s[] = {\n", type, w->prefix, f, what);
}

static void close_table(writer *w) { hone_text_add(w->out, "};\n\n"); }

static void write_size_names(writer *w, int f, const hone_library_family *x)
{
  if (x->spec.nsizes == 0) return;
  open_table(w, "char *const ", f, "size_names");
  for (int k = 0; k < x->spec.nsizes; k++) {
    hone_text_add(w->out, "  ");
    add_string(w, x->spec.size[k].name);
    hone_text_add(w->out, ",\n");
  }
  close_table(w);
  open_table(w, "int64_t ", f, "fallback_size");
  for (int k = 0; k < x->spec.nsizes; k++) {
    hone_text_add(w->out, k ? ", " : "  ");
    add_int(w, x->fallback_size[k]);
  }
  hone_text_add(w->out, "\n");
  close_table(w);
}

static void write_entry(writer *w, int f, int nsizes, int i, const hone_library_entry *e)
{
  const int64_t cycles[] = {e->cycles, e->default_cycles, e->warm_cycles, e->default_warm_cycles, e->model_cycles, e->default_model_cycles, e->bound_cycles};
  const double pct[] = {e->margin_pct, e->gap_pct};
  const char *const text[] = {e->operator_hash, e->key, e->evaluator};
  hone_text_add(w->out, "  {%s_%d_keys + %d,\n   ", w->prefix, f, i * nsizes);
  add_string(w, e->schedule);
  hone_text_add(w->out, ",\n   ");
  add_string(w, e->by_default);
  hone_text_add(w->out, ",\n   \"%s\", ", hone_evidence_word(e->evidence));
  for (size_t k = 0; k < sizeof cycles / sizeof cycles[0]; k++) {
    add_int(w, cycles[k]);
    hone_text_add(w->out, ", ");
  }
  for (int k = 0; k < 2; k++) {
    add_real(w, pct[k]);
    hone_text_add(w->out, ", ");
  }
  hone_text_add(w->out, "%d,\n   ", e->no_significant_gain);
  for (int k = 0; k < 3; k++) {
    add_string(w, text[k]);
    hone_text_add(w->out, ", ");
  }
  hone_text_add(w->out, "%d, ", e->evaluator_version);
  add_string(w, e->microcode);
  hone_text_add(w->out, ", ");
  add_int(w, e->microcode_bytes);
  hone_text_add(w->out, "},\n");
}

static void write_interval(writer *w, const hone_library_interval *x)
{
  hone_text_add(w->out, "  {%d, %d, ", x->entry, x->axis);
  add_int(w, x->lo);
  hone_text_add(w->out, ", ");
  add_int(w, x->hi);
  hone_text_add(w->out, ", ");
  add_real(w, x->loss_pct);
  hone_text_add(w->out, ", ");
  add_int(w, x->loss_at);
  hone_text_add(w->out, ", %d, ", x->basis == HONE_LOSS_OF_BOUND);
  add_real(w, x->sim_loss_pct);
  hone_text_add(w->out, ", %d, ", x->sim_samples);
  add_real(w, x->margin_pct);
  hone_text_add(w->out, "},\n");
}

static void write_table(writer *w, int f, const hone_library_family *x, const hone_header_keys *t)
{
  const int n = x->spec.nsizes;
  open_table(w, "int64_t ", f, "keys");
  if (n == 0 || t->nkeys == 0) hone_text_add(w->out, "  0,\n");
  for (int i = 0; n > 0 && i < t->nkeys * n; i++) {
    hone_text_add(w->out, i % n ? ", " : "  ");
    add_int(w, t->key[i]);
    if (i % n == n - 1) hone_text_add(w->out, ",\n");
  }
  close_table(w);
  hone_text_add(w->out, "static const %s_slot %s_%d_slots[] = {\n", w->prefix, w->prefix, f);
  for (int i = 0; i < 1 << t->bits; i++) {
    hone_text_add(w->out, i % 8 ? " " : "  ");
    if (t->slot[i] < 0) hone_text_add(w->out, "{0, -1},");
    else hone_text_add(w->out, "{0x%xu, %d},", (unsigned)(t->hash[t->slot[i]] & 0xffffffff), t->slot[i]);
    if (i % 8 == 7 || i + 1 == 1 << t->bits) hone_text_add(w->out, "\n");
  }
  close_table(w);
  if (x->nintervals == 0) return;
  open_table(w, "int ", f, "groups");
  for (int g = 0; g <= t->ngroups; g++) hone_text_add(w->out, "%s%d,", g % 16 ? " " : g ? "\n  " : "  ", t->group[g]);
  hone_text_add(w->out, "\n");
  close_table(w);
  open_table(w, "int64_t ", f, "lows");
  for (int i = 0; i < x->nintervals; i++) {
    hone_text_add(w->out, i % 8 ? " " : i ? "\n  " : "  ");
    add_int(w, x->interval[i].lo);
    hone_text_add(w->out, ",");
  }
  hone_text_add(w->out, "\n");
  close_table(w);
}

/* ---- rows -------------------------------------------------------------------------- */

static void write_family_tables(writer *w, int f, const hone_header_keys *t)
{
  const hone_library_family *x = &w->l->family[f];
  write_size_names(w, f, x);
  write_table(w, f, x, t);
  if (x->nentries > 0) {
    hone_text_add(w->out, "static const %s_entry %s_%d_entries[] = {\n", w->prefix, w->prefix, f);
    for (int i = 0; i < x->nentries; i++) write_entry(w, f, x->spec.nsizes, i, &x->entry[i]);
    close_table(w);
  }
  if (x->nintervals > 0) {
    hone_text_add(w->out, "static const %s_interval %s_%d_intervals[] = {\n", w->prefix, w->prefix, f);
    for (int i = 0; i < x->nintervals; i++) write_interval(w, &x->interval[i]);
    close_table(w);
  }
}

/* ", demo_0_sizes", or ", NULL" for a table that would be empty, which C has not. */
static void refer(writer *w, bool there, int f, const char *what)
{
  if (there) hone_text_add(w->out, ", %s_%d_%s", w->prefix, f, what);
  else hone_text_add(w->out, ", NULL");
}

static void write_family_row(writer *w, int f, const hone_header_keys *t)
{
  const hone_library_family *x = &w->l->family[f];
  const bool sizes = x->spec.nsizes > 0, intervals = x->nintervals > 0;
  uint32_t axes = 0;
  for (int i = 0; i < x->nintervals; i++) axes |= UINT32_C(1) << x->interval[i].axis;
  hone_text spec = {0};
  hone_spec_print(&x->spec, &spec);
  hone_text_add(w->out, "  {");
  add_string(w, x->id);
  hone_text_add(w->out, ",\n   ");
  add_string(w, spec.data);
  hone_text_add(w->out, ",\n   ");
  add_string(w, x->machine_name);
  hone_text_add(w->out, ", ");
  add_string(w, x->machine_hash);
  hone_text_add(w->out, ", ");
  add_int(w, x->clock_hz);
  hone_text_add(w->out, ",\n   %d, %d, %d", x->spec.nsizes, x->nentries, x->nintervals);
  refer(w, sizes, f, "size_names");
  refer(w, x->nentries > 0, f, "entries");
  refer(w, intervals, f, "intervals");
  hone_text_add(w->out, ",\n   ");
  add_string(w, x->fallback);
  refer(w, sizes, f, "fallback_size");
  hone_text_add(w->out, ",\n   ");
  add_string(w, x->fallback_reason);
  refer(w, true, f, "keys");
  refer(w, true, f, "slots");
  hone_text_add(w->out, ", %d, 0x%xu", t->bits, (unsigned)axes);
  refer(w, intervals, f, "groups");
  refer(w, intervals, f, "lows");
  hone_text_add(w->out, "},\n");
  hone_text_fini(&spec);
}

static void write_factors(writer *w)
{
  hone_text_add(w->out, "static const uint64_t %s_factor[] = {", w->prefix);
  for (int s = 0; s < w->most_sizes; s++) hone_text_add(w->out, "%sUINT64_C(0x%" PRIx64 "),", s % 4 ? " " : "\n  ", hone_header_factor(s));
  hone_text_add(w->out, "\n};\n\n");
}

static void write_tables(writer *w)
{
  hone_text *whole = w->out, tables = {0};
  w->out = &tables;
  write_factors(w);
  hone_header_keys *t = hone_heap_alloc((size_t)w->l->nfamilies + 1, sizeof *t);
  for (int f = 0; f < w->l->nfamilies; f++) {
    hone_header_keys_init(&w->l->family[f], &t[f]);
    write_family_tables(w, f, &t[f]);
  }
  hone_text_add(w->out, "static const %s_family %s_families[] = { /* by id */\n", w->prefix, w->prefix);
  for (int f = 0; f < w->l->nfamilies; f++) {
    write_family_row(w, f, &t[f]);
    hone_header_keys_fini(&t[f]);
  }
  free(t);
  if (w->l->nfamilies == 0) hone_text_add(w->out, "  {NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 0, NULL, NULL}\n");
  close_table(w);
  w->out = whole;
  hone_text_add_bytes(whole, w->texts.data, w->texts.length);
  hone_text_add_bytes(whole, tables.data, tables.length);
  hone_text_fini(&tables);
}

/* ---- functions ---------------------------------------------------------------- */

static void write_function(writer *w, int f, const char *name)
{
  const hone_spec *spec = &w->l->family[f].spec;
  hone_header_name parameter[HONE_MAX_SIZES];
  hone_text text = {0};
  hone_header_name_parameters(w->prefix, spec, parameter);
  hone_spec_print(spec, &text);
  hone_text_add(w->out, "/* ");
  add_comment(w, text.data);
  hone_text_add(w->out, " on ");
  add_comment(w, w->l->family[f].machine_name);
  hone_text_add(w->out, " */\n%s_FUNCTION %s_answer %s_%s(", w->prefix, w->prefix, w->prefix, name);
  for (int k = 0; k < spec->nsizes; k++) hone_text_add(w->out, "%sint64_t %s", k ? ", " : "", parameter[k]);
  hone_text_add(w->out, "%s)\n{\n  int64_t asked[%s_MAX_SIZES];\n", spec->nsizes ? "" : "void", w->prefix);
  for (int k = 0; k < spec->nsizes; k++) hone_text_add(w->out, "  asked[%d] = %s;\n", k, parameter[k]);
  if (spec->nsizes == 0) hone_text_add(w->out, "  asked[0] = 0;\n");
  hone_text_add(w->out, "  return %s_lookup(&%s_families[%d], asked);\n}\n\n", w->prefix, w->prefix, f);
  hone_text_fini(&text);
}

static void write_functions(writer *w)
{
  hone_header_name *name = hone_header_name_families(w->l);
  for (int f = 0; f < w->l->nfamilies; f++) write_function(w, f, name[f]);
  free(name);
}

/* ---- the whole ---------------------------------------------------------------- */

static void write_line(writer *w, const char *line)
{
  for (const char *next; (next = strstr(line, HONE_HEADER_PLACE)); line = next + strlen(HONE_HEADER_PLACE)) {
    hone_text_add_bytes(w->out, line, (size_t)(next - line));
    hone_text_add(w->out, "%s_", w->prefix);
  }
  hone_text_add(w->out, "%s\n", line);
}

static void write_body(writer *w)
{
  w->most_sizes = 1;
  for (int f = 0; f < w->l->nfamilies; f++)
    if (w->l->family[f].spec.nsizes > w->most_sizes) w->most_sizes = w->l->family[f].spec.nsizes;
  hone_text_add(w->out, "enum { %s_FAMILIES = %d, %s_MAX_SIZES = %d };\n", w->prefix, w->l->nfamilies, w->prefix, w->most_sizes);
  for (int i = 0; i < hone_header_template_lines; i++) {
    if (strcmp(hone_header_template[i], "@tables@") == 0) write_tables(w);
    else if (strcmp(hone_header_template[i], "@functions@") == 0) write_functions(w);
    else write_line(w, hone_header_template[i]);
  }
}

static void write_intro(writer *w)
{
  hone_text_add(w->out, "/* Tuned schedules: library ");
  add_comment(w, w->l->name);
  hone_text_add(w->out, ", written by ");
  add_comment(w, w->l->writer ? w->l->writer : "hone");
  hone_text_add(w->out, ". Made by a program: do not\n"
                        " * edit. C99 or C++17, no other file is needed, threads may share it. In short:\n *\n"
                        " *   %s_answer a = %s_lookup(%s_find(\"ID\"), sizes);  or a family's own function\n"
                        " *   a.kind, a.schedule, a.loss_pct                      exact, near or fallback\n"
                        " *   char why[240]; %s_reason(&a, why, sizeof why);      in words\n"
                        " *\n * Families, with their functions at the end of this file:\n",
                w->prefix, w->prefix, w->prefix, w->prefix);
  for (int f = 0; f < w->l->nfamilies; f++) {
    hone_text_add(w->out, " *   ");
    add_comment(w, w->l->family[f].id);
    hone_text_add(w->out, "\n");
  }
  hone_text_add(w->out, " */\n");
}

/* The guard has the content's hash: a second library of one name is an error, not
 * silently the first. */
static void write_guarded(writer *w, const hone_text *body)
{
  const char *p = w->prefix;
  const unsigned hash = (unsigned)(hone_hash_bytes(body->data, body->length).lo & 0xffffffff);
  write_intro(w);
  hone_text_add(w->out, "#if defined(HONE_LIBRARY_%s) && HONE_LIBRARY_%s != 0x%08xu\n"
                        "#error \"two libraries have the name %s: give one another with hone emit --name\"\n#endif\n"
                        "#ifndef HONE_LIBRARY_%s\n#define HONE_LIBRARY_%s 0x%08xu\n\n"
                        "#include <stddef.h>\n#include <stdint.h>\n\n"
                        "#if defined(__GNUC__)\n#define %s_FUNCTION static inline __attribute__((__unused__))\n"
                        "#else\n#define %s_FUNCTION static inline\n#endif\n\n",
                p, p, hash, p, p, p, hash, p, p);
  hone_text_add_bytes(w->out, body->data, body->length);
  hone_text_add(w->out, "#undef %s_FUNCTION\n#endif\n", p);
}

void hone_library_write_header(const hone_library *l, hone_text *out)
{
  hone_text body = {0};
  writer w = {.l = l, .out = &body, .arena = hone_arena_new()};
  hone_header_name_library(l, w.prefix);
  write_body(&w);
  w.out = out;
  write_guarded(&w, &body);
  hone_text_fini(&body);
  hone_text_fini(&w.texts);
  hone_arena_free(w.arena);
  free(w.long_text);
}
