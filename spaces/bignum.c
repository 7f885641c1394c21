/* Schoolbook arithmetic in base 10^9, so that printing needs no division. */
#include "config.h"

#include "spaces/bignum.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BASE = 1000000000 };

static void saturate(hone_bignum *b)
{
  b->saturated = true;
  b->n = HONE_BIGNUM_LIMBS;
  for (int i = 0; i < b->n; i++) b->limb[i] = BASE - 1;
}

void hone_bignum_set(hone_bignum *b, uint64_t v)
{
  memset(b, 0, sizeof *b);
  for (; v > 0; v /= BASE) b->limb[b->n++] = (uint32_t)(v % BASE);
}

void hone_bignum_add(hone_bignum *b, const hone_bignum *c)
{
  if (b->saturated || c->saturated) {
    saturate(b);
    return;
  }
  uint32_t carry = 0;
  for (int i = 0; i < HONE_BIGNUM_LIMBS; i++) {
    uint32_t sum = b->limb[i] + c->limb[i] + carry; /* < 2^32 */
    carry = sum >= BASE;
    b->limb[i] = carry ? sum - BASE : sum;
    if (b->limb[i] != 0 && i >= b->n) b->n = i + 1;
  }
  if (carry) saturate(b);
}

void hone_bignum_multiply(hone_bignum *b, const hone_bignum *c)
{
  if (hone_bignum_is_zero(b)) return;
  if (hone_bignum_is_zero(c)) {
    *b = *c;
    return;
  }
  hone_bignum r = {0};
  bool full = b->saturated || c->saturated || b->n + c->n - 1 > HONE_BIGNUM_LIMBS;
  for (int i = 0; i < b->n && !full; i++) {
    uint64_t carry = 0;
    for (int j = 0; (j < c->n || carry > 0) && !full; j++) {
      if (i + j >= HONE_BIGNUM_LIMBS) {
        full = true;
        break;
      }
      uint64_t v = r.limb[i + j] + carry + (j < c->n ? (uint64_t)b->limb[i] * c->limb[j] : 0);
      r.limb[i + j] = (uint32_t)(v % BASE);
      carry = v / BASE;
      if (i + j >= r.n) r.n = i + j + 1;
    }
  }
  if (full) saturate(&r);
  *b = r;
}

bool hone_bignum_is_zero(const hone_bignum *b) { return b->n == 0; }

int64_t hone_bignum_small(const hone_bignum *b, int64_t limit)
{
  unsigned __int128 v = 0;
  if (b->n > 3) return -1;
  for (int i = b->n - 1; i >= 0; i--) v = v * BASE + b->limb[i];
  return v <= (unsigned __int128)(uint64_t)limit ? (int64_t)v : -1;
}

double hone_bignum_log10(const hone_bignum *b)
{
  double v = 0;
  for (int i = b->n - 1; i >= 0 && i >= b->n - 3; i--) v = v * BASE + b->limb[i];
  return b->n == 0 ? -1 : log10(v) + 9.0 * (b->n > 3 ? b->n - 3 : 0);
}

void hone_bignum_print(const hone_bignum *b, char out[HONE_BIGNUM_TEXT + 1])
{
  int at = snprintf(out, HONE_BIGNUM_TEXT, "%u", b->n > 0 ? b->limb[b->n - 1] : 0);
  for (int i = b->n - 2; i >= 0; i--) at += snprintf(out + at, HONE_BIGNUM_TEXT - (size_t)at, "%09u", b->limb[i]);
  if (b->saturated) memcpy(out + at, "+", 2);
}
