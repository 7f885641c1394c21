/* hone --version: how it was built. revision.h is made by each `make`. */
#include "config.h"

#include "backend/program.h"
#include "cli/cli.h"
#include "eval/evaluator.h"
#include "library/library.h"
#include "revision.h"
#include "store/store.h"

#ifdef __clang__
#define COMPILER __VERSION__ /* names itself */
#else
#define COMPILER "gcc " __VERSION__
#endif

#ifdef _OPENMP
enum { OPENMP = _OPENMP };
#else
enum { OPENMP = 0 };
#endif

static const struct {
  const char *name, *version;
} libraries[] = { { "hdf5", HONE_HDF5_VERSION }, { "gsl", HONE_GSL_VERSION }, { "libfyaml", HONE_FYAML_VERSION },
                  { "jansson", HONE_JANSSON_VERSION } };
enum { NLIBRARIES = sizeof libraries / sizeof libraries[0] };

static const hone_evaluator_type *const evaluators[] = { &hone_evaluator_model, &hone_evaluator_simulator };

/* What files carry, and what they are refused by. */
static const struct {
  const char *name;
  int version;
} formats[] = { { "program", HONE_PROGRAM_VERSION }, { "store", HONE_STORE_SCHEMA }, { "library", HONE_LIBRARY_SCHEMA } };
enum { NFORMATS = sizeof formats / sizeof formats[0] };

void cli_version(hone_text *out)
{
  hone_text_add(out, "hone %s%s%s%s\n", PACKAGE_VERSION, *HONE_REVISION ? " (" : "", HONE_REVISION, *HONE_REVISION ? ")" : "");
  hone_text_add(out, "compiler    %s\nflags       %s\nlibraries  ", COMPILER, HONE_BUILD_FLAGS);
  for (int i = 0; i < NLIBRARIES; i++) hone_text_add(out, "%s %s %s", i ? "," : "", libraries[i].name, libraries[i].version);
  if (OPENMP) hone_text_add(out, "\nthreads     OpenMP %d\nevaluators ", OPENMP);
  else hone_text_add(out, "\nthreads     none\nevaluators ");
  for (int i = 0; i < 2; i++) hone_text_add(out, "%s %s %d", i ? "," : "", evaluators[i]->name, evaluators[i]->version);
  hone_text_add(out, "\nformats    ");
  for (int i = 0; i < NFORMATS; i++) hone_text_add(out, "%s %s %d", i ? "," : "", formats[i].name, formats[i].version);
  hone_text_add(out, "\ndata        %s\n", HONE_DATADIR);
}

json_t *cli_version_document(void)
{
  json_t *o = json_object(), *libs = json_object(), *evals = json_object(), *forms = json_object();
  for (int i = 0; i < NLIBRARIES; i++) json_object_set_new(libs, libraries[i].name, json_string(libraries[i].version));
  for (int i = 0; i < 2; i++) json_object_set_new(evals, evaluators[i]->name, json_integer(evaluators[i]->version));
  for (int i = 0; i < NFORMATS; i++) json_object_set_new(forms, formats[i].name, json_integer(formats[i].version));
  json_object_set_new(o, "version", json_string(PACKAGE_VERSION));
  json_object_set_new(o, "revision", cli_json_text(HONE_REVISION));
  json_object_set_new(o, "compiler", json_string(COMPILER));
  json_object_set_new(o, "flags", cli_json_string(HONE_BUILD_FLAGS));
  json_object_set_new(o, "libraries", libs);
  json_object_set_new(o, "openmp", OPENMP ? json_integer(OPENMP) : json_null());
  json_object_set_new(o, "evaluators", evals);
  json_object_set_new(o, "formats", forms);
  json_object_set_new(o, "data", cli_json_string(HONE_DATADIR));
  return o;
}
