/* How many random cases a property test runs: HONE_TEST_PERCENT of the usual
 * number (default 100), at least one. scripts/check --full raises it, slow
 * builds such as valgrind lower it. */
#ifndef HONE_TESTS_LIB_CASE_COUNT_H
#define HONE_TESTS_LIB_CASE_COUNT_H

#include <stdlib.h>

static inline int case_count(int usual)
{
  const char *text = getenv("HONE_TEST_PERCENT");
  long percent = text ? strtol(text, NULL, 10) : 100;
  long n = percent < 1 || percent > 100000 ? usual : usual * percent / 100;
  return n < 1 ? 1 : n > 100000000 ? 100000000 : (int)n;
}

#endif
