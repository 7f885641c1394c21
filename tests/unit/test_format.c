/* Number formats: exhaustive for 8 and 16 bits, against long double for logs, against the C compiler for fp32. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "ir/format.h"

static const hone_format small[] = {HONE_FORMAT_BF16,    HONE_FORMAT_FP16, HONE_FORMAT_FP8E4M3, HONE_FORMAT_FP8E5M2,
                                    HONE_FORMAT_INT8,    HONE_FORMAT_INT16, HONE_FORMAT_LOG8,   HONE_FORMAT_LOG16};
enum { NSMALL = sizeof small / sizeof small[0], NLINEAR = NSMALL - 2 };

/* The widths format.def states, once more. */
static const struct {
  hone_format format;
  int whole, fraction;
} logs[] = {{HONE_FORMAT_LOG8, 4, 3}, {HONE_FORMAT_LOG16, 6, 9}};
enum { NLOGS = sizeof logs / sizeof logs[0] };

static double decode(hone_format f, uint32_t code)
{
  uint8_t bytes[4] = {(uint8_t)code, (uint8_t)(code >> 8), (uint8_t)(code >> 16), (uint8_t)(code >> 24)};
  return hone_format_decode(f, bytes);
}

static uint32_t encode(hone_format f, double x)
{
  uint8_t bytes[4] = {0};
  hone_format_encode(f, x, bytes);
  return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint32_t codes(hone_format f) { return UINT32_C(1) << hone_format_bits(f); }

START_TEST(decode_then_encode_is_the_identity)
{
  hone_format f = small[_i];
  for (uint32_t c = 0; c < codes(f); c++) {
    double x = decode(f, c);
    if (isnan(x))
      ck_assert(isnan(decode(f, encode(f, x))));
    else
      ck_assert_uint_eq(encode(f, x), c);
  }
}
END_TEST

START_TEST(midpoints_go_to_even)
{
  hone_format f = small[_i];
  bool integer = hone_format_is_integer(f);
  int checked = 0;
  for (uint32_t c = 0; c + 1 < codes(f) / 2; c++) {
    double low = decode(f, c), high = decode(f, c + 1), middle = (low + high) / 2;
    if (!isfinite(low) || !isfinite(high)) continue;
    uint32_t even = c % 2 == 0 ? c : c + 1;
    ck_assert_uint_eq(encode(f, middle), even);
    ck_assert_uint_eq(encode(f, nextafter(middle, 0)), c);
    ck_assert_uint_eq(encode(f, nextafter(middle, INFINITY)), c + 1);
    ck_assert_double_eq(hone_format_round(f, middle), decode(f, even));
    if (!integer) ck_assert_uint_eq(encode(f, -middle), even | codes(f) / 2);
    checked++;
  }
  ck_assert_int_gt(checked, 100);
}
END_TEST

/* The value of every code, against the C library's powers in long double. */
START_TEST(log_codes_are_powers_of_two)
{
  hone_format f = logs[_i].format;
  uint32_t sign = codes(f) / 2;
  ck_assert_double_eq(decode(f, 0), 0);
  ck_assert(!signbit(decode(f, 0)) && isnan(decode(f, sign)));
  for (uint32_t c = 1; c < sign; c++) {
    long double log = ldexpl((long double)c, -logs[_i].fraction) - ldexpl(1, logs[_i].whole - 1);
    ck_assert_double_eq(decode(f, c), (double)(float)exp2l(log));
    ck_assert_double_eq(decode(f, c | sign), -decode(f, c));
  }
}
END_TEST

/* Both sides of the border between every two codes, 2^(c + 1/2), and random numbers:
 * no code is nearer in the log domain. */
START_TEST(log_rounding_is_nearest_in_the_log_domain)
{
  hone_format f = logs[_i].format;
  int fraction = logs[_i].fraction;
  uint32_t sign = codes(f) / 2;
  long double offset = ldexpl(1, logs[_i].whole - 1);
  for (uint32_t c = 0; c + 1 < sign; c++) {
    long double border = exp2l(ldexpl(c + 0.5L, -fraction) - offset);
    double below = (double)(border * (1 - 1e-14L)), above = (double)(border * (1 + 1e-14L));
    ck_assert_uint_eq(encode(f, below), c);
    ck_assert_uint_eq(encode(f, above), c + 1);
    ck_assert_uint_eq(encode(f, -above), (c + 1) | sign);
  }
  hone_rng r;
  hone_rng_init(&r, 5);
  for (int i = 0; i < 100000; i++) {
    double x = exp2((2 * hone_rng_unit(&r) - 1) * ((double)offset - 1));
    long double exact = ldexpl(log2l(x) + offset, fraction);
    ck_assert_msg(fabsl(exact - encode(f, x)) <= 0.5L + 1e-9L, "x = %a: %u, not near %Lf", x, encode(f, x), exact);
    ck_assert_double_eq(hone_format_round(f, x), decode(f, encode(f, x)));
  }
}
END_TEST

START_TEST(log_numbers_saturate_and_vanish)
{
  hone_format f = logs[_i].format;
  uint32_t sign = codes(f) / 2, most = sign - 1;
  double largest = decode(f, most), smallest = decode(f, 1);
  ck_assert_double_eq(hone_format_round(f, largest * 2), largest);
  ck_assert_double_eq(hone_format_round(f, -1e300), -largest);
  ck_assert_double_eq(hone_format_round(f, INFINITY), largest);
  ck_assert_double_eq(hone_format_round(f, -INFINITY), -largest);
  ck_assert_uint_eq(encode(f, smallest * 0.9999), 1);
  ck_assert_uint_eq(encode(f, smallest / 2), 0);
  ck_assert_uint_eq(encode(f, -smallest / 2), 0);
  ck_assert_uint_eq(encode(f, 5e-324), 0);
  ck_assert_uint_eq(encode(f, -0.0), 0);
  ck_assert_uint_eq(encode(f, NAN), sign);
  ck_assert_uint_eq(encode(f, 1), codes(f) / 4);
  for (int e = 1 - (1 << (logs[_i].whole - 1)); e < 1 << (logs[_i].whole - 1); e++)
    ck_assert_double_eq(hone_format_round(f, ldexp(1, e)), ldexp(1, e)); /* powers of two are exact */
  ck_assert(!hone_format_is_integer(f) && hone_format_accumulator(f) == HONE_FORMAT_FP32);
}
END_TEST

START_TEST(overflow_follows_the_format)
{
  ck_assert_double_eq(hone_format_round(HONE_FORMAT_FP8E4M3, 464), 448);
  ck_assert_double_eq(hone_format_round(HONE_FORMAT_FP8E4M3, 1e300), 448);
  ck_assert_double_eq(hone_format_round(HONE_FORMAT_FP8E4M3, -INFINITY), -448);
  ck_assert_uint_eq(encode(HONE_FORMAT_FP8E4M3, NAN), 0x7f);
  ck_assert_double_eq(hone_format_round(HONE_FORMAT_FP8E5M2, 61439.9), 57344);
  ck_assert(isinf(hone_format_round(HONE_FORMAT_FP8E5M2, 61440)));
  ck_assert_double_eq(hone_format_round(HONE_FORMAT_FP16, 65519.9), 65504);
  ck_assert(isinf(hone_format_round(HONE_FORMAT_FP16, 65520)));
  ck_assert_uint_eq(encode(HONE_FORMAT_FP16, -1e300), 0xfc00);
  ck_assert_uint_eq(encode(HONE_FORMAT_BF16, 3.4e38), 0x7f80);
  ck_assert_uint_eq(encode(HONE_FORMAT_BF16, 3.3895313892515355e38), 0x7f7f);
  ck_assert_double_eq(hone_format_round(HONE_FORMAT_INT8, 127.5), 127);
  ck_assert_double_eq(hone_format_round(HONE_FORMAT_INT8, -1000), -128);
  ck_assert_double_eq(hone_format_round(HONE_FORMAT_INT8, NAN), 0);
  ck_assert(!signbit(hone_format_round(HONE_FORMAT_INT8, -0.25)));
  ck_assert_double_eq(hone_format_round(HONE_FORMAT_INT16, 32767.5), 32767);
  ck_assert_double_eq(hone_format_round(HONE_FORMAT_INT16, -40000), -32768);
  ck_assert_double_eq(hone_format_round(HONE_FORMAT_INT32, 1e10), 2147483647);
  ck_assert_double_eq(hone_format_round(HONE_FORMAT_INT32, -1e10), -2147483648.0);
}
END_TEST

START_TEST(known_encodings)
{
  ck_assert_uint_eq(encode(HONE_FORMAT_BF16, 1), 0x3f80);
  ck_assert_uint_eq(encode(HONE_FORMAT_FP16, -2), 0xc000);
  ck_assert_uint_eq(encode(HONE_FORMAT_FP8E4M3, 448), 0x7e);
  ck_assert_uint_eq(encode(HONE_FORMAT_FP8E4M3, ldexp(1, -9)), 0x01);
  ck_assert_uint_eq(encode(HONE_FORMAT_FP8E5M2, 57344), 0x7b);
  ck_assert_uint_eq(encode(HONE_FORMAT_FP8E5M2, ldexp(1, -16)), 0x01);
  ck_assert_uint_eq(encode(HONE_FORMAT_INT8, -1), 0xff);
  ck_assert_uint_eq(encode(HONE_FORMAT_INT32, -2), 0xfffffffe);
  ck_assert_uint_eq(encode(HONE_FORMAT_INT16, -2), 0xfffe);
  ck_assert_uint_eq(encode(HONE_FORMAT_LOG8, 2), 0x48);  /* (64 + 8) / 8 - 8 = 1 */
  ck_assert_uint_eq(encode(HONE_FORMAT_LOG8, -3), 0xcd); /* log2 3 = 1.585, so 12.7 eighths */
  ck_assert_uint_eq(encode(HONE_FORMAT_LOG16, 0.5), 0x3e00);
  /* One rounding, not two: through fp32 this would tie and go to 0x3f80. */
  ck_assert_uint_eq(encode(HONE_FORMAT_BF16, 1 + ldexp(1, -8) + ldexp(1, -40)), 0x3f81);
}
END_TEST

static double double_from(uint64_t bits)
{
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Doubles whose exponents lie around fp32's whole range. */
static double random_double(hone_rng *r)
{
  uint64_t exponent = (uint64_t)(1023 - 160 + hone_rng_below(r, 310));
  return double_from((hone_rng_next(r) & UINT64_C(0x800fffffffffffff)) | exponent << 52);
}

START_TEST(fp32_is_the_compilers_float)
{
  hone_rng r;
  hone_rng_init(&r, 7);
  for (int i = 0; i < 200000; i++) {
    double x = random_double(&r);
    float y = (float)x;
    uint32_t bits;
    memcpy(&bits, &y, sizeof bits);
    ck_assert_msg(encode(HONE_FORMAT_FP32, x) == bits, "x = %a: %08x, not %08x", x, encode(HONE_FORMAT_FP32, x), bits);
    double back = decode(HONE_FORMAT_FP32, bits);
    ck_assert(memcmp(&(double){(double)y}, &back, sizeof back) == 0);
  }
}
END_TEST

START_TEST(rounding_is_idempotent_and_monotone)
{
  hone_format f = small[_i];
  hone_rng r;
  hone_rng_init(&r, 11);
  for (int i = 0; i < 50000; i++) {
    double x = random_double(&r), y = hone_format_round(f, x);
    ck_assert_double_eq(hone_format_round(f, y), y);
    double z = x * (1 + hone_rng_unit(&r));
    double rz = hone_format_round(f, z);
    ck_assert(x < 0 ? rz <= y : rz >= y);
  }
}
END_TEST

START_TEST(names_and_sizes)
{
  hone_format f;
  ck_assert(hone_format_find("fp8", &f) && f == HONE_FORMAT_FP8E4M3);
  ck_assert(!hone_format_find("fp7", &f));
  for (int i = 0; i < HONE_FORMAT_COUNT; i++)
    ck_assert(hone_format_find(hone_format_name((hone_format)i), &f) && (int)f == i);
  ck_assert_int_eq(hone_format_bytes(HONE_FORMAT_BF16, 3), 6);
  ck_assert_int_eq(hone_format_bytes(HONE_FORMAT_INT32, INT64_MAX), INT64_MAX);
  ck_assert_int_eq(hone_format_accumulator(HONE_FORMAT_INT8), HONE_FORMAT_INT32);
  ck_assert_int_eq(hone_format_accumulator(HONE_FORMAT_FP8E4M3), HONE_FORMAT_FP32);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("format");
  TCase *t = tcase_create("format");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, decode_then_encode_is_the_identity, 0, NSMALL);
  tcase_add_loop_test(t, midpoints_go_to_even, 0, NLINEAR);
  tcase_add_loop_test(t, rounding_is_idempotent_and_monotone, 0, NSMALL);
  tcase_add_loop_test(t, log_codes_are_powers_of_two, 0, NLOGS);
  tcase_add_loop_test(t, log_rounding_is_nearest_in_the_log_domain, 0, NLOGS);
  tcase_add_loop_test(t, log_numbers_saturate_and_vanish, 0, NLOGS);
  tcase_add_test(t, overflow_follows_the_format);
  tcase_add_test(t, known_encodings);
  tcase_add_test(t, fp32_is_the_compilers_float);
  tcase_add_test(t, names_and_sizes);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
