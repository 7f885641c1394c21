/* Every entry as microcode: compiled, verified and encoded in parallel, handed out in
 * order. A file is named after family, sizes and a hash of its bytes: a library that
 * is written again never changes a file an older one refers to, and names that
 * differ in case only do not meet. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "library/emit_int.h"

enum { NAME_PART = 96 }; /* a file name has at most 255 bytes */

typedef struct {
  const library_draft_family *f;
  hone_library_entry *e;
  const hone_schedule *schedule;
  const char *id;
  uint8_t *bytes;
  size_t n;
  int64_t microcode_bytes;
  char why[256];
  hone_status status; /* of what is nobody's schedule's fault */
  hone_err err;
} job;

static hone_status encode(job *j, const library_shape *x, hone_program *p)
{
  hone_err why;
  hone_err_init(&why);
  hone_status st = hone_backend_verify(p, &x->op, x->machine, j->schedule, &why);
  if (st != HONE_OK) {
    snprintf(j->why, sizeof j->why, "%s: %.200s", why.code[0] ? why.code : "verify", why.message);
    return HONE_OK;
  }
  j->microcode_bytes = hone_program_microcode_bytes(p);
  return hone_program_encode(p, &j->bytes, &j->n, &j->err);
}

static hone_status compile(job *j, const library_shape *x)
{
  hone_program *p = NULL;
  hone_reason reason = HONE_REASON_NONE;
  hone_why why = {.text = ""};
  hone_status st = hone_backend_compile(&x->op, x->machine, j->schedule, &p, &reason, &why, &j->err);
  if (st == HONE_OK && reason != HONE_REASON_NONE)
    snprintf(j->why, sizeof j->why, "schedule.%s: %s", hone_reason_code(reason), why.text[0] ? why.text : hone_reason_text(reason));
  else if (st == HONE_OK) st = encode(j, x, p);
  hone_program_free(p);
  return st;
}

static void run(job *j)
{
  library_shape *x = NULL;
  hone_spec *spec = hone_heap_alloc(1, sizeof *spec);
  *spec = j->f->spec;
  for (int i = 0; i < spec->nsizes; i++) spec->size[i].value = spec->size[i].to = j->e->size[i];
  hone_err_init(&j->err);
  j->status = library_shape_new(j->f->path, spec, j->f->machine, &x, &j->err);
  if (j->status == HONE_OK) j->status = compile(j, x);
  library_shape_free(x);
  free(spec);
}

/* "matmul_bf16_on_teaching-m8-n64-k64-0123456789abcdef.bin", in lower case. */
static void name_file(const job *j, hone_text *out)
{
  char hash[HONE_HASH_TEXT];
  hone_text sizes = {0};
  for (int i = 0; i < j->f->spec.nsizes; i++) hone_text_add(&sizes, "-%s%" PRId64, j->f->spec.size[i].name, j->e->size[i]);
  hone_text_add(out, "%.*s%.*s", NAME_PART, j->id, NAME_PART, sizes.data ? sizes.data : "");
  for (char *c = out->data; *c; c++) {
    if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
    else if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9') && *c != '-') *c = '_';
  }
  hone_hash_print(hone_hash_bytes(j->bytes, j->n), hash);
  hone_text_add(out, "-%.16s.bin", hash);
  hone_text_fini(&sizes);
}

static hone_status hand_out(library_draft *d, job *j, hone_err *err)
{
  if (j->status != HONE_OK) {
    if (err) *err = j->err;
    return j->status;
  }
  if (!j->bytes) {
    j->e->microcode_reason = hone_arena_strdup(d->l->arena, j->why);
    return HONE_OK;
  }
  hone_text name = {0};
  name_file(j, &name);
  j->e->microcode = hone_arena_strdup(d->l->arena, name.data);
  j->e->microcode_reason = "";
  j->e->microcode_bytes = j->microcode_bytes;
  hone_text_fini(&name);
  return d->source->write_microcode ? d->source->write_microcode(d->source->write_arg, j->e->microcode, j->bytes, j->n, err) : HONE_OK;
}

static void plan(library_draft *d, job *j)
{
  int k = 0;
  for (int i = 0; i < d->nfamilies; i++)
    for (int e = 0; e < d->family[i]->nentries; e++) {
      job *x = &j[k++];
      x->f = d->family[i];
      x->e = &d->family[i]->entry[e].e;
      x->schedule = &d->family[i]->entry[e].schedule;
      x->id = d->family[i]->id;
      if (!d->source->microcode) snprintf(x->why, sizeof x->why, "not asked for");
      else if (!x->f->machine->tile_machine) snprintf(x->why, sizeof x->why, "the machine is model-only");
    }
}

hone_status library_make_microcode(library_draft *d, hone_err *err)
{
  hone_status st = HONE_OK;
  int n = 0;
  for (int i = 0; i < d->nfamilies; i++) n += d->family[i]->nentries;
  job *j = hone_heap_alloc((size_t)n + 1, sizeof *j);
  plan(d, j);
#pragma omp parallel for schedule(dynamic, 1)
  for (int i = 0; i < n; i++)
    if (!j[i].why[0]) run(&j[i]);
  for (int i = 0; i < n && st == HONE_OK; i++) st = hand_out(d, &j[i], err);
  for (int i = 0; i < n; i++) free(j[i].bytes);
  free(j);
  return st;
}
