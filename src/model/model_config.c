/* Reading config.json. jansson parses (duplicate keys refused) and gives the
 * line of a syntax error; for the rest the line is that of the key in the text. */
#include "config.h"

#include "model/model_config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { LARGEST_FILE = 16 << 20 };
#define LARGEST_VALUE (INT64_C(1) << 30)

static const char *const architectures[] = {
#define HONE_ARCHITECTURE(name) name,
#include "model/architecture.def"
#undef HONE_ARCHITECTURE
};
enum { NARCHITECTURES = sizeof architectures / sizeof architectures[0] };

typedef enum { NEUTRAL, DECIDES, READ } key_kind;
static const struct key {
  const char *name;
  key_kind kind;
} keys[] = {
    {"hidden_size", READ}, {"intermediate_size", READ}, {"num_hidden_layers", READ}, {"num_attention_heads", READ},
    {"num_key_value_heads", READ}, {"head_dim", READ}, {"vocab_size", READ}, {"tie_word_embeddings", READ},
    {"attention_bias", READ}, {"mlp_bias", READ}, {"torch_dtype", READ}, {"dtype", READ},
#define HONE_CONFIG_KEY(name, kind) {name, kind},
#include "model/config_key.def"
#undef HONE_CONFIG_KEY
};
enum { NKEYS = sizeof keys / sizeof keys[0] };

typedef struct {
  const char *path;
  char *text;
  json_t *root;
  hone_err *err;
} reader;

/* Line of the first "key" : in the text; 0 when there is none. */
static int line_of(const reader *r, const char *key)
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

static hone_status HONE_PRINTF(5, 6)
    refuse(const reader *r, const char *key, hone_status s, const char *code, const char *fmt, ...)
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

static const json_t *find(const reader *r, const char *key) /* NULL when absent or null */
{
  const json_t *v = json_object_get(r->root, key);
  return v && !json_is_null(v) ? v : NULL;
}

static bool says_something(const json_t *v) /* not null, false, 0, "" or empty */
{
  if (json_is_integer(v)) return json_integer_value(v) != 0;
  if (json_is_real(v)) return json_real_value(v) != 0;
  if (json_is_string(v)) return json_string_length(v) > 0;
  if (json_is_array(v)) return json_array_size(v) > 0;
  if (json_is_object(v)) return json_object_size(v) > 0;
  return json_is_true(v);
}

static hone_status read_count(const reader *r, const char *key, int64_t fallback, int64_t *out)
{
  const json_t *v = find(r, key);
  *out = fallback;
  if (!v && fallback > 0) return HONE_OK;
  if (!v) return refuse(r, key, HONE_INPUT, "model.missing-key", "missing key '%s'", key);
  if (!json_is_integer(v)) return refuse(r, key, HONE_INPUT, "model.type", "'%s' must be a whole number", key);
  *out = json_integer_value(v);
  if (*out >= 1 && *out <= LARGEST_VALUE) return HONE_OK;
  return refuse(r, key, HONE_INPUT, "model.range", "'%s' = %lld is absurd", key, (long long)*out);
}

static hone_status read_flag(const reader *r, const char *key, bool *out)
{
  const json_t *v = find(r, key);
  *out = v && json_is_true(v);
  return !v || json_is_boolean(v) ? HONE_OK : refuse(r, key, HONE_INPUT, "model.type", "'%s' must be true or false", key);
}

static const char *architecture_at(void *arg, int i)
{
  (void)arg;
  return architectures[i];
}

static const char *key_at(void *arg, int i)
{
  (void)arg;
  return keys[i].name;
}

/* Which keys of the file change what is computed. */
static void list_deciding(const reader *r, hone_text *out)
{
  for (int i = 0; i < NKEYS; i++)
    if (keys[i].kind == DECIDES && says_something(json_object_get(r->root, keys[i].name)))
      hone_text_add(out, "%s%s", out->length ? ", " : "", keys[i].name);
}

static hone_status unsupported_architecture(const reader *r, const char *name)
{
  const char *near = hone_text_nearest(name, NARCHITECTURES, architecture_at, NULL);
  hone_text decided = {0};
  list_deciding(r, &decided);
  refuse(r, "architectures", HONE_UNSUPPORTED, "model.unsupported", "architecture '%s' is not supported; decided by %s", name,
         decided.data ? decided.data : "its name alone");
  hone_err_hint(r->err, "the nearest supported architecture is %s", near ? near : architectures[0]);
  hone_text_fini(&decided);
  return HONE_UNSUPPORTED;
}

static hone_status read_architecture(const reader *r, hone_model_config *c)
{
  const json_t *list = find(r, "architectures");
  const char *name = json_string_value(json_array_get(list, 0));
  if (!list) return refuse(r, "architectures", HONE_INPUT, "model.missing-key", "missing key 'architectures'");
  if (!name || json_array_size(list) != 1)
    return refuse(r, "architectures", HONE_INPUT, "model.type", "'architectures' must be a list of one name");
  for (int i = 0; i < NARCHITECTURES; i++)
    if (strcmp(name, architectures[i]) == 0) {
      snprintf(c->architecture, sizeof c->architecture, "%s", name);
      return HONE_OK;
    }
  return unsupported_architecture(r, name);
}

static hone_status check_key(const reader *r, const char *name, const json_t *v)
{
  for (int i = 0; i < NKEYS; i++) {
    if (strcmp(name, keys[i].name) != 0) continue;
    if (keys[i].kind != DECIDES || !says_something(v)) return HONE_OK;
    return refuse(r, name, HONE_UNSUPPORTED, "model.unsupported", "'%s' changes what the model computes; not supported", name);
  }
  if (!says_something(v)) return HONE_OK;
  refuse(r, name, HONE_UNSUPPORTED, "model.unknown-key", "unknown key '%s' may change what the model computes", name);
  const char *near = hone_text_nearest(name, NKEYS, key_at, NULL);
  if (near) hone_err_hint(r->err, "did you mean '%s'?", near);
  return HONE_UNSUPPORTED;
}

static hone_status check_keys(const reader *r)
{
  const char *name;
  json_t *v;
  hone_status s = HONE_OK;
  json_object_foreach(r->root, name, v)
  {
    if (s == HONE_OK) s = check_key(r, name, v);
  }
  return s;
}

static hone_status read_heads(const reader *r, hone_model_config *c)
{
  hone_status s = read_count(r, "num_attention_heads", 0, &c->heads);
  if (s == HONE_OK) s = read_count(r, "num_key_value_heads", c->heads, &c->kv_heads);
  if (s == HONE_OK && c->heads % c->kv_heads != 0)
    s = refuse(r, "num_key_value_heads", HONE_INPUT, "model.range", "num_attention_heads = %lld is no multiple of %lld",
               (long long)c->heads, (long long)c->kv_heads);
  if (s == HONE_OK && !find(r, "head_dim") && c->hidden % c->heads != 0)
    s = refuse(r, "hidden_size", HONE_INPUT, "model.range", "hidden_size = %lld is no multiple of num_attention_heads",
               (long long)c->hidden);
  return s == HONE_OK ? read_count(r, "head_dim", c->hidden / c->heads, &c->head_dim) : s;
}

static hone_status read_formats(const reader *r, hone_model_config *c)
{
  static const struct {
    const char *torch;
    hone_format format;
  } dtypes[] = {{"bfloat16", HONE_FORMAT_BF16}, {"float16", HONE_FORMAT_FP16}, {"float32", HONE_FORMAT_FP32}};
  const char *key = find(r, "torch_dtype") ? "torch_dtype" : "dtype";
  const char *text = json_string_value(find(r, key)), *act = json_string_value(find(r, "hidden_act"));
  if (find(r, "hidden_act") && (!act || strcmp(act, "silu") != 0))
    return refuse(r, "hidden_act", HONE_UNSUPPORTED, "model.unsupported", "the gate's activation must be silu");
  c->format = HONE_FORMAT_BF16;
  if (!find(r, key)) return HONE_OK;
  for (size_t i = 0; text && i < sizeof dtypes / sizeof dtypes[0]; i++)
    if (strcmp(text, dtypes[i].torch) == 0) {
      c->format = dtypes[i].format;
      return HONE_OK;
    }
  refuse(r, key, HONE_UNSUPPORTED, "model.unsupported", "number format '%s' is not supported", text ? text : "(not a name)");
  hone_err_hint(r->err, "formats: bfloat16, float16, float32");
  return HONE_UNSUPPORTED;
}

static hone_status read_config(const reader *r, hone_model_config *c)
{
  if (!json_is_object(r->root)) return refuse(r, "", HONE_INPUT, "model.type", "a model configuration is one JSON object");
  hone_status s = read_architecture(r, c);
  if (s == HONE_OK) s = check_keys(r);
  if (s == HONE_OK) s = read_count(r, "hidden_size", 0, &c->hidden);
  if (s == HONE_OK) s = read_count(r, "intermediate_size", 0, &c->intermediate);
  if (s == HONE_OK) s = read_count(r, "num_hidden_layers", 0, &c->layers);
  if (s == HONE_OK) s = read_count(r, "vocab_size", 0, &c->vocabulary);
  if (s == HONE_OK) s = read_heads(r, c);
  if (s == HONE_OK) s = read_flag(r, "tie_word_embeddings", &c->tied_embeddings);
  if (s == HONE_OK) s = read_flag(r, "attention_bias", &c->attention_bias);
  if (s == HONE_OK) s = read_flag(r, "mlp_bias", &c->mlp_bias);
  return s == HONE_OK ? read_formats(r, c) : s;
}

hone_status hone_model_config_load(const char *path, hone_model_config *out, hone_err *err)
{
  reader r = {.path = path, .err = err};
  size_t n;
  json_error_t why;
  hone_model_config c = {0};
  hone_status s = hone_text_load(path, LARGEST_FILE, &r.text, &n, err);
  if (s != HONE_OK) return s;
  r.root = json_loadb(r.text, n, JSON_REJECT_DUPLICATES, &why);
  if (!r.root) {
    s = hone_err_set(err, HONE_INPUT, "model.syntax", "%s", why.text);
    hone_err_at(err, path, why.line, why.column);
  } else
    s = read_config(&r, &c);
  if (s == HONE_OK) *out = c;
  json_decref(r.root);
  free(r.text);
  return s;
}
