/* JSON for the shell tests, so that they need nothing installed:
 *   json_path FILE a.b.0.c          prints that value (strings bare); exit 1 when absent
 *   json_path --length FILE a.b     prints the length of an array or object
 *   json_path --same FILE FILE KEY...  equal but for members named KEY, anywhere?
 *   json_path --schema SCHEMA FILE  valid, in the sense of tests/lib/json_schema.h?
 * Without arguments it checks itself, for it is run as a test like the others. */
#include "config.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json_schema.h"

static json_t *load(const char *path)
{
  json_error_t e;
  json_t *j = json_load_file(path, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
  if (j) return j;
  fprintf(stderr, "%s:%d:%d: %s\n", path, e.line, e.column, e.text);
  exit(2);
}

static json_t *walk(json_t *j, const char *path)
{
  char part[128];
  while (j && *path) {
    size_t n = strcspn(path, ".");
    snprintf(part, sizeof part, "%.*s", (int)n, path);
    j = json_is_array(j) ? json_array_get(j, (size_t)strtoul(part, NULL, 10)) : json_object_get(j, part);
    path += n + (path[n] == '.');
  }
  return j;
}

static int print_value(json_t *j)
{
  if (!j) return 1;
  if (json_is_string(j)) {
    puts(json_string_value(j));
    return 0;
  }
  char *s = json_dumps(j, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(12));
  puts(s);
  free(s);
  return 0;
}

static int print_length(json_t *j)
{
  if (!j) return 1;
  printf("%zu\n", json_is_array(j) ? json_array_size(j) : json_object_size(j));
  return 0;
}

static void strip(json_t *j, int n, char **keys)
{
  const char *key;
  void *next;
  size_t i;
  json_t *v;
  for (int k = 0; k < n; k++) json_object_del(j, keys[k]);
  json_object_foreach_safe(j, next, key, v) strip(v, n, keys);
  json_array_foreach(j, i, v) strip(v, n, keys);
}

static int check(json_t *schema, json_t *j, bool tell)
{
  char say[2048];
  int bad = json_schema_check(schema, j, say, sizeof say);
  if (bad && tell) fputs(say, stderr);
  return bad;
}

static int self_check(void)
{
  json_t *doc = json_loads("{\"a\": [{\"b\": 7}], \"t\": 1.5}", 0, NULL);
  json_t *schema = json_loads("{\"type\": \"object\", \"required\": [\"a\", \"c\"],"
                              " \"properties\": {\"a\": {\"items\": {\"$ref\": \"#/$defs/x\"}}, \"t\": {\"type\": \"integer\"}},"
                              " \"$defs\": {\"x\": {\"required\": [\"b\"]}}}", 0, NULL);
  char *keys[] = { (char[]){ "b" } };
  int bad = json_integer_value(walk(doc, "a.0.b")) != 7;
  bad += check(schema, doc, false) != 2; /* c is missing, t is no integer */
  strip(doc, 1, keys);
  bad += walk(doc, "a.0.b") != NULL;
  bad += check(schema, doc, false) != 3;
  json_decref(doc);
  json_decref(schema);
  return bad != 0;
}

static int compare_documents(json_t *a, json_t *b, int nkeys, char **key)
{
  strip(a, nkeys, key);
  strip(b, nkeys, key);
  return !json_equal(a, b);
}

int main(int argc, char **argv)
{
  if (argc < 2) return self_check();
  const char *mode = argv[1];
  bool length = argc == 4 && strcmp(mode, "--length") == 0, schema = argc == 4 && strcmp(mode, "--schema") == 0;
  bool same = argc >= 4 && strcmp(mode, "--same") == 0;
  if (!length && !schema && !same && argc != 3) {
    fprintf(stderr, "usage: see the head of json_path.c\n");
    return 2;
  }
  json_t *a = load(argv[length || schema || same ? 2 : 1]), *b = schema || same ? load(argv[3]) : NULL;
  int code = length   ? print_length(walk(a, argv[3]))
             : schema ? check(a, b, true) != 0
             : same   ? compare_documents(a, b, argc - 4, argv + 4)
                      : print_value(walk(a, argv[2]));
  json_decref(a);
  json_decref(b);
  return code;
}
