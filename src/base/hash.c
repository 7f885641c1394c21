/* FNV-1a, 128 bits; see hash.h. */
#include "config.h"

#include "base/hash.h"

#include <string.h>

typedef unsigned __int128 u128;

/* draft-eastlake-fnv section 5: prime 2^88 + 0x13b and offset basis. */
#define PRIME (((u128)1 << 88) + 0x13b)
#define BASIS (((u128)UINT64_C(0x6c62272e07bb0142) << 64) | UINT64_C(0x62b821756295c58d))

static u128 mix_bytes(u128 h, const void *p, size_t n)
{
  const unsigned char *s = p;
  for (size_t i = 0; i < n; i++)
    h = (h ^ s[i]) * PRIME;
  return h;
}

static hone_hash halves(u128 h) { return (hone_hash){.hi = (uint64_t)(h >> 64), .lo = (uint64_t)h}; }

hone_hash hone_hash_bytes(const void *p, size_t n) { return halves(mix_bytes(BASIS, p, n)); }
hone_hash hone_hash_text(const char *s) { return hone_hash_bytes(s, strlen(s)); }

hone_hash hone_hash_join(hone_hash a, hone_hash b)
{
  const uint64_t words[4] = {a.hi, a.lo, b.hi, b.lo};
  unsigned char bytes[32];
  for (int i = 0; i < 32; i++) /* big-endian, so equal on every host */
    bytes[i] = (unsigned char)(words[i / 8] >> (56 - 8 * (i % 8)));
  return hone_hash_bytes(bytes, sizeof bytes);
}

int hone_hash_cmp(hone_hash a, hone_hash b)
{
  if (a.hi != b.hi) return a.hi < b.hi ? -1 : 1;
  return a.lo == b.lo ? 0 : a.lo < b.lo ? -1 : 1;
}

void hone_hash_print(hone_hash h, char out[HONE_HASH_TEXT])
{
  static const char digits[] = "0123456789abcdef";
  for (int i = 0; i < 32; i++)
    out[i] = digits[((i < 16 ? h.hi : h.lo) >> (60 - 4 * (i % 16))) & 15];
  out[32] = '\0';
}

int hone_hash_parse(const char *s, hone_hash *out)
{
  static const char digits[] = "0123456789abcdef";
  uint64_t word[2] = {0, 0};
  if (strlen(s) != 32) return 0;
  for (int i = 0; i < 32; i++) {
    const char *d = strchr(digits, s[i]);
    if (!d) return 0;
    word[i / 16] = word[i / 16] << 4 | (uint64_t)(d - digits);
  }
  *out = (hone_hash){.hi = word[0], .lo = word[1]};
  return 1;
}
