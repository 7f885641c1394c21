/* An operator: a computation over integer dims, exactly as DESIGN section 4
 * defines it. A value type of fixed size; sizes and formats are substituted at
 * load, so every extent is a number. Read-only after load: share it freely
 * between threads. Stage kinds other than contract, map and reduce, guards and ragged
 * extents parse into the fields below; hone_operator_load refuses
 * them as UNSUPPORTED until the rooms handle them. */
#ifndef HONE_IR_OPERATOR_H
#define HONE_IR_OPERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"
#include "base/yaml.h"
#include "ir/format.h"
#include "ir/function.h"
#include "ir/limits.h"
#include "ir/spec.h"

typedef uint32_t hone_dimset; /* bit d = dim d */

typedef struct {
  char name[HONE_MAX_NAME];
  int64_t extent;  /* >= 1; of a ragged dim: the maximum */
  bool sequential; /* state carried in order; never split */
  int extent_from; /* integer tensor that gives the ragged extent, -1: none */
  int extent_dim;  /* the dim that indexes it */
} hone_dim;

/* constant + sum coef * dim */
typedef struct {
  int64_t constant;
  int nterms;
  struct {
    int dim;
    int64_t coef;
  } term[HONE_MAX_TERMS];
} hone_affine;

/* One axis of an access: affine, or one level of gather through an integer input. */
typedef struct {
  hone_affine affine;
  int table; /* -1: affine; else a tensor, indexed by table_axis */
  hone_affine table_axis[2];
} hone_axis_expr;

typedef struct {
  int tensor;
  hone_axis_expr axis[HONE_MAX_RANK]; /* tensor's rank of them */
} hone_access;

typedef enum { HONE_ROLE_INPUT, HONE_ROLE_OUTPUT, HONE_ROLE_INTERMEDIATE, HONE_ROLE_STATE } hone_role;
typedef enum { HONE_OUTSIDE_REFUSE, HONE_OUTSIDE_ZERO, HONE_OUTSIDE_NEGINF } hone_outside;

typedef struct {
  char name[HONE_MAX_NAME];
  hone_role role;
  hone_format format;
  int rank;                    /* 0: a scalar */
  int64_t extent[HONE_MAX_RANK];
  uint8_t scattered;           /* bit per axis, outermost ones: an index table says where in DRAM each index is */
  hone_outside outside;
  int nlayouts;                /* >= 1; layout[l][0] is the outermost axis in DRAM */
  uint8_t layout[HONE_MAX_LAYOUTS][HONE_MAX_RANK];
} hone_tensor;

typedef enum {
#define HONE_STAGE_KIND(id, name) HONE_STAGE_##id,
#include "ir/stage_kind.def"
#undef HONE_STAGE_KIND
  HONE_STAGE_KIND_COUNT
} hone_stage_kind;

typedef struct {
  char name[HONE_MAX_NAME];
  hone_stage_kind kind;
  hone_dimset dims;     /* iteration dims */
  hone_dimset reduced;  /* dims absent from the write */
  hone_access write;
  int nreads;
  hone_access read[HONE_MAX_READS];
  hone_apply apply;         /* map, reduce: of what is read at a point */
  hone_reduction reduction; /* reduce */
  hone_format accumulator;  /* contract, reduce */
  int nguards;
  hone_affine guard[HONE_MAX_GUARDS]; /* all >= 0 */
} hone_stage;

typedef struct {
  char name[HONE_MAX_NAME]; /* of the file; not part of the identity */
  int ndims, ntensors, nstages;
  hone_dim dim[HONE_MAX_DIMS];
  hone_tensor tensor[HONE_MAX_TENSORS];
  hone_stage stage[HONE_MAX_STAGES];
  hone_spec spec; /* what it was loaded with, defaults filled in, sizes and options in the
                   * text's order; not part of the identity */
} hone_operator;

typedef struct {
  const char *name;
  int64_t value;
} hone_size;
typedef struct {
  const char *tensor; /* NULL: the default for every tensor that says `format: dtype` */
  hone_format format;
} hone_format_choice;
typedef struct {
  const char *name, *value;
} hone_operator_option;

/* Loads operator: from a file of spaces/ (docs/formats.md) with sizes, formats
 * and options put in. `path` is a file. Every size without a default must be
 * given; unknown ones are refused with the nearest name. */
hone_status hone_operator_load(const char *path, const hone_size *sizes, int nsizes, const hone_format_choice *formats,
                               int nformats, const hone_operator_option *options, int noptions, hone_operator *out,
                               hone_err *err);

/* The same by a spec without ranges; its operator_name must be that of the text. */
hone_status hone_operator_load_spec(const char *path, const hone_spec *spec, hone_operator *out, hone_err *err);
/* The same of a file that was read by hone_yaml_load, for many shapes in a row; a
 * document is used by one thread at a time. */
hone_status hone_operator_make(hone_yaml *text, const hone_spec *spec, hone_operator *out, hone_err *err);

/* Canonical text: sizes and formats substituted, dims and tensors by number. */
void hone_operator_print(const hone_operator *op, hone_text *out);
hone_hash hone_operator_hash(const hone_operator *op);

int hone_operator_find_dim(const hone_operator *op, const char *name);    /* -1 */
int hone_operator_find_tensor(const hone_operator *op, const char *name); /* -1 */
/* Does the stage sum up what it writes, piece by piece? */
static inline bool hone_stage_accumulates(const hone_stage *st)
{
  return st->kind == HONE_STAGE_CONTRACT || st->kind == HONE_STAGE_REDUCE;
}
int hone_operator_writer(const hone_operator *op, int tensor);            /* stage, -1 for inputs */

hone_dimset hone_access_dims(const hone_operator *op, const hone_access *a);
bool hone_access_same(const hone_operator *op, const hone_access *a, const hone_access *b); /* one tensor, by the same dims */
/* Does dim d run along the same axis, from the same place, in both accesses of a tensor? */
bool hone_access_aligned(const hone_operator *op, const hone_access *a, const hone_access *b, int d);
/* Dims that may be cut over cores (section 6 line 3): in every stage, nowhere
 * reduced or sequential, and along one axis of each intermediate, so that what a core
 * reads of it that core has written. */
hone_dimset hone_operator_parallel(const hone_operator *op);
/* useful(stage): points satisfying the guard (section 4 line 11). False on overflow. */
bool hone_stage_useful(const hone_operator *op, int stage, int64_t *points);
/* compulsory(T): bytes of the distinct elements used (line 11). False on overflow. */
bool hone_tensor_compulsory(const hone_operator *op, int tensor, int64_t *bytes);
int64_t hone_tensor_elements(const hone_operator *op, int tensor); /* checked at load */

#endif
