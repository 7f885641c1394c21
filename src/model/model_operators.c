/* The operators of one forward pass, from the configuration alone, in the order of
 * the pass. One walk is the only place that knows the layers: it lists operators
 * and counts parameters, bytes and operations, so the published parameter counts
 * test the shapes. Items with one identity are merged, counts added. Nothing is
 * split or fused here beyond what the model's own files fuse: that is a schedule's
 * business.
 *
 * Reading order: hone_model_operators at the end, then the parts it adds. */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "ir/operator.h"
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

static const char no_choice[] = "not tuned yet: choosing the largest is no stage";
static const char no_guard[] = "not tuned yet: guards (masks) are not supported";
static const char no_odd[] = "not tuned yet: an odd number of elements cannot be paired";
static const char no_clamp[] = "not tuned yet: a swiglu_limit that is not 7";
static const char no_group[] = "not tuned yet: grouped matmul, rows per expert are known at run time only";
static const char no_link[] = "not tuned yet: communication between shards";

typedef struct {
  const hone_model_config *c; /* of the shard */
  const hone_model_request *q;
  hone_model_list *list;
  int64_t tokens;
  bool overflow; /* once true, figures mean nothing */
} builder;

static int64_t times(builder *b, int64_t x, int64_t y)
{
  int64_t r = 1;
  if (!hone_checked_mul(x, y, &r)) b->overflow = true;
  return r;
}

static int64_t plus(builder *b, int64_t x, int64_t y)
{
  int64_t r = 1;
  if (!hone_checked_add(x, y, &r)) b->overflow = true;
  return r;
}

/* ---- items ------------------------------------------------------------------------- */

static bool same(const hone_model_item *a, const hone_model_item *b)
{
  if (a->supported != b->supported || !hone_spec_same_family(&a->spec, &b->spec)) return false;
  for (int i = 0; i < a->spec.nsizes; i++)
    if (a->spec.size[i].value != b->spec.size[i].value) return false;
  return true;
}

/* "a, b" and "b, c": "a, b, c" */
static void join_role(hone_model_item *have, const char *role)
{
  size_t n = strlen(have->role), k = strlen(role);
  for (const char *at = have->role; (at = strstr(at, role)) != NULL; at++)
    if ((at == have->role || at[-1] == ' ') && (at[k] == '\0' || at[k] == ',')) return;
  int wrote = snprintf(have->role + n, sizeof have->role - n, ", %s", role);
  assert(wrote >= 0 && (size_t)wrote < sizeof have->role - n);
  (void)wrote;
}

static void add(builder *b, const hone_model_item *x)
{
  if (x->count == 0) return;
  for (int i = 0; i < b->list->n; i++) {
    hone_model_item *have = &b->list->item[i];
    if (!same(have, x)) continue;
    have->count = plus(b, have->count, x->count);
    have->parameters = plus(b, have->parameters, x->parameters);
    have->active_parameters = plus(b, have->active_parameters, x->active_parameters);
    have->weight_bytes = plus(b, have->weight_bytes, x->weight_bytes);
    have->flops += x->flops;
    join_role(have, x->role);
    return;
  }
  assert(b->list->n < HONE_MODEL_MAX_ITEMS);
  b->list->item[b->list->n++] = *x;
}

/* The start of an item; sizes follow with put_size. `reason` "": supported. */
static hone_model_item begin(const char *role, int64_t count, const char *operator_name, const char *reason)
{
  hone_model_item x = {.count = count, .supported = reason[0] == '\0', .reason = reason};
  snprintf(x.role, sizeof x.role, "%s", role);
  snprintf(x.spec.operator_name, sizeof x.spec.operator_name, "%s", operator_name);
  return x;
}

static void put_size(hone_model_item *x, const char *name, int64_t value)
{
  assert(x->spec.nsizes < HONE_MAX_SIZES);
  hone_spec_size *s = &x->spec.size[x->spec.nsizes++];
  snprintf(s->name, sizeof s->name, "%s", name);
  s->value = s->to = value;
}

static void put_format(hone_model_item *x, const char *tensor, hone_format format)
{
  hone_spec_format *f = &x->spec.format[x->spec.nformats++];
  snprintf(f->tensor, sizeof f->tensor, "%s", tensor);
  f->format = format;
}

static void put_option(hone_model_item *x, const char *name, const char *value)
{
  hone_spec_option *o = &x->spec.option[x->spec.noptions++];
  snprintf(o->name, sizeof o->name, "%s", name);
  snprintf(o->value, sizeof o->value, "%s", value);
}

/* Parameters an item reads, `each` of them `count` times over; stored as `format`. */
static void put_parameters(builder *b, hone_model_item *x, int64_t each, hone_format format)
{
  int64_t n = times(b, each, x->count);
  if (n > INT64_MAX / 64) { /* their bits would not fit */
    b->overflow = true;
    return;
  }
  x->parameters = x->active_parameters = plus(b, x->parameters, n);
  x->weight_bytes = plus(b, x->weight_bytes, hone_format_bytes(format, n));
}

/* An item of two or three sizes; further ones, or parameters, are put by the caller. */
#define SIZES(...) ((const hone_size[]){__VA_ARGS__, {NULL, 0}})

static hone_model_item other(const char *role, int64_t count, const char *name, const char *reason, const hone_size *sizes)
{
  hone_model_item x = begin(role, count, name, reason);
  for (; sizes->name; sizes++)
    put_size(&x, sizes->name, sizes->value);
  return x;
}

/* Maps over a matrix of activations. */
static hone_model_item begin_elementwise(builder *b, const char *role, int64_t count, const char *name, const char *reason,
                                         int64_t tokens, int64_t width)
{
  hone_model_item x = other(role, count, name, reason, SIZES({"tokens", tokens}, {"width", width}));
  put_format(&x, "", b->q->formats.activations);
  return x;
}

static void add_residual(builder *b, const char *role, int64_t count)
{
  hone_model_item x = begin_elementwise(b, role, count, "residual_add", "", b->tokens, b->c->hidden);
  add(b, &x);
}

static void add_norm(builder *b, const char *role, int64_t count, const hone_size *sizes, int64_t width)
{
  const hone_model_formats *f = &b->q->formats;
  hone_model_item x = other(role, count, "rms_norm", "", sizes);
  put_format(&x, "", f->activations);
  if (f->other_weights != f->activations) put_format(&x, "G", f->other_weights);
  put_parameters(b, &x, width, b->q->formats.other_weights);
  add(b, &x);
}

typedef struct {
  int64_t batch; /* 0: one matrix */
  bool bias;
  bool plain;      /* never quantized by the file */
  bool no_weights; /* they belong to another item */
} how;
static const how usual;

static void add_linear(builder *b, const char *role, int64_t count, int64_t m, int64_t n, int64_t k, how l)
{
  const hone_model_formats *f = &b->q->formats;
  hone_format in = l.plain ? f->activations : f->inputs, weights = l.plain ? f->other_weights : f->weights;
  hone_model_item x = begin(role, count, "matmul", "");
  if (l.batch > 0) put_size(&x, "b", l.batch);
  put_size(&x, "m", m);
  put_size(&x, "n", n);
  put_size(&x, "k", k);
  put_format(&x, "", f->activations);
  if (in != f->activations) put_format(&x, "X", in);
  if (weights != f->activations) put_format(&x, "W", weights);
  if (l.bias) put_option(&x, "bias", "row");
  int64_t matrices = times(b, hone_max64(1, l.batch), times(b, n, k));
  x.flops = 2.0 * (double)count * (double)matrices * (double)m;
  if (!l.no_weights) put_parameters(b, &x, matrices, weights);
  if (l.bias) put_parameters(b, &x, n, f->other_weights);
  add(b, &x);
}

/* ---- attention --------------------------------------------------------------------- */

typedef struct {
  int64_t heads, kv_heads, key_dim, value_dim;
} attention;

/* Pairs of query and key that one sequence and head computes: causal, at most `window` back. */
static double pairs(int64_t queries, int64_t keys, int64_t window)
{
  double q = (double)queries, k = (double)keys, w = (double)window;
  if (queries == 1) return window > 0 && w < k ? w : k;
  return window > 0 && w < k ? w * (w + 1) / 2 + (q - w) * w : q * (q + 1) / 2;
}

static void add_attention_item(builder *b, attention a, int64_t count, int64_t window)
{
  bool prefill = b->q->phase == HONE_PHASE_PREFILL;
  int64_t context = b->q->context, queries = prefill ? context : 1;
  if (window >= context) window = 0; /* all of the context is seen */
  const char *missing = prefill ? no_guard : "";
  hone_model_item x = other("attention", count, "attention", missing,
                            SIZES({"batch", b->q->batch}, {"heads", a.heads}, {"kv_heads", a.kv_heads}, {"queries", queries},
                                  {"keys", !prefill && window > 0 ? window : context}, {"head_dim", a.key_dim},
                                  {"value_dim", a.value_dim}));
  if (prefill && window > 0) put_size(&x, "window", window);
  put_format(&x, "", b->q->formats.activations);
  if (b->q->formats.cache != b->q->formats.activations) {
    put_format(&x, "K", b->q->formats.cache);
    put_format(&x, "V", b->q->formats.cache);
  }
  if (prefill) put_option(&x, "mask", "causal");
  if (b->c->sinks) put_option(&x, "sinks", "yes");
  if (b->c->attention_cap > 0) {
    put_option(&x, "softcap", "yes");
    put_size(&x, "cap", b->c->attention_cap);
  }
  x.flops = 2.0 * (double)count * (double)b->q->batch * (double)a.heads * pairs(queries, context, window) *
            (double)(a.key_dim + a.value_dim);
  if (b->c->sinks) put_parameters(b, &x, a.heads, b->q->formats.other_weights);
  add(b, &x);
}

static void add_cached_attention(builder *b, attention a)
{
  add_attention_item(b, a, b->c->layers - b->c->window_layers, 0);
  add_attention_item(b, a, b->c->window_layers, b->c->window);
}

static void add_rotary(builder *b, const char *role, int64_t heads)
{
  hone_model_item x = other(role, b->c->layers, "rotary", b->c->rotary_dim % 2 ? no_odd : "",
                            SIZES({"tokens", b->tokens}, {"heads", heads}, {"head_dim", b->c->rotary_dim}));
  put_format(&x, "", b->q->formats.activations);
  add(b, &x);
}

static void add_cache_append(builder *b, const char *role, int64_t count, int64_t heads, int64_t head_dim)
{
  const hone_model_formats *f = &b->q->formats;
  hone_model_item x =
      other(role, count, "cache_append", "", SIZES({"tokens", b->tokens}, {"heads", heads}, {"head_dim", head_dim}));
  put_format(&x, "", f->activations);
  if (f->cache != f->activations) put_format(&x, "K", f->cache);
  add(b, &x);
}

static void add_projections(builder *b)
{
  const hone_model_config *c = b->c;
  int64_t q = times(b, c->heads, c->head_dim), kv = times(b, c->kv_heads, c->head_dim), h = c->hidden, m = b->tokens;
  if (c->fused_qkv)
    add_linear(b, "qkv_proj", c->layers, m, plus(b, q, 2 * kv), h, (how){.bias = c->qkv_bias});
  else {
    add_linear(b, "q_proj", c->layers, m, q, h, (how){.bias = c->qkv_bias});
    add_linear(b, "k_proj", c->layers, m, kv, h, (how){.bias = c->qkv_bias});
    add_linear(b, "v_proj", c->layers, m, kv, h, (how){.bias = c->qkv_bias});
  }
}

static void add_attention(builder *b)
{
  const hone_model_config *c = b->c;
  add_projections(b);
  if (c->qk_norm) {
    add_norm(b, "q_norm", c->layers, SIZES({"tokens", b->tokens}, {"heads", c->heads}, {"width", c->head_dim}), c->head_dim);
    add_norm(b, "k_norm", c->layers, SIZES({"tokens", b->tokens}, {"heads", c->kv_heads}, {"width", c->head_dim}), c->head_dim);
  }
  add_rotary(b, "rotary q", c->heads);
  add_rotary(b, "rotary k", c->kv_heads);
  add_cache_append(b, "cache append k, v", 2 * c->layers, c->kv_heads, c->head_dim);
  add_cached_attention(b, (attention){c->heads, c->kv_heads, c->head_dim, c->head_dim});
  add_linear(b, "o_proj", c->layers, b->tokens, c->hidden, times(b, c->heads, c->head_dim), (how){.bias = c->o_bias});
}

/* Values are the first kv_rank elements of each key. */
static void add_latent_decode(builder *b)
{
  const hone_model_config *c = b->c;
  hone_model_item x = other("attention", c->layers, "attention_latent", "",
                            SIZES({"batch", b->q->batch}, {"heads", c->heads}, {"keys", b->q->context}, {"latent", c->kv_rank},
                                  {"rope", c->rope_dim}, {"nope", c->nope_dim}));
  put_format(&x, "", b->q->formats.activations);
  if (b->q->formats.cache != b->q->formats.activations) put_format(&x, "K", b->q->formats.cache);
  x.flops = 2.0 * (double)c->layers * (double)b->q->batch * (double)c->heads * (double)b->q->context *
            (double)(2 * c->kv_rank + c->rope_dim);
  add(b, &x);
}

/* Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1). Prefill
 * expands the latents to keys and values of each head; decode does not expand the
 * cache, but takes the queries to the latent space and the result back (the paper's
 * absorption): the same weights, as one small matrix a head on each side. */
static void add_latent_attention(builder *b)
{
  const hone_model_config *c = b->c;
  int64_t m = b->tokens, h = c->hidden, n = c->layers, q = times(b, c->heads, c->head_dim), latent = c->kv_rank + c->rope_dim;
  if (c->q_rank > 0) {
    add_linear(b, "q_a_proj", n, m, c->q_rank, h, (how){.bias = c->qkv_bias});
    add_norm(b, "q_a_layernorm", n, SIZES({"tokens", m}, {"width", c->q_rank}), c->q_rank);
    add_linear(b, "q_b_proj", n, m, q, c->q_rank, usual);
  } else
    add_linear(b, "q_proj", n, m, q, h, usual);
  add_linear(b, "kv_a_proj_with_mqa", n, m, latent, h, (how){.bias = c->qkv_bias});
  add_norm(b, "kv_a_layernorm", n, SIZES({"tokens", m}, {"width", c->kv_rank}), c->kv_rank);
  add_rotary(b, "rotary q", c->heads);
  add_rotary(b, "rotary k", 1);
  add_cache_append(b, "cache append latent", n, 1, latent);
  if (b->q->phase == HONE_PHASE_PREFILL) {
    add_linear(b, "kv_b_proj", n, m, times(b, c->heads, c->nope_dim + c->value_dim), c->kv_rank, usual);
    add_cached_attention(b, (attention){c->heads, c->heads, c->head_dim, c->value_dim});
  } else {
    add_linear(b, "kv_b_proj of keys, on q", n, m, c->kv_rank, c->nope_dim, (how){.batch = c->heads});
    add_latent_decode(b);
    add_linear(b, "kv_b_proj of values, on the result", n, m, c->value_dim, c->kv_rank, (how){.batch = c->heads});
  }
  add_linear(b, "o_proj", n, m, h, times(b, c->heads, c->value_dim), (how){.bias = c->o_bias});
}

/* ---- MLP and experts --------------------------------------------------------------- */

static void add_gate(builder *b, const char *role, int64_t count, int64_t tokens, int64_t width)
{
  bool clamped = b->c->clamped_gate;
  hone_model_item x = begin_elementwise(b, role, count, clamped ? "clamped_gate" : "gated_activation",
                                        clamped && b->c->odd_clamp ? no_clamp : "", tokens, width);
  if (!clamped) put_option(&x, "activation", b->c->gate);
  add(b, &x);
}

static void add_mlp(builder *b, const char *gate, const char *up, const char *both, const char *down, int64_t count, int64_t width)
{
  const hone_model_config *c = b->c;
  int64_t m = b->tokens, h = c->hidden;
  bool bias = c->mlp_bias;
  if (c->fused_gate_up)
    add_linear(b, both, count, m, 2 * width, h, (how){.bias = bias});
  else {
    add_linear(b, gate, count, m, width, h, (how){.bias = bias});
    add_linear(b, up, count, m, width, h, (how){.bias = bias});
  }
  add_gate(b, "act(gate) * up", count, m, width);
  add_linear(b, down, count, m, h, width, (how){.bias = bias});
}

/* As if every expert was asked for: rows is the tokens times the experts of each. */
static void add_grouped(builder *b, const char *role, int64_t rows, int64_t n, int64_t k)
{
  const hone_model_config *c = b->c;
  const hone_model_formats *f = &b->q->formats;
  hone_model_item x = other(role, c->moe_layers, "grouped_matmul", no_group,
                            SIZES({"experts", c->experts}, {"rows", rows}, {"n", n}, {"k", k}));
  int64_t matrix = times(b, n, k), weights = times(b, c->experts, matrix);
  put_format(&x, "", f->activations);
  if (f->inputs != f->activations) put_format(&x, "X", f->inputs);
  if (f->weights != f->activations) put_format(&x, "W", f->weights);
  if (c->expert_bias) put_option(&x, "bias", "row");
  put_parameters(b, &x, weights, f->weights);
  if (f->mxfp4_experts) { /* 16 bytes of elements and one of scale for 32 */
    int64_t all = times(b, weights, x.count);
    x.weight_bytes = plus(b, all / 32 * 17, (all % 32 * 17 + 31) / 32);
  }
  if (c->expert_bias) put_parameters(b, &x, times(b, c->experts, n), f->other_weights);
  x.active_parameters = x.parameters / c->experts * c->top_k;
  x.flops = 2.0 * (double)x.count * (double)rows * (double)matrix;
  add(b, &x);
}

static void add_router(builder *b)
{
  const hone_model_config *c = b->c;
  add_linear(b, "router", c->moe_layers, b->tokens, c->experts, c->hidden, (how){.bias = c->expert_bias, .plain = true});
  hone_model_item x = other("choice of experts", c->moe_layers, "top_k", no_choice,
                            SIZES({"tokens", b->tokens}, {"experts", c->experts}, {"top_k", c->top_k}));
  if (c->score_bias) put_parameters(b, &x, c->experts, b->q->formats.other_weights);
  add(b, &x);
}

/* `tokens` rows of `rows`, by index. */
static void add_gather(builder *b, const char *role, int64_t count, int64_t tokens, int64_t width, int64_t rows)
{
  hone_model_item x = other(role, count, "embedding", "", SIZES({"tokens", tokens}, {"width", width}, {"vocabulary", rows}));
  put_format(&x, "", b->q->formats.activations);
  add(b, &x);
}

static void add_experts(builder *b)
{
  const hone_model_config *c = b->c;
  if (c->moe_layers == 0) return;
  int64_t rows = times(b, b->tokens, c->top_k), w = c->expert_width, h = c->hidden, n = c->moe_layers;
  add_router(b);
  add_gather(b, "rows to experts", n, rows, h, b->tokens);
  if (c->fused_gate_up)
    add_grouped(b, "experts' gate_up_proj", rows, 2 * w, h);
  else {
    add_grouped(b, "experts' gate_proj", rows, w, h);
    add_grouped(b, "experts' up_proj", rows, w, h);
  }
  add_gate(b, "experts' act(gate) * up", n, rows, w);
  add_grouped(b, "experts' down_proj", rows, h, w);
  hone_model_item sum = other("weighted sum of experts", n, "weighted_rows", "",
                              SIZES({"tokens", b->tokens}, {"top_k", c->top_k}, {"width", h}, {"rows", rows}));
  put_format(&sum, "", b->q->formats.activations);
  add(b, &sum);
  if (c->shared_width == 0) return;
  add_mlp(b, "shared gate_proj", "shared up_proj", "shared gate_up_proj", "shared down_proj", n, c->shared_width);
  add_residual(b, "shared expert add", n);
}

/* ---- between shards ------------------------------------------------------------------ */

/* `bytes`: of the whole tensor, which every shard holds afterwards. */
static void add_collective(builder *b, const char *role, int64_t count, const char *name, int64_t tokens, int64_t width)
{
  if (b->c->shards == 1) return;
  int64_t elements = times(b, tokens, width);
  hone_model_item x = other(role, count, name, no_link, SIZES({"tokens", tokens}, {"width", width}, {"shards", b->c->shards}));
  if (elements > INT64_MAX / 64) b->overflow = true; /* their bits would not fit */
  if (!b->overflow) put_size(&x, "bytes", hone_format_bytes(b->q->formats.activations, elements));
  put_format(&x, "", b->q->formats.activations);
  add(b, &x);
}

/* ---- the pass ------------------------------------------------------------------------ */

static void add_embedding(builder *b)
{
  const hone_model_config *c = b->c;
  hone_model_item x = other("embed_tokens", 1, "embedding", "",
                            SIZES({"tokens", b->tokens}, {"width", c->hidden}, {"vocabulary", c->vocabulary}));
  put_format(&x, "", b->q->formats.activations);
  if (b->q->formats.other_weights != b->q->formats.activations) put_format(&x, "E", b->q->formats.other_weights);
  put_parameters(b, &x, times(b, c->vocabulary, c->hidden), b->q->formats.other_weights);
  add(b, &x);
  if (c->scaled_embedding) {
    hone_model_item scale = begin_elementwise(b, "embedding scale", 1, "embedding_scale", "", b->tokens, c->hidden);
    add(b, &scale);
  }
  add_collective(b, "sum of embed_tokens", 1, "all_reduce", b->tokens, c->hidden);
}

static void add_layers(builder *b)
{
  const hone_model_config *c = b->c;
  const char *norms = c->post_norms ? "norms before and after attention and MLP, and final" : "input, post-attention and final norm";
  add_norm(b, norms, plus(b, (c->post_norms ? 4 : 2) * c->layers, 1), SIZES({"tokens", b->tokens}, {"width", c->hidden}), c->hidden);
  if (c->kv_rank > 0) add_latent_attention(b);
  else add_attention(b);
  add_collective(b, "sum of o_proj", c->layers, "all_reduce", b->tokens, c->hidden);
  add_residual(b, "residual adds", 2 * c->layers);
  add_mlp(b, "gate_proj", "up_proj", "gate_up_proj", "down_proj", c->layers - c->moe_layers, c->intermediate);
  add_experts(b);
  add_collective(b, "sum of the MLP", c->layers, "all_reduce", b->tokens, c->hidden);
}

static void add_head(builder *b)
{
  const hone_model_config *c = b->c;
  int64_t m = b->q->batch; /* the last token of each sequence */
  add_linear(b, "lm_head", 1, m, c->vocabulary, c->hidden, (how){.plain = true, .no_weights = c->tied_embeddings});
  if (c->logit_cap > 0) {
    hone_model_item x = begin_elementwise(b, "logit softcap", 1, "softcap", "", m, c->vocabulary);
    put_size(&x, "cap", c->logit_cap);
    add(b, &x);
  }
  add_collective(b, "logits", 1, "all_gather", m, c->whole_vocabulary);
}

static hone_status check_request(const hone_model_request *q, int64_t *tokens, hone_err *err)
{
  if (q->batch < 1 || q->context < 1)
    return hone_err_set(err, HONE_USAGE, "model.range", "batch and context must be at least 1");
  if (!hone_checked_mul(q->batch, q->context, tokens))
    return hone_err_set(err, HONE_OVERFLOW, "model.overflow", "batch x context = %" PRId64 " x %" PRId64 " does not fit 64 bits",
                        q->batch, q->context);
  return HONE_OK;
}

hone_status hone_model_operators(const hone_model_config *c, const hone_model_request *q, hone_model_list *out, hone_err *err)
{
  hone_model_config shard;
  builder b = {.c = &shard, .q = q, .list = out};
  hone_status s = check_request(q, &b.tokens, err);
  if (s == HONE_OK) s = hone_model_shard(c, q->shards, &shard, err);
  if (s != HONE_OK) return s;
  if (q->phase == HONE_PHASE_DECODE) b.tokens = q->batch;
  out->n = 0;
  add_embedding(&b);
  add_layers(&b);
  add_head(&b);
  return b.overflow ? hone_err_set(err, HONE_OVERFLOW, "model.overflow", "the model's sizes do not fit 64 bits") : HONE_OK;
}
