/* Value sets: an interval, all orders of n dims (by lexicographic rank), or an
 * ascending list that the domain owns or borrows from its space. */
#include "config.h"

#include "spaces/domain.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"

/* ---- orders ---- */

int hone_order_place(int64_t order, int place) { return (int)((uint64_t)order >> (4 * place) & 15u); }

static int64_t with_place(int64_t order, int place, int dim)
{
  uint64_t cleared = (uint64_t)order & ~((uint64_t)15 << (4 * place));
  return (int64_t)(cleared | (uint64_t)dim << (4 * place));
}

static int64_t factorial(int n)
{
  int64_t f = 1;
  for (int i = 2; i <= n; i++) f *= i; /* n <= HONE_MAX_DIMS = 12 */
  return f;
}

int64_t hone_order_at(int places, int64_t rank)
{
  int left[HONE_MAX_DIMS];
  int64_t order = 0, block = factorial(places);
  for (int i = 0; i < HONE_MAX_DIMS; i++) {
    left[i] = i;
    order = with_place(order, i, i);
  }
  for (int i = 0; i < places; i++) {
    block /= places - i;
    int pick = (int)(rank / block);
    rank %= block;
    order = with_place(order, i, left[pick]);
    memmove(left + pick, left + pick + 1, (size_t)(places - i - pick - 1) * sizeof *left);
  }
  return order;
}

int64_t hone_order_rank(int places, int64_t order)
{
  unsigned seen = 0;
  int64_t rank = 0, block = factorial(places);
  if (order < 0) return -1;
  for (int i = 0; i < places; i++) {
    int d = hone_order_place(order, i);
    if (d >= places || (seen >> d & 1u)) return -1;
    seen |= 1u << d;
    block /= places - i;
    rank += block * (d - __builtin_popcount(seen & ((1u << d) - 1)));
  }
  return hone_order_at(places, rank) == order ? rank : -1; /* the places beyond must hold themselves */
}

int64_t hone_order_swap(int64_t order, int i, int j)
{
  int a = hone_order_place(order, i), b = hone_order_place(order, j);
  return with_place(with_place(order, i, b), j, a);
}

int64_t hone_order_move(int64_t order, int from, int to)
{
  int step = from < to ? 1 : -1;
  for (int i = from; i != to; i += step) order = hone_order_swap(order, i, i + step);
  return order;
}

/* ---- sets ---- */

void hone_domain_clear(hone_domain *d)
{
  d->n = 0;
  d->list = d->own;
  d->places = 0;
  if (!d->own) {
    d->capacity = 64;
    d->list = d->own = hone_heap_alloc((size_t)d->capacity, sizeof *d->own);
  }
}

bool hone_domain_push(hone_domain *d, int64_t value)
{
  assert(d->list == d->own);
  if (d->n >= HONE_DOMAIN_LIMIT) return false;
  if (d->n == d->capacity) {
    d->capacity *= 2;
    d->list = d->own = hone_heap_realloc(d->own, (size_t)d->capacity, sizeof *d->own);
  }
  d->own[d->n++] = value;
  return true;
}

/* Where the ascending run that begins at i ends. */
static int64_t run_end(const int64_t *v, int64_t n, int64_t i)
{
  while (++i < n && v[i - 1] <= v[i]) continue;
  return i;
}

/* Merges runs two by two from one list into another; how many are there then. */
static int64_t merge_runs(const int64_t *from, int64_t n, int64_t *to)
{
  int64_t runs = 0;
  for (int64_t i = 0; i < n; runs++) {
    int64_t a = i, middle = run_end(from, n, a), b = middle, end = middle < n ? run_end(from, n, middle) : n;
    while (i < end) to[i++] = b == end || (a < middle && from[a] <= from[b]) ? from[a++] : from[b++];
  }
  return runs;
}

/* What the items of a clause list are a few ascending runs, and a general sort of
 * them took a fifth of a search's time: so runs are merged. */
void hone_domain_sort(hone_domain *d)
{
  int64_t n = 0, *spare = NULL, runs = 2;
  if (run_end(d->own, d->n, 0) < d->n) spare = hone_heap_alloc((size_t)d->capacity, sizeof *spare);
  while (spare && runs > 1) {
    int64_t *from = d->own;
    runs = merge_runs(from, d->n, spare);
    d->list = d->own = spare;
    spare = from;
  }
  free(spare);
  for (int64_t i = 0; i < d->n; i++)
    if (n == 0 || d->own[i] != d->own[n - 1]) d->own[n++] = d->own[i];
  d->n = n;
}

void hone_domain_clip(hone_domain *d, int64_t lo, int64_t hi)
{
  int64_t n = 0;
  for (int64_t i = 0; i < d->n; i++)
    if (d->own[i] >= lo && d->own[i] <= hi) d->own[n++] = d->own[i];
  d->n = n;
}

void hone_domain_intersect(hone_domain *d, const int64_t *list, int64_t n)
{
  int64_t kept = 0;
  for (int64_t i = 0, j = 0; i < d->n; i++) {
    while (j < n && list[j] < d->own[i]) j++;
    if (j < n && list[j] == d->own[i]) d->own[kept++] = d->own[i];
  }
  d->n = kept;
}

void hone_domain_set_interval(hone_domain *d, int64_t lo, int64_t hi)
{
  d->list = NULL;
  d->places = 0;
  d->first = lo;
  if (hi < lo)
    d->n = 0;
  else if (!hone_checked_sub(hi, lo, &d->n) || !hone_checked_add(d->n, 1, &d->n))
    d->n = INT64_MAX; /* the whole of int64 but a few: nobody will notice */
}

void hone_domain_borrow(hone_domain *d, const int64_t *list, int64_t n)
{
  d->list = list;
  d->n = n;
  d->places = 0;
}

void hone_domain_set_orders(hone_domain *d, int places)
{
  d->list = NULL;
  d->places = places;
  d->n = factorial(places);
}

int64_t hone_domain_at(const hone_domain *d, int64_t i)
{
  assert(i >= 0 && i < d->n);
  if (d->list) return d->list[i];
  return d->places > 0 ? hone_order_at(d->places, i) : d->first + i;
}

/* Index of the first list element > value. */
static int64_t upper(const hone_domain *d, int64_t value)
{
  int64_t lo = 0, hi = d->n;
  while (lo < hi) {
    int64_t mid = lo + (hi - lo) / 2;
    if (d->list[mid] <= value)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

int64_t hone_domain_nearest(const hone_domain *d, int64_t value)
{
  if (d->n == 0) return 0;
  if (d->list) return hone_max64(0, upper(d, value) - 1);
  if (d->places > 0) return hone_max64(0, hone_order_rank(d->places, value));
  if (value < d->first) return 0;
  return (uint64_t)value - (uint64_t)d->first >= (uint64_t)d->n ? d->n - 1 : value - d->first;
}

int64_t hone_domain_find(const hone_domain *d, int64_t value)
{
  if (d->n == 0) return -1;
  if (d->places > 0 && !d->list) return hone_order_rank(d->places, value);
  int64_t i = hone_domain_nearest(d, value);
  return hone_domain_at(d, i) == value ? i : -1;
}

void hone_domain_fini(hone_domain *d)
{
  free(d->own);
  *d = (hone_domain){0};
}

/* ---- items ---- */

/* first, first+step, ... <= to */
static bool push_steps(hone_domain *d, int64_t first, int64_t to, int64_t step)
{
  for (int64_t v = first; v <= to;) {
    if (!hone_domain_push(d, v)) return false;
    if (!hone_checked_add(v, step, &v)) break;
  }
  return true;
}

static bool range(const int64_t *f, hone_domain *d)
{
  return f[HONE_FIELD_STEP] > 0 && push_steps(d, f[HONE_FIELD_FROM], f[HONE_FIELD_TO], f[HONE_FIELD_STEP]);
}

/* times * of^i between from and to */
static bool powers(const int64_t *f, hone_domain *d)
{
  int64_t v = f[HONE_FIELD_TIMES];
  if (f[HONE_FIELD_OF] < 2 || v < 1) return false;
  while (v <= f[HONE_FIELD_TO]) {
    if (v >= f[HONE_FIELD_FROM] && !hone_domain_push(d, v)) return false;
    if (!hone_checked_mul(v, f[HONE_FIELD_OF], &v)) break;
  }
  return true;
}

static bool divisors(const int64_t *f, hone_domain *d)
{
  int64_t n = f[HONE_FIELD_OF];
  if (n < 1 || n > INT64_C(1000000000000)) return false; /* trial division up to 10^6 */
  for (int64_t i = 1; i * i <= n; i++)
    if (n % i == 0 && (!hone_domain_push(d, i) || !hone_domain_push(d, n / i))) return false;
  return true;
}

static bool multiples(const int64_t *f, hone_domain *d)
{
  int64_t of = f[HONE_FIELD_OF], k, v;
  if (of < 1) return false;
  k = hone_ceil_div(hone_max64(f[HONE_FIELD_FROM], 1), of);
  return !hone_checked_mul(k, of, &v) || push_steps(d, v, f[HONE_FIELD_TO], of);
}

/* The smallest tile, in granules, for every distinct number of trips; the last
 * is the whole. A larger tile with as many trips only needs more room. Begins at
 * `from`, so that the many small tiles of a huge extent are never listed. */
static bool quotients(const int64_t *f, hone_domain *d)
{
  int64_t of = f[HONE_FIELD_OF], granule = f[HONE_FIELD_GRANULE];
  if (of < 1 || granule < 1) return false;
  int64_t whole = hone_ceil_div(of, granule);
  int64_t tile = hone_min64(whole, hone_max64(1, hone_ceil_div(hone_max64(1, f[HONE_FIELD_FROM]), granule)));
  if (tile > 1 && hone_ceil_div(whole, tile - 1) == hone_ceil_div(whole, tile)) { /* not the smallest of its kind: to the next */
    int64_t trips = hone_ceil_div(whole, tile);
    tile = trips == 1 ? whole : hone_ceil_div(whole, trips - 1);
  }
  for (;;) {
    int64_t trips = hone_ceil_div(whole, tile);
    if (!hone_domain_push(d, trips == 1 ? of : tile * granule)) return false; /* below `of` where several trips */
    if (trips == 1) return true;
    tile = hone_ceil_div(whole, trips - 1);
  }
}

bool hone_item_generate(hone_item_kind kind, const int64_t field[HONE_FIELD_COUNT], hone_domain *d)
{
  static bool (*const generate[])(const int64_t *, hone_domain *) = {
#define HONE_ITEM(id, name, fn, bare, required, optional) fn,
#include "spaces/item.def"
#undef HONE_ITEM
  };
  return generate[kind](field, d);
}
