/* Reads the `space:` section of a file: let, domains, constraints. Reading order:
 * positions of errors, items, one clause, foreach expansion, the section. */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/yaml.h"
#include "spaces/space_int.h"

enum { MAX_WORDS = 4, LARGEST_SOURCE = 1 << 20 };

typedef struct {
  hone_space *s;
  hone_yaml *y;
  const char *name; /* of the source */
  char *text;
  hone_err *err;
} reader;

/* ---- errors ---- */

#define FAIL(r, node, status, code, ...) hone_node_err((r)->y, (node), (r)->err, (status), (code), __VA_ARGS__)

/* Moves an error made elsewhere to a node of the file. */
static hone_status at_node(reader *r, hone_node *node, const hone_err *inner)
{
  FAIL(r, node, inner->status, inner->code, "%s", inner->message);
  if (inner->hint[0]) hone_err_hint(r->err, "%s", inner->hint);
  return inner->status;
}

static bool starts_quoted(const reader *r, int line, int column)
{
  const char *p = r->text;
  for (int i = 1; i < line && p; i++) p = (p = strchr(p, '\n')) ? p + 1 : NULL;
  return p && (int)strcspn(p, "\n") >= column && (p[column - 1] == '"' || p[column - 1] == '\'');
}

/* The column of an expression's error counts from its first character. */
static hone_status at_expression(reader *r, hone_node *node, const hone_err *inner)
{
  at_node(r, node, inner);
  if (!r->err) return inner->status;
  int line = r->err->line, column = r->err->column;
  if (inner->column > 0 && column > 0)
    hone_err_at(r->err, r->name, line, column + inner->column - 1 + starts_quoted(r, line, column));
  return inner->status;
}

static hone_status compile(reader *r, hone_node *node, const hone_scope *scope, hone_expr *out)
{
  hone_err inner;
  hone_err_init(&inner);
  const char *text = hone_node_text(node);
  if (!text) return FAIL(r, node, HONE_INPUT, "space.type", "expected an expression");
  if (hone_expr_compile(text, scope, out, &inner) == HONE_OK) return HONE_OK;
  return at_expression(r, node, &inner);
}

static void where_of(reader *r, hone_node *node, char out[SPACE_WHERE])
{
  hone_err place;
  hone_err_init(&place);
  hone_node_err(r->y, node, &place, HONE_INPUT, "space.place", "here");
  snprintf(out, SPACE_WHERE, "%s:%d", r->name, place.line);
}

/* ---- items ---- */

typedef struct {
  const char *name;
  hone_item_kind kind;
  int bare;
  unsigned required, optional;
} item_row;

enum { NONE = -1, OF = 1u << HONE_FIELD_OF, FROM = 1u << HONE_FIELD_FROM, TO = 1u << HONE_FIELD_TO,
       STEP = 1u << HONE_FIELD_STEP, TIMES = 1u << HONE_FIELD_TIMES, GRANULE = 1u << HONE_FIELD_GRANULE };

static const item_row item_rows[] = {
#define HONE_ITEM(id, name, fn, bare, required, optional) {name, HONE_ITEM_##id, bare, required, optional},
#include "spaces/item.def"
#undef HONE_ITEM
};
enum { NROWS = sizeof item_rows / sizeof *item_rows };
static const char *const field_names[HONE_FIELD_COUNT + 1] = {"of", "from", "to", "step", "times", "granule", NULL};
static const char *const item_names[] = {
#define HONE_ITEM(id, name, fn, bare, required, optional) name,
#include "spaces/item.def"
#undef HONE_ITEM
    "list", "choices", "permutations", NULL};

static hone_status read_fields(reader *r, hone_node *n, const item_row *row, const hone_scope *scope, space_item *out)
{
  hone_status st = HONE_OK;
  if (hone_node_is_scalar(n) && row->bare != NONE) {
    int bare = __builtin_ctz((unsigned)row->bare);
    out->given[bare] = true;
    return compile(r, n, scope, &out->field[bare]);
  }
  st = hone_node_check_keys(r->y, n, field_names, "space.unknown-field", r->err);
  for (int f = 0; st == HONE_OK && f < HONE_FIELD_COUNT; f++) {
    hone_node *v = hone_node_find(n, field_names[f]);
    if (v && !((row->required | row->optional) >> f & 1u))
      return FAIL(r, v, HONE_INPUT, "space.unknown-field", "%s has no field '%s'", row->name, field_names[f]);
    if (!v && (row->required >> f & 1u))
      return FAIL(r, n, HONE_INPUT, "space.missing-field", "%s needs the field '%s'", row->name, field_names[f]);
    if (!v) continue;
    out->given[f] = true;
    st = compile(r, v, scope, &out->field[f]);
  }
  return st;
}

static hone_status constant_value(int64_t v, hone_expr *out)
{
  char text[24];
  hone_scope none = {0};
  snprintf(text, sizeof text, "%lld", (long long)v);
  return hone_expr_compile(text, &none, out, NULL);
}

/* A value as canonical schedule text writes it; an order may be a YAML list. */
static hone_status read_choice(reader *r, hone_node *n, const hone_param *p, hone_expr *out)
{
  hone_text text = {0};
  int64_t v = 0;
  if (hone_node_is_scalar(n))
    hone_text_add(&text, "%s", hone_node_text(n));
  else
    for (int i = 0; i < hone_node_count(n); i++)
      hone_text_add(&text, "%s%s", i ? "," : "", hone_node_text(hone_node_item(n, i)) ? hone_node_text(hone_node_item(n, i)) : "?");
  bool ok = text.data && r->s->op ? hone_param_parse_value(r->s->op, r->s->m, p, text.data, &v)
                                  : text.data && hone_text_parse_int(text.data, &v);
  hone_status st = ok && v >= 0 ? constant_value(v, out) : HONE_OK;
  if (ok && v < 0) { /* the grammar has no negative literals */
    char negative[32];
    hone_scope none = {0};
    snprintf(negative, sizeof negative, "-%lld", (long long)-v);
    st = hone_expr_compile(negative, &none, out, NULL);
  }
  if (!ok) st = FAIL(r, n, HONE_INPUT, "space.value", "'%s' is not a value of %s", text.data ? text.data : "", p->name);
  hone_text_fini(&text);
  return st;
}

static hone_status read_values(reader *r, hone_node *n, const char *kind, const hone_scope *scope, const hone_param *p,
                               space_item *out)
{
  if (!hone_node_is_sequence(n)) return FAIL(r, n, HONE_INPUT, "space.type", "%s takes a list of values", kind);
  bool expressions = strcmp(kind, "list") == 0;
  if (strcmp(kind, "permutations") == 0 && p->domain != HONE_DOMAIN_ORDER)
    return FAIL(r, n, HONE_INPUT, "space.value", "%s is not an order", p->name);
  out->kind = HONE_ITEM_VALUES;
  out->value = hone_heap_alloc((size_t)hone_node_count(n) + 1, sizeof *out->value);
  for (int i = 0; i < hone_node_count(n); i++) {
    hone_node *v = hone_node_item(n, i);
    hone_status st = expressions ? compile(r, v, scope, &out->value[i]) : read_choice(r, v, p, &out->value[i]);
    if (st != HONE_OK) return st;
    out->nvalues++;
  }
  return HONE_OK;
}

static hone_status read_item(reader *r, hone_node *n, const hone_scope *scope, const hone_param *p, space_item *out)
{
  hone_status st = hone_node_check_keys(r->y, n, item_names, "space.unknown-item", r->err);
  if (st != HONE_OK) return st;
  if (hone_node_count(n) != 1) return FAIL(r, n, HONE_INPUT, "space.item", "one kind of values per entry; add a '-' line for another");
  const char *kind = hone_node_key(n, 0);
  for (int i = 0; i < NROWS; i++)
    if (strcmp(item_rows[i].name, kind) == 0) {
      out->kind = item_rows[i].kind;
      return read_fields(r, hone_node_value(n, 0), &item_rows[i], scope, out);
    }
  return read_values(r, hone_node_value(n, 0), kind, scope, p, out);
}

/* ---- clauses ---- */

static hone_status read_domain(reader *r, hone_node *n, const hone_scope *scope)
{
  char name[HONE_EXPR_NAME], hint[HONE_EXPR_NAME];
  hone_node *target = hone_node_find(n, "parameter"), *values = hone_node_find(n, "values");
  hone_err inner;
  hone_err_init(&inner);
  if (hone_scope_expand(scope, hone_node_text(target), name, &inner) != HONE_OK) return at_node(r, target, &inner);
  int slot = space_find_parameter(r->s, name, hint);
  if (slot == -1) return HONE_OK; /* has one value on this machine */
  if (slot < 0) {
    FAIL(r, target, HONE_INPUT, "space.unknown-parameter", "there is no parameter '%s'", name);
    if (hint[0]) hone_err_hint(r->err, "did you mean '%s'?", hint);
    return HONE_INPUT;
  }
  space_clause c = {.item = hone_heap_alloc((size_t)hone_node_count(values), sizeof *c.item)};
  where_of(r, n, c.where);
  for (int i = 0; i < hone_node_count(values); i++) {
    c.nitems++;
    hone_status st = read_item(r, hone_node_item(values, i), scope, r->s->variable[slot].param, &c.item[i]);
    if (st == HONE_OK) continue;
    space_clause_free(&c);
    return st;
  }
  return space_narrow(r->s, slot, &c, &inner) == HONE_OK ? HONE_OK : at_node(r, n, &inner);
}

static hone_status read_constraint(reader *r, hone_node *n, const hone_scope *scope)
{
  hone_space *s = r->s;
  const char *name, *reason = NULL;
  hone_expr e;
  hone_status st = hone_node_get_text(r->y, n, "name", &name, r->err);
  if (st == HONE_OK && hone_node_find(n, "reason")) st = hone_node_get_text(r->y, n, "reason", &reason, r->err);
  if (st == HONE_OK) st = compile(r, hone_node_find(n, "require"), scope, &e);
  if (st != HONE_OK) return st;
  s->constraint = hone_heap_realloc(s->constraint, (size_t)s->nconstraints + 1, sizeof *s->constraint);
  space_constraint *c = &s->constraint[s->nconstraints++];
  *c = (space_constraint){.expr = e, .last = e.nuses > 0 ? e.uses[e.nuses - 1] : 0};
  int used = snprintf(c->name, sizeof c->name, "%.60s", name);
  for (int i = 0; i < scope->nbindings && used < (int)sizeof c->name; i++) /* which of the family */
    used += snprintf(c->name + used, sizeof c->name - (size_t)used, "%s%s%s", i ? "," : "(", scope->binding[i].text,
                     i + 1 == scope->nbindings ? ")" : "");
  snprintf(c->reason, sizeof c->reason, "%s", reason ? reason : "");
  where_of(r, n, c->where);
  return HONE_OK;
}

/* ---- foreach ---- */

typedef hone_status (*clause_reader)(reader *, hone_node *, const hone_scope *);

static hone_status read_words(reader *r, hone_node *n, const char *word[MAX_WORDS], int *nwords)
{
  hone_node *f = hone_node_find(n, "foreach");
  int count = f ? (hone_node_is_sequence(f) ? hone_node_count(f) : 1) : 0;
  *nwords = 0;
  if (count > MAX_WORDS) return FAIL(r, f, HONE_INPUT, "space.foreach", "at most %d words", MAX_WORDS);
  for (int i = 0; i < count; i++) {
    hone_node *v = hone_node_is_sequence(f) ? hone_node_item(f, i) : f;
    const char *w = hone_node_text(v);
    if (!w || space_foreach_count(r->s, w) < 0)
      return FAIL(r, v, HONE_INPUT, "space.foreach",
                  r->s->op ? "'%s' is none of level, dim, tensor, stage, axis" : "'%s': an opaque space has no foreach", w ? w : "");
    word[(*nwords)++] = w;
  }
  return HONE_OK;
}

/* `when`: constant and not zero. */
static hone_status read_when(reader *r, hone_node *n, const hone_scope *scope, bool *out)
{
  hone_node *w = hone_node_find(n, "when");
  hone_expr e;
  int64_t v = 1;
  *out = true;
  if (!w) return HONE_OK;
  hone_status st = compile(r, w, scope, &e);
  if (st != HONE_OK) return st;
  if (!hone_expr_is_constant(&e))
    st = FAIL(r, w, HONE_INPUT, "space.when", "'when' may not depend on parameters; use a constraint");
  else {
    hone_fault f = hone_expr_eval(&e, NULL, &v, NULL);
    if (f != HONE_FAULT_NONE) st = FAIL(r, w, HONE_INPUT, "space.when", "%s", hone_fault_text(f));
  }
  hone_expr_free(&e);
  *out = v != 0;
  return st;
}

/* Reads the clause once per combination of its foreach words, the last fastest. */
static hone_status expand(reader *r, hone_node *n, clause_reader read)
{
  const char *word[MAX_WORDS];
  int nwords, at[MAX_WORDS] = {0};
  hone_status st = read_words(r, n, word, &nwords);
  for (int i = 0; i < nwords; i++)
    if (space_foreach_count(r->s, word[i]) == 0) return st;
  while (st == HONE_OK) {
    hone_scope scope;
    bool wanted = false;
    space_scope_init(r->s, &scope);
    scope.nbindings = nwords;
    for (int i = 0; i < nwords; i++) space_foreach_bind(r->s, word[i], at[i], &scope.binding[i]);
    st = read_when(r, n, &scope, &wanted);
    if (st == HONE_OK && wanted) st = read(r, n, &scope);
    int i = nwords - 1;
    while (i >= 0 && ++at[i] == space_foreach_count(r->s, word[i])) at[i--] = 0;
    if (i < 0) break;
  }
  return st;
}

static hone_status read_clauses(reader *r, hone_node *list, const char *const *keys, const char *const *needed, clause_reader read)
{
  if (!list) return HONE_OK;
  if (!hone_node_is_sequence(list)) return FAIL(r, list, HONE_INPUT, "space.type", "expected a list");
  for (int i = 0; i < hone_node_count(list); i++) {
    hone_node *n = hone_node_item(list, i);
    hone_status st = hone_node_check_keys(r->y, n, keys, "space.unknown-field", r->err);
    for (int k = 0; st == HONE_OK && needed[k]; k++)
      if (!hone_node_find(n, needed[k]))
        st = FAIL(r, n, HONE_INPUT, "space.missing-field", "missing field '%s'", needed[k]);
    if (st == HONE_OK) st = expand(r, n, read);
    if (st != HONE_OK) return st;
  }
  return HONE_OK;
}

/* ---- the section ---- */

static hone_status read_lets(reader *r, hone_node *lets)
{
  hone_space *s = r->s;
  if (lets && !hone_node_is_mapping(lets)) return FAIL(r, lets, HONE_INPUT, "space.type", "let: names with expressions");
  for (int i = 0; lets && i < hone_node_count(lets); i++) {
    hone_node *v = hone_node_value(lets, i);
    const char *name = hone_node_key(lets, i), *text = hone_node_text(v);
    if (!text || strlen(text) >= HONE_EXPR_TEXT || strlen(name) >= HONE_MAX_NAME || strchr(name, '.'))
      return FAIL(r, v, HONE_INPUT, "space.let", "a short name without dots and an expression of less than %d characters",
                  HONE_EXPR_TEXT);
    if (!strchr(text, '{')) { /* report mistakes here rather than where it is used */
      hone_scope scope;
      hone_expr e;
      space_scope_init(s, &scope);
      hone_status st = compile(r, v, &scope, &e);
      if (st != HONE_OK) return st;
      hone_expr_free(&e);
    }
    s->let = hone_heap_realloc(s->let, (size_t)s->nlets + 1, sizeof *s->let);
    space_let *l = &s->let[s->nlets++];
    snprintf(l->name, sizeof l->name, "%s", name);
    l->text = hone_heap_alloc(strlen(text) + 1, 1);
    memcpy(l->text, text, strlen(text));
  }
  return HONE_OK;
}

/* The values of every domain clause are a list. */
static hone_status check_values(reader *r, hone_node *domains)
{
  for (int i = 0; domains && hone_node_is_sequence(domains) && i < hone_node_count(domains); i++) {
    hone_node *n = hone_node_item(domains, i);
    hone_node *values = hone_node_is_mapping(n) ? hone_node_find(n, "values") : NULL;
    hone_node *target = hone_node_is_mapping(n) ? hone_node_find(n, "parameter") : NULL;
    if (values && (!hone_node_is_sequence(values) || hone_node_count(values) == 0))
      return FAIL(r, values, HONE_INPUT, "space.type", "values: a list, each entry one kind such as 'quotients: extent.m'");
    if (target && !hone_node_text(target)) return FAIL(r, target, HONE_INPUT, "space.type", "parameter: a name");
  }
  return HONE_OK;
}

static hone_status read_section(reader *r, hone_node *section)
{
  static const char *const section_keys[] = {"let", "domains", "constraints", NULL};
  static const char *const domain_keys[] = {"parameter", "foreach", "when", "values", NULL};
  static const char *const domain_needs[] = {"parameter", "values", NULL};
  static const char *const constraint_keys[] = {"name", "foreach", "when", "require", "reason", NULL};
  static const char *const constraint_needs[] = {"name", "require", NULL};
  hone_status st = hone_node_check_keys(r->y, section, section_keys, "space.unknown-field", r->err);
  if (st == HONE_OK) st = read_lets(r, hone_node_find(section, "let"));
  if (st == HONE_OK) st = check_values(r, hone_node_find(section, "domains"));
  if (st == HONE_OK) st = read_clauses(r, hone_node_find(section, "domains"), domain_keys, domain_needs, read_domain);
  if (st == HONE_OK)
    st = read_clauses(r, hone_node_find(section, "constraints"), constraint_keys, constraint_needs, read_constraint);
  return st;
}

hone_status space_read(hone_space *s, const hone_space_source *source, hone_err *err)
{
  reader r = {.s = s, .name = source->name, .err = err};
  hone_status st = HONE_OK;
  if (source->text) {
    r.text = hone_heap_alloc(strlen(source->text) + 1, 1);
    memcpy(r.text, source->text, strlen(source->text));
  } else {
    size_t n;
    st = hone_text_load(source->name, LARGEST_SOURCE, &r.text, &n, err);
    if (st != HONE_OK) return st;
  }
  s->hash = hone_hash_join(s->hash, hone_hash_text(r.text));
  st = hone_yaml_parse(source->name, r.text, &r.y, err);
  if (st == HONE_OK) {
    hone_node *root = hone_yaml_root(r.y);
    hone_node *section = hone_node_is_mapping(root) ? hone_node_find(root, "space") : NULL;
    if (!hone_node_is_mapping(root))
      st = FAIL(&r, root, HONE_INPUT, "space.type", "expected a mapping with 'space:'");
    else if (section)
      st = read_section(&r, section);
    hone_yaml_free(r.y);
  }
  free(r.text);
  return st;
}
