/* Model files: shapes, counts and bytes against formulas written out by hand;
 * every class of bad input. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/model_config.h"
#include "unit/unit.h"

#define MODELS HONE_SRCDIR "/data/models/"

static const hone_model_formats bf16 = {HONE_FORMAT_BF16, HONE_FORMAT_BF16, HONE_FORMAT_BF16};
static hone_model_config c;
static hone_model_list list;
static hone_model_memory memory;
static hone_err err;
static char file[64];

static void setup(void)
{
  hone_err_init(&err);
  snprintf(file, sizeof file, "test_model_%ld.json", (long)getpid());
}

static void teardown(void) { unlink(file); }

static const hone_model_item *item(const char *role)
{
  for (int i = 0; i < list.n; i++)
    if (strcmp(list.item[i].role, role) == 0) return &list.item[i];
  ck_abort_msg("no item '%s'", role);
  return NULL;
}

static int64_t size(const hone_model_item *x, const char *name)
{
  for (int i = 0; i < x->nsizes; i++)
    if (strcmp(x->size[i].name, name) == 0) return x->size[i].value;
  ck_abort_msg("'%s' has no size '%s'", x->role, name);
  return -1;
}

static void check_matmul(const char *role, int64_t count, int64_t m, int64_t n, int64_t k)
{
  const hone_model_item *x = item(role);
  ck_assert_str_eq(x->operator_name, "matmul");
  ck_assert(x->supported && x->count == count && size(x, "m") == m && size(x, "n") == n && size(x, "k") == k);
}

static void load(const char *path)
{
  ck_assert_msg(hone_model_config_load(path, &c, &err) == HONE_OK, "%s: %s", err.path, err.message);
}

START_TEST(llama_3_8b_prefill)
{
  load(MODELS "llama-3-8b.json");
  ck_assert_int_eq(hone_model_operators(&c, HONE_PHASE_PREFILL, 2, 2048, &bf16, &list, &err), HONE_OK);
  check_matmul("q_proj, o_proj", 64, 4096, 4096, 4096);
  check_matmul("k_proj, v_proj", 64, 4096, 1024, 4096);
  check_matmul("gate_proj, up_proj", 64, 4096, 14336, 4096);
  check_matmul("down_proj", 32, 4096, 4096, 14336);
  check_matmul("lm_head", 1, 2, 128256, 4096);
  const hone_model_item *a = item("attention");
  ck_assert(!a->supported && a->count == 32 && a->reason[0] != '\0');
  ck_assert(size(a, "queries") == 2048 && size(a, "keys") == 2048 && size(a, "kv_heads") == 8 && size(a, "head_dim") == 128);
  ck_assert_int_eq(item("input, post-attention and final norm")->count, 65);
  ck_assert_int_eq(size(item("embed_tokens"), "tokens"), 4096);
  int supported = 0;
  for (int i = 0; i < list.n; i++)
    supported += list.item[i].supported;
  ck_assert_int_eq(supported, 5);
}
END_TEST

START_TEST(llama_3_8b_decode)
{
  load(MODELS "llama-3-8b.json");
  ck_assert_int_eq(hone_model_operators(&c, HONE_PHASE_DECODE, 16, 4096, &bf16, &list, &err), HONE_OK);
  check_matmul("q_proj, o_proj", 64, 16, 4096, 4096);
  check_matmul("lm_head", 1, 16, 128256, 4096);
  const hone_model_item *a = item("attention");
  ck_assert_str_eq(a->operator_name, "attention_decode");
  ck_assert(size(a, "queries") == 1 && size(a, "keys") == 4096 && size(a, "batch") == 16);
}
END_TEST

/* Every multiply-add of the matmuls: one per weight and token, the head's for the last token only. */
START_TEST(matmuls_account_for_every_weight)
{
  static const char *const names[] = {"llama-3-8b", "llama-3-70b", "llama-3.1-405b"};
  char path[512];
  snprintf(path, sizeof path, "%s%s.json", MODELS, names[_i]);
  load(path);
  ck_assert_int_eq(hone_model_operators(&c, HONE_PHASE_DECODE, 1, 128, &bf16, &list, &err), HONE_OK);
  ck_assert_int_eq(hone_model_memory_count(&c, 1, 128, &bf16, &memory, &err), HONE_OK);
  int64_t weights = 0;
  for (int i = 0; i < list.n; i++)
    if (list.item[i].supported)
      weights += list.item[i].count * size(&list.item[i], "m") * size(&list.item[i], "n") * size(&list.item[i], "k");
  int64_t norms = (2 * c.layers + 1) * c.hidden, embedding = c.vocabulary * c.hidden;
  ck_assert_int_eq(weights + norms + embedding, memory.parameters);
}
END_TEST

START_TEST(parameters_and_bytes)
{
  static const struct {
    const char *name;
    int64_t parameters, per_token;
  } rows[] = {{"llama-3-8b", 8030261248, 131072}, {"llama-3-70b", 70553706496, 327680}, {"llama-3.1-405b", 405853388800, 516096}};
  char path[512];
  snprintf(path, sizeof path, "%s%s.json", MODELS, rows[_i].name);
  load(path);
  ck_assert_int_eq(hone_model_memory_count(&c, 4, 1000, &bf16, &memory, &err), HONE_OK);
  ck_assert_int_eq(memory.parameters, rows[_i].parameters);
  ck_assert_int_eq(memory.weight_bytes, 2 * rows[_i].parameters);
  ck_assert_int_eq(memory.cache_bytes_per_token, rows[_i].per_token); /* 2 x layers x 8 x 128 x 2 B */
  ck_assert_int_eq(memory.cache_bytes, 4000 * rows[_i].per_token);
  ck_assert_int_eq(memory.total_bytes, memory.weight_bytes + memory.cache_bytes);
}
END_TEST

START_TEST(the_deficit_is_what_does_not_fit)
{
  hone_machine m;
  load(MODELS "llama-3-8b.json");
  ck_assert_int_eq(hone_machine_load(HONE_SRCDIR "/data/machines/trainium2-core.yaml", &m, &err), HONE_OK);
  ck_assert_int_eq(hone_model_memory_count(&c, 1, 1, &bf16, &memory, &err), HONE_OK);
  ck_assert_int_eq(hone_model_memory_deficit(&memory, &m), INT64_C(16060522496) + 131072 - (INT64_C(12) << 30));
  hone_model_formats fp8 = {HONE_FORMAT_BF16, HONE_FORMAT_FP8E4M3, HONE_FORMAT_FP8E4M3};
  ck_assert_int_eq(hone_model_memory_count(&c, 1, 1, &fp8, &memory, &err), HONE_OK);
  ck_assert_int_eq(memory.weight_bytes, 8030261248);
  ck_assert_int_eq(hone_model_memory_deficit(&memory, &m), 0);
}
END_TEST

START_TEST(items_load_as_operators)
{
  hone_model_formats mixed = {HONE_FORMAT_BF16, HONE_FORMAT_INT8, HONE_FORMAT_BF16};
  hone_operator op;
  load(MODELS "llama-3-8b.json");
  c.attention_bias = true;
  ck_assert_int_eq(hone_model_operators(&c, HONE_PHASE_DECODE, 1, 128, &mixed, &list, &err), HONE_OK);
  const hone_model_item *x = item("q_proj, o_proj");
  ck_assert_msg(hone_operator_load(HONE_SRCDIR "/spaces/matmul.yaml", x->size, x->nsizes, x->format, x->nformats, x->option,
                                   x->noptions, &op, &err) == HONE_OK, "%s", err.message);
  ck_assert_int_eq(op.nstages, 2);
  ck_assert_int_eq(op.tensor[hone_operator_find_tensor(&op, "W")].format, HONE_FORMAT_INT8);
  ck_assert_int_eq(op.tensor[hone_operator_find_tensor(&op, "X")].format, HONE_FORMAT_BF16);
  ck_assert_int_eq(item("down_proj")->noptions, 0);
}
END_TEST

static void write_config(const char *architecture, const char *more)
{
  FILE *f = fopen(file, "w");
  ck_assert_ptr_nonnull(f);
  fprintf(f,
          "{\n\"architectures\": [\"%s\"],\n\"hidden_size\": 512,\n\"intermediate_size\": 1000,\n"
          "\"num_hidden_layers\": 3,\n\"num_attention_heads\": 8,\n\"vocab_size\": 100%s%s\n}\n",
          architecture, *more ? ",\n" : "", more);
  ck_assert_int_eq(fclose(f), 0);
}

START_TEST(absent_keys_have_the_defaults_of_the_family)
{
  write_config("LlamaForCausalLM", "");
  load(file);
  ck_assert(c.kv_heads == 8 && c.head_dim == 64 && !c.tied_embeddings && !c.attention_bias && !c.mlp_bias);
  ck_assert_int_eq(c.format, HONE_FORMAT_BF16);
  ck_assert_int_eq(hone_model_operators(&c, HONE_PHASE_DECODE, 1, 16, &bf16, &list, &err), HONE_OK);
  check_matmul("q_proj, k_proj, v_proj, o_proj", 12, 1, 512, 512);
  ck_assert_int_eq(item("rotary q, rotary k")->count, 6);
}
END_TEST

START_TEST(present_keys_are_honoured)
{
  write_config("MistralForCausalLM", "\"head_dim\": 32, \"num_key_value_heads\": 2, \"tie_word_embeddings\": true,\n"
                                     "\"attention_bias\": true, \"mlp_bias\": true, \"torch_dtype\": \"float16\", \"sliding_window\": null");
  load(file);
  ck_assert_int_eq(c.format, HONE_FORMAT_FP16);
  ck_assert_int_eq(hone_model_operators(&c, HONE_PHASE_PREFILL, 1, 16, &bf16, &list, &err), HONE_OK);
  check_matmul("q_proj", 3, 16, 256, 512);
  check_matmul("o_proj", 3, 16, 512, 256);
  check_matmul("k_proj, v_proj", 6, 16, 64, 512);
  ck_assert(item("q_proj")->noptions == 1 && item("down_proj")->noptions == 1 && item("lm_head")->noptions == 0);
  ck_assert_int_eq(hone_model_memory_count(&c, 1, 1, &bf16, &memory, &err), HONE_OK);
  int64_t attention = 512 * 256 * 2 + 512 * 64 * 2 + 256 + 64 * 2 + 512, mlp = 3 * 512 * 1000 + 2 * 1000 + 512;
  ck_assert_int_eq(memory.parameters, 3 * (attention + mlp + 2 * 512) + 100 * 512 + 512);
}
END_TEST

static const struct {
  const char *architecture, *more, *code, *path;
  hone_status status;
  const char *hint;
} bad[] = {
    {"MixtralForCausalLM", "\"num_local_experts\": 8", "model.unsupported", "architectures", HONE_UNSUPPORTED, "MistralForCausalLM"},
    {"LlamaForCausalLM", "\"num_experts\": 4", "model.unsupported", "num_experts", HONE_UNSUPPORTED, ""},
    {"MistralForCausalLM", "\"sliding_window\": 4096", "model.unsupported", "sliding_window", HONE_UNSUPPORTED, ""},
    {"LlamaForCausalLM", "\"num_key_value_head\": 2", "model.unknown-key", "num_key_value_head", HONE_UNSUPPORTED, "num_key_value_heads"},
    {"LlamaForCausalLM", "\"hidden_act\": \"gelu\"", "model.unsupported", "hidden_act", HONE_UNSUPPORTED, ""},
    {"LlamaForCausalLM", "\"torch_dtype\": \"float8\"", "model.unsupported", "torch_dtype", HONE_UNSUPPORTED, "bfloat16"},
    {"LlamaForCausalLM", "\"num_key_value_heads\": 3", "model.range", "num_key_value_heads", HONE_INPUT, ""},
    {"LlamaForCausalLM", "\"num_key_value_heads\": 0", "model.range", "num_key_value_heads", HONE_INPUT, ""},
    {"LlamaForCausalLM", "\"head_dim\": \"64\"", "model.type", "head_dim", HONE_INPUT, ""},
    {"LlamaForCausalLM", "\"head_dim\": 99999999999", "model.range", "head_dim", HONE_INPUT, ""},
    {"LlamaForCausalLM", "\"mlp_bias\": 1", "model.type", "mlp_bias", HONE_INPUT, ""},
    {"LlamaForCausalLM", "\"vocab_size\": 200", "model.syntax", "", HONE_INPUT, ""}, /* a duplicate */
    {"LlamaForCausalLM", "\"head_dim\": ", "model.syntax", "", HONE_INPUT, ""},
};

START_TEST(bad_files_are_refused)
{
  write_config(bad[_i].architecture, bad[_i].more);
  hone_status s = hone_model_config_load(file, &c, &err);
  ck_assert_msg(s == bad[_i].status && strcmp(err.code, bad[_i].code) == 0 && strcmp(err.path, bad[_i].path) == 0,
                "%s: %s %s at %s: %s", bad[_i].more, hone_status_name(s), err.code, err.path, err.message);
  ck_assert_ptr_nonnull(strstr(err.hint, bad[_i].hint));
  ck_assert_int_gt(err.line, 0);
  if (strcmp(bad[_i].path, "architectures") == 0) ck_assert_ptr_nonnull(strstr(err.message, "num_local_experts"));
  if (strcmp(bad[_i].path, "num_experts") == 0) ck_assert_int_eq(err.line, 8);
}
END_TEST

START_TEST(missing_keys_and_absurd_requests_are_refused)
{
  FILE *f = fopen(file, "w");
  ck_assert_ptr_nonnull(f);
  fputs("{\"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 64}\n", f);
  fclose(f);
  ck_assert_int_eq(hone_model_config_load(file, &c, &err), HONE_INPUT);
  ck_assert_str_eq(err.code, "model.missing-key");
  ck_assert_str_eq(err.path, "intermediate_size");
  ck_assert_int_eq(hone_model_config_load("no-such-file.json", &c, &err), HONE_IO);
  load(MODELS "llama-3-8b.json");
  ck_assert_int_eq(hone_model_operators(&c, HONE_PHASE_DECODE, 0, 16, &bf16, &list, &err), HONE_USAGE);
  ck_assert_int_eq(hone_model_operators(&c, HONE_PHASE_PREFILL, INT64_C(1) << 40, INT64_C(1) << 40, &bf16, &list, &err), HONE_OVERFLOW);
  ck_assert_int_eq(hone_model_memory_count(&c, INT64_C(1) << 30, INT64_C(1) << 30, &bf16, &memory, &err), HONE_OVERFLOW);
}
END_TEST

START_TEST(phases_have_names)
{
  hone_phase p;
  ck_assert(hone_phase_find("decode", &p) && p == HONE_PHASE_DECODE);
  ck_assert(!hone_phase_find("train", &p));
  ck_assert_str_eq(hone_phase_name(HONE_PHASE_PREFILL), "prefill");
}
END_TEST

int main(void)
{
  Suite *s = suite_create("model_config");
  TCase *t = tcase_create("model_config");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, llama_3_8b_prefill);
  tcase_add_test(t, llama_3_8b_decode);
  tcase_add_loop_test(t, matmuls_account_for_every_weight, 0, 3);
  tcase_add_loop_test(t, parameters_and_bytes, 0, 3);
  tcase_add_test(t, the_deficit_is_what_does_not_fit);
  tcase_add_test(t, items_load_as_operators);
  tcase_add_test(t, absent_keys_have_the_defaults_of_the_family);
  tcase_add_test(t, present_keys_are_honoured);
  tcase_add_loop_test(t, bad_files_are_refused, 0, (int)(sizeof bad / sizeof *bad));
  tcase_add_test(t, missing_keys_and_absurd_requests_are_refused);
  tcase_add_test(t, phases_have_names);
  suite_add_tcase(s, t);
  return unit_run(s);
}
