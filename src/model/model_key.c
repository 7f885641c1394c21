/* Which architecture a config.json is of, and what becomes of each of its keys:
 * read, known to change no shape, refused because nothing here computes what it
 * asks for, or unknown. A refusal names the keys that decided. */
#include "config.h"

#include "model/model_int.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const hone_architecture architectures[] = {
#define HONE_ARCHITECTURE(name_, type, ...) {.name = name_, .model_type = type, __VA_ARGS__},
#include "model/architecture.def"
#undef HONE_ARCHITECTURE
};
enum { NARCHITECTURES = sizeof architectures / sizeof architectures[0] };

typedef enum { NEUTRAL, READ, WINDOW, EXPERTS, LATENT, SOFTCAP, NESTED, DECIDES } key_kind;
static const struct key {
  const char *name;
  key_kind kind;
} keys[] = {
#define HONE_CONFIG_KEY(name, kind) {name, kind},
#include "model/config_key.def"
#undef HONE_CONFIG_KEY
};
enum { NKEYS = sizeof keys / sizeof keys[0] };

static bool honours(const hone_architecture *a, key_kind kind)
{
  const bool does[] = {[NEUTRAL] = true,
                       [READ] = true,
                       [WINDOW] = a->window != WINDOW_NONE,
                       [EXPERTS] = a->experts != NULL,
                       [LATENT] = a->latent,
                       [SOFTCAP] = a->softcap,
                       [NESTED] = a->nested,
                       [DECIDES] = false};
  return does[kind];
}

static const struct key *find_key(const char *name)
{
  for (int i = 0; i < NKEYS; i++)
    if (strcmp(name, keys[i].name) == 0) return &keys[i];
  return NULL;
}

static bool says_something(const json_t *v) /* not null, false, 0, "" or empty */
{
  if (json_is_number(v)) return json_number_value(v) != 0;
  if (json_is_string(v)) return json_string_length(v) > 0;
  if (json_is_array(v)) return json_array_size(v) > 0;
  if (json_is_object(v)) return json_object_size(v) > 0;
  return json_is_true(v);
}

/* An unknown key that may well be a shape: a whole number or more, and such a name. */
static bool suggests_shape(const char *name, const json_t *v)
{
  static const char *const parts[] = {"num_", "n_", "_dim", "dim_", "size", "rank", "head", "layer", "expert", "width", "window"};
  if (!json_is_integer(v) && !json_is_array(v) && !json_is_object(v)) return false;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (strstr(name, parts[i])) return true;
  return false;
}

static bool decides(const char *name, const json_t *v, const hone_architecture *a)
{
  const struct key *k = find_key(name);
  if (!says_something(v)) return false;
  return k ? !honours(a, k->kind) : suggests_shape(name, v);
}

/* ---- the architecture ------------------------------------------------------------ */

static const hone_architecture *find_architecture(const char *name, const char *model_type)
{
  for (int i = 0; i < NARCHITECTURES; i++)
    if (name ? strcmp(name, architectures[i].name) == 0 : model_type && strcmp(model_type, architectures[i].model_type) == 0)
      return &architectures[i];
  return NULL;
}

static const json_t *language_part(const json_t *top)
{
  const json_t *text = json_object_get(top, "text_config");
  return json_is_object(text) ? text : top;
}

/* Names of the keys that `a` cannot honour, of the document and its language part. */
static int list_deciding(const hone_model_reader *r, const hone_architecture *a, hone_text *out)
{
  const json_t *part[] = {r->top, language_part(r->top)};
  const char *name;
  json_t *v;
  int n = 0;
  for (int i = 0; i < (part[0] == part[1] ? 1 : 2); i++)
  {
    json_object_foreach((json_t *)part[i], name, v)
    {
      if (!decides(name, v, a)) continue;
      if (out) hone_text_add(out, "%s%s", out->length ? ", " : "", name);
      n++;
    }
  }
  return n;
}

/* "Gemma3" of "Gemma3ForConditionalGeneration". */
static int stem_distance(const char *a, const char *b)
{
  char stem[2][64];
  const char *name[2] = {a, b};
  for (int i = 0; i < 2; i++) {
    const char *end = strstr(name[i], "For");
    snprintf(stem[i], sizeof stem[i], "%.*s", end && end != name[i] ? (int)(end - name[i]) : 60, name[i]);
  }
  return hone_text_distance(stem[0], stem[1]);
}

/* A key left open weighs as much as three letters of the name. */
static const hone_architecture *nearest(const hone_model_reader *r, const char *name, int *open, int *distance)
{
  const hone_architecture *best = NULL;
  for (int i = 0; i < NARCHITECTURES; i++) {
    int keys_open = list_deciding(r, &architectures[i], NULL), letters = stem_distance(name, architectures[i].name);
    if (best && 3 * keys_open + letters >= 3 * *open + *distance) continue;
    best = &architectures[i];
    *open = keys_open;
    *distance = letters;
  }
  return best;
}

static hone_status unsupported(const hone_model_reader *r, const char *key, const char *name)
{
  static const hone_architecture nothing; /* honours no part: every deciding key is listed */
  hone_text decided = {0}, lacking = {0};
  int open, distance, all = list_deciding(r, &nothing, &decided);
  const hone_architecture *near = nearest(r, name, &open, &distance);
  list_deciding(r, near, &lacking);
  hone_model_refuse(r, key, HONE_UNSUPPORTED, "model.unsupported", "architecture '%.60s' is not supported; decided by %.360s", name,
                    decided.data ? decided.data : "its name alone");
  if (open == all && distance > 2)
    hone_err_hint(r->err, "no supported architecture is like it; they are decoder-only language models (docs/models.md)");
  else if (lacking.data)
    hone_err_hint(r->err, "the nearest supported architecture is %s, which has no %.140s", near->name, lacking.data);
  else hone_err_hint(r->err, "the nearest supported architecture is %s", near->name);
  hone_text_fini(&decided);
  hone_text_fini(&lacking);
  return HONE_UNSUPPORTED;
}

hone_status hone_model_read_architecture(hone_model_reader *r)
{
  const json_t *list = json_object_get(r->top, "architectures");
  const char *type = json_string_value(json_object_get(r->top, "model_type")), *name = json_string_value(json_array_get(list, 0));
  if (says_something(list) && !name)
    return hone_model_refuse(r, "architectures", HONE_INPUT, "model.type", "'architectures' must be a list of names");
  if (!name && !type)
    return hone_model_refuse(r, "architectures", HONE_INPUT, "model.missing-key",
                             "missing key 'architectures': not the config.json of a language model");
  r->architecture = find_architecture(name, type);
  if (!r->architecture) return unsupported(r, name ? "architectures" : "model_type", name ? name : type);
  snprintf(r->config->architecture, sizeof r->config->architecture, "%s", r->architecture->name);
  if (r->architecture->nested) r->root = language_part(r->top);
  if (json_object_get(r->top, "vision_config"))
    hone_model_note_add(r->config, false, "model.left-out", "the vision part (vision_config) is neither listed nor counted");
  return HONE_OK;
}

/* ---- each key ---------------------------------------------------------------------- */

static const char *key_at(void *arg, int i)
{
  (void)arg;
  return keys[i].name;
}

static hone_status check_key(const hone_model_reader *r, const char *name, const json_t *v, hone_text *unknown)
{
  const struct key *k = find_key(name);
  if (!says_something(v) || (k && honours(r->architecture, k->kind))) return HONE_OK;
  if (k)
    return hone_model_refuse(r, name, HONE_UNSUPPORTED, "model.unsupported", "'%s' changes what %s computes; not supported", name,
                             r->architecture->name);
  if (!suggests_shape(name, v)) {
    hone_text_add(unknown, "%s'%.60s'", unknown->length ? ", " : "", name);
    return HONE_OK;
  }
  hone_model_refuse(r, name, HONE_UNSUPPORTED, "model.unknown-key", "unknown key '%s' may change what the model computes", name);
  const char *near = hone_text_nearest(name, NKEYS, key_at, NULL);
  if (near) hone_err_hint(r->err, "did you mean '%s'?", near);
  else hone_err_hint(r->err, "if no shape depends on it, take it out of the file");
  return HONE_UNSUPPORTED;
}

hone_status hone_model_check_keys(const hone_model_reader *r)
{
  const json_t *part[] = {r->top, r->root};
  const char *name;
  json_t *v;
  hone_text unknown = {0};
  hone_status s = HONE_OK;
  for (int i = 0; i < (r->top == r->root ? 1 : 2); i++)
  {
    json_object_foreach((json_t *)part[i], name, v)
    {
      if (s == HONE_OK) s = check_key(r, name, v, &unknown);
    }
  }
  if (s == HONE_OK && unknown.data)
    hone_model_note_add(r->config, true, "model.unknown-key", "keys Hone does not know; no shape depends on them as far as it knows: %s",
                        unknown.data);
  hone_text_fini(&unknown);
  return s;
}
