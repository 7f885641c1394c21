/* FNV-1a, 128 bits (Fowler, Noll, Vo; draft-eastlake-fnv): identity of texts.
 * Byte by byte, so equal on every host. Not for adversaries. */
#ifndef HONE_BASE_HASH_H
#define HONE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint64_t hi, lo;
} hone_hash;

#define HONE_HASH_TEXT 33 /* 32 hex digits and NUL */

hone_hash hone_hash_bytes(const void *p, size_t n);
hone_hash hone_hash_text(const char *s);
hone_hash hone_hash_join(hone_hash a, hone_hash b); /* order matters */
int hone_hash_cmp(hone_hash a, hone_hash b);
void hone_hash_print(hone_hash h, char out[HONE_HASH_TEXT]);
int hone_hash_parse(const char *s, hone_hash *out); /* 0 when malformed */

#endif
