/* What changed from one library to another: a walk over both in their common
 * order, which reports one change after the other; the text is made of those. A
 * schedule's difference is that of its parameters. Reading order:
 * hone_library_changes, then the comparison of one entry, then the text. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "library/library_int.h"

const char *hone_library_change_word(hone_library_change_kind k)
{
  static const char *const word[] = {"new", "gone", "different"};
  return word[k];
}

typedef struct {
  hone_library_visit_change visit;
  void *arg;
  int count;
  hone_arena *arena; /* texts of the change being made */
  hone_library_change change;
  int capacity;
} walk;

/* ---- making one change ----------------------------------------------------------- */

static void begin(walk *w, const char *what, const hone_library_family *f)
{
  w->change = (hone_library_change){.what = what, .family = f ? f->id : "", .subject = "", .item = w->change.item};
}

/* Something differs; the texts are copied. */
static void add_item(walk *w, const char *field, const char *from, const char *to)
{
  if (w->change.nitems == w->capacity) {
    w->capacity = w->capacity ? 2 * w->capacity : 32;
    w->change.item = hone_heap_realloc(w->change.item, (size_t)w->capacity, sizeof *w->change.item);
  }
  hone_library_change_item *x = &w->change.item[w->change.nitems++];
  x->field = hone_arena_strdup(w->arena, field);
  x->from = hone_arena_strdup(w->arena, from);
  x->to = hone_arena_strdup(w->arena, to);
}

static void compare_text(walk *w, const char *field, const char *from, const char *to)
{
  if (strcmp(from ? from : "none", to ? to : "none") != 0) add_item(w, field, from ? from : "none", to ? to : "none");
}

static void compare_int(walk *w, const char *field, int64_t from, int64_t to)
{
  char a[24], b[24];
  snprintf(a, sizeof a, "%" PRId64, from);
  snprintf(b, sizeof b, "%" PRId64, to);
  if (from != to) add_item(w, field, a, b);
}

static void print_pct(double x, char out[40])
{
  hone_text t = {0}; /* the C locale's point */
  if (isnan(x)) hone_text_add(&t, "not known");
  else hone_text_add(&t, "%.2f %%", x);
  snprintf(out, 40, "%s", t.data);
  hone_text_fini(&t);
}

/* As far as it is shown: digits nobody sees are no change. */
static void compare_pct(walk *w, const char *field, double from, double to)
{
  char a[40], b[40];
  print_pct(from, a);
  print_pct(to, b);
  compare_text(w, field, a, b);
}

static void report(walk *w, hone_library_change_kind kind)
{
  w->change.kind = kind;
  w->count++;
  if (w->visit) w->visit(w->arg, &w->change);
  hone_arena_reset(w->arena);
}

static void report_if_different(walk *w)
{
  if (w->change.nitems > 0) report(w, HONE_CHANGE_DIFFERENT);
}

/* ---- schedules ------------------------------------------------------------------- */

/* The value of a parameter, which ends at a blank; "" of a bare word; NULL when it is not there. */
static const char *find_value(const char *schedule, const char *name, size_t n, size_t *length)
{
  for (const char *s = schedule; *s; s += *s == ' ') {
    const size_t word = strcspn(s, " "), own = strcspn(s, "= ");
    if (own == n && strncmp(s, name, n) == 0) {
      *length = word > n ? word - n - 1 : 0;
      return word > n ? s + n + 1 : s + n;
    }
    s += word;
  }
  return NULL;
}

/* Each parameter of a schedule against the other's; backward: only those the other has not. */
static void compare_parameters(walk *w, const char *lead, const char *schedule, const char *other, bool forward)
{
  for (const char *s = schedule; *s; s += *s == ' ') {
    const size_t word = strcspn(s, " "), n = strcspn(s, "= ");
    size_t length = 0;
    const char *there = find_value(other, s, n, &length);
    char field[128], a[128], b[128];
    snprintf(field, sizeof field, "%s%.*s", lead, (int)n, s);
    snprintf(a, sizeof a, "%.*s", (int)(word - (n < word ? n + 1 : n)), s + (n < word ? n + 1 : n));
    snprintf(b, sizeof b, "%.*s", there ? (int)length : 4, there ? there : "none");
    if (forward && strcmp(a, b) != 0) add_item(w, field, a, b);
    else if (!forward && !there) add_item(w, field, "none", a);
    s += word;
  }
}

static void compare_schedule(walk *w, const char *lead, const char *from, const char *to)
{
  from = from ? from : "";
  to = to ? to : "";
  if (strcmp(from, to) == 0) return;
  const int before = w->change.nitems;
  compare_parameters(w, lead, from, to, true);
  compare_parameters(w, lead, to, from, false);
  if (w->change.nitems == before) add_item(w, lead[0] ? lead : "schedule", from, to); /* other blanks or another order */
}

/* ---- entries --------------------------------------------------------------------- */

static void print_sizes(const hone_spec *s, const int64_t *size, int but, hone_text *out)
{
  const char *lead = "";
  for (int k = 0; k < s->nsizes; k++) {
    if (k == but) continue;
    hone_text_add(out, "%s%s=%" PRId64, lead, s->size[k].name, size[k]);
    lead = ",";
  }
}

static void set_subject(walk *w, hone_text *t)
{
  w->change.subject = hone_arena_strdup(w->arena, t->data ? t->data : "");
  hone_text_fini(t);
}

static void print_evaluator(const hone_library_entry *e, char out[80])
{
  snprintf(out, 80, "%.60s %d", e->evaluator ? e->evaluator : "none", e->evaluator_version);
}

static void compare_entry(walk *w, const hone_library_entry *a, const hone_library_entry *b)
{
  char from[80], to[80];
  print_evaluator(a, from);
  print_evaluator(b, to);
  compare_int(w, "cycles", a->cycles, b->cycles);
  compare_int(w, "default_cycles", a->default_cycles, b->default_cycles);
  compare_int(w, "warm_cycles", a->warm_cycles, b->warm_cycles);
  compare_int(w, "default_warm_cycles", a->default_warm_cycles, b->default_warm_cycles);
  compare_int(w, "model_cycles", a->model_cycles, b->model_cycles);
  compare_int(w, "default_model_cycles", a->default_model_cycles, b->default_model_cycles);
  compare_int(w, "bound_cycles", a->bound_cycles, b->bound_cycles);
  compare_text(w, "evidence", hone_evidence_word(a->evidence), hone_evidence_word(b->evidence));
  compare_text(w, "no_significant_gain", a->no_significant_gain ? "true" : "false", b->no_significant_gain ? "true" : "false");
  compare_text(w, "evaluator", from, to);
  compare_text(w, "operator_hash", a->operator_hash, b->operator_hash);
  compare_text(w, "microcode", a->microcode, b->microcode);
  compare_int(w, "microcode_bytes", a->microcode_bytes, b->microcode_bytes);
  compare_schedule(w, "", a->schedule, b->schedule);
  compare_schedule(w, "default ", a->by_default, b->by_default);
}

static void walk_entries(walk *w, const hone_library_family *a, const hone_library_family *b)
{
  for (int i = 0, k = 0; i < a->nentries || k < b->nentries;) {
    const int c = i == a->nentries ? 1 : k == b->nentries ? -1 : library_size_cmp(a->entry[i].size, b->entry[k].size, a->spec.nsizes, -1);
    const hone_library_entry *from = c <= 0 ? &a->entry[i++] : NULL, *to = c >= 0 ? &b->entry[k++] : NULL;
    hone_text t = {0};
    begin(w, "entry", a);
    print_sizes(&a->spec, (from ? from : to)->size, -1, &t);
    set_subject(w, &t);
    w->change.from = from;
    w->change.to = to;
    if (c != 0) {
      report(w, c < 0 ? HONE_CHANGE_GONE : HONE_CHANGE_NEW);
      continue;
    }
    compare_entry(w, from, to);
    report_if_different(w);
  }
}

/* ---- intervals: those of one axis and the same other sizes together ----------------- */

typedef struct {
  int first, n, axis;
  const int64_t *size; /* of an entry */
  int64_t lo, hi, covered;
  double loss, sim_loss; /* the most; NaN: of one it is not known */
} group;

static int by_group(const group *a, const group *b, int n)
{
  if (a->axis != b->axis) return a->axis < b->axis ? -1 : 1;
  return library_size_cmp(a->size, b->size, n, a->axis);
}

static double most(double a, double b) { return isnan(a) || isnan(b) ? NAN : a > b ? a : b; }

/* The group that begins at interval i. */
static group get_group(const hone_library_family *f, int i)
{
  const hone_library_interval *x = &f->interval[i];
  group g = {.first = i, .axis = x->axis, .size = f->entry[x->entry].size, .lo = x->lo, .hi = x->hi};
  for (; i < f->nintervals; i++, g.n++) {
    x = &f->interval[i];
    const group next = {.axis = x->axis, .size = f->entry[x->entry].size};
    if (by_group(&g, &next, f->spec.nsizes) != 0) break;
    g.hi = x->hi;
    g.covered += x->hi - x->lo + 1;
    g.loss = most(g.loss, x->loss_pct);
    g.sim_loss = most(g.sim_loss, x->sim_loss_pct);
  }
  return g;
}

static bool same_interval(const hone_library_family *fa, const hone_library_interval *a, const hone_library_family *fb,
                          const hone_library_interval *b)
{
  return a->lo == b->lo && a->hi == b->hi && fa->entry[a->entry].size[a->axis] == fb->entry[b->entry].size[b->axis];
}

static void compare_groups(walk *w, const hone_library_family *fa, const group *a, const hone_library_family *fb, const group *b)
{
  char from[48], to[48];
  int same = 0;
  for (int i = 0, k = 0; i < a->n && k < b->n;) {
    const hone_library_interval *x = &fa->interval[a->first + i], *y = &fb->interval[b->first + k];
    same += same_interval(fa, x, fb, y);
    i += x->lo <= y->lo;
    k += y->lo <= x->lo;
  }
  snprintf(from, sizeof from, "%" PRId64 "..%" PRId64, a->lo, a->hi);
  snprintf(to, sizeof to, "%" PRId64 "..%" PRId64, b->lo, b->hi);
  compare_text(w, "range", from, to);
  compare_int(w, "shapes", a->covered, b->covered);
  compare_int(w, "intervals", a->n, b->n);
  compare_pct(w, "worst loss", a->loss, b->loss);
  compare_pct(w, "worst simulated loss", a->sim_loss, b->sim_loss);
  if (same == a->n && same == b->n) return;
  snprintf(from, sizeof from, "%d", a->n - same);
  snprintf(to, sizeof to, "%d", b->n - same);
  add_item(w, "intervals not in the other", from, to);
}

static void walk_intervals(walk *w, const hone_library_family *a, const hone_library_family *b)
{
  for (int i = 0, k = 0; i < a->nintervals || k < b->nintervals;) {
    const group x = i < a->nintervals ? get_group(a, i) : (group){0}, y = k < b->nintervals ? get_group(b, k) : (group){0};
    const int c = i == a->nintervals ? 1 : k == b->nintervals ? -1 : by_group(&x, &y, a->spec.nsizes);
    const group *there = c <= 0 ? &x : &y;
    hone_text t = {0};
    begin(w, "intervals", a);
    hone_text_add(&t, "%s%s", a->spec.size[there->axis].name, a->spec.nsizes > 1 ? " with " : "");
    print_sizes(&a->spec, there->size, there->axis, &t);
    set_subject(w, &t);
    if (c == 0) {
      compare_groups(w, a, &x, b, &y);
      report_if_different(w);
    } else {
      report(w, c < 0 ? HONE_CHANGE_GONE : HONE_CHANGE_NEW);
    }
    i += c <= 0 ? x.n : 0;
    k += c >= 0 ? y.n : 0;
  }
}

/* ---- families -------------------------------------------------------------------- */

/* The same operator, formats, options and machine name; of two such, the one with
 * the same machine. NULL: there is none. */
static const hone_library_family *find_like(const hone_library *l, const hone_library_family *f)
{
  const hone_library_family *found = NULL;
  for (int i = 0; i < l->nfamilies; i++) {
    const hone_library_family *x = &l->family[i];
    if (!hone_spec_same_family(&x->spec, &f->spec) || strcmp(x->machine_name, f->machine_name) != 0) continue;
    if (!found || strcmp(x->machine_hash, f->machine_hash) == 0) found = x;
  }
  return found;
}

static void walk_family(walk *w, const hone_library_family *a, const hone_library_family *b)
{
  begin(w, "family", a);
  compare_text(w, "id", a->id, b->id);
  compare_text(w, "machine_hash", a->machine_hash, b->machine_hash);
  compare_int(w, "clock_hz", a->clock_hz, b->clock_hz);
  compare_schedule(w, "fallback ", a->fallback, b->fallback);
  report_if_different(w);
  walk_entries(w, a, b);
  walk_intervals(w, a, b);
}

static void walk_left_out(walk *w, const hone_library *a, const hone_library *b, hone_library_change_kind kind)
{
  for (int i = 0; i < a->nleft_out; i++) {
    bool there = false;
    for (int k = 0; k < b->nleft_out && !there; k++)
      there = strcmp(a->left_out[i].what, b->left_out[k].what) == 0 && strcmp(a->left_out[i].code, b->left_out[k].code) == 0;
    if (there) continue;
    begin(w, "left_out", NULL);
    hone_text t = {0};
    hone_text_add(&t, "%s: %s [%s]", a->left_out[i].what, a->left_out[i].reason, a->left_out[i].code);
    set_subject(w, &t);
    report(w, kind);
  }
}

int hone_library_changes(const hone_library *a, const hone_library *b, hone_library_visit_change visit, void *arg)
{
  walk w = {.visit = visit, .arg = arg, .arena = hone_arena_new()};
  for (int i = 0; i < a->nfamilies; i++) {
    const hone_library_family *f = &a->family[i], *g = find_like(b, f);
    if (g && find_like(a, g) == f) {
      walk_family(&w, f, g);
    } else {
      begin(&w, "family", f);
      report(&w, HONE_CHANGE_GONE);
    }
  }
  for (int i = 0; i < b->nfamilies; i++) {
    const hone_library_family *g = &b->family[i], *f = find_like(a, g);
    if (f && find_like(b, f) == g) continue;
    begin(&w, "family", g);
    report(&w, HONE_CHANGE_NEW);
  }
  walk_left_out(&w, a, b, HONE_CHANGE_GONE);
  walk_left_out(&w, b, a, HONE_CHANGE_NEW);
  hone_arena_free(w.arena);
  free(w.change.item);
  return w.count;
}

/* ---- as text --------------------------------------------------------------------- */

typedef struct {
  hone_text *out;
  char family[sizeof((hone_library_family *)0)->id]; /* whose headline was written last */
  int count[HONE_CHANGE_COUNT];
} printer;

static void print_cycles(hone_text *out, const hone_library_entry *e)
{
  if (e->cycles < 0) hone_text_add(out, "cycles not known");
  else hone_text_add(out, "%" PRId64 " cycles", e->cycles);
  hone_text_add(out, " (%s), %s", hone_evidence_word(e->evidence), e->no_significant_gain ? "no significant gain" : "");
  if (!e->no_significant_gain) hone_text_add(out, "%.1f %% over the default", e->margin_pct);
}

static void print_change(void *arg, const hone_library_change *c)
{
  printer *p = arg;
  p->count[c->kind]++;
  if (strcmp(p->family, c->family) != 0) {
    snprintf(p->family, sizeof p->family, "%s", c->family);
    if (c->family[0]) hone_text_add(p->out, "%s\n", c->family);
  }
  hone_text_add(p->out, "  %c %s%s%s", "+-~"[c->kind], c->what, c->subject[0] ? " " : "", c->subject);
  if (c->from && c->to && c->from->cycles > 0 && c->to->cycles > 0 && c->from->cycles != c->to->cycles)
    hone_text_add(p->out, "  %+.2f %% cycles", 100.0 * ((double)c->to->cycles / (double)c->from->cycles - 1.0));
  else if (c->kind != HONE_CHANGE_DIFFERENT && (c->from || c->to)) {
    hone_text_add(p->out, "  ");
    print_cycles(p->out, c->from ? c->from : c->to);
  }
  hone_text_add(p->out, "\n");
  for (int i = 0; i < c->nitems; i++) hone_text_add(p->out, "      %s %s -> %s\n", c->item[i].field, c->item[i].from, c->item[i].to);
}

int hone_library_diff(const hone_library *a, const hone_library *b, hone_text *out)
{
  printer p = {.out = out};
  const int n = hone_library_changes(a, b, print_change, &p);
  if (n == 0) hone_text_add(out, "no changes\n");
  else
    hone_text_add(out, "%d change%s: %d new, %d gone, %d different\n", n, n == 1 ? "" : "s", p.count[HONE_CHANGE_NEW],
                  p.count[HONE_CHANGE_GONE], p.count[HONE_CHANGE_DIFFERENT]);
  return n;
}
