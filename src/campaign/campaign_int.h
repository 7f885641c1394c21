/* Inside src/campaign only. */
#ifndef HONE_CAMPAIGN_INT_H
#define HONE_CAMPAIGN_INT_H

#include "campaign/campaign.h"

/* What the store knows of the task, by evaluator and schedule; and the way in
 * for new records. With no store every call does nothing. */
typedef struct recorder recorder;

hone_status recorder_new(const hone_tune_task *task, recorder **out, hone_err *err);
void recorder_free(recorder *r);
/* Appends unless the store has it already (resume). model_cycles -1: none. */
hone_status recorder_add(recorder *r, const hone_evaluator_type *by, const char *schedule, const hone_outcome *o,
                         int64_t model_cycles, unsigned kinds, hone_err *err);
hone_status recorder_flush(recorder *r, hone_err *err);
/* Resume: an outcome known before the run; false when not. */
bool recorder_find(const recorder *r, const hone_evaluator_type *by, const char *schedule, hone_outcome *out);
/* Resume: the best known schedule by `by`, NULL when there is none. */
const char *recorder_best(const recorder *r, const hone_evaluator_type *by);

#endif
