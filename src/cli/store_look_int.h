/* What the files behind `hone store` share: options, filter, and the subcommands
 * that only look (store_look.c). */
#ifndef HONE_CLI_STORE_LOOK_INT_H
#define HONE_CLI_STORE_LOOK_INT_H

#include "cli/cli.h"
#include "store/store.h"

/* The problem options first: why-miss asks for a task by them; for the others
 * --operator and --machine are filters. */
enum {
  STORE_EVALUATOR = CLI_PROBLEM_COUNT, STORE_OUTCOME, STORE_REASON, STORE_COUNT, STORE_AS, STORE_SCHEDULE, STORE_KIND,
  STORE_OPTIONS
};

typedef hone_status store_subcommand(cli_run *r, hone_store *s, hone_err *err);
store_subcommand store_info, store_query, store_top, store_list_documents, store_diff, store_why_miss;

hone_status store_make_filter(const cli_run *r, hone_store_filter *f, hone_err *err);
void store_add_damage(cli_run *r, hone_store *s);
/* "3 merged, 1 made" and the same in the document. */
void store_add_counts(cli_run *r, int n, const char *const *name, const int64_t *count);

#endif
