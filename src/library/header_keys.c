/* The hash table of a family in a library's C header. Keys are the entries' sizes,
 * then, for every group of intervals with one axis and the same other sizes, these
 * with 0 on the axis (no size is 0). The hash is the sum of size times factor, so
 * that of a group follows from that of a shape by one multiplication
 * (multiply-shift: Dietzfelbinger 1996). Linear probing in a table at most half
 * full. A shape is found in a few probes per axis, whatever the family's size. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "library/header_int.h"
#include "library/library_int.h"

/* Odd and random: SplitMix64 (Steele, Lea, Flood 2014). */
uint64_t hone_header_factor(int size)
{
  uint64_t z = (uint64_t)(size + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (z ^ (z >> 31)) | 1;
}

static bool same_group(const hone_library_family *x, int i, int k)
{
  const hone_library_interval *a = &x->interval[i], *b = &x->interval[k];
  return a->axis == b->axis && library_size_cmp(x->entry[a->entry].size, x->entry[b->entry].size, x->spec.nsizes, a->axis) == 0;
}

static void fill_slots(hone_header_keys *t, int nsizes)
{
  for (t->bits = 1; (1 << t->bits) < 2 * t->nkeys; t->bits++) {}
  t->slot = hone_heap_alloc((size_t)1 << t->bits, sizeof *t->slot);
  t->hash = hone_heap_alloc((size_t)t->nkeys + 1, sizeof *t->hash);
  for (int i = 0; i < 1 << t->bits; i++) t->slot[i] = -1;
  for (int i = 0; i < t->nkeys; i++) {
    for (int s = 0; s < nsizes; s++) t->hash[i] += (uint64_t)t->key[i * nsizes + s] * hone_header_factor(s);
    int at = (int)(t->hash[i] >> (64 - t->bits));
    while (t->slot[at] >= 0) at = (at + 1) & ((1 << t->bits) - 1);
    t->slot[at] = i;
  }
}

void hone_header_keys_init(const hone_library_family *x, hone_header_keys *out)
{
  const int n = x->spec.nsizes;
  hone_header_keys t = {.group = hone_heap_alloc((size_t)x->nintervals + 1, sizeof *t.group)};
  for (int i = 0; i < x->nintervals; i++)
    if (i == 0 || !same_group(x, i - 1, i)) t.group[t.ngroups++] = i;
  t.group[t.ngroups] = x->nintervals;
  t.nkeys = x->nentries + t.ngroups;
  t.key = hone_heap_alloc((size_t)t.nkeys * (size_t)n + 1, sizeof *t.key);
  for (int i = 0; i < x->nentries; i++) memcpy(t.key + i * n, x->entry[i].size, (size_t)n * sizeof *t.key);
  for (int g = 0; g < t.ngroups; g++) {
    const hone_library_interval *v = &x->interval[t.group[g]];
    int64_t *key = t.key + (x->nentries + g) * n;
    memcpy(key, x->entry[v->entry].size, (size_t)n * sizeof *key);
    key[v->axis] = 0;
  }
  fill_slots(&t, n);
  *out = t;
}

void hone_header_keys_fini(hone_header_keys *t)
{
  free(t->group);
  free(t->key);
  free(t->slot);
  free(t->hash);
}
