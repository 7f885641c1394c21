/* XXH64, seed 0; see digest.h. Four lanes take 8 bytes each of a stripe of 32. */
#include "config.h"

#include "store/digest.h"

#include <string.h>

#define P1 UINT64_C(0x9E3779B185EBCA87)
#define P2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define P3 UINT64_C(0x165667B19E3779F9)
#define P4 UINT64_C(0x85EBCA77C2B2AE63)
#define P5 UINT64_C(0x27D4EB2F165667C5)

static uint64_t rotate(uint64_t x, int r) { return x << r | x >> (64 - r); }

static uint64_t word64(const unsigned char *p)
{
  uint64_t w = 0;
  for (int i = 7; i >= 0; i--)
    w = w << 8 | p[i];
  return w;
}

static uint64_t step(uint64_t lane, uint64_t word) { return rotate(lane + word * P2, 31) * P1; }

void hone_digest_init(hone_digest *d)
{
  *d = (hone_digest){.lane = {P1 + P2, P2, 0, -P1}};
}

static void stripe(hone_digest *d, const unsigned char *p)
{
  for (int i = 0; i < 4; i++)
    d->lane[i] = step(d->lane[i], word64(p + 8 * i));
}

void hone_digest_add(hone_digest *d, const void *bytes, size_t n)
{
  const unsigned char *p = bytes;
  const size_t held = d->total % 32;
  d->total += n;
  if (held) {
    const size_t take = n < 32 - held ? n : 32 - held;
    memcpy(d->tail + held, p, take);
    p += take, n -= take;
    if (held + take < 32) return;
    stripe(d, d->tail);
  }
  for (; n >= 32; p += 32, n -= 32)
    stripe(d, p);
  memcpy(d->tail, p, n);
}

uint64_t hone_digest_end(const hone_digest *d)
{
  const unsigned char *p = d->tail;
  size_t n = d->total % 32;
  uint64_t h = P5;
  if (d->total >= 32) {
    h = rotate(d->lane[0], 1) + rotate(d->lane[1], 7) + rotate(d->lane[2], 12) + rotate(d->lane[3], 18);
    for (int i = 0; i < 4; i++)
      h = (h ^ step(0, d->lane[i])) * P1 + P4;
  }
  h += d->total;
  for (; n >= 8; p += 8, n -= 8)
    h = rotate(h ^ step(0, word64(p)), 27) * P1 + P4;
  if (n >= 4) {
    const uint64_t w = (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
    h = rotate(h ^ w * P1, 23) * P2 + P3;
    p += 4, n -= 4;
  }
  for (; n; p++, n--)
    h = rotate(h ^ *p * P5, 11) * P1;
  h = (h ^ h >> 33) * P2;
  h = (h ^ h >> 29) * P3;
  return h ^ h >> 32;
}
