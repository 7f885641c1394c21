/* Option rows: one table from which parsing, help and the man page come. */
#ifndef HONE_BASE_OPTION_H
#define HONE_BASE_OPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

typedef enum { HONE_OPTION_FLAG, HONE_OPTION_INT, HONE_OPTION_REAL, HONE_OPTION_TEXT, HONE_OPTION_LIST } hone_option_type;

typedef struct {
  const char *name;     /* "budget", without the dashes */
  hone_option_type type;
  int64_t min, max;     /* INT and REAL; REAL reads them as whole numbers */
  const char *fallback; /* default as text, NULL: none */
  const char *argument; /* "N", "FILE"; NULL for a flag */
  const char *help;     /* one sentence */
  bool required;
} hone_option;

typedef struct {
  bool given;
  int64_t i; /* INT, FLAG (0 or 1) */
  double r;
  const char *text;   /* points into argv or the row's fallback */
  const char *list[64]; /* LIST: repeated or comma-separated; pieces owned by the value */
  int nlist;
  char *storage;
} hone_option_value;

/* values[i] belongs to rows[i]. Unknown options offer the nearest name. Accepts
 * --name value and --name=value. With --help nothing is required. Positional arguments are refused unless
 * npositional is not NULL. Caller ends with hone_options_fini. */
hone_status hone_options_parse(const hone_option *rows, int n, int argc, char **argv, hone_option_value *values,
                               const char **positional, int max_positional, int *npositional, hone_err *err);
void hone_options_fini(hone_option_value *values, int n);
void hone_options_help(const hone_option *rows, int n, hone_text *out); /* plain text table */
void hone_options_man(const hone_option *rows, int n, hone_text *out);  /* roff .TP items */
/* Text as it is, whatever roff would make of its dots, dashes and backslashes. */
void hone_roff_add(hone_text *out, const char *s);

#endif
