/* What the tests of the store share: a directory of their own, records made from
 * numbers, and children that run under a time limit. */
#ifndef HONE_TESTS_LIB_STORE_FIXTURE_H
#define HONE_TESTS_LIB_STORE_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A fresh directory "<tmp>/hone-XXXXXX", readable by all; static storage. */
const char *fixture_directory(void);
void fixture_remove(void); /* it and all below */
/* "<directory>/<name>" in one of a few rotating static buffers. */
const char *fixture_path(const char *name);
const char *fixture_join(const char *folder, const char *name); /* likewise, anywhere */
/* The names in a directory that end with `suffix`, sorted; how many (at most max). */
int fixture_list(const char *directory, const char *suffix, char names[][64], int max);
int fixture_count(const char *directory, const char *prefix);
unsigned char *fixture_load(const char *path, size_t *n); /* heap */
void fixture_save(const char *path, const void *bytes, size_t n);

/* Runs f(arg) in a child with a limit of `seconds`; its exit status, or 1000 +
 * the signal that ended it (SIGALRM when it took too long). */
int fixture_child(int (*f)(void *), void *arg, unsigned seconds);

#endif
