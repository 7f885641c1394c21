/* bound_cycles: a lower limit of the simulated time of every legal schedule,
 * from operator and machine alone (DESIGN section 7).
 *
 * matrix   Cutting dims into tiles only adds blocks and passes, so a stage needs
 *          at least ceil(row extent / rows) * ceil(column extent / columns) *
 *          other held dims blocks, each streaming the rest in passes as long as
 *          the machine allows; the cheapest map and dataflow counts. Stages of
 *          the same kind of engine share what engines there are.
 * vector   Every point of a map, and every output that can leave the accumulator
 *          only through a vector engine.
 * dram     The compulsory bytes, and for a single contraction of a matrix-product
 *          shape the traffic no order of its MACs can avoid with S elements on
 *          the chip: at least 2 MACs / sqrt(S) - 2 S element transfers (Hong and
 *          Kung 1981; Irony, Toledo and Tiskin 2004; the constant 2: Smith,
 *          Lowery, Langou and van de Geijn 2019, "A tight I/O lower bound for
 *          matrix multiplication"). The memories of a core together count as one
 *          fast memory, which can only lower it. Their theorem counts reads when
 *          C comes from slow memory; starting C at zero saves at most |C| reads
 *          and an output costs |C| writes, which cancels; an intermediate that is
 *          never written is subtracted.
 *
 * Several cores take blocks of the dims, and each of them loads what its block uses:
 * cores that share a block of a tensor load it again each. All ways to cut are
 * tried and the least counts, so the bound knows blocks that do not come out even
 * and tensors loaded many times. (No schedule uses the links between cores yet:
 * share.t is `each`. This is to change with it.) Where cores share a memory, or are
 * too many to try, the work spreads evenly instead and everything is loaded once.
 *
 * Added to them, what no overlap hides. An engine waits for the first operand
 * (DMA setup, DRAM latency), and its last result has to leave (the array empties,
 * a vector move where DMA cannot reach, the setup of a store). The DRAM moves
 * nothing before the first setup. Its last load is followed by the work that
 * needed it and that work's store, T cycles in which only stores can run, so with
 * R cycles of compulsory loads and W of stores it takes setup + R + max(W, T). */
#include "config.h"

#include <math.h>
#include <string.h>

#include "cost/model.h"

typedef struct {
  const hone_operator *op;
  const hone_machine *m;
  int64_t extent[HONE_MAX_DIMS];   /* of the largest block */
  int64_t blocks[HONE_MAX_DIMS];   /* that are not empty; 1: not cut */
  double cores;                    /* with work */
  double spread;                   /* what is left to divide a block's work by: 1, or the cores without cuts */
  double loads, stores;            /* DRAM cycles of compulsory traffic */
  double forced[HONE_MAX_ENGINES]; /* vector work only this engine can do */
  double anywhere;                 /* vector work, all of it */
} bounding;

static double cycles_at(hone_rate r, double amount) { return amount * (double)r.den / (double)r.num; }
static bool in(hone_dimset s, int d) { return s >> d & 1; }

static double product_of_extents(const bounding *b, hone_dimset dims) /* of a block */
{
  double n = 1;
  for (int d = 0; d < b->op->ndims; d++) n *= in(dims, d) ? (double)b->extent[d] : 1;
  return n;
}

/* Least cycles of one array block that streams `rows` rows. */
static double stream_cycles(const hone_matrix *x, const hone_array_rate *rate, double rows)
{
  double passes = x->max_stream_rows > 0 ? ceil(rows / (double)x->max_stream_rows) : 1;
  double moving = rows * (double)rate->cycles_per_row_num / (double)rate->cycles_per_row_den;
  double least = (double)x->min_pass_cycles, load = (double)x->load_cycles;
  if (x->load_hidden) return fmax(moving, passes * fmax(least, load));
  return fmax(moving, passes * least) + passes * load;
}

static double map_cycles(const bounding *b, const hone_stage *st, const hone_matrix *x, const hone_array_rate *rate,
                         int row, int column, hone_dimset held)
{
  double blocks = ceil((double)b->extent[row] / x->rows) * ceil((double)b->extent[column] / x->columns);
  hone_dimset mapped = UINT32_C(1) << row | UINT32_C(1) << column;
  blocks *= product_of_extents(b, held & ~mapped);
  return blocks * stream_cycles(x, rate, product_of_extents(b, st->dims & ~held & ~mapped));
}

/* What is held while (row, column) are on the array, 0 when the map is illegal. */
static hone_dimset held_by(const bounding *b, const hone_stage *st, hone_dataflow flow, int row, int column)
{
  int held;
  if (!hone_map_check(b->op, (int)(st - b->op->stage), flow, row, column, &held)) return 0;
  return held < 0 ? st->dims & ~st->reduced : hone_access_dims(b->op, &st->read[held]);
}

static double engine_cycles(const bounding *b, const hone_stage *st, const hone_matrix *x, const hone_array_rate *rate)
{
  double best = INFINITY;
  for (int f = 0; f < HONE_DATAFLOW_COUNT; f++) {
    for (int i = 0; (x->dataflows >> f & 1) && i < b->op->ndims * b->op->ndims; i++) {
      int row = i / b->op->ndims, column = i % b->op->ndims;
      hone_dimset held = held_by(b, st, (hone_dataflow)f, row, column);
      if (held) best = fmin(best, map_cycles(b, st, x, rate, row, column, held));
    }
  }
  return best;
}

/* Least matrix time of all contractions, spread evenly over engines. */
static hone_status bound_matrix(const bounding *b, double *cycles, hone_err *err)
{
  int engines = 0;
  *cycles = 0;
  for (int e = 0; e < b->m->nengines; e++) engines += b->m->engine[e].kind == HONE_ENGINE_MATRIX;
  for (int s = 0; s < b->op->nstages; s++) {
    const hone_stage *st = &b->op->stage[s];
    double best = INFINITY;
    if (st->kind != HONE_STAGE_CONTRACT) continue;
    for (int e = 0; e < b->m->nengines; e++) {
      const hone_matrix *x = &b->m->engine[e].matrix;
      if (b->m->engine[e].kind != HONE_ENGINE_MATRIX) continue;
      hone_format f = b->op->tensor[st->read[0].tensor].format, g = b->op->tensor[st->read[1].tensor].format;
      const hone_array_rate *rate = hone_machine_find_rate(x, f, g, st->accumulator);
      if (rate) best = fmin(best, engine_cycles(b, st, x, rate));
    }
    if (isinf(best))
      return hone_err_set(err, HONE_INFEASIBLE, "bound.no-engine", "no matrix engine of machine %s can run stage %s",
                          b->m->name, st->name);
    *cycles += best;
  }
  if (engines > 0) *cycles /= engines * b->spread;
  return HONE_OK;
}

static void vector_work(bounding *b, int engine, int choices, double cycles)
{
  b->anywhere += cycles;
  if (choices == 1) b->forced[engine] += cycles;
}

static hone_status bound_map(bounding *b, const hone_stage *st, hone_err *err)
{
  hone_function_cost c = hone_function_cost_class(st->apply.function);
  double points = product_of_extents(b, st->dims), best = INFINITY;
  int only = -1, choices = 0;
  for (int e = 0; e < b->m->nengines; e++) {
    const hone_engine *x = &b->m->engine[e];
    if (x->kind != HONE_ENGINE_VECTOR || x->vector.rate[c].num <= 0) continue;
    choices++;
    only = e;
    best = fmin(best, (double)x->vector.startup_cycles + cycles_at(x->vector.rate[c], points));
  }
  if (choices == 0)
    return hone_err_set(err, HONE_INFEASIBLE, "bound.no-engine", "no vector engine of machine %s can run stage %s", b->m->name,
                        st->name);
  vector_work(b, only, choices, best);
  return HONE_OK;
}

/* Can data go from memory l to DRAM by DMA alone? */
static bool leaves_by_dma(const hone_machine *m, int l)
{
  unsigned seen = 1u << l;
  for (int round = 0; round < m->nlevels; round++) {
    for (int a = 0; a < m->nlevels; a++) {
      for (int z = 0; (seen >> a & 1) && z < m->nlevels; z++) {
        if (m->move[a][z] == HONE_MOVE_DMA) seen |= 1u << z;
      }
    }
  }
  return seen & 1;
}

/* An output that enters an accumulator DMA cannot empty is moved by vector at
 * least once; counted when that holds for every matrix engine. */
static void bound_leaving(bounding *b, const hone_stage *st)
{
  double elements = product_of_extents(b, st->dims & ~st->reduced), best = INFINITY;
  int only = -1, choices = 0;
  if (b->op->tensor[st->write.tensor].role != HONE_ROLE_OUTPUT) return;
  for (int e = 0; e < b->m->nengines; e++) {
    if (b->m->engine[e].kind != HONE_ENGINE_MATRIX) continue;
    int acc = b->m->engine[e].matrix.accumulates_in;
    if (leaves_by_dma(b->m, acc)) return;
    for (int l = 0; l < acc; l++) {
      int v = hone_machine_mover(b->m, acc, l);
      if (v < 0 || b->m->move[acc][l] != HONE_MOVE_VECTOR) continue;
      const hone_vector *x = &b->m->engine[v].vector;
      choices += only != v;
      only = v;
      best = fmin(best, (double)x->startup_cycles + cycles_at(x->rate[HONE_COST_SIMPLE], elements));
    }
  }
  if (choices > 0) vector_work(b, only, choices, best);
}

static hone_status bound_vector(bounding *b, double *cycles, hone_err *err)
{
  int engines = 0;
  for (int s = 0; s < b->op->nstages; s++) {
    const hone_stage *st = &b->op->stage[s];
    hone_status status = HONE_OK;
    if (st->kind == HONE_STAGE_CONTRACT)
      bound_leaving(b, st);
    else
      status = bound_map(b, st, err);
    if (status != HONE_OK) return status;
  }
  for (int e = 0; e < b->m->nengines; e++) engines += b->m->engine[e].kind == HONE_ENGINE_VECTOR;
  *cycles = engines ? b->anywhere / engines : 0;
  for (int e = 0; e < b->m->nengines; e++) *cycles = fmax(*cycles, b->forced[e]);
  *cycles /= b->spread;
  return HONE_OK;
}

/* Elements that fit next to one fast memory's work, arrays included, when each took
 * `width` bytes: in a core, or where work spreads, in the whole chip. */
static double elements_on_chip(const bounding *b, double width)
{
  double n = 0;
  for (int l = 1; l < b->m->nlevels; l++)
    n += (double)b->m->memory[l].capacity_bytes / width * (b->m->memory[l].per_core ? b->spread : 1);
  for (int e = 0; e < b->m->nengines; e++) {
    if (b->m->engine[e].kind != HONE_ENGINE_MATRIX) continue;
    n += 2.0 * b->m->engine[e].matrix.rows * b->m->engine[e].matrix.columns * b->spread;
  }
  return n;
}

/* Bytes between chip and DRAM of the three tensors of a contraction; 0 when it
 * has no matrix-product shape: every dim in two tensors or in all three. */
static double unavoidable_bytes(const bounding *b, const hone_stage *st)
{
  const hone_access *access[3] = {&st->read[0], &st->read[1], &st->write};
  double width = INFINITY, macs = 1, memories = b->cores / b->spread;
  for (int d = 0; d < b->op->ndims; d++) macs *= in(st->dims, d) ? (double)b->op->dim[d].extent : 1;
  for (int d = 0; d < b->op->ndims; d++) {
    int uses = 0;
    for (int i = 0; i < 3; i++) uses += in(hone_access_dims(b->op, access[i]), d);
    if (in(st->dims, d) && uses < 2) return 0;
  }
  for (int i = 0; i < 3; i++) width = fmin(width, hone_format_bits(b->op->tensor[access[i]->tensor].format) / 8.0);
  for (int i = 0; i < 2; i++) {
    if (b->op->tensor[access[i]->tensor].role != HONE_ROLE_INPUT) return 0;
  }
  if (st->read[0].tensor == st->read[1].tensor) return 0;
  double fit = elements_on_chip(b, width), transfers = 2 * macs / sqrt(fit) - 2 * fit * memories;
  if (b->op->tensor[st->write.tensor].role != HONE_ROLE_OUTPUT)
    transfers -= memories * product_of_extents(b, st->dims & ~st->reduced);
  return fmax(transfers * width * (1 - 1e-9), 0);
}

/* How many times over the cores together load an input, at least. */
static double copies_loaded(const bounding *b, int tensor)
{
  double most = 1;
  for (int s = 0; s < b->op->nstages; s++) {
    const hone_stage *st = &b->op->stage[s];
    for (int r = 0; r < st->nreads; r++) {
      hone_dimset others = st->dims & ~hone_access_dims(b->op, &st->read[r]);
      double n = 1;
      if (st->read[r].tensor != tensor || st->nguards > 0) continue;
      for (int d = 0; d < b->op->ndims; d++) n *= in(others, d) ? (double)b->blocks[d] : 1;
      most = fmax(most, n);
    }
  }
  return most;
}

/* Can results leave the accumulator of every matrix engine only by vector? */
static bool needs_vector(const hone_machine *m)
{
  for (int e = 0; e < m->nengines; e++) {
    if (m->engine[e].kind == HONE_ENGINE_MATRIX && leaves_by_dma(m, m->engine[e].matrix.accumulates_in)) return false;
  }
  return true;
}

static hone_status compulsory_bytes(const bounding *b, double *loads, double *stores, hone_err *err)
{
  const hone_stage *contract = NULL;
  double contracted = 0;
  int contracts = 0;
  *loads = *stores = 0;
  for (int s = 0; s < b->op->nstages; s++) {
    if (b->op->stage[s].kind != HONE_STAGE_CONTRACT) continue;
    contract = &b->op->stage[s];
    contracts++;
  }
  for (int t = 0; t < b->op->ntensors; t++) {
    int64_t bytes;
    if (b->op->tensor[t].role == HONE_ROLE_INTERMEDIATE) continue;
    if (!hone_tensor_compulsory(b->op, t, &bytes))
      return hone_err_set(err, HONE_OVERFLOW, "bound.overflow", "the bytes of tensor %s do not fit 64 bits", b->op->tensor[t].name);
    bool output = b->op->tensor[t].role == HONE_ROLE_OUTPUT;
    double moved = (double)bytes * (output ? 1 : copies_loaded(b, t));
    *(output ? stores : loads) += moved;
    if (contract && (t == contract->read[0].tensor || t == contract->read[1].tensor || t == contract->write.tensor))
      contracted += moved;
  }
  /* The excess over compulsory traffic may be reads or writes of partial results. */
  if (contracts == 1) *stores += fmax(unavoidable_bytes(b, contract) - contracted, 0);
  return HONE_OK;
}

static hone_status bound_dram(bounding *b, hone_err *err)
{
  hone_status status = compulsory_bytes(b, &b->loads, &b->stores, err);
  hone_rate stream = hone_machine_dram_stream(b->m);
  double rate = (double)stream.num / (double)stream.den;
  rate = fmin(rate, (double)b->m->dma.rate.num / (double)b->m->dma.rate.den * b->cores);
  b->loads /= rate;
  b->stores /= rate;
  return status;
}

static int64_t whole(double cycles) /* rounds down: a bound stays a bound */
{
  return cycles < 4e18 ? (int64_t)floor(cycles) : INT64_C(4000000000000000000);
}

/* Least of a figure over the engines of a kind. */
static int64_t least(const hone_machine *m, hone_engine_kind kind, int64_t (*figure)(const hone_engine *))
{
  int64_t best = INT64_MAX;
  for (int e = 0; e < m->nengines; e++) {
    if (m->engine[e].kind == kind) best = hone_min64(best, figure(&m->engine[e]));
  }
  return best == INT64_MAX ? 0 : best;
}

static int64_t array_latency(const hone_engine *e) { return e->matrix.latency_cycles; }
static int64_t array_pass(const hone_engine *e) { return e->matrix.min_pass_cycles + e->matrix.latency_cycles; }
static int64_t vector_startup(const hone_engine *e) { return e->vector.startup_cycles; }

/* From the last load served to the last store begun: latency, the shortest work
 * that can need it, that work's store. */
static int64_t after_last_load(const hone_operator *op, const hone_machine *m)
{
  int64_t vector = least(m, HONE_ENGINE_VECTOR, vector_startup), work = INT64_MAX;
  for (int s = 0; s < op->nstages; s++) {
    const hone_stage *st = &op->stage[s];
    for (int r = 0; r < st->nreads; r++) {
      if (op->tensor[st->read[r].tensor].role != HONE_ROLE_INPUT) continue;
      bool contract = st->kind == HONE_STAGE_CONTRACT;
      int64_t contraction = least(m, HONE_ENGINE_MATRIX, array_pass) + (needs_vector(m) ? vector : 0);
      work = hone_min64(work, contract ? contraction : vector);
    }
  }
  return m->memory[0].latency_cycles + (work == INT64_MAX ? 0 : work) + m->dma.setup_cycles;
}

/* Takes the limit if it is above what there is. */
static void consider(hone_bound *out, const char *name, int64_t busy, int64_t first, int64_t last)
{
  if (out->limit && busy + first + last <= out->cycles) return;
  out->limit = name;
  out->first_fill_cycles = first;
  out->last_drain_cycles = last;
  out->cycles = busy + first + last;
}

/* The limit with the blocks as they are in b. */
static hone_status bound_blocks(bounding *b, hone_bound *out, hone_err *err)
{
  const hone_machine *m = b->m;
  double matrix = 0, vector = 0;
  memset(b->forced, 0, sizeof b->forced);
  b->anywhere = 0;
  hone_status status = bound_matrix(b, &matrix, err);
  if (status == HONE_OK) status = bound_vector(b, &vector, err);
  if (status == HONE_OK) status = bound_dram(b, err);
  if (status != HONE_OK) return status;
  memset(out, 0, sizeof *out);
  out->matrix_cycles = whole(matrix);
  out->vector_cycles = whole(vector);
  out->dram_cycles = whole(b->loads + b->stores);
  int64_t setup = m->dma.setup_cycles, first = setup + m->memory[0].latency_cycles;
  int64_t leave = least(m, HONE_ENGINE_MATRIX, array_latency) + setup;
  if (needs_vector(m)) leave += least(m, HONE_ENGINE_VECTOR, vector_startup);
  if (matrix > 0) consider(out, "matrix", out->matrix_cycles, first, leave);
  if (vector > 0) consider(out, "vector", out->vector_cycles, first, setup);
  consider(out, "dram", out->dram_cycles, setup, hone_max64(after_last_load(b->op, m) - whole(ceil(b->stores)), 0));
  return HONE_OK;
}

static bool cores_are_apart(const hone_machine *m)
{
  bool apart = true;
  for (int l = 1; l < m->nlevels; l++) apart = apart && m->memory[l].per_core;
  return apart;
}

enum { MOST_CUTS = 1 << 15 };

typedef struct {
  bounding b;
  hone_dimset dims;
  int64_t tried;
  hone_bound best;
} cutting;

/* Cuts the dims from d on in every way that leaves at most `cores` blocks. Of the
 * numbers of cuts that give the same blocks, the smallest. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as there are dims. */
static hone_status try_cuts(cutting *c, int d, int64_t cores, hone_err *err)
{
  while (d < c->b.op->ndims && !in(c->dims, d)) d++;
  if (d == c->b.op->ndims) {
    hone_bound x;
    if (++c->tried > MOST_CUTS) return HONE_OK;
    c->b.cores = 1;
    for (int i = 0; i < d; i++) c->b.cores *= (double)c->b.blocks[i];
    hone_status s = bound_blocks(&c->b, &x, err);
    if (s == HONE_OK && (c->tried == 1 || x.cycles < c->best.cycles)) c->best = x;
    return s;
  }
  int64_t extent = c->b.op->dim[d].extent;
  hone_status s = HONE_OK;
  for (int64_t n = 1; s == HONE_OK && n <= cores && n <= extent && c->tried <= MOST_CUTS; n++) {
    c->b.extent[d] = hone_ceil_div(extent, n);
    c->b.blocks[d] = hone_ceil_div(extent, c->b.extent[d]);
    if (c->b.blocks[d] == n) s = try_cuts(c, d + 1, cores / n, err);
  }
  c->b.extent[d] = extent;
  c->b.blocks[d] = 1;
  return s;
}

hone_status hone_bound_cycles(const hone_operator *op, const hone_machine *m, hone_bound *out, hone_err *err)
{
  int64_t cores = hone_machine_cores(m);
  cutting c = {.b = {.op = op, .m = m, .spread = 1}, .dims = hone_operator_parallel(op)};
  for (int d = 0; d < op->ndims; d++) {
    c.b.extent[d] = op->dim[d].extent;
    c.b.blocks[d] = 1;
  }
  if (cores_are_apart(m)) {
    hone_status s = try_cuts(&c, 0, cores, err);
    if (s != HONE_OK || c.tried <= MOST_CUTS) {
      *out = c.best;
      return s;
    }
  }
  c.b.cores = c.b.spread = (double)cores;
  return bound_blocks(&c.b, out, err);
}
