/* Inside src/library only. */
#ifndef HONE_LIBRARY_INT_H
#define HONE_LIBRARY_INT_H

#include "base/arena.h"
#include "library/library.h"

hone_library *library_new(void); /* empty, in its own arena */
bool library_is_identifier(const char *s, size_t room);
bool library_evidence_find(const char *word, hone_evidence *out);

/* Sizes compared in order, all but one (-1: all). */
int library_size_cmp(const int64_t *a, const int64_t *b, int n, int but);
/* The order of intervals: axis, other sizes, lo. */
int library_interval_cmp(const hone_library_family *f, const hone_library_interval *a, const hone_library_interval *b);
void library_sort_intervals(hone_library_family *f);

#endif
