/* store: compaction, merging and repair change files, never what is in them. */
#include "config.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "lib/case_count.h"
#include "unit/store_unit.h"

static char path_a[600], path_b[600];

static void setup(void)
{
  fixture_directory();
  snprintf(path_a, sizeof path_a, "%s", fixture_path("a.hone"));
  snprintf(path_b, sizeof path_b, "%s", fixture_path("b.hone"));
}

static void teardown(void) { fixture_remove(); }

/* `segments` segments of 20 records in 3 tasks, from number `first` on: failures,
 * repeated evidence and contested keys among them. */
static void fill(const char *path, int first, int segments)
{
  hone_store *s = unit_open(path, HONE_STORE_WRITE);
  for (int k = first; k < first + segments; k++) {
    for (int i = 0; i < 20; i++) {
      const int number = k * 10 + i; /* half of them again in the next segment */
      unit_append(s, number % 7 == 6 ? unit_failure(number % 3, number, HONE_REASON_ALLOCATION, "no room")
                                     : unit_record(number % 3, number, 1000 + number % 50 + (number % 11 == 0) * k));
    }
    unit_flush(s);
  }
  unit_close(s);
}

/* What the store holds, as text; heap. */
static char *content(const char *path)
{
  hone_text t = {0};
  hone_err err = {0};
  hone_store *s = unit_open(path, HONE_STORE_READ);
  ck_assert_int_eq(hone_store_damaged_count(s), 0);
  unit_ok(hone_store_export_csv(s, NULL, unit_into_text, &t, &err), &err);
  unit_close(s);
  return t.data;
}

static void check_content(const char *path, const char *want)
{
  char *have = content(path);
  ck_assert_msg(strcmp(have, want) == 0, "the records differ"); /* too long to print */
  free(have);
}

static hone_store_compaction compact(const char *path, int64_t max_records)
{
  hone_store_compaction c;
  hone_err err = {0};
  hone_store *s = unit_open(path, HONE_STORE_WRITE);
  unit_ok(hone_store_compact(s, max_records, &c, &err), &err);
  unit_ok(hone_store_verify(s, &err), &err);
  unit_close(s);
  return c;
}

static int segments(const char *path)
{
  char names[256][64];
  return fixture_list(path, ".h5", names, 256);
}

START_TEST(compaction_changes_no_record)
{
  fill(path_a, 0, 12);
  char *before = content(path_a);
  const hone_store_compaction c = compact(path_a, 0);
  ck_assert(c.merged == 12 && c.made == 1 && c.removed == 12);
  ck_assert_int_eq(segments(path_a), 1);
  check_content(path_a, before);
  hone_store *s = unit_open(path_a, HONE_STORE_READ);
  ck_assert_int_gt(unit_info(s).contested, 0);
  ck_assert_int_eq(unit_info(s).repeated, 0);
  unit_close(s);
  ck_assert_int_eq(compact(path_a, 0).made, 0); /* nothing left to do */
  free(before);
}
END_TEST

START_TEST(compaction_respects_the_limit)
{
  fill(path_a, 0, 12);
  char *before = content(path_a);
  const hone_store_compaction c = compact(path_a, 70);
  ck_assert(c.merged == 12 && c.made == 4 && c.removed == 12);
  ck_assert_int_eq(segments(path_a), 4);
  check_content(path_a, before);
  fill(path_a, 12, 3);
  free(before);
  before = content(path_a);
  compact(path_a, 0); /* compacted ones are compacted again */
  ck_assert_int_eq(segments(path_a), 1);
  check_content(path_a, before);
  free(before);
}
END_TEST

static void copy_segments(const char *from, const char *to)
{
  char names[256][64];
  const int n = fixture_list(from, ".h5", names, 256);
  for (int i = 0; i < n; i++) {
    size_t bytes;
    unsigned char *data = fixture_load(fixture_join(from, names[i]), &bytes);
    fixture_save(fixture_join(to, names[i]), data, bytes);
    free(data);
  }
}

/* As a compaction leaves things that dies before it removes what it replaced. */
START_TEST(replaced_segments_do_not_count_again)
{
  fill(path_a, 0, 6);
  unit_close(unit_open(path_b, HONE_STORE_WRITE));
  copy_segments(path_a, path_b);
  char *before = content(path_a);
  compact(path_a, 50);
  compact(path_a, 0);
  copy_segments(path_b, path_a);
  ck_assert_int_eq(segments(path_a), 7);
  check_content(path_a, before);
  const hone_store_compaction c = compact(path_a, 0);
  ck_assert(c.made == 0 && c.removed == 6);
  ck_assert_int_eq(segments(path_a), 1);
  check_content(path_a, before);
  free(before);
}
END_TEST

static hone_store_merger merge(const char *to, const char *from)
{
  hone_store_merger m;
  hone_err err = {0};
  hone_store *s = unit_open(to, HONE_STORE_WRITE);
  unit_ok(hone_store_merge(s, from, &m, &err), &err);
  unit_close(s);
  return m;
}

START_TEST(merging_copies_what_is_missing)
{
  fill(path_a, 0, 4);
  fill(path_b, 4, 3);
  hone_store_merger m = merge(path_a, path_b);
  ck_assert(m.copied == 3 && m.known == 0 && m.damaged == 0);
  char *both = content(path_a);
  m = merge(path_a, path_b);
  ck_assert(m.copied == 0 && m.known == 3);
  check_content(path_a, both);
  compact(path_a, 0);
  m = merge(path_a, path_b); /* known, though compacted away */
  ck_assert(m.copied == 0 && m.known == 3);
  check_content(path_a, both);
  free(both);
}
END_TEST

START_TEST(a_partial_merge_is_an_error_with_counts)
{
  hone_store_merger m;
  hone_err err = {0};
  fill(path_b, 0, 3);
  char names[8][64];
  fixture_list(path_b, ".h5", names, 8);
  ck_assert_int_eq(truncate(fixture_join(path_b, names[1]), 2000), 0);
  hone_store *s = unit_open(path_a, HONE_STORE_WRITE);
  ck_assert_int_eq(hone_store_merge(s, path_b, &m, &err), HONE_STORE);
  ck_assert_str_eq(err.code, "store.partial-merge");
  ck_assert(m.copied == 2 && m.damaged == 1);
  ck_assert_int_eq(unit_info(s).segments, 2);
  unit_close(s);
}
END_TEST

START_TEST(repair_moves_damaged_segments_aside)
{
  int moved;
  hone_err err = {0};
  fill(path_a, 0, 3);
  fixture_save(fixture_path("a.hone/foreign.h5"), "x", 1);
  hone_store *s = unit_open(path_a, HONE_STORE_WRITE);
  ck_assert_int_eq(hone_store_damaged_count(s), 1);
  unit_ok(hone_store_repair(s, &moved, &err), &err);
  ck_assert_int_eq(moved, 1);
  ck_assert_int_eq(hone_store_damaged_count(s), 0);
  ck_assert_int_eq(fixture_count(path_a, "foreign.h5.damaged"), 1);
  unit_ok(hone_store_verify(s, &err), &err);
  unit_close(s);
}
END_TEST

START_TEST(repair_throws_nothing_away)
{
  int moved;
  hone_err err = {0};
  fill(path_a, 0, 1);
  hone_store *s = unit_open(path_a, HONE_STORE_WRITE);
  for (int i = 0; i < 3; i++) { /* under one name, again and again */
    fixture_save(fixture_path("a.hone/foreign.h5"), "xxx", (size_t)i + 1);
    unit_ok(hone_store_refresh(s, &err), &err);
    unit_ok(hone_store_repair(s, &moved, &err), &err);
    ck_assert_int_eq(moved, 1);
  }
  ck_assert_int_eq(fixture_count(path_a, "foreign.h5.damaged"), 3);
  unit_close(s);
}
END_TEST

/* A file that cannot be opened now is no proof of damage. */
START_TEST(repair_leaves_what_cannot_be_read)
{
  int moved;
  hone_err err = {0};
  fill(path_a, 0, 1);
  ck_assert_int_eq(symlink("loop.h5", fixture_path("a.hone/loop.h5")), 0); /* to itself */
  fixture_save(fixture_path("a.hone/foreign.h5"), "x", 1);
  hone_store *s = unit_open(path_a, HONE_STORE_WRITE);
  ck_assert_int_eq(hone_store_damaged_count(s), 2);
  ck_assert_int_eq(hone_store_repair(s, &moved, &err), HONE_IO);
  ck_assert_str_eq(err.code, "store.unreadable");
  ck_assert_str_eq(err.file, "loop.h5");
  ck_assert_int_eq(moved, 1);
  ck_assert_int_eq(fixture_count(path_a, "loop.h5.damaged"), 0);
  unit_close(s);
}
END_TEST

START_TEST(what_was_compacted_away_is_not_damaged)
{
  hone_err err = {0};
  fill(path_a, 0, 3);
  hone_store *s = unit_open(path_a, HONE_STORE_READ);
  compact(path_a, 0);
  unit_ok(hone_store_verify(s, &err), &err);
  unit_close(s);
}
END_TEST

START_TEST(a_reader_of_removed_segments_is_told)
{
  static unit_visits v;
  hone_err err = {0};
  fill(path_a, 0, 3);
  hone_store *reader = unit_open(path_a, HONE_STORE_READ);
  compact(path_a, 0);
  ck_assert_int_eq(hone_store_query(reader, NULL, unit_collect, &v, &err), HONE_STORE);
  ck_assert_ptr_nonnull(strstr(err.hint, "open it again"));
  unit_ok(hone_store_refresh(reader, &err), &err);
  unit_query(reader, NULL, &v);
  ck_assert_int_gt(v.n, 0);
  hone_arena_free(v.arena);
  unit_close(reader);
}
END_TEST

/* Writes one record per segment and compacts all the time; says how many are
 * durable. */
static void compact_for_ever(int first, int acknowledge)
{
  hone_store_compaction c;
  hone_err err = {0};
  hone_store *s = unit_open(path_a, HONE_STORE_WRITE);
  for (int n = first;; n++) {
    unit_append(s, unit_record(1, n, 1000 + n % 10));
    unit_flush(s);
    if (write(acknowledge, &n, sizeof n) != sizeof n) _exit(1);
    if (n % 3 == 0) unit_ok(hone_store_compact(s, 0, &c, &err), &err);
  }
}

static int killed_compaction(int last, long us)
{
  int fds[2], n;
  ck_assert_int_eq(pipe(fds), 0);
  const pid_t pid = fork();
  ck_assert_int_ge(pid, 0);
  if (pid == 0) {
    alarm(30);
    compact_for_ever(last + 1, fds[1]);
  }
  close(fds[1]);
  if (read(fds[0], &n, sizeof n) == sizeof n) last = n; /* from the first sign of life on */
  nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  while (read(fds[0], &n, sizeof n) == sizeof n)
    last = n;
  close(fds[0]);
  return last;
}

START_TEST(kill_9_in_compaction_loses_and_repeats_nothing)
{
  static unit_visits v;
  hone_rng rng;
  int last = -1;
  hone_rng_init(&rng, 4);
  unit_close(unit_open(path_a, HONE_STORE_WRITE));
  for (int i = 0; i < case_count(20); i++) {
    last = killed_compaction(last, hone_rng_below(&rng, 30000));
    hone_store *s = unit_open(path_a, HONE_STORE_READ);
    ck_assert_int_eq(hone_store_damaged_count(s), 0);
    hone_arena_free(v.arena);
    v.arena = NULL;
    unit_query(s, NULL, &v);
    ck_assert(v.n == last + 1 || v.n == last + 2); /* the last may be durable, yet not acknowledged */
    for (int k = 0; k < v.n; k++)
      ck_assert_int_eq(v.r[k].observations, 1);
    last = v.n - 1;
    unit_close(s);
  }
  hone_arena_free(v.arena);
  ck_assert_int_gt(last, 0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("store/compact");
  TCase *c = tcase_create("compact");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_set_timeout(c, 60 + case_count(20));
  tcase_add_test(c, compaction_changes_no_record);
  tcase_add_test(c, compaction_respects_the_limit);
  tcase_add_test(c, replaced_segments_do_not_count_again);
  tcase_add_test(c, merging_copies_what_is_missing);
  tcase_add_test(c, a_partial_merge_is_an_error_with_counts);
  tcase_add_test(c, repair_moves_damaged_segments_aside);
  tcase_add_test(c, repair_throws_nothing_away);
  tcase_add_test(c, repair_leaves_what_cannot_be_read);
  tcase_add_test(c, what_was_compacted_away_is_not_damaged);
  tcase_add_test(c, a_reader_of_removed_segments_is_told);
  tcase_add_test(c, kill_9_in_compaction_loses_and_repeats_nothing);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
