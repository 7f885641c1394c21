/* What the files behind `hone library` share. */
#ifndef HONE_CLI_ANSWER_INT_H
#define HONE_CLI_ANSWER_INT_H

#include "cli/cli.h"
#include "library/library.h"

enum { LIBRARY_OPERATOR_FILE = CLI_PROBLEM_COUNT, LIBRARY_OUTPUT, LIBRARY_STORE, LIBRARY_OPTIONS };

/* hone library lookup: the answer, costed again at the asked shape. */
hone_status cli_library_lookup(cli_run *r, const hone_library *l, hone_err *err);

#endif
