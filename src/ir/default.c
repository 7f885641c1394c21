/* The default schedule (DESIGN section 6 line 20): even placement in as few
 * memories as lead to the engines, depth 2, reduced dims innermost, cores split
 * the way that roughly takes least, tiles doubled from the array granule (reduced,
 * columns, rows in turn) while the buffers fit, then halved, doubled, traded
 * and their loops exchanged while that is roughly faster (rough.c). Written buffers sit just
 * outside the reduced loops of their group (or of the group of a memory they pass
 * by), so that a result stays until it is whole. Intermediates are kept as near the
 * engine as a join allows, or in a memory further out, or go through DRAM, whichever is
 * roughly fastest. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "ir/ir_int.h"

typedef struct {
  const hone_operator *op;
  const hone_machine *m;
  hone_dimset reduced;               /* reduced by some stage */
  int ngrow, grow[HONE_MAX_DIMS];    /* dims in the order they are doubled */
  int nmapped;                       /* the first of them: reduced, columns and rows of contractions */
  int64_t granule[HONE_MAX_DIMS];
  unsigned with[HONE_MAX_TENSORS], homes[HONE_MAX_TENSORS];
} recipe;

/* Ways to cut over one axis, tried from dim d on. */
typedef struct {
  const recipe *r;
  hone_schedule at, best;
  hone_dimset parallel;
  double least;
  int tried;
} cutting;

static void consider_cut(cutting *c)
{
  const hone_operator *op = c->r->op;
  double cores = 1;
  for (int d = 0; d < op->ndims; d++) cores *= (double)hone_ceil_div(op->dim[d].extent, c->at.tile[0][d]);
  double cycles = hone_ir_rough_block(op, c->r->m, &c->at, cores);
  if (c->tried++ > 0 && cycles >= c->least) return;
  c->least = cycles;
  c->best = c->at;
}

enum { MOST_CUTS = 1 << 14 };

/* NOLINTNEXTLINE(misc-no-recursion): as deep as there are dims. */
static void try_cuts(cutting *c, int axis, int d, int64_t room)
{
  while (d < c->r->op->ndims && !dim_in(c->parallel, d)) d++;
  if (d == c->r->op->ndims) {
    consider_cut(c);
    return;
  }
  int64_t whole = c->at.tile[0][d], others = 1, last = 0;
  for (int a = 0; a < axis; a++) others *= c->at.split[a][d];
  for (int64_t n = 1; n <= room && n <= whole && c->tried < MOST_CUTS; n++) {
    int64_t block = hone_ceil_div(c->r->op->dim[d].extent, others * n);
    if (block == last) continue;
    c->at.split[axis][d] = n;
    c->at.tile[0][d] = last = block;
    try_cuts(c, axis, d + 1, room / n);
  }
  c->at.split[axis][d] = 1;
  c->at.tile[0][d] = whole;
}

/* One axis after the other, the way that roughly takes least: blocks that fill the
 * arrays, little that several cores load. */
static void split_cores(const recipe *r, hone_dimset among, hone_schedule *s)
{
  cutting c = {.r = r, .parallel = among & hone_operator_parallel(r->op)};
  for (int a = 0; a < r->m->naxes; a++) {
    c.at = *s;
    c.tried = 0;
    if (r->m->axis[a].size > 1) try_cuts(&c, a, 0, r->m->axis[a].size);
    if (c.tried > 0) *s = c.best;
  }
  hone_schedule_normalize(r->op, r->m, s);
}

/* The order dims are doubled in, and where they start: reduced, columns, rows of
 * the arrays, then whatever is left (batches stay at 1 to begin with). */
static void add_growth(recipe *r, int d, int64_t granule)
{
  for (int i = 0; i < r->ngrow; i++)
    if (r->grow[i] == d) return;
  r->grow[r->ngrow++] = d;
  r->granule[d] = granule;
}

static void plan_growth(recipe *r, const hone_schedule *s)
{
  for (int i = 0; i < r->op->nstages; i++) {
    const hone_stage *st = &r->op->stage[i];
    if (st->kind != HONE_STAGE_CONTRACT) continue;
    const hone_matrix *x = &r->m->engine[s->engine[i]].matrix;
    for (int d = 0; d < r->op->ndims; d++)
      if (dim_in(st->reduced, d)) add_growth(r, d, x->rows);
    add_growth(r, s->map_column[i], x->columns);
    hone_dimset a = hone_access_dims(r->op, &st->read[0]), b = hone_access_dims(r->op, &st->read[1]);
    for (int d = 0; d < r->op->ndims; d++) /* the streamed dims: in one operand only */
      if (dim_in(a, d) != dim_in(b, d)) add_growth(r, d, hone_max64(x->min_pass_cycles, x->rows));
  }
  r->nmapped = r->ngrow;
  for (int d = r->op->ndims - 1; d >= 0; d--) add_growth(r, d, r->ngrow == 0 ? 64 : 1);
}

/* Holds the operand whose column dim is widest; ws preferred. */
static void choose_maps(const recipe *r, hone_schedule *s)
{
  for (int i = 0; i < r->op->nstages; i++) {
    if (r->op->stage[i].kind != HONE_STAGE_CONTRACT) continue;
    int64_t widest = 0;
    for (int c = 0; c < r->op->ndims; c++)
      for (int d = 0, held; d < r->op->ndims; d++)
        if (hone_map_check(r->op, i, (hone_dataflow)s->dataflow[i], d, c, &held) && r->op->dim[c].extent > widest) {
          widest = r->op->dim[c].extent;
          s->map_row[i] = (uint8_t)d;
          s->map_column[i] = (uint8_t)c;
        }
  }
}

/* Kept dims, then reduced ones, what earlier stages reduce innermost: their results are
 * whole before the loops around them, which a later stage reduces, go on. */
static void order_dims(const recipe *r, uint8_t order[HONE_MAX_DIMS])
{
  hone_dimset left = (1u << r->op->ndims) - 1u;
  int at = r->op->ndims;
  for (int i = 0; i < r->op->nstages; i++)
    for (int d = r->op->ndims - 1; d >= 0; d--) {
      if (!dim_in(r->op->stage[i].reduced & left, d)) continue;
      order[--at] = (uint8_t)d;
      left &= ~(1u << d);
    }
  for (int d = r->op->ndims - 1; d >= 0; d--)
    if (dim_in(left, d)) order[--at] = (uint8_t)d;
}

/* Loops of a group that stand outside those a stage reduces. */
static int outside_reduced(const recipe *r, const uint8_t order[HONE_MAX_DIMS], int stage)
{
  int p = 0;
  while (p < r->op->ndims && !dim_in(r->op->stage[stage].reduced, order[p])) p++;
  return p;
}

static void place(const recipe *r, hone_schedule *s)
{
  int n = r->op->ndims;
  order_dims(r, s->order[1]);
  for (int l = 2; l < r->m->nlevels; l++) memcpy(s->order[l], s->order[1], sizeof s->order[1]);
  for (int t = 0; t < r->op->ntensors; t++) {
    int w = hone_operator_writer(r->op, t);
    bool outside = w >= 0 && r->op->stage[w].reduced;
    unsigned places = hone_ir_places(r->op, r->m, s, t);
    if (places == 0) places = r->with[t]; /* an intermediate that cannot go through DRAM */
    for (int l = 1, group = 1; l < r->m->nlevels; l++) {
      bool here = (places >> l & 1u) != 0;
      s->at[t][l] = (int8_t)(!here ? HONE_BYPASS : outside ? (group - 1) * n + outside_reduced(r, s->order[1], w) : l * n);
      s->depth[t][l] = 2;
      if (here) group = l + 1;
    }
  }
}

/* `s` keeps orders as planned; what is checked is its normal form. */
static bool legal(const recipe *r, const hone_schedule *s)
{
  hone_schedule c = *s;
  hone_schedule_normalize(r->op, r->m, &c);
  return hone_schedule_check(r->op, r->m, &c, NULL) == HONE_REASON_NONE;
}

/* Doubles tile[level][d] and raises the tiles around it; false when it cannot. */
static bool double_tile(const recipe *r, hone_schedule *s, int level, int d)
{
  int64_t old = s->tile[level][d], block = s->tile[0][d];
  if (old >= block) return false;
  hone_schedule grown = *s;
  grown.tile[level][d] = old > block / 2 ? block : 2 * old;
  for (int l = 1; l < level; l++) grown.tile[l][d] = hone_max64(grown.tile[l][d], grown.tile[level][d]);
  if (!legal(r, &grown)) return false;
  *s = grown;
  return true;
}

/* Tiles of one granule, or less where a small machine wants it: the largest are
 * halved first. `whole`: reduced dims are whole outside the innermost memory, which
 * a join near the engine needs. */
static bool granulate(const recipe *r, hone_schedule *s, bool whole)
{
  int n = r->m->nlevels - 1;
  for (int d = 0; d < r->op->ndims; d++)
    for (int l = 1; l <= n; l++)
      s->tile[l][d] = whole && l < n && dim_in(r->reduced, d) ? s->tile[0][d] : hone_min64(r->granule[d], s->tile[0][d]);
  while (!legal(r, s)) {
    int best = -1;
    for (int d = 0; d < r->op->ndims; d++)
      if (s->tile[n][d] > 1 && (best < 0 || s->tile[n][d] > s->tile[n][best])) best = d;
    if (best < 0) return false;
    for (int l = n; l >= 1; l--)
      if (!(whole && l < n && dim_in(r->reduced, best))) s->tile[l][best] = s->tile[n][best] / (l == n ? 2 : 1);
    for (int l = 1; l < n; l++)
      if (!(whole && dim_in(r->reduced, best))) s->tile[l][best] = s->tile[n][best];
  }
  return true;
}

/* From the innermost memory outwards. */
static bool grow(const recipe *r, hone_schedule *s, bool whole)
{
  if (!granulate(r, s, whole)) return false;
  for (int l = r->m->nlevels - 1; l >= 1; l--)
    for (bool any = true; any;) {
      any = false;
      for (int i = 0; i < r->ngrow; i++) any |= double_tile(r, s, l, r->grow[i]);
    }
  return true;
}

/* One tile for all memories; dims that no contraction maps stay at their granule. */
static bool grow_plainly(const recipe *r, hone_schedule *s)
{
  if (!granulate(r, s, false)) return false;
  for (bool any = true; any;) {
    any = false;
    for (int i = 0; i < (r->nmapped ? r->nmapped : r->ngrow); i++) {
      int d = r->grow[i];
      hone_schedule grown = *s;
      if (s->tile[1][d] >= s->tile[0][d]) continue;
      for (int l = 1; l < r->m->nlevels; l++) grown.tile[l][d] = hone_min64(2 * s->tile[1][d], s->tile[0][d]);
      if (!legal(r, &grown)) continue;
      *s = grown;
      any = true;
    }
  }
  return true;
}

/* ---- Evening out ---- */

enum { MOST_TRIES = 500 };

typedef struct {
  const recipe *r;
  hone_schedule *s;
  double least;
  int tries;
} evening;

/* Takes the schedule over if it is roughly faster, by more than rough is wrong. */
static bool take(evening *x, const hone_schedule *s, double gain)
{
  hone_schedule c = *s;
  hone_events e;
  if (x->tries++ >= MOST_TRIES) return false;
  hone_schedule_normalize(x->r->op, x->r->m, &c);
  if (hone_schedule_check_events(x->r->op, x->r->m, &c, &e, NULL) != HONE_REASON_NONE) return false;
  double cycles = hone_ir_rough_cycles(x->r->op, x->r->m, &c, &e);
  if (cycles > x->least * (1 - gain)) return false;
  x->least = cycles;
  *x->s = *s;
  return true;
}

/* Halves tile[level][d], to whole granules, and what is inside it. */
static bool halve(const recipe *r, hone_schedule *s, int level, int d)
{
  int64_t old = s->tile[level][d], granule = r->granule[d], half = hone_ceil_div(old, 2);
  if (half > granule) half = hone_ceil_div(half, granule) * granule;
  if (half >= old) return false;
  for (int l = level; l < r->m->nlevels; l++) s->tile[l][d] = hone_min64(s->tile[l][d], half);
  return true;
}

static bool smaller(evening *x, int level, int d)
{
  hone_schedule c = *x->s;
  return halve(x->r, &c, level, d) && take(x, &c, 0.02);
}

static bool larger(evening *x, int level, int d)
{
  hone_schedule c = *x->s;
  return double_tile(x->r, &c, level, d) && take(x, &c, 0.02);
}

/* One dim's tile for another's. */
static bool trade(evening *x, int level, int from, int to)
{
  hone_schedule c = *x->s;
  return from != to && halve(x->r, &c, level, from) && double_tile(x->r, &c, level, to) && take(x, &c, 0.02);
}

static bool swap(evening *x, int level, int place)
{
  hone_schedule c = *x->s;
  c.order[level][place] = x->s->order[level][place + 1];
  c.order[level][place + 1] = x->s->order[level][place];
  return !dim_in(x->r->reduced, c.order[level][place]) && take(x, &c, 0.02);
}

/* A second copy of a buffer for a larger tile. */
static bool any_lean(evening *x)
{
  for (int t = 0; t < x->r->op->ntensors; t++)
    for (int l = 1; l < x->r->m->nlevels; l++)
      for (int d = 0; d < x->r->op->ndims; d++) {
        hone_schedule c = *x->s;
        if (c.at[t][l] == HONE_BYPASS || c.depth[t][l] == 1) continue;
        c.depth[t][l] = 1;
        if (double_tile(x->r, &c, l, d) && take(x, &c, 0.1)) return true;
      }
  return false;
}

/* The largest tiles that fit leave little to overlap; others may fetch less. Goes
 * on with what is roughly faster until nothing is. */
static void even_out(const recipe *r, hone_schedule *s)
{
  evening x = {.r = r, .s = s, .least = INFINITY};
  hone_schedule start = *s;
  take(&x, &start, 0);
  for (bool any = true; any && x.tries < MOST_TRIES;) {
    any = false;
    for (int l = 1; l < r->m->nlevels; l++)
      for (int d = 0; d < r->op->ndims; d++) {
        while (smaller(&x, l, d)) any = true;
        while (larger(&x, l, d)) any = true;
        for (int k = 0; k < r->op->ndims; k++) any |= trade(&x, l, d, k);
        if (d + 1 < r->op->ndims) any |= swap(&x, l, d);
      }
    any = any || any_lean(&x);
  }
}

/* All intermediates at home h, joined inside every parallel loop of a group. */
static bool settle(const recipe *r, hone_schedule *s, int home, int group)
{
  int join = group * r->op->ndims - __builtin_popcount(r->reduced);
  for (int t = 0; t < r->op->ntensors; t++) {
    if (r->op->tensor[t].role != HONE_ROLE_INTERMEDIATE) continue;
    int h = home;
    while (h > 0 && !(r->homes[t] >> h & 1u)) h--;
    if (!(r->homes[t] >> h & 1u)) return false;
    s->home[t] = (uint8_t)h;
    s->join[t] = (int8_t)(h > 0 ? join : 0);
    int w = hone_operator_writer(r->op, t);
    for (int l = h + 1; h > 0 && l < r->m->nlevels; l++)
      if (r->op->stage[w].kind == HONE_STAGE_CONTRACT && s->at[t][l] != HONE_BYPASS) s->at[t][l] = (int8_t)join;
  }
  return true;
}

/* Plain: all loops are of group 1. */
static bool attempt(const recipe *r, const hone_schedule *start, int home, int depth, bool plain, hone_schedule *out)
{
  *out = *start;
  for (int t = 0; t < r->op->ntensors; t++)
    for (int l = 1; l < r->m->nlevels; l++) out->depth[t][l] = (uint8_t)depth;
  if (!settle(r, out, home, plain ? 1 : r->m->nlevels - 1)) return false;
  if (plain) return grow_plainly(r, out);
  if (!grow(r, out, home > 0)) return false;
  even_out(r, out);
  return true;
}

/* The home of the intermediates that is roughly fastest; of equals the one nearest the
 * engines. Near is not always better: stages that share loops share their tiles. */
static bool settle_somewhere(const recipe *r, const hone_schedule *start, bool fusible, int depth, bool plain, hone_schedule *out)
{
  double least = INFINITY;
  uint8_t before[HONE_MAX_TENSORS] = {0}; /* homes tried last: for want of a nearer one they may be the same */
  for (int home = fusible ? r->m->nlevels - 1 : 0, tried = 0; home >= 0; home--) {
    hone_schedule s = *start;
    hone_events e;
    if (!settle(r, &s, home, 1) || (tried++ > 0 && memcmp(before, s.home, sizeof before) == 0)) continue;
    memcpy(before, s.home, sizeof before);
    if (!attempt(r, start, home, depth, plain, &s)) continue;
    hone_schedule_normalize(r->op, r->m, &s);
    if (hone_schedule_check_events(r->op, r->m, &s, &e, NULL) != HONE_REASON_NONE) continue;
    double cycles = hone_ir_rough_cycles(r->op, r->m, &s, &e);
    if (cycles >= 0.98 * least) continue;
    least = cycles;
    *out = s;
  }
  return !isinf(least);
}

static hone_status make(const hone_operator *op, const hone_machine *m, bool plain, hone_schedule *out, hone_err *err)
{
  recipe r = {.op = op, .m = m};
  hone_schedule start;
  bool fusible = false;
  hone_params p;
  hone_status bad = hone_params_new(op, m, &p, err);
  if (bad != HONE_OK) return bad;
  hone_params_free(&p);
  for (int i = 0; i < op->nstages; i++) r.reduced |= op->stage[i].reduced;
  for (int t = 0; t < op->ntensors; t++) {
    unsigned without;
    hone_ir_survey(op, m, t, &r.with[t], &without, &r.homes[t]);
    fusible |= op->tensor[t].role == HONE_ROLE_INTERMEDIATE;
  }
  hone_schedule_init(op, m, &start);
  choose_maps(&r, &start);
  plan_growth(&r, &start);
  hone_dimset cut = (1u << op->ndims) - 1u;
  if (plain && r.nmapped) {
    cut = 0;
    for (int i = 0; i < r.nmapped; i++) cut |= 1u << r.grow[i];
  }
  split_cores(&r, cut, &start);
  place(&r, &start);
  for (int depth = 2; depth >= 1; depth--)
    if (settle_somewhere(&r, &start, fusible, depth, plain, out)) return HONE_OK;
  hone_why why;
  hone_schedule_normalize(op, m, out);
  hone_schedule_check(op, m, out, &why);
  return hone_err_set(err, HONE_INFEASIBLE, "schedule.no-default", "no legal schedule was found on machine %s: %s", m->name,
                      why.text);
}

hone_status hone_schedule_default(const hone_operator *op, const hone_machine *m, hone_schedule *out, hone_err *err)
{
  return make(op, m, false, out, err);
}

hone_status hone_schedule_plain(const hone_operator *op, const hone_machine *m, hone_schedule *out, hone_err *err)
{
  return make(op, m, true, out, err);
}
