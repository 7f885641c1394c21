#!/bin/sh
# hone tune --model on the families: every operator of a pass is tuned or listed with
# its reason, formats come from the file, shards divide; and what is refused.
. "${srcdir:-.}/tests/cli/lib.sh"

fast="--budget 10 --top-k 1 --samples 0 --max-k 1"
schema=$top/data/schema/tune-model.schema.json

# tune NAME STATUS ARGUMENTS...: the document is in $work/out.
tune() {
  title=$1 status=$2
  shift 2
  # shellcheck disable=SC2086
  expect "$status" "$title" hone tune --data "$top" "$@" $fast --json &&
    { json --schema "$schema" "$work/out" || fail "$title: not as its schema says"; }
}

# is NAME PATH VALUE: of the last document.
is() {
  have=$(json "$work/out" "$2") || have=nothing
  [ "$have" = "$3" ] || fail "$1: $2 is $have, not $3"
}

# lengths NAME OPERATORS NOT-TUNED
lengths() {
  for list in "operators $2" "not_tuned $3"; do
    have=$(json --length "$work/out" "${list% *}")
    [ "$have" -eq "${list#* }" ] || fail "$1: $have ${list% *}, not ${list#* }"
  done
}

tune llama 0 --model llama-3-8b --phase decode --batch 8 --context 4096 --machine trainium2-core && lengths llama 13 0
tune qwen3 0 --model qwen3-30b-a3b --phase prefill --context 512 --machine trainium2-core && lengths qwen3 16 4
is qwen3 model.parameters 30532122624
is qwen3 model.formats.weights bf16
tune deepseek 0 --model deepseek-v3 --phase decode --batch 4 --context 1024 --machine trainium2-core && lengths deepseek 26 3
is deepseek model.formats.weights fp8e4m3
is deepseek model.formats.other_weights bf16
is deepseek operators.2.problem.formats.W fp8e4m3
is deepseek operators.2.problem.formats.Y bf16
is deepseek capacity.fits false
[ "$(json --length "$work/out" model.left_out)" -eq 1 ] || fail "deepseek: does not say what is left out"
tune "deepseek prefill" 0 --model deepseek-v3 --phase prefill --context 256 --machine trainium2-core --tensor-parallel 64 &&
  lengths "deepseek prefill" 24 6
is "deepseek prefill" model.tensor_parallel 64
is "deepseek prefill" capacity.fits true

# A machine without fp8: the file's formats give way, once and aloud; the user's do not.
tune fallback 0 --model deepseek-v3 --phase decode --context 64 --machine tpu-v4i
is fallback operators.2.problem.formats.W bf16
[ "$(grep -c 'model\.format' "$work/err")" -eq 1 ] || fail "fallback: not one warning"
tune chosen 3 --model deepseek-v3 --phase decode --context 64 --machine tpu-v4i --dtype fp8
is chosen status infeasible
[ "$(json --length "$work/out" operators)" -eq 0 ] || fail "chosen: something was tuned in another format"
grep -q 'fp8e4m3' "$work/out" || fail "chosen: the reason does not name the format"
tune mxfp4 0 --model gpt-oss-20b --phase decode --context 64 --machine trainium2-core
is mxfp4 model.formats.mxfp4_experts true
is mxfp4 warnings.0.code model.format
tune "mxfp4 replaced" 0 --model gpt-oss-20b --phase decode --context 64 --machine trainium2-core --dtype bf16
if grep -q mxfp4 "$work/err"; then fail "mxfp4 replaced: a warning of a format that is not used"; fi

# What people read: schedules without loops over a memory leave no blank behind.
# shellcheck disable=SC2086
expect 0 "table" hone tune --data "$top" --model qwen3-0.6b --phase decode --context 64 --machine trainium2-core $fast
grep -q 'Not tuned' "$work/out" && fail "table: lists what is not tuned, of nothing"
[ "$(grep -c ' psum ' "$work/out")" -eq 16 ] || fail "table: not 16 schedules"
grep -q -e 'psum .* $' -e '  psum' "$work/out" && fail "table: blanks without loops"

# Shards.
expect_error 3 model.shard "odd shards" hone tune --data "$top" --model qwen2.5-7b --phase decode --context 8 --machine trainium2-core --tensor-parallel 8
says "odd shards" num_attention_heads
expect_error 2 tune.both "shards of an operator" hone tune --data "$top" --operator matmul --size m=8,n=8,k=8 --dtype bf16 \
  --machine trainium2-core --tensor-parallel 2

# Files that are refused, and one with a key nobody knows.
config() { printf '{"architectures": ["%s"], "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1,\n"num_attention_heads": 2, "vocab_size": 96%s}\n' "$1" "$2" > "$work/config.json"; }
refused() { expect_error 2 "$1" "$2" hone tune --data "$top" --model "$work/config.json" --phase decode --context 8 --machine teaching; }
config DeepseekV32ForCausalLM ', "kv_lora_rank": 8, "index_topk": 4' && refused model.unsupported sparse && says sparse index_topk && says sparse DeepseekV3ForCausalLM
config LlamaForCausalLM ', "quantization_config": {"quant_method": "awq"}' && refused model.unsupported awq && says awq "config.json:2"
config LlamaForCausalLM ', "num_extra_heads": 2' && refused model.unknown-key shape && says shape num_extra_heads
config LlamaForCausalLM ', "shiny": true, "glossy": true'
expect 0 harmless hone tune --data "$top" --model "$work/config.json" --phase decode --context 8 --machine trainium2-core --budget 1 --json
[ "$(grep -c 'model\.unknown-key' "$work/err")" -eq 1 ] || fail "harmless: not one warning"
says harmless "'shiny', 'glossy'"
expect 0 folder hone tune --data "$top" --model "$work/" --phase decode --context 8 --machine trainium2-core --budget 1 --json

# The commands of docs/models.md.
ln -s "$top/data" "$top/spaces" "$work/"
awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside && /^hone /' "$top/docs/models.md" > "$work/commands"
[ "$(wc -l < "$work/commands")" -ge 3 ] || fail "docs/models.md: no commands found"
cd "$work" || exit 1
while read -r line; do
  # shellcheck disable=SC2086 # several words
  expect 0 "docs/models.md" $line $fast < /dev/null
done < "$work/commands"
finish
