/* Real model files: a Hugging Face config.json becomes the list of operators one
 * forward pass of the model runs, with exact shapes and counts, and the memory
 * it needs. Only families whose shapes follow from the keys are accepted
 * (architecture.def); anything else is refused, naming the keys that decided. */
#ifndef HONE_MODEL_MODEL_CONFIG_H
#define HONE_MODEL_MODEL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "ir/format.h"
#include "ir/machine.h"
#include "ir/operator.h"

/* All counts >= 1. A value type. */
typedef struct {
  char architecture[64];
  int64_t hidden, intermediate, layers, heads, kv_heads, head_dim, vocabulary;
  bool tied_embeddings; /* lm_head shares the embedding's weights */
  bool attention_bias;  /* on q, k, v and o */
  bool mlp_bias;        /* on gate, up and down */
  hone_format format;   /* torch_dtype; bf16 when absent */
} hone_model_config;

hone_status hone_model_config_load(const char *path, hone_model_config *out, hone_err *err);

/* Prefill reads `context` new tokens of every sequence; decode makes one token
 * per sequence and attends to `context`, itself included. */
typedef enum { HONE_PHASE_PREFILL, HONE_PHASE_DECODE } hone_phase;
const char *hone_phase_name(hone_phase p);
bool hone_phase_find(const char *name, hone_phase *out);

typedef struct {
  hone_format activations, weights, cache;
} hone_model_formats;

enum { HONE_MODEL_MAX_SIZES = 6, HONE_MODEL_MAX_OPTIONS = 2, HONE_MODEL_MAX_ITEMS = 24 };

/* One distinct operator. `operator_name`, the sizes, formats and options are
 * what hone_operator_load takes; names point to constant text. An item that is
 * not `supported` has no text in spaces/ yet: operator_name says what it is,
 * the sizes its shape, `reason` what is missing. Never dropped. */
typedef struct {
  char role[96];             /* "q_proj, o_proj": everything with this identity */
  const char *operator_name; /* "matmul" */
  int64_t count;             /* times in one forward pass */
  bool supported;
  const char *reason;        /* "" when supported */
  int nsizes, nformats, noptions;
  hone_size size[HONE_MODEL_MAX_SIZES];
  hone_format_choice format[2];
  hone_operator_option option[HONE_MODEL_MAX_OPTIONS];
} hone_model_item;

typedef struct {
  int n;
  hone_model_item item[HONE_MODEL_MAX_ITEMS]; /* in the order of the pass, first occurrence */
} hone_model_list;

hone_status hone_model_operators(const hone_model_config *c, hone_phase phase, int64_t batch, int64_t context,
                                 const hone_model_formats *formats, hone_model_list *out, hone_err *err);

/* Parameters and what DRAM must hold: weights, and keys and values of `context`
 * tokens of `batch` sequences. Activations are not counted: they depend on the
 * schedule and are small beside these. */
typedef struct {
  int64_t parameters;
  int64_t weight_bytes, cache_bytes_per_token, cache_bytes, total_bytes;
} hone_model_memory;

hone_status hone_model_memory_count(const hone_model_config *c, int64_t batch, int64_t context, const hone_model_formats *formats,
                                    hone_model_memory *out, hone_err *err);
/* Bytes that do not fit the machine's DRAM; 0: it fits. A warning, not an error:
 * single operators can be tuned all the same. */
int64_t hone_model_memory_deficit(const hone_model_memory *need, const hone_machine *m);

#endif
