/* base/arena and base/checked: alignment, zeroing, reuse; 64-bit edges. */
#include "config.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "unit/unit.h"

/* All n bytes equal to `value`. (ck_assert per byte would take seconds.) */
static bool all(const unsigned char *p, size_t n, int value)
{
  while (n > 0 && p[n - 1] == value)
    n--;
  return n == 0;
}

START_TEST(blocks_are_aligned_zeroed_and_apart)
{
  enum { N = 3000 };
  static unsigned char *block[N];
  hone_arena *a = hone_arena_new();
  for (int round = 0; round < 3; round++) { /* later rounds reuse dirtied memory */
    for (size_t i = 0; i < N; i++) {
      block[i] = hone_arena_alloc(a, i);
      ck_assert_uint_eq((uintptr_t)block[i] % 16, 0);
      ck_assert(all(block[i], i, 0));
      memset(block[i], (int)(i % 251) + 1, i);
    }
    for (size_t i = 0; i < N; i++)
      ck_assert(all(block[i], i, (int)(i % 251) + 1));
    hone_arena_reset(a);
  }
  hone_arena_free(a);
}
END_TEST

START_TEST(reset_reuses_the_same_memory)
{
  hone_arena *a = hone_arena_new();
  void *first = hone_arena_alloc(a, 100);
  void *big = hone_arena_alloc(a, 10 << 20);
  hone_arena_reset(a);
  ck_assert_ptr_eq(hone_arena_alloc(a, 100), first);
  ck_assert_ptr_eq(hone_arena_alloc(a, 10 << 20), big);
  hone_arena_free(a);
  hone_arena_free(NULL);
}
END_TEST

START_TEST(strdup_copies)
{
  hone_arena *a = hone_arena_new();
  char text[] = "tile.1.m=4";
  char *copy = hone_arena_strdup(a, text);
  text[0] = 'x';
  ck_assert_str_eq(copy, "tile.1.m=4");
  ck_assert_str_eq(hone_arena_strdup(a, ""), "");
  hone_arena_free(a);
}
END_TEST

START_TEST(heap_zeroes_and_grows)
{
  int64_t *p = hone_heap_alloc(10, sizeof *p);
  for (int i = 0; i < 10; i++)
    ck_assert_int_eq(p[i], 0);
  p[9] = 42;
  p = hone_heap_realloc(p, 1000, sizeof *p);
  ck_assert_int_eq(p[9], 42);
  free(p);
  free(hone_heap_alloc(0, 8));
}
END_TEST

static void leave_with_7(void *arg) { _Exit(*(int *)arg); }

START_TEST(out_of_memory_calls_the_hook)
{
  static int code = 7;
  hone_heap_set_oom_hook(leave_with_7, &code);
  hone_heap_realloc(NULL, SIZE_MAX / 2, 4);
}
END_TEST

START_TEST(out_of_memory_aborts_without_hook)
{
  hone_arena_alloc(hone_arena_new(), SIZE_MAX - 3);
}
END_TEST

START_TEST(checked_arithmetic_at_the_edges)
{
  int64_t out = 5;
  ck_assert(hone_checked_add(INT64_MAX - 1, 1, &out) && out == INT64_MAX);
  ck_assert(!hone_checked_add(INT64_MAX, 1, &out) && out == INT64_MAX);
  ck_assert(hone_checked_sub(INT64_MIN + 1, 1, &out) && out == INT64_MIN);
  ck_assert(!hone_checked_sub(INT64_MIN, 1, &out) && out == INT64_MIN);
  ck_assert(hone_checked_mul(INT64_C(1) << 31, INT64_C(1) << 31, &out) && out == INT64_C(1) << 62);
  ck_assert(!hone_checked_mul(INT64_C(1) << 32, INT64_C(1) << 31, &out) && out == INT64_C(1) << 62);
  ck_assert_int_eq(hone_ceil_div(0, 7), 0);
  ck_assert_int_eq(hone_ceil_div(7, 7), 1);
  ck_assert_int_eq(hone_ceil_div(8, 7), 2);
  ck_assert_int_eq(hone_ceil_div(INT64_MAX, 2), INT64_C(1) << 62);
  ck_assert_int_eq(hone_muldiv_ceil(10, 3, 4), 8);
  ck_assert_int_eq(hone_muldiv_ceil(INT64_MAX, 2, 2), INT64_MAX);
  ck_assert_int_eq(hone_muldiv_ceil(INT64_MAX, 3, 2), INT64_MAX); /* saturates */
  ck_assert_int_eq(hone_muldiv_ceil(0, 3, 2), 0);
  ck_assert_int_eq(hone_min64(-3, 4), -3);
  ck_assert_int_eq(hone_max64(-3, 4), 4);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("base/arena");
  TCase *c = tcase_create("arena");
  tcase_add_test(c, blocks_are_aligned_zeroed_and_apart);
  tcase_add_test(c, reset_reuses_the_same_memory);
  tcase_add_test(c, strdup_copies);
  tcase_add_test(c, heap_zeroes_and_grows);
  tcase_add_exit_test(c, out_of_memory_calls_the_hook, 7);
  tcase_add_test_raise_signal(c, out_of_memory_aborts_without_hook, SIGABRT);
  tcase_add_test(c, checked_arithmetic_at_the_edges);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
