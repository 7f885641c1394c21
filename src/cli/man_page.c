/* Man pages in roff's man macros: one of hone, one of each command, from the tables
 * that parse the options and print the help. */
#include "config.h"

#include <ctype.h>
#include <string.h>

#include "cli/cli.h"

/* Blank lines part paragraphs. */
static void add_paragraphs(const char *s, hone_text *out)
{
  hone_text part = { 0 };
  for (const char *end; *s; s = *end ? end + 2 : end) {
    end = strstr(s, "\n\n");
    if (!end) end = s + strlen(s);
    hone_text_clear(&part);
    hone_text_add_bytes(&part, s, (size_t)(end - s));
    hone_roff_add(out, part.data);
    hone_text_add(out, "\n%s", *end ? ".PP\n" : "");
  }
  hone_text_fini(&part);
}

/* No date: a page must not differ from build to build. */
static void add_title(const char *name, hone_text *out)
{
  hone_text_add(out, ".TH ");
  for (const char *p = name; *p; p++) {
    if (*p == '-') hone_text_add(out, "\\");
    hone_text_add(out, "%c", toupper((unsigned char)*p));
  }
  hone_text_add(out, " 1 \"\" \"hone %s\" \"Hone Manual\"\n", PACKAGE_VERSION);
}

static void add_exits(hone_text *out)
{
  int code;
  hone_text_add(out, ".SH EXIT STATUS\n");
  for (int i = 0; i < cli_nexits; i++) {
    const char *text = cli_exit_at(i, &code);
    hone_text_add(out, ".TP\n%d\n%s\n", code, text);
  }
}

static void add_others(const cli_command *but, hone_text *out)
{
  hone_text_add(out, ".SH SEE ALSO\n%s", but ? ".BR hone (1)" : "");
  for (int i = 0; i < cli_ncommands; i++)
    if (cli_commands[i] != but)
      hone_text_add(out, "%s.BR hone\\-%s (1)", i || but ? ",\n" : "", cli_commands[i]->name);
  hone_text_add(out, "\n");
}

void cli_man_page(const cli_command *c, hone_text *out)
{
  hone_text name = { 0 };
  hone_text_add(&name, "hone-%s", c->name);
  add_title(name.data, out);
  hone_text_fini(&name);
  hone_text_add(out, ".SH NAME\nhone\\-%s \\- ", c->name);
  hone_roff_add(out, c->summary);
  hone_text_add(out, "\n.SH SYNOPSIS\n\\fBhone %s\\fR ", c->name);
  if (c->arguments) {
    hone_text_add(out, "\\fI");
    hone_roff_add(out, c->arguments);
    hone_text_add(out, "\\fR ");
  }
  hone_text_add(out, "[\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n");
  add_paragraphs(c->detail, out);
  hone_text_add(out, ".SH OPTIONS\n");
  hone_options_man(c->option, c->noptions, out);
  add_exits(out);
  add_others(c, out);
}

void cli_man_overview(hone_text *out)
{
  add_title("hone", out);
  hone_text_add(out, ".SH NAME\nhone \\- search\\-driven autotuner for inference accelerators\n"
                     ".SH SYNOPSIS\n\\fBhone\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.br\n\\fBhone \\-\\-version\\fR [\\fB\\-\\-json\\fR]\n"
                     ".SH DESCRIPTION\nHone finds the schedule that keeps an inference accelerator busy, and says how far from the "
                     "limit it is. Each command has a page of its own.\n");
  for (int i = 0; i < cli_ncommands; i++) {
    hone_text_add(out, ".TP\n.BR hone\\-%s (1)\n", cli_commands[i]->name);
    hone_roff_add(out, cli_commands[i]->summary);
    hone_text_add(out, "\n");
  }
  hone_text_add(out, ".SH FILES\n.TP\n\\fI");
  hone_roff_add(out, HONE_DATADIR);
  hone_text_add(out, "\\fR\nOperators, machines, models and the schemas of the JSON documents.\n");
  add_exits(out);
  add_others(NULL, out);
}
