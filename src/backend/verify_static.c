/* What can be seen without running: the sequencer's limits, addresses, and
 * whether each instruction is one its unit can do and its schedule asks for. */
#include "config.h"

#include "backend/verify_int.h"

static bool refuse(verifier *v, const char *code, const char *what, int64_t have, int64_t limit)
{
  hone_err_set(v->err, HONE_INPUT, code, "%s: %lld, limit %lld", what, (long long)have, (long long)limit);
  return false;
}

static bool limits_ok(verifier *v)
{
  const hone_sequencer *q = &v->m->sequencer;
  hone_resources r;
  hone_backend_resources(v->p, &r);
  if (r.semaphores > q->semaphores) return refuse(v, "verify.resource", "semaphores", r.semaphores, q->semaphores);
  if (r.buffers > q->address_registers) return refuse(v, "verify.resource", "address registers", r.buffers, q->address_registers);
  if (r.loop_depth > q->loop_depth) return refuse(v, "verify.resource", "nested loops", r.loop_depth, q->loop_depth);
  if (r.microcode_bytes > q->microcode_bytes)
    return refuse(v, "verify.resource", "bytes of microcode", r.microcode_bytes, q->microcode_bytes);
  if (v->p->ndims != v->op->ndims || v->p->nargs != v->op->ntensors)
    return refuse(v, "verify.resource", "arguments of another operator", v->p->nargs, v->op->ntensors);
  return true;
}

static bool buffers_ok(verifier *v)
{
  for (int b = 0; b < v->p->nbuffers; b++) {
    const hone_program_buffer *x = &v->p->buffer[b];
    if (x->level >= v->m->nlevels) return refuse(v, "verify.resource", "memory of a buffer", x->level, v->m->nlevels - 1);
    const hone_memory *mem = &v->m->memory[x->level];
    int64_t room = mem->per_core ? mem->capacity_bytes : mem->capacity_bytes / hone_machine_cores(v->m);
    int64_t end = x->base + x->copies * x->slot_bytes, align = hone_max64(mem->align_bytes, 1);
    if (end > room) return refuse(v, "verify.bounds", "end of a buffer", end, room);
    if (x->base % align || (x->copies > 1 && x->slot_bytes % align)) return refuse(v, "verify.bounds", "a buffer is not aligned", x->base, align);
    for (int o = 0; o < b; o++) {
      const hone_program_buffer *y = &v->p->buffer[o];
      if (y->level == x->level && y->base < end && x->base < y->base + y->copies * y->slot_bytes)
        return refuse(v, "verify.bounds", "two buffers overlap", b, o);
    }
  }
  return true;
}

/* One stream signals each semaphore: then the k-th signal is always the same. */
static bool semaphores_ok(verifier *v)
{
  for (int i = 0; i < v->p->nsemaphores; i++) v->semaphore[i].signaller = -1;
  for (int s = 0; s < v->p->nstreams; s++)
    for (int i = v->p->stream[s].first; i < v->p->stream[s].first + v->p->stream[s].count; i++) {
      const hone_insn *x = &v->p->insn[i];
      if (x->op == HONE_INSN_WAIT) v->semaphore[x->a].waiters |= UINT64_C(1) << s;
      if (x->op != HONE_INSN_SIGNAL) continue;
      if (v->semaphore[x->a].signaller >= 0 && v->semaphore[x->a].signaller != s)
        return refuse(v, "verify.balance", "streams signal one semaphore", x->a, 1);
      v->semaphore[x->a].signaller = s;
    }
  return true;
}

/* Every operand sees a buffer the same way: row-major over its tensor's axes. The
 * strides then bound what a slot holds along each axis. */
static bool layout_ok(verifier *v, const hone_operand *o, bool seen[HONE_NO_BUFFER], hone_operand *first)
{
  if (o->buffer == HONE_NO_BUFFER) return o->rank == v->op->tensor[o->arg].rank;
  const hone_program_buffer *x = &v->p->buffer[o->buffer];
  if (o->rank != v->op->tensor[x->tensor].rank) return false;
  if (seen[o->buffer]) {
    bool same = o->format == first[o->buffer].format;
    for (int a = 0; a < o->rank; a++) same = same && o->stride[a] == first[o->buffer].stride[a];
    return same;
  }
  seen[o->buffer] = true;
  first[o->buffer] = *o;
  int64_t above = x->slot_bytes <= INT64_MAX / 8 ? x->slot_bytes * 8 / hone_format_bits((hone_format)o->format) : 0;
  for (int a = 0; a < o->rank; a++) {
    if (o->stride[a] < 1) return false;
    v->extent[o->buffer][a] = above / o->stride[a];
    above = o->stride[a];
  }
  return above > 0;
}

static bool reads(const hone_engine *e, int level, bool held)
{
  if (e->kind == HONE_ENGINE_VECTOR) return (e->vector.reads_from >> level & 1) != 0;
  return level == (held ? e->matrix.stationary_in : e->matrix.operands_in);
}

static bool writes(const hone_engine *e, int level)
{
  return e->kind == HONE_ENGINE_MATRIX ? e->matrix.accumulates_in == level : (e->vector.writes_to >> level & 1) != 0;
}

static int level_of(const verifier *v, const hone_operand *o)
{
  return o->buffer == HONE_NO_BUFFER ? 0 : v->p->buffer[o->buffer].level;
}

static bool move_ok(const verifier *v, const hone_stream *s, const hone_insn_body *b)
{
  int from = level_of(v, &b->read[0]), to = level_of(v, &b->write), level = from > to ? from : to;
  int tensor = b->read[0].buffer == HONE_NO_BUFFER ? b->read[0].arg : v->p->buffer[b->read[0].buffer].tensor;
  int target = b->write.buffer == HONE_NO_BUFFER ? b->write.arg : v->p->buffer[b->write.buffer].tensor;
  hone_format whole = v->op->tensor[b->tensor].format;
  if (b->tensor != tensor || b->tensor != target || b->level != level || b->drain != (from > to)) return false;
  if (from == 0 && !b->partial && b->read[0].format != whole) return false;
  if (to == 0 && !b->partial && b->write.format != whole) return false;
  if (b->partial && b->read[0].format != b->write.format) return false;
  if (s->kind != HONE_STREAM_ENGINE) return v->m->move[from][to] == HONE_MOVE_DMA;
  const hone_engine *e = &v->m->engine[s->unit];
  return e->kind == HONE_ENGINE_VECTOR && reads(e, from, false) && writes(e, to);
}

static bool rate_ok(const verifier *v, const hone_matrix *x, const hone_insn_body *b)
{
  if (b->rate >= x->nrates || !(x->dataflows >> b->dataflow & 1)) return false;
  hone_format a = (hone_format)b->read[0].format, c = (hone_format)b->read[1].format;
  hone_format sum = v->op->stage[b->stage].accumulator;
  return hone_array_rate_fits(&x->rate[b->rate], a, c, sum) && b->write.format == sum && b->dataflow == v->s->dataflow[b->stage];
}

static bool step_ok(const verifier *v, const hone_stream *s, const hone_insn *x, const hone_insn_body *b)
{
  if (b->stage >= v->op->nstages || s->unit != v->s->engine[b->stage]) return false;
  const hone_stage *st = &v->op->stage[b->stage];
  const hone_engine *e = &v->m->engine[s->unit];
  bool matmul = x->op == HONE_INSN_MATMUL, reduce = x->op == HONE_INSN_REDUCE;
  if (matmul != (st->kind == HONE_STAGE_CONTRACT) || matmul != (e->kind == HONE_ENGINE_MATRIX) || b->nreads != st->nreads) return false;
  for (int r = 0; r < b->nreads; r++)
    if (!reads(e, level_of(v, &b->read[r]), hone_read_held(v->op, v->s, b->stage, r)) || v->p->buffer[b->read[r].buffer].tensor != st->read[r].tensor ||
        b->read[r].format != v->op->tensor[st->read[r].tensor].format)
      return false;
  if (!writes(e, level_of(v, &b->write)) || v->p->buffer[b->write.buffer].tensor != st->write.tensor) return false;
  if (matmul) return rate_ok(v, &e->matrix, b);
  hone_format result = reduce ? st->accumulator : v->op->tensor[st->write.tensor].format;
  if (reduce && b->reduction != st->reduction) return false;
  if (b->apply.function != st->apply.function || b->apply.scale != st->apply.scale || b->apply.offset != st->apply.offset) return false;
  return st->kind == (reduce ? HONE_STAGE_REDUCE : HONE_STAGE_MAP) && b->write.format == result &&
         e->vector.rate[hone_function_cost_class(st->apply.function)].num > 0;
}

static bool unit_ok(const verifier *v, const hone_stream *s)
{
  int units[] = {[HONE_STREAM_LOAD] = v->m->dma.load_queues, [HONE_STREAM_STORE] = v->m->dma.store_queues,
                 [HONE_STREAM_ENGINE] = v->m->nengines};
  return s->unit < units[s->kind];
}

static bool insn_ok(verifier *v, const hone_stream *s, const hone_insn *x, bool seen[HONE_NO_BUFFER], hone_operand *first)
{
  if (x->body < 0) return true;
  const hone_insn_body *b = &v->p->body[x->body];
  for (int r = 0; r < b->nreads; r++)
    if (!layout_ok(v, &b->read[r], seen, first)) return false;
  if (!layout_ok(v, &b->write, seen, first)) return false;
  return hone_insn_is_step(x->op) ? step_ok(v, s, x, b) : move_ok(v, s, b);
}

/* Does axis a of the access run along dim d (HONE_NO_RANGE: along none)? */
static bool along(const hone_access *x, int tensor, int a, int d)
{
  const hone_affine *f = &x->axis[a].affine;
  return x->tensor != tensor || (f->nterms > 0 ? f->term[0].dim : HONE_NO_RANGE) == d;
}

/* When blocks are shifted, does the operand's box move as the stages' accesses
 * do? Offsets in a slot are between starts of one dim, boxes in DRAM run along
 * the dims of every access of the tensor. */
static bool shifts(const verifier *v, const hone_operand *o, const uint8_t *dim)
{
  for (int a = 0; a < o->rank; a++) {
    int d = o->inner[a] == HONE_NO_RANGE ? HONE_NO_RANGE : dim[o->inner[a]];
    if (o->outer[a] != HONE_NO_RANGE && dim[o->outer[a]] != d) return false;
    for (int s = 0; o->buffer == HONE_NO_BUFFER && s < v->op->nstages; s++) {
      const hone_stage *st = &v->op->stage[s];
      if (!along(&st->write, o->arg, a, d)) return false;
      for (int r = 0; r < st->nreads; r++)
        if (!along(&st->read[r], o->arg, a, d)) return false;
    }
  }
  return true;
}

/* The level whose tiles a loop of dim d cuts inside level `from`; 0: none. */
static int level_of_step(const verifier *v, int d, int from, int64_t step)
{
  for (int l = from + 1; l < v->m->nlevels; l++)
    if (v->s->tile[l][d] == step) return l;
  return 0;
}

/* Loops cut the schedule's tiles; what shifts with the blocks is noted. */
static bool loops_ok(verifier *v)
{
  uint8_t dim[HONE_MAX_RANGES];
  int level[HONE_MAX_RANGES] = {0};
  for (int d = 0; d < v->p->ndims; d++) dim[d] = (uint8_t)d;
  v->shifts = true;
  for (int i = 0; i < v->p->ninsns; i++) {
    const hone_insn *x = &v->p->insn[i];
    if (x->op == HONE_INSN_LOOP) {
      dim[x->a] = dim[x->b];
      level[x->a] = level_of_step(v, dim[x->a], level[x->b], x->n);
      if (level[x->a] == 0) return refuse(v, "verify.schedule", "no tile of the schedule has the step of a loop", x->n, 0);
    }
    if (x->body < 0) continue;
    const hone_insn_body *b = &v->p->body[x->body];
    for (int r = 0; r < b->nreads; r++) v->shifts = v->shifts && shifts(v, &b->read[r], dim);
    v->shifts = v->shifts && shifts(v, &b->write, dim);
  }
  return true;
}

bool verify_static(verifier *v)
{
  bool seen[HONE_NO_BUFFER] = {false};
  hone_operand first[HONE_NO_BUFFER];
  if (!limits_ok(v) || !buffers_ok(v) || !semaphores_ok(v) || !loops_ok(v)) return false;
  for (int n = 0; n < v->p->nstreams; n++) {
    const hone_stream *s = &v->p->stream[n];
    if (!unit_ok(v, s)) return refuse(v, "verify.unit", "no such engine or queue", s->unit, 0);
    for (int i = s->first; i < s->first + s->count; i++) {
      if (insn_ok(v, s, &v->p->insn[i], seen, first)) continue;
      char name[16];
      hone_err_set(v->err, HONE_INPUT, "verify.unit", "%s cannot do instruction %d, or the schedule does not ask for it",
                   hone_stream_print(s, name), i - s->first);
      return false;
    }
  }
  return true;
}
