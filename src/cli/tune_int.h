/* What the files behind `hone tune` share. */
#ifndef HONE_CLI_TUNE_INT_H
#define HONE_CLI_TUNE_INT_H

#include "campaign/campaign.h"
#include "cli/cli.h"

enum {
  TUNE_MODEL = CLI_PROBLEM_COUNT, TUNE_PHASE, TUNE_BATCH, TUNE_CONTEXT, TUNE_TENSOR_PARALLEL, TUNE_STORE, TUNE_RESUME, TUNE_STRATEGY,
  TUNE_STRATEGY_OPTION, TUNE_SEED, TUNE_BUDGET, TUNE_TIME, TUNE_BATCH_SIZE, TUNE_THREADS, TUNE_TOP, TUNE_TOP_K, TUNE_SAMPLES,
  TUNE_MAX_K, TUNE_ENTRIES, TUNE_PROGRESS, TUNE_OPTIONS
};

/* Progress: a line on a terminal, JSON lines when asked, else silence. */
typedef enum { TUNE_SILENT, TUNE_LINE, TUNE_JSON_LINES } tune_progress_mode;
typedef struct {
  tune_progress_mode mode;
  double shown_s; /* elapsed when last shown */
  int index, of;  /* this task among several, 0-based */
  int width;      /* of the line on the terminal */
} tune_progress;
void tune_progress_show(void *arg, const hone_tune_progress *p); /* a hone_tune_progress_fn */
void tune_progress_clear(tune_progress *p);

/* Everything of a task but the problem. */
hone_status tune_task_init(const cli_run *r, hone_tune_task *task, hone_err *err);
/* Runs one problem; the caller ends *out with hone_tune_result_fini. */
hone_status tune_problem(const cli_problem *p, hone_tune_task *task, tune_progress *progress, hone_tune_result *out, hone_err *err);

/* DESIGN section 8's document and the text of one result. */
json_t *tune_document(const cli_problem *p, const hone_tune_task *task, const hone_tune_result *x);
void tune_text(const cli_problem *p, const hone_tune_task *task, const hone_tune_result *x, hone_text *out);
/* What part of the machine's peaks a schedule used in `cycles`. NaN: not known. */
typedef struct {
  double matrix_pct, dram_pct;
} tune_shares;
tune_shares tune_shares_of(const cli_problem *p, const hone_schedule *s, int64_t cycles);
/* Tiles and loop order of each memory: "sbuf 512x4096x512 mnk". */
void tune_schedule_short(const cli_problem *p, const hone_schedule *s, hone_text *out);
hone_status tune_exit(hone_tune_status s);
void tune_resume_hint(cli_run *r); /* after an interrupt: how to go on */

/* One size a range: --size m=1..4096. */
hone_status tune_range(cli_run *r, hone_tune_task *task, tune_progress *progress, hone_err *err);
hone_status tune_model(cli_run *r, hone_tune_task *task, tune_progress *progress, hone_err *err);

#endif
