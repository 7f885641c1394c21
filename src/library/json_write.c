/* A library as its document: one value a line and fixed places, so that a diff of
 * two versions is a review; intervals stand with the entry they belong to, by the
 * name of the size, so that a new entry changes no line of the others. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "library/library_int.h"

typedef struct {
  hone_text *out;
  int depth;
  bool first; /* nothing written since the bracket opened */
} writer;

/* ---- values ------------------------------------------------------------------- */

/* Bytes of the UTF-8 sequence at s; 0: it is none (RFC 3629). */
static int sequence(const unsigned char *s)
{
  static const struct {
    unsigned char mask, lead;
    uint32_t least;
  } form[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
  for (int n = 0; n < 4; n++) {
    if ((s[0] & form[n].mask) != form[n].lead) continue;
    uint32_t c = s[0] & (unsigned char)~form[n].mask;
    for (int i = 1; i <= n; i++) {
      if ((s[i] & 0xc0) != 0x80) return 0;
      c = c << 6 | (s[i] & 0x3fu);
    }
    return c < form[n].least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ? 0 : n + 1;
  }
  return 0;
}

static void add_string(hone_text *out, const char *text)
{
  const unsigned char *s = (const unsigned char *)text;
  hone_text_add(out, "\"");
  while (*s) {
    int n = sequence(s);
    if (*s == '"' || *s == '\\') hone_text_add(out, "\\%c", *s);
    else if (*s < 0x20) hone_text_add(out, "\\u%04x", *s);
    else if (n == 0) hone_text_add(out, "\xef\xbf\xbd"); /* no UTF-8: U+FFFD, for JSON cannot hold it */
    else hone_text_add_bytes(out, (const char *)s, (size_t)n);
    s += n ? n : 1;
  }
  hone_text_add(out, "\"");
}

/* The fewest digits that read back as the same number. */
static void add_real(hone_text *out, double x)
{
  if (x == floor(x) && fabs(x) < 1e15) {
    hone_text_add(out, "%.0f", x);
    return;
  }
  for (int digits = 1; digits <= 17; digits++) {
    hone_text t = {0};
    double back = 0;
    hone_text_add(&t, "%.*g", digits, x);
    bool same = hone_text_parse_real(t.data, &back) && back == x;
    if (same || digits == 17) hone_text_add_bytes(out, t.data, t.length);
    hone_text_fini(&t);
    if (same) return;
  }
}

static void begin(writer *w, const char *key)
{
  if (w->depth > 0) hone_text_add(w->out, "%s\n%*s", w->first ? "" : ",", 2 * w->depth, "");
  w->first = false;
  if (!key) return;
  add_string(w->out, key);
  hone_text_add(w->out, ": ");
}

static void open_bracket(writer *w, const char *key, const char *bracket)
{
  begin(w, key);
  hone_text_add(w->out, "%s", bracket);
  w->depth++;
  w->first = true;
}

static void close_bracket(writer *w, const char *bracket)
{
  w->depth--;
  if (!w->first) hone_text_add(w->out, "\n%*s", 2 * w->depth, "");
  w->first = false;
  hone_text_add(w->out, "%s", bracket);
}

static void put_text(writer *w, const char *key, const char *s)
{
  begin(w, key);
  if (s) add_string(w->out, s);
  else hone_text_add(w->out, "null");
}

static void put_int(writer *w, const char *key, int64_t v)
{
  begin(w, key);
  hone_text_add(w->out, "%" PRId64, v);
}

static void put_cycles(writer *w, const char *key, int64_t v)
{
  begin(w, key);
  if (v < 0) hone_text_add(w->out, "null");
  else hone_text_add(w->out, "%" PRId64, v);
}

static void put_real(writer *w, const char *key, double x)
{
  begin(w, key);
  if (isfinite(x)) add_real(w->out, x);
  else hone_text_add(w->out, "null");
}

static void put_bool(writer *w, const char *key, bool v)
{
  begin(w, key);
  hone_text_add(w->out, v ? "true" : "false");
}

/* ---- the document ------------------------------------------------------------- */

/* On one line: it names the entry. */
static void put_sizes(writer *w, const char *key, const hone_spec *spec, const int64_t *size)
{
  begin(w, key);
  for (int i = 0; i < spec->nsizes; i++) {
    hone_text_add(w->out, i ? ", " : "{");
    add_string(w->out, spec->size[i].name);
    hone_text_add(w->out, ": %" PRId64, size[i]);
  }
  hone_text_add(w->out, spec->nsizes ? "}" : "{}");
}

static void put_interval(writer *w, const hone_spec *spec, const hone_library_interval *x)
{
  open_bracket(w, NULL, "{");
  put_text(w, "size", spec->size[x->axis].name);
  put_int(w, "lo", x->lo);
  put_int(w, "hi", x->hi);
  put_real(w, "loss_pct", x->loss_pct);
  put_int(w, "loss_at", x->loss_at);
  put_text(w, "loss_of", hone_loss_basis_word(x->basis));
  put_real(w, "sim_loss_pct", x->sim_loss_pct);
  put_int(w, "sim_samples", x->sim_samples);
  put_real(w, "margin_pct", x->margin_pct);
  close_bracket(w, "}");
}

static void put_entry(writer *w, const hone_library_family *f, int e)
{
  const hone_library_entry *x = &f->entry[e];
  open_bracket(w, NULL, "{");
  put_sizes(w, "sizes", &f->spec, x->size);
  put_text(w, "schedule", x->schedule);
  put_text(w, "default_schedule", x->by_default);
  put_text(w, "evidence", hone_evidence_word(x->evidence));
  put_cycles(w, "cycles", x->cycles);
  put_cycles(w, "default_cycles", x->default_cycles);
  put_cycles(w, "warm_cycles", x->warm_cycles);
  put_cycles(w, "default_warm_cycles", x->default_warm_cycles);
  put_cycles(w, "model_cycles", x->model_cycles);
  put_cycles(w, "default_model_cycles", x->default_model_cycles);
  put_cycles(w, "bound_cycles", x->bound_cycles);
  put_real(w, "margin_pct", x->margin_pct);
  put_real(w, "gap_pct", x->gap_pct);
  put_bool(w, "no_significant_gain", x->no_significant_gain);
  put_text(w, "operator_hash", x->operator_hash);
  put_text(w, "key", x->key);
  put_text(w, "evaluator", x->evaluator);
  put_int(w, "evaluator_version", x->evaluator_version);
  put_text(w, "microcode", x->microcode);
  put_text(w, "microcode_reason", x->microcode_reason ? x->microcode_reason : "");
  put_int(w, "microcode_bytes", x->microcode_bytes);
  open_bracket(w, "intervals", "[");
  for (int i = 0; i < f->nintervals; i++)
    if (f->interval[i].entry == e) put_interval(w, &f->spec, &f->interval[i]);
  close_bracket(w, "]");
  close_bracket(w, "}");
}

static void put_family(writer *w, const hone_library_family *f)
{
  hone_text spec = {0};
  hone_spec_print(&f->spec, &spec);
  open_bracket(w, NULL, "{");
  put_text(w, "id", f->id);
  put_text(w, "spec", spec.data);
  put_text(w, "machine", f->machine_name);
  put_text(w, "machine_hash", f->machine_hash);
  put_int(w, "clock_hz", f->clock_hz);
  put_text(w, "fallback", f->fallback);
  if (f->fallback) put_sizes(w, "fallback_sizes", &f->spec, f->fallback_size);
  else put_text(w, "fallback_sizes", NULL);
  put_text(w, "fallback_reason", f->fallback_reason ? f->fallback_reason : "");
  open_bracket(w, "entries", "[");
  for (int i = 0; i < f->nentries; i++) put_entry(w, f, i);
  close_bracket(w, "]");
  close_bracket(w, "}");
  hone_text_fini(&spec);
}

void hone_library_write_json(const hone_library *l, hone_text *out)
{
  writer w = {.out = out};
  open_bracket(&w, NULL, "{");
  put_int(&w, "schema", HONE_LIBRARY_SCHEMA);
  put_text(&w, "name", l->name);
  put_text(&w, "writer", l->writer);
  put_real(&w, "near_pct", l->near_pct);
  open_bracket(&w, "evaluators", "[");
  for (int i = 0; i < l->nevaluators; i++) {
    open_bracket(&w, NULL, "{");
    put_text(&w, "name", l->evaluator[i].name);
    put_int(&w, "version", l->evaluator[i].version);
    put_text(&w, "evidence", hone_evidence_word(l->evaluator[i].evidence));
    close_bracket(&w, "}");
  }
  close_bracket(&w, "]");
  open_bracket(&w, "families", "[");
  for (int i = 0; i < l->nfamilies; i++) put_family(&w, &l->family[i]);
  close_bracket(&w, "]");
  open_bracket(&w, "left_out", "[");
  for (int i = 0; i < l->nleft_out; i++) {
    open_bracket(&w, NULL, "{");
    put_text(&w, "what", l->left_out[i].what);
    put_text(&w, "code", l->left_out[i].code);
    put_text(&w, "reason", l->left_out[i].reason);
    close_bracket(&w, "}");
  }
  close_bracket(&w, "]");
  close_bracket(&w, "}");
  hone_text_add(out, "\n");
}
