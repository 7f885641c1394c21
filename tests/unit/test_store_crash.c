/* store: kill -9, full disks, several writers, directories without permission. */
#include "config.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "lib/case_count.h"
#include "unit/store_unit.h"

static char store_path[600];

static void setup(void)
{
  fixture_directory();
  snprintf(store_path, sizeof store_path, "%s", fixture_path("s.hone"));
}

static void teardown(void) { fixture_remove(); }

/* ---- kill -9 ---- */

enum { RECORDS_PER_FLUSH = 20 };

/* One document a batch, one that each batch writes anew. */
static void put_batch(hone_store *s, int batch)
{
  char number[16];
  snprintf(number, sizeof number, "%d", batch);
  unit_put(s, "batch", number, number);
  unit_put(s, "last", "", number);
}

/* Writes batch after batch from `first` on and says so once each is durable. */
static void write_for_ever(int first, int acknowledge)
{
  hone_store *s = unit_open(store_path, HONE_STORE_WRITE);
  for (int batch = first;; batch++) {
    for (int i = 0; i < RECORDS_PER_FLUSH; i++)
      unit_append(s, unit_record(1, batch * RECORDS_PER_FLUSH + i, 1000 + i));
    put_batch(s, batch);
    unit_flush(s);
    if (write(acknowledge, &batch, sizeof batch) != sizeof batch) _exit(1);
  }
}

static int temporaries(void) { return fixture_count(store_path, ".tmp-"); }

/* A writer that goes on behind batch `before`; acknowledgements come from *fd. */
static pid_t start_writer(int before, int *fd)
{
  int fds[2];
  ck_assert_int_eq(pipe(fds), 0);
  const pid_t pid = fork();
  ck_assert_int_ge(pid, 0);
  if (pid == 0) {
    close(fds[0]);
    alarm(30);
    write_for_ever(before + 1, fds[1]);
  }
  close(fds[1]);
  *fd = fds[0];
  return pid;
}

/* Stops the writer while a temporary file is there. */
static void stop_in_mid_write(pid_t pid)
{
  int status;
  for (;;) {
    while (temporaries() == 0)
      ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
    kill(pid, SIGSTOP);
    waitpid(pid, &status, WUNTRACED);
    ck_assert(WIFSTOPPED(status));
    if (temporaries() > 0) return;
    kill(pid, SIGCONT);
  }
}

/* Kills a writer at an instant: in mid-write, or `us` microseconds after its start,
 * or after its first acknowledgement. Returns the last batch it acknowledged, or
 * `before`. */
typedef enum { IN_MID_WRITE, AFTER_START, AFTER_FIRST_BATCH, INSTANTS } instant;

static int killed_writer(int before, instant when, long us)
{
  int fd, batch, last = before;
  const pid_t pid = start_writer(before, &fd);
  if (when == AFTER_FIRST_BATCH && read(fd, &batch, sizeof batch) == sizeof batch) last = batch;
  if (when == IN_MID_WRITE)
    stop_in_mid_write(pid);
  else
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  while (read(fd, &batch, sizeof batch) == sizeof batch)
    last = batch;
  close(fd);
  return last;
}

typedef struct {
  int64_t n, observations;
  unsigned char *seen; /* by order */
  int64_t size;
} tally;

static hone_status count_orders(void *arg, const hone_record *r, hone_err *err)
{
  tally *t = arg;
  (void)err;
  ck_assert(r->order >= 0 && r->order < t->size);
  t->seen[r->order]++;
  t->n++;
  t->observations += r->observations;
  return HONE_OK;
}

static hone_status count_document(void *arg, const hone_store_document *d, hone_err *err)
{
  (void)err;
  ck_assert_str_eq(d->text, d->subject);
  ++*(int *)arg;
  return HONE_OK;
}

/* Documents come and go with the records of their batch. */
static void check_documents(hone_store *s, int batches)
{
  hone_err err = {0};
  hone_text last = {0};
  char want[64] = "";
  int n = 0;
  unit_ok(hone_store_documents(s, "batch", count_document, &n, &err), &err);
  ck_assert_int_eq(n, batches);
  unit_documents(s, "last", &last);
  if (batches) snprintf(want, sizeof want, "last||%d\n", batches - 1);
  ck_assert_str_eq(last.data, want);
  hone_text_fini(&last);
}

/* Everything acknowledged is there once, what was not is there whole or not. */
static int check_after_kill(int acknowledged)
{
  hone_err err = {0};
  hone_store *s = unit_open(store_path, HONE_STORE_READ);
  tally t = {.size = (int64_t)(acknowledged + 2) * RECORDS_PER_FLUSH};
  t.seen = calloc((size_t)t.size, 1);
  ck_assert_int_eq(hone_store_damaged_count(s), 0);
  unit_ok(hone_store_query(s, NULL, count_orders, &t, &err), &err);
  ck_assert_int_eq(t.n % RECORDS_PER_FLUSH, 0);
  ck_assert_int_eq(t.observations, t.n);
  for (int64_t i = 0; i < (int64_t)(acknowledged + 1) * RECORDS_PER_FLUSH; i++)
    ck_assert_int_eq(t.seen[i], 1);
  free(t.seen);
  check_documents(s, (int)(t.n / RECORDS_PER_FLUSH));
  unit_close(s);
  return (int)(t.n / RECORDS_PER_FLUSH) - 1; /* the last batch there is, acknowledged or not */
}

START_TEST(kill_9_loses_nothing_acknowledged)
{
  const int kills = case_count(30);
  int last = -1;
  hone_rng rng;
  hone_rng_init(&rng, 20);
  unit_close(unit_open(store_path, HONE_STORE_WRITE));
  for (int i = 0; i < kills; i++)
    last = check_after_kill(killed_writer(last, (instant)(i % INSTANTS), hone_rng_below(&rng, 25000)));
  unit_close(unit_open(store_path, HONE_STORE_WRITE)); /* sweeps */
  ck_assert_int_eq(fixture_count(store_path, ".tmp-"), 0);
  ck_assert_int_ge(last, 0);
}
END_TEST

/* ---- temporary files ---- */

START_TEST(only_dead_writers_are_swept)
{
  int fd;
  unit_close(unit_open(store_path, HONE_STORE_WRITE));
  const pid_t pid = start_writer(-1, &fd);
  stop_in_mid_write(pid);
  unit_close(unit_open(store_path, HONE_STORE_WRITE));
  ck_assert_int_eq(temporaries(), 1);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  close(fd);
  unit_close(unit_open(store_path, HONE_STORE_READ)); /* sweeps nothing */
  ck_assert_int_eq(temporaries(), 1);
  unit_close(unit_open(store_path, HONE_STORE_WRITE));
  ck_assert_int_eq(temporaries(), 0);
}
END_TEST

/* A file of the store's directory, last touched `age` seconds ago. */
static void leave(const char *name, time_t age)
{
  const char *path = fixture_join(store_path, name);
  const time_t then = time(NULL) - age;
  const struct timespec times[2] = {{.tv_sec = then}, {.tv_sec = then}};
  fixture_save(path, "x", 1);
  ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

START_TEST(other_hosts_are_given_a_day)
{
  unit_close(unit_open(store_path, HONE_STORE_WRITE));
  leave(".tmp-0123456789ab-1-1-0", 2 * 86400);
  leave(".tmp-0123456789ab-1-1-1", 3600);
  leave("notes.txt", 2 * 86400);
  leave(".hidden.h5", 2 * 86400);
  unit_close(unit_open(store_path, HONE_STORE_WRITE));
  ck_assert_int_eq(temporaries(), 1);
  ck_assert_int_eq(fixture_count(store_path, ".tmp-0123456789ab-1-1-1"), 1);
  ck_assert_int_eq(fixture_count(store_path, "notes.txt"), 1);
  ck_assert_int_eq(fixture_count(store_path, ".hidden.h5"), 1);
}
END_TEST

/* ---- several writers, one reader ---- */

enum { WRITERS = 4, FLUSHES = 25, PER_FLUSH = 8 };

static void write_share(int writer)
{
  hone_store *s = unit_open(store_path, HONE_STORE_WRITE);
  for (int f = 0; f < FLUSHES; f++) {
    for (int i = 0; i < PER_FLUSH; i++)
      unit_append(s, unit_record(writer, f * PER_FLUSH + i, 100 + i));
    unit_flush(s);
  }
  unit_close(s);
}

START_TEST(writers_and_a_reader_side_by_side)
{
  pid_t pid[WRITERS];
  int64_t last = 0;
  int running = WRITERS;
  for (int w = 0; w < WRITERS; w++) {
    pid[w] = fork();
    ck_assert_int_ge(pid[w], 0);
    if (pid[w] == 0) {
      alarm(60);
      write_share(w);
      _exit(0);
    }
  }
  while (running) {
    int status;
    hone_store *s;
    hone_err err = {0};
    const hone_status st = hone_store_open(store_path, HONE_STORE_READ, &s, &err);
    if (st != HONE_OK) { /* no writer has made it yet */
      ck_assert_str_eq(err.code, "store.missing");
    } else {
      const hone_store_info info = unit_info(s);
      ck_assert(info.damaged == 0 && info.records >= last && info.records % PER_FLUSH == 0);
      last = info.records;
      unit_close(s);
    }
    while (waitpid(-1, &status, WNOHANG) > 0) {
      ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
      running--;
    }
  }
  hone_store *s = unit_open(store_path, HONE_STORE_READ);
  const hone_store_info info = unit_info(s);
  ck_assert(info.records == WRITERS * FLUSHES * PER_FLUSH && info.segments == WRITERS * FLUSHES && info.repeated == 0);
  ck_assert_int_eq(info.tasks, WRITERS);
  unit_close(s);
}
END_TEST

/* ---- full disks ---- */

static void append_incompressible(hone_store *s, int n)
{
  hone_rng rng;
  char text[2048];
  hone_rng_init(&rng, 3);
  for (int i = 0; i < n; i++) {
    hone_record r = unit_record(1, i, 100 + i);
    for (size_t k = 0; k < sizeof text - 1; k++)
      text[k] = (char)(33 + hone_rng_below(&rng, 90));
    text[sizeof text - 1] = '\0';
    r.schedule = text;
    unit_append(s, r);
  }
}

/* The batch is refused, stays, leaves nothing behind, and goes out once there is
 * room. 0 when all that holds. */
static int refused_then_written(hone_store *s, const char *path, void (*make_room)(void *), void *arg)
{
  hone_err err = {0};
  append_incompressible(s, 99); /* some 180 KB */
  unit_put(s, "range", "x", "text");
  for (int i = 0; i < 2; i++) {
    if (hone_store_flush(s, &err) != HONE_IO || strcmp(err.code, "store.disk-full") != 0) return 3;
    if (hone_store_pending(s) != 100 || fixture_count(path, ".tmp-") != 0) return 4;
  }
  if (hone_store_refresh(s, &err) != HONE_OK || unit_info(s).records != 1) return 5;
  make_room(arg);
  if (hone_store_flush(s, &err) != HONE_OK || hone_store_pending(s) != 0) return 6;
  if (hone_store_refresh(s, &err) != HONE_OK || unit_info(s).records != 100 || unit_info(s).documents != 1) return 7;
  return hone_store_close(s, &err) == HONE_OK ? 0 : 8;
}

static void raise_limit(void *arg)
{
  (void)arg;
  struct rlimit l;
  getrlimit(RLIMIT_FSIZE, &l);
  l.rlim_cur = l.rlim_max;
  setrlimit(RLIMIT_FSIZE, &l);
}

static int write_past_the_size_limit(void *arg)
{
  struct rlimit l;
  (void)arg;
  signal(SIGXFSZ, SIG_IGN); /* so that write says EFBIG */
  getrlimit(RLIMIT_FSIZE, &l);
  l.rlim_cur = 64 * 1024;
  setrlimit(RLIMIT_FSIZE, &l);
  hone_store *s = unit_open(store_path, HONE_STORE_WRITE);
  unit_append(s, unit_record(1, 1, 100));
  unit_flush(s);
  return refused_then_written(s, store_path, raise_limit, NULL);
}

START_TEST(a_short_write_keeps_the_batch)
{
  ck_assert_int_eq(fixture_child(write_past_the_size_limit, NULL, 20), 0);
}
END_TEST

enum { CANNOT_MOUNT = 77 };

static void unlink_filler(void *arg) { unlink(arg); }

/* A file system of 320 KiB in a mount namespace of the child's own. */
static int fill_the_disk(void *arg)
{
  static const char block[4096];
  hone_err err = {0};
  hone_store *s;
  (void)arg;
  const char *disk = fixture_path("disk"), *path = fixture_path("disk/s.hone"), *filler = fixture_path("disk/filler");
  if (mkdir(disk, 0777) != 0 || unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("tmpfs", disk, "tmpfs", 0, "size=320k") != 0)
    return CANNOT_MOUNT;
  s = unit_open(path, HONE_STORE_WRITE);
  unit_append(s, unit_record(1, 1, 100));
  unit_flush(s);
  const int fd = open(filler, O_WRONLY | O_CREAT, 0666);
  while (write(fd, block, sizeof block) > 0)
    ;
  close(fd);
  hone_store *late; /* found when it is opened, not after the search */
  if (hone_store_open(path, HONE_STORE_WRITE, &late, &err) != HONE_IO || strcmp(err.code, "store.disk-full") != 0) return 2;
  return refused_then_written(s, path, unlink_filler, (void *)(uintptr_t)filler);
}

START_TEST(a_full_disk_keeps_the_batch)
{
  const int rc = fixture_child(fill_the_disk, NULL, 20);
  if (rc == CANNOT_MOUNT)
    printf("skipped: a small file system to fill needs the right to mount\n");
  else
    ck_assert_int_eq(rc, 0);
}
END_TEST

/* ---- permissions ---- */

static void become_nobody(void)
{
  if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(99);
}

static int use_read_only(void *arg)
{
  hone_err err = {0};
  hone_store *s;
  (void)arg;
  become_nobody();
  s = unit_open(store_path, HONE_STORE_READ);
  if (unit_info(s).records != 1 || hone_store_verify(s, &err) != HONE_OK) return 2;
  unit_close(s);
  if (hone_store_open(store_path, HONE_STORE_WRITE, &s, &err) != HONE_IO) return 3;
  return !strcmp(err.code, "store.unwritable") && !strcmp(err.file, store_path) ? 0 : 4;
}

START_TEST(reading_needs_no_write_permission)
{
  hone_store *s = unit_open(store_path, HONE_STORE_WRITE);
  unit_append(s, unit_record(1, 1, 100));
  unit_close(s);
  ck_assert_int_eq(chmod(store_path, 0555), 0);
  const int rc = fixture_child(use_read_only, NULL, 20);
  chmod(store_path, 0755);
  ck_assert_int_eq(rc, 0);
}
END_TEST

static void refused(const char *path, hone_store_mode mode, const char *code)
{
  hone_err err = {0};
  hone_store *s;
  ck_assert_int_eq(hone_store_open(path, mode, &s, &err), HONE_IO);
  ck_assert_str_eq(err.code, code);
  ck_assert_str_eq(err.file, path);
  ck_assert_ptr_null(s);
}

START_TEST(paths_that_cannot_hold_a_store_are_refused)
{
  fixture_save(fixture_path("plain"), "x", 1);
  refused(fixture_path("absent/s.hone"), HONE_STORE_WRITE, "store.unwritable");
  refused(fixture_path("plain/s.hone"), HONE_STORE_WRITE, "store.unwritable");
  refused("/proc/s.hone", HONE_STORE_WRITE, "store.unwritable");
  refused("/proc", HONE_STORE_WRITE, "store.unwritable");
  refused(fixture_path("absent"), HONE_STORE_READ, "store.missing");
  refused("", HONE_STORE_WRITE, "store.unwritable");
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("store/crash");
  TCase *c = tcase_create("crash");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_set_timeout(c, 60 + case_count(30));
  tcase_add_test(c, kill_9_loses_nothing_acknowledged);
  tcase_add_test(c, only_dead_writers_are_swept);
  tcase_add_test(c, other_hosts_are_given_a_day);
  tcase_add_test(c, writers_and_a_reader_side_by_side);
  tcase_add_test(c, a_short_write_keeps_the_batch);
  tcase_add_test(c, a_full_disk_keeps_the_batch);
  tcase_add_test(c, reading_needs_no_write_permission);
  tcase_add_test(c, paths_that_cannot_hold_a_store_are_refused);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
