/* The operators of one forward pass of a Llama, from the configuration alone
 * (modeling_llama.py of Hugging Face transformers: embedding; per layer norm, q k
 * v, rotary, cache, attention, o, add, norm, gate up, silu times, down, add; norm,
 * lm_head). Items with one identity are merged, counts added. Nothing is split or
 * fused here: that is a schedule's business. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "model/model_config.h"

static const char *const phase_names[] = {[HONE_PHASE_PREFILL] = "prefill", [HONE_PHASE_DECODE] = "decode"};

const char *hone_phase_name(hone_phase p) { return phase_names[p]; }

bool hone_phase_find(const char *name, hone_phase *out)
{
  for (int p = 0; p < 2; p++)
    if (strcmp(name, phase_names[p]) == 0) {
      *out = (hone_phase)p;
      return true;
    }
  return false;
}

static bool same(const hone_model_item *a, const hone_model_item *b)
{
  if (strcmp(a->operator_name, b->operator_name) != 0 || a->nsizes != b->nsizes || a->nformats != b->nformats ||
      a->noptions != b->noptions)
    return false;
  for (int i = 0; i < a->nsizes; i++)
    if (strcmp(a->size[i].name, b->size[i].name) != 0 || a->size[i].value != b->size[i].value) return false;
  for (int i = 0; i < a->noptions; i++)
    if (strcmp(a->option[i].name, b->option[i].name) != 0 || strcmp(a->option[i].value, b->option[i].value) != 0) return false;
  return true; /* formats are those of the whole list */
}

static void add(hone_model_list *list, const hone_model_item *x)
{
  for (int i = 0; i < list->n; i++) {
    hone_model_item *have = &list->item[i];
    if (!same(have, x)) continue;
    have->count += x->count;
    size_t n = strlen(have->role);
    if (!strstr(have->role, x->role)) snprintf(have->role + n, sizeof have->role - n, ", %s", x->role);
    return;
  }
  list->item[list->n++] = *x;
}

typedef struct {
  const hone_model_formats *formats;
  hone_model_list *list;
} builder;

static void matmul(const builder *b, const char *role, int64_t count, int64_t m, int64_t n, int64_t k, bool bias)
{
  hone_model_item x = {.operator_name = "matmul",
                       .count = count,
                       .supported = true,
                       .reason = "",
                       .nsizes = 3,
                       .size = {{"m", m}, {"n", n}, {"k", k}},
                       .nformats = 1,
                       .format = {{NULL, b->formats->activations}, {"W", b->formats->weights}}};
  if (b->formats->weights != b->formats->activations) x.nformats = 2;
  if (bias) x.option[x.noptions++] = (hone_operator_option){"bias", "row"};
  snprintf(x.role, sizeof x.role, "%s", role);
  add(b->list, &x);
}

/* An operator without a text in spaces/ yet. Sizes end at the first NULL name. */
static void other(const builder *b, const char *role, const char *name, const char *reason, int64_t count,
                  const hone_size sizes[HONE_MODEL_MAX_SIZES])
{
  hone_model_item x = {.operator_name = name, .count = count, .reason = reason};
  for (; x.nsizes < HONE_MODEL_MAX_SIZES && sizes[x.nsizes].name; x.nsizes++)
    x.size[x.nsizes] = sizes[x.nsizes];
  snprintf(x.role, sizeof x.role, "%s", role);
  add(b->list, &x);
}
#define SIZES(...) ((const hone_size[HONE_MODEL_MAX_SIZES]){__VA_ARGS__})

static const char not_gather[] = "not tuned yet: move stages are not supported";
static const char not_norm[] = "not tuned yet: reduce stages are not supported";
static const char not_rotary[] = "not tuned yet: the pairing of elements is no single-dim access";
static const char not_online[] = "not tuned yet: online stages and guards are not supported";
static const char not_map[] = "not tuned yet: has no operator text of its own";

static void add_attention(const builder *b, const hone_model_config *c, hone_phase phase, int64_t batch, int64_t context,
                          int64_t tokens)
{
  int64_t q = c->heads * c->head_dim, kv = c->kv_heads * c->head_dim;
  const char *name = phase == HONE_PHASE_PREFILL ? "attention_prefill" : "attention_decode";
  matmul(b, "q_proj", c->layers, tokens, q, c->hidden, c->attention_bias);
  matmul(b, "k_proj", c->layers, tokens, kv, c->hidden, c->attention_bias);
  matmul(b, "v_proj", c->layers, tokens, kv, c->hidden, c->attention_bias);
  other(b, "rotary q", "rotary", not_rotary, c->layers,
        SIZES({"tokens", tokens}, {"heads", c->heads}, {"head_dim", c->head_dim}));
  other(b, "rotary k", "rotary", not_rotary, c->layers,
        SIZES({"tokens", tokens}, {"heads", c->kv_heads}, {"head_dim", c->head_dim}));
  other(b, "cache append k, v", "cache_append", not_gather, 2 * c->layers,
        SIZES({"tokens", tokens}, {"heads", c->kv_heads}, {"head_dim", c->head_dim}));
  other(b, "attention", name, not_online, c->layers,
        SIZES({"batch", batch}, {"heads", c->heads}, {"kv_heads", c->kv_heads},
              {"queries", phase == HONE_PHASE_PREFILL ? context : 1}, {"keys", context}, {"head_dim", c->head_dim}));
  matmul(b, "o_proj", c->layers, tokens, c->hidden, q, c->attention_bias);
}

static void add_mlp(const builder *b, const hone_model_config *c, int64_t tokens)
{
  matmul(b, "gate_proj", c->layers, tokens, c->intermediate, c->hidden, c->mlp_bias);
  matmul(b, "up_proj", c->layers, tokens, c->intermediate, c->hidden, c->mlp_bias);
  other(b, "silu(gate) * up", "silu_mul", not_map, c->layers, SIZES({"tokens", tokens}, {"width", c->intermediate}));
  matmul(b, "down_proj", c->layers, tokens, c->hidden, c->intermediate, c->mlp_bias);
}

static hone_status check_request(int64_t batch, int64_t context, int64_t *tokens, hone_err *err)
{
  if (batch < 1 || context < 1)
    return hone_err_set(err, HONE_USAGE, "model.range", "batch and context must be at least 1");
  if (!hone_checked_mul(batch, context, tokens))
    return hone_err_set(err, HONE_OVERFLOW, "model.overflow", "batch x context = %" PRId64 " x %" PRId64 " does not fit 64 bits",
                        batch, context);
  return HONE_OK;
}

hone_status hone_model_operators(const hone_model_config *c, hone_phase phase, int64_t batch, int64_t context,
                                 const hone_model_formats *formats, hone_model_list *out, hone_err *err)
{
  builder b = {formats, out};
  int64_t tokens;
  hone_status s = check_request(batch, context, &tokens, err);
  if (s != HONE_OK) return s;
  if (phase == HONE_PHASE_DECODE) tokens = batch;
  *out = (hone_model_list){0};
  other(&b, "embed_tokens", "embedding", not_gather, 1,
        SIZES({"tokens", tokens}, {"width", c->hidden}, {"vocabulary", c->vocabulary}));
  other(&b, "input, post-attention and final norm", "rms_norm", not_norm, 2 * c->layers + 1,
        SIZES({"tokens", tokens}, {"width", c->hidden}));
  add_attention(&b, c, phase, batch, context, tokens);
  other(&b, "residual adds", "residual_add", not_map, 2 * c->layers, SIZES({"tokens", tokens}, {"width", c->hidden}));
  add_mlp(&b, c, tokens);
  matmul(&b, "lm_head", 1, batch, c->vocabulary, c->hidden, false); /* of the last tokens only */
  return HONE_OK;
}

typedef unsigned __int128 wide;

static wide count_parameters(const hone_model_config *c)
{
  wide h = (wide)c->hidden, i = (wide)c->intermediate;
  wide q = (wide)c->heads * (wide)c->head_dim, kv = (wide)c->kv_heads * (wide)c->head_dim;
  wide layer = 2 * h * q + 2 * h * kv + 3 * h * i + 2 * h;
  if (c->attention_bias) layer += q + 2 * kv + h;
  if (c->mlp_bias) layer += 2 * i + h;
  return (wide)c->layers * layer + (c->tied_embeddings ? 1 : 2) * (wide)c->vocabulary * h + h;
}

hone_status hone_model_memory_count(const hone_model_config *c, int64_t batch, int64_t context, const hone_model_formats *formats,
                                    hone_model_memory *out, hone_err *err)
{
  int64_t tokens, elements;
  wide parameters = count_parameters(c);
  hone_model_memory x;
  hone_status s = check_request(batch, context, &tokens, err);
  if (s != HONE_OK) return s;
  bool fits = parameters <= INT64_MAX / 8 && hone_checked_mul(2 * c->layers * c->kv_heads, c->head_dim, &elements);
  if (fits) {
    x.parameters = (int64_t)parameters;
    x.weight_bytes = hone_format_bytes(formats->weights, x.parameters);
    x.cache_bytes_per_token = hone_format_bytes(formats->cache, elements);
    fits = hone_checked_mul(x.cache_bytes_per_token, tokens, &x.cache_bytes) &&
           hone_checked_add(x.weight_bytes, x.cache_bytes, &x.total_bytes);
  }
  if (!fits) return hone_err_set(err, HONE_OVERFLOW, "model.overflow", "the model's size does not fit 64 bits");
  *out = x;
  return HONE_OK;
}

int64_t hone_model_memory_deficit(const hone_model_memory *need, const hone_machine *m)
{
  return hone_max64(0, need->total_bytes - m->memory[0].capacity_bytes);
}
