/* Atomic replacement by rename(2): POSIX promises that a name leads to the old file
 * or the new one. The sync before it orders content and name on disk; the sync of
 * the directory makes the name last. */
#include "config.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/text.h"

static hone_status fail(hone_err *err, const char *path, const char *what)
{
  const int why = errno;
  const bool full = why == ENOSPC || why == EDQUOT || why == EFBIG;
  hone_err_set(err, HONE_IO, full ? "file.disk-full" : "file.write", "%s: %s", what, strerror(why));
  hone_err_at(err, path, 0, 0);
  if (full) hone_err_hint(err, "nothing half-written is left; make room and try again");
  return HONE_IO;
}

static bool write_all(int fd, const char *p, size_t n)
{
  while (n > 0) {
    const ssize_t k = write(fd, p, n < (1u << 30) ? n : (1u << 30));
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) {
      if (k == 0) errno = ENOSPC;
      return false;
    }
    p += k;
    n -= (size_t)k;
  }
  return true;
}

/* Some file systems cannot sync a directory and say so; there is no more to do. */
static bool sync_directory(const char *path)
{
  hone_text dir = {0};
  const char *slash = strrchr(path, '/');
  hone_text_add(&dir, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
  const int fd = open(dir.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  hone_text_fini(&dir);
  if (fd < 0) return true; /* writable but not readable: the rename stands */
  const bool good = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
  const int why = errno;
  close(fd);
  errno = why;
  return good;
}

/* Beside the file, so that rename stays in one file system; the process number and
 * O_EXCL keep writers apart. */
static int create_temporary(const char *path, hone_text *name)
{
  static unsigned counter;
  const char *slash = strrchr(path, '/');
  const int folder = slash ? (int)(slash - path) + 1 : 0;
  for (int attempt = 0; attempt < 1000; attempt++) {
    hone_text_clear(name);
    hone_text_add(name, "%.*s.tmp-%ld-%u", folder, path, (long)getpid(), __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED));
    const int fd = open(name->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

/* A pipe or a device (/dev/stdout) cannot be replaced, only written to. */
static hone_status write_through(const char *path, const void *bytes, size_t n, hone_err *err)
{
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return fail(err, path, "cannot open");
  bool good = write_all(fd, bytes, n);
  const int why = errno;
  if (close(fd) != 0 && good) return fail(err, path, "cannot write");
  errno = why;
  return good ? HONE_OK : fail(err, path, "cannot write");
}

static hone_status replace(const char *path, mode_t mode, const void *bytes, size_t n, hone_err *err)
{
  hone_text name = {0};
  hone_status s = HONE_OK;
  const int fd = create_temporary(path, &name);
  if (fd < 0) {
    s = fail(err, path, "cannot create a file there");
    hone_text_fini(&name);
    return s;
  }
  bool good = write_all(fd, bytes, n) && (!mode || fchmod(fd, mode) == 0) && fsync(fd) == 0;
  int why = errno;
  if (close(fd) != 0 && good) {
    good = false;
    why = errno;
  }
  errno = why;
  if (!good) s = fail(err, path, "cannot write");
  else if (rename(name.data, path) != 0) s = fail(err, path, "cannot rename the new file to it");
  if (s != HONE_OK) unlink(name.data);
  else if (!sync_directory(path)) s = fail(err, path, "cannot sync its directory");
  hone_text_fini(&name);
  return s;
}

hone_status hone_file_write_atomic(const char *path, const void *bytes, size_t n, hone_err *err)
{
  struct stat is;
  if (stat(path, &is) != 0) {
    const int why = errno;
    if (lstat(path, &is) != 0) return replace(path, 0, bytes, n, err);
    errno = why; /* a link to nothing stays one too */
    return fail(err, path, "cannot follow the link");
  }
  if (!S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode)) return write_through(path, bytes, n, err);
  char *target = realpath(path, NULL); /* a link stays one: what it leads to is replaced */
  if (!target) return fail(err, path, "cannot resolve");
  const hone_status s = replace(target, is.st_mode & 07777, bytes, n, err);
  if (s != HONE_OK) hone_err_at(err, path, 0, 0);
  free(target);
  return s;
}

static bool make_one(const char *path)
{
  struct stat is;
  return mkdir(path, 0777) == 0 || (stat(path, &is) == 0 && S_ISDIR(is.st_mode));
}

hone_status hone_file_make_directory(const char *path, hone_err *err)
{
  hone_text part = {0};
  hone_status s = HONE_OK;
  for (size_t n = 1; s == HONE_OK && path[n - 1]; n++) {
    if (path[n] != '/' && path[n]) continue;
    hone_text_clear(&part);
    hone_text_add_bytes(&part, path, n);
    if (!make_one(part.data)) s = fail(err, path, "cannot make the directory");
  }
  hone_text_fini(&part);
  return s;
}
