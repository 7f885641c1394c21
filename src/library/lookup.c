/* Looking a shape up in a library: the family by everything but sizes, then an
 * entry with these very sizes, then an interval around one, then the fallback.
 * header_template.txt does the same on the tables of a C header, to the letter
 * of the reason: tests/property/test_library_header.c compares the two. */
#include "config.h"

#include "library/library.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "library/library_int.h"

const char *hone_lookup_kind_word(hone_lookup_kind k)
{
  static const char *const word[] = {"exact", "near", "fallback"};
  return word[k];
}

/* Adds to the reason; what does not fit is cut off. */
HONE_PRINTF(2, 3) static void say(hone_library_answer *a, const char *fmt, ...)
{
  size_t used = strlen(a->reason);
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(a->reason + used, sizeof a->reason - used, fmt, ap);
  va_end(ap);
}

/* ---- family ----------------------------------------------------------------- */

/* In what a family is another than the one asked for; the sum ranks nearness. */
enum { DIFFERS_OPTIONS = 1, DIFFERS_FORMATS = 2, DIFFERS_MACHINE = 4, DIFFERS_OPERATOR = 8, DIFFERS_ALL = 16 };

static bool has_format(const hone_spec *s, const hone_spec_format *x)
{
  for (int i = 0; i < s->nformats; i++)
    if (strcmp(s->format[i].tensor, x->tensor) == 0) return s->format[i].format == x->format;
  return false;
}

static bool has_option(const hone_spec *s, const hone_spec_option *x)
{
  for (int i = 0; i < s->noptions; i++)
    if (strcmp(s->option[i].name, x->name) == 0) return strcmp(s->option[i].value, x->value) == 0;
  return false;
}

static bool is_machine(const hone_library_family *f, const char *machine)
{
  return !machine || strcmp(f->machine_name, machine) == 0 || strcmp(f->machine_hash, machine) == 0;
}

/* Formats and options are sets here: their order is the operator text's affair. */
static int differences(const hone_library_family *f, const hone_spec *spec, const char *machine)
{
  const hone_spec *g = &f->spec;
  bool formats = g->nformats == spec->nformats, options = g->noptions == spec->noptions;
  for (int i = 0; i < spec->nformats; i++) formats = formats && has_format(g, &spec->format[i]);
  for (int i = 0; i < spec->noptions; i++) options = options && has_option(g, &spec->option[i]);
  return (strcmp(g->operator_name, spec->operator_name) == 0 ? 0 : DIFFERS_OPERATOR) +
         (is_machine(f, machine) ? 0 : DIFFERS_MACHINE) + (formats ? 0 : DIFFERS_FORMATS) + (options ? 0 : DIFFERS_OPTIONS);
}

/* What one spec has and the other has not. */
static void say_formats(hone_library_answer *a, const hone_spec *s, const hone_spec *other)
{
  const char *lead = "";
  for (int i = 0; i < s->nformats; i++) {
    if (has_format(other, &s->format[i])) continue;
    say(a, "%s%s=%s", lead, s->format[i].tensor[0] ? s->format[i].tensor : "dtype", hone_format_name(s->format[i].format));
    lead = ",";
  }
  if (!*lead) say(a, "none");
}

static void say_options(hone_library_answer *a, const hone_spec *s, const hone_spec *other)
{
  const char *lead = "";
  for (int i = 0; i < s->noptions; i++) {
    if (has_option(other, &s->option[i])) continue;
    say(a, "%s%s=%s", lead, s->option[i].name, s->option[i].value);
    lead = ",";
  }
  if (!*lead) say(a, "none");
}

/* The family that differs least, and in what. */
static void say_nearest(hone_library_answer *a, const hone_library_family *f, const hone_spec *spec, const char *machine, int differs)
{
  say(a, "asked was ");
  const char *lead = "";
  if (differs & DIFFERS_OPERATOR) {
    say(a, "operator %s, not %s", spec->operator_name, f->spec.operator_name);
    lead = "; ";
  }
  if (differs & DIFFERS_MACHINE) {
    say(a, "%smachine %.40s, not %.40s", lead, machine, f->machine_name);
    lead = "; ";
  }
  if (differs & DIFFERS_FORMATS) {
    say(a, "%sformat ", lead);
    say_formats(a, spec, &f->spec);
    say(a, ", not ");
    say_formats(a, &f->spec, spec);
    lead = "; ";
  }
  if (differs & DIFFERS_OPTIONS) {
    say(a, "%soption ", lead);
    say_options(a, spec, &f->spec);
    say(a, ", not ");
    say_options(a, &f->spec, spec);
  }
  say(a, " as in the nearest family, %.100s", f->id);
}

/* NULL: none, or more than one, for the reason said. */
static const hone_library_family *find_family(const hone_library *l, const hone_spec *spec, const char *machine, hone_library_answer *a)
{
  const hone_library_family *best = NULL, *twin = NULL;
  int least = DIFFERS_ALL;
  for (int i = 0; i < l->nfamilies; i++) {
    int d = differences(&l->family[i], spec, machine);
    if (d == 0 && least == 0) twin = &l->family[i];
    if (d >= least) continue;
    least = d;
    best = &l->family[i];
  }
  if (!best) say(a, "the library is empty");
  else if (least > 0) say_nearest(a, best, spec, machine, least);
  else if (twin && strcmp(best->machine_name, twin->machine_name) != 0)
    say(a, "the library is for several machines, such as %.40s and %.40s: name one", best->machine_name, twin->machine_name);
  else if (twin)
    say(a, "%.40s changed between tunings: name %s or %s", best->machine_name, best->machine_hash, twin->machine_hash);
  return least > 0 || twin ? NULL : best;
}

/* The asked sizes in the family's order; false with the reason when they are not
 * exactly the family's. */
static bool take_sizes(const hone_library_family *f, const hone_spec *spec, int64_t *asked, hone_library_answer *a)
{
  for (int i = 0; i < spec->nsizes; i++) {
    if (hone_spec_find_size(&f->spec, spec->size[i].name) < 0) {
      say(a, "%s has no size %s", spec->operator_name, spec->size[i].name);
      return false;
    }
    if (spec->size[i].to != spec->size[i].value) {
      say(a, "%s=%" PRId64 "..%" PRId64 " is a range; one shape at a time", spec->size[i].name, spec->size[i].value, spec->size[i].to);
      return false;
    }
  }
  for (int i = 0; i < f->spec.nsizes; i++) {
    int j = hone_spec_find_size(spec, f->spec.size[i].name);
    if (j < 0) {
      say(a, "size %s is not given", f->spec.size[i].name);
      return false;
    }
    asked[i] = spec->size[j].value;
  }
  return true;
}

/* ---- shape ------------------------------------------------------------------ */

static const hone_library_entry *find_entry(const hone_library_family *f, const int64_t *asked)
{
  for (int low = 0, high = f->nentries; low < high;) {
    int middle = low + (high - low) / 2, c = library_size_cmp(f->entry[middle].size, asked, f->spec.nsizes, -1);
    if (c == 0) return &f->entry[middle];
    if (c < 0) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

/* Where an interval lies as seen from the asked shape on an axis: below, over it, above. */
static int side(const hone_library_family *f, const hone_library_interval *x, const int64_t *asked, int axis)
{
  if (x->axis != axis) return x->axis < axis ? -1 : 1;
  int c = library_size_cmp(f->entry[x->entry].size, asked, f->spec.nsizes, axis);
  if (c) return c;
  return x->hi < asked[axis] ? -1 : x->lo > asked[axis] ? 1 : 0;
}

static const hone_library_interval *find_interval(const hone_library_family *f, const int64_t *asked, int axis)
{
  for (int low = 0, high = f->nintervals; low < high;) {
    int middle = low + (high - low) / 2, c = side(f, &f->interval[middle], asked, axis);
    if (c == 0) return &f->interval[middle];
    if (c < 0) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

/* Every loss is a limit, so where axes meet the lowest is the best known; unknown ones come last. */
static const hone_library_interval *find_near(const hone_library_family *f, const int64_t *asked)
{
  const hone_library_interval *best = NULL;
  for (int axis = 0; axis < f->spec.nsizes; axis++) {
    const hone_library_interval *x = find_interval(f, asked, axis);
    if (x && (!best || x->loss_pct < best->loss_pct || (isnan(best->loss_pct) && !isnan(x->loss_pct)))) best = x;
  }
  return best;
}

/* ---- why nothing covers it --------------------------------------------------- */

static void say_range(hone_library_answer *a, int64_t lo, int64_t hi)
{
  say(a, lo == hi ? "%" PRId64 : "%" PRId64 "..%" PRId64, lo, hi);
}

/* "b=1,n=4096" of the sizes in the set */
static void say_sizes(hone_library_answer *a, const hone_library_family *f, const int64_t *size, uint32_t set)
{
  const char *lead = "";
  for (int i = 0; i < f->spec.nsizes; i++) {
    if (!(set >> i & 1)) continue;
    say(a, "%s%s=%" PRId64, lead, f->spec.size[i].name, size[i]);
    lead = ",";
  }
}

/* What of one axis is covered while the other sizes are as asked. */
typedef struct {
  bool any;
  int64_t least, most;
  bool is_below, is_above;
  int64_t below, above; /* the covered values next to the asked one */
} coverage;

static void cover(coverage *c, int64_t lo, int64_t hi, int64_t asked)
{
  c->least = !c->any || lo < c->least ? lo : c->least;
  c->most = !c->any || hi > c->most ? hi : c->most;
  c->any = true;
  if (hi < asked && (!c->is_below || hi > c->below)) {
    c->is_below = true;
    c->below = hi;
  }
  if (lo > asked && (!c->is_above || lo < c->above)) {
    c->is_above = true;
    c->above = lo;
  }
}

static coverage covered(const hone_library_family *f, const int64_t *asked, int axis)
{
  coverage c = {.any = false};
  const int n = f->spec.nsizes;
  for (int i = 0; i < f->nentries; i++) {
    const int64_t *size = f->entry[i].size;
    if (library_size_cmp(size, asked, n, axis) == 0) cover(&c, size[axis], size[axis], asked[axis]);
  }
  for (int i = 0; i < f->nintervals; i++) {
    const hone_library_interval *x = &f->interval[i];
    if (x->axis == axis && library_size_cmp(f->entry[x->entry].size, asked, n, axis) == 0) cover(&c, x->lo, x->hi, asked[axis]);
  }
  return c;
}

/* The fewest sizes different, then the least product of ratios, then the first. */
static int nearest_entry(const hone_library_family *f, const int64_t *asked, uint32_t *differ)
{
  int best = -1, fewest = 0;
  double least = 0;
  for (int i = 0; i < f->nentries; i++) {
    uint32_t set = 0;
    int count = 0;
    double ratio = 1;
    for (int k = 0; k < f->spec.nsizes; k++) {
      const double x = (double)asked[k], y = (double)f->entry[i].size[k];
      if (asked[k] == f->entry[i].size[k]) continue;
      set |= UINT32_C(1) << k;
      count++;
      ratio *= x > y ? x / y : y / x;
    }
    if (best >= 0 && (count > fewest || (count == fewest && !(ratio < least)))) continue;
    best = i;
    fewest = count;
    least = ratio;
    *differ = set;
  }
  return best;
}

static void say_uncovered(hone_library_answer *a, const hone_library_family *f, const int64_t *asked)
{
  const int n = f->spec.nsizes;
  const uint32_t all = n == HONE_MAX_SIZES ? UINT32_MAX : (UINT32_C(1) << n) - 1;
  for (int axis = 0; axis < n; axis++) {
    coverage c = covered(f, asked, axis);
    if (!c.any) continue;
    say(a, "%s=%" PRId64 " is ", f->spec.size[axis].name, asked[axis]);
    if (c.is_below && c.is_above) {
      say(a, "in the gap ");
      say_range(a, c.below + 1, c.above - 1);
      say(a, " of ");
    } else {
      say(a, "outside ");
    }
    say_range(a, c.least, c.most);
    say(a, n > 1 ? " tuned for " : " tuned");
    say_sizes(a, f, asked, all & ~(UINT32_C(1) << axis));
    return;
  }
  uint32_t differ = 0;
  int nearest = nearest_entry(f, asked, &differ);
  if (nearest < 0) {
    say(a, "the family has no tuned shape");
    return;
  }
  say_sizes(a, f, asked, differ);
  say(a, " are not those of a tuned shape; the nearest is ");
  say_sizes(a, f, f->entry[nearest].size, all);
}

void hone_library_lookup(const hone_library *l, const hone_spec *spec, const char *machine, hone_library_answer *out)
{
  int64_t asked[HONE_MAX_SIZES] = {0};
  *out = (hone_library_answer){.kind = HONE_LOOKUP_FALLBACK, .loss_pct = NAN};
  const hone_library_family *f = find_family(l, spec, machine, out);
  out->family = f;
  if (!f || !take_sizes(f, spec, asked, out)) return;
  out->entry = find_entry(f, asked);
  if (out->entry) {
    out->kind = HONE_LOOKUP_EXACT;
    out->schedule = out->entry->schedule;
    out->loss_pct = 0;
    say(out, "tuned at this shape");
    return;
  }
  const hone_library_interval *x = out->interval = find_near(f, asked);
  if (x) {
    out->kind = HONE_LOOKUP_NEAR;
    out->entry = &f->entry[x->entry];
    out->schedule = out->entry->schedule;
    out->loss_pct = x->loss_pct;
    say(out, "%s=%" PRId64 " is in ", f->spec.size[x->axis].name, asked[x->axis]);
    say_range(out, x->lo, x->hi);
    say(out, ", tuned at %s=%" PRId64, f->spec.size[x->axis].name, out->entry->size[x->axis]);
    return;
  }
  out->schedule = f->fallback;
  say_uncovered(out, f, asked);
  if (!f->fallback) say(out, "; no fallback: %s", f->fallback_reason);
}
