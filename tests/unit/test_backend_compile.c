/* From schedules to programs on the three machines, and what the verifier says
 * to programs that are wrong in one definite way. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"
#include "backend/backend.h"

static hone_operator op;
static hone_machine m;
static hone_params params;
static hone_schedule s;
static hone_program *p;
static hone_reason reason;
static hone_why why;
static hone_err err;

static void load(const char *machine, hone_format format, int64_t rows, int64_t columns, int64_t inner, int noptions)
{
  char path[512];
  hone_size sizes[] = {{"m", rows}, {"n", columns}, {"k", inner}};
  hone_format_choice formats[] = {{NULL, format}};
  hone_operator_option options[] = {{"bias", "row"}, {"activation", "relu"}, {"residual", "add"}};
  snprintf(path, sizeof path, HONE_SRCDIR "/data/machines/%s.yaml", machine);
  ck_assert_msg(hone_machine_load(path, &m, &err) == HONE_OK, "%s", err.message);
  ck_assert_msg(hone_operator_load(HONE_SRCDIR "/spaces/matmul.yaml", sizes, 3, formats, 1, options, noptions, &op, &err) == HONE_OK,
                "%s", err.message);
  ck_assert_msg(hone_params_new(&op, &m, &params, &err) == HONE_OK, "%s", err.message);
}

static void compile(void)
{
  hone_program_free(p);
  ck_assert_msg(hone_backend_compile(&op, &m, &s, &p, &reason, &why, &err) == HONE_OK, "%s", err.message);
}

static void parse(const char *text)
{
  ck_assert_msg(hone_schedule_parse(&op, &m, &params, text, &s, &err) == HONE_OK, "%s", err.message);
  ck_assert_msg(hone_schedule_check(&op, &m, &s, &why) == HONE_REASON_NONE, "%s", why.text);
  compile();
  ck_assert_int_eq(reason, HONE_REASON_NONE);
}

static void fini(void)
{
  hone_program_free(p);
  hone_params_free(&params);
  p = NULL;
}

static void expect_verified(void)
{
  ck_assert_msg(hone_backend_verify(p, &op, &m, &s, &err) == HONE_OK, "[%s] %s", err.code, err.message);
}

static void expect_refused(const char *code)
{
  ck_assert_int_eq(hone_backend_verify(p, &op, &m, &s, &err), HONE_INPUT);
  ck_assert_msg(strcmp(err.code, code) == 0, "%s, not %s: %s", err.code, code, err.message);
}

START_TEST(defaults_compile)
{
  static const struct {
    const char *machine;
    hone_format format;
    int64_t m, n, k;
  } rows[] = {{"trainium2-core", HONE_FORMAT_BF16, 2048, 14336, 4096}, {"trainium2-core", HONE_FORMAT_BF16, 1, 4096, 4096},
              {"gemmini-default", HONE_FORMAT_INT8, 229, 229, 229},    {"teaching", HONE_FORMAT_BF16, 100, 70, 130}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int options = 0; options <= 3; options++) {
      hone_resources use;
      load(rows[i].machine, rows[i].format, rows[i].m, rows[i].n, rows[i].k, options);
      ck_assert_msg(hone_schedule_default(&op, &m, &s, &err) == HONE_OK, "%s", err.message);
      compile();
      ck_assert_msg(reason == HONE_REASON_NONE, "%s", why.text);
      expect_verified();
      hone_backend_resources(p, &use);
      ck_assert_int_le(use.semaphores, m.sequencer.semaphores);
      ck_assert_int_le(use.loop_depth, m.sequencer.loop_depth);
      ck_assert_int_eq(use.microcode_bytes, hone_program_microcode_bytes(p));
      for (int l = 1; l < m.nlevels; l++) ck_assert_int_le(use.sram_bytes[l], m.memory[l].capacity_bytes);
      fini();
    }
}
END_TEST

/* The accumulator tile leaves between the k tiles and comes back. */
#define RETURNING                                                                                               \
  "tile.1.m=32 tile.1.n=64 tile.1.k=32 tile.2.m=16 tile.2.n=32 tile.2.k=32 order.1=k,m,n,b order.2=m,n,k,b "   \
  "at.X.1=2 at.W.1=3 at.Y.1=2 at.Y.2=6 depth.X.1=2 depth.W.1=2 depth.Y.1=2 depth.Y.2=2 map.product=k,n layout.W=0"

static void load_returning(void)
{
  load("trainium2-core", HONE_FORMAT_BF16, 64, 64, 96, 0);
  parse(RETURNING);
  expect_verified();
}

static const char *listing(int stream)
{
  static char kept[8192];
  hone_text text = {0};
  char name[24];
  hone_program_print(p, &text);
  snprintf(name, sizeof name, "\n%s%u:\n", p->stream[stream].kind == HONE_STREAM_ENGINE ? "engine" :
           p->stream[stream].kind == HONE_STREAM_STORE ? "store" : "load", p->stream[stream].unit);
  const char *from = strstr(text.data, name) + 1, *end = strstr(from, "  halt\n");
  snprintf(kept, sizeof kept, "%.*s", (int)(end - from), from);
  hone_text_fini(&text);
  return kept;
}

START_TEST(partial_results_return)
{
  load_returning();
  for (int i = 0; i < p->nstreams; i++)
    if (p->stream[i].kind == HONE_STREAM_STORE)
      ck_assert_str_eq(listing(i), "store0:\n"
                                   "  loop r4 in r3 step 32\n"
                                   "    loop r5 in r1 step 32\n"
                                   "      wait s4 +1 rotate b2  ? last{1}\n"
                                   "      store b2[r0*2048,r5*64,r2*1] fp32 -> dram t2 partial[r0,r5,r2] fp32  ? last{1} not-at-end{0}\n"
                                   "      store b2[r0*2048,r5*64,r2*1] fp32 -> dram t2[r0,r5,r2] bf16  ? last{1} at-end{0}\n"
                                   "      signal s5 +1  ? last{1}\n"
                                   "      signal s7 +1  ? last{1} not-at-end{0}\n"
                                   "    end\n"
                                   "  end\n");
  fini();
}
END_TEST

static hone_insn *find(hone_insn_op wanted, hone_stream_kind kind)
{
  for (int i = 0; i < p->nstreams; i++)
    for (int k = p->stream[i].first; p->stream[i].kind == kind && k < p->stream[i].first + p->stream[i].count; k++)
      if (p->insn[k].op == wanted) return &p->insn[k];
  ck_abort_msg("no such instruction");
}

/* Without a wait the data is not there, is lost or, where the order that was run
 * happens to be right, is not ordered. Here, with two tiles in two copies, three
 * are implied: the first visits find both copies free, and a tile that comes back
 * does so into the copy it left, so either of two waits would do. */
START_TEST(every_wait_counts)
{
  int races = 0, waits = 0, implied = 0;
  load_returning();
  for (int i = 0; i < p->ninsns; i++) {
    if (p->insn[i].op != HONE_INSN_WAIT) continue;
    p->insn[i].op = HONE_INSN_EXPECT;
    waits++;
    hone_status st = hone_backend_verify(p, &op, &m, &s, &err);
    implied += st == HONE_OK;
    races += st && strcmp(err.code, "verify.race") == 0;
    p->insn[i].op = HONE_INSN_WAIT;
  }
  ck_assert_int_ge(waits, 10);
  ck_assert_int_ge(races, 4);
  ck_assert_int_eq(implied, 3);
  expect_verified();
  fini();
}
END_TEST

START_TEST(verifier_names_the_fault)
{
  load_returning();
  find(HONE_INSN_WAIT, HONE_STREAM_STORE)->op = HONE_INSN_EXPECT;
  expect_refused("verify.content");
  parse(RETURNING);
  find(HONE_INSN_WAIT, HONE_STREAM_STORE)->n = 2;
  expect_refused("verify.deadlock");
  parse(RETURNING);
  find(HONE_INSN_SIGNAL, HONE_STREAM_LOAD)->n = 2;
  ck_assert_int_eq(hone_backend_verify(p, &op, &m, &s, &err), HONE_INPUT);
  parse(RETURNING);
  p->buffer[1].base = p->buffer[0].base;
  expect_refused("verify.bounds");
  parse(RETURNING);
  p->buffer[0].base += 1;
  expect_refused("verify.bounds");
  parse(RETURNING);
  find(HONE_INSN_LOOP, HONE_STREAM_LOAD)->n += 1;
  expect_refused("verify.schedule");
  parse(RETURNING);
  hone_insn_body *b = &p->body[find(HONE_INSN_MATMUL, HONE_STREAM_ENGINE)->body];
  b->zero_mask = 0; /* every step starts anew: the k tiles before are lost */
  ck_assert_int_eq(hone_backend_verify(p, &op, &m, &s, &err), HONE_INPUT);
  parse(RETURNING);
  b = &p->body[find(HONE_INSN_MATMUL, HONE_STREAM_ENGINE)->body];
  uint8_t row = b->row;
  b->row = b->column;
  b->column = row;
  expect_refused("verify.schedule");
  parse(RETURNING);
  m.sequencer.semaphores = p->nsemaphores - 1;
  expect_refused("verify.resource");
  m.dma.load_queues = 0;
  m.sequencer.semaphores = 256;
  expect_refused("verify.unit");
  fini();
}
END_TEST

START_TEST(resources_run_out)
{
  load_returning();
  m.sequencer.semaphores = 3;
  compile();
  ck_assert(p == NULL);
  ck_assert_int_eq(reason, HONE_REASON_ALLOCATION);
  ck_assert_int_eq(why.limit, 3);
  ck_assert_int_gt(why.have, 3);
  ck_assert(strstr(why.text, "semaphores") != NULL);
  m.sequencer.semaphores = 64;
  m.sequencer.microcode_bytes = 100;
  compile();
  ck_assert_int_eq(reason, HONE_REASON_MICROCODE);
  m.sequencer.microcode_bytes = 65536;
  m.sequencer.address_registers = 2;
  compile();
  ck_assert_int_eq(reason, HONE_REASON_ALLOCATION);
  m.tile_machine = false;
  ck_assert_int_eq(hone_backend_compile(&op, &m, &s, &p, &reason, &why, &err), HONE_UNSUPPORTED);
  fini();
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("backend");
  TCase *t = tcase_create("compile");
  tcase_add_test(t, defaults_compile);
  tcase_add_test(t, partial_results_return);
  tcase_add_test(t, every_wait_counts);
  tcase_add_test(t, verifier_names_the_fault);
  tcase_add_test(t, resources_run_out);
  suite_add_tcase(suite, t);
  return unit_run(suite);
}
