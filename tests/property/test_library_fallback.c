/* A family's fallback is legal, and costs something, at every shape; at a large one
 * hardly more than the default. */
#include "config.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "cost/model.h"
#include "library/library.h"
#include "unit/unit.h"

#define SEED 20260701
enum { SHAPES = 60 };

static const char *const machines[] = {"gemmini-default", "napier-public", "teaching", "tpu-v1", "tpu-v4i", "trainium2-core"};
static const char *const dtypes[] = {"bf16", "int8"};
static const char *const options[] = {
    "bias=none,activation=none,residual=none", "bias=row,activation=none,residual=none", "bias=none,activation=gelu,residual=none",
    "bias=none,activation=none,residual=add", "bias=row,activation=silu,residual=add"};

#define COUNT(x) ((int)(sizeof(x) / sizeof(x)[0]))
#define MATMUL HONE_SRCDIR "/spaces/matmul.yaml"

/* Ones, primes, powers of two and their neighbours, large and small. */
static int64_t draw_size(hone_rng *r)
{
  static const int64_t primes[] = {2, 3, 5, 7, 13, 127, 131, 251, 509, 1021, 8191, 131071};
  switch (hone_rng_below(r, 5)) {
  case 0: return 1;
  case 1: return primes[hone_rng_below(r, COUNT(primes))];
  case 2: return (INT64_C(1) << hone_rng_below(r, 17)) + hone_rng_below(r, 2);
  case 3: return 1 + hone_rng_below(r, 300);
  default: return 1 + hone_rng_below(r, 200000);
  }
}

/* Beyond this many points no schedule is legal: padded to arrays they leave 64 bits. */
#define MOST_POINTS 1e14

static void draw_shape(uint64_t number, hone_spec *s)
{
  hone_rng base, r;
  hone_rng_init(&base, SEED);
  hone_rng_split(&base, number, &r);
  for (double points = INFINITY; points > MOST_POINTS;) {
    points = 1;
    for (int i = 0; i < s->nsizes; i++) {
      s->size[i].value = s->size[i].to = i == 0 ? 1 + hone_rng_below(&r, 9) : draw_size(&r);
      points *= (double)s->size[i].value;
    }
  }
}

typedef struct {
  hone_machine m;
  hone_spec spec;
  hone_operator home, there; /* where the text is written, and where it is asked for */
  hone_library_family family;
} bench;

static int64_t cycles_of(const bench *b, const hone_operator *op, const hone_schedule *s)
{
  hone_err err;
  hone_model *model;
  hone_cost cost;
  ck_assert(hone_model_new(op, &b->m, &model, &err) == HONE_OK);
  ck_assert(hone_model_evaluate(model, s, &cost) == HONE_REASON_NONE);
  hone_model_free(model);
  return cost.cycles;
}

/* At a shape that fills every core. */
static void compare_default(bench *b, const hone_schedule *s, const char *text)
{
  hone_spec asked = b->spec;
  hone_schedule fitted = *s, by_default;
  hone_err err;
  for (int i = 1; i < asked.nsizes; i++) asked.size[i].value = asked.size[i].to = 6000;
  ck_assert(hone_operator_load_spec(MATMUL, &asked, &b->there, &err) == HONE_OK);
  hone_schedule_fit(&b->there, &b->m, &fitted);
  ck_assert(hone_schedule_default(&b->there, &b->m, &by_default, &err) == HONE_OK);
  double ratio = (double)cycles_of(b, &b->there, &fitted) / (double)cycles_of(b, &b->there, &by_default);
  ck_assert_msg(ratio < 3, "%s on %s: %.2f times the default", text, b->m.name, ratio);
}

static void try_shape(bench *b, const hone_schedule *s, uint64_t number)
{
  hone_spec asked = b->spec;
  hone_schedule fitted = *s;
  hone_err err;
  hone_why why = {0};
  hone_model *model = NULL;
  hone_cost cost;
  hone_text text = {0};
  draw_shape(number, &asked);
  hone_spec_print(&asked, &text);
  ck_assert_msg(hone_operator_load_spec(MATMUL, &asked, &b->there, &err) == HONE_OK, "%s", err.message);
  hone_schedule_fit(&b->there, &b->m, &fitted);
  ck_assert_msg(hone_schedule_check(&b->there, &b->m, &fitted, &why) == HONE_REASON_NONE, "%s on %s: %s", text.data, b->m.name, why.text);
  ck_assert(hone_model_new(&b->there, &b->m, &model, &err) == HONE_OK);
  ck_assert_msg(hone_model_evaluate(model, &fitted, &cost) == HONE_REASON_NONE, "%s on %s", text.data, b->m.name);
  ck_assert(cost.cycles > 0);
  hone_model_free(model);
  hone_text_fini(&text);
}

/* Parsed where the family says, the text is canonical, and every loop that a
 * larger shape has is there already: twice the shape changes nothing. */
static void check_text(bench *b, hone_schedule *s)
{
  hone_spec home = b->spec;
  hone_params p;
  hone_err err;
  hone_text t = {0};
  for (int i = 0; i < home.nsizes; i++) home.size[i].value = home.size[i].to = b->family.fallback_size[i];
  ck_assert(hone_operator_load_spec(MATMUL, &home, &b->home, &err) == HONE_OK);
  ck_assert(hone_params_new(&b->home, &b->m, &p, &err) == HONE_OK);
  ck_assert_msg(hone_schedule_parse(&b->home, &b->m, &p, b->family.fallback, s, &err) == HONE_OK, "%s", err.message);
  hone_schedule_print(&b->home, &b->m, &p, s, &t);
  ck_assert_str_eq(t.data, b->family.fallback);
  hone_params_free(&p);
  hone_text_clear(&t);
  for (int i = 0; i < home.nsizes; i++) home.size[i].value = home.size[i].to *= 2;
  ck_assert(hone_operator_load_spec(MATMUL, &home, &b->there, &err) == HONE_OK);
  ck_assert(hone_params_new(&b->there, &b->m, &p, &err) == HONE_OK);
  hone_schedule twice = *s;
  hone_schedule_fit(&b->there, &b->m, &twice);
  hone_schedule_print(&b->there, &b->m, &p, &twice, &t);
  ck_assert_str_eq(t.data, b->family.fallback);
  hone_params_free(&p);
  hone_text_fini(&t);
}

START_TEST(fits_every_shape)
{
  bench *b = calloc(1, sizeof *b);
  hone_arena *a = hone_arena_new();
  hone_err err;
  char path[512], text[200];
  int found = 0;
  ck_assert_ptr_nonnull(b);
  snprintf(path, sizeof path, "%s/data/machines/%s.yaml", HONE_SRCDIR, machines[_i]);
  ck_assert_msg(hone_machine_load(path, &b->m, &err) == HONE_OK, "%s", err.message);
  for (int d = 0; d < COUNT(dtypes); d++)
    for (int o = 0; o < COUNT(options); o++) {
      hone_schedule s, probe;
      snprintf(text, sizeof text, "matmul --size b=1,m=512,n=4096,k=4096 --dtype %s --option %s", dtypes[d], options[o]);
      ck_assert(hone_spec_parse(text, &b->spec, &err) == HONE_OK);
      hone_library_make_fallback(a, MATMUL, &b->spec, &b->m, &b->family);
      if (!b->family.fallback) { /* only where there is no default either */
        ck_assert(b->family.fallback_reason[0]);
        ck_assert(hone_operator_load_spec(MATMUL, &b->spec, &b->home, &err) == HONE_OK);
        ck_assert_msg(hone_schedule_default(&b->home, &b->m, &probe, NULL) != HONE_OK, "%s on %s: %s", text, b->m.name,
                      b->family.fallback_reason);
        continue;
      }
      ck_assert_str_eq(b->family.fallback_reason, "");
      check_text(b, &s);
      compare_default(b, &s, text);
      for (uint64_t i = 0; i < SHAPES; i++) try_shape(b, &s, i);
      found++;
    }
  ck_assert_int_gt(found, 0);
  hone_arena_free(a);
  free(b);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("library_fallback");
  TCase *c = tcase_create("all");
  suite_add_tcase(s, c);
  tcase_add_loop_test(c, fits_every_shape, 0, COUNT(machines));
  return unit_run(s);
}
