/* Text: growing buffers, numbers and units in the C locale whatever the
 * process locale is, nearest names. */
#ifndef HONE_BASE_TEXT_H
#define HONE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A growing string; init with {0}; owned by the caller, freed by fini. `data`
 * is NULL until something was added, else NUL-terminated. */
typedef struct {
  char *data;
  size_t length, capacity;
} hone_text;

void hone_text_add(hone_text *t, const char *fmt, ...) HONE_PRINTF(2, 3);
void hone_text_add_bytes(hone_text *t, const char *s, size_t n);
void hone_text_clear(hone_text *t);
void hone_text_fini(hone_text *t);

/* Whole-string parsers; false on anything else (blank, trailing text, overflow). */
bool hone_text_parse_int(const char *s, int64_t *out); /* decimal, optional - ; '_' allowed between digits */
bool hone_text_parse_real(const char *s, double *out);
bool hone_text_parse_bool(const char *s, bool *out); /* true | false only */

/* Units. The unit is required except for a plain count. On failure the message
 * names the accepted units. Results are exact integers; a value that is not a
 * whole number of the result's unit is refused. */
typedef enum {
  HONE_UNIT_COUNT,     /* 64                                       -> 64            */
  HONE_UNIT_BYTES,     /* 24 MiB, 12 GB, 512 B                     -> bytes         */
  HONE_UNIT_FREQUENCY, /* 2.4 GHz, 940 MHz                         -> Hz            */
  HONE_UNIT_BANDWIDTH, /* 362.5 GB/s, 1.2 TB/s, 64 GiB/s           -> bytes/s       */
  HONE_UNIT_TIME,      /* 400 ns, 1.3 us, 1 ms                     -> picoseconds   */
  HONE_UNIT_ENERGY,    /* 3.9 pJ, 84 fJ                            -> femtojoules   */
  HONE_UNIT_COUNT_OF
} hone_unit;

hone_status hone_unit_parse(hone_unit u, const char *s, int64_t *out, hone_err *err);

/* The candidate closest to `word` by edit distance, NULL if none is within
 * max(2, strlen/3), or equal but for case; never one with no letter in common.
 * `at(arg, i)` gives the i-th of n candidates. */
const char *hone_text_nearest(const char *word, int n, const char *(*at)(void *arg, int i), void *arg);
int hone_text_distance(const char *a, const char *b); /* Levenshtein */

/* Whole file; heap, NUL-terminated, caller frees. Refuses more than max bytes. */
hone_status hone_text_load(const char *path, size_t max, char **out, size_t *n, hone_err *err);

#endif
