/* Identifiers for a library's C header, whatever its operators and sizes are
 * called. Valid and distinct in C99 and C++17, and no keyword, reserved name or
 * likely macro. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "library/header_int.h"

/* The build makes the lines of header_template.txt strings. */
const char *const hone_header_template[] = {
#include "header_template.inc"
};
const int hone_header_template_lines = sizeof hone_header_template / sizeof hone_header_template[0];

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_name_char(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

/* Letters, digits and single underscores between them: names with two in a row or
 * one in front are the compiler's. */
static void mangle(const char *s, const char *otherwise, hone_header_name out)
{
  size_t n = 0;
  if (is_digit(*s)) out[n++] = otherwise[0];
  for (; *s && n < HONE_HEADER_NAME - 16; s++) { /* room for a suffix */
    char c = is_letter(*s) || is_digit(*s) ? *s : '_';
    if (c == '_' && (n == 0 || out[n - 1] == '_')) continue;
    out[n++] = c;
  }
  while (n > 0 && out[n - 1] == '_') n--;
  out[n] = '\0';
  if (n == 0) snprintf(out, HONE_HEADER_NAME, "%s", otherwise);
}

/* Does the template use this name after the prefix? */
static bool in_template(const char *name)
{
  const size_t n = strlen(name), place = strlen(HONE_HEADER_PLACE);
  for (int i = 0; i < hone_header_template_lines; i++)
    for (const char *s = hone_header_template[i]; (s = strstr(s, HONE_HEADER_PLACE)); s += place)
      if (strncmp(s + place, name, n) == 0 && !is_name_char(s[place + n])) return true;
  return false;
}

/* name, or name_2, name_3: the first that none of the n before has. */
static void make_distinct(const char *name, const hone_header_name *before, int n, bool (*taken)(const char *), hone_header_name out)
{
  bool again = true;
  for (int k = 1; again; k++) {
    if (k == 1) snprintf(out, HONE_HEADER_NAME, "%s", name);
    else snprintf(out, HONE_HEADER_NAME, "%.*s_%d", HONE_HEADER_NAME - 16, name, k);
    again = taken && taken(out);
    for (int i = 0; i < n && !again; i++) again = strcmp(before[i], out) == 0;
  }
}

void hone_header_name_library(const hone_library *l, hone_header_name out) { mangle(l->name, "library", out); }

hone_header_name *hone_header_name_families(const hone_library *l)
{
  hone_header_name *name = hone_heap_alloc((size_t)l->nfamilies + 1, sizeof *name), plain;
  for (int f = 0; f < l->nfamilies; f++) {
    mangle(l->family[f].id, "family", plain);
    make_distinct(plain, name, f, in_template, name[f]);
  }
  return name;
}

static const char *const c_word[] = {
#define HONE_C_WORD(word) word,
#include "library/c_word.def"
#undef HONE_C_WORD
};

/* May a parameter be called so? Not a keyword, a type, a macro such as SIZE_MAX, a
 * name of this header, or the function's own variable. */
static bool is_parameter_name(const char *prefix, const char *s)
{
  const size_t n = strlen(s), p = strlen(prefix);
  for (size_t i = 0; i < sizeof c_word / sizeof c_word[0]; i++)
    if (strcmp(c_word[i], s) == 0) return false;
  if (strcmp(s, "asked") == 0 || (n > 2 && strcmp(s + n - 2, "_t") == 0)) return false;
  if (strncmp(s, prefix, p) == 0 && s[p] == '_') return false;
  for (const char *c = s; *c; c++)
    if (*c >= 'a' && *c <= 'z') return true;
  return n < 3;
}

void hone_header_name_parameters(const char *prefix, const hone_spec *spec, hone_header_name *out)
{
  for (int k = 0; k < spec->nsizes; k++) {
    hone_header_name plain, name;
    mangle(spec->size[k].name, "size", plain);
    snprintf(name, sizeof name, "%s%.*s", is_parameter_name(prefix, plain) ? "" : "size_", HONE_MAX_NAME, plain);
    make_distinct(name, out, k, NULL, out[k]);
  }
}
