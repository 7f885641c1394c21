/* store: what goes in comes out, in the documented order, merged by the
 * documented rules, under exact identity. */
#include "config.h"

#include "store/digest.h"
#include "unit/store_unit.h"

static unit_visits seen;

static void setup(void)
{
  fixture_directory();
  memset(&seen, 0, sizeof seen);
}

static void teardown(void)
{
  hone_arena_free(seen.arena);
  fixture_remove();
}

/* One segment with what was appended by `fill`, open for reading. */
static hone_store *written(void (*fill)(hone_store *))
{
  hone_store *s = unit_open(fixture_path("s.hone"), HONE_STORE_WRITE);
  fill(s);
  unit_close(s);
  return unit_open(fixture_path("s.hone"), HONE_STORE_READ);
}

START_TEST(digest_is_xxh64)
{
  /* xxHash's own sanity values and `printf abc | xxhsum -H64`. */
  static const struct {
    const char *text;
    uint64_t digest;
  } vector[] = {{"", UINT64_C(0xef46db3751d8e999)},
                {"a", UINT64_C(0xd24ec4f1a98c6e5b)},
                {"abc", UINT64_C(0x44bc2cf5ad770999)},
                {"Nobody inspects the spammish repetition", UINT64_C(0xfbcea83c8a378bf1)}};
  for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
    hone_digest whole, bytewise;
    hone_digest_init(&whole);
    hone_digest_init(&bytewise);
    hone_digest_add(&whole, vector[i].text, strlen(vector[i].text));
    for (const char *p = vector[i].text; *p; p++)
      hone_digest_add(&bytewise, p, 1);
    ck_assert_uint_eq(hone_digest_end(&whole), vector[i].digest);
    ck_assert_uint_eq(hone_digest_end(&bytewise), vector[i].digest);
  }
}
END_TEST

/* Recomputed from docs/store.md with FNV-1a-128 in another language: these must
 * never change, or every stored record would go stale. */
START_TEST(keys_are_the_same_on_every_host)
{
  char text[HONE_HASH_TEXT];
  hone_record r = {.task = {.operator_text = "op\n", .machine_text = "machine\n"},
                   .evaluator = "simulator", .evaluator_version = 3, .schedule = "tile.1.m=64"};
  hone_hash_print(hone_record_key(&r), text);
  ck_assert_str_eq(text, "c2ae094e360e25bfe0b859b06c667c44");
  r.task.operator_name = "other", r.task.machine_name = "renamed", r.task.label = "label", r.task.spec = "spec", r.seed = 9;
  hone_hash_print(hone_record_key(&r), text);
  ck_assert_str_eq(text, "c2ae094e360e25bfe0b859b06c667c44");
}
END_TEST

static void fill_every_field(hone_store *s)
{
  hone_record r = unit_record(1, 64, INT64_MAX);
  r.warm_cycles = INT64_MAX - 1, r.energy_fj = 5, r.model_cycles = 12, r.seed = UINT64_MAX, r.order = 17;
  r.kinds = HONE_KIND_DEFAULT | HONE_KIND_BEST;
  r.space = (hone_hash){.hi = 1, .lo = 2};
  r.time_unix_ns = 1700000000123456789;
  unit_append(s, r);
  r = unit_failure(1, 65, HONE_REASON_CAPACITY, "sbuf: 27 of 25 \"MB\", \xc3\xbc");
  unit_append(s, r);
}

START_TEST(every_field_survives)
{
  hone_store *s = written(fill_every_field);
  const hone_record want = unit_record(1, 64, 0);
  unit_query(s, NULL, &seen);
  ck_assert_int_eq(seen.n, 2);
  const hone_record *r = &seen.r[0];
  ck_assert_str_eq(r->task.operator_text, want.task.operator_text);
  ck_assert_str_eq(r->task.machine_text, want.task.machine_text);
  ck_assert_str_eq(r->task.operator_name, "matmul");
  ck_assert_str_eq(r->task.machine_name, "teaching");
  ck_assert_str_eq(r->task.label, want.task.label);
  ck_assert_str_eq(r->task.spec, "matmul --size m=1");
  ck_assert_str_eq(r->evaluator, "simulator");
  ck_assert_int_eq(r->evaluator_version, 1);
  ck_assert_int_eq(r->fidelity, 1);
  ck_assert_str_eq(r->schedule, want.schedule);
  ck_assert_int_eq(r->reason, HONE_REASON_NONE);
  ck_assert_str_eq(r->message, "");
  ck_assert(r->cycles == INT64_MAX && r->warm_cycles == INT64_MAX - 1 && r->energy_fj == 5 && r->model_cycles == 12);
  ck_assert_str_eq(r->bottleneck, "dram");
  ck_assert_uint_eq(r->kinds, HONE_KIND_DEFAULT | HONE_KIND_BEST);
  ck_assert(r->seed == UINT64_MAX && r->order == 17 && r->space.hi == 1 && r->space.lo == 2);
  ck_assert_int_eq(r->time_unix_ns, 1700000000123456789);
  ck_assert_int_gt((int)strlen(r->host), 0);
  ck_assert_int_eq(r->observations, 1);
  ck_assert_int_eq(seen.r[1].reason, HONE_REASON_CAPACITY);
  ck_assert_str_eq(seen.r[1].reason_code, "capacity");
  ck_assert_str_eq(seen.r[1].message, "sbuf: 27 of 25 \"MB\", \xc3\xbc");
  unit_close(s);
}
END_TEST

START_TEST(nothing_shows_before_flush)
{
  hone_store *s = unit_open(fixture_path("s.hone"), HONE_STORE_WRITE);
  hone_store *reader = unit_open(fixture_path("s.hone"), HONE_STORE_READ);
  hone_err err = {0};
  unit_append(s, unit_record(1, 1, 100));
  ck_assert_int_eq(hone_store_pending(s), 1);
  unit_ok(hone_store_refresh(reader, &err), &err);
  ck_assert_int_eq(unit_info(reader).records, 0);
  unit_flush(s);
  ck_assert_int_eq(unit_info(reader).records, 0); /* its snapshot */
  const hone_hash before = hone_store_snapshot(reader);
  unit_ok(hone_store_refresh(reader, &err), &err);
  ck_assert_int_eq(unit_info(reader).records, 1);
  ck_assert(hone_hash_cmp(before, hone_store_snapshot(reader)) != 0);
  unit_flush(s); /* nothing pending: no segment */
  unit_ok(hone_store_refresh(s, &err), &err);
  ck_assert_int_eq(unit_info(s).segments, 1);
  ck_assert(hone_hash_cmp(hone_store_snapshot(s), hone_store_snapshot(reader)) == 0);
  unit_close(reader);
  unit_close(s);
}
END_TEST

/* 3 tasks x 400 schedules over 7 segments, every fourth a failure, appended in a
 * scattered order with a tenth of them twice. */
static void fill_many(hone_store *s)
{
  for (int i = 0; i < 1200; i++) {
    const int k = i * 7 % 1200, task = k % 3, schedule = k / 3;
    hone_record r = schedule % 4 == 3 ? unit_failure(task, schedule, HONE_REASON_ALLOCATION, "no room")
                                      : unit_record(task, schedule, 1000 + schedule * 37 % 400);
    unit_append(s, r);
    if (i % 10 == 0) unit_append(s, r);
    if (i % 180 == 179) unit_flush(s);
  }
}

static void check_ascending(const unit_visits *v)
{
  for (int i = 1; i < v->n; i++) {
    const hone_record *a = &v->r[i - 1], *b = &v->r[i];
    if (strcmp(a->task.operator_text, b->task.operator_text) != 0) continue;
    const int failed = (a->reason != HONE_REASON_NONE) - (b->reason != HONE_REASON_NONE);
    ck_assert(failed < 0 || (failed == 0 && (a->cycles < b->cycles ||
                                             (a->cycles == b->cycles && strcmp(a->schedule, b->schedule) < 0))));
  }
}

START_TEST(query_merges_segments_in_canonical_order)
{
  hone_store *s = written(fill_many);
  unit_query(s, NULL, &seen);
  ck_assert_int_eq(seen.n, 1200);
  check_ascending(&seen);
  int64_t observations = 0;
  for (int i = 0; i < seen.n; i++)
    observations += seen.r[i].observations;
  ck_assert_int_eq(observations, 1320);
  const hone_store_info info = unit_info(s);
  ck_assert(info.records == 1200 && info.failed == 300 && info.repeated == 120 && info.contested == 0);
  ck_assert(info.tasks == 3 && info.segments == 7 && info.damaged == 0 && info.bytes > 0);
  unit_close(s);
}
END_TEST

static hone_status check_task(void *arg, const hone_store_task_info *t, hone_err *err)
{
  int *n = arg;
  (void)err;
  ck_assert(t->records == 400 && t->failed == 100 && t->contested == 0 && t->best_cycles == 1000);
  ck_assert(hone_hash_cmp(t->operator_hash, hone_hash_text(t->task.operator_text)) == 0);
  ck_assert(hone_hash_cmp(t->machine_hash, hone_hash_text(t->task.machine_text)) == 0);
  ck_assert_str_eq(t->evaluator, "simulator");
  ck_assert_int_eq(t->evaluator_version, 1);
  ++*n;
  return HONE_OK;
}

START_TEST(tasks_are_counted)
{
  hone_store *s = written(fill_many);
  hone_err err = {0};
  int n = 0;
  unit_ok(hone_store_tasks(s, NULL, check_task, &n, &err), &err);
  ck_assert_int_eq(n, 3);
  unit_ok(hone_store_tasks(s, &(hone_store_filter){.operator_name = "conv2d"}, check_task, &n, &err), &err);
  ck_assert_int_eq(n, 3);
  ck_assert_str_eq(hone_store_path(s), fixture_path("s.hone"));
  unit_close(s);
}
END_TEST

START_TEST(filters_narrow)
{
  hone_store *s = written(fill_many);
  const hone_record want = unit_record(1, 0, 0);
  char hash[HONE_HASH_TEXT];
  unit_query(s, &(hone_store_filter){.task = &want.task}, &seen);
  ck_assert_int_eq(seen.n, 400);
  unit_query(s, &(hone_store_filter){.task = &want.task, .outcome = HONE_STORE_FAILED}, &seen);
  ck_assert_int_eq(seen.n, 100);
  unit_query(s, &(hone_store_filter){.outcome = HONE_STORE_SUCCEEDED}, &seen);
  ck_assert_int_eq(seen.n, 900);
  unit_query(s, &(hone_store_filter){.reason_code = "allocation"}, &seen);
  ck_assert_int_eq(seen.n, 300);
  unit_query(s, &(hone_store_filter){.reason_code = "capacity"}, &seen);
  ck_assert_int_eq(seen.n, 0);
  hone_hash_print(hone_hash_text(want.task.operator_text), hash);
  hash[8] = '\0';
  unit_query(s, &(hone_store_filter){.operator_hash = hash, .operator_name = "matmul", .machine_name = "teaching"}, &seen);
  ck_assert_int_eq(seen.n, 400);
  unit_query(s, &(hone_store_filter){.evaluator = "simulator", .evaluator_version = 2}, &seen);
  ck_assert_int_eq(seen.n, 0);
  unit_query(s, &(hone_store_filter){.kinds = HONE_KIND_BEST}, &seen);
  ck_assert_int_eq(seen.n, 0);
  unit_close(s);
}
END_TEST

static hone_status stop_at_third(void *arg, const hone_record *r, hone_err *err)
{
  (void)r, (void)err;
  return ++*(int *)arg == 3 ? HONE_NOT_FOUND : HONE_OK;
}

START_TEST(a_visit_can_end_the_walk)
{
  hone_store *s = written(fill_many);
  int n = 0;
  ck_assert_int_eq(hone_store_query(s, NULL, stop_at_third, &n, NULL), HONE_NOT_FOUND);
  ck_assert_int_eq(n, 3);
  unit_close(s);
}
END_TEST

START_TEST(top_equals_the_head_of_the_query)
{
  hone_store *s = written(fill_many);
  static unit_visits all;
  hone_err err = {0};
  const hone_record want = unit_record(2, 0, 0);
  const hone_store_filter f = {.task = &want.task, .outcome = HONE_STORE_SUCCEEDED};
  const int ks[] = {0, 1, 10, 299, 300, 1000};
  all.n = 0;
  unit_query(s, &f, &all);
  ck_assert_int_eq(all.n, 300);
  for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
    seen.n = 0;
    unit_ok(hone_store_top(s, &f, ks[i], unit_collect, &seen, &err), &err);
    ck_assert_int_eq(seen.n, ks[i] < 300 ? ks[i] : 300);
    for (int k = 0; k < seen.n; k++)
      ck_assert_str_eq(seen.r[k].schedule, all.r[k].schedule);
  }
  hone_arena_free(all.arena);
  all.arena = NULL;
  unit_close(s);
}
END_TEST

/* Schedule 1: 90 once, 100 three times: the majority, 100. Schedule 2: 95 and a
 * failure: a draw goes to the failure. Schedule 3: 50, 97, 300: the median. Each
 * observation in a segment of its own. */
static void fill_contested(hone_store *s)
{
  const struct {
    int schedule;
    int64_t cycles;
  } observation[] = {{1, 90}, {1, 100}, {1, 100}, {1, 100}, {2, 95}, {2, 0}, {3, 300}, {3, 50}, {3, 97}, {4, 110}};
  for (size_t i = 0; i < sizeof observation / sizeof *observation; i++) {
    const int schedule = observation[i].schedule;
    unit_append(s, observation[i].cycles ? unit_record(1, schedule, observation[i].cycles)
                                         : unit_failure(1, schedule, HONE_REASON_DEADLOCK, "stuck"));
    unit_flush(s);
  }
}

START_TEST(conflicting_evidence_is_kept_and_settled)
{
  hone_store *s = written(fill_contested);
  hone_err err = {0};
  ck_assert_int_eq(unit_info(s).contested, 3);
  unit_query(s, NULL, &seen);
  ck_assert_int_eq(seen.n, 8); /* 2 + 2 + 3 + 1 outcomes */
  for (int k = 1; k <= 10; k++) {
    seen.n = 0;
    unit_ok(hone_store_top(s, NULL, k, unit_collect, &seen, &err), &err);
    ck_assert_int_eq(seen.n, k < 3 ? k : 3);
    ck_assert_int_eq(seen.r[0].cycles, 97);
    ck_assert(seen.r[0].contested);
  }
  ck_assert(seen.r[1].cycles == 100 && seen.r[1].observations == 3 && seen.r[1].contested);
  ck_assert(seen.r[2].cycles == 110 && !seen.r[2].contested);
  unit_close(s);
}
END_TEST

/* Schedule 1: two evaluations, of the second a copy that stands for three; schedule 2
 * the same with the copies the other way round. Schedule 3: a draw of the most there can be. */
static void fill_copies(hone_store *s)
{
  static const struct {
    int schedule;
    int64_t cycles, time, observations;
  } row[] = {{1, 100, 5, 1}, {1, 100, 6, 1}, {1, 100, 6, 3}, {2, 200, 5, 1},         {2, 200, 6, 3},
             {2, 200, 6, 1}, {3, 10, 5, INT64_MAX}, {3, 300, 6, INT64_MAX}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    hone_record r = unit_record(1, row[i].schedule, row[i].cycles);
    r.time_unix_ns = row[i].time, r.observations = row[i].observations, r.host = "elsewhere";
    unit_append(s, r);
  }
}

START_TEST(copies_count_as_the_one_that_stands_for_most)
{
  hone_store *s = written(fill_copies);
  hone_err err = {0};
  seen.n = 0;
  unit_ok(hone_store_top(s, NULL, 5, unit_collect, &seen, &err), &err);
  ck_assert_int_eq(seen.n, 3);
  ck_assert(seen.r[0].cycles == 100 && seen.r[0].observations == 4);
  ck_assert(seen.r[1].cycles == 200 && seen.r[1].observations == 4);
  ck_assert_int_eq(seen.r[2].cycles, 300);
  unit_close(s);
}
END_TEST

/* 200 keys whose best observations come first in the stream but settle last. */
static void fill_deceptive(hone_store *s)
{
  for (int i = 0; i < 200; i++) {
    unit_append(s, unit_record(1, i, 10 + i));
    unit_append(s, unit_record(1, i, 5000 + i));
  }
  for (int i = 200; i < 300; i++)
    unit_append(s, unit_record(1, i, 1000 + i));
}

START_TEST(top_looks_beyond_keys_that_settle_late)
{
  hone_store *s = written(fill_deceptive);
  hone_err err = {0};
  unit_ok(hone_store_top(s, NULL, 5, unit_collect, &seen, &err), &err);
  ck_assert_int_eq(seen.n, 5);
  for (int i = 0; i < 5; i++)
    ck_assert_int_eq(seen.r[i].cycles, 1200 + i);
  unit_close(s);
}
END_TEST

static void fill_kinds(hone_store *s)
{
  hone_record r = unit_record(1, 1, 100);
  r.kinds = HONE_KIND_DEFAULT;
  unit_append(s, r);
  unit_flush(s);
  r.kinds = HONE_KIND_BEST;
  r.task.operator_name = "gemm", r.task.machine_name = "renamed", r.task.label = "other";
  unit_append(s, r);
}

START_TEST(renaming_changes_nothing)
{
  hone_store *s = written(fill_kinds);
  unit_query(s, NULL, &seen);
  ck_assert_int_eq(seen.n, 1);
  ck_assert_uint_eq(seen.r[0].kinds, HONE_KIND_DEFAULT | HONE_KIND_BEST);
  ck_assert_int_eq(seen.r[0].observations, 2);
  ck_assert_str_eq(seen.r[0].task.machine_name, "teaching"); /* of the earlier one */
  ck_assert_int_eq(unit_info(s).tasks, 1);
  unit_close(s);
}
END_TEST

static void fill_unspecified(hone_store *s)
{
  hone_record r = unit_record(1, 1, 100);
  r.task.spec = NULL;
  unit_append(s, r);
  unit_flush(s);
  unit_append(s, unit_record(1, 1, 100));
}

START_TEST(a_known_spec_is_shown_rather_than_none)
{
  hone_store *s = written(fill_unspecified);
  hone_arena *a = hone_arena_new();
  hone_record best;
  hone_err err = {0};
  const hone_record want = unit_record(1, 1, 0);
  unit_query(s, NULL, &seen);
  ck_assert(seen.n == 1 && seen.r[0].observations == 2);
  ck_assert_str_eq(seen.r[0].task.spec, "matmul --size m=1");
  unit_ok(hone_store_best(s, &want.task, "simulator", 0, a, &best, &err), &err);
  ck_assert_str_eq(best.task.spec, "matmul --size m=1");
  hone_arena_free(a);
  unit_close(s);
}
END_TEST

static hone_status name_best(void *arg, const hone_record *r, hone_err *err)
{
  hone_record again = *r;
  again.kinds = HONE_KIND_BEST, again.observations = 1;
  return hone_store_append(arg, &again, err);
}

START_TEST(another_kind_is_no_further_observation)
{
  hone_store *s = unit_open(fixture_path("s.hone"), HONE_STORE_WRITE);
  hone_err err = {0};
  hone_record r = unit_record(1, 1, 100);
  for (int i = 0; i < 2; i++) {
    unit_append(s, r);
    unit_flush(s);
  }
  for (int i = 0; i < 2; i++) {
    unit_ok(hone_store_refresh(s, &err), &err);
    unit_query(s, NULL, &seen);
    ck_assert(seen.n == 1 && seen.r[0].observations == 2);
    unit_ok(hone_store_query(s, NULL, name_best, s, &err), &err);
    unit_flush(s);
  }
  unit_ok(hone_store_refresh(s, &err), &err);
  unit_query(s, NULL, &seen);
  ck_assert_int_eq(seen.n, 1);
  ck_assert_int_eq(seen.r[0].observations, 2);
  ck_assert_uint_eq(seen.r[0].kinds, HONE_KIND_BEST | HONE_KIND_SEARCH);
  unit_close(s);
}
END_TEST

START_TEST(copies_of_a_segment_count_once)
{
  char names[4][64];
  size_t n;
  unit_close(written(fill_every_field));
  ck_assert_int_eq(fixture_list(fixture_path("s.hone"), ".h5", names, 4), 1);
  unsigned char *bytes = fixture_load(fixture_join(fixture_path("s.hone"), names[0]), &n);
  fixture_save(fixture_path("s.hone/copy.h5"), bytes, n);
  fixture_save(fixture_path("alone.h5"), bytes, n);
  free(bytes);
  hone_store *s = unit_open(fixture_path("s.hone"), HONE_STORE_READ);
  ck_assert(unit_info(s).segments == 1 && unit_info(s).records == 2 && unit_info(s).repeated == 0);
  unit_close(s);
  s = unit_open(fixture_path("alone.h5"), HONE_STORE_READ); /* one file is a store */
  ck_assert(unit_info(s).segments == 1 && unit_info(s).records == 2);
  unit_close(s);
}
END_TEST

START_TEST(one_file_is_not_written_to)
{
  hone_store *s;
  hone_err err = {0};
  fixture_save(fixture_path("alone.h5"), "x", 1);
  ck_assert_int_eq(hone_store_open(fixture_path("alone.h5"), HONE_STORE_WRITE, &s, &err), HONE_USAGE);
  ck_assert_str_eq(err.code, "store.read-only");
}
END_TEST

static void fill_best(hone_store *s)
{
  hone_record r = unit_record(1, 1, 100);
  unit_append(s, unit_record(1, 2, 120));
  unit_append(s, r);
  unit_append(s, unit_failure(1, 3, HONE_REASON_DEADLOCK, "stuck"));
  r.cycles = 50, r.evaluator = "model";
  unit_append(s, r);
  r.cycles = 130, r.evaluator = "simulator", r.evaluator_version = 2;
  unit_append(s, r);
  unit_append(s, unit_failure(2, 3, HONE_REASON_DEADLOCK, "stuck"));
}

static void miss(hone_store *s, const hone_store_task *t, const char *evaluator, int version, const char *path,
                 const char *word)
{
  hone_arena *a = hone_arena_new();
  hone_record r;
  hone_err err = {0};
  ck_assert_int_eq(hone_store_best(s, t, evaluator, version, a, &r, &err), HONE_NOT_FOUND);
  ck_assert_str_eq(err.path, path);
  ck_assert_msg(strstr(err.message, word) != NULL, "'%s' in: %s", word, err.message);
  hone_arena_free(a);
}

START_TEST(best_is_exact_and_says_why_not)
{
  hone_store *s = written(fill_best);
  hone_arena *a = hone_arena_new();
  hone_record r, want = unit_record(1, 1, 0), other = unit_record(4, 1, 0), failing = unit_record(2, 1, 0);
  hone_err err = {0};
  unit_ok(hone_store_best(s, &want.task, "simulator", 1, a, &r, &err), &err);
  ck_assert(r.cycles == 100 && !strcmp(r.schedule, want.schedule) && r.evaluator_version == 1);
  unit_ok(hone_store_best(s, &want.task, "simulator", 0, a, &r, &err), &err);
  ck_assert(r.cycles == 130 && r.evaluator_version == 2); /* the newest version, though slower */
  unit_ok(hone_store_best(s, &want.task, "model", 1, a, &r, &err), &err);
  ck_assert_int_eq(r.cycles, 50);
  miss(s, &want.task, "hardware", 1, "evaluator", "'simulator'");
  miss(s, &want.task, "simulator", 3, "evaluator_version", "version 2 is stale");
  miss(s, &failing.task, "simulator", 1, "", "every schedule failed");
  miss(s, &other.task, "simulator", 1, "operator", "in line 2: 'extent 0 = 1024' asked");
  want.task.machine_text = "clock_hz 1000000000\ncores 9\n";
  miss(s, &want.task, "simulator", 1, "machine", "in line 2: 'cores 9' asked, 'cores 1' stored");
  unit_close(s);
  hone_arena_free(a);
}
END_TEST

START_TEST(why_miss_names_the_parameter)
{
  hone_store *s = written(fill_best);
  const hone_record want = unit_record(1, 1, 0), failed = unit_record(1, 3, 0);
  const struct {
    const char *schedule, *path, *word;
  } miss_of[] = {{failed.schedule, "", "this schedule failed"},
                 {"tile.1.m=2 order.1=n,m,k at.W.1=3", "schedule", "'order.1=n,m,k' asked, 'order.1=m,n,k' stored"},
                 {"tile.1.m=2", "schedule", "'tile.1.m=2' asked"}};
  hone_err err = {0};
  unit_ok(hone_store_why_miss(s, &want.task, "simulator", 1, want.schedule, &err), &err);
  unit_ok(hone_store_why_miss(s, &want.task, "simulator", 1, NULL, &err), &err);
  for (size_t i = 0; i < sizeof miss_of / sizeof *miss_of; i++) {
    ck_assert_int_eq(hone_store_why_miss(s, &want.task, "simulator", 1, miss_of[i].schedule, &err), HONE_NOT_FOUND);
    ck_assert_str_eq(err.path, miss_of[i].path);
    ck_assert_msg(strstr(err.message, miss_of[i].word) != NULL, "'%s' in: %s", miss_of[i].word, err.message);
  }
  unit_close(s);
}
END_TEST

START_TEST(exports_hold_every_record)
{
  hone_store *s = written(fill_every_field);
  hone_text t = {0};
  hone_err err = {0};
  unit_ok(hone_store_export_csv(s, NULL, unit_into_text, &t, &err), &err);
  ck_assert_ptr_nonnull(strstr(t.data, "key,operator_name,label,spec,machine_name,evaluator,evaluator_version,"));
  ck_assert_ptr_nonnull(strstr(t.data, ",none,,9223372036854775807,9223372036854775806,5,12,dram,\"tile.1.m=64 order.1=m,n,k at.W.1=3\",default|best,1,18446744073709551615,17,"));
  ck_assert_ptr_nonnull(strstr(t.data, ",capacity,\"sbuf: 27 of 25 \"\"MB\"\", \xc3\xbc\",0,0,-1,"));
  hone_text_clear(&t);
  unit_ok(hone_store_export_json(s, NULL, unit_into_text, &t, &err), &err);
  ck_assert_ptr_nonnull(strstr(t.data, "\"message\": \"sbuf: 27 of 25 \\\"MB\\\", \xc3\xbc\", \"cycles\": 0,"));
  ck_assert_ptr_nonnull(strstr(t.data, "\"time_unix_ns\": 1700000000123456789"));
  hone_text_fini(&t);
  unit_close(s);
}
END_TEST

static void fill_odd_texts(hone_store *s)
{
  hone_record r = {.evaluator = "e"}; /* all texts absent */
  unit_append(s, r);
  char *wide = malloc(100001);
  memset(wide, 'w', 100000);
  wide[100000] = '\0';
  r.schedule = wide, r.task.label = "\xff\x01";
  unit_append(s, r);
  free(wide);
}

START_TEST(odd_texts_survive)
{
  hone_store *s = written(fill_odd_texts);
  hone_text t = {0};
  hone_err err = {0};
  unit_query(s, NULL, &seen);
  ck_assert_int_eq(seen.n, 2);
  ck_assert_str_eq(seen.r[0].schedule, "");
  ck_assert_int_eq((int)strlen(seen.r[1].schedule), 100000);
  unit_ok(hone_store_export_json(s, NULL, unit_into_text, &t, &err), &err);
  ck_assert_ptr_nonnull(strstr(t.data, "\"label\": \"\\ufffd\\u0001\""));
  hone_text_fini(&t);
  unit_close(s);
}
END_TEST

START_TEST(paths_of_any_bytes_work)
{
  const char *names[] = {"with blank.hone", "qu'o\"te.hone", "\xe5\x90\x8d.hone", "\xff\xfe.hone"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    hone_store *s = unit_open(fixture_path(names[i]), HONE_STORE_WRITE);
    unit_append(s, unit_record(1, 1, 100));
    unit_close(s);
    s = unit_open(fixture_path(names[i]), HONE_STORE_READ);
    ck_assert_int_eq(unit_info(s).records, 1);
    unit_close(s);
  }
}
END_TEST

START_TEST(verify_passes_what_was_written)
{
  hone_store *s = written(fill_many);
  hone_err err = {0};
  unit_ok(hone_store_verify(s, &err), &err);
  unit_close(s);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("store");
  TCase *c = tcase_create("store");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_set_timeout(c, 30);
  tcase_add_test(c, digest_is_xxh64);
  tcase_add_test(c, keys_are_the_same_on_every_host);
  tcase_add_test(c, every_field_survives);
  tcase_add_test(c, nothing_shows_before_flush);
  tcase_add_test(c, query_merges_segments_in_canonical_order);
  tcase_add_test(c, tasks_are_counted);
  tcase_add_test(c, filters_narrow);
  tcase_add_test(c, a_visit_can_end_the_walk);
  tcase_add_test(c, top_equals_the_head_of_the_query);
  tcase_add_test(c, conflicting_evidence_is_kept_and_settled);
  tcase_add_test(c, copies_count_as_the_one_that_stands_for_most);
  tcase_add_test(c, top_looks_beyond_keys_that_settle_late);
  tcase_add_test(c, renaming_changes_nothing);
  tcase_add_test(c, a_known_spec_is_shown_rather_than_none);
  tcase_add_test(c, another_kind_is_no_further_observation);
  tcase_add_test(c, copies_of_a_segment_count_once);
  tcase_add_test(c, one_file_is_not_written_to);
  tcase_add_test(c, best_is_exact_and_says_why_not);
  tcase_add_test(c, why_miss_names_the_parameter);
  tcase_add_test(c, exports_hold_every_record);
  tcase_add_test(c, odd_texts_survive);
  tcase_add_test(c, paths_of_any_bytes_work);
  tcase_add_test(c, verify_passes_what_was_written);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
