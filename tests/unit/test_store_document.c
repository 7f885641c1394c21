/* Documents beside the records, and specs: what is put is found by another
 * handle, the newest counts, merging and compacting keep it; stores of schema 1
 * are read. */
#include "config.h"

#include <check.h>

#include "unit/store_unit.h"

static void setup(void) { fixture_directory(); }
static void teardown(void) { fixture_remove(); }

static void put(hone_store *s, const char *kind, const char *subject, const char *text, int64_t time)
{
  hone_err err = {0};
  const hone_store_document d = {.kind = kind, .subject = subject, .text = text, .time_unix_ns = time};
  unit_ok(hone_store_put(s, &d, &err), &err);
}

static hone_status list(void *arg, const hone_store_document *d, hone_err *err)
{
  (void)err;
  ck_assert(d->host[0] != '\0');
  hone_text_add(arg, "%s/%s=%s@%lld;", d->kind, d->subject, d->text, (long long)d->time_unix_ns);
  return HONE_OK;
}

static void expect(hone_store *s, const char *kind, const char *text)
{
  hone_err err = {0};
  hone_text t = {0};
  unit_ok(hone_store_documents(s, kind, list, &t, &err), &err);
  ck_assert_str_eq(t.data ? t.data : "", text);
  hone_text_fini(&t);
}

START_TEST(the_newest_of_a_subject_counts)
{
  hone_store *s = unit_open(fixture_path("a.hone"), HONE_STORE_WRITE);
  put(s, "range", "x", "old", 10);
  put(s, "range", "w", "only", 5);
  ck_assert_int_eq(hone_store_pending(s), 2);
  unit_flush(s); /* a segment without a record */
  put(s, "range", "x", "new", 20);
  put(s, "note", "x", "{\"a\": \"\xc3\xa9\n\"}", 1);
  put(s, "range", "x", "older", 15);
  unit_append(s, unit_record(1, 1, 100));
  unit_flush(s);
  hone_store *r = unit_open(fixture_path("a.hone"), HONE_STORE_READ);
  expect(r, "range", "range/w=only@5;range/x=new@20;");
  expect(r, NULL, "note/x={\"a\": \"\xc3\xa9\n\"}@1;range/w=only@5;range/x=new@20;");
  expect(r, "none", "");
  ck_assert_int_eq(unit_info(r).records, 1);
  hone_err err = {0};
  unit_ok(hone_store_verify(r, &err), &err);
  unit_close(r);
  unit_close(s);
}
END_TEST

START_TEST(documents_survive_merge_and_compact)
{
  hone_err err = {0};
  hone_store *s = unit_open(fixture_path("a.hone"), HONE_STORE_WRITE);
  for (int i = 0; i < 3; i++) {
    put(s, "range", "x", i == 1 ? "newest" : "older", i == 1 ? 30 : i + 1);
    unit_append(s, unit_record(i, 1, 100));
    unit_flush(s);
  }
  hone_store *t = unit_open(fixture_path("b.hone"), HONE_STORE_WRITE);
  put(t, "range", "y", "other", 7);
  put(t, "range", "x", "elsewhere", 29);
  unit_flush(t);
  hone_store_merger m;
  unit_ok(hone_store_merge(t, fixture_path("a.hone"), &m, &err), &err);
  ck_assert_int_eq(m.copied, 3);
  expect(t, NULL, "range/x=newest@30;range/y=other@7;");
  hone_store_compaction c;
  unit_ok(hone_store_compact(t, 0, &c, &err), &err);
  ck_assert_int_eq(c.made, 1);
  expect(t, NULL, "range/x=newest@30;range/y=other@7;");
  ck_assert_int_eq(unit_info(t).records, 3);
  unit_ok(hone_store_verify(t, &err), &err);
  unit_close(t);
  unit_close(s);
}
END_TEST

START_TEST(a_spec_is_kept_and_fills_a_gap)
{
  static unit_visits v;
  hone_store *s = unit_open(fixture_path("a.hone"), HONE_STORE_WRITE);
  hone_record r = unit_record(1, 1, 100);
  unit_append(s, r); /* as a schema without specs had it */
  unit_flush(s);
  r.task.spec = "matmul --size m=8,n=8,k=8 --dtype bf16";
  unit_append(s, r);
  unit_flush(s);
  unit_ok(hone_store_refresh(s, NULL), &(hone_err){0});
  unit_query(s, NULL, &v);
  ck_assert_int_eq(v.n, 1);
  ck_assert_str_eq(v.r[0].task.spec, "matmul --size m=8,n=8,k=8 --dtype bf16");
  unit_close(s);
}
END_TEST

START_TEST(schema_1_is_read)
{
  static unit_visits v;
  hone_store *s = unit_open(HONE_SRCDIR "/tests/data/store-schema-1.h5", HONE_STORE_READ);
  hone_err err = {0};
  unit_query(s, NULL, &v);
  ck_assert_int_gt(v.n, 5);
  for (int i = 0; i < v.n; i++) ck_assert_str_eq(v.r[i].task.spec, "");
  expect(s, NULL, "");
  unit_ok(hone_store_verify(s, &err), &err);
  unit_close(s);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("store/document");
  TCase *t = tcase_create("documents");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, the_newest_of_a_subject_counts);
  tcase_add_test(t, documents_survive_merge_and_compact);
  tcase_add_test(t, a_spec_is_kept_and_fills_a_gap);
  tcase_add_test(t, schema_1_is_read);
  suite_add_tcase(s, t);
  return unit_run(s);
}
