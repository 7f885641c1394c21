#!/bin/sh
# How near the limit tuning comes on Llama-3-8B's prefill matmuls on trainium2-core:
# bound_cycles is at least 85 % of the best simulated cycles, the default within
# 1.5 times the bound, and every winner's numbers are right: of products this large
# the smallest only, without HONE_TEST_PERCENT of at least 500 (scripts/check --full).
. "${srcdir:-.}/tests/cli/lib.sh"

machine=$top/data/machines/trainium2-core.yaml
expect 0 "prefill" hone tune --data "$top" --model "$top/data/models/llama-3-8b.json" --phase prefill --batch 1 --context 2048 \
  --machine "$machine" --budget 2000 --json || finish
cp "$work/out" "$work/model"
tuned=0 checked=0 i=0
while json "$work/model" "operators.$i" > /dev/null 2>&1; do
  [ "$(json "$work/model" "operators.$i.problem.operator")" = matmul ] || { i=$((i + 1)); continue; }
  bound=$(json "$work/model" "operators.$i.bound_cycles" 2> /dev/null) && {
    best=$(json "$work/model" "operators.$i.best.sim_cycles") default=$(json "$work/model" "operators.$i.default.sim_cycles")
    size=m=$(json "$work/model" "operators.$i.problem.dims.m"),n=$(json "$work/model" "operators.$i.problem.dims.n"),k=$(json "$work/model" "operators.$i.problem.dims.k")
    [ "$bound" -le "$best" ] || fail "$size: bound $bound above the best $best"
    [ $((bound * 100)) -ge $((best * 85)) ] || fail "$size: bound $bound is under 85 % of the best $best"
    [ $((default * 2)) -le $((bound * 3)) ] || fail "$size: default $default is over 1.5 times the bound $bound"
    json "$work/model" "operators.$i.best.schedule" > "$work/schedule"
    tuned=$((tuned + 1))
    case $size in
      m=2048,n=1024,k=4096) ;;
      *) [ "${HONE_TEST_PERCENT:-100}" -ge 500 ] || { i=$((i + 1)); continue; } ;;
    esac
    expect 0 "$size" hone simulate --data "$top" --operator matmul --size "$size" --dtype bf16 --machine "$machine" \
      --schedule "@$work/schedule" --check-numerics --json
    [ "$(json "$work/out" numerics.passed)" = true ] || fail "$size: the winner's numbers are not said to be right"
    checked=$((checked + 1))
  }
  i=$((i + 1))
done
[ $tuned -eq 5 ] || fail "$tuned matmuls tuned, not 5"
[ $checked -ge 1 ] || fail "the numbers of no winner were checked"
finish
