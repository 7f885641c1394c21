/* Sizes of the fixed tables of the IR. Exceeding one is a diagnostic, never a
 * truncation. */
#ifndef HONE_IR_LIMITS_H
#define HONE_IR_LIMITS_H

enum {
  HONE_MAX_NAME = 32,    /* with the final NUL */
  HONE_MAX_SIZES = 32,   /* named sizes of an operator text */
  HONE_MAX_OPTIONS = 16,
  HONE_MAX_DIMS = 12,
  HONE_MAX_TENSORS = 16,
  HONE_MAX_STAGES = 12,
  HONE_MAX_READS = 4,    /* tensors one stage reads */
  HONE_MAX_RANK = 6,
  HONE_MAX_TERMS = 3,    /* dims in one axis expression */
  HONE_MAX_GUARDS = 4,   /* affine forms of one stage's guard */
  HONE_MAX_LAYOUTS = 4,
  HONE_MAX_LEVELS = 6,   /* memories, DRAM included */
  HONE_MAX_AXES = 3,     /* fan-out axes */
  HONE_MAX_ENGINES = 8,
  HONE_MAX_RATES = 16,   /* format pairs of one matrix engine */
  HONE_MAX_DEPTH = 8,    /* copies of one buffer */
  HONE_MAX_LOOPS = (HONE_MAX_LEVELS - 1) * HONE_MAX_DIMS
};

#endif
