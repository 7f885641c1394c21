/* Functional mode: the bytes of every memory, and moves, maps and reductions on them. The
 * numbers of an instruction happen when it completes, before any signal behind it
 * fires, so a missing semaphore shows in the results. Memories and workspaces
 * start as all ones (a NaN in every float format): what was never loaded is seen. */
#include "config.h"

#include <string.h>

#include "base/arena.h"
#include "sim/functional.h"

/* ---- Memories ------------------------------------------------------------------------ */

static uint8_t *poisoned(int64_t bytes)
{
  uint8_t *p = hone_heap_alloc((size_t)bytes + 1, 1);
  memset(p, 0xff, (size_t)bytes);
  return p;
}

/* DRAM operand of a LOAD or STORE body. */
static hone_status bind_dram(sim *s, const hone_insn_body *b, const hone_operand *o, const hone_sim_argument *args)
{
  const hone_tensor *x = &s->op->tensor[o->arg];
  if (b->partial) {
    int64_t bytes = hone_format_bytes((hone_format)o->format, hone_tensor_elements(s->op, o->arg));
    if (bytes > s->workspace_bytes[o->arg]) {
      free(s->workspace[o->arg]);
      s->workspace[o->arg] = poisoned(bytes);
      s->workspace_bytes[o->arg] = bytes;
    }
    return HONE_OK;
  }
  s->tensor[o->arg] = args ? args[o->arg].data : NULL;
  if (s->tensor[o->arg]) return HONE_OK;
  return hone_err_set(s->err, HONE_INPUT, "sim.argument", "functional mode needs data for tensor %s", x->name);
}

/* Only what the program's buffers reach: a memory may be far larger. */
static int64_t used_bytes(const sim *s, int level)
{
  int64_t used = 0;
  for (int b = 0; b < s->program->nbuffers; b++) {
    const hone_program_buffer *u = &s->program->buffer[b];
    if (u->level == level) used = hone_max64(used, u->base + u->copies * u->slot_bytes);
  }
  return used;
}

hone_status hone_sim_functional_init(sim *s, const hone_sim_argument *args)
{
  const hone_program *p = s->program;
  hone_status st = HONE_OK;
  for (int i = 0; i < p->ninsns && !st; i++) {
    if (p->insn[i].op == HONE_INSN_LOAD) st = bind_dram(s, &p->body[p->insn[i].body], &p->body[p->insn[i].body].read[0], args);
    if (p->insn[i].op == HONE_INSN_STORE) st = bind_dram(s, &p->body[p->insn[i].body], &p->body[p->insn[i].body].write, args);
  }
  s->sram = hone_heap_alloc((size_t)(s->cores * s->m->nlevels), sizeof *s->sram);
  for (int i = 0; i < s->cores * s->m->nlevels; i++)
    if (i % s->m->nlevels > 0) s->sram[i] = poisoned(used_bytes(s, i % s->m->nlevels));
  return st;
}

void hone_sim_functional_fini(sim *s)
{
  for (int i = 0; s->sram && i < s->cores * s->m->nlevels; i++) free(s->sram[i]);
  for (int t = 0; t < HONE_MAX_TENSORS; t++) free(s->workspace[t]);
  for (int k = 0; k < 3; k++) free(s->scratch[k]);
  free(s->sram);
  free(s->job);
}

/* ---- Jobs ------------------------------------------------------------------------------ */

int hone_sim_job_new(sim *s, const sim_stream *t, const hone_insn *i, const sim_box *read, const sim_box *write)
{
  int n = s->job_free;
  if (n >= 0) {
    s->job_free = s->job[n].next_free;
  } else {
    if (s->njobs == s->job_capacity) {
      s->job_capacity = s->job_capacity ? 2 * s->job_capacity : 64;
      s->job = hone_heap_realloc(s->job, (size_t)s->job_capacity, sizeof *s->job);
    }
    n = s->njobs++;
  }
  sim_job *j = &s->job[n];
  const hone_insn_body *b = &s->program->body[i->body];
  bool compute = hone_insn_is_step(i->op);
  *j = (sim_job){.body = b, .op = i->op, .write = *write, .next_free = -1};
  j->overwrite = (b->zero_mask & ~t->at_zero & (t->depth == 32 ? UINT32_MAX : (UINT32_C(1) << t->depth) - 1)) == 0;
  for (int r = 0; r < (compute ? b->nreads : 1); r++) j->read[r] = read[r];
  for (int k = 0; compute && k < b->niter; k++) j->iter[k] = t->range[b->iter[k]];
  return n;
}

void hone_sim_job_run(sim *s, int job)
{
  sim_job *j = &s->job[job];
  switch (j->op) {
  case HONE_INSN_MATMUL: hone_sim_contract(s, j); break;
  case HONE_INSN_MAP: hone_sim_map(s, j); break;
  case HONE_INSN_REDUCE: hone_sim_reduce(s, j); break;
  default: hone_sim_convert(&j->read[0], &j->write); break;
  }
  j->next_free = s->job_free;
  s->job_free = job;
}

/* ---- Moves ------------------------------------------------------------------------------- */

/* n elements with strides in elements. */
static void convert_row(const sim_box *from, const uint8_t *in, int64_t in_stride, const sim_box *to, uint8_t *out, int64_t out_stride,
                        int64_t n)
{
  int64_t a = hone_format_bytes(from->format, 1), b = hone_format_bytes(to->format, 1);
  if (from->format != to->format) {
    for (int64_t i = 0; i < n; i++)
      hone_format_encode(to->format, hone_format_decode(from->format, in + i * in_stride * a), out + i * out_stride * b);
  } else if (in_stride == 1 && out_stride == 1) {
    memcpy(out, in, (size_t)(n * a));
  } else {
    for (int64_t i = 0; i < n; i++) memcpy(out + i * out_stride * b, in + i * in_stride * a, (size_t)a);
  }
}

/* Axes that matter, largest destination stride first, merged where both sides allow. */
static int collapse(const sim_box *from, const sim_box *to, int64_t length[], int64_t in[], int64_t out[])
{
  int n = 0;
  for (int a = 0; a < to->rank; a++) {
    if (to->length[a] == 1) continue;
    int k = n++;
    for (; k > 0 && out[k - 1] < to->stride[a]; k--) {
      length[k] = length[k - 1];
      in[k] = in[k - 1];
      out[k] = out[k - 1];
    }
    length[k] = to->length[a];
    in[k] = from->stride[a];
    out[k] = to->stride[a];
  }
  for (int k = n - 1; k > 0; k--) {
    if (in[k - 1] != in[k] * length[k] || out[k - 1] != out[k] * length[k]) continue;
    length[k - 1] *= length[k];
    in[k - 1] = in[k];
    out[k - 1] = out[k];
    n--;
    for (int i = k; i < n; i++) {
      length[i] = length[i + 1];
      in[i] = in[i + 1];
      out[i] = out[i + 1];
    }
  }
  return n;
}

void hone_sim_convert(const sim_box *from, const sim_box *to)
{
  int64_t length[HONE_MAX_RANK], in[HONE_MAX_RANK], out[HONE_MAX_RANK], index[HONE_MAX_RANK] = {0};
  int n = collapse(from, to, length, in, out);
  int64_t a = hone_format_bytes(from->format, 1), b = hone_format_bytes(to->format, 1);
  const uint8_t *p = from->data;
  uint8_t *q = to->data;
  if (n == 0) {
    convert_row(from, p, 1, to, q, 1, 1);
    return;
  }
  for (;;) {
    convert_row(from, p, in[n - 1], to, q, out[n - 1], length[n - 1]);
    int k = n - 2;
    for (; k >= 0; k--) {
      p += in[k] * a;
      q += out[k] * b;
      if (++index[k] < length[k]) break;
      p -= index[k] * in[k] * a;
      q -= index[k] * out[k] * b;
      index[k] = 0;
    }
    if (k < 0) return;
  }
}

/* ---- Maps and reductions ------------------------------------------------------------------- */

/* Points of a step: where each operand is, as the indices of its ranges move. */
typedef struct {
  const sim_job *job;
  sim_picks picks;
  int64_t stride[HONE_MAX_READS + 1][HONE_MAX_ITER], index[HONE_MAX_ITER];
} points;

static const uint8_t *element_at(const points *p, const sim_box *box, int row)
{
  int64_t at = 0;
  for (int k = 0; k < p->job->body->niter; k++) at += hone_sim_picked(&p->picks, k, p->index[k]) * p->stride[row][k];
  return box->data + at * hone_format_bytes(box->format, 1);
}

static double value_at(const points *p)
{
  double x[HONE_MAX_READS];
  const hone_insn_body *b = p->job->body;
  for (int r = 0; r < b->nreads; r++) x[r] = hone_format_decode(p->job->read[r].format, element_at(p, &p->job->read[r], r));
  return hone_apply_eval(&b->apply, x);
}

/* To the next point over the ranges in `set`; false after the last. */
static bool next_point(points *p, uint32_t set)
{
  for (int k = p->job->body->niter - 1; k >= 0; k--) {
    if (!(set >> k & 1)) continue;
    if (++p->index[k] < p->picks.n[k]) return true;
    p->index[k] = 0;
  }
  return false;
}

void hone_sim_map(sim *s, sim_job *j)
{
  points p = {.job = j};
  hone_sim_strides(s, j, p.stride);
  hone_sim_pick(s, j, UINT32_MAX, &p.picks);
  if (p.picks.any) {
    do {
      hone_format_encode(j->write.format, value_at(&p), (uint8_t *)element_at(&p, &j->write, HONE_MAX_READS));
    } while (next_point(&p, UINT32_MAX));
  }
  hone_sim_picks_fini(&p.picks);
}

/* Each result in the order of the reduced ranges, rounded to its format each time. */
void hone_sim_reduce(sim *s, sim_job *j)
{
  points p = {.job = j};
  uint32_t kept = 0;
  hone_reduction how = (hone_reduction)j->body->reduction;
  hone_sim_strides(s, j, p.stride);
  for (int k = 0; k < j->body->niter; k++) kept |= (uint32_t)(p.stride[HONE_MAX_READS][k] != 0) << k;
  hone_sim_pick(s, j, kept, &p.picks);
  if (p.picks.any) {
    do {
      uint8_t *out = (uint8_t *)element_at(&p, &j->write, HONE_MAX_READS);
      double x = j->overwrite ? hone_reduction_start(how) : hone_format_decode(j->write.format, out);
      do {
        x = hone_format_round(j->write.format, hone_reduction_join(how, x, value_at(&p)));
      } while (next_point(&p, ~kept));
      hone_format_encode(j->write.format, x, out);
    } while (next_point(&p, kept));
  }
  hone_sim_picks_fini(&p.picks);
}
