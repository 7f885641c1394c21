/* The reference interpreter: what an operator means (DESIGN section 4), number
 * by number and with no schedule in sight. Every numeric check compares with it.
 *
 * Values are doubles that hold elements exactly as their tensors' formats do;
 * the caller gives representable inputs (hone_format_round). A contraction adds
 * its products in the order of its dims, rounding to the accumulator format
 * after each addition (integers saturate), and rounds once to the tensor's
 * format; so does a reduction with what it joins. A map rounds once. Reads outside a tensor give what its `outside`
 * says; elements no stage writes are 0. */
#ifndef HONE_IR_REFERENCE_H
#define HONE_IR_REFERENCE_H

#include <stdint.h>

#include "base/status.h"
#include "ir/operator.h"

/* Runs each stage over its full domain, in order. value[t] holds tensor t row by
 * row in axis order (axis 0 outermost, whatever the layout in DRAM); inputs are
 * read, all others overwritten. UNSUPPORTED for what the operator types have a
 * place for but the rooms do not handle yet. */
hone_status hone_reference_run(const hone_operator *op, double *const *value, hone_err *err);

/* Single elements on demand: the dependency slice of an element is computed by
 * recursion through the stages. Inputs come from the callback; intermediates
 * are remembered. Belongs to one thread. */
typedef double (*hone_reference_input)(void *arg, int tensor, const int64_t *index);
typedef struct hone_reference hone_reference;

hone_status hone_reference_new(const hone_operator *op, hone_reference_input input, void *arg, hone_reference **out,
                               hone_err *err);
void hone_reference_free(hone_reference *r); /* NULL allowed */
double hone_reference_get(hone_reference *r, int tensor, const int64_t *index);

/* Number of an element in DRAM under a layout, and in axis order (layout -1). */
int64_t hone_reference_offset(const hone_operator *op, int tensor, int layout, const int64_t *index);
/* A whole tensor between its DRAM bytes and doubles in axis order. */
void hone_reference_decode(const hone_operator *op, int tensor, int layout, const void *data, double *value);
void hone_reference_encode(const hone_operator *op, int tensor, int layout, const double *value, void *data);

#endif
