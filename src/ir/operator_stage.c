/* The stages of an operator text, and the versions of the tensors they write.
 *
 * A tensor written by several stages gets one version per write: all but the last
 * become intermediates "Y.stage" in accumulator format, and a read of Y means
 * the newest. So every tensor has one writer (DESIGN section 4 line 8). */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "ir/operator_int.h"

static const char *const kind_words[] = {
#define HONE_STAGE_KIND(id, name) name,
#include "ir/stage_kind.def"
#undef HONE_STAGE_KIND
    NULL};

static hone_status parse_access(hone_loader *l, hone_node *n, hone_access *out)
{
  hone_err why;
  hone_err_init(&why);
  const char *text = n ? hone_node_text(n) : NULL;
  if (!text) return REFUSE(n ? n : l->root, "type", "expected an access like 'Y[m,n]'");
  hone_status s = hone_expr_parse_access(&l->scope, text, out, &why);
  return s == HONE_OK ? s : hone_loader_err_at(l, n, &why);
}

static const char *const reduction_words[] = {
#define HONE_REDUCTION(id, name, start, formula) name,
#include "ir/reduction.def"
#undef HONE_REDUCTION
    NULL};

/* scale, offset: of the first argument. */
static hone_status load_constant(hone_loader *l, hone_node *n, const hone_stage *st, const char *key, double *out)
{
  hone_node *node = hone_node_find(n, key);
  hone_err why;
  hone_err_init(&why);
  if (!node) return HONE_OK;
  if (st->kind != HONE_STAGE_MAP && st->kind != HONE_STAGE_REDUCE) return REFUSE(node, "function", "only a map or reduce stage has '%s'", key);
  const char *text = hone_node_text(node);
  hone_status s = hone_expr_parse_real(&l->scope, text ? text : "", out, &why);
  return s == HONE_OK ? s : hone_loader_err_at(l, node, &why);
}

static hone_status load_reduction(hone_loader *l, hone_node *n, hone_stage *st)
{
  hone_node *node = hone_node_find(n, "op");
  const char *text = NULL;
  int word = 0;
  if (st->kind != HONE_STAGE_REDUCE) return node ? REFUSE(node, "function", "only a reduce stage has an op") : HONE_OK;
  hone_status s = hone_loader_need_text(l, n, "op", &node, &text);
  if (s == HONE_OK) s = hone_loader_find_word(l, node, reduction_words, text, &word);
  st->reduction = (hone_reduction)word;
  return s;
}

static hone_status load_function(hone_loader *l, hone_node *n, hone_stage *st)
{
  hone_node *node = hone_node_find(n, "function");
  const char *text = NULL;
  char name[HONE_MAX_NAME] = "";
  if (st->kind != HONE_STAGE_MAP && st->kind != HONE_STAGE_REDUCE)
    return node ? REFUSE(node, "function", "only a map or reduce stage has a function") : HONE_OK;
  if (!node && st->kind == HONE_STAGE_REDUCE) return HONE_OK; /* of the values as they are */
  hone_status s = hone_loader_need_text(l, n, "function", &node, &text);
  if (s != HONE_OK) return s;
  size_t length = strlen(text);
  if (text[0] == '{' && text[length - 1] == '}' && length - 2 < sizeof name) { /* "{option}" */
    memcpy(name, text + 1, length - 2);
    text = hone_loader_option(l, name);
    if (!text) return REFUSE(node, "unknown-option", "no option '%s'", name);
  }
  if (hone_function_find(text, &st->apply.function)) return HONE_OK;
  const char *words[HONE_FUNCTION_COUNT + 1] = {0};
  int found;
  for (int f = 0; f < HONE_FUNCTION_COUNT; f++)
    words[f] = hone_function_name((hone_function)f);
  return hone_loader_find_word(l, node, words, text, &found);
}

static hone_status load_guards(hone_loader *l, hone_node *n, hone_stage *st)
{
  hone_node *list = hone_node_find(n, "guard");
  if (!list) return HONE_OK;
  int count = hone_node_is_sequence(list) ? hone_node_count(list) : 0;
  if (count < 1 || count > HONE_MAX_GUARDS) return REFUSE(list, "guard", "'guard' lists 1 to %d conditions", HONE_MAX_GUARDS);
  for (int i = 0; i < count; i++) {
    hone_err why;
    hone_err_init(&why);
    const char *text = hone_node_text(hone_node_item(list, i));
    hone_status s = hone_expr_parse_guard(&l->scope, text ? text : "", &st->guard[st->nguards++], &why);
    if (s != HONE_OK) return hone_loader_err_at(l, hone_node_item(list, i), &why);
  }
  return HONE_OK;
}

/* The format sums of these reads are kept in: of the wider kind. */
static hone_format accumulator_of(const hone_operator *op, const hone_stage *st)
{
  hone_format out = hone_format_accumulator(op->tensor[st->read[0].tensor].format);
  for (int i = 1; i < st->nreads; i++) {
    hone_format f = hone_format_accumulator(op->tensor[st->read[i].tensor].format);
    if (hone_format_is_integer(out) && !hone_format_is_integer(f)) out = f;
  }
  return out;
}

static hone_status load_reads(hone_loader *l, hone_node *n, hone_stage *st)
{
  hone_node *list = hone_node_find(n, "read");
  if (!list) return REFUSE(n, "missing-field", "missing field 'read'");
  int count = hone_node_is_sequence(list) ? hone_node_count(list) : 0;
  if (count < 1 || count > HONE_MAX_READS) return REFUSE(list, "type", "'read' lists 1 to %d accesses", HONE_MAX_READS);
  for (int i = 0; i < count; i++) {
    hone_node *item = hone_node_item(list, i);
    hone_access *a = &st->read[st->nreads++];
    hone_status s = parse_access(l, item, a);
    if (s != HONE_OK) return s;
    if (l->newest[a->tensor] < 0)
      return REFUSE(item, "order", "'%s' is read before it is written", l->op.tensor[a->tensor].name);
    a->tensor = l->newest[a->tensor];
  }
  return HONE_OK;
}

/* Y.stage: what this stage leaves for the next one that writes Y. */
static hone_status new_version(hone_loader *l, hone_node *n, int declared, const hone_stage *st, int *out)
{
  if (l->op.ntensors == HONE_MAX_TENSORS)
    return hone_node_err(l->doc, n, l->err, HONE_UNSUPPORTED, "operator.too-many", "more than %d tensors", HONE_MAX_TENSORS);
  hone_tensor *t = &l->op.tensor[*out = l->op.ntensors++];
  *t = l->op.tensor[declared];
  t->role = HONE_ROLE_INTERMEDIATE;
  t->nlayouts = 1;
  l->accumulator[*out] = true;
  l->at.tensor[*out] = n;
  char name[2 * HONE_MAX_NAME];
  if (snprintf(name, sizeof name, "%s.%s", l->op.tensor[declared].name, st->name) >= HONE_MAX_NAME)
    return REFUSE(n, "name", "'%s' is too long a name", name);
  memcpy(t->name, name, sizeof t->name);
  return HONE_OK;
}

static hone_status load_write(hone_loader *l, hone_node *n, int stage, hone_stage *st)
{
  hone_status s = parse_access(l, hone_node_find(n, "write"), &st->write);
  if (s != HONE_OK) return s;
  int declared = st->write.tensor, version = declared;
  if (l->op.tensor[declared].role == HONE_ROLE_INPUT)
    return REFUSE(hone_node_find(n, "write"), "role", "'%s' is an input and cannot be written", l->op.tensor[declared].name);
  if (l->last_writer[declared] != stage) s = new_version(l, n, declared, st, &version);
  if (l->accumulator[version]) l->op.tensor[version].format = accumulator_of(&l->op, st);
  l->newest[declared] = st->write.tensor = version;
  return s;
}

static void find_stage_dims(const hone_operator *op, hone_stage *st)
{
  hone_dimset written = hone_access_dims(op, &st->write);
  st->dims = written;
  for (int i = 0; i < st->nreads; i++)
    st->dims |= hone_access_dims(op, &st->read[i]);
  for (int i = 0; i < st->nguards; i++)
    for (int t = 0; t < st->guard[i].nterms; t++)
      st->dims |= 1u << st->guard[i].term[t].dim;
  st->reduced = st->dims & ~written;
}

static hone_status load_stage(hone_loader *l, int stage)
{
  static const char *const allowed[] = {"name", "kind", "write", "read", "function", "scale", "offset", "op", "guard", "when", NULL};
  hone_stage *st = &l->op.stage[stage];
  hone_node *node, *n = l->at.stage[stage];
  const char *text = NULL;
  int kind = 0;
  hone_status s = hone_node_check_keys(l->doc, n, allowed, "operator.unknown-field", l->err);
  if (s == HONE_OK) s = hone_loader_need_text(l, n, "name", &node, &text);
  if (s == HONE_OK) s = hone_loader_take_name(l, node, text, st->name);
  if (s == HONE_OK) s = hone_loader_need_text(l, n, "kind", &node, &text);
  if (s == HONE_OK) s = hone_loader_find_word(l, node, kind_words, text, &kind);
  st->kind = (hone_stage_kind)kind;
  st->apply = (hone_apply){HONE_FUNCTION_COPY, 1, 0};
  if (s == HONE_OK) s = load_function(l, n, st);
  if (s == HONE_OK) s = load_constant(l, n, st, "scale", &st->apply.scale);
  if (s == HONE_OK) s = load_constant(l, n, st, "offset", &st->apply.offset);
  if (s == HONE_OK) s = load_reduction(l, n, st);
  if (s == HONE_OK) s = load_reads(l, n, st);
  if (s == HONE_OK) s = load_write(l, n, stage, st);
  if (s == HONE_OK) s = load_guards(l, n, st);
  if (s != HONE_OK) return s;
  st->accumulator = accumulator_of(&l->op, st);
  find_stage_dims(&l->op, st);
  return HONE_OK;
}

/* The stages these options keep, and who writes each tensor last. */
static hone_status find_stages(hone_loader *l, hone_node *list)
{
  for (int i = 0; i < hone_node_count(list); i++) {
    hone_node *n = hone_node_item(list, i);
    bool active;
    hone_access write;
    if (!n || !hone_node_is_mapping(n)) return REFUSE(list, "type", "a stage is a mapping");
    hone_status s = hone_loader_check_when(l, n, &active);
    if (s != HONE_OK || !active) {
      if (s != HONE_OK) return s;
      continue;
    }
    if (l->op.nstages == HONE_MAX_STAGES)
      return hone_node_err(l->doc, n, l->err, HONE_UNSUPPORTED, "operator.too-many", "more than %d stages", HONE_MAX_STAGES);
    if (!hone_node_find(n, "write")) return REFUSE(n, "missing-field", "missing field 'write'");
    s = parse_access(l, hone_node_find(n, "write"), &write);
    if (s != HONE_OK) return s;
    l->last_writer[write.tensor] = l->op.nstages;
    l->at.stage[l->op.nstages++] = n;
  }
  return l->op.nstages > 0 ? HONE_OK : REFUSE(list, "type", "an operator has at least one stage");
}

hone_status hone_loader_load_stages(hone_loader *l)
{
  hone_node *list = hone_node_find(l->root, "stages");
  if (!list) return REFUSE(l->root, "missing-field", "missing field 'stages'");
  if (!hone_node_is_sequence(list)) return REFUSE(list, "type", "'stages' must be a list");
  hone_status s = find_stages(l, list);
  for (int i = 0; s == HONE_OK && i < l->op.nstages; i++)
    s = load_stage(l, i);
  return s;
}
