/* Number formats: sizes, rounding, bytes. Round to nearest, ties to even;
 * floats overflow to infinity (fp8e4m3, which has none, saturates to 448: OCP
 * OFP8 1.0); integers saturate; log numbers round to the nearest logarithm,
 * saturate, and are zero below their range (format.def). Pure functions, with
 * the same results on every host. */
#ifndef HONE_IR_FORMAT_H
#define HONE_IR_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
#define HONE_FORMAT(id, name, bits, kind, exponent, mantissa, acc) HONE_FORMAT_##id,
#include "ir/format.def"
#undef HONE_FORMAT
  HONE_FORMAT_COUNT
} hone_format;

const char *hone_format_name(hone_format f);
bool hone_format_find(const char *name, hone_format *out); /* "fp8" = fp8e4m3 */
int hone_format_bits(hone_format f);
int64_t hone_format_bytes(hone_format f, int64_t elements); /* packed, rounded up to a byte */
bool hone_format_is_integer(hone_format f);
hone_format hone_format_accumulator(hone_format f);

double hone_format_round(hone_format f, double x);           /* nearest representable value */
void hone_format_encode(hone_format f, double x, void *out); /* little-endian, bits/8 bytes */
double hone_format_decode(hone_format f, const void *in);

#endif
