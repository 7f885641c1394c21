/* A schedule: one complete assignment of the parameters generated from an
 * operator and a machine (DESIGN section 6). A value type of fixed size.
 *
 * Parameters are reached by table (hone_params): search and the space language
 * see parameters and int64 values only; the struct is for the rooms that cost,
 * lower and simulate. Schedules are kept in normal form: orders list dims with
 * one trip last in dim order, positions (at, join) end right after a loop with
 * several trips (0: resident). hone_schedule_normalize brings any schedule there
 * without changing its meaning; equal meaning under these two rules gives equal
 * text. */
#ifndef HONE_IR_SCHEDULE_H
#define HONE_IR_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"
#include "ir/machine.h"
#include "ir/operator.h"

enum { HONE_BYPASS = -1 };
typedef enum { HONE_SHARE_EACH, HONE_SHARE_MULTICAST } hone_share;

typedef struct {
  int64_t split[HONE_MAX_AXES][HONE_MAX_DIMS];  /* >= 1 */
  int64_t tile[HONE_MAX_LEVELS][HONE_MAX_DIMS]; /* tile[0][d] is the instance's block: derived, always set */
  uint8_t order[HONE_MAX_LEVELS][HONE_MAX_DIMS]; /* [L][i], L >= 1: i-th dim, outermost first */
  int8_t at[HONE_MAX_TENSORS][HONE_MAX_LEVELS];  /* L >= 1: HONE_BYPASS or a position 0 .. N*ndims */
  uint8_t depth[HONE_MAX_TENSORS][HONE_MAX_LEVELS]; /* 1 .. HONE_MAX_DEPTH; 1 where bypassed */
  uint8_t share[HONE_MAX_TENSORS];
  int8_t join[HONE_MAX_TENSORS]; /* intermediates: loops shared by producer and consumer */
  uint8_t home[HONE_MAX_TENSORS]; /* intermediates: memory level; 0 if and only if join is 0 and unfused */
  uint8_t engine[HONE_MAX_STAGES];
  uint8_t dataflow[HONE_MAX_STAGES];           /* contract */
  uint8_t map_row[HONE_MAX_STAGES], map_column[HONE_MAX_STAGES]; /* contract: dims on array rows, columns */
  uint8_t layout[HONE_MAX_TENSORS];            /* index into the tensor's layouts */
} hone_schedule;

/* split tile order at depth share join home engine dataflow map layout */
typedef enum {
#define HONE_PARAM(id, name) HONE_PARAM_##id,
#include "ir/param.def"
#undef HONE_PARAM
  HONE_PARAM_COUNT
} hone_param_kind;

typedef enum {
  HONE_DOMAIN_RANGE, /* every integer in [min, max] */
  HONE_DOMAIN_SET,   /* the listed values */
  HONE_DOMAIN_ORDER  /* permutations of the ndims dims, packed: 4 bits per place, outermost in bits 0..3 */
} hone_domain_kind;

enum { HONE_MAX_SET = 64 };

typedef struct {
  hone_param_kind kind;
  int8_t axis, level, dim, tensor, stage; /* those that apply; -1 otherwise */
  char name[2 * HONE_MAX_NAME + 16];      /* "tile.1.m", "at.W.1", "map.product" */
  hone_domain_kind domain;
  int64_t min, max;          /* RANGE; tile.L.d is further bounded by tile.(L-1).d */
  int nset;
  int64_t set[HONE_MAX_SET]; /* SET, ascending */
} hone_param;

typedef struct {
  int n;
  hone_param *param; /* heap, owned; canonical order */
} hone_params;

/* The parameters of (op, machine), in canonical order; those with one possible
 * value are omitted. When no schedule can exist (the machine lacks a format, a
 * function, an engine) returns INFEASIBLE and says what is missing and what
 * there is. */
hone_status hone_params_new(const hone_operator *op, const hone_machine *m, hone_params *out, hone_err *err);
void hone_params_free(hone_params *p);
int hone_params_find(const hone_params *p, const char *name); /* -1 */
int64_t hone_param_get(const hone_param *p, const hone_schedule *s);
void hone_param_set(const hone_param *p, hone_schedule *s, int64_t value); /* no check; normalize afterwards */
void hone_param_print_value(const hone_operator *op, const hone_machine *m, const hone_param *p, int64_t value, hone_text *out);
bool hone_param_parse_value(const hone_operator *op, const hone_machine *m, const hone_param *p, const char *s, int64_t *value);
/* Does the parameter matter under the rest of s? Those that do not (a depth where
 * bypassed, the placement of an intermediate kept at home) are normalized away,
 * not printed, and may be missing in parsed text. */
bool hone_param_active(const hone_operator *op, const hone_machine *m, const hone_param *p, const hone_schedule *s);
/* map.s packs (row | column << 8); join, home, at, ... are the struct's numbers. */

/* Where the search starts (section 6 line 20): always legal when anything the
 * rule reaches is; INFEASIBLE with the reason otherwise. */
hone_status hone_schedule_default(const hone_operator *op, const hone_machine *m, hone_schedule *out, hone_err *err);
/* Below this gain over it a schedule is no_significant_gain. */
#define HONE_SIGNIFICANT_GAIN_PCT 0.5
/* The same with one tile for all memories: every loop is in group 1. Made where
 * each dim that can vary has several trips, it fits (hone_schedule_fit) every other
 * shape of the spec family. */
hone_status hone_schedule_plain(const hone_operator *op, const hone_machine *m, hone_schedule *out, hone_err *err);
/* Every parameter at a fixed value, tiles 1, even placement: not necessarily legal. */
void hone_schedule_init(const hone_operator *op, const hone_machine *m, hone_schedule *out);
void hone_schedule_normalize(const hone_operator *op, const hone_machine *m, hone_schedule *s);

/* Makes a schedule of the same operator at other sizes (same spec family) one of
 * `op`: splits and tiles larger than what they cut are cut to it, then normalized.
 * Not necessarily legal: check. From a shape at least as large in every dim the
 * loops that vanish are the only change. */
void hone_schedule_fit(const hone_operator *op, const hone_machine *m, hone_schedule *s);

/* Canonical text "split.core.m=1 tile.1.m=64 order.1=m,n,k at.W.1=3 ..."; one
 * line, one blank between. print then parse is the identity on normal forms. */
void hone_schedule_print(const hone_operator *op, const hone_machine *m, const hone_params *p, const hone_schedule *s,
                         hone_text *out);
/* Starts from hone_schedule_init; parameters may be missing only if they have
 * one value. Normalizes. Unknown names offer the nearest. */
hone_status hone_schedule_parse(const hone_operator *op, const hone_machine *m, const hone_params *p, const char *text,
                                hone_schedule *out, hone_err *err);
hone_hash hone_schedule_hash(const hone_operator *op, const hone_machine *m, const hone_params *p, const hone_schedule *s);

typedef enum {
#define HONE_REASON(id, code, text) HONE_REASON_##id,
#include "ir/reason.def"
#undef HONE_REASON
  HONE_REASON_COUNT
} hone_reason;

const char *hone_reason_code(hone_reason r);
const char *hone_reason_text(hone_reason r);

/* What made it illegal, with numbers. */
typedef struct {
  hone_reason reason;
  int level, tensor, stage, dim; /* -1 where it does not apply */
  int64_t have, limit;           /* e.g. bytes needed, bytes there */
  char text[160];                /* "sbuf: W 2 x 8 MiB + X ... = 27.3 MB of 25.2 MB"; may be empty on the hot path */
} hone_why;

/* Legal? (section 6 line 19). HONE_REASON_NONE or the first reason found. With
 * why NULL no text is made and nothing is allocated. */
hone_reason hone_schedule_check(const hone_operator *op, const hone_machine *m, const hone_schedule *s, hone_why *why);

/* Instances (cores): mixed-radix over axes, then dims (section 6 line 3). The
 * block of dim d that instance i works on; length 0 when it has none. */
void hone_schedule_block(const hone_operator *op, const hone_machine *m, const hone_schedule *s, int instance, int dim,
                         int64_t *start, int64_t *length);

#endif
