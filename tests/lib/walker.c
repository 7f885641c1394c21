/* The naive walker. Two walks over the whole nest of every instance: the first
 * visits every buffer, compares the ranges its access sees with those of the
 * visit before and writes down for each visit whether it is new and whether it
 * is the last of its kind; the second does what DESIGN section 6 lines 8, 9 and
 * 16 say, event by event. Nothing is derived from loop counters or trip counts. */
#include "walker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { NEW = 1, LAST = 2, MAX_CHAINS = 64 };

typedef struct {
  bool written;
  int stage, last; /* first and last stage that use it */
  int tensor, level, position, parent;
  const hone_access *access;
  hone_dimset reduced;            /* written: reduced dims of the stage */
  hone_format format, above;      /* of the elements here; in the parent, when it is no DRAM */
  hone_range held[HONE_MAX_DIMS]; /* ranges of the access's dims at the visit before */
  unsigned char *visit;           /* NEW | LAST per visit */
  int64_t nvisits, capacity, next;
} buffer;

typedef struct {
  const hone_operator *op;
  const hone_machine *m;
  const hone_schedule *s;
  int nloops;                    /* positions 0 .. nloops-1: group p / D + 1, dim order[group][p % D] */
  int nbuffers, instance;
  buffer buffer[MAX_CHAINS];
  buffer *entered[MAX_CHAINS];   /* by level and tensor */
  buffer *left[MAX_CHAINS];      /* inner levels first, by tensor */
  hone_range block[HONE_MAX_DIMS];
  bool listing;                  /* first walk */
  int64_t steps, max_steps;
  hone_counts *counts;
  walk_sink sink;
  void *arg;
} walk;

/* Distinct in-range values of one axis, found by looking at each. */
static int64_t axis_values(const hone_axis_expr *e, const hone_range *range, int64_t extent)
{
  int64_t n = 0, length = e->affine.nterms ? range[e->affine.term[0].dim].length : 1;
  for (int64_t i = 0; i < length; i++) {
    int64_t v = e->affine.constant;
    if (e->affine.nterms) v += e->affine.term[0].coef * (range[e->affine.term[0].dim].start + i);
    n += v >= 0 && v < extent;
  }
  return n;
}

static int64_t box_elements(const walk *w, const hone_access *a, const hone_range *range)
{
  int64_t n = 1;
  for (int x = 0; x < w->op->tensor[a->tensor].rank; x++)
    n *= axis_values(&a->axis[x], range, w->op->tensor[a->tensor].extent[x]);
  return n;
}

/* Do the ranges of the dims in `dims` agree? */
static bool same(const walk *w, hone_dimset dims, const hone_range *a, const hone_range *b)
{
  for (int d = 0; d < w->op->ndims; d++) {
    if ((dims >> d & 1) && (a[d].start != b[d].start || a[d].length != b[d].length)) return false;
  }
  return true;
}

/* Is every reduced dim's range the one at the start (end) of the block? */
static bool at_start(const walk *w, hone_dimset dims, const hone_range *r)
{
  for (int d = 0; d < w->op->ndims; d++) {
    if ((dims >> d & 1) && r[d].start != w->block[d].start) return false;
  }
  return true;
}
static bool at_end(const walk *w, hone_dimset dims, const hone_range *r)
{
  for (int d = 0; d < w->op->ndims; d++) {
    if ((dims >> d & 1) && r[d].start + r[d].length != w->block[d].start + w->block[d].length) return false;
  }
  return true;
}

/* First walk: note a visit. */
static void list_visit(walk *w, buffer *b, const hone_range *range)
{
  bool fresh = b->nvisits == 0 || !same(w, hone_access_dims(w->op, b->access), range, b->held);
  if (b->nvisits == b->capacity) {
    b->capacity = b->capacity ? 2 * b->capacity : 64;
    b->visit = hone_heap_realloc(b->visit, (size_t)b->capacity, 1);
  }
  if (fresh && b->nvisits) b->visit[b->nvisits - 1] |= LAST;
  b->visit[b->nvisits++] = fresh ? NEW : 0;
  memcpy(b->held, range, sizeof b->held);
}

static void transfer(walk *w, const buffer *b, const hone_range *range, bool drain, bool partial)
{
  hone_format outer = b->above;
  if (b->parent == 0) {
    outer = w->op->tensor[b->tensor].format;
    if (partial) outer = w->op->stage[b->stage].accumulator;
  }
  int from = drain ? b->level : b->parent, to = drain ? b->parent : b->level;
  int64_t elements = box_elements(w, b->access, range);
  hone_counts *c = w->counts;
  c->read_bytes[b->tensor][from] += hone_format_bytes(drain ? b->format : outer, elements);
  c->write_bytes[b->tensor][to] += hone_format_bytes(drain ? outer : b->format, elements);
  (drain ? c->drains : c->fills)[b->tensor][b->level]++;
  if (w->sink)
    w->sink(w->arg, &(walk_event){.kind = drain ? WALK_DRAIN : WALK_FILL, .instance = w->instance, .stage = b->stage,
                                  .tensor = b->tensor, .level = b->level, .parent = b->parent, .partial = partial,
                                  .elements = elements, .range = range});
}

static void fill(walk *w, buffer *b, const hone_range *range)
{
  if (w->listing) {
    list_visit(w, b, range);
    return;
  }
  bool fresh = b->visit[b->next] & NEW;
  if (fresh && !b->written) transfer(w, b, range, false, false);
  if (fresh && b->written && !at_start(w, b->reduced, range)) transfer(w, b, range, false, true);
}

static void drain(walk *w, buffer *b, const hone_range *range)
{
  if (w->listing) return;
  if (b->written && (b->visit[b->next] & LAST)) transfer(w, b, range, true, !at_end(w, b->reduced, range));
  b->next++;
}

static int64_t round_up(int64_t x, int64_t granule) { return (x + granule - 1) / granule * granule; }

static void step(walk *w, int stage, const hone_range *range)
{
  w->steps++;
  if (w->listing) return;
  const hone_stage *st = &w->op->stage[stage];
  const hone_engine *e = &w->m->engine[w->s->engine[stage]];
  int64_t useful = 1, issued = 1;
  for (int d = 0; d < w->op->ndims; d++) {
    if (!(st->dims >> d & 1)) continue;
    int64_t granule = 1;
    if (st->kind == HONE_STAGE_CONTRACT && d == w->s->map_row[stage]) granule = e->matrix.rows;
    if (st->kind == HONE_STAGE_CONTRACT && d == w->s->map_column[stage]) granule = e->matrix.columns;
    useful *= range[d].length;
    issued *= round_up(range[d].length, granule);
  }
  w->counts->steps[stage]++;
  w->counts->useful[stage] += useful;
  w->counts->issued[stage] += issued;
  if (w->sink)
    w->sink(w->arg, &(walk_event){.kind = WALK_STEP, .instance = w->instance, .stage = stage, .tensor = -1, .level = -1,
                                  .parent = -1, .zero = at_start(w, st->reduced, range), .elements = useful, .range = range});
}

/* Do stages i and i + 1 run loop p together? Some intermediate must pass over
 * the gap between them with a join that includes the loop. */
static bool share_loop(const walk *w, int i, int p)
{
  for (int t = 0; t < w->op->ntensors; t++) {
    if (w->op->tensor[t].role != HONE_ROLE_INTERMEDIATE || p >= w->s->join[t]) continue;
    if (hone_operator_writer(w->op, t) > i) continue;
    for (int r = i + 1; r < w->op->nstages; r++) {
      for (int k = 0; k < w->op->stage[r].nreads; k++) {
        if (w->op->stage[r].read[k].tensor == t) return true;
      }
    }
  }
  return false;
}

static void node(walk *w, int first, int last, int p, const hone_range *range);

/* Stages first..last run loop p together and are then at p + 1. */
static void loop(walk *w, int first, int last, int p, const hone_range *range)
{
  int level = p / w->op->ndims + 1, d = w->s->order[level][p % w->op->ndims];
  bool have = false;
  for (int i = first; i <= last; i++) have = have || (w->op->stage[i].dims >> d & 1);
  if (!have) {
    node(w, first, last, p + 1, range);
    return;
  }
  hone_range inner[HONE_MAX_DIMS];
  memcpy(inner, range, sizeof inner);
  int64_t end = range[d].start + range[d].length, tile = w->s->tile[level][d];
  for (int64_t x = range[d].start; x < end; x += tile) {
    inner[d].start = x;
    inner[d].length = x + tile <= end ? tile : end - x;
    node(w, first, last, p + 1, inner);
    if (w->steps > w->max_steps) return;
  }
}

/* Buffers of stages first..last at position p, by level and tensor: fills of
 * those first used by stages from..to, or drains of those last used there. */
static void buffers_at(walk *w, int first, int last, int p, const hone_range *range, bool entering, int from, int to)
{
  for (int k = 0; k < w->nbuffers; k++) {
    buffer *b = entering ? w->entered[k] : w->left[k];
    if (b->position != p || b->stage < first || b->last > last) continue;
    if (entering && b->stage >= from && b->stage <= to) fill(w, b, range);
    if (!entering && b->last >= from && b->last <= to) drain(w, b, range);
  }
}

static void node(walk *w, int first, int last, int p, const hone_range *range)
{
  for (int i = first, j; i <= last; i = j + 1) {
    for (j = i; j < last && p < w->nloops && share_loop(w, j, p); j++) continue;
    buffers_at(w, first, last, p, range, true, i, j);
    if (p == w->nloops)
      step(w, i, range);
    else
      loop(w, i, j, p, range);
    buffers_at(w, first, last, p, range, false, i, j);
  }
}

static int by_level(const void *a, const void *b)
{
  const buffer *x = *(buffer *const *)a, *y = *(buffer *const *)b;
  if (x->level != y->level) return x->level < y->level ? -1 : 1;
  if (x->tensor != y->tensor) return x->tensor < y->tensor ? -1 : 1;
  return x < y ? -1 : x > y;
}

static int by_level_down(const void *a, const void *b)
{
  const buffer *x = *(buffer *const *)a, *y = *(buffer *const *)b;
  return x->level != y->level ? (x->level > y->level ? -1 : 1) : by_level(a, b);
}

static void walk_instance(walk *w)
{
  for (int k = 0; k < w->nbuffers; k++) w->entered[k] = w->left[k] = &w->buffer[k];
  qsort(w->entered, (size_t)w->nbuffers, sizeof *w->entered, by_level);
  qsort(w->left, (size_t)w->nbuffers, sizeof *w->left, by_level_down);
  for (int k = 0; k < w->nbuffers; k++) w->buffer[k].nvisits = w->buffer[k].next = 0;
  w->listing = true;
  node(w, 0, w->op->nstages - 1, 0, w->block);
  for (int k = 0; k < w->nbuffers; k++) {
    if (w->buffer[k].nvisits) w->buffer[k].visit[w->buffer[k].nvisits - 1] |= LAST;
  }
  if (w->steps > w->max_steps) return;
  int64_t steps = w->steps;
  w->listing = false;
  node(w, 0, w->op->nstages - 1, 0, w->block);
  w->steps = steps;
}

/* Which buffers there are (lines 7 and 14; roles of memories of section 5). */

static buffer *add_buffer(walk *w, int stage, const hone_access *a, int level, int parent)
{
  if (w->nbuffers == MAX_CHAINS) abort();
  buffer *b = &w->buffer[w->nbuffers++];
  memset(b, 0, sizeof *b);
  b->stage = b->last = stage;
  b->tensor = a->tensor;
  b->access = a;
  b->level = level;
  b->parent = parent;
  b->position = w->s->at[a->tensor][level];
  b->format = b->above = w->op->tensor[a->tensor].format;
  return b;
}

static int home_of(const walk *w, int t)
{
  return w->op->tensor[t].role == HONE_ROLE_INTERMEDIATE ? w->s->home[t] : 0;
}

/* Is all of dim d inside the first `position` loops of this instance, which has all of it? */
static bool whole(const walk *w, int d, int position)
{
  for (int p = 0; p < position; p++) {
    int level = p / w->op->ndims + 1;
    if (w->s->order[level][p % w->op->ndims] == d && w->s->tile[level][d] < w->s->tile[level - 1][d]) return false;
  }
  return w->s->tile[0][d] == w->op->dim[d].extent;
}

/* Does a buffer of access b at `position` hold what access a asks for: along the same
 * dims (one or none an axis; coefficients are 1), or a part of an axis it has whole? */
static bool same_box(const walk *w, const hone_access *a, const hone_access *b, int position)
{
  for (int x = 0; x < w->op->tensor[a->tensor].rank; x++) {
    const hone_affine *e = &a->axis[x].affine, *f = &b->axis[x].affine;
    bool same = e->constant == f->constant && e->nterms == f->nterms && (!e->nterms || e->term[0].dim == f->term[0].dim);
    bool part = e->nterms && f->nterms && !e->constant && !f->constant && whole(w, f->term[0].dim, position) &&
                w->op->dim[f->term[0].dim].extent == w->op->tensor[a->tensor].extent[x];
    if (!same && !part) return false;
  }
  return true;
}

/* A tile in one memory serves every stage that meets it at the same visits. */
static bool already_there(walk *w, int stage, const hone_access *a, int level, int position)
{
  for (int k = 0; k < w->nbuffers; k++) {
    buffer *b = &w->buffer[k];
    if (b->written || b->tensor != a->tensor || b->level != level || !same_box(w, a, b->access, position)) continue;
    bool shared = true;
    for (int i = b->stage; i < stage; i++) {
      for (int p = 0; p < position; p++) shared = shared && share_loop(w, i, p);
    }
    if (shared) b->last = stage;
    if (shared) return true;
  }
  return false;
}

static void find_read_buffers(walk *w, int stage, const hone_access *a)
{
  if (home_of(w, a->tensor) > 0) return;
  for (int l = 1, outer = 0; l < w->m->nlevels; l++) {
    int p = w->s->at[a->tensor][l];
    if (p == HONE_BYPASS || !(w->m->memory[l].accepts & HONE_ACCEPT_INPUT)) continue;
    if (!already_there(w, stage, a, l, p)) add_buffer(w, stage, a, l, outer);
    outer = l;
  }
}

/* Does a loop of a reduced dim with several trips stand outside position p? */
static bool reduced_outside(const walk *w, hone_dimset reduced, int p)
{
  for (int i = 0; i < p; i++) {
    int level = i / w->op->ndims + 1, d = w->s->order[level][i % w->op->ndims];
    if ((reduced >> d & 1) && w->s->tile[level][d] < w->s->tile[level - 1][d]) return true;
  }
  return false;
}

static void find_write_buffers(walk *w, int stage)
{
  const hone_stage *st = &w->op->stage[stage];
  const hone_access *a = &st->write;
  bool contract = st->kind == HONE_STAGE_CONTRACT;
  int home = home_of(w, a->tensor), acc = contract ? w->m->engine[w->s->engine[stage]].matrix.accumulates_in : -1;
  if (home > 0 && !contract) return;
  buffer *outer = NULL;
  for (int l = home + 1; l < w->m->nlevels; l++) {
    bool accepts = contract && l >= acc ? l == acc : (w->m->memory[l].accepts & HONE_ACCEPT_OUTPUT) != 0;
    if (w->s->at[a->tensor][l] == HONE_BYPASS || !accepts) continue;
    buffer *b = add_buffer(w, stage, a, l, outer ? outer->level : home);
    b->written = true;
    b->reduced = st->reduced;
    if (l == acc) b->format = st->accumulator;
    if (outer && reduced_outside(w, st->reduced, b->position)) outer->format = st->accumulator;
    outer = b;
  }
  if (st->kind == HONE_STAGE_REDUCE && outer) outer->format = st->accumulator; /* the engine joins into it */
  const buffer *before = NULL;
  for (int k = 0; k < w->nbuffers; k++) {
    buffer *b = &w->buffer[k];
    if (!b->written || b->stage != stage) continue;
    if (before) b->above = before->format;
    before = b;
  }
}

int64_t walker_run(const hone_operator *op, const hone_machine *m, const hone_schedule *s, int64_t max_steps,
                   hone_counts *counts, walk_sink sink, void *arg)
{
  walk *w = hone_heap_alloc(1, sizeof *w);
  w->op = op;
  w->m = m;
  w->s = s;
  w->nloops = op->ndims * (m->nlevels - 1);
  w->max_steps = max_steps;
  w->counts = counts;
  w->sink = sink;
  w->arg = arg;
  memset(counts, 0, sizeof *counts);
  for (int i = 0; i < op->nstages; i++) {
    for (int k = 0; k < op->stage[i].nreads; k++) find_read_buffers(w, i, &op->stage[i].read[k]);
    find_write_buffers(w, i);
  }
  for (w->instance = 0; w->instance < hone_machine_cores(m) && w->steps <= max_steps; w->instance++) {
    bool idle = false;
    for (int d = 0; d < op->ndims; d++) {
      hone_schedule_block(op, m, s, w->instance, d, &w->block[d].start, &w->block[d].length);
      idle = idle || w->block[d].length == 0;
    }
    if (!idle) walk_instance(w);
  }
  int64_t steps = w->steps <= max_steps ? w->steps : -1;
  for (int k = 0; k < w->nbuffers; k++) free(w->buffer[k].visit);
  free(w);
  return steps;
}

static const char *differ(const hone_operator *op, const char *what, int tensor, int level, int64_t got, int64_t want)
{
  static char text[160];
  if (got == want) return NULL;
  snprintf(text, sizeof text, "%s[%s][%d]: %lld, not %lld", what, op->tensor[tensor].name, level, (long long)got,
           (long long)want);
  return text;
}

static const char *differ_stage(const hone_operator *op, const char *what, int stage, int64_t got, int64_t want)
{
  static char text[160];
  if (got == want) return NULL;
  snprintf(text, sizeof text, "%s[%s]: %lld, not %lld", what, op->stage[stage].name, (long long)got, (long long)want);
  return text;
}

const char *walker_compare(const hone_operator *op, const hone_counts *got, const hone_counts *want)
{
  const char *bad = NULL;
  for (int t = 0; t < op->ntensors; t++) {
    for (int l = 0; l < HONE_MAX_LEVELS && !bad; l++) {
      if (!bad) bad = differ(op, "read_bytes", t, l, got->read_bytes[t][l], want->read_bytes[t][l]);
      if (!bad) bad = differ(op, "write_bytes", t, l, got->write_bytes[t][l], want->write_bytes[t][l]);
      if (!bad) bad = differ(op, "fills", t, l, got->fills[t][l], want->fills[t][l]);
      if (!bad) bad = differ(op, "drains", t, l, got->drains[t][l], want->drains[t][l]);
    }
  }
  for (int s = 0; s < op->nstages; s++) {
    if (!bad) bad = differ_stage(op, "steps", s, got->steps[s], want->steps[s]);
    if (!bad) bad = differ_stage(op, "useful", s, got->useful[s], want->useful[s]);
    if (!bad) bad = differ_stage(op, "issued", s, got->issued[s], want->issued[s]);
  }
  return bad;
}
