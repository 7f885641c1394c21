/* hone machine: what a machine text says, whether it holds together, and how two
 * machines differ. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "ir/machine_text.h"

static const hone_option options[] = {
  CLI_COMMON_OPTIONS,
};

/* ---- Values --------------------------------------------------------------------- */

static double real_of(hone_rate r)
{
  return (double)r.num / (double)r.den;
}

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* "532 cycles", "3625/24 B/cycle"; nothing for words. */
static void add_resolved(const hone_machine_value *v, hone_text *out)
{
  if (!v->unit) return;
  hone_text_add(out, "%" PRId64, v->value.num);
  if (v->value.den != 1) hone_text_add(out, "/%" PRId64, v->value.den);
  if (v->unit[0]) hone_text_add(out, " %s", v->unit);
}

static json_t *value_document(const hone_machine_value *v)
{
  json_t *o = json_pack("{s:s, s:o}", "path", v->path, "text", cli_json_string(v->text));
  hone_text exact = { 0 };
  if (v->unit) add_resolved(v, &exact);
  json_object_set_new(o, "value", !v->unit             ? json_null()
                                  : v->value.den == 1 ? json_integer(v->value.num)
                                                       : cli_json_real(real_of(v->value)));
  json_object_set_new(o, "unit", cli_json_text(v->unit));
  json_object_set_new(o, "resolved", cli_json_text(exact.data));
  json_object_set_new(o, "source", cli_json_text(v->source));
  json_object_set_new(o, "assumed", json_boolean(v->assumed));
  json_object_set_new(o, "inherited_from", v->inherited ? cli_json_string(base_name(v->file)) : json_null());
  hone_text_fini(&exact);
  return o;
}

/* ---- Figures that follow ---------------------------------------------------------- */

typedef struct {
  const hone_machine *m;
  int cores, npeaks;
  hone_peak peak[HONE_MAX_ENGINES * HONE_MAX_RATES];
  double read, write, sustained; /* DRAM, bytes per cycle */
} figures;

static void find_figures(const hone_machine *m, figures *f)
{
  f->m = m;
  f->cores = hone_machine_cores(m);
  f->npeaks = hone_machine_peaks(m, f->peak, HONE_MAX_ENGINES * HONE_MAX_RATES);
  f->read = real_of(m->memory[0].bandwidth);
  f->write = real_of(hone_memory_write_rate(&m->memory[0]));
  f->sustained = real_of(hone_machine_dram_stream(m));
}

static double tops(const figures *f, double macs_per_cycle) /* a multiply-add is two operations */
{
  return 2 * macs_per_cycle * (double)f->m->clock_hz / 1e12;
}

static double balance(const figures *f, const hone_peak *p) /* operations per byte read from the DRAM */
{
  return 2 * p->macs_per_cycle * f->cores / f->read;
}

static double giga_per_s(const figures *f, double per_cycle)
{
  return per_cycle * (double)f->m->clock_hz / 1e9;
}

static int64_t instances(const hone_machine *m, int level)
{
  return (m->memory[level].per_core ? hone_machine_cores(m) : 1) * hone_machine_pes(m, level);
}

static json_t *peak_document(const figures *f, const hone_peak *p)
{
  json_t *o = json_pack("{s:s, s:s, s:s}", "a", hone_format_name(p->a), "b", hone_format_name(p->b), "accumulator", hone_format_name(p->accumulator));
  json_object_set_new(o, "core_macs_per_cycle", cli_json_real(p->macs_per_cycle));
  json_object_set_new(o, "chip_macs_per_cycle", cli_json_real(p->macs_per_cycle * f->cores));
  json_object_set_new(o, "core_tops", cli_json_real(tops(f, p->macs_per_cycle)));
  json_object_set_new(o, "chip_tops", cli_json_real(tops(f, p->macs_per_cycle * f->cores)));
  json_object_set_new(o, "balance_ops_per_byte", cli_json_real(balance(f, p)));
  return o;
}

static json_t *figures_document(const figures *f)
{
  const hone_machine *m = f->m;
  json_t *o = json_object(), *peaks = json_array(), *memories = json_array();
  int64_t on_chip = 0;
  for (int i = 0; i < f->npeaks; i++) json_array_append_new(peaks, peak_document(f, &f->peak[i]));
  for (int l = 0; l < m->nlevels; l++) {
    json_array_append_new(memories, json_pack("{s:s, s:I, s:I}", "memory", m->memory[l].name, "instances", (json_int_t)instances(m, l),
                                              "capacity_bytes", (json_int_t)m->memory[l].capacity_bytes));
    if (l > 0) on_chip += instances(m, l) * m->memory[l].capacity_bytes;
  }
  json_object_set_new(o, "peak", peaks);
  json_object_set_new(o, "dram_read_bytes_per_cycle", cli_json_real(f->read));
  json_object_set_new(o, "dram_write_bytes_per_cycle", cli_json_real(f->write));
  json_object_set_new(o, "dram_read_gb_per_s", cli_json_real(giga_per_s(f, f->read)));
  json_object_set_new(o, "dram_sustained_gb_per_s", cli_json_real(giga_per_s(f, f->sustained)));
  json_object_set_new(o, "memories", memories);
  json_object_set_new(o, "on_chip_bytes", json_integer(on_chip));
  return o;
}

static void print_figures(const figures *f, hone_text *out)
{
  const hone_machine *m = f->m;
  cli_table t = { .columns = 6, .align = "lrrrrr" };
  static const char *const head[] = { "peak", "MAC/cycle, core", "chip", "TOPS, core", "chip", "ops/byte" };
  for (int i = 0; i < 6; i++) cli_table_add(&t, "%s", head[i]);
  for (int i = 0; i < f->npeaks; i++) {
    const hone_peak *p = &f->peak[i];
    cli_table_add(&t, "%s x %s -> %s", hone_format_name(p->a), hone_format_name(p->b), hone_format_name(p->accumulator));
    cli_table_add(&t, "%.6g", p->macs_per_cycle);
    cli_table_add(&t, "%.9g", p->macs_per_cycle * f->cores);
    cli_table_add(&t, "%.4g", tops(f, p->macs_per_cycle));
    cli_table_add(&t, "%.4g", tops(f, p->macs_per_cycle * f->cores));
    cli_table_add(&t, "%.4g", balance(f, p));
  }
  cli_table_print(&t, out);
  hone_text_add(out, "%s  %.6g B/cycle, %.6g GB/s", m->memory[0].name, f->read, giga_per_s(f, f->read));
  if (f->write < f->read || f->write > f->read) hone_text_add(out, " (writes %.6g B/cycle)", f->write);
  hone_text_add(out, ", sustained %.6g GB/s\n", giga_per_s(f, f->sustained));
  int64_t on_chip = 0;
  for (int l = 1; l < m->nlevels; l++) {
    hone_text_add(out, "%s  %" PRId64 " x ", m->memory[l].name, instances(m, l));
    cli_text_bytes(out, m->memory[l].capacity_bytes);
    hone_text_add(out, "\n");
    on_chip += instances(m, l) * m->memory[l].capacity_bytes;
  }
  hone_text_add(out, "on chip  ");
  cli_text_bytes(out, on_chip);
  hone_text_add(out, "\n");
}

/* ---- Subcommands -------------------------------------------------------------------- */

static hone_status load(const cli_run *r, const char *name, hone_machine_text **out, char path[512], hone_err *err)
{
  hone_status st = cli_find_file(r, "machines", name, path, 512, err);
  return st == HONE_OK ? hone_machine_text_load(path, out, err) : st;
}

static json_t *head_document(const hone_machine *m, const char *path)
{
  char hash[HONE_HASH_TEXT];
  hone_hash_print(hone_machine_hash(m), hash);
  return json_pack("{s:s, s:o, s:s, s:I, s:i, s:I, s:s}", "name", m->name, "file", cli_json_string(path), "kind", m->tile_machine ? "tile" : "model-only",
                   "clock_hz", (json_int_t)m->clock_hz, "cores", hone_machine_cores(m), "processing_elements",
                   (json_int_t)hone_machine_pes(m, m->nlevels), "machine_hash", hash);
}

static void print_head(const hone_machine *m, const char *path, hone_text *out)
{
  int cores = hone_machine_cores(m);
  int64_t pes = hone_machine_pes(m, m->nlevels);
  hone_text_add(out, "%s: %s machine, %.6g GHz, %d core%s", m->name, m->tile_machine ? "tile" : "model-only", (double)m->clock_hz / 1e9, cores,
                cores > 1 ? "s" : "");
  if (pes > 1) hone_text_add(out, ", %" PRId64 " processing elements", pes);
  hone_text_add(out, " (%s)\n", path);
}

static hone_status show(cli_run *r, hone_err *err)
{
  hone_machine_text *x = NULL;
  char path[512];
  hone_status st = load(r, r->positional[1], &x, path, err);
  if (st != HONE_OK) return st;
  figures f;
  find_figures(hone_machine_text_machine(x), &f);
  json_t *values = json_array();
  cli_table t = { .columns = 5, .align = "lllll" };
  static const char *const head[] = { "field", "value", "resolved", "", "source" };
  for (int i = 0; i < 5; i++) cli_table_add(&t, "%s", head[i]);
  for (int i = 0; i < hone_machine_text_count(x); i++) {
    const hone_machine_value *v = hone_machine_text_value(x, i);
    hone_text resolved = { 0 };
    add_resolved(v, &resolved);
    cli_table_add(&t, "%s", v->path);
    cli_table_add(&t, "%s", v->text);
    cli_table_add(&t, "%s", resolved.data ? resolved.data : "");
    cli_table_add(&t, "%s%s%s%s", v->assumed ? "assumed" : "", v->assumed && v->inherited ? ", " : "", v->inherited ? "from " : "",
                  v->inherited ? base_name(v->file) : "");
    cli_table_add(&t, "%s", v->source ? v->source : "");
    json_array_append_new(values, value_document(v));
    hone_text_fini(&resolved);
  }
  print_head(f.m, path, &r->out);
  hone_text_add(&r->out, "\n");
  cli_table_print(&t, &r->out);
  hone_text_add(&r->out, "\n");
  print_figures(&f, &r->out);
  r->document = json_pack("{s:o, s:o, s:o}", "machine", head_document(f.m, path), "values", values, "derived", figures_document(&f));
  hone_machine_text_free(x);
  return HONE_OK;
}

static json_t *finding_document(const hone_machine_finding *f)
{
  json_t *o = json_pack("{s:s, s:o}", "code", f->code, "message", cli_json_string(f->message));
  if (f->path[0]) json_object_set_new(o, "path", json_string(f->path));
  if (f->file[0]) json_object_set_new(o, "file", cli_json_string(f->file));
  if (f->line > 0) json_object_set_new(o, "line", json_integer(f->line));
  if (f->column > 0) json_object_set_new(o, "column", json_integer(f->column));
  return o;
}

static hone_status check(cli_run *r, hone_err *err)
{
  hone_machine_text *x = NULL;
  const hone_machine_finding *f;
  char path[512];
  json_t *warnings = json_array(), *notes = json_array();
  hone_status st = load(r, r->positional[1], &x, path, err);
  r->document = json_pack("{s:b, s:o, s:o}", "valid", st == HONE_OK, "warnings", warnings, "notes", notes);
  if (st != HONE_OK) return st;
  int n = hone_machine_text_findings(x, &f);
  for (int i = 0; i < n; i++) {
    json_array_append_new(f[i].warning ? warnings : notes, finding_document(&f[i]));
    hone_text_add(&r->out, "%s:", f[i].file[0] ? f[i].file : path);
    if (f[i].line > 0) hone_text_add(&r->out, "%d:%d:", f[i].line, f[i].column);
    hone_text_add(&r->out, " %s: %s%s%s [%s]\n", f[i].warning ? "warning" : "note", f[i].path, f[i].path[0] ? ": " : "", f[i].message, f[i].code);
  }
  const hone_machine *m = hone_machine_text_machine(x);
  json_object_set_new(r->document, "machine", head_document(m, path));
  hone_text_add(&r->out, "valid: ");
  print_head(m, path, &r->out);
  hone_machine_text_free(x);
  return HONE_OK;
}

static void add_difference(cli_table *t, json_t *list, const hone_machine_value *a, const hone_machine_value *b)
{
  cli_table_add(t, "%s", a ? a->path : b->path);
  cli_table_add(t, "%s", a ? a->text : "-");
  cli_table_add(t, "%s", b ? b->text : "-");
  json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "path", a ? a->path : b->path, "a", a ? value_document(a) : json_null(), "b",
                                        b ? value_document(b) : json_null()));
}

static hone_status compare(cli_run *r, const hone_machine_text *a, const hone_machine_text *b, const char *path_a, const char *path_b)
{
  json_t *list = json_array();
  cli_table t = { .columns = 3, .align = "lll" };
  cli_table_add(&t, "field");
  cli_table_add(&t, "%s", hone_machine_text_machine(a)->name);
  cli_table_add(&t, "%s", hone_machine_text_machine(b)->name);
  for (int i = 0; i < hone_machine_text_count(a); i++) {
    const hone_machine_value *x = hone_machine_text_value(a, i), *y = hone_machine_text_find(b, x->path);
    if (!y || !hone_machine_value_eq(x, y)) add_difference(&t, list, x, y);
  }
  for (int i = 0; i < hone_machine_text_count(b); i++) {
    const hone_machine_value *y = hone_machine_text_value(b, i);
    if (!hone_machine_text_find(a, y->path)) add_difference(&t, list, NULL, y);
  }
  const hone_machine *ma = hone_machine_text_machine(a), *mb = hone_machine_text_machine(b);
  bool same = hone_hash_cmp(hone_machine_hash(ma), hone_machine_hash(mb)) == 0;
  if (json_array_size(list) > 0) cli_table_print(&t, &r->out);
  else cli_table_fini(&t);
  if (json_array_size(list) == 0) hone_text_add(&r->out, "identical: every field has the same value\n");
  else hone_text_add(&r->out, "%zu field%s differ; %s\n", json_array_size(list), json_array_size(list) > 1 ? "s" : "",
                     same ? "results are the same, for the values that decide them are" : "results may differ");
  r->document = json_pack("{s:o, s:o, s:b, s:o}", "a", head_document(ma, path_a), "b", head_document(mb, path_b), "same_identity", same,
                          "differences", list);
  return HONE_OK;
}

static hone_status diff(cli_run *r, hone_err *err)
{
  hone_machine_text *x[2] = { NULL, NULL };
  char path[2][512];
  hone_status st = HONE_OK;
  for (int i = 0; i < 2 && st == HONE_OK; i++) st = load(r, r->positional[i + 1], &x[i], path[i], err);
  if (st == HONE_OK) st = compare(r, x[0], x[1], path[0], path[1]);
  for (int i = 0; i < 2; i++) hone_machine_text_free(x[i]);
  return st;
}

/* A file that does not load is listed with its error: one bad file hides no other. */
static hone_status list(cli_run *r, hone_err *err)
{
  (void)err;
  cli_names all;
  cli_list_names(r, "machines", &all);
  json_t *machines = json_array();
  cli_table t = { .columns = 5, .align = "llrrr" };
  static const char *const head[] = { "machine", "kind", "cores", "TOPS", "GB/s" };
  for (int i = 0; i < 5; i++) cli_table_add(&t, "%s", head[i]);
  for (int i = 0; i < all.n; i++) {
    hone_machine_text *x = NULL;
    hone_err why;
    char path[512] = "";
    hone_err_init(&why);
    if (load(r, all.name[i], &x, path, &why) != HONE_OK) {
      json_array_append_new(machines, json_pack("{s:o, s:o, s:o}", "name", cli_json_string(all.name[i]), "file", cli_json_string(path),
                                                "error", cli_json_error(&why)));
      cli_warn(r, why.code, "%s: %s", path, why.message);
      continue;
    }
    figures f;
    double best = 0;
    find_figures(hone_machine_text_machine(x), &f);
    for (int k = 0; k < f.npeaks; k++) best = fmax(best, tops(&f, f.peak[k].macs_per_cycle * f.cores));
    json_t *o = head_document(f.m, path);
    json_object_set_new(o, "largest_chip_tops", cli_json_real(best));
    json_object_set_new(o, "dram_read_gb_per_s", cli_json_real(giga_per_s(&f, f.read)));
    json_array_append_new(machines, o);
    cli_table_add(&t, "%s", all.name[i]);
    cli_table_add(&t, "%s", f.m->tile_machine ? "tile" : "model-only");
    cli_table_add(&t, "%d", f.cores);
    cli_table_add(&t, "%.4g", best);
    cli_table_add(&t, "%.6g", giga_per_s(&f, f.read));
    hone_machine_text_free(x);
  }
  cli_table_print(&t, &r->out);
  r->document = json_pack("{s:o}", "machines", machines);
  return HONE_OK;
}

static const struct {
  const char *name;
  int machines;
  hone_status (*run)(cli_run *r, hone_err *err);
} subcommands[] = { { "list", 0, list }, { "show", 1, show }, { "check", 1, check }, { "diff", 2, diff } };
enum { NSUBCOMMANDS = sizeof subcommands / sizeof subcommands[0] };

static const char *subcommand_at(void *arg, int i)
{
  (void)arg;
  return subcommands[i].name;
}

static hone_status run(cli_run *r, hone_err *err)
{
  int which = cli_subcommand_find(r, NSUBCOMMANDS, subcommand_at, err);
  if (which < 0) return HONE_USAGE;
  if (r->npositional - 1 != subcommands[which].machines) {
    static const char *const wanted[] = { "no machine", "one machine", "two machines" };
    const int want = subcommands[which].machines;
    hone_err_set(err, HONE_USAGE, r->npositional - 1 > want ? "cli.surplus-argument" : "cli.missing-argument",
                 "hone machine %s takes %s, not %d", subcommands[which].name, wanted[want], r->npositional - 1);
    hone_err_hint(err, "a machine is a file, or a name that hone machine list shows");
    return HONE_USAGE;
  }
  return subcommands[which].run(r, err);
}

const cli_command cli_machine = {
  .name = "machine",
  .summary = "show, check and compare machine descriptions",
  .arguments = "list|show|check|diff [NAME|FILE]...",
  .detail = "list names the machines there are. show prints every value of one as written and as resolved in base cycles, with its source, whether "
            "it is assumed and the file it was inherited from, and what follows from them: peaks, bandwidth, balance, capacity. check loads one and "
            "reports what is wrong (exit status 2), then warnings about values that hardly go together and notes on facts that nothing uses "
            "yet. diff compares two, field by field; values that are equal in another unit are equal, sources are not compared.",
  .option = options,
  .noptions = CLI_COMMON_COUNT,
  .max_positional = 3,
  .run = run,
};
