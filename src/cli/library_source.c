/* Where a library's operators and machines come from: files the user named, else the
 * folders of --data, the current directory and the installation; and the evaluators
 * of this build. Shared by hone emit and hone library. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/yaml.h"
#include "cli/library_source_int.h"
#include "eval/evaluator.h"

static hone_status find_operator(void *arg, const char *name, char *path, size_t n, hone_err *err)
{
  const cli_places *x = arg;
  for (int i = 0; i < x->nfiles; i++)
    if (strcmp(x->file[i].name, name) == 0) return cli_path_copy(x->file[i].path, path, n, err);
  hone_status st = cli_find_file(x->r, "spaces", name, path, n, err);
  if (st != HONE_OK) hone_err_hint(err, "give its file with --operator-file");
  return st;
}

static hone_status find_machine(void *arg, const char *name, char *path, size_t n, hone_err *err)
{
  const cli_places *x = arg;
  if (!x->machine_name[0] || strcmp(x->machine_name, name) != 0) return cli_find_file(x->r, "machines", name, path, n, err);
  return cli_path_copy(x->machine_path, path, n, err);
}

static hone_status name_of_operator(const char *path, char name[HONE_MAX_NAME], hone_err *err)
{
  hone_yaml *y = NULL;
  const char *text = NULL;
  hone_status st = hone_yaml_load(path, &y, err);
  if (st != HONE_OK) return st;
  hone_node *op = hone_yaml_root(y);
  op = op && hone_node_is_mapping(op) ? hone_node_find(op, "operator") : NULL;
  if (!op || !hone_node_is_mapping(op)) {
    st = hone_err_set(err, HONE_INPUT, "operator.missing", "the file has no operator");
    hone_err_at(err, path, 0, 0);
  }
  if (st == HONE_OK) st = hone_node_get_text(y, op, "name", &text, err);
  if (st == HONE_OK) snprintf(name, HONE_MAX_NAME, "%s", text);
  hone_yaml_free(y);
  return st;
}

/* A machine's file says its identity; what is no file is a name or a hash. */
static hone_status take_machine(cli_places *x, const char *given, hone_err *err)
{
  hone_machine *m = hone_heap_alloc(1, sizeof *m);
  hone_status st = HONE_OK;
  if (cli_find_file(x->r, "machines", given, x->machine_path, sizeof x->machine_path, NULL) == HONE_OK) {
    st = hone_machine_load(x->machine_path, m, err);
    snprintf(x->machine_name, sizeof x->machine_name, "%s", m->name);
    if (st == HONE_OK) hone_hash_print(hone_machine_hash(m), x->machine_hash);
  } else {
    snprintf(x->machine_hash, sizeof x->machine_hash, "%s", given);
  }
  free(m);
  return st;
}

hone_status cli_places_init(cli_places *x, cli_run *r, const hone_option_value *machine, const hone_option_value *operator_file, hone_err *err)
{
  hone_status st = HONE_OK;
  *x = (cli_places){ .r = r };
  for (; x->nfiles < operator_file->nlist && st == HONE_OK; x->nfiles++) {
    x->file[x->nfiles].path = operator_file->list[x->nfiles];
    st = name_of_operator(x->file[x->nfiles].path, x->file[x->nfiles].name, err);
  }
  return st == HONE_OK && machine->given ? take_machine(x, machine->text, err) : st;
}

void cli_library_source(cli_places *x, hone_library_source *out)
{
  static hone_library_evaluator evaluators[2];
  evaluators[0] = (hone_library_evaluator){ hone_evaluator_model.name, hone_evaluator_model.version, HONE_EVIDENCE_MODEL };
  evaluators[1] = (hone_library_evaluator){ hone_evaluator_simulator.name, hone_evaluator_simulator.version, HONE_EVIDENCE_SIMULATED };
  *out = (hone_library_source){ .evaluator = evaluators, .nevaluators = 2, .find_operator = find_operator,
                                .find_machine = find_machine, .find_arg = x };
}
