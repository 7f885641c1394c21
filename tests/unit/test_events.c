/* The event tree of schedules small enough to say by hand what it must be, box
 * arithmetic, and the work of array passes. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ir/events.h"

static hone_operator op;
static hone_machine m;
static hone_params params;
static hone_events e;
static hone_err err;

static void load(const hone_operator_option *options, int noptions)
{
  hone_size sizes[] = {{"m", 64}, {"n", 64}, {"k", 64}};
  hone_format_choice formats[] = {{NULL, HONE_FORMAT_BF16}};
  ck_assert_msg(hone_machine_load(HONE_SRCDIR "/data/machines/trainium2-core.yaml", &m, &err) == HONE_OK, "%s", err.message);
  ck_assert_msg(hone_operator_load(HONE_SRCDIR "/spaces/matmul.yaml", sizes, 3, formats, 1, options, noptions, &op, &err) ==
                    HONE_OK, "%s", err.message);
  ck_assert_msg(hone_params_new(&op, &m, &params, &err) == HONE_OK, "%s", err.message);
}

static hone_reason build(const char *text)
{
  hone_schedule s;
  hone_why why;
  ck_assert_msg(hone_schedule_parse(&op, &m, &params, text, &s, &err) == HONE_OK, "%s", err.message);
  return hone_events_build(&op, &m, &s, &e, &why);
}

/* "m1( f:X f:W k2( step:product ) d:Y )" */
static void print_tree(int from, int to, hone_text *out)
{
  static const char letter[] = {'l', 'f', 's', 'd'};
  for (int i = from; i < to; i = e.node[i].end) {
    const hone_event_node *n = &e.node[i];
    if (n->kind == HONE_NODE_LOOP) {
      hone_text_add(out, "%s%d( ", op.dim[e.loop[n->index].dim].name, e.loop[n->index].level);
      print_tree(i + 1, n->end, out);
      hone_text_add(out, ") ");
    } else if (n->kind == HONE_NODE_STEP)
      hone_text_add(out, "%s ", op.stage[n->index].name);
    else
      hone_text_add(out, "%c:%s.%d ", letter[n->kind], op.tensor[e.buffer[n->index].tensor].name, e.buffer[n->index].level);
  }
}

static void expect_tree(const char *want)
{
  hone_text got = {0};
  print_tree(0, e.nnodes, &got);
  ck_assert_str_eq(got.data, want);
  hone_text_fini(&got);
}

#define COMMON "layout.W=0 map.product=k,n "

START_TEST(plain_matmul)
{
  load(NULL, 0);
  ck_assert_int_eq(build("tile.1.m=32 tile.1.n=64 tile.1.k=64 tile.2.m=32 tile.2.n=32 tile.2.k=16 order.1=m,n,k,b "
                         "order.2=n,k,m,b at.X.1=1 at.W.1=0 at.Y.1=1 at.Y.2=5 depth.X.1=2 depth.W.1=1 depth.Y.1=2 "
                         "depth.Y.2=2 " COMMON), HONE_REASON_NONE);
  expect_tree("f:W.1 m1( f:X.1 n2( k2( product ) d:Y.2 ) d:Y.1 ) ");
  const hone_buffer *y2 = &e.buffer[e.write_buffer[0]];
  ck_assert_int_eq(y2->level, 2);
  ck_assert_int_eq(y2->format, HONE_FORMAT_FP32);
  ck_assert_int_eq(y2->elements, 32 * 32);
  ck_assert(!y2->partial);
  const hone_buffer *y1 = &e.buffer[y2->parent];
  ck_assert_int_eq(y1->format, HONE_FORMAT_BF16); /* only whole results reach it */
  ck_assert_int_eq(y1->elements, 32 * 64);
  hone_params_free(&params);
}
END_TEST

START_TEST(partial_results_leave_and_return)
{
  load(NULL, 0);
  ck_assert_int_eq(build("tile.1.m=32 tile.1.n=64 tile.1.k=16 tile.2.m=32 tile.2.n=32 tile.2.k=16 order.1=k,m,n,b "
                         "order.2=n,k,m,b at.X.1=2 at.W.1=1 at.Y.1=2 at.Y.2=5 depth.X.1=2 depth.W.1=1 depth.Y.1=2 "
                         "depth.Y.2=2 " COMMON), HONE_REASON_NONE);
  expect_tree("k1( f:W.1 m1( f:X.1 f:Y.1 n2( f:Y.2 product d:Y.2 ) d:Y.1 ) ) ");
  const hone_buffer *y2 = &e.buffer[e.write_buffer[0]], *y1 = &e.buffer[y2->parent];
  ck_assert(y1->partial && y2->partial);
  ck_assert_int_eq(y1->format, HONE_FORMAT_FP32);
  hone_params_free(&params);
}
END_TEST

START_TEST(fused_epilogue_shares_the_loops_of_the_join)
{
  hone_operator_option options[] = {{"bias", "row"}};
  load(options, 1);
  ck_assert_int_eq(build("tile.1.m=32 tile.1.n=64 tile.1.k=64 tile.2.m=32 tile.2.n=32 tile.2.k=16 order.1=m,n,k,b "
                         "order.2=n,k,m,b at.X.1=1 at.W.1=0 at.B.1=0 at.Y.1=1 depth.X.1=2 depth.W.1=1 depth.B.1=1 "
                         "depth.Y.1=2 depth.Y.product.2=2 join.Y.product=5 home.Y.product=psum " COMMON), HONE_REASON_NONE);
  expect_tree("f:W.1 f:B.1 m1( f:X.1 n2( k2( product ) bias ) d:Y.1 ) ");
  hone_params_free(&params);
}
END_TEST

START_TEST(join_inside_a_reduced_loop_is_refused)
{
  hone_operator_option options[] = {{"bias", "row"}};
  load(options, 1);
  ck_assert_int_eq(build("tile.1.m=32 tile.1.n=64 tile.1.k=32 tile.2.m=32 tile.2.n=32 tile.2.k=16 order.1=k,m,n,b "
                         "order.2=n,k,m,b at.X.1=2 at.W.1=0 at.B.1=0 at.Y.1=2 depth.X.1=2 depth.W.1=1 depth.B.1=1 "
                         "depth.Y.1=2 depth.Y.product.2=2 join.Y.product=5 home.Y.product=psum " COMMON), HONE_REASON_JOIN);
  hone_params_free(&params);
}
END_TEST

START_TEST(array_passes_by_hand)
{
  load(NULL, 0);
  hone_schedule s;
  hone_schedule_init(&op, &m, &s);
  int b = hone_operator_find_dim(&op, "b"), mm = hone_operator_find_dim(&op, "m");
  int n = hone_operator_find_dim(&op, "n"), k = hone_operator_find_dim(&op, "k");
  s.dataflow[0] = HONE_DATAFLOW_WS;
  s.map_row[0] = (uint8_t)k;
  s.map_column[0] = (uint8_t)n;
  hone_range r[HONE_MAX_DIMS] = {{0, 0}};
  r[b].length = 2;
  r[mm].length = 515;
  r[n].length = 129;
  r[k].length = 128;
  hone_matrix *x = &m.engine[s.engine[0]].matrix;
  x->rows = x->columns = 128;
  x->max_stream_rows = 512;
  x->min_pass_cycles = 64;
  x->load_cycles = 32;
  x->load_hidden = true;
  for (int i = 0; i < x->nrates; i++) x->rate[i].cycles_per_row_num = x->rate[i].cycles_per_row_den = 1;
  hone_step_work w;
  hone_contract_step(&op, &m, &s, 0, r, &w);
  ck_assert_int_eq(w.useful, INT64_C(2) * 515 * 129 * 128);
  ck_assert_int_eq(w.passes, 2 * 2 * 2);                       /* batches, column blocks, chunks of 512 and 3 rows */
  ck_assert_int_eq(w.busy_cycles, 2 * 2 * (512 + 64));         /* the short chunk costs the minimum */
  ck_assert_int_eq(w.issued, INT64_C(2) * 2 * 128 * 128 * 515);
  x->load_hidden = false;
  hone_contract_step(&op, &m, &s, 0, r, &w);
  ck_assert_int_eq(w.busy_cycles, 2 * 2 * (512 + 32 + 64 + 32));
  hone_params_free(&params);
}
END_TEST

START_TEST(box_is_clipped_to_the_tensor)
{
  load(NULL, 0);
  hone_range r[HONE_MAX_DIMS], box[HONE_MAX_RANK];
  for (int d = 0; d < op.ndims; d++) r[d] = (hone_range){60, 8};
  hone_access a = op.stage[0].read[0];
  int64_t elements;
  a.axis[1].affine.constant = -63;
  hone_access_box(&op, &a, r, box, &elements);
  ck_assert_int_eq(box[1].start, 0);
  ck_assert_int_eq(box[1].length, 5);
  ck_assert_int_eq(box[2].length, 4); /* k: 60..63 */
  hone_params_free(&params);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("events");
  TCase *t = tcase_create("events");
  tcase_add_test(t, plain_matmul);
  tcase_add_test(t, partial_results_leave_and_return);
  tcase_add_test(t, fused_epilogue_shares_the_loops_of_the_join);
  tcase_add_test(t, join_inside_a_reduced_loop_is_refused);
  tcase_add_test(t, array_passes_by_hand);
  tcase_add_test(t, box_is_clipped_to_the_tensor);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
