/* Linear probing at a load of at most one half. */
#include "config.h"

#include "spaces/keyset.h"

#include <stdlib.h>

#include "base/arena.h"

static bool is_zero(hone_hash k) { return k.hi == 0 && k.lo == 0; }

static hone_hash *probe(const hone_keyset *s, hone_hash key)
{
  size_t i = (size_t)(key.lo ^ key.hi) & (s->capacity - 1);
  while (!is_zero(s->slot[i]) && hone_hash_cmp(s->slot[i], key) != 0) i = (i + 1) & (s->capacity - 1);
  return &s->slot[i];
}

static void grow(hone_keyset *s)
{
  hone_keyset old = *s;
  s->capacity = old.capacity ? 2 * old.capacity : 64;
  s->slot = hone_heap_alloc(s->capacity, sizeof *s->slot);
  for (size_t i = 0; i < old.capacity; i++)
    if (!is_zero(old.slot[i])) *probe(s, old.slot[i]) = old.slot[i];
  free(old.slot);
}

bool hone_keyset_has(const hone_keyset *s, hone_hash key)
{
  if (is_zero(key)) return s->has_zero;
  return s->capacity > 0 && !is_zero(*probe(s, key));
}

bool hone_keyset_add(hone_keyset *s, hone_hash key)
{
  if (hone_keyset_has(s, key)) return false;
  s->count++;
  if (is_zero(key)) return s->has_zero = true;
  if (2 * s->count > s->capacity) grow(s);
  *probe(s, key) = key;
  return true;
}

void hone_keyset_fini(hone_keyset *s)
{
  free(s->slot);
  *s = (hone_keyset){0};
}
