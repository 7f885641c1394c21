/* Machine texts as a tree of sourced values.
 *
 * A mapping with the key `value` is a value with its own source; any other
 * mapping is a block, whose `source` and `assumed` hold for every value below
 * that does not say otherwise. `base: other.yaml` (relative to the file) puts the
 * other file's values underneath: blocks merge, values are replaced whole. A
 * source belongs to the file that wrote the value, so a replaced value never
 * borrows the base's. */
#include "config.h"

#include "ir/machine_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  hone_tree_set *set;
  const char *file;
  hone_yaml *doc;
  hone_node *sources; /* the file's table, NULL */
} reader;

hone_tree *hone_tree_find(const hone_tree *block, const char *key)
{
  for (int i = 0; block->block && i < block->n; i++)
    if (strcmp(block->child[i]->key, key) == 0) return block->child[i];
  return NULL;
}

void hone_tree_path(const hone_tree *t, hone_text *out)
{
  if (!t->key) return;
  hone_tree_path(t->parent, out);
  hone_text_add(out, "%s%s", out->length ? "." : "", t->key);
}

hone_status hone_tree_err(const hone_tree *t, hone_err *err, hone_status s, const char *code, const char *fmt, ...)
{
  char message[sizeof err->message];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  hone_node_err(t->doc, t->node, err, s, code, "%s", message);
  hone_text path = {0};
  hone_tree_path(t, &path);
  hone_err_path(err, "%s", path.data ? path.data : "");
  hone_text_fini(&path);
  return s;
}

hone_status hone_tree_missing(const hone_tree *block, const char *key, hone_err *err)
{
  hone_tree_err(block, err, HONE_INPUT, "machine.missing-field", "missing field '%s'", key);
  hone_text path = {0};
  hone_tree_path(block, &path);
  hone_err_path(err, "%s%s%s", path.data ? path.data : "", path.data ? "." : "", key);
  hone_text_fini(&path);
  return HONE_INPUT;
}

static const char *source_at(void *arg, int i) { return hone_node_key(arg, i); }

/* The text behind `source: id`. */
static hone_status find_source(reader *r, hone_node *map, const char **out, hone_err *err)
{
  hone_node *n = hone_node_find(map, "source");
  if (!n) return HONE_OK;
  const char *id = hone_node_text(n);
  if (!id) return hone_node_err(r->doc, n, err, HONE_INPUT, "machine.type", "'source' must name an entry of 'sources'");
  const char *text = r->sources ? hone_node_text(hone_node_find(r->sources, id)) : NULL;
  if (text && *text) {
    *out = hone_arena_strdup(r->set->arena, text);
    return HONE_OK;
  }
  hone_node_err(r->doc, n, err, HONE_INPUT, "machine.unknown-source", "no source '%s' in 'sources'", id);
  const char *near = r->sources ? hone_text_nearest(id, hone_node_count(r->sources), source_at, r->sources) : NULL;
  if (near) hone_err_hint(err, "did you mean '%s'?", near);
  return HONE_INPUT;
}

static hone_status find_provenance(reader *r, hone_node *map, hone_tree *t, hone_err *err)
{
  hone_status s = find_source(r, map, &t->source, err);
  if (s == HONE_OK && hone_node_find(map, "assumed")) s = hone_node_get_bool(r->doc, map, "assumed", &t->assumed, err);
  return s;
}

static hone_status read_list(reader *r, hone_node *list, hone_tree *t, hone_err *err)
{
  t->list = true;
  t->n = hone_node_count(list);
  t->text = hone_arena_alloc(r->set->arena, ((size_t)t->n + 1) * sizeof *t->text);
  for (int i = 0; i < t->n; i++) {
    const char *text = hone_node_text(hone_node_item(list, i));
    if (!text) return hone_tree_err(t, err, HONE_INPUT, "machine.type", "a list holds single values only");
    t->text[i] = text;
  }
  return HONE_OK;
}

static hone_status read_value(reader *r, hone_node *n, hone_tree *t, hone_err *err)
{
  t->quantity = hone_arena_alloc(r->set->arena, sizeof *t->quantity);
  *t->quantity = (hone_quantity){.unit = NULL};
  if (n && hone_node_is_sequence(n)) return read_list(r, n, t, err);
  const char *text = n ? hone_node_text(n) : NULL;
  if (!text || !*text) return hone_tree_err(t, err, HONE_INPUT, "machine.type", "'%s' has no value", t->key);
  t->n = 1;
  t->text = hone_arena_alloc(r->set->arena, sizeof *t->text);
  t->text[0] = text;
  return HONE_OK;
}

static hone_status read_value_mapping(reader *r, hone_node *n, hone_tree *t, hone_err *err)
{
  static const char *const allowed[] = {"value", "source", "assumed", NULL};
  hone_status s = hone_node_check_keys(r->doc, n, allowed, "machine.unknown-field", err);
  if (s == HONE_OK) s = find_provenance(r, n, t, err);
  hone_node *value = hone_node_find(n, "value");
  if (s == HONE_OK && value && hone_node_is_mapping(value))
    s = hone_tree_err(t, err, HONE_INPUT, "machine.type", "'value' must be a single value or a list");
  return s == HONE_OK ? read_value(r, value, t, err) : s;
}

static bool is_about_values(const hone_tree *block, const char *key) /* not a value itself */
{
  static const char *const anywhere[] = {"source", "assumed"}, *const at_root[] = {"sources", "base"};
  for (int i = 0; i < 2; i++)
    if (strcmp(key, anywhere[i]) == 0 || (!block->key && strcmp(key, at_root[i]) == 0)) return true;
  return false;
}

static hone_status read_node(reader *r, hone_node *n, const char *key, hone_tree *parent, hone_tree **out, hone_err *err)
{
  hone_tree *t = hone_arena_alloc(r->set->arena, sizeof *t);
  *t = (hone_tree){.key = key, .parent = parent, .file = r->file, .doc = r->doc, .node = n ? n : parent->node};
  if (parent) t->source = parent->source, t->assumed = parent->assumed;
  *out = t;
  if (!n || !hone_node_is_mapping(n)) return read_value(r, n, t, err);
  if (hone_node_find(n, "value")) return read_value_mapping(r, n, t, err);
  t->block = true;
  t->child = hone_arena_alloc(r->set->arena, ((size_t)hone_node_count(n) + 1) * sizeof(hone_tree *));
  hone_status s = find_provenance(r, n, t, err);
  for (int i = 0; s == HONE_OK && i < hone_node_count(n); i++)
    if (!is_about_values(t, hone_node_key(n, i)))
      s = read_node(r, hone_node_value(n, i), hone_node_key(n, i), t, &t->child[t->n++], err);
  return s;
}

/* `over` wins; the result is `under`, changed, so that its order stays. */
static hone_tree *merge(hone_tree_set *set, hone_tree *under, hone_tree *over)
{
  if (!under->block || !over->block) return over;
  hone_tree **child = hone_arena_alloc(set->arena, (size_t)(under->n + over->n + 1) * sizeof *child);
  int n = under->n;
  memcpy(child, under->child, (size_t)n * sizeof *child);
  for (int i = 0; i < over->n; i++) {
    int j = 0;
    while (j < under->n && strcmp(child[j]->key, over->child[i]->key) != 0)
      j++;
    child[j < under->n ? j : n++] = j < under->n ? merge(set, child[j], over->child[i]) : over->child[i];
  }
  hone_tree *parent = under->parent;
  *under = *over;
  under->parent = parent, under->n = n, under->child = child;
  for (int i = 0; i < n; i++)
    child[i]->parent = under;
  return under;
}

static char *beside(const char *file, const char *name) /* name relative to file's directory; heap */
{
  const char *slash = *name == '/' ? NULL : strrchr(file, '/');
  hone_text t = {0};
  if (slash) hone_text_add_bytes(&t, file, (size_t)(slash - file) + 1);
  hone_text_add(&t, "%s", name);
  return t.data;
}

static bool same_file(const char *a, const char *b)
{
  char *ra = realpath(a, NULL), *rb = realpath(b, NULL);
  bool same = ra && rb && strcmp(ra, rb) == 0;
  free(ra);
  free(rb);
  return same;
}

static hone_status load_file(hone_tree_set *set, char *path_take, hone_tree **out, hone_err *err);

static hone_status load_base(reader *r, hone_node *base, hone_tree **out, hone_err *err)
{
  hone_tree_set *set = r->set;
  const char *name = hone_node_text(base);
  if (!name || !*name) return hone_node_err(r->doc, base, err, HONE_INPUT, "machine.type", "'base' must name a file");
  char *path = beside(r->file, name);
  bool cycle = false;
  for (int i = 0; i < set->nfiles; i++)
    cycle = cycle || same_file(set->path[i], path);
  if (cycle || set->nfiles == HONE_TREE_MAX_FILES) {
    free(path);
    return hone_node_err(r->doc, base, err, HONE_INPUT, cycle ? "machine.base-cycle" : "machine.base-depth",
                         cycle ? "'%s' inherits itself" : "'%s': too long a chain of bases", name);
  }
  return load_file(set, path, out, err);
}

static bool are_sources(hone_node *n)
{
  if (!hone_node_is_mapping(n)) return false;
  for (int i = 0; i < hone_node_count(n); i++) {
    const char *text = hone_node_text(hone_node_value(n, i));
    if (!text || !*text) return false;
  }
  return true;
}

static hone_status load_file(hone_tree_set *set, char *path_take, hone_tree **out, hone_err *err)
{
  int i = set->nfiles++;
  set->path[i] = path_take;
  hone_status s = hone_yaml_load(path_take, &set->doc[i], err);
  if (s != HONE_OK) return s;
  hone_node *root = hone_yaml_root(set->doc[i]);
  reader r = {set, path_take, set->doc[i], hone_node_find(root, "sources")};
  if (!hone_node_is_mapping(root))
    return hone_node_err(r.doc, root, err, HONE_INPUT, "machine.type", "a machine file is a mapping of fields");
  if (r.sources && !are_sources(r.sources))
    return hone_node_err(r.doc, r.sources, err, HONE_INPUT, "machine.type", "'sources' is a mapping of names to texts");
  hone_tree *own, *under;
  s = read_node(&r, root, NULL, NULL, &own, err);
  hone_node *base = hone_node_find(root, "base");
  if (s == HONE_OK && base) {
    s = load_base(&r, base, &under, err);
    if (s == HONE_OK) own = merge(set, under, own);
  }
  if (s == HONE_OK) *out = own;
  return s;
}

hone_status hone_tree_load(const char *path, hone_tree_set *out, hone_err *err)
{
  *out = (hone_tree_set){.arena = hone_arena_new()};
  return load_file(out, beside("", path), &out->root, err);
}

void hone_tree_fini(hone_tree_set *s)
{
  for (int i = 0; i < s->nfiles; i++) {
    hone_yaml_free(s->doc[i]);
    free(s->path[i]);
  }
  hone_arena_free(s->arena);
  *s = (hone_tree_set){0};
}
