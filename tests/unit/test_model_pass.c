/* The operators of a pass: shapes, counts, operations, bytes and shards against
 * formulas written out by hand, family by family. */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "ir/operator.h"
#include "unit/model_unit.h"
#include "unit/unit.h"

START_TEST(llama_3_8b_prefill)
{
  load_model("llama-3-8b");
  list_of(request(HONE_PHASE_PREFILL, 2, 2048));
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
  ck_assert_int_eq(supported, 12); /* all but attention */
  double layer = 2 * 4096.0 * (2 * 4096.0 * 4096 + 2 * 4096.0 * 1024 + 3 * 4096.0 * 14336); /* 4096 tokens */
  double scores = 2 * 2.0 * 32 * (2048.0 * 2049 / 2) * 2 * 128;
  ck_assert(all_flops() == 32 * (layer + scores) + 2 * 2.0 * 128256 * 4096);
}
END_TEST

START_TEST(llama_3_8b_decode)
{
  load_model("llama-3-8b");
  list_of(request(HONE_PHASE_DECODE, 16, 4096));
  check_matmul("q_proj, o_proj", 64, 16, 4096, 4096);
  check_matmul("lm_head", 1, 16, 128256, 4096);
  const hone_model_item *a = item("attention");
  ck_assert_str_eq(a->spec.operator_name, "attention");
  ck_assert(size(a, "queries") == 1 && size(a, "keys") == 4096 && size(a, "batch") == 16);
}
END_TEST

START_TEST(qwen2_has_biases_without_a_key)
{
  load_model("qwen2.5-7b");
  list_of(request(HONE_PHASE_DECODE, 1, 64));
  check_matmul("q_proj", 28, 1, 3584, 3584);
  check_matmul("o_proj", 28, 1, 3584, 3584); /* the same shape without a bias: an item of its own */
  check_matmul("k_proj, v_proj", 56, 1, 512, 3584);
  ck_assert(item("q_proj")->spec.noptions == 1 && item("o_proj")->spec.noptions == 0 && item("k_proj, v_proj")->spec.noptions == 1);
  ck_assert_int_eq(item("q_proj")->parameters, 28 * (3584 * 3584 + 3584));
}
END_TEST

START_TEST(qwen3_moe)
{
  load_model("qwen3-30b-a3b");
  list_of(request(HONE_PHASE_PREFILL, 1, 1024));
  check_matmul("q_proj", 48, 1024, 4096, 2048); /* 32 heads of 128: wider than the model */
  check_matmul("o_proj", 48, 1024, 2048, 4096);
  check_matmul("k_proj, v_proj", 96, 1024, 512, 2048);
  check_matmul("router", 48, 1024, 128, 2048);
  check_grouped("experts' gate_proj, experts' up_proj", 96, 128, 8192, 768, 2048);
  check_grouped("experts' down_proj", 48, 128, 8192, 2048, 768);
  ck_assert(!has("gate_proj, up_proj") && !has("down_proj"));
  ck_assert(item("q_norm")->parameters == 48 * 128 && size(item("k_norm"), "heads") == 4);
  double token = 2.0 * 48 * (2 * 2048 * 4096 + 2 * 2048 * 512 + 128 * 2048 + 8 * 3 * 768 * 2048);
  double scores = 2.0 * 48 * 32 * (1024.0 * 1025 / 2) * 256;
  ck_assert(all_flops() == 1024 * token + scores + 2.0 * 151936 * 2048);
}
END_TEST

START_TEST(mixtral_counts_its_experts)
{
  load_model("mixtral-8x7b");
  list_of(request(HONE_PHASE_DECODE, 3, 64));
  check_matmul("router", 32, 3, 8, 4096);
  check_grouped("experts' gate_proj, experts' up_proj", 64, 8, 6, 14336, 4096);
  ck_assert_int_eq(item("experts' down_proj")->parameters, INT64_C(32) * 8 * 14336 * 4096);
  ck_assert_int_eq(item("experts' down_proj")->active_parameters, INT64_C(32) * 2 * 14336 * 4096);
}
END_TEST

START_TEST(gemma_windows_norms_and_caps)
{
  load_model("gemma-3-27b");
  list_of(request(HONE_PHASE_PREFILL, 1, 4096));
  const hone_model_item *full = NULL, *near = NULL;
  for (int i = 0; i < list.n; i++) {
    if (strcmp(list.item[i].role, "attention") != 0) continue;
    if (size(&list.item[i], "window") > 0) near = &list.item[i];
    else full = &list.item[i];
  }
  ck_assert(full && near && full->count == 10 && near->count == 52 && size(near, "window") == 1024 && size(near, "keys") == 4096);
  /* the first 1024 queries see 1, 2, .. 1024 keys, the others 1024 */
  ck_assert(near->flops == 2.0 * 52 * 32 * (1024.0 * 1025 / 2 + 3072.0 * 1024) * 256);
  ck_assert_int_eq(item("norms before and after attention and MLP, and final")->count, 4 * 62 + 1);
  ck_assert(has("embedding scale") && !has("logit softcap") && item("lm_head")->parameters == 0);
  check_matmul("q_proj", 62, 4096, 4096, 5376);
  check_matmul("lm_head", 1, 1, 262208, 5376);
  list_of(request(HONE_PHASE_PREFILL, 1, 1024)); /* a window that reaches all the way is none */
  ck_assert_int_eq(item("attention")->count, 62);
  load_model("gemma-2-9b");
  list_of(request(HONE_PHASE_DECODE, 1, 8192));
  ck_assert(has("logit softcap"));
  int64_t kept = 21 * (8192 + 4096); /* tokens in 42 layers */
  ck_assert_int_eq(memory.cache_bytes, kept * 2 * 8 * 256 * 2);
  ck_assert_int_eq(memory.cache_bytes_per_token, 42 * 2 * 8 * 256 * 2);
}
END_TEST

START_TEST(phi_is_fused)
{
  load_model("phi-4");
  list_of(request(HONE_PHASE_DECODE, 1, 64));
  check_matmul("qkv_proj", 40, 1, 5120 + 2 * 1280, 5120);
  check_matmul("gate_up_proj", 40, 1, 2 * 17920, 5120);
  check_matmul("down_proj", 40, 1, 5120, 17920);
  check_matmul("o_proj", 40, 1, 5120, 5120);
  ck_assert(!has("q_proj"));
}
END_TEST

START_TEST(gpt_oss)
{
  load_model("gpt-oss-20b");
  list_of(request(HONE_PHASE_DECODE, 1, 1024));
  check_matmul("q_proj", 24, 1, 4096, 2880);
  check_matmul("o_proj", 24, 1, 2880, 4096);
  check_matmul("router", 24, 1, 32, 2880);
  check_grouped("experts' gate_up_proj", 24, 32, 4, 5760, 2880);
  ck_assert(item("router")->spec.noptions == 1 && item("o_proj")->spec.noptions == 1);
  int windows = 0;
  for (int i = 0; i < list.n; i++)
    if (strcmp(list.item[i].role, "attention") == 0) {
      ck_assert(list.item[i].count == 12 && list.item[i].parameters == 12 * 64); /* a sink for each head */
      windows += size(&list.item[i], "keys") == 128;
    }
  ck_assert_int_eq(windows, 1);
  int64_t down = INT64_C(24) * 32 * 2880 * 2880, bias = 24 * 32 * 2880; /* 17 bytes for 32 elements, biases in bf16 */
  ck_assert_int_eq(item("experts' down_proj")->parameters, down + bias);
  ck_assert_int_eq(item("experts' down_proj")->weight_bytes, down / 32 * 17 + 2 * bias);
}
END_TEST

static const double mla_token = 7168.0 * 1536 + 1536.0 * 128 * 192 + 7168.0 * 576 + 512.0 * 128 * 256 + 128.0 * 128 * 7168;
static const double deepseek_mlps = 3 * 3 * 7168.0 * 18432 + 58 * (7168.0 * 256 + 9 * 3 * 7168.0 * 2048);

START_TEST(deepseek_v3_prefill)
{
  load_model("deepseek-v3");
  list_of(request(HONE_PHASE_PREFILL, 1, 512));
  check_matmul("q_a_proj", 61, 512, 1536, 7168);
  check_matmul("q_b_proj", 61, 512, 24576, 1536);
  check_matmul("kv_a_proj_with_mqa", 61, 512, 576, 7168);
  check_matmul("kv_b_proj", 61, 512, 32768, 512);
  check_matmul("o_proj", 61, 512, 7168, 16384);
  check_matmul("gate_proj, up_proj", 6, 512, 18432, 7168);
  check_matmul("down_proj", 3, 512, 7168, 18432);
  check_matmul("router", 58, 512, 256, 7168);
  check_matmul("shared gate_proj, shared up_proj", 116, 512, 2048, 7168);
  check_matmul("shared down_proj", 58, 512, 7168, 2048);
  check_grouped("experts' gate_proj, experts' up_proj", 116, 256, 4096, 2048, 7168);
  const hone_model_item *a = item("attention");
  ck_assert(a->count == 61 && size(a, "heads") == 128 && size(a, "kv_heads") == 128 && size(a, "head_dim") == 192 && size(a, "value_dim") == 128);
  double scores = 61 * 2.0 * 128 * (512.0 * 513 / 2) * (192 + 128);
  ck_assert(all_flops() == 2 * 512 * (61 * mla_token + deepseek_mlps) + scores + 2.0 * 129280 * 7168);
}
END_TEST

START_TEST(deepseek_v3_decode)
{
  load_model("deepseek-v3");
  list_of(request(HONE_PHASE_DECODE, 4, 512));
  const hone_model_item *q = item("kv_b_proj of keys, on q"), *v = item("kv_b_proj of values, on the result"), *a = item("attention");
  check_matmul("kv_b_proj of keys, on q", 61, 4, 512, 128);
  check_matmul("kv_b_proj of values, on the result", 61, 4, 128, 512);
  ck_assert(size(q, "b") == 128 && size(v, "b") == 128 && q->parameters + v->parameters == INT64_C(61) * 512 * 32768);
  ck_assert(strcmp(a->spec.operator_name, "attention_latent") == 0 && size(a, "latent") == 512 && size(a, "rope") == 64 && size(a, "keys") == 512);
  ck_assert(all_flops() == 2 * 4 * (61 * mla_token + deepseek_mlps) + 61 * 2.0 * 4 * 128 * 512 * (576 + 512) + 4 * 2.0 * 129280 * 7168);
  ck_assert_int_eq(memory.cache_bytes_per_token, 61 * 576 * 2);
  ck_assert_int_eq(memory.cache_bytes, INT64_C(4) * 512 * 61 * 576 * 2);
}
END_TEST

START_TEST(formats_of_the_file_are_kept_apart)
{
  load_model("deepseek-v3");
  hone_model_request q = request(HONE_PHASE_DECODE, 1, 64);
  list_of(q);
  const hone_model_item *x = item("q_a_proj");
  ck_assert(!strcmp(format(x, ""), "bf16") && !strcmp(format(x, "X"), "fp8e4m3") && !strcmp(format(x, "W"), "fp8e4m3") && !strcmp(format(x, "Y"), ""));
  ck_assert(item("lm_head")->spec.nformats == 1 && item("router")->spec.nformats == 1 && !strcmp(format(item("router"), ""), "bf16"));
  ck_assert_int_eq(x->weight_bytes, x->parameters);
  ck_assert_int_eq(item("lm_head")->weight_bytes, 2 * item("lm_head")->parameters);
  /* all but embedding, head, routers with their bias, and norms: one byte each */
  int64_t two = 2 * INT64_C(129280) * 7168 + 58 * (INT64_C(256) * 7168 + 256) + 61 * (2 * 7168 + 1536 + 512) + 7168;
  ck_assert_int_eq(memory.weight_bytes, memory.parameters + two);
  q.formats.cache = HONE_FORMAT_FP8E4M3;
  list_of(q);
  ck_assert_int_eq(memory.cache_bytes_per_token, 61 * 576);
  ck_assert_str_eq(format(item("attention"), "K"), "fp8e4m3");
}
END_TEST

START_TEST(items_load_as_operators)
{
  static const char *const models[] = {"llama-3-8b", "qwen2.5-7b", "deepseek-v3", "gpt-oss-20b"};
  hone_operator op;
  load_model(models[_i]);
  hone_model_request q = request(HONE_PHASE_DECODE, 2, 128);
  list_of(q);
  for (int i = 0; i < list.n; i++) {
    const hone_model_item *x = &list.item[i];
    ck_assert(x->supported == (x->reason[0] == '\0'));
    if (!x->supported) continue;
    hone_text path = {0};
    hone_text_add(&path, HONE_SRCDIR "/spaces/%s.yaml", x->spec.operator_name);
    ck_assert_msg(hone_operator_load_spec(path.data, &x->spec, &op, &err) == HONE_OK, "%s: %s", x->role, err.message);
    hone_text_fini(&path);
    if (strcmp(x->spec.operator_name, "matmul") == 0) ck_assert_int_eq(op.nstages, 1 + x->spec.noptions);
    for (int t = 0; t < op.ntensors; t++)
      if (op.tensor[t].role == HONE_ROLE_OUTPUT) ck_assert_int_eq(op.tensor[t].format, c.format); /* the cache's too: not chosen here */
  }
}
END_TEST

START_TEST(the_deficit_is_what_does_not_fit)
{
  hone_machine m;
  load_model("llama-3-8b");
  ck_assert_int_eq(hone_machine_load(HONE_SRCDIR "/data/machines/trainium2-core.yaml", &m, &err), HONE_OK);
  hone_model_request q = request(HONE_PHASE_PREFILL, 1, 1);
  list_of(q);
  ck_assert_int_eq(hone_model_memory_deficit(&memory, &m), INT64_C(16060522496) + 131072 - (INT64_C(12) << 30));
  q.formats.weights = q.formats.other_weights = q.formats.cache = HONE_FORMAT_FP8E4M3;
  list_of(q);
  ck_assert_int_eq(memory.weight_bytes, 8030261248);
  ck_assert_int_eq(hone_model_memory_deficit(&memory, &m), 0);
  q = request(HONE_PHASE_PREFILL, 1, 1);
  q.shards = 2; /* half of it all, but the norms are on both */
  list_of(q);
  ck_assert_int_eq(memory.weight_bytes, INT64_C(8030261248) + 65 * 4096);
  ck_assert_int_eq(memory.total_bytes, memory.weight_bytes + 65536);
  ck_assert_int_eq(hone_model_memory_deficit(&memory, &m), 0);
}
END_TEST

START_TEST(shards_of_llama)
{
  load_model("llama-3-8b");
  hone_model_request q = request(HONE_PHASE_DECODE, 4, 1024);
  q.shards = 8;
  list_of(q);
  check_matmul("q_proj", 32, 4, 512, 4096);
  check_matmul("k_proj, v_proj", 64, 4, 128, 4096);
  check_matmul("o_proj", 32, 4, 4096, 512);
  check_matmul("gate_proj, up_proj", 64, 4, 1792, 4096);
  check_matmul("down_proj", 32, 4, 4096, 1792);
  check_matmul("lm_head", 1, 4, 16032, 4096);
  const hone_model_item *sum = item("sum of embed_tokens, sum of o_proj, sum of the MLP"), *logits = item("logits");
  ck_assert(!sum->supported && sum->count == 65 && size(sum, "tokens") == 4 && size(sum, "width") == 4096 && size(sum, "shards") == 8);
  ck_assert(size(sum, "bytes") == 4 * 4096 * 2 && !strcmp(sum->spec.operator_name, "all_reduce"));
  ck_assert(size(logits, "bytes") == 4 * 128256 * 2 && !strcmp(logits->spec.operator_name, "all_gather"));
  q.shards = 16; /* each of the 8 kv heads on two shards */
  list_of(q);
  check_matmul("k_proj, v_proj", 64, 4, 128, 4096);
  check_matmul("q_proj", 32, 4, 256, 4096);
}
END_TEST

START_TEST(shards_of_deepseek)
{
  load_model("deepseek-v3");
  hone_model_request q = request(HONE_PHASE_DECODE, 4, 1024);
  q.shards = 16;
  list_of(q);
  check_matmul("q_a_proj", 61, 4, 1536, 7168); /* the latents are whole on every shard */
  check_matmul("kv_a_proj_with_mqa", 61, 4, 576, 7168);
  check_matmul("q_b_proj", 61, 4, 1536, 1536);
  check_matmul("o_proj", 61, 4, 7168, 1024);
  check_matmul("shared gate_proj, shared up_proj", 116, 4, 128, 7168);
  check_grouped("experts' down_proj", 58, 256, 32, 7168, 128);
  check_matmul("router", 58, 4, 256, 7168);
  ck_assert(size(item("kv_b_proj of keys, on q"), "b") == 8 && size(item("attention"), "heads") == 8);
  ck_assert_int_eq(memory.cache_bytes_per_token, 61 * 576 * 2); /* so is the cache */
}
END_TEST

static const struct {
  const char *model, *key;
  int64_t shards;
} odd[] = {{"llama-3-8b", "num_attention_heads", 3},   {"llama-3-8b", "num_attention_heads", 64}, {"qwen2.5-7b", "num_attention_heads", 8},
           {"phi-4", "num_key_value_heads", 4},        {"qwen3-30b-a3b", "", 32},                 {"gpt-oss-20b", "", 64},
           {"deepseek-v3", "", 128},                   {"kimi-k2", "num_attention_heads", 128},   {"mixtral-8x22b", "num_key_value_heads", 3},
           {"qwen3-235b-a22b", "", 64},                {"phi-4", "vocab_size", 5},                {"qwen2.5-7b", "intermediate_size", 28}};

START_TEST(shards_that_do_not_divide_are_refused)
{
  load_model(odd[_i].model);
  hone_model_request q = request(HONE_PHASE_DECODE, 1, 64);
  q.shards = odd[_i].shards;
  hone_status s = hone_model_operators(&c, &q, &list, &err);
  ck_assert_msg(s == (odd[_i].key[0] ? HONE_INFEASIBLE : HONE_OK), "%s: %s", odd[_i].model, err.message);
  if (s == HONE_OK) return;
  ck_assert_str_eq(err.code, "model.shard");
  ck_assert_str_eq(err.path, odd[_i].key);
  ck_assert_ptr_nonnull(strstr(err.message, odd[_i].key));
}
END_TEST

/* Parameters that every shard holds: a row of the model's own arithmetic, not of the code's. */
static int64_t repeated(void)
{
  int64_t h = c.hidden, x = (c.post_norms ? 4 : 2) * h * c.layers + h;
  if (c.qk_norm) x += 2 * c.head_dim * c.layers;
  if (c.kv_rank > 0) x += c.layers * (c.q_rank * (h + 1) + (c.kv_rank + c.rope_dim) * h + c.kv_rank);
  x += c.moe_layers * c.experts * h;
  if (c.score_bias) x += c.moe_layers * c.experts;
  if (c.expert_bias) x += c.moe_layers * c.experts * (1 + h); /* of the router, and of down */
  if (c.o_bias) x += c.layers * h;
  return x;
}

/* Operations for one token that every shard does: with the latents and the router. */
static double repeated_flops(void)
{
  double latents = c.kv_rank > 0 ? (double)c.layers * (double)(c.q_rank + c.kv_rank + c.rope_dim) : 0;
  return 2 * (double)c.hidden * (latents + (double)(c.moe_layers * c.experts));
}

/* The shards together are the model, what is repeated counted once. */
START_TEST(shards_add_up)
{
  static const char *const models[] = {"llama-3-8b", "llama-3.1-405b", "qwen2.5-7b", "qwen3-30b-a3b", "mixtral-8x7b", "gemma-2-9b",
                                       "gemma-3-27b", "phi-4", "gpt-oss-20b", "deepseek-v3", "kimi-k2"};
  int tried = 0;
  load_model(models[_i]);
  hone_model_request q = request(HONE_PHASE_PREFILL, 1, 4096);
  list_of(q);
  int64_t whole = memory.parameters;
  double flops = all_flops();
  int64_t kv = c.kv_rank > 0 ? 0 : 2 * c.layers * c.kv_heads * c.head_dim * (c.hidden + c.qkv_bias);
  for (q.shards = 2; q.shards <= 32; q.shards++) {
    if (hone_model_operators(&c, &q, &list, &err) != HONE_OK) continue;
    int64_t copies = c.kv_rank == 0 && q.shards > c.kv_heads ? q.shards / c.kv_heads : 1;
    list_of(q);
    ck_assert_msg(q.shards * memory.parameters == whole + (q.shards - 1) * repeated() + (copies - 1) * kv, "%s over %lld", models[_i],
                  (long long)q.shards);
    double more = (double)(q.shards - 1) * repeated_flops() + (double)(copies - 1) * 2 * (double)(2 * c.layers * c.kv_heads * c.head_dim) * (double)c.hidden;
    ck_assert_msg(fabs((double)q.shards * all_flops() / (flops + 4096 * more) - 1) < 1e-12, "%s over %lld: operations", models[_i], (long long)q.shards);
    tried++;
  }
  ck_assert_int_ge(tried, 1);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("model_pass");
  TCase *t = tcase_create("model_pass");
  tcase_add_test(t, llama_3_8b_prefill);
  tcase_add_test(t, llama_3_8b_decode);
  tcase_add_test(t, qwen2_has_biases_without_a_key);
  tcase_add_test(t, qwen3_moe);
  tcase_add_test(t, mixtral_counts_its_experts);
  tcase_add_test(t, gemma_windows_norms_and_caps);
  tcase_add_test(t, phi_is_fused);
  tcase_add_test(t, gpt_oss);
  tcase_add_test(t, deepseek_v3_prefill);
  tcase_add_test(t, deepseek_v3_decode);
  tcase_add_test(t, formats_of_the_file_are_kept_apart);
  tcase_add_loop_test(t, items_load_as_operators, 0, 4);
  tcase_add_test(t, the_deficit_is_what_does_not_fit);
  tcase_add_test(t, shards_of_llama);
  tcase_add_test(t, shards_of_deepseek);
  tcase_add_loop_test(t, shards_that_do_not_divide_are_refused, 0, (int)(sizeof odd / sizeof *odd));
  tcase_add_loop_test(t, shards_add_up, 0, 11);
  suite_add_tcase(s, t);
  return unit_run(s);
}
