/* The structure of a program: what encode, decode and the verifier may rely on.
 *
 * Reading order: hone_insn_rows (the instruction table), then hone_program_check
 * at the bottom, which walks each stream with the set of open loops. */
#include "config.h"

#include "backend/backend_int.h"

#include <math.h>
#include <stdlib.h>

#define D HONE_ON_DMA
#define M HONE_ON_MATRIX
#define V HONE_ON_VECTOR
#define FIELDS_OF(op)                                                                                            \
  ((op) == HONE_INSN_HALT || (op) == HONE_INSN_END       ? 0                                                     \
   : (op) == HONE_INSN_LOOP                              ? HONE_HAS_A | HONE_HAS_B | HONE_HAS_N                  \
   : (op) == HONE_INSN_WAIT || (op) == HONE_INSN_EXPECT ? HONE_HAS_A | HONE_HAS_B | HONE_HAS_N | HONE_HAS_WHEN \
   : (op) == HONE_INSN_SIGNAL                            ? HONE_HAS_A | HONE_HAS_N | HONE_HAS_WHEN               \
                                                         : HONE_HAS_BODY | HONE_HAS_WHEN)
const hone_insn_row hone_insn_rows[HONE_INSN_COUNT] = {
#define HONE_INSN(id, name, engines, timing, help) \
  [HONE_INSN_##id] = {name, help, engines, FIELDS_OF(HONE_INSN_##id), HONE_TIMING_##timing},
#include "backend/isa.def"
#undef HONE_INSN
};
#undef D
#undef M
#undef V

typedef struct {
  const hone_program *p;
  hone_err *err;
  int *where;
  uint64_t live; /* range registers that hold a range here: roots and open loops */
  int open;
  uint8_t range[HONE_MAX_OPEN]; /* of the open loops */
  int nbodies;
} checker;

static hone_status bad(const checker *c, const char *what)
{
  return hone_err_set(c->err, HONE_INPUT, "program.invalid", *c->where < 0 ? "%s" : "%s in instruction %d", what, *c->where);
}

static bool live(const checker *c, uint8_t range)
{
  return range < HONE_MAX_RANGES && (c->live >> range & 1);
}

static bool operand_ok(const checker *c, const hone_operand *o, bool dram)
{
  if (dram != (o->buffer == HONE_NO_BUFFER) || o->rank > HONE_MAX_RANK || o->format >= HONE_FORMAT_COUNT) return false;
  if (dram ? o->arg >= c->p->nargs : (o->buffer >= c->p->nbuffers || o->arg != 0)) return false;
  for (int a = 0; a < o->rank; a++) {
    if (o->inner[a] != HONE_NO_RANGE && !live(c, o->inner[a])) return false;
    if (o->outer[a] != HONE_NO_RANGE && (dram || o->inner[a] == HONE_NO_RANGE || !live(c, o->outer[a]))) return false;
    if (o->stride[a] < 0 || (dram && o->stride[a] != 0) || (!dram && o->origin[a] != 0)) return false;
  }
  return true;
}

static bool move_ok(const checker *c, hone_insn_op op, const hone_insn_body *b)
{
  return b->nreads == 1 && operand_ok(c, &b->read[0], op == HONE_INSN_LOAD) &&
         operand_ok(c, &b->write, op == HONE_INSN_STORE) && b->read[0].rank == b->write.rank && b->drain <= 1 &&
         b->niter == 0 && b->tensor < c->p->nargs && b->level < HONE_MAX_LEVELS && b->stage == 0 &&
         !(op == HONE_INSN_COPY && b->partial);
}

static bool iterates(const hone_insn_body *b, uint8_t range)
{
  for (int i = 0; i < b->niter; i++)
    if (b->iter[i] == range) return true;
  return false;
}

/* An operand of a step runs along ranges the step iterates over. */
static bool step_operand_ok(const checker *c, const hone_insn_body *b, const hone_operand *o)
{
  if (!operand_ok(c, o, false)) return false;
  for (int a = 0; a < o->rank; a++)
    if (o->inner[a] != HONE_NO_RANGE && !iterates(b, o->inner[a])) return false;
  return true;
}

static bool apply_ok(const hone_insn_body *b)
{
  const hone_apply *a = &b->apply;
  return a->function < HONE_FUNCTION_COUNT && b->nreads == hone_function_arity(a->function) && isfinite(a->scale) && isfinite(a->offset);
}

static bool step_ok(const checker *c, hone_insn_op op, const hone_insn_body *b)
{
  if (b->niter < 1 || b->niter > HONE_MAX_ITER || b->stage >= HONE_MAX_STAGES || b->partial || b->drain != 0) return false;
  for (int i = 0; i < b->niter; i++)
    if (!live(c, b->iter[i])) return false;
  for (int r = 0; r < b->nreads; r++)
    if (!step_operand_ok(c, b, &b->read[r])) return false;
  if (!step_operand_ok(c, b, &b->write)) return false;
  if (op != HONE_INSN_MAP && c->open < HONE_MAX_OPEN && b->zero_mask >> c->open != 0) return false;
  if (op != HONE_INSN_MATMUL && !apply_ok(b)) return false;
  if (op == HONE_INSN_MAP) return true;
  if (op == HONE_INSN_REDUCE) return b->reduction < HONE_REDUCTION_COUNT;
  return b->nreads == 2 && iterates(b, b->row) && iterates(b, b->column) && b->dataflow < HONE_DATAFLOW_COUNT &&
         b->rate < HONE_MAX_RATES;
}

static bool body_ok(checker *c, const hone_insn *x)
{
  if (x->body != c->nbodies || x->body >= c->p->nbodies) return false;
  c->nbodies++;
  const hone_insn_body *b = &c->p->body[x->body];
  if (b->nreads > HONE_MAX_READS) return false;
  return hone_insn_is_step(x->op) ? step_ok(c, x->op, b) : move_ok(c, x->op, b);
}

static bool predicate_ok(const checker *c, const hone_predicate *w)
{
  if (w->visit > HONE_VISIT_LAST || w->edge > HONE_EDGE_NOT_LAST) return false;
  if ((w->visit == HONE_VISIT_ALWAYS && w->visit_mask) || (w->edge == HONE_EDGE_ALWAYS && w->edge_mask)) return false;
  return c->open == HONE_MAX_OPEN || (w->visit_mask >> c->open == 0 && w->edge_mask >> c->open == 0);
}

static const char *loop_fault(checker *c, const hone_insn *x)
{
  if (c->open == HONE_MAX_OPEN) return "loops nested too deep";
  if (x->a < c->p->ndims || x->a >= HONE_MAX_RANGES || live(c, x->a) || !live(c, x->b) || x->n < 1) return "bad loop";
  c->live |= UINT64_C(1) << x->a;
  c->range[c->open++] = x->a;
  return NULL;
}

static const char *insn_fault(checker *c, const hone_stream *s, const hone_insn *x)
{
  const hone_program *p = c->p;
  if (x->op >= HONE_INSN_COUNT) return "unknown instruction";
  const hone_insn_row *row = &hone_insn_rows[x->op];
  unsigned f = row->fields;
  bool dma = s->kind != HONE_STREAM_ENGINE;
  if (!(row->engines & (dma ? (unsigned)HONE_ON_DMA : (unsigned)(HONE_ON_MATRIX | HONE_ON_VECTOR))) ||
      (x->op == HONE_INSN_LOAD && s->kind != HONE_STREAM_LOAD) || (x->op == HONE_INSN_STORE && s->kind != HONE_STREAM_STORE))
    return "instruction on a stream that cannot run it";
  if ((!(f & HONE_HAS_A) && x->a != 0) || (!(f & HONE_HAS_B) && x->b != HONE_NO_BUFFER) || (!(f & HONE_HAS_N) && x->n != 0) ||
      (!(f & HONE_HAS_BODY) && x->body != -1) || (!(f & HONE_HAS_WHEN) && (x->when.visit || x->when.edge)))
    return "field that does not apply";
  if (!predicate_ok(c, &x->when)) return "bad predicate";
  if (x->op == HONE_INSN_LOOP) return loop_fault(c, x);
  if (x->op == HONE_INSN_END) {
    if (c->open == 0) return "end without loop";
    c->live &= ~(UINT64_C(1) << c->range[--c->open]);
  }
  if (f & HONE_HAS_BODY) return body_ok(c, x) ? NULL : "bad operands";
  if (row->timing == HONE_TIMING_CONTROL && (f & HONE_HAS_N) &&
      (x->a >= p->nsemaphores || x->n < (x->op == HONE_INSN_SIGNAL) || (x->b != HONE_NO_BUFFER && x->b >= p->nbuffers)))
    return "bad semaphore or buffer";
  return NULL;
}

static hone_status check_stream(checker *c, const hone_stream *s)
{
  c->live = (UINT64_C(1) << c->p->ndims) - 1;
  c->open = 0;
  for (int i = s->first; i < s->first + s->count; i++) {
    *c->where = i;
    const char *fault = insn_fault(c, s, &c->p->insn[i]);
    if (!fault && (c->p->insn[i].op == HONE_INSN_HALT) != (i == s->first + s->count - 1)) fault = "halt not at the end";
    if (!fault && c->p->insn[i].op == HONE_INSN_HALT && c->open) fault = "loop not closed";
    if (fault) return bad(c, fault);
  }
  return HONE_OK;
}

static const char *table_fault(const hone_program *p)
{
  if (p->ndims < 1 || p->ndims > HONE_MAX_DIMS || p->nargs < 1 || p->nargs > HONE_MAX_TENSORS) return "bad number of dims or arguments";
  if (p->nstreams < 0 || p->nstreams > HONE_MAX_STREAMS || p->nbuffers < 0 || p->nbuffers >= HONE_NO_BUFFER ||
      p->nsemaphores < 0 || p->nsemaphores > 256)
    return "bad number of streams, buffers or semaphores";
  for (int b = 0; b < p->nbuffers; b++) {
    const hone_program_buffer *x = &p->buffer[b];
    int64_t bytes;
    if (x->level < 1 || x->level >= HONE_MAX_LEVELS || x->copies < 1 || x->tensor >= p->nargs || x->base < 0 || x->slot_bytes < 0 ||
        !hone_checked_mul(x->slot_bytes, x->copies, &bytes) || !hone_checked_add(bytes, x->base, &bytes))
      return "bad buffer";
  }
  for (int s = 0; s < p->nsemaphores; s++)
    if (p->semaphore[s].initial < 0 || p->semaphore[s].role > 3 ||
        (p->semaphore[s].buffer != HONE_NO_BUFFER && p->semaphore[s].buffer >= p->nbuffers))
      return "bad semaphore";
  return NULL;
}

static const char *stream_table_fault(const hone_program *p)
{
  int next = 0;
  for (int s = 0; s < p->nstreams; s++) {
    const hone_stream *x = &p->stream[s];
    if (x->kind > HONE_STREAM_ENGINE || x->first != next || x->count < 1 || x->count > p->ninsns - next) return "bad stream";
    next += x->count;
    for (int t = 0; t < s; t++)
      if (p->stream[t].kind == x->kind && p->stream[t].unit == x->unit) return "two streams for one unit";
  }
  return next == p->ninsns ? NULL : "instructions outside every stream";
}

hone_status hone_program_check(const hone_program *p, int *where, hone_err *err)
{
  int none;
  checker c = {.p = p, .err = err, .where = where ? where : &none};
  *c.where = -1;
  const char *fault = table_fault(p);
  if (!fault) fault = stream_table_fault(p);
  if (fault) return bad(&c, fault);
  for (int s = 0; s < p->nstreams; s++) {
    hone_status st = check_stream(&c, &p->stream[s]);
    if (st) return st;
  }
  *c.where = -1;
  return c.nbodies == p->nbodies ? HONE_OK : bad(&c, "bodies without instruction");
}

void hone_program_free(hone_program *p)
{
  if (!p) return;
  free(p->stream);
  free(p->insn);
  free(p->body);
  free(p->buffer);
  free(p->semaphore);
  free(p);
}
