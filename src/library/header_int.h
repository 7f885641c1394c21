/* What the files that write a library's C header share. Inside src/library only. */
#ifndef HONE_LIBRARY_HEADER_INT_H
#define HONE_LIBRARY_HEADER_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "library/library.h"

/* ---- names (header_names.c) ----------------------------------------------------- */

enum { HONE_HEADER_NAME = 160 }; /* bytes of an identifier, with the final NUL */
typedef char hone_header_name[HONE_HEADER_NAME];

#define HONE_HEADER_PLACE "NAME_" /* in the template: the library's name and a _ */
extern const char *const hone_header_template[]; /* its lines */
extern const int hone_header_template_lines;

/* The prefix of every name of the header. */
void hone_header_name_library(const hone_library *l, hone_header_name out);
/* Of the families' functions, without prefix; distinct, unlike the template's names,
 * never with a digit in front. Heap, nfamilies of them; the caller frees. */
hone_header_name *hone_header_name_families(const hone_library *l);
/* Of the sizes as parameters of a function; nsizes of them. */
void hone_header_name_parameters(const char *prefix, const hone_spec *spec, hone_header_name *out);

/* ---- the hash table of a family (header_keys.c) ----------------------------------- */

typedef struct {
  int nkeys, ngroups;
  int *group;    /* first interval of each group, and the end */
  int64_t *key;  /* nsizes each: of the entries, then of the groups */
  uint64_t *hash; /* of each key */
  int bits;      /* the table has 1 << bits slots, at least two */
  int *slot;     /* number of a key, -1: empty */
} hone_header_keys;

uint64_t hone_header_factor(int size); /* what the i-th size is multiplied with */
void hone_header_keys_init(const hone_library_family *f, hone_header_keys *out);
void hone_header_keys_fini(hone_header_keys *k);

#endif
