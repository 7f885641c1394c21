/* Flows of every buffer.
 *
 * The fills and the drains of a buffer are a flow: `visits` transfers that
 * occupy a mover (and the DRAM) for `busy` in all, and each take `wait` from being
 * allowed to being done. DMA and DRAM work on the contiguous runs of a box: a run
 * costs the DMA at least burst_bytes, the DRAM whole accesses and, when it is
 * shorter than a row, the share of a row miss that other banks do not hide. DMA
 * between two memories on the chip costs its engines only. */
#include "config.h"

#include "cost/flows.h"

/* Contiguous run of the average box, in elements, in DRAM or in its parent. */
static double run_elements(const hone_timing *t, const hone_buffer *b)
{
  const hone_tensor *x = &t->v->c->op.tensor[b->tensor];
  const uint8_t *layout = x->layout[t->v->s->layout[b->tensor]];
  const hone_buffer *parent = b->parent < 0 ? NULL : &t->v->e.buffer[b->parent];
  double run = 1;
  for (int i = x->rank - 1; i >= 0; i--) {
    int axis = parent ? i : layout[i]; /* on the chip boxes lie row-major */
    const hone_affine *a = &b->access.axis[axis].affine;
    double length = 1;
    if (!parent && x->scattered >> axis & 1) break;
    if (a->nterms > 0) {
      int d = a->term[0].dim;
      const hone_pieces *p = &t->v->core->cuts.of[d][hone_cuts_level(&t->v->e, d, b->position)];
      length = (double)p->total / (double)p->count;
    }
    run *= length;
    if (length < (double)(parent ? parent->extent : x->extent)[axis]) break;
  }
  return run;
}

/* Adds n transfers of `elements` in all, `width` bytes each, between DRAM and chip. */
static void add_dram_flow(const hone_timing *t, const hone_buffer *b, hone_flow *f, double n, double elements, double width)
{
  const hone_rates *k = t->k;
  double run = run_elements(t, b), runs = elements / run, bytes = run * width;
  if (n < 1) return;
  double dma = runs * larger(bytes, k->burst) / k->dma;
  double accesses = bytes / k->access, whole = (double)(int64_t)accesses;
  if (whole < accesses) whole += 1;
  double dram = runs * whole * k->access / k->stream;
  if (bytes < k->row) dram += runs * k->miss * (1 - bytes / k->row);
  f->visits += n;
  f->busy += dma;
  f->dram += dram * t->v->cores_used;
  f->mover = DMA;
}

static void time_dram_flows(const hone_timing *t, const hone_buffer *b, const hone_visits *n, hone_flow f[2])
{
  const hone_operator *op = &t->v->c->op;
  double width = hone_format_bits(op->tensor[b->tensor].format) / 8;
  double visits = (double)n->visits, elements = (double)n->elements;
  if (b->kind == HONE_BUFFER_READ) {
    add_dram_flow(t, b, &f[FILL], visits, elements, width);
    return;
  }
  double wide = hone_format_bits(op->stage[b->writer].accumulator) / 8;
  double distinct = (double)n->distinct, coverage = (double)n->coverage;
  add_dram_flow(t, b, &f[FILL], visits - distinct, elements - coverage, wide);
  add_dram_flow(t, b, &f[DRAIN], visits - distinct, elements - coverage, wide);
  add_dram_flow(t, b, &f[DRAIN], distinct, coverage, width);
}

/* Between two memories on the chip, at the width of the wider side. */
static void add_chip_flow(const hone_timing *t, const hone_buffer *b, hone_flow *f, double visits, double elements)
{
  int outer = hone_format_bits(t->v->e.buffer[b->parent].format), inner = hone_format_bits(b->format);
  double width = (outer > inner ? outer : inner) / 8.0, run = run_elements(t, b);
  if (visits < 1) return;
  f->visits = visits;
  f->busy = elements / run * larger(run * width, t->k->burst) / t->k->dma;
  f->latency = t->k->setup + t->issue;
  f->wait = f->latency + f->busy / visits;
}

static int outer_level(const hone_timing *t, const hone_buffer *b)
{
  return b->parent < 0 ? 0 : t->v->e.buffer[b->parent].level;
}

static void time_vector_flow(const hone_timing *t, const hone_buffer *b, int drain, double visits, double elements, hone_flow *f)
{
  const hone_machine *m = &t->v->c->m;
  int outer = outer_level(t, b);
  int e = drain ? hone_machine_mover(m, b->level, outer) : hone_machine_mover(m, outer, b->level);
  if (e < 0 || visits < 1) return;
  f->visits = visits;
  f->mover = e;
  f->busy = visits * (double)m->engine[e].vector.startup_cycles + elements / t->k->move[e];
  f->wait = f->latency = f->busy / visits + t->issue;
}

static void time_buffer(hone_timing *t, int i)
{
  const hone_buffer *b = &t->v->e.buffer[i];
  const hone_visits *n = &t->v->core->visits[i];
  hone_flow *f = t->flow[i];
  f[FILL] = f[DRAIN] = (hone_flow){.mover = DMA};
  if (b->kind == HONE_BUFFER_LOCAL) return;
  double visits = (double)n->visits, elements = (double)n->elements;
  bool written = b->kind == HONE_BUFFER_WRITTEN;
  if (b->mover == HONE_MOVE_VECTOR) {
    double back = visits - (double)n->distinct, returning = elements - (double)n->coverage;
    time_vector_flow(t, b, FILL, written ? back : visits, written ? returning : elements, &f[FILL]);
    if (written) time_vector_flow(t, b, DRAIN, visits, elements, &f[DRAIN]);
    return;
  }
  if (b->parent >= 0) {
    add_chip_flow(t, b, &f[FILL], written ? visits - (double)n->distinct : visits, written ? elements - (double)n->coverage : elements);
    if (written) add_chip_flow(t, b, &f[DRAIN], visits, elements);
    return;
  }
  time_dram_flows(t, b, n, f);
  for (int way = FILL; way <= DRAIN; way++) {
    if (f[way].visits < 1) continue;
    f[way].latency = t->k->setup + (way == FILL ? t->k->latency : t->k->turnaround) + t->issue;
    f[way].wait = f[way].latency + larger(f[way].busy, f[way].dram) / f[way].visits;
  }
}

/* Buffers take the load queues, and the store queues, in turn. */
static void assign_queues(hone_timing *t)
{
  const hone_dma *d = &t->v->c->m.dma;
  int turn[2] = {0, 0}, count[2] = {d->load_queues, d->store_queues};
  for (int i = 0; i < t->v->e.nbuffers; i++) {
    for (int way = FILL; way <= DRAIN; way++) {
      const hone_flow *f = &t->flow[i][way];
      if (f->visits >= 1 && f->mover == DMA) t->queue[i][way] = turn[way]++ % count[way];
    }
  }
}

void hone_cost_flows(hone_timing *t)
{
  for (int i = 0; i < t->v->e.nbuffers; i++) time_buffer(t, i);
  assign_queues(t);
}
