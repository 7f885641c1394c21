/* 64-bit arithmetic that says when it would wrap. Each returns false and leaves
 * *out alone on overflow (or a zero divisor). All quantities in Hone are int64. */
#ifndef HONE_BASE_CHECKED_H
#define HONE_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool hone_checked_add(int64_t a, int64_t b, int64_t *out)
{
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}
static inline bool hone_checked_sub(int64_t a, int64_t b, int64_t *out)
{
  int64_t r;
  if (__builtin_sub_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}
static inline bool hone_checked_mul(int64_t a, int64_t b, int64_t *out)
{
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}
/* ceil(a / b) for a >= 0, b > 0; the caller guarantees both. */
static inline int64_t hone_ceil_div(int64_t a, int64_t b)
{
  return a / b + (a % b != 0);
}
static inline int64_t hone_min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t hone_max64(int64_t a, int64_t b) { return a > b ? a : b; }
/* ceil(a * num / den) through 128 bits; saturates at INT64_MAX. a, num >= 0, den > 0. */
static inline int64_t hone_muldiv_ceil(int64_t a, int64_t num, int64_t den)
{
  unsigned __int128 p = (unsigned __int128)(uint64_t)a * (uint64_t)num;
  unsigned __int128 q = (p + (uint64_t)den - 1) / (uint64_t)den;
  return q > INT64_MAX ? INT64_MAX : (int64_t)q;
}

#endif
