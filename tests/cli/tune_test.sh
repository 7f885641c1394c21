#!/bin/sh
# The documents of hone tune: keys, order of bound, best and default, determinism.
. "${srcdir:-.}/tests/cli/lib.sh"
machines=$top/data/machines

# tune NAME ARGUMENTS...: one document that holds what DESIGN promises.
tune() {
  name=$1
  shift
  expect 0 "$name" hone tune --data "$top" --operator matmul "$@" --json || return
  json --schema "$top/data/schema/tune.schema.json" "$work/out" || fail "$name: not as the schema says"
  bound=$(json "$work/out" bound_cycles)
  best=$(json "$work/out" best.sim_cycles)
  start=$(json "$work/out" default.sim_cycles)
  [ "$bound" -gt 0 ] && [ "$bound" -le "$best" ] && [ "$best" -le "$start" ] ||
    fail "$name: bound $bound, best $best, default $start are out of order"
  [ "$(json "$work/out" evidence)" = simulator ] || fail "$name: not simulated"
  [ "$(json "$work/out" counts.evaluated)" -le 300 ] || fail "$name: budget exceeded"
}

small="--budget 200 --top-k 4 --samples 8 --max-k 8"
# shellcheck disable=SC2086 # several words
tune "odd int8" $small --size m=229,n=229,k=229 --dtype int8 --machine "$machines/gemmini-default.yaml"
# shellcheck disable=SC2086
tune "one token" $small --size m=1,n=4096,k=4096 --dtype bf16 --machine "$machines/trainium2-core.yaml"
# shellcheck disable=SC2086
tune "prefill" $small --size m=2048,n=4096,k=4096 --dtype bf16 --machine "$machines/trainium2-core.yaml"

# The same seed gives the same document, whatever the threads.
run="hone tune --data $top --operator matmul --size m=96,n=80,k=112 --dtype int8 --machine $machines/gemmini-default.yaml --budget 300 --json"
for threads in 1 2; do
  # shellcheck disable=SC2086
  expect 0 "$threads threads" $run --threads $threads --seed 7 && cp "$work/out" "$work/threads$threads"
done
json --same "$work/threads1" "$work/threads2" elapsed_s || fail "1 and 2 threads differ"
# shellcheck disable=SC2086
expect 0 "another seed" $run --seed 8 && { json --same "$work/threads1" "$work/out" elapsed_s seed && fail "the seed has no effect"; }

# A run by time names the budget that reproduces it.
# shellcheck disable=SC2086
expect 0 "by time" hone tune --data "$top" --operator matmul --size m=96,n=80,k=112 --dtype int8 \
  --machine "$machines/gemmini-default.yaml" --time 0.2 --json && cp "$work/out" "$work/timed"
budget=$(json "$work/timed" budget)
expect 0 "its budget" hone tune --data "$top" --operator matmul --size m=96,n=80,k=112 --dtype int8 \
  --machine "$machines/gemmini-default.yaml" --budget "$budget" --json
json --same "$work/timed" "$work/out" elapsed_s status || fail "--budget $budget does not reproduce --time"

# Without --json: text on stdout, nothing on a stderr that is no terminal.
expect 0 "text" hone tune --data "$top" --operator matmul --size m=16,n=16,k=16 --dtype int8 \
  --machine "$machines/teaching.yaml" --budget 50
grep -q '^best ' "$work/out" || fail "text: names no best"
[ -s "$work/err" ] && fail "text: stderr is not empty"
expect 0 "progress" hone tune --data "$top" --operator matmul --size m=16,n=16,k=16 --dtype int8 \
  --machine "$machines/teaching.yaml" --budget 50 --progress json
head -1 "$work/err" > "$work/line" && json "$work/line" evaluated > /dev/null || fail "progress: no JSON line"
finish
