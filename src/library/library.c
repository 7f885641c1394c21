/* Libraries as values: their end, their words, their names. */
#include "config.h"

#include "library/library.h"

#include <string.h>

#include "library/library_int.h"

static const char *const words[] = {
#define HONE_EVIDENCE(id, word) word,
#include "library/evidence.def"
#undef HONE_EVIDENCE
};

const char *hone_evidence_word(hone_evidence e) { return words[e]; }

bool library_evidence_find(const char *word, hone_evidence *out)
{
  for (int i = 0; i < HONE_EVIDENCE_COUNT; i++)
    if (strcmp(words[i], word) == 0) {
      *out = (hone_evidence)i;
      return true;
    }
  return false;
}

const char *hone_loss_basis_word(hone_loss_basis b) { return b == HONE_LOSS_OF_OPTIMUM ? "optimum" : "bound"; }

hone_library *library_new(void)
{
  hone_arena *a = hone_arena_new();
  hone_library *l = hone_arena_alloc(a, sizeof *l);
  l->arena = a;
  return l;
}

void hone_library_free(hone_library *l)
{
  if (l) hone_arena_free(l->arena);
}

bool library_is_identifier(const char *s, size_t room)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", digits[] = "0123456789";
  size_t n = strlen(s), i = 0;
  if (n == 0 || n >= room || strchr(digits, s[0])) return false;
  while (i < n && (strchr(letters, s[i]) || strchr(digits, s[i]))) i++;
  return i == n;
}

bool hone_library_is_name(const char *s) { return library_is_identifier(s, sizeof((hone_library *)NULL)->name); }

int library_size_cmp(const int64_t *a, const int64_t *b, int n, int but)
{
  for (int i = 0; i < n; i++)
    if (i != but && a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  return 0;
}

int library_interval_cmp(const hone_library_family *f, const hone_library_interval *a, const hone_library_interval *b)
{
  if (a->axis != b->axis) return a->axis < b->axis ? -1 : 1;
  int c = library_size_cmp(f->entry[a->entry].size, f->entry[b->entry].size, f->spec.nsizes, a->axis);
  return c ? c : (a->lo > b->lo) - (a->lo < b->lo);
}

/* Insertion sort: intervals come nearly in order, and qsort could not see f. */
void library_sort_intervals(hone_library_family *f)
{
  for (int i = 1; i < f->nintervals; i++) {
    hone_library_interval x = f->interval[i];
    int k = i;
    for (; k > 0 && library_interval_cmp(f, &x, &f->interval[k - 1]) < 0; k--) f->interval[k] = f->interval[k - 1];
    f->interval[k] = x;
  }
}
