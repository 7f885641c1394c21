/* The reference interpreter against sums done by hand in C. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "ir/reference.h"
#include "tests/unit/unit.h"

enum { B = 2, M = 3, N = 5, K = 7 };

static hone_operator op;
static hone_err err;
static double x[B * M * K], w[B * K * N], bias[N], y[B * M * N], product[B * M * N], summed[B * M * N];

static void load(hone_format f, const char *with_bias, const char *activation)
{
  hone_size sizes[] = {{"b", B}, {"m", M}, {"n", N}, {"k", K}};
  hone_format_choice format = {NULL, f};
  hone_operator_option options[] = {{"bias", with_bias}, {"activation", activation}};
  ck_assert_msg(hone_operator_load(HONE_SRCDIR "/spaces/matmul.yaml", sizes, 4, &format, 1, options, 2, &op, &err) == HONE_OK,
                "%s", err.message);
}

static void fill(double *v, int n, hone_format f, hone_rng *r)
{
  for (int i = 0; i < n; i++) v[i] = hone_format_round(f, f == HONE_FORMAT_INT8 ? (double)(hone_rng_below(r, 255) - 127) : hone_rng_unit(r) - 0.5);
}

static double *value_of(const char *name)
{
  return !strcmp(name, "X") ? x : !strcmp(name, "W") ? w : !strcmp(name, "B") ? bias : !strcmp(name, "Y") ? y : NULL;
}

static void arrays(double **value)
{
  int spare = 0;
  for (int t = 0; t < op.ntensors; t++) {
    value[t] = value_of(op.tensor[t].name);
    if (!value[t]) value[t] = spare++ ? summed : product;
  }
}

/* sum over k in order, rounded to fp32 at each addition, or exact int32 */
static double dot(int b, int m, int n, bool integer)
{
  double sum = 0;
  for (int k = 0; k < K; k++) {
    sum += x[(b * M + m) * K + k] * w[(b * K + k) * N + n];
    if (!integer) sum = (double)(float)sum;
  }
  return sum;
}

START_TEST(matmul_in_each_format)
{
  static const hone_format formats[] = {HONE_FORMAT_BF16, HONE_FORMAT_FP16, HONE_FORMAT_FP8E4M3, HONE_FORMAT_INT8};
  hone_rng r;
  hone_rng_init(&r, 1);
  for (int f = 0; f < 4; f++) {
    double *value[HONE_MAX_TENSORS];
    load(formats[f], "none", "none");
    fill(x, B * M * K, formats[f], &r);
    fill(w, B * K * N, formats[f], &r);
    arrays(value);
    ck_assert_msg(hone_reference_run(&op, value, &err) == HONE_OK, "%s", err.message);
    for (int i = 0; i < B * M * N; i++) {
      double want = hone_format_round(formats[f], dot(i / (M * N), i / N % M, i % N, formats[f] == HONE_FORMAT_INT8));
      ck_assert_msg(y[i] == want, "%s [%d]: %g, not %g", hone_format_name(formats[f]), i, y[i], want);
    }
  }
}
END_TEST

static double input(void *arg, int tensor, const int64_t *index)
{
  (void)arg;
  return value_of(op.tensor[tensor].name)[hone_reference_offset(&op, tensor, -1, index)];
}

START_TEST(epilogue_and_single_elements)
{
  hone_rng r;
  double *value[HONE_MAX_TENSORS];
  hone_reference *single;
  hone_rng_init(&r, 2);
  load(HONE_FORMAT_BF16, "row", "relu");
  fill(x, B * M * K, HONE_FORMAT_BF16, &r);
  fill(w, B * K * N, HONE_FORMAT_BF16, &r);
  fill(bias, N, HONE_FORMAT_BF16, &r);
  arrays(value);
  ck_assert(hone_reference_run(&op, value, &err) == HONE_OK);
  ck_assert(hone_reference_new(&op, input, NULL, &single, &err) == HONE_OK);
  int out = hone_operator_find_tensor(&op, "Y"), positive = 0;
  for (int i = B * M * N - 1; i >= 0; i--) {
    double sum = (double)(float)(dot(i / (M * N), i / N % M, i % N, false) + bias[i % N]);
    double want = hone_format_round(HONE_FORMAT_BF16, sum > 0 ? sum : 0);
    int64_t index[] = {i / (M * N), i / N % M, i % N};
    ck_assert_msg(y[i] == want, "[%d]: %g, not %g", i, y[i], want);
    ck_assert(hone_reference_get(single, out, index) == want);
    ck_assert(hone_reference_get(single, out, index) == want);
    positive += want > 0;
  }
  ck_assert(positive > 0 && positive < B * M * N);
  hone_reference_free(single);
}
END_TEST

START_TEST(integers_saturate)
{
  double *value[HONE_MAX_TENSORS];
  load(HONE_FORMAT_INT8, "none", "none");
  for (int i = 0; i < B * M * K; i++) x[i] = i < M * K ? 127 : -128;
  for (int i = 0; i < B * K * N; i++) w[i] = 127;
  arrays(value);
  ck_assert(hone_reference_run(&op, value, &err) == HONE_OK);
  ck_assert(y[0] == 127 && y[M * N] == -128);
}
END_TEST

START_TEST(layouts_round_trip)
{
  load(HONE_FORMAT_BF16, "none", "none");
  int t = hone_operator_find_tensor(&op, "W");
  uint16_t data[B * K * N];
  double back[B * K * N];
  hone_rng r;
  hone_rng_init(&r, 3);
  fill(w, B * K * N, HONE_FORMAT_BF16, &r);
  ck_assert_int_eq(op.tensor[t].nlayouts, 2);
  for (int layout = 0; layout < 2; layout++) {
    hone_reference_encode(&op, t, layout, w, data);
    hone_reference_decode(&op, t, layout, data, back);
    ck_assert(!memcmp(w, back, sizeof w));
    /* W[1,2,3]: 1*35 + 2*5 + 3 as given, 1*35 + 3*7 + 2 transposed */
    ck_assert(hone_format_decode(HONE_FORMAT_BF16, &data[layout ? 58 : 48]) == w[48]);
  }
}
END_TEST

int main(void)
{
  Suite *s = suite_create("reference");
  TCase *t = tcase_create("reference");
  tcase_add_test(t, matmul_in_each_format);
  tcase_add_test(t, epilogue_and_single_elements);
  tcase_add_test(t, integers_saturate);
  tcase_add_test(t, layouts_round_trip);
  suite_add_tcase(s, t);
  return unit_run(s);
}
