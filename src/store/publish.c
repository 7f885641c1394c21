/* Files that are whole or not there: temporary name, write, fsync, rename, fsync
 * of the directory. Temporary names tell who writes, ".tmp-<tag>-<pid>-<start>-<n>",
 * where the tag stands for host, boot and pid namespace and start is the process's
 * start time, so a pid that was given to another process is not taken for the
 * writer. A sweep that errs costs nothing but one more attempt: the bytes are
 * still in the writer's memory when its rename fails. */
#include "config.h"

#include "store/store_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMPORARY_NAME = 128 };
#define PREFIX ".tmp-"

/* Clock ticks between boot and the start of a process; 0 when not known
 * (proc(5): field 22, behind the parenthesised name). */
static unsigned long long start_of(long pid)
{
  char path[64], buf[1024];
  unsigned long long start = 0;
  snprintf(path, sizeof path, "/proc/%ld/stat", pid);
  FILE *f = fopen(path, "re");
  if (!f) return 0;
  const size_t n = fread(buf, 1, sizeof buf - 1, f);
  fclose(f);
  buf[n] = '\0';
  char *p = strrchr(buf, ')');
  for (int field = 2; p && field < 22; field++)
    p = strchr(p + 1, ' ');
  if (p) sscanf(p, " %llu", &start);
  return start;
}

void hone_writer_init(hone_writer *w)
{
  char boot[64] = "", ns[64] = "", hash[HONE_HASH_TEXT];
  hone_text t = {0};
  *w = (hone_writer){0};
  if (gethostname(w->host, sizeof w->host - 1) != 0 || !w->host[0]) strcpy(w->host, "unknown");
  FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
  if (f) {
    if (!fgets(boot, sizeof boot, f)) boot[0] = '\0';
    fclose(f);
  }
  if (readlink("/proc/self/ns/pid", ns, sizeof ns - 1) < 0) ns[0] = '\0';
  hone_text_add(&t, "%s %s %s", w->host, boot, ns);
  hone_hash_print(hone_hash_text(t.data), hash);
  hone_text_fini(&t);
  snprintf(w->tag, sizeof w->tag, "%.12s", hash);
}

static hone_status system_fail(hone_err *err, const char *path, const char *code, const char *what)
{
  const int why = errno;
  const bool full = why == ENOSPC || why == EDQUOT || why == EFBIG;
  hone_err_set(err, HONE_IO, full ? "store.disk-full" : code, "%s: %s", what, strerror(why));
  hone_err_at(err, path, 0, 0);
  if (full) hone_err_hint(err, "nothing half-written is visible; make room and try again");
  return HONE_IO;
}

static int create_temporary(const hone_writer *w, int dir, char name[TEMPORARY_NAME])
{
  static unsigned counter; /* shared by threads; O_EXCL settles a race */
  const long pid = (long)getpid();
  const unsigned long long start = start_of(pid);
  for (int attempt = 0; attempt < 1000; attempt++) {
    snprintf(name, TEMPORARY_NAME, PREFIX "%s-%ld-%llu-%u", w->tag, pid, start, __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED));
    const int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

static bool write_all(int fd, const unsigned char *p, size_t n)
{
  while (n) {
    const ssize_t k = write(fd, p, n < (1u << 30) ? n : (1u << 30));
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return false;
    if (k == 0) {
      errno = ENOSPC;
      return false;
    }
    p += k, n -= (size_t)k;
  }
  return true;
}

/* Some file systems cannot sync a directory and say so; there is no more to do. */
static bool sync_directory(int dir)
{
  return fsync(dir) == 0 || errno == EINVAL || errno == ENOTSUP;
}

static bool write_and_close(int fd, const void *bytes, size_t n)
{
  bool good = write_all(fd, bytes, n) && fsync(fd) == 0;
  const int why = errno;
  if (close(fd) != 0 && good) return false;
  errno = why;
  return good;
}

hone_status hone_publish_file(const hone_writer *w, int dir, const char *path, const char *name, const void *bytes, size_t n,
                              hone_err *err)
{
  char temporary[TEMPORARY_NAME];
  for (int attempt = 0;; attempt++) {
    const int fd = create_temporary(w, dir, temporary);
    if (fd < 0) return system_fail(err, path, "store.unwritable", "cannot create a file in the store");
    if (!write_and_close(fd, bytes, n)) {
      system_fail(err, path, "store.write", "cannot write a segment");
      unlinkat(dir, temporary, 0);
      return HONE_IO;
    }
    if (renameat(dir, temporary, dir, name) == 0) break;
    const bool swept = errno == ENOENT; /* by another host's mistake */
    system_fail(err, path, "store.write", "cannot give a segment its name");
    unlinkat(dir, temporary, 0);
    if (!swept || attempt == 3) return HONE_IO;
  }
  if (!sync_directory(dir)) return system_fail(err, path, "store.write", "cannot make the directory durable");
  return HONE_OK;
}

/* Writes a block, so that a full disk is found before any work is done. */
hone_status hone_publish_probe(const hone_writer *w, int dir, const char *path, hone_err *err)
{
  static const unsigned char block[4096];
  char name[TEMPORARY_NAME];
  const int fd = create_temporary(w, dir, name);
  if (fd < 0) return system_fail(err, path, "store.unwritable", "cannot create a file in the store");
  bool good = write_all(fd, block, sizeof block);
  int why = errno;
  if (close(fd) != 0 && good) good = false, why = errno;
  unlinkat(dir, name, 0);
  errno = why;
  return good ? HONE_OK : system_fail(err, path, "store.write", "cannot write to the store");
}

static bool writer_is_dead(const hone_writer *w, const char *name)
{
  char tag[24];
  long pid;
  unsigned long long start;
  if (sscanf(name, PREFIX "%23[0-9a-f]-%ld-%llu-", tag, &pid, &start) != 3 || pid <= 0) return false;
  if (strcmp(tag, w->tag) != 0) return false;
  if (kill((pid_t)pid, 0) != 0) return errno == ESRCH;
  const unsigned long long now = start_of(pid);
  return now && start && now != start;
}

/* Another host's writer cannot be asked. A file it has not touched for a day by
 * the file system's own clock is taken for abandoned. */
static bool is_abandoned(int dir, const char *name, time_t now)
{
  struct stat st;
  return now && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && now - st.st_mtime > 24 * 3600;
}

static time_t file_system_clock(const hone_writer *w, int dir)
{
  char name[TEMPORARY_NAME];
  struct stat st;
  const int fd = create_temporary(w, dir, name);
  if (fd < 0) return 0;
  const bool good = fstat(fd, &st) == 0;
  close(fd);
  unlinkat(dir, name, 0);
  return good ? st.st_mtime : 0;
}

void hone_publish_sweep(const hone_writer *w, int dir)
{
  const int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = fd < 0 ? NULL : fdopendir(fd);
  if (!d) {
    if (fd >= 0) close(fd);
    return;
  }
  const time_t now = file_system_clock(w, dir);
  for (struct dirent *e; (e = readdir(d));)
    if (!strncmp(e->d_name, PREFIX, strlen(PREFIX)) && (writer_is_dead(w, e->d_name) || is_abandoned(dir, e->d_name, now)))
      unlinkat(dir, e->d_name, 0);
  closedir(d);
}
