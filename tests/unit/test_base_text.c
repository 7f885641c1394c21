/* base/text: growing text, numbers, units, nearest names, files, and all of it
 * under a locale whose decimal point is a comma. */
#include "config.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "unit/unit.h"

START_TEST(text_grows)
{
  hone_text t = {0};
  ck_assert_ptr_null(t.data);
  hone_text_add(&t, "%s", "");
  ck_assert_str_eq(t.data, "");
  for (int i = 0; i < 10000; i++)
    hone_text_add(&t, "%d,", i % 10);
  ck_assert_uint_eq(t.length, 20000);
  ck_assert_uint_eq(strlen(t.data), 20000);
  ck_assert(memcmp(t.data + 19990, "5,6,7,8,9,", 11) == 0);
  hone_text_clear(&t);
  ck_assert_str_eq(t.data, "");
  hone_text_add_bytes(&t, "a\0b", 3);
  ck_assert_uint_eq(t.length, 3);
  ck_assert_mem_eq(t.data, "a\0b\0", 4);
  hone_text_fini(&t);
  ck_assert_ptr_null(t.data);
}
END_TEST

START_TEST(text_at_every_boundary)
{
  char word[200];
  for (size_t n = 0; n < sizeof word; n++) { /* lengths around each capacity */
    hone_text t = {0};
    memset(word, 'x', n);
    word[n] = '\0';
    hone_text_add(&t, "%s", word);
    hone_text_add_bytes(&t, "y", 1);
    ck_assert_uint_eq(t.length, n + 1);
    ck_assert_uint_eq(strlen(t.data), n + 1);
    ck_assert_int_eq(t.data[n], 'y');
    hone_text_fini(&t);
  }
}
END_TEST

static const struct {
  const char *s;
  bool ok;
  int64_t value;
} ints[] = {
    {"0", true, 0},
    {"-0", true, 0},
    {"64", true, 64},
    {"-17", true, -17},
    {"1_000_000", true, 1000000},
    {"007", true, 7},
    {"9223372036854775807", true, INT64_MAX},
    {"-9223372036854775808", true, INT64_MIN},
    {"9223372036854775808", false, 0},
    {"-9223372036854775809", false, 0},
    {"99999999999999999999999", false, 0},
    {"", false, 0},
    {"-", false, 0},
    {"+1", false, 0},
    {" 1", false, 0},
    {"1 ", false, 0},
    {"_1", false, 0},
    {"1_", false, 0},
    {"1__0", false, 0},
    {"1.0", false, 0},
    {"1e3", false, 0},
    {"0x10", false, 0},
    {"ten", false, 0},
};

START_TEST(parse_int)
{
  int64_t v = 12345;
  ck_assert_msg(hone_text_parse_int(ints[_i].s, &v) == ints[_i].ok, "'%s'", ints[_i].s);
  ck_assert_int_eq(v, ints[_i].ok ? ints[_i].value : 12345);
}
END_TEST

static const struct {
  const char *s;
  bool ok;
  double value;
} reals[] = {
    {"0", true, 0},         {"1.5", true, 1.5},      {"-2.25", true, -2.25},   {"+3", true, 3},      {"1e3", true, 1000},
    {"2.5E-1", true, 0.25}, {"1e400", false, 0},     {"0.1", true, 0.1},       {"1,5", false, 0},    {".5", false, 0},
    {"5.", false, 0},       {"", false, 0},          {"inf", false, 0},        {"nan", false, 0},    {"0x1p3", false, 0},
    {"1e", false, 0},       {"1e+", false, 0},       {" 1", false, 0},         {"1 ", false, 0},     {"1.5.2", false, 0},
};

START_TEST(parse_real)
{
  double v = 12345;
  ck_assert_msg(hone_text_parse_real(reals[_i].s, &v) == reals[_i].ok, "'%s'", reals[_i].s);
  ck_assert_double_eq(v, reals[_i].ok ? reals[_i].value : 12345);
}
END_TEST

START_TEST(parse_bool)
{
  bool b = false;
  ck_assert(hone_text_parse_bool("true", &b) && b);
  ck_assert(hone_text_parse_bool("false", &b) && !b);
  static const char *const wrong[] = {"", "yes", "no", "True", "1", "on", "true "};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert(!hone_text_parse_bool(wrong[i], &b));
}
END_TEST

static const struct {
  hone_unit unit;
  const char *s;
  hone_status status;
  int64_t value;
  const char *code;
} units[] = {
    {HONE_UNIT_COUNT, "64", HONE_OK, 64, ""},
    {HONE_UNIT_COUNT, "-3", HONE_OK, -3, ""},
    {HONE_UNIT_COUNT, "1_024", HONE_OK, 1024, ""},
    {HONE_UNIT_COUNT, "64.0", HONE_OK, 64, ""},
    {HONE_UNIT_COUNT, "9223372036854775807", HONE_OK, INT64_MAX, ""},
    {HONE_UNIT_COUNT, "9223372036854775808", HONE_OVERFLOW, 0, "unit.overflow"},
    {HONE_UNIT_COUNT, "64.5", HONE_INPUT, 0, "unit.not-whole"},
    {HONE_UNIT_COUNT, "64 B", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_COUNT, "64 ", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_COUNT, "", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_COUNT, "many", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BYTES, "24 MiB", HONE_OK, 25165824, ""},
    {HONE_UNIT_BYTES, "24MiB", HONE_OK, 25165824, ""},
    {HONE_UNIT_BYTES, "12 GB", HONE_OK, INT64_C(12000000000), ""},
    {HONE_UNIT_BYTES, "512 B", HONE_OK, 512, ""},
    {HONE_UNIT_BYTES, "0 B", HONE_OK, 0, ""},
    {HONE_UNIT_BYTES, "0.5 KiB", HONE_OK, 512, ""},
    {HONE_UNIT_BYTES, "1.5 TiB", HONE_OK, INT64_C(1649267441664), ""},
    {HONE_UNIT_BYTES, "0.0001 KiB", HONE_INPUT, 0, "unit.not-whole"},
    {HONE_UNIT_BYTES, "0.5 B", HONE_INPUT, 0, "unit.not-whole"},
    {HONE_UNIT_BYTES, "24", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BYTES, "24 KB", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BYTES, "24 mib", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BYTES, "24 GHz", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BYTES, "24 MiB ", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BYTES, " 24 MiB", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BYTES, "24\tMiB", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BYTES, "2,4 MiB", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BYTES, "1e3 B", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BYTES, "1. MiB", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BYTES, ".5 MiB", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BYTES, "+5 MiB", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BYTES, "-5 MiB", HONE_INPUT, 0, "unit.negative"},
    {HONE_UNIT_BYTES, "inf B", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BYTES, "9000000 TiB", HONE_OVERFLOW, 0, "unit.overflow"},
    {HONE_UNIT_BYTES, "99999999999999999999 B", HONE_OVERFLOW, 0, "unit.overflow"},
    {HONE_UNIT_FREQUENCY, "2.4 GHz", HONE_OK, INT64_C(2400000000), ""},
    {HONE_UNIT_FREQUENCY, "940 MHz", HONE_OK, 940000000, ""},
    {HONE_UNIT_FREQUENCY, "1.000000001 GHz", HONE_OK, 1000000001, ""},
    {HONE_UNIT_FREQUENCY, "1.0000000001 GHz", HONE_INPUT, 0, "unit.not-whole"},
    {HONE_UNIT_FREQUENCY, "940 Mhz", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BANDWIDTH, "362.5 GB/s", HONE_OK, INT64_C(362500000000), ""},
    {HONE_UNIT_BANDWIDTH, "1.2 TB/s", HONE_OK, INT64_C(1200000000000), ""},
    {HONE_UNIT_BANDWIDTH, "64 GiB/s", HONE_OK, INT64_C(68719476736), ""},
    {HONE_UNIT_BANDWIDTH, "0.1 TB/s", HONE_OK, INT64_C(100000000000), ""},
    {HONE_UNIT_BANDWIDTH, "17.066666666 GB/s", HONE_OK, INT64_C(17066666666), ""},
    {HONE_UNIT_BANDWIDTH, "1.2 TB", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BANDWIDTH, "1.2 Tbps", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_BANDWIDTH, "1.2 TB /s", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_TIME, "400 ns", HONE_OK, 400000, ""},
    {HONE_UNIT_TIME, "1.3 us", HONE_OK, 1300000, ""},
    {HONE_UNIT_TIME, "1 ms", HONE_OK, 1000000000, ""},
    {HONE_UNIT_TIME, "13.75 ns", HONE_OK, 13750, ""},
    {HONE_UNIT_TIME, "0.0001 ns", HONE_INPUT, 0, "unit.not-whole"},
    {HONE_UNIT_TIME, "1 min", HONE_INPUT, 0, "unit.malformed"},
    {HONE_UNIT_ENERGY, "3.9 pJ", HONE_OK, 3900, ""},
    {HONE_UNIT_ENERGY, "84 fJ", HONE_OK, 84, ""},
    {HONE_UNIT_ENERGY, "84.0000 fJ", HONE_OK, 84, ""},
    {HONE_UNIT_ENERGY, "1 eV", HONE_INPUT, 0, "unit.malformed"},
};
enum { NUNITS = sizeof units / sizeof *units };

START_TEST(parse_unit)
{
  int64_t v = 12345;
  hone_err err;
  hone_err_init(&err);
  hone_status s = hone_unit_parse(units[_i].unit, units[_i].s, &v, &err);
  ck_assert_msg(s == units[_i].status, "'%s': %s", units[_i].s, err.message);
  ck_assert_int_eq(v, s == HONE_OK ? units[_i].value : 12345);
  ck_assert_str_eq(err.code, units[_i].code);
  ck_assert_int_eq(hone_unit_parse(units[_i].unit, units[_i].s, &v, NULL), s);
}
END_TEST

START_TEST(unit_errors_name_the_units)
{
  int64_t v;
  hone_err err;
  hone_unit_parse(HONE_UNIT_FREQUENCY, "9 Herz", &v, &err);
  ck_assert_str_eq(err.message, "'9 Herz' is not a frequency like 2.4 GHz");
  ck_assert_str_eq(err.hint, "units: Hz, kHz, MHz, GHz");
  hone_unit_parse(HONE_UNIT_BYTES, "0.3 B", &v, &err);
  ck_assert_str_eq(err.message, "'0.3 B' is not a whole number of bytes");
  hone_unit_parse(HONE_UNIT_FREQUENCY, "0.3 Hz", &v, &err);
  ck_assert_str_eq(err.message, "'0.3 Hz' is not a whole number of hertz");
  hone_unit_parse(HONE_UNIT_COUNT, "0.3", &v, &err);
  ck_assert_str_eq(err.message, "'0.3' is not a whole number");
  hone_unit_parse(HONE_UNIT_COUNT, "x", &v, &err);
  ck_assert_str_eq(err.message, "'x' is not a whole number");
  ck_assert_str_eq(err.hint, "");
}
END_TEST

/* Switches to a locale with a decimal comma; compiles one if none is installed. */
static bool use_comma_locale(void)
{
  static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (setlocale(LC_ALL, names[i])) return true;
  if (system("localedef -i de_DE -f UTF-8 ./de_DE.UTF-8 2>/dev/null") != 0) return false;
  setenv("LOCPATH", ".", 1);
  bool made = setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
  return system("rm -r ./de_DE.UTF-8") == 0 && made;
}

START_TEST(any_locale_gives_the_same)
{
  if (!use_comma_locale()) {
    printf("no locale with a decimal comma to be had: this case is skipped\n");
    return;
  }
  double r;
  int64_t v;
  hone_text t = {0};
  ck_assert_str_eq(localeconv()->decimal_point, ",");
  ck_assert(hone_text_parse_real("1.5", &r) && r == 1.5);
  ck_assert(!hone_text_parse_real("1,5", &r));
  ck_assert_int_eq(hone_unit_parse(HONE_UNIT_BANDWIDTH, "362.5 GB/s", &v, NULL), HONE_OK);
  ck_assert_int_eq(v, INT64_C(362500000000));
  hone_text_add(&t, "%.2f", 0.25);
  ck_assert_str_eq(t.data, "0.25");
  ck_assert_str_eq(localeconv()->decimal_point, ","); /* the caller's stays */
  hone_text_fini(&t);
}
END_TEST

START_TEST(distance)
{
  ck_assert_int_eq(hone_text_distance("", ""), 0);
  ck_assert_int_eq(hone_text_distance("abc", ""), 3);
  ck_assert_int_eq(hone_text_distance("", "abc"), 3);
  ck_assert_int_eq(hone_text_distance("kitten", "sitting"), 3);
  ck_assert_int_eq(hone_text_distance("flaw", "lawn"), 2);
  ck_assert_int_eq(hone_text_distance("capacity", "capacity"), 0);
}
END_TEST

static const char *at(void *arg, int i) { return ((const char **)arg)[i]; }

START_TEST(nearest)
{
  const char *names[] = {"capacity", "bandwidth", "latency", "ports", "port"};
  ck_assert_str_eq(hone_text_nearest("bandwith", 5, at, names), "bandwidth");
  ck_assert_str_eq(hone_text_nearest("latncey", 5, at, names), "latency");
  ck_assert_str_eq(hone_text_nearest("port", 5, at, names), "port");
  ck_assert_str_eq(hone_text_nearest("portx", 5, at, names), "ports"); /* a tie: the first */
  ck_assert_ptr_null(hone_text_nearest("frequency_of_it", 5, at, names));
  ck_assert_ptr_null(hone_text_nearest("capacity", 0, at, names));
  const char *letters[] = {"b", "m", "Xs", "W"};
  ck_assert_str_eq(hone_text_nearest("M", 4, at, letters), "m"); /* but for case, before others as near */
  ck_assert_ptr_null(hone_text_nearest("z", 4, at, letters)); /* all letters differ */
}
END_TEST

START_TEST(load)
{
  char path[] = "test_base_text.XXXXXX";
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  static char big[50000];
  memset(big, 'z', sizeof big);
  ck_assert_int_eq(write(fd, big, sizeof big), (ssize_t)sizeof big);
  close(fd);
  char *out = NULL;
  size_t n = 0;
  hone_err err;
  ck_assert_int_eq(hone_text_load(path, sizeof big, &out, &n, &err), HONE_OK);
  ck_assert_uint_eq(n, sizeof big);
  ck_assert_int_eq(out[n], '\0');
  ck_assert_mem_eq(out, big, n);
  free(out);
  ck_assert_int_eq(hone_text_load(path, sizeof big - 1, &out, &n, &err), HONE_INPUT);
  ck_assert_str_eq(err.code, "file.too-large");
  ck_assert_int_eq(truncate(path, 0), 0);
  ck_assert_int_eq(hone_text_load(path, 0, &out, &n, &err), HONE_OK);
  ck_assert_uint_eq(n, 0);
  ck_assert_str_eq(out, "");
  free(out);
  unlink(path);
  ck_assert_int_eq(hone_text_load(path, 10, &out, &n, &err), HONE_IO);
  ck_assert_str_eq(err.code, "file.unreadable");
  ck_assert_str_eq(err.file, path);
  ck_assert(strstr(err.message, "No such file") != NULL);
  ck_assert_int_eq(hone_text_load(".", 10, &out, &n, &err), HONE_IO);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("base/text");
  TCase *c = tcase_create("text");
  tcase_add_test(c, text_grows);
  tcase_add_test(c, text_at_every_boundary);
  tcase_add_loop_test(c, parse_int, 0, (int)(sizeof ints / sizeof *ints));
  tcase_add_loop_test(c, parse_real, 0, (int)(sizeof reals / sizeof *reals));
  tcase_add_test(c, parse_bool);
  tcase_add_loop_test(c, parse_unit, 0, NUNITS);
  tcase_add_test(c, unit_errors_name_the_units);
  tcase_add_test(c, any_locale_gives_the_same);
  tcase_add_test(c, distance);
  tcase_add_test(c, nearest);
  tcase_add_test(c, load);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
