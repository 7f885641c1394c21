/* Hone: search-driven autotuner for inference accelerators. The one public
 * header of libhone.
 *
 *     hone_problem *p;
 *     hone_tuning t;
 *     char why[HONE_ERROR_TEXT];
 *     hone_problem_source source = {.operator_file = "matmul.yaml", .sizes = "m=1,n=4096,k=4096",
 *                                   .formats = "bf16", .machine_file = "trainium2-core.yaml"};
 *     if (hone_problem_new(&source, &p, why) == HONE_DONE) {
 *       if (hone_problem_tune(p, &(hone_tune_request){.seed = 1, .budget = 2000}, &t, why) == HONE_DONE)
 *         use(t.schedule, t.best.simulated_cycles);
 *       hone_tuning_clear(&t);
 *       hone_problem_free(p);
 *     }
 *
 * The library keeps no global state, prints nothing and never exits (out of
 * memory aside: it aborts). A problem is read-only once made: threads may share
 * it. Cycles are of the machine's base clock. */
#ifndef HONE_H
#define HONE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_API __attribute__((visibility("default")))

/* What functions return: the exit codes of the hone command. */
enum {
  HONE_DONE = 0,
  HONE_FAILED_INSIDE = 1, /* a defect of Hone */
  HONE_BAD_INPUT = 2,     /* a text, size, format or schedule is wrong */
  HONE_NO_SCHEDULE = 3,   /* infeasible on this machine, or illegal */
  HONE_BAD_FILE = 4       /* a file, store or disk failed */
};

/* Size of the buffers that take a diagnostic, "file:line:column: error: ..". They
 * are filled when a function returns anything but HONE_DONE; NULL is allowed. */
#define HONE_ERROR_TEXT 1280

/* The library's version, such as "0.1.0"; static text. */
HONE_API const char *hone_version(void);

/* An operator of given sizes and formats on a machine. NULL texts: none. */
typedef struct {
  const char *operator_file, *machine_file;
  const char *sizes;   /* "m=1,n=4096,k=4096" */
  const char *formats; /* "bf16" for all tensors, "W=int8" for one; "bf16,W=int8" */
  const char *options; /* of the operator: "bias=row,activation=gelu" */
  const char *data;    /* folder that holds spaces/template.yaml; NULL: the installed one */
} hone_problem_source;

typedef struct hone_problem hone_problem;

HONE_API int hone_problem_new(const hone_problem_source *source, hone_problem **out, char *why);
HONE_API void hone_problem_free(hone_problem *p); /* NULL allowed */

/* Cycles that no schedule can go below. */
HONE_API int hone_problem_bound(const hone_problem *p, int64_t *cycles, char *why);

/* The default schedule as canonical text; free it with hone_string_free. */
HONE_API int hone_problem_default(const hone_problem *p, char **schedule, char *why);
HONE_API void hone_string_free(char *text);

/* What a schedule takes. */
typedef struct {
  int64_t model_cycles;
  int64_t simulated_cycles; /* from an idle machine; -1: not simulated */
  int64_t warm_cycles;      /* back to back; -1: not simulated */
  char bottleneck[24];
} hone_times;

/* Times one schedule on the model, and on the simulator if `simulate`. */
HONE_API int hone_problem_time(const hone_problem *p, const char *schedule, int simulate, hone_times *out, char *why);

typedef struct {
  uint64_t seed;         /* decides the result */
  int64_t budget;        /* schedules to try on the model, >= 1 */
  const char *strategy;  /* NULL: the usual one */
} hone_tune_request;

typedef struct {
  char *schedule; /* the best found; owned by this */
  hone_times best, by_default;
  int64_t bound_cycles;
} hone_tuning;

/* Searches on the model and simulates the best; never worse than the default. */
HONE_API int hone_problem_tune(const hone_problem *p, const hone_tune_request *request, hone_tuning *out, char *why);
HONE_API void hone_tuning_clear(hone_tuning *t);

#ifdef __cplusplus
}
#endif

#endif
