/* hone compile: a schedule becomes microcode. */
#include "config.h"

#include <inttypes.h>

#include "backend/backend.h"
#include "base/file.h"
#include "cli/lowered_int.h"

enum { COMPILE_SCHEDULE = CLI_PROBLEM_COUNT, COMPILE_DISASSEMBLE, COMPILE_OUTPUT, COMPILE_OPTIONS };

static const hone_option options[] = {
  CLI_COMMON_OPTIONS,
  CLI_PROBLEM_OPTIONS,
  { "schedule", HONE_OPTION_TEXT, 0, 0, "default", "TEXT|@FILE", "Schedule in canonical text.", false },
  { "disassemble", HONE_OPTION_FLAG, 0, 1, NULL, NULL, "Print the program, one instruction a line.", false },
  { "output", HONE_OPTION_TEXT, 0, 0, NULL, "FILE", "Write the encoded program to FILE.", false },
};

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

static hone_status report(cli_run *r, const lowered *l, hone_err *err)
{
  const cli_problem *p = &l->problem;
  hone_text t = { 0 };
  hone_schedule_print(&p->op, &p->machine, &p->params, &l->schedule, &t);
  json_object_set_new(r->document, "schedule", json_string(t.data ? t.data : ""));
  json_object_set_new(r->document, "program_bytes", json_integer((json_int_t)l->n));
  hone_text_clear(&t);
  if (r->value[COMPILE_DISASSEMBLE].i) {
    hone_program_print(l->program, &t);
    hone_text_add(&r->out, "%s\n", t.data);
    json_object_set_new(r->document, "disassembly", json_string(t.data));
  }
  hone_text_fini(&t);
  hone_text_add(&r->out, "%-18s %10zu bytes, verified\n", "program", l->n);
  add_resources(r, p, l->program);
  const char *path = r->value[COMPILE_OUTPUT].text;
  return path ? hone_file_write_atomic(path, l->bytes, l->n, err) : HONE_OK;
}

static hone_status run(cli_run *r, hone_err *err)
{
  lowered l;
  hone_status st = lowered_load(r, r->value[COMPILE_SCHEDULE].text, &l, err);
  if (st != HONE_OK) return st;
  st = report(r, &l, err);
  lowered_fini(&l);
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
