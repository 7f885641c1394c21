/* Counts of points beyond 64 bits: non-negative decimal numbers of up to 315
 * digits, exact; anything larger saturates and says so. A value type. */
#ifndef HONE_SPACES_BIGNUM_H
#define HONE_SPACES_BIGNUM_H

#include <stdbool.h>
#include <stdint.h>

enum { HONE_BIGNUM_LIMBS = 35, HONE_BIGNUM_TEXT = 9 * HONE_BIGNUM_LIMBS + 1 };

typedef struct {
  int n;                            /* limbs in use; 0 is zero */
  bool saturated;
  uint32_t limb[HONE_BIGNUM_LIMBS]; /* base 10^9, least significant first */
} hone_bignum;

void hone_bignum_set(hone_bignum *b, uint64_t v);
void hone_bignum_add(hone_bignum *b, const hone_bignum *c);
void hone_bignum_multiply(hone_bignum *b, const hone_bignum *c);
bool hone_bignum_is_zero(const hone_bignum *b);
/* The value if it is at most `limit`, else -1. */
int64_t hone_bignum_small(const hone_bignum *b, int64_t limit);
double hone_bignum_log10(const hone_bignum *b); /* of zero: -1 */
void hone_bignum_print(const hone_bignum *b, char out[HONE_BIGNUM_TEXT + 1]); /* a final + when saturated */

#endif
