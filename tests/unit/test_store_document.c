/* store: documents live with the records, the newest of a subject counts; segments
 * of schema 1, which know neither documents nor specs, are read as ever. */
#include "config.h"

#include <sys/stat.h>

#include "unit/store_unit.h"

static char path_a[600], path_b[600];
static hone_text have;

static void setup(void)
{
  fixture_directory();
  snprintf(path_a, sizeof path_a, "%s", fixture_path("a.hone"));
  snprintf(path_b, sizeof path_b, "%s", fixture_path("b.hone"));
}

static void teardown(void)
{
  hone_text_fini(&have);
  fixture_remove();
}

static void check(const char *path, const char *kind, const char *want)
{
  hone_err err = {0};
  hone_store *s = unit_open(path, HONE_STORE_READ);
  unit_documents(s, kind, &have);
  ck_assert_str_eq(have.data, want);
  unit_ok(hone_store_verify(s, &err), &err);
  unit_close(s);
}

static hone_store_compaction compact(const char *path, int64_t limit)
{
  hone_store_compaction c;
  hone_err err = {0};
  hone_store *s = unit_open(path, HONE_STORE_WRITE);
  unit_ok(hone_store_compact(s, limit, &c, &err), &err);
  unit_close(s);
  return c;
}

static int segments(const char *path)
{
  char names[64][64];
  return fixture_list(path, ".h5", names, 64);
}

START_TEST(documents_alone_make_a_segment)
{
  hone_store *s = unit_open(path_a, HONE_STORE_WRITE);
  hone_err err = {0};
  unit_put(s, "range", "b", "2");
  unit_put(s, "range", "a", "{\"x\": 1}\n\xc3\xbc");
  unit_put(s, "note", "z", NULL);
  ck_assert_int_eq(hone_store_pending(s), 3);
  unit_documents(s, NULL, &have);
  ck_assert_str_eq(have.data, ""); /* pending ones do not show */
  unit_flush(s);
  unit_ok(hone_store_refresh(s, &err), &err);
  const hone_store_info info = unit_info(s);
  ck_assert(info.segments == 1 && info.records == 0 && info.tasks == 0 && info.documents == 3);
  unit_close(s);
  ck_assert_int_eq(segments(path_a), 1);
  check(path_a, NULL, "note|z|\nrange|a|{\"x\": 1}\n\xc3\xbc\nrange|b|2\n");
  check(path_a, "range", "range|a|{\"x\": 1}\n\xc3\xbc\nrange|b|2\n");
  check(path_a, "rang", "");
}
END_TEST

START_TEST(documents_share_the_segment_of_the_records)
{
  hone_store *s = unit_open(path_a, HONE_STORE_WRITE);
  unit_put(s, "range", "a", "1");
  unit_append(s, unit_record(1, 1, 100));
  unit_close(s);
  ck_assert_int_eq(segments(path_a), 1);
  s = unit_open(path_a, HONE_STORE_READ);
  ck_assert(unit_info(s).records == 1 && unit_info(s).documents == 1);
  unit_close(s);
}
END_TEST

static hone_status check_host(void *arg, const hone_store_document *d, hone_err *err)
{
  (void)err;
  ck_assert_int_gt((int)strlen(d->host), 0);
  *(int64_t *)arg = d->time_unix_ns;
  return HONE_OK;
}

START_TEST(the_newest_counts_whatever_the_order)
{
  hone_err err = {0};
  int64_t time = 0;
  hone_store *s = unit_open(path_a, HONE_STORE_WRITE);
  const hone_store_document old = {.kind = "k", .subject = "s", .text = "old", .time_unix_ns = 5},
                            young = {.kind = "k", .subject = "s", .text = "young", .time_unix_ns = 6};
  unit_ok(hone_store_put(s, &young, &err), &err);
  unit_ok(hone_store_put(s, &old, &err), &err); /* later, but of an earlier time */
  unit_flush(s);
  check(path_a, NULL, "k|s|young\n");
  unit_put(s, "k", "s", "now");
  unit_put(s, "k", "s", "a moment later");
  unit_flush(s);
  unit_ok(hone_store_put(s, &young, &err), &err);
  unit_close(s);
  check(path_a, NULL, "k|s|a moment later\n");
  s = unit_open(path_a, HONE_STORE_READ);
  unit_ok(hone_store_documents(s, "k", check_host, &time, &err), &err);
  ck_assert_int_gt(time, 1700000000000000000);
  unit_close(s);
}
END_TEST

/* Of a host whose clock is years ahead; what is put by one who sees it counts. */
START_TEST(a_clock_that_is_behind_hides_nothing)
{
  const int64_t ahead = INT64_C(4000000000000000000);
  const hone_store_document future = {.kind = "k", .subject = "s", .text = "future", .time_unix_ns = ahead},
                            other = {.kind = "k", .subject = "t", .text = "other", .time_unix_ns = ahead};
  hone_err err = {0};
  hone_store *s = unit_open(path_a, HONE_STORE_WRITE);
  unit_ok(hone_store_put(s, &other, &err), &err);
  unit_ok(hone_store_put(s, &future, &err), &err);
  unit_put(s, "k", "s", "pending ones are seen");
  unit_close(s);
  check(path_a, NULL, "k|s|pending ones are seen\nk|t|other\n");
  s = unit_open(path_a, HONE_STORE_WRITE);
  unit_put(s, "k", "s", "stored ones are seen");
  unit_close(s);
  check(path_a, NULL, "k|s|stored ones are seen\nk|t|other\n");
}
END_TEST

START_TEST(documents_of_one_instant_are_settled_alike)
{
  const char *path[] = {path_a, path_b}, *text[] = {"x", "y"};
  for (int i = 0; i < 2; i++) {
    hone_store *s = unit_open(path[i], HONE_STORE_WRITE);
    for (int k = 0; k < 2; k++) {
      hone_err err = {0};
      unit_ok(hone_store_put(s, &(hone_store_document){.kind = "k", .subject = "s", .text = text[k ^ i], .time_unix_ns = 5}, &err), &err);
      unit_flush(s);
    }
    unit_close(s);
  }
  hone_store *s = unit_open(path_a, HONE_STORE_READ);
  unit_documents(s, NULL, &have);
  char *want = strdup(have.data);
  unit_close(s);
  check(path_b, NULL, want);
  compact(path_a, 0);
  check(path_a, NULL, want);
  free(want);
}
END_TEST

START_TEST(large_documents_survive_and_too_large_are_refused)
{
  const size_t n = 3 << 20, most = 64 << 20;
  char *text = malloc(most + 2);
  hone_err err = {0};
  memset(text, 'x', most + 1);
  text[most + 1] = '\0';
  hone_store *s = unit_open(path_a, HONE_STORE_WRITE);
  const hone_store_document d = {.kind = "k", .subject = "s", .text = text};
  ck_assert_int_eq(hone_store_put(s, &d, &err), HONE_USAGE);
  ck_assert_str_eq(err.code, "store.document-size");
  ck_assert_int_eq(hone_store_pending(s), 0);
  text[n] = '\0';
  unit_ok(hone_store_put(s, &d, &err), &err);
  unit_close(s);
  s = unit_open(path_a, HONE_STORE_READ);
  unit_documents(s, NULL, &have);
  ck_assert_uint_eq(have.length, n + strlen("k|s|\n"));
  unit_close(s);
  free(text);
}
END_TEST

/* In cells of one width these would take 1.6 GB. */
START_TEST(one_large_document_does_not_widen_the_others)
{
  const size_t n = 4 << 20;
  char *text = malloc(n + 1), subject[16];
  memset(text, 'x', n);
  text[n] = '\0';
  hone_store *s = unit_open(path_a, HONE_STORE_WRITE);
  unit_put(s, "k", "large", text);
  for (int i = 0; i < 400; i++) {
    snprintf(subject, sizeof subject, "%d", i);
    unit_put(s, "k", subject, "small");
  }
  unit_close(s);
  s = unit_open(path_a, HONE_STORE_READ);
  ck_assert(hone_store_damaged_count(s) == 0 && unit_info(s).documents == 401 && unit_info(s).bytes < 200000);
  unit_close(s);
  free(text);
}
END_TEST

/* Segment i: a record, a document of its own, and one every segment has. */
static void fill(const char *path, int first, int n)
{
  hone_store *s = unit_open(path, HONE_STORE_WRITE);
  for (int i = first; i < first + n; i++) {
    char subject[16];
    snprintf(subject, sizeof subject, "%d", i);
    unit_append(s, unit_record(1, i, 100 + i));
    unit_put(s, "own", subject, subject);
    unit_put(s, "shared", "s", subject);
    unit_flush(s);
  }
  unit_close(s);
}

static int64_t stored_documents(const char *path)
{
  char names[64][64];
  int64_t n = 0;
  const int files = fixture_list(path, ".h5", names, 64);
  for (int i = 0; i < files; i++) { /* one file is a store: what each holds */
    hone_store *s = unit_open(fixture_join(path, names[i]), HONE_STORE_READ);
    n += unit_info(s).documents;
    unit_close(s);
  }
  return n;
}

START_TEST(compaction_keeps_the_newest_only)
{
  fill(path_a, 0, 5);
  ck_assert_int_eq(stored_documents(path_a), 10);
  const hone_store_compaction c = compact(path_a, 0);
  ck_assert(c.merged == 5 && c.made == 1);
  const char *want = "own|0|0\nown|1|1\nown|2|2\nown|3|3\nown|4|4\nshared|s|4\n";
  check(path_a, NULL, want);
  ck_assert_int_eq(stored_documents(path_a), 6);
  ck_assert_int_eq(compact(path_a, 0).made, 0);
}
END_TEST

START_TEST(one_segment_is_made_anew_to_drop_documents)
{
  hone_store *s = unit_open(path_a, HONE_STORE_WRITE);
  for (int i = 0; i < 10; i++)
    unit_append(s, unit_record(1, i, 100 + i));
  unit_put(s, "k", "s", "old");
  unit_put(s, "k", "s", "new");
  unit_close(s);
  ck_assert_int_eq(compact(path_a, 10).made, 1); /* larger than half the limit */
  check(path_a, NULL, "k|s|new\n");
  ck_assert_int_eq(compact(path_a, 10).made, 0);
  ck_assert_int_eq(segments(path_a), 1);
}
END_TEST

START_TEST(a_segment_of_old_documents_only_may_vanish)
{
  hone_store *s = unit_open(path_a, HONE_STORE_WRITE);
  hone_err err = {0};
  unit_ok(hone_store_put(s, &(hone_store_document){.kind = "k", .subject = "s", .text = "old", .time_unix_ns = 1}, &err), &err);
  unit_flush(s);
  for (int i = 0; i < 10; i++)
    unit_append(s, unit_record(1, i, 100 + i));
  unit_put(s, "k", "s", "new");
  unit_close(s);
  compact(path_a, 10);
  check(path_a, NULL, "k|s|new\n");
  compact(path_a, 0);
  check(path_a, NULL, "k|s|new\n");
  s = unit_open(path_a, HONE_STORE_READ);
  ck_assert_int_eq(unit_info(s).records, 10);
  unit_close(s);
}
END_TEST

START_TEST(merging_brings_documents)
{
  hone_err err = {0};
  hone_store_merger m;
  fill(path_a, 0, 1);
  fill(path_b, 1, 1);
  hone_store *s = unit_open(path_a, HONE_STORE_WRITE);
  unit_ok(hone_store_merge(s, path_b, &m, &err), &err);
  unit_close(s);
  check(path_a, NULL, "own|0|0\nown|1|1\nshared|s|1\n");
}
END_TEST

static hone_status stop(void *arg, const hone_store_document *d, hone_err *err)
{
  (void)d, (void)err;
  ++*(int *)arg;
  return HONE_NOT_FOUND;
}

START_TEST(a_visit_can_end_the_walk)
{
  int n = 0;
  fill(path_a, 0, 2);
  hone_store *s = unit_open(path_a, HONE_STORE_READ);
  ck_assert_int_eq(hone_store_documents(s, NULL, stop, &n, NULL), HONE_NOT_FOUND);
  ck_assert_int_eq(n, 1);
  unit_close(s);
}
END_TEST

/* ---- schema 1: a segment kept from the release that wrote it ---- */

static void take_old_segment(void)
{
  size_t n;
  unsigned char *bytes = fixture_load(HONE_SRCDIR "/tests/data/store-schema-1.h5", &n);
  ck_assert_int_eq(mkdir(path_a, 0777), 0);
  fixture_save(fixture_join(path_a, "c401fa41a591047f.h5"), bytes, n);
  free(bytes);
}

START_TEST(schema_1_is_read)
{
  static unit_visits v;
  hone_err err = {0};
  take_old_segment();
  hone_store *s = unit_open(path_a, HONE_STORE_READ);
  const hone_store_info info = unit_info(s);
  ck_assert(info.records == 22 && info.tasks == 2 && info.damaged == 0 && info.documents == 0);
  unit_ok(hone_store_verify(s, &err), &err);
  unit_query(s, NULL, &v);
  ck_assert_int_eq(v.n, 22);
  for (int i = 0; i < v.n; i++) {
    ck_assert_str_eq(v.r[i].task.spec, "");
    ck_assert_str_eq(v.r[i].task.label, "matmul b=1,m=64,n=64,k=64 int8");
    ck_assert_str_eq(v.r[i].host, "build");
  }
  hone_arena_free(v.arena);
  unit_close(s);
}
END_TEST

START_TEST(schema_1_and_2_live_together)
{
  hone_text before = {0}, after = {0};
  hone_err err = {0};
  take_old_segment();
  hone_store *s = unit_open(path_a, HONE_STORE_WRITE);
  unit_append(s, unit_record(1, 1, 100));
  unit_put(s, "k", "s", "text");
  unit_flush(s);
  unit_ok(hone_store_refresh(s, &err), &err);
  unit_ok(hone_store_export_csv(s, NULL, unit_into_text, &before, &err), &err);
  unit_close(s);
  ck_assert_int_eq(compact(path_a, 0).merged, 2);
  s = unit_open(path_a, HONE_STORE_READ);
  unit_ok(hone_store_export_csv(s, NULL, unit_into_text, &after, &err), &err);
  ck_assert_str_eq(before.data, after.data);
  unit_close(s);
  check(path_a, NULL, "k|s|text\n");
  hone_text_fini(&before);
  hone_text_fini(&after);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("store/documents");
  TCase *c = tcase_create("documents");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_set_timeout(c, 30);
  tcase_add_test(c, documents_alone_make_a_segment);
  tcase_add_test(c, documents_share_the_segment_of_the_records);
  tcase_add_test(c, the_newest_counts_whatever_the_order);
  tcase_add_test(c, a_clock_that_is_behind_hides_nothing);
  tcase_add_test(c, documents_of_one_instant_are_settled_alike);
  tcase_add_test(c, large_documents_survive_and_too_large_are_refused);
  tcase_add_test(c, one_large_document_does_not_widen_the_others);
  tcase_add_test(c, compaction_keeps_the_newest_only);
  tcase_add_test(c, one_segment_is_made_anew_to_drop_documents);
  tcase_add_test(c, a_segment_of_old_documents_only_may_vanish);
  tcase_add_test(c, merging_brings_documents);
  tcase_add_test(c, a_visit_can_end_the_walk);
  tcase_add_test(c, schema_1_is_read);
  tcase_add_test(c, schema_1_and_2_live_together);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
