#!/bin/sh
# Operators without a matrix product: bound, best and default are in order and the
# numbers are right, on machines with one core and several, in integers and floats;
# a format the vector engine does not take is refused by name.
. "${srcdir:-.}/tests/cli/lib.sh"

# tune NAME MACHINE FORMAT SIZE OPTION...
tune() {
  name="$1 $2 $3 $4" operator=$1 machine=$2 format=$3 size=$4
  shift 4
  set -- --data "$top" --operator "$operator" --size "$size" --dtype "$format" --machine "$machine" "$@"
  expect 0 "$name" hone tune "$@" --budget 300 --json || return
  cp "$work/out" "$work/tuned"
  bound=$(json "$work/tuned" bound_cycles) best=$(json "$work/tuned" best.sim_cycles) default=$(json "$work/tuned" default.sim_cycles)
  { [ "$bound" -le "$best" ] && [ "$best" -le "$default" ]; } || fail "$name: bound $bound, best $best, default $default"
  [ "$(json "$work/tuned" counts.failed)" -eq 0 ] || fail "$name: failures: $(json "$work/tuned" counts)"
  json "$work/tuned" best.schedule > "$work/schedule"
  for schedule in default "@$work/schedule"; do
    expect 0 "$name" hone simulate "$@" --schedule "$schedule" --check-numerics --json
    [ "$(json "$work/out" numerics.passed)" = true ] || fail "$name, $schedule: the numbers are not said to be right"
  done
}

tune residual_add trainium2-core bf16 tokens=33,width=4096
tune residual_add gemmini-default int8 tokens=7,width=229
tune residual_add napier-public log8 tokens=64,width=768
tune gated_activation trainium2-core fp16 tokens=33,width=1430
tune gated_activation tpu-v4i bf16 tokens=1,width=14336 --option activation=gelu
tune gated_activation teaching fp32 tokens=13,width=97
tune gated_activation napier-public bf16 tokens=130,width=300

expect_error 3 schedule.format "bf16 on gemmini" hone tune --data "$top" --operator residual_add --size tokens=8,width=8 --dtype bf16 \
  --machine gemmini-default
expect_error 3 schedule.function "silu on gemmini" hone tune --data "$top" --operator gated_activation --size tokens=8,width=8 \
  --dtype int8 --machine gemmini-default
finish
