/* Roughly how long things take: enough to choose a default by, without the cost
 * model, which ir does not see. Everything is the average tile times the number of
 * tiles; engines, DMA and DRAM overlap but for the first fill, the last use and
 * the last drain. */
#include "config.h"

#include <math.h>

#include "ir/ir_int.h"

typedef struct {
  const hone_operator *op;
  const hone_machine *m;
  const hone_schedule *s;
  double cores;
  double engine[HONE_MAX_ENGINES]; /* busy cycles */
  double dma, dram;                /* bytes: of a core, of the chip */
} rough;

static double rate_of(hone_rate r) { return (double)r.num / (double)r.den; }

static double bytes_of(hone_format f, double elements) { return elements * hone_format_bits(f) / 8; }

/* A contraction over `length` of each dim. */
static double contract_cycles(const rough *x, int stage, const double length[HONE_MAX_DIMS])
{
  const hone_stage *st = &x->op->stage[stage];
  const hone_matrix *e = &x->m->engine[x->s->engine[stage]].matrix;
  const hone_array_rate *rate = hone_machine_find_rate(e, x->op->tensor[st->read[0].tensor].format,
                                                       x->op->tensor[st->read[1].tensor].format, st->accumulator);
  int row = x->s->map_row[stage], column = x->s->map_column[stage], held;
  hone_dataflow flow = (hone_dataflow)x->s->dataflow[stage];
  if (!rate || !hone_map_check(x->op, stage, flow, row, column, &held)) return INFINITY;
  hone_dimset kept = hone_access_dims(x->op, flow == HONE_DATAFLOW_WS ? &st->read[held] : &st->write);
  double blocks = ceil(length[row] / e->rows) * ceil(length[column] / e->columns), stream = 1;
  for (int d = 0; d < x->op->ndims; d++) {
    if (!dim_in(st->dims, d) || d == row || d == column) continue;
    *(dim_in(kept, d) ? &blocks : &stream) *= length[d];
  }
  double passes = ceil(stream / (double)e->max_stream_rows), load = (double)e->load_cycles, least = (double)e->min_pass_cycles;
  double moving = stream * (double)rate->cycles_per_row_num / (double)rate->cycles_per_row_den;
  return blocks * (e->load_hidden ? fmax(moving, passes * fmax(least, load)) : fmax(moving, passes * least) + passes * load);
}

/* `steps` steps of every stage over `length` of each dim. */
static void add_steps(rough *x, const double steps[HONE_MAX_STAGES], const double length[HONE_MAX_DIMS])
{
  for (int s = 0; s < x->op->nstages; s++) {
    const hone_stage *st = &x->op->stage[s];
    double points = 1, *busy = &x->engine[x->s->engine[s]];
    if (st->kind == HONE_STAGE_CONTRACT) {
      *busy += steps[s] * contract_cycles(x, s, length);
      continue;
    }
    const hone_vector *v = &x->m->engine[x->s->engine[s]].vector;
    for (int d = 0; d < x->op->ndims; d++) points *= dim_in(st->dims, d) ? length[d] : 1;
    *busy += steps[s] * ((double)v->startup_cycles + points / rate_of(v->rate[hone_function_cost_class(st->apply.function)]));
  }
}

static double busiest(const rough *x)
{
  double most = 0;
  for (int e = 0; e < x->m->nengines; e++) most = fmax(most, x->engine[e]);
  return most;
}

static double dram_cycles(const rough *x, double bytes) /* of the chip */
{
  return bytes / rate_of(hone_machine_dram_stream(x->m));
}

/* DMA's and DRAM's bytes for runs of `run` bytes, what is too short made up for. */
static void charge_runs(const hone_machine *m, double bytes, double run, double *dma, double *dram)
{
  double access = (double)m->dram.access_bytes, row = (double)m->dram.row_bytes;
  double miss = (double)m->dram.row_miss_cycles / (m->dram.banks * m->dram.channels) * rate_of(hone_machine_dram_stream(m));
  *dma = bytes / run * fmax(run, (double)m->dma.burst_bytes);
  *dram = bytes / run * (ceil(run / access) * access + fmax(0, miss * (1 - run / row)));
}

/* What a block touches of a tensor, in its runs in DRAM under the first layout. */
static void add_block(rough *x, int tensor, const hone_range box[HONE_MAX_RANK], double elements)
{
  const hone_tensor *t = &x->op->tensor[tensor];
  double run = 1, dma, dram = 0;
  for (int i = t->rank - 1; i >= 0; i--) {
    int axis = t->layout[0][i];
    if (t->scattered >> axis & 1) break;
    run *= (double)box[axis].length;
    if (box[axis].length < t->extent[axis]) break;
  }
  charge_runs(x->m, bytes_of(t->format, elements), bytes_of(t->format, run), &dma, &dram);
  x->dma += dma;
  x->dram += dram;
}

double hone_ir_rough_block(const hone_operator *op, const hone_machine *m, const hone_schedule *s, double cores)
{
  rough x = {.op = op, .m = m, .s = s, .cores = cores};
  double length[HONE_MAX_DIMS], steps[HONE_MAX_STAGES];
  hone_range range[HONE_MAX_DIMS], box[HONE_MAX_RANK];
  bool seen[HONE_MAX_TENSORS] = {false};
  for (int d = 0; d < op->ndims; d++) {
    range[d] = (hone_range){0, s->tile[0][d]};
    length[d] = (double)s->tile[0][d];
  }
  for (int i = 0; i < op->nstages; i++) {
    const hone_stage *st = &op->stage[i];
    steps[i] = 1;
    for (int r = 0; r <= st->nreads; r++) {
      const hone_access *a = r < st->nreads ? &st->read[r] : &st->write;
      int64_t elements;
      if (op->tensor[a->tensor].role == HONE_ROLE_INTERMEDIATE || seen[a->tensor]) continue;
      seen[a->tensor] = true;
      hone_access_box(op, a, range, box, &elements);
      add_block(&x, a->tensor, box, (double)elements);
    }
  }
  add_steps(&x, steps, length);
  double work = busiest(&x), dram = fmax(dram_cycles(&x, x.dram * cores), x.dma / rate_of(m->dma.rate));
  return fmax(work, dram) + (work + dram) / 16; /* of equals, the one with less to do */
}

/* ---- Schedules ---- */

/* Pieces that the loops before `position` cut dim d into. */
static double pieces(const hone_events *e, int d, int position)
{
  double n = 1;
  for (int p = 0; p < position; p++) n *= e->loop[p].dim == d ? (double)e->loop[p].trips : 1;
  return n;
}

/* How often a buffer is entered anew, and how many boxes there are to enter. */
static void count_visits(const rough *x, const hone_events *e, const hone_buffer *b, double *visits, double *boxes)
{
  hone_dimset dims = x->op->stage[__builtin_ctz(b->stages)].dims;
  *visits = *boxes = 1;
  for (int p = 0; b->keys >> p; p++) {
    if (!dim_in(dims, e->loop[p].dim)) continue;
    *visits *= (double)e->loop[p].trips;
    if (b->keys >> p & 1) *boxes *= (double)e->loop[p].trips;
  }
}

static double average_length(const rough *x, const hone_events *e, const hone_buffer *b, int axis)
{
  const hone_affine *f = &b->access.axis[axis].affine;
  if (f->nterms != 1) return (double)b->extent[axis];
  int d = f->term[0].dim;
  return fmin((double)b->extent[axis], fmax(1, (double)x->s->tile[0][d] / pieces(e, d, b->position)));
}

/* Elements of the average box, and of its contiguous runs in DRAM. */
static void measure_box(const rough *x, const hone_events *e, const hone_buffer *b, double *elements, double *run)
{
  const hone_tensor *t = &x->op->tensor[b->tensor];
  const uint8_t *layout = t->layout[x->s->layout[b->tensor]];
  bool whole = true;
  *elements = *run = 1;
  for (int i = t->rank - 1; i >= 0; i--) {
    double length = average_length(x, e, b, layout[i]);
    *elements *= length;
    whole = whole && !(t->scattered >> layout[i] & 1);
    if (whole) *run *= length;
    whole = whole && length >= (double)t->extent[layout[i]];
  }
}

/* What the moves of a schedule add up to besides x: the first fill and the last
 * drain, the most fills of one buffer, what stops the engines, and for rings of
 * copies the longest wait per turn over all turns. */
typedef struct {
  double in, out, fills, stops, turns[HONE_MAX_DEPTH + 1];
} ends;

/* Vector moves: what comes back stops the engine it comes back for. */
static void add_vector_moves(rough *x, const hone_buffer *b, int outer, double visits, double boxes, double elements, ends *w)
{
  bool written = b->kind == HONE_BUFFER_WRITTEN;
  int v = written ? hone_machine_mover(x->m, b->level, outer) : hone_machine_mover(x->m, outer, b->level);
  const hone_vector *e = &x->m->engine[v].vector;
  double each = (double)e->startup_cycles + elements / rate_of(e->rate[HONE_COST_SIMPLE]);
  x->engine[v] += each * (written ? 2 * visits - boxes : visits);
  w->turns[b->depth] = fmax(w->turns[b->depth], visits * each);
  if (!written) return;
  w->out += each;
  w->stops += 2 * each * (visits - boxes);
}

static void add_buffer(rough *x, const hone_events *e, const hone_buffer *b, ends *w)
{
  const hone_machine *m = x->m;
  double visits, boxes, elements, run, dma, dram = 0;
  int outer = b->parent < 0 ? 0 : e->buffer[b->parent].level;
  bool written = b->kind == HONE_BUFFER_WRITTEN;
  count_visits(x, e, b, &visits, &boxes);
  measure_box(x, e, b, &elements, &run);
  if (b->mover == HONE_MOVE_VECTOR) {
    add_vector_moves(x, b, outer, visits, boxes, elements, w);
    return;
  }
  hone_format format = x->op->tensor[b->tensor].format;
  double whole = bytes_of(format, elements), wide = bytes_of(b->format, elements);
  double bytes = written ? boxes * whole + 2 * (visits - boxes) * wide : visits * whole;
  if (outer == 0)
    charge_runs(m, bytes, bytes_of(format, run), &dma, &dram);
  else
    dma = bytes;
  x->dma += dma;
  x->dram += dram * x->cores;
  double cycles = whole / bytes * fmax(dma / rate_of(m->dma.rate), dram_cycles(x, dram * x->cores));
  double latency = (double)m->dma.setup_cycles + (outer == 0 && !written ? (double)m->memory[0].latency_cycles : 0);
  *(written ? &w->out : &w->in) += cycles;
  w->turns[b->depth] = fmax(w->turns[b->depth], visits * (latency + cycles));
  if (!written) w->fills = fmax(w->fills, visits);
}

/* A ring of n copies: each is used, then moved, in turn. */
static double longest_ring(const ends *w, double work)
{
  double most = 0;
  for (int n = 1; n <= HONE_MAX_DEPTH; n++)
    if (w->turns[n] > 0) most = fmax(most, (work + w->turns[n]) / n);
  return most;
}

double hone_ir_rough_cycles(const hone_operator *op, const hone_machine *m, const hone_schedule *s, const hone_events *e)
{
  rough x = {.op = op, .m = m, .s = s, .cores = 1};
  double length[HONE_MAX_DIMS], steps[HONE_MAX_STAGES];
  ends w = {.fills = 1};
  for (int d = 0; d < op->ndims; d++) {
    x.cores *= (double)hone_ceil_div(op->dim[d].extent, s->tile[0][d]);
    length[d] = fmax(1, (double)s->tile[0][d] / pieces(e, d, e->nloops));
  }
  for (int i = 0; i < op->nstages; i++) {
    steps[i] = 1;
    for (int d = 0; d < op->ndims; d++) steps[i] *= dim_in(op->stage[i].dims, d) ? pieces(e, d, e->nloops) : 1;
  }
  for (int i = 0; i < e->nbuffers; i++)
    if (e->buffer[i].kind != HONE_BUFFER_LOCAL) add_buffer(&x, e, &e->buffer[i], &w);
  add_steps(&x, steps, length);
  double work = busiest(&x), moves = fmax(x.dma / rate_of(m->dma.rate), dram_cycles(&x, x.dram));
  double steady = fmax(work + w.in, moves + work / w.fills);
  return fmax(steady, longest_ring(&w, work)) + w.stops + w.out + fmin(work, moves) / 8; /* nothing overlaps to the full */
}
