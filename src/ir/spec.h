/* What an operator file is asked for: sizes, number formats, options. As text it
 * is what follows `hone tune --operator`, so a line from a store or a library can
 * be pasted into a shell:
 *
 *     matmul --size b=1,m=2048,n=4096,k=4096 --dtype bf16 --format W=int8 --option bias=row
 *
 * One size may be a range, m=1..4096: a family of operators. A value type. */
#ifndef HONE_IR_SPEC_H
#define HONE_IR_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "ir/format.h"
#include "ir/limits.h"

typedef struct {
  char name[HONE_MAX_NAME];
  int64_t value; /* >= 1; of a range: its low end */
  int64_t to;    /* >= value; equal: no range */
} hone_spec_size;

typedef struct {
  char tensor[HONE_MAX_NAME]; /* "": every tensor that says `format: dtype` (--dtype) */
  hone_format format;
} hone_spec_format;

typedef struct {
  char name[HONE_MAX_NAME], value[HONE_MAX_NAME];
} hone_spec_option;

typedef struct {
  char operator_name[HONE_MAX_NAME]; /* the `name:` of the operator's text */
  int nsizes, nformats, noptions;
  hone_spec_size size[HONE_MAX_SIZES];
  hone_spec_format format[HONE_MAX_TENSORS + 1];
  hone_spec_option option[HONE_MAX_OPTIONS];
} hone_spec;

void hone_spec_print(const hone_spec *s, hone_text *out);
/* The inverse of print; words may come in any order, but each once. */
hone_status hone_spec_parse(const char *text, hone_spec *out, hone_err *err);
/* "1..4096" or "17"; false on anything else, or when empty or below 1. */
bool hone_spec_parse_size(const char *text, int64_t *value, int64_t *to);
int hone_spec_range(const hone_spec *s); /* index of the first size that is a range, -1: none */
int hone_spec_find_size(const hone_spec *s, const char *name); /* -1 */
/* Same operator, formats and options, and the same names of sizes in one order. */
bool hone_spec_same_family(const hone_spec *a, const hone_spec *b);

#endif
