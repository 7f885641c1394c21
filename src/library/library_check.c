/* Does a library still hold? Family by family: identities first, then the figures
 * again on the model. What was looked for and is not at hand is a warning, what
 * is there and does not hold an error. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/library_int.h"

enum { PATH_BYTES = 512 };

typedef struct {
  const hone_library_source *source;
  hone_library_visit_finding visit;
  void *arg;
  hone_library_checked *count;
  const hone_library_family *f;
  char operator_path[PATH_BYTES];
  hone_machine machine;
  hone_operator entry, asked, fallback;
  const hone_operator *tuned; /* entry or fallback */
} checker;

HONE_PRINTF(5, 6) static void find(checker *c, bool error, const char *code, const char *subject, const char *fmt, ...)
{
  char message[400];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  *(error ? &c->count->errors : &c->count->warnings) += 1;
  const hone_library_finding finding = {error, code, c->f ? c->f->id : "", subject, message};
  if (c->visit) c->visit(c->arg, &finding);
}

/* "entry b=1,m=8" */
static void name_shape(const checker *c, const char *what, const int64_t *size, hone_text *out)
{
  hone_text_clear(out);
  hone_text_add(out, "%s", what);
  for (int k = 0; k < c->f->spec.nsizes; k++) hone_text_add(out, "%s%s=%" PRId64, k ? "," : " ", c->f->spec.size[k].name, size[k]);
}

/* Operator and machine of now; false when one is not at hand or is another. */
static bool find_family(checker *c)
{
  char path[PATH_BYTES], hash[HONE_HASH_TEXT];
  hone_err err;
  hone_status st = c->source->find_operator(c->source->find_arg, c->f->spec.operator_name, c->operator_path, sizeof c->operator_path, &err);
  if (st == HONE_OK) st = c->source->find_machine(c->source->find_arg, c->f->machine_name, path, sizeof path, &err);
  if (st == HONE_OK) st = hone_machine_load(path, &c->machine, &err);
  if (st != HONE_OK) {
    c->count->absent++;
    find(c, false, "library.absent", "", "cannot be checked: %s", err.message);
    return false;
  }
  hone_hash_print(hone_machine_hash(&c->machine), hash);
  if (strcmp(hash, c->f->machine_hash) == 0) return true;
  find(c, true, "library.stale-machine", "", "%s is no longer the machine that was tuned for: it has the identity %s, not %s",
       c->f->machine_name, hash, c->f->machine_hash);
  return false;
}

static void check_evaluator(checker *c, const hone_library_evaluator *then)
{
  for (int i = 0; i < c->source->nevaluators; i++) {
    const hone_library_evaluator *now = &c->source->evaluator[i];
    if (strcmp(now->name, then->name) != 0) continue;
    if (now->version != then->version)
      find(c, false, "library.stale-evaluator", "", "the %s was at version %d and is at %d: figures may differ", now->name, then->version,
           now->version);
    return;
  }
  find(c, false, "library.stale-evaluator", "", "there is no evaluator %s", then->name);
}

/* Costs a schedule at a shape; false with an error found when it cannot be used there. */
static bool cost_at(checker *c, const char *schedule, const char *what, const char *subject, hone_library_cost *out)
{
  hone_err err;
  c->count->shapes++;
  if (hone_library_recost(schedule, c->tuned, &c->asked, &c->machine, out, &err) != HONE_OK)
    find(c, true, "library.schedule", subject, "%s: %s", what, err.message);
  else if (out->why.reason != HONE_REASON_NONE)
    find(c, true, "library.illegal", subject, "%s: %s", what, out->why.text[0] ? out->why.text : hone_reason_text(out->why.reason));
  else
    return true;
  return false;
}

static void compare_cycles(checker *c, const char *what, const char *subject, int64_t stated, int64_t now)
{
  if (stated >= 0 && stated != now)
    find(c, false, "library.other-cycles", subject, "%s: the model gives %" PRId64 " cycles, the library says %" PRId64, what, now, stated);
}

/* The operator at a shape, with its identity where that is known. */
static bool load_shape(checker *c, const int64_t *size, const char *hash, hone_operator *out, const char *subject)
{
  char now[HONE_HASH_TEXT];
  hone_err err;
  if (hone_library_operator(c->f, size, c->operator_path, out, &err) != HONE_OK) {
    find(c, true, "library.operator", subject, "%s", err.message);
    return false;
  }
  hone_hash_print(hone_operator_hash(out), now);
  if (!hash || strcmp(now, hash) == 0) return true;
  find(c, true, "library.stale-operator", subject, "%s is no longer the operator that was tuned: it has the identity %s, not %s",
       c->f->spec.operator_name, now, hash);
  return false;
}

static void check_fallback(checker *c, const char *subject)
{
  hone_library_cost cost;
  if (!c->f->fallback) return;
  const hone_operator *tuned = c->tuned; /* its text is written at a shape of its own */
  c->tuned = &c->fallback;
  cost_at(c, c->f->fallback, "fallback", subject, &cost);
  c->tuned = tuned;
}

static void check_entry(checker *c, const hone_library_entry *e)
{
  hone_text t = {0};
  hone_library_cost cost;
  name_shape(c, "entry", e->size, &t);
  c->count->entries++;
  if (load_shape(c, e->size, e->operator_hash, &c->entry, t.data)) {
    c->asked = c->entry;
    if (cost_at(c, e->schedule, "schedule", t.data, &cost)) compare_cycles(c, "schedule", t.data, e->model_cycles, cost.cycles);
    if (cost_at(c, e->by_default, "default", t.data, &cost)) compare_cycles(c, "default", t.data, e->default_model_cycles, cost.cycles);
    check_fallback(c, t.data);
  }
  hone_text_fini(&t);
}

static void check_near(checker *c, const hone_library_interval *x, int64_t value)
{
  const hone_library_entry *e = &c->f->entry[x->entry];
  hone_text t = {0};
  hone_library_cost cost;
  int64_t size[HONE_MAX_SIZES];
  memcpy(size, e->size, sizeof size);
  size[x->axis] = value;
  name_shape(c, "near", size, &t);
  if (load_shape(c, size, NULL, &c->asked, t.data)) {
    if (cost_at(c, e->schedule, "schedule", t.data, &cost) && cost.default_cycles >= 0 && cost.cycles > cost.default_cycles)
      find(c, true, "library.near-worse", t.data, "the schedule of %s=%" PRId64 " takes %" PRId64 " cycles on the model, the default %" PRId64,
           c->f->spec.size[x->axis].name, e->size[x->axis], cost.cycles, cost.default_cycles);
    check_fallback(c, t.data);
  }
  hone_text_fini(&t);
}

static void check_interval(checker *c, const hone_library_interval *x)
{
  c->count->intervals++;
  if (hone_library_operator(c->f, c->f->entry[x->entry].size, c->operator_path, &c->entry, NULL) != HONE_OK) return; /* the entry said so */
  check_near(c, x, x->lo);
  if (x->hi != x->lo) check_near(c, x, x->hi);
  if (x->loss_at > x->lo && x->loss_at < x->hi) check_near(c, x, x->loss_at);
}

void hone_library_check(const hone_library *l, const hone_library_source *source, hone_library_visit_finding visit, void *arg,
                        hone_library_checked *out)
{
  checker *c = hone_heap_alloc(1, sizeof *c);
  *out = (hone_library_checked){0};
  *c = (checker){.source = source, .visit = visit, .arg = arg, .count = out};
  for (int i = 0; i < l->nevaluators; i++) check_evaluator(c, &l->evaluator[i]);
  for (int i = 0; i < l->nfamilies; i++) {
    c->f = &l->family[i];
    out->families++;
    c->tuned = &c->entry;
    if (!find_family(c)) continue;
    if (c->f->fallback && !load_shape(c, c->f->fallback_size, NULL, &c->fallback, "fallback")) continue;
    for (int k = 0; k < c->f->nentries; k++) check_entry(c, &c->f->entry[k]);
    for (int k = 0; k < c->f->nintervals; k++) check_interval(c, &c->f->interval[k]);
  }
  free(c);
}
