/* Inside the choice of entries only: candidates simulated at samples. */
#ifndef HONE_CAMPAIGN_FAMILY_STUDY_H
#define HONE_CAMPAIGN_FAMILY_STUDY_H

#include "campaign/family_int.h"

enum { MOST_CANDIDATES = 16 };

/* Who competes for a piece. */
typedef struct {
  int n;
  int candidate[MOST_CANDIDATES];
} shortlist;

/* One shape: both ends of every piece, and shapes drawn between, one from each of
 * equal parts. */
typedef struct {
  int64_t i;
  int piece;
  int64_t model[MOST_CANDIDATES], sim[MOST_CANDIDATES]; /* of the piece's candidates; -1: failed or too long */
  bool failed[MOST_CANDIDATES];
  int64_t by_default, best; /* best: of all that was simulated at the shape so far */
} sample;

typedef struct {
  int chosen; /* place in the shortlist */
  int samples, failed, refuted, unknown; /* unknown: too long to simulate */
  double loss, margin; /* the most, the least; -1 and NaN: not known */
  int64_t loss_at;
} verdict;

/* What was simulated, by shape and schedule: samples come again. */
typedef struct {
  hone_hash key;
  bool used, failed;
  int64_t cycles;
} timing;

typedef struct {
  sample *sample;
  int64_t n;
  shortlist *list; /* by piece; filled by the caller */
  int64_t *best;   /* by shape: the least of all that was simulated there; 0: nothing yet */
  timing *table;   /* open addressing, capacity a power of two */
  int64_t ntimings, capacity;
} study;

/* Draws samples of the pieces and simulates the shortlists there, the default and
 * the best of each shape. */
hone_status study_run(family *f, study *s, const hone_cover_piece *piece, int npieces, hone_err *err);
/* Model against simulator over the chosen candidates. */
void study_fidelity(const study *s, const verdict *v, hone_fidelity *out);
void study_fini(study *s);

#endif
