/* Parameter counts against what the publishers say. Every model of data/models is in
 * the table, with the total and, of a mixture of experts, the active count; so are
 * the bytes one more token adds to the cache, from the heads and sizes of the papers.
 * Where ../shared/reference/models.json is there, each model of it is checked too:
 * supported ones by their totals, the others by how they are refused. */
#include "config.h"

#include <check.h>
#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit/model_unit.h"
#include "unit/unit.h"

#define REFERENCE HONE_SRCDIR "/../shared/reference/models.json"

/* In 10^9. `embedding`: the publisher's active count leaves the input embedding out
 * (gpt-oss model card, arXiv 2508.10925, table 1). Sources: the model cards on the
 * hub; Mixtral: mistral.ai; DeepSeek-V3: arXiv 2412.19437 (671 without the layer for
 * multi-token prediction, which is not counted here either); Kimi K2: arXiv
 * 2507.20534 (1.04 T, 32.6 B active). Gemma 3: the report's table 1 (arXiv 2503.19786)
 * without the 417 M of the vision tower, embedding and other parameters added. */
static const struct {
  const char *model;
  double total, active; /* 0: dense */
  bool embedding;
  int64_t cache_bytes; /* layers x 2 x kv heads x head size x 2, or layers x latent x 2 */
} published[] = {
    {"deepseek-v3", 671, 37, false, 61 * (512 + 64) * 2},
    {"gemma-2-9b", 9.24, 0, false, 42 * 2 * 8 * 256 * 2},
    {"gemma-3-27b", 1.416 + 25.600, 0, false, 62 * 2 * 16 * 128 * 2},
    {"gemma-3-4b", 0.675 + 3.209, 0, false, 34 * 2 * 4 * 256 * 2},
    {"gpt-oss-120b", 116.83, 5.13, true, 36 * 2 * 8 * 64 * 2},
    {"gpt-oss-20b", 20.91, 3.61, true, 24 * 2 * 8 * 64 * 2},
    {"kimi-k2", 1026, 32.6, false, 61 * (512 + 64) * 2},
    {"llama-3-70b", 70.6, 0, false, 80 * 2 * 8 * 128 * 2},
    {"llama-3-8b", 8.03, 0, false, 32 * 2 * 8 * 128 * 2},
    {"llama-3.1-405b", 405.9, 0, false, 126 * 2 * 8 * 128 * 2},
    {"llama-3.1-8b", 8.03, 0, false, 32 * 2 * 8 * 128 * 2},
    {"mistral-7b", 7.24, 0, false, 32 * 2 * 8 * 128 * 2},
    {"mixtral-8x22b", 141, 39, false, 56 * 2 * 8 * 128 * 2},
    {"mixtral-8x7b", 46.7, 12.9, false, 32 * 2 * 8 * 128 * 2},
    {"phi-3-mini", 3.82, 0, false, 32 * 2 * 32 * 96 * 2},
    {"phi-4", 14.7, 0, false, 40 * 2 * 10 * 128 * 2},
    {"qwen2.5-72b", 72.7, 0, false, 80 * 2 * 8 * 128 * 2},
    {"qwen2.5-7b", 7.62, 0, false, 28 * 2 * 4 * 128 * 2},
    {"qwen3-0.6b", 0.596, 0, false, 28 * 2 * 8 * 128 * 2},
    {"qwen3-235b-a22b", 235, 22, false, 94 * 2 * 4 * 128 * 2},
    {"qwen3-30b-a3b", 30.5, 3.3, false, 48 * 2 * 4 * 128 * 2},
    {"qwen3-32b", 32.8, 0, false, 64 * 2 * 8 * 128 * 2},
    {"qwen3-8b", 8.2, 0, false, 36 * 2 * 8 * 128 * 2},
};
enum { NPUBLISHED = sizeof published / sizeof published[0] };

static bool near(double have, double want, double percent) { return fabs(have / 1e9 / want - 1) * 100 < percent; }

START_TEST(totals_are_the_published_ones)
{
  load_model(published[_i].model);
  list_of(request(HONE_PHASE_DECODE, 1, 64));
  ck_assert_msg(near((double)memory.parameters, published[_i].total, 1), "%s: %lld", published[_i].model, (long long)memory.parameters);
  ck_assert_int_eq(memory.cache_bytes_per_token, published[_i].cache_bytes);
  double active = (double)memory.active_parameters - (published[_i].embedding ? (double)item("embed_tokens")->parameters : 0);
  if (published[_i].active > 0) /* given in two digits */
    ck_assert_msg(near(active, published[_i].active, 2), "%s: active %.0f", published[_i].model, active);
  else ck_assert_int_eq(memory.active_parameters, memory.parameters);
}
END_TEST

/* Those whose publisher gives every digit: the hub's count of the files' elements. */
START_TEST(exact_totals)
{
  static const struct {
    const char *model;
    int64_t parameters;
  } rows[] = {{"llama-3-8b", 8030261248},   {"llama-3-70b", 70553706496}, {"llama-3.1-405b", 405853388800}, {"mistral-7b", 7241732096},
              {"mixtral-8x7b", 46702792704}, {"qwen2.5-7b", 7615616512},   {"qwen3-8b", 8190735360},         {"phi-3-mini", 3821079552},
              {"gemma-2-9b", 9241705984},    {"qwen3-30b-a3b", 30532122624}};
  load_model(rows[_i].model);
  list_of(request(HONE_PHASE_PREFILL, 1, 1));
  ck_assert_msg(memory.parameters == rows[_i].parameters, "%s: %lld", rows[_i].model, (long long)memory.parameters);
}
END_TEST

START_TEST(every_shipped_model_is_checked)
{
  DIR *d = opendir(MODELS);
  int files = 0;
  ck_assert_ptr_nonnull(d);
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    size_t n = strlen(e->d_name);
    if (n < 5 || strcmp(e->d_name + n - 5, ".json") != 0) continue;
    bool known = false;
    for (int i = 0; i < NPUBLISHED; i++)
      known |= strlen(published[i].model) == n - 5 && strncmp(published[i].model, e->d_name, n - 5) == 0;
    ck_assert_msg(known, "%s has no row in this test", e->d_name);
    files++;
  }
  closedir(d);
  ck_assert_int_eq(files, NPUBLISHED);
}
END_TEST

/* Prefill and decode do the same multiplications for one token, attention aside; a
 * token's are 2 for each weight it meets. */
START_TEST(operations_follow_from_the_weights)
{
  load_model(published[_i].model);
  double flops[2];
  for (int phase = 0; phase < 2; phase++) {
    list_of(request((hone_phase)phase, 1, 1));
    double scores = 0, weights = 0;
    for (int i = 0; i < list.n; i++) {
      const hone_model_item *x = &list.item[i];
      if (strcmp(x->role, "attention") == 0) scores += x->flops;
      else if (x->flops > 0) weights += 2 * (double)x->active_parameters;
    }
    flops[phase] = all_flops() - scores;
    if (c.tied_embeddings) weights += 2.0 * (double)c.vocabulary * (double)c.hidden;
    if (!c.qkv_bias && !c.expert_bias) ck_assert(flops[phase] == weights); /* a bias is an addition only */
  }
  ck_assert(flops[0] == flops[1]);
}
END_TEST

/* Files of other releases, key for key where shapes come from: defaults that the hub's
 * files leave out, keys of newer and older releases, q without a latent. The hub's
 * count of elements but for the last; none of them has a key Hone does not know. */
static const struct {
  const char *name, *text;
  int64_t parameters;
} others[] = {
    {"Llama-2-7b", "\"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 4096, \"intermediate_size\": 11008, \"num_attention_heads\": 32,"
     "\"num_hidden_layers\": 32, \"num_key_value_heads\": 32, \"pretraining_tp\": 1, \"torch_dtype\": \"float16\", \"vocab_size\": 32000", 6738415616},
    {"Llama-3.2-1B", "\"architectures\": [\"LlamaForCausalLM\"], \"head_dim\": 64, \"hidden_size\": 2048, \"intermediate_size\": 8192,"
     "\"mlp_bias\": false, \"num_attention_heads\": 32, \"num_hidden_layers\": 16, \"num_key_value_heads\": 8, \"tie_word_embeddings\": true,"
     "\"rope_scaling\": {\"factor\": 32.0}, \"vocab_size\": 128256", 1235814400},
    {"Mistral-Nemo", "\"architectures\": [\"MistralForCausalLM\"], \"head_dim\": 128, \"hidden_size\": 5120, \"intermediate_size\": 14336,"
     "\"num_attention_heads\": 32, \"num_hidden_layers\": 40, \"num_key_value_heads\": 8, \"sliding_window\": null, \"vocab_size\": 131072", 12247782400},
    {"Qwen2.5-0.5B", "\"architectures\": [\"Qwen2ForCausalLM\"], \"hidden_size\": 896, \"intermediate_size\": 4864, \"max_window_layers\": 24,"
     "\"num_attention_heads\": 14, \"num_hidden_layers\": 24, \"num_key_value_heads\": 2, \"sliding_window\": 32768, \"use_mrope\": false,"
     "\"tie_word_embeddings\": true, \"use_sliding_window\": false, \"vocab_size\": 151936", 494032768},
    {"gemma-7b", "\"architectures\": [\"GemmaForCausalLM\"], \"head_dim\": 256, \"hidden_act\": \"gelu\", \"hidden_activation\": null,"
     "\"hidden_size\": 3072, \"intermediate_size\": 24576, \"num_attention_heads\": 16, \"num_hidden_layers\": 28, \"num_key_value_heads\": 16,"
     "\"vocab_size\": 256000", 8537680896},
    {"gemma-2-2b", "\"architectures\": [\"Gemma2ForCausalLM\"], \"hidden_size\": 2304, \"intermediate_size\": 9216, \"num_attention_heads\": 8,"
     "\"num_hidden_layers\": 26, \"num_key_value_heads\": 4, \"head_dim\": 256, \"cache_implementation\": \"hybrid\", \"vocab_size\": 256000", 2614341888},
    {"gemma-3-1b", "\"architectures\": [\"Gemma3ForCausalLM\"], \"attn_logit_softcapping\": null, \"final_logit_softcapping\": null,"
     "\"head_dim\": 256, \"hidden_size\": 1152, \"intermediate_size\": 6912, \"model_type\": \"gemma3_text\", \"num_attention_heads\": 4,"
     "\"num_hidden_layers\": 26, \"num_key_value_heads\": 1, \"query_pre_attn_scalar\": 256, \"rope_local_base_freq\": 10000,"
     "\"sliding_window\": 512, \"sliding_window_pattern\": 6, \"vocab_size\": 262144", 999885952},
    {"Phi-4-mini", "\"architectures\": [\"Phi3ForCausalLM\"], \"full_attn_mod\": 1, \"hidden_size\": 3072, \"intermediate_size\": 8192,"
     "\"interpolate_factor\": 1, \"lm_head_bias\": false, \"mlp_bias\": false, \"num_attention_heads\": 24, \"num_hidden_layers\": 32,"
     "\"num_key_value_heads\": 8, \"partial_rotary_factor\": 0.75, \"resid_pdrop\": 0.0, \"sliding_window\": 262144,"
     "\"tie_word_embeddings\": true, \"vocab_size\": 200064", 3836021760},
    {"Qwen3-8B-FP8", "\"architectures\": [\"Qwen3ForCausalLM\"], \"head_dim\": 128, \"hidden_size\": 4096, \"intermediate_size\": 12288,"
     "\"num_attention_heads\": 32, \"num_hidden_layers\": 36, \"num_key_value_heads\": 8, \"quantization_config\": {\"activation_scheme\":"
     "\"dynamic\", \"fmt\": \"e4m3\", \"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]}, \"vocab_size\": 151936", 8190735360},
    {"Moonlight-16B-A3B", "\"architectures\": [\"DeepseekV3ForCausalLM\"], \"aux_loss_alpha\": 0.001, \"first_k_dense_replace\": 1,"
     "\"hidden_size\": 2048, \"intermediate_size\": 11264, \"kv_lora_rank\": 512, \"moe_intermediate_size\": 1408, \"moe_layer_freq\": 1,"
     "\"n_routed_experts\": 64, \"n_shared_experts\": 2, \"num_attention_heads\": 16, \"num_experts_per_tok\": 6, \"num_hidden_layers\": 27,"
     "\"num_key_value_heads\": 16, \"num_nextn_predict_layers\": 0, \"q_lora_rank\": null, \"qk_nope_head_dim\": 128,"
     "\"qk_rope_head_dim\": 64, \"v_head_dim\": 128, \"vocab_size\": 163840",
     /* 16 B; by hand: embeddings and last norm, attention and norms, the dense layer, experts and router */
     INT64_C(2) * 163840 * 2048 + 2048 + INT64_C(27) * (2048 * 16 * 192 + 2048 * 576 + 512 + 512 * 16 * 256 + 16 * 128 * 2048 + 2 * 2048) +
         INT64_C(3) * 2048 * 11264 + INT64_C(26) * (64 * 2048 + 64 + INT64_C(66) * 3 * 2048 * 1408)},
};

START_TEST(files_of_other_releases)
{
  char file[64];
  snprintf(file, sizeof file, "test_other_%ld.json", (long)getpid());
  FILE *f = fopen(file, "w");
  ck_assert_ptr_nonnull(f);
  fprintf(f, "{%s}\n", others[_i].text);
  ck_assert_int_eq(fclose(f), 0);
  load(file);
  unlink(file);
  list_of(request(HONE_PHASE_DECODE, 1, 64));
  ck_assert_msg(memory.parameters == others[_i].parameters, "%s: %lld", others[_i].name, (long long)memory.parameters);
  ck_assert_msg(c.nnotes == 0, "%s: %s", others[_i].name, c.note[0].text);
}
END_TEST

/* ---- the reference file ----------------------------------------------------------- */

/* Not of a supported architecture, and a word its refusal must hold. */
static const struct {
  const char *prefix, *word;
} refused[] = {{"deepseek-ai/DeepSeek-V3.2", "index_"}, {"zai-org/GLM-5", "index_"}, {"meta-llama/Llama-4", "interleave_moe_layer_step"},
               {"google/gemma-4", "num_experts"}, {"google-bert/", "Bert"}, {"google/vit", "ViT"},
               {"openai/whisper", "Whisper"}, {"microsoft/resnet", "ResNet"}, {"stable-diffusion", "architectures"},
               {"stabilityai/", "architectures"}};

static const char *refusal(const char *name)
{
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    if (strncmp(name, refused[i].prefix, strlen(refused[i].prefix)) == 0) return refused[i].word;
  return NULL;
}

static void check_reference(const char *file, const char *name, const json_t *entry)
{
  const char *word = refusal(name);
  ck_assert_int_eq(json_dump_file(json_object_get(entry, "config"), file, 0), 0);
  hone_status s = hone_model_config_load(file, &c, &err);
  if (word) {
    ck_assert_msg(s == HONE_UNSUPPORTED || s == HONE_INPUT, "%s is not refused", name);
    ck_assert_msg(strstr(err.message, word) != NULL, "%s: %s", name, err.message);
    return;
  }
  ck_assert_msg(s == HONE_OK, "%s: %s", name, err.message);
  list_of(request(HONE_PHASE_DECODE, 1, 64));
  double total = json_number_value(json_object_get(entry, "published_total_params_billions"));
  /* Published with the vision tower; with the layer for multi-token prediction; in two digits. */
  double limit = strstr(name, "gemma-3") ? 2 : strstr(name, "MiMo") ? 3 : total < 2 ? 2 : 1;
  ck_assert_msg(near((double)memory.parameters, total, limit), "%s: %lld, not %g B", name, (long long)memory.parameters, total);
}

START_TEST(the_reference_models)
{
  char file[64];
  const char *name;
  json_t *root = json_load_file(REFERENCE, 0, NULL), *entry;
  if (!root) {
    printf("skipped: %s is not there\n", "../shared/reference/models.json");
    return;
  }
  snprintf(file, sizeof file, "test_reference_%ld.json", (long)getpid());
  hone_err_init(&err);
  json_object_foreach(json_object_get(root, "models"), name, entry) check_reference(file, name, entry);
  ck_assert_int_ge((int)json_object_size(json_object_get(root, "models")), 20);
  unlink(file);
  json_decref(root);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("model_published");
  TCase *t = tcase_create("model_published");
  tcase_add_loop_test(t, totals_are_the_published_ones, 0, NPUBLISHED);
  tcase_add_loop_test(t, exact_totals, 0, 10);
  tcase_add_test(t, every_shipped_model_is_checked);
  tcase_add_loop_test(t, operations_follow_from_the_weights, 0, NPUBLISHED);
  tcase_add_loop_test(t, files_of_other_releases, 0, (int)(sizeof others / sizeof *others));
  tcase_add_test(t, the_reference_models);
  suite_add_tcase(s, t);
  return unit_run(s);
}
