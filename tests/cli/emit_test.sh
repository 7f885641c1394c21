#!/bin/sh
# hone emit: what is written, that it is the same each time, what is refused, and
# that a failure leaves the old library as it was.
. "${srcdir:-.}/tests/cli/lib.sh"
machine=$top/data/machines/teaching.yaml
schema=$top/data/schema
store=$work/s.hone

tune() { expect 0 "tune $1" hone tune --data "$top" --operator matmul --size "$1" --dtype bf16 --machine "$machine" --store "$store" --seed 1 --budget "$2"; }
# shellcheck disable=SC2317 # called by expect
emit() { hone emit "$store" --data "$top" "$@"; }
field() { json "$work/lib/library.json" "$1"; }

tune m=8,n=32,k=48 200
tune m=24,n=32,k=48 200
tune m=40,n=24,k=48 1
expect 0 "emit" emit --output "$work/lib" --json
json --schema "$schema/emit.schema.json" "$work/out" || fail "emit: not as its schema says"
json --schema "$schema/library.schema.json" "$work/lib/library.json" || fail "library.json: not as its schema says"
[ "$(json "$work/out" families.0.entries)" -eq 3 ] || fail "emit: not three entries"
[ "$(json "$work/out" families.0.programs)" -eq 3 ] || fail "emit: not three programs"
[ "$(field name)" = lib ] || fail "emit: the name is not that of the folder"
[ "$(field families.0.id)" = matmul_bf16_on_teaching ] || fail "emit: id $(field families.0.id)"
[ -s "$work/lib/lib.h" ] || fail "emit: no header"

# Entries: the default is there, the best is no worse, the microcode is what compile writes.
for i in 0 1 2; do
  e=families.0.entries.$i
  [ "$(field $e.cycles)" -le "$(field $e.default_cycles)" ] || fail "entry $i: worse than the default"
  [ "$(field $e.evidence)" = simulated ] || fail "entry $i: not simulated"
  size="m=$(field $e.sizes.m),n=$(field $e.sizes.n),k=$(field $e.sizes.k)"
  expect 0 "default $size" hone explain --data "$top" --operator matmul --size "$size" --dtype bf16 --machine "$machine" --json
  [ "$(json "$work/out" schedule)" = "$(field $e.default_schedule)" ] || fail "entry $i: another default"
  expect 0 "compile $size" hone compile --data "$top" --operator matmul --size "$size" --dtype bf16 --machine "$machine" \
    --schedule "$(field $e.schedule)" --output "$work/program"
  cmp -s "$work/program" "$work/lib/$(field $e.microcode)" || fail "entry $i: microcode differs from what compile writes"
done
[ "$(field families.0.entries.2.no_significant_gain)" = true ] || fail "a budget of one gains something"
[ "$(field families.0.entries.2.schedule)" = "$(field families.0.entries.2.default_schedule)" ] || fail "a budget of one: not the default"

# Shapes near and far.
# shellcheck disable=SC2317
look() { hone library lookup "$work/lib/library.json" --data "$top" --operator matmul --size "$1" --dtype bf16 --machine "$machine" --json; }
expect 0 "exact" look m=24,n=32,k=48
[ "$(json "$work/out" kind)" = exact ] || fail "exact: $(json "$work/out" kind)"
expect 0 "far" look m=3000,n=32,k=48
[ "$(json "$work/out" kind)" = fallback ] || fail "far: $(json "$work/out" kind)"

# The same again, by any number of threads; what an older one left is swept.
expect 0 "again" env OMP_NUM_THREADS=1 "$hone_binary" emit "$store" --data "$top" --output "$work/lib-1" --name lib
expect 0 "again" env OMP_NUM_THREADS=3 "$hone_binary" emit "$store" --data "$top" --output "$work/lib-3/deep" --name lib
diff -r "$work/lib" "$work/lib-1" >/dev/null || fail "one thread: another library"
diff -r "$work/lib" "$work/lib-3/deep" >/dev/null || fail "three threads: another library"
cp -R "$work/lib" "$work/old"
expect 0 "without" emit --output "$work/lib-1" --no-microcode --near 0 --name other
find "$work/lib-1" -name '*.bin' | grep -q . && fail "old microcode is left behind"
[ "$(json --length "$work/lib-1/library.json" families.0.entries.0.intervals)" -eq 0 ] || fail "--near 0: there are intervals"
touch "$work/lib-1/mine.bin"
expect 0 "once more" emit --output "$work/lib-1"
[ -e "$work/lib-1/mine.bin" ] || fail "a file of somebody else is gone"

# A failure between microcode and document leaves the old library whole (a full disk: test_base_file).
tune m=16,n=32,k=48 50
mkdir "$work/lib/bad.h"
expect_error 4 file.write "the header is in the way" emit --output "$work/lib" --name bad
rmdir "$work/lib/bad.h"
cmp -s "$work/lib/library.json" "$work/old/library.json" || fail "in the way: the old document is not as it was"
for file in "$work"/old/*.bin; do cmp -s "$file" "$work/lib/${file##*/}" || fail "in the way: old microcode is not as it was"; done
find "$work/lib" -name '.tmp*' | grep -q . && fail "a temporary is left behind"
expect 0 "then" emit --output "$work/lib"
[ "$(json --length "$work/lib/library.json" families.0.entries)" -eq 4 ] || fail "then: not four entries"

# What an emission that was killed has left goes with the next; what is not ours stays.
: > "$work/lib/library.json.tmp-123-4"
: > "$work/lib/matmul_bf16_on_teaching-m9-0123456789abcdef.bin"
: > "$work/lib/notes.bin"
: > "$work/lib/mine.tmp-old"
expect 0 "after a kill" emit --output "$work/lib"
for file in library.json.tmp-123-4 matmul_bf16_on_teaching-m9-0123456789abcdef.bin; do
  [ ! -e "$work/lib/$file" ] || fail "after a kill: $file is left"
done
{ [ -e "$work/lib/notes.bin" ] && [ -e "$work/lib/mine.tmp-old" ]; } || fail "after a kill: a file of somebody else is gone"
[ "$(find "$work/lib" -name 'matmul*.bin' | wc -l)" -eq 4 ] || fail "after a kill: not four programs"

# One emission at a time.
if command -v flock > /dev/null; then
  flock -F "$work/lib" sleep 30 &
  holder=$!
  while flock -n "$work/lib" true; do sleep 0.05; done
  cp "$work/lib/library.json" "$work/before"
  expect_error 4 library.busy "held" emit --output "$work/lib"
  cmp -s "$work/before" "$work/lib/library.json" || fail "held: the document is another"
  kill $holder
  wait $holder 2> /dev/null
fi

# Names of the header begin with a letter, whatever the folder's name.
expect 0 "digits" emit --output "$work/9th-lib"
[ "$(json "$work/9th-lib/library.json" name)" = lib_9th_lib ] || fail "digits: the name is $(json "$work/9th-lib/library.json" name)"
[ -s "$work/9th-lib/lib_9th_lib.h" ] || fail "digits: no header of that name"

# Refusals.
expect_error 3 library.empty "another machine" emit --output "$work/none" --machine deadbeefdeadbeefdeadbeefdeadbeef
expect_error 2 option.value "name" emit --output "$work/none" --name 9lives
expect_error 2 option.range "near" emit --output "$work/none" --near 101
expect_error 2 cli.missing-argument "no store" hone emit --output "$work/none"
expect_error 4 '*' "no such store" hone emit "$work/no.hone" --output "$work/none"
expect_error 2 operator.missing "operator file" emit --output "$work/none" --operator-file "$machine"
mkdir "$work/empty.hone"
expect_error 3 library.empty "empty" hone emit "$work/empty.hone" --output "$work/none"
printf 'garbage' > "$work/file.h5"
expect_error 4 'store.*' "unreadable" hone emit "$work/file.h5" --output "$work/none"
[ ! -e "$work/none" ] || fail "a refused emission left a folder"

# A machine's file that changed makes everything stale; nothing is written.
sed 's/latency: 100 ns/latency: 101 ns/' "$machine" > "$work/changed.yaml"
expect 3 "stale" emit --output "$work/none" --machine "$work/changed.yaml" --json
json --schema "$schema/emit.schema.json" "$work/out" || fail "stale: not as its schema says"
[ "$(json "$work/out" left_out.0.code)" = library.stale ] || fail "stale: code $(json "$work/out" left_out.0.code)"
[ ! -e "$work/none" ] || fail "a stale store left a folder"
finish
