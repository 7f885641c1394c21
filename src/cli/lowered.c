/* From the options of a problem and --schedule to a verified program. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "cli/lowered_int.h"

/* An illegal or unplaceable schedule is INFEASIBLE with code "schedule.<reason>". */
static hone_status make_program(lowered *l, hone_err *err)
{
  const cli_problem *p = &l->problem;
  hone_why why = { 0 };
  hone_reason reason = hone_schedule_check(&p->op, &p->machine, &l->schedule, &why);
  hone_status st = HONE_OK;
  if (reason == HONE_REASON_NONE) st = hone_backend_compile(&p->op, &p->machine, &l->schedule, &l->program, &reason, &why, err);
  if (st != HONE_OK || reason == HONE_REASON_NONE) return st;
  char code[48];
  snprintf(code, sizeof code, "schedule.%s", hone_reason_code(reason));
  return hone_err_set(err, HONE_INFEASIBLE, code, "%s", why.text[0] ? why.text : hone_reason_text(reason));
}

hone_status lowered_load(cli_run *r, const char *schedule, lowered *out, hone_err *err)
{
  *out = (lowered){ 0 };
  cli_problem *p = &out->problem;
  hone_status st = cli_problem_load(r, p, err);
  if (st != HONE_OK) return st;
  r->document = json_object();
  json_object_set_new(r->document, "problem", cli_json_problem(p));
  st = cli_schedule_load(p, schedule, &out->schedule, err);
  if (st == HONE_OK) st = make_program(out, err);
  if (st == HONE_OK) st = hone_backend_verify(out->program, &p->op, &p->machine, &out->schedule, err);
  if (st == HONE_OK) st = hone_program_encode(out->program, &out->bytes, &out->n, err);
  if (st != HONE_OK) lowered_fini(out);
  return st;
}

void lowered_fini(lowered *l)
{
  free(l->bytes);
  hone_program_free(l->program);
  cli_problem_fini(&l->problem);
  *l = (lowered){ 0 };
}
