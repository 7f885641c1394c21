#!/bin/sh
# Tuning works on every tile machine of the repository with a small budget: bound,
# best and default are in order, nothing that was simulated failed, and the
# winner's numbers are right.
. "${srcdir:-.}/tests/cli/lib.sh"

# tune MACHINE FORMAT SIZE
tune() {
  machine=$top/data/machines/$1.yaml name="$1 $2 $3"
  expect 0 "$name" hone tune --data "$top" --operator matmul --size "$3" --dtype "$2" --machine "$machine" --budget 250 --json || return
  cp "$work/out" "$work/tuned"
  bound=$(json "$work/tuned" bound_cycles) best=$(json "$work/tuned" best.sim_cycles) default=$(json "$work/tuned" default.sim_cycles)
  [ "$bound" -le "$best" ] || fail "$name: bound $bound above the best $best"
  [ "$best" -le "$default" ] || fail "$name: best $best worse than the default $default"
  [ "$(json "$work/tuned" counts.failed)" -eq 0 ] || fail "$name: failures: $(json "$work/tuned" counts)"
  [ "$(json "$work/tuned" counts.evaluated)" -eq 250 ] || fail "$name: only $(json "$work/tuned" counts.evaluated) evaluated"
  json "$work/tuned" best.schedule >"$work/schedule"
  expect 0 "$name" hone simulate --data "$top" --operator matmul --size "$3" --dtype "$2" --machine "$machine" \
    --schedule "@$work/schedule" --check-numerics --json
  [ "$(json "$work/out" numerics.passed)" = true ] || fail "$name: the winner's numbers are not said to be right"
}

tune tpu-v1 int8 m=150,n=300,k=520
tune tpu-v1 int16 m=8,n=520,k=1024
tune tpu-v4i bf16 m=150,n=300,k=520
tune tpu-v4i int8 m=8,n=520,k=1024
tune napier-public bf16 m=150,n=300,k=520
tune napier-public log8 m=8,n=520,k=2048
tune napier-public log8 m=130,n=260,k=300
tune napier-public log16 m=8,n=520,k=1024
tune tpu-v1 int16 m=8,n=520,k=700
finish
