#!/bin/sh
# Machines and shapes at the edge of what is accepted, on the built command.
. "${srcdir:-.}/tests/cli/lib.sh"
teaching=$top/data/machines/teaching.yaml
small="--data $top --operator matmul --size m=40,n=24,k=33"

variant() { # variant NAME SED-SCRIPT: a teaching machine with an edit, in $work/NAME.yaml
  sed "$2" "$teaching" > "$work/$1.yaml"
  cmp -s "$teaching" "$work/$1.yaml" && fail "$1: the edit changed nothing"
}

# A rate serves its pair of formats either way round.
for formats in X=bf16,W=int8 X=int8,W=bf16 X=fp8e4m3,W=bf16; do
  # shellcheck disable=SC2086 # several words
  expect 0 "$formats" hone simulate $small --dtype bf16 --format $formats --machine "$teaching" --check-numerics --json
  [ "$(json "$work/out" numerics.passed)" = true ] || fail "$formats: numbers"
done

# More cores than work; a table of 20,000 rows is printed in a moment.
variant many_cores 's/size: 2,/size: 4096,/'
# shellcheck disable=SC2086
expect 0 "more cores than rows" hone simulate $small --dtype int8 --machine "$work/many_cores.yaml"
# A memory far larger than this computer's.
variant huge_memory 's/capacity: 64 KiB/capacity: 4 TiB/'
# shellcheck disable=SC2086
expect 0 "a memory of 4 TiB" hone simulate $small --dtype int8 --machine "$work/huge_memory.yaml" --check-numerics
# Too long to simulate: the model's word, said to be that.
expect 0 "2^40 rows" hone tune --data "$top" --operator matmul --size m=1099511627776,n=1,k=1 --dtype int8 --machine "$teaching" \
  --budget 50 --json
[ "$(json "$work/out" evidence)" = model ] || fail "2^40 rows: evidence"
[ "$(json "$work/out" counts.failed_by.size)" -ge 1 ] || fail "2^40 rows: not counted as too long"
[ "$(json "$work/out" bound_cycles)" -le "$(json "$work/out" best.model_cycles)" ] || fail "2^40 rows: below the bound"
# Nothing can be placed: every evaluation is a failure with its reason.
variant one_semaphore 's/semaphores: 64/semaphores: 1/'
# shellcheck disable=SC2086
expect 3 "one semaphore" hone tune $small --dtype int8 --machine "$work/one_semaphore.yaml" --budget 50
grep -q '^failure .*semaphores: .* of 1' "$work/out" || fail "one semaphore: no reason"
finish
