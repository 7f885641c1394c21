/* Options: parsing, help and man text from one table of rows; see option.h. */
#include "config.h"

#include "base/option.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { LIST_MAX = sizeof((hone_option_value *)0)->list / sizeof(char *), HELP_WIDTH = 80 };

/* What the functions of one parse share. */
typedef struct {
  const hone_option *rows;
  int n;
  hone_option_value *values;
  hone_err *err;
} parse;

static const char *row_name(void *arg, int i) { return ((const hone_option *)arg)[i].name; }

static int find_row(const parse *p, const char *name, size_t length)
{
  for (int i = 0; i < p->n; i++)
    if (strlen(p->rows[i].name) == length && memcmp(p->rows[i].name, name, length) == 0) return i;
  return -1;
}

static hone_status unknown_option(const parse *p, const char *word, size_t length)
{
  char name[64];
  size_t keep = length < sizeof name ? length : sizeof name - 1;
  memcpy(name, word, keep);
  name[keep] = '\0';
  hone_err_set(p->err, HONE_USAGE, "option.unknown", "unknown option '%s%s'", word[0] == '-' ? "" : "--", name);
  const char *near = hone_text_nearest(name, p->n, row_name, (void *)(uintptr_t)p->rows);
  if (near) hone_err_hint(p->err, "did you mean '--%s'?", near);
  else if (find_row(p, "help", 4) >= 0) hone_err_hint(p->err, "--help lists the options");
  return HONE_USAGE;
}

static hone_status check_range(const parse *p, const hone_option *row, bool inside, const char *text)
{
  if (inside) return HONE_OK;
  return hone_err_set(p->err, HONE_USAGE, "option.range", "--%s: '%s' is out of range: must be %" PRId64 " to %" PRId64,
                      row->name, text, row->min, row->max);
}

static hone_status bad_value(const parse *p, const hone_option *row, const char *text, const char *expected)
{
  return hone_err_set(p->err, HONE_USAGE, "option.value", "--%s: '%s' is not %s", row->name, text, expected);
}

/* Collects the pieces as one comma-joined text; split_list cuts it at the end. */
static void add_to_list(hone_option_value *v, const char *text)
{
  size_t old = v->storage ? strlen(v->storage) + 1 : 0, more = strlen(text);
  v->storage = hone_heap_realloc(v->storage, old + more + 1, 1);
  if (old) v->storage[old - 1] = ',';
  memcpy(v->storage + old, text, more + 1);
}

static hone_status split_list(const parse *p, const hone_option *row, hone_option_value *v)
{
  for (char *piece = v->storage, *comma; piece; piece = comma) {
    comma = strchr(piece, ',');
    if (comma) *comma++ = '\0';
    if (!*piece) return hone_err_set(p->err, HONE_USAGE, "option.value", "--%s: an item of the list is empty", row->name);
    if (v->nlist == LIST_MAX)
      return hone_err_set(p->err, HONE_USAGE, "option.value", "--%s: more than %d items", row->name, LIST_MAX);
    v->list[v->nlist++] = piece;
  }
  return HONE_OK;
}

static hone_status set_value(const parse *p, int i, const char *text)
{
  const hone_option *row = &p->rows[i];
  hone_option_value *v = &p->values[i];
  v->text = text;
  switch (row->type) {
  case HONE_OPTION_FLAG:
    v->i = 1;
    return HONE_OK;
  case HONE_OPTION_INT:
    if (!hone_text_parse_int(text, &v->i)) return bad_value(p, row, text, "a whole number");
    return check_range(p, row, v->i >= row->min && v->i <= row->max, text);
  case HONE_OPTION_REAL:
    if (!hone_text_parse_real(text, &v->r)) return bad_value(p, row, text, "a number");
    return check_range(p, row, v->r >= (double)row->min && v->r <= (double)row->max, text);
  case HONE_OPTION_TEXT:
    return HONE_OK;
  case HONE_OPTION_LIST:
    add_to_list(v, text);
    return HONE_OK;
  }
  return hone_err_set(p->err, HONE_INTERNAL, "option.type", "--%s has no known type", row->name);
}

/* One "--name", "--name=value" or "--name value"; *next moves past what it used. */
static hone_status parse_option(const parse *p, int argc, char **argv, int *next)
{
  const char *word = argv[(*next)++] + 2, *equal = strchr(word, '=');
  size_t length = equal ? (size_t)(equal - word) : strlen(word);
  int i = find_row(p, word, length);
  if (i < 0) return unknown_option(p, word, length);
  const hone_option *row = &p->rows[i];
  if (p->values[i].given && row->type != HONE_OPTION_LIST)
    return hone_err_set(p->err, HONE_USAGE, "option.twice", "--%s is given twice", row->name);
  p->values[i].given = true;
  if (row->type == HONE_OPTION_FLAG) {
    if (equal) return hone_err_set(p->err, HONE_USAGE, "option.value", "--%s takes no value", row->name);
    return set_value(p, i, "");
  }
  if (equal) return set_value(p, i, equal + 1);
  if (*next >= argc || strncmp(argv[*next], "--", 2) == 0)
    return hone_err_set(p->err, HONE_USAGE, "option.value", "--%s needs %s", row->name, row->argument ? row->argument : "a value");
  return set_value(p, i, argv[(*next)++]);
}

static hone_status finish(const parse *p)
{
  const int help = find_row(p, "help", 4);
  const bool asked = help >= 0 && p->values[help].given; /* for help: nothing else is required then */
  for (int i = 0; i < p->n; i++) {
    const hone_option *row = &p->rows[i];
    hone_option_value *v = &p->values[i];
    hone_status s = HONE_OK;
    if (!v->given && row->required && !asked) {
      hone_err_set(p->err, HONE_USAGE, "option.missing", "--%s is required", row->name);
      hone_err_hint(p->err, "%s", row->help);
      return HONE_USAGE;
    }
    if (!v->given && row->fallback) s = set_value(p, i, row->fallback);
    if (s == HONE_OK && v->storage) s = split_list(p, row, v);
    if (s != HONE_OK) return s;
  }
  return HONE_OK;
}

static hone_status add_positional(const parse *p, const char *word, const char **positional, int max, int *n)
{
  if (!n) return hone_err_set(p->err, HONE_USAGE, "option.positional", "unexpected argument '%s'", word);
  if (*n >= max)
    return hone_err_set(p->err, HONE_USAGE, "option.positional", "unexpected argument '%s' (at most %d)", word, max);
  positional[(*n)++] = word;
  return HONE_OK;
}

hone_status hone_options_parse(const hone_option *rows, int n, int argc, char **argv, hone_option_value *values,
                               const char **positional, int max_positional, int *npositional, hone_err *err)
{
  const parse p = {rows, n, values, err};
  bool only_positional = false; /* after "--" */
  if (n > 0) memset(values, 0, (size_t)n * sizeof *values);
  if (npositional) *npositional = 0;
  for (int i = 0; i < argc;) {
    const char *word = argv[i];
    hone_status s = HONE_OK;
    if (!only_positional && strcmp(word, "--") == 0) {
      only_positional = true;
      i++;
    } else if (!only_positional && strncmp(word, "--", 2) == 0)
      s = parse_option(&p, argc, argv, &i);
    else if (!only_positional && word[0] == '-' && word[1])
      s = unknown_option(&p, word, strlen(word));
    else {
      s = add_positional(&p, word, positional, max_positional, npositional);
      i++;
    }
    if (s != HONE_OK) return s;
  }
  return finish(&p);
}

void hone_options_fini(hone_option_value *values, int n)
{
  for (int i = 0; i < n; i++) {
    free(values[i].storage);
    values[i] = (hone_option_value){0};
  }
}

static int heading_width(const hone_option *row)
{
  return (int)strlen(row->name) + 2 + (row->argument ? (int)strlen(row->argument) + 1 : 0);
}

static void add_spaces(hone_text *out, int n) { hone_text_add(out, "%*s", n, ""); }

/* Words of s from column `at` on, wrapped at HELP_WIDTH with indent `left`. */
static void add_wrapped(hone_text *out, const char *s, int left, int *at)
{
  while (*s) {
    int length = (int)strcspn(s, " ");
    if (*at > left && *at + 1 + length > HELP_WIDTH) {
      hone_text_add(out, "\n");
      add_spaces(out, left);
      *at = left;
    } else if (*at > left) {
      hone_text_add(out, " ");
      (*at)++;
    }
    hone_text_add_bytes(out, s, (size_t)length);
    *at += length;
    s += length;
    s += strspn(s, " ");
  }
}

static void add_facts(const hone_option *row, hone_text *out)
{
  if (row->required) hone_text_add(out, "(required)");
  if (row->fallback) hone_text_add(out, "(default %s)", row->fallback);
}

void hone_options_help(const hone_option *rows, int n, hone_text *out)
{
  int left = 0;
  for (int i = 0; i < n; i++)
    left = heading_width(&rows[i]) > left ? heading_width(&rows[i]) : left;
  left += 4; /* two before, two after */
  for (int i = 0; i < n; i++) {
    const hone_option *row = &rows[i];
    int at = left;
    hone_text facts = {0};
    hone_text_add(out, "  --%s%s%s", row->name, row->argument ? " " : "", row->argument ? row->argument : "");
    add_spaces(out, left - 2 - heading_width(row));
    add_wrapped(out, row->help, left, &at);
    add_facts(row, &facts);
    if (facts.data) add_wrapped(out, facts.data, left, &at);
    hone_text_add(out, "\n");
    hone_text_fini(&facts);
  }
}

/* roff reads a leading dot or quote as a request and may typeset '-'. */
void hone_roff_add(hone_text *out, const char *s)
{
  if (*s == '.' || *s == '\'') hone_text_add(out, "\\&");
  for (; *s; s++)
    if (*s == '-')
      hone_text_add(out, "\\-");
    else if (*s == '\\')
      hone_text_add(out, "\\e");
    else
      hone_text_add_bytes(out, s, 1);
}

void hone_options_man(const hone_option *rows, int n, hone_text *out)
{
  for (int i = 0; i < n; i++) {
    const hone_option *row = &rows[i];
    hone_text facts = {0};
    hone_text_add(out, ".TP\n\\fB\\-\\-");
    hone_roff_add(out, row->name);
    hone_text_add(out, "\\fR");
    if (row->argument) {
      hone_text_add(out, " \\fI");
      hone_roff_add(out, row->argument);
      hone_text_add(out, "\\fR");
    }
    hone_text_add(out, "\n");
    hone_roff_add(out, row->help);
    add_facts(row, &facts);
    if (facts.data) {
      hone_text_add(out, " ");
      hone_roff_add(out, facts.data);
    }
    hone_text_add(out, "\n");
    hone_text_fini(&facts);
  }
}
