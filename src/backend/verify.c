/* The verifier's entry: static checks, then every kind of instance run on cells,
 * then what must hold at its end.
 *
 * Instances with blocks of equal lengths run the same program on shifted boxes,
 * so one of each kind is run (all are when an offset mixes dims). Reading order: verify_int.h, verify_place.c (the
 * proof), verify_op.c (what operands must be), verify_run.c (streams and clocks). */
#include "config.h"

#include "backend/verify_int.h"
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool verify_refuse(verifier *v, const char *code, const char *fmt, ...)
{
  char text[256], name[16];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  const hone_stream *s = &v->p->stream[v->now];
  hone_err_set(v->err, HONE_INPUT, code, "core %d, %s, instruction %d: %s", v->instance, hone_stream_print(s, name),
               v->stream[v->now].pc - s->first, text);
  return false;
}

static bool unfinished(verifier *v, const char *code, const char *what, const char *name)
{
  hone_err_set(v->err, HONE_INPUT, code, "core %d: %s %s", v->instance, what, name);
  return false;
}

static void find_ends(verifier *v)
{
  int open[HONE_MAX_OPEN], n = 0;
  for (int i = 0; i < v->p->ninsns; i++) {
    if (v->p->insn[i].op == HONE_INSN_LOOP) open[n++] = i;
    if (v->p->insn[i].op == HONE_INSN_END) v->end[open[--n]] = i;
  }
}

static void begin_streams(verifier *v)
{
  for (int s = 0; s < v->p->nstreams; s++) {
    verify_stream *x = &v->stream[s];
    int64_t *expected = x->expected;
    int *slot = x->slot;
    *x = (verify_stream){.pc = v->p->stream[s].first, .engine = v->p->stream[s].kind == HONE_STREAM_ENGINE,
                         .expected = expected, .slot = slot};
    memset(expected, 0, (size_t)v->p->nsemaphores * sizeof *expected);
    for (int b = 0; b < v->p->nbuffers; b++) slot[b] = -1;
    for (int d = 0; d < v->p->ndims; d++) {
      x->range[d] = v->block[d];
      x->dim[d] = (uint8_t)d;
    }
  }
  for (int i = 0; i < v->p->nsemaphores; i++) {
    verify_semaphore *q = &v->semaphore[i];
    q->value = v->p->semaphore[i].initial;
    q->first = q->n = 0;
    q->counters = 0;
  }
}

/* Tables this large would not fit a workstation's memory. */
static const int64_t most_cells = INT64_C(1) << 23;

static bool sizes_ok(verifier *v)
{
  bool ok = true;
  for (int s = 0; s < v->op->nstages; s++) {
    int64_t n = 1;
    for (int d = 0; d < v->op->ndims; d++)
      if (v->op->stage[s].reduced >> d & 1) ok = ok && hone_checked_mul(n, v->dim[d].n, &n) && n <= 8 * most_cells;
  }
  for (int t = 0; t < v->op->ntensors; t++) {
    int64_t n = 1;
    for (int a = 0; a < v->grid[t].rank; a++) ok = ok && hone_checked_mul(n, v->grid[t].axis[a].n, &n) && n <= most_cells;
  }
  if (!ok) hone_err_set(v->err, HONE_UNSUPPORTED, "verify.size", "the program has too many tiles to verify");
  return ok;
}

static void begin_orders(verifier *v)
{
  for (int s = 0; s < v->op->nstages; s++) {
    verify_order *o = &v->order[s];
    o->ndims = o->n = 0;
    o->ncovered = 0;
    o->total = 1;
    for (int d = 0; d < v->op->ndims; d++)
      if (v->op->stage[s].reduced >> d & 1) {
        o->dim[o->ndims++] = d;
        o->total *= v->dim[d].n;
      }
    free(o->covered);
    o->covered = hone_heap_alloc((size_t)(o->total / 8 + 1), 1);
    v->points[s] = 0;
  }
}

static void begin_places(verifier *v)
{
  for (int i = 0; i < v->p->nbodies; i++) {
    const hone_insn_body *b = &v->p->body[i];
    if (b->drain && hone_operator_writer(v->op, b->tensor) >= 0)
      verify_place_init(v, b->partial ? &v->workspace[b->tensor] : &v->whole[b->tensor], b->tensor);
  }
  for (int b = 0; b < v->p->nbuffers; b++)
    for (int c = 0; c < v->p->buffer[b].copies; c++) {
      verify_place *x = &v->slot[b][c];
      x->set = false;
      x->nfresh = 0;
      memset(x->last, 0, sizeof x->last);
    }
}

/* Every stream that counts a semaphore has counted all its signals. */
static bool balanced(verifier *v)
{
  for (int i = 0; i < v->p->nsemaphores; i++)
    for (int s = 0; s < v->p->nstreams; s++) {
      const verify_semaphore *q = &v->semaphore[i];
      if (!(q->counters >> s & 1) || v->stream[s].expected[i] == q->value - v->p->semaphore[i].initial) continue;
      char name[16], text[80];
      snprintf(text, sizeof text, "%lld signals of s%d, %lld counted by", (long long)(q->value - v->p->semaphore[i].initial), i,
               (long long)v->stream[s].expected[i]);
      return unfinished(v, "verify.balance", text, hone_stream_print(&v->p->stream[s], name));
    }
  return true;
}

static bool all_taken(verifier *v)
{
  for (int b = 0; b < v->p->nbuffers; b++)
    for (int c = 0; c < v->p->buffer[b].copies; c++)
      if (v->slot[b][c].nfresh)
        return unfinished(v, "verify.lost", "nothing takes the last values of", v->op->tensor[v->p->buffer[b].tensor].name);
  for (int t = 0; t < v->op->ntensors; t++)
    if (v->workspace[t].nfresh) return unfinished(v, "verify.lost", "partial results are left over of", v->op->tensor[t].name);
  return true;
}

static bool all_stored(verifier *v)
{
  for (int t = 0; t < v->op->ntensors; t++) {
    bool output = hone_operator_writer(v->op, t) >= 0 && v->op->tensor[t].role != HONE_ROLE_INTERMEDIATE;
    if (output && !v->whole[t].set) return unfinished(v, "verify.work", "nothing is stored of", v->op->tensor[t].name);
    for (int64_t i = 0; output && i < v->whole[t].ncells; i++)
      if (v->whole[t].cell[i].state == VERIFY_EMPTY) return unfinished(v, "verify.work", "not all is stored of", v->op->tensor[t].name);
  }
  return true;
}

/* No more points than needed; that they are the right ones the cells have shown. */
static bool all_computed(verifier *v)
{
  for (int s = 0; s < v->op->nstages; s++) {
    int64_t points = 1;
    for (int d = 0; d < v->op->ndims; d++)
      if (v->op->stage[s].dims >> d & 1) points *= v->block[d].length; /* fits: at most the stage's useful points */
    if (v->points[s] != points) return unfinished(v, "verify.work", "not every point is computed once of", v->op->stage[s].name);
  }
  return true;
}

static bool verify_instance(verifier *v)
{
  verify_grid_free(v);
  if (!verify_grid_build(v) || !sizes_ok(v)) return false;
  begin_streams(v);
  begin_orders(v);
  begin_places(v);
  return verify_run(v) && balanced(v) && all_computed(v) && all_taken(v) && all_stored(v);
}

/* Blocks of the instance; false when it has no work. */
static bool take_blocks(verifier *v, int instance)
{
  v->instance = instance;
  for (int d = 0; d < v->op->ndims; d++) {
    hone_schedule_block(v->op, v->m, v->s, instance, d, &v->block[d].start, &v->block[d].length);
    if (v->block[d].length < 1) return false;
  }
  return true;
}

static bool same_lengths(const hone_range *a, const hone_range *b, int ndims)
{
  for (int d = 0; d < ndims; d++)
    if (a[d].length != b[d].length) return false;
  return true;
}

static bool verify_instances(verifier *v)
{
  int n = hone_machine_cores(v->m), ndone = 0, nd = v->op->ndims;
  hone_range *done = hone_heap_alloc((size_t)n, sizeof *done * (size_t)nd);
  bool ok = true;
  for (int i = 0; ok && i < n; i++) {
    if (!take_blocks(v, i)) continue;
    bool known = false;
    for (int k = 0; v->shifts && k < ndone && !known; k++) known = same_lengths(done + k * nd, v->block, nd);
    if (known) continue;
    memcpy(done + nd * ndone++, v->block, (size_t)nd * sizeof *done);
    ok = verify_instance(v);
  }
  free(done);
  return ok;
}

static void make_tables(verifier *v)
{
  const hone_program *p = v->p;
  v->semaphore = hone_heap_alloc((size_t)p->nsemaphores + 1, sizeof *v->semaphore);
  v->end = hone_heap_alloc((size_t)p->ninsns + 1, sizeof *v->end);
  for (int s = 0; s < p->nstreams; s++) {
    v->stream[s].expected = hone_heap_alloc((size_t)p->nsemaphores + 1, sizeof *v->stream[s].expected);
    v->stream[s].slot = hone_heap_alloc((size_t)p->nbuffers + 1, sizeof *v->stream[s].slot);
  }
  for (int b = 0; b < p->nbuffers; b++) v->slot[b] = hone_heap_alloc(p->buffer[b].copies, sizeof *v->slot[b]);
  find_ends(v);
}

static void free_tables(verifier *v)
{
  const hone_program *p = v->p;
  for (int i = 0; i < p->nsemaphores; i++) free(v->semaphore[i].signal);
  free(v->semaphore);
  free(v->end);
  for (int s = 0; s < p->nstreams; s++) {
    free(v->stream[s].expected);
    free(v->stream[s].slot);
  }
  for (int b = 0; b < p->nbuffers; b++) {
    for (int c = 0; v->slot[b] && c < p->buffer[b].copies; c++) free(v->slot[b][c].cell);
    free(v->slot[b]);
  }
  for (int t = 0; t < HONE_MAX_TENSORS; t++) {
    free(v->whole[t].cell);
    free(v->workspace[t].cell);
  }
  for (int s = 0; s < HONE_MAX_STAGES; s++) {
    free(v->order[s].covered);
    free(v->order[s].piece);
  }
  verify_grid_free(v);
}

hone_status hone_backend_verify(const hone_program *p, const hone_operator *op, const hone_machine *m, const hone_schedule *s,
                                hone_err *err)
{
  hone_status st = hone_program_check(p, NULL, err);
  if (st) return st;
  hone_err found;
  verifier *v = hone_heap_alloc(1, sizeof *v);
  *v = (verifier){.p = p, .op = op, .m = m, .s = s, .err = &found};
  make_tables(v);
  hone_err_init(&found);
  if (!verify_static(v) || !verify_instances(v)) st = found.status;
  free_tables(v);
  free(v);
  if (st && err) *err = found;
  return st;
}
