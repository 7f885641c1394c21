/* store: damaged, foreign and newer segments. Whatever lies in the directory, the
 * store opens, says what is wrong and serves the rest. Every case runs in a child
 * under a time limit, since broken HDF5 files are known to hang their readers. */
#include "config.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "store/digest.h"
#include "lib/case_count.h"
#include "unit/store_unit.h"

enum { SEAL = 512, RECORD_ROW = 92, HOST_AT = 84, TASK_AT = 64 }; /* docs/store.md; rows are packed */
static const int64_t marked_cycles = 0x1122334455667788;

static unsigned char *good; /* one whole segment */
static size_t good_bytes;

static void setup(void)
{
  char names[4][64];
  fixture_directory();
  hone_store *s = unit_open(fixture_path("made.hone"), HONE_STORE_WRITE);
  for (int i = 0; i < 5; i++)
    unit_append(s, unit_record(1, i, marked_cycles + i));
  unit_append(s, unit_failure(1, 9, HONE_REASON_CAPACITY, "too big"));
  unit_put(s, "range", "a", "first document");
  unit_put(s, "range", "b", "second document");
  unit_close(s);
  ck_assert_int_eq(fixture_list(fixture_path("made.hone"), ".h5", names, 4), 1);
  good = fixture_load(fixture_join(fixture_path("made.hone"), names[0]), &good_bytes);
}

static void teardown(void)
{
  free(good);
  fixture_remove();
}

/* The seal as docs/store.md describes it, written by other code than the store's. */
static void seal_again(unsigned char *bytes, size_t n)
{
  hone_digest d;
  char digits[17];
  char *at = strstr((char *)bytes, "xxh64 ");
  ck_assert_ptr_nonnull(at);
  memset(at + 6, '0', 16);
  hone_digest_init(&d);
  hone_digest_add(&d, bytes, n);
  snprintf(digits, sizeof digits, "%016llx", (unsigned long long)hone_digest_end(&d));
  memcpy(at + 6, digits, 16);
}

typedef struct {
  const char *path, *code;
  int64_t records; /* of the rest */
} expectation;

/* In a child: the store opens, one segment is set aside for the expected reason,
 * the rest is there. */
static int one_set_aside(void *arg)
{
  const expectation *e = arg;
  hone_err err = {0};
  hone_store *s;
  hone_store_info info;
  if (hone_store_open(e->path, HONE_STORE_READ, &s, &err) != HONE_OK) return 2;
  if (hone_store_damaged_count(s) != 1) return 3;
  if (e->code && strcmp(hone_store_get_damaged(s, 0)->code, e->code) != 0) return 4;
  if (hone_store_get_info(s, &info, &err) != HONE_OK || info.records != e->records || info.damaged != 1) return 5;
  if (hone_store_verify(s, &err) != HONE_STORE || strcmp(err.code, "store.damaged") != 0) return 6;
  return hone_store_close(s, &err) == HONE_OK ? 0 : 7;
}

/* `bytes` beside a good segment, and alone. */
static void check_damaged(const void *bytes, size_t n, const char *code)
{
  const char *directory = fixture_path("made.hone"), *file = fixture_path("made.hone/bad.h5");
  fixture_save(file, bytes, n);
  expectation e = {.path = directory, .code = code, .records = 6};
  ck_assert_int_eq(fixture_child(one_set_aside, &e, 20), 0);
  e = (expectation){.path = file, .code = code};
  ck_assert_int_eq(fixture_child(one_set_aside, &e, 20), 0);
}

START_TEST(truncated_segments_are_set_aside)
{
  check_damaged(good, 0, "store.foreign");
  check_damaged(good, 10, "store.foreign");
  check_damaged(good, SEAL - 1, "store.truncated");
  check_damaged(good, SEAL, "store.truncated");
  check_damaged(good, good_bytes / 2, "store.truncated");
  check_damaged(good, good_bytes - 1, "store.truncated");
}
END_TEST

START_TEST(longer_segments_are_set_aside)
{
  unsigned char *longer = calloc(good_bytes + 1, 1);
  memcpy(longer, good, good_bytes);
  check_damaged(longer, good_bytes + 1, "store.digest");
  free(longer);
}
END_TEST

START_TEST(zeroed_segments_are_set_aside)
{
  unsigned char *zeros = calloc(good_bytes, 1);
  check_damaged(zeros, good_bytes, "store.foreign");
  memcpy(zeros, good, SEAL); /* a block after the seal lost, as after a power cut */
  check_damaged(zeros, good_bytes, "store.digest");
  memcpy(zeros, good, good_bytes);
  memset(zeros + good_bytes - 1024, 0, 1024);
  check_damaged(zeros, good_bytes, "store.digest");
  free(zeros);
}
END_TEST

START_TEST(foreign_files_are_set_aside)
{
  check_damaged("cycles,schedule\n1,a\n", 20, "store.foreign");
  check_damaged(good + SEAL, good_bytes - SEAL, "store.foreign"); /* HDF5, but no segment of ours */
}
END_TEST

START_TEST(a_directory_named_like_a_segment_is_set_aside)
{
  expectation e = {.path = fixture_path("made.hone"), .code = "store.foreign", .records = 6};
  ck_assert_int_eq(mkdir(fixture_path("made.hone/odd.h5"), 0777), 0);
  ck_assert_int_eq(fixture_child(one_set_aside, &e, 20), 0);
}
END_TEST

/* In a child: every flip is found. Returns 0, or 1 with the place on stderr. */
static int flip_bytes(void *arg)
{
  const char *path = arg;
  const size_t step = good_bytes / (size_t)case_count(3000) + 1;
  unsigned char *bytes = malloc(good_bytes);
  hone_rng rng;
  hone_rng_init(&rng, 1);
  memcpy(bytes, good, good_bytes);
  for (size_t at = 0; at < good_bytes; at += at < SEAL ? 1 : step) {
    const unsigned char flip = (unsigned char)(1 + hone_rng_below(&rng, 255));
    hone_err err = {0};
    hone_store *s;
    bytes[at] ^= flip;
    fixture_save(path, bytes, good_bytes);
    const hone_status st = hone_store_open(path, HONE_STORE_READ, &s, &err);
    /* "schema 2" may have become a newer one: refused, which is found too. */
    const bool found = st == HONE_UNSUPPORTED || (st == HONE_OK && hone_store_damaged_count(s) == 1);
    if (st == HONE_OK) hone_store_close(s, &err);
    if (!found) {
      fprintf(stderr, "byte %zu of %zu xor %02x was not noticed\n", at, good_bytes, flip);
      return 1;
    }
    bytes[at] ^= flip;
  }
  free(bytes);
  return 0;
}

START_TEST(every_flipped_byte_is_found)
{
  ck_assert_int_eq(fixture_child(flip_bytes, (void *)(uintptr_t)fixture_path("flipped.h5"), 100), 0);
}
END_TEST

static int newer_is_refused(void *arg)
{
  hone_err err = {0};
  hone_store *s;
  if (hone_store_open(arg, HONE_STORE_READ, &s, &err) != HONE_UNSUPPORTED) return 2;
  return strstr(err.message, "schema 3 is newer") && !strcmp(err.code, "store.newer-schema") && err.file[0] ? 0 : 3;
}

START_TEST(newer_schemas_are_refused_by_number)
{
  char *at = strstr((char *)good, "schema 2");
  at[7] = '3';
  seal_again(good, good_bytes);
  fixture_save(fixture_path("made.hone/newer.h5"), good, good_bytes);
  ck_assert_int_eq(fixture_child(newer_is_refused, (void *)(uintptr_t)fixture_path("made.hone"), 20), 0);
  ck_assert_int_eq(fixture_child(newer_is_refused, (void *)(uintptr_t)fixture_path("made.hone/newer.h5"), 20), 0);
}
END_TEST

/* ---- well-sealed nonsense: only the checks of contents are left ---- */

static unsigned char *find_cycles(int64_t cycles, bool in_tasks)
{
  unsigned char pattern[8];
  int met = 0;
  for (int i = 0; i < 8; i++)
    pattern[i] = (unsigned char)(cycles >> (8 * i));
  for (size_t at = SEAL; at + 8 <= good_bytes; at++) {
    if (memcmp(good + at, pattern, 8) != 0) continue;
    /* best_cycles of /tasks follows first_record = 0, records = 6, succeeded = 5 */
    if ((at >= 24 && good[at - 8] == 5 && good[at - 16] == 6) == in_tasks) return good + at;
    met++;
  }
  ck_abort_msg("the value is not there (met %d times elsewhere)", met);
}

static int nonsense(void *arg)
{
  hone_err err = {0};
  hone_store *s;
  unit_visits *v = calloc(1, sizeof *v);
  if (hone_store_open(arg, HONE_STORE_READ, &s, &err) != HONE_OK) return 2;
  if (hone_store_damaged_count(s) == 0) { /* not seen by the tables: seen when read */
    if (hone_store_verify(s, &err) != HONE_STORE) return 3;
    if (hone_store_damaged_count(s) != 1 || strcmp(hone_store_get_damaged(s, 0)->code, "store.content") != 0) return 4;
  }
  if (hone_store_query(s, NULL, unit_collect, v, &err) != HONE_OK || v->n != 0) return 5; /* set aside by now */
  return 0;
}

static void check_nonsense(void)
{
  seal_again(good, good_bytes);
  fixture_save(fixture_path("nonsense.h5"), good, good_bytes);
  ck_assert_int_eq(fixture_child(nonsense, (void *)(uintptr_t)fixture_path("nonsense.h5"), 20), 0);
}

START_TEST(indices_that_point_nowhere_are_found)
{
  memset(find_cycles(marked_cycles + 2, false) + HOST_AT, 0x7f, 4);
  check_nonsense();
}
END_TEST

START_TEST(tasks_that_point_nowhere_are_found)
{
  memset(find_cycles(marked_cycles, true) + 8, 0x7f, 4); /* operator_text */
  check_nonsense();
}
END_TEST

START_TEST(record_counts_that_disagree_are_found)
{
  find_cycles(marked_cycles, true)[-16] = 5; /* records */
  check_nonsense();
}
END_TEST

START_TEST(records_of_another_task_are_found)
{
  find_cycles(marked_cycles + 3, false)[TASK_AT] = 1;
  check_nonsense();
}
END_TEST

START_TEST(wrong_order_is_found)
{
  find_cycles(marked_cycles + 1, false)[7] = 0x77;
  check_nonsense();
}
END_TEST

START_TEST(wrong_best_is_found)
{
  find_cycles(marked_cycles, true)[0] ^= 1;
  check_nonsense();
}
END_TEST

/* The document's bytes lie plain in the file, end to end; its row begins with where
 * and how many they are. */
static unsigned char *find_text(const char *text)
{
  unsigned char *at = memmem(good, good_bytes, text, strlen(text));
  ck_assert_ptr_nonnull(at);
  return at;
}

START_TEST(changed_documents_are_found)
{
  find_text("first document")[0] = 'F';
  check_nonsense();
}
END_TEST

START_TEST(documents_with_a_hole_are_found)
{
  find_text("second document")[3] = '\0';
  check_nonsense();
}
END_TEST

static unsigned char *find_document_row(void)
{
  static const unsigned char row[16] = {14, 0, 0, 0, 0, 0, 0, 0, 15}; /* first_byte and bytes of the second */
  unsigned char *at = memmem(good + SEAL, good_bytes - SEAL, row, sizeof row);
  ck_assert_ptr_nonnull(at);
  return at;
}

START_TEST(document_rows_that_point_nowhere_are_found)
{
  const int at[] = {0, 7, 8, 15, 32, 36, 40}; /* first_byte, bytes, kind, subject, host */
  unsigned char *copy = malloc(good_bytes);
  memcpy(copy, good, good_bytes);
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    memcpy(good, copy, good_bytes);
    find_document_row()[at[i]] = 0x7f;
    check_nonsense();
  }
  free(copy);
}
END_TEST

START_TEST(documents_out_of_order_are_found)
{
  unsigned char *row = find_document_row(), subject[4];
  memcpy(subject, row + 36, 4);
  memcpy(row + 36, row - 44 + 36, 4); /* rows are 44 bytes: swap the subjects */
  memcpy(row - 44 + 36, subject, 4);
  check_nonsense();
}
END_TEST

static int query_nonsense(void *arg)
{
  hone_err err = {0};
  hone_store *s;
  unit_visits *v = calloc(1, sizeof *v);
  if (hone_store_open(arg, HONE_STORE_READ, &s, &err) != HONE_OK) return 2;
  if (hone_store_query(s, NULL, unit_collect, v, &err) != HONE_STORE) return 3;
  return !strcmp(err.code, "store.content") && !strcmp(err.file, "nonsense.h5") ? 0 : 4;
}

static int repair_nonsense(void *arg)
{
  int moved;
  hone_err err = {0};
  hone_store *s;
  if (hone_store_open(arg, HONE_STORE_WRITE, &s, &err) != HONE_OK || hone_store_damaged_count(s) != 0) return 2;
  return hone_store_repair(s, &moved, &err) == HONE_OK && moved == 1 ? 0 : 3;
}

/* Opening does not see it, reading every row does. */
START_TEST(repair_finds_what_verify_finds)
{
  find_cycles(marked_cycles + 1, false)[7] = 0x77;
  seal_again(good, good_bytes);
  ck_assert_int_eq(mkdir(fixture_path("mend.hone"), 0777), 0);
  fixture_save(fixture_path("mend.hone/nonsense.h5"), good, good_bytes);
  ck_assert_int_eq(fixture_child(repair_nonsense, (void *)(uintptr_t)fixture_path("mend.hone"), 20), 0);
  ck_assert_int_eq(fixture_count(fixture_path("mend.hone"), "nonsense.h5.damaged"), 1);
}
END_TEST

START_TEST(a_query_never_follows_a_wild_index)
{
  memset(find_cycles(marked_cycles + 2, false) + HOST_AT, 0x7f, 4);
  seal_again(good, good_bytes);
  fixture_save(fixture_path("nonsense.h5"), good, good_bytes);
  ck_assert_int_eq(fixture_child(query_nonsense, (void *)(uintptr_t)fixture_path("nonsense.h5"), 20), 0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("store/damage");
  TCase *c = tcase_create("damage");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_set_timeout(c, 120);
  tcase_add_test(c, truncated_segments_are_set_aside);
  tcase_add_test(c, longer_segments_are_set_aside);
  tcase_add_test(c, zeroed_segments_are_set_aside);
  tcase_add_test(c, foreign_files_are_set_aside);
  tcase_add_test(c, a_directory_named_like_a_segment_is_set_aside);
  tcase_add_test(c, every_flipped_byte_is_found);
  tcase_add_test(c, newer_schemas_are_refused_by_number);
  tcase_add_test(c, indices_that_point_nowhere_are_found);
  tcase_add_test(c, tasks_that_point_nowhere_are_found);
  tcase_add_test(c, record_counts_that_disagree_are_found);
  tcase_add_test(c, records_of_another_task_are_found);
  tcase_add_test(c, wrong_order_is_found);
  tcase_add_test(c, wrong_best_is_found);
  tcase_add_test(c, changed_documents_are_found);
  tcase_add_test(c, documents_with_a_hole_are_found);
  tcase_add_test(c, document_rows_that_point_nowhere_are_found);
  tcase_add_test(c, documents_out_of_order_are_found);
  tcase_add_test(c, repair_finds_what_verify_finds);
  tcase_add_test(c, a_query_never_follows_a_wild_index);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
