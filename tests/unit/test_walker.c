/* The walker on cases small enough to write every event down by hand. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/walker.h"
#include "tests/unit/unit.h"

static hone_operator op;
static hone_machine m;
static hone_params params;
static hone_err err;
static hone_text events;

/* "F X.1 m0+2 k0+1;": fill of X in memory 1, ranges of m and k; D drain, s step;
 * ' after the letter: partial; 0 after s: overwrites. */
static void note(void *arg, const walk_event *e)
{
  (void)arg;
  const hone_range *r = e->range;
  hone_text_add(&events, "%c%s", "FsD"[e->kind], e->partial ? "'" : e->zero ? "0" : "");
  if (e->kind != WALK_STEP) hone_text_add(&events, " %s.%d", op.tensor[e->tensor].name, e->level);
  for (int d = 0; d < op.ndims; d++)
    if (op.dim[d].extent > 1) hone_text_add(&events, " %s%lld+%lld", op.dim[d].name, (long long)r[d].start, (long long)r[d].length);
  hone_text_add(&events, ";");
}

static hone_counts walk(int64_t mm, int64_t k, const char *bias, const char *text)
{
  hone_counts c;
  hone_schedule s;
  hone_why why;
  hone_size sizes[] = {{"m", mm}, {"n", 1}, {"k", k}};
  hone_format_choice format = {NULL, HONE_FORMAT_BF16};
  hone_operator_option options[] = {{"bias", bias}};
  ck_assert(hone_machine_load(HONE_SRCDIR "/data/machines/teaching.yaml", &m, &err) == HONE_OK);
  ck_assert(hone_operator_load(HONE_SRCDIR "/spaces/matmul.yaml", sizes, 3, &format, 1, options, 1, &op, &err) == HONE_OK);
  ck_assert(hone_params_new(&op, &m, &params, &err) == HONE_OK);
  ck_assert_msg(hone_schedule_parse(&op, &m, &params, text, &s, &err) == HONE_OK, "%s", err.message);
  ck_assert_msg(!hone_schedule_check(&op, &m, &s, &why), "%s", why.text);
  hone_text_clear(&events);
  ck_assert_int_gt(walker_run(&op, &m, &s, 1000, &c, note, NULL), 0);
  hone_params_free(&params);
  return c;
}

/* k outside m: the results of both m tiles leave as partial sums and return. The
 * second tile of m is clipped. W changes with k only, X with every step. */
START_TEST(partial_results)
{
  hone_counts c = walk(3, 2, "none",
                       "split.core.m=1 tile.1.m=2 tile.1.k=1 tile.2.m=2 tile.2.k=1 order.1=k,m,b,n order.2=b,m,n,k at.X.1=2 "
                       "at.W.1=2 at.Y.1=2 at.Y.2=2 depth.X.1=2 depth.W.1=2 depth.Y.1=2 depth.Y.2=2 dataflow.product=ws "
                       "map.product=k,n layout.W=0");
  ck_assert_str_eq(events.data, "F X.1 m0+2 k0+1;F W.1 m0+2 k0+1;s0 m0+2 k0+1;D' Y.2 m0+2 k0+1;D' Y.1 m0+2 k0+1;"
                                "F X.1 m2+1 k0+1;s0 m2+1 k0+1;D' Y.2 m2+1 k0+1;D' Y.1 m2+1 k0+1;"
                                "F X.1 m0+2 k1+1;F W.1 m0+2 k1+1;F' Y.1 m0+2 k1+1;F' Y.2 m0+2 k1+1;s m0+2 k1+1;"
                                "D Y.2 m0+2 k1+1;D Y.1 m0+2 k1+1;"
                                "F X.1 m2+1 k1+1;F' Y.1 m2+1 k1+1;F' Y.2 m2+1 k1+1;s m2+1 k1+1;D Y.2 m2+1 k1+1;D Y.1 m2+1 k1+1;");
  int x = hone_operator_find_tensor(&op, "X"), w = hone_operator_find_tensor(&op, "W"), y = hone_operator_find_tensor(&op, "Y");
  ck_assert_int_eq(c.read_bytes[x][0], 2 * 3 * 2); /* all of X once, bf16 */
  ck_assert_int_eq(c.write_bytes[x][1], 12);
  ck_assert_int_eq(c.read_bytes[w][0], 2 * 2);
  ck_assert_int_eq(c.fills[w][1], 2);
  ck_assert_int_eq(c.read_bytes[y][0], 4 * 3);          /* partial sums return, fp32 */
  ck_assert_int_eq(c.write_bytes[y][0], 4 * 3 + 2 * 3); /* leave as fp32, end as bf16 */
  ck_assert_int_eq(c.fills[y][2], 2);
  ck_assert_int_eq(c.drains[y][2], 4);
  ck_assert_int_eq(c.steps[0], 4);
  ck_assert_int_eq(c.useful[0], 6);
  ck_assert_int_eq(c.issued[0], 2 * (2 + 1) * 8 * 8); /* k and n padded to the array */
}
END_TEST

/* m outside k: results stay until they are whole; W changes at every step. */
START_TEST(results_stay)
{
  hone_counts c = walk(3, 2, "none",
                       "split.core.m=2 tile.1.m=1 tile.1.k=1 tile.2.m=1 tile.2.k=1 order.1=m,k,b,n order.2=b,m,n,k at.X.1=2 "
                       "at.W.1=2 at.Y.1=1 at.Y.2=1 depth.X.1=2 depth.W.1=2 depth.Y.1=2 depth.Y.2=2 dataflow.product=ws "
                       "map.product=k,n layout.W=0");
  ck_assert_str_eq(events.data, "F X.1 m0+1 k0+1;F W.1 m0+1 k0+1;s0 m0+1 k0+1;F X.1 m0+1 k1+1;F W.1 m0+1 k1+1;s m0+1 k1+1;"
                                "D Y.2 m0+1 k0+2;D Y.1 m0+1 k0+2;"
                                "F X.1 m1+1 k0+1;F W.1 m1+1 k0+1;s0 m1+1 k0+1;F X.1 m1+1 k1+1;F W.1 m1+1 k1+1;s m1+1 k1+1;"
                                "D Y.2 m1+1 k0+2;D Y.1 m1+1 k0+2;"
                                "F X.1 m2+1 k0+1;F W.1 m2+1 k0+1;s0 m2+1 k0+1;F X.1 m2+1 k1+1;F W.1 m2+1 k1+1;s m2+1 k1+1;"
                                "D Y.2 m2+1 k0+2;D Y.1 m2+1 k0+2;");
  int y = hone_operator_find_tensor(&op, "Y");
  ck_assert_int_eq(c.read_bytes[y][0], 0);
  ck_assert_int_eq(c.write_bytes[y][0], 2 * 3);
}
END_TEST

/* Joined at the m loop: the sum is read where it was made and never moves. */
START_TEST(joined_stages)
{
  hone_counts c = walk(2, 2, "row",
                       "split.core.m=1 tile.1.m=1 tile.1.k=2 tile.2.m=1 tile.2.k=2 order.1=m,b,n,k order.2=b,m,n,k at.X.1=1 "
                       "at.W.1=0 at.B.1=0 at.Y.1=1 depth.X.1=2 depth.W.1=1 depth.B.1=1 depth.Y.1=2 depth.Y.product.2=2 "
                       "join.Y.product=1 home.Y.product=acc dataflow.product=ws map.product=k,n layout.W=0");
  ck_assert_str_eq(events.data, "F W.1 m0+2 k0+2;F B.1 m0+2 k0+2;"
                                "F X.1 m0+1 k0+2;s0 m0+1 k0+2;s0 m0+1 k0+2;D Y.1 m0+1 k0+2;"
                                "F X.1 m1+1 k0+2;s0 m1+1 k0+2;s0 m1+1 k0+2;D Y.1 m1+1 k0+2;");
  int t = hone_operator_find_tensor(&op, "Y.product");
  for (int l = 0; l < m.nlevels; l++) ck_assert(c.read_bytes[t][l] == 0 && c.write_bytes[t][l] == 0);
  ck_assert(c.steps[0] == 2 && c.steps[1] == 2);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("walker");
  TCase *t = tcase_create("by hand");
  tcase_add_test(t, partial_results);
  tcase_add_test(t, results_stay);
  tcase_add_test(t, joined_stages);
  suite_add_tcase(s, t);
  int failed = unit_run(s);
  hone_text_fini(&events);
  return failed;
}
