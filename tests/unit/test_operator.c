/* Operator texts: matmul and its options, versions of a tensor, expressions, and
 * every class of bad input (a small text with one edit each). */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/operator.h"
#include "unit/unit.h"

#define MATMUL HONE_SRCDIR "/spaces/matmul.yaml"

static hone_operator op;
static hone_err err;
static char file[64];

static void setup(void)
{
  hone_err_init(&err);
  snprintf(file, sizeof file, "test_operator_%ld.yaml", (long)getpid());
}

static void teardown(void) { unlink(file); }

static hone_status load_matmul(const hone_operator_option *options, int noptions, hone_format w)
{
  hone_size sizes[] = {{"m", 3}, {"n", 4}, {"k", 5}};
  hone_format_choice formats[] = {{NULL, HONE_FORMAT_BF16}, {"W", w}};
  return hone_operator_load(MATMUL, sizes, 3, formats, 2, options, noptions, &op, &err);
}

START_TEST(matmul_has_exact_work_and_bytes)
{
  int64_t v;
  ck_assert_msg(load_matmul(NULL, 0, HONE_FORMAT_BF16) == HONE_OK, "%s", err.message);
  ck_assert(op.ndims == 4 && op.ntensors == 3 && op.nstages == 1);
  ck_assert_int_eq(op.dim[0].extent, 1); /* the default of b */
  ck_assert_int_eq(op.stage[0].reduced, 1u << hone_operator_find_dim(&op, "k"));
  ck_assert_int_eq(op.stage[0].dims, 15);
  ck_assert(hone_stage_useful(&op, 0, &v) && v == 60);
  ck_assert(hone_tensor_compulsory(&op, hone_operator_find_tensor(&op, "X"), &v) && v == 30);
  ck_assert(hone_tensor_compulsory(&op, hone_operator_find_tensor(&op, "W"), &v) && v == 40);
  ck_assert(hone_tensor_compulsory(&op, hone_operator_find_tensor(&op, "Y"), &v) && v == 24);
  ck_assert_int_eq(hone_tensor_elements(&op, 1), 20);
  ck_assert_int_eq(hone_operator_writer(&op, 0), -1);
  ck_assert_int_eq(hone_operator_writer(&op, 2), 0);
  ck_assert_int_eq(op.tensor[1].nlayouts, 2);
  ck_assert(op.tensor[1].layout[1][1] == 2 && op.tensor[1].layout[1][2] == 1);
}
END_TEST

START_TEST(each_write_makes_a_version)
{
  hone_operator_option options[] = {{"bias", "row"}, {"activation", "gelu"}, {"residual", "add"}};
  static const char *const written[] = {"Y.product", "Y.bias", "Y.activation", "Y"};
  ck_assert_msg(load_matmul(options, 3, HONE_FORMAT_INT8) == HONE_OK, "%s", err.message);
  ck_assert(op.nstages == 4 && op.ntensors == 8);
  for (int s = 0; s < 4; s++) {
    int t = hone_operator_find_tensor(&op, written[s]);
    ck_assert_int_eq(op.stage[s].write.tensor, t);
    ck_assert_int_eq(hone_operator_writer(&op, t), s);
    ck_assert_int_eq(op.tensor[t].role, s == 3 ? HONE_ROLE_OUTPUT : HONE_ROLE_INTERMEDIATE);
    ck_assert_int_eq(op.tensor[t].format, s == 3 ? HONE_FORMAT_BF16 : HONE_FORMAT_FP32);
    if (s > 0) ck_assert_int_eq(op.stage[s].read[0].tensor, hone_operator_find_tensor(&op, written[s - 1]));
  }
  ck_assert_int_eq(op.tensor[1].format, HONE_FORMAT_INT8);
  ck_assert_int_eq(op.stage[0].accumulator, HONE_FORMAT_FP32); /* bf16 x int8: the wider kind */
  ck_assert_int_eq(op.stage[2].apply.function, HONE_FUNCTION_GELU);
  int64_t v;
  ck_assert(hone_tensor_compulsory(&op, 5, &v) && v == 0); /* an intermediate need not leave */
}
END_TEST

START_TEST(integers_accumulate_in_int32)
{
  hone_size sizes[] = {{"m", 3}, {"n", 4}, {"k", 5}};
  hone_format_choice formats[] = {{NULL, HONE_FORMAT_INT8}};
  hone_operator_option options[] = {{"activation", "relu"}};
  ck_assert_int_eq(hone_operator_load(MATMUL, sizes, 3, formats, 1, options, 1, &op, &err), HONE_OK);
  ck_assert_int_eq(op.stage[0].accumulator, HONE_FORMAT_INT32);
  ck_assert_int_eq(op.tensor[hone_operator_find_tensor(&op, "Y.product")].format, HONE_FORMAT_INT32);
  ck_assert_int_eq(op.tensor[hone_operator_find_tensor(&op, "Y")].format, HONE_FORMAT_INT8);
}
END_TEST

static const char small[] = "operator:\n"
                            "  name: small\n"
                            "  sizes: {m: {default: 6}, n: {default: 4}, k: {default: 8}}\n"
                            "  options: {extra: [none, add]}\n"
                            "  dims: {m: m, n: n, k: k}\n"
                            "  tensors:\n"
                            "    A: {role: input, axes: [m, k], format: dtype}\n"
                            "    B: {role: input, axes: [k, n], format: dtype}\n"
                            "    C: {role: output, axes: [m, n], format: dtype}\n"
                            "  stages:\n"
                            "    - {name: product, kind: contract, write: 'C[m,n]', read: ['A[m,k]', 'B[k,n]']}\n"
                            "    - {name: last, kind: map, function: relu, write: 'C[m,n]', read: ['C[m,n]']}\n";

static hone_status load_edited(const char *from, const char *to)
{
  const char *at = strstr(small, from);
  ck_assert_msg(at != NULL, "'%s' is not in the text", from);
  FILE *f = fopen(file, "w");
  ck_assert_ptr_nonnull(f);
  fprintf(f, "%.*s%s%s", (int)(at - small), small, to, at + strlen(from));
  ck_assert_int_eq(fclose(f), 0);
  hone_format_choice formats[] = {{NULL, HONE_FORMAT_BF16}};
  return hone_operator_load(file, NULL, 0, formats, 1, NULL, 0, &op, &err);
}

static const struct edit {
  const char *from, *to, *code, *path;
  hone_status status;
} edits[] = {
    {"name: small", "name: small\n  nam: x", "operator.unknown-field", "operator", HONE_INPUT},
    {"  dims: {m: m, n: n, k: k}\n", "", "operator.missing-field", "operator", HONE_INPUT},
    {"m: {default: 6}", "m: 6", "operator.type", "operator.sizes.m", HONE_INPUT},
    {"m: {default: 6}", "m: {}", "operator.missing-size", "operator.sizes.m", HONE_USAGE},
    {"default: 6", "default: 0", "operator.range", "operator.sizes.m.default", HONE_INPUT},
    {"{m: m, n: n, k: k}", "{m: mm, n: n, k: k}", "operator.unknown-name", "operator.dims.m", HONE_INPUT},
    {"{m: m, n: n, k: k}", "{m: m + , n: n, k: k}", "operator.expression", "operator.dims.m", HONE_INPUT},
    {"{m: m, n: n, k: k}", "{m: m - 6, n: n, k: k}", "operator.range", "operator.dims.m", HONE_INPUT},
    {"{m: m, n: n, k: k}", "{m: k / 3, n: n, k: k}", "operator.expression", "operator.dims.m", HONE_INPUT},
    {"{m: m, n: n, k: k}", "{m: 9223372036854775807 + m, n: n, k: k}", "operator.overflow", "operator.dims.m", HONE_OVERFLOW},
    {"{m: m, n: n, k: k}", "{m: m, n: n, k: k, z: 2}", "operator.unused", "operator.dims.z", HONE_INPUT},
    {"role: input", "role: in", "operator.unknown-word", "operator.tensors.A.role", HONE_INPUT},
    {"format: dtype", "format: bf61", "operator.unknown-format", "operator.tensors.A.format", HONE_INPUT},
    {"format: dtype}", "format: dtype, layouts: [[0, 0]]}", "operator.layout", "operator.tensors.A.layouts[0]", HONE_INPUT},
    {"format: dtype}", "format: dtype, when: {extra: ad}}", "operator.unknown-word", "operator.tensors.A.when.extra", HONE_INPUT},
    {"format: dtype}", "format: dtype, when: {extr: add}}", "operator.unknown-option", "operator.tensors.A.when.extr", HONE_INPUT},
    {"format: dtype}", "format: dtype, when: {extra: add}}", "operator.unknown-tensor", "operator.stages[0].read[0]", HONE_INPUT},
    {"axes: [m, k]", "axes: [m * 4611686018427387904, k]", "operator.overflow", "operator.tensors.A.axes[0]", HONE_OVERFLOW},
    {"axes: [m, k]", "axes: [1073741824 * 1073741824, k * 1073741824]", "operator.overflow", "operator.tensors.A", HONE_OVERFLOW},
    {"'A[m,k]'", "'A[m,k,k]'", "operator.rank", "operator.stages[0].read[0]", HONE_INPUT},
    {"'A[m,k]'", "'A[m,q]'", "operator.unknown-name", "operator.stages[0].read[0]", HONE_INPUT},
    {"'A[m,k]'", "'A[m*k,k]'", "operator.expression", "operator.stages[0].read[0]", HONE_INPUT},
    {"'A[m,k]'", "'A[n,n]'", "operator.access", "operator.stages[0].read[0]", HONE_INPUT},
    {"'A[m,k]'", "'A[m,9]'", "operator.outside", "operator.stages[0].read[0]", HONE_INPUT},
    {"axes: [m, k]", "axes: [m - 1, k]", "operator.outside", "operator.stages[0].read[0]", HONE_INPUT},
    {"'A[m,k]'", "'C[m,k]'", "operator.order", "operator.stages[0].read[0]", HONE_INPUT},
    {"write: 'C[m,n]'", "write: 'A[m,n]'", "operator.role", "operator.stages[0].write", HONE_INPUT},
    {"C: {role: output, axes: [m, n]", "C: {role: output, axes: [m, n + 1]", "operator.partial-write",
     "operator.stages[0].write", HONE_INPUT},
    {"kind: contract", "kind: contact", "operator.unknown-word", "operator.stages[0].kind", HONE_INPUT},
    {"function: relu", "function: rel", "operator.unknown-word", "operator.stages[1].function", HONE_INPUT},
    {"function: relu", "function: add", "operator.arity", "operator.stages[1]", HONE_INPUT},
    {"read: ['C[m,n]']", "read: ['B[k,n]']", "operator.unused", "operator.stages[0]", HONE_INPUT},
    {"name: last", "name: product", "operator.name", "operator.stages[1]", HONE_INPUT},
    /* beyond what the rooms handle */
    {"kind: contract", "kind: online", "operator.unsupported", "operator.stages[0]", HONE_UNSUPPORTED},
    {"'A[m,k]'", "'A[m,2*k]'", "operator.unsupported", "operator.stages[0].read[0]", HONE_UNSUPPORTED},
    {"'A[m,k]'", "'A[m,k+1]'", "operator.unsupported", "operator.stages[0].read[0]", HONE_UNSUPPORTED},
    {"'A[m,k]'", "'A[m,k+n]'", "operator.unsupported", "operator.stages[0].read[0]", HONE_UNSUPPORTED},
    {"'A[m,k]'", "'A[B[k,n],k]'", "operator.table", "operator.stages[0]", HONE_INPUT},
    {"kind: contract", "kind: contract, guard: ['m >= k']", "operator.unsupported", "operator.stages[0]", HONE_UNSUPPORTED},
    {"kind: contract", "kind: contract, guard: ['m > k']", "operator.expression", "operator.stages[0].guard[0]", HONE_INPUT},
    {"{m: m, n: n, k: k}", "{m: {extent: m, sequential: true}, n: n, k: k}", "operator.unsupported", "operator.dims.m", HONE_UNSUPPORTED},
    {"role: input", "role: state", "operator.unsupported", "operator.tensors.A", HONE_UNSUPPORTED},
};

START_TEST(bad_texts_are_refused_with_code_and_path)
{
  const struct edit *e = &edits[_i];
  hone_status s = load_edited(e->from, e->to);
  ck_assert_msg(s == e->status && strcmp(err.code, e->code) == 0 && strcmp(err.path, e->path) == 0, "%s -> %s: %s %s at %s: %s",
                e->from, e->to, hone_status_name(s), err.code, err.path, err.message);
}
END_TEST

static const struct {
  const char *text;
  int64_t value; /* m = 6, n = 4, k = 8 */
} expressions[] = {
    {"m + n * k", 38}, {"(m + n) * k", 80}, {"m - n - 1", 1}, {"k / n", 2}, {"ceildiv(k, m)", 2}, {"ceildiv(m, m) * 3", 3},
    {"--m", 6},        {" 7 ", 7},          {"k*2/4", 4},     {"m-(-n)", 10},
};

START_TEST(extents_are_expressions)
{
  char dims[128];
  snprintf(dims, sizeof dims, "{m: m, n: n, k: k, z: '%s'}", expressions[_i].text);
  /* z is in no stage, which is refused after its extent was read */
  ck_assert_int_eq(load_edited("{m: m, n: n, k: k}", dims), HONE_INPUT);
  ck_assert_str_eq(err.code, "operator.unused");
  snprintf(dims, sizeof dims, "axes: ['%s', k]", expressions[_i].text);
  hone_status s = load_edited("axes: [m, k]", dims);
  if (expressions[_i].value >= 6) {
    ck_assert_msg(s == HONE_OK, "%s: %s", expressions[_i].text, err.message);
    ck_assert_int_eq(op.tensor[0].extent[0], expressions[_i].value);
  } else {
    char last[64];
    snprintf(last, sizeof last, "outside 0..%d", (int)expressions[_i].value - 1);
    ck_assert_msg(strstr(err.message, last) != NULL, "%s: %s", expressions[_i].text, err.message);
  }
}
END_TEST

START_TEST(compulsory_counts_the_union_of_reads)
{
  /* Row 0 and row 5 of A are read by name, and all of it by the product. */
  int64_t v;
  ck_assert_msg(load_edited("read: ['C[m,n]']", "read: ['C[m,n]']") == HONE_OK, "%s", err.message);
  ck_assert(hone_tensor_compulsory(&op, 0, &v) && v == 96);
  ck_assert_msg(load_edited("'A[m,k]'", "'A[0,k]'") == HONE_OK, "%s", err.message);
  ck_assert(hone_tensor_compulsory(&op, 0, &v) && v == 16);
  ck_assert_msg(load_edited("read: ['A[m,k]', 'B[k,n]']", "read: ['A[0,k]', 'A[5,k]']") == HONE_INPUT, "%s", err.message);
  ck_assert_str_eq(err.code, "operator.unused"); /* B */
  ck_assert_msg(load_edited("    B: {role: input, axes: [k, n], format: dtype}\n", "") == HONE_INPUT, "%s", err.message);
}
END_TEST

START_TEST(two_rows_of_one_input_count_twice)
{
  static const char text[] = "operator:\n"
                             "  name: rows\n"
                             "  sizes: {k: {default: 8}}\n"
                             "  dims: {k: k}\n"
                             "  tensors:\n"
                             "    A: {role: input, axes: [6, k + 1], format: int8}\n"
                             "    C: {role: output, axes: [k], format: int8}\n"
                             "  stages:\n"
                             "    - {name: a, kind: map, function: add, write: 'C[k]', read: ['A[0,k]', 'A[5,k]']}\n"
                             "    - {name: b, kind: map, function: add, write: 'C[k]', read: ['C[k]', 'A[5,k]']}\n";
  int64_t v;
  FILE *f = fopen(file, "w");
  ck_assert_ptr_nonnull(f);
  fputs(text, f);
  fclose(f);
  ck_assert_msg(hone_operator_load(file, NULL, 0, NULL, 0, NULL, 0, &op, &err) == HONE_OK, "%s", err.message);
  ck_assert(hone_tensor_compulsory(&op, 0, &v) && v == 16); /* of 54 */
}
END_TEST

#define GATHER(indices, rows, stage)                               \
  "operator:\n  name: gather\n  sizes: {t: {default: 5}, w: {default: 7}}\n" \
  "  dims: {t: t, w: w}\n  tensors:\n"                              \
  "    I: {role: input, axes: [t], " indices "}\n"                 \
  "    E: {role: input, axes: [100, w], format: int8" rows "}\n"   \
  "    Y: {role: output, axes: [t, w], format: int8}\n  stages:\n" \
  "    - {name: a, kind: map, write: 'Y[t,w]', " stage "}\n"

static hone_status load_text(const char *text)
{
  FILE *f = fopen(file, "w");
  ck_assert_ptr_nonnull(f);
  fputs(text, f);
  fclose(f);
  return hone_operator_load(file, NULL, 0, NULL, 0, NULL, 0, &op, &err);
}

START_TEST(a_gathered_tensor_is_a_view)
{
  int64_t v;
  ck_assert_msg(load_text(GATHER("format: int32", "", "function: copy, read: ['E[I[t],w]']")) == HONE_OK, "%s", err.message);
  ck_assert_int_eq(op.ntensors, 2); /* the table is bound with E */
  const hone_tensor *e = &op.tensor[hone_operator_find_tensor(&op, "E")];
  ck_assert(e->rank == 2 && e->extent[0] == 5 && e->extent[1] == 7 && e->scattered == 1);
  ck_assert(hone_tensor_compulsory(&op, hone_operator_find_tensor(&op, "E"), &v) && v == 35);
  hone_hash gathered = hone_operator_hash(&op);
  ck_assert_msg(load_text("operator:\n  name: plain\n  sizes: {t: {default: 5}, w: {default: 7}}\n  dims: {t: t, w: w}\n  tensors:\n"
                          "    E: {role: input, axes: [t, w], format: int8}\n    Y: {role: output, axes: [t, w], format: int8}\n"
                          "  stages:\n    - {name: a, kind: map, write: 'Y[t,w]', function: copy, read: ['E[t,w]']}\n") == HONE_OK,
                "%s", err.message);
  hone_hash dense = hone_operator_hash(&op);
  ck_assert(memcmp(&gathered, &dense, sizeof dense) != 0);
}
END_TEST

static const struct {
  const char *text, *code;
} bad_tables[] = {
    {GATHER("format: bf16", "", "function: copy, read: ['E[I[t],w]']"), "operator.table"},
    {GATHER("format: int32", "", "function: copy, read: ['E[I[0],w]']"), "operator.table"},
    {GATHER("format: int32", "", "function: add, read: ['E[I[t],w]', 'E[1,w]']"), "operator.table"},
    {GATHER("format: int32", "", "function: add, read: ['E[I[t],w]', 'I[t]']"), "operator.table"},
    {GATHER("format: int32", ", layouts: [[0, 1], [1, 0]]", "function: copy, read: ['E[I[t],w]']"), "operator.layout"},
    {GATHER("format: int32", "", "function: copy, read: ['E[w,I[t]]']"), "operator.layout"},
    {GATHER("format: int32", "", "function: copy, read: ['E[I[t],t]']"), "operator.access"},
};

START_TEST(a_bad_index_table_is_refused)
{
  ck_assert_int_eq(load_text(bad_tables[_i].text), HONE_INPUT);
  ck_assert_msg(strcmp(err.code, bad_tables[_i].code) == 0, "%s: %s", err.code, err.message);
}
END_TEST

START_TEST(what_was_asked_for_must_exist)
{
  hone_size sizes[] = {{"m", 3}, {"n", 4}, {"kk", 5}};
  hone_format_choice formats[] = {{NULL, HONE_FORMAT_BF16}, {"V", HONE_FORMAT_INT8}, {"B", HONE_FORMAT_INT8}};
  hone_operator_option options[] = {{"bais", "row"}, {"bias", "rwo"}};
  ck_assert_int_eq(hone_operator_load(MATMUL, sizes, 3, formats, 1, NULL, 0, &op, &err), HONE_USAGE);
  ck_assert_str_eq(err.code, "operator.unknown-size");
  ck_assert_ptr_nonnull(strstr(err.hint, "'k'"));
  sizes[2].name = "k";
  ck_assert_int_eq(hone_operator_load(MATMUL, sizes, 2, formats, 1, NULL, 0, &op, &err), HONE_USAGE);
  ck_assert_str_eq(err.code, "operator.missing-size");
  ck_assert_str_eq(err.path, "operator.sizes.k");
  ck_assert_int_eq(hone_operator_load(MATMUL, sizes, 3, formats, 2, NULL, 0, &op, &err), HONE_USAGE);
  ck_assert_str_eq(err.code, "operator.unknown-tensor");
  formats[1].tensor = "B";
  ck_assert_int_eq(hone_operator_load(MATMUL, sizes, 3, formats, 2, NULL, 0, &op, &err), HONE_USAGE);
  ck_assert_str_eq(err.code, "operator.unused-tensor");
  ck_assert_int_eq(hone_operator_load(MATMUL, sizes, 3, NULL, 0, NULL, 0, &op, &err), HONE_USAGE);
  ck_assert_str_eq(err.code, "operator.missing-format");
  ck_assert_int_eq(hone_operator_load(MATMUL, sizes, 3, formats, 1, options, 1, &op, &err), HONE_USAGE);
  ck_assert_str_eq(err.code, "operator.unknown-option");
  ck_assert_int_eq(hone_operator_load(MATMUL, sizes, 3, formats, 1, options + 1, 1, &op, &err), HONE_INPUT);
  ck_assert_str_eq(err.code, "operator.unknown-word");
  ck_assert_ptr_nonnull(strstr(err.hint, "row"));
  sizes[2].value = 0;
  ck_assert_int_eq(hone_operator_load(MATMUL, sizes, 3, formats, 1, NULL, 0, &op, &err), HONE_USAGE);
  ck_assert_str_eq(err.code, "operator.range");
}
END_TEST

START_TEST(names_are_no_part_of_the_identity)
{
  ck_assert_msg(load_edited("name: small", "name: small") == HONE_OK, "%s", err.message);
  hone_hash a = hone_operator_hash(&op);
  ck_assert_int_eq(load_edited("name: product", "name: produce"), HONE_OK);
  ck_assert_int_eq(hone_hash_cmp(a, hone_operator_hash(&op)), 0);
  ck_assert_int_eq(load_edited("default: 6", "default: 7"), HONE_OK);
  ck_assert_int_ne(hone_hash_cmp(a, hone_operator_hash(&op)), 0);
  ck_assert_int_eq(load_edited("format: dtype", "format: fp16"), HONE_OK);
  ck_assert_int_ne(hone_hash_cmp(a, hone_operator_hash(&op)), 0);
  hone_text t = {0};
  hone_operator_print(&op, &t);
  ck_assert_ptr_nonnull(strstr(t.data, "stage contract fp32 t3[1*d0,1*d1] = t0[1*d0,1*d2] t1[1*d2,1*d1]\n"));
  hone_text_fini(&t);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("operator");
  TCase *t = tcase_create("operator");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, matmul_has_exact_work_and_bytes);
  tcase_add_test(t, each_write_makes_a_version);
  tcase_add_test(t, integers_accumulate_in_int32);
  tcase_add_loop_test(t, bad_texts_are_refused_with_code_and_path, 0, (int)(sizeof edits / sizeof *edits));
  tcase_add_loop_test(t, extents_are_expressions, 0, (int)(sizeof expressions / sizeof *expressions));
  tcase_add_test(t, compulsory_counts_the_union_of_reads);
  tcase_add_test(t, two_rows_of_one_input_count_twice);
  tcase_add_test(t, a_gathered_tensor_is_a_view);
  tcase_add_loop_test(t, a_bad_index_table_is_refused, 0, (int)(sizeof bad_tables / sizeof *bad_tables));
  tcase_add_test(t, what_was_asked_for_must_exist);
  tcase_add_test(t, names_are_no_part_of_the_identity);
  suite_add_tcase(s, t);
  return unit_run(s);
}
