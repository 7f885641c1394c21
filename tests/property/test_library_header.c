/* Headers of random libraries compile without a warning as C99 and C++17, and
 * what they answer is what hone_library_lookup answers: a program is written
 * around each header, asked thousands of shapes and its output compared with the
 * library's. One case again: HONE_CASE=N tests/property/test_library_header */
#include "config.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "library/library.h"
#include "tests/lib/case_count.h"
#include "tests/property/library_random.h"
#include "tests/unit/unit.h"

enum { CASES = 4, QUERIES = 4000, SEED = 20261203 };

#define WARNINGS "-Wall -Wextra -pedantic -Wconversion -Wshadow -Werror"

static char folder[256];
static const char *c_compiler, *cxx_compiler; /* the latter NULL: none here */

/* ---- files and programs ------------------------------------------------------- */

static void save(const char *name, const hone_text *t)
{
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "wb");
  ck_assert_msg(f && fwrite(t->data, 1, t->length, f) == t->length && fclose(f) == 0, "cannot write %s", path);
}

static bool command(const char *fmt, ...) HONE_PRINTF(1, 2);
static bool command(const char *fmt, ...)
{
  char rest[1024], whole[2048];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(rest, sizeof rest, fmt, ap);
  va_end(ap);
  snprintf(whole, sizeof whole, "cd '%s' && %s", folder, rest);
  if (system(whole) == 0) return true;
  printf("failed: %s\n", whole);
  return false;
}

static bool there(const char *program)
{
  char text[256];
  snprintf(text, sizeof text, "command -v %s > /dev/null 2>&1", program);
  return system(text) == 0;
}

static void setup(void)
{
  static const char *const cxx[] = {"g++", "clang++", "c++"};
  const char *tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.200s/hone-header.XXXXXX", tmp ? tmp : "/tmp");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  c_compiler = getenv("HONE_CC") ? getenv("HONE_CC") : "cc";
  cxx_compiler = getenv("HONE_CXX");
  for (size_t i = 0; i < 3 && !cxx_compiler; i++)
    if (there(cxx[i])) cxx_compiler = cxx[i];
  if (!cxx_compiler) printf("no C++ compiler: the headers are not tried as C++\n");
}

static void teardown(void)
{
  char text[300];
  snprintf(text, sizeof text, "rm -rf '%s'", folder);
  ck_assert_int_eq(system(text), 0);
}

/* ---- the program around a header ------------------------------------------------ */

static void add(hone_text *t, const char *s) { hone_text_add_bytes(t, s, strlen(s)); }

/* Names of the families' own functions, read from the header: those that return an answer, lookup aside. */
static void add_own_functions(const char *header, const hone_library *l, hone_text *out)
{
  int found = 0;
  hone_text_add(out, "static %s_answer own(int family, const int64_t *s)\n{\n  switch (family) {\n", l->name);
  for (const char *at = header; (at = strstr(at, "_FUNCTION ")); at++) {
    char type[80], name[300], generic[80];
    snprintf(generic, sizeof generic, "%s_lookup", l->name);
    if (sscanf(at, "_FUNCTION %79s %299[^(]", type, name) != 2 || !strstr(type, "_answer") || strcmp(name, generic) == 0) continue;
    hone_text_add(out, "  case %d: return %s(", found, name);
    for (int k = 0; k < l->family[found].spec.nsizes; k++) hone_text_add(out, "%ss[%d]", k ? ", " : "", k);
    hone_text_add(out, ");\n");
    if (++found == l->nfamilies) break;
  }
  ck_assert_int_eq(found, l->nfamilies);
  hone_text_add(out, "  default: (void)s; return %s_lookup(NULL, NULL);\n  }\n}\n", l->name);
}

static const char driver[] =
    "int main(void)\n"
    "{\n"
    "  int family, k;\n"
    "  while (scanf(\"%d\", &family) == 1) {\n"
    "    int64_t size[64] = { 0 };\n"
    "    char why[240], shorter[16];\n"
    "    const LIB_family *f = &LIB_families[family];\n"
    "    LIB_answer a, b;\n"
    "    for (k = 0; k < f->nsizes; k++)\n"
    "      if (scanf(\"%\" SCNd64, &size[k]) != 1) return 3;\n"
    "    if (LIB_find(f->id) != f) return 4;\n"
    "    a = LIB_lookup(f, size);\n"
    "    b = own(family, size);\n"
    "    if (a.kind != b.kind || a.family != f || b.family != f || a.entry != b.entry || a.interval != b.interval) return 5;\n"
    "    if (a.schedule != b.schedule || a.loss_pct > b.loss_pct || a.loss_pct < b.loss_pct) return 6;\n"
    "    (void)LIB_reason(&a, why, sizeof why);\n"
    "    (void)LIB_reason(&a, shorter, sizeof shorter);\n"
    "    if (strlen(shorter) != (strlen(why) < 15 ? strlen(why) : 15) || strncmp(why, shorter, strlen(shorter)) != 0) return 7;\n"
    "    if (LIB_reason(&a, why, sizeof why) < strlen(why)) return 8;\n"
    "    printf(\"%s %d %d %.17g [%s] %s\\036\\n\", LIB_kind_word(a.kind), a.entry ? (int)(a.entry - f->entry) : -1,\n"
    "           a.interval ? (int)(a.interval - f->interval) : -1, a.loss_pct, a.schedule ? a.schedule : \"none\", why);\n"
    "  }\n"
    "  if (LIB_find(\"no such family\") || LIB_lookup(NULL, NULL).kind != LIB_FALLBACK || use() != 0) return 9;\n"
    "  return 0;\n"
    "}\n";

/* The header twice in the program; alone, beside another and unused in a second unit. */
static void write_program(const hone_library *l, const hone_library *beside)
{
  hone_text header = {0}, t = {0};
  hone_library_write_header(beside, &header);
  save("beside.h", &header);
  hone_text_clear(&header);
  hone_library_write_header(l, &header);
  save("lib.h", &header);
  hone_text_add(&t, "#include \"lib.h\"\n#include \"lib.h\"\n"); /* first: it needs nothing before it */
  hone_text_add(&t, "#define __STDC_FORMAT_MACROS\n#include <inttypes.h>\n#include <stdio.h>\n#include <string.h>\nint use(void);\n");
  add_own_functions(header.data, l, &t);
  for (const char *s = driver, *next; *s; s = next) {
    next = strstr(s, "LIB_");
    hone_text_add_bytes(&t, s, next ? (size_t)(next - s) : strlen(s));
    if (!next) break;
    hone_text_add(&t, "%s_", l->name);
    next += 4;
  }
  save("driver.c", &t);
  hone_text_clear(&t);
  add(&t, "#include \"lib.h\"\n#include \"beside.h\"\nint use(void);\nint use(void) { return 0; }\n");
  save("use.c", &t);
  hone_text_fini(&t);
  hone_text_fini(&header);
}

/* Questions into a file, the library's answers into `want`. */
static int ask(hone_rng *r, const hone_library *l, bool odd, int n, hone_text *want, int seen[3])
{
  hone_text questions = {0};
  add(&questions, "\n");
  add(want, "");
  for (int i = 0; i < n && l->nfamilies > 0; i++) {
    const int which = (int)hone_rng_below(r, l->nfamilies);
    const hone_library_family *f = &l->family[which];
    int64_t size[HONE_MAX_SIZES] = {0};
    hone_spec spec = f->spec;
    hone_library_answer a;
    library_random_query(r, f, odd, size);
    hone_text_add(&questions, "%d", which);
    for (int k = 0; k < spec.nsizes; k++) {
      spec.size[k].value = spec.size[k].to = size[k];
      hone_text_add(&questions, " %" PRId64, size[k]);
    }
    add(&questions, "\n");
    hone_library_lookup(l, &spec, f->machine_hash, &a);
    ck_assert_ptr_eq(a.family, f);
    seen[a.kind]++;
    hone_text_add(want, "%s %d %d %.17g [%s] %s\036\n", hone_lookup_kind_word(a.kind), a.entry ? (int)(a.entry - f->entry) : -1,
                  a.interval ? (int)(a.interval - f->interval) : -1, isnan(a.loss_pct) ? -1.0 : a.loss_pct, a.schedule ? a.schedule : "none", a.reason);
  }
  save("questions", &questions);
  hone_text_fini(&questions);
  return 0;
}

static void compare_answers(int number, const char *how, const hone_text *want)
{
  char path[512], *have = NULL;
  size_t n = 0, at = 0;
  int line = 1;
  hone_err err;
  snprintf(path, sizeof path, "%s/answers", folder);
  ck_assert_msg(hone_text_load(path, (size_t)1 << 30, &have, &n, &err) == HONE_OK, "%s", err.message);
  const size_t wanted = want->length;
  while (at < n && at < wanted && have[at] == want->data[at]) line += have[at++] == '\036';
  ck_assert_msg(at == n && n == wanted, "HONE_CASE=%d, %s: answer %d is ..%.200s, not ..%.200s", number, how, line, have + (at > 20 ? at - 20 : 0),
                want->data ? want->data + (at > 20 ? at - 20 : 0) : "");
  free(have);
}

static void run_case(int number, int queries, int seen[3])
{
  hone_rng all, r;
  hone_rng_init(&all, SEED);
  hone_rng_split(&all, (uint64_t)number, &r);
  const bool odd = number % 3 != 2;
  hone_library *l = library_random_new(&r, &(library_random_options){odd ? "odd" : "lib", number == 0 ? 0 : 8, number % 4 == 3 ? 60 : 12, false, odd});
  hone_library *beside = library_random_new(&r, &(library_random_options){"odd_2", 2, 5, false, true});
  hone_text want = {0};
  write_program(l, beside);
  ask(&r, l, odd, queries, &want, seen);
  ck_assert_msg(command("%s -std=c99 " WARNINGS " -Wc++-compat driver.c use.c -o driver && ./driver < questions > answers", c_compiler),
                "HONE_CASE=%d: C", number);
  compare_answers(number, "C", &want);
  if (cxx_compiler) {
    ck_assert_msg(command("%s -std=c++17 " WARNINGS " -x c++ driver.c use.c -o driver && ./driver < questions > answers", cxx_compiler),
                  "HONE_CASE=%d: C++", number);
    compare_answers(number, "C++", &want);
  }
  hone_text_fini(&want);
  hone_library_free(l);
  hone_library_free(beside);
}

START_TEST(headers_answer_as_the_library)
{
  const char *one = getenv("HONE_CASE");
  const int cases = case_count(CASES);
  int seen[3] = {0};
  for (int i = one ? atoi(one) : 0; i < (one ? atoi(one) + 1 : cases); i++) run_case(i, QUERIES, seen);
  printf("%d exact, %d near, %d fallback\n", seen[0], seen[1], seen[2]);
  if (one || cases < CASES) return;
  for (int k = 0; k < 3; k++) ck_assert_int_gt(seen[k], cases * QUERIES / 20); /* the comparison was of something */
}
END_TEST

/* The header's code under the sanitizers, where the compiler has them. */
START_TEST(no_undefined_behaviour)
{
  const char *flags = "-std=c99 -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined";
  hone_text t = {0};
  hone_rng r;
  int seen[3] = {0};
  add(&t, "int main(void) { return 0; }\n");
  save("probe.c", &t);
  hone_text_clear(&t);
  if (!command("%s %s probe.c -o probe 2> messages && ./probe", c_compiler, flags)) {
    printf("no sanitizers: skipped\n");
    hone_text_fini(&t);
    return;
  }
  hone_rng_init(&r, SEED + 1);
  hone_library *l = library_random_new(&r, &(library_random_options){"odd", 10, 30, false, true});
  write_program(l, l);
  ask(&r, l, true, QUERIES, &t, seen);
  ck_assert(command("%s %s driver.c use.c -o driver && ./driver < questions > answers", c_compiler, flags));
  compare_answers(0, "sanitizers", &t);
  hone_text_fini(&t);
  hone_library_free(l);
}
END_TEST

START_TEST(parameters_are_read_from_schedules)
{
  static const char program[] =
      "#include \"lib.h\"\n"
      "#define GIVES(s, name, v) (x = -5, lib_parameter(s, name, &x) == 1 && x == (v))\n"
      "#define NONE(s, name) (x = -5, lib_parameter(s, name, &x) == 0 && x == -5)\n"
      "int main(void)\n{\n"
      "  const char *s = \"split.core.m=2 tile.1.m=64 tile.1.mm=65 order.1=m,n at.W.1=bypass depth.X.1=2\";\n"
      "  int64_t x;\n"
      "  if (!GIVES(s, \"split.core.m\", 2) || !GIVES(s, \"tile.1.m\", 64) || !GIVES(s, \"tile.1.mm\", 65)) return 1;\n"
      "  if (!GIVES(s, \"depth.X.1\", 2) || !NONE(s, \"order.1\") || !NONE(s, \"at.W.1\") || !NONE(s, \"tile.1\")) return 2;\n"
      "  if (!NONE(s, \"\") || !NONE(s, \"m\") || !NONE(s, \"tile.1.m=64\") || !NONE(\"\", \"m\") || !NONE(NULL, \"m\")) return 3;\n"
      "  if (!GIVES(\"a=9223372036854775807\", \"a\", INT64_MAX) || !NONE(\"a=9223372036854775808\", \"a\")) return 4;\n"
      "  if (!NONE(\"a=1x\", \"a\") || !NONE(\"a= b=1\", \"a\") || !GIVES(\"  a=0  b=1 \", \"b\", 1)) return 5;\n"
      "  return 0;\n}\n";
  hone_text t = {0};
  hone_rng r;
  hone_rng_init(&r, SEED);
  hone_library *l = library_random_new(&r, &(library_random_options){"lib", 1, 1, true, false});
  write_program(l, l);
  add(&t, program);
  save("parameter.c", &t);
  ck_assert(command("%s -std=c99 " WARNINGS " parameter.c -o parameter && ./parameter", c_compiler));
  hone_text_fini(&t);
  hone_library_free(l);
}
END_TEST

/* Every compiler and standard at hand, optimised too, where gcc looks deeper. */
START_TEST(no_warnings_from_any_compiler)
{
  static const struct {
    const char *compiler, *options;
  } trial[] = {{"gcc", "-std=c99 -O2 -Wc++-compat"}, {"gcc", "-std=c17 -Wc++-compat"}, {"clang", "-std=c99 -O2 -Wc++-compat"},
               {"clang", "-std=c17"}, {"g++", "-std=c++17 -O2 -x c++"}, {"clang++", "-std=c++17 -x c++"}};
  hone_rng r;
  hone_rng_init(&r, SEED);
  hone_library *l = library_random_new(&r, &(library_random_options){"odd", 12, 6, true, true});
  hone_library *beside = library_random_new(&r, &(library_random_options){"odd_2", 2, 5, true, false});
  write_program(l, beside);
  for (size_t i = 0; i < sizeof trial / sizeof trial[0]; i++)
    if (there(trial[i].compiler))
      ck_assert(command("%s %s " WARNINGS " -c driver.c && %s %s " WARNINGS " -c use.c", trial[i].compiler, trial[i].options,
                        trial[i].compiler, trial[i].options));
  hone_library_free(l);
  hone_library_free(beside);
}
END_TEST

/* Two libraries of one name and other contents cannot be mixed up silently. */
START_TEST(a_name_used_twice_is_an_error)
{
  hone_rng r;
  hone_rng_init(&r, SEED);
  hone_library *l = library_random_new(&r, &(library_random_options){"lib", 2, 5, true, false});
  hone_library *beside = library_random_new(&r, &(library_random_options){"lib", 2, 5, true, false});
  write_program(l, beside);
  ck_assert(command("! %s -fsyntax-only use.c 2> messages && grep -q 'two libraries have the name lib' messages", c_compiler));
  write_program(l, l);
  ck_assert(command("%s -fsyntax-only use.c", c_compiler));
  hone_library_free(l);
  hone_library_free(beside);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("library header");
  TCase *t = tcase_create("random libraries");
  printf("seed %d, %d cases\n", SEED, case_count(CASES));
  unit_timeout(t, 3600);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, headers_answer_as_the_library);
  tcase_add_test(t, no_undefined_behaviour);
  tcase_add_test(t, parameters_are_read_from_schedules);
  tcase_add_test(t, no_warnings_from_any_compiler);
  tcase_add_test(t, a_name_used_twice_is_an_error);
  suite_add_tcase(s, t);
  return unit_run(s);
}
