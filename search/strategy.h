/* Strategies: what proposes points of a space and learns from their values, by
 * ask and tell. A strategy sees the space, its parameters and the results, never
 * an evaluator; knowledge of a model arrives only as callbacks.
 *
 *     ask up to n points -> evaluate them (anywhere, any order) -> tell all of them
 *
 * Guarantees, kept here for every strategy: proposals are legal; no key
 * (hone_space_key) is proposed twice or after it was seeded; the sequence
 * depends on (space, options, seed, batch sizes, results) alone. One thread at a
 * time. Values are minimised. */
#ifndef HONE_SEARCH_STRATEGY_H
#define HONE_SEARCH_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"
#include "base/rng.h"
#include "base/status.h"
#include "base/text.h"
#include "ir/schedule.h"
#include "spaces/space.h"

/* One evaluation: value means something only when reason is NONE. */
typedef struct {
  hone_reason reason;
  double value;
} hone_result;

/* Model knowledge; both may be NULL, both must be deterministic and cheap. */
typedef struct {
  double (*prior)(void *arg, const hone_schedule *s); /* a guess of the value */
  double (*bound)(void *arg, const hone_schedule *s); /* never above the value */
  void *arg;
} hone_strategy_callbacks;

typedef struct {
  const hone_space *space;
  uint64_t seed;
  int64_t budget; /* evaluations the caller means to pay for, for pacing; 0: unknown */
  hone_strategy_callbacks callbacks;
  const char *const *options; /* "population=64": rows of the type; checked */
  int noptions;
} hone_strategy_setup;

typedef enum {
  HONE_ASK_MORE,      /* ask again */
  HONE_ASK_EXHAUSTED, /* every legal point was proposed (or cut by bound): proven */
  HONE_ASK_DRY        /* no new legal point found in many tries: give up, nothing proven */
} hone_ask;

/* What a strategy implements; one file each, listed in search/strategy.def. The
 * wrapper (strategy.c) filters repeats and keeps the log; `propose` may return
 * repeats or fewer points, and says EXHAUSTED or DRY only with none. */
typedef struct hone_strategy hone_strategy;
typedef struct {
  const char *name, *summary;
  const hone_option *options;
  int noptions;
  hone_status (*init)(hone_strategy *s, const hone_option_value *options, void **state, hone_err *err);
  void (*fini)(void *state);
  hone_ask (*propose)(void *state, int64_t *values); /* one legal point when MORE */
  void (*tell)(void *state, const int64_t *values, const hone_result *r);
} hone_strategy_type;

int hone_strategy_types(void);
const hone_strategy_type *hone_strategy_type_at(int i);
const hone_strategy_type *hone_strategy_find(const char *name); /* NULL */

/* setup is copied; the space must outlive the strategy. */
hone_status hone_strategy_new(const hone_strategy_type *t, const hone_strategy_setup *setup, hone_strategy **out,
                              hone_err *err);
void hone_strategy_free(hone_strategy *s); /* NULL allowed */
const hone_strategy_type *hone_strategy_kind(const hone_strategy *s);

/* A result known beforehand (the default schedule, a warm start): before any ask
 * or between tell and ask. The point need not be in the space's domains. */
void hone_strategy_seed(hone_strategy *s, const int64_t *values, const hone_result *r);
/* At most n points, one after another, into values (room for n). Returns how
 * many; fewer than n only when *status is not MORE. */
int hone_strategy_ask(hone_strategy *s, int n, int64_t *values, hone_ask *status);
/* Results of the last ask, all of them, in its order. */
void hone_strategy_tell(hone_strategy *s, int n, const hone_result *results);

typedef struct {
  int64_t asked, failed;   /* proposals told; those with a reason */
  int64_t repeats;         /* proposals dropped because their key was known */
  bool has_best;
  double best;
} hone_strategy_stats;
void hone_strategy_get_stats(const hone_strategy *s, hone_strategy_stats *out);

/* Text state: the log of seeds, asks and results. Loading replays it through a
 * fresh strategy (same setup), so every strategy resumes exactly; a proposal
 * that comes out different (another version, space or option) is refused as
 * INPUT "strategy.replay". Save between tell and ask. */
void hone_strategy_save(const hone_strategy *s, hone_text *out);
hone_status hone_strategy_load(const hone_strategy_type *t, const hone_strategy_setup *setup, const char *text,
                               hone_strategy **out, hone_err *err);

/* For implementations. */
const hone_space *hone_strategy_space(const hone_strategy *s);
const hone_strategy_setup *hone_strategy_get_setup(const hone_strategy *s);
hone_rng *hone_strategy_rng(hone_strategy *s);
bool hone_strategy_is_known(const hone_strategy *s, const int64_t *values); /* proposed or seeded */

#endif
