/* What every unit test program shares: run one suite, exit with its verdict. */
#ifndef HONE_TESTS_UNIT_UNIT_H
#define HONE_TESTS_UNIT_UNIT_H

#include <check.h>
#include <stdlib.h>

static inline int unit_run(Suite *suite)
{
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
