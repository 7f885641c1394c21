/* Specs as text: the words a shell would pass, and back. */
#include "config.h"

#include "ir/spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>


void hone_spec_print(const hone_spec *s, hone_text *out)
{
  const char *lead = " --size ";
  hone_text_add(out, "%s", s->operator_name);
  for (int i = 0; i < s->nsizes; i++, lead = ",") {
    hone_text_add(out, "%s%s=%" PRId64, lead, s->size[i].name, s->size[i].value);
    if (s->size[i].to != s->size[i].value) hone_text_add(out, "..%" PRId64, s->size[i].to);
  }
  for (int i = 0; i < s->nformats; i++)
    if (!s->format[i].tensor[0]) hone_text_add(out, " --dtype %s", hone_format_name(s->format[i].format));
  lead = " --format ";
  for (int i = 0; i < s->nformats; i++) {
    if (!s->format[i].tensor[0]) continue;
    hone_text_add(out, "%s%s=%s", lead, s->format[i].tensor, hone_format_name(s->format[i].format));
    lead = ",";
  }
  lead = " --option ";
  for (int i = 0; i < s->noptions; i++, lead = ",") hone_text_add(out, "%s%s=%s", lead, s->option[i].name, s->option[i].value);
}

bool hone_spec_parse_size(const char *text, int64_t *value, int64_t *to)
{
  char low[32] = "";
  size_t n = strcspn(text, ".");
  if (n >= sizeof low) return false;
  memcpy(low, text, n);
  if (!hone_text_parse_int(low, value) || *value < 1) return false;
  *to = *value;
  if (text[n] == '\0') return true;
  return text[n + 1] == '.' && hone_text_parse_int(text + n + 2, to) && *to >= *value;
}

static hone_status refuse(hone_err *err, const char *what)
{
  return hone_err_set(err, HONE_INPUT, "spec.syntax", "'%.80s' does not belong in 'NAME --size .. --dtype .. --format .. --option ..'", what);
}

static bool take_name(const char *from, char out[HONE_MAX_NAME])
{
  return *from && snprintf(out, HONE_MAX_NAME, "%s", from) < HONE_MAX_NAME;
}

static bool take_size(hone_spec *s, const char *name, const char *value)
{
  hone_spec_size *x = &s->size[s->nsizes];
  if (s->nsizes == HONE_MAX_SIZES || hone_spec_find_size(s, name) >= 0) return false;
  if (!take_name(name, x->name) || !hone_spec_parse_size(value, &x->value, &x->to)) return false;
  s->nsizes++;
  return true;
}

static bool take_format(hone_spec *s, const char *tensor, const char *value)
{
  hone_spec_format *x = &s->format[s->nformats];
  if (s->nformats == HONE_MAX_TENSORS + 1) return false;
  for (int i = 0; i < s->nformats; i++)
    if (strcmp(s->format[i].tensor, tensor) == 0) return false;
  if (snprintf(x->tensor, sizeof x->tensor, "%s", tensor) >= HONE_MAX_NAME || !hone_format_find(value, &x->format)) return false;
  s->nformats++;
  return true;
}

static bool take_option(hone_spec *s, const char *name, const char *value)
{
  hone_spec_option *x = &s->option[s->noptions];
  if (s->noptions == HONE_MAX_OPTIONS) return false;
  for (int i = 0; i < s->noptions; i++)
    if (strcmp(s->option[i].name, name) == 0) return false;
  if (!take_name(name, x->name) || !take_name(value, x->value)) return false;
  s->noptions++;
  return true;
}

/* "a=1,b=2" */
static hone_status take_list(hone_spec *s, char *list, bool (*take)(hone_spec *s, const char *name, const char *value), hone_err *err)
{
  char *save = NULL;
  for (char *item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
    char *equal = strchr(item, '=');
    if (equal) *equal = '\0';
    if (equal && equal != item && take(s, item, equal + 1)) continue;
    if (equal) *equal = '=';
    return refuse(err, item);
  }
  return HONE_OK;
}

static hone_status parse_words(char *text, hone_spec *out, hone_err *err)
{
  static const struct {
    const char *word;
    bool (*take)(hone_spec *s, const char *name, const char *value);
  } lists[] = {{"--size", take_size}, {"--format", take_format}, {"--option", take_option}};
  char *save = NULL, *word = strtok_r(text, " ", &save);
  if (!word || !take_name(word, out->operator_name) || word[0] == '-') return refuse(err, word ? word : "");
  while ((word = strtok_r(NULL, " ", &save))) {
    char *value = strtok_r(NULL, " ", &save);
    hone_status s = HONE_OK;
    size_t i = 0;
    if (!value) return refuse(err, word);
    while (i < 3 && strcmp(word, lists[i].word) != 0) i++;
    if (i < 3) s = take_list(out, value, lists[i].take, err);
    else if (strcmp(word, "--dtype") != 0 || !take_format(out, "", value)) s = refuse(err, i < 3 ? value : word);
    if (s != HONE_OK) return s;
  }
  return HONE_OK;
}

hone_status hone_spec_parse(const char *text, hone_spec *out, hone_err *err)
{
  hone_text copy = {0};
  hone_text_add(&copy, "%s", text);
  *out = (hone_spec){0};
  hone_status s = parse_words(copy.data, out, err);
  hone_text_fini(&copy);
  return s;
}

int hone_spec_range(const hone_spec *s)
{
  for (int i = 0; i < s->nsizes; i++)
    if (s->size[i].to != s->size[i].value) return i;
  return -1;
}

int hone_spec_find_size(const hone_spec *s, const char *name)
{
  for (int i = 0; i < s->nsizes; i++)
    if (strcmp(s->size[i].name, name) == 0) return i;
  return -1;
}

bool hone_spec_same_family(const hone_spec *a, const hone_spec *b)
{
  if (strcmp(a->operator_name, b->operator_name) != 0 || a->nsizes != b->nsizes || a->nformats != b->nformats ||
      a->noptions != b->noptions)
    return false;
  for (int i = 0; i < a->nsizes; i++)
    if (strcmp(a->size[i].name, b->size[i].name) != 0) return false;
  for (int i = 0; i < a->nformats; i++)
    if (strcmp(a->format[i].tensor, b->format[i].tensor) != 0 || a->format[i].format != b->format[i].format) return false;
  for (int i = 0; i < a->noptions; i++)
    if (strcmp(a->option[i].name, b->option[i].name) != 0 || strcmp(a->option[i].value, b->option[i].value) != 0) return false;
  return true;
}
