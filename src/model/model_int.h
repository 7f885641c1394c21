/* What the files that read config.json share. Inside src/model only. */
#ifndef HONE_MODEL_MODEL_INT_H
#define HONE_MODEL_MODEL_INT_H

#include <jansson.h>

#include "model/model_config.h"

typedef enum { BIAS_NONE, BIAS_KEY, BIAS_ALWAYS } hone_bias_rule; /* KEY: as attention_bias says */

/* Layers that see a window only, where layer_types does not list them: none; all;
 * from max_window_layers on, if use_sliding_window; all but each period-th. */
typedef enum { WINDOW_NONE, WINDOW_ALL, WINDOW_LATE, WINDOW_PERIOD } hone_window_rule;

typedef struct {
  const char *name, *model_type; /* model_type: of the language part */
  hone_bias_rule qkv_bias, o_bias;
  bool mlp_bias; /* may have one, as mlp_bias says */
  bool fused_qkv, fused_gate_up, qk_norm, post_norms, sinks, scaled_embedding, softcap;
  bool clamped_gate; /* gate and up are cut off, and up shifted, before they meet */
  bool biased; /* unless attention_bias says otherwise */
  bool tied;   /* unless tie_word_embeddings says otherwise */
  bool nested; /* the language part is under text_config */
  bool latent;
  hone_window_rule window;
  int period; /* PERIOD: unless sliding_window_pattern says otherwise */
  /* Names of keys; of `experts`, the one its own files use. Layer i has experts if i >= first and (i + offset) is a multiple
   * of step; NULL: of every layer. */
  const char *experts, *expert_width, *shared_experts, *moe_first, *moe_step;
  int moe_offset;
  bool expert_bias, score_bias;
} hone_architecture;

typedef struct {
  const char *path;
  const char *text;
  const json_t *top, *root; /* the document; the object with the language part's keys */
  const hone_architecture *architecture;
  hone_model_config *config;
  hone_err *err;
} hone_model_reader;

/* Sets the diagnostic with the line of the key in the file; returns s. */
hone_status hone_model_refuse(const hone_model_reader *r, const char *key, hone_status s, const char *code, const char *fmt, ...)
    HONE_PRINTF(5, 6);
void hone_model_note_add(hone_model_config *c, bool warning, const char *code, const char *fmt, ...) HONE_PRINTF(4, 5);

const json_t *hone_model_find(const hone_model_reader *r, const char *key); /* NULL when absent or null */
/* A count from the file or else the architecture's default or else `fallback`; 0 as
 * fallback: it must be there. `least` is 0 or 1. */
hone_status hone_model_read_count(const hone_model_reader *r, const char *key, int64_t least, int64_t fallback, int64_t *out);
hone_status hone_model_read_flag(const hone_model_reader *r, const char *key, bool fallback, bool *out);

/* Finds the architecture and the language part, and refuses what cannot be honoured. */
hone_status hone_model_read_architecture(hone_model_reader *r);
hone_status hone_model_check_keys(const hone_model_reader *r);
/* Which layers have a window, which experts. */
hone_status hone_model_read_windows(const hone_model_reader *r);
hone_status hone_model_read_experts(const hone_model_reader *r);

#endif
