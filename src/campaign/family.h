/* Tuning a family: one size of an operator runs over a range, and few schedules
 * are to serve every shape of it (docs/ranges.md).
 *
 * A schedule serves a smaller shape by cutting splits and tiles to it
 * (hone_schedule_fit). The run finds the best it can for every integer (the
 * reference), chooses at most `entries` intervals with one schedule each so that
 * the largest loss against the reference is least, never worse than the default
 * schedule of any integer, and states for each entry what it loses: measured on
 * every integer with the model, on some in simulation.
 *
 * The result depends on the task's fields alone, never on threads or clock. */
#ifndef HONE_CAMPAIGN_FAMILY_H
#define HONE_CAMPAIGN_FAMILY_H

#include "campaign/campaign.h"
#include "ir/spec.h"

enum { HONE_FAMILY_MAX_SHAPES = 65536, HONE_FAMILY_MAX_ENTRIES = 1024 };

/* Everything is borrowed for the call. */
typedef struct {
  const char *operator_path;
  const hone_spec *spec; /* exactly one size is a range, of at most MAX_SHAPES integers */
  const hone_machine *machine;
  const hone_space_source *space; /* the template and the operator's text, as for hone_space_new */
  int nspace;
  const char *label;              /* for people */
  const hone_strategy_type *strategy; /* of the full searches */
  const char *const *strategy_options;
  int nstrategy_options;
  uint64_t seed;
  int64_t budget; /* model evaluations of one full search; the others are derived from it */
  int batch;
  int entries;    /* at most so many */
  int top_k;      /* schedules that compete in simulation for an entry, and for the best of a sample */
  int samples;    /* shapes simulated between the ends of the entries, over the whole range; shared out evenly */
  hone_store *store; /* NULL: nothing is kept */
  const volatile sig_atomic_t *interrupted; /* NULL allowed */
  hone_tune_progress_fn progress;           /* NULL allowed; the time to go is that of the step */
  void *progress_arg;
} hone_family_task;

/* Losses and margins in percent. NaN and -1: not known. */
typedef struct {
  int64_t lo, hi;
  const char *schedule;    /* canonical text at hi */
  double model_loss_pct;   /* the most over lo..hi against the reference */
  int64_t model_loss_at;
  double mean_loss_pct;    /* over lo..hi */
  double bound_gap_pct;    /* the most over lo..hi above the physical bound: no loss is larger, whatever the optimum */
  double model_margin_pct; /* the least gain over the default of the same shape; >= 0 */
  double sim_loss_pct;     /* the most over the samples against the best simulated there */
  int64_t sim_loss_at;
  double sim_margin_pct;   /* the least over the samples; negative: the simulator finds the default better there */
  int sim_samples;         /* shapes simulated, lo and hi among them */
  int64_t model_cycles, sim_cycles, default_model_cycles, default_sim_cycles, bound_cycles; /* at hi */
} hone_family_entry;

/* Shapes that nothing serves. */
typedef struct {
  int64_t lo, hi;
  char reason[200];
} hone_family_hole;

typedef struct {
  int64_t shapes;
  int64_t searches;             /* full ones, those of the check included */
  int64_t searched;             /* model evaluations by searches */
  int64_t evaluated;            /* all model evaluations, pool against shapes included */
  int64_t pool;                 /* schedules costed at every shape */
  int64_t simulated;
} hone_family_counts;

/* How good the reference is: full searches at random shapes that know nothing of
 * it. What they found better is then in the reference, too. */
typedef struct {
  int shapes, rounds;  /* of the last round; rounds until there was little to find */
  double worst_pct;    /* the most by which a search of the last round undercut the reference; 0: none did */
  int64_t worst_at;
} hone_family_check;

/* Texts live in `arena`. Free with hone_family_result_fini. */
typedef struct {
  hone_arena *arena;
  hone_tune_status status;
  char reason[512];     /* infeasible: why */
  int64_t lo, hi;
  char size[HONE_MAX_NAME];
  int nentries, nholes;
  hone_family_entry *entry; /* ascending; with the holes they cover lo..hi exactly */
  hone_family_hole *hole;
  const int64_t *reference; /* lo..hi: best known model cycles; -1: nothing is legal */
  int64_t entries_needed;   /* infeasible for want of entries: so many would do; else 0 */
  double least_loss_pct;    /* the least possible with these schedules and entries, before simulation had its say */
  double model_loss_pct, mean_loss_pct, bound_gap_pct, model_margin_pct, sim_loss_pct, sim_margin_pct; /* over all entries */
  int64_t model_loss_at, sim_loss_at;
  hone_fidelity fidelity;   /* model against simulator, entries at the samples */
  bool simulated;
  const char *document;     /* what the store gets: one line of JSON; NULL: no entries */
  hone_family_check check;
  hone_family_counts counts;
  double elapsed_s;
} hone_family_result;

/* HONE_OK also when infeasible or interrupted: the status says so. The entries and
 * the defaults at each hi become records of the store, the whole a document of
 * kind "range" (docs/ranges.md), in one flush at the end. */
hone_status hone_family_run(const hone_family_task *task, hone_family_result *out, hone_err *err);
void hone_family_result_fini(hone_family_result *r);

#endif
