/* The inside of a space; visible in spaces/ only. */
#ifndef HONE_SPACES_SPACE_INT_H
#define HONE_SPACES_SPACE_INT_H

#include "spaces/domain.h"
#include "spaces/expr.h"
#include "spaces/space.h"

enum { SPACE_WHERE = 300, SPACE_LABEL = 96, SPACE_TEXT = sizeof ((hone_space_why *)0)->text, SPACE_LARGEST_FILTER = 1 << 16 };

/* One item of a clause: a generator with field expressions, or listed values. */
typedef struct {
  hone_item_kind kind;
  bool given[HONE_FIELD_COUNT];
  hone_expr field[HONE_FIELD_COUNT];
  int nvalues;
  hone_expr *value; /* HONE_ITEM_VALUES */
} space_item;

/* Narrows one parameter to the union of its items. */
typedef struct {
  char where[SPACE_WHERE]; /* "file:line" */
  int nitems;
  space_item *item;
} space_clause;

typedef struct {
  const hone_param *param;
  int places;        /* > 0: all orders of that many dims, unless list */
  int64_t lo, hi;    /* interval, unless list or places */
  int64_t *list, nlist; /* ascending; NULL: not listed */
  bool nested;       /* at most the value of `outer` */
  hone_expr outer;
  int nclauses;      /* those that read other values */
  space_clause *clause;
  int *reads, nreads; /* slots its domain depends on, ascending, all before it */
} space_variable;

typedef struct {
  char name[SPACE_LABEL], where[SPACE_WHERE], reason[200];
  hone_expr expr;
  int last; /* the last slot it reads; 0 if none */
} space_constraint;

typedef struct {
  char name[HONE_MAX_NAME];
  char *text;
} space_let;

struct hone_space {
  const hone_operator *op;
  const hone_machine *m;
  const hone_params *params;
  hone_schedule start; /* hone_schedule_init, not normalized: what omitted parameters are */
  int nvariables;
  space_variable *variable;
  int nconstraints;
  space_constraint *constraint;
  int *due, *ndue; /* constraints to check once slot i has a value: due[ndue[i]] .. due[ndue[i+1]-1] */
  int nlets;
  space_let *let;
  hone_hash hash;
};

/* symbols.c: names of the language. A scope for expressions of this space. */
void space_scope_init(const hone_space *s, hone_scope *scope);
/* How many things a foreach word ranges over, and its i-th binding. -1: no such word. */
int space_foreach_count(const hone_space *s, const char *word);
void space_foreach_bind(const hone_space *s, const char *word, int i, hone_binding *out);
/* The slot a parameter's name means: >= 0; -1 a parameter with one value; -2 no parameter. */
int space_find_parameter(const hone_space *s, const char *name, char hint[HONE_EXPR_NAME]);

/* read.c: adds the clauses and constraints of one source. */
hone_status space_read(hone_space *s, const hone_space_source *source, hone_err *err);

/* narrow.c */
hone_status space_narrow(hone_space *s, int slot, space_clause *clause_take, hone_err *err);
hone_status space_apply_constraints(hone_space *s, hone_err *err); /* to the domains they alone decide */
void space_clause_free(space_clause *c);

/* sample.c: a random assignment within domains and constraints, its schedule not
 * checked. False: none found in a bounded number of steps. */
bool space_draw(const hone_space *s, hone_rng *rng, int64_t *values);
int64_t space_draw_index(const hone_domain *d, hone_rng *rng); /* of a domain that is not empty */

/* Holds constraint c? A fault does not hold; `text` (SPACE_TEXT, may be NULL) says why not. */
bool space_constraint_holds(const hone_space *s, int c, const int64_t *values, char *text);
/* Do all constraints due at slot i hold? *which: the first that does not. */
bool space_due_hold(const hone_space *s, int i, const int64_t *values, int *which);

#endif
