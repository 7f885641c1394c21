/* Directories, files and children for the tests of the store. */
#include "config.h"

#include "lib/store_fixture.h"

#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[PATH_MAX / 2];

static void must(bool good, const char *what)
{
  if (good) return;
  perror(what);
  abort();
}

const char *fixture_directory(void)
{
  const char *tmp = getenv("TMPDIR");
  snprintf(directory, sizeof directory, "%s/hone-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  must(mkdtemp(directory) != NULL, "mkdtemp");
  must(chmod(directory, 0755) == 0, "chmod");
  return directory;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  (void)st, (void)type, (void)ftw;
  return remove(path);
}

void fixture_remove(void)
{
  if (directory[0]) nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  directory[0] = '\0';
}

const char *fixture_join(const char *folder, const char *name)
{
  static char path[8][PATH_MAX];
  static int next;
  char *p = path[next++ % 8];
  must(snprintf(p, PATH_MAX, "%s/%s", folder, name) < PATH_MAX, "a path is too long");
  return p;
}

const char *fixture_path(const char *name) { return fixture_join(directory, name); }

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

int fixture_list(const char *where, const char *suffix, char names[][64], int max)
{
  DIR *d = opendir(where);
  int n = 0;
  must(d != NULL, where);
  for (struct dirent *e; (e = readdir(d)) && n < max;) {
    const size_t length = strlen(e->d_name), tail = strlen(suffix);
    if (length >= tail && length < 64 && !strcmp(e->d_name + length - tail, suffix)) strcpy(names[n++], e->d_name);
  }
  closedir(d);
  qsort(names, (size_t)n, sizeof *names, by_name);
  return n;
}

int fixture_count(const char *where, const char *prefix)
{
  DIR *d = opendir(where);
  int n = 0;
  must(d != NULL, where);
  for (struct dirent *e; (e = readdir(d));)
    n += !strncmp(e->d_name, prefix, strlen(prefix));
  closedir(d);
  return n;
}

unsigned char *fixture_load(const char *path, size_t *n)
{
  FILE *f = fopen(path, "rbe");
  must(f && fseek(f, 0, SEEK_END) == 0, path);
  *n = (size_t)ftell(f);
  rewind(f);
  unsigned char *bytes = malloc(*n + 1);
  must(bytes && fread(bytes, 1, *n, f) == *n, path);
  fclose(f);
  return bytes;
}

void fixture_save(const char *path, const void *bytes, size_t n)
{
  FILE *f = fopen(path, "wbe");
  must(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0, path);
}

int fixture_child(int (*f)(void *), void *arg, unsigned seconds)
{
  int status;
  const pid_t pid = fork();
  must(pid >= 0, "fork");
  if (pid == 0) {
    alarm(seconds);
    _exit(f(arg));
  }
  must(waitpid(pid, &status, 0) == pid, "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
