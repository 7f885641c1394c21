/* Libraries as documents: written, read back, refused. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "library/library.h"
#include "tests/property/library_random.h"
#include "unit/unit.h"

static hone_err err;

#define OK(call) ck_assert_msg((call) == HONE_OK, "%s: %s [%s %s]", #call, err.message, err.code, err.path)

/* Two families; one with two entries of which the first has two intervals. */
static const char document[] =
    "{\n"
    "  \"schema\": 1,\n"
    "  \"name\": \"demo\",\n"
    "  \"writer\": \"hone test\",\n"
    "  \"near_pct\": 12.5,\n"
    "  \"evaluators\": [\n"
    "    {\n"
    "      \"name\": \"model\",\n"
    "      \"version\": 2,\n"
    "      \"evidence\": \"model\"\n"
    "    }\n"
    "  ],\n"
    "  \"families\": [\n"
    "    {\n"
    "      \"id\": \"matmul_bf16_on_teaching\",\n"
    "      \"spec\": \"matmul --size m=1..80,k=64 --dtype bf16\",\n"
    "      \"machine\": \"teaching\",\n"
    "      \"machine_hash\": \"0123456789abcdef0123456789abcdef\",\n"
    "      \"clock_hz\": 1000000000,\n"
    "      \"fallback\": null,\n"
    "      \"fallback_sizes\": null,\n"
    "      \"fallback_reason\": \"none \\\"fits\\\"\",\n"
    "      \"entries\": [\n"
    "        {\n"
    "          \"sizes\": {\"m\": 32, \"k\": 64},\n"
    "          \"schedule\": \"tile.1.m=32\",\n"
    "          \"default_schedule\": \"tile.1.m=16\",\n"
    "          \"evidence\": \"simulated\",\n"
    "          \"cycles\": 90,\n"
    "          \"default_cycles\": 100,\n"
    "          \"warm_cycles\": null,\n"
    "          \"default_warm_cycles\": 99,\n"
    "          \"model_cycles\": 91,\n"
    "          \"default_model_cycles\": 104,\n"
    "          \"bound_cycles\": 80,\n"
    "          \"margin_pct\": 11.1111,\n"
    "          \"gap_pct\": 12.5,\n"
    "          \"no_significant_gain\": false,\n"
    "          \"operator_hash\": \"0123456789abcdef0123456789abcde0\",\n"
    "          \"key\": \"0123456789abcdef0123456789abcde1\",\n"
    "          \"evaluator\": \"simulator\",\n"
    "          \"evaluator_version\": 1,\n"
    "          \"microcode\": \"a.bin\",\n"
    "          \"microcode_reason\": \"\",\n"
    "          \"microcode_bytes\": 320,\n"
    "          \"intervals\": [\n"
    "            {\n"
    "              \"size\": \"m\",\n"
    "              \"lo\": 1,\n"
    "              \"hi\": 31,\n"
    "              \"loss_pct\": 2.5,\n"
    "              \"loss_at\": 7,\n"
    "              \"loss_of\": \"optimum\",\n"
    "              \"sim_loss_pct\": 3.25,\n"
    "              \"sim_samples\": 4,\n"
    "              \"margin_pct\": 0\n"
    "            },\n"
    "            {\n"
    "              \"size\": \"m\",\n"
    "              \"lo\": 33,\n"
    "              \"hi\": 80,\n"
    "              \"loss_pct\": 1e-09,\n"
    "              \"loss_at\": 80,\n"
    "              \"loss_of\": \"bound\",\n"
    "              \"sim_loss_pct\": null,\n"
    "              \"sim_samples\": 0,\n"
    "              \"margin_pct\": 0.1\n"
    "            }\n"
    "          ]\n"
    "        }\n"
    "      ]\n"
    "    },\n"
    "    {\n"
    "      \"id\": \"other\",\n"
    "      \"spec\": \"other\",\n"
    "      \"machine\": \"m\xc3\xa4" "chine\",\n"
    "      \"machine_hash\": \"0123456789abcdef0123456789abcdef\",\n"
    "      \"clock_hz\": 1,\n"
    "      \"fallback\": \"tile.1.m=1\",\n"
    "      \"fallback_sizes\": {},\n"
    "      \"fallback_reason\": \"\",\n"
    "      \"entries\": []\n"
    "    }\n"
    "  ],\n"
    "  \"left_out\": [\n"
    "    {\n"
    "      \"what\": \"matmul m=1\",\n"
    "      \"code\": \"library.stale\",\n"
    "      \"reason\": \"why\"\n"
    "    }\n"
    "  ]\n"
    "}\n";

START_TEST(a_document_reads_and_writes_back)
{
  hone_library *l = NULL;
  hone_text t = {0};
  OK(hone_library_parse("test", document, strlen(document), &l, &err));
  ck_assert_int_eq(l->nfamilies, 2);
  const hone_library_family *f = &l->family[0];
  ck_assert_int_eq(f->nentries, 1);
  ck_assert_int_eq(f->nintervals, 2);
  ck_assert_int_eq(f->entry[0].size[1], 64);
  ck_assert_int_eq(f->entry[0].warm_cycles, -1);
  ck_assert_int_eq(f->interval[1].lo, 33);
  ck_assert_int_eq(f->interval[1].basis, HONE_LOSS_OF_BOUND);
  ck_assert(isnan(f->interval[1].sim_loss_pct));
  ck_assert_ptr_null(f->fallback);
  hone_library_write_json(l, &t);
  ck_assert_str_eq(t.data, document);
  hone_text_fini(&t);
  hone_library_free(l);
}
END_TEST

/* One change of the document and what it is refused for. */
static const struct {
  const char *from, *to, *code, *path;
} wrong[] = {
    {"\"schema\": 1", "\"schema\": 2", "library.schema", ""},
    {"\"schema\": 1,", "", "library.content", "schema"},
    {"\"name\": \"demo\"", "\"name\": \"1demo\"", "library.content", "name"},
    {"\"near_pct\": 12.5", "\"near_pct\": 12.5, \"x\": 1", "library.content", "x"},
    {"\"near_pct\": 12.5", "\"near_pct\": -1", "library.content", "near_pct"},
    {"\"id\": \"other\"", "\"id\": \"another\"", "library.content", "families[1].id"},
    {"\"spec\": \"other\"", "\"spec\": \"other --size m\"", "library.content", "families[1].spec"},
    {"\"clock_hz\": 1,", "\"clock_hz\": 0,", "library.content", "families[1].clock_hz"},
    {"{\"m\": 32,", "{\"m\": 81,", "library.content", "families[0].entries[0].sizes"},
    {"{\"m\": 32,", "{\"n\": 32,", "library.content", "families[0].entries[0].sizes"},
    {"\"cycles\": 90", "\"cycles\": -90", "library.content", "families[0].entries[0].cycles"},
    {"\"cycles\": 90,", "", "library.content", "families[0].entries[0].cycles"},
    {"\"cycles\": 90", "\"cycles\": 90.5", "library.content", "families[0].entries[0].cycles"},
    {"\"evidence\": \"simulated\"", "\"evidence\": \"sworn\"", "library.content", "families[0].entries[0].evidence"},
    {"\"key\": \"0", "\"key\": \"", "library.content", "families[0].entries[0].key"},
    {"\"microcode\": \"a.bin\"", "\"microcode\": \"../a.bin\"", "library.content", "families[0].entries[0].microcode"},
    {"\"lo\": 33", "\"lo\": 31", "library.content", "families[0].entries[0].intervals"},
    {"\"lo\": 33", "\"lo\": 81", "library.content", "families[0].entries[0].intervals[1].lo"},
    {"\"size\": \"m\"", "\"size\": \"z\"", "library.content", "families[0].entries[0].intervals[0].size"},
    {"\"loss_at\": 7", "\"loss_at\": 0", "library.content", "families[0].entries[0].intervals[0].loss_at"},
    {"\"loss_of\": \"bound\"", "\"loss_of\": \"b\"", "library.content", "families[0].entries[0].intervals[1].loss_of"},
    {"\"loss_pct\": 2.5", "\"loss_pct\": null", "library.content", "families[0].entries[0].intervals[0].loss_pct"},
    {"\"fallback_sizes\": {}", "\"fallback_sizes\": null", "library.content", "families[1].fallback_sizes"},
    {"\"fallback_sizes\": null", "\"fallback_sizes\": {}", "library.content", "families[0].fallback_sizes"},
    {"\"version\": 2", "\"version\": \"2\"", "library.content", "evaluators[0].version"},
    {"\"evidence\": \"model\"", "\"evidence\": \"\"", "library.content", "evaluators[0].evidence"},
    {"\"code\": ", "\"cod\": ", "library.content", "left_out[0].cod"},
    {"\"entries\": []", "\"entries\": 5", "library.content", "families[1].entries"},
    {"\"writer\": \"hone test\",", "\"writer\": \"hone test\"", "library.syntax", ""},
    {"\"writer\"", "\"name\": \"demo\", \"writer\"", "library.syntax", ""},
};
enum { NWRONG = sizeof wrong / sizeof wrong[0] };

START_TEST(wrong_documents_are_refused)
{
  hone_library *l = NULL;
  hone_text t = {0};
  const char *at = strstr(document, wrong[_i].from);
  ck_assert_ptr_nonnull(at);
  hone_text_add_bytes(&t, document, (size_t)(at - document));
  hone_text_add(&t, "%s%s", wrong[_i].to, at + strlen(wrong[_i].from));
  hone_err_init(&err);
  ck_assert_int_ne(hone_library_parse("test", t.data, t.length, &l, &err), HONE_OK);
  ck_assert_msg(strcmp(err.code, wrong[_i].code) == 0 && strcmp(err.path, wrong[_i].path) == 0, "%s -> %s: [%s] %s %s", wrong[_i].from,
                wrong[_i].to, err.code, err.path, err.message);
  hone_text_fini(&t);
}
END_TEST

/* Texts that JSON has to escape; the last is no UTF-8 and comes back as U+FFFD. */
static const char *const odd[] = {"", "\"quoted\"", "back\\slash\\", "a\nb\r\tc\x01", "f\xc3\xbcnf \xf0\x9f\x98\x80", "percent %s", "\xc3(\xff\xed\xa0\x80"};
enum { NODD = sizeof odd / sizeof odd[0] };

START_TEST(writing_what_was_read_changes_nothing)
{
  hone_rng r;
  const library_random_options options = {.name = "lib", .families = 4, .entries = 12};
  hone_rng_init(&r, 20260701 + (uint64_t)_i);
  hone_library *l = library_random_new(&r, &options), *read = NULL;
  hone_text first = {0}, second = {0};
  for (int i = 0; i < l->nfamilies; i++) {
    hone_library_family *f = &l->family[i];
    f->machine_name = odd[hone_rng_below(&r, NODD)];
    if (hone_rng_below(&r, 2)) f->fallback = NULL;
    for (int k = 0; k < f->spec.nsizes; k++) f->fallback_size[k] = 1 + hone_rng_below(&r, 64);
    for (int k = 0; k < f->nentries; k++) f->entry[k].microcode_reason = odd[hone_rng_below(&r, NODD)];
  }
  hone_library_write_json(l, &first);
  if (hone_library_parse("random", first.data, first.length, &read, &err) != HONE_OK)
    ck_abort_msg("library %d: %s [%s] %s", _i, err.message, err.code, err.path);
  hone_library_write_json(read, &second);
  ck_assert_msg(strcmp(first.data, second.data) == 0, "library %d differs", _i);
  ck_assert_int_eq(hone_library_changes(read, read, NULL, NULL), 0);
  hone_text_fini(&first);
  hone_text_fini(&second);
  hone_library_free(read);
  hone_library_free(l);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("library");
  TCase *c = tcase_create("document");
  tcase_add_test(c, a_document_reads_and_writes_back);
  tcase_add_loop_test(c, wrong_documents_are_refused, 0, NWRONG);
  tcase_add_loop_test(c, writing_what_was_read_changes_nothing, 0, 60);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
