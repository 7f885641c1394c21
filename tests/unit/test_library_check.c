/* Costing a library's schedules again and checking a library against the operators
 * and machines of now: one family of matmul on the teaching machine, made by hand
 * with true figures, then spoilt in one place after the other. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cost/model.h"
#include "library/library.h"
#include "unit/unit.h"

#define MATMUL HONE_SRCDIR "/spaces/matmul.yaml"
#define TEACHING HONE_SRCDIR "/data/machines/teaching.yaml"

static hone_err err;
static hone_machine machine;
static hone_operator op; /* m=48,n=64,k=64 */
static hone_arena *arena;
static hone_library library;
static hone_library_family family;
static hone_library_entry entry;
static hone_library_interval interval;
static hone_library_evaluator evaluator;

static void load(int64_t m, hone_operator *out)
{
  const hone_size sizes[] = {{"m", m}, {"n", 64}, {"k", 64}};
  const hone_format_choice format = {NULL, HONE_FORMAT_INT8};
  ck_assert_msg(hone_operator_load(MATMUL, sizes, 3, &format, 1, NULL, 0, out, &err) == HONE_OK, "%s", err.message);
}

static int64_t model_cycles(const hone_operator *at, const hone_schedule *s)
{
  hone_model *model;
  hone_cost cost;
  ck_assert_int_eq(hone_model_new(at, &machine, &model, &err), HONE_OK);
  ck_assert_int_eq(hone_model_evaluate(model, s, &cost), HONE_REASON_NONE);
  hone_model_free(model);
  return cost.cycles;
}

static const char *print(const hone_operator *at, const hone_schedule *s)
{
  hone_params params;
  hone_text t = {0};
  ck_assert_int_eq(hone_params_new(at, &machine, &params, &err), HONE_OK);
  hone_schedule_print(at, &machine, &params, s, &t);
  const char *copy = hone_arena_strdup(arena, t.data);
  hone_text_fini(&t);
  hone_params_free(&params);
  return copy;
}

/* The default, but with the whole output in the accumulators: there is room for it at
 * m=48, and none at m=4096. */
static const char *resident(void)
{
  static const struct {
    const char *name;
    int64_t value;
  } rows[] = {{"at.Y.1", 0}, {"at.Y.2", 0}, {"depth.Y.2", 1}};
  hone_params params;
  hone_schedule s;
  ck_assert_int_eq(hone_params_new(&op, &machine, &params, &err), HONE_OK);
  ck_assert_int_eq(hone_schedule_default(&op, &machine, &s, &err), HONE_OK);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int k = hone_params_find(&params, rows[i].name);
    ck_assert_int_ge(k, 0);
    hone_param_set(&params.param[k], &s, rows[i].value);
  }
  hone_params_free(&params);
  hone_schedule_normalize(&op, &machine, &s);
  entry.model_cycles = model_cycles(&op, &s);
  return print(&op, &s);
}

static void setup(void)
{
  hone_schedule s;
  arena = hone_arena_new();
  ck_assert_msg(hone_machine_load(TEACHING, &machine, &err) == HONE_OK, "%s", err.message);
  load(48, &op);
  ck_assert_int_eq(hone_schedule_default(&op, &machine, &s, &err), HONE_OK);
  interval = (hone_library_interval){.entry = 0, .axis = 1, .lo = 48, .hi = 48, .loss_at = 48};
  entry = (hone_library_entry){.schedule = print(&op, &s), .evaluator = "model", .evaluator_version = 7};
  for (int k = 0; k < op.spec.nsizes; k++) entry.size[k] = op.spec.size[k].value;
  entry.by_default = entry.schedule;
  entry.cycles = entry.model_cycles = entry.default_cycles = entry.default_model_cycles = model_cycles(&op, &s);
  hone_hash_print(hone_operator_hash(&op), entry.operator_hash);
  family = (hone_library_family){.spec = op.spec, .id = "matmul_int8_on_teaching", .machine_name = machine.name, .nentries = 1,
                                 .entry = &entry, .nintervals = 1, .interval = &interval};
  hone_hash_print(hone_machine_hash(&machine), family.machine_hash);
  hone_library_make_fallback(arena, MATMUL, &op.spec, &machine, &family);
  evaluator = (hone_library_evaluator){"model", 7, HONE_EVIDENCE_MODEL};
  library = (hone_library){.name = "test", .nfamilies = 1, .family = &family, .nevaluators = 1, .evaluator = &evaluator};
}

static void teardown(void) { hone_arena_free(arena); }

/* ---- costing again ------------------------------------------------------------------ */

START_TEST(a_schedule_is_costed_where_it_is_asked_for)
{
  static const int64_t shapes[] = {1, 7, 40, 47, 48};
  int legal = 0;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    hone_operator asked;
    hone_schedule s, by_default;
    hone_library_cost c;
    hone_bound bound;
    load(shapes[i], &asked);
    ck_assert_msg(hone_library_recost(entry.schedule, &op, &asked, &machine, &c, &err) == HONE_OK, "%s", err.message);
    ck_assert_int_eq(hone_schedule_default(&op, &machine, &s, &err), HONE_OK); /* what entry.schedule says */
    hone_schedule_fit(&asked, &machine, &s);
    ck_assert_int_eq(hone_schedule_default(&asked, &machine, &by_default, &err), HONE_OK);
    ck_assert_int_eq(hone_bound_cycles(&asked, &machine, &bound, &err), HONE_OK);
    ck_assert_int_eq(c.default_cycles, model_cycles(&asked, &by_default));
    ck_assert_int_eq(c.bound_cycles, bound.cycles);
    ck_assert_int_eq(c.why.reason, hone_schedule_check(&asked, &machine, &s, NULL));
    if (c.why.reason != HONE_REASON_NONE) continue;
    legal++;
    ck_assert_int_eq(c.cycles, model_cycles(&asked, &s));
    ck_assert_str_eq(print(&asked, &c.schedule), print(&asked, &s));
  }
  ck_assert_int_gt(legal, 2);
}
END_TEST

START_TEST(what_is_not_legal_there_says_why)
{
  hone_operator asked;
  hone_library_cost c;
  load(4096, &asked);
  ck_assert_int_eq(hone_library_recost(resident(), &op, &asked, &machine, &c, &err), HONE_OK);
  ck_assert_int_ne(c.why.reason, HONE_REASON_NONE);
  ck_assert_int_eq(c.cycles, -1);
  ck_assert_int_gt(c.default_cycles, 0);
  ck_assert_int_gt((int)strlen(c.why.text), 0);
  ck_assert_int_ne(hone_library_recost("tile.1.m=48", &op, &op, &machine, &c, &err), HONE_OK);
}
END_TEST

/* ---- checking ----------------------------------------------------------------------- */

static const char *operator_file = MATMUL, *machine_file = TEACHING;

static hone_status find_operator(void *arg, const char *name, char *path, size_t n, hone_err *e)
{
  (void)arg;
  ck_assert_str_eq(name, "matmul");
  if (!operator_file) return hone_err_set(e, HONE_INPUT, "operator.unknown", "no operator named '%s'", name);
  snprintf(path, n, "%s", operator_file);
  return HONE_OK;
}

static hone_status find_machine(void *arg, const char *name, char *path, size_t n, hone_err *e)
{
  (void)arg;
  (void)e;
  ck_assert_str_eq(name, "teaching");
  snprintf(path, n, "%s", machine_file);
  return HONE_OK;
}

static hone_text found; /* "E code subject\n" of each */

static void note(void *arg, const hone_library_finding *f)
{
  (void)arg;
  ck_assert_str_eq(f->family, strcmp(f->code, "library.stale-evaluator") == 0 ? "" : family.id);
  ck_assert_int_gt((int)strlen(f->message), 0);
  hone_text_add(&found, "%c %s %s\n", f->error ? 'E' : 'W', f->code, f->subject);
}

static void expect(const char *text, int errors, int warnings)
{
  const hone_library_evaluator model = {"model", 7, HONE_EVIDENCE_MODEL};
  const hone_library_source source = {.evaluator = &model, .nevaluators = 1, .find_operator = find_operator, .find_machine = find_machine};
  hone_library_checked c;
  hone_text_add(&found, "%s", "");
  hone_library_check(&library, &source, note, NULL, &c);
  ck_assert_str_eq(found.data, text);
  ck_assert_int_eq(c.errors, errors);
  ck_assert_int_eq(c.warnings, warnings);
  ck_assert_int_eq(c.families, 1);
  hone_text_fini(&found);
  found = (hone_text){0};
}

#define ENTRY "entry b=1,m=48,n=64,k=64\n"

START_TEST(what_holds_is_found_sound)
{
  expect("", 0, 0);
  library.nfamilies = library.nevaluators = 0;
  const hone_library_source none = {0};
  hone_library_checked c;
  hone_library_check(&library, &none, NULL, NULL, &c);
  ck_assert_int_eq(c.families + c.errors + c.warnings + c.entries, 0);
}
END_TEST

START_TEST(what_does_not_hold_is_found)
{
  entry.model_cycles++;
  expect("W library.other-cycles " ENTRY, 0, 1);
  entry.model_cycles--;
  evaluator.version = 6;
  expect("W library.stale-evaluator \n", 0, 1);
  evaluator = (hone_library_evaluator){"abacus", 7, HONE_EVIDENCE_MODEL};
  expect("W library.stale-evaluator \n", 0, 1);
  evaluator = (hone_library_evaluator){"model", 7, HONE_EVIDENCE_MODEL};
  entry.operator_hash[0] ^= 1;
  expect("E library.stale-operator " ENTRY, 1, 0);
  entry.operator_hash[0] ^= 1;
  entry.schedule = "tile.1.m=48";
  expect("E library.schedule " ENTRY "E library.schedule near b=1,m=48,n=64,k=64\n", 2, 0);
  entry.schedule = entry.by_default;
  family.machine_hash[3] ^= 1;
  expect("E library.stale-machine \n", 1, 0);
  family.machine_hash[3] ^= 1;
  operator_file = NULL;
  expect("W library.absent \n", 0, 1);
  operator_file = MATMUL;
  entry.schedule = resident();
  interval.lo = interval.hi = interval.loss_at = 4096;
  expect("E library.illegal near b=1,m=4096,n=64,k=64\n", 1, 0);
  entry.schedule = entry.by_default;
  entry.model_cycles = entry.default_model_cycles;
  interval.lo = interval.hi = interval.loss_at = 48;
  expect("", 0, 0);
}
END_TEST

/* An interval whose schedule is legal but beaten by the default at its end, or within, where the loss is largest. */
START_TEST(near_answers_worse_than_the_default_are_found)
{
  entry.schedule = family.fallback; /* granules: slow wherever the default is not the same */
  hone_schedule s;
  hone_library_cost c;
  hone_operator at;
  ck_assert_int_eq(hone_library_operator(&family, family.fallback_size, MATMUL, &at, &err), HONE_OK);
  ck_assert_int_eq(hone_library_recost(family.fallback, &at, &op, &machine, &c, &err), HONE_OK);
  s = c.schedule;
  entry.schedule = print(&op, &s);
  entry.model_cycles = c.cycles;
  ck_assert_int_gt(c.cycles, c.default_cycles);
  interval.lo = interval.hi = 48;
  expect("E library.near-worse near b=1,m=48,n=64,k=64\n", 1, 0);
  interval.lo = 46;
  interval.loss_at = 47;
  expect("E library.near-worse near b=1,m=46,n=64,k=64\nE library.near-worse near b=1,m=48,n=64,k=64\n"
         "E library.near-worse near b=1,m=47,n=64,k=64\n", 3, 0);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("library check");
  TCase *t = tcase_create("cost");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, a_schedule_is_costed_where_it_is_asked_for);
  tcase_add_test(t, what_is_not_legal_there_says_why);
  suite_add_tcase(s, t);
  t = tcase_create("check");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, what_holds_is_found_sound);
  tcase_add_test(t, what_does_not_hold_is_found);
  tcase_add_test(t, near_answers_worse_than_the_default_are_found);
  suite_add_tcase(s, t);
  return unit_run(s);
}
