/* Records as CSV (RFC 4180) and JSON lines. Both write the columns of
 * export.def, one row per merged record, in canonical order. */
#include "config.h"

#include "store/store_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  hone_store_write write;
  void *arg;
  hone_text line;
} sink;

/* The derived columns, as text. */
typedef struct {
  char key[HONE_HASH_TEXT], operator_hash[HONE_HASH_TEXT], machine_hash[HONE_HASH_TEXT], space[HONE_HASH_TEXT];
  char kinds[64];
} derived;

static void print_kinds(unsigned kinds, char out[64])
{
  size_t n = 0;
  out[0] = '\0';
  for (int bit = 0; bit < 32; bit++) {
    const char *name = kinds >> bit & 1 ? hone_record_kind_name(1u << bit) : NULL;
    if (name) n += (size_t)snprintf(out + n, 64 - n, "%s%s", n ? "|" : "", name);
  }
}

static void derive(const hone_record *r, derived *d)
{
  hone_hash_print(hone_record_key(r), d->key);
  hone_hash_print(hone_hash_text(r->task.operator_text), d->operator_hash);
  hone_hash_print(hone_hash_text(r->task.machine_text), d->machine_hash);
  hone_hash_print(r->space, d->space);
  print_kinds(r->kinds, d->kinds);
}

static hone_status flush_line(sink *s, hone_err *err)
{
  hone_text_add_bytes(&s->line, "\n", 1);
  const hone_status st = s->write(s->arg, s->line.data, s->line.length, err);
  hone_text_clear(&s->line);
  return st;
}

static void csv_text(hone_text *t, const char *s)
{
  if (!s[strcspn(s, ",\"\r\n")]) {
    hone_text_add_bytes(t, s, strlen(s));
    return;
  }
  hone_text_add_bytes(t, "\"", 1);
  for (const char *p = s; *p; p++)
    hone_text_add_bytes(t, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
  hone_text_add_bytes(t, "\"", 1);
}

/* Length of the UTF-8 sequence at p, 0 when it is none (Unicode table 3-7). */
static int utf8_length(const unsigned char *p)
{
  const unsigned char c = p[0];
  const int n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  for (int i = 1; i < n; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f) || (c == 0xf0 && p[1] < 0x90) || (c == 0xf4 && p[1] > 0x8f))
    return 0;
  return n;
}

/* Bytes that are not UTF-8 become U+FFFD: JSON has no others. */
static void json_text(hone_text *t, const char *s)
{
  hone_text_add_bytes(t, "\"", 1);
  for (const unsigned char *p = (const unsigned char *)s; *p;) {
    const int n = utf8_length(p);
    if (*p == '"' || *p == '\\')
      hone_text_add(t, "\\%c", *p);
    else if (*p < 0x20)
      hone_text_add(t, "\\u%04x", *p);
    else if (n)
      hone_text_add_bytes(t, (const char *)p, (size_t)n);
    else
      hone_text_add(t, "\\ufffd");
    p += n ? n : 1;
  }
  hone_text_add_bytes(t, "\"", 1);
}

static hone_status csv_record(void *arg, const hone_record *r, hone_err *err)
{
  sink *s = arg;
  derived d;
  derive(r, &d);
#define SEPARATE() (s->line.length ? hone_text_add_bytes(&s->line, ",", 1) : (void)0)
#define HONE_EXPORT_TEXT(name, value) SEPARATE(), csv_text(&s->line, value);
#define HONE_EXPORT_INT(name, value) SEPARATE(), hone_text_add(&s->line, "%" PRId64, (int64_t)(value));
#define HONE_EXPORT_NATURAL(name, value) SEPARATE(), hone_text_add(&s->line, "%" PRIu64, (uint64_t)(value));
#include "store/export.def"
#undef HONE_EXPORT_TEXT
#undef HONE_EXPORT_INT
#undef HONE_EXPORT_NATURAL
#undef SEPARATE
  return flush_line(s, err);
}

static hone_status json_record(void *arg, const hone_record *r, hone_err *err)
{
  sink *s = arg;
  derived d;
  derive(r, &d);
#define NAME(name) hone_text_add(&s->line, "%s\"%s\": ", s->line.length ? ", " : "{", name)
#define HONE_EXPORT_TEXT(name, value) NAME(#name), json_text(&s->line, value);
#define HONE_EXPORT_INT(name, value) NAME(#name), hone_text_add(&s->line, "%" PRId64, (int64_t)(value));
#define HONE_EXPORT_NATURAL(name, value) NAME(#name), hone_text_add(&s->line, "%" PRIu64, (uint64_t)(value));
#include "store/export.def"
#undef HONE_EXPORT_TEXT
#undef HONE_EXPORT_INT
#undef HONE_EXPORT_NATURAL
#undef NAME
  hone_text_add_bytes(&s->line, "}", 1);
  return flush_line(s, err);
}

static const char csv_header[] =
#define HONE_EXPORT_TEXT(name, value) "," #name
#define HONE_EXPORT_INT(name, value) "," #name
#define HONE_EXPORT_NATURAL(name, value) "," #name
#include "store/export.def"
#undef HONE_EXPORT_TEXT
#undef HONE_EXPORT_INT
#undef HONE_EXPORT_NATURAL
  ;

hone_status hone_store_export_csv(hone_store *s, const hone_store_filter *filter, hone_store_write write, void *arg,
                                  hone_err *err)
{
  sink out = {.write = write, .arg = arg};
  hone_text_add(&out.line, "%s", csv_header + 1);
  hone_status st = flush_line(&out, err);
  if (st == HONE_OK) st = hone_store_query(s, filter, csv_record, &out, err);
  hone_text_fini(&out.line);
  return st;
}

hone_status hone_store_export_json(hone_store *s, const hone_store_filter *filter, hone_store_write write, void *arg,
                                   hone_err *err)
{
  sink out = {.write = write, .arg = arg};
  const hone_status st = hone_store_query(s, filter, json_record, &out, err);
  hone_text_fini(&out.line);
  return st;
}
