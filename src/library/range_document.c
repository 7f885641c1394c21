/* What range runs concluded (docs/ranges.md): for each of their entries a claim on
 * lo..hi, costed here at every integer, so that none is served where the default is
 * better; and an entry for it to hang on. That is the one at the shape the schedule
 * is written for; or, where another was found better there since, one at the highest
 * integer below that has none, made on the model. */
#include "config.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/emit_int.h"

enum { MOST_SHAPES = 1 << 20 };

typedef struct {
  library_draft *d;
  json_t *root;
  const char *what; /* for messages */
  hone_spec spec;   /* sizes of the shape at hand */
  int axis;         /* in `spec` */
  const hone_machine *machine;
  const char *path;
} range;

/* One entry of the document. */
typedef struct {
  int64_t lo, hi, at; /* the schedule is canonical at `at` */
  const char *schedule;
  double loss_pct, sim_loss_pct;
  int64_t loss_at, model_cycles;
  int sim_samples;
} range_entry;

/* ---- reading ------------------------------------------------------------------ */

static const char *text_of(json_t *o, const char *key)
{
  const char *s = json_string_value(json_object_get(o, key));
  return s ? s : "";
}

static int64_t int_of(json_t *o, const char *key, int64_t otherwise)
{
  json_t *v = json_object_get(o, key);
  return json_is_integer(v) ? json_integer_value(v) : otherwise;
}

static double real_of(json_t *o, const char *key)
{
  json_t *v = json_object_get(o, key);
  return json_is_number(v) ? json_number_value(v) : NAN;
}

static hone_status malformed(hone_err *err, const char *what)
{
  return hone_err_set(err, HONE_INPUT, "library.range", "its range document is malformed: %s", what);
}

static hone_status check_versions(const range *r, hone_err *err)
{
  json_t *evaluators = json_object_get(r->root, "evaluators");
  const hone_library_source *s = r->d->source;
  for (int i = 0; i < s->nevaluators; i++) {
    json_t *v = json_object_get(evaluators, s->evaluator[i].name);
    if (v && json_integer_value(v) != s->evaluator[i].version)
      return hone_err_set(err, HONE_INPUT, "library.version", "measured by %s version %lld; this build has %d", s->evaluator[i].name,
                          (long long)json_integer_value(v), s->evaluator[i].version);
  }
  return json_object_get(evaluators, library_model(s)->name) ? HONE_OK : malformed(err, "no version of the model");
}

static hone_status read_head(range *r, hone_err *err)
{
  hone_status st = hone_spec_parse(text_of(r->root, "spec"), &r->spec, err);
  if (st != HONE_OK) return malformed(err, "spec");
  r->axis = hone_spec_find_size(&r->spec, text_of(r->root, "size"));
  if (r->axis < 0) return malformed(err, "size");
  st = check_versions(r, err);
  if (st == HONE_OK) st = library_find_machine(r->d->finder, text_of(r->root, "machine"), text_of(r->root, "machine_hash"), &r->machine, err);
  if (st == HONE_OK) st = library_find_operator(r->d->finder, r->spec.operator_name, &r->path, err);
  return st;
}

static hone_status read_entry(json_t *o, range_entry *e, hone_err *err)
{
  e->lo = int_of(o, "lo", 0);
  e->hi = int_of(o, "hi", 0);
  e->at = int_of(o, "at", e->hi);
  e->schedule = text_of(o, "schedule");
  e->loss_pct = real_of(o, "model_worst_loss_pct");
  e->loss_at = int_of(o, "model_worst_loss_at", e->hi);
  e->sim_loss_pct = real_of(o, "sim_worst_loss_pct");
  e->sim_samples = (int)int_of(o, "sim_samples", 0);
  e->model_cycles = int_of(o, "model_cycles", -1);
  if (e->lo < 1 || e->hi < e->lo || e->hi - e->lo >= MOST_SHAPES || e->at < 1) return malformed(err, "lo, hi or at of an entry");
  if (!(e->loss_pct >= 0) || e->loss_at < 1 || e->sim_samples < 0) return malformed(err, "the losses of an entry");
  return HONE_OK;
}

/* ---- one entry ---------------------------------------------------------------- */

static hone_status shape_at(range *r, int64_t at, library_shape **out, hone_err *err)
{
  r->spec.size[r->axis].value = r->spec.size[r->axis].to = at;
  return library_shape_new(r->path, &r->spec, r->machine, out, err);
}

static void sizes_of(const library_shape *x, int64_t *size)
{
  memset(size, 0, HONE_MAX_SIZES * sizeof *size);
  for (int i = 0; i < x->op.spec.nsizes; i++) size[i] = x->op.spec.size[i].value;
}

/* Is there an entry at this integer with this very schedule, or can there be one? */
static bool anchor_at(range *r, library_draft_family *f, int64_t at, const hone_schedule *s, int64_t *size)
{
  library_shape *x = NULL;
  hone_schedule cut = *s;
  if (shape_at(r, at, &x, NULL) != HONE_OK) return false;
  hone_schedule_fit(&x->op, r->machine, &cut);
  const int64_t cycles = library_shape_cost(x, &cut);
  bool good = x->has_default && cycles >= 0 && cycles <= library_shape_cost(x, &x->by_default);
  sizes_of(x, size);
  int i = good ? library_draft_find_entry(f, size) : -1;
  if (good && i >= 0) {
    library_draft_entry *e = &f->entry[i];
    const bool same = strcmp(library_shape_print(x, &cut, r->d->l->arena), e->e.schedule) == 0;
    good = same || (e->e.evidence == HONE_EVIDENCE_MODEL && e->e.cycles == cycles);
    if (good && !same) library_choose_instead(r->d, x, &cut, e);
  } else if (good) {
    library_choose_instead(r->d, x, &cut, library_choose_by_model(r->d, f, x, &cut));
  }
  library_shape_free(x);
  return good;
}

static bool find_anchor(range *r, library_draft_family *f, const range_entry *e, const hone_schedule *s, int64_t *size)
{
  if (anchor_at(r, f, e->at, s, size)) return true;
  for (int64_t at = e->hi; at >= e->lo; at--)
    if (at != e->at && anchor_at(r, f, at, s, size)) return true;
  return false;
}

static hone_status parse_schedule(const range *r, const range_entry *e, const library_shape *x, hone_schedule *out, hone_err *err)
{
  hone_status st = hone_schedule_parse(&x->op, x->machine, &x->params, e->schedule, out, err);
  if (st != HONE_OK) return st;
  int64_t now = library_shape_cost(x, out);
  if (now == e->model_cycles) return HONE_OK;
  return hone_err_set(err, HONE_INPUT, "library.stale", "%lld cycles on the model at %s=%lld now, %lld when it was recorded", (long long)now,
                      text_of(r->root, "size"), (long long)e->at, (long long)e->model_cycles);
}

static hone_status take_entry(range *r, const range_entry *e, hone_err *err)
{
  library_shape *x = NULL;
  hone_schedule s;
  int64_t size[HONE_MAX_SIZES];
  hone_status st = shape_at(r, e->at, &x, err);
  if (st == HONE_OK) st = parse_schedule(r, e, x, &s, err);
  if (st == HONE_OK) {
    library_draft_family *f = library_draft_find_family(r->d, x, r->path);
    const int axis = hone_spec_find_size(&f->spec, r->spec.size[r->axis].name);
    if (find_anchor(r, f, e, &s, size)) {
      library_claim *c = library_draft_add_claim(f);
      memcpy(c->size, size, sizeof c->size);
      c->axis = axis;
      c->lo = e->lo;
      c->hi = e->hi;
      c->basis = HONE_LOSS_OF_OPTIMUM;
      c->loss_pct = e->loss_pct;
      c->loss_at = e->loss_at;
      c->sim_loss_pct = e->sim_loss_pct;
      c->sim_samples = e->sim_samples;
      c->point = hone_heap_alloc((size_t)(c->hi - c->lo + 1), sizeof *c->point);
      library_cost_points(f, size, axis, c->lo, c->hi - c->lo + 1, &s, c->point);
    } else {
      library_leave_out(r->d, r->what, "library.range", "%s=%lld..%lld: no shape of it lacks a better schedule of its own",
                        f->spec.size[axis].name, (long long)e->lo, (long long)e->hi);
    }
  }
  library_shape_free(x);
  return st;
}

static hone_status take_range(range *r, hone_err *err)
{
  json_t *entries = json_object_get(r->root, "entries");
  hone_status st = read_head(r, err);
  for (size_t i = 0; st == HONE_OK && i < json_array_size(entries); i++) {
    range_entry e;
    st = read_entry(json_array_get(entries, i), &e, err);
    if (st == HONE_OK) st = take_entry(r, &e, err);
  }
  return st;
}

/* ---- all of them -------------------------------------------------------------- */

static bool is_wanted(const hone_library_source *s, json_t *root)
{
  return !s->machine || strcmp(s->machine, text_of(root, "machine")) == 0 || strcmp(s->machine, text_of(root, "machine_hash")) == 0;
}

static hone_status take_document(void *arg, const hone_store_document *doc, hone_err *err)
{
  (void)err;
  range r = {.d = arg, .what = doc->subject};
  hone_err why;
  hone_err_init(&why);
  r.root = json_loads(doc->text, 0, NULL);
  if (!r.root) malformed(&why, "no JSON");
  if (r.root && is_wanted(r.d->source, r.root)) take_range(&r, &why);
  if (why.status != HONE_OK) library_leave_out(r.d, r.what, why.code, "%s%s%s", why.message, why.hint[0] ? "; " : "", why.hint);
  json_decref(r.root);
  return HONE_OK;
}

hone_status library_take_ranges(library_draft *d, hone_store *s, hone_err *err)
{
  return hone_store_documents(s, "range", take_document, d, err);
}
