/* The default schedule on odd machines and shapes: it exists, legal, wherever a
 * random legal schedule does. Core counts beyond the extents, memories of a few
 * rows and shapes of 1 are the cases that matter here. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "tests/lib/case_count.h"
#include "tests/lib/cases.h"
#include "tests/unit/unit.h"

enum { CASES = 1500, SEED = 20261201 };

static int64_t between(hone_rng *r, int64_t low, int64_t high) { return low + hone_rng_below(r, high - low + 1); }

static void draw_machine(hone_rng *r, hone_machine *m)
{
  static const char *const names[] = {"teaching", "gemmini-default", "napier-public", "tpu-v1", "tpu-v4i", "trainium2-core"};
  hone_err err;
  char path[512];
  snprintf(path, sizeof path, "%s/data/machines/%s.yaml", HONE_SRCDIR, names[hone_rng_below(r, sizeof names / sizeof *names)]);
  ck_assert_msg(hone_machine_load(path, m, &err) == HONE_OK, "%s", err.message);
  for (int l = 1; l < m->nlevels; l++) {
    hone_memory *x = &m->memory[l];
    x->capacity_bytes = hone_max64(x->capacity_bytes >> between(r, 0, 14), 8 * x->align_bytes);
  }
  bool shared = false; /* by the cores of a machine with several: refused at load */
  for (int l = 1; l < m->nlevels; l++) shared |= !m->memory[l].per_core;
  if (!shared) m->axis[0].size = (int)(hone_rng_below(r, 2) ? between(r, 1, 130) : INT64_C(1) << between(r, 0, 12));
}

static void draw_operator(hone_rng *r, const hone_machine *m, hone_operator *op)
{
  hone_err err;
  hone_size sizes[] = {{"b", 1}, {"m", 1}, {"n", 1}, {"k", 1}};
  for (int i = 0; i < 4; i++)
    if (hone_rng_below(r, 3)) sizes[i].value = between(r, 1, i == 0 ? 5 : 70);
  const hone_engine *e = m->engine;
  while (e->kind != HONE_ENGINE_MATRIX) e++;
  hone_format_choice format = {NULL, e->matrix.rate[0].a};
  hone_operator_option options[] = {{"bias", hone_rng_below(r, 3) ? "none" : "row"},
                                    {"activation", hone_rng_below(r, 3) ? "none" : "relu"}};
  ck_assert_msg(hone_operator_load(HONE_SRCDIR "/spaces/matmul.yaml", sizes, 4, &format, 1, options, 2, op, &err) == HONE_OK,
                "%s", err.message);
}

START_TEST(a_legal_default_where_anything_is_legal)
{
  const char *one = getenv("HONE_CASE");
  const int cases = case_count(CASES);
  int legal = 0;
  for (int i = one ? atoi(one) : 0; i < (one ? atoi(one) + 1 : cases); i++) {
    hone_rng all, r;
    hone_machine m;
    hone_operator op;
    hone_params params;
    hone_schedule s, any;
    hone_err err;
    char why[512];
    hone_err_init(&err);
    hone_rng_init(&all, SEED);
    hone_rng_split(&all, (uint64_t)i, &r);
    draw_machine(&r, &m);
    draw_operator(&r, &m, &op);
    if (hone_params_new(&op, &m, &params, &err) != HONE_OK) continue;
    bool have = hone_schedule_default(&op, &m, &s, &err) == HONE_OK;
    if (have) ck_assert_msg(hone_schedule_check(&op, &m, &s, NULL) == HONE_REASON_NONE, "HONE_CASE=%d: illegal", i);
    bool can = case_draw_schedule(&r, &op, &m, &params, INT64_MAX, &any);
    legal += can;
    hone_err_print(&err, why, sizeof why);
    ck_assert_msg(have || !can, "HONE_CASE=%d: %s; but a legal schedule exists", i, why);
    hone_params_free(&params);
  }
  ck_assert_int_gt(one ? 1 : legal, one ? 0 : cases / 2);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("default schedule");
  TCase *t = tcase_create("random cases");
  printf("seed %d, %d cases\n", SEED, case_count(CASES));
  unit_timeout(t, 60);
  tcase_add_test(t, a_legal_default_where_anything_is_legal);
  suite_add_tcase(s, t);
  return unit_run(s);
}
