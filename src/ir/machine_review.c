/* What a careful reader would remark on a machine that loads: warnings about
 * values that hardly go together, then notes on what nothing uses or knows yet.
 * Rates are compared in bytes per base cycle. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir/machine_int.h"
#include "ir/machine_text.h"

#define SLACK 1.1 /* rates this close are called equal */

static double per_cycle(hone_rate r) { return hone_rate_unlimited(r) ? 1e300 : (double)r.num / (double)r.den; }
static double bytes_of(hone_format f) { return hone_format_bits(f) / 8.0; }

static hone_machine_finding *add(hone_findings *out, bool warning, const char *code, const hone_tree *at)
{
  static hone_machine_finding spare; /* beyond the room: written, never read */
  hone_machine_finding *f = out->n < out->room ? &out->at[out->n++] : &spare;
  *f = (hone_machine_finding){.warning = warning, .code = code};
  if (!at || !at->key) return f;
  hone_err place;
  hone_err_init(&place);
  hone_tree_err(at, &place, HONE_OK, "", "%s", "");
  snprintf(f->path, sizeof f->path, "%.*s", (int)sizeof f->path - 1, place.path);
  snprintf(f->file, sizeof f->file, "%.*s", (int)sizeof f->file - 1, place.file);
  f->line = place.line;
  f->column = place.column;
  return f;
}

static void say(hone_findings *out, bool warning, const char *code, const hone_tree *at, const char *fmt, ...)
    HONE_PRINTF(5, 6);
static void say(hone_findings *out, bool warning, const char *code, const hone_tree *at, const char *fmt, ...)
{
  hone_machine_finding *f = add(out, warning, code, at);
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(f->message, sizeof f->message, fmt, ap);
  va_end(ap);
}

static const hone_tree *at(const hone_tree *root, const char *block, int i, const char *key)
{
  const hone_tree *b = hone_tree_find(root, block), *entry = b && i >= 0 && i < b->n ? b->child[i] : b;
  const hone_tree *value = entry ? hone_tree_find(entry, key) : NULL;
  return value ? value : entry;
}

/* ---- Warnings ----------------------------------------------------------------- */

static void count_assumed(const hone_tree *t, int *assumed, int *all)
{
  for (int i = 0; t->block && i < t->n; i++) count_assumed(t->child[i], assumed, all);
  if (t->block || t->quantity->plain) return;
  ++*all;
  *assumed += t->assumed;
}

static void warn_assumed(const hone_tree *root, hone_findings *out)
{
  int assumed = 0, all = 0;
  count_assumed(root, &assumed, &all);
  if (assumed > 0)
    say(out, true, "machine.assumed", NULL, "%d of %d values are assumed: results rest on them until they are measured", assumed, all);
}

static void warn_dma(const hone_machine *m, const hone_tree *root, hone_findings *out)
{
  const hone_tree *where = at(root, "dma", -1, "rate");
  double dma = per_cycle(m->dma.rate), dram = per_cycle(m->memory[0].bandwidth), all = dma * hone_machine_cores(m);
  if (m->dma.engines == 0) return;
  if (dma > dram * SLACK)
    say(out, true, "machine.dma-rate", where, "one core's DMA moves %.6g B/cycle, the DRAM only %.6g", dma, dram);
  if (all * SLACK < dram)
    say(out, true, "machine.dma-rate", where, "the DMA of all cores moves %.6g B/cycle and never reaches the DRAM's %.6g", all, dram);
  for (int l = 1; l < m->nlevels; l++)
    if (m->move[0][l] == HONE_MOVE_DMA && dma > per_cycle(hone_memory_write_rate(&m->memory[l])) * SLACK)
      say(out, true, "machine.dma-rate", where, "the DMA moves %.6g B/cycle, '%s' takes only %.6g", dma, m->memory[l].name,
          per_cycle(hone_memory_write_rate(&m->memory[l])));
}

/* A row of one operand enters the array, a row of sums leaves it, each time. */
static void warn_feed(const hone_machine *m, int e, const hone_tree *root, hone_findings *out)
{
  const hone_matrix *x = &m->engine[e].matrix;
  const hone_tree *rates = at(root, "engines", e, "rates");
  double in = per_cycle(m->memory[x->operands_in].bandwidth);
  double sums = per_cycle(hone_memory_write_rate(&m->memory[x->accumulates_in]));
  for (int i = 0; i < x->nrates; i++) {
    const hone_array_rate *r = &x->rate[i];
    double rows = (double)r->cycles_per_row_den / (double)r->cycles_per_row_num;
    double needed = rows * x->rows * (bytes_of(r->a) < bytes_of(r->b) ? bytes_of(r->a) : bytes_of(r->b));
    double left = rows * x->columns * bytes_of(r->accumulator);
    if (needed > in * SLACK)
      say(out, true, "machine.feed", rates->child[i], "the array takes %.6g B/cycle, '%s' gives %.6g", needed,
          m->memory[x->operands_in].name, in);
    if (left > sums * SLACK)
      say(out, true, "machine.feed", rates->child[i], "the array leaves %.6g B/cycle of sums, '%s' takes %.6g", left,
          m->memory[x->accumulates_in].name, sums);
  }
}

static void warn_matrix(const hone_machine *m, int e, const hone_tree *root, hone_findings *out)
{
  const hone_matrix *x = &m->engine[e].matrix;
  int64_t widest = 1, tile, pass;
  if (!x->load_hidden && x->load_cycles > 0)
    say(out, true, "machine.load-exposed", at(root, "engines", e, "load_hidden"),
        "the load of %lld cycles is not hidden: passes of fewer than %lld cycles spend most of their time on it",
        (long long)x->load_cycles, (long long)x->load_cycles);
  for (int i = 0; i < x->nrates; i++) widest = hone_max64(widest, hone_format_bits(x->rate[i].accumulator) / 8);
  tile = (int64_t)x->rows * x->columns;
  if (x->nrates > 0 && (double)tile * bytes_of(x->rate[0].a) > (double)m->memory[x->stationary_in].capacity_bytes)
    say(out, true, "machine.capacity", at(root, "engines", e, "rows"), "one held operand of %d x %d does not fit '%s'", x->rows,
        x->columns, m->memory[x->stationary_in].name);
  if (hone_checked_mul(x->max_stream_rows, x->columns * widest, &pass) && pass > m->memory[x->accumulates_in].capacity_bytes)
    say(out, true, "machine.capacity", at(root, "engines", e, "max_stream_rows"),
        "the sums of a longest pass, %lld B, do not fit '%s'", (long long)pass, m->memory[x->accumulates_in].name);
}

/* Memories further in are smaller, quicker and cheaper. */
static void warn_order(const hone_machine *m, const hone_tree *root, hone_findings *out)
{
  const hone_memory *dram = &m->memory[0];
  for (int l = 1; l < m->nlevels; l++) {
    const hone_memory *x = &m->memory[l];
    double all = (double)x->capacity_bytes * (x->per_core ? hone_machine_cores(m) : 1) * (double)hone_machine_pes(m, l);
    if (all > (double)dram->capacity_bytes)
      say(out, true, "machine.order", at(root, "memories", l, "capacity"), "holds more than the DRAM");
    if (x->latency_cycles > dram->latency_cycles)
      say(out, true, "machine.order", at(root, "memories", l, "latency"), "takes longer to answer than the DRAM");
    if (x->read_fj_per_byte > dram->read_fj_per_byte && dram->read_fj_per_byte > 0)
      say(out, true, "machine.order", at(root, "memories", l, "read_energy"), "costs more energy a byte than the DRAM");
  }
}

/* ---- Notes ---------------------------------------------------------------------- */

static bool is_idle(const hone_tree *t)
{
  const hone_field *f = t->quantity->idle;
  if (!f || (t->n == 1 && strcmp(t->text[0], "false") == 0)) return false;
  const hone_tree *entry = t->parent;
  return f->idle == HONE_IDLE_YES || entry->parent->child[0] != entry;
}

typedef struct {
  int n;
  struct {
    const hone_tree *first;
    int values;
  } kind[16]; /* more than there are idle fields */
} idle_values;

static void find_idle(const hone_tree *t, idle_values *out)
{
  for (int i = 0; t->block && i < t->n; i++) find_idle(t->child[i], out);
  if (t->block || !is_idle(t)) return;
  int i = 0;
  while (i < out->n && out->kind[i].first->quantity->idle != t->quantity->idle) i++;
  if (i == 16) return;
  if (i == out->n) out->kind[out->n++].first = t;
  out->kind[i].values++;
}

/* One note for all values of a field: thirty say no more than one. */
static void note_idle(const hone_tree *root, hone_findings *out)
{
  idle_values all = {0};
  find_idle(root, &all);
  for (int i = 0; i < all.n; i++)
    say(out, false, "machine.unused", all.kind[i].first, "'%s' is a fact that nothing reads yet (%d value%s)", all.kind[i].first->key,
        all.kind[i].values, all.kind[i].values > 1 ? "s" : "");
}

static void note_energy(const hone_machine *m, const hone_tree *root, hone_findings *out)
{
  for (int l = 0; l < m->nlevels; l++)
    if (m->memory[l].read_fj_per_byte < 0 || m->memory[l].write_fj_per_byte < 0)
      say(out, false, "machine.no-energy", hone_tree_find(root, "memories")->child[l],
          "its energy is not described: that of a schedule lacks it");
  for (int e = 0; e < m->nengines; e++) {
    const hone_engine *x = &m->engine[e];
    const hone_array_rate *rate = x->kind == HONE_ENGINE_PE ? x->pe.rate : x->matrix.rate;
    int n = x->kind == HONE_ENGINE_PE ? x->pe.nrates : x->matrix.nrates;
    for (int i = 0; i < n; i++)
      if (rate[i].energy_fj_per_mac < 0)
        say(out, false, "machine.no-energy", at(root, "engines", e, "rates")->child[i], "the energy of its multiply-adds is not described");
  }
}

static void note_limits(const hone_machine *m, const hone_tree *root, hone_findings *out)
{
  for (int a = 0; a < m->naxes; a++)
    if (m->axis[a].above > 0) {
      say(out, false, "machine.unsupported", at(root, "axes", a, "below"),
          "schedules over processing-element axes are not supported yet: the machine can be shown and compared, not tuned for");
      break;
    }
  if (m->buffering != HONE_BUFFERING_COPIES)
    say(out, false, "machine.unsupported", hone_tree_find(root, "buffering"), "schedules under this accounting are not supported yet");
  if (m->partial_sums != HONE_SUMS_ACCUMULATOR)
    say(out, false, "machine.unsupported", hone_tree_find(root, "partial_sums"), "schedules under this accounting are not supported yet");
  if (!m->tile_machine) say(out, false, "machine.model-only", hone_tree_find(root, "kind"), "no microcode is made for it and nothing is simulated");
}

void hone_machine_review(const hone_machine *m, const hone_tree *root, hone_findings *out)
{
  warn_assumed(root, out);
  warn_dma(m, root, out);
  for (int e = 0; e < m->nengines; e++)
    if (m->engine[e].kind == HONE_ENGINE_MATRIX) {
      warn_feed(m, e, root, out);
      warn_matrix(m, e, root, out);
    }
  warn_order(m, root, out);
  note_limits(m, root, out);
  note_energy(m, root, out);
  note_idle(root, out);
}
