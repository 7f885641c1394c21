/* What every unit test program shares: run one suite, exit with its verdict. */
#ifndef HONE_TESTS_UNIT_UNIT_H
#define HONE_TESTS_UNIT_UNIT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* A guard against hanging, but for who runs without any: CK_DEFAULT_TIMEOUT=0 (valgrind). */
static inline void unit_timeout(TCase *t, double seconds)
{
  const char *whole = getenv("CK_DEFAULT_TIMEOUT");
  if (!whole || strcmp(whole, "0") != 0) tcase_set_timeout(t, seconds);
}

static inline int unit_run(Suite *suite)
{
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
