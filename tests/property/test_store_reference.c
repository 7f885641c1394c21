/* store against a reference that keeps every evaluation in an array and answers by
 * brute force: random records in few tasks, schedules and outcomes (so that most
 * repeat or contradict each other), flushed, compacted and merged at random. */
#include "config.h"

#include <inttypes.h>

#include "base/rng.h"
#include "lib/case_count.h"
#include "unit/store_unit.h"

enum { TASKS = 3, SCHEDULES = 9, OUTCOMES = 4, MOST = 250, CASES = 8, KINDS = 2, SUBJECTS = 3 };

/* reference[t][s][o]: how often; the last outcome is a failure, others 10 + o cycles. */
typedef struct {
  int64_t seen[TASKS][SCHEDULES][OUTCOMES];
  int document[KINDS][SUBJECTS]; /* number of the newest, 0: none */
} reference;

static hone_record make(int task, int schedule, int outcome)
{
  return outcome == OUTCOMES - 1 ? unit_failure(task, schedule, HONE_REASON_DEADLOCK, "stuck")
                                 : unit_record(task, schedule, 10 + outcome);
}

static int outcome_of(const hone_record *r)
{
  return r->reason != HONE_REASON_NONE ? OUTCOMES - 1 : (int)(r->cycles - 10);
}

static int task_of(const hone_record *r)
{
  for (int t = 0; t < TASKS; t++)
    if (!strcmp(unit_record(t, 0, 0).task.operator_text, r->task.operator_text)) return t;
  ck_abort_msg("a task from nowhere");
}

static int schedule_of(const hone_record *r)
{
  int s;
  ck_assert_int_eq(sscanf(r->schedule, "tile.1.m=%d ", &s), 1);
  return s;
}

/* The rule of docs/store.md, spelled out: sort all observations, take the upper
 * median. -1: never seen. */
static int choose(const int64_t seen[OUTCOMES])
{
  int all[4 * MOST], n = 0;
  for (int o = 0; o < OUTCOMES; o++)
    for (int64_t i = 0; i < seen[o]; i++)
      all[n++] = o;
  return n ? all[n / 2] : -1;
}

static void check_query(hone_store *s, const reference *ref)
{
  static unit_visits v;
  reference left = *ref;
  hone_arena_free(v.arena);
  v.arena = NULL;
  unit_query(s, NULL, &v);
  for (int i = 0; i < v.n; i++) {
    int64_t *n = &left.seen[task_of(&v.r[i])][schedule_of(&v.r[i])][outcome_of(&v.r[i])];
    ck_assert_int_gt(*n, 0); /* shown once only */
    ck_assert_int_eq(v.r[i].observations, *n);
    *n = 0;
  }
  for (size_t i = 0; i < sizeof left.seen / sizeof(int64_t); i++)
    ck_assert_int_eq(((const int64_t *)left.seen)[i], 0); /* and all of them */
}

static void check_documents(hone_store *s, const reference *ref)
{
  hone_text want = {0}, have = {0};
  int n = 0;
  hone_text_add_bytes(&want, "", 0);
  for (int k = 0; k < KINDS; k++) {
    hone_text of_kind = {0};
    char kind[16];
    snprintf(kind, sizeof kind, "k%d", k);
    hone_text_add_bytes(&of_kind, "", 0);
    for (int i = 0; i < SUBJECTS; i++)
      if (ref->document[k][i]) hone_text_add(&of_kind, "%s|s%d|%*d\n", kind, i, ref->document[k][i], ref->document[k][i]), n++;
    unit_documents(s, kind, &have);
    ck_assert_str_eq(have.data, of_kind.data);
    hone_text_add(&want, "%s", of_kind.data);
    hone_text_fini(&of_kind);
  }
  unit_documents(s, NULL, &have);
  ck_assert_str_eq(have.data, want.data);
  ck_assert_int_eq(unit_info(s).documents, n);
  hone_text_fini(&want);
  hone_text_fini(&have);
}

/* Texts grow with their number: cells of one width would be noticed. */
static void put(hone_store *s, reference *ref, hone_rng *rng, int number)
{
  const int k = (int)hone_rng_below(rng, KINDS), i = (int)hone_rng_below(rng, SUBJECTS);
  hone_text text = {0};
  char kind[8], subject[8];
  snprintf(kind, sizeof kind, "k%d", k);
  snprintf(subject, sizeof subject, "s%d", i);
  hone_text_add(&text, "%*d", number, number);
  hone_err err = {0};
  const hone_store_document d = {.kind = kind, .subject = subject, .text = text.data, .time_unix_ns = number}; /* two handles, one clock */
  unit_ok(hone_store_put(s, &d, &err), &err);
  ref->document[k][i] = number;
  hone_text_fini(&text);
}

static void check_top(hone_store *s, const reference *ref, int task, int k)
{
  static unit_visits v;
  hone_err err = {0};
  const hone_record of = unit_record(task, 0, 0);
  int want = 0, last_outcome = -1;
  for (int i = 0; i < SCHEDULES; i++) {
    const int o = choose(ref->seen[task][i]);
    want += o >= 0 && o < OUTCOMES - 1;
  }
  v.n = 0;
  hone_arena_free(v.arena);
  v.arena = NULL;
  unit_ok(hone_store_top(s, &(hone_store_filter){.task = &of.task}, k, unit_collect, &v, &err), &err);
  ck_assert_int_eq(v.n, want < k ? want : k);
  int better = 0;
  for (int i = 0; i < v.n; i++) {
    const int schedule = schedule_of(&v.r[i]), o = outcome_of(&v.r[i]);
    ck_assert_int_eq(o, choose(ref->seen[task][schedule]));
    ck_assert_int_ge(o, last_outcome);
    last_outcome = o;
  }
  for (int i = 0; i < SCHEDULES; i++) { /* none was passed over */
    const int o = choose(ref->seen[task][i]);
    better += o >= 0 && o < last_outcome;
  }
  ck_assert_int_le(better, v.n);
}

static void check_store(const char *path, const reference *ref)
{
  hone_err err = {0};
  hone_store *s = unit_open(path, HONE_STORE_READ);
  ck_assert_int_eq(hone_store_damaged_count(s), 0);
  check_query(s, ref);
  check_documents(s, ref);
  for (int task = 0; task < TASKS; task++)
    for (int k = 1; k <= SCHEDULES + 1; k += 3)
      check_top(s, ref, task, k);
  unit_ok(hone_store_verify(s, &err), &err);
  unit_close(s);
}

static void maintain(hone_store *s, const char *from, int64_t what)
{
  hone_err err = {0};
  hone_store_compaction c;
  hone_store_merger m;
  if (what == 0) unit_ok(hone_store_compact(s, 0, &c, &err), &err);
  if (what == 1) unit_ok(hone_store_compact(s, 20, &c, &err), &err);
  if (what == 2) unit_ok(hone_store_merge(s, from, &m, &err), &err);
}

/* Two stores are filled; in the end the second goes into the first. */
static void run_case(uint64_t seed)
{
  hone_rng rng;
  reference ref = {0};
  hone_rng_init(&rng, seed);
  fixture_directory();
  const char *path[2] = {fixture_path("a.hone"), fixture_path("b.hone")};
  hone_store *s[2] = {unit_open(path[0], HONE_STORE_WRITE), unit_open(path[1], HONE_STORE_WRITE)};
  const int n = (int)hone_rng_below(&rng, MOST);
  for (int i = 0; i < n; i++) {
    const int task = (int)hone_rng_below(&rng, TASKS), schedule = (int)hone_rng_below(&rng, SCHEDULES),
              outcome = (int)hone_rng_below(&rng, OUTCOMES), into = (int)hone_rng_below(&rng, 2);
    unit_append(s[into], make(task, schedule, outcome));
    ref.seen[task][schedule][outcome]++;
    if (hone_rng_below(&rng, 5) == 0) put(s[into], &ref, &rng, i + 1);
    if (hone_rng_below(&rng, 12) == 0) unit_flush(s[into]);
    if (hone_rng_below(&rng, 40) == 0) maintain(s[0], path[1], hone_rng_below(&rng, 3));
  }
  unit_flush(s[0]);
  unit_flush(s[1]);
  maintain(s[0], path[1], 2);
  check_store(path[0], &ref);
  maintain(s[0], path[1], 0);
  check_store(path[0], &ref);
  unit_close(s[0]);
  unit_close(s[1]);
  fixture_remove();
}

START_TEST(stores_agree_with_the_reference)
{
  const char *one = getenv("HONE_TEST_SEED");
  const int cases = one ? 1 : case_count(CASES);
  for (int i = 0; i < cases; i++) {
    const uint64_t seed = one ? strtoull(one, NULL, 10) : 1000 + (uint64_t)i;
    printf("HONE_TEST_SEED=%" PRIu64 " tests/property/test_store_reference\n", seed);
    fflush(stdout);
    run_case(seed);
  }
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("store/reference");
  TCase *c = tcase_create("reference");
  tcase_set_timeout(c, 60 + 4 * case_count(CASES));
  tcase_add_test(c, stores_agree_with_the_reference);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
