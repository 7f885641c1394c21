/* A store becomes a library: tasks are gathered and chosen from, range runs add their
 * claims, neighbours are walked, programs compiled; then all is sorted and frozen. */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "library/emit_int.h"

/* ---- names -------------------------------------------------------------------- */

/* Letters, digits and single underscores: an identifier with any prefix. */
static void add_word(hone_text *out, const char *s)
{
  bool lead = true; /* an underscore is owed before the next character */
  for (; *s; s++) {
    bool plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9');
    if (plain && lead && out->length > 0) hone_text_add(out, "_");
    if (plain) hone_text_add_bytes(out, s, 1);
    lead = !plain;
  }
}

/* "matmul_bf16_W_int8_bias_row_on_teaching" */
static void spell_id(const library_draft_family *f, hone_text *out)
{
  const hone_spec *s = &f->spec;
  if (s->operator_name[0] >= '0' && s->operator_name[0] <= '9') hone_text_add(out, "op_");
  add_word(out, s->operator_name);
  if (out->length == 0) hone_text_add(out, "op");
  for (int i = 0; i < s->nformats; i++) {
    add_word(out, s->format[i].tensor);
    add_word(out, hone_format_name(s->format[i].format));
  }
  for (int i = 0; i < s->noptions; i++) {
    if (strcmp(s->option[i].value, "none") == 0) continue;
    add_word(out, s->option[i].name);
    add_word(out, s->option[i].value);
  }
  hone_text_add(out, "_on");
  add_word(out, f->machine->name);
}

/* Names that meet, or are too long, get a hash of what tells the families apart. */
static void tell_apart(library_draft_family *f)
{
  hone_text t = {0};
  hone_spec spec = f->spec;
  char hash[HONE_HASH_TEXT];
  for (int i = 0; i < spec.nsizes; i++) spec.size[i].value = spec.size[i].to = 1;
  hone_spec_print(&spec, &t);
  hone_text_add(&t, " on %s", f->machine_hash);
  hone_hash_print(hone_hash_text(t.data), hash);
  snprintf(f->id + strnlen(f->id, sizeof f->id - 10), 10, "_%.8s", hash);
  hone_text_fini(&t);
}

static int by_id(const void *a, const void *b)
{
  return strcmp((*(library_draft_family *const *)a)->id, (*(library_draft_family *const *)b)->id);
}

static void name_families(library_draft *d)
{
  bool *meets = hone_heap_alloc((size_t)d->nfamilies + 1, sizeof *meets);
  for (int i = 0; i < d->nfamilies; i++) {
    hone_text id = {0};
    spell_id(d->family[i], &id);
    meets[i] = id.length >= sizeof d->family[i]->id;
    snprintf(d->family[i]->id, sizeof d->family[i]->id, "%s", id.data);
    hone_text_fini(&id);
  }
  for (int i = 0; i < d->nfamilies; i++)
    for (int k = 0; k < i; k++)
      if (strcmp(d->family[i]->id, d->family[k]->id) == 0) meets[i] = meets[k] = true;
  for (int i = 0; i < d->nfamilies; i++)
    if (meets[i]) tell_apart(d->family[i]);
  if (d->nfamilies) qsort(d->family, (size_t)d->nfamilies, sizeof(library_draft_family *), by_id);
  free(meets);
}

/* ---- order -------------------------------------------------------------------- */

static int by_sizes(const void *a, const void *b)
{
  return library_size_cmp(((const library_draft_entry *)a)->e.size, ((const library_draft_entry *)b)->e.size, HONE_MAX_SIZES, -1);
}

static void free_family(library_draft_family *f)
{
  for (int i = 0; i < f->nclaims; i++) free(f->claim[i].point);
  free(f->claim);
  free(f->entry);
  free(f);
}

/* Families whose tasks were all left out go. */
static void sort(library_draft *d)
{
  int kept = 0;
  for (int i = 0; i < d->nfamilies; i++) {
    library_draft_family *f = d->family[i];
    if (f->nentries == 0) {
      free_family(f);
      continue;
    }
    qsort(f->entry, (size_t)f->nentries, sizeof *f->entry, by_sizes);
    d->family[kept++] = f;
  }
  d->nfamilies = kept;
  name_families(d);
}

/* ---- the end ------------------------------------------------------------------ */

/* Least and largest of each size that is covered. */
static void span_sizes(hone_library_family *f)
{
  for (int k = 0; k < f->spec.nsizes; k++) {
    hone_spec_size *s = &f->spec.size[k];
    s->value = INT64_MAX;
    s->to = 0;
    for (int i = 0; i < f->nentries; i++) {
      s->value = hone_min64(s->value, f->entry[i].size[k]);
      s->to = hone_max64(s->to, f->entry[i].size[k]);
    }
    for (int i = 0; i < f->nintervals; i++) {
      if (f->interval[i].axis != k) continue;
      s->value = hone_min64(s->value, f->interval[i].lo);
      s->to = hone_max64(s->to, f->interval[i].hi);
    }
  }
}

static void freeze_family(library_draft_family *f, hone_library_family *out, hone_arena *a)
{
  hone_spec tuned = f->spec;
  out->spec = f->spec;
  snprintf(out->id, sizeof out->id, "%s", f->id);
  out->machine_name = hone_arena_strdup(a, f->machine->name);
  snprintf(out->machine_hash, sizeof out->machine_hash, "%s", f->machine_hash);
  out->clock_hz = f->machine->clock_hz;
  out->nentries = f->nentries;
  out->entry = hone_arena_alloc(a, ((size_t)f->nentries + 1) * sizeof *out->entry);
  for (int i = 0; i < f->nentries; i++) out->entry[i] = f->entry[i].e;
  library_settle(f, out, a);
  span_sizes(out);
  for (int i = 0; i < tuned.nsizes; i++) tuned.size[i].value = tuned.size[i].to = out->entry[0].size[i];
  hone_library_make_fallback(a, f->path, &tuned, f->machine, out);
}

static void freeze(library_draft *d)
{
  hone_library *l = d->l;
  l->nfamilies = d->nfamilies;
  l->family = hone_arena_alloc(l->arena, ((size_t)d->nfamilies + 1) * sizeof *l->family);
  for (int i = 0; i < d->nfamilies; i++) freeze_family(d->family[i], &l->family[i], l->arena);
  l->nleft_out = d->nleft_out;
  l->left_out = hone_arena_alloc(l->arena, ((size_t)d->nleft_out + 1) * sizeof *l->left_out);
  if (d->nleft_out) memcpy(l->left_out, d->left_out, (size_t)d->nleft_out * sizeof *d->left_out);
}

static hone_status run(library_draft *d, hone_store *s, hone_err *err)
{
  library_task *task = NULL;
  int n = 0;
  hone_arena *scratch = hone_arena_new();
  hone_status st = library_gather(s, d->source, scratch, &task, &n, err);
  for (int i = 0; i < n; i++) library_choose(d, &task[i]);
  free(task);
  hone_arena_free(scratch);
  if (st == HONE_OK) st = library_take_ranges(d, s, err);
  if (st != HONE_OK) return st;
  if (n == 0 && d->nfamilies == 0 && d->nleft_out == 0)
    return hone_err_set(err, HONE_NOT_FOUND, "library.empty", "the store %s holds nothing%s%s", hone_store_path(s),
                        d->source->machine ? " for the machine " : "", d->source->machine ? d->source->machine : "");
  sort(d);
  library_walk_near(d);
  st = library_make_microcode(d, err);
  if (st == HONE_OK) freeze(d);
  return st;
}

hone_status hone_library_from_store(hone_store *s, const hone_library_source *source, hone_library **out, hone_err *err)
{
  assert(hone_library_is_name(source->name) && library_model(source) && source->nevaluators <= LIBRARY_MAX_EVALUATORS);
  library_draft d = {.source = source, .l = library_new(), .finder = library_finder_new(source)};
  snprintf(d.l->name, sizeof d.l->name, "%s", source->name);
  d.l->writer = "hone " PACKAGE_VERSION;
  d.l->near_pct = source->near_pct;
  d.l->nevaluators = source->nevaluators;
  d.l->evaluator = hone_arena_alloc(d.l->arena, (size_t)source->nevaluators * sizeof *d.l->evaluator);
  for (int i = 0; i < source->nevaluators; i++) {
    d.l->evaluator[i] = source->evaluator[i];
    d.l->evaluator[i].name = hone_arena_strdup(d.l->arena, source->evaluator[i].name);
  }
  hone_status st = run(&d, s, err);
  for (int i = 0; i < d.nfamilies; i++) free_family(d.family[i]);
  free(d.family);
  free(d.left_out);
  library_finder_free(d.finder);
  if (st == HONE_OK) *out = d.l;
  else hone_library_free(d.l);
  return st;
}
