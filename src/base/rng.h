/* Seeded, splittable random numbers (SplitMix64 seeding xoshiro256**, Blackman
 * and Vigna 2018). The same seed gives the same numbers on every host. A
 * generator belongs to one thread; split one per task, by key, never share. */
#ifndef HONE_BASE_RNG_H
#define HONE_BASE_RNG_H

#include <stdint.h>

typedef struct {
  uint64_t s[4];
} hone_rng;

void hone_rng_init(hone_rng *r, uint64_t seed);
/* A generator that depends on r's seed state and key only; r is not advanced. */
void hone_rng_split(const hone_rng *r, uint64_t key, hone_rng *out);
uint64_t hone_rng_next(hone_rng *r);
int64_t hone_rng_below(hone_rng *r, int64_t n); /* uniform in [0, n), unbiased, n >= 1 */
double hone_rng_unit(hone_rng *r);              /* [0, 1), 53 bits */

#endif
