/* The operators of spaces/ against the mathematics they stand for: numbers by direct
 * formulas in double precision, points and compulsory bytes by closed ones. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "ir/reference.h"
#include "tests/unit/unit.h"

static hone_operator op;
static hone_err err;
static double *value[HONE_MAX_TENSORS];

static hone_status load(const char *text) /* "softmax --size tokens=3,width=5 --dtype fp32" */
{
  hone_spec spec;
  hone_err_init(&err);
  hone_status s = hone_spec_parse(text, &spec, &err);
  hone_text path = {0};
  hone_text_add(&path, HONE_SRCDIR "/spaces/%s.yaml", spec.operator_name);
  if (s == HONE_OK) s = hone_operator_load_spec(path.data, &spec, &op, &err);
  hone_text_fini(&path);
  return s;
}

/* Loads, fills the inputs with reals in [-1, 1) and runs the reference. */
static void run(const char *text)
{
  hone_rng r;
  ck_assert_msg(load(text) == HONE_OK, "%s: %s", text, err.message);
  hone_rng_init(&r, 5);
  for (int t = 0; t < op.ntensors; t++) {
    int64_t n = hone_tensor_elements(&op, t);
    free(value[t]);
    value[t] = hone_heap_alloc((size_t)n, sizeof *value[t]);
    for (int64_t i = 0; i < n; i++) value[t][i] = hone_format_round(op.tensor[t].format, 2 * hone_rng_unit(&r) - 1);
  }
  ck_assert_msg(hone_reference_run(&op, value, &err) == HONE_OK, "%s: %s", text, err.message);
}

static void teardown(void)
{
  for (int t = 0; t < HONE_MAX_TENSORS; t++) {
    free(value[t]);
    value[t] = NULL;
  }
}

static double at(const char *name, int64_t i, int64_t j, int64_t k, int64_t l)
{
  int64_t index[HONE_MAX_RANK] = {i, j, k, l, 0, 0};
  int t = hone_operator_find_tensor(&op, name);
  ck_assert_int_ge(t, 0);
  return value[t][hone_reference_offset(&op, t, -1, index)];
}

static double at5(const char *name, int64_t i, int64_t j, int64_t k, int64_t l, int64_t m)
{
  int64_t index[HONE_MAX_RANK] = {i, j, k, l, m, 0};
  int t = hone_operator_find_tensor(&op, name);
  return value[t][hone_reference_offset(&op, t, -1, index)];
}

/* fp32 tensors, sums of at most a few hundred terms below 1: 1e-5 is some hundred roundings. */
static void near(double have, double want)
{
  ck_assert_msg(fabs(have - want) <= 1e-5 * fmax(1, fabs(want)), "%.9g, should be %.9g", have, want);
}

/* ---- numbers ------------------------------------------------------------------- */

enum { T = 5, W = 37 };

START_TEST(softmax)
{
  run("softmax --size tokens=5,width=37 --dtype fp32");
  for (int t = 0; t < T; t++) {
    double sum = 0, all = 0;
    for (int w = 0; w < W; w++) sum += exp(at("X", t, w, 0, 0));
    for (int w = 0; w < W; w++) {
      near(at("Y", t, w, 0, 0), exp(at("X", t, w, 0, 0)) / sum);
      all += at("Y", t, w, 0, 0);
    }
    near(all, 1);
  }
}
END_TEST

START_TEST(rms_norm)
{
  run("rms_norm --size tokens=5,heads=2,width=37 --dtype fp32");
  for (int t = 0; t < T; t++)
    for (int h = 0; h < 2; h++) {
      double squares = 0;
      for (int w = 0; w < W; w++) squares += at("X", t, h, w, 0) * at("X", t, h, w, 0);
      for (int w = 0; w < W; w++) near(at("Y", t, h, w, 0), at("X", t, h, w, 0) / sqrt(squares / W + 1e-6) * at("G", w, 0, 0, 0));
    }
}
END_TEST

START_TEST(layer_norm)
{
  run("layer_norm --size tokens=5,width=37 --dtype fp32");
  for (int t = 0; t < T; t++) {
    double mean = 0, variance = 0;
    for (int w = 0; w < W; w++) mean += at("X", t, w, 0, 0) / W;
    for (int w = 0; w < W; w++) variance += pow(at("X", t, w, 0, 0) - mean, 2) / W;
    for (int w = 0; w < W; w++)
      near(at("Y", t, w, 0, 0), (at("X", t, w, 0, 0) - mean) / sqrt(variance + 1e-5) * at("G", w, 0, 0, 0) + at("B", w, 0, 0, 0));
  }
}
END_TEST

START_TEST(rotary)
{
  run("rotary --size tokens=5,heads=3,head_dim=8 --dtype fp32");
  for (int t = 0; t < T; t++)
    for (int h = 0; h < 3; h++)
      for (int p = 0; p < 4; p++) {
        double x1 = at("X1", t, h, p, 0), x2 = at("X2", t, h, p, 0), c = at("C", t, p, 0, 0), s = at("S", t, p, 0, 0);
        near(at("Y1", t, h, p, 0), x1 * c - x2 * s);
        near(at("Y2", t, h, p, 0), x2 * c + x1 * s);
      }
}
END_TEST

START_TEST(elementwise)
{
  run("softcap --size tokens=5,width=37,cap=30 --dtype fp32");
  for (int w = 0; w < W; w++) near(at("Y", 1, w, 0, 0), 30 * tanh(at("X", 1, w, 0, 0) / 30));
  run("embedding_scale --size tokens=5,width=37 --dtype fp32");
  for (int w = 0; w < W; w++) near(at("Y", 2, w, 0, 0), sqrt(37) * at("X", 2, w, 0, 0));
  run("rescale --size tokens=5,width=37 --dtype fp32 --format Y=int8");
  for (int w = 0; w < W; w++) ck_assert(at("Y", 4, w, 0, 0) == nearbyint(at("X", 4, w, 0, 0) * at("S", 4, 0, 0, 0)));
  run("gated_activation --size tokens=5,width=37 --dtype fp32 --option activation=silu");
  for (int w = 0; w < W; w++) {
    double g = at("G", 3, w, 0, 0);
    near(at("Y", 3, w, 0, 0), g / (1 + exp(-g)) * at("U", 3, w, 0, 0));
  }
  run("clamped_gate --size tokens=5,width=37 --dtype fp32");
  for (int w = 0; w < W; w++) {
    double g = fmin(at("G", 3, w, 0, 0), 7), u = fmin(fmax(at("U", 3, w, 0, 0), -7), 7);
    near(at("Y", 3, w, 0, 0), (u + 1) * g / (1 + exp(-1.702 * g)));
  }
  run("weighted_rows --size tokens=5,top_k=3,width=37,rows=9 --dtype fp32"); /* X is the view of what I names */
  for (int w = 0; w < W; w++) {
    double y = 0;
    for (int k = 0; k < 3; k++) y += at("X", 4, k, w, 0) * at("P", 4, k, 0, 0);
    near(at("Y", 4, w, 0, 0), y);
  }
  run("residual_add --size tokens=5,width=37 --dtype fp32");
  for (int w = 0; w < W; w++) near(at("Y", 0, w, 0, 0), at("X", 0, w, 0, 0) + at("R", 0, w, 0, 0));
  run("transpose --size b=2,rows=5,columns=7 --dtype fp32");
  for (int r = 0; r < 5; r++) ck_assert(at("Y", 1, 6, r, 0) == at("X", 1, r, 6, 0));
  run("cache_append --size tokens=5,heads=2,head_dim=7 --dtype fp32");
  for (int d = 0; d < 7; d++) ck_assert(at("K", 4, 1, d, 0) == at("X", 4, 1, d, 0));
}
END_TEST

static double squashed(double x, double cap) { return cap > 0 ? cap * tanh(x / cap) : x; }

static const struct {
  double cap;
  bool sinks;
  const char *text;
} variants[] = {
    {0, false, "attention --size batch=2,heads=6,kv_heads=2,queries=3,keys=13,head_dim=4,value_dim=5 --dtype fp32"},
    {2, false, "attention --size batch=2,heads=6,kv_heads=2,queries=3,keys=13,head_dim=4,value_dim=5,cap=2 --dtype fp32 --option softcap=yes"},
    {0, true, "attention --size batch=2,heads=6,kv_heads=2,queries=3,keys=13,head_dim=4,value_dim=5 --dtype fp32 --option sinks=yes"},
    {2, true, "attention --size batch=2,heads=6,kv_heads=2,queries=3,keys=13,head_dim=4,value_dim=5,cap=2 --dtype fp32 "
              "--option softcap=yes,sinks=yes"},
};

START_TEST(attention)
{
  double cap = variants[_i].cap, score[13];
  run(variants[_i].text);
  for (int i = 0; i < 2 * 3 * 2 * 3; i++) {
    int b = i / 18, q = i / 6 % 3, g = i / 3 % 2, r = i % 3;
    double sum = variants[_i].sinks ? exp(at("Z", g, r, 0, 0)) : 0;
    for (int s = 0; s < 13; s++) {
      score[s] = 0;
      for (int d = 0; d < 4; d++) score[s] += at5("Q", b, q, g, r, d) * at("K", b, s, g, d) / sqrt(4);
      score[s] = exp(squashed(score[s], cap));
      sum += score[s];
    }
    for (int e = 0; e < 5; e++) {
      double y = 0;
      for (int s = 0; s < 13; s++) y += score[s] / sum * at("V", b, s, g, e);
      near(at5("Y", b, q, g, r, e), y);
    }
  }
}
END_TEST

/* One key of latent + rope for all heads; its first elements are the value. */
START_TEST(attention_latent)
{
  double score[11];
  run("attention_latent --size batch=2,heads=3,keys=11,latent=6,rope=2,nope=3 --dtype fp32");
  for (int i = 0; i < 2 * 3; i++) {
    double sum = 0;
    for (int s = 0; s < 11; s++) {
      score[s] = 0;
      for (int d = 0; d < 8; d++) score[s] += at("Q", i / 3, 0, i % 3, d) * at("K", i / 3, s, d, 0) / sqrt(5);
      score[s] = exp(score[s]);
      sum += score[s];
    }
    for (int e = 0; e < 6; e++) {
      double y = 0;
      for (int s = 0; s < 11; s++) y += score[s] / sum * at("K", i / 3, s, e, 0);
      near(at("Y", i / 3, 0, i % 3, e), y);
    }
  }
}
END_TEST

START_TEST(products)
{
  run("gated_mlp --size m=3,width=4,hidden=5 --dtype fp32 --option activation=silu");
  for (int m = 0; m < 3; m++)
    for (int n = 0; n < 4; n++) {
      double y = 0;
      for (int h = 0; h < 5; h++) {
        double g = 0, u = 0;
        for (int w = 0; w < 4; w++) {
          g += at("X", m, w, 0, 0) * at("WG", w, h, 0, 0);
          u += at("X", m, w, 0, 0) * at("WU", w, h, 0, 0);
        }
        y += g / (1 + exp(-g)) * u * at("WD", h, n, 0, 0);
      }
      near(at("Y", m, n, 0, 0), y);
    }
  run("qkv --size m=3,q=6,kv=2,k=5 --dtype fp32 --option bias=row");
  for (int m = 0; m < 3; m++) {
    double q = at("BQ", 5, 0, 0, 0), v = at("BV", 1, 0, 0, 0);
    for (int k = 0; k < 5; k++) {
      q += at("X", m, k, 0, 0) * at("WQ", k, 5, 0, 0);
      v += at("X", m, k, 0, 0) * at("WV", k, 1, 0, 0);
    }
    near(at("Q", m, 5, 0, 0), q);
    near(at("V", m, 1, 0, 0), v);
  }
  run("norm_matmul --size m=3,n=4,k=5 --dtype fp32");
  for (int m = 0; m < 3; m++) {
    double squares = 0, y = 0;
    for (int k = 0; k < 5; k++) squares += at("X", m, k, 0, 0) * at("X", m, k, 0, 0);
    for (int k = 0; k < 5; k++) y += at("X", m, k, 0, 0) / sqrt(squares / 5 + 1e-6) * at("G", k, 0, 0, 0) * at("W", k, 2, 0, 0);
    near(at("Y", m, 2, 0, 0), y);
  }
}
END_TEST

/* ---- points and bytes ------------------------------------------------------------ */

static void points(const char *stage, int64_t want)
{
  int64_t have = -1;
  for (int s = 0; s < op.nstages; s++)
    if (strcmp(op.stage[s].name, stage) == 0) ck_assert(hone_stage_useful(&op, s, &have));
  ck_assert_msg(have == want, "%s: %lld points, not %lld", stage, (long long)have, (long long)want);
}

static void bytes(const char *tensor, int64_t want)
{
  int64_t have = -1;
  int t = hone_operator_find_tensor(&op, tensor);
  ck_assert(t >= 0 && hone_tensor_compulsory(&op, t, &have));
  ck_assert_msg(have == want, "%s: %lld bytes, not %lld", tensor, (long long)have, (long long)want);
}

static const int64_t lengths[] = {1, 2, 7, 64, 97, 4096};

START_TEST(vectors_have_exact_work_and_bytes)
{
  int64_t t = lengths[_i], w = lengths[(_i + 3) % 6];
  hone_text s = {0};
  hone_text_add(&s, "rms_norm --size tokens=%lld,heads=3,width=%lld --dtype bf16 --format G=fp32", (long long)t, (long long)w);
  ck_assert(load(s.data) == HONE_OK);
  points("squares", 3 * t * w), points("root", 3 * t), points("gain", 3 * t * w);
  bytes("X", 6 * t * w), bytes("G", 4 * w), bytes("Y", 6 * t * w), bytes("N", 0);
  hone_text_clear(&s);
  hone_text_add(&s, "softmax --size tokens=%lld,width=%lld --dtype fp32", (long long)t, (long long)w);
  ck_assert(load(s.data) == HONE_OK);
  points("largest", t * w), points("exponential", t * w), points("sum", t * w), points("inverse", t), points("quotient", t * w);
  bytes("X", 4 * t * w), bytes("Y", 4 * t * w);
  hone_text_clear(&s);
  hone_text_add(&s, "rotary --size tokens=%lld,heads=5,head_dim=%lld --dtype bf16", (long long)t, (long long)(2 * w));
  ck_assert(load(s.data) == HONE_OK);
  points("a", 5 * t * w), points("second", 5 * t * w);
  bytes("X1", 10 * t * w), bytes("C", 2 * t * w), bytes("Y2", 10 * t * w);
  hone_text_clear(&s);
  hone_text_add(&s, "embedding --size tokens=%lld,width=%lld,vocabulary=128256 --dtype bf16", (long long)t, (long long)w);
  ck_assert(load(s.data) == HONE_OK);
  points("lookup", t * w);
  bytes("E", 2 * t * w), bytes("Y", 2 * t * w); /* a row for every token */
  hone_text_fini(&s);
}
END_TEST

static const int64_t ratios[] = {1, 3, 5, 7, 8};

START_TEST(attention_has_exact_work_and_bytes)
{
  int64_t r = ratios[_i], b = 2, g = 3, s = 4093, d = 64, e = 48;
  hone_text t = {0};
  hone_text_add(&t, "attention --size batch=2,heads=%lld,kv_heads=3,keys=4093,head_dim=64,value_dim=48 --dtype bf16 --format K=fp8e4m3",
                (long long)(g * r));
  ck_assert_msg(load(t.data) == HONE_OK, "%s", err.message);
  points("scores", b * g * r * s * d), points("largest", b * g * r * s), points("weights", b * g * r * s);
  points("values", b * g * r * s * e), points("quotient", b * g * r * e);
  bytes("Q", 2 * b * g * r * d), bytes("K", b * s * g * d), bytes("V", 2 * b * s * g * e), bytes("Y", 2 * b * g * r * e);
  bytes("L", 0), bytes("P", 0);
  hone_text_clear(&t);
  hone_text_add(&t, "attention_paged --size batch=2,heads=%lld,kv_heads=3,keys=4096,page=16,pages=9999,head_dim=64,value_dim=48 --dtype bf16",
                (long long)(g * r));
  ck_assert_msg(load(t.data) == HONE_OK, "%s", err.message);
  points("scores", b * g * r * 4096 * d);
  bytes("K", 2 * b * 4096 * g * d); /* of the 9999 pages */
  hone_text_clear(&t);
  hone_text_add(&t, "attention_latent --size batch=2,heads=%lld,keys=4093,latent=512,rope=64,nope=128 --dtype bf16", (long long)r);
  ck_assert_msg(load(t.data) == HONE_OK, "%s", err.message);
  points("scores", b * r * s * 576), points("values", b * r * s * 512);
  bytes("K", 2 * b * s * 576); /* its values once more: not counted */
  hone_text_fini(&t);
}
END_TEST

START_TEST(what_does_not_divide_is_refused)
{
  static const char *const bad[] = {
      "attention --size batch=1,heads=7,kv_heads=2,keys=8,head_dim=8,value_dim=8 --dtype bf16",
      "attention_paged --size batch=1,heads=4,kv_heads=2,keys=40,page=16,pages=9,head_dim=8,value_dim=8 --dtype bf16",
      "rotary --size tokens=8,heads=2,head_dim=7 --dtype bf16"};
  ck_assert_int_eq(load(bad[_i]), HONE_INPUT);
  ck_assert_str_eq(err.code, "operator.expression");
  ck_assert_ptr_nonnull(strstr(err.message, "does not divide evenly"));
}
END_TEST

int main(void)
{
  Suite *s = suite_create("operators");
  TCase *t = tcase_create("all");
  tcase_add_checked_fixture(t, NULL, teardown);
  tcase_add_test(t, softmax);
  tcase_add_test(t, rms_norm);
  tcase_add_test(t, layer_norm);
  tcase_add_test(t, rotary);
  tcase_add_test(t, elementwise);
  tcase_add_loop_test(t, attention, 0, 4);
  tcase_add_test(t, attention_latent);
  tcase_add_test(t, products);
  tcase_add_loop_test(t, vectors_have_exact_work_and_bytes, 0, 6);
  tcase_add_loop_test(t, attention_has_exact_work_and_bytes, 0, 5);
  tcase_add_loop_test(t, what_does_not_divide_is_refused, 0, 3);
  suite_add_tcase(s, t);
  return unit_run(s);
}
