/* hone help: overview, one command, or the whole man page, from the option tables. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

enum { HELP_MAN = CLI_COMMON_COUNT, HELP_COUNT };

static const hone_option options[] = {
  CLI_COMMON_OPTIONS,
  { "man", HONE_OPTION_FLAG, 0, 1, NULL, NULL, "Print the man page (roff) of the command, or of hone.", false },
};

static const struct {
  int code;
  const char *text;
} exits[] = {
  { 0, "done" },
  { 1, "internal error" },
  { 2, "bad usage or input" },
  { 3, "infeasible, or nothing found" },
  { 4, "file, store or disk error" },
  { 5, "interrupted; the run can be resumed" },
};

const int cli_nexits = sizeof exits / sizeof exits[0];

const char *cli_exit_at(int i, int *code)
{
  *code = exits[i].code;
  return exits[i].text;
}

void cli_overview(hone_text *out)
{
  hone_text_add(out, "Hone finds the schedule that keeps an inference accelerator busy, and says how\n"
                     "far from the limit it is.\n\nUsage: hone COMMAND [OPTIONS]\n\n");
  for (int i = 0; i < cli_ncommands; i++) hone_text_add(out, "  %-10s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
  hone_text_add(out, "\nhone help COMMAND tells more; hone --version says how it was built.\n\nExit status:\n");
  for (size_t i = 0; i < sizeof exits / sizeof exits[0]; i++) hone_text_add(out, "  %d  %s\n", exits[i].code, exits[i].text);
}

void cli_command_help(const cli_command *c, hone_text *out)
{
  hone_text_add(out, "hone %s: %s\n\nUsage: hone %s%s%s [OPTIONS]\n\n%s\n\nOptions:\n", c->name, c->summary, c->name,
                c->arguments ? " " : "", c->arguments ? c->arguments : "", c->detail);
  hone_options_help(c->option, c->noptions, out);
}

json_t *cli_command_document(const cli_command *c)
{
  json_t *list = json_array();
  for (int i = 0; i < c->noptions; i++) {
    const hone_option *o = &c->option[i];
    json_array_append_new(list, json_pack("{s:s, s:s?, s:s?, s:b, s:s}", "name", o->name, "argument", o->argument, "default", o->fallback,
                                          "required", o->required, "help", o->help));
  }
  return json_pack("{s:s, s:s, s:s?, s:s, s:o}", "command", c->name, "summary", c->summary, "arguments", c->arguments, "detail", c->detail,
                   "options", list);
}

static json_t *overview_document(void)
{
  json_t *commands = json_array(), *status = json_object();
  for (int i = 0; i < cli_ncommands; i++)
    json_array_append_new(commands, json_pack("{s:s, s:s}", "command", cli_commands[i]->name, "summary", cli_commands[i]->summary));
  for (size_t i = 0; i < sizeof exits / sizeof exits[0]; i++) {
    char code[16];
    snprintf(code, sizeof code, "%d", exits[i].code);
    json_object_set_new(status, code, json_string(exits[i].text));
  }
  return json_pack("{s:o, s:o}", "commands", commands, "exit_status", status);
}

static hone_status run(cli_run *r, hone_err *err)
{
  const bool man = r->value[HELP_MAN].i;
  if (r->npositional == 0) {
    (man ? cli_man_overview : cli_overview)(&r->out);
    r->document = overview_document();
    return HONE_OK;
  }
  const cli_command *c = cli_command_find(r->positional[0]);
  if (c) {
    (man ? cli_man_page : cli_command_help)(c, &r->out);
    r->document = cli_command_document(c);
    return HONE_OK;
  }
  return cli_command_unknown(r->positional[0], err);
}

const cli_command cli_help = {
  .name = "help",
  .summary = "explain the commands",
  .arguments = "[COMMAND]",
  .detail = "Without an argument lists the commands. With --man prints the man page instead.",
  .option = options,
  .noptions = HELP_COUNT,
  .max_positional = 1,
  .run = run,
};
