#!/bin/sh
# How near the limit tuning comes on Llama-3-8B's prefill matmuls (1 x 2048) on
# trainium2-core: bound_cycles is at least 85 % of the best simulated cycles, the
# default within 1.5 times the bound, and every winner's numbers are right. Without
# HONE_TEST_PERCENT of at least 500 (scripts/check --full) only three of the five, and
# the numbers of the smallest.
. "${srcdir:-.}/tests/cli/lib.sh"

machine=$top/data/machines/trainium2-core.yaml
full=no
[ "${HONE_TEST_PERCENT:-100}" -lt 500 ] || full=yes
checked=0

# target SIZE, check its numbers: yes or no
target() {
  expect 0 "$1" hone tune --data "$top" --operator matmul --size "$1" --dtype bf16 --machine "$machine" --budget 2000 --json || return
  bound=$(json "$work/out" bound_cycles) best=$(json "$work/out" best.sim_cycles) default=$(json "$work/out" default.sim_cycles)
  [ "$bound" -le "$best" ] || fail "$1: bound $bound above the best $best"
  [ $((bound * 100)) -ge $((best * 85)) ] || fail "$1: bound $bound is under 85 % of the best $best"
  [ $((default * 2)) -le $((bound * 3)) ] || fail "$1: default $default is over 1.5 times the bound $bound"
  [ "$2" = yes ] || return
  json "$work/out" best.schedule > "$work/schedule"
  expect 0 "$1" hone simulate --data "$top" --operator matmul --size "$1" --dtype bf16 --machine "$machine" \
    --schedule "@$work/schedule" --check-numerics --json
  [ "$(json "$work/out" numerics.passed)" = true ] || fail "$1: the winner's numbers are not said to be right"
  checked=$((checked + 1))
}

target m=2048,n=4096,k=4096 $full
target m=2048,n=1024,k=4096 yes
target m=1,n=128256,k=4096 $full
if [ $full = yes ]; then
  target m=2048,n=14336,k=4096 yes
  target m=2048,n=4096,k=14336 yes
fi
[ $checked -ge 1 ] || fail "the numbers of no winner were checked"
finish
