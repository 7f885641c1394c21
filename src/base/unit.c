/* Quantities with units, in exact decimal arithmetic: the digits are read into
 * an integer and a power of ten, times the unit, and must divide evenly. Never
 * through floating point, never through the locale. */
#include "config.h"

#include <string.h>

#include "base/text.h"

static const struct row {
  hone_unit kind;
  const char *name;
  int64_t size;
} rows[] = {
    {HONE_UNIT_COUNT, "", 1},
#define HONE_UNIT_ROW(kind, name, size) {HONE_UNIT_##kind, name, size},
#include "base/unit.def"
#undef HONE_UNIT_ROW
};
enum { NROWS = sizeof rows / sizeof *rows };

static const char *const example[HONE_UNIT_COUNT_OF] = {
    [HONE_UNIT_COUNT] = "a whole number",     [HONE_UNIT_BYTES] = "a size like 24 MiB",
    [HONE_UNIT_FREQUENCY] = "a frequency like 2.4 GHz", [HONE_UNIT_BANDWIDTH] = "a bandwidth like 362.5 GB/s",
    [HONE_UNIT_TIME] = "a time like 400 ns",  [HONE_UNIT_ENERGY] = "an energy like 3.9 pJ",
};
static const char *const whole[HONE_UNIT_COUNT_OF] = {
    [HONE_UNIT_COUNT] = "a whole number",               [HONE_UNIT_BYTES] = "a whole number of bytes",
    [HONE_UNIT_FREQUENCY] = "a whole number of hertz",  [HONE_UNIT_BANDWIDTH] = "a whole number of bytes per second",
    [HONE_UNIT_TIME] = "a whole number of picoseconds", [HONE_UNIT_ENERGY] = "a whole number of femtojoules",
};

/* value = digits / 10^places */
typedef struct {
  int64_t digits;
  int places;
  bool negative, too_long;
} decimal;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void push_digit(decimal *d, char c)
{
  if (__builtin_mul_overflow(d->digits, 10, &d->digits) || __builtin_add_overflow(d->digits, c - '0', &d->digits))
    d->too_long = true;
}

/* Reads digits[.digits] ('_' allowed between digits); NULL when there are none. */
static const char *read_decimal(const char *s, decimal *d)
{
  *d = (decimal){.negative = *s == '-'};
  s += d->negative;
  if (!is_digit(*s)) return NULL;
  for (; is_digit(*s) || (*s == '_' && is_digit(s[-1]) && is_digit(s[1])); s++)
    if (*s != '_') push_digit(d, *s);
  if (*s != '.') return s;
  const char *first = ++s, *last = s; /* last: behind the last digit that is not 0 */
  if (!is_digit(*s)) return NULL;
  for (; is_digit(*s); s++)
    if (*s != '0') last = s + 1;
  for (const char *p = first; p < last; p++, d->places++)
    push_digit(d, *p);
  return s;
}

static const struct row *find_row(hone_unit u, const char *name)
{
  for (int i = 0; i < NROWS; i++)
    if (rows[i].kind == u && strcmp(rows[i].name, name) == 0) return &rows[i];
  return NULL;
}

static hone_status malformed(hone_unit u, const char *s, hone_err *err)
{
  hone_err_set(err, HONE_INPUT, "unit.malformed", "'%s' is not %s", s, example[u]);
  char list[160] = "";
  size_t n = 0;
  for (int i = 0; i < NROWS; i++) {
    if (rows[i].kind != u || !rows[i].name[0]) continue;
    size_t m = strlen(rows[i].name), sep = n ? 2 : 0;
    if (n + sep + m >= sizeof list) break;
    memcpy(list + n, ", ", sep);
    memcpy(list + n + sep, rows[i].name, m + 1);
    n += sep + m;
  }
  if (n) hone_err_hint(err, "units: %s", list);
  return HONE_INPUT;
}

hone_status hone_unit_parse(hone_unit u, const char *s, int64_t *out, hone_err *err)
{
  decimal d;
  const char *name = read_decimal(s, &d);
  if (!name) return malformed(u, s, err);
  while (*name == ' ')
    name++;
  const struct row *row = find_row(u, name);
  if (!row || (*name == '\0' && name[-1] == ' ')) return malformed(u, s, err);
  if (d.negative && u != HONE_UNIT_COUNT)
    return hone_err_set(err, HONE_INPUT, "unit.negative", "'%s' is negative; expected %s", s, example[u]);
  if (d.too_long) return hone_err_set(err, HONE_OVERFLOW, "unit.overflow", "'%s' has too many digits", s);
  unsigned __int128 v = (unsigned __int128)(uint64_t)d.digits * (uint64_t)row->size;
  for (int i = 0; i < d.places; i++, v /= 10)
    if (v % 10 != 0)
      return hone_err_set(err, HONE_INPUT, "unit.not-whole", "'%s' is not %s", s, whole[u]);
  if (v > INT64_MAX) return hone_err_set(err, HONE_OVERFLOW, "unit.overflow", "'%s' does not fit 64 bits", s);
  *out = d.negative ? -(int64_t)v : (int64_t)v;
  return HONE_OK;
}
