/* One call of the simulator: load, set the streams going, run events until none
 * is left, report. Warm time is a second run with every stream executing the
 * program twice. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "sim/sim_int.h"

static const int64_t default_cycles = INT64_C(1) << 40, max_insns = INT64_C(1) << 32;

const char *hone_stall_name(hone_stall c)
{
  static const char *const names[] = {
#define HONE_STALL(id, name) [HONE_STALL_##id] = name,
#include "sim/stall.def"
#undef HONE_STALL
  };
  return names[c];
}

hone_range *hone_sim_blocks(const hone_operator *op, const hone_machine *m, const hone_schedule *s)
{
  int cores = hone_machine_cores(m);
  hone_range *block = hone_heap_alloc((size_t)cores * (size_t)op->ndims + 1, sizeof *block);
  for (int c = 0; c < cores; c++)
    for (int d = 0; d < op->ndims; d++) {
      hone_range *r = &block[c * op->ndims + d];
      hone_schedule_block(op, m, s, c, d, &r->start, &r->length);
    }
  return block;
}

void hone_sim_result_fini(hone_sim_result *r)
{
  free(r->unit);
  *r = (hone_sim_result){0};
}

/* ---- Setting up ------------------------------------------------------------------- */

static void name_unit(const sim *s, const sim_stream *t, char *out, size_t n)
{
  const char *queue = t->code->kind == HONE_STREAM_LOAD ? "load" : "store";
  if (t->code->kind == HONE_STREAM_ENGINE)
    snprintf(out, n, "core%d.%s", t->core, s->m->engine[t->code->unit].name);
  else
    snprintf(out, n, "core%d.%s%d", t->core, queue, t->code->unit);
}

static bool is_queue(const sim_stream *t) { return t->code->kind != HONE_STREAM_ENGINE; }

/* Streams of a core lie together, queues first: the DMA takes turns over them. */
static void init_stream(sim *s, sim_stream *t, int core, const hone_stream *code, const hone_range *block, int repeat)
{
  const hone_program *p = s->program;
  *t = (sim_stream){.code = code, .core = core, .number = (int)(t - s->stream), .pc = code->first, .runs_left = repeat, .waiting_for = -1};
  t->expected = hone_heap_alloc((size_t)p->nsemaphores + 1, sizeof *t->expected);
  t->slot = hone_heap_alloc((size_t)p->nbuffers + 1, sizeof *t->slot);
  if (is_queue(t)) t->ring = hone_heap_alloc((size_t)s->m->dma.in_flight, sizeof *t->ring);
  for (int b = 0; b < p->nbuffers; b++) t->slot[b] = -1;
  for (int r = 0; r < HONE_MAX_RANGES; r++) t->range[r] = (sim_range){0, 0, HONE_NO_RANGE};
  for (int d = 0; d < p->ndims; d++) {
    t->range[d] = (sim_range){block[d].start, block[d].length, (uint8_t)d};
    if (block[d].length == 0) t->state = SIM_HALTED; /* a core with an empty root range executes nothing */
  }
  t->unit = &s->result->unit[t->number];
  name_unit(s, t, t->unit->name, sizeof t->unit->name);
}

static void init_core(sim *s, int core, const hone_range *block, int repeat)
{
  const hone_program *p = s->program;
  sim_dma *d = &s->dma[core];
  int n = core * p->nstreams;
  d->first_stream = n;
  for (int engines = 0; engines < 2; engines++) {
    for (int i = 0; i < p->nstreams; i++) {
      if ((p->stream[i].kind == HONE_STREAM_ENGINE) != engines) continue;
      init_stream(s, &s->stream[n++], core, &p->stream[i], block, repeat);
    }
    if (!engines) d->nstreams = n - d->first_stream;
  }
  for (int i = 0; i < p->nsemaphores; i++) {
    s->semaphore[core * p->nsemaphores + i] = p->semaphore[i].initial;
    s->waiter[core * p->nsemaphores + i] = -1;
  }
}

static hone_status check_blocks(sim *s, const hone_range *block)
{
  for (int i = 0; i < s->cores * s->op->ndims; i++) {
    int64_t extent = s->op->dim[i % s->op->ndims].extent;
    if (block[i].start < 0 || block[i].length < 0 || block[i].start > extent - block[i].length)
      return hone_err_set(s->err, HONE_INPUT, "sim.block", "the block of core %d leaves dim %s", i / s->op->ndims,
                          s->op->dim[i % s->op->ndims].name);
  }
  return HONE_OK;
}

static void init_parts(sim *s, const hone_range *block, int repeat)
{
  const hone_program *p = s->program;
  size_t cores = (size_t)s->cores;
  s->nstreams = s->cores * p->nstreams;
  s->stream = hone_heap_alloc((size_t)s->nstreams + 1, sizeof *s->stream);
  s->semaphore = hone_heap_alloc(cores * (size_t)p->nsemaphores + 1, sizeof *s->semaphore);
  s->waiter = hone_heap_alloc(cores * (size_t)p->nsemaphores + 1, sizeof *s->waiter);
  s->dma = hone_heap_alloc(cores, sizeof *s->dma);
  s->result->nunits = s->nstreams + 1;
  s->result->unit = hone_heap_alloc((size_t)s->result->nunits, sizeof *s->result->unit);
  s->dram.unit = &s->result->unit[s->nstreams];
  snprintf(s->dram.unit->name, sizeof s->dram.unit->name, "dram");
  s->dram.idle_since = -sim_ticks(s->m->dram.turnaround_cycles);
  s->pending_free = s->job_free = -1;
  for (int c = 0; c < s->cores; c++) init_core(s, c, block + c * s->op->ndims, repeat);
}

static void fini_parts(sim *s)
{
  for (int i = 0; i < s->nstreams && s->stream; i++) {
    free(s->stream[i].expected);
    free(s->stream[i].slot);
    free(s->stream[i].ring);
    free(s->stream[i].blocked);
  }
  free(s->dram.fifo[0].ring);
  free(s->dram.fifo[1].ring);
  free(s->stream);
  free(s->semaphore);
  free(s->waiter);
  free(s->dma);
  free(s->events.heap);
  free(s->pending);
  free(s->body);
  free(s->match);
  hone_program_free(s->program);
}

/* ---- Running ---------------------------------------------------------------------- */

static void dispatch(sim *s, const sim_event *e)
{
  switch ((sim_event_kind)e->kind) {
  case SIM_EVENT_JOB: hone_sim_job_run(s, e->who); break;
  case SIM_EVENT_SIGNAL: hone_sim_signal(s, e->who, e->what, e->n); break;
  case SIM_EVENT_READY: hone_sim_dma_ready(s, &s->stream[e->who]); break;
  case SIM_EVENT_MOVED: hone_sim_dma_moved(s, e->who); break;
  case SIM_EVENT_SERVED: hone_sim_dram_served(s); break;
  case SIM_EVENT_TURN:
    s->dram.turn_posted = false;
    hone_sim_dram_pump(s);
    break;
  case SIM_EVENT_DONE: hone_sim_dma_done(s, &s->stream[e->who], (int)e->n); break;
  }
}

/* "core0.load1 instruction 4 for a free copy of W (buffer 1; semaphore 3 at 2 of 3)" */
static void describe_wait(const sim *s, const sim_stream *t, hone_text *out)
{
  static const char *const role[] = {"data in", "a free copy of", "the partial result of", "the stage that writes"};
  const hone_program_semaphore *x = &s->program->semaphore[t->waiting_for];
  bool known = x->buffer < s->program->nbuffers;
  hone_text_add(out, "%s%s instruction %d for %s %s (", out->length ? "; " : "", t->unit->name, t->pc - t->code->first, role[x->role],
                known ? s->op->tensor[s->program->buffer[x->buffer].tensor].name : "a buffer");
  if (known) hone_text_add(out, "buffer %d; ", x->buffer);
  hone_text_add(out, "semaphore %d at %lld of %lld)", t->waiting_for,
                (long long)s->semaphore[t->core * s->program->nsemaphores + t->waiting_for], (long long)t->need);
}

/* Nothing will ever happen again: who waits for what? */
static void report_deadlock(sim *s)
{
  hone_text text = {0};
  for (int i = 0; i < s->nstreams; i++)
    if (s->stream[i].state != SIM_HALTED) describe_wait(s, &s->stream[i], &text);
  if (text.data) s->status = hone_err_set(s->err, HONE_INFEASIBLE, "sim.deadlock", "no stream can go on: %s", text.data);
  hone_text_fini(&text);
}

static void run_events(sim *s)
{
  sim_event e;
  for (int i = 0; i < s->nstreams && !s->status; i++)
    if (s->stream[i].state == SIM_RUNNING) hone_sim_stream_run(s, &s->stream[i]);
  while (!s->status && hone_sim_next(s, &e)) {
    s->now = e.time;
    if (e.time > sim_ticks(s->max_cycles)) {
      s->status = hone_err_set(s->err, HONE_INFEASIBLE, "sim.watchdog", "still running after %lld cycles", (long long)s->max_cycles);
      return;
    }
    dispatch(s, &e);
  }
  if (!s->status) report_deadlock(s);
}

typedef struct {
  const uint8_t *bytes;
  size_t n;
  const hone_range *block;
  const hone_sim_argument *args;
} call;

/* One simulation; the result's units and counters when `counting`. */
static hone_status simulate(sim *s, const call *c, int repeat)
{
  hone_status st = hone_sim_load(s, c->bytes, c->n, c->args);
  if (!st) st = check_blocks(s, c->block);
  if (!st) {
    init_parts(s, c->block, repeat);
    if (s->functional) st = hone_sim_functional_init(s, c->args);
    if (!st) {
      run_events(s);
      st = s->status;
    }
    hone_sim_finish(s);
    s->result->cycles = s->end;
    hone_sim_functional_fini(s);
  }
  fini_parts(s);
  return st;
}

static hone_status warm_cycles(const sim *base, const call *c, int64_t *out)
{
  hone_sim_result twice = {0};
  sim s = *base;
  s.functional = s.counting = false;
  s.max_cycles *= 2;
  s.result = &twice;
  hone_status st = simulate(&s, c, 2);
  if (!st) *out = hone_min64(*out, twice.cycles - *out);
  hone_sim_result_fini(&twice);
  return st;
}

hone_status hone_sim_run(const uint8_t *bytes, size_t n, const hone_operator *op, const hone_machine *m,
                         const hone_range *block, const hone_sim_argument *args, const hone_sim_options *options,
                         hone_sim_result *out, hone_err *err)
{
  static const hone_sim_options plain = {0};
  const hone_sim_options *o = options ? options : &plain;
  const call c = {bytes, n, block, args};
  int64_t limit = o->max_cycles > 0 ? hone_min64(o->max_cycles, SIM_MAX_CYCLES) : default_cycles;
  const sim base = {.op = op, .m = m, .max_cycles = limit, .max_insns = max_insns, .err = err};
  sim s = base;
  *out = (hone_sim_result){0};
  s.functional = o->functional;
  s.sample = o->sample;
  s.counting = true;
  s.result = out;
  hone_status st = simulate(&s, &c, 1);
  out->warm_cycles = out->cycles;
  if (!st && o->warm) st = warm_cycles(&base, &c, &out->warm_cycles);
  if (st) hone_sim_result_fini(out);
  return st;
}
