/* Arena: a list of blocks, filled in order. Reset rewinds to the first block
 * and keeps them all, so a candidate arena soon stops asking the system. */
#include "config.h"

#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, FIRST_BLOCK = 16 * 1024, LARGEST_STEP = 1024 * 1024 };

typedef struct block {
  struct block *next;
  size_t size, used;
  _Alignas(ALIGN) unsigned char data[];
} block;

struct hone_arena {
  block *first, *current;
};

static void (*oom_hook)(void *);
static void *oom_arg;

void hone_heap_set_oom_hook(void (*hook)(void *), void *arg)
{
  oom_hook = hook;
  oom_arg = arg;
}

static _Noreturn void out_of_memory(void)
{
  if (oom_hook) oom_hook(oom_arg);
  abort();
}

void *hone_heap_alloc(size_t count, size_t size)
{
  void *p = calloc(count ? count : 1, size ? size : 1); /* calloc checks the product */
  if (!p) out_of_memory();
  return p;
}

void *hone_heap_realloc(void *p, size_t count, size_t size)
{
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) out_of_memory();
  void *q = realloc(p, bytes ? bytes : 1);
  if (!q) out_of_memory();
  return q;
}

static block *block_new(size_t size)
{
  if (size > SIZE_MAX - sizeof(block)) out_of_memory();
  block *b = malloc(sizeof(block) + size);
  if (!b) out_of_memory();
  b->next = NULL;
  b->size = size;
  b->used = 0;
  return b;
}

hone_arena *hone_arena_new(void)
{
  hone_arena *a = hone_heap_alloc(1, sizeof *a);
  a->first = a->current = block_new(FIRST_BLOCK);
  return a;
}

void hone_arena_free(hone_arena *a)
{
  if (!a) return;
  for (block *b = a->first, *next; b; b = next) {
    next = b->next;
    free(b);
  }
  free(a);
}

void hone_arena_reset(hone_arena *a)
{
  for (block *b = a->first; b; b = b->next)
    b->used = 0;
  a->current = a->first;
}

/* The next block with room, which becomes current: an old one after a reset, or
 * a new one put right behind the current so that smaller ones stay usable. */
static block *block_with_room(hone_arena *a, size_t bytes)
{
  block *b = a->current;
  while (b->size - b->used < bytes && b->next && b->next->size >= bytes)
    b = b->next;
  if (b->size - b->used < bytes) {
    size_t step = b->size < LARGEST_STEP ? b->size * 2 : LARGEST_STEP;
    block *fresh = block_new(bytes > step ? bytes : step);
    fresh->next = b->next;
    b->next = fresh;
    b = fresh;
  }
  a->current = b;
  return b;
}

void *hone_arena_alloc(hone_arena *a, size_t bytes)
{
  if (bytes > SIZE_MAX - ALIGN) out_of_memory();
  bytes = bytes ? (bytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
  block *b = block_with_room(a, bytes);
  void *p = b->data + b->used;
  b->used += bytes;
  return memset(p, 0, bytes);
}

char *hone_arena_strdup(hone_arena *a, const char *s)
{
  size_t n = strlen(s) + 1;
  return memcpy(hone_arena_alloc(a, n), s, n);
}
