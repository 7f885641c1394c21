/* base/yaml: reading, and errors with their exact place. Documents that must be
 * refused are table rows {name, text, code, line, column, path}. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/yaml.h"
#include "unit/unit.h"

static const char machine[] = "name: toy\n"
                              "memories:\n"
                              "  - name: dram\n"
                              "    capacity: 12 GiB\n"
                              "    cache: false\n"
                              "  - {name: sram, capacity: 24 mib, cache: no}\n"
                              "  - {}\n"
                              "empty:\n"
                              "quoted: \"a\\tb\"\n"
                              "folded: >-\n"
                              "  two\n"
                              "  lines\n";

static hone_yaml *parsed(const char *text)
{
  hone_yaml *y = NULL;
  hone_err err;
  hone_err_init(&err);
  ck_assert_msg(hone_yaml_parse("m.yaml", text, &y, &err) == HONE_OK, "%s", err.message);
  return y;
}

START_TEST(accessors)
{
  hone_yaml *y = parsed(machine);
  hone_node *root = hone_yaml_root(y), *memories = hone_node_find(root, "memories");
  ck_assert(hone_node_is_mapping(root) && !hone_node_is_sequence(root) && !hone_node_is_scalar(root));
  ck_assert_int_eq(hone_node_count(root), 5);
  ck_assert_str_eq(hone_node_key(root, 0), "name");
  ck_assert_str_eq(hone_node_text(hone_node_value(root, 0)), "toy");
  ck_assert_str_eq(hone_node_key(root, 4), "folded");
  ck_assert(hone_node_is_sequence(memories));
  ck_assert_int_eq(hone_node_count(memories), 3);
  ck_assert_str_eq(hone_node_text(hone_node_find(hone_node_item(memories, 1), "name")), "sram");
  ck_assert_int_eq(hone_node_count(hone_node_item(memories, 2)), 0);
  ck_assert_str_eq(hone_node_text(hone_node_find(root, "quoted")), "a\tb");
  ck_assert_str_eq(hone_node_text(hone_node_find(root, "folded")), "two lines");
  ck_assert_str_eq(hone_node_text(hone_node_find(root, "empty")), "");
  ck_assert_ptr_null(hone_node_find(root, "nam"));
  ck_assert_ptr_null(hone_node_find(root, "name: toy")); /* a key is text, not YAML */
  ck_assert_ptr_null(hone_node_find(memories, "name"));
  ck_assert_ptr_null(hone_node_text(memories));
  ck_assert_int_eq(hone_node_count(hone_node_find(root, "name")), 0);
  hone_yaml_free(y);
  hone_yaml_free(NULL);
}
END_TEST

static const struct refusal {
  const char *name, *text, *code;
  int line, column;
  const char *path;
} refusals[] = {
    {"a.yaml", "", "yaml.empty", 0, 0, ""},
    {"a.yaml", "# only a remark\n", "yaml.empty", 0, 0, ""},
    {"a.yaml", "a: 1\na: 2\n", "yaml.syntax", 2, 1, ""},
    {"a.yaml", "m:\n  - {x: 1, y: 2, x: 3}\n", "yaml.syntax", 2, 18, ""},
    {"a.yaml", "a: 1\nb: [1, 2\n", "yaml.syntax", 3, 1, ""},
    {"a.yaml", "a: 1\n b: 2\n", "yaml.syntax", 1, 4, ""},
    {"a.yaml", "\ta: 1\n", "yaml.syntax", 1, 1, ""},
    {"a.yaml", "a: 1\n---\nb: 2\n", "yaml.documents", 0, 0, ""},
    {"a.yaml", "a: &x 1\nb: *x\n", "yaml.alias", 2, 5, "b"},
    {"a.yaml", "? [a, b]\n: 1\n", "yaml.key", 1, 1, ""},
    {"a.yaml", "a: \xff\n", "yaml.encoding", 1, 4, ""},
    {"a.yaml", "a: \xc3\xa9\nb: \xc3\n", "yaml.encoding", 2, 4, ""},
    {"a.yaml", "a: \xed\xa0\x80\n", "yaml.encoding", 1, 4, ""},
    {"a.json", "{\"a\": 1,}", "yaml.syntax", 1, 8, ""},
    {"a.json", "{\"a\": 1,\n \"a\": 2}", "yaml.syntax", 2, 3, ""}, /* inside the quotes */
    {"a.json", "{'a': 1}", "yaml.syntax", 1, 2, ""},
    {"a.json", "{\"a\": 1} x", "yaml.syntax", 1, 10, ""},
};
enum { NREFUSALS = sizeof refusals / sizeof *refusals };

START_TEST(refused_with_place)
{
  const struct refusal *r = &refusals[_i];
  hone_yaml *y = NULL;
  hone_err err;
  hone_err_init(&err);
  ck_assert_int_eq(hone_yaml_parse(r->name, r->text, &y, &err), HONE_INPUT);
  ck_assert_ptr_null(y);
  ck_assert_str_eq(err.code, r->code);
  ck_assert_str_eq(err.file, r->name);
  ck_assert_int_eq(err.line, r->line);
  ck_assert_int_eq(err.column, r->column);
  ck_assert_str_eq(err.path, r->path);
  ck_assert(err.message[0] != '\0');
  ck_assert_int_eq(hone_yaml_parse(r->name, r->text, &y, NULL), HONE_INPUT);
}
END_TEST

START_TEST(depth_is_bounded)
{
  enum { DEEP = 200000 };
  char *text = malloc(DEEP + 1);
  hone_yaml *y = NULL;
  hone_err err;
  memset(text, '[', DEEP);
  text[DEEP] = '\0';
  ck_assert_int_eq(hone_yaml_parse("deep.yaml", text, &y, &err), HONE_INPUT);
  ck_assert_int_eq(err.line, 1);
  ck_assert_int_eq(err.column, 64);
  free(text);
}
END_TEST

static void assert_place(const hone_err *err, int line, int column, const char *path)
{
  ck_assert_str_eq(err->file, "m.yaml");
  ck_assert_int_eq(err->line, line);
  ck_assert_int_eq(err->column, column);
  ck_assert_str_eq(err->path, path);
}

START_TEST(errors_know_their_node)
{
  hone_yaml *y = parsed(machine);
  hone_node *root = hone_yaml_root(y), *memories = hone_node_find(root, "memories");
  hone_err err;
  ck_assert_int_eq(hone_node_err(y, root, &err, HONE_UNSUPPORTED, "x.y", "no %s", "way"), HONE_UNSUPPORTED);
  assert_place(&err, 1, 1, "");
  ck_assert_str_eq(err.message, "no way");
  ck_assert_str_eq(err.code, "x.y");
  hone_node_err(y, hone_node_item(memories, 0), &err, HONE_INPUT, "x", "m");
  assert_place(&err, 3, 5, "memories[0]");
  hone_node_err(y, hone_node_find(hone_node_item(memories, 1), "capacity"), &err, HONE_INPUT, "x", "m");
  assert_place(&err, 6, 28, "memories[1].capacity");
  hone_node_err(y, hone_node_item(memories, 2), &err, HONE_INPUT, "x", "m");
  assert_place(&err, 7, 5, "memories[2]");
  hone_node_err(y, hone_node_find(root, "empty"), &err, HONE_INPUT, "x", "m");
  assert_place(&err, 8, 1, "empty"); /* its key: an empty value has no place */
  ck_assert_int_eq(hone_node_err(y, root, NULL, HONE_INPUT, "x", "m"), HONE_INPUT);
  hone_yaml_free(y);
}
END_TEST

START_TEST(keys_are_checked)
{
  static const char *const all[] = {"name", "capacity", "cache", NULL}, *const some[] = {"name", "capacity", "cash", NULL};
  static const char *const none[] = {NULL};
  hone_yaml *y = parsed(machine);
  hone_node *memories = hone_node_find(hone_yaml_root(y), "memories");
  hone_err err;
  ck_assert_int_eq(hone_node_check_keys(y, hone_node_item(memories, 0), all, "m.unknown", &err), HONE_OK);
  ck_assert_int_eq(hone_node_check_keys(y, hone_node_item(memories, 0), some, "m.unknown", &err), HONE_INPUT);
  assert_place(&err, 5, 5, "memories[0]");
  ck_assert_str_eq(err.code, "m.unknown");
  ck_assert_str_eq(err.message, "unknown field 'cache'");
  ck_assert_str_eq(err.hint, "did you mean 'cash'?");
  ck_assert_int_eq(hone_node_check_keys(y, hone_yaml_root(y), all, "m.unknown", &err), HONE_INPUT);
  assert_place(&err, 2, 1, "");
  ck_assert_str_eq(err.hint, "fields: name, capacity, cache");
  ck_assert_int_eq(hone_node_check_keys(y, memories, all, "m.unknown", &err), HONE_INPUT);
  assert_place(&err, 3, 3, "memories");
  ck_assert_int_eq(hone_node_check_keys(y, hone_node_item(memories, 2), none, "m.unknown", &err), HONE_OK);
  ck_assert_int_eq(hone_node_check_keys(y, hone_yaml_root(y), none, "m.unknown", NULL), HONE_INPUT);
  hone_yaml_free(y);
}
END_TEST

START_TEST(typed_reads)
{
  hone_yaml *y = parsed(machine);
  hone_node *memories = hone_node_find(hone_yaml_root(y), "memories");
  hone_node *dram = hone_node_item(memories, 0), *sram = hone_node_item(memories, 1);
  const char *text;
  int64_t v = 0;
  bool b = true;
  hone_err err;
  ck_assert_int_eq(hone_node_get_text(y, dram, "name", &text, &err), HONE_OK);
  ck_assert_str_eq(text, "dram");
  ck_assert_int_eq(hone_node_get_unit(y, dram, "capacity", HONE_UNIT_BYTES, 1, INT64_MAX, &v, &err), HONE_OK);
  ck_assert_int_eq(v, INT64_C(12) << 30);
  ck_assert_int_eq(hone_node_get_bool(y, dram, "cache", &b, &err), HONE_OK);
  ck_assert(!b);

  ck_assert_int_eq(hone_node_get_bool(y, sram, "cache", &b, &err), HONE_INPUT); /* no is not false */
  assert_place(&err, 6, 43, "memories[1].cache");
  ck_assert_int_eq(hone_node_get_unit(y, sram, "capacity", HONE_UNIT_BYTES, 1, INT64_MAX, &v, &err), HONE_INPUT);
  assert_place(&err, 6, 28, "memories[1].capacity");
  ck_assert_str_eq(err.code, "unit.malformed");
  ck_assert_str_eq(err.hint, "units: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB");
  ck_assert_int_eq(hone_node_get_unit(y, dram, "capacity", HONE_UNIT_BYTES, 1, 1000, &v, &err), HONE_INPUT);
  assert_place(&err, 4, 15, "memories[0].capacity");
  ck_assert_str_eq(err.code, "yaml.range");
  ck_assert_int_eq(hone_node_get_text(y, dram, "latency", &text, &err), HONE_INPUT);
  assert_place(&err, 3, 5, "memories[0]");
  ck_assert_str_eq(err.message, "missing field 'latency'");
  ck_assert_int_eq(hone_node_get_text(y, hone_yaml_root(y), "memories", &text, &err), HONE_INPUT);
  assert_place(&err, 3, 3, "memories");
  ck_assert_int_eq(hone_node_get_text(y, memories, "name", &text, &err), HONE_INPUT);
  ck_assert_int_eq(hone_node_get_unit(y, sram, "capacity", HONE_UNIT_BYTES, 1, 9, &v, NULL), HONE_INPUT);
  ck_assert_int_eq(v, INT64_C(12) << 30); /* untouched by failures */
  hone_yaml_free(y);
}
END_TEST

START_TEST(load_reads_files)
{
  hone_yaml *y = NULL;
  hone_err err;
  ck_assert_int_eq(hone_yaml_load("no/such/file.yaml", &y, &err), HONE_IO);
  ck_assert_str_eq(err.file, "no/such/file.yaml");
  FILE *f = fopen("test_base_yaml.tmp.yaml", "wb");
  fwrite("a: 1\0\n", 1, 6, f);
  fclose(f);
  ck_assert_int_eq(hone_yaml_load("test_base_yaml.tmp.yaml", &y, &err), HONE_INPUT);
  ck_assert_str_eq(err.code, "yaml.encoding");
  ck_assert_int_eq(err.column, 5);
  f = fopen("test_base_yaml.tmp.yaml", "wb");
  fputs("a: 1\n", f);
  fclose(f);
  ck_assert_int_eq(hone_yaml_load("test_base_yaml.tmp.yaml", &y, &err), HONE_OK);
  ck_assert_str_eq(hone_node_text(hone_node_find(hone_yaml_root(y), "a")), "1");
  hone_yaml_free(y);
  remove("test_base_yaml.tmp.yaml");
}
END_TEST

enum { BLOCKS = 10, BLOCK = 100 };

static void damage(char *text, size_t n, uint64_t seed)
{
  static const char spice[] = "[]{}:,-?&*!|>'\"%@#\n\t \\x\xc3\x80";
  hone_rng r;
  hone_rng_init(&r, seed);
  for (int64_t k = hone_rng_below(&r, 4); k >= 0; k--)
    text[hone_rng_below(&r, (int64_t)n)] = spice[hone_rng_below(&r, sizeof spice - 1)];
}

/* Whatever the text, reading ends, with a tree or with a diagnostic; the
 * sanitizer build watches. A crash is in damage(machine, BLOCK * loop index ..). */
START_TEST(damaged_texts_are_survived)
{
  for (int seed = BLOCK * _i; seed < BLOCK * (_i + 1); seed++) {
    char text[sizeof machine];
    hone_yaml *y = NULL;
    hone_err err;
    memcpy(text, machine, sizeof machine);
    damage(text, sizeof machine - 1, (uint64_t)seed);
    hone_err_init(&err);
    if (hone_yaml_parse("m.yaml", text, &y, &err) == HONE_OK)
      hone_yaml_free(y);
    else
      ck_assert_msg(err.code[0] && err.message[0], "no diagnostic for seed %d", seed);
  }
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("base/yaml");
  TCase *c = tcase_create("yaml");
  tcase_add_test(c, accessors);
  tcase_add_loop_test(c, refused_with_place, 0, NREFUSALS);
  tcase_add_test(c, depth_is_bounded);
  tcase_add_test(c, errors_know_their_node);
  tcase_add_test(c, keys_are_checked);
  tcase_add_test(c, typed_reads);
  tcase_add_test(c, load_reads_files);
  tcase_add_loop_test(c, damaged_texts_are_survived, 0, BLOCKS);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
