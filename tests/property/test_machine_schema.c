/* The machine schema and the machine loader say the same. The machines that ship
 * are valid for both; of random edits of them (a member deleted, renamed, or given
 * a value of the wrong kind or unit)
 *   - what the loader takes, the schema takes;
 *   - what the loader refuses for its shape (an unknown or missing field, an unknown
 *     word, a wrong unit), the schema refuses.
 * Only the loader judges ranges, sources and what must fit together, and where a
 * text has a base what is missing.
 *
 *   test_machine_schema [SEED [CASES]]   reproduces a failure it printed */
#include "config.h"

#include <check.h>
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/yaml.h"
#include "ir/machine.h"
#include "lib/case_count.h"
#include "lib/json_schema.h"
#include "unit/unit.h"

#define MACHINES HONE_SRCDIR "/data/machines/"

enum { MAX_MACHINES = 64, MAX_EDITS = 3 };

static long long seed = 1, cases;
static json_t *schema, *machine[MAX_MACHINES];
static char name[MAX_MACHINES][64];
static int nmachines;

/* ---- YAML to JSON: plain scalars by the core schema ------------------------------------ */

static json_t *scalar(const char *text)
{
  int64_t v;
  bool b;
  if (hone_text_parse_bool(text, &b)) return json_boolean(b);
  return hone_text_parse_int(text, &v) ? json_integer(v) : json_string(text);
}

static json_t *to_json(hone_node *n)
{
  if (hone_node_is_mapping(n)) {
    json_t *o = json_object();
    for (int i = 0; i < hone_node_count(n); i++) json_object_set_new(o, hone_node_key(n, i), to_json(hone_node_value(n, i)));
    return o;
  }
  if (!hone_node_is_sequence(n)) return scalar(hone_node_text(n));
  json_t *list = json_array();
  for (int i = 0; i < hone_node_count(n); i++) json_array_append_new(list, to_json(hone_node_item(n, i)));
  return list;
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

static void load_all(void)
{
  json_error_t why;
  schema = json_load_file(HONE_SRCDIR "/data/schema/machine.schema.json", JSON_REJECT_DUPLICATES, &why);
  ck_assert_msg(schema != NULL, "%d: %s", why.line, why.text);
  DIR *d = opendir(MACHINES);
  ck_assert_ptr_nonnull(d);
  for (struct dirent *e; (e = readdir(d)) && nmachines < MAX_MACHINES;) {
    size_t n = strlen(e->d_name);
    if (n > 5 && n < sizeof name[0] && strcmp(e->d_name + n - 5, ".yaml") == 0) snprintf(name[nmachines++], sizeof name[0], "%.63s", e->d_name);
  }
  closedir(d);
  qsort(name, (size_t)nmachines, sizeof name[0], by_name);
  for (int i = 0; i < nmachines; i++) {
    char path[512];
    hone_yaml *y;
    hone_err err;
    hone_err_init(&err);
    snprintf(path, sizeof path, MACHINES "%s", name[i]);
    ck_assert_msg(hone_yaml_load(path, &y, &err) == HONE_OK, "%s: %s", path, err.message);
    machine[i] = to_json(hone_yaml_root(y));
    hone_yaml_free(y);
  }
}

static void free_all(void)
{
  for (int i = 0; i < nmachines; i++) json_decref(machine[i]);
  json_decref(schema);
}

/* ---- Edits -------------------------------------------------------------------------------- */

/* A member of the document, drawn evenly: counted first, then found. */
typedef struct {
  json_t *object;
  char key[64];
  int64_t at;
} member;

static void visit(json_t *j, member *m, int64_t *n)
{
  const char *key;
  json_t *v;
  json_object_foreach(j, key, v) {
    if (*n == m->at) {
      m->object = j;
      snprintf(m->key, sizeof m->key, "%s", key);
    }
    ++*n;
    visit(v, m, n);
  }
}

static json_t *any_value(hone_rng *r)
{
  static const char *const text[] = {
      "64 KiB", "64KiB", "1_024 B", "12", "0.5 kB", "3 ns", "2 cycles", "1 cycle", "1 per cycle", "1/2 per cycle", "2 GHz", "2 GHZ", "5 pJ",
      "5 pJ/B", "0.3 fJ/bit", "5 pJ/bits", "1 B/cycle", "3/2 B/cycle", "2 GB/s", "unlimited", "-4", "-4 B", "chip", "core", "pe", "tile",
      "matrix", "vector", "dma", "DDR4", "sram", "copies", "single-overlapped", "tensor", "true ", "1e3", "4 TB/s", "007", "1__0", "1_", " 5 B",
      "5 B ", "5  B", "1.5.0 B", ".5 B", "5. B",
  };
  switch (hone_rng_below(r, 8)) {
  case 0: return json_boolean((int)hone_rng_below(r, 2));
  case 1: return json_integer(hone_rng_below(r, 2) ? hone_rng_below(r, 1000) : 4096);
  case 2: return hone_rng_below(r, 2) ? json_object() : json_pack("{s:i}", "value", 3);
  case 3: return hone_rng_below(r, 2) ? json_pack("[s,s]", "input", "accumulate") : json_pack("[s,s]", "ws", "os");
  default: return json_string(text[hone_rng_below(r, (int64_t)(sizeof text / sizeof *text))]);
  }
}

static void edit(json_t *doc, hone_rng *r, hone_text *what)
{
  member m = {.at = -1};
  int64_t n = 0;
  visit(doc, &m, &n);
  m.at = hone_rng_below(r, n);
  n = 0;
  visit(doc, &m, &n);
  json_t *old = json_object_get(m.object, m.key);
  int kind = (int)hone_rng_below(r, 4);
  if (kind == 0) {
    hone_text_add(what, " -%s", m.key);
    json_object_del(m.object, m.key);
  } else if (kind == 1) { /* renamed: one letter more, or another field's name */
    static const char *const names[] = {"capacity", "rows", "link", "below", "macs", "bandwidth", "write_bandwidth", "buffering", "base_", "clock", "source_"};
    char key[80];
    if (hone_rng_below(r, 2)) snprintf(key, sizeof key, "%.70sx", m.key);
    else snprintf(key, sizeof key, "%s", names[hone_rng_below(r, (int64_t)(sizeof names / sizeof *names))]);
    if (json_object_get(m.object, key)) return;
    hone_text_add(what, " %s->%s", m.key, key);
    json_object_set(m.object, key, old);
    json_object_del(m.object, m.key);
  } else {
    json_t *v = hone_rng_below(r, 8) > 0 || json_is_object(old) ? any_value(r)
                : json_is_array(old)                            ? json_incref(json_array_get(old, 0))
                                                                : json_pack("[O]", old);
    char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
    bool inside = json_is_object(old) && json_object_get(old, "value") && hone_rng_below(r, 2);
    hone_text_add(what, " %s%s=%s", m.key, inside ? ".value" : "", text);
    if (inside) json_object_set_new(old, "value", v);
    else json_object_set_new(m.object, m.key, v);
    free(text);
  }
}

/* ---- Verdicts ------------------------------------------------------------------------------- */

static bool is_shape(const hone_err *err)
{
  static const char *const codes[] = {"machine.unknown-field", "machine.missing-field", "machine.unknown-word", "machine.unknown-preset",
                                      "unit.malformed", "unit.negative"};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (strcmp(err->code, codes[i]) == 0) return true;
  return false;
}

/* What the schema leaves to the loader: what only the first memory needs, or only the others. */
static bool loaders_alone(const hone_err *err, const json_t *doc)
{
  static const char *const fields[] = {".preset", ".channels", ".accepts"};
  if (strcmp(err->code, "machine.missing-field") != 0) return false;
  if (json_object_get(doc, "base")) return true;
  for (int i = 0; i < 3; i++) {
    size_t n = strlen(fields[i]), all = strlen(err->path);
    if (all > n && strcmp(err->path + all - n, fields[i]) == 0) return true;
  }
  return false;
}

static hone_status load(const json_t *doc, hone_err *err)
{
  static hone_machine m;
  char path[64];
  snprintf(path, sizeof path, "test_machine_schema_%ld.yaml", (long)getpid());
  hone_err_init(err);
  ck_assert_int_eq(json_dump_file(doc, path, JSON_INDENT(1)), 0);
  hone_status s = hone_machine_load(path, &m, err);
  unlink(path);
  return s;
}

START_TEST(shipped_machines_are_valid)
{
  ck_assert_int_ge(nmachines, 8);
  for (int i = 0; i < nmachines; i++) {
    char say[1024];
    ck_assert_msg(json_schema_check(schema, machine[i], say, sizeof say) == 0, "%s: %s", name[i], say);
  }
}
END_TEST

START_TEST(schema_and_loader_agree)
{
  hone_rng r;
  hone_rng_init(&r, (uint64_t)seed);
  long long taken = 0, shape = 0;
  for (long long c = 0; c < cases; c++) {
    int which = (int)hone_rng_below(&r, nmachines);
    json_t *doc = json_deep_copy(machine[which]);
    hone_text what = {0};
    hone_err err;
    char say[1024];
    if (json_object_get(doc, "base")) { /* next to this one: beside the original */
      char base[512];
      snprintf(base, sizeof base, MACHINES "%s", json_string_value(json_object_get(doc, "base")));
      json_object_set_new(doc, "base", json_string(base));
    }
    int64_t edits = 1 + hone_rng_below(&r, MAX_EDITS);
    for (int64_t i = 0; i < edits; i++) edit(doc, &r, &what);
    bool fits = json_schema_check(schema, doc, say, sizeof say) == 0;
    hone_status s = load(doc, &err);
    ck_assert_msg(s != HONE_OK || fits, "seed %lld, case %lld, %s%s: the loader takes it, the schema does not: %s", seed, c, name[which],
                  what.data ? what.data : "", say);
    bool by_shape = s != HONE_OK && is_shape(&err) && !loaders_alone(&err, doc);
    ck_assert_msg(!by_shape || !fits, "seed %lld, case %lld, %s%s: the schema takes it, the loader does not: %s at %s: %s", seed, c,
                  name[which], what.data ? what.data : "", err.code, err.path, err.message);
    taken += s == HONE_OK;
    shape += by_shape;
    hone_text_fini(&what);
    json_decref(doc);
  }
  printf("seed %lld, %lld cases, %lld taken, %lld refused for their shape\n", seed, cases, taken, shape);
  if (cases >= 1000) ck_assert(taken > cases / 100 && shape > cases / 4);
}
END_TEST

int main(int argc, char **argv)
{
  if (argc > 1) seed = atoll(argv[1]);
  cases = argc > 2 ? atoll(argv[2]) : case_count(3000);
  Suite *s = suite_create("machine schema");
  TCase *t = tcase_create("machine schema");
  tcase_add_unchecked_fixture(t, load_all, free_all);
  tcase_add_test(t, shipped_machines_are_valid);
  tcase_add_test(t, schema_and_loader_agree);
  suite_add_tcase(s, t);
  return unit_run(s);
}
