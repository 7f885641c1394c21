/* What hone emit and hone library share. */
#ifndef HONE_CLI_LIBRARY_SOURCE_INT_H
#define HONE_CLI_LIBRARY_SOURCE_INT_H

#include "cli/cli.h"
#include "library/library.h"

#define CLI_OPERATOR_FILE_OPTION                                                                                      \
  { "operator-file", HONE_OPTION_LIST, 0, 0, NULL, "FILE,...", "Files of operators that are not among the installed ones.", false }

typedef struct {
  cli_run *r;
  char machine_path[512], machine_name[HONE_MAX_NAME]; /* of --machine, when it is a file or its name */
  char machine_hash[512]; /* its identity; else what was given: a name or hash only the library knows */
  int nfiles;
  struct {
    const char *path;
    char name[HONE_MAX_NAME];
  } file[64]; /* of --operator-file */
} cli_places;

/* Reads the files of these two options. */
hone_status cli_places_init(cli_places *x, cli_run *r, const hone_option_value *machine, const hone_option_value *operator_file, hone_err *err);
/* Finders and evaluators; the rest is zero. x must outlive it. */
void cli_library_source(cli_places *x, hone_library_source *out);

#endif
