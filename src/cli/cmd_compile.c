/* hone compile: a schedule becomes microcode. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "cli/cli.h"

enum { COMPILE_SCHEDULE = CLI_PROBLEM_COUNT, COMPILE_DISASSEMBLE, COMPILE_OUTPUT, COMPILE_OPTIONS };

static const hone_option options[] = {
  CLI_COMMON_OPTIONS,
  CLI_PROBLEM_OPTIONS,
  { "schedule", HONE_OPTION_TEXT, 0, 0, "default", "TEXT|@FILE", "Schedule in canonical text.", false },
  { "disassemble", HONE_OPTION_FLAG, 0, 1, NULL, NULL, "Print the program, one instruction a line.", false },
  { "output", HONE_OPTION_TEXT, 0, 0, NULL, "FILE", "Write the encoded program to FILE.", false },
};

hone_status cli_program_make(const cli_problem *p, const hone_schedule *s, hone_program **out, hone_err *err)
{
  hone_reason reason = HONE_REASON_NONE;
  hone_why why = { 0 };
  reason = hone_schedule_check(&p->op, &p->machine, s, &why);
  hone_status st = HONE_OK;
  if (reason == HONE_REASON_NONE) st = hone_backend_compile(&p->op, &p->machine, s, out, &reason, &why, err);
  if (st != HONE_OK || reason == HONE_REASON_NONE) return st;
  char code[48];
  snprintf(code, sizeof code, "schedule.%s", hone_reason_code(reason));
  return hone_err_set(err, HONE_INFEASIBLE, code, "%s", why.text[0] ? why.text : hone_reason_text(reason));
}

static hone_status write_file(const char *path, const uint8_t *bytes, size_t n, hone_err *err)
{
  FILE *f = fopen(path, "wb");
  bool ok = f && fwrite(bytes, 1, n, f) == n;
  if (f && fclose(f) != 0) ok = false;
  if (ok) return HONE_OK;
  hone_err_set(err, HONE_IO, "file.write", "cannot write: %s", strerror(errno));
  hone_err_at(err, path, 0, 0);
  return HONE_IO;
}

static void add_resources(cli_run *r, const cli_problem *p, const hone_program *program)
{
  hone_resources x;
  hone_backend_resources(program, &x);
  const hone_sequencer *q = &p->machine.sequencer;
  const struct {
    const char *key, *text;
    int64_t have, limit;
  } rows[] = {
    { "microcode_bytes", "microcode bytes", x.microcode_bytes, q->microcode_bytes },
    { "semaphores", "semaphores", x.semaphores, q->semaphores },
    { "buffers", "address registers", x.buffers, q->address_registers },
    { "loop_depth", "loop depth", x.loop_depth, q->loop_depth },
  };
  json_t *o = json_object(), *memories = json_object();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    hone_text_add(&r->out, "%-18s %10" PRId64 " of %" PRId64 "\n", rows[i].text, rows[i].have, rows[i].limit);
    json_object_set_new(o, rows[i].key, json_integer(rows[i].have));
  }
  for (int l = 1; l < p->machine.nlevels; l++) {
    hone_text_add(&r->out, "%-18s %10" PRId64 " of %" PRId64 " bytes\n", p->machine.memory[l].name, x.sram_bytes[l],
                  p->machine.memory[l].capacity_bytes);
    json_object_set_new(memories, p->machine.memory[l].name, json_integer(x.sram_bytes[l]));
  }
  hone_text_add(&r->out, "%-18s %10d\n", "streams", x.streams);
  json_object_set_new(o, "streams", json_integer(x.streams));
  json_object_set_new(o, "memory_bytes", memories);
  json_object_set_new(r->document, "resources", o);
}

static hone_status emit(cli_run *r, const cli_problem *p, const hone_schedule *s, const hone_program *program, hone_err *err)
{
  hone_status st = hone_backend_verify(program, &p->op, &p->machine, s, err);
  if (st != HONE_OK) return st;
  uint8_t *bytes = NULL;
  size_t n = 0;
  st = hone_program_encode(program, &bytes, &n, err);
  if (st != HONE_OK) return st;
  hone_text t = { 0 };
  hone_schedule_print(&p->op, &p->machine, &p->params, s, &t);
  json_object_set_new(r->document, "schedule", json_string(t.data ? t.data : ""));
  json_object_set_new(r->document, "program_bytes", json_integer((json_int_t)n));
  hone_text_clear(&t);
  if (r->value[COMPILE_DISASSEMBLE].i) {
    hone_program_print(program, &t);
    hone_text_add(&r->out, "%s\n", t.data);
    json_object_set_new(r->document, "disassembly", json_string(t.data));
  }
  hone_text_add(&r->out, "%-18s %10zu bytes, verified\n", "program", n);
  add_resources(r, p, program);
  if (r->value[COMPILE_OUTPUT].given) st = write_file(r->value[COMPILE_OUTPUT].text, bytes, n, err);
  hone_text_fini(&t);
  free(bytes);
  return st;
}

static hone_status run(cli_run *r, hone_err *err)
{
  cli_problem p;
  hone_schedule s;
  hone_program *program = NULL;
  hone_status st = cli_problem_load(r, &p, err);
  if (st != HONE_OK) return st;
  r->document = json_object();
  json_object_set_new(r->document, "problem", cli_json_problem(&p));
  st = cli_schedule_load(&p, r->value[COMPILE_SCHEDULE].text, &s, err);
  if (st == HONE_OK) st = cli_program_make(&p, &s, &program, err);
  if (st == HONE_OK) st = emit(r, &p, &s, program, err);
  hone_program_free(program);
  cli_problem_fini(&p);
  return st;
}

const cli_command cli_compile = {
  .name = "compile",
  .summary = "lower a schedule to verified microcode",
  .detail = "Lowers --schedule (or the default one), proves the program against operator and schedule, and says what it needs of the "
            "machine. --disassemble prints it, --output keeps it.",
  .option = options,
  .noptions = COMPILE_OPTIONS,
  .run = run,
};
