/* hone: finds the command, parses its options by its table, runs it, prints.
 * Reading order: cli.h, this file, then any cmd_*.c. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define HONE_COMMAND(id) extern const cli_command cli_##id;
#include "cli/command.def"
#undef HONE_COMMAND

const cli_command *const cli_commands[] = {
#define HONE_COMMAND(id) &cli_##id,
#include "cli/command.def"
#undef HONE_COMMAND
};
const int cli_ncommands = (int)(sizeof cli_commands / sizeof cli_commands[0]);

volatile sig_atomic_t cli_interrupted;

static void note_signal(int sig)
{
  (void)sig;
  cli_interrupted = 1;
}

void cli_catch_signals(void)
{
  struct sigaction a = { .sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND };
  sigemptyset(&a.sa_mask);
  sigaction(SIGINT, &a, NULL);
  sigaction(SIGTERM, &a, NULL);
}

const cli_command *cli_command_find(const char *name)
{
  for (int i = 0; i < cli_ncommands; i++)
    if (strcmp(cli_commands[i]->name, name) == 0) return cli_commands[i];
  return NULL;
}

static const char *name_at(void *arg, int i)
{
  (void)arg;
  return cli_commands[i]->name;
}

hone_status cli_command_unknown(const char *name, hone_err *err)
{
  hone_err_set(err, HONE_USAGE, "cli.unknown-command", "unknown command '%.60s'", name);
  const char *near = hone_text_nearest(name, cli_ncommands, name_at, NULL);
  if (near) hone_err_hint(err, "did you mean '%s'?", near);
  else hone_err_hint(err, "hone help lists the commands");
  return HONE_USAGE;
}

int cli_subcommand_find(const cli_run *r, int n, const char *(*at)(void *arg, int i), hone_err *err)
{
  const char *word = r->npositional > 0 ? r->positional[0] : NULL;
  for (int i = 0; word && i < n; i++)
    if (strcmp(at(NULL, i), word) == 0) return i;
  if (!word) hone_err_set(err, HONE_USAGE, "cli.missing-argument", "hone %s what?", r->command->name);
  else hone_err_set(err, HONE_USAGE, "cli.unknown-command", "unknown: hone %s %.60s", r->command->name, word);
  const char *near = word ? hone_text_nearest(word, n, at, NULL) : NULL;
  if (near) hone_err_hint(err, "did you mean '%s'?", near);
  else hone_err_hint(err, "%s", r->command->arguments);
  return -1;
}

hone_status cli_check_heeded(const cli_run *r, const int *heeded, int bit, const char *name, hone_err *err)
{
  for (int i = 0; i < r->command->noptions; i++)
    if (r->value[i].given && !(heeded[i] & bit))
      return hone_err_set(err, HONE_USAGE, "option.unused", "hone %s %s has no use for --%s", r->command->name, name,
                          r->command->option[i].name);
  return HONE_OK;
}

hone_status cli_stream(const char *bytes, size_t n, hone_err *err)
{
  if (fwrite(bytes, 1, n, stdout) == n) return HONE_OK;
  return hone_err_set(err, HONE_IO, "file.write", "cannot write to standard output: %s", strerror(errno));
}

/* Writes to stdout whatever there is to write; a full disk or closed pipe is an
 * IO error like any other. */
static int put(const char *s, size_t n, int code)
{
  if ((n == 0 || fwrite(s, 1, n, stdout) == n) && fflush(stdout) == 0) return code;
  fprintf(stderr, "hone: cannot write to standard output: %s\n", strerror(errno));
  return hone_status_exit_code(HONE_IO);
}

static int put_document(json_t *document, int code)
{
  char *s = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
  hone_text t = { 0 };
  hone_text_add(&t, "%s\n", s);
  code = put(t.data, t.length, code);
  free(s);
  hone_text_fini(&t);
  return code;
}

static void put_error(const hone_err *err)
{
  char line[2048];
  hone_err_print(err, line, sizeof line);
  bool colour = isatty(STDERR_FILENO);
  fprintf(stderr, "%shone:%s %s\n", colour ? "\033[1;31m" : "", colour ? "\033[0m" : "", line);
}

void cli_warn(cli_run *r, const char *code, const char *fmt, ...)
{
  char message[512];
  hone_err e; /* makes the text fit for a terminal */
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  hone_err_set(&e, HONE_INPUT, code, "%s", message);
  if (!r->warnings) r->warnings = json_array();
  json_array_append_new(r->warnings, json_pack("{s:s, s:o}", "code", code, "message", cli_json_string(e.message)));
}

static void put_warnings(cli_run *r)
{
  size_t i;
  json_t *w;
  json_array_foreach(r->warnings, i, w)
    fprintf(stderr, "hone: warning: %s [%s]\n", json_string_value(json_object_get(w, "message")),
            json_string_value(json_object_get(w, "code")));
}

static int finish(cli_run *r, hone_status st, const hone_err *err)
{
  int code = hone_status_exit_code(st != HONE_OK ? st : r->outcome);
  put_warnings(r);
  if (st != HONE_OK) put_error(err);
  if (r->json) {
    if (!r->document) r->document = json_object();
    if (r->warnings) json_object_set(r->document, "warnings", r->warnings);
    if (st != HONE_OK) json_object_set_new(r->document, "error", cli_json_error(err));
    code = put_document(r->document, code);
  } else {
    code = put(r->out.data, r->out.length, code);
  }
  json_decref(r->document);
  json_decref(r->warnings);
  hone_text_fini(&r->out);
  return code;
}

static int run_command(const cli_command *c, int argc, char **argv)
{
  cli_run r = { .command = c, .argc = argc, .argv = argv };
  hone_err err;
  hone_err_init(&err);
  for (int i = 0; i < argc; i++)
    if (strcmp(argv[i], "--json") == 0) r.json = true; /* also when the rest does not parse */
  hone_option_value value[CLI_MAX_OPTIONS] = { 0 };
  const char *positional[CLI_MAX_POSITIONAL];
  hone_status st = hone_options_parse(c->option, c->noptions, argc, argv, value, positional, c->max_positional,
                                      c->max_positional ? &r.npositional : NULL, &err);
  r.value = value;
  r.positional = positional;
  if (st == HONE_OK && value[CLI_HELP].i) {
    cli_command_help(c, &r.out);
    r.document = cli_command_document(c);
  } else if (st == HONE_OK) {
    st = c->run(&r, &err);
  }
  int code = finish(&r, st, &err);
  hone_options_fini(value, c->noptions);
  return code;
}

static int unknown_command(const char *name, bool json)
{
  cli_run r = { .json = json };
  hone_err err;
  hone_status st = cli_command_unknown(name, &err);
  return finish(&r, st, &err);
}

/* With a standard stream closed, the next file opened (a segment of a store, say)
 * would take its number and get its text. A reading /dev/null makes writes fail. */
static void hold_standard_streams(void)
{
  for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY))
    if (fd > STDERR_FILENO) {
      close(fd);
      return;
    }
}

int main(int argc, char **argv)
{
  hold_standard_streams();
  hone_text t = { 0 };
  if (argc < 2) {
    cli_overview(&t);
    fputs(t.data, stderr);
    hone_text_fini(&t);
    return hone_status_exit_code(HONE_USAGE);
  }
  const cli_command *c = cli_command_find(strcmp(argv[1], "--help") == 0 ? "help" : argv[1]);
  if (c) return run_command(c, argc - 2, argv + 2);
  bool json = false;
  for (int i = 1; i < argc; i++) json = json || strcmp(argv[i], "--json") == 0;
  if (strcmp(argv[1], "--version") != 0) return unknown_command(argv[1], json);
  cli_run r = { .json = json, .document = cli_version_document() };
  cli_version(&r.out);
  return finish(&r, HONE_OK, NULL);
}
