/* A growing set of keys: what was proposed, visited, counted. Init with {0}. */
#ifndef HONE_SPACES_KEYSET_H
#define HONE_SPACES_KEYSET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"

typedef struct {
  hone_hash *slot; /* open addressing; the all-zero hash is kept apart */
  size_t capacity, count;
  bool has_zero;
} hone_keyset;

bool hone_keyset_has(const hone_keyset *s, hone_hash key);
bool hone_keyset_add(hone_keyset *s, hone_hash key); /* false: was there */
void hone_keyset_fini(hone_keyset *s);

#endif
