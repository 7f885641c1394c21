/* The walk's counters, for count.c. */
#ifndef HONE_SPACES_WALK_INT_H
#define HONE_SPACES_WALK_INT_H

#include "spaces/keyset.h"
#include "spaces/space_int.h"

struct hone_space_walk {
  const hone_space *s;
  int depth;            /* variables that have a value; -1: not started */
  bool at_end, stopped;
  int64_t limit, tried; /* whole points, and assignments cut short */
  int64_t legal;        /* points, repeated keys included */
  int64_t killed[HONE_REASON_COUNT], *by_constraint;
  hone_keyset seen;
  int64_t values[HONE_SPACE_PARAMETERS];
  int64_t index[HONE_SPACE_PARAMETERS];
  hone_domain domain[HONE_SPACE_PARAMETERS];
};

/* Legality of a point whose values are all in their domains. */
hone_reason space_check_schedule(const hone_space *s, const int64_t *values, hone_why *why);

#endif
