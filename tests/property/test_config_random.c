/* Files of data/models with values, keys and whole parts changed at random: each is
 * read or refused with a code; what is read has a pass whose figures agree with each
 * other and with the parameters in closed form. A failure prints seed and case. */
#include "config.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/rng.h"
#include "lib/case_count.h"
#include "unit/model_unit.h"
#include "unit/unit.h"

enum { CASES = 400, SEED = 31 };

static const char *const models[] = {"llama-3-8b", "qwen2.5-7b", "qwen3-30b-a3b", "mixtral-8x7b", "gemma-2-9b", "gemma-3-27b",
                                     "phi-4", "gpt-oss-20b", "deepseek-v3"};
enum { NMODELS = sizeof models / sizeof models[0] };

static json_t *file_of(const char *model)
{
  char path[512];
  snprintf(path, sizeof path, "%s%s.json", MODELS, model);
  json_t *root = json_load_file(path, 0, NULL);
  ck_assert_ptr_nonnull(root);
  return root;
}

static json_t *random_value(hone_rng *r)
{
  static const int64_t numbers[] = {0, 1, 2, 3, 7, 64, 1000, INT64_C(1) << 26, INT64_C(1) << 40, INT64_MAX, -1, INT64_MIN};
  switch (hone_rng_below(r, 8)) {
  case 0: return json_null();
  case 1: return json_boolean(hone_rng_below(r, 2));
  case 2: return json_real(hone_rng_unit(r) * 4 - 1);
  case 3: return json_string("sliding_attention");
  case 4: return json_pack("[i, s]", 3, "x");
  case 5: return json_pack("{s:i}", "hidden_size", 4);
  default: return json_integer(numbers[hone_rng_below(r, (int64_t)(sizeof numbers / sizeof numbers[0]))]);
  }
}

static const char *random_key(hone_rng *r, json_t *o)
{
  int64_t skip = hone_rng_below(r, (int64_t)json_object_size(o));
  void *at = json_object_iter(o);
  while (skip-- > 0) at = json_object_iter_next(o, at);
  return json_object_iter_key(at);
}

/* One to three changes; whole numbers are the likely ones. */
static void change(hone_rng *r, json_t *root)
{
  for (int64_t k = hone_rng_below(r, 3); k >= 0; k--) {
    json_t *text = json_object_get(root, "text_config"), *o = text && hone_rng_below(r, 2) ? text : root;
    if (json_object_size(o) == 0) continue;
    const char *key = random_key(r, o);
    json_t *v = json_object_get(o, key);
    int64_t what = hone_rng_below(r, 8);
    if (what == 0) json_object_del(o, key);
    else if (what == 1) json_object_set_new(o, key, random_value(r));
    else if (what == 2) {
      json_t *other = file_of(models[hone_rng_below(r, NMODELS)]);
      const char *theirs = random_key(r, other);
      json_object_set(o, theirs, json_object_get(other, theirs));
      json_decref(other);
    } else if (json_is_integer(v)) {
      int64_t was = json_integer_value(v), most = INT64_MAX - 1; /* a change may have made it huge */
      if (was > INT64_MIN / 4 && was < INT64_MAX / 4) most = 1 + 2 * llabs(was);
      json_object_set_new(o, key, json_integer(1 + hone_rng_below(r, most)));
    }
  }
}

typedef __int128 wide;

/* Every weight of the model, from its sizes. */
static wide closed_form(void)
{
  wide h = (wide)c.hidden, n = (wide)c.layers, moe = (wide)c.moe_layers, e = (wide)c.experts, w = (wide)c.expert_width;
  wide q = (wide)c.heads * (wide)c.head_dim, kv = (wide)c.kv_heads * (wide)c.head_dim, i = (wide)c.intermediate, norms = c.post_norms ? 4 : 2;
  wide layer = h * (2 * q + 2 * kv) + (c.qkv_bias ? q + 2 * kv : 0);
  if (c.kv_rank > 0) {
    wide a = (wide)c.q_rank, l = (wide)c.kv_rank, heads = (wide)c.heads, latent = l + (wide)c.rope_dim;
    layer = (a ? h * a + a + a * q + (c.qkv_bias ? a : 0) : h * q) + h * latent + l + (c.qkv_bias ? latent : 0);
    layer += l * heads * (wide)(c.nope_dim + c.value_dim) + heads * (wide)c.value_dim * h;
  }
  layer += norms * h + (c.o_bias ? h : 0) + (c.qk_norm ? 2 * (wide)c.head_dim : 0) + (c.sinks ? (wide)c.heads : 0);
  wide dense = 3 * h * i + (c.mlp_bias ? 2 * i + h : 0);
  wide experts = e * h + e * 3 * h * w + (c.expert_bias ? e + e * (2 * w + h) : 0) + (c.score_bias ? e : 0) + 3 * h * (wide)c.shared_width;
  return n * layer + (n - moe) * dense + moe * experts + (c.tied_embeddings ? 1 : 2) * (wide)c.vocabulary * h + h;
}

static void check_items(int i)
{
  hone_text text = {0};
  for (int k = 0; k < list.n; k++) {
    const hone_model_item *x = &list.item[k];
    static hone_spec again;
    bool good = x->count > 0 && x->parameters >= x->active_parameters && x->active_parameters >= 0 && x->weight_bytes >= 0 && isfinite(x->flops);
    for (int s = 0; s < x->spec.nsizes; s++) good = good && x->spec.size[s].value >= 1;
    hone_text_clear(&text);
    hone_spec_print(&x->spec, &text);
    good = good && hone_spec_parse(text.data, &again, &err) == HONE_OK && hone_spec_same_family(&x->spec, &again);
    ck_assert_msg(good, "case %d of seed %d: %s: %s", i, SEED, x->role, text.data);
  }
  hone_text_fini(&text);
}

/* What was read has a pass, or is too large for 64 bits, or does not divide. */
static bool check_pass(hone_rng *r, int i)
{
  hone_model_request q = request(HONE_PHASE_PREFILL, 1 + hone_rng_below(r, 64), 1 + hone_rng_below(r, 100000));
  q.shards = hone_rng_below(r, 2) ? 1 : 1 + hone_rng_below(r, 16);
  hone_status s = hone_model_memory_count(&c, &q, &memory, &err);
  ck_assert_msg(s == HONE_OK || s == HONE_OVERFLOW || (s == HONE_INFEASIBLE && q.shards > 1), "case %d of seed %d: %s", i, SEED, err.message);
  if (s != HONE_OK) return false;
  int64_t parameters = memory.parameters;
  ck_assert_msg(q.shards > 1 || (wide)parameters == closed_form(), "case %d of seed %d: %lld parameters", i, SEED, (long long)parameters);
  ck_assert(memory.total_bytes == memory.weight_bytes + memory.cache_bytes && memory.active_parameters <= parameters);
  for (int phase = 0; phase < 2; phase++) {
    q.phase = (hone_phase)phase;
    list_of(q);
    check_items(i);
    ck_assert_msg(memory.parameters == parameters, "case %d of seed %d: phases differ", i, SEED);
  }
  return true;
}

START_TEST(changed_files_are_read_or_refused)
{
  char file[64];
  hone_rng all, r;
  int read = 0, passes = 0, refused = 0;
  snprintf(file, sizeof file, "test_config_random_%ld.json", (long)getpid());
  hone_rng_init(&all, SEED);
  for (int i = 0; i < case_count(CASES); i++) {
    hone_rng_split(&all, (uint64_t)(i * NMODELS + _i), &r);
    json_t *root = file_of(models[_i]);
    change(&r, root);
    ck_assert_int_eq(json_dump_file(root, file, 0), 0);
    json_decref(root);
    hone_err_init(&err);
    hone_status s = hone_model_config_load(file, &c, &err);
    ck_assert_msg(s == HONE_OK || ((s == HONE_INPUT || s == HONE_UNSUPPORTED) && err.code[0] && err.message[0]), "case %d of seed %d", i, SEED);
    read += s == HONE_OK;
    refused += s != HONE_OK;
    if (s == HONE_OK) passes += check_pass(&r, i);
  }
  unlink(file);
  if (case_count(CASES) >= CASES) ck_assert_msg(passes > CASES / 10 && refused > CASES / 10, "%d read, %d passes, %d refused", read, passes, refused);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("config_random");
  TCase *t = tcase_create("config_random");
  unit_timeout(t, 60);
  tcase_add_loop_test(t, changed_files_are_read_or_refused, 0, NMODELS);
  suite_add_tcase(s, t);
  return unit_run(s);
}
