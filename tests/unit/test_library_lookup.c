/* Looking shapes up in a library made by hand, and, of random ones, against a
 * search of everything. Differences between two libraries. */
#include "config.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "library/library.h"
#include "tests/property/library_random.h"
#include "tests/unit/unit.h"

static hone_library_entry entries[] = {
    {.size = {1, 64, 128, 256}, .schedule = "tile.1.m=64", .by_default = "tile.1.m=1", .cycles = 100, .default_cycles = 200, .margin_pct = 100},
    {.size = {1, 64, 128, 512}, .schedule = "tile.1.m=32", .by_default = "tile.1.m=1", .cycles = 100, .default_cycles = 100},
    {.size = {1, 512, 128, 256}, .schedule = "tile.1.m=512", .by_default = "tile.1.m=1", .cycles = 400, .default_cycles = 800, .margin_pct = 100}};
static hone_library_interval intervals[] = {
    {.entry = 0, .axis = 1, .lo = 1, .hi = 100, .loss_pct = 3},
    {.entry = 2, .axis = 1, .lo = 200, .hi = 512, .loss_pct = 2},
    {.entry = 2, .axis = 1, .lo = 513, .hi = 4096, .loss_pct = NAN},
    {.entry = 0, .axis = 2, .lo = 100, .hi = 160, .loss_pct = 1},
    {.entry = 2, .axis = 2, .lo = 128, .hi = 130, .loss_pct = 7}};
static hone_library_family families[2];
static hone_library library = {.name = "test", .writer = "test", .nfamilies = 2, .family = families};

static void setup(void)
{
  hone_err err;
  for (int i = 0; i < 2; i++) {
    families[i] = (hone_library_family){.machine_name = i ? "teaching" : "big",
                                        .machine_hash = "0123456789abcdef",
                                        .nentries = 3,
                                        .entry = entries,
                                        .nintervals = 5,
                                        .interval = intervals,
                                        .fallback = "tile.1.m=8"};
    snprintf(families[i].id, sizeof families[i].id, "matmul_%s", families[i].machine_name);
    ck_assert_int_eq(hone_spec_parse("matmul --size b=1,m=1..4096,n=128,k=256..512 --dtype bf16 --option bias=none,act=none",
                                     &families[i].spec, &err), HONE_OK);
  }
  strcpy(families[0].machine_hash, "ffff");
}

static hone_library_answer ask(const char *text, const char *machine)
{
  hone_spec spec;
  hone_library_answer a;
  hone_err err;
  ck_assert_msg(hone_spec_parse(text, &spec, &err) == HONE_OK, "%s", err.message);
  hone_library_lookup(&library, &spec, machine, &a);
  return a;
}

#define REST " --dtype bf16 --option bias=none,act=none"

static void expect(const char *text, hone_lookup_kind kind, int entry, const char *schedule, double loss, const char *reason)
{
  hone_library_answer a = ask(text, "big");
  ck_assert_str_eq(a.reason, reason);
  ck_assert_int_eq(a.kind, kind);
  ck_assert_ptr_eq(a.entry, entry < 0 ? NULL : &entries[entry]);
  ck_assert_int_eq(a.interval != NULL, kind == HONE_LOOKUP_NEAR);
  ck_assert_ptr_eq(a.family, &families[0]);
  ck_assert_str_eq(a.schedule, schedule);
  ck_assert(isnan(loss) ? isnan(a.loss_pct) : a.loss_pct == loss);
}

START_TEST(exact_near_and_fallback)
{
  const hone_lookup_kind exact = HONE_LOOKUP_EXACT, near = HONE_LOOKUP_NEAR, fallback = HONE_LOOKUP_FALLBACK;
  expect("matmul --size b=1,m=64,n=128,k=256" REST, exact, 0, "tile.1.m=64", 0, "tuned at this shape");
  expect("matmul --size k=256,n=128,m=64,b=1 --option act=none,bias=none --dtype bf16", exact, 0, "tile.1.m=64", 0, "tuned at this shape");
  expect("matmul --size b=1,m=1,n=128,k=256" REST, near, 0, "tile.1.m=64", 3, "m=1 is in 1..100, tuned at m=64");
  expect("matmul --size b=1,m=100,n=128,k=256" REST, near, 0, "tile.1.m=64", 3, "m=100 is in 1..100, tuned at m=64");
  expect("matmul --size b=1,m=200,n=128,k=256" REST, near, 2, "tile.1.m=512", 2, "m=200 is in 200..512, tuned at m=512");
  expect("matmul --size b=1,m=512,n=130,k=256" REST, near, 2, "tile.1.m=512", 7, "n=130 is in 128..130, tuned at n=128");
  expect("matmul --size b=1,m=4096,n=128,k=256" REST, near, 2, "tile.1.m=512", NAN, "m=4096 is in 513..4096, tuned at m=512");
  expect("matmul --size b=1,m=4097,n=128,k=256" REST, fallback, -1, "tile.1.m=8", NAN, "m=4097 is outside 1..4096 tuned for b=1,n=128,k=256");
  expect("matmul --size b=1,m=101,n=128,k=256" REST, fallback, -1, "tile.1.m=8", NAN,
         "m=101 is in the gap 101..199 of 1..4096 tuned for b=1,n=128,k=256");
  expect("matmul --size b=1,m=65,n=128,k=512" REST, fallback, -1, "tile.1.m=8", NAN, "m=65 is outside 64 tuned for b=1,n=128,k=512");
  expect("matmul --size b=1,m=64,n=99,k=256" REST, fallback, -1, "tile.1.m=8", NAN, "n=99 is outside 100..160 tuned for b=1,m=64,k=256");
  expect("matmul --size b=2,m=64,n=129,k=512" REST, fallback, -1, "tile.1.m=8", NAN,
         "b=2,n=129 are not those of a tuned shape; the nearest is b=1,m=64,n=128,k=512");
}
END_TEST

/* Of two intervals that hold a shape the one that promises more; an unknown loss promises nothing. */
START_TEST(the_lowest_loss_wins)
{
  static const struct {
    double m, n;
    int axis;
  } rows[] = {{3, 1, 2}, {1, 3, 1}, {2, 2, 1}, {NAN, 9, 2}, {9, NAN, 1}, {NAN, NAN, 1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) { /* m=64,n=128 is near an entry on either axis */
    hone_library_entry e[2] = {entries[0], entries[0]};
    hone_library_interval v[2] = {intervals[0], intervals[3]};
    e[0].size[1] = 63;
    e[1].size[2] = 200;
    v[0].entry = 0;
    v[1].entry = 1;
    v[0].loss_pct = rows[i].m;
    v[1].loss_pct = rows[i].n;
    hone_library_family f = families[0];
    hone_library l = {.nfamilies = 1, .family = &f};
    f.entry = e;
    f.nentries = 2;
    f.interval = v;
    f.nintervals = 2;
    hone_spec spec;
    hone_library_answer a;
    ck_assert_int_eq(hone_spec_parse("matmul --size b=1,m=64,n=128,k=256" REST, &spec, NULL), HONE_OK);
    hone_library_lookup(&l, &spec, NULL, &a);
    ck_assert_int_eq(a.kind, HONE_LOOKUP_NEAR);
    ck_assert_int_eq(a.interval->axis, rows[i].axis);
  }
}
END_TEST

static void expect_no_schedule(const char *text, const char *machine, const char *reason)
{
  hone_library_answer a = ask(text, machine);
  ck_assert_str_eq(a.reason, reason);
  ck_assert_int_eq(a.kind, HONE_LOOKUP_FALLBACK);
  ck_assert_ptr_null(a.schedule);
  ck_assert_ptr_null(a.entry);
  ck_assert(isnan(a.loss_pct));
}

START_TEST(what_differs_is_said)
{
  const char *shape = "matmul --size b=1,m=64,n=128,k=256" REST;
  ck_assert_int_eq(ask(shape, "ffff").kind, HONE_LOOKUP_EXACT);
  ck_assert_ptr_eq(ask(shape, "teaching").family, &families[1]);
  expect_no_schedule(shape, NULL, "the library is for several machines, such as big and teaching: name one");
  expect_no_schedule(shape, "small", "asked was machine small, not big as in the nearest family, matmul_big");
  expect_no_schedule("conv2d --size b=1,m=64,n=128,k=256" REST, "teaching",
                     "asked was operator conv2d, not matmul as in the nearest family, matmul_teaching");
  expect_no_schedule("matmul --size b=1,m=64,n=128,k=256 --dtype fp32 --format W=int8 --option bias=none,act=none", "big",
                     "asked was format dtype=fp32,W=int8, not dtype=bf16 as in the nearest family, matmul_big");
  expect_no_schedule("matmul --size b=1,m=64,n=128,k=256 --dtype bf16 --option bias=row,act=none", "big",
                     "asked was option bias=row, not bias=none as in the nearest family, matmul_big");
  expect_no_schedule("matmul --size b=1,m=64,n=128,k=256 --dtype fp32", "small",
                     "asked was machine small, not big; format dtype=fp32, not dtype=bf16; option none, not bias=none,act=none "
                     "as in the nearest family, matmul_big");
  expect_no_schedule("matmul --size b=1,m=64,n=128" REST, "big", "size k is not given");
  expect_no_schedule("matmul --size b=1,m=64,n=128,k=1,q=1" REST, "big", "matmul has no size q");
  expect_no_schedule("matmul --size b=1,m=64,n=1..128,k=1" REST, "big", "n=1..128 is a range; one shape at a time");
  families[1].machine_name = "big";
  expect_no_schedule(shape, "big", "big changed between tunings: name ffff or 0123456789abcdef");
  hone_spec spec;
  hone_library_answer a;
  ck_assert_int_eq(hone_spec_parse(shape, &spec, NULL), HONE_OK);
  hone_library_lookup(&(hone_library){.name = "none"}, &spec, NULL, &a);
  ck_assert_str_eq(a.reason, "the library is empty");
}
END_TEST

/* ---- against a search of everything ----------------------------------------------- */

static bool equal_but(const int64_t *a, const int64_t *b, int n, int axis)
{
  for (int k = 0; k < n; k++)
    if (k != axis && a[k] != b[k]) return false;
  return true;
}

START_TEST(random_libraries_are_searched_whole)
{
  int seen[3] = {0};
  hone_rng r;
  hone_rng_init(&r, 5);
  for (int i = 0; i < 40; i++) {
    hone_library *l = library_random_new(&r, &(library_random_options){"random", 3, 30, true, i % 2});
    for (int q = 0; q < 500 && l->nfamilies > 0; q++) {
      const hone_library_family *f = &l->family[hone_rng_below(&r, l->nfamilies)];
      const int n = f->spec.nsizes;
      int64_t size[HONE_MAX_SIZES] = {0};
      int entry = -1, holds = 0;
      double least = INFINITY;
      hone_spec spec = f->spec;
      hone_library_answer a;
      library_random_query(&r, f, i % 2, size);
      for (int k = 0; k < n; k++) spec.size[k].value = spec.size[k].to = size[k];
      hone_library_lookup(l, &spec, f->machine_hash, &a);
      for (int e = 0; e < f->nentries; e++)
        if (equal_but(f->entry[e].size, size, n, -1)) entry = e;
      for (int v = 0; v < f->nintervals; v++) {
        const hone_library_interval *x = &f->interval[v];
        if (!equal_but(f->entry[x->entry].size, size, n, x->axis) || size[x->axis] < x->lo || size[x->axis] > x->hi) continue;
        holds++;
        if (x->loss_pct < least) least = x->loss_pct;
      }
      seen[a.kind]++;
      ck_assert_int_eq(a.kind, entry >= 0 ? HONE_LOOKUP_EXACT : holds > 0 ? HONE_LOOKUP_NEAR : HONE_LOOKUP_FALLBACK);
      if (entry >= 0) ck_assert_ptr_eq(a.entry, &f->entry[entry]);
      else if (holds > 0) ck_assert(least == INFINITY ? isnan(a.loss_pct) : a.loss_pct == least);
      else ck_assert_ptr_eq(a.schedule, f->fallback);
      ck_assert_int_gt((int)strlen(a.reason), 0);
    }
    hone_library_free(l);
  }
  for (int k = 0; k < 3; k++) ck_assert_int_gt(seen[k], 100);
}
END_TEST

/* ---- differences ------------------------------------------------------------------ */

static void expect_diff(const hone_library *a, const hone_library *b, int n, const char *text)
{
  hone_text t = {0};
  ck_assert_int_eq(hone_library_diff(a, b, &t), n);
  ck_assert_str_eq(t.data, text);
  hone_text_fini(&t);
}

START_TEST(a_diff_names_what_changed)
{
  hone_library_entry e[3] = {entries[0], entries[1], entries[2]};
  hone_library_interval v[5];
  hone_library_family f[2] = {families[0], families[1]};
  hone_library b = library;
  memcpy(v, intervals, sizeof v);
  b.family = f;
  f[0].entry = e;
  f[0].interval = v;
  expect_diff(&library, &b, 0, "no changes\n");
  e[0].cycles = 90;
  e[0].schedule = "tile.1.m=128 at.X.1=2";
  e[0].evidence = HONE_EVIDENCE_SIMULATED;
  e[1].size[1] = 65; /* one gone, one new */
  v[1].hi = 510;
  v[1].loss_pct = 2.5;
  expect_diff(&library, &b, 4,
              "matmul_big\n"
              "  ~ entry b=1,m=64,n=128,k=256  -10.00 % cycles\n"
              "      cycles 100 -> 90\n"
              "      evidence model -> simulated\n"
              "      tile.1.m 64 -> 128\n"
              "      at.X.1 none -> 2\n"
              "  - entry b=1,m=64,n=128,k=512  100 cycles (model), 0.0 % over the default\n"
              "  + entry b=1,m=65,n=128,k=512  100 cycles (model), 0.0 % over the default\n"
              "  ~ intervals m with b=1,n=128,k=256\n"
              "      shapes 3997 -> 3995\n"
              "      intervals not in the other 1 -> 1\n"
              "4 changes: 1 new, 1 gone, 2 different\n");
  b.nfamilies = 0;
  expect_diff(&library, &b, 2, "matmul_big\n  - family\nmatmul_teaching\n  - family\n2 changes: 0 new, 2 gone, 0 different\n");
  expect_diff(&b, &library, 2, "matmul_big\n  + family\nmatmul_teaching\n  + family\n2 changes: 2 new, 0 gone, 0 different\n");
}
END_TEST

/* Whatever the libraries: none against itself, and as many one way as the other. */
START_TEST(diffs_are_symmetric)
{
  hone_rng r;
  hone_rng_init(&r, 7);
  for (int i = 0; i < 30; i++) {
    hone_library *a = library_random_new(&r, &(library_random_options){"a", 4, 12, false, i % 2});
    hone_library *b = library_random_new(&r, &(library_random_options){"b", 4, 12, false, i % 2});
    hone_text t = {0};
    ck_assert_msg(hone_library_diff(a, a, &t) == 0, "%s", t.data);
    hone_text_fini(&t);
    ck_assert_int_eq(hone_library_changes(a, b, NULL, NULL), hone_library_changes(b, a, NULL, NULL));
    hone_library_free(a);
    hone_library_free(b);
  }
}
END_TEST

int main(void)
{
  Suite *s = suite_create("library lookup");
  TCase *t = tcase_create("lookup");
  tcase_add_checked_fixture(t, setup, NULL);
  tcase_add_test(t, exact_near_and_fallback);
  tcase_add_test(t, the_lowest_loss_wins);
  tcase_add_test(t, what_differs_is_said);
  tcase_add_test(t, random_libraries_are_searched_whole);
  suite_add_tcase(s, t);
  t = tcase_create("diff");
  tcase_add_checked_fixture(t, setup, NULL);
  tcase_add_test(t, a_diff_names_what_changed);
  tcase_add_test(t, diffs_are_symmetric);
  suite_add_tcase(s, t);
  return unit_run(s);
}
