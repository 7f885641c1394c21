/* Machines once loaded: canonical print, identity, look-ups, peaks. */
#include "config.h"

#include "ir/machine.h"

#include <inttypes.h>
#include <string.h>

#include "ir/machine_int.h"

static const char *const dataflow_names[HONE_DATAFLOW_COUNT] = {[HONE_DATAFLOW_WS] = "ws", [HONE_DATAFLOW_OS] = "os"};

const char *hone_dataflow_name(hone_dataflow d) { return dataflow_names[d]; }

int hone_machine_cores(const hone_machine *m)
{
  int n = 1;
  for (int a = 0; a < m->naxes; a++)
    if (m->axis[a].above == 0) n *= m->axis[a].size;
  return n;
}

int64_t hone_machine_pes(const hone_machine *m, int level)
{
  int64_t n = 1;
  for (int a = 0; a < m->naxes; a++)
    if (m->axis[a].above > 0 && m->axis[a].above <= level) n *= m->axis[a].size;
  return n;
}

hone_rate hone_memory_write_rate(const hone_memory *x)
{
  return x->write_bandwidth.num > 0 ? x->write_bandwidth : x->bandwidth;
}

int hone_machine_find_memory(const hone_machine *m, const char *name)
{
  for (int l = 0; l < m->nlevels; l++)
    if (strcmp(m->memory[l].name, name) == 0) return l;
  return -1;
}

/* Multiplication commutes: a pair matches either way round. */
bool hone_array_rate_fits(const hone_array_rate *r, hone_format a, hone_format b, hone_format acc)
{
  return r->accumulator == acc && ((r->a == a && r->b == b) || (r->a == b && r->b == a));
}

const hone_array_rate *hone_machine_find_rate(const hone_matrix *x, hone_format a, hone_format b, hone_format acc)
{
  for (int i = 0; i < x->nrates; i++)
    if (hone_array_rate_fits(&x->rate[i], a, b, acc)) return &x->rate[i];
  return NULL;
}

hone_rate hone_machine_dram_stream(const hone_machine *m)
{
  hone_rate r = m->memory[0].bandwidth;
  int64_t permille = m->dram.available_permille, den = 1000;
  while (permille % 2 == 0 && den % 2 == 0) permille /= 2, den /= 2;
  while (permille % 5 == 0 && den % 5 == 0) permille /= 5, den /= 5;
  return (hone_rate){r.num * permille, r.den * den};
}

static void print_memories(const hone_machine *m, hone_text *out)
{
  for (int l = 0; l < m->nlevels; l++) {
    hone_text_add(out, "memory %d: per_core=%d%s", l, m->memory[l].per_core, m->memory[l].per_pe ? " per_pe=1" : "");
    hone_fields_print(&hone_fields_memory, &m->memory[l], out);
    hone_text_add(out, "\n");
  }
  const hone_dram *d = &m->dram;
  hone_text_add(out,
                "dram: channels=%d access=%" PRId64 " row=%" PRId64 " banks=%d row_miss=%" PRId64 " turnaround=%" PRId64
                " available=%" PRId64 "\n",
                d->channels, d->access_bytes, d->row_bytes, d->banks, d->row_miss_cycles, d->turnaround_cycles,
                d->available_permille);
  for (int a = 0; a < m->nlevels; a++)
    for (int b = a + 1; b < m->nlevels; b++)
      if (m->move[a][b] != HONE_MOVE_NONE)
        hone_text_add(out, "move %d %d: %s\n", a, b, m->move[a][b] == HONE_MOVE_DMA ? "dma" : "vector");
}

static void print_rates(const hone_array_rate *rate, int n, const hone_field_table *fields, hone_text *out)
{
  for (int i = 0; i < n; i++) {
    const hone_array_rate *r = &rate[i];
    hone_text_add(out, " rate=%sx%s:%s", hone_format_name(r->a), hone_format_name(r->b), hone_format_name(r->accumulator));
    hone_fields_print(fields, r, out);
  }
}

static void print_engine(const hone_engine *e, hone_text *out)
{
  switch (e->kind) {
  case HONE_ENGINE_MATRIX:
    hone_text_add(out, " matrix");
    hone_fields_print(&hone_fields_matrix, &e->matrix, out);
    print_rates(e->matrix.rate, e->matrix.nrates, &hone_fields_array_rate, out);
    break;
  case HONE_ENGINE_VECTOR:
    hone_text_add(out, " vector");
    hone_fields_print(&hone_fields_vector, &e->vector, out);
    hone_fields_print(&hone_fields_vector_rate, &e->vector, out);
    break;
  case HONE_ENGINE_PE:
    hone_text_add(out, " pe");
    hone_fields_print(&hone_fields_pe, &e->pe, out);
    print_rates(e->pe.rate, e->pe.nrates, &hone_fields_pe_rate, out);
    break;
  }
}

static void print_controls(const hone_machine *m, hone_text *out)
{
  if (m->dma.engines > 0) {
    hone_text_add(out, "dma:");
    hone_fields_print(&hone_fields_dma, &m->dma, out);
    hone_text_add(out, "\n");
  }
  if (m->sequencer.loop_depth == 0) return;
  hone_text_add(out, "sequencer:");
  hone_fields_print(&hone_fields_sequencer, &m->sequencer, out);
  hone_text_add(out, "\n");
}

void hone_machine_print(const hone_machine *m, hone_text *out)
{
  hone_text_add(out, "machine %s clock_hz=%" PRId64, m->tile_machine ? "tile" : "model-only", m->clock_hz);
  hone_fields_print(&hone_fields_root, m, out);
  hone_text_add(out, "\n");
  print_memories(m, out);
  for (int a = 0; a < m->naxes; a++) {
    hone_text_add(out, "axis %d:", a);
    hone_fields_print(&hone_fields_axis, &m->axis[a], out);
    if (m->axis[a].above > 0) hone_text_add(out, " above=%d", m->axis[a].above);
    if (m->axis[a].link_bandwidth.num > 0) hone_fields_print(&hone_fields_link, &m->axis[a], out);
    hone_text_add(out, "\n");
  }
  for (int e = 0; e < m->nengines; e++) {
    hone_text_add(out, "engine %d:", e);
    print_engine(&m->engine[e], out);
    hone_text_add(out, "\n");
  }
  print_controls(m, out);
}

hone_hash hone_machine_hash(const hone_machine *m)
{
  hone_text t = {0};
  hone_machine_print(m, &t);
  hone_hash h = hone_hash_text(t.data);
  hone_text_fini(&t);
  return h;
}

bool hone_vector_takes(const hone_vector *x, hone_format f) { return x->formats == 0 || (x->formats >> f & 1u) != 0; }

hone_rate hone_engine_macs(const hone_machine *m, const hone_engine *e, const hone_array_rate *r)
{
  int64_t each = e->kind == HONE_ENGINE_MATRIX ? (int64_t)e->matrix.rows * e->matrix.columns : hone_machine_pes(m, m->nlevels);
  return (hone_rate){each * r->cycles_per_row_den, r->cycles_per_row_num};
}

static void add_peak(hone_peak *out, int *n, int max, const hone_array_rate *r, double macs)
{
  for (int i = 0; i < *n; i++) {
    hone_array_rate have = {.a = out[i].a, .b = out[i].b, .accumulator = out[i].accumulator};
    if (!hone_array_rate_fits(&have, r->a, r->b, r->accumulator)) continue;
    out[i].macs_per_cycle += macs;
    return;
  }
  if (*n < max) out[(*n)++] = (hone_peak){r->a, r->b, r->accumulator, macs};
}

int hone_machine_peaks(const hone_machine *m, hone_peak *out, int max)
{
  int n = 0;
  for (int e = 0; e < m->nengines; e++) {
    const hone_engine *x = &m->engine[e];
    const hone_array_rate *rate = x->kind == HONE_ENGINE_PE ? x->pe.rate : x->matrix.rate;
    int nrates = x->kind == HONE_ENGINE_PE ? x->pe.nrates : x->matrix.nrates; /* a vector engine has none */
    for (int i = 0; i < nrates; i++) {
      hone_rate macs = hone_engine_macs(m, x, &rate[i]);
      add_peak(out, &n, max, &rate[i], (double)macs.num / (double)macs.den);
    }
  }
  return n;
}
