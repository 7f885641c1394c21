/* store: every system call of a flush fails once, with every error a disk gives.
 * The linker puts the __wrap_ functions below in place of the real ones. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "unit/store_unit.h"

typedef enum { WRITE, SHORT_WRITE, FSYNC, RENAMEAT, OPENAT, NONE } call;

static call failing = NONE; /* which call fails, */
static int countdown;       /* at which time, */
static int with;            /* with which errno */
static int failures;

static bool fails(call c)
{
  if (c != failing || countdown-- > 0) return false;
  failing = NONE;
  failures++;
  errno = with;
  return true;
}

ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_renameat(int a, const char *from, int b, const char *to);
int __wrap_renameat(int a, const char *from, int b, const char *to);
int __real_openat(int dir, const char *name, int flags, unsigned mode);
int __wrap_openat(int dir, const char *name, int flags, unsigned mode);

ssize_t __wrap_write(int fd, const void *p, size_t n)
{
  if (fails(WRITE)) return -1;
  if (fails(SHORT_WRITE)) return __real_write(fd, p, n / 2); /* no error: the rest must follow */
  return __real_write(fd, p, n);
}

int __wrap_fsync(int fd) { return fails(FSYNC) ? -1 : __real_fsync(fd); }

int __wrap_renameat(int a, const char *from, int b, const char *to)
{
  return fails(RENAMEAT) ? -1 : __real_renameat(a, from, b, to);
}

int __wrap_openat(int dir, const char *name, int flags, unsigned mode)
{
  return fails(OPENAT) ? -1 : __real_openat(dir, name, flags, mode);
}

static void setup(void) { fixture_directory(); }
static void teardown(void) { fixture_remove(); }

/* Every segment holds as many documents as records, each of its own subject. */
static int64_t records_there(const char *path)
{
  hone_store *s = unit_open(path, HONE_STORE_READ);
  ck_assert_int_eq(hone_store_damaged_count(s), 0);
  const hone_store_info info = unit_info(s);
  ck_assert_int_eq(info.repeated, 0);
  ck_assert_int_eq(info.documents, info.records);
  unit_close(s);
  return info.records;
}

static void append_both(hone_store *s, int i)
{
  char subject[16];
  snprintf(subject, sizeof subject, "%d", i);
  unit_append(s, unit_record(1, i, 100 + i));
  unit_put(s, "range", subject, "text");
}

/* A flush whose c-th call of a kind fails: reported, the batch kept, nothing half
 * visible; then it succeeds and everything is there once. */
static void check_fault(call c, int at, int error, hone_status want, const char *code)
{
  hone_err err = {0};
  const char *path = fixture_path("s.hone");
  hone_store *s = unit_open(path, HONE_STORE_WRITE);
  const int64_t before = records_there(path);
  for (int i = 0; i < 10; i++)
    append_both(s, (int)before + i);
  failing = c, countdown = at, with = error, failures = 0;
  const hone_status st = hone_store_flush(s, &err);
  failing = NONE;
  ck_assert_int_eq(failures, 1);
  ck_assert_int_eq(st, want);
  if (want != HONE_OK) {
    ck_assert_str_eq(err.code, code);
    ck_assert_str_eq(err.file, path);
    ck_assert_int_eq(hone_store_pending(s), 20);
    const int64_t now = records_there(path); /* a name that may not be durable yet is whole all the same */
    ck_assert(now == before || (now == before + 10 && c == FSYNC && at == 1));
    unit_flush(s);
  }
  ck_assert_int_eq(fixture_count(path, ".tmp-"), 0);
  ck_assert_int_eq(records_there(path), before + 10);
  unit_close(s);
}

START_TEST(each_call_fails_once)
{
  const int errors[] = {EIO, ENOSPC};
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    const int e = errors[i];
    const char *full = e == ENOSPC ? "store.disk-full" : NULL;
    check_fault(WRITE, 0, e, HONE_IO, full ? full : "store.write");
    check_fault(FSYNC, 0, e, HONE_IO, full ? full : "store.write");     /* of the file */
    check_fault(FSYNC, 1, e, HONE_IO, full ? full : "store.write");     /* of the directory */
    check_fault(RENAMEAT, 0, e, HONE_IO, full ? full : "store.write");
    check_fault(OPENAT, 0, e, HONE_IO, full ? full : "store.unwritable");
  }
}
END_TEST

START_TEST(passing_troubles_are_passed_over)
{
  check_fault(WRITE, 0, EINTR, HONE_OK, NULL);
  check_fault(SHORT_WRITE, 0, 0, HONE_OK, NULL);
  check_fault(RENAMEAT, 0, ENOENT, HONE_OK, NULL);  /* swept by mistake: written again */
  check_fault(FSYNC, 1, EINVAL, HONE_OK, NULL);     /* a file system that cannot sync directories */
}
END_TEST

START_TEST(a_failing_compaction_changes_nothing)
{
  const call calls[] = {WRITE, FSYNC, RENAMEAT, OPENAT};
  const char *path = fixture_path("s.hone");
  hone_store *s = unit_open(path, HONE_STORE_WRITE);
  for (int i = 0; i < 4; i++) {
    append_both(s, i);
    unit_flush(s);
  }
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    hone_store_compaction c;
    hone_err err = {0};
    failing = calls[i], countdown = calls[i] == OPENAT, with = EIO; /* the first openat lists the directory */
    ck_assert_int_eq(hone_store_compact(s, 0, &c, &err), HONE_IO);
    ck_assert_int_eq(c.made, 0);
    ck_assert_int_eq(records_there(path), 4);
    ck_assert_int_eq(fixture_count(path, ".tmp-"), 0);
  }
  unit_close(s);
}
END_TEST

/* ---- threads ---- */

enum { THREADS = 4, FLUSHES = 10 };

typedef struct {
  int number;
  const char *path;
} worker;

static void *write_in_thread(void *arg)
{
  const worker *w = arg;
  hone_err err = {0};
  hone_store *s;
  if (hone_store_open(w->path, HONE_STORE_WRITE, &s, &err) != HONE_OK) return arg;
  for (int i = 0; i < FLUSHES; i++) {
    hone_record r = {.task = {.operator_text = "op", .machine_text = "machine"}, .evaluator = "model",
                     .evaluator_version = w->number + 1, .schedule = "x", .cycles = 10 + i, .order = i};
    char subject[16];
    snprintf(subject, sizeof subject, "%d %d", w->number, i);
    if (hone_store_put(s, &(hone_store_document){.kind = "range", .subject = subject, .text = "x"}, &err) != HONE_OK) return arg;
    if (hone_store_append(s, &r, &err) != HONE_OK || hone_store_flush(s, &err) != HONE_OK) return arg;
    if (hone_store_refresh(s, &err) != HONE_OK || hone_store_damaged_count(s)) return arg;
  }
  return hone_store_close(s, &err) == HONE_OK ? NULL : arg;
}

START_TEST(threads_with_a_handle_each)
{
  pthread_t thread[THREADS];
  worker w[THREADS];
  for (int i = 0; i < THREADS; i++) {
    w[i] = (worker){.number = i, .path = fixture_path("s.hone")};
    ck_assert_int_eq(pthread_create(&thread[i], NULL, write_in_thread, &w[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    void *failed;
    pthread_join(thread[i], &failed);
    ck_assert_ptr_null(failed);
  }
  ck_assert_int_eq(records_there(fixture_path("s.hone")), THREADS * FLUSHES);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("store/fault");
  TCase *c = tcase_create("fault");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_set_timeout(c, 60);
  tcase_add_test(c, each_call_fails_once);
  tcase_add_test(c, passing_troubles_are_passed_over);
  tcase_add_test(c, a_failing_compaction_changes_nothing);
  tcase_add_test(c, threads_with_a_handle_each);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
