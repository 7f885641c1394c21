#include "config.h"

#include "tests/property/library_random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static int64_t between(hone_rng *r, int64_t low, int64_t high) { return low + hone_rng_below(r, high - low + 1); }

/* Names that a header must not take as they are. */
static const char *const odd_name[] = {
    "int", "class", "operator", "asked", "NULL", "INT64_MAX", "size_t", "I", "9lives", "_Bool", "__x", "a__b", "a b", "a-b", "a.b",
    "f\xc3\xbcnf", "\xff", "", "_", "lookup", "reason", "entry", "lib_lookup", "odd_find", "linux", "*/", "?\?/", "\\", "\"",
    "a_2", "a", "x\ny", "FUNCTION", "families", "this", "M"};
enum { ODD_NAMES = sizeof odd_name / sizeof odd_name[0] };

static const char *const odd_text[] = {
    "", "\"quoted\"", "back\\slash\\", "*/ int x; /*", "?\?= ?\?/", "line\nline\r\ttab", "percent %s %d", "\x01\x7f\x80 9",
    "f\xc3\xbcnf", "tile.1.m=64 order.1=m,n,k"};
enum { ODD_TEXTS = sizeof odd_text / sizeof odd_text[0] };

static char *make_text(hone_arena *a, hone_rng *r, bool odd)
{
  static const char *const plain =
      "split.core.m=1 tile.1.m=%d tile.1.n=%d tile.1.k=%d order.1=m,n,b,k order.2=b,m,n,k at.X.1=2 at.W.1=2 depth.W.1=2";
  hone_text t = {0};
  char *s;
  if (odd && hone_rng_below(r, 2)) hone_text_add(&t, "%s", odd_text[hone_rng_below(r, ODD_TEXTS)]);
  else hone_text_add(&t, plain, (int)between(r, 1, 4096), (int)between(r, 1, 4096), (int)between(r, 1, 4096));
  if (odd && hone_rng_below(r, 40) == 0) /* longer than a literal may be */
    for (int64_t n = between(r, 100, 300); n > 0; n--) hone_text_add(&t, " %s", odd_text[1 + hone_rng_below(r, ODD_TEXTS - 1)]);
  s = hone_arena_strdup(a, t.data ? t.data : "");
  hone_text_fini(&t);
  return s;
}

static int64_t make_size(hone_rng *r, bool odd)
{
  static const int64_t extreme[] = {1, 2, INT64_C(1) << 31, INT64_C(1) << 53, (INT64_C(1) << 53) + 1, INT64_MAX - 1, INT64_MAX};
  if (odd && hone_rng_below(r, 4) == 0) return extreme[hone_rng_below(r, 7)];
  return hone_rng_below(r, 2) ? between(r, 1, 12) : INT64_C(1) << between(r, 0, 13);
}

static int64_t make_cycles(hone_rng *r)
{
  static const int64_t extreme[] = {-1, 0, INT64_MAX, INT64_MIN};
  return hone_rng_below(r, 8) ? between(r, 1, 1000000000) : extreme[hone_rng_below(r, 4)];
}

static double make_pct(hone_rng *r, bool odd)
{
  static const double extreme[] = {0, 1e-300, 1e300, 12345678901234567890.0, 5};
  if (odd && hone_rng_below(r, 4) == 0) return NAN;
  if (odd && hone_rng_below(r, 4) == 0) return extreme[hone_rng_below(r, 5)];
  return (double)hone_rng_below(r, 40) / 7; /* few values: some tie */
}

static void make_spec(hone_rng *r, bool odd, hone_spec *s)
{
  static const char *const plain[] = {"b", "m", "n", "k"};
  snprintf(s->operator_name, sizeof s->operator_name, "%s", odd ? odd_name[hone_rng_below(r, ODD_NAMES)] : "matmul");
  const int most = hone_rng_below(r, 8) == 0 ? HONE_MAX_SIZES : 5;
  s->nsizes = odd ? (int)between(r, hone_rng_below(r, 4) != 0, most) : 4;
  for (int k = 0; k < s->nsizes; k++) {
    hone_spec_size *x = &s->size[k];
    bool twice = true;
    while (twice) {
      snprintf(x->name, sizeof x->name, "%s", odd ? odd_name[hone_rng_below(r, ODD_NAMES)] : plain[k]);
      if (odd && hone_rng_below(r, 4) == 0) snprintf(x->name, sizeof x->name, "a_very_long_name_of_a_size_%d", (int)between(r, 1, 99));
      twice = false;
      for (int i = 0; i < k; i++) twice = twice || strcmp(s->size[i].name, x->name) == 0;
    }
    x->value = 1;
    x->to = INT64_MAX;
  }
  s->nformats = 1;
  s->format[0].format = (hone_format)hone_rng_below(r, HONE_FORMAT_COUNT);
}

static int ordered_sizes; /* of the family that is being sorted */
static const hone_library_entry *ordered_entry;

static int by_sizes(const void *x, const void *y)
{
  const hone_library_entry *a = x, *b = y;
  for (int k = 0; k < ordered_sizes; k++)
    if (a->size[k] != b->size[k]) return a->size[k] < b->size[k] ? -1 : 1;
  return 0;
}

static int by_group(const hone_library_interval *a, const hone_library_interval *b)
{
  const int64_t *x = ordered_entry[a->entry].size, *y = ordered_entry[b->entry].size;
  if (a->axis != b->axis) return a->axis < b->axis ? -1 : 1;
  for (int k = 0; k < ordered_sizes; k++)
    if (k != a->axis && x[k] != y[k]) return x[k] < y[k] ? -1 : 1;
  return 0;
}

static int by_interval(const void *x, const void *y)
{
  const hone_library_interval *a = x, *b = y;
  int c = by_group(a, b);
  return c ? c : (a->lo > b->lo) - (a->lo < b->lo);
}

static void make_entries(hone_arena *a, hone_rng *r, const library_random_options *o, hone_library_family *f)
{
  const int want = o->exactly ? o->entries : (int)hone_rng_below(r, o->entries + 1);
  const int n = f->spec.nsizes;
  f->entry = hone_arena_alloc(a, ((size_t)want + 1) * sizeof *f->entry);
  for (int tries = 0; f->nentries < want && tries < 20 * want; tries++) {
    hone_library_entry *e = &f->entry[f->nentries];
    bool twice = false;
    for (int k = 0; k < n; k++) /* mostly of one neighbourhood, so that sizes are shared */
      e->size[k] = f->nentries > 0 && hone_rng_below(r, 3) ? f->entry[hone_rng_below(r, f->nentries)].size[k]
                   : o->exactly                            ? between(r, 1, 4096)
                                                           : make_size(r, o->odd);
    for (int i = 0; i < f->nentries && !twice; i++) twice = memcmp(f->entry[i].size, e->size, sizeof e->size) == 0;
    if (!twice) f->nentries++;
  }
  for (int i = 0; i < f->nentries; i++) {
    hone_library_entry *e = &f->entry[i];
    e->schedule = make_text(a, r, o->odd);
    e->by_default = make_text(a, r, o->odd);
    e->evidence = (hone_evidence)hone_rng_below(r, HONE_EVIDENCE_COUNT);
    for (int k = 0; k < 7; k++)
      *(int64_t *[]){&e->cycles, &e->default_cycles, &e->warm_cycles, &e->default_warm_cycles, &e->model_cycles, &e->default_model_cycles, &e->bound_cycles}[k] =
          make_cycles(r);
    e->margin_pct = make_pct(r, o->odd);
    e->gap_pct = make_pct(r, o->odd);
    e->no_significant_gain = hone_rng_below(r, 2);
    e->evaluator = "simulator";
    e->evaluator_version = (int)between(r, 1, 9);
    e->microcode = hone_rng_below(r, 2) ? NULL : make_text(a, r, o->odd);
    e->microcode_reason = e->microcode ? "" : "machine.model-only";
    e->microcode_bytes = hone_rng_below(r, 1000);
    hone_hash_print(hone_hash_text(e->schedule), e->operator_hash);
    hone_hash_print(hone_hash_text(e->by_default), e->key);
  }
  ordered_sizes = n;
  qsort(f->entry, (size_t)f->nentries, sizeof *f->entry, by_sizes);
}

static void make_intervals(hone_arena *a, hone_rng *r, const library_random_options *o, hone_library_family *f)
{
  const int want = f->spec.nsizes == 0 || f->nentries == 0 ? 0 : o->exactly ? o->entries : (int)hone_rng_below(r, 2 * o->entries + 1);
  int n = 0;
  hone_library_interval *x = f->interval = hone_arena_alloc(a, ((size_t)want + 1) * sizeof *x);
  for (int i = 0; i < want; i++) {
    const int64_t width = INT64_C(1) << between(r, 0, o->odd ? 20 : 6);
    x[i].entry = (int)hone_rng_below(r, f->nentries);
    x[i].axis = o->exactly ? (i % 8 ? 1 : 0) : (int)hone_rng_below(r, f->spec.nsizes);
    x[i].lo = f->entry[x[i].entry].size[x[i].axis] - hone_rng_below(r, width);
    if (x[i].lo < 1) x[i].lo = 1;
    x[i].hi = x[i].lo > INT64_MAX - width ? INT64_MAX : x[i].lo + hone_rng_below(r, width);
    x[i].loss_pct = make_pct(r, o->odd);
    x[i].loss_at = x[i].lo;
    x[i].basis = hone_rng_below(r, 2) ? HONE_LOSS_OF_BOUND : HONE_LOSS_OF_OPTIMUM;
    x[i].sim_loss_pct = make_pct(r, o->odd);
    x[i].sim_samples = (int)hone_rng_below(r, 20);
    x[i].margin_pct = make_pct(r, false);
  }
  ordered_entry = f->entry;
  qsort(x, (size_t)want, sizeof *x, by_interval);
  for (int i = 0; i < want; i++)
    if (n == 0 || by_group(&x[n - 1], &x[i]) != 0 || x[n - 1].hi < x[i].lo) x[n++] = x[i];
  f->nintervals = n;
}

static int by_id(const void *x, const void *y)
{
  return strcmp(((const hone_library_family *)x)->id, ((const hone_library_family *)y)->id);
}

static void make_id(hone_rng *r, bool odd, int number, hone_library_family *f)
{
  if (odd && hone_rng_below(r, 3)) snprintf(f->id, sizeof f->id, "%s", odd_name[hone_rng_below(r, ODD_NAMES)]);
  else snprintf(f->id, sizeof f->id, "matmul_%d", number);
  if (odd && hone_rng_below(r, 8) == 0) memset(f->id, 'z', sizeof f->id - 1);
}

hone_library *library_random_new(hone_rng *r, const library_random_options *o)
{
  hone_arena *a = hone_arena_new();
  hone_library *l = hone_arena_alloc(a, sizeof *l);
  const int want = o->exactly ? o->families : (int)hone_rng_below(r, o->families + 1);
  l->arena = a;
  snprintf(l->name, sizeof l->name, "%s", o->name);
  l->writer = "hone */ test";
  l->family = hone_arena_alloc(a, ((size_t)want + 1) * sizeof *l->family);
  for (int i = 0; i < want; i++) {
    hone_library_family *f = &l->family[l->nfamilies];
    bool twice = false;
    make_id(r, o->odd, i, f);
    for (int k = 0; k < l->nfamilies; k++) twice = twice || strcmp(l->family[k].id, f->id) == 0;
    if (twice) continue;
    make_spec(r, o->odd, &f->spec);
    f->machine_name = o->odd ? make_text(a, r, true) : "teaching";
    hone_hash_print(hone_hash_text(f->id), f->machine_hash);
    f->clock_hz = between(r, 1, 3000000000);
    f->fallback = o->odd && hone_rng_below(r, 4) == 0 ? NULL : make_text(a, r, o->odd);
    f->fallback_reason = f->fallback ? "" : "no \"schedule\"";
    make_entries(a, r, o, f);
    make_intervals(a, r, o, f);
    l->nfamilies++;
  }
  qsort(l->family, (size_t)l->nfamilies, sizeof *l->family, by_id);
  return l;
}

void library_random_query(hone_rng *r, const hone_library_family *f, bool odd, int64_t *size)
{
  static const int64_t extreme[] = {INT64_MIN, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
  const int n = f->spec.nsizes;
  for (int k = 0; k < n; k++) size[k] = make_size(r, odd);
  if (f->nentries > 0 && hone_rng_below(r, 8)) memcpy(size, f->entry[hone_rng_below(r, f->nentries)].size, (size_t)n * sizeof *size);
  if (f->nintervals > 0 && hone_rng_below(r, 2)) {
    const hone_library_interval *x = &f->interval[hone_rng_below(r, f->nintervals)];
    memcpy(size, f->entry[x->entry].size, (size_t)n * sizeof *size);
    size[x->axis] = hone_rng_below(r, 2) ? x->lo : x->hi;
  }
  for (int64_t change = n > 0 ? hone_rng_below(r, 3) : 0; change > 0; change--) {
    int64_t *s = &size[hone_rng_below(r, n)];
    if (odd && hone_rng_below(r, 6) == 0) *s = extreme[hone_rng_below(r, 6)];
    else if (hone_rng_below(r, 2) && *s < INT64_MAX) ++*s;
    else if (hone_rng_below(r, 2) && *s > 1) --*s;
    else *s = make_size(r, odd);
  }
}
