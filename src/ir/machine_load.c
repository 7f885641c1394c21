/* The blocks of a machine text into the struct, outermost first: clock, memories
 * (others name them), then moves, axes, engines, DMA, sequencer. */
#include "config.h"

#include "ir/machine_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_CLOCK INT64_C(100000000000)

static const struct preset {
  const char *name;
  int64_t access_bytes, row_bytes, banks, row_miss_ps, turnaround_ps, available_permille, channel_rate;
} presets[] = {
#define HONE_DRAM(id, name, access, row, banks, miss, turnaround, available, rate) \
  {name, access, row, banks, miss, turnaround, available, rate},
#include "ir/dram.def"
#undef HONE_DRAM
};
enum { NPRESETS = sizeof presets / sizeof presets[0] };

static hone_status take_name(const hone_tree *t, const char *text, char out[HONE_MAX_NAME], hone_err *err)
{
  if (strlen(text) >= HONE_MAX_NAME)
    return hone_tree_err(t, err, HONE_INPUT, "machine.name", "'%s' is longer than %d characters", text, HONE_MAX_NAME - 1);
  for (const char *p = text; *p; p++)
    if ((unsigned char)*p < ' ' || *p == 0x7f)
      return hone_tree_err(t, err, HONE_INPUT, "machine.name", "'%s' has a control character", text);
  snprintf(out, HONE_MAX_NAME, "%s", text);
  return HONE_OK;
}

static hone_status need_block(const hone_tree *root, const char *key, int limit, const hone_tree **out, hone_err *err)
{
  *out = hone_tree_find(root, key);
  if (!*out) return hone_tree_missing(root, key, err);
  if (!(*out)->block || (*out)->n == 0)
    return hone_tree_err(*out, err, HONE_INPUT, "machine.type", "'%s' must be a mapping with at least one entry", key);
  if ((*out)->n > limit)
    return hone_tree_err(*out, err, HONE_UNSUPPORTED, "machine.too-many", "%d entries, at most %d are supported", (*out)->n, limit);
  return HONE_OK;
}

static hone_status read_word(const hone_tree *block, const char *key, const char *const *words, int *out, hone_err *err)
{
  const hone_tree *t = hone_tree_find(block, key);
  if (!t) return hone_tree_missing(block, key, err);
  return hone_field_read(NULL, 1, &(hone_field){.key = key, .type = HONE_FIELD_WORD, .words = words}, t, out, err);
}

/* Name and kind say how the file is read; they need no source. */
static hone_status plain_text(const hone_tree *root, const char *key, const char **out, hone_err *err)
{
  const hone_tree *t = hone_tree_find(root, key);
  if (!t) return hone_tree_missing(root, key, err);
  if (t->block || t->list) return hone_tree_err(t, err, HONE_INPUT, "machine.type", "'%s' must be a single value", key);
  *out = t->text[0];
  t->quantity->plain = true;
  return HONE_OK;
}

static hone_status load_head(const hone_tree *root, hone_machine *m, hone_err *err)
{
  const char *name, *kind;
  const hone_tree *own = hone_tree_find(root, "name");
  if (own && strcmp(own->file, root->file) != 0) { /* two machines of one name are one too many */
    hone_tree_missing(root, "name", err);
    hone_err_hint(err, "what is inherited is another machine's");
    return HONE_INPUT;
  }
  hone_status s = plain_text(root, "name", &name, err);
  if (s == HONE_OK) s = take_name(hone_tree_find(root, "name"), name, m->name, err);
  if (s == HONE_OK) s = plain_text(root, "kind", &kind, err);
  if (s != HONE_OK) return s;
  m->tile_machine = strcmp(kind, "tile") == 0;
  if (!m->tile_machine && strcmp(kind, "model-only") != 0) {
    hone_tree_err(hone_tree_find(root, "kind"), err, HONE_INPUT, "machine.unknown-word", "'%s' is not a kind of machine", kind);
    hone_err_hint(err, "words: tile, model-only");
    return HONE_INPUT;
  }
  return hone_tree_unit(hone_tree_find(root, "clock"), HONE_UNIT_FREQUENCY, 1, LARGEST_CLOCK, &m->clock_hz, err);
}

static const char *preset_at(void *arg, int i)
{
  (void)arg;
  return presets[i].name;
}

static hone_status find_preset(const hone_tree *dram, const struct preset **out, hone_err *err)
{
  const hone_tree *t = hone_tree_find(dram, "preset");
  const char *text;
  if (!t) return hone_tree_missing(dram, "preset", err);
  hone_status s = hone_tree_word(t, &text, err);
  if (s != HONE_OK) return s;
  for (int i = 0; i < NPRESETS; i++)
    if (strcmp(presets[i].name, text) == 0) {
      *out = &presets[i];
      return HONE_OK;
    }
  hone_tree_err(t, err, HONE_INPUT, "machine.unknown-preset", "no DRAM preset '%s'", text);
  const char *near = hone_text_nearest(text, NPRESETS, preset_at, NULL);
  if (near) hone_err_hint(err, "did you mean '%s'?", near);
  return HONE_INPUT;
}

/* Channels x rate must equal the stated bandwidth within 1 % (DESIGN section 5). */
static hone_status check_dram_rate(const hone_tree *t, const hone_machine *m, const struct preset *p, hone_err *err)
{
  const hone_tree *rate = hone_tree_find(t, "channel_rate");
  int64_t per_channel = p->channel_rate;
  if (rate) {
    hone_status s = hone_tree_unit(rate, HONE_UNIT_BANDWIDTH, 1, p->channel_rate + p->channel_rate / 100, &per_channel, err);
    if (s != HONE_OK) return s;
  }
  hone_rate b = m->memory[0].bandwidth;
  if (hone_rate_unlimited(b)) return HONE_OK; /* for hone_machine_check to refuse */
  int64_t stated = hone_muldiv_ceil(b.num, m->clock_hz, b.den), product = per_channel * m->dram.channels;
  int64_t apart = stated > product ? stated - product : product - stated;
  if (apart <= stated / 100) return HONE_OK;
  hone_tree_err(hone_tree_find(t, "bandwidth"), err, HONE_INPUT, "machine.bandwidth",
                "%d channels x %lld B/s are %lld B/s, not the stated %lld B/s", m->dram.channels, (long long)per_channel,
                (long long)product, (long long)stated);
  hone_err_hint(err, "change channels, or give channel_rate");
  return HONE_INPUT;
}

static hone_status load_dram(const hone_tree *t, hone_machine *m, hone_err *err)
{
  const struct preset *p = NULL;
  hone_status s = hone_fields_read(m, m->clock_hz, t, &hone_fields_dram, &hone_fields_memory, &m->dram, err);
  if (s != HONE_OK) return s;
  m->memory[0].accepts |= HONE_ACCEPT_INPUT | HONE_ACCEPT_OUTPUT;
  if (!m->tile_machine && !hone_tree_find(t, "preset")) {
    if (hone_tree_find(t, "channel_rate"))
      return hone_tree_err(hone_tree_find(t, "channel_rate"), err, HONE_INPUT, "machine.dram", "means nothing without a preset");
    m->dram.channels = 1;
    m->dram.available_permille = 1000;
    return HONE_OK;
  }
  if (m->dram.channels == 0) return hone_tree_missing(t, "channels", err);
  s = find_preset(t, &p, err);
  if (s != HONE_OK) return s;
  snprintf(m->dram.preset, sizeof m->dram.preset, "%s", p->name);
  m->dram.access_bytes = p->access_bytes;
  m->dram.row_bytes = p->row_bytes;
  m->dram.banks = (int)p->banks;
  m->dram.row_miss_cycles = hone_muldiv_ceil(p->row_miss_ps, m->clock_hz, INT64_C(1000000000000));
  m->dram.turnaround_cycles = hone_muldiv_ceil(p->turnaround_ps, m->clock_hz, INT64_C(1000000000000));
  m->dram.available_permille = p->available_permille;
  return check_dram_rate(t, m, p, err);
}

/* Either one figure for both directions, or both of them apart. */
static hone_status load_bandwidth(const hone_tree *t, const hone_machine *m, hone_memory *x, hone_err *err)
{
  static const hone_field as_read = {.key = "read_bandwidth", .type = HONE_FIELD_BANDWIDTH, .unlimited = true, .idle = HONE_IDLE_ON_CHIP};
  const hone_tree *both = hone_tree_find(t, "bandwidth"), *reading = hone_tree_find(t, "read_bandwidth");
  const hone_tree *writing = hone_tree_find(t, "write_bandwidth");
  if (!reading && !writing) return both ? HONE_OK : hone_tree_missing(t, "bandwidth", err);
  if (both)
    return hone_tree_err(reading ? reading : writing, err, HONE_INPUT, "machine.bandwidth",
                         "'bandwidth' is given too, which is that of either direction");
  if (!reading || !writing) return hone_tree_missing(t, reading ? "write_bandwidth" : "read_bandwidth", err);
  return hone_field_read(m, m->clock_hz, &as_read, reading, &x->bandwidth, err);
}

static hone_status load_memory(const hone_tree *t, hone_machine *m, int level, hone_err *err)
{
  static const char *const scopes[] = {"chip", "core", "pe", NULL};
  hone_memory *x = &m->memory[level];
  int scope;
  hone_status s = take_name(t, t->key, x->name, err);
  if (s == HONE_OK)
    s = hone_fields_read(m, m->clock_hz, t, &hone_fields_memory, level == 0 ? &hone_fields_dram : NULL, x, err);
  if (s == HONE_OK) s = load_bandwidth(t, m, x, err);
  if (s == HONE_OK) s = read_word(t, "scope", scopes, &scope, err);
  if (s != HONE_OK) return s;
  x->per_core = scope > 0;
  x->per_pe = scope == 2;
  if (level == 0) return load_dram(t, m, err);
  return x->accepts ? HONE_OK : hone_tree_missing(t, "accepts", err);
}

static hone_status load_memories(const hone_tree *root, hone_machine *m, hone_err *err)
{
  const hone_tree *t;
  hone_status s = need_block(root, "memories", HONE_MAX_LEVELS, &t, err);
  for (int i = 0; s == HONE_OK && i < t->n; i++) {
    s = load_memory(t->child[i], m, i, err);
    m->nlevels = i + 1;
  }
  if (s == HONE_OK && m->nlevels < 2)
    return hone_tree_err(t, err, HONE_INPUT, "machine.memories", "a machine has DRAM and at least one memory below it");
  return s;
}

/* "dram <-> sram": dma */
static hone_status load_move(const hone_tree *t, hone_machine *m, hone_err *err)
{
  const char *mover, *arrow = strstr(t->key, " <-> ");
  char from[HONE_MAX_NAME] = "";
  hone_status s = hone_tree_word(t, &mover, err);
  if (s != HONE_OK) return s;
  if (!arrow || (size_t)(arrow - t->key) >= sizeof from)
    return hone_tree_err(t, err, HONE_INPUT, "machine.move", "'%s' is not a pair like 'dram <-> sram'", t->key);
  memcpy(from, t->key, (size_t)(arrow - t->key));
  int a = hone_machine_find_memory(m, from), b = hone_machine_find_memory(m, arrow + 5);
  if (a < 0 || b < 0 || a == b)
    return hone_tree_err(t, err, HONE_INPUT, "machine.move", "'%s' does not name two different memories", t->key);
  if (m->move[a][b] != HONE_MOVE_NONE)
    return hone_tree_err(t, err, HONE_INPUT, "machine.move", "'%s' is there already, the other way round", t->key);
  if (strcmp(mover, "dma") != 0 && strcmp(mover, "vector") != 0)
    return hone_tree_err(t, err, HONE_INPUT, "machine.unknown-word", "'%s' moves nothing; dma or vector do", mover);
  m->move[a][b] = m->move[b][a] = strcmp(mover, "dma") == 0 ? HONE_MOVE_DMA : HONE_MOVE_VECTOR;
  return HONE_OK;
}

static hone_status load_moves(const hone_tree *root, hone_machine *m, hone_err *err)
{
  const hone_tree *t;
  if (!m->tile_machine && !hone_tree_find(root, "moves")) { /* from each memory to the next */
    for (int l = 0; l + 1 < m->nlevels; l++) m->move[l][l + 1] = m->move[l + 1][l] = HONE_MOVE_DMA;
    return HONE_OK;
  }
  hone_status s = need_block(root, "moves", HONE_MAX_LEVELS * HONE_MAX_LEVELS, &t, err);
  for (int i = 0; s == HONE_OK && i < t->n; i++)
    s = load_move(t->child[i], m, err);
  return s;
}

static hone_status load_axis(const hone_tree *t, hone_machine *m, hone_fanout *x, hone_err *err)
{
  hone_status s = take_name(t, t->key, x->name, err);
  if (s == HONE_OK) s = hone_fields_read(m, m->clock_hz, t, &hone_fields_axis, NULL, x, err);
  const hone_tree *below = s == HONE_OK ? hone_tree_find(t, "below") : NULL;
  if (below) s = hone_field_read(m, m->clock_hz, &(hone_field){.key = "below", .type = HONE_FIELD_MEMORY}, below, &x->above, err);
  x->above += below != NULL;
  const hone_tree *link = s == HONE_OK ? hone_tree_find(t, "link") : NULL;
  if (link) s = hone_fields_read(m, m->clock_hz, link, &hone_fields_link, NULL, x, err);
  return s;
}

static hone_status load_axes(const hone_tree *root, hone_machine *m, hone_err *err)
{
  const hone_tree *t;
  hone_status s = need_block(root, "axes", HONE_MAX_AXES, &t, err);
  for (int i = 0; s == HONE_OK && i < t->n; i++) {
    m->axis[i].link_bandwidth.den = 1;
    s = load_axis(t->child[i], m, &m->axis[i], err);
    m->naxes = i + 1;
  }
  return s;
}

/* "bf16 x int8 -> fp32" */
static hone_status load_array_rate(const hone_tree *t, const hone_machine *m, int64_t clock_hz, const hone_field_table *fields,
                                   hone_array_rate *r, hone_err *err)
{
  char name[3][HONE_MAX_NAME];
  int end = 0;
  hone_format *format[3] = {&r->a, &r->b, &r->accumulator};
  if (sscanf(t->key, "%31s x %31s -> %31s%n", name[0], name[1], name[2], &end) != 3 || t->key[end] != '\0')
    return hone_tree_err(t, err, HONE_INPUT, "machine.rate", "'%s' is not a rate like 'bf16 x bf16 -> fp32'", t->key);
  for (int i = 0; i < 3; i++)
    if (!hone_format_find(name[i], format[i]))
      return hone_tree_err(t, err, HONE_INPUT, "machine.unknown-format", "no number format '%s'", name[i]);
  return hone_fields_read(m, clock_hz, t, fields, NULL, r, err);
}

static hone_status load_array_rates(const hone_tree *engine, const hone_machine *m, int64_t clock_hz,
                                    const hone_field_table *fields, hone_array_rate *rate, int *n, hone_err *err)
{
  const hone_tree *t;
  hone_status s = need_block(engine, "rates", HONE_MAX_RATES, &t, err);
  for (int i = 0; s == HONE_OK && i < t->n; i++) {
    s = load_array_rate(t->child[i], m, clock_hz, fields, &rate[i], err);
    *n = i + 1;
  }
  return s;
}

static hone_status load_matrix(const hone_tree *t, const hone_machine *m, int64_t clock_hz, hone_matrix *x, hone_err *err)
{
  hone_status s = hone_fields_read(m, clock_hz, t, &hone_fields_matrix, NULL, x, err);
  if (s == HONE_OK && x->stationary_in < 0) x->stationary_in = x->operands_in;
  return s == HONE_OK ? load_array_rates(t, m, clock_hz, &hone_fields_array_rate, x->rate, &x->nrates, err) : s;
}

static hone_status load_pe(const hone_tree *t, const hone_machine *m, int64_t clock_hz, hone_pe *x, hone_err *err)
{
  hone_status s = hone_fields_read(m, clock_hz, t, &hone_fields_pe, NULL, x, err);
  return s == HONE_OK ? load_array_rates(t, m, clock_hz, &hone_fields_pe_rate, x->rate, &x->nrates, err) : s;
}

static hone_status load_vector(const hone_tree *t, const hone_machine *m, int64_t clock_hz, hone_vector *x, hone_err *err)
{
  const hone_tree *rates;
  hone_status s = hone_fields_read(m, clock_hz, t, &hone_fields_vector, NULL, x, err);
  if (s == HONE_OK) s = need_block(t, "rates", HONE_COST_COUNT, &rates, err);
  return s == HONE_OK ? hone_fields_read(m, clock_hz, rates, &hone_fields_vector_rate, NULL, x, err) : s;
}

static hone_status load_engine(const hone_tree *t, hone_machine *m, hone_engine *e, hone_err *err)
{
  static const char *const kinds[] = {"matrix", "vector", "pe", NULL}; /* hone_engine_kind */
  int64_t clock_hz = m->clock_hz;
  int kind;
  hone_status s = take_name(t, t->key, e->name, err);
  if (s == HONE_OK) s = read_word(t, "kind", kinds, &kind, err);
  if (s != HONE_OK) return s;
  const hone_tree *clock = hone_tree_find(t, "clock");
  if (clock) s = hone_tree_unit(clock, HONE_UNIT_FREQUENCY, 1, LARGEST_CLOCK, &clock_hz, err);
  if (s != HONE_OK) return s;
  e->kind = (hone_engine_kind)kind;
  switch (e->kind) {
  case HONE_ENGINE_MATRIX: return load_matrix(t, m, clock_hz, &e->matrix, err);
  case HONE_ENGINE_VECTOR: return load_vector(t, m, clock_hz, &e->vector, err);
  default: return load_pe(t, m, clock_hz, &e->pe, err);
  }
}

static hone_status load_engines(const hone_tree *root, hone_machine *m, hone_err *err)
{
  const hone_tree *t;
  hone_status s = need_block(root, "engines", HONE_MAX_ENGINES, &t, err);
  for (int i = 0; s == HONE_OK && i < t->n; i++) {
    s = load_engine(t->child[i], m, &m->engine[i], err);
    m->nengines = i + 1;
  }
  return s;
}

/* A block that a model-only machine may leave out. */
static hone_status load_control(const hone_tree *root, const char *key, const hone_machine *m, const hone_field_table *fields,
                                void *out, hone_err *err)
{
  const hone_tree *t = hone_tree_find(root, key);
  if (!t) return m->tile_machine ? hone_tree_missing(root, key, err) : HONE_OK;
  return hone_fields_read(m, m->clock_hz, t, fields, NULL, out, err);
}

static hone_status load_controls(const hone_tree *root, hone_machine *m, hone_err *err)
{
  m->dma.engine_rate.den = m->dma.rate.den = 1;
  hone_status s = load_control(root, "dma", m, &hone_fields_dma, &m->dma, err);
  return s == HONE_OK ? load_control(root, "sequencer", m, &hone_fields_sequencer, &m->sequencer, err) : s;
}

hone_status hone_machine_load_tree(const hone_tree *root, hone_machine *m, hone_err *err)
{
  hone_status s = hone_fields_read(m, 1, root, &hone_fields_root, NULL, m, err);
  if (s == HONE_OK) s = load_head(root, m, err);
  if (s == HONE_OK) s = load_memories(root, m, err);
  if (s == HONE_OK) s = load_moves(root, m, err);
  if (s == HONE_OK) s = load_axes(root, m, err);
  if (s == HONE_OK) s = load_engines(root, m, err);
  if (s == HONE_OK) s = load_controls(root, m, err);
  return s == HONE_OK ? hone_machine_check(m, root, err) : s;
}

hone_status hone_machine_load(const char *path, hone_machine *out, hone_err *err)
{
  hone_tree_set set;
  hone_machine *m = hone_heap_alloc(1, sizeof *m);
  hone_status s = hone_tree_load(path, &set, err);
  if (s == HONE_OK) s = hone_machine_load_tree(set.root, m, err);
  if (s == HONE_OK) *out = *m;
  hone_tree_fini(&set);
  free(m);
  return s;
}
