/* Reading config.json. jansson parses (duplicate keys refused) and gives the
 * line of a syntax error; for the rest the line is that of the key in the text.
 * Read model_int.h first, then hone_model_config_load here, model_key.c (which
 * architecture, which keys), model_layer.c (which layers have what). */
#include "config.h"

#include "model/model_config.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/model_int.h"

enum { LARGEST_FILE = 16 << 20, LARGEST_DEPTH = 1 << 16 };
#define LARGEST_VALUE (INT64_C(1) << 26) /* the product of two of them and a small factor fits 64 bits */

/* ---- diagnostics ------------------------------------------------------------------- */

/* Line of the first "key" : in the text; 0 when there is none. */
static int line_of(const hone_model_reader *r, const char *key)
{
  char quoted[96];
  snprintf(quoted, sizeof quoted, "\"%s\"", key);
  for (const char *at = r->text; (at = strstr(at, quoted)) != NULL; at++) {
    const char *after = at + strlen(quoted);
    after += strspn(after, " \t\r\n");
    if (*after != ':') continue;
    int line = 1;
    for (const char *p = r->text; p < at; p++)
      line += *p == '\n';
    return line;
  }
  return 0;
}

hone_status hone_model_refuse(const hone_model_reader *r, const char *key, hone_status s, const char *code, const char *fmt, ...)
{
  char message[sizeof r->err->message];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  hone_err_set(r->err, s, code, "%s", message);
  hone_err_at(r->err, r->path, line_of(r, key), 0);
  hone_err_path(r->err, "%s", key);
  return s;
}

void hone_model_note_add(hone_model_config *c, bool warning, const char *code, const char *fmt, ...)
{
  assert(c->nnotes < HONE_MODEL_MAX_NOTES); /* more than there are places that add one */
  hone_model_note *x = &c->note[c->nnotes++];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(x->text, sizeof x->text, fmt, ap);
  va_end(ap);
  if (n >= (int)sizeof x->text) memcpy(x->text + sizeof x->text - 10, " and more", 10);
  x->warning = warning;
  x->code = code;
}

/* ---- values ------------------------------------------------------------------------ */

static const struct {
  const char *model_type, *key;
  int64_t value;
} defaults[] = {
#define HONE_MODEL_DEFAULT(type, key, value) {type, key, value},
#include "model/model_default.def"
#undef HONE_MODEL_DEFAULT
};

const json_t *hone_model_find(const hone_model_reader *r, const char *key)
{
  const json_t *v = json_object_get(r->root, key);
  return v && !json_is_null(v) ? v : NULL;
}

/* Some keys of a nested file stand beside the language part. */
static const json_t *find_around(const hone_model_reader *r, const char *key)
{
  const json_t *v = hone_model_find(r, key);
  if (!v) v = json_object_get(r->top, key);
  return v && !json_is_null(v) ? v : NULL;
}

hone_status hone_model_read_count(const hone_model_reader *r, const char *key, int64_t least, int64_t fallback, int64_t *out)
{
  const json_t *v = hone_model_find(r, key);
  *out = fallback < 0 ? 0 : fallback;
  for (size_t i = 0; !v && i < sizeof defaults / sizeof defaults[0]; i++)
    if (strcmp(defaults[i].model_type, r->architecture->model_type) == 0 && strcmp(defaults[i].key, key) == 0) {
      *out = defaults[i].value;
      return HONE_OK;
    }
  if (!v && fallback != 0) return HONE_OK;
  if (!v) return hone_model_refuse(r, key, HONE_INPUT, "model.missing-key", "missing key '%s'", key);
  if (!json_is_integer(v)) return hone_model_refuse(r, key, HONE_INPUT, "model.type", "'%s' must be a whole number", key);
  *out = json_integer_value(v);
  if (*out >= least && *out <= LARGEST_VALUE) return HONE_OK;
  return hone_model_refuse(r, key, HONE_INPUT, "model.range", "'%s' = %lld is absurd", key, (long long)*out);
}

hone_status hone_model_read_flag(const hone_model_reader *r, const char *key, bool fallback, bool *out)
{
  const json_t *v = find_around(r, key);
  *out = v ? json_is_true(v) : fallback;
  if (!v || json_is_boolean(v)) return HONE_OK;
  return hone_model_refuse(r, key, HONE_INPUT, "model.type", "'%s' must be true or false", key);
}

/* ---- parts of the model ------------------------------------------------------------ */

static hone_status read_biases(const hone_model_reader *r)
{
  const hone_architecture *a = r->architecture;
  hone_model_config *c = r->config;
  bool attention = false;
  hone_status s = hone_model_read_flag(r, "attention_bias", a->biased, &attention);
  if (s == HONE_OK) s = hone_model_read_flag(r, "mlp_bias", false, &c->mlp_bias);
  if (s != HONE_OK) return s;
  const char *wrong = c->mlp_bias && !a->mlp_bias ? "mlp_bias" : NULL;
  if (attention && a->qkv_bias == BIAS_NONE) wrong = "attention_bias";
  if (wrong) return hone_model_refuse(r, wrong, HONE_UNSUPPORTED, "model.unsupported", "%s has no '%s'", a->name, wrong);
  c->qkv_bias = a->qkv_bias == BIAS_ALWAYS || (a->qkv_bias == BIAS_KEY && attention);
  c->o_bias = a->o_bias == BIAS_KEY && attention;
  return HONE_OK;
}

static hone_status read_rotary(const hone_model_reader *r)
{
  hone_model_config *c = r->config;
  const json_t *part = hone_model_find(r, "partial_rotary_factor");
  double factor = part ? json_number_value(part) : 1;
  if (factor <= 0 || factor > 1)
    return hone_model_refuse(r, "partial_rotary_factor", HONE_INPUT, "model.range", "'partial_rotary_factor' must be above 0 and at most 1");
  c->rotary_dim = (int64_t)((double)c->head_dim * factor);
  if (c->rotary_dim < 1) c->rotary_dim = 1;
  return HONE_OK;
}

static hone_status read_heads(const hone_model_reader *r)
{
  hone_model_config *c = r->config;
  hone_status s = hone_model_read_count(r, "num_attention_heads", 1, 0, &c->heads);
  c->kv_heads = c->heads;
  /* null says as many as heads; only an absent key leaves it to the configuration class */
  if (s == HONE_OK && !json_is_null(json_object_get(r->root, "num_key_value_heads")))
    s = hone_model_read_count(r, "num_key_value_heads", 1, c->heads, &c->kv_heads);
  if (s == HONE_OK && c->heads % c->kv_heads != 0)
    s = hone_model_refuse(r, "num_key_value_heads", HONE_INPUT, "model.range", "num_attention_heads = %lld is no multiple of %lld",
                          (long long)c->heads, (long long)c->kv_heads);
  if (s == HONE_OK) s = hone_model_read_count(r, "head_dim", 1, -1, &c->head_dim);
  if (s != HONE_OK || c->head_dim > 0) return s == HONE_OK ? read_rotary(r) : s;
  if (c->hidden % c->heads != 0)
    return hone_model_refuse(r, "hidden_size", HONE_INPUT, "model.range", "hidden_size = %lld is no multiple of num_attention_heads",
                             (long long)c->hidden);
  c->head_dim = c->hidden / c->heads;
  return read_rotary(r);
}

static hone_status read_latent(const hone_model_reader *r)
{
  hone_model_config *c = r->config;
  hone_status s = hone_model_read_count(r, "num_attention_heads", 1, 0, &c->heads);
  if (s == HONE_OK) s = hone_model_read_count(r, "q_lora_rank", 0, -1, &c->q_rank);
  if (s == HONE_OK) s = hone_model_read_count(r, "kv_lora_rank", 1, 0, &c->kv_rank);
  if (s == HONE_OK) s = hone_model_read_count(r, "qk_nope_head_dim", 1, 0, &c->nope_dim);
  if (s == HONE_OK) s = hone_model_read_count(r, "qk_rope_head_dim", 1, 0, &c->rope_dim);
  if (s == HONE_OK) s = hone_model_read_count(r, "v_head_dim", 1, 0, &c->value_dim);
  c->kv_heads = c->heads; /* num_key_value_heads says nothing here: the latent has no heads */
  c->head_dim = c->nope_dim + c->rope_dim;
  c->rotary_dim = c->rope_dim;
  return s;
}

/* ---- formats ----------------------------------------------------------------------- */

static hone_status read_dtype(const hone_model_reader *r)
{
  static const struct {
    const char *torch;
    hone_format format;
  } dtypes[] = {{"bfloat16", HONE_FORMAT_BF16}, {"float16", HONE_FORMAT_FP16}, {"float32", HONE_FORMAT_FP32}};
  const char *key = find_around(r, "torch_dtype") ? "torch_dtype" : "dtype";
  const char *text = json_string_value(find_around(r, key));
  r->config->format = HONE_FORMAT_BF16;
  if (!find_around(r, key)) return HONE_OK;
  for (size_t i = 0; text && i < sizeof dtypes / sizeof dtypes[0]; i++)
    if (strcmp(text, dtypes[i].torch) == 0) {
      r->config->format = dtypes[i].format;
      return HONE_OK;
    }
  hone_model_refuse(r, key, HONE_UNSUPPORTED, "model.unsupported", "number format '%.60s' is not supported", text ? text : "(not a name)");
  hone_err_hint(r->err, "formats: bfloat16, float16, float32");
  return HONE_UNSUPPORTED;
}

/* Files that keep some projections unquantized: too many ways to name them to follow. */
static void warn_of_unconverted(const hone_model_reader *r, const json_t *quantization)
{
  const json_t *list = json_object_get(quantization, "modules_to_not_convert");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *name = json_string_value(json_array_get(list, i));
    if (!name || (!strstr(name, "_proj") && !strstr(name, "self_attn"))) continue;
    hone_model_note_add(r->config, true, "model.format",
                        "modules_to_not_convert keeps '%.80s' out of the quantization, and maybe others; they are taken as %s all the same", name,
                        hone_format_name(r->config->linear));
    return;
  }
}

static hone_status read_quantization(const hone_model_reader *r)
{
  static const struct {
    const char *method;
    hone_format linear;
    bool mxfp4_experts;
  } rows[] = {
#define HONE_QUANTIZATION(method, linear, mxfp4) {method, HONE_FORMAT_##linear, mxfp4},
#include "model/quantization.def"
#undef HONE_QUANTIZATION
  };
  hone_model_config *c = r->config;
  const json_t *q = find_around(r, "quantization_config"), *kind = json_object_get(q, "fmt");
  const char *method = json_string_value(json_object_get(q, "quant_method"));
  c->linear = c->format;
  if (!q) return HONE_OK;
  for (size_t i = 0; method && i < sizeof rows / sizeof rows[0]; i++) {
    if (strcmp(method, rows[i].method) != 0) continue;
    if (rows[i].linear != HONE_FORMAT_COUNT) c->linear = rows[i].linear;
    if (json_is_string(kind) && strcmp(json_string_value(kind), "e5m2") == 0) c->linear = HONE_FORMAT_FP8E5M2;
    c->mxfp4_experts = rows[i].mxfp4_experts;
    if (c->linear != c->format) warn_of_unconverted(r, q);
    return HONE_OK;
  }
  hone_model_refuse(r, "quantization_config", HONE_UNSUPPORTED, "model.unsupported", "quantization method '%.60s' is not supported",
                    method ? method : "(no quant_method)");
  hone_err_hint(r->err, "methods: fp8, fbgemm_fp8, mxfp4; or take the file of the model before quantization, and --format weights=FORMAT");
  return HONE_UNSUPPORTED;
}

static hone_status read_gate(const hone_model_reader *r)
{
  static const struct {
    const char *activation, *gate;
  } rows[] = {{"silu", "silu"}, {"gelu_pytorch_tanh", "gelu"}, {"gelu", "gelu"}, {"gelu_new", "gelu"}};
  bool gelu = r->architecture->scaled_embedding; /* Gemma's default */
  const char *key = hone_model_find(r, "hidden_activation") ? "hidden_activation" : "hidden_act";
  const json_t *v = hone_model_find(r, key);
  const char *name = v ? json_string_value(v) : gelu ? "gelu" : "silu";
  for (size_t i = 0; name && i < sizeof rows / sizeof rows[0]; i++)
    if (strcmp(name, rows[i].activation) == 0) {
      r->config->gate = rows[i].gate;
      return HONE_OK;
    }
  return hone_model_refuse(r, key, HONE_UNSUPPORTED, "model.unsupported", "the gate's activation must be silu or gelu");
}

/* Softcapping: a whole number in every file known, as a size of an operator is. */
static hone_status read_cap(const hone_model_reader *r, const char *key, int64_t *out)
{
  const json_t *v = hone_model_find(r, key);
  double cap = json_number_value(v);
  *out = 0;
  if (!v || (json_is_number(v) && cap == 0)) return HONE_OK;
  if (!json_is_number(v) || cap < 1 || cap > 1e6 || cap != floor(cap))
    return hone_model_refuse(r, key, HONE_INPUT, "model.range", "'%s' must be a whole number of at least 1, or null", key);
  *out = (int64_t)cap;
  return HONE_OK;
}

/* ---- the whole --------------------------------------------------------------------- */

static void copy_structure(const hone_model_reader *r)
{
  const hone_architecture *a = r->architecture;
  hone_model_config *c = r->config;
  c->fused_qkv = a->fused_qkv;
  c->fused_gate_up = a->fused_gate_up;
  c->post_norms = a->post_norms;
  c->qk_norm = a->qk_norm;
  c->sinks = a->sinks;
  c->clamped_gate = a->clamped_gate;
  const json_t *limit = hone_model_find(r, "swiglu_limit");
  c->odd_clamp = limit && json_number_value(limit) != 7;
  c->scaled_embedding = a->scaled_embedding;
  c->shards = 1;
  c->whole_vocabulary = c->vocabulary;
}

static hone_status read_prediction_layers(const hone_model_reader *r)
{
  int64_t n;
  hone_status s = hone_model_read_count(r, "num_nextn_predict_layers", 0, -1, &n);
  if (s == HONE_OK && n > 0)
    hone_model_note_add(r->config, false, "model.left-out",
                        "%lld layer(s) for multi-token prediction (num_nextn_predict_layers) are neither listed nor counted", (long long)n);
  return s;
}

static hone_status read_depth(const hone_model_reader *r)
{
  hone_model_config *c = r->config;
  hone_status s = hone_model_read_count(r, "num_hidden_layers", 1, 0, &c->layers);
  if (s != HONE_OK || c->layers <= LARGEST_DEPTH) return s;
  return hone_model_refuse(r, "num_hidden_layers", HONE_INPUT, "model.range", "'num_hidden_layers' = %lld is absurd", (long long)c->layers);
}

static hone_status read_config(hone_model_reader *r)
{
  hone_model_config *c = r->config;
  if (!json_is_object(r->root)) return hone_model_refuse(r, "", HONE_INPUT, "model.type", "a model configuration is one JSON object");
  hone_status s = hone_model_read_architecture(r);
  if (s == HONE_OK) s = hone_model_check_keys(r);
  if (s == HONE_OK) s = hone_model_read_count(r, "hidden_size", 1, 0, &c->hidden);
  if (s == HONE_OK) s = hone_model_read_count(r, "intermediate_size", 1, 0, &c->intermediate);
  if (s == HONE_OK) s = read_depth(r);
  if (s == HONE_OK) s = hone_model_read_count(r, "vocab_size", 1, 0, &c->vocabulary);
  if (s == HONE_OK) s = r->architecture->latent ? read_latent(r) : read_heads(r);
  if (s == HONE_OK) s = hone_model_read_flag(r, "tie_word_embeddings", r->architecture->tied, &c->tied_embeddings);
  if (s == HONE_OK) s = read_biases(r);
  if (s == HONE_OK) s = hone_model_read_windows(r);
  if (s == HONE_OK) s = hone_model_read_experts(r);
  if (s == HONE_OK) s = read_prediction_layers(r);
  if (s == HONE_OK) s = read_gate(r);
  if (s == HONE_OK) s = read_cap(r, "attn_logit_softcapping", &c->attention_cap);
  if (s == HONE_OK) s = read_cap(r, "final_logit_softcapping", &c->logit_cap);
  if (s == HONE_OK) s = read_dtype(r);
  if (s == HONE_OK) s = read_quantization(r);
  if (s == HONE_OK) copy_structure(r);
  return s;
}

hone_status hone_model_config_load(const char *path, hone_model_config *out, hone_err *err)
{
  char *text;
  size_t n;
  json_error_t why;
  hone_model_config c = {0};
  hone_status s = hone_text_load(path, LARGEST_FILE, &text, &n, err);
  if (s != HONE_OK) return s;
  json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
  if (!root) {
    s = hone_err_set(err, HONE_INPUT, "model.syntax", "%s", why.text);
    hone_err_at(err, path, why.line, why.column);
  } else {
    hone_model_reader r = {.path = path, .text = text, .top = root, .root = root, .config = &c, .err = err};
    s = read_config(&r);
  }
  if (s == HONE_OK) *out = c;
  json_decref(root);
  free(text);
  return s;
}

hone_model_formats hone_model_formats_of(const hone_model_config *c)
{
  return (hone_model_formats){.activations = c->format,
                              .inputs = c->linear,
                              .weights = c->linear,
                              .other_weights = c->format,
                              .cache = c->format,
                              .mxfp4_experts = c->mxfp4_experts};
}
