/* YAML documents over libfyaml. libfyaml collects its diagnostics as data; we
 * take the first. It bounds the depth (64) and refuses duplicate keys. After
 * parsing one walk refuses what we give no meaning to: aliases and keys that
 * are not plain scalars. Reading order: parse, then node_* accessors, errors,
 * typed reads. */
#include "config.h"

#include "base/yaml.h"

#include <inttypes.h>
#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { LARGEST_FILE = 64 << 20 };

struct hone_yaml {
  char name[sizeof((hone_err *)0)->file];
  char *text; /* libfyaml reads from it as long as the document lives */
  struct fy_diag *diag;
  struct fy_parser *parser;
  struct fy_document *doc;
};

void hone_yaml_free(hone_yaml *y)
{
  if (!y) return;
  if (y->doc) fy_document_destroy(y->doc);
  if (y->parser) fy_parser_destroy(y->parser);
  if (y->diag) fy_diag_destroy(y->diag);
  free(y->text);
  free(y);
}

hone_node *hone_yaml_root(hone_yaml *y) { return fy_document_root(y->doc); }

static void say_nothing(struct fy_diag *diag, void *user, const char *buf, size_t len)
{
  (void)diag, (void)user, (void)buf, (void)len;
}

static struct fy_diag *collecting_diag(void)
{
  struct fy_diag_cfg cfg;
  fy_diag_cfg_default(&cfg);
  cfg.fp = NULL;
  cfg.output_fn = say_nothing;
  struct fy_diag *diag = fy_diag_create(&cfg);
  if (diag) fy_diag_set_collect_errors(diag, true);
  return diag;
}

static hone_status file_error(hone_yaml *y, hone_err *err, const char *code, int line, int column, const char *message)
{
  hone_err_set(err, HONE_INPUT, code, "%s", message);
  hone_err_at(err, y->name, line, column);
  return HONE_INPUT;
}

static hone_status syntax_error(hone_yaml *y, hone_err *err)
{
  void *position = NULL;
  struct fy_diag_error *e = fy_diag_errors_iterate(y->diag, &position);
  if (!e || !e->msg) return file_error(y, err, "yaml.syntax", 0, 0, "not a YAML document");
  return file_error(y, err, "yaml.syntax", e->line, e->column, e->msg);
}

/* Bytes of the UTF-8 character at s (Unicode table 3-7), 0 if malformed or NUL. */
static size_t character_at(const unsigned char *s)
{
  static const struct {
    unsigned char first, last, low, high; /* range of byte 1, range of byte 2 */
    size_t length;
  } forms[] = {
      {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
      {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
  };
  if (s[0] < 0x80) return s[0] != 0;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (s[0] < forms[i].first || s[0] > forms[i].last) continue;
    if (s[1] < forms[i].low || s[1] > forms[i].high) return 0;
    for (size_t k = 2; k < forms[i].length; k++)
      if ((s[k] & 0xc0) != 0x80) return 0;
    return forms[i].length;
  }
  return 0;
}

/* libfyaml lets malformed UTF-8 through; our JSON output could not carry it. */
static hone_status check_encoding(hone_yaml *y, size_t n, hone_err *err)
{
  int line = 1, column = 1;
  for (size_t i = 0, length; i < n; i += length) {
    length = character_at((const unsigned char *)y->text + i);
    if (!length) return file_error(y, err, "yaml.encoding", line, column, "not UTF-8 text");
    column = y->text[i] == '\n' ? 1 : column + 1;
    line += y->text[i] == '\n';
  }
  return HONE_OK;
}

static hone_status check_tree(hone_yaml *y, hone_node *n, hone_err *err)
{
  if (fy_node_is_alias(n))
    return hone_node_err(y, n, err, HONE_INPUT, "yaml.alias", "aliases are not supported; write the value out");
  for (int i = 0; i < hone_node_count(n); i++) {
    if (hone_node_is_mapping(n)) {
      hone_node *key = fy_node_pair_key(fy_node_mapping_get_by_index(n, i));
      if (!key || !hone_node_is_scalar(key))
        return hone_node_err(y, n, err, HONE_INPUT, "yaml.key", "a key must be plain text");
    }
    hone_node *child = hone_node_is_mapping(n) ? hone_node_value(n, i) : hone_node_item(n, i);
    hone_status s = child ? check_tree(y, child, err) : HONE_OK;
    if (s != HONE_OK) return s;
  }
  return HONE_OK;
}

static bool is_json(const char *name)
{
  size_t n = strlen(name);
  return n >= 5 && strcmp(name + n - 5, ".json") == 0;
}

static hone_status build(hone_yaml *y, size_t n, hone_err *err)
{
  hone_status s = check_encoding(y, n, err);
  if (s != HONE_OK) return s;
  struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET | (is_json(y->name) ? FYPCF_JSON_FORCE : FYPCF_JSON_NONE), .diag = y->diag};
  y->parser = fy_parser_create(&cfg);
  if (!y->parser || fy_parser_set_string(y->parser, y->text, n) != 0)
    return hone_err_set(err, HONE_INTERNAL, "yaml.library", "libfyaml failed to start");
  y->doc = fy_parse_load_document(y->parser);
  if (fy_parser_get_stream_error(y->parser)) return syntax_error(y, err);
  if (!y->doc || !hone_yaml_root(y)) return file_error(y, err, "yaml.empty", 0, 0, "the document is empty");
  struct fy_document *second = fy_parse_load_document(y->parser);
  if (second) fy_document_destroy(second);
  if (fy_parser_get_stream_error(y->parser)) return syntax_error(y, err);
  if (second) return file_error(y, err, "yaml.documents", 0, 0, "the file holds more than one document");
  return check_tree(y, hone_yaml_root(y), err);
}

static hone_status parse_taking(const char *name, char *text, size_t n, hone_yaml **out, hone_err *err)
{
  hone_yaml *y = hone_heap_alloc(1, sizeof *y);
  snprintf(y->name, sizeof y->name, "%s", name);
  y->text = text;
  y->diag = collecting_diag();
  hone_status s = build(y, n, err);
  if (s == HONE_OK)
    *out = y;
  else
    hone_yaml_free(y);
  return s;
}

hone_status hone_yaml_load(const char *path, hone_yaml **out, hone_err *err)
{
  char *text;
  size_t n;
  hone_status s = hone_text_load(path, LARGEST_FILE, &text, &n, err);
  return s == HONE_OK ? parse_taking(path, text, n, out, err) : s;
}

hone_status hone_yaml_parse(const char *name, const char *text, hone_yaml **out, hone_err *err)
{
  size_t n = strlen(text);
  char *copy = hone_heap_alloc(n + 1, 1);
  memcpy(copy, text, n);
  return parse_taking(name, copy, n, out, err);
}

bool hone_node_is_mapping(hone_node *n) { return fy_node_is_mapping(n); }
bool hone_node_is_sequence(hone_node *n) { return fy_node_is_sequence(n); }
bool hone_node_is_scalar(hone_node *n) { return fy_node_is_scalar(n); }

int hone_node_count(hone_node *n)
{
  if (fy_node_is_mapping(n)) return fy_node_mapping_item_count(n);
  return fy_node_is_sequence(n) ? fy_node_sequence_item_count(n) : 0;
}

hone_node *hone_node_item(hone_node *seq, int i) { return fy_node_sequence_get_by_index(seq, i); }

const char *hone_node_key(hone_node *map, int i)
{
  return hone_node_text(fy_node_pair_key(fy_node_mapping_get_by_index(map, i)));
}

hone_node *hone_node_value(hone_node *map, int i)
{
  return fy_node_pair_value(fy_node_mapping_get_by_index(map, i));
}

/* Not libfyaml's lookup, which parses the key as YAML. */
static struct fy_node_pair *find_pair(hone_node *map, const char *key)
{
  void *position = NULL;
  struct fy_node_pair *pair;
  if (!fy_node_is_mapping(map)) return NULL;
  while ((pair = fy_node_mapping_iterate(map, &position)) != NULL)
    if (strcmp(hone_node_text(fy_node_pair_key(pair)), key) == 0) return pair;
  return NULL;
}

hone_node *hone_node_find(hone_node *map, const char *key)
{
  struct fy_node_pair *pair = find_pair(map, key);
  return pair ? fy_node_pair_value(pair) : NULL;
}

const char *hone_node_text(hone_node *scalar)
{
  return scalar && fy_node_is_scalar(scalar) ? fy_node_get_scalar0(scalar) : NULL;
}

static int index_in(hone_node *seq, hone_node *n)
{
  int i = 0;
  void *position = NULL;
  for (hone_node *item; (item = fy_node_sequence_iterate(seq, &position)) != NULL && item != n;)
    i++;
  return i;
}

static struct fy_node_pair *pair_of(hone_node *map, hone_node *n)
{
  void *position = NULL;
  struct fy_node_pair *pair;
  while ((pair = fy_node_mapping_iterate(map, &position)) != NULL)
    if (fy_node_pair_value(pair) == n) break;
  return pair;
}

/* memories[1].capacity: written from the root down. */
static void add_path(hone_node *n, hone_text *out)
{
  hone_node *parent = fy_node_get_parent(n);
  if (!parent) return;
  add_path(parent, out);
  if (fy_node_is_sequence(parent))
    hone_text_add(out, "[%d]", index_in(parent, n));
  else
    hone_text_add(out, "%s%s", out->length ? "." : "", hone_node_text(fy_node_pair_key(pair_of(parent, n))));
}

/* libfyaml knows where a node starts only through its own report: make one and
 * take the place from what it collected last. False where it has none. */
static bool reported_place(hone_yaml *y, hone_node *n, int *line, int *column)
{
  int before = 0, after = 0;
  void *position = NULL;
  while (fy_diag_errors_iterate(y->diag, &position))
    before++;
  fy_node_report(n, FYET_ERROR, "here");
  position = NULL;
  for (struct fy_diag_error *e; (e = fy_diag_errors_iterate(y->diag, &position)) != NULL; after++) {
    *line = e->line;
    *column = e->column;
  }
  return after > before;
}

/* An empty value has no place of its own: its key's, or what it is part of. */
static void place_of(hone_yaml *y, hone_node *n, int *line, int *column)
{
  hone_node *parent = fy_node_get_parent(n);
  bool empty = hone_node_is_scalar(n) && !*hone_node_text(n) && parent && hone_node_is_mapping(parent);
  if (!empty && reported_place(y, n, line, column)) return;
  if (hone_node_is_mapping(n) && hone_node_count(n) > 0)
    place_of(y, fy_node_pair_key(fy_node_mapping_get_by_index(n, 0)), line, column);
  else if (parent && hone_node_is_mapping(parent))
    place_of(y, fy_node_pair_key(pair_of(parent, n)), line, column);
  else if (parent)
    place_of(y, parent, line, column);
}

static hone_status error_at(hone_yaml *y, hone_node *n, hone_node *place, hone_err *err, hone_status s, const char *code,
                            const char *message)
{
  hone_err_set(err, s, code, "%s", message);
  if (!err) return s;
  int line = 0, column = 0;
  place_of(y, place, &line, &column);
  hone_err_at(err, y->name, line, column);
  hone_text path = {0};
  add_path(n, &path);
  hone_err_path(err, "%s", path.data ? path.data : "");
  hone_text_fini(&path);
  return s;
}

hone_status hone_node_err(hone_yaml *y, hone_node *n, hone_err *err, hone_status s, const char *code, const char *fmt, ...)
{
  char message[sizeof err->message];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  return error_at(y, n, n, err, s, code, message);
}

static const char *name_at(void *arg, int i) { return ((const char *const *)arg)[i]; }

static hone_status unknown_key(hone_yaml *y, hone_node *map, struct fy_node_pair *pair, const char *const *allowed,
                               const char *code, hone_err *err)
{
  const char *key = hone_node_text(fy_node_pair_key(pair));
  int n = 0;
  char message[sizeof err->message];
  while (allowed[n])
    n++;
  snprintf(message, sizeof message, "unknown field '%s'", key);
  error_at(y, map, fy_node_pair_key(pair), err, HONE_INPUT, code, message);
  const char *near = hone_text_nearest(key, n, name_at, (void *)(uintptr_t)allowed);
  if (near) {
    hone_err_hint(err, "did you mean '%s'?", near);
    return HONE_INPUT;
  }
  hone_text list = {0};
  for (int i = 0; i < n; i++)
    hone_text_add(&list, "%s%s", i ? ", " : "", allowed[i]);
  hone_err_hint(err, "fields: %s", list.data ? list.data : "none");
  hone_text_fini(&list);
  return HONE_INPUT;
}

hone_status hone_node_check_keys(hone_yaml *y, hone_node *map, const char *const *allowed, const char *code, hone_err *err)
{
  if (!hone_node_is_mapping(map)) return hone_node_err(y, map, err, HONE_INPUT, code, "expected a mapping of fields");
  void *position = NULL;
  struct fy_node_pair *pair;
  while ((pair = fy_node_mapping_iterate(map, &position)) != NULL) {
    const char *key = hone_node_text(fy_node_pair_key(pair));
    int i = 0;
    while (allowed[i] && strcmp(allowed[i], key) != 0)
      i++;
    if (!allowed[i]) return unknown_key(y, map, pair, allowed, code, err);
  }
  return HONE_OK;
}

/* map[key] as a scalar, or the error that says what is wrong with it. */
static hone_status get_scalar(hone_yaml *y, hone_node *map, const char *key, hone_node **out, hone_err *err)
{
  if (!hone_node_is_mapping(map))
    return hone_node_err(y, map, err, HONE_INPUT, "yaml.type", "expected a mapping with the field '%s'", key);
  struct fy_node_pair *pair = find_pair(map, key);
  if (!pair) return hone_node_err(y, map, err, HONE_INPUT, "yaml.missing-field", "missing field '%s'", key);
  *out = fy_node_pair_value(pair);
  if (*out && hone_node_is_scalar(*out) && hone_node_text(*out)) return HONE_OK;
  return hone_node_err(y, *out ? *out : map, err, HONE_INPUT, "yaml.type", "'%s' must be a single value", key);
}

hone_status hone_node_get_text(hone_yaml *y, hone_node *map, const char *key, const char **out, hone_err *err)
{
  hone_node *n;
  hone_status s = get_scalar(y, map, key, &n, err);
  if (s == HONE_OK) *out = hone_node_text(n);
  return s;
}

hone_status hone_node_get_unit(hone_yaml *y, hone_node *map, const char *key, hone_unit u, int64_t min, int64_t max,
                               int64_t *out, hone_err *err)
{
  hone_node *n;
  int64_t v;
  hone_status s = get_scalar(y, map, key, &n, err);
  if (s != HONE_OK) return s;
  hone_err why;
  hone_err_init(&why);
  s = hone_unit_parse(u, hone_node_text(n), &v, &why);
  if (s != HONE_OK) {
    hone_node_err(y, n, err, s, why.code, "%s", why.message);
    hone_err_hint(err, "%s", why.hint);
    return s;
  }
  if (v < min || v > max)
    return hone_node_err(y, n, err, HONE_INPUT, "yaml.range", "'%s' is out of range: must be %" PRId64 " to %" PRId64,
                         hone_node_text(n), min, max);
  *out = v;
  return HONE_OK;
}

hone_status hone_node_get_bool(hone_yaml *y, hone_node *map, const char *key, bool *out, hone_err *err)
{
  hone_node *n;
  hone_status s = get_scalar(y, map, key, &n, err);
  if (s != HONE_OK || hone_text_parse_bool(hone_node_text(n), out)) return s;
  return hone_node_err(y, n, err, HONE_INPUT, "yaml.type", "'%s' must be true or false", hone_node_text(n));
}
