/* Atomic files: whole or as they were. */
#include "config.h"

#include <check.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "unit/unit.h"

static char folder[64];
static hone_err err;

static void set_up(void)
{
  strcpy(folder, "/tmp/hone-file.XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  hone_err_init(&err);
}

static void tear_down(void)
{
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  ck_assert_int_eq(system(command), 0);
}

static const char *in(const char *name)
{
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int count(void)
{
  int n = 0;
  DIR *d = opendir(folder);
  while (readdir(d)) n++;
  closedir(d);
  return n - 2;
}

static void holds(const char *path, const char *want)
{
  char *have = NULL;
  size_t n;
  ck_assert_int_eq(hone_text_load(path, 1 << 20, &have, &n, &err), HONE_OK);
  ck_assert_str_eq(have, want);
  free(have);
}

START_TEST(a_file_is_made_and_replaced)
{
  ck_assert_int_eq(hone_file_write_atomic(in("a"), "one", 3, &err), HONE_OK);
  holds(in("a"), "one");
  ck_assert_int_eq(hone_file_write_atomic(in("a"), "", 0, &err), HONE_OK);
  holds(in("a"), "");
  ck_assert_int_eq(hone_file_write_atomic(in("a"), "three", 5, &err), HONE_OK);
  holds(in("a"), "three");
  ck_assert_int_eq(count(), 1);
}
END_TEST

START_TEST(a_name_without_a_folder_is_in_this_one)
{
  ck_assert_int_eq(chdir(folder), 0);
  ck_assert_int_eq(hone_file_write_atomic("b", "x", 1, &err), HONE_OK);
  holds(in("b"), "x");
}
END_TEST

START_TEST(a_failure_leaves_what_was_there)
{
  struct rlimit limit;
  ck_assert_int_eq(hone_file_write_atomic(in("a"), "one", 3, &err), HONE_OK);
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = 8;
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  ck_assert_int_eq(hone_file_write_atomic(in("a"), "more than eight bytes", 21, &err), HONE_IO);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_FSIZE, &limit);
  ck_assert_str_eq(err.code, "file.disk-full");
  ck_assert_str_eq(err.file, in("a"));
  holds(in("a"), "one");
  ck_assert_int_eq(count(), 1);
}
END_TEST

START_TEST(a_missing_folder_is_an_error)
{
  ck_assert_int_eq(hone_file_write_atomic(in("no/such"), "x", 1, &err), HONE_IO);
  ck_assert_str_eq(err.code, "file.write");
  ck_assert_int_eq(mkdir(in("dir"), 0777), 0);
  ck_assert_int_eq(hone_file_write_atomic(in("dir"), "x", 1, &err), HONE_IO);
  ck_assert_int_eq(count(), 1);
}
END_TEST

START_TEST(directories_are_made_with_those_above)
{
  struct stat is;
  ck_assert_int_eq(hone_file_make_directory(in("p/q//r/"), &err), HONE_OK);
  ck_assert_int_eq(hone_file_make_directory(in("p/q//r/"), &err), HONE_OK);
  ck_assert(stat(in("p/q/r"), &is) == 0 && S_ISDIR(is.st_mode));
  ck_assert_int_eq(hone_file_write_atomic(in("f"), "x", 1, &err), HONE_OK);
  ck_assert_int_eq(hone_file_make_directory(in("f/q"), &err), HONE_IO);
  ck_assert_int_eq(hone_file_make_directory(in("f"), &err), HONE_IO);
  ck_assert_int_eq(hone_file_make_directory("", &err), HONE_OK);
}
END_TEST

START_TEST(a_replaced_file_keeps_its_mode)
{
  struct stat is;
  ck_assert_int_eq(hone_file_write_atomic(in("f"), "one", 3, &err), HONE_OK);
  ck_assert_int_eq(chmod(in("f"), 0640), 0);
  ck_assert_int_eq(hone_file_write_atomic(in("f"), "two", 3, &err), HONE_OK);
  holds(in("f"), "two");
  ck_assert_int_eq(stat(in("f"), &is), 0);
  ck_assert_int_eq(is.st_mode & 07777, 0640);
}
END_TEST

START_TEST(a_link_stays_a_link)
{
  struct stat is;
  char target[128];
  snprintf(target, sizeof target, "%s/target", folder);
  ck_assert_int_eq(symlink("target", in("link")), 0);
  ck_assert_int_eq(hone_file_write_atomic(target, "one", 3, &err), HONE_OK);
  ck_assert_int_eq(hone_file_write_atomic(in("link"), "two", 3, &err), HONE_OK);
  ck_assert_int_eq(lstat(in("link"), &is), 0);
  ck_assert(S_ISLNK(is.st_mode));
  holds(target, "two");
  ck_assert_int_eq(unlink(target), 0);
  ck_assert_int_eq(hone_file_write_atomic(in("link"), "three", 5, &err), HONE_IO);
  ck_assert_str_eq(err.code, "file.write");
  ck_assert_int_eq(lstat(in("link"), &is), 0);
  ck_assert(S_ISLNK(is.st_mode));
  ck_assert_int_eq(count(), 1);
}
END_TEST

START_TEST(a_pipe_is_written_to)
{
  char have[8] = "", path[64];
  int fds[2];
  ck_assert_int_eq(pipe(fds), 0);
  snprintf(path, sizeof path, "/dev/fd/%d", fds[1]);
  ck_assert_int_eq(hone_file_write_atomic(path, "one", 3, &err), HONE_OK);
  ck_assert_int_eq(read(fds[0], have, sizeof have), 3);
  ck_assert_str_eq(have, "one");
  ck_assert_int_eq(hone_file_write_atomic("/dev/full", "one", 3, &err), HONE_IO);
  ck_assert_str_eq(err.code, "file.disk-full");
  struct stat is;
  ck_assert(stat("/dev/full", &is) == 0 && S_ISCHR(is.st_mode));
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("file");
  TCase *c = tcase_create("atomic");
  tcase_add_checked_fixture(c, set_up, tear_down);
  tcase_add_test(c, a_file_is_made_and_replaced);
  tcase_add_test(c, a_name_without_a_folder_is_in_this_one);
  tcase_add_test(c, a_failure_leaves_what_was_there);
  tcase_add_test(c, a_missing_folder_is_an_error);
  tcase_add_test(c, directories_are_made_with_those_above);
  tcase_add_test(c, a_replaced_file_keeps_its_mode);
  tcase_add_test(c, a_link_stays_a_link);
  tcase_add_test(c, a_pipe_is_written_to);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
