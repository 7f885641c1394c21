/* hone tune: one operator, or every distinct one of a model. */
#include "config.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/checked.h"
#include "campaign/family.h"
#include "cli/tune_int.h"

static const hone_option options[] = {
  CLI_COMMON_OPTIONS,
  CLI_PROBLEM_OPTIONS,
  { "model", HONE_OPTION_TEXT, 0, 0, NULL, "FILE|NAME", "Model (its config.json, the folder of one, or a name in data/models): tune every distinct operator of it.", false },
  { "phase", HONE_OPTION_TEXT, 0, 0, NULL, "prefill|decode", "Which phase of the model.", false },
  { "batch", HONE_OPTION_INT, 1, 1 << 20, "1", "N", "Sequences the model works on at once.", false },
  { "context", HONE_OPTION_INT, 1, 1 << 30, NULL, "N", "Tokens of each sequence.", false },
  { "tensor-parallel", HONE_OPTION_INT, 1, 1 << 16, "1", "N", "Shapes of one of N shards of the model.", false },
  { "store", HONE_OPTION_TEXT, 0, 0, NULL, "DIR", "Keep every evaluation in this store; made when absent.", false },
  { "resume", HONE_OPTION_FLAG, 0, 1, NULL, NULL, "Use what --store knows: simulations are not repeated, the best competes.", false },
  { "strategy", HONE_OPTION_TEXT, 0, 0, "evolutionary", "NAME", "Search strategy.", false },
  { "strategy-option", HONE_OPTION_LIST, 0, 0, NULL, "NAME=VALUE,...", "Options of the strategy.", false },
  { "seed", HONE_OPTION_INT, 0, INT64_MAX, "1", "N", "Decides the run, whatever the number of threads.", false },
  { "budget", HONE_OPTION_INT, 1, INT64_MAX, "20000", "N", "Schedules to evaluate on the model, for each operator.", false },
  { "time", HONE_OPTION_REAL, 0, 1000000000, NULL, "SECONDS", "Stop searching an operator after this time, at a batch boundary.", false },
  { "batch-size", HONE_OPTION_INT, 1, 65536, "64", "N", "Schedules evaluated between two decisions of the strategy.", false },
  { "threads", HONE_OPTION_INT, 1, 4096, NULL, "N", "Threads; all by default. Does not change the result.", false },
  { "top", HONE_OPTION_INT, 0, HONE_TUNE_MAX_TOP, "5", "N", "Schedules to list, best first.", false },
  { "top-k", HONE_OPTION_INT, 1, 4096, "8", "N", "The model's best to simulate before widening.", false },
  { "samples", HONE_OPTION_INT, 0, 4096, "16", "N", "Schedules over the whole range to simulate, for the fidelity figures.", false },
  { "max-k", HONE_OPTION_INT, 1, 65536, "64", "N", "Most of the model's best ever to simulate.", false },
  { "entries", HONE_OPTION_INT, 1, HONE_FAMILY_MAX_ENTRIES, "16", "N", "Schedules to serve a range of shapes with, at most.", false },
  { "progress", HONE_OPTION_TEXT, 0, 0, "auto", "auto|json|none", "Progress on standard error: a line on a terminal, or JSON lines.", false },
};
_Static_assert(sizeof options / sizeof options[0] == TUNE_OPTIONS, "one row per option");

static const char *strategy_at(void *arg, int i)
{
  (void)arg;
  return hone_strategy_type_at(i)->name;
}

static hone_status find_strategy(const char *name, const hone_strategy_type **out, hone_err *err)
{
  *out = hone_strategy_find(name);
  if (*out) return HONE_OK;
  hone_err_set(err, HONE_USAGE, "strategy.unknown", "unknown strategy '%.60s'", name);
  const char *near = hone_text_nearest(name, hone_strategy_types(), strategy_at, NULL);
  hone_text all = { 0 };
  for (int i = 0; i < hone_strategy_types(); i++) hone_text_add(&all, "%s%s", i ? ", " : "", strategy_at(NULL, i));
  hone_err_hint(err, "%s%s", near ? "did you mean " : "strategies: ", near ? near : all.data);
  hone_text_fini(&all);
  return HONE_USAGE;
}

hone_status tune_task_init(const cli_run *r, hone_tune_task *task, hone_err *err)
{
  const hone_option_value *v = r->value;
  *task = (hone_tune_task){
    .strategy_options = v[TUNE_STRATEGY_OPTION].list, .nstrategy_options = v[TUNE_STRATEGY_OPTION].nlist,
    .seed = (uint64_t)v[TUNE_SEED].i, .budget = v[TUNE_BUDGET].i, .time_s = v[TUNE_TIME].given ? v[TUNE_TIME].r : 0,
    .batch = (int)v[TUNE_BATCH_SIZE].i, .top_k = (int)v[TUNE_TOP_K].i, .samples = (int)v[TUNE_SAMPLES].i,
    .max_k = (int)v[TUNE_MAX_K].i, .ntop = (int)v[TUNE_TOP].i, .resume = v[TUNE_RESUME].i != 0, .interrupted = &cli_interrupted,
  };
  if (task->time_s > 0 && !v[TUNE_BUDGET].given) task->budget = INT64_MAX;
  if (task->max_k < task->top_k) task->max_k = task->top_k;
  if (task->resume && !v[TUNE_STORE].given) return hone_err_set(err, HONE_USAGE, "tune.resume", "--resume needs --store");
#ifdef _OPENMP
  if (v[TUNE_THREADS].given) omp_set_num_threads((int)v[TUNE_THREADS].i);
#endif
  return find_strategy(v[TUNE_STRATEGY].text, &task->strategy, err);
}

static hone_status progress_mode(const cli_run *r, tune_progress *p, hone_err *err)
{
  const char *s = r->value[TUNE_PROGRESS].text;
  *p = (tune_progress){ .of = 1 };
  if (strcmp(s, "json") == 0) p->mode = TUNE_JSON_LINES;
  else if (strcmp(s, "auto") == 0) p->mode = isatty(STDERR_FILENO) ? TUNE_LINE : TUNE_SILENT;
  else if (strcmp(s, "none") != 0)
    return hone_err_set(err, HONE_USAGE, "option.value", "--progress: '%.40s' is not auto, json or none", s);
  return HONE_OK;
}

hone_status tune_problem(const cli_problem *p, hone_tune_task *task, tune_progress *progress, hone_tune_result *out, hone_err *err)
{
  task->op = &p->op;
  task->machine = &p->machine;
  task->params = &p->params;
  task->space = p->space;
  task->progress = tune_progress_show;
  task->progress_arg = progress;
  progress->shown_s = 0;
  hone_status st = hone_tune_run(task, out, err);
  tune_progress_clear(progress);
  return st;
}

/* As a POSIX shell reads it back. */
static void add_quoted(hone_text *out, const char *word)
{
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+,./:@%";
  if (word[0] && word[strspn(word, plain)] == '\0') {
    hone_text_add(out, " %s", word);
    return;
  }
  hone_text_add(out, " '");
  for (; *word; word++) {
    if (*word == '\'') hone_text_add(out, "'\\''");
    else hone_text_add_bytes(out, word, 1);
  }
  hone_text_add(out, "'");
}

void tune_resume_hint(cli_run *r)
{
  if (!r->value[TUNE_STORE].given) {
    cli_warn(r, "tune.interrupted", "interrupted; without --store nothing was kept, the same command starts again");
    return;
  }
  hone_text t = { 0 };
  hone_text_add(&t, "hone tune");
  for (int i = 0; i < r->argc; i++) add_quoted(&t, r->argv[i]);
  if (!r->value[TUNE_RESUME].i) hone_text_add(&t, " --resume");
  cli_warn(r, "tune.interrupted", "interrupted; go on with: %s", t.data);
  if (r->document) json_object_set_new(r->document, "resume", cli_json_string(t.data));
  hone_text_fini(&t);
}

/* Does the operator's data fit the machine's DRAM? */
static void check_capacity(cli_run *r, const cli_problem *p)
{
  int64_t need = 0;
  for (int t = 0; t < p->op.ntensors; t++) {
    if (p->op.tensor[t].role == HONE_ROLE_INTERMEDIATE) continue;
    int64_t bytes = hone_format_bytes(p->op.tensor[t].format, hone_tensor_elements(&p->op, t));
    if (!hone_checked_add(need, bytes, &need)) need = INT64_MAX;
  }
  int64_t have = p->machine.memory[0].capacity_bytes;
  if (need <= have) return;
  hone_text a = { 0 }, b = { 0 };
  cli_text_bytes(&a, need);
  cli_text_bytes(&b, need - have);
  cli_warn(r, "machine.capacity", "the operator's tensors need %s, %s more than the machine's DRAM holds", a.data, b.data);
  hone_text_fini(&a);
  hone_text_fini(&b);
}

static hone_status tune_operator(cli_run *r, hone_tune_task *task, tune_progress *progress, hone_err *err)
{
  cli_problem p;
  hone_tune_result x;
  hone_text label = { 0 };
  hone_status st = cli_problem_load(r, &p, err);
  if (st == HONE_INFEASIBLE) r->document = json_pack("{s:s}", "status", hone_tune_status_word(HONE_TUNE_INFEASIBLE));
  if (st != HONE_OK) return st;
  check_capacity(r, &p);
  cli_problem_label(&p, &label);
  task->label = label.data;
  st = tune_problem(&p, task, progress, &x, err);
  if (st == HONE_OK) {
    r->document = tune_document(&p, task, &x);
    tune_text(&p, task, &x, &r->out);
    r->outcome = tune_exit(x.status);
    if (x.status == HONE_TUNE_INTERRUPTED) tune_resume_hint(r);
  }
  hone_tune_result_fini(&x);
  hone_text_fini(&label);
  cli_problem_fini(&p);
  return st;
}

static hone_status tune_with_store(cli_run *r, hone_tune_task *task, tune_progress *progress, hone_err *err)
{
  const hone_option_value *v = r->value;
  hone_status st = HONE_OK;
  char snapshot[HONE_HASH_TEXT] = "";
  /* Before any budget is spent, so that a store one cannot write to costs nothing. */
  if (v[TUNE_STORE].given) st = hone_store_open(v[TUNE_STORE].text, HONE_STORE_WRITE, &task->store, err);
  if (st != HONE_OK) return st;
  cli_warn_damaged(r, task->store);
  if (task->resume) hone_hash_print(hone_store_snapshot(task->store), snapshot);
  st = v[TUNE_MODEL].given     ? tune_model(r, task, progress, err)
       : cli_range_given(r) ? tune_range(r, task, progress, err)
                            : tune_operator(r, task, progress, err);
  if (r->document && snapshot[0]) json_object_set_new(r->document, "resumed_from", json_string(snapshot));
  hone_status closed = hone_store_close(task->store, st == HONE_OK ? err : NULL);
  return st == HONE_OK ? closed : st;
}

/* An option that would do nothing is refused rather than ignored. */
static hone_status check_together(const cli_run *r, hone_err *err)
{
  static const int of_operator[] = { CLI_OPERATOR, CLI_SIZE, CLI_OPTION }, of_model[] = { TUNE_PHASE, TUNE_BATCH, TUNE_CONTEXT, TUNE_TENSOR_PARALLEL };
  bool model = r->value[TUNE_MODEL].given;
  for (int i = 0; i < (model ? 3 : 4); i++) {
    int other = model ? of_operator[i] : of_model[i];
    if (r->value[other].given)
      return hone_err_set(err, HONE_USAGE, "tune.both", "--%s belongs to --%s, not to --%s", options[other].name,
                          model ? "operator" : "model", model ? "model" : "operator");
  }
  if (r->value[TUNE_ENTRIES].given && !cli_range_given(r))
    return hone_err_set(err, HONE_USAGE, "range.entries", "--entries belongs to a range of sizes, such as --size m=1..4096");
  return HONE_OK;
}

static hone_status run(cli_run *r, hone_err *err)
{
  hone_tune_task task;
  tune_progress progress;
  if (!r->value[TUNE_MODEL].given && !r->value[CLI_OPERATOR].given) {
    hone_err_set(err, HONE_USAGE, "option.missing", "--operator or --model is required");
    hone_err_hint(err, "for example --operator matmul --size m=1,n=4096,k=4096 --dtype bf16");
    return HONE_USAGE;
  }
  hone_status st = check_together(r, err);
  if (st == HONE_OK) st = tune_task_init(r, &task, err);
  if (st == HONE_OK) st = progress_mode(r, &progress, err);
  if (st != HONE_OK) return st;
  cli_catch_signals();
  return tune_with_store(r, &task, &progress, err);
}

const cli_command cli_tune = {
  .name = "tune",
  .summary = "find the best schedule of an operator, or of every operator of a model",
  .detail = "Searches the schedule space on the analytical model, simulates the best and some others, and reports the best with the "
            "default it beats and the bound nothing can beat. With --model does so for every distinct operator of a model.\n\n"
            "The seed decides the result, not threads or time. A signal stops the search and keeps what was found (exit status 5).",
  .option = options,
  .noptions = TUNE_OPTIONS,
  .run = run,
};
