#!/bin/sh
# hone machine: every document as its schema says, figures against the ones typed in
# here, every class of finding from one edit of a machine that has none.
. "${srcdir:-.}/tests/cli/lib.sh"
machines=$top/data/machines

# document KIND NAME: the last output is as data/schema/machine-KIND says.
document() {
  json --schema "$top/data/schema/machine-$1.schema.json" "$work/out" || fail "$2: not as its schema says"
}

# is NAME PATH VALUE
is() {
  have=$(json "$work/out" "$2") || have=absent
  [ "$have" = "$3" ] || fail "$1: $2 is $have, not $3"
}

# list: all that ship, and a bad file beside them hides none.
expect 0 "list" hone machine list --data "$top" --json && document list "list"
[ "$(json --length "$work/out" machines)" -ge 8 ] || fail "list: not all machines"
mkdir -p "$work/data/machines" && echo "name: 7" > "$work/data/machines/broken.yaml"
expect 0 "list with a bad file" hone machine list --data "$work" --json && document list "list with a bad file"
is "list with a bad file" machines.0.error.code machine.missing-field

# show: machines.md's peaks (multiply-adds a cycle of the chip), and inheritance.
for file in "$machines"/*.yaml; do
  machine=${file##*/}
  expect 0 "show $machine" hone machine show "$machines/$machine" --json && document show "show $machine"
  expect 0 "show $machine" hone machine show "$machines/$machine" && grep -q "^on chip  " "$work/out" || fail "show $machine: no capacity"
  expect 0 "check $machine" hone machine check "$machines/$machine" --json && document check "check $machine"
  is "check $machine" valid true
  expect 0 "diff $machine" hone machine diff "$machines/$machine" "$machines/$machine" --json && document diff "diff $machine"
  [ "$(json --length "$work/out" differences)" -eq 0 ] || fail "diff $machine: differs from itself"
done
expect 0 "napier" hone machine show --data "$top" napier-public --json
is napier derived.peak.0.chip_macs_per_cycle 786432.0
is napier derived.memories.1.instances 48
is napier machine.cores 48
expect 0 "a128" hone machine show --data "$top" reference-a128 --json
is a128 machine.processing_elements 16384
is a128 derived.peak.0.chip_macs_per_cycle 16384.0
is a128 derived.dram_write_bytes_per_cycle 512.0
grep -q '"inherited_from": "reference-a16.yaml"' "$work/out" || fail "a128: inherits nothing"
expect 0 "a128 in text" hone machine show --data "$top" reference-a128
grep -q '^memories.rf.capacity .* from reference-a16.yaml' "$work/out" || fail "a128: the text does not say what it inherits"

# The reference machines can be read, not tuned for: a refusal, never an answer.
for machine in reference-a16 reference-a128; do
  for command in "tune --budget 10" explain "space show" "space count" compile simulate; do
    # shellcheck disable=SC2086 # several words
    expect_error 2 schedule.unsupported "$command on $machine" hone $command --data "$top" --operator "$top/spaces/matmul.yaml" --size m=64,n=64,k=64 \
      --dtype int8 --machine "$machines/$machine.yaml"
    says "$command on $machine" "processing-element axes"
  done
done

# finding KIND CODE PATH NAME SED: one remark on the teaching machine with an edit, at its place.
finding() {
  sed -e "$5" "$machines/teaching.yaml" > "$work/edited.yaml"
  cmp -s "$machines/teaching.yaml" "$work/edited.yaml" && fail "$4: nothing was edited"
  expect 0 "$4" hone machine check "$work/edited.yaml" --json || return
  document check "$4"
  n=$(json --length "$work/out" "$1") i=0 found=
  while [ "$i" -lt "$n" ]; do
    [ "$(json "$work/out" "$1.$i.code") $(json "$work/out" "$1.$i.path")" = "$2 $3" ] && found=$i
    i=$((i + 1))
  done
  [ -n "$found" ] || { fail "$4: no $2 at $3"; return; }
  line=$(json "$work/out" "$1.$found.line") column=$(json "$work/out" "$1.$found.column")
  expect 0 "$4" hone machine check "$work/edited.yaml"
  grep -qF "edited.yaml:$line:$column: ${1%s}: $3: " "$work/out" || fail "$4: the text does not say $2 at $line:$column"
}
# The shipped one has a single warning, that its values are assumed; each edit adds its own.
expect 0 "teaching" hone machine check "$machines/teaching.yaml" --json
[ "$(json --length "$work/out" warnings) $(json "$work/out" warnings.0.code)" = "1 machine.assumed" ] || fail "teaching: $(json "$work/out" warnings)"
grep -q "86 of 86 values" "$work/out" || fail "teaching: assumed values are not counted"
finding warnings machine.dma-rate dma.rate "DMA above the DRAM" 's/engine_rate: 8 /engine_rate: 32 /; s/^  rate: 16 /  rate: 64 /'
finding warnings machine.dma-rate dma.rate "DMA below the DRAM" 's/^  rate: 16 /  rate: 7 /'
finding warnings machine.dma-rate dma.rate "DMA above the SRAM" '/^  sram/,/^  acc/s/bandwidth: 64 /bandwidth: 14 /'
finding warnings machine.feed "engines.array.rates.bf16 x bf16 -> fp32" "feed" '/^  sram/,/^  acc/s/bandwidth: 64 /bandwidth: 14 /'
finding warnings machine.feed "engines.array.rates.int8 x int8 -> int32" "sums" 's/int32: {rows: 2 /int32: {rows: 3 /'
finding warnings machine.load-exposed engines.array.load_hidden "load" 's/load_hidden: true/load_hidden: false/'
finding warnings machine.capacity engines.array.max_stream_rows "longest pass" 's/max_stream_rows: 64/max_stream_rows: 513/'
finding warnings machine.capacity engines.array.rows "array" 's/ rows: 8$/ rows: 4096/; s/ columns: 8$/ columns: 16/'
finding warnings machine.order memories.sram.latency "latency" 's/latency: 2 cycles/latency: 101 cycles/'
finding warnings machine.order memories.sram.capacity "capacity" 's/capacity: 1 GiB/capacity: 100 KiB/'
finding warnings machine.order memories.acc.read_energy "energy" 's|read_energy: {value: 1.25 pJ/B|read_energy: {value: 161 pJ/B|'
finding notes machine.no-energy memories.acc "energy unknown" '/^  acc/,/^moves/{/_energy/d;}'
finding notes machine.no-energy "engines.array.rates.fp8e4m3 x fp8e4m3 -> fp32" "energy of a rate" 's/{rows: 2 per cycle, energy: 1 pJ}/{rows: 2 per cycle}/'
finding notes machine.unused dma.max_rank "descriptors" 's/max_rank: 4/max_rank: 2/'
finding notes machine.unused axes.core.multicast "multicast" 's/multicast: false/multicast: true/'
finding notes machine.unused axes.core.link.latency "link" 's/reduce: false}/reduce: false, link: {bandwidth: 8 B\/cycle, latency: 5 ns}}/'
finding notes machine.model-only kind "model-only" 's/^kind: tile/kind: model-only/'

# What is wrong: where, in which field, and exit status 2.
sed -e 's/capacity: 64 KiB/capacity: 64 KB/' "$machines/teaching.yaml" > "$work/wrong.yaml"
expect_error 2 unit.malformed "wrong unit" hone machine check "$work/wrong.yaml" && document check "wrong unit"
is "wrong unit" valid false
is "wrong unit" error.path memories.sram.capacity
expect 2 "wrong unit" hone machine check "$work/wrong.yaml"
says "wrong unit" "wrong.yaml:$(grep -n "64 KB" "$work/wrong.yaml" | cut -d: -f1):15:"
says "wrong unit" "memories.sram.capacity"
expect_error 4 "file.*" "no file" hone machine check "$work/none.yaml"
expect_error 2 file.not-found "no name" hone machine show --data "$top" napier-publik
says "no name" napier-public
expect_error 2 cli.missing-argument "one machine" hone machine diff "$machines/teaching.yaml"
expect_error 2 cli.missing-argument "no machine" hone machine show
expect_error 2 cli.unknown-command "no such subcommand" hone machine chekc "$work/wrong.yaml"
says "no such subcommand" check

# diff: exit status 0 either way; equal in another unit is equal; absent fields are null.
sed -e 's/capacity: 64 KiB/capacity: 65536 B/; s/latency: 100 ns/latency: 100 cycles/; s/choice: chosen.*/choice: other words/' \
  "$machines/teaching.yaml" > "$work/same.yaml"
expect 0 "same in other units" hone machine diff "$machines/teaching.yaml" "$work/same.yaml"
grep -q '^identical' "$work/out" || fail "same in other units: not identical"
sed -e 's/capacity: 64 KiB/capacity: 32 KiB/; /bank_width: 16 B/d; s/^name: .*/name: other/' "$machines/teaching.yaml" > "$work/other.yaml"
expect 0 "different" hone machine diff "$machines/teaching.yaml" "$work/other.yaml" --json && document diff "different"
[ "$(json --length "$work/out" differences)" -eq 3 ] || fail "different: not 3 differences"
is "different" same_identity false
is "different" differences.1.path memories.sram.capacity
is "different" differences.1.a.value 65536
is "different" differences.1.b.value 32768
is "different" differences.2.b null
sed -e 's/^name: .*/name: other/' "$machines/teaching.yaml" > "$work/renamed.yaml"
expect 0 "renamed" hone machine diff "$machines/teaching.yaml" "$work/renamed.yaml" --json && is "renamed" same_identity true
finish
