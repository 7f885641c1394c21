/* Status names and diagnostics; see status.h. */
#include "config.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name, *text;
  int exit_code;
} rows[] = {
#define HONE_STATUS(name, exit_code, text) {#name, text, exit_code},
#include "base/status.def"
#undef HONE_STATUS
};
_Static_assert(sizeof rows / sizeof *rows == HONE_STATUS_COUNT, "one row per status");

static int row_of(hone_status s)
{
  return (unsigned)s < HONE_STATUS_COUNT ? (int)s : HONE_INTERNAL;
}

const char *hone_status_name(hone_status s) { return rows[row_of(s)].name; }
const char *hone_status_text(hone_status s) { return rows[row_of(s)].text; }
int hone_status_exit_code(hone_status s) { return rows[row_of(s)].exit_code; }

void hone_err_init(hone_err *err)
{
  if (err) memset(err, 0, sizeof *err);
}

/* Names and values in a message come from files: none may move the cursor or break the line. */
static void tame(char *text, const char *allowed)
{
  for (char *p = text; *p; p++)
    if (((unsigned char)*p < ' ' || *p == 0x7f) && !strchr(allowed, *p)) *p = '?';
}

hone_status hone_err_set(hone_err *err, hone_status s, const char *code, const char *fmt, ...)
{
  if (!err) return s;
  char message[sizeof err->message]; /* an argument may point into *err */
  char stable[sizeof err->code];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  snprintf(stable, sizeof stable, "%s", code);
  tame(message, "");
  hone_err_init(err);
  err->status = s;
  memcpy(err->message, message, sizeof message);
  memcpy(err->code, stable, sizeof stable);
  return s;
}

void hone_err_at(hone_err *err, const char *file, int line, int column)
{
  if (!err) return;
  const size_t n = file ? strlen(file) : 0, most = sizeof err->file - 1;
  if (n <= most) snprintf(err->file, sizeof err->file, "%s", file ? file : "");
  else snprintf(err->file, sizeof err->file, "...%s", file + n - (most - 3)); /* its end tells more */
  err->line = line;
  err->column = column;
}

void hone_err_path(hone_err *err, const char *fmt, ...)
{
  if (!err) return;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(err->path, sizeof err->path, fmt, ap);
  va_end(ap);
  tame(err->path, "");
}

void hone_err_hint(hone_err *err, const char *fmt, ...)
{
  if (!err) return;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(err->hint, sizeof err->hint, fmt, ap);
  va_end(ap);
  tame(err->hint, "\n"); /* an expression and a caret under it */
}

int hone_err_print(const hone_err *err, char *buf, int n)
{
  char place[sizeof err->file + 32] = "";
  if (err->file[0] && err->line > 0 && err->column > 0)
    snprintf(place, sizeof place, "%s:%d:%d: ", err->file, err->line, err->column);
  else if (err->file[0] && err->line > 0)
    snprintf(place, sizeof place, "%s:%d: ", err->file, err->line);
  else if (err->file[0])
    snprintf(place, sizeof place, "%s: ", err->file);
  return snprintf(buf, n > 0 ? (size_t)n : 0, "%serror: %s%s%s%s%s%s%s%s", place, err->path, err->path[0] ? ": " : "",
                  err->message, err->code[0] ? " [" : "", err->code, err->code[0] ? "]" : "",
                  err->hint[0] ? "\n  hint: " : "", err->hint);
}
