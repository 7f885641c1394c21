/* JSON that several commands share. */
#include "config.h"

#include <math.h>

#include "cli/cli.h"

json_t *cli_json_real(double x)
{
  return isfinite(x) ? json_real(x) : json_null();
}

json_t *cli_json_cycles(int64_t cycles)
{
  return cycles < 0 ? json_null() : json_integer(cycles);
}

/* Names of files, and diagnostics that quote them, may be no UTF-8; JSON must be. */
json_t *cli_json_string(const char *s)
{
  json_t *t = json_string(s);
  if (t) return t;
  hone_text clean = { 0 };
  for (; *s; s++) hone_text_add(&clean, "%c", (unsigned char)*s < 0x80 ? *s : '?');
  t = json_string(clean.data);
  hone_text_fini(&clean);
  return t;
}

json_t *cli_json_text(const char *s)
{
  return s && *s ? cli_json_string(s) : json_null();
}

static void add_text(json_t *o, const char *key, const char *s)
{
  if (s[0]) json_object_set_new(o, key, cli_json_string(s));
}

json_t *cli_json_error(const hone_err *err)
{
  json_t *o = json_object();
  json_object_set_new(o, "status", json_string(hone_status_name(err->status)));
  json_object_set_new(o, "code", cli_json_string(err->code));
  json_object_set_new(o, "message", cli_json_string(err->message));
  add_text(o, "file", err->file);
  if (err->line > 0) json_object_set_new(o, "line", json_integer(err->line));
  if (err->column > 0) json_object_set_new(o, "column", json_integer(err->column));
  add_text(o, "path", err->path);
  add_text(o, "hint", err->hint);
  return o;
}

static void set_hash(json_t *o, const char *key, hone_hash h)
{
  char text[HONE_HASH_TEXT];
  hone_hash_print(h, text);
  json_object_set_new(o, key, json_string(text));
}

json_t *cli_json_problem(const cli_problem *p)
{
  json_t *o = json_object(), *dims = json_object(), *formats = json_object();
  json_object_set_new(o, "operator", json_string(p->op.name));
  json_object_set_new(o, "machine", json_string(p->machine.name));
  for (int d = 0; d < p->op.ndims; d++) json_object_set_new(dims, p->op.dim[d].name, json_integer(p->op.dim[d].extent));
  for (int t = 0; t < p->op.ntensors; t++)
    json_object_set_new(formats, p->op.tensor[t].name, json_string(hone_format_name(p->op.tensor[t].format)));
  json_object_set_new(o, "dims", dims);
  json_object_set_new(o, "formats", formats);
  json_object_set_new(o, "clock_hz", json_integer(p->machine.clock_hz));
  set_hash(o, "operator_hash", hone_operator_hash(&p->op));
  set_hash(o, "machine_hash", hone_machine_hash(&p->machine));
  return o;
}

json_t *cli_json_why(hone_reason reason, const char *text)
{
  json_t *o = json_object();
  json_object_set_new(o, "code", json_string(hone_reason_code(reason)));
  json_object_set_new(o, "message", cli_json_string(text && text[0] ? text : hone_reason_text(reason)));
  return o;
}

json_t *cli_json_traffic(const hone_operator *op, const hone_machine *m, const hone_counts *c)
{
  json_t *list = json_array();
  for (int t = 0; t < op->ntensors; t++)
    for (int l = 0; l < m->nlevels; l++) {
      if (c->read_bytes[t][l] == 0 && c->write_bytes[t][l] == 0) continue;
      json_t *o = json_object();
      json_object_set_new(o, "tensor", json_string(op->tensor[t].name));
      json_object_set_new(o, "memory", json_string(m->memory[l].name));
      json_object_set_new(o, "read_bytes", json_integer(c->read_bytes[t][l]));
      json_object_set_new(o, "write_bytes", json_integer(c->write_bytes[t][l]));
      json_array_append_new(list, o);
    }
  return list;
}
