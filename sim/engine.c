/* Matrix and vector engines: in order, one instruction at a time, timing as
 * ir/machine.h states it. One instruction may wait at the engine while another
 * runs; nobody else can delay it, so its start and end are known when it is
 * issued. */
#include "config.h"

#include "sim/sim_int.h"

/* a * b, saturating at the watchdog's range: what is larger is refused anyway. */
static int64_t mul(int64_t a, int64_t b)
{
  int64_t r;
  return hone_checked_mul(a, b, &r) ? r : INT64_MAX;
}

/* The operand held in the array: it uses both mapped dims. */
static const int8_t *held_operand(const hone_insn_body *b, const sim_body *x)
{
  if (b->dataflow == HONE_DATAFLOW_OS) return x->at[HONE_MAX_READS];
  for (int r = 0; r < b->nreads; r++) {
    bool row = false, column = false;
    for (int a = 0; a < b->read[r].rank; a++) {
      row |= x->at[r][a] == x->row;
      column |= x->at[r][a] == x->column;
    }
    if (row && column) return x->at[r];
  }
  return NULL;
}

typedef struct {
  int64_t useful, issued, busy;
} work;

/* Tiles of the held operand; for each the other dims stream through in chunks. */
static bool contract_work(const hone_matrix *e, const hone_insn_body *b, const sim_body *x, const sim_range *iter, work *out)
{
  const int8_t *held = held_operand(b, x);
  if (!held) return false;
  int64_t tiles = mul(hone_ceil_div(iter[x->row].length, e->rows), hone_ceil_div(iter[x->column].length, e->columns));
  int64_t streamed = 1;
  out->useful = 1;
  for (int i = 0; i < b->niter; i++) {
    bool in = false;
    for (int a = 0; a < HONE_MAX_RANK; a++) in |= held[a] == i;
    out->useful = mul(out->useful, iter[i].length);
    if (i == x->row || i == x->column) continue;
    if (in)
      tiles = mul(tiles, iter[i].length);
    else
      streamed = mul(streamed, iter[i].length);
  }
  out->issued = mul(mul(tiles, streamed), (int64_t)e->rows * e->columns);
  out->busy = mul(tiles, hone_block_cycles(e, &e->rate[b->rate], streamed));
  return true;
}

static void start_on_engine(sim *s, sim_stream *t, int64_t busy, int64_t latency)
{
  t->time = hone_max64(t->time, t->started_at); /* the place beside the engine is taken until then */
  int64_t start = hone_max64(t->time, t->free_at);
  hone_sim_gap(t, start);
  hone_sim_charge(t->unit, &t->accounted, start + busy, HONE_STALL_BUSY);
  t->started_at = start;
  t->free_at = start + busy;
  t->complete_at = hone_max64(t->complete_at, t->free_at + latency);
  s->end = hone_max64(s->end, t->complete_at);
}

static bool boxes_of(sim *s, const sim_stream *t, const hone_insn_body *b, sim_box *read, sim_box *write)
{
  for (int r = 0; r < b->nreads; r++)
    if (!hone_sim_box(s, t, b, &b->read[r], &read[r])) return false;
  return hone_sim_box(s, t, b, &b->write, write);
}

static void post_job(sim *s, const sim_stream *t, const hone_insn *i, const sim_box *read, const sim_box *write)
{
  if (s->functional)
    hone_sim_post(s, SIM_EVENT_JOB, sim_ticks(t->complete_at), hone_sim_job_new(s, t, i, read, write), 0, 0);
}

static bool too_long(sim *s, const sim_stream *t, int64_t busy)
{
  if (busy <= s->max_cycles) return false;
  hone_sim_fault(s, t, HONE_INFEASIBLE, "sim.watchdog", "one instruction of %lld cycles", (long long)busy);
  return true;
}

static bool compute_issue(sim *s, sim_stream *t, const hone_insn *i)
{
  const hone_insn_body *b = &s->program->body[i->body];
  const hone_engine *e = &s->m->engine[t->code->unit];
  sim_box read[HONE_MAX_READS], write;
  sim_range iter[HONE_MAX_ITER];
  work w = {.useful = 1};
  for (int k = 0; k < b->niter; k++) {
    iter[k] = t->range[b->iter[k]];
    if (iter[k].length <= 0) return true;
    w.useful = mul(w.useful, iter[k].length);
  }
  if (!boxes_of(s, t, b, read, &write)) return false;
  if (i->op != HONE_INSN_MATMUL) {
    w.issued = w.useful;
    w.busy = hone_vector_cycles(&e->vector, hone_function_cost_class(b->apply.function), w.useful);
  } else if (!contract_work(&e->matrix, b, &s->body[i->body], iter, &w)) {
    hone_sim_fault(s, t, HONE_INPUT, "sim.program", "no operand uses both dims mapped on the array");
    return false;
  }
  if (too_long(s, t, w.busy)) return false;
  start_on_engine(s, t, w.busy, i->op == HONE_INSN_MATMUL ? e->matrix.latency_cycles : 0);
  if (s->counting) {
    hone_counts *c = &s->result->counts;
    c->steps[b->stage]++;
    c->useful[b->stage] += w.useful;
    c->issued[b->stage] += w.issued;
  }
  post_job(s, t, i, read, &write);
  return true;
}

static bool copy_issue(sim *s, sim_stream *t, const hone_insn *i)
{
  const hone_insn_body *b = &s->program->body[i->body];
  sim_box from, to;
  if (!hone_sim_move_boxes(s, t, b, &from, &to)) return false;
  if (from.elements == 0) return true;
  int64_t busy = hone_vector_cycles(&s->m->engine[t->code->unit].vector, HONE_COST_SIMPLE, from.elements);
  if (too_long(s, t, busy)) return false;
  start_on_engine(s, t, busy, 0);
  hone_sim_count_move(s, b, &from, &to);
  post_job(s, t, i, &from, &to);
  return true;
}

bool hone_sim_engine_issue(sim *s, sim_stream *t, const hone_insn *i)
{
  return i->op == HONE_INSN_COPY ? copy_issue(s, t, i) : compute_issue(s, t, i);
}
