/* How well the model foretells the simulator.
 *
 * Rank correlation is Kendall's tau-b (Kendall 1945), which allows for ties,
 * counted pair by pair: the lists here are of tens to hundreds. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/checked.h"
#include "eval/evaluator.h"

typedef struct {
  int64_t model, sim;
} pair;

static int sign(int64_t a, int64_t b)
{
  return (a > b) - (a < b);
}

static double kendall_tau_b(int n, const pair *p)
{
  int64_t agree = 0, differ = 0, tied_model = 0, tied_sim = 0;
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) {
      int a = sign(p[i].model, p[j].model), b = sign(p[i].sim, p[j].sim);
      if (a == 0) tied_model++;
      if (b == 0) tied_sim++;
      if (a * b > 0) agree++;
      if (a * b < 0) differ++;
    }
  double pairs = 0.5 * (double)n * (double)(n - 1);
  double scale = sqrt((pairs - (double)tied_model) * (pairs - (double)tied_sim));
  return scale > 0 ? (double)(agree - differ) / scale : NAN;
}

static int by_sim(const void *x, const void *y)
{
  const pair *a = x, *b = y;
  int c = sign(a->sim, b->sim);
  return c ? c : sign(a->model, b->model);
}

static int by_model(const void *x, const void *y)
{
  const pair *a = x, *b = y;
  int c = sign(a->model, b->model);
  return c ? c : sign(b->sim, a->sim); /* ties: the worse first, regret must not flatter */
}

void hone_fidelity_measure(int n, const int64_t *model_cycles, const int64_t *sim_cycles, int top_k, hone_fidelity *out)
{
  *out = (hone_fidelity){ .n = n, .top_k = top_k, .kendall_tau = NAN, .kendall_tau_top_decile = NAN };
  if (n < 1) return;
  pair *p = hone_heap_alloc((size_t)n, sizeof *p);
  double absolute = 0, signed_sum = 0;
  for (int i = 0; i < n; i++) {
    p[i] = (pair){ model_cycles[i], sim_cycles[i] };
    double e = (double)p[i].model / (double)p[i].sim - 1.0;
    absolute += fabs(e);
    signed_sum += e;
  }
  out->mape_pct = 100.0 * absolute / n;
  out->bias_pct = 100.0 * signed_sum / n;
  out->kendall_tau = kendall_tau_b(n, p);
  qsort(p, (size_t)n, sizeof *p, by_sim);
  int64_t best = p[0].sim;
  out->kendall_tau_top_decile = kendall_tau_b((int)hone_min64(n, hone_max64(HONE_DECILE_FLOOR, (n + 9) / 10)), p);
  qsort(p, (size_t)n, sizeof *p, by_model);
  int64_t chosen = p[0].sim;
  for (int i = 1; i < n && i < top_k; i++) chosen = hone_min64(chosen, p[i].sim);
  out->regret_pct = 100.0 * ((double)chosen / (double)best - 1.0);
  free(p);
}
