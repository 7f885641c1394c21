/* Where a library's operators and machines come from: the same folders as those
 * named on the command line; and the evaluators of this build. */
#include "config.h"

#include "cli/cli.h"
#include "eval/evaluator.h"
#include "library/library.h"

static hone_status find_operator(void *arg, const char *name, char *path, size_t n, hone_err *err)
{
  return cli_find_file(arg, "spaces", name, path, n, err);
}

static hone_status find_machine(void *arg, const char *name, char *path, size_t n, hone_err *err)
{
  return cli_find_file(arg, "machines", name, path, n, err);
}

void cli_library_source(cli_run *r, hone_library_source *out)
{
  static hone_library_evaluator evaluators[2];
  evaluators[0] = (hone_library_evaluator){ hone_evaluator_model.name, hone_evaluator_model.version, HONE_EVIDENCE_MODEL };
  evaluators[1] = (hone_library_evaluator){ hone_evaluator_simulator.name, hone_evaluator_simulator.version, HONE_EVIDENCE_SIMULATED };
  *out = (hone_library_source){ .evaluator = evaluators, .nevaluators = 2, .find_operator = find_operator,
                                .find_machine = find_machine, .find_arg = r };
}
