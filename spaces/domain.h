/* Building domains: the value sets of the language's items. Internal to spaces. */
#ifndef HONE_SPACES_DOMAIN_H
#define HONE_SPACES_DOMAIN_H

#include "spaces/space.h"

enum { HONE_DOMAIN_LIMIT = 1 << 20 }; /* values listed one by one */

typedef enum {
#define HONE_ITEM(id, name, fn, bare, required, optional) HONE_ITEM_##id,
#include "spaces/item.def"
#undef HONE_ITEM
  HONE_ITEM_VALUES, /* list, choices, permutations: the values themselves */
  HONE_ITEM_COUNT
} hone_item_kind;

/* Fields of an item, in the order of `field` below. */
enum { HONE_FIELD_OF, HONE_FIELD_FROM, HONE_FIELD_TO, HONE_FIELD_STEP, HONE_FIELD_TIMES, HONE_FIELD_GRANULE, HONE_FIELD_COUNT };

/* Appends the values of the item to d (its own list, unsorted). False: a field
 * makes no sense or there are more than HONE_DOMAIN_LIMIT values. */
bool hone_item_generate(hone_item_kind kind, const int64_t field[HONE_FIELD_COUNT], hone_domain *d);

void hone_domain_clear(hone_domain *d);                      /* empty, own list */
bool hone_domain_push(hone_domain *d, int64_t value);        /* false at the limit */
void hone_domain_sort(hone_domain *d);                       /* ascending, distinct */
void hone_domain_clip(hone_domain *d, int64_t lo, int64_t hi); /* of a sorted own list */
void hone_domain_intersect(hone_domain *d, const int64_t *list, int64_t n); /* both sorted */
void hone_domain_set_interval(hone_domain *d, int64_t lo, int64_t hi);
void hone_domain_borrow(hone_domain *d, const int64_t *list, int64_t n);
void hone_domain_set_orders(hone_domain *d, int places);

/* Orders are packed 4 bits per place, outermost lowest; places beyond `places` hold
 * themselves. Rank: lexicographic among the orders of `places` dims. */
int64_t hone_order_at(int places, int64_t rank);
int64_t hone_order_rank(int places, int64_t order); /* -1: not a permutation */
int hone_order_place(int64_t order, int place);
int64_t hone_order_swap(int64_t order, int i, int j);
int64_t hone_order_move(int64_t order, int from, int to); /* the loop at `from` goes to `to`, the others close up */

#endif
