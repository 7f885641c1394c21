/* Random small opaque spaces against brute force over the raw ranges: what is
 * listed, counted, drawn and neighbouring is exactly what the definitions say.
 * And random operators and machines: everything drawn or moved to is legal.
 * Reproduce one case with CASE=n. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "lib/case_count.h"
#include "spaces/keyset.h"
#include "tests/lib/cases.h"
#include "tests/unit/space_fixture.h"
#include "tests/unit/unit.h"

enum { CASES = 250, REAL_CASES = 60, MAX_WIDTH = 4, LARGEST = 8, DRAWS = 200, MOST_DRAWS = 5000, REACHABLE = 40 };

/* ---- clauses with their meaning written by definition ---- */

typedef struct {
  const char *text; /* of an item for parameter i; %c is the parameter before, %d a number */
  bool before;      /* reads the parameter before */
  bool (*has)(int64_t v, int64_t before, int64_t k);
} clause_kind;

static bool has_quotient(int64_t v, int64_t e, int64_t k)
{
  (void)k;
  return v >= 1 && v <= e && (v == 1 || hone_ceil_div(e, v - 1) > hone_ceil_div(e, v));
}
static bool has_divisor(int64_t v, int64_t e, int64_t k) { return (void)k, v >= 1 && e % v == 0; }
static bool has_power(int64_t v, int64_t b, int64_t k)
{
  (void)b;
  while (v > 0 && v % 2 == 0 && v != k) v /= 2;
  return v == k;
}
static bool has_multiple(int64_t v, int64_t b, int64_t k) { return (void)b, v % k == 0; }
static bool has_range(int64_t v, int64_t b, int64_t k) { return v >= k && v <= b; }
static bool has_listed(int64_t v, int64_t b, int64_t k) { return v == b || v == k || v == b + k; }

static const clause_kind clauses[] = {
    {"quotients: %c", true, has_quotient},      {"divisors: %c", true, has_divisor},
    {"powers: {of: 2, times: %d}", false, has_power}, {"multiples: %d", false, has_multiple},
    {"range: {from: %d, to: %c}", true, has_range},   {"list: [%c, %d, %c + %d]", true, has_listed},
};

typedef struct {
  const char *text; /* over a, b and number k */
  bool (*holds)(int64_t a, int64_t b, int64_t k);
} constraint_kind;

static bool holds_sum(int64_t a, int64_t b, int64_t k) { return a + b <= k; }
static bool holds_mod(int64_t a, int64_t b, int64_t k) { return a % b == 0 || a == k; }
static bool holds_not(int64_t a, int64_t b, int64_t k) { return a != b && a * b > k; }
static bool holds_if(int64_t a, int64_t b, int64_t k) { return a > b ? hone_ceil_div(a, b) < k : b <= k; }
static bool holds_fault(int64_t a, int64_t b, int64_t k) { return a != b && k / (a > b ? a - b : b - a) < 4; }

static const constraint_kind constraints[] = {
    {"%a + %b <= %k", holds_sum},
    {"%a % %b == 0 or %a == %k", holds_mod},
    {"not (%a == %b) and %a * %b > %k", holds_not},
    {"if(%a > %b, ceildiv(%a, %b) < %k, %b <= %k)", holds_if},
    {"%k / (max(%a, %b) - min(%a, %b)) < 4", holds_fault},
};

typedef struct {
  int width;
  int64_t high;
  int clause[MAX_WIDTH]; /* -1: none */
  int64_t clause_k[MAX_WIDTH];
  int nconstraints, kind[3], a[3], b[3];
  int64_t k[3];
} small_space;

static void add_clause(const small_space *x, int i, hone_text *out)
{
  hone_text_add(out, "  - parameter: %c\n    values:\n    - ", 'a' + i);
  for (const char *p = clauses[x->clause[i]].text; *p; p++)
    if (p[0] == '%') {
      if (*++p == 'c')
        hone_text_add(out, "%c", 'a' + i - 1);
      else
        hone_text_add(out, "%d", (int)x->clause_k[i]);
    } else
      hone_text_add_bytes(out, p, 1);
  hone_text_add(out, "\n");
}

static void add_constraint(const small_space *x, int c, hone_text *out)
{
  hone_text_add(out, "  - name: c%d\n    require: \"", c);
  for (const char *p = constraints[x->kind[c]].text; *p; p++)
    if (p[0] == '%' && (p[1] == 'a' || p[1] == 'b'))
      hone_text_add(out, "%c", 'a' + (*++p == 'a' ? x->a[c] : x->b[c]));
    else if (p[0] == '%' && p[1] == 'k')
      hone_text_add(out, "%d", (int)x->k[c]), p++;
    else
      hone_text_add_bytes(out, p, 1);
  hone_text_add(out, "\"\n");
}

static void draw_space(uint64_t number, small_space *x, hone_text *text)
{
  hone_rng rng;
  hone_rng_init(&rng, number);
  *x = (small_space){.width = 1 + (int)hone_rng_below(&rng, MAX_WIDTH), .high = 1 + hone_rng_below(&rng, LARGEST)};
  hone_text_add(text, "space:\n  domains:\n");
  for (int i = 0; i < x->width; i++) {
    x->clause[i] = (int)hone_rng_below(&rng, 7) - 1;
    x->clause_k[i] = 1 + hone_rng_below(&rng, 3);
    if (x->clause[i] >= 0 && clauses[x->clause[i]].before && i == 0) x->clause[i] = -1;
    if (x->clause[i] >= 0) add_clause(x, i, text);
  }
  hone_text_add(text, "  - {parameter: a, values: [range: {}]}\n  constraints:\n");
  hone_text_add(text, "  - {name: true, require: 1}\n");
  x->nconstraints = (int)hone_rng_below(&rng, 3);
  for (int c = 0; c < x->nconstraints; c++) {
    x->kind[c] = (int)hone_rng_below(&rng, 5);
    x->a[c] = (int)hone_rng_below(&rng, x->width);
    x->b[c] = (int)hone_rng_below(&rng, x->width);
    x->k[c] = 1 + hone_rng_below(&rng, 12);
    add_constraint(x, c, text);
  }
}

/* ---- the definition ---- */

static bool in_domains(const small_space *x, const int64_t *v)
{
  for (int i = 0; i < x->width; i++)
    if (x->clause[i] >= 0 && !clauses[x->clause[i]].has(v[i], i > 0 ? v[i - 1] : 0, x->clause_k[i])) return false;
  return true;
}

static bool satisfies(const small_space *x, const int64_t *v)
{
  for (int c = 0; c < x->nconstraints; c++)
    if (!constraints[x->kind[c]].holds(v[x->a[c]], v[x->b[c]], x->k[c])) return false;
  return true;
}

/* A constraint on one parameter narrows its domain. */
static bool satisfies_single(const small_space *x, const int64_t *v)
{
  for (int c = 0; c < x->nconstraints; c++)
    if (x->a[c] == x->b[c] && !constraints[x->kind[c]].holds(v[x->a[c]], v[x->b[c]], x->k[c])) return false;
  return true;
}

/* Every assignment of 1..high, the last parameter fastest. */
static bool next_raw(const small_space *x, int64_t *v)
{
  for (int i = x->width - 1; i >= 0; i--) {
    if (++v[i] <= x->high) return true;
    v[i] = 1;
  }
  return false;
}

typedef struct {
  int64_t points, legal;
  int64_t *list; /* legal, in order */
} truth;

static void work_out(const small_space *x, truth *t)
{
  int64_t v[MAX_WIDTH] = {1, 1, 1, 1}, room = 1;
  for (int i = 0; i < x->width; i++) room *= x->high;
  *t = (truth){.list = hone_heap_alloc((size_t)(room * x->width), sizeof *t->list)};
  do {
    bool in = in_domains(x, v) && satisfies_single(x, v);
    t->points += in;
    if (in && satisfies(x, v)) memcpy(t->list + t->legal++ * x->width, v, (size_t)x->width * sizeof *v);
  } while (next_raw(x, v));
}

static void check_walk(const space_fixture *f, const small_space *x, const truth *t, uint64_t number)
{
  int64_t v[HONE_SPACE_PARAMETERS], n = 0;
  hone_space_walk *w = hone_space_walk_new(f->s);
  while (hone_space_walk_next(w, v)) {
    ck_assert_msg(n < t->legal && memcmp(v, t->list + n * x->width, (size_t)x->width * sizeof *v) == 0,
                  "CASE=%llu: point %lld differs from brute force", (unsigned long long)number, (long long)n);
    n++;
  }
  ck_assert_msg(n == t->legal && hone_space_walk_at_end(w), "CASE=%llu: %lld points walked, %lld legal", (unsigned long long)number,
                (long long)n, (long long)t->legal);
  hone_space_walk_free(w);
}

static void check_count(const space_fixture *f, const truth *t, const char *text, uint64_t number)
{
  hone_space_count c;
  char points[32];
  hone_space_count_run(f->s, 1000000, 1, &c);
  snprintf(points, sizeof points, "%lld", (long long)t->points);
  ck_assert_msg(strcmp(c.points, points) == 0, "CASE=%llu: %s points, brute force %s\n%s", (unsigned long long)number, c.points, points, text);
  ck_assert_msg(c.counted && c.legal == t->legal && c.schedules == t->legal, "CASE=%llu: %lld legal, brute force %lld",
                (unsigned long long)number, (long long)c.legal, (long long)t->legal);
  ck_assert_int_eq(c.state, t->legal > 0 ? HONE_SPACE_HAS_LEGAL : HONE_SPACE_PROVEN_EMPTY);
  hone_space_count_fini(&c);
}

/* Draws are legal, and reach every point. */
static void check_draws(const space_fixture *f, const small_space *x, const truth *t, uint64_t number)
{
  int64_t v[HONE_SPACE_PARAMETERS];
  hone_keyset seen = {0};
  hone_rng rng;
  hone_rng_init(&rng, number);
  bool all = false; /* few enough that every one must come out */
  for (int k = 0; k < DRAWS || (k < MOST_DRAWS && t->legal <= REACHABLE && !all); k++) {
    bool got = hone_space_sample(f->s, &rng, 20, v);
    ck_assert_msg(!got || (in_domains(x, v) && satisfies(x, v)), "CASE=%llu: an illegal draw", (unsigned long long)number);
    if (got) hone_keyset_add(&seen, hone_space_key(f->s, v));
    all = (int64_t)seen.count == t->legal;
  }
  ck_assert_msg(t->legal > REACHABLE || all, "CASE=%llu: %zu of %lld points drawn", (unsigned long long)number,
                seen.count, (long long)t->legal);
  hone_keyset_fini(&seen);
}

/* Neighbours of one point: legal, distinct, and without dependent domains exactly
 * the legal points that differ in one value (domains here are small). */
static void check_neighbours(const space_fixture *f, const small_space *x, const truth *t, uint64_t number)
{
  if (t->legal == 0) return;
  const int64_t *from = t->list + (int64_t)(number % (uint64_t)t->legal) * x->width;
  int64_t *near, n, expected = 0;
  bool fixed = true;
  for (int i = 0; i < x->width; i++) fixed &= x->clause[i] < 0 || !clauses[x->clause[i]].before;
  hone_space_neighbours(f->s, from, &near, &n);
  for (int64_t k = 0; k < n; k++)
    ck_assert_msg(in_domains(x, near + k * x->width) && satisfies(x, near + k * x->width), "CASE=%llu: an illegal neighbour",
                  (unsigned long long)number);
  for (int64_t k = 0; k < t->legal; k++) {
    int differs = 0;
    for (int i = 0; i < x->width; i++) differs += t->list[k * x->width + i] != from[i];
    expected += differs == 1;
  }
  ck_assert_msg(!fixed || n == expected, "CASE=%llu: %lld neighbours, %lld expected", (unsigned long long)number, (long long)n,
                (long long)expected);
  free(near);
}

static void check_case(uint64_t number)
{
  small_space x;
  truth t;
  space_fixture f;
  hone_text text = {0};
  draw_space(number, &x, &text);
  work_out(&x, &t);
  hone_status st = fixture_opaque(&f, x.width, 1, x.high, text.data);
  if (st == HONE_OK) {
    check_walk(&f, &x, &t, number);
    check_count(&f, &t, text.data, number);
    check_draws(&f, &x, &t, number);
    check_neighbours(&f, &x, &t, number);
  } else
    ck_assert_msg(st == HONE_INFEASIBLE && t.legal == 0, "CASE=%llu: %s\n%s", (unsigned long long)number, f.err.message, text.data);
  fixture_close(&f);
  free(t.list);
  hone_text_fini(&text);
}

START_TEST(small_spaces_match_brute_force)
{
  const char *one = getenv("CASE");
  if (one) check_case(strtoull(one, NULL, 10));
  for (uint64_t i = 1; i <= (uint64_t)case_count(CASES) && !one; i++) check_case(i);
}
END_TEST

/* ---- real operators on random machines ---- */

static void check_real(uint64_t number)
{
  test_case c;
  hone_err err;
  hone_rng rng;
  hone_space *s;
  hone_space_why why;
  int64_t a[HONE_SPACE_PARAMETERS], b[HONE_SPACE_PARAMETERS], *near, n;
  hone_space_source source = {HONE_SRCDIR "/spaces/template.yaml", NULL};
  if (!case_draw(7, number, NULL, &c)) return;
  hone_rng_init(&rng, number);
  hone_err_init(&err);
  ck_assert_msg(hone_space_new(&c.op, &c.m, &c.params, &source, 1, &s, &err) == HONE_OK, "CASE=%llu: %s", (unsigned long long)number,
                err.message);
  for (int k = 0; k < 10; k++) {
    ck_assert_msg(hone_space_sample(s, &rng, 50, a), "CASE=%llu: no draw succeeds", (unsigned long long)number);
    ck_assert_msg(hone_space_check(s, a, &why) == HONE_REASON_NONE, "CASE=%llu: draw: %s", (unsigned long long)number, why.text);
    if (!hone_space_mutate(s, &rng, a, b)) continue;
    ck_assert_msg(hone_space_check(s, b, &why) == HONE_REASON_NONE, "CASE=%llu: mutation: %s", (unsigned long long)number, why.text);
    ck_assert(hone_hash_cmp(hone_space_key(s, a), hone_space_key(s, b)) != 0);
  }
  hone_space_neighbours(s, a, &near, &n);
  for (int64_t k = 0; k < n; k++)
    ck_assert_msg(hone_space_check(s, near + k * c.params.n, &why) == HONE_REASON_NONE, "CASE=%llu: neighbour: %s",
                  (unsigned long long)number, why.text);
  free(near);
  hone_space_free(s);
  case_fini(&c);
}

START_TEST(real_spaces_stay_legal)
{
  for (uint64_t i = 1; i <= (uint64_t)case_count(REAL_CASES); i++) check_real(i);
}
END_TEST

/* A space of a real operator small enough to try: the walk lists each schedule
 * once, and only legal ones; sampling reaches all of them. */
START_TEST(small_real_space_is_reached)
{
  static const char text[] = "space:\n"
                             "  domains:\n"
                             "  - {parameter: 'at.{tensor}.{level}', foreach: [tensor, level], values: [choices: [bypass, 2, 4]]}\n"
                             "  - {parameter: 'depth.{tensor}.{level}', foreach: [tensor, level], values: [list: [1]]}\n"
                             "  - {parameter: 'order.{level}', foreach: level, values: [permutations: [[b, m, n, k], [b, k, n, m]]]}\n"
                             "  - {parameter: 'split.core.{dim}', foreach: dim, values: [list: [1]]}\n"
                             "  - {parameter: map.product, values: [choices: ['k,n']]}\n"
                             "  - {parameter: layout.W, values: [list: [0]]}\n"
                             "  - {parameter: dataflow.product, values: [choices: [ws]]}\n";
  space_fixture f;
  hone_keyset listed = {0}, drawn = {0};
  int64_t v[HONE_SPACE_PARAMETERS];
  hone_space_count c;
  hone_rng rng;
  fixture_load(&f, "teaching", 2, 1, 4, HONE_FORMAT_BF16);
  ck_assert_msg(fixture_open(&f, text) == HONE_OK, "%s", f.err.message);
  hone_space_walk *w = hone_space_walk_new(f.s);
  while (hone_space_walk_next(w, v)) {
    ck_assert_int_eq(hone_space_check(f.s, v, NULL), HONE_REASON_NONE);
    ck_assert(hone_keyset_add(&listed, hone_space_key(f.s, v)));
  }
  hone_space_walk_free(w);
  hone_space_count_run(f.s, 1000000, 1, &c);
  ck_assert(c.counted && c.schedules == (int64_t)listed.count && c.legal >= c.schedules && c.schedules > 50);
  hone_space_count_fini(&c);
  hone_rng_init(&rng, 3);
  for (int k = 0; k < 100000 && drawn.count < listed.count; k++) {
    ck_assert(hone_space_sample(f.s, &rng, 50, v));
    ck_assert(hone_keyset_has(&listed, hone_space_key(f.s, v)));
    hone_keyset_add(&drawn, hone_space_key(f.s, v));
  }
  ck_assert_msg(drawn.count == listed.count, "%zu of %zu schedules drawn", drawn.count, listed.count);
  hone_keyset_fini(&listed);
  hone_keyset_fini(&drawn);
  fixture_close(&f);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("space enumeration");
  TCase *t = tcase_create("space enumeration");
  unit_timeout(t, 120);
  tcase_add_test(t, small_spaces_match_brute_force);
  tcase_add_test(t, real_spaces_stay_legal);
  tcase_add_test(t, small_real_space_is_reached);
  suite_add_tcase(s, t);
  return unit_run(s);
}
