/* Model files: what each key does, every class of bad input, and the keys of real
 * files of each family. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/model_unit.h"
#include "unit/unit.h"

static char file[64];

static void setup(void)
{
  hone_err_init(&err);
  snprintf(file, sizeof file, "test_model_%ld.json", (long)getpid());
}

static void teardown(void) { unlink(file); }

static void write_config_of(int layers, const char *architecture, const char *more)
{
  FILE *f = fopen(file, "w");
  ck_assert_ptr_nonnull(f);
  fprintf(f,
          "{\n\"architectures\": [\"%s\"],\n\"hidden_size\": 512,\n\"intermediate_size\": 1000,\n"
          "\"num_hidden_layers\": %d,\n\"num_attention_heads\": 8,\n\"vocab_size\": 100%s%s\n}\n",
          architecture, layers, *more ? ",\n" : "", more);
  ck_assert_int_eq(fclose(f), 0);
}

static void write_config(const char *architecture, const char *more) { write_config_of(3, architecture, more); }

START_TEST(absent_keys_have_the_defaults_of_the_family)
{
  write_config("LlamaForCausalLM", "");
  load(file);
  ck_assert(c.kv_heads == 8 && c.head_dim == 64 && !c.tied_embeddings && !c.qkv_bias && !c.o_bias && !c.mlp_bias);
  ck_assert(c.window == 0 && c.moe_layers == 0 && c.nnotes == 0);
  ck_assert_int_eq(c.format, HONE_FORMAT_BF16);
  list_of(request(HONE_PHASE_DECODE, 1, 16));
  check_matmul("q_proj, k_proj, v_proj, o_proj", 12, 1, 512, 512);
  ck_assert_int_eq(item("rotary q, rotary k")->count, 6);
  write_config("MistralForCausalLM", "");
  load(file);
  ck_assert(c.window == 4096 && c.window_layers == 3);
  write_config("GemmaForCausalLM", "\"hidden_activation\": null, \"hidden_act\": \"gelu\"");
  load(file);
  ck_assert(c.tied_embeddings && c.head_dim == 256 && c.scaled_embedding && strcmp(c.gate, "gelu") == 0);
  write_config("Qwen2ForCausalLM", "");
  load(file);
  ck_assert(c.qkv_bias && !c.o_bias && c.window == 0);
  write_config("GptOssForCausalLM", "\"num_local_experts\": 8");
  load(file);
  ck_assert(c.qkv_bias && c.o_bias && c.kv_heads == 8 && c.top_k == 4);
  write_config("GptOssForCausalLM", "\"num_local_experts\": 8, \"attention_bias\": false");
  load(file);
  ck_assert(!c.qkv_bias && !c.o_bias);
  write_config("Gemma2ForCausalLM", "");
  load(file);
  ck_assert_int_eq(c.kv_heads, 4);
  write_config("Gemma2ForCausalLM", "\"num_key_value_heads\": null");
  load(file);
  ck_assert_int_eq(c.kv_heads, 8);
}
END_TEST

START_TEST(present_keys_are_honoured)
{
  write_config("LlamaForCausalLM", "\"head_dim\": 32, \"num_key_value_heads\": 2, \"tie_word_embeddings\": true,\n"
                                   "\"attention_bias\": true, \"mlp_bias\": true, \"torch_dtype\": \"float16\", \"sliding_window\": null");
  load(file);
  ck_assert_int_eq(c.format, HONE_FORMAT_FP16);
  list_of(request(HONE_PHASE_PREFILL, 1, 16));
  check_matmul("q_proj", 3, 16, 256, 512);
  check_matmul("o_proj", 3, 16, 512, 256);
  check_matmul("k_proj, v_proj", 6, 16, 64, 512);
  ck_assert(item("q_proj")->spec.noptions == 1 && item("down_proj")->spec.noptions == 1 && item("lm_head")->spec.noptions == 0);
  int64_t attention = 512 * 256 * 2 + 512 * 64 * 2 + 256 + 64 * 2 + 512, mlp = 3 * 512 * 1000 + 2 * 1000 + 512;
  ck_assert_int_eq(memory.parameters, 3 * (attention + mlp + 2 * 512) + 100 * 512 + 512);
}
END_TEST

/* Layers with a window, of 12. */
static const struct {
  const char *architecture, *more;
  int64_t window, layers;
} windows[] = {
    {"MistralForCausalLM", "\"sliding_window\": 100", 100, 12},
    {"MistralForCausalLM", "\"sliding_window\": null", 0, 0},
    {"Phi3ForCausalLM", "\"sliding_window\": 2047", 2047, 12},
    {"Qwen2ForCausalLM", "\"sliding_window\": 100, \"use_sliding_window\": false, \"max_window_layers\": 8", 0, 0},
    {"Qwen2ForCausalLM", "\"sliding_window\": 100, \"use_sliding_window\": true, \"max_window_layers\": 8", 100, 4},
    {"Qwen2ForCausalLM", "\"sliding_window\": 100, \"use_sliding_window\": true, \"max_window_layers\": 20", 0, 0},
    {"Gemma2ForCausalLM", "", 4096, 6},                                  /* even ones */
    {"Gemma3ForCausalLM", "\"sliding_window\": 512", 512, 10},           /* all but 5 and 11 */
    {"Gemma3ForCausalLM", "\"sliding_window\": 512, \"sliding_window_pattern\": 5", 512, 10}, /* all but 4 and 9 */
    {"Gemma3ForCausalLM", "\"sliding_window\": 512, \"_sliding_window_pattern\": 12", 512, 11},
    {"Gemma2ForCausalLM",
     "\"layer_types\": [\"sliding_attention\", \"full_attention\", \"full_attention\", \"full_attention\", \"full_attention\",\n"
     "\"full_attention\", \"full_attention\", \"full_attention\", \"full_attention\", \"full_attention\", \"full_attention\",\n"
     "\"sliding_attention\"]", 4096, 2},
};

START_TEST(windows_are_counted_layer_by_layer)
{
  char more[1024];
  snprintf(more, sizeof more, "\"num_key_value_heads\": 8%s%s", windows[_i].more[0] ? ", " : "", windows[_i].more);
  write_config_of(12, windows[_i].architecture, more);
  load(file);
  ck_assert_msg(c.window == windows[_i].window && c.window_layers == windows[_i].layers, "%s %s: %lld in %lld layers",
                windows[_i].architecture, windows[_i].more, (long long)c.window, (long long)c.window_layers);
}
END_TEST

#define QWEN3_MOE "\"num_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32"
#define DEEPSEEK                                                                                                   \
  "\"n_routed_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32, \"kv_lora_rank\": 64,\n"      \
  "\"qk_nope_head_dim\": 16, \"qk_rope_head_dim\": 8, \"v_head_dim\": 24, \"first_k_dense_replace\": "
static const struct {
  const char *architecture, *more;
  int64_t layers;
} experts[] = {
    {"MixtralForCausalLM", "\"num_local_experts\": 8, \"num_experts_per_tok\": 2", 12},
    {"Qwen3MoeForCausalLM", QWEN3_MOE, 12},
    {"Qwen3MoeForCausalLM", QWEN3_MOE ", \"decoder_sparse_step\": 2", 6},                                /* 1, 3, .. 11 */
    {"Qwen3MoeForCausalLM", QWEN3_MOE ", \"decoder_sparse_step\": 2, \"mlp_only_layers\": [0, 3, 11]", 4}, /* 1, 5, 7, 9 */
    {"Qwen3MoeForCausalLM", "\"num_local_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32", 12},
    {"Qwen3MoeForCausalLM", QWEN3_MOE ", \"num_local_experts\": 8, \"mlp_only_layers\": [0, 99]", 11},
    {"DeepseekV3ForCausalLM", DEEPSEEK "3", 9},
    {"DeepseekV3ForCausalLM", DEEPSEEK "3, \"moe_layer_freq\": 2", 4}, /* 4, 6, 8, 10 */
    {"DeepseekV3ForCausalLM", DEEPSEEK "12", 0},
};

START_TEST(layers_with_experts_are_counted)
{
  write_config_of(12, experts[_i].architecture, experts[_i].more);
  load(file);
  ck_assert_msg(c.moe_layers == experts[_i].layers, "%s: %lld", experts[_i].more, (long long)c.moe_layers);
  list_of(request(HONE_PHASE_DECODE, 1, 16));
  ck_assert_int_eq(has("router"), c.moe_layers > 0);
  ck_assert_int_eq(c.experts, 8);
  if (c.moe_layers > 0) ck_assert_int_eq(item("router")->count, c.moe_layers);
}
END_TEST

/* DeepSeek-V2-Lite: q is projected at once, and no bias on the experts' scores. */
START_TEST(deepseek_v2_lite_has_its_published_total)
{
  FILE *f = fopen(file, "w");
  ck_assert_ptr_nonnull(f);
  fputs("{\"architectures\": [\"DeepseekV2ForCausalLM\"], \"model_type\": \"deepseek_v2\", \"hidden_size\": 2048, \"intermediate_size\": 10944,\n"
        "\"num_hidden_layers\": 27, \"num_attention_heads\": 16, \"num_key_value_heads\": 16, \"vocab_size\": 102400, \"q_lora_rank\": null,\n"
        "\"kv_lora_rank\": 512, \"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, \"v_head_dim\": 128, \"n_routed_experts\": 64,\n"
        "\"n_shared_experts\": 2, \"num_experts_per_tok\": 6, \"moe_intermediate_size\": 1408, \"first_k_dense_replace\": 1,\n"
        "\"moe_layer_freq\": 1, \"scoring_func\": \"softmax\", \"topk_method\": \"greedy\", \"n_group\": 1, \"topk_group\": 1}\n", f);
  ck_assert_int_eq(fclose(f), 0);
  load(file);
  ck_assert(c.nnotes == 0 && c.q_rank == 0 && !c.score_bias);
  list_of(request(HONE_PHASE_DECODE, 1, 16));
  check_matmul("q_proj", 27, 1, 16 * 192, 2048);
  ck_assert_int_eq(memory.parameters, INT64_C(15706484224));
}
END_TEST

START_TEST(projections_left_unquantized_are_a_warning)
{
  write_config("LlamaForCausalLM", "\"quantization_config\": {\"quant_method\": \"fp8\", \"modules_to_not_convert\": [\"lm_head\", \"model.norm\"]}");
  load(file);
  ck_assert(c.nnotes == 0 && c.linear == HONE_FORMAT_FP8E4M3);
  write_config("LlamaForCausalLM", "\"quantization_config\": {\"quant_method\": \"fbgemm_fp8\",\n"
                                   "\"modules_to_not_convert\": [\"lm_head\", 3, \"model.layers.0.mlp.down_proj\"]}");
  load(file);
  ck_assert(c.nnotes == 1 && c.note[0].warning && strstr(c.note[0].text, "model.layers.0.mlp.down_proj"));
}
END_TEST

/* Files of the hub with keys that no shape depends on, or that Hone has never seen. */
START_TEST(unknown_harmless_keys_are_one_warning)
{
  write_config("LlamaForCausalLM", "\"some_new_flag\": true, \"license\": \"mit\", \"new_epsilon\": 1e-6, \"num_beams\": 1, \"empty_size\": 0");
  load(file);
  ck_assert_int_eq(c.nnotes, 1);
  ck_assert(c.note[0].warning && strcmp(c.note[0].code, "model.unknown-key") == 0);
  ck_assert_ptr_nonnull(strstr(c.note[0].text, "'some_new_flag', 'license', 'new_epsilon'"));
  ck_assert_ptr_null(strstr(c.note[0].text, "num_beams"));
}
END_TEST

START_TEST(many_unknown_keys_do_not_overflow)
{
  static char more[8192];
  size_t n = 0;
  for (int i = 0; i < 200; i++)
    n += (size_t)snprintf(more + n, sizeof more - n, "%s\"some_new_flag_%d\": true", i ? ", " : "", i);
  write_config("LlamaForCausalLM", more);
  load(file);
  ck_assert_int_eq(c.nnotes, 1);
  ck_assert_str_eq(c.note[0].text + strlen(c.note[0].text) - 8, "and more");
}
END_TEST

START_TEST(model_type_stands_in_for_architectures)
{
  FILE *f = fopen(file, "w");
  ck_assert_ptr_nonnull(f);
  fputs("{\"model_type\": \"qwen3\", \"hidden_size\": 64, \"intermediate_size\": 64, \"num_hidden_layers\": 1,\n"
        "\"num_attention_heads\": 2, \"vocab_size\": 100}\n", f);
  fclose(f);
  load(file);
  ck_assert_str_eq(c.architecture, "Qwen3ForCausalLM");
  ck_assert_int_eq(c.head_dim, 128);
}
END_TEST

START_TEST(parts_left_out_are_said)
{
  load_model("deepseek-v3");
  ck_assert(c.nnotes == 1 && !c.note[0].warning && strstr(c.note[0].text, "num_nextn_predict_layers"));
  load_model("gemma-3-27b");
  ck_assert(c.nnotes == 1 && !c.note[0].warning && strstr(c.note[0].text, "vision_config"));
  load_model("gpt-oss-20b");
  ck_assert(c.nnotes == 0 && c.mxfp4_experts);
}
END_TEST

static const struct {
  const char *architecture, *more, *code, *path;
  hone_status status;
  const char *hint;
} bad[] = {
    {"ArcticForCausalLM", "\"num_local_experts\": 8", "model.unsupported", "architectures", HONE_UNSUPPORTED, "MixtralForCausalLM"},
    {"DeepseekV32ForCausalLM", "\"kv_lora_rank\": 8, \"num_local_experts\": 8, \"index_topk\": 4", "model.unsupported", "architectures",
     HONE_UNSUPPORTED, "DeepseekV3ForCausalLM, which has no index_topk"},
    {"Gemma4ForConditionalGeneration", "\"num_local_experts\": 4, \"layer_types\": [\"x\"]", "model.unsupported", "architectures",
     HONE_UNSUPPORTED, "ForCausalLM, which has no num_local_experts"},
    {"VisionMamba", "\"num_local_experts\": [1], \"ssm_heads\": [4]", "model.unsupported", "architectures", HONE_UNSUPPORTED, "which has no ssm_heads"},
    {"WhisperForConditionalGeneration", "\"d_model\": 4, \"num_local_experts\": 0, \"encoder_layers\": 4", "model.unsupported", "architectures",
     HONE_UNSUPPORTED, "decoder-only"},
    {"LlamaForCausalLM", "\"num_experts\": 4", "model.unsupported", "num_experts", HONE_UNSUPPORTED, ""},
    {"LlamaForCausalLM", "\"sliding_window\": 4096", "model.unsupported", "sliding_window", HONE_UNSUPPORTED, ""},
    {"LlamaForCausalLM", "\"attn_logit_softcapping\": 50.0", "model.unsupported", "attn_logit_softcapping", HONE_UNSUPPORTED, ""},
    {"LlamaForCausalLM", "\"num_key_value_head\": 2", "model.unknown-key", "num_key_value_head", HONE_UNSUPPORTED, "num_key_value_heads"},
    {"LlamaForCausalLM", "\"second_layer\": {\"a\": 1}", "model.unknown-key", "second_layer", HONE_UNSUPPORTED, "take it out"},
    {"MistralForCausalLM", "\"attention_bias\": true", "model.unsupported", "attention_bias", HONE_UNSUPPORTED, ""},
    {"Phi3ForCausalLM", "\"mlp_bias\": true", "model.unsupported", "mlp_bias", HONE_UNSUPPORTED, ""},
    {"LlamaForCausalLM", "\"quantization_config\": {\"quant_method\": \"gptq\"}", "model.unsupported", "quantization_config",
     HONE_UNSUPPORTED, "fp8"},
    {"LlamaForCausalLM", "\"partial_rotary_factor\": 1.5", "model.range", "partial_rotary_factor", HONE_INPUT, ""},
    {"Qwen2ForCausalLM", "\"sliding_window\": 8, \"layer_types\": [\"full_attention\"]", "model.range", "layer_types", HONE_INPUT, ""},
    {"Gemma2ForCausalLM", "\"layer_types\": [\"full_attention\", \"linear_attention\", \"full_attention\"]", "model.unsupported",
     "layer_types", HONE_UNSUPPORTED, ""},
    {"Qwen3MoeForCausalLM", "\"moe_intermediate_size\": 8", "model.missing-key", "num_experts", HONE_INPUT, ""},
    {"Qwen3MoeForCausalLM", "\"num_experts\": 4, \"num_experts_per_tok\": 5, \"moe_intermediate_size\": 8", "model.range",
     "num_experts_per_tok", HONE_INPUT, ""},
    {"GptOssForCausalLM", "\"num_local_experts\": 4, \"num_experts_per_tok\": 2, \"experts_per_token\": 3", "model.range",
     "experts_per_token", HONE_INPUT, ""},
    {"Qwen3MoeForCausalLM", QWEN3_MOE ", \"num_local_experts\": 9", "model.range", "num_local_experts", HONE_INPUT, ""},
    {"Qwen3MoeForCausalLM", QWEN3_MOE ", \"mlp_only_layers\": [\"0\"]", "model.type", "mlp_only_layers", HONE_INPUT, ""},
    {"Qwen3MoeForCausalLM", QWEN3_MOE ", \"mlp_only_layers\": 3", "model.type", "mlp_only_layers", HONE_INPUT, ""},
    {"LlamaForCausalLM", "\"hidden_act\": \"relu2\"", "model.unsupported", "hidden_act", HONE_UNSUPPORTED, ""},
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
  ck_assert_msg(strstr(err.hint, bad[_i].hint) != NULL, "%s: hint '%s'", bad[_i].more, err.hint);
  if (strcmp(err.code, "model.missing-key") != 0) ck_assert_int_gt(err.line, 0);
  if (strcmp(bad[_i].path, "architectures") == 0 && !strstr(bad[_i].more, "experts\": 0"))
    ck_assert_ptr_nonnull(strstr(err.message, "num_local_experts"));
  if (strcmp(bad[_i].more, "\"num_experts\": 4") == 0) ck_assert_int_eq(err.line, 8);
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
  load_model("llama-3-8b");
  hone_model_request none = request(HONE_PHASE_DECODE, 0, 16), huge = request(HONE_PHASE_PREFILL, INT64_C(1) << 40, INT64_C(1) << 40),
                     large = request(HONE_PHASE_DECODE, INT64_C(1) << 30, INT64_C(1) << 30);
  ck_assert_int_eq(hone_model_operators(&c, &none, &list, &err), HONE_USAGE);
  ck_assert_int_eq(hone_model_operators(&c, &huge, &list, &err), HONE_OVERFLOW);
  ck_assert_int_eq(hone_model_memory_count(&c, &large, &memory, &err), HONE_OVERFLOW);
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
  tcase_add_test(t, absent_keys_have_the_defaults_of_the_family);
  tcase_add_test(t, present_keys_are_honoured);
  tcase_add_loop_test(t, windows_are_counted_layer_by_layer, 0, (int)(sizeof windows / sizeof *windows));
  tcase_add_loop_test(t, layers_with_experts_are_counted, 0, (int)(sizeof experts / sizeof *experts));
  tcase_add_test(t, deepseek_v2_lite_has_its_published_total);
  tcase_add_test(t, projections_left_unquantized_are_a_warning);
  tcase_add_test(t, unknown_harmless_keys_are_one_warning);
  tcase_add_test(t, many_unknown_keys_do_not_overflow);
  tcase_add_test(t, model_type_stands_in_for_architectures);
  tcase_add_test(t, parts_left_out_are_said);
  tcase_add_loop_test(t, bad_files_are_refused, 0, (int)(sizeof bad / sizeof *bad));
  tcase_add_test(t, missing_keys_and_absurd_requests_are_refused);
  tcase_add_test(t, phases_have_names);
  suite_add_tcase(s, t);
  return unit_run(s);
}
