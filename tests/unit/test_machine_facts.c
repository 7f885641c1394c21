/* What the shipped machines claim, typed in a second time: peaks as published, and
 * the values this project assumes where nothing is published (its table of assumed
 * values; A below: the file must say that the value is assumed). Every value of
 * every file has a source, or the loader refuses it; here, that sources say something. */
#include "config.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/machine.h"
#include "ir/machine_text.h"
#include "unit/unit.h"

#define MACHINES HONE_SRCDIR "/data/machines/"

static hone_machine_text *load(const char *name)
{
  char path[512];
  hone_machine_text *x = NULL;
  hone_err err;
  hone_err_init(&err);
  snprintf(path, sizeof path, MACHINES "%s", name);
  hone_status s = hone_machine_text_load(path, &x, &err);
  ck_assert_msg(s == HONE_OK, "%s: %s: %s", name, err.path, err.message);
  return x;
}

/* Multiply-adds per base cycle of the chip: TPU v1 Jouppi et al., ISCA 2017; TPU
 * v4i ISCA 2021 (138 TFLOPS at 1.05 GHz); Napier 48 x 128 x 128 (2.1 PFLOPS at 1.33
 * GHz); Gemmini 16 x 16; NeuronCore-v3 79 and 158 TFLOPS at 2.4 GHz. */
static const struct {
  const char *file;
  hone_format a, b;
  double macs;
} peaks[] = {
    {"tpu-v1", HONE_FORMAT_INT8, HONE_FORMAT_INT8, 65536},
    {"tpu-v1", HONE_FORMAT_INT8, HONE_FORMAT_INT16, 32768},
    {"tpu-v1", HONE_FORMAT_INT16, HONE_FORMAT_INT16, 16384},
    {"tpu-v4i", HONE_FORMAT_BF16, HONE_FORMAT_BF16, 65536},
    {"tpu-v4i", HONE_FORMAT_INT8, HONE_FORMAT_INT8, 65536},
    {"napier-public", HONE_FORMAT_LOG8, HONE_FORMAT_LOG8, 48 * 16384},
    {"napier-public", HONE_FORMAT_FP8E4M3, HONE_FORMAT_FP8E4M3, 48 * 16384},
    {"napier-public", HONE_FORMAT_INT8, HONE_FORMAT_INT8, 48 * 16384},
    {"napier-public", HONE_FORMAT_BF16, HONE_FORMAT_BF16, 48 * 8192},
    {"napier-public", HONE_FORMAT_LOG16, HONE_FORMAT_LOG16, 48 * 8192},
    {"gemmini-default", HONE_FORMAT_INT8, HONE_FORMAT_INT8, 256},
    {"trainium2-core", HONE_FORMAT_BF16, HONE_FORMAT_BF16, 16384},
    {"trainium2-core", HONE_FORMAT_FP8E4M3, HONE_FORMAT_FP8E4M3, 32768},
    {"reference-a16", HONE_FORMAT_INT8, HONE_FORMAT_INT8, 256},
    {"reference-a128", HONE_FORMAT_INT8, HONE_FORMAT_INT8, 16384},
    {"teaching", HONE_FORMAT_BF16, HONE_FORMAT_BF16, 2 * 64},
};

START_TEST(peaks_are_as_published)
{
  char file[80];
  hone_peak peak[HONE_MAX_RATES];
  double found = -1;
  snprintf(file, sizeof file, "%s.yaml", peaks[_i].file);
  hone_machine_text *x = load(file);
  const hone_machine *m = hone_machine_text_machine(x);
  int n = hone_machine_peaks(m, peak, HONE_MAX_RATES);
  for (int i = 0; i < n; i++)
    if (peak[i].a == peaks[_i].a && peak[i].b == peaks[_i].b) found = peak[i].macs_per_cycle * hone_machine_cores(m);
  ck_assert_double_eq_tol(found, peaks[_i].macs, 1e-6);
  hone_machine_text_free(x);
}
END_TEST

enum { PUBLIC, A };
typedef struct {
  const char *path, *text;
  int mark;
} fact;

static const fact napier[] = {
    {"memories.hbm.bandwidth", "4.8 TB/s", A},
    {"memories.hbm.latency", "400 ns", A},
    {"memories.sram.capacity", "5592320 B", A},
    {"memories.sram.banks", "32", A},
    {"memories.sram.bank_width", "64 B", A},
    {"memories.accumulators.capacity", "2 MiB", A},
    {"engines.array.load", "128 cycles", A},
    {"engines.array.load_hidden", "true", A},
    {"engines.array.min_pass", "32 cycles", A},
    {"engines.vector.rates.simple", "256 per cycle", A},
    {"engines.vector.rates.table", "128 per cycle", A},
    {"dma.engines", "4", A},
    {"dma.engine_rate", "64 B/cycle", A},
    {"dma.in_flight", "8", A},
    {"dma.setup", "100 ns", A},
    {"axes.core.multicast", "true", A},
    {"axes.core.link.bandwidth", "64 B/cycle", A},
    {"axes.core.link.latency", "50 ns", A},
    {"sequencer.loop_depth", "8", A},
    {"sequencer.semaphores", "64", A},
    {"sequencer.address_registers", "64", A},
    {"sequencer.issue_slots", "1", A},
    {"sequencer.microcode", "64 KiB", A},
    {NULL, NULL, 0},
};

static const fact trainium2[] = {
    {"memories.hbm.bandwidth", "362.5 GB/s", A},
    {"memories.hbm.preset", "HBM3", A},
    {"memories.hbm.capacity", "12 GiB", A},
    {"memories.hbm.latency", "400 ns", A},
    {"memories.sbuf.capacity", "24 MiB", A},
    {"memories.sbuf.banks", "128", PUBLIC},
    {"memories.psum.capacity", "2 MiB", PUBLIC},
    {"memories.psum.banks", "8", PUBLIC},
    {"engines.tensor.load", "32 cycles", PUBLIC},
    {"engines.tensor.load_hidden", "true", A},
    {"engines.tensor.min_pass", "64 cycles", PUBLIC},
    {"engines.vector.clock", "960 MHz", PUBLIC},
    {"engines.vector.rates.simple", "128 per cycle", PUBLIC},
    {"engines.scalar.clock", "1200 MHz", PUBLIC},
    {"engines.scalar.rates.table", "128 per cycle", PUBLIC},
    {"dma.engines", "16", PUBLIC},
    {"dma.engine_rate", "27.2 GB/s", PUBLIC},
    {"dma.rate", "368 GB/s", PUBLIC},
    {"dma.setup", "1.3 us", PUBLIC},
    {"dma.in_flight", "8", A},
    {"dma.burst", "512 B", A},
    {"sequencer.loop_depth", "8", A},
    {"sequencer.semaphores", "256", A},
    {"sequencer.address_registers", "64", A},
    {"sequencer.microcode", "64 KiB", A},
    {NULL, NULL, 0},
};

static const fact tpu_v4i[] = {
    {"memories.hbm.preset", "HBM2", PUBLIC},
    {"memories.hbm.bandwidth", "614 GB/s", PUBLIC},
    {"memories.hbm.latency", "400 ns", A},
    {"memories.cmem.capacity", "128 MiB", PUBLIC},
    {"memories.cmem.read_bandwidth", "2048 GB/s", PUBLIC},
    {"memories.cmem.write_bandwidth", "1024 GB/s", PUBLIC},
    {"memories.vmem.capacity", "16 MiB", PUBLIC}, /* 4 x 4 MB */
    {"memories.accumulators.capacity", "512 KiB", A}, /* 4 x 256 x 128 fp32 */
    {"engines.arrays.load", "32 cycles", A}, /* 128 cycles for four tiles at once */
    {"engines.arrays.load_hidden", "true", A},
    {"engines.vector.rates.simple", "1024 per cycle", A},
    {"engines.vector.rates.table", "128 per cycle", A},
    {"dma.engines", "4", A},
    {"dma.engine_rate", "256 B/cycle", A},
    {"dma.in_flight", "16", A},
    {"dma.setup", "200 ns", A},
    {"sequencer.loop_depth", "8", A},
    {"sequencer.semaphores", "64", A},
    {"sequencer.address_registers", "64", A},
    {"sequencer.issue_slots", "1", A},
    {"sequencer.microcode", "64 KiB", A},
    {NULL, NULL, 0},
};

static const fact gemmini[] = {
    {"memories.dram.preset", "DDR4", A},
    {"memories.dram.bandwidth", "16 GB/s", A},
    {"memories.dram.latency", "100 ns", A},
    {"memories.scratchpad.capacity", "256 KiB", PUBLIC},
    {"memories.scratchpad.banks", "4", PUBLIC},
    {"memories.accumulator.capacity", "64 KiB", PUBLIC},
    {"memories.accumulator.banks", "2", PUBLIC},
    {"engines.mesh.load", "16 cycles", A},
    {"engines.mesh.load_hidden", "false", A},
    {"engines.mesh.rates.int8 x int8 -> int32.rows", "1 per cycle", A},
    {"engines.vector.rates.simple", "16 per cycle", A},
    {"dma.engines", "1", A},
    {"dma.engine_rate", "16 B/cycle", A},
    {"dma.in_flight", "16", PUBLIC},
    {"dma.burst", "64 B", PUBLIC},
    {"dma.setup", "40 ns", A},
    {"sequencer.loop_depth", "6", A},
    {"sequencer.semaphores", "16", A},
    {"sequencer.address_registers", "32", A},
    {"sequencer.microcode", "16 KiB", A},
    {NULL, NULL, 0},
};

static const fact tpu_v1[] = {
    {"memories.ddr.preset", "DDR4", A},
    {"memories.ddr.bandwidth", "34 GB/s", PUBLIC},
    {"memories.ddr.latency", "100 ns", A},
    {"memories.ub.capacity", "24 MiB", PUBLIC},
    {"memories.ub.bandwidth", "256 B/cycle", PUBLIC},
    {"memories.fifo.capacity", "256 KiB", PUBLIC},
    {"memories.accumulators.capacity", "4 MiB", PUBLIC},
    {"engines.array.load", "256 cycles", PUBLIC},
    {"engines.array.load_hidden", "true", PUBLIC},
    {"engines.activation.rates.simple", "256 per cycle", A},
    {"dma.engines", "1", A},
    {"dma.engine_rate", "48 B/cycle", A},
    {"dma.in_flight", "8", A},
    {"dma.setup", "200 ns", A},
    {"sequencer.loop_depth", "4", A},
    {"sequencer.semaphores", "16", A},
    {"sequencer.address_registers", "32", A},
    {"sequencer.microcode", "32 KiB", A},
    {NULL, NULL, 0},
};

static void check_facts(const char *file, const fact *f)
{
  hone_machine_text *x = load(file);
  for (; f->path; f++) {
    const hone_machine_value *v = hone_machine_text_find(x, f->path);
    ck_assert_msg(v != NULL, "%s has no %s", file, f->path);
    ck_assert_msg(strcmp(v->text, f->text) == 0, "%s: %s is %s, not %s", file, v->path, v->text, f->text);
    ck_assert_msg(f->mark != A || v->assumed, "%s: %s is not marked as assumed", file, v->path);
  }
  hone_machine_text_free(x);
}

START_TEST(assumed_values_are_the_agreed_ones)
{
  check_facts("napier-public.yaml", napier);
  check_facts("trainium2-core.yaml", trainium2);
  check_facts("tpu-v4i.yaml", tpu_v4i);
  check_facts("gemmini-default.yaml", gemmini);
  check_facts("tpu-v1.yaml", tpu_v1);
}
END_TEST

/* Whatever files there are: a source for every value, and what no source states is marked. */
START_TEST(every_value_has_a_source)
{
  int files = 0;
  DIR *d = opendir(MACHINES);
  ck_assert_ptr_nonnull(d);
  for (struct dirent *e; (e = readdir(d));) {
    if (!strstr(e->d_name, ".yaml")) continue;
    hone_machine_text *x = load(e->d_name);
    for (int i = 0; i < hone_machine_text_count(x); i++) {
      const hone_machine_value *v = hone_machine_text_value(x, i);
      if (strcmp(v->path, "name") == 0 || strcmp(v->path, "kind") == 0) continue;
      ck_assert_msg(v->source && strlen(v->source) > 8, "%s: %s has no source worth the name", e->d_name, v->path);
      bool unstated = strstr(v->source, "no public figure") != NULL;
      ck_assert_msg(!unstated || v->assumed, "%s: %s has no public figure and is not marked as assumed", e->d_name, v->path);
    }
    hone_machine_text_free(x);
    files++;
  }
  closedir(d);
  ck_assert_int_ge(files, 8);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("machine facts");
  TCase *t = tcase_create("machine facts");
  tcase_add_loop_test(t, peaks_are_as_published, 0, (int)(sizeof peaks / sizeof *peaks));
  tcase_add_test(t, assumed_values_are_the_agreed_ones);
  tcase_add_test(t, every_value_has_a_source);
  suite_add_tcase(s, t);
  return unit_run(s);
}
