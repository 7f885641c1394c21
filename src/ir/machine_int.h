/* Inside the machine loader: the tree of values a machine text becomes, and the
 * tables of its fields. Reading order: machine_tree.c (files, inheritance,
 * sources), machine_field.c (tables), machine_value.c (units), machine_load.c
 * (blocks into the struct), machine_check.c (what must fit together), machine.c
 * (the rest), machine_text.c and machine_review.c (what a text said, for people). */
#ifndef HONE_IR_MACHINE_INT_H
#define HONE_IR_MACHINE_INT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/yaml.h"
#include "ir/machine.h"

/* A block holds children by key; a value holds one text, or several from a list.
 * `source` and `assumed` are those of the value's own file, from itself or the
 * nearest block around it. */
typedef enum {
  HONE_IDLE_NO,
  HONE_IDLE_ON_CHIP, /* a memory's: only the DRAM's is read */
  HONE_IDLE_YES      /* recorded, and part of the identity, but read by no room yet */
} hone_idle;

/* What a value became: a number in a unit ("": a count), or a word (unit NULL). */
typedef struct {
  hone_rate value;
  const char *unit;
  const struct hone_field *idle; /* the field, when no room reads it yet */
  bool plain;                    /* says how the file is read; needs no source */
} hone_quantity;

typedef struct hone_tree hone_tree;
struct hone_tree {
  const char *key; /* NULL at the root */
  hone_tree *parent;
  bool block;
  int n;
  hone_tree **child;  /* block */
  const char **text;  /* value: n of them, more or less than one in a list only */
  bool list;
  hone_quantity *quantity; /* value: filled in by the loader */
  const char *source; /* NULL: none given */
  bool assumed;
  const char *file;   /* where this came from */
  hone_yaml *doc;
  hone_node *node;
};

#define HONE_LARGEST_BYTES (INT64_C(1) << 50)
#define HONE_LARGEST_CYCLES (INT64_C(1) << 40)

enum { HONE_TREE_MAX_FILES = 8 }; /* longest chain of `base:` */

typedef struct {
  hone_arena *arena; /* owns the nodes */
  int nfiles;
  hone_yaml *doc[HONE_TREE_MAX_FILES];
  char *path[HONE_TREE_MAX_FILES]; /* [0] is the file asked for */
  hone_tree *root;
} hone_tree_set;

/* Loads path and what it inherits, merged. End with fini even after an error. */
hone_status hone_tree_load(const char *path, hone_tree_set *out, hone_err *err);
void hone_tree_fini(hone_tree_set *s);
hone_tree *hone_tree_find(const hone_tree *block, const char *key); /* NULL */
void hone_tree_path(const hone_tree *t, hone_text *out);            /* "memories.sram.capacity" */
hone_status hone_tree_err(const hone_tree *t, hone_err *err, hone_status s, const char *code, const char *fmt, ...)
    HONE_PRINTF(5, 6);
hone_status hone_tree_missing(const hone_tree *block, const char *key, hone_err *err);

typedef enum {
  HONE_FIELD_COUNT,     /* int                  "16"                      */
  HONE_FIELD_LONG,      /* int64                "512"                     */
  HONE_FIELD_BYTES,     /* int64                "24 MiB"                  */
  HONE_FIELD_CYCLES,    /* int64, base cycles   "400 ns", "32 cycles"     */
  HONE_FIELD_BANDWIDTH, /* hone_rate            "16 GB/s", "64 B/cycle"   */
  HONE_FIELD_RATE,      /* hone_rate            "128 per cycle", "1/8 per cycle" */
  HONE_FIELD_PERIOD,    /* hone_rate, inverted  "1 per cycle"             */
  HONE_FIELD_ENERGY,    /* int64 fJ             "84 fJ"                   */
  HONE_FIELD_ENERGY_PER_BYTE, /* int64 fJ       "3.9 pJ/bit", "31 pJ/B"   */
  HONE_FIELD_BOOL,      /* bool                 "true"                    */
  HONE_FIELD_WORD,      /* int: number of the word                        */
  HONE_FIELD_WORDS,     /* unsigned: bit per word of the list             */
  HONE_FIELD_MEMORY,    /* int: number of the named memory                */
  HONE_FIELD_MEMORIES,  /* unsigned: bit per named memory                 */
  HONE_FIELD_OTHER      /* allowed here, read elsewhere                   */
} hone_field_type;

typedef struct hone_field {
  const char *key;
  hone_field_type type;
  size_t offset;
  int64_t min, max;
  bool optional;
  int64_t absent;           /* value when not given (integers) */
  const char *const *words; /* WORD, WORDS: NULL-terminated */
  bool quiet;               /* left out of the canonical text when not given */
  bool unlimited;           /* BANDWIDTH: the word `unlimited` will do */
  hone_idle idle;
} hone_field;

enum { HONE_MAX_FIELDS = 24 };
typedef struct {
  hone_field field[HONE_MAX_FIELDS]; /* ends at key NULL */
} hone_field_table;

extern const hone_field_table hone_fields_root, hone_fields_memory, hone_fields_dram, hone_fields_axis, hone_fields_link,
    hone_fields_matrix, hone_fields_array_rate, hone_fields_vector, hone_fields_vector_rate, hone_fields_pe,
    hone_fields_pe_rate, hone_fields_dma, hone_fields_sequencer;

/* Reads the table's fields of a block into `out`. clock_hz: of the block's own
 * cycles. Refuses keys that neither table has (second: may be NULL). */
hone_status hone_fields_read(const hone_machine *m, int64_t clock_hz, const hone_tree *block, const hone_field_table *t,
                             const hone_field_table *second, void *out, hone_err *err);
void hone_fields_print(const hone_field_table *t, const void *from, hone_text *out); /* " key=value" each */
/* One field's value into its place. */
hone_status hone_field_read(const hone_machine *m, int64_t clock_hz, const hone_field *f, const hone_tree *t, void *out,
                            hone_err *err);
/* One value of a tree as an integer in unit u, or a frequency, and so on. */
hone_status hone_tree_unit(const hone_tree *t, hone_unit u, int64_t min, int64_t max, int64_t *out, hone_err *err);
hone_status hone_tree_word(const hone_tree *t, const char **out, hone_err *err); /* the one text of a value, sourced */

/* The blocks of a tree into a machine, and whether they fit together. */
hone_status hone_machine_load_tree(const hone_tree *root, hone_machine *m, hone_err *err);
hone_status hone_machine_check(const hone_machine *m, const hone_tree *root, hone_err *err);

/* machine_review.c: appends to the list, at most as many as there is room for. */
typedef struct {
  struct hone_machine_finding *at;
  int n, room;
} hone_findings;
void hone_machine_review(const hone_machine *m, const hone_tree *root, hone_findings *out);

#endif
