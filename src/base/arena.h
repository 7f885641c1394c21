/* Arenas: memory by lifetime. Nothing inside is freed singly; reset or free
 * ends everything at once. An arena is used by one thread at a time. When
 * memory runs out the hook runs (to flush the store), then the process aborts:
 * the only exit inside the library. */
#ifndef HONE_BASE_ARENA_H
#define HONE_BASE_ARENA_H

#include <stddef.h>

typedef struct hone_arena hone_arena;

hone_arena *hone_arena_new(void);
void hone_arena_free(hone_arena *a); /* NULL allowed */
void hone_arena_reset(hone_arena *a); /* keeps the memory for reuse */
void *hone_arena_alloc(hone_arena *a, size_t bytes); /* zeroed, 16-byte aligned, never NULL */
char *hone_arena_strdup(hone_arena *a, const char *s);

/* Heap with the same out-of-memory rule; zeroed. count * size is checked. */
void *hone_heap_alloc(size_t count, size_t size);
void *hone_heap_realloc(void *p, size_t count, size_t size); /* grown part not zeroed */
void hone_heap_set_oom_hook(void (*hook)(void *), void *arg); /* once, before threads */

#endif
