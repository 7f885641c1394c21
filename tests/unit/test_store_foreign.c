/* store: a segment read without Hone, by h5dump: the values, the string tables and
 * the units that docs/store.md promises. Skipped where h5dump is not installed. */
#include "config.h"

#include <unistd.h>

#include "unit/store_unit.h"

static char output[1 << 20];

static void setup(void)
{
  fixture_directory();
  hone_store *s = unit_open(fixture_path("s.hone"), HONE_STORE_WRITE);
  hone_record r = unit_record(1, 64, 123456789);
  r.energy_fj = 4242;
  for (int i = 0; i < 300; i++) { /* enough for chunks, shuffle and deflate */
    r.order = i, r.cycles = 123456789 + i;
    unit_append(s, r);
  }
  unit_append(s, unit_failure(1, 65, HONE_REASON_CAPACITY, "27 of 25 MB"));
  unit_close(s);
}

static void teardown(void) { fixture_remove(); }

static void h5dump(const char *options)
{
  char command[1400];
  snprintf(command, sizeof command, "h5dump %s '%s'/*.h5 2>&1", options, fixture_path("s.hone"));
  FILE *p = popen(command, "re");
  ck_assert_ptr_nonnull(p);
  output[fread(output, 1, sizeof output - 1, p)] = '\0';
  ck_assert_int_eq(pclose(p), 0);
}

static void shows(const char *text)
{
  ck_assert_msg(strstr(output, text) != NULL, "h5dump does not show '%s'", text);
}

START_TEST(h5dump_reads_everything)
{
  h5dump("");
  shows("\"energy_fj\"");
  shows("\"time_unix_ns\"");
  shows("123456789");
  shows("4242");
  shows("tile.1.m=64 order.1=m,n,k at.W.1=3");
  shows("27 of 25 MB");
  shows("simulator");
  shows("\"capacity\"");
  shows("hone-store");
}
END_TEST

START_TEST(filters_are_shuffle_and_deflate_only)
{
  h5dump("-H -p");
  shows("PREPROCESSING SHUFFLE");
  shows("COMPRESSION DEFLATE");
  const char *others[] = {"SZIP", "NBIT", "SCALEOFFSET", "USER_DEFINED", "FLETCHER32", "EXTERNAL", "VIRTUAL", "H5T_VLEN"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    ck_assert_msg(strstr(output, others[i]) == NULL, "%s is in use", others[i]);
}
END_TEST

int main(void)
{
  if (system("h5dump --version >/dev/null 2>&1") != 0) {
    printf("skipped: h5dump (hdf5-tools) is not installed\n");
    return 77;
  }
  Suite *suite = suite_create("store/foreign");
  TCase *c = tcase_create("foreign");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_set_timeout(c, 60);
  tcase_add_test(c, h5dump_reads_everything);
  tcase_add_test(c, filters_are_shuffle_and_deflate_only);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
