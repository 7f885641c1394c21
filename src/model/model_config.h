/* Real model files: a Hugging Face config.json becomes the list of operators one
 * forward pass of the model runs, with exact shapes and counts, and the memory
 * it needs. Only architectures whose operators follow from their name and keys are
 * accepted (architecture.def); anything else is refused, naming the keys that
 * decided. docs/models.md says what is read, listed and counted. */
#ifndef HONE_MODEL_MODEL_CONFIG_H
#define HONE_MODEL_MODEL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "ir/format.h"
#include "ir/machine.h"
#include "ir/spec.h"

enum { HONE_MODEL_MAX_NOTES = 8, HONE_MODEL_MAX_ITEMS = 64 };

/* Something to tell the user: a warning, or what is left out on purpose. */
typedef struct {
  bool warning;
  const char *code; /* "model.unknown-key" */
  char text[400];
} hone_model_note;

/* A value type. Counts are >= 1 unless they say 0. `shards` > 1: the largest
 * shard of a tensor-parallel deployment (hone_model_shard). */
typedef struct {
  char architecture[64];
  int64_t hidden, layers, vocabulary;
  int64_t heads, kv_heads, head_dim;
  int64_t rotary_dim;   /* of head_dim, those that are rotated */
  int64_t intermediate; /* width of a dense layer's MLP */
  bool tied_embeddings; /* lm_head shares the embedding's weights */
  bool qkv_bias, o_bias, mlp_bias;
  bool fused_qkv, fused_gate_up; /* stored, and run, as one matmul */
  bool post_norms;               /* also a norm after attention and after the MLP, before the addition */
  bool qk_norm, sinks, clamped_gate, scaled_embedding;
  bool odd_clamp; /* the clamp is not at 7 */
  int64_t attention_cap, logit_cap; /* softcapping; 0: none */
  const char *gate;              /* "silu", "gelu": of the gate */
  int64_t window, window_layers; /* layers that see the last `window` tokens only; 0: none */
  /* Multi-head latent attention; kv_rank 0: none. q_rank 0: q is projected at once. */
  int64_t q_rank, kv_rank, nope_dim, rope_dim, value_dim;
  /* Mixture of experts; moe_layers 0: none. shared_width 0: no shared experts. */
  int64_t moe_layers, experts, top_k, expert_width, shared_width;
  const char *expert_width_key;
  bool expert_bias;     /* on router and experts */
  bool score_bias;      /* a number per expert, for the choice only */
  int64_t shards;
  int64_t whole_vocabulary; /* of all shards */
  hone_format format;   /* torch_dtype; bf16 when absent */
  hone_format linear;   /* weights and inputs of the linear layers, by quantization_config */
  bool mxfp4_experts;
  int nnotes;
  hone_model_note note[HONE_MODEL_MAX_NOTES];
} hone_model_config;

hone_status hone_model_config_load(const char *path, hone_model_config *out, hone_err *err);

/* Prefill reads `context` new tokens of every sequence; decode makes one token
 * per sequence and attends to `context`, itself included. */
typedef enum { HONE_PHASE_PREFILL, HONE_PHASE_DECODE } hone_phase;
const char *hone_phase_name(hone_phase p);
bool hone_phase_find(const char *name, hone_phase *out);

typedef struct {
  hone_format activations;   /* what layers put out, and all that is not a matmul */
  hone_format inputs;        /* what the linear layers read */
  hone_format weights;       /* of the linear layers */
  hone_format other_weights; /* lm_head, router, embedding, norms */
  hone_format cache;
  bool mxfp4_experts;        /* stored in 4.25 bits; read as `weights` */
} hone_model_formats;

hone_model_formats hone_model_formats_of(const hone_model_config *c); /* as the file says */

typedef struct {
  hone_phase phase;
  int64_t batch, context;
  int64_t shards; /* --tensor-parallel; 1: whole */
  hone_model_formats formats;
} hone_model_request;

/* The largest shard of `n`, cut as Megatron and vLLM do: heads, MLP widths (of
 * each expert too) and vocabulary divide by n; with fewer kv heads than shards each
 * is repeated. INFEASIBLE, naming the key, where something does not divide. */
hone_status hone_model_shard(const hone_model_config *whole, int64_t n, hone_model_config *out, hone_err *err);

/* One distinct operator. `spec` is what hone_operator_load_spec takes. An item
 * that is not `supported` has no text in spaces/ yet, or none that fits: its spec
 * says what it is, `reason` what is missing. Never dropped. */
typedef struct {
  char role[256]; /* "q_proj, o_proj": everything with this identity */
  int64_t count;  /* times in one forward pass */
  bool supported;
  const char *reason; /* "" when supported */
  hone_spec spec;
  /* Of all `count` together. */
  int64_t parameters, active_parameters; /* active: of experts, those a token visits */
  int64_t weight_bytes;
  double flops; /* of contractions, 2 for a multiply-add; 0 for the rest */
} hone_model_item;

typedef struct {
  int n;
  hone_model_item item[HONE_MODEL_MAX_ITEMS]; /* in the order of the pass, first occurrence */
} hone_model_list;

/* `c` is the whole model; the list is of one shard when q->shards > 1. */
hone_status hone_model_operators(const hone_model_config *c, const hone_model_request *q, hone_model_list *out, hone_err *err);

/* Parameters and what one shard's DRAM must hold: weights, and keys and values of
 * `context` tokens (at most `window` in layers with one) of `batch` sequences.
 * Activations are not counted: they depend on the schedule and are small beside these. */
typedef struct {
  int64_t parameters, active_parameters;
  int64_t weight_bytes;
  int64_t cache_bytes_per_token; /* of one more token, in all layers */
  int64_t cache_bytes, total_bytes;
} hone_model_memory;

hone_status hone_model_memory_count(const hone_model_config *c, const hone_model_request *q, hone_model_memory *out, hone_err *err);
/* Bytes that do not fit the machine's DRAM; 0: it fits. A warning, not an error:
 * single operators can be tuned all the same. */
int64_t hone_model_memory_deficit(const hone_model_memory *need, const hone_machine *m);

#endif
