/* The numbers of MATMUL. Operands are decoded once into packed arrays of the
 * arithmetic's type; then, for every kept index but one (the vector dim), a row
 * of accumulators takes the products in the order of the reduced dims:
 *
 *     for kept:  acc[v] = write[..v..] or 0
 *       for reduced:  acc[v] = round(acc[v] + scalar[kept, reduced] * vector[reduced, v])
 *
 * The arithmetic is that of the accumulator format: float for fp32 (a product of
 * two narrower formats is exact in it), integers for int32, else doubles rounded
 * after each addition. */
#include "config.h"

#include <string.h>

#include "base/arena.h"
#include "sim/functional.h"

enum { W = HONE_MAX_READS };

/* ---- Shared with maps ------------------------------------------------------------------ */

void hone_sim_strides(const sim *s, const sim_job *j, int64_t stride[HONE_MAX_READS + 1][HONE_MAX_ITER])
{
  const hone_insn_body *b = j->body;
  const sim_body *x = &s->body[b - s->program->body];
  memset(stride, 0, (W + 1) * sizeof stride[0]);
  for (int r = 0; r <= W; r++) {
    if (r >= b->nreads && r < W) continue;
    const sim_box *box = r < W ? &j->read[r] : &j->write;
    for (int a = 0; a < box->rank; a++)
      if (x->at[r][a] >= 0) stride[r][x->at[r][a]] += box->stride[a];
  }
}

void hone_sim_pick(const sim *s, const sim_job *j, uint32_t kept, sim_picks *out)
{
  *out = (sim_picks){.any = true};
  for (int k = 0; k < j->body->niter; k++) {
    sim_range r = j->iter[k];
    const uint8_t *map = s->sample && (kept >> k & 1) && r.dim < HONE_MAX_DIMS ? s->sample[r.dim] : NULL;
    out->n[k] = r.length;
    if (!map) continue;
    out->n[k] = 0;
    out->list[k] = hone_heap_alloc((size_t)r.length + 1, sizeof *out->list[k]);
    for (int64_t i = 0; i < r.length; i++)
      if (map[(r.start + i) / 8] >> ((r.start + i) % 8) & 1) out->list[k][out->n[k]++] = (int32_t)i;
    out->any = out->any && out->n[k] > 0;
  }
}

void hone_sim_picks_fini(sim_picks *p)
{
  for (int k = 0; k < HONE_MAX_ITER; k++) free(p->list[k]);
}

/* ---- Arithmetics -------------------------------------------------------------------------- */

typedef struct {
  size_t packed, accumulator; /* bytes of one */
  void (*pack)(void *out, int64_t i, hone_format f, const uint8_t *in);
  void (*load)(void *acc, int64_t i, hone_format f, const uint8_t *in); /* in NULL: zero */
  void (*store)(const void *acc, int64_t i, hone_format f, uint8_t *out);
  /* acc[v] += sum over k, in order, of a[k * sa] * b[k * sb + v] */
  void (*add)(void *acc, hone_format f, const void *a, int64_t sa, const void *b, int64_t sb, int64_t nk, int64_t nv);
} arithmetic;

static void float_pack(void *out, int64_t i, hone_format f, const uint8_t *in)
{
  float *o = (float *)out + i;
  if (f == HONE_FORMAT_BF16) { /* the upper half of a float */
    uint32_t bits = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 24;
    memcpy(o, &bits, sizeof bits);
  } else if (f == HONE_FORMAT_FP32) {
    memcpy(o, in, sizeof *o);
  } else {
    *o = (float)hone_format_decode(f, in);
  }
}
static void float_load(void *acc, int64_t i, hone_format f, const uint8_t *in)
{
  (void)f;
  if (in)
    memcpy((float *)acc + i, in, sizeof(float));
  else
    ((float *)acc)[i] = 0;
}
static void float_store(const void *acc, int64_t i, hone_format f, uint8_t *out)
{
  (void)f;
  memcpy(out, (const float *)acc + i, sizeof(float));
}
/* clang at -O1, or with sanitizers, may not vectorise what `omp simd` allows: slower,
 * not wrong. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

static void float_add(void *acc, hone_format f, const void *a, int64_t sa, const void *b, int64_t sb, int64_t nk, int64_t nv)
{
  float *restrict c = acc;
  (void)f;
  for (int64_t k = 0; k < nk; k++) {
    const float x = ((const float *)a)[k * sa], *restrict y = (const float *)b + k * sb;
#pragma omp simd
    for (int64_t v = 0; v < nv; v++) c[v] += x * y[v];
  }
}

static void int_pack(void *out, int64_t i, hone_format f, const uint8_t *in)
{
  ((int32_t *)out)[i] = f == HONE_FORMAT_INT8 ? (int8_t)in[0] : (int32_t)hone_format_decode(f, in);
}
static void int_load(void *acc, int64_t i, hone_format f, const uint8_t *in)
{
  ((int64_t *)acc)[i] = in ? (int64_t)hone_format_decode(f, in) : 0;
}
static void int_store(const void *acc, int64_t i, hone_format f, uint8_t *out)
{
  hone_format_encode(f, (double)((const int64_t *)acc)[i], out); /* saturates */
}
static void int_add(void *acc, hone_format f, const void *a, int64_t sa, const void *b, int64_t sb, int64_t nk, int64_t nv)
{
  int64_t *restrict c = acc;
  (void)f;
  for (int64_t k = 0; k < nk; k++) {
    const int64_t x = ((const int32_t *)a)[k * sa];
    const int32_t *restrict y = (const int32_t *)b + k * sb;
#pragma omp simd
    for (int64_t v = 0; v < nv; v++) c[v] = (int64_t)((uint64_t)c[v] + (uint64_t)(x * y[v]));
  }
}

static void double_pack(void *out, int64_t i, hone_format f, const uint8_t *in) { ((double *)out)[i] = hone_format_decode(f, in); }
static void double_load(void *acc, int64_t i, hone_format f, const uint8_t *in)
{
  ((double *)acc)[i] = in ? hone_format_decode(f, in) : 0;
}
static void double_store(const void *acc, int64_t i, hone_format f, uint8_t *out)
{
  hone_format_encode(f, ((const double *)acc)[i], out);
}
static void double_add(void *acc, hone_format f, const void *a, int64_t sa, const void *b, int64_t sb, int64_t nk, int64_t nv)
{
  double *c = acc;
  for (int64_t k = 0; k < nk; k++)
    for (int64_t v = 0; v < nv; v++) c[v] = hone_format_round(f, c[v] + ((const double *)a)[k * sa] * ((const double *)b)[k * sb + v]);
}

static const arithmetic float_arithmetic = {sizeof(float), sizeof(float), float_pack, float_load, float_store, float_add};
static const arithmetic int_arithmetic = {sizeof(int32_t), sizeof(int64_t), int_pack, int_load, int_store, int_add};
static const arithmetic double_arithmetic = {sizeof(double), sizeof(double), double_pack, double_load, double_store, double_add};

static const arithmetic *arithmetic_of(const sim_job *j)
{
  bool integers = hone_format_is_integer(j->read[0].format) && hone_format_is_integer(j->read[1].format);
  if (j->write.format == HONE_FORMAT_FP32 && !integers) return &float_arithmetic;
  if (j->write.format == HONE_FORMAT_INT32 && integers) return &int_arithmetic;
  return &double_arithmetic;
}

/* ---- Contraction ------------------------------------------------------------------------------ */

typedef struct {
  const arithmetic *how;
  int niter, nv;  /* nv: number of loops that are not the vector's */
  int loop[HONE_MAX_ITER]; /* kept ones first, then reduced, each in iteration order */
  int nkept, vector;       /* vector: iteration range, -1: none */
  int scalar_read, vector_read;
  sim_picks picks;
  int64_t stride[W + 1][HONE_MAX_ITER]; /* in memory */
  int64_t packed[2][HONE_MAX_ITER];     /* in the packed arrays, per read */
} plan;

static bool in_read(const plan *p, int r, int k) { return p->stride[r][k] != 0; }

/* The kept range that is dense in the write and moves exactly one operand. */
static int choose_vector(const plan *p, uint32_t kept)
{
  int best = -1;
  for (int k = 0; k < p->niter; k++) {
    if (!(kept >> k & 1) || in_read(p, 0, k) == in_read(p, 1, k)) continue;
    if (best < 0 || p->stride[W][k] < p->stride[W][best]) best = k;
  }
  return best;
}

static void make_plan(const sim *s, const sim_job *j, plan *p)
{
  uint32_t kept = 0;
  *p = (plan){.how = arithmetic_of(j), .niter = j->body->niter};
  hone_sim_strides(s, j, p->stride);
  for (int k = 0; k < p->niter; k++) kept |= (uint32_t)(p->stride[W][k] != 0) << k;
  hone_sim_pick(s, j, kept, &p->picks);
  p->vector = choose_vector(p, kept);
  p->vector_read = p->vector >= 0 && in_read(p, 0, p->vector) ? 0 : 1;
  p->scalar_read = 1 - p->vector_read;
  for (int reduced = 0; reduced < 2; reduced++) {
    for (int k = 0; k < p->niter; k++)
      if ((kept >> k & 1) != (uint32_t)reduced && k != p->vector) p->loop[p->nv++] = k;
    if (!reduced) p->nkept = p->nv;
  }
}

static void *scratch(sim *s, int which, size_t bytes)
{
  if (s->scratch_size[which] < bytes) {
    free(s->scratch[which]);
    s->scratch[which] = hone_heap_alloc(bytes, 1);
    s->scratch_size[which] = bytes;
  }
  return s->scratch[which];
}

/* Decodes the picked elements of read r: ranges in iteration order, the vector dim innermost. */
static void *pack(sim *s, const sim_job *j, plan *p, int r)
{
  int order[HONE_MAX_ITER], n = 0;
  int64_t index[HONE_MAX_ITER] = {0}, count = 1, size = hone_format_bytes(j->read[r].format, 1);
  for (int k = 0; k < p->niter; k++)
    if (k != p->vector && in_read(p, r, k)) order[n++] = k;
  if (p->vector >= 0 && in_read(p, r, p->vector)) order[n++] = p->vector;
  for (int i = n - 1; i >= 0; i--) {
    p->packed[r][order[i]] = count;
    count *= p->picks.n[order[i]];
  }
  void *out = scratch(s, r, (size_t)count * p->how->packed);
  for (int64_t done = 0; done < count;) {
    const uint8_t *from = j->read[r].data;
    for (int i = 0; i < n - 1; i++) from += hone_sim_picked(&p->picks, order[i], index[i]) * p->stride[r][order[i]] * size;
    int last = n > 0 ? order[n - 1] : -1;
    int64_t row = last < 0 ? 1 : p->picks.n[last];
    for (int64_t i = 0; i < row; i++)
      p->how->pack(out, done++, j->read[r].format, last < 0 ? from : from + hone_sim_picked(&p->picks, last, i) * p->stride[r][last] * size);
    for (int i = n - 2; i >= 0 && ++index[i] == p->picks.n[order[i]]; i--) index[i] = 0;
  }
  return out;
}

/* One row of accumulators: everything reduced, the last reduced range in the inner loop. */
static void reduce_row(const plan *p, hone_format f, const uint8_t *a, const uint8_t *b, void *acc, int64_t nv)
{
  int64_t index[HONE_MAX_ITER] = {0};
  int n = p->nv - p->nkept;
  const int *loop = p->loop + p->nkept;
  int last = n > 0 ? loop[n - 1] : -1;
  int64_t nk = last < 0 ? 1 : p->picks.n[last], size = (int64_t)p->how->packed;
  int64_t sa = last < 0 ? 0 : p->packed[p->scalar_read][last], sb = last < 0 ? 0 : p->packed[p->vector_read][last];
  for (;;) {
    const uint8_t *x = a, *y = b;
    for (int i = 0; i < n - 1; i++) {
      x += index[i] * p->packed[p->scalar_read][loop[i]] * size;
      y += index[i] * p->packed[p->vector_read][loop[i]] * size;
    }
    p->how->add(acc, f, x, sa, y, sb, nk, nv);
    int i = n - 2;
    for (; i >= 0 && ++index[i] == p->picks.n[loop[i]]; i--) index[i] = 0;
    if (i < 0) return;
  }
}

static void contract(sim *s, const sim_job *j, plan *p)
{
  int64_t nv = p->vector < 0 ? 1 : p->picks.n[p->vector], index[HONE_MAX_ITER] = {0};
  int64_t size = hone_format_bytes(j->write.format, 1), packed = (int64_t)p->how->packed;
  int64_t step = p->vector < 0 ? 0 : p->stride[W][p->vector] * size;
  const uint8_t *a = pack(s, j, p, p->scalar_read), *b = pack(s, j, p, p->vector_read);
  void *acc = scratch(s, 2, (size_t)nv * p->how->accumulator);
  for (;;) {
    const uint8_t *x = a, *y = b;
    uint8_t *out = j->write.data;
    for (int i = 0; i < p->nkept; i++) {
      int k = p->loop[i];
      x += index[i] * p->packed[p->scalar_read][k] * packed;
      y += index[i] * p->packed[p->vector_read][k] * packed;
      out += hone_sim_picked(&p->picks, k, index[i]) * p->stride[W][k] * size;
    }
    for (int64_t v = 0; v < nv; v++)
      p->how->load(acc, v, j->write.format, j->overwrite ? NULL : out + (p->vector < 0 ? 0 : hone_sim_picked(&p->picks, p->vector, v)) * step);
    reduce_row(p, j->write.format, x, y, acc, nv);
    for (int64_t v = 0; v < nv; v++)
      p->how->store(acc, v, j->write.format, out + (p->vector < 0 ? 0 : hone_sim_picked(&p->picks, p->vector, v)) * step);
    int i = p->nkept - 1;
    for (; i >= 0 && ++index[i] == p->picks.n[p->loop[i]]; i--) index[i] = 0;
    if (i < 0) return;
  }
}

void hone_sim_contract(sim *s, sim_job *j)
{
  plan p;
  make_plan(s, j, &p);
  if (p.picks.any) contract(s, j, &p);
  hone_sim_picks_fini(&p.picks);
}
