/* xoshiro256** with SplitMix64 seeding; see rng.h. Both are public domain
 * algorithms by Blackman and Vigna (https://prng.di.unimi.it). */
#include "config.h"

#include "base/rng.h"

#include <assert.h>

static const uint64_t GOLDEN = UINT64_C(0x9e3779b97f4a7c15); /* SplitMix64's increment */

static uint64_t mix(uint64_t z) /* SplitMix64's output function: a bijection */
{
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

void hone_rng_init(hone_rng *r, uint64_t seed)
{
  for (int i = 0; i < 4; i++)
    r->s[i] = mix(seed += GOLDEN); /* four distinct values: never all zero */
}

void hone_rng_split(const hone_rng *r, uint64_t key, hone_rng *out)
{
  uint64_t h = mix(key + GOLDEN);
  for (int i = 0; i < 4; i++)
    h = mix((h ^ r->s[i]) + GOLDEN); /* the whole state and the key decide */
  hone_rng_init(out, h);
}

uint64_t hone_rng_next(hone_rng *r)
{
  uint64_t *s = r->s, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate(s[3], 45);
  return result;
}

/* Lemire 2019, "Fast random integer generation in an interval". */
int64_t hone_rng_below(hone_rng *r, int64_t n)
{
  assert(n >= 1);
  uint64_t range = (uint64_t)n, threshold = -range % range;
  unsigned __int128 m;
  do
    m = (unsigned __int128)hone_rng_next(r) * range;
  while ((uint64_t)m < threshold);
  return (int64_t)(uint64_t)(m >> 64);
}

double hone_rng_unit(hone_rng *r) { return (double)(hone_rng_next(r) >> 11) * 0x1.0p-53; }
