/* Exact counts: transfers from the visits of each buffer, work from the pieces
 * of each dim. What the walker counts one by one (ir/events.h, hone_counts). */
#include "config.h"

#include <string.h>

#include "cost/cost_int.h"

static int64_t mul(hone_evaluation *v, int64_t a, int64_t b) { return hone_mul_over(a, b, &v->over); }
static void add(hone_evaluation *v, int64_t *sum, int64_t x) { *sum = hone_add_over(*sum, x, &v->over); }

static int64_t bytes_of(hone_evaluation *v, hone_format f, int64_t elements)
{
  return mul(v, elements, hone_format_bits(f)) / 8; /* every format is whole bytes; hone_model_new checks */
}

/* Elements out of one memory into another, in the formats they have there. */
static void move(hone_evaluation *v, hone_counts *out, int tensor, int from, hone_format there, int to, hone_format here,
                 int64_t elements)
{
  add(v, &out->read_bytes[tensor][from], bytes_of(v, there, elements));
  add(v, &out->write_bytes[tensor][to], bytes_of(v, here, elements));
}

static void count_transfers(hone_evaluation *v, const hone_buffer *b, const hone_visits *n, hone_counts *out)
{
  const hone_operator *op = &v->c->op;
  int t = b->tensor, level = b->level, parent = b->parent < 0 ? 0 : v->e.buffer[b->parent].level;
  hone_format whole = b->parent < 0 ? op->tensor[t].format : v->e.buffer[b->parent].format;
  if (b->kind == HONE_BUFFER_READ) {
    add(v, &out->fills[t][level], n->visits);
    move(v, out, t, parent, whole, level, b->format, n->elements);
    return;
  }
  hone_format partial = b->parent < 0 ? op->stage[b->writer].accumulator : whole;
  int64_t returns = n->elements - n->coverage;
  add(v, &out->fills[t][level], n->visits - n->distinct);
  add(v, &out->drains[t][level], n->visits);
  move(v, out, t, parent, partial, level, b->format, returns);
  move(v, out, t, level, b->format, parent, partial, returns);
  move(v, out, t, level, b->format, parent, whole, n->coverage);
}

static const hone_pieces *last_pieces(const hone_evaluation *v, const hone_cuts *cuts, int d)
{
  return &cuts->of[d][v->e.nlevels - 1];
}

/* Sum over the pieces of ceil(length / granule). */
static int64_t blocks_of(const hone_pieces *p, int64_t granule)
{
  int64_t n = 0;
  for (int i = 0; i < p->n; i++) n += p->piece[i].count * hone_ceil_div(p->piece[i].length, granule);
  return n;
}

/* Dims of the operand that a pass holds in the array (machine.h, hone_matrix). */
static hone_dimset held_dims(const hone_evaluation *v, int stage)
{
  const hone_stage *st = &v->c->op.stage[stage];
  if (v->s->dataflow[stage] == HONE_DATAFLOW_OS) return st->dims & ~st->reduced;
  hone_dimset both = 1u << v->s->map_row[stage] | 1u << v->s->map_column[stage];
  hone_dimset first = v->c->access_dims[stage][0];
  return (first & both) == both ? first : v->c->access_dims[stage][1];
}

/* Sum of the busy cycles of one array block over all combinations of pieces of
 * the streamed dims from d on. */
static int64_t stream_cycles(hone_evaluation *v, int stage, const hone_cuts *cuts, hone_dimset stream, int d,
                             hone_range *range)
{
  while (d < v->c->op.ndims && !(stream >> d & 1)) d++;
  if (d == v->c->op.ndims) {
    hone_step_work w;
    hone_contract_step(&v->c->op, &v->c->m, v->s, stage, range, &w);
    return w.busy_cycles;
  }
  const hone_pieces *p = last_pieces(v, cuts, d);
  int64_t sum = 0;
  for (int i = 0; i < p->n; i++) {
    range[d].length = p->piece[i].length;
    add(v, &sum, mul(v, p->piece[i].count, stream_cycles(v, stage, cuts, stream, d + 1, range)));
  }
  return sum;
}

/* Blocks of the array times what one block costs: rows, columns and the other
 * held dims are cut independently of the streamed ones. */
static void contract_work(hone_evaluation *v, int stage, const hone_cuts *cuts, hone_work *out)
{
  const hone_stage *st = &v->c->op.stage[stage];
  const hone_matrix *x = &v->c->m.engine[v->s->engine[stage]].matrix;
  hone_dimset held = held_dims(v, stage);
  int row = v->s->map_row[stage], column = v->s->map_column[stage];
  int64_t blocks = mul(v, blocks_of(last_pieces(v, cuts, row), x->rows), blocks_of(last_pieces(v, cuts, column), x->columns));
  int64_t streamed = 1;
  hone_range range[HONE_MAX_DIMS];
  for (int d = 0; d < v->c->op.ndims; d++) {
    range[d] = (hone_range){0, 1};
    if (!(st->dims >> d & 1) || d == row || d == column) continue;
    if (held >> d & 1)
      blocks = mul(v, blocks, last_pieces(v, cuts, d)->total);
    else
      streamed = mul(v, streamed, last_pieces(v, cuts, d)->total);
  }
  out->issued = mul(v, mul(v, blocks, (int64_t)x->rows * x->columns), streamed);
  out->busy_cycles = mul(v, blocks, stream_cycles(v, stage, cuts, st->dims & ~held, 0, range));
}

static void map_work(hone_evaluation *v, int stage, hone_work *out)
{
  const hone_vector *x = &v->c->m.engine[v->s->engine[stage]].vector;
  hone_rate rate = x->rate[hone_function_cost_class(v->c->op.stage[stage].apply.function)];
  out->issued = out->points;
  out->busy_cycles = mul(v, out->steps, x->startup_cycles);
  add(v, &out->busy_cycles, hone_rate_cycles(rate, out->points));
}

static void stage_work(hone_evaluation *v, int stage, const hone_cuts *cuts, hone_work *out)
{
  const hone_stage *st = &v->c->op.stage[stage];
  *out = (hone_work){.steps = 1, .points = 1};
  for (int d = 0; d < v->c->op.ndims; d++) {
    if (!(st->dims >> d & 1)) continue;
    out->steps = mul(v, out->steps, last_pieces(v, cuts, d)->count);
    out->points = mul(v, out->points, last_pieces(v, cuts, d)->total);
  }
  if (st->kind == HONE_STAGE_CONTRACT)
    contract_work(v, stage, cuts, out);
  else
    map_work(v, stage, out);
}

void hone_cost_load(hone_evaluation *v, hone_cuts_of which, hone_load *out)
{
  const hone_operator *op = &v->c->op;
  hone_cuts_make(op, v->s, &v->e, which, &out->cuts);
  for (int i = 0; i < v->e.nbuffers; i++) {
    const hone_buffer *b = &v->e.buffer[i];
    hone_dimset dims = op->stage[__builtin_ctz(b->stages)].dims;
    hone_visits_count(&v->e, &out->cuts, dims, b->dims, b->position, &out->visits[i], &v->over);
  }
  for (int s = 0; s < op->nstages; s++) stage_work(v, s, &out->cuts, &out->work[s]);
}

void hone_cost_count(hone_evaluation *v, hone_counts *out)
{
  memset(out, 0, sizeof *out);
  for (int i = 0; i < v->e.nbuffers; i++) {
    const hone_buffer *b = &v->e.buffer[i];
    if (b->kind != HONE_BUFFER_LOCAL) count_transfers(v, b, &v->all.visits[i], out);
  }
  for (int s = 0; s < v->c->op.nstages; s++) {
    out->steps[s] = v->all.work[s].steps;
    out->useful[s] = v->all.work[s].points;
    out->issued[s] = v->all.work[s].issued;
  }
}

/* False: the machine does not say, or it does not fit. */
static bool add_energy(int64_t *sum, int64_t amount, int64_t each)
{
  int64_t x;
  return amount == 0 || (each >= 0 && hone_checked_mul(amount, each, &x) && hone_checked_add(*sum, x, sum));
}

int64_t hone_cost_energy(const hone_evaluation *v, const hone_counts *n)
{
  const hone_operator *op = &v->c->op;
  const hone_machine *m = &v->c->m;
  int64_t sum = 0;
  bool known = true;
  for (int t = 0; t < op->ntensors; t++) {
    for (int l = 0; l < m->nlevels; l++) {
      known = known && add_energy(&sum, n->read_bytes[t][l], m->memory[l].read_fj_per_byte);
      known = known && add_energy(&sum, n->write_bytes[t][l], m->memory[l].write_fj_per_byte);
    }
  }
  for (int s = 0; s < op->nstages; s++) {
    const hone_stage *st = &op->stage[s];
    if (st->kind != HONE_STAGE_CONTRACT) continue;
    const hone_array_rate *rate =
        hone_machine_find_rate(&m->engine[v->s->engine[s]].matrix, op->tensor[st->read[0].tensor].format,
                               op->tensor[st->read[1].tensor].format, st->accumulator);
    known = known && add_energy(&sum, n->issued[s], rate->energy_fj_per_mac);
  }
  return known ? sum : -1;
}
