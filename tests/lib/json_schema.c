/* See the header. One function per group of keywords; each returns the number of
 * violations below its place. anyOf, oneOf and allOf ask for the verdict only. */
#include "config.h"

#include "lib/json_schema.h"

#include <regex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  json_t *root;
  char *say;
  size_t n;
} validator;

static int check(validator *v, json_t *schema, json_t *j, const char *where);

static int complain(validator *v, const char *where, const char *fmt, ...)
{
  size_t used = v->say ? strlen(v->say) : 0;
  if (!v->say || used + 1 >= v->n) return 1;
  char what[256];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  snprintf(v->say + used, v->n - used, "%s: %s\n", where[0] ? where : "document", what);
  return 1;
}

/* ---- patterns: compiled once each ---------------------------------------------------- */

enum { MAX_PATTERNS = 64 };
static struct {
  char *text;
  regex_t compiled;
} patterns[MAX_PATTERNS];
static int npatterns;

static bool matches(const char *pattern, const char *s)
{
  int i = 0;
  while (i < npatterns && strcmp(patterns[i].text, pattern) != 0) i++;
  if (i == npatterns) {
    if (npatterns == MAX_PATTERNS || regcomp(&patterns[i].compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
      fprintf(stderr, "json_schema: cannot use pattern %s\n", pattern);
      abort();
    }
    patterns[npatterns++].text = strdup(pattern);
  }
  return regexec(&patterns[i].compiled, s, 0, NULL, 0) == 0;
}

/* ---- keywords -------------------------------------------------------------------------- */

static bool has_type(const json_t *j, const char *type)
{
  static const struct {
    const char *name;
    json_type a, b;
  } row[] = { { "object", JSON_OBJECT, JSON_OBJECT }, { "array", JSON_ARRAY, JSON_ARRAY }, { "string", JSON_STRING, JSON_STRING },
              { "integer", JSON_INTEGER, JSON_INTEGER }, { "number", JSON_INTEGER, JSON_REAL }, { "boolean", JSON_TRUE, JSON_FALSE },
              { "null", JSON_NULL, JSON_NULL } };
  for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
    if (strcmp(row[i].name, type) == 0) return json_typeof(j) == row[i].a || json_typeof(j) == row[i].b;
  return false;
}

static int check_type(validator *v, json_t *schema, const json_t *j, const char *where)
{
  size_t i;
  json_t *t, *type = json_object_get(schema, "type");
  if (!type) return 0;
  if (json_is_string(type)) return has_type(j, json_string_value(type)) ? 0 : complain(v, where, "is no %s", json_string_value(type));
  json_array_foreach(type, i, t)
    if (has_type(j, json_string_value(t))) return 0;
  return complain(v, where, "wrong type");
}

static int check_values(validator *v, json_t *schema, json_t *j, const char *where)
{
  size_t i;
  json_t *x, *list = json_object_get(schema, "enum"), *one = json_object_get(schema, "const");
  int bad = one && !json_equal(one, j) ? complain(v, where, "is not the one value") : 0;
  if (!list) return bad;
  json_array_foreach(list, i, x)
    if (json_equal(x, j)) return bad;
  return bad + complain(v, where, "not one of the listed values");
}

static int check_limit(validator *v, json_t *schema, const char *least, const char *most, double have, const char *where)
{
  json_t *min = json_object_get(schema, least), *max = json_object_get(schema, most);
  if (min && have < json_number_value(min)) return complain(v, where, "below %s", least);
  if (max && have > json_number_value(max)) return complain(v, where, "above %s", most);
  return 0;
}

static int check_scalar(validator *v, json_t *schema, json_t *j, const char *where)
{
  if (json_is_number(j)) return check_limit(v, schema, "minimum", "maximum", json_number_value(j), where);
  if (!json_is_string(j)) return 0;
  json_t *pattern = json_object_get(schema, "pattern");
  int bad = check_limit(v, schema, "minLength", "maxLength", (double)json_string_length(j), where);
  if (pattern && !matches(json_string_value(pattern), json_string_value(j)))
    bad += complain(v, where, "'%.80s' does not match %.120s", json_string_value(j), json_string_value(pattern));
  return bad;
}

static int check_member(validator *v, json_t *schema, const char *key, json_t *j, const char *where)
{
  const char *pattern;
  json_t *s, *known = json_object_get(json_object_get(schema, "properties"), key), *others = json_object_get(schema, "additionalProperties");
  json_t *names = json_object_get(schema, "propertyNames");
  bool found = known != NULL;
  int bad = known ? check(v, known, j, where) : 0;
  json_object_foreach(json_object_get(schema, "patternProperties"), pattern, s)
    if (matches(pattern, key)) {
      found = true;
      bad += check(v, s, j, where);
    }
  if (!found && others) bad += json_is_false(others) ? complain(v, where, "is not known here") : check(v, others, j, where);
  if (names) {
    json_t *name = json_string(key);
    bad += check(v, names, name, where);
    json_decref(name);
  }
  return bad;
}

static int check_object(validator *v, json_t *schema, json_t *j, const char *where)
{
  char at[256];
  size_t i;
  const char *key;
  json_t *x;
  int bad = check_limit(v, schema, "minProperties", "maxProperties", (double)json_object_size(j), where);
  json_array_foreach(json_object_get(schema, "required"), i, x) {
    if (json_object_get(j, json_string_value(x))) continue;
    snprintf(at, sizeof at, "%.120s.%.100s", where, json_string_value(x));
    bad += complain(v, at, "missing");
  }
  json_object_foreach(j, key, x) {
    snprintf(at, sizeof at, "%.120s.%.100s", where, key);
    bad += check_member(v, schema, key, x, at);
  }
  return bad;
}

static int check_array(validator *v, json_t *schema, json_t *j, const char *where)
{
  char at[256];
  size_t i;
  json_t *x, *items = json_object_get(schema, "items");
  int bad = check_limit(v, schema, "minItems", "maxItems", (double)json_array_size(j), where);
  json_array_foreach(j, i, x) {
    snprintf(at, sizeof at, "%.120s.%zu", where, i);
    if (items) bad += check(v, items, x, at);
  }
  return bad;
}

static int check_choices(validator *v, json_t *schema, json_t *j, const char *where)
{
  size_t i;
  json_t *x, *any = json_object_get(schema, "anyOf"), *one = json_object_get(schema, "oneOf");
  validator quiet = { .root = v->root };
  int bad = 0, fit = 0;
  json_array_foreach(json_object_get(schema, "allOf"), i, x) bad += check(v, x, j, where);
  json_array_foreach(any, i, x) fit += check(&quiet, x, j, where) == 0;
  if (any && fit == 0) bad += complain(v, where, "fits none of anyOf");
  fit = 0;
  json_array_foreach(one, i, x) fit += check(&quiet, x, j, where) == 0;
  if (one && fit != 1) bad += complain(v, where, "fits %d of oneOf", fit);
  return bad;
}

static void check_keywords(json_t *schema)
{
  static const char *const known[] = { "$schema", "$defs", "$ref", "title", "description", "type", "enum", "const", "required", "properties",
                                       "patternProperties", "additionalProperties", "propertyNames", "items", "anyOf", "oneOf", "allOf", "pattern",
                                       "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties" };
  const char *key;
  json_t *x;
  json_object_foreach(schema, key, x) {
    size_t i = 0;
    while (i < sizeof known / sizeof known[0] && strcmp(known[i], key) != 0) i++;
    if (i < sizeof known / sizeof known[0]) continue;
    fprintf(stderr, "json_schema: keyword %s is not understood\n", key);
    abort();
  }
}

static int check(validator *v, json_t *schema, json_t *j, const char *where)
{
  static const char defs[] = "#/$defs/";
  if (json_is_boolean(schema)) return json_is_true(schema) ? 0 : complain(v, where, "is not allowed");
  check_keywords(schema);
  int bad = 0;
  json_t *ref = json_object_get(schema, "$ref");
  if (ref) {
    const char *name = json_string_value(ref);
    json_t *to = strncmp(name, defs, sizeof defs - 1) == 0 ? json_object_get(json_object_get(v->root, "$defs"), name + sizeof defs - 1) : NULL;
    bad += to ? check(v, to, j, where) : complain(v, where, "the schema's %s is not there", name);
  }
  bad += check_type(v, schema, j, where) + check_values(v, schema, j, where) + check_scalar(v, schema, j, where);
  if (json_is_object(j)) bad += check_object(v, schema, j, where);
  if (json_is_array(j)) bad += check_array(v, schema, j, where);
  return bad + check_choices(v, schema, j, where);
}

int json_schema_check(json_t *schema, json_t *document, char *say, size_t n)
{
  validator v = { schema, say, n };
  if (say && n > 0) say[0] = '\0';
  return check(&v, schema, document, "");
}
