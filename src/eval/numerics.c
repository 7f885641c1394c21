/* Numeric check: the simulator runs the winner's numbers, the reference
 * interpreter says what they should be.
 *
 * Data are integers in [-3, 3], a pure function of (seed, tensor, element); where
 * the tensor's format does not hold 3 (log numbers), 2 stands for it. So
 * every partial sum of a contraction is exact in the accumulator format as long
 * as 9 * (points reduced) fits its significand; addition is then associative and
 * the answer must be equal bit for bit, whatever the schedule. That is the
 * strictest check there is: a partial result rounded too early, a product left
 * out or counted twice all show. Past that length (1.8 million for fp32) the
 * tolerance is the standard bound of recursive summation, n * eps (Higham,
 * Accuracy and Stability, 2002, section 4.2), relative to the sum of magnitudes.
 * Values that are no integers (after an exponential, say) are summed in the order of
 * the loops, which for one reduced dim is the reference's, so they agree to the bit as
 * well; a sum of such over several dims may be reordered, and then has the tolerance
 * of its n * eps and one spacing of every format it is rounded to from there on.
 *
 * Small operators are compared element by element; of big ones a slice: some
 * indices of every dim that no stage reduces (both ends, the edges of tiles,
 * random ones), for which alone inputs are made and results compared. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/arena.h"
#include "base/checked.h"
#include "base/rng.h"
#include "eval/evaluator.h"
#include "ir/reference.h"

enum { LARGEST_VALUE = 3, VALUES = 2 * LARGEST_VALUE + 1, MAX_POINTS = 1 << 24 };

typedef struct {
  const hone_operator *op;
  const hone_schedule *schedule;
  uint64_t seed;
  uint8_t *sample[HONE_MAX_DIMS];        /* bit i: index i is computed; NULL: every one */
  uint8_t *needed[HONE_MAX_RANK];        /* of the tensor at hand, per axis; NULL: every one */
  void *data[HONE_MAX_TENSORS];
  double value[HONE_MAX_TENSORS][VALUES]; /* what an input's elements may be */
} check;

static bool bit(const uint8_t *map, int64_t i)
{
  return !map || (map[i / 8] >> (i % 8) & 1);
}

static void set_bit(uint8_t *map, int64_t i)
{
  map[i / 8] |= (uint8_t)(1 << (i % 8));
}

static uint8_t *new_bits(int64_t n)
{
  return hone_heap_alloc((size_t)(n / 8 + 1), 1);
}

/* The value of an input element: SplitMix64's finaliser over its number. */
static double input_value(const check *c, int tensor, int64_t element)
{
  uint64_t z = c->seed + ((uint64_t)tensor << 56) + (uint64_t)element * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  z ^= z >> 31;
  return c->value[tensor][z % VALUES];
}

static void prepare_values(check *c)
{
  for (int t = 0; t < c->op->ntensors; t++) {
    for (int i = 0; i < VALUES; i++) {
      double v = i - LARGEST_VALUE;
      c->value[t][i] = hone_format_round(c->op->tensor[t].format, v) == v ? v : copysign(2, v);
    }
  }
}

static double reference_input(void *arg, int tensor, const int64_t *index)
{
  const check *c = arg;
  return input_value(c, tensor, hone_reference_offset(c->op, tensor, -1, index));
}

static hone_dimset reduced_anywhere(const hone_operator *op)
{
  hone_dimset r = 0;
  for (int s = 0; s < op->nstages; s++) r |= op->stage[s].reduced;
  return r;
}

/* Picks at most `want` indices of dim d: ends, tile edges, then random ones. */
static void sample_dim(check *c, int d, int64_t want, hone_rng *rng)
{
  int64_t n = c->op->dim[d].extent, have = 0;
  if (want >= n) return;
  c->sample[d] = new_bits(n);
  int64_t edge[4 + 2 * HONE_MAX_LEVELS], edges = 0;
  edge[edges++] = 0;
  edge[edges++] = n - 1;
  for (int l = 0; l < HONE_MAX_LEVELS; l++) {
    int64_t tile = c->schedule->tile[l][d];
    if (tile < 1 || tile >= n) continue;
    edge[edges++] = tile - 1;
    edge[edges++] = tile;
  }
  for (int64_t i = 0; have < want; i++) {
    int64_t x = i < edges ? edge[i] : hone_rng_below(rng, n);
    if (bit(c->sample[d], x)) continue;
    set_bit(c->sample[d], x);
    have++;
  }
}

/* Chooses the slice: as many indices per free dim as keep the points of the
 * largest stage near MAX_POINTS, by halving the longest. */
static void choose_slice(check *c)
{
  const hone_operator *op = c->op;
  hone_dimset fixed = reduced_anywhere(op);
  int64_t want[HONE_MAX_DIMS];
  double points = 1;
  for (int d = 0; d < op->ndims; d++) {
    want[d] = op->dim[d].extent;
    points *= (double)want[d];
  }
  while (points > MAX_POINTS) {
    int longest = -1;
    for (int d = 0; d < op->ndims; d++)
      if (!(fixed >> d & 1) && want[d] > 4 && (longest < 0 || want[d] > want[longest])) longest = d;
    if (longest < 0) break;
    points /= (double)want[longest];
    want[longest] = (want[longest] + 1) / 2;
    points *= (double)want[longest];
  }
  hone_rng rng;
  hone_rng_init(&rng, c->seed);
  for (int d = 0; d < op->ndims; d++) sample_dim(c, d, want[d], &rng);
}

/* Indices of each axis of `tensor` that a sampled point of any stage touches.
 * An axis that is not one dim plus a constant is taken whole. */
static void find_needed(check *c, int tensor, const hone_access *a)
{
  const hone_tensor *t = &c->op->tensor[tensor];
  for (int x = 0; x < t->rank; x++) {
    const hone_axis_expr *e = &a->axis[x];
    bool plain = e->table < 0 && e->affine.nterms == 1 && e->affine.term[0].coef == 1;
    const uint8_t *sample = plain ? c->sample[e->affine.term[0].dim] : NULL;
    if (!sample || !c->needed[x]) {
      free(c->needed[x]);
      c->needed[x] = NULL;
      continue;
    }
    int64_t n = c->op->dim[e->affine.term[0].dim].extent;
    for (int64_t i = 0; i < n; i++) {
      int64_t at = i + e->affine.constant;
      if (bit(sample, i) && at >= 0 && at < t->extent[x]) set_bit(c->needed[x], at);
    }
  }
}

static void prepare_needed(check *c, int tensor)
{
  const hone_operator *op = c->op;
  for (int x = 0; x < op->tensor[tensor].rank; x++) c->needed[x] = new_bits(op->tensor[tensor].extent[x]);
  for (int s = 0; s < op->nstages; s++) {
    for (int r = 0; r < op->stage[s].nreads; r++)
      if (op->stage[s].read[r].tensor == tensor) find_needed(c, tensor, &op->stage[s].read[r]);
    if (op->stage[s].write.tensor == tensor) find_needed(c, tensor, &op->stage[s].write);
  }
}

static void forget_needed(check *c)
{
  for (int x = 0; x < HONE_MAX_RANK; x++) {
    free(c->needed[x]);
    c->needed[x] = NULL;
  }
}

/* Steps index to the next needed element, last axis fastest; false after the last. */
static bool next_needed(const check *c, const hone_tensor *t, int64_t *index)
{
  for (int x = t->rank - 1; x >= 0; x--) {
    while (++index[x] < t->extent[x])
      if (bit(c->needed[x], index[x])) return true;
    index[x] = 0;
    while (index[x] < t->extent[x] - 1 && !bit(c->needed[x], index[x])) index[x]++;
  }
  return false;
}

static void first_needed(const check *c, const hone_tensor *t, int64_t *index)
{
  for (int x = 0; x < t->rank; x++) {
    index[x] = 0;
    while (index[x] < t->extent[x] - 1 && !bit(c->needed[x], index[x])) index[x]++;
  }
}

static void *element(const check *c, int tensor, const int64_t *index)
{
  int64_t at = hone_reference_offset(c->op, tensor, c->schedule->layout[tensor], index);
  return (char *)c->data[tensor] + hone_format_bytes(c->op->tensor[tensor].format, at);
}

static void fill_input(check *c, int tensor)
{
  const hone_tensor *t = &c->op->tensor[tensor];
  int64_t index[HONE_MAX_RANK] = { 0 };
  prepare_needed(c, tensor);
  first_needed(c, t, index);
  do {
    double v = input_value(c, tensor, hone_reference_offset(c->op, tensor, -1, index));
    hone_format_encode(t->format, v, element(c, tensor, index));
  } while (next_needed(c, t, index));
  forget_needed(c);
}

static void compare_output(check *c, hone_reference *reference, int tensor, hone_numerics *out)
{
  const hone_tensor *t = &c->op->tensor[tensor];
  int64_t index[HONE_MAX_RANK] = { 0 };
  prepare_needed(c, tensor);
  first_needed(c, t, index);
  do {
    double want = hone_reference_get(reference, tensor, index);
    double have = hone_format_decode(t->format, element(c, tensor, index));
    double e = want == have || (isnan(want) && isnan(have)) ? 0 : fabs(have - want) / fmax(1.0, fabs(want));
    if (isnan(e)) e = INFINITY;
    out->checked_elements++;
    if (e > out->worst_error) {
      out->worst_error = e;
      char at[96] = "";
      for (int x = 0, n = 0; x < t->rank && n < 80; x++)
        n += snprintf(at + n, sizeof at - (size_t)n, "%s%" PRId64, x ? "," : "", index[x]);
      snprintf(out->text, sizeof out->text, "%s[%s] is %.9g, should be %.9g", t->name, at, have, want);
    }
  } while (next_needed(c, t, index));
  forget_needed(c);
}

/* Points of the reduced dims; *several: more than one of them is longer than 1. */
static double reduced_points(const hone_operator *op, const hone_stage *st, bool *several)
{
  double n = 1;
  int dims = 0;
  for (int d = 0; d < op->ndims; d++) {
    if (!(st->reduced >> d & 1) || op->dim[d].extent == 1) continue;
    n *= (double)op->dim[d].extent;
    dims++;
  }
  *several = dims > 1;
  return n;
}

/* Spacing of a format's values at 1; 0 for integers. */
static double spacing(hone_format f)
{
  int k = 1;
  if (hone_format_is_integer(f)) return 0;
  while (k < 60 && hone_format_round(f, 1 + ldexp(1, -k)) != 1) k++;
  return ldexp(1, 1 - k);
}

/* Do the values a stage works on stay small integers? Not past an exponential or a
 * factor, nor once they have been summed up. */
static bool keeps_integers(const hone_stage *st)
{
  if (st->kind == HONE_STAGE_CONTRACT) return false;
  return hone_apply_plain(&st->apply) && hone_function_cost_class(st->apply.function) == HONE_COST_SIMPLE &&
         st->kind == HONE_STAGE_MAP;
}

/* 0 while every sum is exact or keeps its order (see the head of this file). */
static double tolerance(const hone_operator *op)
{
  double tol = 0;
  bool exact[HONE_MAX_TENSORS], reordered[HONE_MAX_TENSORS] = {false}, several;
  const double eps = ldexp(1.0, -24); /* fp32, the only float accumulator */
  for (int t = 0; t < op->ntensors; t++) exact[t] = true;
  for (int s = 0; s < op->nstages; s++) {
    const hone_stage *st = &op->stage[s];
    bool whole = true, moved = false;
    for (int r = 0; r < st->nreads; r++) {
      whole = whole && exact[st->read[r].tensor];
      moved = moved || reordered[st->read[r].tensor];
    }
    exact[st->write.tensor] = whole && keeps_integers(st);
    if (hone_stage_accumulates(st) && !hone_format_is_integer(st->accumulator) &&
        (st->kind == HONE_STAGE_CONTRACT || st->reduction == HONE_REDUCTION_SUM)) {
      double n = reduced_points(op, st, &several), largest = n * LARGEST_VALUE * LARGEST_VALUE;
      if (whole && st->kind == HONE_STAGE_CONTRACT && largest * eps > 1) tol += n * eps * largest;
      if (!whole && several) {
        tol += n * eps * LARGEST_VALUE;
        moved = true;
      }
    }
    reordered[st->write.tensor] = moved;
    if (moved) tol += spacing(op->tensor[st->write.tensor].format);
  }
  return tol;
}

static hone_status simulate(const check *c, const hone_machine *m, hone_reason *reason, hone_why *why, hone_err *err)
{
  hone_program *p = NULL;
  uint8_t *bytes = NULL;
  size_t n = 0;
  hone_status st = hone_backend_compile(c->op, m, c->schedule, &p, reason, why, err);
  if (st != HONE_OK || *reason != HONE_REASON_NONE) return st;
  st = hone_program_encode(p, &bytes, &n, err);
  hone_program_free(p);
  if (st != HONE_OK) return st;
  hone_sim_argument args[HONE_MAX_TENSORS];
  hone_sim_options options = { .functional = true };
  for (int t = 0; t < c->op->ntensors; t++)
    args[t] = (hone_sim_argument){ .data = c->data[t], .layout = c->schedule->layout[t] };
  for (int d = 0; d < c->op->ndims; d++) options.sample[d] = c->sample[d];
  hone_range *block = hone_sim_blocks(c->op, m, c->schedule);
  hone_sim_result r;
  memset(&r, 0, sizeof r);
  st = hone_sim_run(bytes, n, c->op, m, block, args, &options, &r, err);
  hone_sim_result_fini(&r);
  free(block);
  free(bytes);
  return st;
}

static hone_status compare(check *c, hone_numerics *out, hone_err *err)
{
  hone_reference *reference = NULL;
  hone_status st = hone_reference_new(c->op, reference_input, c, &reference, err);
  if (st != HONE_OK) return st;
  for (int t = 0; t < c->op->ntensors; t++)
    if (c->op->tensor[t].role == HONE_ROLE_OUTPUT) compare_output(c, reference, t, out);
  hone_reference_free(reference);
  out->tolerance = tolerance(c->op);
  out->passed = out->worst_error <= out->tolerance;
  return HONE_OK;
}

hone_status hone_check_numerics(const hone_operator *op, const hone_machine *m, const hone_schedule *s, uint64_t seed,
                                hone_numerics *out, hone_err *err)
{
  *out = (hone_numerics){ 0 };
  if (!m->tile_machine)
    return hone_err_set(err, HONE_UNSUPPORTED, "numerics.model-only", "machine %s is model-only: nothing to simulate", m->name);
  check c = { .op = op, .schedule = s, .seed = seed };
  prepare_values(&c);
  choose_slice(&c);
  for (int t = 0; t < op->ntensors; t++) {
    int64_t bytes = hone_format_bytes(op->tensor[t].format, hone_tensor_elements(op, t));
    c.data[t] = hone_heap_alloc((size_t)bytes, 1);
    if (op->tensor[t].role == HONE_ROLE_INPUT) fill_input(&c, t);
  }
  hone_reason reason = HONE_REASON_NONE;
  hone_why why = { 0 };
  hone_status st = simulate(&c, m, &reason, &why, err);
  if (st == HONE_OK && reason != HONE_REASON_NONE)
    st = hone_err_set(err, HONE_INFEASIBLE, hone_reason_code(reason), "%s", why.text[0] ? why.text : hone_reason_text(reason));
  if (st == HONE_OK) st = compare(&c, out, err);
  for (int t = 0; t < op->ntensors; t++) free(c.data[t]);
  for (int d = 0; d < op->ndims; d++) free(c.sample[d]);
  return st;
}
