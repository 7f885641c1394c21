/* Random schedule libraries: well formed by library.h, however odd their names,
 * sizes and texts. */
#ifndef HONE_TESTS_PROPERTY_LIBRARY_RANDOM_H
#define HONE_TESTS_PROPERTY_LIBRARY_RANDOM_H

#include "base/rng.h"
#include "library/library.h"

typedef struct {
  const char *name;
  int families, entries; /* at most, each */
  bool exactly;          /* as many as that */
  bool odd;              /* odd names and texts, extreme sizes; else plain ones as of matmul */
} library_random_options;

hone_library *library_random_new(hone_rng *r, const library_random_options *options); /* hone_library_free */

/* Sizes worth asking a family for: those of entries, the ends of intervals and
 * their neighbours, and some from nowhere. */
void library_random_query(hone_rng *r, const hone_library_family *f, bool odd, int64_t *size);

#endif
