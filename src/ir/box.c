/* Boxes (DESIGN section 4 line 12) and the work of engine steps (section 6 line
 * 18; timing rules in ir/machine.h). */
#include "config.h"

#include <assert.h>

#include "ir/ir_int.h"

/* Values of an affine axis with at most one dim: arithmetic, clipped to the
 * tensor. Several dims on one axis are refused when an operator is loaded. */
static hone_range axis_values(const hone_affine *e, int64_t extent, const hone_range *range)
{
  assert(e->nterms <= 1);
  hone_range v = {e->constant, 1};
  if (e->nterms == 1) {
    assert(e->term[0].coef == 1);
    hone_range r = range[e->term[0].dim];
    v = (hone_range){e->constant + r.start, r.length};
  }
  int64_t end = hone_min64(v.start + v.length, extent);
  v.start = hone_max64(v.start, 0);
  v.length = hone_max64(end - v.start, 0);
  return v;
}

void hone_access_box(const hone_operator *op, const hone_access *a, const hone_range range[HONE_MAX_DIMS],
                     hone_range box[HONE_MAX_RANK], int64_t *elements)
{
  const hone_tensor *t = &op->tensor[a->tensor];
  *elements = 1;
  for (int i = 0; i < t->rank; i++) {
    box[i] = axis_values(&a->axis[i].affine, t->extent[i], range);
    *elements *= box[i].length; /* never more than the tensor's elements, which fit */
  }
}

/* Cycles one chunk of r streamed rows occupies the array. */
static int64_t pass_cycles(const hone_matrix *x, const hone_array_rate *rate, int64_t r)
{
  int64_t c = hone_muldiv_ceil(r, rate->cycles_per_row_num, rate->cycles_per_row_den);
  c = hone_max64(c, x->min_pass_cycles);
  if (x->load_hidden) return hone_max64(c, x->load_cycles);
  return hone_checked_add(c, x->load_cycles, &c) ? c : INT64_MAX;
}

static int64_t chunk_of(const hone_matrix *x, int64_t stream)
{
  return x->max_stream_rows > 0 ? hone_min64(x->max_stream_rows, stream) : stream;
}

int64_t hone_block_cycles(const hone_matrix *x, const hone_array_rate *rate, int64_t stream)
{
  int64_t chunk = chunk_of(x, stream), rest = stream % chunk, cycles;
  if (!hone_checked_mul(stream / chunk, pass_cycles(x, rate, chunk), &cycles)) return INT64_MAX;
  if (rest > 0 && !hone_checked_add(cycles, pass_cycles(x, rate, rest), &cycles)) return INT64_MAX;
  return cycles;
}

void hone_contract_step(const hone_operator *op, const hone_machine *m, const hone_schedule *s, int stage,
                        const hone_range range[HONE_MAX_DIMS], hone_step_work *out)
{
  const hone_stage *st = &op->stage[stage];
  const hone_matrix *x = &m->engine[s->engine[stage]].matrix;
  const hone_array_rate *rate = hone_machine_find_rate(x, op->tensor[st->read[0].tensor].format,
                                                       op->tensor[st->read[1].tensor].format, st->accumulator);
  int row = s->map_row[stage], column = s->map_column[stage], held = -1;
  hone_dataflow flow = (hone_dataflow)s->dataflow[stage];
  bool ok = hone_map_check(op, stage, flow, row, column, &held);
  assert(ok && rate);
  (void)ok;
  hone_dimset kept = hone_access_dims(op, flow == HONE_DATAFLOW_WS ? &st->read[held] : &st->write);
  int64_t blocks = hone_ceil_div(range[row].length, x->rows) * hone_ceil_div(range[column].length, x->columns);
  int64_t stream = 1, useful = 1;
  for (int d = 0; d < op->ndims; d++) {
    if (!dim_in(st->dims, d)) continue;
    useful *= range[d].length;
    if (!dim_in(kept, d)) stream *= range[d].length;
    else if (d != row && d != column) blocks *= range[d].length;
  }
  *out = (hone_step_work){
      .passes = stream > 0 ? blocks * hone_ceil_div(stream, chunk_of(x, stream)) : 0,
      .useful = useful,
      .issued = useful > 0 ? blocks * x->rows * x->columns * stream : 0,
      .busy_cycles = stream > 0 ? blocks * hone_block_cycles(x, rate, stream) : 0,
  };
}

int64_t hone_vector_cycles(const hone_vector *v, hone_function_cost c, int64_t elements)
{
  return elements > 0 ? v->startup_cycles + hone_rate_cycles(v->rate[c], elements) : 0;
}

int hone_machine_mover(const hone_machine *m, int from, int to)
{
  for (int i = 0; i < m->nengines; i++) {
    const hone_engine *e = &m->engine[i];
    if (e->kind != HONE_ENGINE_VECTOR || e->vector.rate[HONE_COST_SIMPLE].num <= 0) continue;
    if ((e->vector.reads_from >> from & 1u) && (e->vector.writes_to >> to & 1u)) return i;
  }
  return -1;
}
