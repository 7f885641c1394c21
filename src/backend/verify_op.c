/* What moves and steps mean on cells: which box each operand has to be, given
 * the operator, and what becomes of it. */
#include "config.h"

#include "backend/verify_int.h"

static hone_range range_of(const verify_stream *s, uint8_t range)
{
  return range == HONE_NO_RANGE ? (hone_range){0, 1} : s->range[range];
}

/* Where in its slot a local operand lies. */
static void local_box(const verify_stream *s, const hone_operand *o, hone_range *local)
{
  for (int a = 0; a < o->rank; a++) {
    hone_range r = range_of(s, o->inner[a]);
    local[a] = (hone_range){o->outer[a] == HONE_NO_RANGE ? 0 : r.start - s->range[o->outer[a]].start, r.length};
  }
}

static verify_place *slot_of(verifier *v, const hone_operand *o)
{
  int slot = v->stream[v->now].slot[o->buffer];
  if (slot < 0) verify_refuse(v, "verify.content", "no copy of b%u has been chosen yet", o->buffer);
  return slot < 0 ? NULL : &v->slot[o->buffer][slot];
}

static verify_place *dram_place(verifier *v, int tensor, bool partial)
{
  if (hone_operator_writer(v->op, tensor) < 0) return NULL;
  return partial ? &v->workspace[tensor] : &v->whole[tensor];
}

static bool enter(verifier *v, verify_place *x, const hone_operand *o, const hone_range *box, bool writing)
{
  hone_range local[HONE_MAX_RANK];
  local_box(&v->stream[v->now], o, local);
  return verify_enter(v, x, o->buffer, box, local, writing);
}

/* The box of a move in tensor coordinates: as DRAM says, or where the source is. */
static bool move_box(verifier *v, const hone_insn_body *b, const verify_place *from, hone_range *box)
{
  const verify_stream *s = &v->stream[v->now];
  const hone_operand *dram = b->read[0].buffer == HONE_NO_BUFFER ? &b->read[0] : &b->write;
  if (dram->buffer == HONE_NO_BUFFER) {
    for (int a = 0; a < dram->rank; a++) {
      box[a] = range_of(s, dram->inner[a]);
      box[a].start += dram->origin[a];
    }
    return true;
  }
  if (!from->set) return verify_refuse(v, "verify.content", "b%u holds nothing yet", b->read[0].buffer);
  local_box(s, &b->read[0], box);
  for (int a = 0; a < b->read[0].rank; a++) box[a].start += from->base[a];
  return true;
}

bool verify_transfer(verifier *v, const hone_insn *x)
{
  const hone_insn_body *b = &v->p->body[x->body];
  bool load = x->op == HONE_INSN_LOAD, store = x->op == HONE_INSN_STORE;
  verify_place *from = load ? dram_place(v, b->tensor, b->partial) : slot_of(v, &b->read[0]);
  verify_place *to = store ? dram_place(v, b->tensor, b->partial) : slot_of(v, &b->write);
  hone_range box[HONE_MAX_RANK];
  if ((!load && !from) || (!store && !to)) return false;
  if (store && !to) return verify_refuse(v, "verify.content", "stores to the input %s", v->op->tensor[b->tensor].name);
  if (load && (from ? !from->set : b->partial))
    return verify_refuse(v, "verify.content", "loads %s, which nothing stores", v->op->tensor[b->tensor].name);
  if (!move_box(v, b, from, box)) return false;
  if (!load && !enter(v, from, &b->read[0], box, false)) return false;
  if (!store && !enter(v, to, &b->write, box, true)) return false;
  return verify_move(v, from, to, box, (hone_format)b->read[0].format, (hone_format)b->write.format, store && !b->partial);
}

/* The operand must run along the step's dims as the stage's access says. */
static bool step_box(verifier *v, const hone_access *access, const hone_operand *o, const uint8_t *reg, hone_range *box)
{
  const verify_stream *s = &v->stream[v->now];
  for (int a = 0; a < o->rank; a++) {
    const hone_affine *x = &access->axis[a].affine;
    uint8_t want = x->nterms > 0 ? reg[x->term[0].dim] : HONE_NO_RANGE;
    if (o->inner[a] != want) return verify_refuse(v, "verify.content", "axis %d of an operand does not follow the stage's access", a);
    box[a] = range_of(s, want);
    box[a].start += x->constant;
  }
  return true;
}

/* Each dim of the stage once; counts its points. */
static bool step_ranges(verifier *v, const hone_insn_body *b, uint8_t *reg, hone_range *range)
{
  const verify_stream *s = &v->stream[v->now];
  hone_dimset seen = 0;
  int64_t points = 1;
  for (int i = 0; i < b->niter; i++) {
    int d = s->dim[b->iter[i]];
    if (seen >> d & 1) return verify_refuse(v, "verify.work", "iterates twice over %s", v->op->dim[d].name);
    seen |= UINT32_C(1) << d;
    reg[d] = b->iter[i];
    range[d] = s->range[b->iter[i]];
    if (!hone_checked_mul(points, range[d].length, &points)) return verify_refuse(v, "verify.work", "points do not fit 64 bits");
  }
  if (seen != v->op->stage[b->stage].dims) return verify_refuse(v, "verify.work", "does not iterate over the dims of its stage");
  if (!hone_checked_add(v->points[b->stage], points, &v->points[b->stage]))
    return verify_refuse(v, "verify.work", "points do not fit 64 bits");
  return true;
}

static bool zero_start(const verify_stream *s, uint32_t mask)
{
  for (int i = 0; i < s->nopen; i++)
    if ((mask >> i & 1) && s->open[i].counter != 0) return false;
  return true;
}

bool verify_step(verifier *v, const hone_insn *x)
{
  const hone_insn_body *b = &v->p->body[x->body];
  const hone_stage *st = &v->op->stage[b->stage];
  const verify_stream *s = &v->stream[v->now];
  uint8_t reg[HONE_MAX_DIMS] = {0};
  hone_range range[HONE_MAX_DIMS] = {{0, 0}}, box[HONE_MAX_RANK];
  if (!step_ranges(v, b, reg, range)) return false;
  for (int r = 0; r < b->nreads; r++) {
    verify_place *from = slot_of(v, &b->read[r]);
    if (!from || !step_box(v, &st->read[r], &b->read[r], reg, box) || !enter(v, from, &b->read[r], box, false) ||
        !verify_read(v, from, box, v->op->tensor[st->read[r].tensor].format))
      return false;
  }
  if (x->op == HONE_INSN_MATMUL && (b->row != reg[v->s->map_row[b->stage]] || b->column != reg[v->s->map_column[b->stage]]))
    return verify_refuse(v, "verify.schedule", "other dims on the array than the schedule says");
  verify_place *to = slot_of(v, &b->write);
  if (!to || !step_box(v, &st->write, &b->write, reg, box) || !enter(v, to, &b->write, box, true)) return false;
  if (x->op == HONE_INSN_MAP) return verify_write(v, to, box, (hone_format)b->write.format);
  return verify_accumulate(v, to, box, b->stage, range, zero_start(s, b->zero_mask), (hone_format)b->write.format);
}
