/* Tensor parallelism: the shapes of one shard are those of a model with fewer
 * heads, narrower MLPs and a smaller vocabulary (Shoeybi et al. 2019, "Megatron-LM",
 * section 3): q, k, v, gate, up cut by columns, o and down by rows, so that the two
 * of a pair need one sum over the shards. Norms, router and the projections to
 * latents are whole on every shard. */
#include "config.h"

#include <inttypes.h>

#include "model/model_config.h"

static hone_status divide(int64_t *x, int64_t n, const char *key, hone_err *err)
{
  if (*x % n == 0) {
    *x /= n;
    return HONE_OK;
  }
  hone_err_set(err, HONE_INFEASIBLE, "model.shard", "%s = %" PRId64 " does not divide over %" PRId64 " shards", key, *x, n);
  hone_err_path(err, "%s", key);
  hone_err_hint(err, "--tensor-parallel must divide it");
  return HONE_INFEASIBLE;
}

static hone_status divide_kv_heads(int64_t *x, int64_t n, hone_err *err)
{
  if (n % *x == 0) {
    *x = 1;
    return HONE_OK;
  }
  return divide(x, n, "num_key_value_heads", err);
}

hone_status hone_model_shard(const hone_model_config *whole, int64_t n, hone_model_config *out, hone_err *err)
{
  hone_model_config c = *whole;
  bool dense = c.moe_layers < c.layers;
  if (n < 1) return hone_err_set(err, HONE_USAGE, "model.range", "the number of shards must be at least 1");
  hone_status s = divide(&c.heads, n, "num_attention_heads", err);
  if (s == HONE_OK) s = divide_kv_heads(&c.kv_heads, n, err);
  if (s == HONE_OK && dense) s = divide(&c.intermediate, n, "intermediate_size", err);
  if (s == HONE_OK && c.moe_layers > 0) s = divide(&c.expert_width, n, c.expert_width_key, err);
  if (s == HONE_OK && c.moe_layers > 0) s = divide(&c.shared_width, n, c.expert_width_key, err);
  if (s == HONE_OK) s = divide(&c.vocabulary, n, "vocab_size", err);
  c.shards = n;
  if (s == HONE_OK) *out = c;
  return s;
}
