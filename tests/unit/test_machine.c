/* Machine texts: the machines that ship, every class of bad input (the teaching
 * machine with one edit each), inheritance and sources. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/machine.h"
#include "ir/machine_text.h"
#include "unit/unit.h"

#define MACHINES HONE_SRCDIR "/data/machines/"

static hone_machine m;
static hone_err err;
static char files[3][64]; /* scratch files of this process */

static void setup(void)
{
  hone_err_init(&err);
  for (int i = 0; i < 3; i++)
    snprintf(files[i], sizeof files[i], "test_machine_%ld_%d.yaml", (long)getpid(), i);
}

static void teardown(void)
{
  for (int i = 0; i < 3; i++)
    unlink(files[i]);
}

static void write_file(int i, const char *text)
{
  FILE *f = fopen(files[i], "w");
  ck_assert_ptr_nonnull(f);
  ck_assert_int_ge(fputs(text, f), 0);
  ck_assert_int_eq(fclose(f), 0);
}

/* A shipped machine with the first `from` replaced by `to`. */
static void write_edited_of(const char *file, const char *from, const char *to)
{
  char *text, path[512];
  size_t n;
  hone_text edited = {0};
  snprintf(path, sizeof path, "%s%s", MACHINES, file);
  ck_assert_int_eq(hone_text_load(path, 1 << 20, &text, &n, &err), HONE_OK);
  char *at = strstr(text, from);
  ck_assert_msg(at != NULL, "'%s' is not in %s", from, file);
  hone_text_add_bytes(&edited, text, (size_t)(at - text));
  hone_text_add(&edited, "%s%s", to, at + strlen(from));
  write_file(0, edited.data);
  hone_text_fini(&edited);
  free(text);
}

static void write_edited(const char *from, const char *to) { write_edited_of("teaching.yaml", from, to); }

START_TEST(rates_and_times_are_exact_in_base_cycles)
{
  ck_assert_msg(hone_machine_load(MACHINES "trainium2-core.yaml", &m, &err) == HONE_OK, "%s", err.message);
  ck_assert_int_eq(m.clock_hz, 2400000000);
  ck_assert(m.memory[0].bandwidth.num == 3625 && m.memory[0].bandwidth.den == 24); /* 362.5 GB/s over 2.4 GHz */
  ck_assert_int_eq(m.memory[0].latency_cycles, 960);                               /* 400 ns */
  ck_assert_int_eq(m.dram.row_miss_cycles, 68);                                    /* 28 ns are 67.2 */
  hone_rate stream = hone_machine_dram_stream(&m);
  ck_assert_int_eq(stream.num * 24 * 1000, stream.den * 3625 * 950);
  ck_assert_int_eq(m.memory[1].capacity_bytes, 24 << 20);
  ck_assert(m.memory[1].accepts == (HONE_ACCEPT_INPUT | HONE_ACCEPT_OUTPUT) && m.memory[2].accepts == HONE_ACCEPT_ACCUMULATE);
  ck_assert(m.move[0][1] == HONE_MOVE_DMA && m.move[2][1] == HONE_MOVE_VECTOR && m.move[0][2] == HONE_MOVE_NONE);
  const hone_array_rate *bf16 = hone_machine_find_rate(&m.engine[0].matrix, HONE_FORMAT_BF16, HONE_FORMAT_BF16, HONE_FORMAT_FP32);
  const hone_array_rate *fp8 = hone_machine_find_rate(&m.engine[0].matrix, HONE_FORMAT_FP8E4M3, HONE_FORMAT_FP8E4M3, HONE_FORMAT_FP32);
  ck_assert(bf16->cycles_per_row_num == 1 && bf16->cycles_per_row_den == 1);
  ck_assert(fp8->cycles_per_row_num == 1 && fp8->cycles_per_row_den == 2);
  hone_rate simple = m.engine[1].vector.rate[HONE_COST_SIMPLE]; /* 128 at 0.96 GHz */
  ck_assert(simple.num == 256 && simple.den == 5 && m.engine[1].vector.rate[HONE_COST_TABLE].num == 0);
  ck_assert_int_eq(m.engine[1].vector.startup_cycles, 250); /* 100 of its own cycles */
  ck_assert_int_eq(m.dma.setup_cycles, 3120);               /* 1.3 us */
  ck_assert(m.dma.rate.num == 460 && m.dma.rate.den == 3);
}
END_TEST

START_TEST(shipped_machines_load_and_differ)
{
  static const struct {
    const char *name;
    int cores;
    bool tile;
    int64_t pes;
  } row[] = {{"teaching", 2, true, 1}, {"gemmini-default", 1, true, 1}, {"napier-public", 48, true, 1}, {"tpu-v1", 1, true, 1},
             {"tpu-v4i", 1, true, 1}, {"trainium2-core", 1, true, 1}, {"reference-a16", 1, false, 256},
             {"reference-a128", 1, false, 16384}};
  enum { N = sizeof row / sizeof *row };
  hone_hash hash[N];
  for (int i = 0; i < N; i++) {
    char path[512];
    snprintf(path, sizeof path, "%s%s.yaml", MACHINES, row[i].name);
    ck_assert_msg(hone_machine_load(path, &m, &err) == HONE_OK, "%s: %s", err.path, err.message);
    ck_assert_str_eq(m.name, row[i].name);
    ck_assert(m.tile_machine == row[i].tile && hone_machine_cores(&m) == row[i].cores);
    ck_assert_int_eq(hone_machine_pes(&m, m.nlevels - 1), row[i].pes);
    hash[i] = hone_machine_hash(&m);
    for (int k = 0; k < i; k++) ck_assert(hone_hash_cmp(hash[k], hash[i]) != 0);
  }
}
END_TEST

static const struct edit {
  const char *from, *to, *code, *path;
  hone_status status;
} edits[] = {
    /* unknown */
    {"    capacity: 64 KiB", "    capcity: 64 KiB", "machine.unknown-field", "memories.sram.capcity", HONE_INPUT},
    {"clock: 1 GHz", "clock: {value: 1 GHz, sorce: choice}", "machine.unknown-field", "clock", HONE_INPUT},
    {"clock: 1 GHz", "clocks: 1 GHz", "machine.unknown-field", "clocks", HONE_INPUT},
    {"preset: DDR4", "preset: DDR6", "machine.unknown-preset", "memories.dram.preset", HONE_INPUT},
    {"accepts: [accumulate]", "accepts: [acumulate]", "machine.unknown-word", "memories.acc.accepts", HONE_INPUT},
    {"operands_in: sram", "operands_in: sramm", "machine.unknown-memory", "engines.array.operands_in", HONE_INPUT},
    {"bf16 x bf16 -> fp32", "bf61 x bf16 -> fp32", "machine.unknown-format", "engines.array.rates.bf61 x bf16 -> fp32", HONE_INPUT},
    {"scope: core", "scope: cores", "machine.unknown-word", "memories.sram.scope", HONE_INPUT},
    {"kind: tile", "kind: tiled", "machine.unknown-word", "kind", HONE_INPUT},
    /* missing */
    {"clock: 1 GHz", "", "machine.missing-field", "clock", HONE_INPUT},
    {"    capacity: 64 KiB\n", "", "machine.missing-field", "memories.sram.capacity", HONE_INPUT},
    {"    accepts: [accumulate]\n", "", "machine.missing-field", "memories.acc.accepts", HONE_INPUT},
    {"    operands_in: sram\n", "", "machine.missing-field", "engines.array.operands_in", HONE_INPUT},
    {"source: choice\nassumed: true\n", "", "machine.missing-source", "clock", HONE_INPUT},
    {"\nsource: choice", "\nsource: choise", "machine.unknown-source", "source", HONE_INPUT},
    /* units */
    {"capacity: 64 KiB", "capacity: 64", "unit.malformed", "memories.sram.capacity", HONE_INPUT},
    {"capacity: 64 KiB", "capacity: 64 KB", "unit.malformed", "memories.sram.capacity", HONE_INPUT},
    {"clock: 1 GHz", "clock: 1 ns", "unit.malformed", "clock", HONE_INPUT},
    {"latency: 100 ns", "latency: 100 MHz", "unit.malformed", "memories.dram.latency", HONE_INPUT},
    {"bandwidth: 64 B/cycle", "bandwidth: 64 B per cycle", "unit.malformed", "memories.sram.bandwidth", HONE_INPUT},
    {"simple: 8 per cycle", "simple: 8", "unit.malformed", "engines.vector.rates.simple", HONE_INPUT},
    {"capacity: 64 KiB", "capacity: [64 KiB]", "machine.type", "memories.sram.capacity", HONE_INPUT},
    {"kind: tile", "kind: [tile]", "machine.type", "kind", HONE_INPUT},
    {"accepts: [accumulate]", "accepts: accumulate", "machine.type", "memories.acc.accepts", HONE_INPUT},
    {"reads: [acc, sram]", "reads: acc", "machine.type", "engines.vector.reads", HONE_INPUT},
    {"capacity: 64 KiB", "capacity: [64 KiB, 32 KiB]", "machine.type", "memories.sram.capacity", HONE_INPUT},
    {"load_hidden: true", "load_hidden: yes", "machine.type", "engines.array.load_hidden", HONE_INPUT},
    /* absurd */
    {"capacity: 64 KiB", "capacity: 0 KiB", "machine.range", "memories.sram.capacity", HONE_INPUT},
    {"capacity: 64 KiB", "capacity: -64 KiB", "unit.negative", "memories.sram.capacity", HONE_INPUT},
    {"capacity: 64 KiB", "capacity: 1125899906842624 B", "", "", HONE_OK}, /* 2^50 */
    {"capacity: 64 KiB", "capacity: 1125899906842625 B", "machine.range", "memories.sram.capacity", HONE_INPUT},
    {"clock: 1 GHz", "clock: 101 GHz", "machine.range", "clock", HONE_INPUT},
    {"rows: 8", "rows: 0", "machine.range", "engines.array.rows", HONE_INPUT},
    {"rows: 8", "rows: -8", "machine.range", "engines.array.rows", HONE_INPUT},
    {"simple: 8 per cycle", "simple: 0 per cycle", "machine.range", "engines.vector.rates.simple", HONE_INPUT},
    {"channels: 1", "channels: 99999999999999999999", "unit.overflow", "memories.dram.channels", HONE_OVERFLOW},
    /* inconsistent */
    {"    bandwidth: 16 GB/s", "    bandwidth: 16.1 GB/s", "", "", HONE_OK}, /* within 1 % */
    {"    bandwidth: 16 GB/s", "    bandwidth: 16.2 GB/s", "machine.bandwidth", "memories.dram.bandwidth", HONE_INPUT},
    {"channel_rate: 16 GB/s", "channel_rate: 20 GB/s", "machine.range", "memories.dram.channel_rate", HONE_INPUT},
    {"  rate: 16 B/cycle", "  rate: 17 B/cycle", "machine.bandwidth", "dma.rate", HONE_INPUT},
    {"acc <-> sram: vector", "acc <-> sram: dam", "machine.unknown-word", "moves.acc <-> sram", HONE_INPUT},
    {"acc <-> sram: vector", "acc <-> acc: vector", "machine.move", "moves.acc <-> acc", HONE_INPUT},
    {"  acc <-> sram: vector", "  sram <-> dram: dma", "machine.move", "moves.sram <-> dram", HONE_INPUT},
    {"  acc <-> sram: vector # results are rounded on the way\n", "", "machine.unreachable", "memories.acc", HONE_INPUT},
    {"    reads: [acc, sram]", "    reads: [sram]", "machine.move", "moves", HONE_INPUT},
    {"accumulates_in: acc", "accumulates_in: sram", "machine.accepts", "engines.array.accumulates_in", HONE_INPUT},
    {"fp16 x fp16 -> fp32", "int8 x bf16 -> fp32", "machine.rate", "engines.array.rates.bf16 x int8 -> fp32", HONE_INPUT},
    {"    capacity: 16 KiB # 4096 fp32 sums\n    scope: core", "    capacity: 16 KiB\n    scope: chip", "machine.unsupported",
     "memories.acc.scope", HONE_UNSUPPORTED},
    {"multicast: false", "multicast: true", "", "", HONE_OK}, /* a fact */
    {"size: 2, multicast: false, reduce: false", "size: 2, multicast: true, reduce: true, link: {bandwidth: 8 B/cycle, latency: 50 ns}",
     "", "", HONE_OK},
    {"size: 2, multicast: false, reduce: false", "size: 2, multicast: true, reduce: true, link: {bandwidth: 8 B/cycle}",
     "machine.missing-field", "axes.core.link.latency", HONE_INPUT},
    /* what only model-only machines have */
    {"size: 2, multicast: false", "size: 2, below: sram, multicast: false", "machine.axes", "axes.core.below", HONE_INPUT},
    {"source: choice\nassumed: true\n", "source: choice\nassumed: true\nbuffering: single-overlapped\n", "machine.accounting", "buffering", HONE_INPUT},
    {"source: choice\nassumed: true\n", "source: choice\nassumed: true\nbuffering: copies\n", "", "", HONE_OK},
    {"source: choice\nassumed: true\n", "source: choice\nassumed: true\npartial_sums: tensor\n", "machine.accounting", "partial_sums", HONE_INPUT},
    {"bandwidth: 64 B/cycle", "bandwidth: unlimited", "machine.bandwidth", "memories.sram", HONE_INPUT},
    {"bandwidth: 64 B/cycle", "read_bandwidth: 64 B/cycle", "machine.missing-field", "memories.sram.write_bandwidth", HONE_INPUT},
    {"bandwidth: 64 B/cycle", "read_bandwidth: 64 B/cycle\n    write_bandwidth: 32 B/cycle", "", "", HONE_OK},
    {"bandwidth: 64 B/cycle", "bandwidth: 64 B/cycle\n    write_bandwidth: 32 B/cycle", "machine.bandwidth", "memories.sram.write_bandwidth", HONE_INPUT},
    {"    preset: DDR4 # row size, banks, row miss and refresh come from the preset\n", "", "machine.missing-field", "memories.dram.preset", HONE_INPUT},
    {"    channels: 1\n", "", "machine.missing-field", "memories.dram.channels", HONE_INPUT},
    {"name: teaching", "name: a-name-that-is-longer-than-thirty-one-letters", "machine.name", "name", HONE_INPUT},
    {"name: teaching", "name: \"tea\\nching\"", "machine.name", "name", HONE_INPUT},
    {"  sram: #", "  \"sr\\eam\": #", "machine.name", "memories.sr?am", HONE_INPUT},
    {"clock: 1 GHz", "clock: 1 GHz\nclock: 2 GHz", "yaml.syntax", "", HONE_INPUT},
};

START_TEST(bad_input_is_refused_with_code_and_path)
{
  const struct edit *e = &edits[_i];
  write_edited(e->from, e->to);
  hone_status s = hone_machine_load(files[0], &m, &err);
  ck_assert_msg(s == e->status, "%s -> %s: %s (%s)", e->from, e->to, hone_status_name(s), err.message);
  if (s == HONE_OK) return;
  ck_assert_msg(strcmp(err.code, e->code) == 0 && strcmp(err.path, e->path) == 0, "%s -> %s: %s at %s: %s", e->from, e->to,
                err.code, err.path, err.message);
  ck_assert_str_eq(err.file, files[0]);
}
END_TEST

START_TEST(unknown_names_offer_the_nearest)
{
  write_edited("    capacity: 64 KiB", "    capcity: 64 KiB");
  ck_assert_int_eq(hone_machine_load(files[0], &m, &err), HONE_INPUT);
  ck_assert_ptr_nonnull(strstr(err.hint, "capacity"));
  ck_assert_int_gt(err.line, 0);
  write_edited("operands_in: sram", "operands_in: srm");
  ck_assert_int_eq(hone_machine_load(files[0], &m, &err), HONE_INPUT);
  ck_assert_ptr_nonnull(strstr(err.hint, "sram"));
}
END_TEST

START_TEST(a_base_is_inherited_and_reported)
{
  hone_text t = {0};
  write_edited("name: teaching", "name: below");
  hone_text_add(&t, "base: %s\nname: above\nsources: {mine: measured here}\n"
                    "memories: {sram: {capacity: {value: 128 KiB, source: mine}}}\n", files[0]);
  write_file(1, t.data);
  ck_assert_msg(hone_machine_load(files[1], &m, &err) == HONE_OK, "%s", err.message);
  ck_assert_str_eq(m.name, "above");
  ck_assert(m.nlevels == 3 && m.memory[1].capacity_bytes == 128 << 10 && m.memory[2].capacity_bytes == 16 << 10);
  hone_text_fini(&t);
  hone_machine_text *x;
  ck_assert_int_eq(hone_machine_text_load(files[1], &x, &err), HONE_OK);
  const hone_machine_value *acc = hone_machine_text_find(x, "memories.acc.capacity"), *sram = hone_machine_text_find(x, "memories.sram.capacity");
  ck_assert_str_eq(acc->text, "16 KiB");
  ck_assert(acc->value.num == 16 << 10 && acc->value.den == 1 && acc->assumed && acc->inherited);
  ck_assert(strcmp(acc->unit, "B") == 0 && strcmp(acc->file, files[0]) == 0 && strncmp(acc->source, "chosen", 6) == 0);
  ck_assert(strcmp(sram->source, "measured here") == 0 && !sram->assumed && !sram->inherited && sram->line == 4);
  ck_assert_ptr_null(hone_machine_text_find(x, "name")->source);
  hone_machine_text_free(x);
}
END_TEST

START_TEST(an_overriding_value_needs_its_own_source)
{
  hone_text t = {0};
  write_edited("name: teaching", "name: below");
  hone_text_add(&t, "base: %s\nname: above\nmemories: {sram: {capacity: 128 KiB}}\n", files[0]);
  write_file(1, t.data);
  ck_assert_int_eq(hone_machine_load(files[1], &m, &err), HONE_INPUT);
  ck_assert_str_eq(err.code, "machine.missing-source");
  ck_assert_str_eq(err.path, "memories.sram.capacity");
  ck_assert_str_eq(err.file, files[1]);
  hone_text_fini(&t);
}
END_TEST

START_TEST(a_cycle_of_bases_is_refused)
{
  hone_text t = {0};
  for (int i = 0; i < 3; i++) {
    hone_text_clear(&t);
    hone_text_add(&t, "base: %s\n", files[(i + 1) % 3]);
    write_file(i, t.data);
  }
  ck_assert_int_eq(hone_machine_load(files[0], &m, &err), HONE_INPUT);
  ck_assert_str_eq(err.code, "machine.base-cycle");
  ck_assert_str_eq(err.path, "base");
  ck_assert_str_eq(err.file, files[2]);
  write_file(0, "base: no-such-file.yaml\n");
  ck_assert_int_eq(hone_machine_load(files[0], &m, &err), HONE_IO);
  hone_text_fini(&t);
}
END_TEST

/* The mapper comparison's machines, to the figure (its section 2). */
START_TEST(reference_machines_are_the_comparisons)
{
  static const struct {
    const char *name;
    int side;
    int64_t glb_bytes, glb_energy, glb_rate, dram_rate;
  } row[] = {{"reference-a16", 16, 131072, 6000, 64, 16}, {"reference-a128", 128, 4194304, 25000, 512, 512}};
  for (int i = 0; i < 2; i++) {
    char path[512];
    snprintf(path, sizeof path, "%s%s.yaml", MACHINES, row[i].name);
    ck_assert_msg(hone_machine_load(path, &m, &err) == HONE_OK, "%s: %s", err.path, err.message);
    const hone_memory *dram = &m.memory[0], *glb = &m.memory[1], *rf = &m.memory[2];
    ck_assert(m.nlevels == 3 && m.buffering == HONE_BUFFERING_SINGLE_OVERLAPPED && m.partial_sums == HONE_SUMS_TENSOR);
    ck_assert(dram->bandwidth.num == row[i].dram_rate && dram->write_bandwidth.num == row[i].dram_rate && dram->read_fj_per_byte == 200000);
    ck_assert(glb->bandwidth.num == row[i].glb_rate && hone_memory_write_rate(glb).num == row[i].glb_rate && glb->bandwidth.den == 1);
    ck_assert(glb->capacity_bytes == row[i].glb_bytes && glb->read_fj_per_byte == row[i].glb_energy && glb->write_fj_per_byte == row[i].glb_energy);
    ck_assert(rf->capacity_bytes == 64 && rf->read_fj_per_byte == 1000 && hone_rate_unlimited(rf->bandwidth) && rf->per_pe && !glb->per_pe);
    ck_assert_int_eq(m.naxes, 2);
    for (int a = 0; a < 2; a++)
      ck_assert(m.axis[a].size == row[i].side && m.axis[a].above == 2 && m.axis[a].multicast && m.axis[a].reduce);
    ck_assert(hone_machine_pes(&m, 1) == 1 && hone_machine_pes(&m, 2) == (int64_t)row[i].side * row[i].side);
    ck_assert(m.move[0][1] == HONE_MOVE_DMA && m.move[1][2] == HONE_MOVE_DMA && m.move[0][2] == HONE_MOVE_NONE);
    hone_peak peak[2];
    ck_assert(m.engine[0].kind == HONE_ENGINE_PE && m.engine[0].pe.rate[0].energy_fj_per_mac == 1000);
    ck_assert_int_eq(hone_machine_peaks(&m, peak, 2), 1);
    ck_assert_double_eq(peak[0].macs_per_cycle, row[i].side * row[i].side);
  }
}
END_TEST

START_TEST(model_only_rules_are_checked)
{
  static const struct {
    const char *from, *to, *code, *path;
  } row[] = {
      {"below: glb", "below: dram", "machine.memories", "memories.glb.scope"},
      {"scope: pe", "scope: core", "machine.memories", "memories.rf.scope"},
      {"    scope: chip\n    accepts", "    scope: pe\n    accepts", "machine.memories", "memories.glb.scope"},
      {"  y: {size: 16, below: glb", "  y: {size: 16, below: glbb", "machine.unknown-memory", "axes.y.below"},
      {"  x: {size: 16, below: glb, ", "  x: {size: 16, ", "machine.axes", "axes.x"},
      {"multicast: true", "multicast: true, link: {bandwidth: 1 B/cycle, latency: 0 cycles}", "machine.axes", "axes.y.link"},
      {"buffering: single-overlapped", "buffering: single", "machine.unknown-word", "buffering"},
      {"read_bandwidth: 16 B/cycle", "read_bandwidth: unlimited", "machine.bandwidth", "memories.dram"},
      {"operands_in: rf", "operands_in: fr", "machine.unknown-memory", "engines.mac.operands_in"},
      {"accumulates_in: rf", "accumulates_in: glb", "machine.accepts", "engines.mac.accumulates_in"},
      {"macs: 1", "rows: 1", "machine.unknown-field", "engines.mac.rates.int8 x int8 -> int32.rows"},
      {"kind: model-only", "kind: tile", "machine.missing-field", "memories.dram.channels"},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    write_edited_of("reference-a16.yaml", row[i].from, row[i].to);
    hone_err_init(&err);
    ck_assert_msg(hone_machine_load(files[0], &m, &err) != HONE_OK, "%s -> %s loads", row[i].from, row[i].to);
    ck_assert_msg(strcmp(err.code, row[i].code) == 0 && strcmp(err.path, row[i].path) == 0, "%s -> %s: %s at %s: %s", row[i].from,
                  row[i].to, err.code, err.path, err.message);
  }
}
END_TEST

/* What decides a result is in the identity, field by field; what does not is not. */
START_TEST(every_field_changes_the_identity)
{
  static const struct {
    const char *file, *from, *to;
  } row[] = {
      {"reference-a16.yaml", "buffering: single-overlapped", "buffering: copies"},
      {"reference-a16.yaml", "partial_sums: tensor", "partial_sums: accumulator"},
      {"reference-a16.yaml", "write_bandwidth: 64", "write_bandwidth: 32"},
      {"reference-a16.yaml", "read_bandwidth: 64", "read_bandwidth: 32"},
      {"reference-a16.yaml", "bandwidth: unlimited", "bandwidth: 8 B/cycle"},
      {"reference-a16.yaml", "x: {size: 16, below: glb, multicast: true", "x: {size: 16, below: glb, multicast: false"},
      {"reference-a16.yaml", "x: {size: 16, below: glb, multicast: true, reduce: true", "x: {size: 16, below: rf, multicast: true, reduce: true"},
      {"reference-a16.yaml", "x: {size: 16", "x: {size: 8"},
      {"reference-a16.yaml", "macs: 1 per cycle", "macs: 1/2 per cycle"},
      {"reference-a16.yaml", "energy: 1 pJ}", "energy: 2 pJ}"},
      {"napier-public.yaml", "link: {bandwidth: 64", "link: {bandwidth: 32"},
      {"napier-public.yaml", "latency: 50 ns}", "latency: 60 ns}"},
      {"napier-public.yaml", "multicast: true", "multicast: false"},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", MACHINES, row[i].file);
    ck_assert_int_eq(hone_machine_load(path, &m, &err), HONE_OK);
    hone_hash before = hone_machine_hash(&m);
    write_edited_of(row[i].file, row[i].from, row[i].to);
    ck_assert_msg(hone_machine_load(files[0], &m, &err) == HONE_OK, "%s: %s", row[i].to, err.message);
    ck_assert_msg(hone_hash_cmp(before, hone_machine_hash(&m)) != 0, "%s -> %s changes nothing", row[i].from, row[i].to);
  }
}
END_TEST

START_TEST(identity_ignores_names_and_sources)
{
  hone_hash a, b;
  ck_assert_int_eq(hone_machine_load(MACHINES "teaching.yaml", &m, &err), HONE_OK);
  a = hone_machine_hash(&m);
  write_edited("name: teaching", "name: other");
  ck_assert_int_eq(hone_machine_load(files[0], &m, &err), HONE_OK);
  b = hone_machine_hash(&m);
  ck_assert_int_eq(hone_hash_cmp(a, b), 0);
  write_edited("choice: chosen for this example", "choice: chosen for fun");
  ck_assert_int_eq(hone_machine_load(files[0], &m, &err), HONE_OK);
  ck_assert_int_eq(hone_hash_cmp(a, hone_machine_hash(&m)), 0);
  write_edited("setup: 20 cycles", "setup: 21 cycles");
  ck_assert_int_eq(hone_machine_load(files[0], &m, &err), HONE_OK);
  ck_assert_int_ne(hone_hash_cmp(a, hone_machine_hash(&m)), 0);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("machine");
  TCase *t = tcase_create("machine");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, rates_and_times_are_exact_in_base_cycles);
  tcase_add_test(t, shipped_machines_load_and_differ);
  tcase_add_loop_test(t, bad_input_is_refused_with_code_and_path, 0, (int)(sizeof edits / sizeof *edits));
  tcase_add_test(t, unknown_names_offer_the_nearest);
  tcase_add_test(t, a_base_is_inherited_and_reported);
  tcase_add_test(t, an_overriding_value_needs_its_own_source);
  tcase_add_test(t, a_cycle_of_bases_is_refused);
  tcase_add_test(t, reference_machines_are_the_comparisons);
  tcase_add_test(t, model_only_rules_are_checked);
  tcase_add_test(t, every_field_changes_the_identity);
  tcase_add_test(t, identity_ignores_names_and_sources);
  suite_add_tcase(s, t);
  return unit_run(s);
}
