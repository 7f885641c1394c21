/* Parameters and bytes: sums over the operators of a pass, which know their
 * weights, and the cache, which belongs to none of them. */
#include "config.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/checked.h"
#include "model/model_config.h"

/* Elements one layer keeps of one token. */
static int64_t cached_elements(const hone_model_config *c)
{
  return c->kv_rank > 0 ? c->kv_rank + c->rope_dim : 2 * c->kv_heads * c->head_dim;
}

static bool count_cache(const hone_model_config *c, const hone_model_request *q, hone_model_memory *x)
{
  int64_t token, full, windowed, elements, bytes;
  token = cached_elements(c);
  int64_t seen = hone_min64(q->context, c->window);
  if (!hone_checked_mul(token, c->layers, &elements)) return false;
  if (!hone_checked_mul(c->layers - c->window_layers, q->context, &full) || !hone_checked_mul(c->window_layers, seen, &windowed) ||
      !hone_checked_add(full, windowed, &full) || !hone_checked_mul(full, q->batch, &full) || !hone_checked_mul(full, token, &bytes))
    return false;
  if (elements > INT64_MAX / 64 || bytes > INT64_MAX / 64) return false;
  x->cache_bytes_per_token = hone_format_bytes(q->formats.cache, elements);
  x->cache_bytes = hone_format_bytes(q->formats.cache, bytes);
  return true;
}

static bool count_items(const hone_model_list *list, hone_model_memory *x)
{
  for (int i = 0; i < list->n; i++) {
    const hone_model_item *item = &list->item[i];
    if (!hone_checked_add(x->parameters, item->parameters, &x->parameters) ||
        !hone_checked_add(x->active_parameters, item->active_parameters, &x->active_parameters) ||
        !hone_checked_add(x->weight_bytes, item->weight_bytes, &x->weight_bytes))
      return false;
  }
  return true;
}

hone_status hone_model_memory_count(const hone_model_config *c, const hone_model_request *q, hone_model_memory *out, hone_err *err)
{
  hone_model_memory x = {0};
  hone_model_config shard;
  hone_model_list *list = hone_heap_alloc(1, sizeof *list);
  hone_status s = hone_model_operators(c, q, list, err);
  if (s == HONE_OK) s = hone_model_shard(c, q->shards, &shard, err);
  if (s == HONE_OK && (!count_items(list, &x) || !count_cache(&shard, q, &x) ||
                       !hone_checked_add(x.weight_bytes, x.cache_bytes, &x.total_bytes)))
    s = hone_err_set(err, HONE_OVERFLOW, "model.overflow", "the model's size does not fit 64 bits");
  if (s == HONE_OK) *out = x;
  free(list);
  return s;
}

int64_t hone_model_memory_deficit(const hone_model_memory *need, const hone_machine *m)
{
  return hone_max64(0, need->total_bytes - m->memory[0].capacity_bytes);
}
