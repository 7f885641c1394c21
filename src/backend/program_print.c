/* The disassembler: a header of buffers and semaphores, then each stream, one
 * instruction a line, loops indented. */
#include "config.h"

#include "backend/backend_int.h"

#include <stdio.h>

const char *hone_stream_print(const hone_stream *s, char buf[16])
{
  static const char *const kinds[] = {[HONE_STREAM_LOAD] = "load", [HONE_STREAM_STORE] = "store", [HONE_STREAM_ENGINE] = "engine"};
  snprintf(buf, 16, "%s%u", kinds[s->kind], s->unit);
  return buf;
}

static void print_mask(hone_text *out, const char *name, uint32_t mask)
{
  hone_text_add(out, " %s{", name);
  for (int i = 0, first = 1; i < HONE_MAX_OPEN; i++) {
    if (!(mask >> i & 1)) continue;
    hone_text_add(out, first ? "%d" : ",%d", i);
    first = 0;
  }
  hone_text_add(out, "}");
}

static void print_when(hone_text *out, const hone_predicate *w)
{
  static const char *const visit[] = {"", "new", "last"}, *const edge[] = {"", "first", "not-first", "at-end", "not-at-end"};
  if (w->visit || w->edge) hone_text_add(out, "  ?");
  if (w->visit) print_mask(out, visit[w->visit], w->visit_mask);
  if (w->edge) print_mask(out, edge[w->edge], w->edge_mask);
}

/* "b2[r0-r0,r5-r3] fp32" or "dram t1[r0,r4] bf16". */
static void print_operand(hone_text *out, const hone_operand *o, bool partial)
{
  if (o->buffer == HONE_NO_BUFFER)
    hone_text_add(out, " dram t%u%s[", o->arg, partial ? " partial" : "");
  else
    hone_text_add(out, " b%u[", o->buffer);
  for (int a = 0; a < o->rank; a++) {
    if (a) hone_text_add(out, ",");
    if (o->inner[a] == HONE_NO_RANGE)
      hone_text_add(out, "1");
    else
      hone_text_add(out, "r%u", o->inner[a]);
    if (o->outer[a] != HONE_NO_RANGE) hone_text_add(out, "-r%u", o->outer[a]);
    if (o->buffer != HONE_NO_BUFFER) hone_text_add(out, "*%d", o->stride[a]);
    if (o->origin[a]) hone_text_add(out, "%+lld", (long long)o->origin[a]);
  }
  hone_text_add(out, "] %s", hone_format_name((hone_format)o->format));
}

static void print_apply(hone_text *out, hone_insn_op op, const hone_insn_body *b)
{
  if (op == HONE_INSN_REDUCE) hone_text_add(out, " %s of", hone_reduction_name((hone_reduction)b->reduction));
  hone_text_add(out, " %s", hone_function_name(b->apply.function));
  if (!hone_apply_plain(&b->apply)) hone_text_add(out, " scale %.9g offset %.9g", b->apply.scale, b->apply.offset);
}

static void print_body(hone_text *out, hone_insn_op op, const hone_insn_body *b)
{
  if (hone_insn_is_step(op)) {
    hone_text_add(out, " stage %u over", b->stage);
    for (int i = 0; i < b->niter; i++) hone_text_add(out, " r%u", b->iter[i]);
    if (op != HONE_INSN_MATMUL)
      print_apply(out, op, b);
    else
      hone_text_add(out, " rows r%u columns r%u %s rate %u", b->row, b->column, hone_dataflow_name((hone_dataflow)b->dataflow), b->rate);
    hone_text_add(out, ":");
  }
  for (int r = 0; r < b->nreads; r++) print_operand(out, &b->read[r], b->partial);
  hone_text_add(out, " ->");
  print_operand(out, &b->write, b->partial);
  if (op != HONE_INSN_MAP && hone_insn_is_step(op)) print_mask(out, "zero", b->zero_mask);
}

static void print_insn(const hone_program *p, const hone_insn *x, hone_text *out)
{
  hone_text_add(out, "%s", hone_insn_rows[x->op].name);
  if (x->op == HONE_INSN_LOOP) hone_text_add(out, " r%u in r%u step %lld", x->a, x->b, (long long)x->n);
  if (x->op == HONE_INSN_WAIT || x->op == HONE_INSN_EXPECT || x->op == HONE_INSN_SIGNAL)
    hone_text_add(out, " s%u +%lld", x->a, (long long)x->n);
  if ((x->op == HONE_INSN_WAIT || x->op == HONE_INSN_EXPECT) && x->b != HONE_NO_BUFFER) hone_text_add(out, " rotate b%u", x->b);
  if (x->body >= 0) print_body(out, x->op, &p->body[x->body]);
  print_when(out, &x->when);
  hone_text_add(out, "\n");
}

static void print_tables(const hone_program *p, hone_text *out)
{
  static const char *const roles[] = {"present", "free", "partial", "done"};
  hone_text_add(out, "program: %d dims, %d arguments, %d streams, %lld bytes of microcode\n", p->ndims, p->nargs, p->nstreams,
                (long long)hone_program_microcode_bytes(p));
  for (int b = 0; b < p->nbuffers; b++) {
    const hone_program_buffer *x = &p->buffer[b];
    hone_text_add(out, "buffer b%d: t%u in memory %u, %u x %lld bytes at %lld\n", b, x->tensor, x->level, x->copies,
                  (long long)x->slot_bytes, (long long)x->base);
  }
  for (int s = 0; s < p->nsemaphores; s++) {
    const hone_program_semaphore *x = &p->semaphore[s];
    hone_text_add(out, "semaphore s%d: %s", s, roles[x->role]);
    if (x->buffer != HONE_NO_BUFFER) hone_text_add(out, " b%u", x->buffer);
    hone_text_add(out, ", initially %lld\n", (long long)x->initial);
  }
}

void hone_program_print(const hone_program *p, hone_text *out)
{
  print_tables(p, out);
  for (int s = 0; s < p->nstreams; s++) {
    char name[16];
    hone_text_add(out, "%s:\n", hone_stream_print(&p->stream[s], name));
    int indent = 1;
    for (int i = p->stream[s].first; i < p->stream[s].first + p->stream[s].count; i++) {
      const hone_insn *x = &p->insn[i];
      if (x->op == HONE_INSN_END) indent--;
      hone_text_add(out, "%*s", 2 * indent, "");
      print_insn(p, x, out);
      if (x->op == HONE_INSN_LOOP) indent++;
    }
  }
}
