/* Operator texts: the operator: section of a file in spaces/ (docs/formats.md).
 *
 * Sizes and options first, since everything else may depend on them: extents are
 * expressions of sizes, `when:` keeps or drops a tensor or stage by options. */
#include "config.h"

#include "ir/operator.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "ir/operator_int.h"

static const char *const role_words[] = {"input", "output", "intermediate", "state", NULL}; /* hone_role */
static const char *const outside_words[] = {"refuse", "zero", "-inf", NULL};                 /* hone_outside */

hone_status hone_loader_err_at(hone_loader *l, hone_node *n, const hone_err *why)
{
  hone_node_err(l->doc, n, l->err, why->status, why->code, "%s", why->message);
  if (why->hint[0]) hone_err_hint(l->err, "%s", why->hint);
  return why->status;
}

hone_status hone_loader_need_text(hone_loader *l, hone_node *map, const char *key, hone_node **node, const char **out)
{
  *node = hone_node_find(map, key);
  if (!*node) return REFUSE(map, "missing-field", "missing field '%s'", key);
  *out = hone_node_text(*node);
  return *out && **out ? HONE_OK : REFUSE(*node, "type", "'%s' must be a single value", key);
}

static const char *word_at(void *arg, int i) { return ((const char *const *)arg)[i]; }

hone_status hone_loader_find_word(hone_loader *l, hone_node *n, const char *const *words, const char *text, int *out)
{
  for (*out = 0; words[*out]; ++*out)
    if (strcmp(words[*out], text) == 0) return HONE_OK;
  const char *near = hone_text_nearest(text, *out, word_at, (void *)(uintptr_t)words);
  REFUSE(n, "unknown-word", "'%s' is not known here", text);
  if (near) hone_err_hint(l->err, "did you mean '%s'?", near);
  return HONE_INPUT;
}

hone_status hone_loader_take_name(hone_loader *l, hone_node *n, const char *text, char out[HONE_MAX_NAME])
{
  size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  if (text[length] != '\0' || length == 0 || strchr("0123456789", text[0]))
    return REFUSE(n, "name", "'%s' is not a name of letters, digits and _", text);
  if (length >= HONE_MAX_NAME) return REFUSE(n, "name", "'%s' is longer than %d characters", text, HONE_MAX_NAME - 1);
  snprintf(out, HONE_MAX_NAME, "%s", text);
  return HONE_OK;
}

/* A mapping under root, absent allowed when `optional`; at most `limit` entries. */
static hone_status need_mapping(hone_loader *l, const char *key, int limit, bool optional, hone_node **out)
{
  *out = hone_node_find(l->root, key);
  if (!*out) return optional ? HONE_OK : REFUSE(l->root, "missing-field", "missing field '%s'", key);
  if (!hone_node_is_mapping(*out)) return REFUSE(*out, "type", "'%s' must be a mapping", key);
  if (hone_node_count(*out) > limit)
    return hone_node_err(l->doc, *out, l->err, HONE_UNSUPPORTED, "operator.too-many", "%d entries, at most %d are supported",
                         hone_node_count(*out), limit);
  return HONE_OK;
}

static hone_status parse_int(hone_loader *l, hone_node *n, int64_t *out)
{
  hone_err why;
  hone_err_init(&why);
  const char *text = n ? hone_node_text(n) : NULL;
  if (!text) return REFUSE(n ? n : l->root, "type", "expected an expression of sizes");
  hone_status s = hone_expr_parse_int(&l->scope, text, out, &why);
  if (s != HONE_OK) return hone_loader_err_at(l, n, &why);
  if (*out < 1) return REFUSE(n, "range", "'%s' = %" PRId64 " must be at least 1", text, *out);
  return HONE_OK;
}

/* Sizes. */

static const char *key_at(void *arg, int i) { return hone_node_key(arg, i); }

static hone_status check_asked(hone_loader *l, hone_node *declared, const char *name, const char *what, const char *code)
{
  if (declared && hone_node_find(declared, name)) return HONE_OK;
  hone_err_set(l->err, HONE_USAGE, code, "operator '%s' has no %s '%s'", l->op.name, what, name);
  const char *near = declared ? hone_text_nearest(name, hone_node_count(declared), key_at, declared) : NULL;
  if (near) {
    hone_err_hint(l->err, "did you mean '%s'?", near);
    return HONE_USAGE;
  }
  hone_text list = {0};
  for (int i = 0; declared && i < hone_node_count(declared); i++)
    hone_text_add(&list, "%s%s", i ? ", " : "", hone_node_key(declared, i));
  hone_err_hint(l->err, "%ss: %s", what, list.data ? list.data : "none");
  hone_text_fini(&list);
  return HONE_USAGE;
}

static const hone_size *asked_size(const hone_loader_request *r, const char *name)
{
  const hone_size *found = NULL;
  for (int i = 0; i < r->nsizes; i++)
    if (strcmp(r->sizes[i].name, name) == 0) found = &r->sizes[i];
  return found;
}

static hone_status load_size(hone_loader *l, hone_node *n, const char *name)
{
  static const char *const allowed[] = {"default", NULL};
  const hone_size *asked = asked_size(l->ask, name);
  hone_size *out = &l->scope.size[l->scope.nsizes];
  hone_node *fallback = n ? hone_node_find(n, "default") : NULL;
  out->name = name;
  hone_status s = n && hone_node_is_mapping(n) ? hone_node_check_keys(l->doc, n, allowed, "operator.unknown-field", l->err)
                                               : REFUSE(n ? n : l->root, "type", "size '%s' must be {} or {default: N}", name);
  if (s != HONE_OK) return s;
  if (fallback) s = parse_int(l, fallback, &out->value);
  if (s != HONE_OK) return s;
  if (asked) out->value = asked->value;
  if (!asked && !fallback) {
    hone_err_set(l->err, HONE_USAGE, "operator.missing-size", "operator '%s' needs the size '%s'", l->op.name, name);
    hone_err_path(l->err, "operator.sizes.%s", name);
    return HONE_USAGE;
  }
  if (out->value < 1) {
    hone_err_set(l->err, HONE_USAGE, "operator.range", "size %s = %" PRId64 " must be at least 1", name, out->value);
    hone_err_path(l->err, "operator.sizes.%s", name);
    return HONE_USAGE;
  }
  l->scope.nsizes++;
  return HONE_OK;
}

static hone_status load_sizes(hone_loader *l)
{
  hone_node *sizes;
  hone_status s = need_mapping(l, "sizes", HONE_MAX_SIZES, true, &sizes);
  for (int i = 0; s == HONE_OK && i < l->ask->nsizes; i++)
    s = check_asked(l, sizes, l->ask->sizes[i].name, "size", "operator.unknown-size");
  for (int i = 0; s == HONE_OK && sizes && i < hone_node_count(sizes); i++)
    s = load_size(l, hone_node_value(sizes, i), hone_node_key(sizes, i));
  return s;
}

/* Options. */

static hone_status find_in(hone_loader *l, hone_node *list, const char *text, hone_node *place)
{
  const char *words[32] = {0};
  int n = hone_node_count(list), found;
  for (int i = 0; i < n && i < 31; i++) {
    words[i] = hone_node_text(hone_node_item(list, i));
    if (!words[i]) return REFUSE(list, "type", "an option is a list of words");
  }
  return hone_loader_find_word(l, place, words, text, &found);
}

static hone_status load_option(hone_loader *l, hone_node *list, const char *name)
{
  if (!list || !hone_node_is_sequence(list) || hone_node_count(list) == 0)
    return REFUSE(list ? list : l->root, "type", "option '%s' must be a list, its default first", name);
  hone_operator_option *out = &l->option[l->noptions++];
  *out = (hone_operator_option){name, hone_node_text(hone_node_item(list, 0))};
  for (int i = 0; i < l->ask->noptions; i++)
    if (strcmp(l->ask->options[i].name, name) == 0) out->value = l->ask->options[i].value;
  return find_in(l, list, out->value ? out->value : "", list);
}

static hone_status load_options(hone_loader *l)
{
  hone_node *options;
  hone_status s = need_mapping(l, "options", HONE_MAX_OPTIONS, true, &options);
  for (int i = 0; s == HONE_OK && i < l->ask->noptions; i++)
    s = check_asked(l, options, l->ask->options[i].name, "option", "operator.unknown-option");
  for (int i = 0; s == HONE_OK && options && i < hone_node_count(options); i++)
    s = load_option(l, hone_node_value(options, i), hone_node_key(options, i));
  return s;
}

const char *hone_loader_option(const hone_loader *l, const char *name)
{
  for (int i = 0; i < l->noptions; i++)
    if (strcmp(l->option[i].name, name) == 0) return l->option[i].value;
  return NULL;
}

/* One condition: option: value, or option: [values]. */
static hone_status holds(hone_loader *l, const char *name, hone_node *want, bool *out)
{
  hone_node *options = hone_node_find(l->root, "options");
  const char *value = hone_loader_option(l, name);
  bool any = false;
  if (!value) return REFUSE(want, "unknown-option", "no option '%s'", name);
  int n = hone_node_is_sequence(want) ? hone_node_count(want) : 1;
  for (int i = 0; i < n; i++) {
    hone_node *item = hone_node_is_sequence(want) ? hone_node_item(want, i) : want;
    const char *text = hone_node_text(item);
    if (!text) return REFUSE(want, "type", "a condition is a word or a list of words");
    hone_status s = find_in(l, hone_node_find(options, name), text, item);
    if (s != HONE_OK) return s;
    any = any || strcmp(text, value) == 0;
  }
  *out = *out && any;
  return HONE_OK;
}

hone_status hone_loader_check_when(hone_loader *l, hone_node *n, bool *out)
{
  hone_node *when = hone_node_find(n, "when");
  hone_status s = HONE_OK;
  *out = true;
  if (when && !hone_node_is_mapping(when)) return REFUSE(when, "type", "'when' must be a mapping of options");
  for (int i = 0; s == HONE_OK && when && i < hone_node_count(when); i++)
    s = holds(l, hone_node_key(when, i), hone_node_value(when, i), out);
  return s;
}

/* Dims. The tensor behind extent_from is found once tensors are there. */

static hone_status load_dim(hone_loader *l, hone_node *n, const char *name)
{
  static const char *const allowed[] = {"extent", "sequential", "extent_from", "maximum", NULL};
  int i = l->op.ndims++;
  hone_dim *d = &l->op.dim[i];
  l->at.dim[i] = n;
  *d = (hone_dim){.extent_from = -1, .extent_dim = -1};
  hone_status s = hone_loader_take_name(l, n, name, d->name);
  if (s != HONE_OK || !hone_node_is_mapping(n)) return s == HONE_OK ? parse_int(l, n, &d->extent) : s;
  s = hone_node_check_keys(l->doc, n, allowed, "operator.unknown-field", l->err);
  bool ragged = hone_node_find(n, "extent_from") != NULL;
  const char *key = ragged ? "maximum" : "extent";
  if (s == HONE_OK && !hone_node_find(n, key)) return REFUSE(n, "missing-field", "missing field '%s'", key);
  if (s == HONE_OK) s = parse_int(l, hone_node_find(n, key), &d->extent);
  if (s == HONE_OK && hone_node_find(n, "sequential"))
    s = hone_node_get_bool(l->doc, n, "sequential", &d->sequential, l->err);
  return s;
}

static hone_status load_dims(hone_loader *l)
{
  hone_node *dims;
  hone_status s = need_mapping(l, "dims", HONE_MAX_DIMS, false, &dims);
  for (int i = 0; s == HONE_OK && i < hone_node_count(dims); i++) {
    hone_node *n = hone_node_value(dims, i);
    s = n ? load_dim(l, n, hone_node_key(dims, i)) : REFUSE(dims, "type", "dim '%s' has no extent", hone_node_key(dims, i));
  }
  if (s == HONE_OK && l->op.ndims == 0) return REFUSE(dims, "type", "an operator has at least one dim");
  return s;
}

/* extent_from: "lengths[b]" */
static hone_status load_ragged(hone_loader *l)
{
  for (int d = 0; d < l->op.ndims; d++) {
    hone_node *from = hone_node_is_mapping(l->at.dim[d]) ? hone_node_find(l->at.dim[d], "extent_from") : NULL;
    hone_access a;
    hone_err why;
    hone_err_init(&why);
    if (!from) continue;
    hone_status s = hone_expr_parse_access(&l->scope, hone_node_text(from) ? hone_node_text(from) : "", &a, &why);
    if (s != HONE_OK) return hone_loader_err_at(l, from, &why);
    hone_affine e = a.axis[0].affine;
    if (l->op.tensor[a.tensor].rank != 1 || a.axis[0].table >= 0 || e.nterms != 1 || e.term[0].coef != 1 || e.constant != 0)
      return REFUSE(from, "ragged", "expected a table of one axis indexed by a dim");
    l->op.dim[d].extent_from = a.tensor;
    l->op.dim[d].extent_dim = e.term[0].dim;
  }
  return HONE_OK;
}

/* Tensors. */

static hone_status load_format(hone_loader *l, hone_node *n, int t)
{
  hone_node *node;
  const char *text, *name = l->op.tensor[t].name;
  const hone_format_choice *fallback = NULL, *own = NULL;
  hone_status s = hone_loader_need_text(l, n, "format", &node, &text);
  for (int i = 0; i < l->ask->nformats; i++) {
    const hone_format_choice *c = &l->ask->formats[i];
    if (!c->tensor) fallback = c;
    else if (strcmp(c->tensor, name) == 0) own = c;
  }
  if (s != HONE_OK) return s;
  if (own || (fallback && strcmp(text, "dtype") == 0)) {
    l->op.tensor[t].format = own ? own->format : fallback->format;
    return HONE_OK;
  }
  if (strcmp(text, "dtype") == 0) {
    hone_err_set(l->err, HONE_USAGE, "operator.missing-format", "operator '%s' needs a number format for '%s'", l->op.name, name);
    hone_err_path(l->err, "operator.tensors.%s.format", name);
    return HONE_USAGE;
  }
  l->accumulator[t] = strcmp(text, "accumulator") == 0;
  if (l->accumulator[t] || hone_format_find(text, &l->op.tensor[t].format)) return HONE_OK;
  return REFUSE(node, "unknown-format", "no number format '%s'", text);
}

static hone_status load_axes(hone_loader *l, hone_node *n, hone_tensor *t)
{
  hone_node *axes = hone_node_find(n, "axes");
  hone_status s = HONE_OK;
  if (!axes) return REFUSE(n, "missing-field", "missing field 'axes'");
  if (!hone_node_is_sequence(axes)) return REFUSE(axes, "type", "'axes' must be a list of extents");
  if (hone_node_count(axes) > HONE_MAX_RANK) return REFUSE(axes, "rank", "more than %d axes", HONE_MAX_RANK);
  t->rank = hone_node_count(axes);
  for (int a = 0; s == HONE_OK && a < t->rank; a++)
    s = parse_int(l, hone_node_item(axes, a), &t->extent[a]);
  return s;
}

static hone_status load_layout(hone_loader *l, hone_node *n, const hone_tensor *t, uint8_t *out)
{
  unsigned seen = 0;
  if (!hone_node_is_sequence(n) || hone_node_count(n) != t->rank)
    return REFUSE(n, "layout", "a layout lists the %d axes, outermost first", t->rank);
  for (int i = 0; i < t->rank; i++) {
    int64_t axis;
    const char *text = hone_node_text(hone_node_item(n, i));
    if (!text || !hone_text_parse_int(text, &axis) || axis < 0 || axis >= t->rank || seen >> axis & 1)
      return REFUSE(n, "layout", "a layout lists each axis 0 to %d once", t->rank - 1);
    seen |= 1u << axis;
    out[i] = (uint8_t)axis;
  }
  return HONE_OK;
}

static hone_status load_layouts(hone_loader *l, hone_node *n, hone_tensor *t)
{
  hone_node *list = hone_node_find(n, "layouts");
  hone_status s = HONE_OK;
  t->nlayouts = 1;
  for (int a = 0; a < t->rank; a++)
    t->layout[0][a] = (uint8_t)a;
  if (!list) return HONE_OK;
  int count = hone_node_is_sequence(list) ? hone_node_count(list) : 0;
  if (count < 1 || count > HONE_MAX_LAYOUTS) return REFUSE(list, "layout", "'layouts' lists 1 to %d layouts", HONE_MAX_LAYOUTS);
  t->nlayouts = count;
  for (int i = 0; s == HONE_OK && i < count; i++)
    s = load_layout(l, hone_node_item(list, i), t, t->layout[i]);
  return s;
}

static hone_status load_tensor(hone_loader *l, hone_node *n, const char *name)
{
  static const char *const allowed[] = {"role", "axes", "format", "layouts", "outside", "when", NULL};
  hone_node *node;
  const char *text;
  bool active;
  int word = 0, i = l->op.ntensors;
  hone_tensor *t = &l->op.tensor[i];
  *t = (hone_tensor){0};
  l->at.tensor[i] = n;
  hone_status s = hone_loader_take_name(l, n, name, t->name);
  if (s == HONE_OK) s = hone_node_check_keys(l->doc, n, allowed, "operator.unknown-field", l->err);
  if (s == HONE_OK) s = hone_loader_check_when(l, n, &active);
  if (s != HONE_OK || !active) return s;
  s = hone_loader_need_text(l, n, "role", &node, &text);
  if (s == HONE_OK) s = hone_loader_find_word(l, node, role_words, text, &word);
  t->role = (hone_role)word;
  if (s == HONE_OK && hone_node_find(n, "outside")) {
    s = hone_loader_need_text(l, n, "outside", &node, &text);
    if (s == HONE_OK) s = hone_loader_find_word(l, node, outside_words, text, &word);
    t->outside = (hone_outside)word;
  }
  if (s == HONE_OK) s = load_axes(l, n, t);
  if (s == HONE_OK) s = load_layouts(l, n, t);
  if (s == HONE_OK) s = load_format(l, n, i);
  l->newest[i] = t->role == HONE_ROLE_INPUT || t->role == HONE_ROLE_STATE ? i : -1;
  l->last_writer[i] = -1;
  l->op.ntensors++;
  return s;
}

static hone_status load_tensors(hone_loader *l)
{
  hone_node *tensors;
  hone_status s = need_mapping(l, "tensors", HONE_MAX_TENSORS, false, &tensors);
  for (int i = 0; s == HONE_OK && i < hone_node_count(tensors); i++) {
    hone_node *n = hone_node_value(tensors, i);
    s = n && hone_node_is_mapping(n) ? load_tensor(l, n, hone_node_key(tensors, i))
                                     : REFUSE(tensors, "type", "tensor '%s' must be a mapping", hone_node_key(tensors, i));
  }
  for (int i = 0; s == HONE_OK && i < l->ask->nformats; i++) {
    const char *name = l->ask->formats[i].tensor;
    if (!name) continue;
    s = check_asked(l, tensors, name, "tensor", "operator.unknown-tensor");
    if (s == HONE_OK && hone_operator_find_tensor(&l->op, name) < 0)
      s = hone_err_set(l->err, HONE_USAGE, "operator.unused-tensor", "tensor '%s' does not exist with these options", name);
  }
  return s;
}

static hone_status load_head(hone_loader *l)
{
  static const char *const sections[] = {"operator", "space", NULL};
  static const char *const allowed[] = {"name", "sizes", "options", "dims", "tensors", "stages", NULL};
  hone_node *node, *root = hone_yaml_root(l->doc);
  const char *name = NULL;
  hone_status s = hone_node_check_keys(l->doc, root, sections, "operator.unknown-field", l->err);
  if (s != HONE_OK) return s;
  l->root = hone_node_find(root, "operator");
  if (!l->root) return REFUSE(root, "missing-field", "missing field 'operator'");
  s = hone_node_check_keys(l->doc, l->root, allowed, "operator.unknown-field", l->err);
  if (s == HONE_OK) s = hone_loader_need_text(l, l->root, "name", &node, &name);
  return s == HONE_OK ? hone_loader_take_name(l, node, name, l->op.name) : s;
}

/* A word that survives being part of a spec's text. */
static hone_status spec_word(hone_loader *l, const char *text, char out[HONE_MAX_NAME])
{
  if (text[strcspn(text, " ,=\t\n")] == '\0' && snprintf(out, HONE_MAX_NAME, "%s", text) < HONE_MAX_NAME) return HONE_OK;
  return REFUSE(l->root, "name", "'%.60s' is no word of at most %d characters without blanks, ',' and '='", text, HONE_MAX_NAME - 1);
}

static void note_formats(const hone_loader *l, hone_spec *s)
{
  for (int t = -1; t < l->op.ntensors; t++)
    for (int i = l->ask->nformats - 1; i >= 0; i--) {
      const hone_format_choice *c = &l->ask->formats[i];
      if (t < 0 ? c->tensor != NULL : !c->tensor || strcmp(c->tensor, l->op.tensor[t].name) != 0) continue;
      s->format[s->nformats].format = c->format;
      if (t >= 0) memcpy(s->format[s->nformats].tensor, l->op.tensor[t].name, HONE_MAX_NAME);
      s->nformats++;
      break; /* the last one given counts */
    }
}

/* What was asked for, defaults filled in. Sizes and options in the text's order,
 * formats: the default first, then tensors in the text's order. */
static hone_status note_spec(hone_loader *l)
{
  hone_spec *s = &l->op.spec;
  hone_status st = HONE_OK;
  s->nsizes = l->scope.nsizes;
  s->noptions = l->noptions;
  memcpy(s->operator_name, l->op.name, HONE_MAX_NAME);
  for (int i = 0; i < s->nsizes && st == HONE_OK; i++) {
    s->size[i].value = s->size[i].to = l->scope.size[i].value;
    st = spec_word(l, l->scope.size[i].name, s->size[i].name);
  }
  for (int i = 0; i < s->noptions && st == HONE_OK; i++) {
    st = spec_word(l, l->option[i].name, s->option[i].name);
    if (st == HONE_OK) st = spec_word(l, l->option[i].value, s->option[i].value);
  }
  note_formats(l, s);
  return st;
}

static hone_status load(hone_loader *l)
{
  hone_status s = load_head(l);
  if (s == HONE_OK) s = load_sizes(l);
  if (s == HONE_OK) s = load_options(l);
  if (s == HONE_OK) s = load_dims(l);
  l->scope.op = &l->op;
  if (s == HONE_OK) s = load_tensors(l);
  if (s == HONE_OK) s = load_ragged(l);
  if (s == HONE_OK) s = hone_loader_load_stages(l);
  if (s == HONE_OK) s = note_spec(l);
  if (s == HONE_OK) s = hone_loader_make_views(l);
  return s == HONE_OK ? hone_operator_check(&l->op, &l->at, l->err) : s;
}

static hone_status make(hone_yaml *text, const hone_loader_request *ask, hone_operator *out, hone_err *err)
{
  hone_loader *l = hone_heap_alloc(1, sizeof *l);
  l->ask = ask;
  l->err = err;
  l->doc = l->at.doc = text;
  hone_status s = load(l);
  if (s == HONE_OK) *out = l->op;
  free(l);
  return s;
}

hone_status hone_operator_load(const char *path, const hone_size *sizes, int nsizes, const hone_format_choice *formats,
                               int nformats, const hone_operator_option *options, int noptions, hone_operator *out,
                               hone_err *err)
{
  hone_loader_request ask = {sizes, nsizes, formats, nformats, options, noptions};
  hone_yaml *text = NULL;
  hone_status s = hone_yaml_load(path, &text, err);
  if (s == HONE_OK) s = make(text, &ask, out, err);
  hone_yaml_free(text);
  return s;
}

hone_status hone_operator_make(hone_yaml *text, const hone_spec *spec, hone_operator *out, hone_err *err)
{
  hone_size sizes[HONE_MAX_SIZES];
  hone_format_choice formats[HONE_MAX_TENSORS + 1];
  hone_operator_option options[HONE_MAX_OPTIONS];
  for (int i = 0; i < spec->nsizes; i++) sizes[i] = (hone_size){spec->size[i].name, spec->size[i].value};
  for (int i = 0; i < spec->nformats; i++)
    formats[i] = (hone_format_choice){spec->format[i].tensor[0] ? spec->format[i].tensor : NULL, spec->format[i].format};
  for (int i = 0; i < spec->noptions; i++) options[i] = (hone_operator_option){spec->option[i].name, spec->option[i].value};
  hone_loader_request ask = {sizes, spec->nsizes, formats, spec->nformats, options, spec->noptions};
  hone_status s = make(text, &ask, out, err);
  if (s == HONE_OK && strcmp(out->name, spec->operator_name) != 0)
    return hone_node_err(text, hone_yaml_root(text), err, HONE_INPUT, "spec.operator", "this is the operator '%s', not '%s'", out->name,
                         spec->operator_name);
  return s;
}

hone_status hone_operator_load_spec(const char *path, const hone_spec *spec, hone_operator *out, hone_err *err)
{
  hone_yaml *text = NULL;
  hone_status s = hone_yaml_load(path, &text, err);
  if (s == HONE_OK) s = hone_operator_make(text, spec, out, err);
  hone_yaml_free(text);
  return s;
}
