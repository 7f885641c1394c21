/* Digest of bytes, for telling a damaged file: XXH64 with seed 0 (Yann Collet,
 * xxHash specification 0.1.1), so `xxhsum -H64` gives the same. Several bytes per
 * cycle, where FNV-1a (base/hash.h) takes several cycles per byte. Against
 * accidents, not against adversaries. */
#ifndef HONE_STORE_DIGEST_H
#define HONE_STORE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint64_t lane[4], total;
  unsigned char tail[32];
} hone_digest;

void hone_digest_init(hone_digest *d);
void hone_digest_add(hone_digest *d, const void *bytes, size_t n);
uint64_t hone_digest_end(const hone_digest *d);

#endif
