/* Machine and operator texts with random damage: loading ends in a value
 * or in a diagnostic with a code, never in a crash; what loads prints and hashes. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "ir/machine.h"
#include "ir/operator.h"
#include "lib/case_count.h"
#include "unit/unit.h"

enum { CASES = 1500 };

static hone_err err;
static char file[64];

static hone_status load_machine(void)
{
  static hone_machine m;
  hone_text t = {0};
  hone_status s = hone_machine_load(file, &m, &err);
  if (s == HONE_OK) hone_machine_print(&m, &t);
  hone_text_fini(&t);
  return s;
}

static hone_status load_operator(void)
{
  static hone_operator op;
  hone_size sizes[] = {{"m", 100}, {"n", 200}, {"k", 300}};
  hone_format_choice formats[] = {{NULL, HONE_FORMAT_BF16}};
  hone_text t = {0};
  hone_status s = hone_operator_load(file, sizes, 3, formats, 1, NULL, 0, &op, &err);
  if (s == HONE_OK) hone_operator_print(&op, &t);
  for (int i = 0; s == HONE_OK && i < op.ntensors; i++) {
    int64_t bytes;
    ck_assert(hone_tensor_compulsory(&op, i, &bytes) && bytes <= hone_format_bytes(op.tensor[i].format, hone_tensor_elements(&op, i)));
  }
  hone_text_fini(&t);
  return s;
}

static const struct {
  const char *path;
  hone_status (*load)(void);
} texts[] = {
    {HONE_SRCDIR "/data/machines/teaching.yaml", load_machine},
    {HONE_SRCDIR "/spaces/matmul.yaml", load_operator},
};

/* One to three edits: a byte changed, a range dropped, a range copied elsewhere. */
static void damage(hone_rng *r, const char *text, size_t n, hone_text *out)
{
  static const char bytes[] = "[]{}:,-+*/()\"' \n#09azAZ_<>=\\";
  hone_text_clear(out);
  hone_text_add_bytes(out, text, n);
  for (int64_t k = hone_rng_below(r, 3); k >= 0; k--) {
    size_t at = (size_t)hone_rng_below(r, (int64_t)out->length - 16), length = 1 + (size_t)hone_rng_below(r, 12);
    size_t from = (size_t)hone_rng_below(r, (int64_t)out->length - 16);
    switch (hone_rng_below(r, 3)) {
    case 0:
      out->data[at] = bytes[hone_rng_below(r, (int64_t)sizeof bytes - 1)];
      break;
    case 1:
      memmove(out->data + at, out->data + at + length, out->length - at - length + 1);
      out->length -= length;
      break;
    default:
      memmove(out->data + at, out->data + from, length);
      break;
    }
  }
}

START_TEST(damaged_texts_are_loaded_or_refused)
{
  char *text;
  size_t n;
  hone_text damaged = {0};
  hone_rng all, r;
  int loaded = 0, refused = 0;
  snprintf(file, sizeof file, "test_ir_texts_%ld.yaml", (long)getpid());
  ck_assert_int_eq(hone_text_load(texts[_i].path, 1 << 20, &text, &n, &err), HONE_OK);
  hone_rng_init(&all, 20);
  for (int i = 0; i < case_count(CASES); i++) {
    hone_rng_split(&all, (uint64_t)i, &r);
    damage(&r, text, n, &damaged);
    FILE *f = fopen(file, "w");
    ck_assert_ptr_nonnull(f);
    fwrite(damaged.data, 1, damaged.length, f);
    fclose(f);
    hone_err_init(&err);
    hone_status s = texts[_i].load();
    ck_assert_msg(s == HONE_OK || (err.code[0] && err.message[0]), "case %d of seed 20: no diagnostic", i);
    loaded += s == HONE_OK;
    refused += s != HONE_OK;
  }
  ck_assert(loaded > 0 && refused > case_count(CASES) / 4);
  unlink(file);
  hone_text_fini(&damaged);
  free(text);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("ir_texts");
  TCase *t = tcase_create("ir_texts");
  unit_timeout(t, 60);
  tcase_add_loop_test(t, damaged_texts_are_loaded_or_refused, 0, 2);
  suite_add_tcase(s, t);
  return unit_run(s);
}
