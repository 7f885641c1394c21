/* Random legal schedules through the backend: they compile but for a counted
 * share (DESIGN section 6 line 19), decode is the inverse of encode, the verifier
 * accepts every program; with few semaphores the shared ones are right too; and
 * damaged bytes never do harm. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/case_count.h"
#include "tests/lib/cases.h"
#include "tests/unit/unit.h"
#include "backend/backend.h"
#include "base/hash.h"

enum { SEED = 11, CASES = 1500, FEW_CASES = 700, FLIP_CASES = 60, FLIPS = 60, CHECKSUM_AT = 8, PAYLOAD_AT = 16 };

static hone_program *compile(const test_case *c)
{
  hone_program *p;
  hone_reason reason;
  hone_why why;
  hone_err err;
  ck_assert_msg(hone_backend_compile(&c->op, &c->m, &c->s, &p, &reason, &why, &err) == HONE_OK, "%s: %s", err.message, c->text);
  ck_assert_msg((p == NULL) == (reason != HONE_REASON_NONE), "reason %s: %s", hone_reason_code(reason), c->text);
  if (reason) ck_assert_msg(why.reason == reason && why.have > why.limit && why.text[0], "no numbers: %s", c->text);
  return p;
}

static hone_program *through_bytes(const test_case *c, const hone_program *p)
{
  uint8_t *bytes, *again;
  size_t n, m;
  hone_program *q;
  hone_err err;
  ck_assert_msg(hone_program_encode(p, &bytes, &n, &err) == HONE_OK, "%s: %s", err.message, c->text);
  ck_assert_msg(hone_program_decode(bytes, n, &q, &err) == HONE_OK, "%s: %s", err.message, c->text);
  ck_assert_msg(hone_program_encode(q, &again, &m, &err) == HONE_OK, "%s: %s", err.message, c->text);
  ck_assert_msg(n == m && memcmp(bytes, again, n) == 0, "decode is not the inverse of encode: %s", c->text);
  free(bytes);
  free(again);
  return q;
}

static void verify(const test_case *c, const hone_program *p)
{
  hone_err err;
  ck_assert_msg(hone_backend_verify(p, &c->op, &c->m, &c->s, &err) == HONE_OK, "[%s] %s: %s", err.code, err.message, c->text);
}

START_TEST(schedules_compile_and_verify)
{
  int drawn = 0, refused = 0, wanted = case_count(CASES);
  for (uint64_t i = 0; drawn < wanted; i++) {
    test_case c;
    if (!case_draw(SEED, i, NULL, &c)) continue;
    drawn++;
    hone_program *p = compile(&c);
    if (p) {
      hone_program *q = through_bytes(&c, p);
      verify(&c, q);
      hone_program_free(q);
    }
    refused += !p;
    hone_program_free(p);
    case_fini(&c);
  }
  printf("%d of %d legal schedules could not be allocated\n", refused, drawn);
  ck_assert_msg(refused * 100 <= drawn, "%d of %d legal schedules could not be allocated", refused, drawn);
}
END_TEST

START_TEST(few_semaphores)
{
  int shared = 0, drawn = case_count(FEW_CASES);
  for (int i = 0; i < drawn; i++) {
    test_case c;
    if (!case_draw(SEED + 1, (uint64_t)i, NULL, &c)) continue;
    hone_program *all = compile(&c);
    for (int n = all ? all->nsemaphores - 1 : 0; n > 0; n--) {
      c.m.sequencer.semaphores = n;
      hone_program *p = compile(&c);
      if (!p) break;
      shared++;
      ck_assert_int_le(p->nsemaphores, n);
      verify(&c, p);
      hone_program_free(p);
    }
    hone_program_free(all);
    case_fini(&c);
  }
  ck_assert_int_gt(shared, drawn / 10);
}
END_TEST

static void seal(uint8_t *bytes, size_t n)
{
  uint64_t sum = hone_hash_bytes(bytes + PAYLOAD_AT, n - PAYLOAD_AT).lo;
  for (int i = 0; i < 8; i++) bytes[CHECKSUM_AT + i] = (uint8_t)(sum >> (8 * i));
}

/* With a right checksum, so that the decoder itself has to stand it. */
static int flip(const test_case *c, const uint8_t *bytes, size_t n, hone_rng *r)
{
  uint8_t *bad = malloc(n), *again;
  hone_program *p;
  hone_err err;
  size_t m;
  memcpy(bad, bytes, n);
  for (int64_t k = hone_rng_below(r, 3); k >= 0; k--) bad[PAYLOAD_AT + hone_rng_below(r, (int64_t)n - PAYLOAD_AT)] = (uint8_t)hone_rng_next(r);
  size_t length = hone_rng_below(r, 8) == 0 ? (size_t)hone_rng_below(r, (int64_t)n + 1) : n;
  if (length >= PAYLOAD_AT) seal(bad, length);
  bool decoded = hone_program_decode(bad, length, &p, &err) == HONE_OK;
  if (decoded) {
    hone_text text = {0};
    ck_assert(hone_program_encode(p, &again, &m, &err) == HONE_OK && m == length && memcmp(again, bad, m) == 0);
    hone_program_print(p, &text);
    hone_backend_verify(p, &c->op, &c->m, &c->s, &err); /* whatever it says, it returns */
    hone_text_fini(&text);
    hone_program_free(p);
    free(again);
  }
  free(bad);
  return decoded;
}

START_TEST(damaged_bytes)
{
  const case_options small = {.max_steps = 300, .max_points = 4096};
  int decoded = 0, drawn = case_count(FLIP_CASES);
  for (int i = 0; i < drawn; i++) {
    test_case c;
    uint8_t *bytes;
    size_t n;
    hone_rng r;
    hone_err err;
    if (!case_draw(SEED + 2, (uint64_t)i, &small, &c)) continue;
    hone_rng_init(&r, (uint64_t)i);
    hone_program *p = compile(&c);
    if (p) {
      ck_assert(hone_program_encode(p, &bytes, &n, &err) == HONE_OK);
      bytes[PAYLOAD_AT] ^= 1;
      hone_program *q;
      ck_assert(hone_program_decode(bytes, n, &q, &err) == HONE_INPUT);
      ck_assert_str_eq(err.code, "program.checksum");
      bytes[PAYLOAD_AT] ^= 1;
      for (int k = 0; k < FLIPS; k++) decoded += flip(&c, bytes, n, &r);
      free(bytes);
    }
    hone_program_free(p);
    case_fini(&c);
  }
  ck_assert_int_gt(decoded, drawn);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("backend on random schedules");
  TCase *t = tcase_create("random cases");
  printf("seed %d, %d cases\n", SEED, case_count(CASES));
  unit_timeout(t, 120);
  tcase_add_test(t, schedules_compile_and_verify);
  tcase_add_test(t, few_semaphores);
  tcase_add_test(t, damaged_bytes);
  suite_add_tcase(s, t);
  return unit_run(s);
}
