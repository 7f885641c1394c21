/* Status codes and diagnostics.
 *
 * A function that can fail for the user's or the environment's sake returns a
 * hone_status and fills the hone_err it was given (which may be NULL). Nothing
 * here is global; nothing below src/cli prints or exits. A programmer's mistake
 * is an assert, an illegal schedule is a result (ir/schedule.h), neither is a
 * hone_err. Thread-safe: a hone_err belongs to its caller. */
#ifndef HONE_BASE_STATUS_H
#define HONE_BASE_STATUS_H

#include <stdarg.h>

typedef enum {
#define HONE_STATUS(name, exit_code, text) HONE_##name,
#include "base/status.def"
#undef HONE_STATUS
  HONE_STATUS_COUNT
} hone_status;

#define HONE_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* A diagnostic: everything a person or a program needs to act on it. Texts are
 * truncated to their buffers, never overflow, of `file` the beginning; control
 * characters become '?'. `line` and `column` are 1-based,
 * 0 where unknown. `path` is a field path such as memories[1].capacity. */
typedef struct {
  hone_status status;
  char code[48]; /* stable, e.g. "machine.unknown-field" */
  char message[512];
  char file[256];
  int line, column;
  char path[128];
  char hint[256];
} hone_err;

const char *hone_status_name(hone_status s); /* "INPUT" */
const char *hone_status_text(hone_status s);
int hone_status_exit_code(hone_status s);

void hone_err_init(hone_err *err);
/* Sets status, code and message, clears the rest; returns `s` so that
 * `return hone_err_set(...)` reads well. err may be NULL. */
hone_status hone_err_set(hone_err *err, hone_status s, const char *code, const char *fmt, ...) HONE_PRINTF(4, 5);
void hone_err_at(hone_err *err, const char *file, int line, int column);
void hone_err_path(hone_err *err, const char *fmt, ...) HONE_PRINTF(2, 3);
void hone_err_hint(hone_err *err, const char *fmt, ...) HONE_PRINTF(2, 3);
/* "file:line:column: error: message [code]\n  hint: ...", at most n bytes with
 * the final NUL; returns what snprintf would. */
int hone_err_print(const hone_err *err, char *buf, int n);

#endif
