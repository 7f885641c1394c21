/* What the files of the command-line share. Inside src/cli only.
 *
 * A command parses nothing and prints nothing: it gets its option values, fills
 * `out` (text for people) or `document` (--json), and returns a status. main.c
 * prints, so that stdout carries exactly one of the two and the exit code follows
 * from one place. Diagnostics go to stderr; under --json a failure without a
 * document of its own becomes {"error": {...}} on stdout. */
#ifndef HONE_CLI_H
#define HONE_CLI_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/program.h"
#include "base/option.h"
#include "base/status.h"
#include "base/text.h"
#include "ir/events.h"
#include "ir/machine.h"
#include "ir/operator.h"
#include "ir/schedule.h"
#include "spaces/space.h"

struct cli_command;
struct hone_store;

typedef struct {
  const struct cli_command *command;
  const hone_option_value *value; /* of command->option */
  const char **positional;
  int npositional;
  bool json;
  hone_text out;
  json_t *document;
  json_t *warnings; /* array of {code, message}; see cli_warn */
  int argc;         /* the command's own arguments, for messages that repeat them */
  char **argv;
  hone_status outcome; /* of a run that worked but says so in its exit code: INFEASIBLE, INTERRUPTED */
} cli_run;

typedef struct cli_command {
  const char *name, *summary;
  const char *arguments; /* "SUBCOMMAND"; NULL: none */
  const char *detail;    /* paragraphs for help and the man page */
  const hone_option *option;
  int noptions, max_positional;
  hone_status (*run)(cli_run *r, hone_err *err);
} cli_command;

enum { CLI_MAX_OPTIONS = 48, CLI_MAX_POSITIONAL = 8 };

extern const cli_command *const cli_commands[];
extern const int cli_ncommands;
const cli_command *cli_command_find(const char *name);        /* NULL */
hone_status cli_command_unknown(const char *name, hone_err *err); /* USAGE, with the nearest */
void cli_command_help(const cli_command *c, hone_text *out);  /* cmd_help.c */
json_t *cli_command_document(const cli_command *c);           /* the same for programs */
void cli_overview(hone_text *out);
extern const int cli_nexits;
const char *cli_exit_at(int i, int *code);                    /* what the exit codes mean */
void cli_man_page(const cli_command *c, hone_text *out);      /* man_page.c */
void cli_man_overview(hone_text *out);
void cli_version(hone_text *out);                             /* version.c */
json_t *cli_version_document(void);

/* Set by SIGINT and SIGTERM once cli_catch_signals was called; a second signal kills. */
extern volatile sig_atomic_t cli_interrupted;
void cli_catch_signals(void);

/* Options every command begins with, and those that name a problem. A command's
 * own rows follow: its enumerators start at CLI_COMMON_COUNT or CLI_PROBLEM_COUNT. */
enum { CLI_JSON, CLI_HELP, CLI_DATA, CLI_COMMON_COUNT };
#define CLI_COMMON_OPTIONS                                                                                           \
  { "json", HONE_OPTION_FLAG, 0, 1, NULL, NULL, "Write one JSON document to standard output and nothing else.", false }, \
  { "help", HONE_OPTION_FLAG, 0, 1, NULL, NULL, "Show this help.", false },                                          \
  { "data", HONE_OPTION_TEXT, 0, 0, NULL, "DIR", "Look for operators, machines and models in DIR before the installed ones.", false }

enum {
  CLI_OPERATOR = CLI_COMMON_COUNT, CLI_SIZE, CLI_DTYPE, CLI_FORMAT, CLI_OPTION, CLI_MACHINE,
  CLI_SPACE, CLI_PROBLEM_COUNT
};
#define CLI_PROBLEM_OPTIONS                                                                                           \
  { "operator", HONE_OPTION_TEXT, 0, 0, NULL, "NAME|FILE", "Operator to work on: a name in spaces/ or a file.", false }, \
  { "size", HONE_OPTION_LIST, 0, 0, NULL, "NAME=N,...", "Sizes of the operator, e.g. m=1,n=4096,k=4096.", false },    \
  { "dtype", HONE_OPTION_TEXT, 0, 0, NULL, "FORMAT", "Number format of every tensor that does not name its own.", false }, \
  { "format", HONE_OPTION_LIST, 0, 0, NULL, "TENSOR=FORMAT,...", "Number format of one tensor, e.g. W=int8; of a model: activations, weights or cache.", false }, \
  { "option", HONE_OPTION_LIST, 0, 0, NULL, "NAME=VALUE,...", "Options of the operator, e.g. bias=row,activation=gelu.", false }, \
  { "machine", HONE_OPTION_TEXT, 0, 0, NULL, "FILE|NAME", "Machine description: a file, or a name in data/machines.", false }, \
  { "space", HONE_OPTION_TEXT, 0, 0, NULL, "FILE", "Text that narrows the schedule space further.", false }

/* A problem: operator, machine, and the parameters and space they give. */
typedef struct {
  char operator_path[512], machine_path[512];
  hone_operator op;
  hone_machine machine;
  hone_params params;
  hone_space *space;
} cli_problem;

hone_status cli_machine_load(const cli_run *r, cli_problem *out, hone_err *err);
hone_status cli_operator_load(const cli_run *r, cli_problem *out, hone_err *err);
/* Machine, operator, parameters and space by the problem options. */
hone_status cli_problem_load(const cli_run *r, cli_problem *out, hone_err *err);
/* One size of the problem as a range: --size m=1..4096. */
typedef struct {
  char name[HONE_MAX_NAME];
  int64_t lo, hi;
} cli_range;
bool cli_range_given(const cli_run *r);
/* As cli_problem_load, with one size a range; the problem is that of its high end. */
hone_status cli_problem_load_range(const cli_run *r, cli_problem *out, cli_range *range, hone_err *err);
/* Parameters and space of an operator and machine that are there already. */
hone_status cli_problem_make_space(const cli_run *r, cli_problem *out, hone_err *err);
void cli_problem_fini(cli_problem *p);
/* Finds `name` as given (a path), or in `kind` ("spaces", "machines", "models") of
 * --data, the current directory and the installed data. NOT_FOUND names the nearest. */
hone_status cli_find_file(const cli_run *r, const char *kind, const char *name, char *path, size_t n, hone_err *err);

/* A path into a buffer; INPUT when it is too long for it, for a path cut short is another. */
hone_status cli_path_copy(const char *given, char *path, size_t n, hone_err *err);

/* What there is of a kind in those places: names without extension, sorted, each once. */
enum { CLI_MAX_NAMES = 256 };
typedef struct {
  char name[CLI_MAX_NAMES][64];
  int n;
} cli_names;
void cli_list_names(const cli_run *r, const char *kind, cli_names *out);

void cli_problem_label(const cli_problem *p, hone_text *out); /* "matmul m=8,n=4096,k=4096 bf16" */

hone_status cli_format_find(const char *name, hone_format *out, hone_err *err);

/* A schedule by --schedule TEXT | @FILE | "default" (also when text is NULL). */
hone_status cli_schedule_load(const cli_problem *p, const char *text, hone_schedule *out, hone_err *err);

/* Index of the first positional argument among n names, -1 (err says which there are). */
int cli_subcommand_find(const cli_run *r, int n, const char *(*at)(void *arg, int i), hone_err *err);
/* An option that would do nothing is refused rather than ignored: heeded[i] holds the
 * bits of the subcommands that heed option i, `bit` is that of `name`. */
enum { CLI_ALL = -1 };
hone_status cli_check_heeded(const cli_run *r, const int *heeded, int bit, const char *name, hone_err *err);
/* A warning: to stderr at the end, and into the document's "warnings". */
void cli_warn(cli_run *r, const char *code, const char *fmt, ...) HONE_PRINTF(3, 4);
void cli_warn_damaged(cli_run *r, const struct hone_store *s); /* when files of it are left out */
hone_status cli_check_readable(struct hone_store *s, hone_err *err); /* STORE when damage is all there is */
/* Straight to standard output, for exports too large to keep. */
hone_status cli_stream(const char *bytes, size_t n, hone_err *err);

/* Text for people. */
void cli_text_count(hone_text *out, int64_t n);                   /* 12 345 678 */
void cli_text_bytes(hone_text *out, int64_t bytes);               /* 12.0 MiB */
void cli_text_seconds(hone_text *out, double s);                  /* 12.3 us */
void cli_text_cycles(hone_text *out, int64_t cycles, const hone_machine *m); /* 12 345 (5.1 us) */
double cli_seconds(int64_t cycles, const hone_machine *m);

/* Tables: cells are added row by row, column widths found at print. */
typedef struct {
  int columns, cells, capacity;
  const char *align; /* per column 'l' or 'r' */
  char **cell;
} cli_table;
void cli_table_add(cli_table *t, const char *fmt, ...) HONE_PRINTF(2, 3);
void cli_table_print(cli_table *t, hone_text *out); /* first row is the head; frees the cells */
void cli_table_fini(cli_table *t); /* of one that is not printed */

/* JSON. Names in these documents carry their units. */
json_t *cli_json_real(double x);                 /* null for NaN and infinities */
json_t *cli_json_cycles(int64_t cycles);         /* null when negative */
json_t *cli_json_error(const hone_err *err);     /* the object, without {"error": } around it */
json_t *cli_json_string(const char *s);          /* always one: what is no ASCII becomes ? in a text that is no UTF-8 */
json_t *cli_json_text(const char *s);            /* null for NULL and "" */
json_t *cli_json_why(hone_reason reason, const char *text); /* {code, message} */
json_t *cli_json_problem(const cli_problem *p);  /* operator, sizes, formats, machine, identities */
json_t *cli_json_traffic(const hone_operator *op, const hone_machine *m, const hone_counts *c);

#endif
