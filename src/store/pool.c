/* String pool: open addressing, linear probing, at most half full. */
#include "config.h"

#include "store/store_int.h"

#include <stdlib.h>
#include <string.h>

static uint64_t slot_hash(const char *s, size_t n) { return hone_hash_bytes(s, n).lo; }

static void insert(hone_pool *p, uint64_t hash, int32_t index)
{
  size_t i = hash & (p->nslots - 1);
  while (p->slot[i] >= 0)
    i = (i + 1) & (p->nslots - 1);
  p->slot[i] = index;
}

static void grow(hone_pool *p)
{
  p->capacity = p->capacity ? 2 * p->capacity : 32;
  p->string = hone_heap_realloc(p->string, (size_t)p->capacity, sizeof *p->string);
  p->hash = hone_heap_realloc(p->hash, (size_t)p->capacity, sizeof *p->hash);
  p->nslots = 2 * (size_t)p->capacity;
  p->slot = hone_heap_realloc(p->slot, p->nslots, sizeof *p->slot);
  memset(p->slot, 0xff, p->nslots * sizeof *p->slot);
  for (int32_t i = 0; i < p->n; i++)
    insert(p, p->hash[i], i);
}

void hone_pool_init(hone_pool *p)
{
  *p = (hone_pool){.arena = hone_arena_new()};
}

void hone_pool_fini(hone_pool *p)
{
  hone_arena_free(p->arena);
  free(p->string);
  free(p->hash);
  free(p->slot);
  *p = (hone_pool){0};
}

int32_t hone_pool_add(hone_pool *p, const char *s)
{
  if (!s) s = "";
  const size_t n = strlen(s);
  const uint64_t hash = slot_hash(s, n);
  if (p->nslots)
    for (size_t i = hash & (p->nslots - 1); p->slot[i] >= 0; i = (i + 1) & (p->nslots - 1)) {
      const int32_t k = p->slot[i];
      if (p->hash[k] == hash && !strcmp(p->string[k], s)) return k;
    }
  if (p->n == p->capacity) grow(p);
  p->string[p->n] = hone_arena_strdup(p->arena, s);
  p->hash[p->n] = hash;
  insert(p, hash, p->n);
  if (n > p->longest) p->longest = n;
  return p->n++;
}

const char *hone_pool_intern(hone_pool *p, const char *s)
{
  const int32_t i = hone_pool_add(p, s); /* may move the array */
  return p->string[i];
}
