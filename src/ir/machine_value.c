/* Single values of a machine text: units, exact rates, words, names of memories. */
#include "config.h"

#include "ir/machine_int.h"

#include <string.h>

#include "base/checked.h"

hone_status hone_tree_word(const hone_tree *t, const char **out, hone_err *err)
{
  if (t->block || t->list) return hone_tree_err(t, err, HONE_INPUT, "machine.type", "'%s' must be a single value", t->key);
  if (!t->source) {
    hone_tree_err(t, err, HONE_INPUT, "machine.missing-source", "'%s' has no source", t->key);
    hone_err_hint(err, "write {value: %s, source: ID} or give the block a source", t->text[0]);
    return HONE_INPUT;
  }
  *out = t->text[0];
  return HONE_OK;
}

/* Another parser's diagnostic, put at t. */
static hone_status at_tree(const hone_tree *t, const hone_err *why, hone_err *err)
{
  hone_tree_err(t, err, why->status, why->code, "%s", why->message);
  if (why->hint[0]) hone_err_hint(err, "%s", why->hint);
  return why->status;
}

static hone_status check_range(const hone_tree *t, const char *text, int64_t v, int64_t min, int64_t max, hone_err *err)
{
  if (v >= min && v <= max) return HONE_OK;
  return hone_tree_err(t, err, HONE_INPUT, "machine.range", "'%s' is absurd here: %s", text,
                       v < min ? (v < 0 ? "negative" : "too small") : "too large");
}

static hone_status unit_of(const hone_tree *t, const char *text, hone_unit u, int64_t *out, hone_err *err)
{
  hone_err why;
  hone_err_init(&why);
  hone_status s = hone_unit_parse(u, text, out, &why);
  return s == HONE_OK ? s : at_tree(t, &why, err);
}

hone_status hone_tree_unit(const hone_tree *t, hone_unit u, int64_t min, int64_t max, int64_t *out, hone_err *err)
{
  static const char *const unit[HONE_UNIT_COUNT_OF] = {"", "B", "Hz", "B/s", "ps", "fJ"};
  const char *text = NULL;
  hone_status s = hone_tree_word(t, &text, err);
  if (s == HONE_OK) s = unit_of(t, text, u, out, err);
  if (s == HONE_OK) s = check_range(t, text, *out, min, max, err);
  if (s == HONE_OK) *t->quantity = (hone_quantity){.value = {*out, 1}, .unit = unit[u]};
  return s;
}

/* Splits off a suffix: "32 cycles" -> "32". False when it is not there. */
static bool strip(const char *text, const char *suffix, char head[64])
{
  size_t n = strlen(text), m = strlen(suffix);
  if (n <= m || n - m >= 64 || strcmp(text + n - m, suffix) != 0) return false;
  memcpy(head, text, n - m);
  head[n - m] = '\0';
  return true;
}

static int64_t gcd(int64_t a, int64_t b)
{
  for (int64_t t; b != 0; a = b, b = t)
    t = a % b;
  return a;
}

/* (num / den) * (times / by), in lowest terms. */
static bool scale(hone_rate *r, int64_t times, int64_t by)
{
  int64_t g = gcd(times, by), a = gcd(r->num, by / g), b = gcd(times / g, r->den);
  return hone_checked_mul(r->num / a, times / g / b, &r->num) && hone_checked_mul(r->den / b, by / g / a, &r->den);
}

static hone_status read_fraction(const hone_tree *t, const char *text, hone_rate *out, hone_err *err)
{
  char head[64] = "";
  const char *slash = strchr(text, '/');
  out->den = 1;
  if (slash && (size_t)(slash - text) < sizeof head) memcpy(head, text, (size_t)(slash - text));
  if (!hone_text_parse_int(slash ? head : text, &out->num) || (slash && !hone_text_parse_int(slash + 1, &out->den)))
    return hone_tree_err(t, err, HONE_INPUT, "unit.malformed", "'%s' is not a number or fraction per cycle", text);
  if (out->num < 1 || out->den < 1)
    return hone_tree_err(t, err, HONE_INPUT, "machine.range", "'%s' is absurd here: must be above zero", text);
  return HONE_OK;
}

typedef struct {
  const hone_machine *m;
  int64_t clock_hz; /* of the block */
} context;

static hone_status too_fine(const hone_tree *t, hone_err *err)
{
  return hone_tree_err(t, err, HONE_OVERFLOW, "machine.overflow", "'%s' does not fit a 64-bit fraction", t->text[0]);
}

static hone_status read_rate(const context *c, const hone_tree *t, const char *text, hone_rate *out, hone_err *err)
{
  char head[64];
  if (!strip(text, " per cycle", head)) {
    hone_tree_err(t, err, HONE_INPUT, "unit.malformed", "'%s' is not a rate like '128 per cycle'", text);
    hone_err_hint(err, "cycles are the engine's own when it gives a clock");
    return HONE_INPUT;
  }
  hone_status s = read_fraction(t, head, out, err);
  if (s != HONE_OK) return s;
  if (!scale(out, c->clock_hz, c->m->clock_hz)) return too_fine(t, err);
  return check_range(t, text, out->num / out->den, 0, HONE_LARGEST_BYTES, err);
}

static hone_status read_bandwidth(const context *c, const hone_field *f, const hone_tree *t, const char *text, hone_rate *out,
                                  hone_err *err)
{
  char head[64];
  int64_t per_second;
  if (f->unlimited && strcmp(text, "unlimited") == 0) {
    *out = (hone_rate){1, 0};
    return HONE_OK;
  }
  if (strip(text, " B/cycle", head)) {
    hone_status s = read_fraction(t, head, out, err);
    if (s == HONE_OK && !scale(out, c->clock_hz, c->m->clock_hz)) return too_fine(t, err);
    return s;
  }
  hone_status s = unit_of(t, text, HONE_UNIT_BANDWIDTH, &per_second, err);
  if (s == HONE_OK) s = check_range(t, text, per_second, 1, HONE_LARGEST_BYTES, err);
  if (s != HONE_OK) return s;
  *out = (hone_rate){per_second, 1};
  return scale(out, 1, c->m->clock_hz) ? HONE_OK : too_fine(t, err);
}

static hone_status read_cycles(const context *c, const hone_tree *t, const char *text, int64_t *out, hone_err *err)
{
  char head[64];
  if (strip(text, " cycles", head) || strip(text, " cycle", head)) {
    hone_status s = unit_of(t, head, HONE_UNIT_COUNT, out, err);
    if (s == HONE_OK) s = check_range(t, text, *out, 0, HONE_LARGEST_CYCLES, err);
    if (s == HONE_OK) *out = hone_muldiv_ceil(*out, c->m->clock_hz, c->clock_hz);
    return s;
  }
  int64_t ps;
  hone_status s = unit_of(t, text, HONE_UNIT_TIME, &ps, err);
  if (s == HONE_OK) *out = hone_muldiv_ceil(ps, c->m->clock_hz, INT64_C(1000000000000));
  return s;
}

static hone_status read_energy_per_byte(const hone_tree *t, const char *text, int64_t *out, hone_err *err)
{
  char head[64];
  bool per_bit = strip(text, "/bit", head);
  if (!per_bit && !strip(text, "/B", head))
    return hone_tree_err(t, err, HONE_INPUT, "unit.malformed", "'%s' is not an energy like '3.9 pJ/bit' or '31 pJ/B'", text);
  hone_status s = unit_of(t, head, HONE_UNIT_ENERGY, out, err);
  if (s == HONE_OK && per_bit) *out = hone_muldiv_ceil(*out, 8, 1);
  return s;
}

static const char *memory_at(void *arg, int i) { return ((const hone_machine *)arg)->memory[i].name; }

static hone_status find_memory(const hone_machine *m, const hone_tree *t, const char *name, int *out, hone_err *err)
{
  *out = hone_machine_find_memory(m, name);
  if (*out >= 0) return HONE_OK;
  hone_tree_err(t, err, HONE_INPUT, "machine.unknown-memory", "no memory '%s'", name);
  const char *near = hone_text_nearest(name, m->nlevels, memory_at, (void *)(uintptr_t)m);
  if (near) hone_err_hint(err, "did you mean '%s'?", near);
  return HONE_INPUT;
}

static hone_status find_word(const hone_tree *t, const char *const *words, const char *word, int *out, hone_err *err)
{
  for (*out = 0; words[*out]; ++*out)
    if (strcmp(words[*out], word) == 0) return HONE_OK;
  hone_tree_err(t, err, HONE_INPUT, "machine.unknown-word", "'%s' is not known here", word);
  hone_text list = {0};
  for (int i = 0; words[i]; i++)
    hone_text_add(&list, "%s%s", i ? ", " : "", words[i]);
  hone_err_hint(err, "words: %s", list.data);
  hone_text_fini(&list);
  return HONE_INPUT;
}

/* A list of words or memories as a bit set. */
static hone_status read_set(const context *c, const hone_field *f, const hone_tree *t, unsigned *out, hone_err *err)
{
  if (!t->list || t->n == 0) return hone_tree_err(t, err, HONE_INPUT, "machine.type", "'%s' must be a list of names", t->key);
  if (!t->source) return hone_tree_err(t, err, HONE_INPUT, "machine.missing-source", "'%s' has no source", t->key);
  *out = 0;
  for (int i = 0; i < t->n; i++) {
    int bit = 0;
    hone_status s = f->type == HONE_FIELD_WORDS ? find_word(t, f->words, t->text[i], &bit, err)
                                                : find_memory(c->m, t, t->text[i], &bit, err);
    if (s != HONE_OK) return s;
    *out |= 1u << bit;
  }
  return HONE_OK;
}

static hone_status read_bool(const hone_tree *t, const char *text, bool *out, hone_err *err)
{
  if (hone_text_parse_bool(text, out)) return HONE_OK;
  return hone_tree_err(t, err, HONE_INPUT, "machine.type", "'%s' must be true or false", text);
}

static hone_status read_integer(const context *c, const hone_field *f, const hone_tree *t, const char *text, int64_t *v,
                                hone_err *err)
{
  hone_status s;
  if (f->type == HONE_FIELD_CYCLES)
    s = read_cycles(c, t, text, v, err);
  else if (f->type == HONE_FIELD_ENERGY_PER_BYTE)
    s = read_energy_per_byte(t, text, v, err);
  else
    s = unit_of(t, text,
                f->type == HONE_FIELD_BYTES    ? HONE_UNIT_BYTES
                : f->type == HONE_FIELD_ENERGY ? HONE_UNIT_ENERGY
                                               : HONE_UNIT_COUNT,
                v, err);
  return s == HONE_OK ? check_range(t, text, *v, f->min, f->max, err) : s;
}

/* What was read, for those who show it. */
static void record(const hone_field *f, const hone_tree *t, const void *value)
{
  static const char *const unit[HONE_FIELD_OTHER + 1] = {
      [HONE_FIELD_COUNT] = "",           [HONE_FIELD_LONG] = "",          [HONE_FIELD_BYTES] = "B",
      [HONE_FIELD_CYCLES] = "cycles",    [HONE_FIELD_BANDWIDTH] = "B/cycle", [HONE_FIELD_RATE] = "per cycle",
      [HONE_FIELD_PERIOD] = "per cycle", [HONE_FIELD_ENERGY] = "fJ",      [HONE_FIELD_ENERGY_PER_BYTE] = "fJ/B",
  };
  hone_quantity *q = t->quantity;
  *q = (hone_quantity){.unit = unit[f->type], .idle = f->idle != HONE_IDLE_NO ? f : NULL};
  if (f->type == HONE_FIELD_BANDWIDTH || f->type == HONE_FIELD_RATE || f->type == HONE_FIELD_PERIOD) {
    q->value = *(const hone_rate *)value;
    if (f->type == HONE_FIELD_PERIOD) q->value = (hone_rate){q->value.den, q->value.num};
    if (hone_rate_unlimited(q->value)) q->unit = NULL;
  } else if (q->unit)
    q->value = (hone_rate){f->type == HONE_FIELD_COUNT ? *(const int *)value : *(const int64_t *)value, 1};
}

static hone_status read_field(const hone_machine *m, int64_t clock_hz, const hone_field *f, const hone_tree *t, void *out,
                              hone_err *err)
{
  context at = {m, clock_hz}, *c = &at;
  if (f->type == HONE_FIELD_WORDS || f->type == HONE_FIELD_MEMORIES) return read_set(c, f, t, out, err);
  const char *text = NULL;
  int64_t v = 0;
  hone_rate r;
  hone_status s = hone_tree_word(t, &text, err);
  if (s != HONE_OK) return s;
  switch (f->type) {
  case HONE_FIELD_BANDWIDTH:
    return read_bandwidth(c, f, t, text, out, err);
  case HONE_FIELD_RATE:
    return read_rate(c, t, text, out, err);
  case HONE_FIELD_PERIOD:
    s = read_rate(c, t, text, &r, err);
    if (s == HONE_OK) *(hone_rate *)out = (hone_rate){r.den, r.num};
    return s;
  case HONE_FIELD_BOOL:
    return read_bool(t, text, out, err);
  case HONE_FIELD_WORD:
    return find_word(t, f->words, text, out, err);
  case HONE_FIELD_MEMORY:
    return find_memory(c->m, t, text, out, err);
  case HONE_FIELD_COUNT:
    s = read_integer(c, f, t, text, &v, err);
    if (s == HONE_OK) *(int *)out = (int)v;
    return s;
  default:
    return read_integer(c, f, t, text, out, err);
  }
}

hone_status hone_field_read(const hone_machine *m, int64_t clock_hz, const hone_field *f, const hone_tree *t, void *out,
                            hone_err *err)
{
  hone_status s = read_field(m, clock_hz, f, t, out, err);
  if (s == HONE_OK) record(f, t, out);
  return s;
}
