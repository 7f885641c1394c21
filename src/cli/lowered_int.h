/* What `hone compile` and `hone simulate` begin with. */
#ifndef HONE_CLI_LOWERED_INT_H
#define HONE_CLI_LOWERED_INT_H

#include "backend/program.h"
#include "cli/cli.h"

typedef struct {
  cli_problem problem;
  hone_schedule schedule;
  hone_program *program; /* verified */
  uint8_t *bytes;        /* encoded */
  size_t n;
} lowered;

/* By the problem options and the text of --schedule; begins the document. fini only
 * after HONE_OK. An illegal or unplaceable schedule is INFEASIBLE. */
hone_status lowered_load(cli_run *r, const char *schedule, lowered *out, hone_err *err);
void lowered_fini(lowered *l);

#endif
