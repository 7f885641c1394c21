/* The program format: bytes there and back, what decode refuses, the listing. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"
#include "backend/program.h"

static hone_stream streams[2];
static hone_insn insns[16];
static hone_insn_body bodies[2];
static hone_program_buffer buffers[1];
static hone_program_semaphore semaphores[2];
static hone_program p;
static hone_err err;

static const hone_insn rest = {.b = HONE_NO_BUFFER, .body = -1};

static hone_insn *add(hone_insn_op op)
{
  hone_insn *x = &insns[p.ninsns++];
  *x = rest;
  x->op = op;
  return x;
}

/* A load queue that brings pieces of a vector, a store queue that takes them back. */
static void make(void)
{
  p = (hone_program){.ndims = 1, .nargs = 2, .nstreams = 2, .nbodies = 2, .nbuffers = 1, .nsemaphores = 2,
                     .stream = streams, .insn = insns, .body = bodies, .buffer = buffers, .semaphore = semaphores};
  buffers[0] = (hone_program_buffer){.level = 1, .copies = 2, .tensor = 0, .slot_bytes = 64};
  semaphores[0] = (hone_program_semaphore){.role = 0, .buffer = 0};
  semaphores[1] = (hone_program_semaphore){.initial = 2, .role = 1, .buffer = 0};
  for (int s = 0; s < 2; s++) {
    streams[s] = (hone_stream){.kind = s ? HONE_STREAM_STORE : HONE_STREAM_LOAD, .first = p.ninsns, .count = 6};
    hone_insn *loop = add(HONE_INSN_LOOP), *wait = add(HONE_INSN_WAIT), *move = add(s ? HONE_INSN_STORE : HONE_INSN_LOAD);
    hone_insn *signal = add(HONE_INSN_SIGNAL);
    add(HONE_INSN_END);
    add(HONE_INSN_HALT);
    loop->a = 1;
    loop->b = 0;
    loop->n = 32;
    wait->a = (uint8_t)(1 - s);
    wait->b = 0;
    wait->n = 1;
    signal->a = (uint8_t)s;
    signal->n = 1;
    move->body = s;
    move->when = (hone_predicate){.visit = HONE_VISIT_NEW, .visit_mask = 1};
    hone_operand dram = {.buffer = HONE_NO_BUFFER, .arg = (uint8_t)s, .format = HONE_FORMAT_BF16, .rank = 1, .inner = {1},
                         .outer = {HONE_NO_RANGE}, .origin = {s ? 0 : -3}};
    hone_operand slot = {.format = HONE_FORMAT_BF16, .rank = 1, .inner = {1}, .outer = {HONE_NO_RANGE}, .stride = {1}};
    bodies[s] = (hone_insn_body){.nreads = 1, .read = {s ? slot : dram}, .write = s ? dram : slot, .level = 1, .drain = (uint8_t)s};
  }
}

static void refused(const char *what)
{
  uint8_t *bytes;
  size_t n;
  err.message[0] = 0;
  ck_assert_int_eq(hone_program_encode(&p, &bytes, &n, &err), HONE_INPUT);
  ck_assert_msg(strstr(err.message, what) != NULL, "\"%s\" is not in \"%s\"", what, err.message);
  make();
}

START_TEST(there_and_back)
{
  uint8_t *bytes, *again;
  size_t n, m;
  hone_program *q;
  make();
  ck_assert_int_eq(hone_program_encode(&p, &bytes, &n, &err), HONE_OK);
  ck_assert_int_eq(hone_program_decode(bytes, n, &q, &err), HONE_OK);
  ck_assert_int_eq(q->ninsns, p.ninsns);
  ck_assert_int_eq(q->body[0].read[0].origin[0], -3);
  ck_assert_int_eq(q->insn[2].when.visit_mask, 1);
  ck_assert_int_eq(hone_program_encode(q, &again, &m, &err), HONE_OK);
  ck_assert(n == m && memcmp(bytes, again, n) == 0);
  ck_assert_int_eq(hone_program_microcode_bytes(q), hone_program_microcode_bytes(&p));
  ck_assert_int_lt(hone_program_microcode_bytes(q), (int64_t)n);
  hone_program_free(q);
  for (size_t k = 0; k < n; k++) ck_assert_int_eq(hone_program_decode(bytes, k, &q, &err), HONE_INPUT); /* cut short */
  bytes[n - 1] ^= 1;
  ck_assert_int_eq(hone_program_decode(bytes, n, &q, &err), HONE_INPUT);
  ck_assert_str_eq(err.code, "program.checksum");
  bytes[4]++;
  ck_assert_int_eq(hone_program_decode(bytes, n, &q, &err), HONE_INPUT);
  ck_assert_str_eq(err.code, "program.version");
  bytes[0]++;
  ck_assert_int_eq(hone_program_decode(bytes, n, &q, &err), HONE_INPUT);
  ck_assert_str_eq(err.code, "program.magic");
  free(bytes);
  free(again);
  hone_program_free(NULL);
}
END_TEST

START_TEST(structure_is_checked)
{
  make();
  insns[0].b = 7, refused("bad loop in instruction 0");
  insns[0].n = 0, refused("bad loop");
  insns[1].a = 2, refused("bad semaphore or buffer in instruction 1");
  insns[1].b = 1, refused("bad semaphore or buffer");
  insns[3].n = 0, refused("bad semaphore or buffer in instruction 3");
  insns[2].when.visit_mask = 2, refused("bad predicate");
  insns[2].when.edge = 9, refused("bad predicate");
  insns[2].op = HONE_INSN_STORE, refused("cannot run it");
  insns[2].op = HONE_INSN_MATMUL, refused("cannot run it");
  insns[2].body = 1, refused("bad operands");
  insns[2].n = 1, refused("does not apply");
  insns[4].op = HONE_INSN_HALT, refused("halt not at the end");
  insns[0] = rest, insns[0].op = HONE_INSN_EXPECT, insns[2] = insns[0], refused("end without loop");
  bodies[0].read[0].arg = 2, refused("bad operands");
  bodies[0].read[0].inner[0] = 2, refused("bad operands");
  bodies[0].write.buffer = 1, refused("bad operands");
  bodies[0].write.stride[0] = -1, refused("bad operands");
  bodies[0].write.rank = 2, refused("bad operands");
  streams[1].count = 5, refused("outside every stream");
  streams[1].kind = HONE_STREAM_LOAD, refused("two streams for one unit");
  buffers[0].copies = 0, refused("bad buffer");
  buffers[0].base = INT64_MAX - 64, refused("bad buffer");
  semaphores[0].role = 4, refused("bad semaphore");
  p.ndims = 0, refused("bad number of dims");
}
END_TEST

START_TEST(listing)
{
  hone_text text = {0};
  make();
  hone_program_print(&p, &text);
  ck_assert_str_eq(text.data,
                   "program: 1 dims, 2 arguments, 2 streams, 62 bytes of microcode\n"
                   "buffer b0: t0 in memory 1, 2 x 64 bytes at 0\n"
                   "semaphore s0: present b0, initially 0\n"
                   "semaphore s1: free b0, initially 2\n"
                   "load0:\n"
                   "  loop r1 in r0 step 32\n"
                   "    wait s1 +1 rotate b0\n"
                   "    load dram t0[r1-3] bf16 -> b0[r1*1] bf16  ? new{0}\n"
                   "    signal s0 +1\n"
                   "  end\n"
                   "  halt\n"
                   "store0:\n"
                   "  loop r1 in r0 step 32\n"
                   "    wait s0 +1 rotate b0\n"
                   "    store b0[r1*1] bf16 -> dram t1[r1] bf16  ? new{0}\n"
                   "    signal s1 +1\n"
                   "  end\n"
                   "  halt\n");
  hone_text_fini(&text);
}
END_TEST

/* docs/microcode.md has a row for every instruction, with isa.def's words. */
START_TEST(documented)
{
  static const char *const rows[][2] = {
#define HONE_INSN(id, name, engines, timing, help) {name, help},
#include "backend/isa.def"
#undef HONE_INSN
  };
  char *text, row[256];
  size_t n;
  ck_assert_int_eq(hone_text_load(HONE_SRCDIR "/docs/microcode.md", 1 << 20, &text, &n, &err), HONE_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    snprintf(row, sizeof row, "| `%s` | ", rows[i][0]);
    const char *at = strstr(text, row);
    ck_assert_msg(at && strstr(at, rows[i][1]) && strstr(at, rows[i][1]) < strchr(at, '\n'), "%s is not as in isa.def", rows[i][0]);
  }
  free(text);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("program");
  TCase *t = tcase_create("format");
  tcase_add_test(t, there_and_back);
  tcase_add_test(t, structure_is_checked);
  tcase_add_test(t, listing);
  tcase_add_test(t, documented);
  suite_add_tcase(s, t);
  return unit_run(s);
}
