/* Decoding and the checks that need no execution. hone_program_decode has
 * checked that indices are inside the program; here they are held against the
 * operator and the machine, so that execution has to check ranges only. The
 * bytes may be anything: every fault is a diagnostic. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "sim/sim_int.h"

static hone_status bad(sim *s, int insn, const char *text)
{
  if (insn < 0) return hone_err_set(s->err, HONE_INPUT, "sim.program", "%s", text);
  return hone_err_set(s->err, HONE_INPUT, "sim.program", "instruction %d: %s", insn, text);
}

/* A memory the cores share is divided evenly (backend/program.h). */
int64_t hone_sim_capacity(const sim *s, int level)
{
  const hone_memory *x = &s->m->memory[level];
  return x->per_core ? x->capacity_bytes : x->capacity_bytes / s->cores;
}

static int64_t rate_min(hone_rate *best, hone_rate r) /* keeps the slower */
{
  if ((__int128)r.num * best->den < (__int128)best->num * r.den) *best = r;
  return best->num;
}

/* ---- Machine ------------------------------------------------------------------ */

static hone_status check_machine(sim *s)
{
  const hone_machine *m = s->m;
  const hone_dma *d = &m->dma;
  s->stream_rate = hone_machine_dram_stream(m);
  s->dma_rate = d->rate;
  hone_rate engines = {d->engine_rate.num, d->engine_rate.den};
  if (!m->tile_machine)
    return hone_err_set(s->err, HONE_UNSUPPORTED, "sim.machine", "%s is model-only: it has no microcode to simulate", m->name);
  if (s->stream_rate.num <= 0 || s->stream_rate.den <= 0 || s->dma_rate.num <= 0 || s->dma_rate.den <= 0 || d->engines < 1 ||
      d->in_flight < 1 || m->dram.access_bytes < 1 || m->dram.row_bytes < 1 || m->dram.banks < 1 || m->dram.channels < 1)
    return hone_err_set(s->err, HONE_INPUT, "sim.machine", "%s: DRAM and DMA need rates, banks and queues above zero", m->name);
  if (engines.num > 0 && hone_checked_mul(engines.num, d->engines, &engines.num)) rate_min(&s->dma_rate, engines);
  s->cores = hone_machine_cores(m);
  return HONE_OK;
}

/* A piece is about 64 cycles of DRAM time, a power of two in 512 .. 4096: fine
 * enough to interleave, coarse enough to be fast. */
static void derive_figures(sim *s)
{
  const hone_dram *d = &s->m->dram;
  int64_t bytes = hone_muldiv_ceil(64, s->stream_rate.num, s->stream_rate.den);
  s->piece_bytes = 512;
  while (s->piece_bytes < 4096 && s->piece_bytes < bytes) s->piece_bytes *= 2;
  s->miss_ticks = hone_muldiv_ceil(sim_ticks(d->row_miss_cycles), 1, (int64_t)d->banks * d->channels);
}

/* ---- Program -------------------------------------------------------------------- */

static hone_status check_tables(sim *s)
{
  const hone_program *p = s->program;
  if (p->ndims != s->op->ndims || p->nargs != s->op->ntensors) return bad(s, -1, "made for another operator: dims or tensors differ");
  for (int b = 0; b < p->nbuffers; b++) {
    const hone_program_buffer *u = &p->buffer[b];
    int64_t bytes;
    if (u->level < 1 || u->level >= s->m->nlevels || u->copies < 1 || u->base < 0 || u->slot_bytes < 0 ||
        !hone_checked_mul(u->slot_bytes, u->copies, &bytes) || !hone_checked_add(bytes, u->base, &bytes) ||
        bytes > hone_sim_capacity(s, u->level))
      return hone_err_set(s->err, HONE_INPUT, "sim.bounds", "buffer %d lies outside its memory", b);
  }
  for (int i = 0; i < p->nsemaphores; i++)
    if (p->semaphore[i].initial < 0 || p->semaphore[i].role > 3) return bad(s, -1, "a semaphore starts below zero or has no role");
  return HONE_OK;
}

static hone_status check_streams(sim *s)
{
  const hone_program *p = s->program;
  const hone_machine *m = s->m;
  uint64_t seen[3][4] = {{0}};
  for (int i = 0; i < p->nstreams; i++) {
    const hone_stream *t = &p->stream[i];
    int limit = t->kind == HONE_STREAM_ENGINE ? m->nengines
                : t->kind == HONE_STREAM_LOAD ? m->dma.load_queues
                                              : m->dma.store_queues;
    if (t->kind > HONE_STREAM_ENGINE || t->unit >= limit) return bad(s, -1, "a stream's queue or engine is not there");
    uint64_t bit = UINT64_C(1) << (t->unit & 63);
    if (seen[t->kind][t->unit >> 6] & bit) return bad(s, -1, "two streams for one queue or engine");
    seen[t->kind][t->unit >> 6] |= bit;
    if (t->first < 0 || t->count < 0 || t->first > p->ninsns - t->count) return bad(s, -1, "a stream lies outside the program");
  }
  return HONE_OK;
}

static bool check_operand(const sim *s, const hone_operand *o, bool local)
{
  const hone_program *p = s->program;
  if (o->format >= HONE_FORMAT_COUNT || o->rank > HONE_MAX_RANK) return false;
  if (local ? o->buffer >= p->nbuffers : o->buffer != HONE_NO_BUFFER) return false;
  if (!local && (o->arg >= p->nargs || o->rank != s->op->tensor[o->arg].rank)) return false;
  for (int a = 0; a < o->rank; a++) {
    if (o->inner[a] != HONE_NO_RANGE && o->inner[a] >= HONE_MAX_RANGES) return false;
    if (o->outer[a] != HONE_NO_RANGE && o->outer[a] >= HONE_MAX_RANGES) return false;
    if (local && o->stride[a] < 0) return false;
  }
  return true;
}

/* Where the axes of an operand move when an iteration index does. */
static bool bind_axes(const hone_insn_body *b, const hone_operand *o, int8_t at[HONE_MAX_RANK])
{
  for (int a = 0; a < o->rank; a++) {
    at[a] = -1;
    for (int i = 0; i < b->niter; i++)
      if (b->iter[i] == o->inner[a]) at[a] = (int8_t)i;
    if (at[a] < 0 && o->inner[a] != HONE_NO_RANGE) return false;
  }
  return true;
}

static bool check_compute(sim *s, const hone_insn_body *b, sim_body *x, hone_stage_kind kind)
{
  if (b->stage >= s->op->nstages || s->op->stage[b->stage].kind != kind) return false;
  if (b->nreads < 1 || b->nreads > HONE_MAX_READS || b->niter > HONE_MAX_ITER) return false;
  x->row = x->column = -1;
  for (int i = 0; i < b->niter; i++) {
    if (b->iter[i] >= HONE_MAX_RANGES) return false;
    for (int j = 0; j < i; j++)
      if (b->iter[j] == b->iter[i]) return false;
    if (b->iter[i] == b->row) x->row = i;
    if (b->iter[i] == b->column) x->column = i;
  }
  for (int r = 0; r < b->nreads; r++)
    if (!check_operand(s, &b->read[r], true) || !bind_axes(b, &b->read[r], x->at[r])) return false;
  return check_operand(s, &b->write, true) && bind_axes(b, &b->write, x->at[HONE_MAX_READS]);
}

static bool check_matmul(sim *s, const hone_insn_body *b, sim_body *x, const hone_engine *e)
{
  if (!e || e->kind != HONE_ENGINE_MATRIX || b->nreads != 2 || !check_compute(s, b, x, HONE_STAGE_CONTRACT)) return false;
  if (b->rate >= e->matrix.nrates || b->dataflow >= HONE_DATAFLOW_COUNT || !(e->matrix.dataflows >> b->dataflow & 1)) return false;
  const hone_array_rate *r = &e->matrix.rate[b->rate];
  bool ab = r->a == b->read[0].format && r->b == b->read[1].format;
  bool ba = r->b == b->read[0].format && r->a == b->read[1].format;
  return x->row >= 0 && x->column >= 0 && x->row != x->column && (ab || ba) && r->accumulator == b->write.format && r->cycles_per_row_num > 0 && r->cycles_per_row_den > 0 && e->matrix.rows > 0 &&
         e->matrix.columns > 0;
}

static bool check_map(sim *s, const hone_insn_body *b, sim_body *x, const hone_engine *e)
{
  return e && e->kind == HONE_ENGINE_VECTOR && b->function < HONE_FUNCTION_COUNT && check_compute(s, b, x, HONE_STAGE_MAP) &&
         b->nreads == hone_function_arity((hone_function)b->function) &&
         e->vector.rate[hone_function_cost_class((hone_function)b->function)].num > 0;
}

static bool check_move(sim *s, const hone_insn_body *b, hone_insn_op op, const hone_engine *e)
{
  if (e && (e->kind != HONE_ENGINE_VECTOR || e->vector.rate[HONE_COST_SIMPLE].num <= 0)) return false;
  return b->tensor < s->op->ntensors && b->level < s->m->nlevels && check_operand(s, &b->read[0], op != HONE_INSN_LOAD) &&
         check_operand(s, &b->write, op != HONE_INSN_STORE) && b->read[0].rank == b->write.rank;
}

static bool check_body(sim *s, const hone_insn *i, const hone_engine *e)
{
  if (i->body < 0 || i->body >= s->program->nbodies) return false;
  const hone_insn_body *b = &s->program->body[i->body];
  sim_body *x = &s->body[i->body];
  if (i->op == HONE_INSN_MATMUL) return check_matmul(s, b, x, e);
  if (i->op == HONE_INSN_MAP) return check_map(s, b, x, e);
  return check_move(s, b, i->op, e);
}

static bool runs_on(hone_insn_op op, hone_stream_kind kind, const hone_engine *e)
{
  enum { D = 1, M = 2, V = 4 };
  static const uint8_t engines[] = {
#define HONE_INSN(id, name, where, timing, help) [HONE_INSN_##id] = where,
#include "backend/isa.def"
#undef HONE_INSN
  };
  int unit = kind != HONE_STREAM_ENGINE ? D : e->kind == HONE_ENGINE_MATRIX ? M : V;
  if (op == HONE_INSN_LOAD && kind != HONE_STREAM_LOAD) return false;
  if (op == HONE_INSN_STORE && kind != HONE_STREAM_STORE) return false;
  return (engines[op] & unit) != 0;
}

static hone_status check_insn(sim *s, int pc, hone_stream_kind kind, const hone_engine *e, int *open, int *depth)
{
  const hone_program *p = s->program;
  const hone_insn *i = &p->insn[pc];
  if (i->op >= HONE_INSN_COUNT || !runs_on(i->op, kind, e)) return bad(s, pc, "this queue or engine does not run it");
  if (i->when.visit > HONE_VISIT_LAST || i->when.edge > HONE_EDGE_NOT_LAST) return bad(s, pc, "no such predicate");
  switch (i->op) {
  case HONE_INSN_HALT:
    return *depth ? bad(s, pc, "halt inside a loop") : HONE_OK;
  case HONE_INSN_LOOP:
    if (*depth == SIM_MAX_NEST || i->a >= HONE_MAX_RANGES || i->b >= HONE_MAX_RANGES || i->n < 1) return bad(s, pc, "malformed loop");
    open[(*depth)++] = pc;
    return HONE_OK;
  case HONE_INSN_END:
    if (*depth == 0) return bad(s, pc, "end without loop");
    s->match[open[--*depth]] = pc;
    return HONE_OK;
  case HONE_INSN_WAIT:
  case HONE_INSN_EXPECT:
    if (i->b != HONE_NO_BUFFER && i->b >= p->nbuffers) return bad(s, pc, "no such buffer");
    return i->a < p->nsemaphores && i->n >= 0 && i->n <= INT32_MAX ? HONE_OK : bad(s, pc, "malformed wait");
  case HONE_INSN_SIGNAL:
    return i->a < p->nsemaphores && i->n >= 0 && i->n <= INT32_MAX ? HONE_OK : bad(s, pc, "malformed signal");
  default:
    return check_body(s, i, e) ? HONE_OK : bad(s, pc, "its operands do not fit the operator, the machine or the program");
  }
}

static hone_status check_insns(sim *s)
{
  const hone_program *p = s->program;
  int open[SIM_MAX_NEST];
  for (int k = 0; k < p->nstreams; k++) {
    const hone_stream *t = &p->stream[k];
    const hone_engine *e = t->kind == HONE_STREAM_ENGINE ? &s->m->engine[t->unit] : NULL;
    int depth = 0;
    for (int pc = t->first; pc < t->first + t->count; pc++) {
      hone_status st = check_insn(s, pc, t->kind, e, open, &depth);
      if (st) return st;
    }
    if (depth) return bad(s, t->first + t->count - 1, "a loop is not closed");
  }
  return HONE_OK;
}

static hone_status bind_arguments(sim *s, const hone_sim_argument *args)
{
  for (int i = 0; i < s->op->ntensors; i++) {
    const hone_tensor *x = &s->op->tensor[i];
    int layout = args ? args[i].layout : 0;
    if (layout >= x->nlayouts) return hone_err_set(s->err, HONE_INPUT, "sim.layout", "tensor %s has no layout %d", x->name, layout);
    int64_t stride = 1;
    s->layout[i] = x->layout[layout];
    for (int k = x->rank - 1; k >= 0; k--) {
      int a = x->layout[layout][k];
      s->stride[i][a] = stride;
      if (!hone_checked_mul(stride, x->extent[a], &stride)) return hone_err_set(s->err, HONE_OVERFLOW, "sim.size", "tensor %s is too large", x->name);
    }
  }
  return HONE_OK;
}

hone_status hone_sim_load(sim *s, const uint8_t *bytes, size_t n, const hone_sim_argument *args)
{
  hone_status st = check_machine(s);
  if (!st) st = hone_program_decode(bytes, n, &s->program, s->err);
  if (!st) st = check_tables(s);
  if (!st) st = check_streams(s);
  if (st) return st;
  derive_figures(s);
  s->body = hone_heap_alloc((size_t)s->program->nbodies + 1, sizeof *s->body);
  s->match = hone_heap_alloc((size_t)s->program->ninsns + 1, sizeof *s->match);
  st = check_insns(s);
  return st ? st : bind_arguments(s, args);
}
