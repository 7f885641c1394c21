/* Pieces: how the loops of a schedule cut one dim, by class instead of one by
 * one. Inside src/cost only. */
#ifndef HONE_COST_PIECES_H
#define HONE_COST_PIECES_H

#include "ir/events.h"

/* Pieces of a dim that are alike: `count` of them (over all instances), each
 * `length` long, made by the loop at position `last`: the innermost loop that
 * really cut (the range around it was longer than its step), -1: none did. */
typedef struct {
  int64_t length, count;
  int last;
} hone_piece;

enum { HONE_MAX_PIECES = HONE_MAX_LEVELS + 2 };

typedef struct {
  int n;
  hone_piece piece[HONE_MAX_PIECES];
  int64_t count, total; /* sum of count; sum of count * length */
} hone_pieces;

/* of[d][l]: dim d cut by its loops of groups 1 .. l; l = 0: the instances' blocks. */
typedef struct {
  hone_pieces of[HONE_MAX_DIMS][HONE_MAX_LEVELS];
} hone_cuts;

/* All instances together, or only the first, whose blocks are never smaller
 * than another's. */
typedef enum { HONE_CUTS_ALL, HONE_CUTS_FIRST } hone_cuts_of;
void hone_cuts_make(const hone_operator *op, const hone_schedule *s, const hone_events *e, hone_cuts_of which, hone_cuts *out);

/* How many loops of dim d stand before position p: its group index there. */
int hone_cuts_level(const hone_events *e, int d, int position);

/* The NEW visits of a buffer, summed over instances. */
typedef struct {
  int64_t visits, elements;     /* all of them; elements = sum of their boxes */
  int64_t distinct, coverage;   /* each box once: those that start at zero, and end final, of a written buffer */
} hone_visits;

/* dims: those of the access. stage_dims: of the stage that visits. Sets *over
 * when a count does not fit 64 bits. */
void hone_visits_count(const hone_events *e, const hone_cuts *c, hone_dimset stage_dims, hone_dimset dims, int position,
                       hone_visits *out, bool *over);

/* Multiplication and addition with a sticky overflow flag. */
static inline int64_t hone_mul_over(int64_t a, int64_t b, bool *over)
{
  int64_t r;
  *over |= __builtin_mul_overflow(a, b, &r);
  return r;
}
static inline int64_t hone_add_over(int64_t a, int64_t b, bool *over)
{
  int64_t r;
  *over |= __builtin_add_overflow(a, b, &r);
  return r;
}

#endif
