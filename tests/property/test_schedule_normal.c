/* Random schedules, legal or not: the normal form is a fixed point, its text
 * parses back to it, and it means the same event tree as what it was made from. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "ir/events.h"
#include "ir/schedule.h"
#include "lib/case_count.h"

enum { CASES = 3000, SEED = 20261130 };

static hone_operator op;
static hone_machine m;
static hone_params params;
static hone_err err;

static const struct {
  const char *machine;
  hone_format format;
} machines[] = {{"teaching", HONE_FORMAT_FP16}, {"gemmini-default", HONE_FORMAT_INT8}, {"trainium2-core", HONE_FORMAT_BF16},
              {"napier-public", HONE_FORMAT_BF16}, {"tpu-v1", HONE_FORMAT_INT8}, {"tpu-v4i", HONE_FORMAT_BF16}};

static void load(hone_rng *rng)
{
  static const int64_t extents[] = {1, 2, 3, 5, 8, 13, 16, 29};
  int64_t v[4];
  for (int i = 0; i < 4; i++) v[i] = extents[hone_rng_below(rng, 8)];
  hone_size sizes[] = {{"b", v[0]}, {"m", v[1]}, {"n", v[2]}, {"k", v[3]}};
  int64_t which = hone_rng_below(rng, sizeof machines / sizeof *machines);
  hone_format_choice format = {NULL, machines[which].format};
  hone_operator_option options[] = {{"bias", hone_rng_below(rng, 2) ? "row" : "none"},
                                    {"activation", hone_rng_below(rng, 2) ? "relu" : "none"}};
  char path[512];
  snprintf(path, sizeof path, "%s/data/machines/%s.yaml", HONE_SRCDIR, machines[which].machine);
  ck_assert_msg(hone_machine_load(path, &m, &err) == HONE_OK, "%s", err.message);
  ck_assert_msg(hone_operator_load(HONE_SRCDIR "/spaces/matmul.yaml", sizes, 4, &format, 1, options, 2, &op, &err) == HONE_OK,
                "%s", err.message);
  ck_assert_msg(hone_params_new(&op, &m, &params, &err) == HONE_OK, "%s", err.message);
}

static int64_t random_order(hone_rng *rng)
{
  int place[HONE_MAX_DIMS];
  uint64_t v = 0;
  for (int i = 0; i < HONE_MAX_DIMS; i++) place[i] = i;
  for (int i = op.ndims - 1; i > 0; i--) {
    int64_t j = hone_rng_below(rng, i + 1);
    int x = place[i];
    place[i] = place[j];
    place[j] = x;
  }
  for (int i = 0; i < HONE_MAX_DIMS; i++) v |= (uint64_t)place[i] << (4 * i);
  return (int64_t)v;
}

/* Tiles nested, the rest anything in its domain. */
static void draw(hone_rng *rng, hone_schedule *s)
{
  hone_schedule_init(&op, &m, s);
  for (int i = 0; i < params.n; i++) {
    const hone_param *p = &params.param[i];
    int64_t max = p->max;
    if (p->domain == HONE_DOMAIN_ORDER) {
      hone_param_set(p, s, random_order(rng));
      continue;
    }
    if (p->domain == HONE_DOMAIN_SET) {
      hone_param_set(p, s, p->set[hone_rng_below(rng, p->nset)]);
      continue;
    }
    if (p->kind == HONE_PARAM_TILE) max = hone_min64(max, s->tile[p->level - 1][p->dim]);
    int64_t v = p->min + hone_rng_below(rng, max - p->min + 1);
    if (p->kind == HONE_PARAM_TILE && hone_rng_below(rng, 2)) v = max;
    hone_param_set(p, s, v);
    if (p->kind == HONE_PARAM_SPLIT)
      for (int d = 0; d < op.ndims; d++) s->tile[0][d] = hone_ceil_div(op.dim[d].extent, s->split[0][d]);
  }
}

/* Everything about an event tree that does not name a position: loops and steps
 * in order, each buffer with the depth of its moves. (Where in one place a fill
 * stands may depend on positions before normalization.) */
static void describe(const hone_events *e, hone_text *out)
{
  int fill[HONE_MAX_BUFFERS], drain[HONE_MAX_BUFFERS];
  for (int i = 0; i < HONE_MAX_BUFFERS; i++) fill[i] = drain[i] = -1;
  for (int i = 0; i < e->nnodes; i++) {
    const hone_event_node *n = &e->node[i];
    switch (n->kind) {
    case HONE_NODE_LOOP:
      hone_text_add(out, "loop %d.%d/%lld in %d ", e->loop[n->index].dim, e->loop[n->index].level,
                    (long long)e->loop[n->index].step, n->depth);
      break;
    case HONE_NODE_STEP: hone_text_add(out, "step %d in %d ", n->index, n->depth); break;
    case HONE_NODE_FILL: fill[n->index] = n->depth; break;
    case HONE_NODE_DRAIN: drain[n->index] = n->depth; break;
    }
  }
  for (int i = 0; i < e->nbuffers; i++) hone_text_add(out, "(%d %d)", fill[i], drain[i]);
  for (int i = 0; i < e->nbuffers; i++) {
    const hone_buffer *b = &e->buffer[i];
    hone_text_add(out, "[%d %d.%d x%d %lld B %d keys %d reduced %d %s]", (int)b->kind, b->tensor, b->level, b->depth,
                  (long long)b->bytes, b->parent, __builtin_popcountll(b->keys), __builtin_popcountll(b->reduced),
                  hone_format_name(b->format));
  }
}

static void one_case(uint64_t seed, int *built)
{
  hone_rng rng;
  hone_schedule s, n, again, back;
  static hone_events a, b;
  hone_rng_init(&rng, seed);
  load(&rng);
  draw(&rng, &s);
  n = s;
  hone_schedule_normalize(&op, &m, &n);
  again = n;
  hone_schedule_normalize(&op, &m, &again);
  hone_text text = {0}, before = {0}, after = {0};
  hone_schedule_print(&op, &m, &params, &n, &text);
  const char *line = text.data ? text.data : "";
  ck_assert_msg(!memcmp(&n, &again, sizeof n), "seed %llu: not a fixed point: %s", (unsigned long long)seed, line);
  ck_assert_msg(hone_schedule_parse(&op, &m, &params, line, &back, &err) == HONE_OK, "seed %llu: %s: %s",
                (unsigned long long)seed, err.message, line);
  ck_assert_msg(!memcmp(&n, &back, sizeof n), "seed %llu: text is not the schedule: %s", (unsigned long long)seed, line);
  hone_reason ra = hone_events_build(&op, &m, &s, &a, NULL), rb = hone_events_build(&op, &m, &n, &b, NULL);
  /* A position before a loop with one trip and one after it are the same place,
   * but decreasing before normalization: the raw schedule may be refused for it. */
  ck_assert_msg(ra == rb || ra == HONE_REASON_PLACEMENT || ra == HONE_REASON_HOME, "seed %llu: %s became %s: %s",
                (unsigned long long)seed, hone_reason_code(ra), hone_reason_code(rb), line);
  if (ra == HONE_REASON_NONE) {
    ++*built;
    describe(&a, &before);
    describe(&b, &after);
    ck_assert_msg(!strcmp(before.data, after.data), "seed %llu: %s\n%s\n%s", (unsigned long long)seed, line, before.data,
                  after.data);
  }
  hone_text_fini(&text);
  hone_text_fini(&before);
  hone_text_fini(&after);
  hone_params_free(&params);
}

START_TEST(normal_form)
{
  int built = 0;
  for (int i = 0; i < case_count(CASES); i++) one_case(SEED + (uint64_t)i, &built);
  ck_assert_int_gt(built, case_count(CASES) / 20); /* enough of them had a tree to compare */
}
END_TEST

/* test_schedule_normal [SEED]: one case again. */
int main(int argc, char **argv)
{
  if (argc > 1) {
    int built = 0;
    one_case(strtoull(argv[1], NULL, 10), &built);
    return EXIT_SUCCESS;
  }
  printf("seeds %d to %d; one again: test_schedule_normal SEED\n", SEED, SEED + case_count(CASES) - 1);
  Suite *s = suite_create("schedule normal form");
  TCase *t = tcase_create("normal form");
  tcase_set_timeout(t, 60);
  tcase_add_test(t, normal_form);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
