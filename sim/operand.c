/* Operands to boxes, with every range checked: SRAM addresses against the
 * buffer's slot, DRAM boxes against the tensor. And boxes to contiguous runs. */
#include "config.h"

#include "sim/sim_int.h"

static sim_range range_of(const sim_stream *t, int reg)
{
  if (reg == HONE_NO_RANGE) return (sim_range){0, 1, HONE_NO_RANGE};
  return t->range[reg];
}

static bool local_box(sim *s, const sim_stream *t, const hone_operand *o, sim_box *out)
{
  const hone_program_buffer *u = &s->program->buffer[o->buffer];
  int64_t bytes = hone_format_bytes((hone_format)o->format, 1);
  __int128 first = 0, last = 0;
  if (t->slot[o->buffer] < 0) {
    hone_sim_fault(s, t, HONE_INPUT, "sim.slot", "buffer %d is used before its first slot is taken", o->buffer);
    return false;
  }
  for (int a = 0; a < o->rank; a++) {
    sim_range r = range_of(t, o->inner[a]);
    if (o->outer[a] != HONE_NO_RANGE) first += (__int128)(r.start - t->range[o->outer[a]].start) * o->stride[a];
    last += (__int128)(r.length - 1) * o->stride[a];
    out->length[a] = r.length;
    out->stride[a] = o->stride[a];
    out->elements *= r.length;
  }
  if (out->elements > 0 && (first < 0 || (first + last + 1) * bytes > u->slot_bytes)) {
    hone_sim_fault(s, t, HONE_INPUT, "sim.bounds", "box leaves buffer %d: elements %lld .. %lld of %lld", o->buffer, (long long)first,
                   (long long)(first + last), (long long)(u->slot_bytes / bytes));
    return false;
  }
  if (s->functional && out->elements > 0)
    out->data = s->sram[t->core * s->m->nlevels + u->level] + u->base + t->slot[o->buffer] * u->slot_bytes + (int64_t)first * bytes;
  return true;
}

static bool dram_box(sim *s, const sim_stream *t, const hone_insn_body *b, const hone_operand *o, sim_box *out)
{
  const hone_tensor *x = &s->op->tensor[o->arg];
  hone_format stored = b->partial ? (hone_format)o->format : x->format;
  int64_t first = 0;
  if (stored != o->format) {
    hone_sim_fault(s, t, HONE_INPUT, "sim.program", "tensor %s is stored as %s", x->name, hone_format_name(x->format));
    return false;
  }
  for (int a = 0; a < o->rank; a++) {
    sim_range r = range_of(t, o->inner[a]);
    int64_t start = r.start;
    if (!hone_checked_add(r.start, o->origin[a], &start) || start < 0 || start > x->extent[a] - r.length) {
      hone_sim_fault(s, t, HONE_INPUT, "sim.bounds", "box leaves tensor %s on axis %d: %lld + %lld of %lld", x->name, a,
                     (long long)start, (long long)r.length, (long long)x->extent[a]);
      return false;
    }
    first += start * s->stride[o->arg][a];
    out->length[a] = r.length;
    out->stride[a] = s->stride[o->arg][a];
    out->elements *= r.length;
  }
  uint8_t *base = b->partial ? s->workspace[o->arg] : s->tensor[o->arg];
  if (s->functional && out->elements > 0) out->data = base + first * hone_format_bytes((hone_format)o->format, 1);
  return true;
}

bool hone_sim_box(sim *s, const sim_stream *t, const hone_insn_body *b, const hone_operand *o, sim_box *out)
{
  out->data = NULL;
  out->format = (hone_format)o->format;
  out->rank = o->rank;
  out->elements = 1;
  return o->buffer == HONE_NO_BUFFER ? dram_box(s, t, b, o, out) : local_box(s, t, o, out);
}

/* Contiguous runs of a box in DRAM: axes merge while all of the inner ones is there. */
void hone_sim_runs(const sim *s, const hone_operand *o, const sim_box *box, int64_t *runs, int64_t *bytes)
{
  const hone_tensor *x = &s->op->tensor[o->arg];
  int64_t run = 1;
  for (int k = x->rank - 1; k >= 0; k--) {
    int a = s->layout[o->arg][k];
    if (x->scattered >> a & 1) break;
    run *= box->length[a];
    if (box->length[a] != x->extent[a]) break;
  }
  *runs = box->elements / run;
  *bytes = hone_format_bytes(box->format, run);
}

/* Runs contiguous in both of two boxes of equal lengths. */
void hone_sim_copy_runs(const sim_box *from, const sim_box *to, int64_t *runs, int64_t *bytes)
{
  int64_t run = 1;
  for (int grown = 1; grown;) {
    grown = 0;
    for (int a = 0; a < to->rank; a++) {
      if (to->length[a] > 1 && to->stride[a] == run && from->stride[a] == run) {
        run *= to->length[a];
        grown = 1;
      }
    }
  }
  *runs = to->elements / run;
  *bytes = hone_max64(hone_format_bytes(to->format, run), hone_format_bytes(from->format, run));
}

bool hone_sim_move_boxes(sim *s, const sim_stream *t, const hone_insn_body *b, sim_box *from, sim_box *to)
{
  if (!hone_sim_box(s, t, b, &b->read[0], from) || !hone_sim_box(s, t, b, &b->write, to)) return false;
  for (int a = 0; a < to->rank; a++) {
    if (from->length[a] == to->length[a]) continue;
    hone_sim_fault(s, t, HONE_INPUT, "sim.program", "the two boxes of a move differ in size");
    return false;
  }
  return true;
}
