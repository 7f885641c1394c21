/* Intervals. Around each entry the schedule is walked outwards along one size at a
 * time, integer by integer: cut to the shape, checked, costed, compared with the
 * default of that shape, and the walk ends at the first where it is illegal or
 * worse. What was walked, and what range runs measured, are claims; where claims of
 * one line (same axis, same other sizes) overlap, each integer goes to
 *
 *     a range's, whose loss is known    before    one around an entry
 *     the fewer model cycles            before    the more
 *     the entry with lower sizes        before    the higher
 *
 * and what one claim keeps in a row is an interval. Integers that have an entry of
 * their own are answered by it: they count in no figure and part no interval; one's
 * own is counted in, so that the intervals of a range run join.
 *
 * An integer costs some 0.3 ms, most of it for the default schedule there; so the
 * operator's text is read once a walk. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "library/emit_int.h"

/* ---- one integer -------------------------------------------------------------- */

/* cycles -1 in *out where the schedule does not serve the shape. */
static void cost_point(const library_draft_family *f, hone_yaml *text, const int64_t *size, int axis, int64_t at,
                       const hone_schedule *s, library_point *out)
{
  library_shape *x = NULL;
  hone_spec *spec = hone_heap_alloc(1, sizeof *spec);
  *out = (library_point){-1, -1, -1};
  *spec = f->spec;
  for (int i = 0; i < spec->nsizes; i++) spec->size[i].value = spec->size[i].to = i == axis ? at : size[i];
  if (text && library_shape_make(text, spec, f->machine, &x, NULL) == HONE_OK && x->has_default) {
    hone_schedule cut = *s;
    hone_bound bound;
    hone_schedule_fit(&x->op, f->machine, &cut);
    int64_t cycles = library_shape_cost(x, &cut);
    out->by_default = library_shape_cost(x, &x->by_default);
    if (hone_bound_cycles(&x->op, f->machine, &bound, NULL) == HONE_OK) out->bound = bound.cycles;
    if (cycles >= 0 && out->bound > 0 && cycles <= out->by_default) out->cycles = cycles;
  }
  library_shape_free(x);
  free(spec);
}

void library_cost_points(const library_draft_family *f, const int64_t *size, int axis, int64_t lo, int64_t n, const hone_schedule *s,
                         library_point *out)
{
#pragma omp parallel
  {
    hone_yaml *text = NULL; /* a document is for one thread */
    if (hone_yaml_load(f->path, &text, NULL) != HONE_OK) text = NULL;
#pragma omp for schedule(dynamic, 8)
    for (int64_t i = 0; i < n; i++) cost_point(f, text, size, axis, lo + i, s, &out[i]);
    hone_yaml_free(text);
  }
}

/* ---- walks -------------------------------------------------------------------- */

typedef struct {
  const library_draft_family *f;
  const library_draft_entry *entry;
  int axis, step; /* -1, +1 */
  int64_t most;   /* integers at most */
  int64_t n;      /* walked */
  library_point *point; /* point[k]: at k + 1 steps */
} walk;

/* Does a range serve it already? Then it needs no claim, and ends no walk. */
static bool in_range(const library_draft_family *f, const int64_t *size, int axis, int64_t at)
{
  for (int i = 0; i < f->nclaims; i++) {
    const library_claim *c = &f->claim[i];
    if (c->basis == HONE_LOSS_OF_OPTIMUM && c->axis == axis && at >= c->lo && at <= c->hi && c->point[at - c->lo].cycles >= 0 &&
        library_size_cmp(c->size, size, f->spec.nsizes, axis) == 0)
      return true;
  }
  return false;
}

static void run(walk *w)
{
  const int64_t *size = w->entry->e.size;
  int64_t capacity = 0;
  hone_yaml *text = NULL;
  if (w->most == 0 || hone_yaml_load(w->f->path, &text, NULL) != HONE_OK) return;
  for (; w->n < w->most; w->n++) {
    int64_t at = size[w->axis] + w->step * (w->n + 1);
    if (w->n == capacity) {
      capacity = capacity ? 2 * capacity : 64;
      w->point = hone_heap_realloc(w->point, (size_t)capacity, sizeof *w->point);
    }
    w->point[w->n] = (library_point){-1, -1, -1};
    if (in_range(w->f, size, w->axis, at)) continue;
    cost_point(w->f, text, size, w->axis, at, &w->entry->schedule, &w->point[w->n]);
    if (w->point[w->n].cycles < 0) break;
  }
  hone_yaml_free(text);
}

/* How many integers near_pct reaches from v in the direction of step. */
static int64_t reach(double near_pct, int64_t v, int step)
{
  int64_t n = (int64_t)floor((double)hone_min64(v, INT64_C(1) << 52) * near_pct / 100);
  n = hone_min64(n, HONE_LIBRARY_NEAR_MOST);
  return hone_min64(n, step < 0 ? v - 1 : INT64_MAX - v);
}

/* Two walks make a claim that has the entry itself in the middle. */
static void join(library_draft_family *f, const walk *down, const walk *up)
{
  const hone_library_entry *e = &down->entry->e;
  if (down->n + up->n == 0) return;
  library_claim *c = library_draft_add_claim(f);
  memcpy(c->size, e->size, sizeof c->size);
  c->axis = down->axis;
  c->lo = e->size[c->axis] - down->n;
  c->hi = e->size[c->axis] + up->n;
  c->point = hone_heap_alloc((size_t)(c->hi - c->lo + 1), sizeof *c->point);
  for (int64_t k = 0; k < down->n; k++) c->point[down->n - 1 - k] = down->point[k];
  c->point[down->n] = (library_point){e->model_cycles, e->default_model_cycles, e->bound_cycles};
  for (int64_t k = 0; k < up->n; k++) c->point[down->n + 1 + k] = up->point[k];
}

void library_walk_near(library_draft *d)
{
  int n = 0, k = 0;
  for (int i = 0; i < d->nfamilies; i++) n += 2 * d->family[i]->nentries * d->family[i]->spec.nsizes;
  walk *w = hone_heap_alloc((size_t)n + 1, sizeof *w);
  for (int i = 0; i < d->nfamilies; i++) {
    library_draft_family *f = d->family[i];
    for (int e = 0; e < f->nentries; e++)
      for (int axis = 0; axis < f->spec.nsizes; axis++)
        for (int step = -1; step <= 1; step += 2)
          w[k++] = (walk){.f = f, .entry = &f->entry[e], .axis = axis, .step = step,
                          .most = reach(d->source->near_pct, f->entry[e].e.size[axis], step)};
  }
#pragma omp parallel for schedule(dynamic, 1)
  for (int i = 0; i < n; i++) run(&w[i]);
  k = 0;
  for (int i = 0; i < d->nfamilies; i++) {
    library_draft_family *f = d->family[i];
    for (int j = 0; j < f->nentries * f->spec.nsizes; j++, k += 2) join(f, &w[k], &w[k + 1]);
  }
  for (int i = 0; i < n; i++) free(w[i].point);
  free(w);
}

/* ---- settling overlaps -------------------------------------------------------- */

static int by_line(const void *a, const void *b)
{
  const library_claim *x = a, *y = b;
  if (x->axis != y->axis) return x->axis < y->axis ? -1 : 1;
  int c = library_size_cmp(x->size, y->size, HONE_MAX_SIZES, x->axis);
  if (c == 0) c = (x->lo > y->lo) - (x->lo < y->lo);
  if (c == 0) c = (x->entry > y->entry) - (x->entry < y->entry);
  return c ? c : (x->hi > y->hi) - (x->hi < y->hi);
}

static const library_claim *better(const library_claim *a, const library_claim *b, int64_t at)
{
  if (!a) return b;
  if (a->basis != b->basis) return a->basis == HONE_LOSS_OF_OPTIMUM ? a : b;
  int64_t x = a->point[at - a->lo].cycles, y = b->point[at - b->lo].cycles;
  if (x != y) return x < y ? a : b;
  return a->entry <= b->entry ? a : b;
}

/* A run of integers kept by one claim. */
typedef struct {
  const library_claim *claim; /* NULL: none is open; hi is that of the last then */
  int64_t lo, hi;
  double loss, margin;
  int64_t loss_at;
} piece;

static void extend(piece *p, int64_t at)
{
  const library_point *x = &p->claim->point[at - p->claim->lo];
  double loss = library_percent_over(x->cycles, x->bound), margin = library_percent_over(x->by_default, x->cycles);
  if (loss > p->loss) {
    p->loss = loss;
    p->loss_at = at;
  }
  p->margin = fmin(p->margin, margin);
  p->hi = at;
}

typedef struct {
  hone_library_interval *list; /* heap */
  int n, capacity;
} intervals;

static void close_piece(piece *p, intervals *out)
{
  const library_claim *c = p->claim;
  p->claim = NULL;
  if (!c) return;
  if (out->n == out->capacity) {
    out->capacity = out->capacity ? 2 * out->capacity : 64;
    out->list = hone_heap_realloc(out->list, (size_t)out->capacity, sizeof *out->list);
  }
  const bool measured = c->basis == HONE_LOSS_OF_OPTIMUM;
  out->list[out->n++] = (hone_library_interval){
      .entry = c->entry, .axis = c->axis, .lo = p->lo, .hi = p->hi, .basis = c->basis,
      .loss_pct = library_percent_up(measured ? c->loss_pct : fmax(p->loss, 0)), .loss_at = measured ? c->loss_at : p->loss_at,
      .sim_loss_pct = library_percent_up(c->sim_loss_pct), .sim_samples = c->sim_samples, .margin_pct = library_percent_down(p->margin)};
}

static bool has_entry(const library_draft_family *f, const library_claim *line, int64_t at)
{
  int64_t size[HONE_MAX_SIZES];
  memcpy(size, line->size, sizeof size);
  size[line->axis] = at;
  int lo = 0, hi = f->nentries; /* entries are sorted */
  while (lo < hi) {
    int mid = (lo + hi) / 2, c = library_size_cmp(f->entry[mid].e.size, size, f->spec.nsizes, -1);
    if (c == 0) return true;
    if (c < 0) lo = mid + 1;
    else hi = mid;
  }
  return false;
}

static const library_claim *find_winner(const library_claim *c, int n, int64_t at)
{
  const library_claim *winner = NULL;
  for (int i = 0; i < n; i++)
    if (at <= c[i].hi && c[i].point[at - c[i].lo].cycles >= 0) winner = better(winner, &c[i], at);
  return winner;
}

static void step(piece *p, const library_claim *winner, int64_t at, intervals *out)
{
  if (winner != p->claim) close_piece(p, out);
  if (!winner) return;
  if (!p->claim) {
    const int64_t own = winner->size[winner->axis];
    *p = (piece){.claim = winner, .lo = own == at - 1 && own > p->hi ? own : at, .loss = -INFINITY, .margin = INFINITY};
  }
  extend(p, at);
}

/* An integer with an entry: the open piece may go on behind it, and ends with it if
 * it is its own. */
static void step_over(piece *p, int64_t at, intervals *out)
{
  if (p->claim && at > p->claim->hi) close_piece(p, out);
  if (p->claim && p->claim->size[p->claim->axis] == at && p->hi == at - 1) p->hi = at;
}

/* The claims of one line, ascending by lo. */
static void settle_line(const library_draft_family *f, const library_claim *c, int n, intervals *out)
{
  piece p = {.claim = NULL};
  int first = 0, last = 0; /* those that may cover `at` are in first..last-1 */
  int64_t at = c[0].lo;
  while (first < n) {
    while (last < n && c[last].lo <= at) last++;
    if (has_entry(f, c, at)) step_over(&p, at, out);
    else step(&p, find_winner(&c[first], last - first, at), at, out);
    while (first < last && c[first].hi <= at) first++;
    if (first == last && first < n && c[first].lo > at + 1) { /* a gap */
      close_piece(&p, out);
      at = c[first].lo;
    } else {
      at++;
    }
  }
  close_piece(&p, out);
}

void library_settle(library_draft_family *f, hone_library_family *out, hone_arena *a)
{
  intervals x = {.n = 0};
  for (int i = 0; i < f->nclaims; i++) f->claim[i].entry = library_draft_find_entry(f, f->claim[i].size);
  if (f->nclaims) qsort(f->claim, (size_t)f->nclaims, sizeof *f->claim, by_line);
  for (int i = 0, n; i < f->nclaims; i += n) {
    for (n = 1; i + n < f->nclaims; n++)
      if (f->claim[i].axis != f->claim[i + n].axis ||
          library_size_cmp(f->claim[i].size, f->claim[i + n].size, f->spec.nsizes, f->claim[i].axis) != 0)
        break;
    settle_line(f, &f->claim[i], n, &x);
  }
  out->nintervals = x.n;
  out->interval = hone_arena_alloc(a, ((size_t)x.n + 1) * sizeof *out->interval);
  if (x.n) memcpy(out->interval, x.list, (size_t)x.n * sizeof *x.list);
  free(x.list);
  library_sort_intervals(out);
}
