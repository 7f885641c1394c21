/* Which layers see a window only and which have experts: counted layer by layer
 * with the rules of the architecture, so that odd patterns come out exact. */
#include "config.h"

#include <string.h>

#include "base/checked.h"
#include "model/model_int.h"

/* ---- windows ----------------------------------------------------------------------- */

static hone_status count_listed(const hone_model_reader *r, const json_t *types, int64_t *windows)
{
  static const char *const names[] = {"full_attention", "sliding_attention"};
  *windows = 0;
  if (!json_is_array(types) || (int64_t)json_array_size(types) != r->config->layers)
    return hone_model_refuse(r, "layer_types", HONE_INPUT, "model.range", "'layer_types' must list num_hidden_layers = %lld names",
                             (long long)r->config->layers);
  for (size_t i = 0; i < json_array_size(types); i++) {
    const char *name = json_string_value(json_array_get(types, i));
    if (!name || (strcmp(name, names[0]) != 0 && strcmp(name, names[1]) != 0))
      return hone_model_refuse(r, "layer_types", HONE_UNSUPPORTED, "model.unsupported", "layer %zu is '%.60s', not full_attention or sliding_attention",
                               i, name ? name : "(not a name)");
    *windows += strcmp(name, names[1]) == 0;
  }
  return HONE_OK;
}

static hone_status count_by_rule(const hone_model_reader *r, int64_t *windows)
{
  hone_window_rule rule = r->architecture->window;
  int64_t layers = r->config->layers, period = r->architecture->period, first;
  hone_status s = HONE_OK;
  *windows = layers;
  if (rule == WINDOW_LATE) {
    s = hone_model_read_count(r, "max_window_layers", 0, layers, &first);
    if (s == HONE_OK) *windows = hone_max64(0, layers - first);
  }
  if (rule == WINDOW_PERIOD) {
    const char *key = hone_model_find(r, "sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
    s = hone_model_read_count(r, key, 1, period, &period);
    if (s == HONE_OK) *windows = layers - layers / period;
  }
  return s;
}

hone_status hone_model_read_windows(const hone_model_reader *r)
{
  hone_model_config *c = r->config;
  const json_t *given = json_object_get(r->root, "sliding_window"), *types = hone_model_find(r, "layer_types");
  bool used = true;
  hone_status s = HONE_OK;
  c->window = c->window_layers = 0;
  if (r->architecture->window == WINDOW_NONE) return HONE_OK;
  if (r->architecture->window == WINDOW_LATE) s = hone_model_read_flag(r, "use_sliding_window", false, &used);
  /* null says none; only an absent key leaves it to the architecture */
  if (s == HONE_OK && used && !json_is_null(given)) s = hone_model_read_count(r, "sliding_window", 0, -1, &c->window);
  if (s == HONE_OK) s = types ? count_listed(r, types, &c->window_layers) : count_by_rule(r, &c->window_layers);
  if (s == HONE_OK && types && c->window_layers > 0 && c->window == 0)
    return hone_model_refuse(r, "layer_types", HONE_INPUT, "model.range", "'layer_types' has windows, 'sliding_window' gives none");
  if (c->window == 0) c->window_layers = 0;
  if (c->window_layers == 0) c->window = 0;
  return s;
}

/* ---- experts ----------------------------------------------------------------------- */

/* The numbers of layers; ones the model does not have say nothing. */
static hone_status check_listed(const hone_model_reader *r, const json_t *list)
{
  if (list && !json_is_array(list))
    return hone_model_refuse(r, "mlp_only_layers", HONE_INPUT, "model.type", "'mlp_only_layers' must be a list of layers");
  for (size_t i = 0; i < json_array_size(list); i++)
    if (!json_is_integer(json_array_get(list, i)))
      return hone_model_refuse(r, "mlp_only_layers", HONE_INPUT, "model.type", "'mlp_only_layers' must list whole numbers");
  return HONE_OK;
}

static bool listed(const json_t *list, int64_t layer)
{
  for (size_t i = 0; i < json_array_size(list); i++)
    if (json_integer_value(json_array_get(list, i)) == layer) return true;
  return false;
}

static hone_status count_layers(const hone_model_reader *r)
{
  const hone_architecture *a = r->architecture;
  const json_t *dense = hone_model_find(r, "mlp_only_layers");
  int64_t first = 0, step = 1;
  hone_status s = HONE_OK;
  if (a->moe_first) s = hone_model_read_count(r, a->moe_first, 0, -1, &first);
  if (s == HONE_OK && a->moe_step) s = hone_model_read_count(r, a->moe_step, 1, 1, &step);
  if (s == HONE_OK) s = check_listed(r, dense);
  if (s != HONE_OK) return s;
  for (int64_t i = first; i < r->config->layers; i++)
    r->config->moe_layers += (i + a->moe_offset) % step == 0 && !listed(dense, i);
  return HONE_OK;
}

static hone_status read_top_k(const hone_model_reader *r)
{
  hone_model_config *c = r->config;
  int64_t other;
  hone_status s = hone_model_read_count(r, "experts_per_token", 1, -1, &other);
  if (s == HONE_OK) s = hone_model_read_count(r, "num_experts_per_tok", 1, other, &c->top_k);
  if (s != HONE_OK) return s;
  if (other > 0 && other != c->top_k)
    return hone_model_refuse(r, "experts_per_token", HONE_INPUT, "model.range", "'experts_per_token' and 'num_experts_per_tok' differ");
  if (c->top_k > c->experts)
    return hone_model_refuse(r, "num_experts_per_tok", HONE_INPUT, "model.range", "%lld experts for each token, of %lld",
                             (long long)c->top_k, (long long)c->experts);
  return HONE_OK;
}

/* Transformers 5 writes num_local_experts for every architecture: each name stands
 * for the others, and two that differ say nothing. */
static hone_status read_expert_count(const hone_model_reader *r)
{
  static const char *const names[] = {"num_experts", "num_local_experts", "n_routed_experts"};
  const char *key = r->architecture->experts;
  for (int i = 0; i < 3; i++)
    if (!hone_model_find(r, key) && hone_model_find(r, names[i])) key = names[i];
  hone_status s = hone_model_read_count(r, key, 1, 0, &r->config->experts);
  for (int i = 0; i < 3 && s == HONE_OK; i++) {
    int64_t other;
    s = hone_model_read_count(r, names[i], 1, r->config->experts, &other);
    if (s == HONE_OK && other != r->config->experts)
      s = hone_model_refuse(r, names[i], HONE_INPUT, "model.range", "'%s' and '%s' differ", names[i], key);
  }
  return s;
}

hone_status hone_model_read_experts(const hone_model_reader *r)
{
  const hone_architecture *a = r->architecture;
  hone_model_config *c = r->config;
  int64_t shared = 0;
  if (!a->experts) return HONE_OK;
  hone_status s = read_expert_count(r);
  if (s == HONE_OK) s = read_top_k(r);
  if (s == HONE_OK) s = hone_model_read_count(r, a->expert_width, 1, 0, &c->expert_width);
  if (s == HONE_OK && a->shared_experts) s = hone_model_read_count(r, a->shared_experts, 0, -1, &shared);
  if (s == HONE_OK) s = count_layers(r);
  if (s != HONE_OK) return s;
  c->shared_width = shared * c->expert_width;
  c->expert_width_key = a->expert_width;
  c->expert_bias = a->expert_bias;
  c->score_bias = a->score_bias;
  return HONE_OK;
}
