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
finish
