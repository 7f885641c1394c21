/* The verifier against damaged programs: one random corruption of a valid one.
 * What the verifier lets pass, the simulator has to run with the same results to
 * the bit. It lets a share of some kinds pass because they change nothing there:
 *   no wait       the order follows from other waits; a copy nobody has used yet
 *   early signal  a later signal of the same stream stands for it as well
 *   predicate     true at every turn anyway: few trips, or a mask bit next to one
 *                 that decides first, or for rotating a single copy
 *   other range   a register with the same range (a dim nothing cuts), or an
 *                 offset between equal starts
 *   no rotation, fewer copies, more credit
 *                 a buffer with fewer visits than copies, or whose reuse is
 *                 ordered by other waits
 *   moved buffer  into memory nothing else uses
 *   wrong step    the step of a deeper tile
 * Nothing else passes at all. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/case_count.h"
#include "tests/lib/cases.h"
#include "tests/unit/unit.h"
#include "backend/backend.h"
#include "base/arena.h"
#include "ir/reference.h"
#include "sim/simulator.h"

enum { SEED = 3, CASES = 250, MUTANTS_PER_KIND = 4 };

/* ---- Kinds of damage; false when the program has no place for it --------------------- */

static hone_insn *pick(hone_rng *r, hone_program *p, bool (*wanted)(const hone_insn *))
{
  int n = 0;
  for (int i = 0; i < p->ninsns; i++) n += wanted(&p->insn[i]);
  if (n == 0) return NULL;
  int64_t k = hone_rng_below(r, n);
  for (int i = 0;; i++)
    if (wanted(&p->insn[i]) && k-- == 0) return &p->insn[i];
}

static bool is_wait(const hone_insn *x) { return x->op == HONE_INSN_WAIT; }
static bool is_signal(const hone_insn *x) { return x->op == HONE_INSN_SIGNAL; }
static bool is_counted(const hone_insn *x) { return (is_wait(x) || x->op == HONE_INSN_EXPECT) && x->n > 0; }
static bool is_rotation(const hone_insn *x) { return (is_wait(x) || x->op == HONE_INSN_EXPECT) && x->b != HONE_NO_BUFFER; }
static bool has_predicate(const hone_insn *x) { return x->when.visit || x->when.edge; }
static bool has_body(const hone_insn *x) { return x->body >= 0; }
static bool is_loop(const hone_insn *x) { return x->op == HONE_INSN_LOOP; }
static bool accumulates(const hone_insn *x) { return x->op == HONE_INSN_MATMUL || x->op == HONE_INSN_REDUCE; }
static bool applies(const hone_insn *x) { return x->op == HONE_INSN_MAP || x->op == HONE_INSN_REDUCE; }

/* The instruction that does nothing: counts 0, rotates nothing. */
static void blank(hone_insn *x)
{
  *x = (hone_insn){.op = HONE_INSN_EXPECT, .b = HONE_NO_BUFFER, .body = -1};
}

static bool no_wait(hone_rng *r, hone_program *p)
{
  hone_insn *x = pick(r, p, is_wait);
  if (x) x->op = HONE_INSN_EXPECT;
  return x;
}

static bool no_signal(hone_rng *r, hone_program *p)
{
  hone_insn *x = pick(r, p, is_signal);
  if (x) blank(x);
  return x;
}

static bool wrong_count(hone_rng *r, hone_program *p)
{
  hone_insn *x = pick(r, p, hone_rng_below(r, 2) ? is_counted : is_signal);
  if (x) x->n += 1 + hone_rng_below(r, 2);
  return x;
}

static bool no_rotation(hone_rng *r, hone_program *p)
{
  hone_insn *x = pick(r, p, is_rotation);
  if (!x || p->buffer[x->b].copies == 1) return false;
  x->b = HONE_NO_BUFFER;
  return true;
}

static bool early_signal(hone_rng *r, hone_program *p)
{
  hone_insn *x = pick(r, p, is_signal);
  if (!x || x == p->insn || x[-1].body < 0) return false;
  hone_insn held = x[-1];
  x[-1] = *x;
  *x = held;
  return true;
}

static bool wrong_predicate(hone_rng *r, hone_program *p)
{
  hone_insn *x = pick(r, p, has_predicate);
  if (!x) return false;
  bool visit = x->when.visit && (!x->when.edge || hone_rng_below(r, 2));
  uint32_t flip = UINT32_C(1) << hone_rng_below(r, 4);
  if (hone_rng_below(r, 2)) *(visit ? &x->when.visit_mask : &x->when.edge_mask) ^= flip;
  else if (visit) x->when.visit = (uint8_t)(HONE_VISIT_NEW + HONE_VISIT_LAST - x->when.visit);
  else x->when.edge = (uint8_t)(1 + (x->when.edge + hone_rng_below(r, 3)) % 4);
  return true;
}

static bool no_predicate(hone_rng *r, hone_program *p)
{
  hone_insn *x = pick(r, p, has_predicate);
  if (x) x->when = (hone_predicate){0};
  return x;
}

/* Keeps bodies in instruction order. */
static bool no_operation(hone_rng *r, hone_program *p)
{
  hone_insn *x = pick(r, p, has_body);
  if (!x) return false;
  int gone = x->body;
  blank(x);
  memmove(p->body + gone, p->body + gone + 1, (size_t)(--p->nbodies - gone) * sizeof *p->body);
  for (int i = 0; i < p->ninsns; i++) p->insn[i].body -= p->insn[i].body > gone;
  return true;
}

static hone_operand *pick_operand(hone_rng *r, hone_program *p)
{
  hone_insn *x = pick(r, p, has_body);
  hone_insn_body *b = &p->body[x->body];
  int64_t k = hone_rng_below(r, b->nreads + 1);
  return k == b->nreads ? &b->write : &b->read[k];
}

static bool other_buffer(hone_rng *r, hone_program *p)
{
  hone_operand *o = pick_operand(r, p);
  if (o->buffer == HONE_NO_BUFFER || p->nbuffers < 2) return false;
  o->buffer = (uint8_t)((o->buffer + 1 + hone_rng_below(r, p->nbuffers - 1)) % p->nbuffers);
  return true;
}

static bool other_range(hone_rng *r, hone_program *p)
{
  hone_operand *o = pick_operand(r, p);
  int64_t a = o->rank ? hone_rng_below(r, o->rank) : -1;
  if (a < 0 || o->inner[a] == HONE_NO_RANGE) return false;
  uint8_t *range = o->buffer != HONE_NO_BUFFER && hone_rng_below(r, 2) ? &o->outer[a] : &o->inner[a];
  uint8_t now = *range;
  *range = (uint8_t)hone_rng_below(r, p->ndims + 2);
  return *range != now && !(range == &o->outer[a] && *range == o->inner[a] && now == HONE_NO_RANGE);
}

static bool wrong_stride(hone_rng *r, hone_program *p)
{
  hone_operand *o = pick_operand(r, p);
  int64_t a = o->rank ? hone_rng_below(r, o->rank) : -1;
  if (a < 0 || o->buffer == HONE_NO_BUFFER) return false;
  o->stride[a] += 1 + (int32_t)hone_rng_below(r, 3);
  return true;
}

static bool wrong_step(hone_rng *r, hone_program *p)
{
  hone_insn *x = pick(r, p, is_loop);
  if (x) x->n += x->n > 1 && hone_rng_below(r, 2) ? -1 : 1;
  return x;
}

static bool wrong_zero(hone_rng *r, hone_program *p)
{
  hone_insn *x = pick(r, p, accumulates);
  if (!x) return false;
  p->body[x->body].zero_mask ^= UINT32_C(1) << hone_rng_below(r, 4);
  return true;
}

/* Another reduction, function, scale or offset. */
static bool wrong_function(hone_rng *r, hone_program *p)
{
  hone_insn *x = pick(r, p, applies);
  if (!x) return false;
  hone_insn_body *b = &p->body[x->body];
  int64_t what = hone_rng_below(r, x->op == HONE_INSN_REDUCE ? 4 : 3);
  if (what == 0) b->apply.scale = b->apply.scale * 2 + 1;
  else if (what == 1) b->apply.offset += 1;
  else if (what == 3) b->reduction = (uint8_t)((b->reduction + 1 + hone_rng_below(r, HONE_REDUCTION_COUNT - 1)) % HONE_REDUCTION_COUNT);
  else {
    hone_function f = b->apply.function;
    do f = (hone_function)((f + 1) % HONE_FUNCTION_COUNT);
    while (hone_function_arity(f) != hone_function_arity(b->apply.function));
    b->apply.function = f;
  }
  return true;
}

static bool moved_buffer(hone_rng *r, hone_program *p)
{
  hone_program_buffer *b = &p->buffer[hone_rng_below(r, p->nbuffers)];
  b->base += hone_rng_below(r, 2) ? b->slot_bytes : -b->slot_bytes;
  return true;
}

static bool fewer_copies(hone_rng *r, hone_program *p)
{
  hone_program_buffer *b = &p->buffer[hone_rng_below(r, p->nbuffers)];
  b->copies = (uint8_t)(b->copies - 1);
  return true;
}

static bool more_credit(hone_rng *r, hone_program *p)
{
  p->semaphore[hone_rng_below(r, p->nsemaphores)].initial++;
  return true;
}

static bool wrong_partial(hone_rng *r, hone_program *p)
{
  hone_insn_body *b = &p->body[pick(r, p, has_body)->body];
  b->partial = !b->partial;
  return true;
}

/* pass_pct: how many may pass; the measured share with some room. */
static const struct {
  const char *name;
  bool (*apply)(hone_rng *, hone_program *);
  int pass_pct;
} kinds[] = {
    {"no wait", no_wait, 15},           {"no signal", no_signal, 0},       {"wrong count", wrong_count, 0},
    {"no rotation", no_rotation, 3},   {"early signal", early_signal, 15}, {"wrong predicate", wrong_predicate, 40},
    {"no predicate", no_predicate, 45}, {"no operation", no_operation, 0}, {"other buffer", other_buffer, 0},
    {"other range", other_range, 20},   {"wrong stride", wrong_stride, 0}, {"wrong step", wrong_step, 5},
    {"wrong zero", wrong_zero, 0},     {"wrong function", wrong_function, 0}, {"moved buffer", moved_buffer, 25}, {"fewer copies", fewer_copies, 35},
    {"more credit", more_credit, 15},   {"wrong partial", wrong_partial, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- The simulator's word --------------------------------------------------------------- */

typedef struct {
  hone_sim_argument args[HONE_MAX_TENSORS];
  size_t bytes[HONE_MAX_TENSORS];
  void *want[HONE_MAX_TENSORS];
} tensors;

static double random_value(hone_rng *r, hone_format f)
{
  return hone_format_is_integer(f) ? (double)(hone_rng_below(r, 11) - 5) : hone_format_round(f, 2 * hone_rng_unit(r) - 1);
}

static void tensors_init(const test_case *c, hone_rng *r, tensors *x)
{
  *x = (tensors){0};
  for (int t = 0; t < c->op.ntensors; t++) {
    int64_t n = hone_tensor_elements(&c->op, t);
    hone_format f = c->op.tensor[t].format;
    x->bytes[t] = (size_t)hone_format_bytes(f, n);
    x->args[t] = (hone_sim_argument){.data = hone_heap_alloc(x->bytes[t], 1), .layout = c->s.layout[t]};
    if (c->op.tensor[t].role != HONE_ROLE_INPUT) continue;
    for (int64_t i = 0; i < n; i++) hone_format_encode(f, random_value(r, f), (char *)x->args[t].data + hone_format_bytes(f, i));
  }
}

static void tensors_fini(const test_case *c, tensors *x)
{
  for (int t = 0; t < c->op.ntensors; t++) {
    free(x->args[t].data);
    free(x->want[t]);
  }
}

static hone_status simulate(const test_case *c, const hone_program *p, tensors *x, hone_err *err)
{
  uint8_t *bytes;
  size_t n;
  hone_sim_result result;
  hone_status st = hone_program_encode(p, &bytes, &n, err);
  if (st) return st;
  for (int t = 0; t < c->op.ntensors; t++)
    if (c->op.tensor[t].role != HONE_ROLE_INPUT) memset(x->args[t].data, 0, x->bytes[t]);
  hone_range *block = hone_sim_blocks(&c->op, &c->m, &c->s);
  hone_sim_options options = {.functional = true};
  st = hone_sim_run(bytes, n, &c->op, &c->m, block, x->args, &options, &result, err);
  if (st == HONE_OK) hone_sim_result_fini(&result);
  free(block);
  free(bytes);
  return st;
}

static void keep_results(const test_case *c, tensors *x)
{
  for (int t = 0; t < c->op.ntensors; t++) {
    if (c->op.tensor[t].role != HONE_ROLE_OUTPUT) continue;
    x->want[t] = hone_heap_alloc(x->bytes[t], 1);
    memcpy(x->want[t], x->args[t].data, x->bytes[t]);
  }
}

static bool same_results(const test_case *c, const tensors *x)
{
  for (int t = 0; t < c->op.ntensors; t++)
    if (x->want[t] && memcmp(x->want[t], x->args[t].data, x->bytes[t]) != 0) return false;
  return true;
}

/* ---- The test ------------------------------------------------------------------------- */

static int made[KINDS], passed[KINDS];

static void damage(const test_case *c, const uint8_t *bytes, size_t n, int kind, hone_rng *r, tensors *x)
{
  hone_program *p;
  hone_err err;
  ck_assert(hone_program_decode(bytes, n, &p, &err) == HONE_OK);
  if (kinds[kind].apply(r, p)) {
    made[kind]++;
    if (hone_backend_verify(p, &c->op, &c->m, &c->s, &err) == HONE_OK) {
      passed[kind]++;
      hone_status st = simulate(c, p, x, &err);
      ck_assert_msg(st == HONE_OK && same_results(c, x), "%s passed the verifier but %s: %s", kinds[kind].name,
                    st ? err.message : "gives other results", c->text);
    }
  }
  hone_program_free(p);
}

static void damage_case(const test_case *c, const uint8_t *bytes, size_t n, uint64_t number)
{
  hone_rng r;
  tensors x;
  hone_err err;
  hone_program *p;
  hone_rng_init(&r, number);
  tensors_init(c, &r, &x);
  ck_assert(hone_program_decode(bytes, n, &p, &err) == HONE_OK);
  ck_assert_msg(hone_backend_verify(p, &c->op, &c->m, &c->s, &err) == HONE_OK, "%s: %s", err.message, c->text);
  ck_assert_msg(simulate(c, p, &x, &err) == HONE_OK, "%s: %s", err.message, c->text);
  keep_results(c, &x);
  for (int k = 0; k < KINDS; k++)
    for (int i = 0; i < MUTANTS_PER_KIND; i++) damage(c, bytes, n, k, &r, &x);
  hone_program_free(p);
  tensors_fini(c, &x);
}

START_TEST(damage_is_refused)
{
  const case_options small = {.max_points = 4096, .max_steps = 400};
  for (int i = 0; i < case_count(CASES); i++) {
    test_case c;
    hone_program *p;
    hone_reason reason;
    hone_err err;
    uint8_t *bytes;
    size_t n;
    if (!case_draw(SEED, (uint64_t)i, &small, &c)) continue;
    ck_assert_msg(hone_backend_compile(&c.op, &c.m, &c.s, &p, &reason, NULL, &err) == HONE_OK, "%s: %s", err.message, c.text);
    if (p) {
      ck_assert(hone_program_encode(p, &bytes, &n, &err) == HONE_OK);
      damage_case(&c, bytes, n, (uint64_t)i);
      free(bytes);
    }
    hone_program_free(p);
    case_fini(&c);
  }
  for (int k = 0; k < KINDS; k++) {
    printf("%-16s %5d made, %4d passed\n", kinds[k].name, made[k], passed[k]);
    if (made[k] < 500 && kinds[k].pass_pct > 0) continue; /* too few to speak of a share */
    ck_assert_msg(passed[k] * 100 <= kinds[k].pass_pct * made[k], "%s: %d of %d passed", kinds[k].name, passed[k], made[k]);
  }
}
END_TEST

int main(void)
{
  Suite *s = suite_create("verifier against damaged programs");
  TCase *t = tcase_create("single corruptions");
  printf("seed %d, %d cases, %d kinds x %d\n", SEED, case_count(CASES), KINDS, MUTANTS_PER_KIND);
  unit_timeout(t, 120);
  tcase_add_test(t, damage_is_refused);
  suite_add_tcase(s, t);
  return unit_run(s);
}
