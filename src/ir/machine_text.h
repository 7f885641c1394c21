/* A machine text with everything it said: each value as written and as resolved,
 * its source, the file it was inherited from; and what a careful reader would
 * remark. For `hone machine`; those who only need the machine use machine.h. */
#ifndef HONE_IR_MACHINE_TEXT_H
#define HONE_IR_MACHINE_TEXT_H

#include <stdbool.h>

#include "base/status.h"
#include "ir/machine.h"

enum { HONE_MACHINE_PATH = 160 };

typedef struct {
  char path[HONE_MACHINE_PATH]; /* "memories.sram.capacity" */
  char *text;             /* as written; a list's items are joined by ", " */
  hone_rate value;        /* resolved, when unit is not NULL */
  const char *unit;       /* "B", "cycles", .. in base cycles; "": a count; NULL: a word, flag or name */
  const char *source;     /* NULL: none is needed (name, kind) */
  bool assumed, inherited;
  const char *file;       /* where it was written */
  int line, column;
} hone_machine_value;

typedef struct hone_machine_finding {
  bool warning;           /* else a note */
  const char *code;       /* "machine.feed" */
  char path[HONE_MACHINE_PATH], message[320];
  char file[256];
  int line, column;       /* 0: about the whole */
} hone_machine_finding;

typedef struct hone_machine_text hone_machine_text;

/* Loads as hone_machine_load does, with the same diagnostics. Owned by the caller. */
hone_status hone_machine_text_load(const char *path, hone_machine_text **out, hone_err *err);
void hone_machine_text_free(hone_machine_text *t); /* NULL allowed */
const hone_machine *hone_machine_text_machine(const hone_machine_text *t);
int hone_machine_text_count(const hone_machine_text *t);
const hone_machine_value *hone_machine_text_value(const hone_machine_text *t, int i); /* in the order of the text, bases' first */
const hone_machine_value *hone_machine_text_find(const hone_machine_text *t, const char *path); /* NULL */
/* Warnings first. */
int hone_machine_text_findings(const hone_machine_text *t, const hone_machine_finding **out);

/* Whether two values say the same: equal as written, or the same number of the same unit. */
bool hone_machine_value_eq(const hone_machine_value *a, const hone_machine_value *b);

#endif
