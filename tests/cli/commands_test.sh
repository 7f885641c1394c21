#!/bin/sh
# Every command but tune's details: what it prints, its document, its exit status.
. "${srcdir:-.}/tests/cli/lib.sh"
small="--data $top --operator matmul --size m=48,n=40,k=56 --dtype int8 --machine $top/data/machines/gemmini-default.yaml"

# is NAME PATH VALUE: of the last document.
is() {
  have=$(json "$work/out" "$2") || { fail "$1: no $2"; return; }
  [ "$have" = "$3" ] || fail "$1: $2 is $have, not $3"
}

# has NAME PATH...: of the last document.
has() {
  name=$1
  shift
  for path; do json "$work/out" "$path" > "$work/value" || fail "$name: no $path"; done
}

# Help speaks of every option, from the same table the parser uses.
expect 0 "version" hone --version && grep -q '^formats ' "$work/out" || fail "version: build facts"
expect 0 "version" hone --version --json && has version libraries.hdf5 evaluators.model formats.store compiler flags
json --schema "$top/data/schema/version.schema.json" "$work/out" || fail "version: not as its schema says"
expect 0 "help" hone help
cp "$work/out" "$work/overview"
for command in $(sed -n 's/^HONE_COMMAND(\(.*\))$/\1/p' "$top/src/cli/command.def"); do
  grep -q "^  $command " "$work/overview" || fail "help: does not list $command"
  expect 0 "$command --help" hone "$command" --help && cp "$work/out" "$work/option" && expect 0 "help $command" hone help "$command" &&
    { cmp -s "$work/option" "$work/out" || fail "$command: --help and help differ"; }
done
expect 0 "help tune" hone help tune && grep -q -- '--budget N' "$work/out" || fail "help tune: --budget"
expect 2 "no command" hone

# space. shellcheck disable=SC2086 (several words, here and below)
# shellcheck disable=SC2086
{
  expect 0 "show" hone space show $small --json && has show parameters.0.name parameters.0.values
  expect 0 "count" hone space count $small --json && is count empty false && has count points tried
  expect 0 "sample" hone space sample $small --count 3 --seed 5 && cp "$work/out" "$work/sample"
  expect 0 "sample again" hone space sample $small --count 3 --seed 5
  cmp -s "$work/sample" "$work/out" || fail "sample: depends on more than the seed"
  [ "$(wc -l < "$work/sample")" -eq 3 ] || fail "sample: not 3 lines"
  expect 0 "neighbours" hone space neighbours $small --count 4 --json && has neighbours schedules.0
  head -1 "$work/sample" > "$work/schedule"
  expect 0 "check" hone space check $small --schedule "@$work/schedule" --json && is check legal true
  sed 's/depth.X.1=[0-9]*/depth.X.1=8/; s/tile.1.m=[0-9]*/tile.1.m=49/' "$work/schedule" > "$work/illegal"
  expect 3 "illegal" hone space check $small --schedule "@$work/illegal" --json && is illegal legal false && has illegal reason.code
}

# explain, compile, simulate on the same schedule.
# shellcheck disable=SC2086
{
  expect 0 "explain" hone explain $small --schedule "@$work/schedule" --json &&
    has explain cycles_by_cause.matrix memories.0.slack_bytes traffic.0.read_bytes bound.limit changes
  sum=0
  for cause in matrix vector dram dma prologue epilogue serialisation overhead; do
    sum=$((sum + $(json "$work/out" cycles_by_cause.$cause)))
  done
  is "explain: the causes add up" model_cycles "$sum"
  expect 0 "compile" hone compile $small --schedule "@$work/schedule" --disassemble --output "$work/program" --json &&
    is compile program_bytes "$(wc -c < "$work/program" | tr -d ' ')" && has compile resources.microcode_bytes disassembly
  expect 0 "simulate" hone simulate $small --schedule "@$work/schedule" --check-numerics --json &&
    is simulate numerics.passed true && is simulate numerics.worst_error 0.0 && has simulate units.0.busy traffic
  cycles=$(json "$work/out" sim_cycles)
  for unit in 0 1 2 3 4; do
    sum=0
    for stall in $(sed -n 's/^HONE_STALL([A-Z_]*, "\([a-z-]*\)").*/\1/p' "$top/sim/stall.def"); do
      sum=$((sum + $(json "$work/out" "units.$unit.$stall")))
    done
    [ "$sum" -eq "$cycles" ] || fail "simulate: unit $unit accounts for $sum of $cycles cycles"
  done
  expect 4 "unwritable program" hone compile $small --output "$work/none/program"
  cp "$work/program" "$work/kept"
  (ulimit -f 0; trap '' XFSZ; hone compile $small --output "$work/kept" > "$work/out" 2>&1) && fail "compile: wrote without room"
  cmp -s "$work/program" "$work/kept" || fail "compile: a failed write changed the file"
  [ "$(find "$work" -name '.tmp-*' | wc -l)" -eq 0 ] || fail "compile: a temporary is left"
  expect_error 3 "schedule.*" "illegal to compile" hone compile $small --schedule "@$work/illegal"
}

# A store by tune, seen by store.
# shellcheck disable=SC2086
{
  expect 0 "tune" hone tune $small --budget 60 --top-k 4 --samples 2 --max-k 4 --store "$work/s.hone" --json
  best=$(json "$work/out" best.sim_cycles)
  expect 0 "info" hone store info "$work/s.hone" --json && has info snapshot records by_task.0.best_cycles
  expect 0 "top" hone store top "$work/s.hone" --evaluator simulator --count 1 --json && is top records.0.cycles "$best"
  json "$work/out" records.0.schedule > "$work/best"
  expect 0 "replay" hone simulate $small --schedule "@$work/best" --json && is replay sim_cycles "$best"
  expect 0 "query" hone store query "$work/s.hone" --outcome succeeded --count 5 --json && has query records.4.key
  expect 3 "nothing there" hone store query "$work/s.hone" --operator nosuch
  expect 0 "export" hone store export "$work/s.hone" && [ "$(wc -l < "$work/out")" -gt 60 ] || fail "export: too short"
  expect 0 "export json" hone store export "$work/s.hone" --as json && head -1 "$work/out" > "$work/line" &&
    json "$work/line" schedule > "$work/value" || fail "export json: no document a line"
  expect 0 "verify" hone store verify "$work/s.hone" --json && is verify sound true
  segment=$(ls "$work/s.hone"/*.h5 | head -1)
  chmod u+w "$segment" && dd if=/dev/zero of="$segment" bs=1 seek=200 count=200 conv=notrunc 2> "$work/value"
  expect 4 "damaged" hone store verify "$work/s.hone" --json && has damaged damaged.0.code error.code
}

# A model: what is tuned, what is not, what does not fit.
llama="--data $top --model $top/data/models/llama-3-8b.json --machine $top/data/machines/trainium2-core.yaml"
# shellcheck disable=SC2086
{
  expect 0 "model" hone tune $llama --phase decode --batch 8 --context 4096 --budget 10 --top-k 1 --samples 0 --max-k 1 --json &&
    json --schema "$top/data/schema/tune-model.schema.json" "$work/out" || fail "model: not as its schema says"
  is model capacity.fits false && is model operators.2.count 64
  [ "$(json --length "$work/out" operators)" -eq 13 ] || fail "model: not 13 distinct operators"
  has model warnings.0.message
  says model "does not fit trainium2-core"
  expect_error 2 option.missing "no phase" hone tune $llama --context 4096
  expect_error 2 option.missing "no context" hone tune $llama --phase decode
  expect_error 2 option.value "phase" hone tune $llama --phase decoed --context 4096
  expect_error 2 "*" "model name" hone tune --data "$top" --model llama-3-8c --machine trainium2-core --phase decode --context 4
  says "model name" llama-3-8b
}
finish
