/* Parameters, normal form, text, legality and the default schedule. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "ir/events.h"
#include "ir/schedule.h"

static hone_operator op;
static hone_machine m;
static hone_params params;
static hone_err err;

static void load_with(const char *machine, int64_t b, int64_t mm, int64_t n, int64_t k, hone_format f,
                      const hone_operator_option *options, int noptions)
{
  hone_size sizes[] = {{"b", b}, {"m", mm}, {"n", n}, {"k", k}};
  hone_format_choice formats[] = {{NULL, f}};
  hone_text path = {0};
  hone_text_add(&path, "%s/data/machines/%s.yaml", HONE_SRCDIR, machine);
  ck_assert_msg(hone_machine_load(path.data, &m, &err) == HONE_OK, "%s", err.message);
  hone_text_fini(&path);
  ck_assert_msg(hone_operator_load(HONE_SRCDIR "/spaces/matmul.yaml", sizes, 4, formats, 1, options, noptions, &op, &err) ==
                    HONE_OK, "%s", err.message);
}

static void load(const char *machine, int64_t b, int64_t mm, int64_t n, int64_t k, hone_format f)
{
  load_with(machine, b, mm, n, k, f, NULL, 0);
}

static void make_params(void)
{
  ck_assert_msg(hone_params_new(&op, &m, &params, &err) == HONE_OK, "%s", err.message);
}

static void set(hone_schedule *s, const char *name, int64_t v)
{
  int i = hone_params_find(&params, name);
  ck_assert_msg(i >= 0, "no parameter %s", name);
  hone_param_set(&params.param[i], s, v);
}

static void default_schedule(hone_schedule *s)
{
  ck_assert_msg(hone_schedule_default(&op, &m, s, &err) == HONE_OK, "%s", err.message);
}

START_TEST(maps_need_an_engine_of_their_format)
{
  static const struct {
    const char *machine;
    hone_format format;
    bool fits;
  } rows[] = {{"trainium2-core", HONE_FORMAT_BF16, true}, {"trainium2-core", HONE_FORMAT_LOG8, false}, {"tpu-v1", HONE_FORMAT_INT8, true},
              {"tpu-v1", HONE_FORMAT_BF16, false}, {"napier-public", HONE_FORMAT_LOG8, true}, {"teaching", HONE_FORMAT_LOG8, true}};
  hone_size sizes[] = {{"tokens", 8}, {"width", 64}};
  hone_format_choice format = {NULL, rows[_i].format};
  hone_text path = {0};
  hone_text_add(&path, "%s/data/machines/%s.yaml", HONE_SRCDIR, rows[_i].machine);
  ck_assert_msg(hone_machine_load(path.data, &m, &err) == HONE_OK, "%s", err.message);
  hone_text_fini(&path);
  ck_assert(hone_operator_load(HONE_SRCDIR "/spaces/residual_add.yaml", sizes, 2, &format, 1, NULL, 0, &op, &err) == HONE_OK);
  hone_status st = hone_params_new(&op, &m, &params, &err);
  ck_assert_int_eq(st, rows[_i].fits ? HONE_OK : HONE_INFEASIBLE);
  if (st == HONE_OK)
    hone_params_free(&params);
  else
    ck_assert_str_eq(err.code, "schedule.format");
}
END_TEST

START_TEST(single_valued_parameters_are_left_out)
{
  load("trainium2-core", 1, 1, 4096, 4096, HONE_FORMAT_BF16);
  make_params();
  ck_assert_int_eq(hone_params_find(&params, "tile.1.m"), -1);
  ck_assert_int_eq(hone_params_find(&params, "tile.1.b"), -1);
  ck_assert_int_ge(hone_params_find(&params, "tile.1.n"), 0);
  ck_assert_int_ge(hone_params_find(&params, "order.1"), 0);
  ck_assert_int_eq(hone_params_find(&params, "split.core.n"), -1); /* one core */
  for (int i = 1; i < params.n; i++) ck_assert_int_le(params.param[i - 1].kind, params.param[i].kind);
  hone_params_free(&params);
}
END_TEST

START_TEST(missing_format_says_what_there_is)
{
  load("gemmini-default", 1, 8, 8, 8, HONE_FORMAT_BF16);
  ck_assert_int_eq(hone_params_new(&op, &m, &params, &err), HONE_INFEASIBLE);
  ck_assert_str_eq(err.code, "schedule.format");
  ck_assert_ptr_nonnull(strstr(err.message, "bf16 x bf16"));
  ck_assert_ptr_nonnull(strstr(err.hint, "int8 x int8"));
}
END_TEST

static const struct {
  const char *machine;
  int64_t b, m, n, k;
  hone_format format;
} shapes[] = {
    {"trainium2-core", 1, 2048, 4096, 4096, HONE_FORMAT_BF16}, {"trainium2-core", 1, 8, 14336, 4096, HONE_FORMAT_BF16},
    {"trainium2-core", 1, 1, 4096, 4096, HONE_FORMAT_BF16},    {"trainium2-core", 1, 2048, 4096, 14336, HONE_FORMAT_BF16},
    {"trainium2-core", 7, 229, 31, 1, HONE_FORMAT_BF16},       {"gemmini-default", 1, 229, 229, 229, HONE_FORMAT_INT8},
    {"gemmini-default", 1, 1, 1, 1, HONE_FORMAT_INT8},         {"teaching", 1, 64, 64, 64, HONE_FORMAT_BF16},
    {"napier-public", 1, 2048, 4096, 4096, HONE_FORMAT_BF16},  {"tpu-v4i", 1, 2048, 4096, 14336, HONE_FORMAT_BF16},
    {"tpu-v1", 1, 2048, 4096, 4096, HONE_FORMAT_INT8},         {"tpu-v1", 1, 8, 128256, 4096, HONE_FORMAT_INT8},
    {"teaching", 3, 5, 7, 11, HONE_FORMAT_INT8},               {"teaching", 1, 1, 1, 4093, HONE_FORMAT_FP8E4M3},
};

START_TEST(default_is_legal_and_its_text_is_canonical)
{
  hone_schedule s, back;
  load(shapes[_i].machine, shapes[_i].b, shapes[_i].m, shapes[_i].n, shapes[_i].k, shapes[_i].format);
  make_params();
  default_schedule(&s);
  hone_why why;
  ck_assert_msg(hone_schedule_check(&op, &m, &s, &why) == HONE_REASON_NONE, "%s", why.text);
  hone_text a = {0}, b = {0};
  hone_schedule_print(&op, &m, &params, &s, &a);
  ck_assert_msg(hone_schedule_parse(&op, &m, &params, a.data ? a.data : "", &back, &err) == HONE_OK, "%s", err.message);
  hone_schedule_print(&op, &m, &params, &back, &b);
  ck_assert_str_eq(a.data ? a.data : "", b.data ? b.data : "");
  ck_assert_mem_eq(&s, &back, sizeof s);
  hone_text_fini(&a);
  hone_text_fini(&b);
  hone_params_free(&params);
}
END_TEST

START_TEST(default_fuses_an_epilogue_when_the_result_can_stay)
{
  hone_operator_option options[] = {{"bias", "row"}, {"activation", "gelu"}};
  hone_schedule s;
  load_with("trainium2-core", 1, 2048, 4096, 4096, HONE_FORMAT_BF16, options, 2);
  default_schedule(&s);
  for (int t = 0; t < op.ntensors; t++)
    if (op.tensor[t].role == HONE_ROLE_INTERMEDIATE) ck_assert_int_gt(s.home[t], 0);
}
END_TEST

START_TEST(normal_form_keeps_the_meaning)
{
  hone_schedule s, t;
  load("trainium2-core", 1, 512, 512, 512, HONE_FORMAT_BF16);
  make_params();
  default_schedule(&s);
  set(&s, "tile.1.m", 128);
  set(&s, "tile.1.k", 512);
  set(&s, "tile.1.n", 256);
  set(&s, "tile.2.m", 128);
  set(&s, "tile.2.n", 128);
  set(&s, "tile.2.k", 128);
  int k = hone_operator_find_dim(&op, "k"), mm = hone_operator_find_dim(&op, "m");
  int n = hone_operator_find_dim(&op, "n"), b = hone_operator_find_dim(&op, "b");
  uint8_t order[] = {(uint8_t)k, (uint8_t)m.nlevels, 0, 0};
  order[1] = (uint8_t)mm;
  order[2] = (uint8_t)b;
  order[3] = (uint8_t)n;
  memcpy(s.order[1], order, sizeof order);
  int w = hone_operator_find_tensor(&op, "W");
  s.at[w][1] = 3; /* inside k (one trip), m, b (one trip): after m only */
  t = s;
  hone_schedule_normalize(&op, &m, &t);
  ck_assert_int_eq(t.order[1][0], mm);
  ck_assert_int_eq(t.order[1][1], n);
  ck_assert_int_eq(t.at[w][1], 1);
  hone_schedule u = t;
  hone_schedule_normalize(&op, &m, &u);
  ck_assert_mem_eq(&t, &u, sizeof t);
  hone_params_free(&params);
}
END_TEST

START_TEST(illegal_schedules_say_why)
{
  hone_schedule s, d;
  hone_why why;
  load("trainium2-core", 1, 2048, 4096, 4096, HONE_FORMAT_BF16);
  make_params();
  default_schedule(&d);
  int mm = hone_operator_find_dim(&op, "m"), w = hone_operator_find_tensor(&op, "W");

  s = d;
  s.tile[2][mm] = s.tile[1][mm] + 1;
  ck_assert_int_eq(hone_schedule_check(&op, &m, &s, &why), HONE_REASON_TILE);
  ck_assert_int_eq(why.dim, mm);

  s = d;
  for (int i = 0; i < op.ndims; i++) s.tile[1][i] = op.dim[i].extent;
  hone_schedule_normalize(&op, &m, &s);
  ck_assert_int_eq(hone_schedule_check(&op, &m, &s, &why), HONE_REASON_CAPACITY);
  ck_assert_int_gt(why.have, why.limit);
  ck_assert_int_eq(why.limit, m.memory[1].capacity_bytes);
  ck_assert_ptr_nonnull(strstr(why.text, m.memory[1].name));

  s = d;
  s.at[w][1] = HONE_BYPASS;
  ck_assert_int_eq(hone_schedule_check(&op, &m, &s, &why), HONE_REASON_OPERAND);

  s = d;
  s.map_row[0] = s.map_column[0];
  ck_assert_int_eq(hone_schedule_check(&op, &m, &s, &why), HONE_REASON_MAP);

  s = d;
  s.depth[w][1] = 0;
  ck_assert_int_eq(hone_schedule_check(&op, &m, &s, &why), HONE_REASON_DOMAIN);

  s = d;
  s.order[1][0] = s.order[1][1];
  ck_assert_int_eq(hone_schedule_check(&op, &m, &s, &why), HONE_REASON_ORDER);
  hone_params_free(&params);
}
END_TEST

START_TEST(parse_refuses_with_the_nearest_name)
{
  hone_schedule s;
  load("teaching", 1, 16, 16, 16, HONE_FORMAT_BF16);
  make_params();
  ck_assert_int_eq(hone_schedule_parse(&op, &m, &params, "tile.1.mm=4", &s, &err), HONE_INPUT);
  ck_assert_str_eq(err.code, "schedule.unknown-parameter");
  ck_assert_ptr_nonnull(strstr(err.hint, "tile.1.m"));
  ck_assert_int_eq(hone_schedule_parse(&op, &m, &params, "tile.1.m=-4", &s, &err), HONE_INPUT);
  ck_assert_str_eq(err.code, "schedule.value");
  ck_assert_int_eq(hone_schedule_parse(&op, &m, &params, "tile.1.m=4 tile.1.m=4", &s, &err), HONE_INPUT);
  ck_assert_str_eq(err.code, "schedule.duplicate");
  ck_assert_int_eq(hone_schedule_parse(&op, &m, &params, "tile.1.m=4", &s, &err), HONE_INPUT);
  ck_assert_str_eq(err.code, "schedule.missing");
  hone_params_free(&params);
}
END_TEST

START_TEST(blocks_cover_every_dim_once)
{
  hone_schedule s;
  load("teaching", 1, 5, 64, 8, HONE_FORMAT_BF16);
  int mm = hone_operator_find_dim(&op, "m"), n = hone_operator_find_dim(&op, "n");
  default_schedule(&s);
  for (int d = 0; d < op.ndims; d++) s.split[0][d] = 1;
  s.split[0][mm] = 2;
  hone_schedule_normalize(&op, &m, &s);
  int64_t a, la, b, lb;
  hone_schedule_block(&op, &m, &s, 0, mm, &a, &la);
  hone_schedule_block(&op, &m, &s, 1, mm, &b, &lb);
  ck_assert_int_eq(a, 0);
  ck_assert_int_eq(la, 3);
  ck_assert_int_eq(b, 3);
  ck_assert_int_eq(lb, 2);
  hone_schedule_block(&op, &m, &s, 1, n, &b, &lb);
  ck_assert_int_eq(b, 0);
  ck_assert_int_eq(lb, 64);
  s.split[0][mm] = 1; /* the second core has nothing to do */
  hone_schedule_normalize(&op, &m, &s);
  hone_schedule_block(&op, &m, &s, 1, n, &b, &lb);
  ck_assert_int_eq(lb, 0);
}
END_TEST

START_TEST(extents_beyond_the_machine_overflow_cleanly)
{
  hone_schedule s;
  hone_size sizes[] = {{"m", INT64_C(1) << 40}, {"n", 64}, {"k", 64}};
  hone_format_choice formats[] = {{NULL, HONE_FORMAT_BF16}};
  ck_assert_int_eq(hone_machine_load(HONE_SRCDIR "/data/machines/trainium2-core.yaml", &m, &err), HONE_OK);
  hone_status st = hone_operator_load(HONE_SRCDIR "/spaces/matmul.yaml", sizes, 3, formats, 1, NULL, 0, &op, &err);
  ck_assert_int_eq(st, HONE_OK);
  hone_schedule_init(&op, &m, &s);
  hone_reason r = hone_schedule_check(&op, &m, &s, NULL);
  ck_assert(r == HONE_REASON_NONE || r == HONE_REASON_OVERFLOW);
  ck_assert_int_eq(r, HONE_REASON_OVERFLOW); /* 2^40 * 2^12 points, each padded to 2^14 slots */
}
END_TEST

int main(void)
{
  Suite *s = suite_create("schedule");
  TCase *t = tcase_create("schedule");
  tcase_add_test(t, single_valued_parameters_are_left_out);
  tcase_add_loop_test(t, maps_need_an_engine_of_their_format, 0, 6);
  tcase_add_test(t, missing_format_says_what_there_is);
  tcase_add_loop_test(t, default_is_legal_and_its_text_is_canonical, 0, (int)(sizeof shapes / sizeof *shapes));
  tcase_add_test(t, default_fuses_an_epilogue_when_the_result_can_stay);
  tcase_add_test(t, normal_form_keeps_the_meaning);
  tcase_add_test(t, illegal_schedules_say_why);
  tcase_add_test(t, parse_refuses_with_the_nearest_name);
  tcase_add_test(t, blocks_cover_every_dim_once);
  tcase_add_test(t, extents_beyond_the_machine_overflow_cleanly);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
