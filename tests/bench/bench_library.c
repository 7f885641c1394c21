/* How long a lookup in a generated header takes: 10 families of 500 entries,
 * random shapes in random families, least of 9 passes, per kind of answer.
 *     make tests/bench/bench_library && tests/bench/bench_library */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/library.h"
#include "tests/property/library_random.h"

enum { FAMILIES = 10, ENTRIES = 500, QUERIES = 8192, SEED = 1 };

static const char driver[] =
    "#define _POSIX_C_SOURCE 199309L\n"
    "#include <inttypes.h>\n#include <stdio.h>\n#include <time.h>\n#include \"bench.h\"\n"
    "enum { QUERIES = 8192, REPEAT = 64 };\n"
    "static struct { int family; int64_t size[4]; } query[QUERIES], chosen[QUERIES];\n"
    "static int64_t sum;\n"
    "static double pass(int n)\n"
    "{\n"
    "  struct timespec from, to;\n"
    "  clock_gettime(CLOCK_MONOTONIC, &from);\n"
    "  for (int r = 0; r < REPEAT; r++)\n"
    "    for (int i = 0; i < n; i++) {\n"
    "      bench_answer a = bench_lookup(&bench_families[chosen[i].family], chosen[i].size);\n"
    "      sum += a.kind + (a.schedule != NULL);\n"
    "    }\n"
    "  clock_gettime(CLOCK_MONOTONIC, &to);\n"
    "  return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / ((double)n * REPEAT);\n"
    "}\n"
    "static void measure(int kind, const char *word)\n"
    "{\n"
    "  int n = 0;\n"
    "  double least = 1e9;\n"
    "  for (int i = 0; i < QUERIES; i++)\n"
    "    if (kind < 0 || (int)bench_lookup(&bench_families[query[i].family], query[i].size).kind == kind) chosen[n++] = query[i];\n"
    "  for (int i = 0; i < 9 && n > 0; i++) {\n"
    "    double t = pass(n);\n"
    "    if (t < least) least = t;\n"
    "  }\n"
    "  printf(\"%-8s %6d queries  %5.1f ns\\n\", word, n, least);\n"
    "}\n"
    "int main(void)\n"
    "{\n"
    "  for (int i = 0; i < QUERIES; i++)\n"
    "    if (scanf(\"%d %\" SCNd64 \" %\" SCNd64 \" %\" SCNd64 \" %\" SCNd64, &query[i].family, &query[i].size[0],\n"
    "              &query[i].size[1], &query[i].size[2], &query[i].size[3]) != 5) return 1;\n"
    "  for (int k = 0; k < 3; k++) measure(k, bench_kind_word((bench_kind)k));\n"
    "  measure(-1, \"any\");\n"
    "  return sum == 0;\n"
    "}\n";

static int save(const char *path, const char *s)
{
  FILE *f = fopen(path, "w");
  if (!f) return 1;
  int bad = fputs(s, f) < 0;
  return fclose(f) != 0 || bad;
}

int main(void)
{
  char folder[] = "/tmp/hone-bench.XXXXXX", path[64], line[512];
  hone_rng r;
  hone_text t = {0};
  if (!mkdtemp(folder)) return 1;
  hone_rng_init(&r, SEED);
  hone_library *l = library_random_new(&r, &(library_random_options){"bench", FAMILIES, ENTRIES, true, false});
  hone_library_write_header(l, &t);
  snprintf(path, sizeof path, "%s/bench.h", folder);
  int bad = save(path, t.data);
  printf("header: %zu KB, %d intervals in the first family\n", t.length / 1000, l->family[0].nintervals);
  hone_text_clear(&t);
  for (int i = 0; i < QUERIES; i++) {
    int64_t size[HONE_MAX_SIZES] = {0};
    const int f = (int)hone_rng_below(&r, l->nfamilies);
    library_random_query(&r, &l->family[f], false, size);
    hone_text_add(&t, "%d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", f, size[0], size[1], size[2], size[3]);
  }
  snprintf(path, sizeof path, "%s/queries", folder);
  bad = bad || save(path, t.data);
  snprintf(path, sizeof path, "%s/bench.c", folder);
  bad = bad || save(path, driver);
  const char *cc = getenv("HONE_CC") ? getenv("HONE_CC") : "cc";
  snprintf(line, sizeof line, "cd %s && %s -std=c99 -O2 bench.c -o bench && ./bench < queries; cd / && rm -rf %s", folder, cc, folder);
  bad = bad || fflush(stdout) != 0 || system(line) != 0;
  hone_text_fini(&t);
  hone_library_free(l);
  return bad;
}
