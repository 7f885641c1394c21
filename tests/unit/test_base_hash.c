/* base/hash: published FNV-1a-128 values, text form, joining. */
#include "config.h"

#include <string.h>

#include "base/hash.h"
#include "unit/unit.h"

static const struct {
  const char *text, *hash;
} published[] = {
    /* draft-eastlake-fnv (offset basis) and the Go standard library's hash/fnv tests */
    {"", "6c62272e07bb014262b821756295c58d"},
    {"a", "d228cb696f1a8caf78912b704e4a8964"},
    {"ab", "08809544bbab1be95aa0733055b69a62"},
    {"abc", "a68d622cec8b5822836dbc7977af7f3b"},
    {"foobar", "343e1662793c64bf6f0d3597ba446f18"},
};

START_TEST(published_vectors)
{
  char text[HONE_HASH_TEXT];
  hone_hash back;
  hone_hash_print(hone_hash_text(published[_i].text), text);
  ck_assert_str_eq(text, published[_i].hash);
  ck_assert_int_eq(hone_hash_parse(text, &back), 1);
  ck_assert_int_eq(hone_hash_cmp(back, hone_hash_text(published[_i].text)), 0);
}
END_TEST

START_TEST(bytes_include_nul)
{
  ck_assert_int_ne(hone_hash_cmp(hone_hash_bytes("a\0b", 3), hone_hash_bytes("a\0c", 3)), 0);
  ck_assert_int_ne(hone_hash_cmp(hone_hash_bytes("a", 1), hone_hash_bytes("a", 2)), 0);
}
END_TEST

START_TEST(join_depends_on_order)
{
  hone_hash a = hone_hash_text("a"), b = hone_hash_text("b");
  hone_hash ab = hone_hash_join(a, b), ba = hone_hash_join(b, a);
  ck_assert_int_ne(hone_hash_cmp(ab, ba), 0);
  ck_assert_int_eq(hone_hash_cmp(ab, hone_hash_join(a, b)), 0);
  /* the definition: the hash of both, big-endian */
  char text[HONE_HASH_TEXT];
  unsigned char bytes[32];
  for (int i = 0; i < 2; i++) {
    hone_hash_print(i ? b : a, text);
    for (int k = 0; k < 16; k++) {
      char pair[3] = {text[2 * k], text[2 * k + 1], '\0'};
      bytes[16 * i + k] = (unsigned char)strtoul(pair, NULL, 16);
    }
  }
  ck_assert_int_eq(hone_hash_cmp(ab, hone_hash_bytes(bytes, sizeof bytes)), 0);
}
END_TEST

START_TEST(cmp_orders)
{
  hone_hash small = {1, 9}, middle = {2, 0}, large = {2, 1};
  ck_assert_int_lt(hone_hash_cmp(small, middle), 0);
  ck_assert_int_lt(hone_hash_cmp(middle, large), 0);
  ck_assert_int_gt(hone_hash_cmp(large, small), 0);
  ck_assert_int_eq(hone_hash_cmp(large, large), 0);
}
END_TEST

START_TEST(parse_refuses)
{
  hone_hash h;
  ck_assert_int_eq(hone_hash_parse("", &h), 0);
  ck_assert_int_eq(hone_hash_parse("6c62272e07bb014262b821756295c58", &h), 0);
  ck_assert_int_eq(hone_hash_parse("6c62272e07bb014262b821756295c58d0", &h), 0);
  ck_assert_int_eq(hone_hash_parse("6c62272e07bb014262b821756295c58g", &h), 0);
  ck_assert_int_eq(hone_hash_parse("6C62272E07BB014262B821756295C58D", &h), 0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("base/hash");
  TCase *c = tcase_create("hash");
  tcase_add_loop_test(c, published_vectors, 0, (int)(sizeof published / sizeof *published));
  tcase_add_test(c, bytes_include_nul);
  tcase_add_test(c, join_depends_on_order);
  tcase_add_test(c, cmp_orders);
  tcase_add_test(c, parse_refuses);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
