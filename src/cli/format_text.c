/* Numbers and tables for people. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "cli/cli.h"

void cli_text_count(hone_text *out, int64_t n)
{
  char digits[32];
  snprintf(digits, sizeof digits, "%lld", (long long)n);
  size_t len = strlen(digits);
  for (size_t i = 0; i < len; i++) {
    if (i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-') hone_text_add_bytes(out, " ", 1);
    hone_text_add_bytes(out, &digits[i], 1);
  }
}

void cli_text_bytes(hone_text *out, int64_t bytes)
{
  static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
  double v = (double)bytes;
  int u = 0;
  while ((v >= 1024 || v <= -1024) && u < 5) {
    v /= 1024;
    u++;
  }
  hone_text_add(out, u == 0 ? "%.0f %s" : "%.1f %s", v, unit[u]);
}

void cli_text_seconds(hone_text *out, double s)
{
  static const struct {
    double at_least, scale;
    const char *unit;
  } row[] = { { 1, 1, "s" }, { 1e-3, 1e3, "ms" }, { 1e-6, 1e6, "us" }, { 0, 1e9, "ns" } };
  int i = 0;
  while (i < 3 && s < row[i].at_least) i++;
  hone_text_add(out, "%.3g %s", s * row[i].scale, row[i].unit);
}

double cli_seconds(int64_t cycles, const hone_machine *m)
{
  return (double)cycles / (double)m->clock_hz;
}

void cli_text_cycles(hone_text *out, int64_t cycles, const hone_machine *m)
{
  cli_text_count(out, cycles);
  hone_text_add(out, " (");
  cli_text_seconds(out, cli_seconds(cycles, m));
  hone_text_add(out, ")");
}

void cli_table_add(cli_table *t, const char *fmt, ...)
{
  if (t->cells == t->capacity) {
    t->capacity = t->capacity ? 2 * t->capacity : 64;
    t->cell = hone_heap_realloc(t->cell, (size_t)t->capacity, sizeof *t->cell);
  }
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  char *s = hone_heap_alloc((size_t)n + 1, 1);
  vsnprintf(s, (size_t)n + 1, fmt, again);
  va_end(again);
  t->cell[t->cells++] = s;
}

/* Characters, not bytes: continuation bytes of UTF-8 take no room. */
static int width_of(const char *s)
{
  int n = 0;
  for (; *s; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
  return n;
}

static void print_cell(const char *cell, int width, bool left, hone_text *out)
{
  int pad = width - width_of(cell);
  if (left) hone_text_add(out, "%s%*s", cell, pad > 0 ? pad : 0, "");
  else hone_text_add(out, "%*s%s", pad > 0 ? pad : 0, "", cell);
}

void cli_table_print(cli_table *t, hone_text *out)
{
  int *width = hone_heap_alloc((size_t)t->columns, sizeof *width);
  for (int i = 0; i < t->cells; i++) {
    int w = width_of(t->cell[i]);
    if (w > width[i % t->columns]) width[i % t->columns] = w;
  }
  for (int i = 0; i < t->cells; i++) {
    int c = i % t->columns;
    bool last = c == t->columns - 1, left = t->align[c] == 'l';
    print_cell(t->cell[i], last && left ? 0 : width[c], left, out);
    hone_text_add(out, "%s", last ? "\n" : "  ");
  }
  free(width);
  cli_table_fini(t);
}

void cli_table_fini(cli_table *t)
{
  for (int i = 0; i < t->cells; i++) free(t->cell[i]);
  free(t->cell);
  *t = (cli_table){ .columns = t->columns, .align = t->align };
}
