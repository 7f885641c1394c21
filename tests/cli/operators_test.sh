#!/bin/sh
# Operators that are more than a matrix product: bound, best and default are in order
# and the numbers are right, on machines with one core and several, in integers and floats;
# a format the vector engine does not take is refused by name.
. "${srcdir:-.}/tests/cli/lib.sh"

# tune NAME MACHINE FORMAT SIZE OPTION...
tune() {
  name="$1 $2 $3 $4" operator=$1 machine=$2 format=$3 size=$4
  shift 4
  set -- --data "$top" --operator "$operator" --size "$size" --dtype "$format" --machine "$machine" "$@"
  expect 0 "$name" hone tune "$@" --budget 80 --top-k 4 --samples 2 --json || return
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
tune rms_norm trainium2-core bf16 tokens=33,width=1030
tune rms_norm napier-public log16 tokens=17,heads=3,width=64
tune layer_norm teaching fp32 tokens=13,width=97
tune softmax tpu-v4i bf16 tokens=7,width=3001
tune rotary napier-public bf16 tokens=17,heads=5,head_dim=64
tune softcap trainium2-core bf16 tokens=1,width=5003
tune embedding trainium2-core bf16 tokens=70,width=300,vocabulary=1000
tune transpose tpu-v4i int8 rows=57,columns=93
tune cache_append gemmini-default int8 tokens=17,heads=3,head_dim=40
tune rescale trainium2-core bf16 tokens=9,width=301 --format Y=int8
tune attention napier-public bf16 batch=2,heads=10,kv_heads=2,keys=133,head_dim=40,value_dim=24
tune attention teaching bf16 batch=1,heads=7,kv_heads=1,queries=3,keys=37,head_dim=16,value_dim=16 --option softcap=yes
tune attention_paged trainium2-core bf16 batch=2,heads=6,kv_heads=2,keys=128,pages=99,head_dim=40,value_dim=24
tune attention_latent tpu-v4i bf16 batch=2,heads=5,keys=133,latent=24,rope=16,nope=8
tune qkv trainium2-core bf16 m=33,q=96,kv=40,k=70 --option bias=row
tune gated_mlp napier-public bf16 m=17,width=50,hidden=130
tune norm_matmul teaching bf16 m=17,n=50,k=130

expect_error 3 schedule.format "bf16 on gemmini" hone tune --data "$top" --operator residual_add --size tokens=8,width=8 --dtype bf16 \
  --machine gemmini-default
expect_error 3 schedule.function "silu on gemmini" hone tune --data "$top" --operator gated_activation --size tokens=8,width=8 \
  --dtype int8 --machine gemmini-default
expect_error 2 operator.expression "heads that do not divide" hone tune --data "$top" --operator attention \
  --size batch=1,heads=7,kv_heads=2,keys=8,head_dim=8,value_dim=8 --dtype bf16 --machine teaching
expect_error 2 operator.expression "odd heads" hone tune --data "$top" --operator rotary --size tokens=8,heads=2,head_dim=7 --dtype bf16 \
  --machine teaching
expect_error 3 schedule.function "norm on gemmini" hone tune --data "$top" --operator rms_norm --size tokens=8,width=8 --dtype int8 \
  --machine gemmini-default
finish
