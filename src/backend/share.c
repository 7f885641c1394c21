/* Fewer semaphores, when the machine has not enough of them: one semaphore takes
 * the place of two when the same stream signals both, the same streams count
 * both, and every stream meets their signals and waits in one and the same order.
 * The k-th count then still belongs to the k-th signal. The order is the same
 *   - when the two are used one after the other, in different parts of the root;
 *   - between `full` of two fills that the same steps wait for, if each waits
 *     where the other's order allows;
 *   - between `done` of two tensors stored, and first read, in the same order. */
#include "config.h"

#include "backend/backend_int.h"

typedef struct {
  int16_t *name; /* where the plan names it */
  int role, buffer, tensor, signaller;
  uint64_t counters;
  int first, last; /* children of the root in which it is used */
} use;

static uint64_t bit(int stream)
{
  return UINT64_C(1) << stream;
}

static void widen(const hone_plan *plan, use *u, int node)
{
  int child = hone_plan_climb(plan, node, 0);
  if (u->first < 0 || child < u->first) u->first = child;
  if (child > u->last) u->last = child;
}

static void span_of_buffer(const hone_plan *plan, use *u)
{
  for (int i = 0; i < plan->e.nnodes; i++) {
    const hone_event_node *x = &plan->e.node[i];
    bool step = x->kind == HONE_NODE_STEP && (plan->e.buffer[u->buffer].stages >> x->index & 1);
    if (step || ((x->kind == HONE_NODE_FILL || x->kind == HONE_NODE_DRAIN) && x->index == u->buffer)) widen(plan, u, i);
  }
}

static use use_of(hone_plan *plan, int16_t *slot, int buffer, int signaller, uint64_t counters)
{
  use u = {.name = slot, .role = plan->semaphore[*slot].role, .buffer = buffer, .tensor = -1, .signaller = signaller,
           .counters = counters, .first = -1, .last = -1};
  span_of_buffer(plan, &u);
  return u;
}

static uint64_t streams_with(const hone_plan *plan, int b, unsigned roles)
{
  uint64_t set = 0;
  for (int s = 0; s < plan->nstreams; s++)
    if (plan->part[s][b].roles & roles) set |= bit(s);
  return set;
}

static int list_buffer(hone_plan *plan, int b, use *out)
{
  const hone_buffer_kind kind = plan->e.buffer[b].kind;
  int n = 0, fill = plan->fill_stream[b], drain = plan->drain_stream[b];
  uint64_t writers = streams_with(plan, b, HONE_ROLE_WRITES), readers = streams_with(plan, b, HONE_ROLE_READS);
  uint64_t makers = kind == HONE_BUFFER_READ ? bit(fill) : writers;
  int maker = __builtin_ctzll(makers);
  if (plan->full[b] >= 0) {
    uint64_t own = hone_plan_in_order(plan, maker) ? makers : 0;
    out[n++] = use_of(plan, &plan->full[b], b, maker, (kind == HONE_BUFFER_WRITTEN ? bit(drain) : readers) & ~own);
  }
  for (int s = 0; s < plan->nstreams; s++) {
    if (plan->free[s][b] < 0) continue;
    bool also_back = plan->returns[b] && !(fill == drain && hone_plan_in_order(plan, fill));
    out[n++] = use_of(plan, &plan->free[s][b], b, s, makers | (also_back ? bit(fill) : 0));
  }
  if (plan->partial[b] >= 0) out[n++] = use_of(plan, &plan->partial[b], b, drain, bit(fill));
  if (plan->loaded[b] >= 0) {
    uint64_t own = hone_plan_in_order(plan, fill) ? bit(fill) : 0;
    out[n++] = use_of(plan, &plan->loaded[b], b, fill, streams_with(plan, b, HONE_ROLE_WRITES | HONE_ROLE_BACKS) & ~own);
  }
  return n;
}

/* A done semaphore: `first` is where it is signalled, `last` where stream s waits. */
static use done_use(hone_plan *plan, int t)
{
  use u = {.name = &plan->done[t], .role = 3, .buffer = -1, .tensor = t, .first = -1, .last = -1};
  for (int b = 0; b < plan->e.nbuffers; b++) {
    const hone_buffer *x = &plan->e.buffer[b];
    if (x->tensor != t || x->parent >= 0) continue;
    if (x->kind == HONE_BUFFER_READ) u.counters |= bit(plan->fill_stream[b]);
    if (x->kind == HONE_BUFFER_WRITTEN) u.signaller = plan->drain_stream[b];
  }
  return u;
}

/* The first child of the root in which the stream moves t: drains or fills. */
static int moves_at(const hone_plan *plan, int t, int stream, hone_node_kind kind)
{
  for (int i = 0; i < plan->e.nnodes; i++) {
    const hone_event_node *x = &plan->e.node[i];
    if (x->kind == kind && plan->e.buffer[x->index].tensor == t && hone_plan_event_stream(plan, i) == stream)
      return hone_plan_climb(plan, i, 0);
  }
  return -1;
}

static bool done_in_order(const hone_plan *plan, const use *a, const use *b)
{
  bool before = moves_at(plan, a->tensor, a->signaller, HONE_NODE_DRAIN) < moves_at(plan, b->tensor, b->signaller, HONE_NODE_DRAIN);
  for (int s = 0; s < plan->nstreams; s++) {
    if (!(a->counters & bit(s))) continue;
    int at = moves_at(plan, a->tensor, s, HONE_NODE_FILL), bt = moves_at(plan, b->tensor, s, HONE_NODE_FILL);
    if (before ? at > bt : bt > at) return false;
  }
  return true;
}

/* Fills of a and b and the waits for them, in the same order in each reader? */
static bool full_in_order(const hone_plan *plan, const use *a, const use *b)
{
  const hone_buffer *x = &plan->e.buffer[a->buffer], *y = &plan->e.buffer[b->buffer];
  if (x->kind != HONE_BUFFER_READ || y->kind != HONE_BUFFER_READ || x->stages != y->stages) return false;
  int outer = x->position <= y->position ? a->buffer : b->buffer, inner = outer == a->buffer ? b->buffer : a->buffer;
  int position = plan->e.buffer[outer].position;
  for (int s = 0; s < plan->nstreams; s++)
    if ((a->counters & bit(s)) && hone_plan_climb(plan, plan->part[s][inner].first, position) != plan->part[s][outer].first)
      return false;
  return true;
}

static bool may_share(const hone_plan *plan, const use *a, const use *b)
{
  const hone_program_semaphore *x = &plan->semaphore[*a->name], *y = &plan->semaphore[*b->name];
  if (a->role != b->role || a->signaller != b->signaller || a->counters != b->counters || x->initial != y->initial) return false;
  if (a->tensor >= 0) return done_in_order(plan, a, b);
  if (a->last < b->first || b->last < a->first) return true;
  return a->role == 0 && *a->name == plan->full[a->buffer] && *b->name == plan->full[b->buffer] && full_in_order(plan, a, b);
}

enum { MOST_USES = 256 };

void hone_plan_share(hone_plan *plan)
{
  use all[MOST_USES + HONE_MAX_STREAMS + 4];
  int n = 0, group[MOST_USES + HONE_MAX_STREAMS + 4], ngroups = 0;
  for (int b = 0; b < plan->e.nbuffers && n < MOST_USES; b++) n += list_buffer(plan, b, all + n);
  for (int t = 0; t < plan->op->ntensors && n < MOST_USES; t++)
    if (plan->done[t] >= 0) all[n++] = done_use(plan, t);
  for (int i = 0; i < n; i++) {
    group[i] = -1;
    for (int g = 0; g < ngroups && group[i] < 0; g++) {
      bool fits = true;
      for (int k = 0; k < i && fits; k++) fits = group[k] != g || may_share(plan, &all[k], &all[i]);
      if (fits) group[i] = g;
    }
    if (group[i] < 0) group[i] = ngroups++;
  }
  hone_program_semaphore kept[256];
  for (int i = n; i-- > 0;) kept[group[i]] = plan->semaphore[*all[i].name];
  for (int i = 0; i < n; i++) *all[i].name = (int16_t)group[i];
  for (int g = 0; g < ngroups; g++) plan->semaphore[g] = kept[g];
  plan->nsemaphores = ngroups;
}
