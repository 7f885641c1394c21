/* Growing text, plain numbers, nearest names, files. Units are in unit.c. */
#include "config.h"

#include "base/text.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static locale_t the_c_locale(void)
{
  pthread_once(&c_locale_once, make_c_locale);
  return c_locale;
}

static void reserve(hone_text *t, size_t more)
{
  if (more < t->capacity - t->length) return; /* strictly: the NUL */
  size_t want = t->capacity ? t->capacity : 64;
  while (want - t->length <= more)
    want *= 2;
  t->data = hone_heap_realloc(t->data, want, 1);
  t->capacity = want;
}

void hone_text_add_bytes(hone_text *t, const char *s, size_t n)
{
  reserve(t, n);
  if (n) memcpy(t->data + t->length, s, n);
  t->length += n;
  t->data[t->length] = '\0';
}

/* printf writes the decimal point of the thread's locale, so the thread uses the
 * C locale meanwhile. */
void hone_text_add(hone_text *t, const char *fmt, ...)
{
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  locale_t before = uselocale(the_c_locale());
  int n = vsnprintf(NULL, 0, fmt, ap);
  if (n >= 0) {
    reserve(t, (size_t)n);
    vsnprintf(t->data + t->length, (size_t)n + 1, fmt, again);
    t->length += (size_t)n;
  }
  uselocale(before);
  va_end(again);
  va_end(ap);
}

void hone_text_clear(hone_text *t)
{
  t->length = 0;
  if (t->data) t->data[0] = '\0';
}

void hone_text_fini(hone_text *t)
{
  free(t->data);
  *t = (hone_text){0};
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool hone_text_parse_int(const char *s, int64_t *out)
{
  bool negative = *s == '-';
  int64_t v = 0;
  s += negative;
  if (!is_digit(*s)) return false;
  for (; *s; s++) {
    if (*s == '_' && is_digit(s[-1]) && is_digit(s[1])) continue;
    if (!is_digit(*s)) return false;
    int64_t digit = *s - '0'; /* negative throughout, so that INT64_MIN parses */
    if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, digit, &v)) return false;
  }
  if (!negative && v == INT64_MIN) return false;
  *out = negative ? v : -v;
  return true;
}

static const char *skip_digits(const char *s)
{
  while (is_digit(*s))
    s++;
  return s;
}

/* [-+]digits[.digits][e[-+]digits]: no hexadecimal, no inf, no nan. */
static bool looks_real(const char *s)
{
  if (*s == '-' || *s == '+') s++;
  const char *end = skip_digits(s);
  if (end == s) return false;
  if (*end == '.') {
    s = end + 1;
    end = skip_digits(s);
    if (end == s) return false;
  }
  if (*end == 'e' || *end == 'E') {
    s = end + 1;
    if (*s == '-' || *s == '+') s++;
    end = skip_digits(s);
    if (end == s) return false;
  }
  return *end == '\0';
}

bool hone_text_parse_real(const char *s, double *out)
{
  if (!looks_real(s)) return false;
  double v = strtod_l(s, NULL, the_c_locale());
  if (v - v != 0) return false; /* overflowed to infinity */
  *out = v;
  return true;
}

bool hone_text_parse_bool(const char *s, bool *out)
{
  bool yes = strcmp(s, "true") == 0;
  if (!yes && strcmp(s, "false") != 0) return false;
  *out = yes;
  return true;
}

int hone_text_distance(const char *a, const char *b)
{
  int na = (int)strlen(a), nb = (int)strlen(b);
  int *row = hone_heap_alloc((size_t)nb + 1, sizeof *row); /* distances of a's prefix to b's prefixes */
  for (int j = 0; j <= nb; j++)
    row[j] = j;
  for (int i = 1; i <= na; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= nb; j++) {
      int change = diagonal + (a[i - 1] != b[j - 1]);
      int shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
      diagonal = row[j];
      row[j] = change < shorter ? change : shorter;
    }
  }
  int distance = row[nb];
  free(row);
  return distance;
}

const char *hone_text_nearest(const char *word, int n, const char *(*at)(void *arg, int i), void *arg)
{
  const char *best = NULL;
  int third = (int)(strlen(word) / 3), limit = third > 2 ? third : 2;
  for (int i = 0; i < n; i++) {
    const char *candidate = at(arg, i);
    if (strcasecmp(word, candidate) == 0) return candidate;
    int d = hone_text_distance(word, candidate);
    size_t n1 = strlen(word), n2 = strlen(candidate);
    if (d > limit || d >= (int)(n1 > n2 ? n1 : n2)) continue; /* the second: nothing in common */
    best = candidate;
    limit = d - 1; /* the first of equals stays */
  }
  return best;
}

static hone_status io_error(hone_err *err, const char *path, const char *did)
{
  char why[128] = "";
  const char *text = strerror_r(errno, why, sizeof why); /* GNU: returns the text */
  hone_err_set(err, HONE_IO, "file.unreadable", "cannot %s: %s", did, text);
  hone_err_at(err, path, 0, 0);
  return HONE_IO;
}

hone_status hone_text_load(const char *path, size_t max, char **out, size_t *n, hone_err *err)
{
  FILE *f = fopen(path, "rb");
  if (!f) return io_error(err, path, "open");
  hone_text t = {0};
  char piece[16384];
  size_t got;
  while (t.length <= max && (got = fread(piece, 1, sizeof piece, f)) > 0)
    hone_text_add_bytes(&t, piece, got);
  hone_status s = HONE_OK;
  if (ferror(f))
    s = io_error(err, path, "read");
  else if (t.length > max) {
    s = hone_err_set(err, HONE_INPUT, "file.too-large", "larger than %zu bytes", max);
    hone_err_at(err, path, 0, 0);
  }
  fclose(f);
  if (s != HONE_OK) {
    hone_text_fini(&t);
    return s;
  }
  hone_text_add_bytes(&t, "", 0); /* an empty file is "" */
  *out = t.data;
  if (n) *n = t.length;
  return HONE_OK;
}
