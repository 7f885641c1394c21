/* Decoding and the checks that need no execution. hone_program_decode has
 * checked the program in itself (indices, nesting, which stream runs what); here
 * it is held against the operator and the machine, so that execution has to
 * check ranges only. The bytes may be anything: every fault is a diagnostic. */
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
    if (u->level >= s->m->nlevels || u->base + u->copies * u->slot_bytes > hone_sim_capacity(s, u->level))
      return hone_err_set(s->err, HONE_INPUT, "sim.bounds", "buffer %d lies outside its memory", b);
  }
  return HONE_OK;
}

static bool rank_fits(const sim *s, const hone_operand *o)
{
  return o->buffer != HONE_NO_BUFFER || o->rank == s->op->tensor[o->arg].rank;
}

/* Where the axes of an operand move when an iteration index does. */
static void bind_axes(const hone_insn_body *b, const hone_operand *o, int8_t at[HONE_MAX_RANK])
{
  for (int a = 0; a < HONE_MAX_RANK; a++) at[a] = -1;
  for (int a = 0; a < o->rank; a++)
    for (int i = 0; i < b->niter; i++)
      if (b->iter[i] == o->inner[a]) at[a] = (int8_t)i;
}

static bool check_compute(sim *s, const hone_insn_body *b, sim_body *x, hone_stage_kind kind)
{
  if (b->stage >= s->op->nstages || s->op->stage[b->stage].kind != kind) return false;
  for (int i = 0; i < b->niter; i++) {
    for (int j = 0; j < i; j++)
      if (b->iter[j] == b->iter[i]) return false;
    if (b->iter[i] == b->row) x->row = i;
    if (b->iter[i] == b->column) x->column = i;
  }
  for (int r = 0; r < b->nreads; r++) bind_axes(b, &b->read[r], x->at[r]);
  bind_axes(b, &b->write, x->at[HONE_MAX_READS]);
  return true;
}

static bool check_matmul(sim *s, const hone_insn_body *b, sim_body *x, const hone_engine *e)
{
  const hone_matrix *m = &e->matrix;
  if (!check_compute(s, b, x, HONE_STAGE_CONTRACT) || b->rate >= m->nrates || !(m->dataflows >> b->dataflow & 1)) return false;
  const hone_array_rate *r = &m->rate[b->rate];
  bool fits = hone_array_rate_fits(r, (hone_format)b->read[0].format, (hone_format)b->read[1].format, (hone_format)b->write.format);
  return x->row != x->column && fits && r->cycles_per_row_num > 0 &&
         r->cycles_per_row_den > 0 && m->rows > 0 && m->columns > 0;
}

static bool check_vector(sim *s, const hone_insn_body *b, sim_body *x, const hone_engine *e, hone_stage_kind kind)
{
  return check_compute(s, b, x, kind) && e->vector.rate[hone_function_cost_class(b->apply.function)].num > 0;
}

static bool check_move(const sim *s, const hone_insn_body *b, const hone_engine *e)
{
  if (e && e->vector.rate[HONE_COST_SIMPLE].num <= 0) return false;
  return b->level < s->m->nlevels && rank_fits(s, &b->read[0]) && rank_fits(s, &b->write);
}

static bool check_body(sim *s, const hone_insn *i, const hone_engine *e)
{
  const hone_insn_body *b = &s->program->body[i->body];
  sim_body *x = &s->body[i->body];
  if (e && (i->op == HONE_INSN_MATMUL) != (e->kind == HONE_ENGINE_MATRIX)) return false;
  if (i->op == HONE_INSN_MATMUL) return check_matmul(s, b, x, e);
  if (i->op == HONE_INSN_MAP) return check_vector(s, b, x, e, HONE_STAGE_MAP);
  if (i->op == HONE_INSN_REDUCE) return check_vector(s, b, x, e, HONE_STAGE_REDUCE);
  return check_move(s, b, e);
}

/* Loops to their ends, bodies against operator and engine. Counts are kept small
 * enough that no semaphore can wrap. */
static hone_status check_stream(sim *s, const hone_stream *t)
{
  const hone_program *p = s->program;
  const hone_engine *e = t->kind == HONE_STREAM_ENGINE ? &s->m->engine[t->unit] : NULL;
  int open[SIM_MAX_NEST], depth = 0;
  for (int pc = t->first; pc < t->first + t->count; pc++) {
    const hone_insn *i = &p->insn[pc];
    if (i->op == HONE_INSN_LOOP) {
      if (depth == SIM_MAX_NEST) return bad(s, pc, "loops nested too deep");
      open[depth++] = pc;
    } else if (i->op == HONE_INSN_END) {
      s->match[open[--depth]] = pc;
    } else if (i->body >= 0) {
      if (!check_body(s, i, e)) return bad(s, pc, "its operands do not fit the operator or the machine");
    } else if (i->n > INT32_MAX) {
      return bad(s, pc, "counts too far at once");
    }
  }
  return HONE_OK;
}

static hone_status check_streams(sim *s)
{
  const hone_dma *d = &s->m->dma;
  for (int i = 0; i < s->program->nstreams; i++) {
    const hone_stream *t = &s->program->stream[i];
    int limit = t->kind == HONE_STREAM_ENGINE ? s->m->nengines : t->kind == HONE_STREAM_LOAD ? d->load_queues : d->store_queues;
    if (t->unit >= limit) return bad(s, t->first, "the stream's queue or engine is not there");
    hone_status st = check_stream(s, t);
    if (st) return st;
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
  if (st) return st;
  derive_figures(s);
  s->body = hone_heap_alloc((size_t)s->program->nbodies + 1, sizeof *s->body);
  s->match = hone_heap_alloc((size_t)s->program->ninsns + 1, sizeof *s->match);
  st = check_streams(s);
  return st ? st : bind_arguments(s, args);
}
