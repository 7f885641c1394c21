/* Number formats, from the rows of format.def.
 *
 * Rounding to a float format with M mantissa bits: the quantum of |x| is
 * 2^(max(e, emin) - M) with 2^e <= |x|. Adding and subtracting 2^52 quanta leaves
 * |x| rounded to a whole number of them, ties to even, because the sum has
 * exactly that unit in its last place (Muller et al., Handbook of Floating-Point
 * Arithmetic, section 5.2.3). No step rounds twice: double to bf16 never passes
 * through fp32. The encoding of a finite value is (e - emin) << M plus the number
 * of quanta; the implicit bit carries into the exponent by itself.
 *
 * Log numbers compare with exact powers 2^(i/2^k), made from a table of square
 * roots, so that no libm decides: the logarithm is read off bit by bit, one more
 * bit than the format has, and that bit rounds. */
#include "config.h"

#include "ir/format.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"

enum { I, F, L }; /* the kind column */

static const struct row {
  const char *name;
  int bits, kind, exponent, mantissa;
  hone_format accumulator;
  bool finite; /* no infinity: the top exponent holds numbers, all ones is NaN (OCP OFP8 1.0, table 1) */
} rows[] = {
#define HONE_FORMAT(id, name, bits, kind, exponent, mantissa, acc) \
  [HONE_FORMAT_##id] = {name, bits, kind, exponent, mantissa, HONE_FORMAT_##acc, (exponent) == 4 && (mantissa) == 3},
#include "ir/format.def"
#undef HONE_FORMAT
};
_Static_assert(sizeof rows / sizeof rows[0] == HONE_FORMAT_COUNT, "one row per format");

const char *hone_format_name(hone_format f) { return rows[f].name; }
int hone_format_bits(hone_format f) { return rows[f].bits; }
bool hone_format_is_integer(hone_format f) { return rows[f].kind == I; }
hone_format hone_format_accumulator(hone_format f) { return rows[f].accumulator; }

bool hone_format_find(const char *name, hone_format *out)
{
  if (strcmp(name, "fp8") == 0) name = "fp8e4m3";
  for (int f = 0; f < HONE_FORMAT_COUNT; f++)
    if (strcmp(name, rows[f].name) == 0) {
      *out = (hone_format)f;
      return true;
    }
  return false;
}

int64_t hone_format_bytes(hone_format f, int64_t elements)
{
  return hone_muldiv_ceil(elements, rows[f].bits, 8);
}

static int bias(const struct row *r) { return (1 << (r->exponent - 1)) - 1; }
static int emin(const struct row *r) { return 1 - bias(r); }
static int emax(const struct row *r) { return bias(r) + r->finite; }

static double power_of_two(int e) /* -1022 <= e <= 1023 */
{
  uint64_t bits = (uint64_t)(e + 1023) << 52;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static int exponent_of(double x) /* floor(log2 |x|); -1023 for zero and subnormals, 1024 for inf and nan */
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (int)(bits >> 52 & 0x7ff) - 1023;
}

static double largest(const struct row *r)
{
  int64_t quanta = (INT64_C(2) << r->mantissa) - 1 - r->finite;
  return (double)quanta * power_of_two(emax(r) - r->mantissa);
}

static double round_float(const struct row *r, double x)
{
  if (isnan(x)) return NAN;
  int e = exponent_of(x);
  double a = fabs(x);
  if (e <= emax(r)) {
    int q = (e > emin(r) ? e : emin(r)) - r->mantissa;
    double shift = power_of_two(52 + q);
    a = (a + shift) - shift;
  }
  if (a > largest(r)) a = r->finite ? largest(r) : INFINITY;
  return copysign(a, x);
}

static double round_integer(const struct row *r, double x)
{
  double limit = power_of_two(r->bits - 1);
  if (isnan(x)) return 0;
  x = rint(x) + 0.0; /* + 0.0: no negative zero */
  return x < -limit ? -limit : x > limit - 1 ? limit - 1 : x;
}

/* 2^(1/2), 2^(1/4), .. 2^(1/1024), each the double nearest to it. */
static const double roots[] = {0x1.6a09e667f3bcdp+0, 0x1.306fe0a31b715p+0, 0x1.172b83c7d517bp+0, 0x1.0b5586cf9890fp+0, 0x1.059b0d3158574p+0, 0x1.02c9a3e778061p+0, 0x1.0163da9fb3335p+0, 0x1.00b1afa5abcbfp+0, 0x1.0058c86da1c0ap+0, 0x1.002c605e2e8cfp+0};
enum { NROOTS = sizeof roots / sizeof roots[0] };
#define HONE_FORMAT(id, name, bits, kind, exponent, mantissa, acc) \
  _Static_assert((kind) != L || (1 + (exponent) + (mantissa) == (bits) && (mantissa) < NROOTS), name);
#include "ir/format.def"
#undef HONE_FORMAT

/* The value of code c > 0: its integer part is an exponent, its fraction a
 * product of roots, first root for the highest bit. */
static double log_value(const struct row *r, int64_t c)
{
  int64_t whole = (c >> r->mantissa) - (INT64_C(1) << (r->exponent - 1));
  double x = power_of_two((int)whole);
  for (int i = 0; i < r->mantissa; i++)
    if (c >> (r->mantissa - 1 - i) & 1) x *= roots[i];
  return (double)(float)x;
}

/* The code nearest to log2(a) for finite a > 0, before any limit. */
static int64_t log_code(const struct row *r, double a)
{
  int e;
  double m = 2 * frexp(a, &e), p = 1; /* a = m 2^(e-1), 1 <= m < 2 */
  int64_t half = (e - 1 + (INT64_C(1) << (r->exponent - 1))) * 2; /* in half steps, as far as known */
  half *= INT64_C(1) << r->mantissa;
  for (int i = 0; i <= r->mantissa; i++)
    if (p * roots[i] <= m) {
      p *= roots[i];
      half += INT64_C(1) << (r->mantissa - i);
    }
  return (half + 1) >> 1;
}

static uint32_t log_bits(const struct row *r, double x)
{
  uint32_t sign = UINT32_C(1) << (r->bits - 1);
  if (isnan(x)) return sign;
  int64_t most = sign - 1, c = isinf(x) ? most : x == 0 ? 0 : log_code(r, fabs(x));
  if (c <= 0) return 0;
  return (uint32_t)(c < most ? c : most) | (signbit(x) ? sign : 0);
}

static double log_decode(const struct row *r, uint32_t bits)
{
  uint32_t sign = UINT32_C(1) << (r->bits - 1), c = bits & (sign - 1);
  if (c == 0) return bits & sign ? NAN : 0;
  return bits & sign ? -log_value(r, c) : log_value(r, c);
}

double hone_format_round(hone_format f, double x)
{
  if (f == HONE_FORMAT_FP32) return (double)(float)x; /* the same, faster */
  const struct row *r = &rows[f];
  return r->kind == I ? round_integer(r, x) : r->kind == L ? log_decode(r, log_bits(r, x)) : round_float(r, x);
}

static uint32_t float_bits(const struct row *r, double x) /* x already rounded */
{
  uint32_t sign = signbit(x) ? UINT32_C(1) << (r->bits - 1) : 0;
  uint32_t top = ((UINT32_C(1) << r->exponent) - 1) << r->mantissa;
  if (isnan(x)) return top | (r->finite ? (UINT32_C(1) << r->mantissa) - 1 : UINT32_C(1) << (r->mantissa - 1));
  if (isinf(x)) return sign | top;
  int e = exponent_of(x) > emin(r) ? exponent_of(x) : emin(r);
  uint32_t quanta = (uint32_t)ldexp(fabs(x), r->mantissa - e);
  return sign | (((uint32_t)(e - emin(r)) << r->mantissa) + quanta);
}

static double float_value(const struct row *r, uint32_t bits)
{
  uint32_t fraction = bits & ((UINT32_C(1) << r->mantissa) - 1);
  int field = (int)(bits >> r->mantissa & ((UINT32_C(1) << r->exponent) - 1));
  bool top = field == (1 << r->exponent) - 1;
  bool negative = bits >> (r->bits - 1) & 1;
  double a;
  if (top && !r->finite)
    a = fraction != 0 ? NAN : INFINITY;
  else if (top && fraction == (UINT32_C(1) << r->mantissa) - 1)
    a = NAN;
  else if (field == 0)
    a = (double)fraction * power_of_two(emin(r) - r->mantissa);
  else
    a = (double)(fraction | UINT32_C(1) << r->mantissa) * power_of_two(field - bias(r) - r->mantissa);
  return negative ? -a : a;
}

void hone_format_encode(hone_format f, double x, void *out)
{
  const struct row *r = &rows[f];
  uint32_t bits = r->kind == I   ? (uint32_t)(int32_t)round_integer(r, x)
                  : r->kind == L ? log_bits(r, x)
                                 : float_bits(r, hone_format_round(f, x));
  uint8_t *byte = out;
  for (int i = 0; i < r->bits / 8; i++)
    byte[i] = (uint8_t)(bits >> 8 * i);
}

double hone_format_decode(hone_format f, const void *in)
{
  const struct row *r = &rows[f];
  const uint8_t *byte = in;
  uint32_t bits = 0;
  for (int i = 0; i < r->bits / 8; i++)
    bits |= (uint32_t)byte[i] << 8 * i;
  if (r->kind != I) return r->kind == F ? float_value(r, bits) : log_decode(r, bits);
  uint32_t sign = UINT32_C(1) << (r->bits - 1);
  return (double)((int64_t)(bits ^ sign) - (int64_t)sign);
}
