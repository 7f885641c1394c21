/* Shared inside search only: the wrapper's state. */
#ifndef HONE_SEARCH_STRATEGY_INT_H
#define HONE_SEARCH_STRATEGY_INT_H

#include "search/strategy.h"
#include "spaces/keyset.h"

/* One line of the log: a seed with its point, an ask, or a result with its key. */
typedef enum { STRATEGY_SEED, STRATEGY_ASK, STRATEGY_RESULT } strategy_entry_kind;
typedef struct {
  strategy_entry_kind kind;
  int64_t n;       /* ASK: how many were asked for; SEED: index of the point in `seeds` */
  hone_hash key;   /* RESULT */
  hone_result result;
} strategy_entry;

struct hone_strategy {
  const hone_strategy_type *type;
  hone_strategy_setup setup;
  void *state;
  hone_rng rng;
  hone_keyset known;
  hone_strategy_stats stats;
  int64_t *pending;        /* points of the last ask */
  int npending, room;
  hone_space_walk *sweep;  /* when the strategy runs dry: what is left, in order */
  strategy_entry *log;
  int64_t nlog, log_room;
  int64_t *seeds, nseeds;
};

#endif
