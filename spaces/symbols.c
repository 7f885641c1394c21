/* The names of the language: parameters (tile.1.m), facts about the operator and
 * the machine (extent.m, capacity.1), and words (bypass, ws). A row gives the
 * first part and one letter per further part: l memory (number or name), d dim,
 * t tensor, s stage, a fan-out axis. Reading order: rows, find_indices, resolve. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spaces/space_int.h"

enum { MAX_PARTS = 4 };

typedef struct {
  const char *name, *parts;
  bool (*meaning)(const hone_space *s, const int *index, hone_symbol *out);
} symbol_row;

/* ---- facts ---- */

static bool constant(hone_symbol *out, int64_t v)
{
  *out = (hone_symbol){.kind = HONE_SYMBOL_CONSTANT, .constant = v};
  return true;
}

static bool extent(const hone_space *s, const int *i, hone_symbol *out) { return constant(out, s->op->dim[i[0]].extent); }
static bool capacity(const hone_space *s, const int *i, hone_symbol *out)
{
  return constant(out, s->m->memory[i[0]].capacity_bytes);
}
static bool banks(const hone_space *s, const int *i, hone_symbol *out) { return constant(out, s->m->memory[i[0]].banks); }
static bool align(const hone_space *s, const int *i, hone_symbol *out) { return constant(out, s->m->memory[i[0]].align_bytes); }
static bool size(const hone_space *s, const int *i, hone_symbol *out) { return constant(out, s->m->axis[i[0]].size); }
static bool rank(const hone_space *s, const int *i, hone_symbol *out) { return constant(out, s->op->tensor[i[0]].rank); }
static bool bits(const hone_space *s, const int *i, hone_symbol *out)
{
  return constant(out, hone_format_bits(s->op->tensor[i[0]].format));
}
static bool is_input(const hone_space *s, const int *i, hone_symbol *out)
{
  return constant(out, s->op->tensor[i[0]].role == HONE_ROLE_INPUT);
}
static bool is_output(const hone_space *s, const int *i, hone_symbol *out)
{
  return constant(out, s->op->tensor[i[0]].role == HONE_ROLE_OUTPUT);
}
static bool is_intermediate(const hone_space *s, const int *i, hone_symbol *out)
{
  return constant(out, s->op->tensor[i[0]].role == HONE_ROLE_INTERMEDIATE);
}

static bool reduced(const hone_space *s, const int *i, hone_symbol *out)
{
  bool any = false;
  for (int k = 0; k < s->op->nstages; k++) any |= (s->op->stage[k].reduced >> i[0] & 1u) != 0;
  return constant(out, any);
}

/* Does any access to the tensor use the dim? */
static bool uses(const hone_space *s, const int *i, hone_symbol *out)
{
  hone_dimset dims = 0;
  for (int k = 0; k < s->op->nstages; k++) {
    const hone_stage *stage = &s->op->stage[k];
    if (stage->write.tensor == i[0]) dims |= hone_access_dims(s->op, &stage->write);
    for (int r = 0; r < stage->nreads; r++)
      if (stage->read[r].tensor == i[0]) dims |= hone_access_dims(s->op, &stage->read[r]);
  }
  return constant(out, dims >> i[1] & 1u);
}

/* ---- meanings made of parameters ---- */

static hone_param param_of(hone_param_kind kind)
{
  return (hone_param){.kind = kind, .axis = -1, .level = -1, .dim = -1, .tensor = -1, .stage = -1};
}

/* The generated parameter equal to `p` in kind and indices: its slot, or -1. */
static int slot_of(const hone_space *s, const hone_param *p)
{
  for (int i = 0; i < s->nvariables; i++) {
    const hone_param *q = s->variable[i].param;
    if (q->kind == p->kind && q->axis == p->axis && q->level == p->level && q->dim == p->dim && q->tensor == p->tensor &&
        q->stage == p->stage)
      return i;
  }
  return -1;
}

static bool parameter(const hone_space *s, const hone_param *p, hone_symbol *out)
{
  int slot = slot_of(s, p);
  if (slot < 0) return constant(out, hone_param_get(p, &s->start));
  *out = (hone_symbol){.kind = HONE_SYMBOL_VALUE, .index = slot};
  return true;
}

static bool packed(const hone_space *s, const hone_param *p, hone_symbol_kind kind, int argument, hone_symbol *out)
{
  int slot = slot_of(s, p);
  int64_t fixed = hone_param_get(p, &s->start);
  if (slot < 0) return constant(out, kind == HONE_SYMBOL_FIELD ? fixed >> argument & 255 : argument);
  *out = (hone_symbol){.kind = kind, .index = slot, .argument = argument};
  return true;
}

/* Slot of dim d in group L's order, 0 outermost. */
static bool place(const hone_space *s, const int *i, hone_symbol *out)
{
  hone_param p = param_of(HONE_PARAM_ORDER);
  p.level = (int8_t)i[0];
  return packed(s, &p, HONE_SYMBOL_PLACE, i[1], out);
}

static bool row(const hone_space *s, const int *i, hone_symbol *out)
{
  hone_param p = param_of(HONE_PARAM_MAP);
  p.stage = (int8_t)i[0];
  return packed(s, &p, HONE_SYMBOL_FIELD, 0, out);
}

static bool column(const hone_space *s, const int *i, hone_symbol *out)
{
  hone_param p = param_of(HONE_PARAM_MAP);
  p.stage = (int8_t)i[0];
  return packed(s, &p, HONE_SYMBOL_FIELD, 8, out);
}

/* tile.0.d is the instance's block. */
static bool tile(const hone_space *s, const int *i, hone_symbol *out)
{
  hone_param p = param_of(HONE_PARAM_TILE);
  p.level = (int8_t)i[0];
  p.dim = (int8_t)i[1];
  if (i[0] > 0) return parameter(s, &p, out);
  *out = (hone_symbol){.kind = HONE_SYMBOL_TEXT};
  const char *d = s->op->dim[i[1]].name;
  int n = snprintf(out->text, sizeof out->text, "ceildiv(extent.%s, 1", d);
  for (int a = 0; a < s->m->naxes; a++)
    n += snprintf(out->text + n, sizeof out->text - (size_t)n, " * split.%s.%s", s->m->axis[a].name, d);
  snprintf(out->text + n, sizeof out->text - (size_t)n, ")");
  return true;
}

static bool trips(const hone_space *s, const int *i, hone_symbol *out)
{
  *out = (hone_symbol){.kind = HONE_SYMBOL_TEXT};
  const char *d = s->op->dim[i[1]].name;
  if (i[0] < 1) return false;
  snprintf(out->text, sizeof out->text, "ceildiv(tile.%d.%s, tile.%d.%s)", i[0] - 1, d, i[0], d);
  return true;
}

static const symbol_row rows[] = {
    {"extent", "d", extent},   {"capacity", "l", capacity}, {"banks", "l", banks},
    {"align", "l", align},     {"size", "a", size},         {"bits", "t", bits},
    {"rank", "t", rank},       {"input", "t", is_input},    {"output", "t", is_output},
    {"intermediate", "t", is_intermediate},                 {"reduced", "d", reduced},
    {"uses", "td", uses},      {"place", "ld", place},      {"row", "s", row},
    {"column", "s", column},   {"tile", "ld", tile},        {"trips", "ld", trips},
};

/* Parts after the kind in a parameter's name; order and map are packed values. */
static const char *const parameter_parts[HONE_PARAM_COUNT] = {
    [HONE_PARAM_SPLIT] = "ad", [HONE_PARAM_TILE] = "ld",    [HONE_PARAM_ORDER] = "l", [HONE_PARAM_AT] = "tl",
    [HONE_PARAM_DEPTH] = "tl", [HONE_PARAM_SHARE] = "t",    [HONE_PARAM_JOIN] = "t",  [HONE_PARAM_HOME] = "t",
    [HONE_PARAM_ENGINE] = "s", [HONE_PARAM_DATAFLOW] = "s", [HONE_PARAM_MAP] = "s",   [HONE_PARAM_LAYOUT] = "t"};
static const char *const parameter_names[] = {
#define HONE_PARAM(id, name) name,
#include "ir/param.def"
#undef HONE_PARAM
};

/* ---- dotted names ---- */

static int find_stage(const hone_space *s, const char *name)
{
  for (int i = 0; i < s->op->nstages; i++)
    if (strcmp(s->op->stage[i].name, name) == 0) return i;
  return -1;
}

static int find_axis(const hone_space *s, const char *name)
{
  for (int i = 0; i < s->m->naxes; i++)
    if (strcmp(s->m->axis[i].name, name) == 0) return i;
  return -1;
}

static int find_level(const hone_space *s, const char *name)
{
  int64_t v;
  if (hone_text_parse_int(name, &v)) return v >= 0 && v < s->m->nlevels ? (int)v : -1;
  return hone_machine_find_memory(s->m, name);
}

static int find_index(const hone_space *s, char letter, const char *name)
{
  switch (letter) {
  case 'l': return find_level(s, name);
  case 'd': return hone_operator_find_dim(s->op, name);
  case 't': return hone_operator_find_tensor(s->op, name);
  case 's': return find_stage(s, name);
  default: return find_axis(s, name);
  }
}

/* Fills index[] from what follows the first part, one letter of `parts` after the
 * other; names may hold dots themselves (Y.bias). False when one does not exist. */
static bool find_indices(const hone_space *s, const char *parts, const char *rest, int *index)
{
  char word[HONE_EXPR_NAME];
  for (const char *end = strchr(rest, '.'); *parts; end = strchr(end + 1, '.')) {
    size_t n = end ? (size_t)(end - rest) : strlen(rest);
    if (n >= sizeof word) return false;
    memcpy(word, rest, n);
    word[n] = 0;
    *index = find_index(s, *parts, word);
    if (*index >= 0 && (end ? parts[1] != 0 && find_indices(s, parts + 1, end + 1, index + 1) : parts[1] == 0)) return true;
    if (!end) break;
  }
  return false;
}

/* What follows "first." in name; NULL when it begins otherwise. */
static const char *after_first(const char *name, const char *first)
{
  size_t n = strlen(first);
  return strncmp(name, first, n) == 0 && name[n] == '.' ? name + n + 1 : NULL;
}

/* A parameter of that name as if it were generated. */
static bool find_param(const hone_space *s, const char *name, hone_param *out)
{
  int index[MAX_PARTS];
  for (int k = 0; k < HONE_PARAM_COUNT; k++) {
    const char *parts = parameter_parts[k], *rest = after_first(name, parameter_names[k]);
    if (!rest) continue;
    if (!find_indices(s, parts, rest, index)) return false;
    *out = param_of((hone_param_kind)k);
    for (int i = 0; parts[i]; i++)
      *(parts[i] == 'l'   ? &out->level
        : parts[i] == 'd' ? &out->dim
        : parts[i] == 't' ? &out->tensor
        : parts[i] == 's' ? &out->stage
                          : &out->axis) = (int8_t)index[i];
    return out->level != 0; /* memory 0 has no parameters */
  }
  return false;
}

/* ---- words ---- */

static const hone_matrix *first_matrix(const hone_machine *m)
{
  for (int i = 0; i < m->nengines; i++)
    if (m->engine[i].kind == HONE_ENGINE_MATRIX) return &m->engine[i].matrix;
  return NULL;
}

static bool find_word(const hone_space *s, const char *name, hone_symbol *out)
{
  const hone_matrix *x = first_matrix(s->m);
  const struct {
    const char *name;
    int64_t value;
  } words[] = {{"bypass", HONE_BYPASS},
               {"each", HONE_SHARE_EACH},
               {"multicast", HONE_SHARE_MULTICAST},
               {"levels", s->m->nlevels - 1},
               {"dims", s->op->ndims},
               {"loops", (int64_t)s->op->ndims * (s->m->nlevels - 1)},
               {"cores", hone_machine_cores(s->m)},
               {"rows", x ? x->rows : 1},
               {"columns", x ? x->columns : 1},
               {"pass_rows", x ? hone_max64(1, x->max_stream_rows) : 1}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i].name, name) == 0) return constant(out, words[i].value);
  for (int f = 0; f < HONE_DATAFLOW_COUNT; f++)
    if (strcmp(hone_dataflow_name((hone_dataflow)f), name) == 0) return constant(out, f);
  for (int i = 0; i < s->m->nengines; i++)
    if (strcmp(s->m->engine[i].name, name) == 0) return constant(out, i);
  int i = hone_machine_find_memory(s->m, name);
  if (i < 0) i = hone_operator_find_dim(s->op, name);
  return i >= 0 && constant(out, i);
}

/* ---- resolving ---- */

static bool resolve_here(const hone_space *s, const char *name, hone_symbol *out)
{
  hone_param p;
  int index[MAX_PARTS];
  if (!strchr(name, '.')) return find_word(s, name, out);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *rest = after_first(name, rows[i].name);
    if (rest && find_indices(s, rows[i].parts, rest, index)) return rows[i].meaning(s, index, out);
  }
  if (!find_param(s, name, &p) || p.kind == HONE_PARAM_ORDER || p.kind == HONE_PARAM_MAP) return false;
  return parameter(s, &p, out);
}

static const char *parameter_at(void *arg, int i) { return ((const hone_space *)arg)->variable[i].param->name; }

static void nearest_parameter(const hone_space *s, const char *name, char hint[HONE_EXPR_NAME])
{
  const char *near = hone_text_nearest(name, s->nvariables, parameter_at, (void *)(uintptr_t)s);
  snprintf(hint, HONE_EXPR_NAME, "%s", near ? near : "");
}

static bool resolve(void *arg, const char *name, hone_symbol *out, char hint[HONE_EXPR_NAME])
{
  const hone_space *s = arg;
  for (int i = s->nlets - 1; i >= 0; i--) /* a later file may redefine */
    if (strcmp(s->let[i].name, name) == 0) {
      *out = (hone_symbol){.kind = HONE_SYMBOL_TEXT};
      snprintf(out->text, sizeof out->text, "%s", s->let[i].text);
      return true;
    }
  if (s->op && resolve_here(s, name, out)) return true;
  for (int i = 0; i < s->nvariables && !s->op; i++)
    if (strcmp(s->variable[i].param->name, name) == 0) {
      *out = (hone_symbol){.kind = HONE_SYMBOL_VALUE, .index = i};
      return true;
    }
  nearest_parameter(s, name, hint);
  return false;
}

void space_scope_init(const hone_space *s, hone_scope *scope)
{
  *scope = (hone_scope){.resolve = resolve, .arg = (void *)(uintptr_t)s};
}

int space_find_parameter(const hone_space *s, const char *name, char hint[HONE_EXPR_NAME])
{
  hone_param p;
  hint[0] = 0;
  for (int i = 0; i < s->nvariables; i++)
    if (strcmp(s->variable[i].param->name, name) == 0) return i;
  if (s->op && find_param(s, name, &p)) return slot_of(s, &p);
  nearest_parameter(s, name, hint);
  return -2;
}

/* ---- foreach ---- */

int space_foreach_count(const hone_space *s, const char *word)
{
  if (!s->op) return -1;
  const struct {
    const char *name;
    int n;
  } words[] = {{"level", s->m->nlevels - 1},
               {"dim", s->op->ndims},
               {"tensor", s->op->ntensors},
               {"stage", s->op->nstages},
               {"axis", s->m->naxes}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i].name, word) == 0) return words[i].n;
  return -1;
}

void space_foreach_bind(const hone_space *s, const char *word, int i, hone_binding *out)
{
  const char *text = strcmp(word, "dim") == 0      ? s->op->dim[i].name
                     : strcmp(word, "tensor") == 0 ? s->op->tensor[i].name
                     : strcmp(word, "stage") == 0  ? s->op->stage[i].name
                     : strcmp(word, "axis") == 0   ? s->m->axis[i].name
                                                   : NULL;
  *out = (hone_binding){.name = word, .number = text ? i : i + 1, .numeric = !text};
  if (text)
    snprintf(out->text, sizeof out->text, "%s", text);
  else
    snprintf(out->text, sizeof out->text, "%d", i + 1);
}
