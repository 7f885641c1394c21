/* Canonical text of schedules: "name=value" in the parameters' order. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ir/ir_int.h"

static bool active(const hone_operator *op, const hone_machine *m, const hone_param *p, const hone_schedule *s)
{
  switch (p->kind) {
  case HONE_PARAM_AT: return hone_ir_at_active(op, m, s, p->tensor, p->level);
  case HONE_PARAM_DEPTH: return hone_ir_depth_active(op, m, s, p->tensor, p->level);
  case HONE_PARAM_JOIN: return s->home[p->tensor] > 0;
  default: return true;
  }
}

bool hone_param_active(const hone_operator *op, const hone_machine *m, const hone_param *p, const hone_schedule *s)
{
  return active(op, m, p, s);
}

static void print_order(const hone_operator *op, int64_t packed, hone_text *out)
{
  for (int i = 0; i < op->ndims; i++)
    hone_text_add(out, "%s%s", i ? "," : "", op->dim[(uint64_t)packed >> (4 * i) & 15u].name);
}

void hone_param_print_value(const hone_operator *op, const hone_machine *m, const hone_param *p, int64_t v, hone_text *out)
{
  switch (p->kind) {
  case HONE_PARAM_ORDER: print_order(op, v, out); return;
  case HONE_PARAM_AT:
    if (v == HONE_BYPASS) hone_text_add(out, "bypass");
    else hone_text_add(out, "%lld", (long long)v);
    return;
  case HONE_PARAM_SHARE: hone_text_add(out, "%s", v == HONE_SHARE_MULTICAST ? "multicast" : "each"); return;
  case HONE_PARAM_HOME: hone_text_add(out, "%s", m->memory[v].name); return;
  case HONE_PARAM_ENGINE: hone_text_add(out, "%s", m->engine[v].name); return;
  case HONE_PARAM_DATAFLOW: hone_text_add(out, "%s", hone_dataflow_name((hone_dataflow)v)); return;
  case HONE_PARAM_MAP: hone_text_add(out, "%s,%s", op->dim[v & 255].name, op->dim[v >> 8 & 255].name); return;
  default: hone_text_add(out, "%lld", (long long)v); return;
  }
}

static bool parse_dims(const hone_operator *op, const char *s, int *dim, int n)
{
  char word[HONE_MAX_NAME];
  for (int i = 0; i < n; i++) {
    size_t k = strcspn(s, ",");
    if (k == 0 || k >= sizeof word || (s[k] == ',') != (i + 1 < n)) return false;
    memcpy(word, s, k);
    word[k] = '\0';
    if ((dim[i] = hone_operator_find_dim(op, word)) < 0) return false;
    s += k + (s[k] == ',');
  }
  return true;
}

static bool parse_order(const hone_operator *op, const char *s, int64_t *value)
{
  int dim[HONE_MAX_DIMS];
  uint64_t v = 0, seen = 0;
  if (!parse_dims(op, s, dim, op->ndims)) return false;
  for (int i = 0; i < op->ndims; i++) {
    seen |= UINT64_C(1) << dim[i];
    v |= (uint64_t)dim[i] << (4 * i);
  }
  for (int i = op->ndims; i < HONE_MAX_DIMS; i++) v |= (uint64_t)i << (4 * i);
  *value = (int64_t)v;
  return seen == (UINT64_C(1) << op->ndims) - 1;
}

static bool find_memory(const hone_machine *m, const char *s, int64_t *value)
{
  int l = hone_machine_find_memory(m, s);
  *value = l;
  return l >= 0;
}

static bool find_engine(const hone_machine *m, const char *s, int64_t *value)
{
  for (*value = 0; *value < m->nengines; ++*value)
    if (!strcmp(m->engine[*value].name, s)) return true;
  return false;
}

bool hone_param_parse_value(const hone_operator *op, const hone_machine *m, const hone_param *p, const char *s, int64_t *value)
{
  int dim[2];
  switch (p->kind) {
  case HONE_PARAM_ORDER: return parse_order(op, s, value);
  case HONE_PARAM_AT:
    *value = HONE_BYPASS;
    return !strcmp(s, "bypass") || (hone_text_parse_int(s, value) && *value >= 0 && *value <= HONE_MAX_LOOPS);
  case HONE_PARAM_SHARE: *value = !strcmp(s, "multicast"); return *value || !strcmp(s, "each");
  case HONE_PARAM_HOME: return find_memory(m, s, value);
  case HONE_PARAM_ENGINE: return find_engine(m, s, value);
  case HONE_PARAM_DATAFLOW:
    for (*value = 0; *value < HONE_DATAFLOW_COUNT; ++*value)
      if (!strcmp(s, hone_dataflow_name((hone_dataflow)*value))) return true;
    return false;
  case HONE_PARAM_MAP:
    if (!parse_dims(op, s, dim, 2)) return false;
    *value = dim[0] | dim[1] << 8;
    return true;
  case HONE_PARAM_JOIN: return hone_text_parse_int(s, value) && *value >= 0 && *value <= HONE_MAX_LOOPS;
  case HONE_PARAM_DEPTH: return hone_text_parse_int(s, value) && *value >= 1 && *value <= HONE_MAX_DEPTH;
  case HONE_PARAM_LAYOUT: return hone_text_parse_int(s, value) && *value >= 0 && *value < HONE_MAX_LAYOUTS;
  default: return hone_text_parse_int(s, value) && *value >= 1;
  }
}

void hone_schedule_print(const hone_operator *op, const hone_machine *m, const hone_params *p, const hone_schedule *s,
                         hone_text *out)
{
  const char *blank = "";
  for (int i = 0; i < p->n; i++) {
    const hone_param *x = &p->param[i];
    if (!active(op, m, x, s)) continue;
    hone_text_add(out, "%s%s=", blank, x->name);
    hone_param_print_value(op, m, x, hone_param_get(x, s), out);
    blank = " ";
  }
}

static const char *name_at(void *arg, int i)
{
  const hone_params *p = arg;
  return p->param[i].name;
}

/* One "name=value"; sets given[i]. */
static hone_status parse_word(const hone_operator *op, const hone_machine *m, const hone_params *p, char *word, bool *given,
                              hone_schedule *out, hone_err *err)
{
  char *value = strchr(word, '=');
  int64_t v;
  if (!value) return hone_err_set(err, HONE_INPUT, "schedule.syntax", "'%s' is not name=value", word);
  *value++ = '\0';
  int i = hone_params_find(p, word);
  if (i < 0) {
    hone_err_set(err, HONE_INPUT, "schedule.unknown-parameter", "there is no parameter '%s' here", word);
    const char *near = hone_text_nearest(word, p->n, name_at, (void *)(uintptr_t)p);
    if (near) hone_err_hint(err, "did you mean '%s'?", near);
    return HONE_INPUT;
  }
  if (given[i]) return hone_err_set(err, HONE_INPUT, "schedule.duplicate", "parameter '%s' is given twice", word);
  if (!hone_param_parse_value(op, m, &p->param[i], value, &v))
    return hone_err_set(err, HONE_INPUT, "schedule.value", "'%s' is not a value of parameter '%s'", value, word);
  given[i] = true;
  hone_param_set(&p->param[i], out, v);
  return HONE_OK;
}

static hone_status parse_words(const hone_operator *op, const hone_machine *m, const hone_params *p, char *text, bool *given,
                               hone_schedule *out, hone_err *err)
{
  char *save = NULL;
  for (char *w = strtok_r(text, " \t\r\n", &save); w; w = strtok_r(NULL, " \t\r\n", &save)) {
    hone_status s = parse_word(op, m, p, w, given, out, err);
    if (s != HONE_OK) return s;
  }
  hone_schedule_normalize(op, m, out);
  for (int i = 0; i < p->n; i++)
    if (!given[i] && active(op, m, &p->param[i], out))
      return hone_err_set(err, HONE_INPUT, "schedule.missing", "parameter '%s' is missing", p->param[i].name);
  return HONE_OK;
}

hone_status hone_schedule_parse(const hone_operator *op, const hone_machine *m, const hone_params *p, const char *text,
                                hone_schedule *out, hone_err *err)
{
  hone_text copy = {0};
  bool *given = hone_heap_alloc((size_t)p->n + 1, sizeof *given);
  hone_text_add(&copy, "%s", text);
  hone_schedule_init(op, m, out);
  hone_status s = parse_words(op, m, p, copy.data, given, out, err);
  hone_text_fini(&copy);
  free(given);
  return s;
}

hone_hash hone_schedule_hash(const hone_operator *op, const hone_machine *m, const hone_params *p, const hone_schedule *s)
{
  hone_text t = {0};
  hone_schedule_print(op, m, p, s, &t);
  hone_hash h = hone_hash_text(t.data ? t.data : "");
  hone_text_fini(&t);
  return h;
}
