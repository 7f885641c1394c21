/* Random cases. Schedules are drawn parameter by parameter with a bias towards
 * legal ones, repaired where repair is easy (too many steps: larger tiles; too
 * little memory: smaller ones), and rejected by hone_schedule_check otherwise. */
#include "cases.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

enum { TRIES = 300, REPAIRS = 24 };

static bool chance(hone_rng *r, int percent) { return hone_rng_below(r, 100) < percent; }
static int64_t between(hone_rng *r, int64_t low, int64_t high) { return low + hone_rng_below(r, high - low + 1); }

/* Steps. */

static int64_t pieces(const hone_schedule *s, int nlevels, int d, int64_t length, int level)
{
  if (level == nlevels) return 1;
  int64_t tile = s->tile[level][d], n = 0;
  if (length >= tile) n = length / tile * pieces(s, nlevels, d, tile, level + 1);
  if (length % tile) n += pieces(s, nlevels, d, length % tile, level + 1);
  return n;
}

int64_t case_steps(const hone_operator *op, const hone_machine *m, const hone_schedule *s)
{
  int64_t all = 0;
  for (int i = 0; i < op->nstages; i++) {
    int64_t n = 1;
    for (int d = 0; d < op->ndims; d++) {
      if (!(op->stage[i].dims >> d & 1)) continue;
      int64_t extent = op->dim[d].extent, block = s->tile[0][d];
      int64_t k = extent / block * pieces(s, m->nlevels, d, block, 1);
      if (extent % block) k += pieces(s, m->nlevels, d, extent % block, 1);
      if (!hone_checked_mul(n, k, &n)) return INT64_MAX;
    }
    if (!hone_checked_add(all, n, &all)) return INT64_MAX;
  }
  return all;
}

/* Schedules. */

static int64_t draw_tile(hone_rng *r, int64_t outer)
{
  switch (hone_rng_below(r, 10)) {
  case 0: case 1: case 2: return outer;
  case 3: case 4: case 5: return hone_ceil_div(outer, between(r, 2, 4));
  case 6: return outer >= 8 ? outer / 8 * 8 : outer;
  case 7: return 1;
  default: return between(r, 1, outer);
  }
}

static void draw_tiles(hone_rng *r, const hone_operator *op, const hone_machine *m, hone_schedule *s)
{
  for (int l = 1; l < m->nlevels; l++) {
    for (int d = 0; d < op->ndims; d++) s->tile[l][d] = draw_tile(r, s->tile[l - 1][d]);
  }
}

/* Loops before a join must index the intermediate and belong to all stages it
 * spans; those that do not get one trip. */
static void settle_join(const hone_operator *op, const hone_machine *m, hone_schedule *s, int t)
{
  int writer = hone_operator_writer(op, t), last = writer;
  hone_dimset shared = hone_access_dims(op, &op->stage[writer].write);
  for (int i = 0; i < op->nstages; i++) {
    for (int k = 0; k < op->stage[i].nreads; k++) {
      if (op->stage[i].read[k].tensor == t) last = i;
    }
  }
  for (int i = writer; i <= last; i++) shared &= op->stage[i].dims;
  for (int p = 0; p < s->join[t]; p++) {
    int level = p / op->ndims + 1, d = s->order[level][p % op->ndims];
    if (!(shared >> d & 1)) s->tile[level][d] = s->tile[level - 1][d];
  }
  (void)m;
}

static void draw_joins(hone_rng *r, const hone_operator *op, const hone_machine *m, hone_schedule *s)
{
  int nloops = op->ndims * (m->nlevels - 1);
  int common = (int)between(r, 0, nloops);
  bool same = chance(r, 70);
  for (int t = 0; t < op->ntensors; t++) {
    if (op->tensor[t].role != HONE_ROLE_INTERMEDIATE) continue;
    s->join[t] = (int8_t)(s->home[t] == 0 ? 0 : same ? common : between(r, 0, nloops));
    settle_join(op, m, s, t);
  }
  for (int d = 0; d < op->ndims; d++) { /* tiles inside must not grow */
    for (int l = 1; l < m->nlevels; l++) s->tile[l][d] = hone_min64(s->tile[l][d], s->tile[l - 1][d]);
  }
}

static void draw_placement(hone_rng *r, const hone_params *p, int ndims, int nloops, hone_schedule *s)
{
  int tensor = -1, position = 0;
  bool even = false;
  for (int i = 0; i < p->n; i++) { /* levels of one tensor follow each other */
    const hone_param *x = &p->param[i];
    if (x->kind != HONE_PARAM_AT) continue;
    if (x->tensor != tensor) {
      tensor = x->tensor;
      position = s->home[tensor] > 0 ? s->join[tensor] : 0;
      even = chance(r, 35);
    }
    if (x->min == HONE_BYPASS && chance(r, 30)) {
      hone_param_set(x, s, HONE_BYPASS);
      continue;
    }
    int around = x->level * ndims + (int)between(r, -ndims, ndims);
    int at = even ? x->level * ndims : chance(r, 20) ? (int)between(r, position, nloops) : around;
    at = at < position ? position : at > nloops ? nloops : at;
    hone_param_set(x, s, at);
    if (x->level > s->home[tensor]) position = at;
  }
}

static int64_t draw_order(hone_rng *r, int ndims)
{
  int64_t packed = 0;
  int dim[HONE_MAX_DIMS];
  for (int i = 0; i < ndims; i++) {
    int k = (int)hone_rng_below(r, i + 1);
    dim[i] = dim[k];
    dim[k] = i;
  }
  for (int i = 0; i < ndims; i++) packed |= (int64_t)dim[i] << (4 * i);
  return packed;
}

static int64_t draw_split(hone_rng *r, const hone_param *x, int64_t room)
{
  int64_t max = hone_min64(x->max, room);
  return max > 1 && chance(r, 60) ? between(r, 1, max) : 1;
}

static void draw_parameters(hone_rng *r, const hone_operator *op, const hone_machine *m, const hone_params *p,
                            hone_schedule *s)
{
  static const int depths[10] = {1, 1, 1, 2, 2, 2, 2, 3, 3, 4};
  int64_t room[HONE_MAX_AXES];
  for (int a = 0; a < m->naxes; a++) room[a] = m->axis[a].size;
  for (int i = 0; i < p->n; i++) {
    const hone_param *x = &p->param[i];
    int64_t v = hone_param_get(x, s);
    if (x->kind == HONE_PARAM_SPLIT) room[x->axis] /= v = draw_split(r, x, room[x->axis]);
    else if (x->kind == HONE_PARAM_DEPTH) v = depths[hone_rng_below(r, 10)];
    else if (x->domain == HONE_DOMAIN_ORDER) v = draw_order(r, op->ndims);
    else if (x->domain == HONE_DOMAIN_SET) v = x->set[hone_rng_below(r, x->nset)];
    hone_param_set(x, s, v);
  }
  hone_schedule_normalize(op, m, s); /* derives the blocks */
  draw_tiles(r, op, m, s);
  draw_joins(r, op, m, s);
  draw_placement(r, p, op->ndims, op->ndims * (m->nlevels - 1), s);
}

/* Doubles the innermost tile of the dim with the most pieces. */
static void enlarge(const hone_operator *op, const hone_machine *m, hone_schedule *s)
{
  int best = 0, n = m->nlevels - 1;
  for (int d = 1; d < op->ndims; d++) {
    if (s->tile[0][d] / s->tile[n][d] > s->tile[0][best] / s->tile[n][best]) best = d;
  }
  s->tile[n][best] = hone_min64(2 * s->tile[n][best], s->tile[0][best]);
  for (int l = 1; l < n; l++) s->tile[l][best] = hone_max64(s->tile[l][best], s->tile[n][best]);
}

/* Halves a random tile of the memory that is too small. */
static void shrink(hone_rng *r, const hone_operator *op, const hone_machine *m, hone_schedule *s, int level)
{
  int d = (int)hone_rng_below(r, op->ndims), l = (int)between(r, 1, level);
  s->tile[l][d] = hone_ceil_div(s->tile[l][d], 2);
  for (int k = l + 1; k < m->nlevels; k++) s->tile[k][d] = hone_min64(s->tile[k][d], s->tile[k - 1][d]);
}

static bool repair(hone_rng *r, const hone_operator *op, const hone_machine *m, int64_t max_steps, hone_schedule *s)
{
  for (int i = 0; i < REPAIRS; i++) {
    hone_why why;
    hone_schedule normal = *s;
    hone_schedule_normalize(op, m, &normal);
    bool many = case_steps(op, m, &normal) > max_steps;
    hone_reason bad = hone_schedule_check(op, m, &normal, &why);
    if (!many && !bad) {
      *s = normal;
      return true;
    }
    if (bad == HONE_REASON_CAPACITY)
      shrink(r, op, m, s, why.level);
    else if (many)
      enlarge(op, m, s);
    else
      return false;
  }
  return false;
}

bool case_draw_schedule(hone_rng *r, const hone_operator *op, const hone_machine *m, const hone_params *p,
                        int64_t max_steps, hone_schedule *out)
{
  hone_schedule start;
  hone_schedule_init(op, m, &start);
  for (int i = 0; i < TRIES; i++) {
    *out = start;
    draw_parameters(r, op, m, p, out);
    if (repair(r, op, m, max_steps, out)) return true;
  }
  return false;
}

/* Operators and machines. */

static void die(const char *what, const hone_err *err)
{
  char text[1024];
  hone_err_print(err, text, sizeof text);
  fprintf(stderr, "cases: %s: %s\n", what, text);
  abort();
}

static void say(test_case *c, const char *fmt, ...) HONE_PRINTF(2, 3);
static void say(test_case *c, const char *fmt, ...)
{
  size_t used = strlen(c->text);
  va_list args;
  va_start(args, fmt);
  vsnprintf(c->text + used, sizeof c->text - used, fmt, args);
  va_end(args);
}

static const char *const machine_files[] = {
    "data/machines/teaching.yaml", "data/machines/gemmini-default.yaml", "data/machines/trainium2-core.yaml",
    "data/machines/napier-public.yaml", "data/machines/tpu-v1.yaml", "data/machines/tpu-v4i.yaml", "tests/data/deep.yaml"};
enum { MACHINES = sizeof machine_files / sizeof *machine_files, REPOSITORY_MACHINES = MACHINES - 1 };

/* Smaller memories, other numbers of cores and copies in flight. */
static void mutate_machine(hone_rng *r, test_case *c)
{
  for (int l = 1; l < c->m.nlevels; l++) {
    int64_t *bytes = &c->m.memory[l].capacity_bytes;
    *bytes = hone_max64(*bytes >> between(r, 0, 6), 16 * c->m.memory[l].align_bytes);
    say(c, " %s=%lldB", c->m.memory[l].name, (long long)*bytes);
  }
  bool shared = false; /* by the cores of a machine with several: refused at load */
  for (int l = 1; l < c->m.nlevels; l++) shared |= !c->m.memory[l].per_core;
  for (int a = 0; a < c->m.naxes && !shared; a++) {
    c->m.axis[a].size = (int)between(r, 1, 4);
    say(c, " %s=%d", c->m.axis[a].name, c->m.axis[a].size);
  }
}

static void draw_machine(hone_rng *r, const case_options *o, test_case *c)
{
  hone_err err;
  char path[512];
  const char *file = o->machine ? o->machine : machine_files[hone_rng_below(r, o->repository_only ? REPOSITORY_MACHINES : MACHINES)];
  snprintf(path, sizeof path, "%s/%s", HONE_SRCDIR, file);
  if (hone_machine_load(path, &c->m, &err) != HONE_OK) die(path, &err);
  say(c, " machine=%s", file);
  if (!o->repository_only && chance(r, 60)) mutate_machine(r, c);
}

static int64_t draw_extent(hone_rng *r)
{
  static const int64_t some[] = {1, 2, 3, 7, 8, 13, 16, 17, 31, 32, 53, 64, 97, 128, 130, 229};
  return chance(r, 70) ? some[hone_rng_below(r, sizeof some / sizeof *some)] : between(r, 1, 140);
}

/* What else spaces/ has. A size is a product of letters, each drawn once for a case by
 * draw_letter. */
static const struct {
  const char *name, *sizes, *option, *values[2];
  bool formats; /* X and Y may differ */
} others[] = {
    {"residual_add", "tokens=T width=W", NULL, {NULL}, false},
    {"gated_activation", "tokens=T width=W", "activation", {"silu", "gelu"}, false},
    {"rms_norm", "tokens=T heads=H width=W", NULL, {NULL}, false},
    {"layer_norm", "tokens=T width=W", NULL, {NULL}, false},
    {"softmax", "tokens=T width=W", NULL, {NULL}, false},
    {"rotary", "tokens=T heads=H head_dim=D2", NULL, {NULL}, false},
    {"softcap", "tokens=T width=W", NULL, {NULL}, false},
    {"rescale", "tokens=T width=W", NULL, {NULL}, true},
    {"cache_append", "tokens=T heads=H head_dim=D", NULL, {NULL}, false},
    {"embedding", "tokens=T width=W vocabulary=999", NULL, {NULL}, false},
    {"transpose", "b=B rows=T columns=W", NULL, {NULL}, false},
    {"attention", "batch=B heads=GR kv_heads=G queries=Q keys=S head_dim=D value_dim=E", "softcap", {"no", "yes"}, false},
    {"attention", "batch=B heads=GR kv_heads=G queries=Q keys=S head_dim=D value_dim=E", "sinks", {"yes", "yes"}, false},
    {"weighted_rows", "tokens=T top_k=R width=D rows=999", NULL, {NULL}, false},
    {"clamped_gate", "tokens=T width=W", NULL, {NULL}, false},
    {"attention_paged", "batch=B heads=GR kv_heads=G keys=CP page=P pages=999 head_dim=D value_dim=E", "softcap", {"no", "yes"}, false},
    {"attention_latent", "batch=B heads=R keys=S latent=E rope=D nope=D", NULL, {NULL}, false},
    {"qkv", "m=Q q=GR kv=G k=W", "bias", {"none", "row"}, false},
    {"gated_mlp", "m=Q width=D hidden=W", "activation", {"silu", "gelu"}, false},
    {"norm_matmul", "m=Q n=D k=W", NULL, {NULL}, false},
};
enum { OTHERS = sizeof others / sizeof *others };

static int64_t draw_letter(hone_rng *r, char letter)
{
  switch (letter) {
  case 'T': case 'W': case 'S': return draw_extent(r);
  case 'D': case 'E': return between(r, 1, 40);
  case 'R': case 'C': return between(r, 1, 7);
  case 'P': return INT64_C(1) << between(r, 0, 4);
  case 'Q': return between(r, 1, 20);
  default: return between(r, 1, 3);
  }
}

/* "tokens=T width=W" -> sizes with what the letters are in this case; returns how many. */
static int draw_sizes(hone_rng *r, const char *text, char names[][16], hone_size *sizes)
{
  int64_t drawn[128] = {0};
  int n = 0;
  for (const char *at = text; *at; n++) {
    int used = 0;
    if (sscanf(at, "%15[a-z_]=%n", names[n], &used) != 1) abort();
    at += used;
    sizes[n] = (hone_size){names[n], 1};
    for (; *at && *at != ' '; at++) {
      if (*at >= '0' && *at <= '9') {
        sizes[n].value *= strtoll(at, NULL, 10);
        at += strspn(at, "0123456789") - 1;
      } else {
        int64_t *v = &drawn[(unsigned char)*at & 127];
        if (*v == 0) *v = draw_letter(r, *at);
        sizes[n].value *= *v;
      }
    }
    at += strspn(at, " ");
  }
  return n;
}

static bool small_enough(const hone_operator *op, int64_t limit)
{
  for (int s = 0; s < op->nstages; s++) {
    int64_t points;
    if (!hone_stage_useful(op, s, &points) || points > limit) return false;
  }
  return true;
}

/* False when the machine cannot run it, or has no format for it. */
static bool draw_other(hone_rng *r, const case_options *o, test_case *c)
{
  hone_err err;
  char path[512], names[8][16];
  hone_size sizes[8];
  int which = (int)hone_rng_below(r, OTHERS), n;
  const char *name = others[which].name, *option = others[which].option;
  hone_format_choice formats[] = {{NULL, (hone_format)hone_rng_below(r, HONE_FORMAT_COUNT)}, {"Y", HONE_FORMAT_INT8}};
  hone_operator_option choice = {option, option ? others[which].values[hone_rng_below(r, 2)] : ""};
  bool two = others[which].formats && chance(r, 50);
  snprintf(path, sizeof path, "%s/spaces/%s.yaml", HONE_SRCDIR, name);
  do {
    n = draw_sizes(r, others[which].sizes, names, sizes);
    if (hone_operator_load(path, sizes, n, formats, 1 + two, &choice, option != NULL, &c->op, &err) != HONE_OK) die(path, &err);
  } while (!small_enough(&c->op, o->max_points ? o->max_points : INT64_C(1) << 22));
  if (hone_params_new(&c->op, &c->m, &c->params, &err) != HONE_OK) return false;
  hone_params_free(&c->params);
  say(c, " %s %s", name, choice.value);
  for (int i = 0; i < n; i++) say(c, " %s=%lld", sizes[i].name, (long long)sizes[i].value);
  say(c, " dtype=%s%s :", hone_format_name(formats[0].format), two ? " Y=int8" : "");
  return true;
}

static void draw_operator(hone_rng *r, const case_options *o, test_case *c)
{
  if (!o->plain && chance(r, 30) && draw_other(r, o, c)) return;
  static const char *const activations[] = {"none", "relu", "gelu", "silu"};
  hone_err err;
  char path[512];
  int64_t points, limit = o->max_points ? o->max_points : INT64_C(1) << 22;
  hone_size sizes[] = {{"b", 1}, {"m", 1}, {"n", 1}, {"k", 1}};
  do {
    for (int i = 0; i < 4; i++) sizes[i].value = draw_extent(r);
    if (chance(r, 70)) sizes[0].value = chance(r, 50) ? 1 : between(r, 2, 4);
    points = sizes[0].value * sizes[1].value * sizes[2].value * sizes[3].value;
  } while (points > limit);
  const hone_engine *e = c->m.engine;
  while (e->kind != HONE_ENGINE_MATRIX) e++;
  const hone_array_rate *rate = &e->matrix.rate[hone_rng_below(r, e->matrix.nrates)];
  bool swap = chance(r, 50); /* a rate takes its pair either way round */
  hone_format_choice formats[] = {{NULL, swap ? rate->b : rate->a}, {"W", swap ? rate->a : rate->b}};
  hone_operator_option options[] = {
      {"bias", !o->plain && chance(r, 30) ? "row" : "none"},
      {"activation", !o->plain && chance(r, 30) ? activations[hone_rng_below(r, 4)] : "none"},
      {"residual", !o->plain && chance(r, 20) ? "add" : "none"},
  };
  snprintf(path, sizeof path, "%s/spaces/matmul.yaml", HONE_SRCDIR);
  if (hone_operator_load(path, sizes, 4, formats, 2, options, 3, &c->op, &err) != HONE_OK) die(path, &err);
  for (int i = 0; i < 4; i++) say(c, " %s=%lld", sizes[i].name, (long long)sizes[i].value);
  for (int i = 0; i < 3; i++) say(c, " %s=%s", options[i].name, options[i].value);
  say(c, " dtype=%s W=%s :", hone_format_name(formats[0].format), hone_format_name(formats[1].format));
}

bool case_draw(uint64_t seed, uint64_t number, const case_options *options, test_case *out)
{
  static const case_options defaults = {0};
  const case_options *o = options ? options : &defaults;
  hone_rng all, r;
  hone_err err;
  memset(out, 0, sizeof *out);
  hone_rng_init(&all, seed);
  hone_rng_split(&all, number, &r);
  say(out, "seed=%llu number=%llu", (unsigned long long)seed, (unsigned long long)number);
  draw_machine(&r, o, out);
  draw_operator(&r, o, out);
  if (hone_params_new(&out->op, &out->m, &out->params, &err) != HONE_OK) return false;
  if (!case_draw_schedule(&r, &out->op, &out->m, &out->params, o->max_steps ? o->max_steps : 3000, &out->s)) {
    case_fini(out);
    return false;
  }
  hone_text text = {0};
  hone_schedule_print(&out->op, &out->m, &out->params, &out->s, &text);
  say(out, " %s", text.data ? text.data : "");
  hone_text_fini(&text);
  return true;
}

void case_fini(test_case *c)
{
  hone_params_free(&c->params);
}
