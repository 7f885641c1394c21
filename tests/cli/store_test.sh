#!/bin/sh
# hone store: merging, compacting and mending on the built command.
. "${srcdir:-.}/tests/cli/lib.sh"

# Every document of the store's subcommands is as its schema says.
hone() {
  "$hone_binary" "$@"
  hone_status=$?
  case " $* " in
    *" store export "*) ;;
    *" store "*" --json "*) json --schema "$top/data/schema/store.schema.json" "$work/out" >&2 || echo "$*" >> "$work/bad" ;;
  esac
  return $hone_status
}

gemmini=$top/data/machines/gemmini-default.yaml

for m in 64 65; do
  expect 0 "tune m=$m" hone tune --data "$top" --operator matmul --size "m=$m,n=64,k=64" --dtype int8 --machine "$gemmini" \
    --store "$work/a.hone" --budget 100
done
hone store export "$work/a.hone" > "$work/before"
[ "$(wc -l < "$work/before")" -gt 200 ] || fail "export: too few records"

same() {
  hone store export "$work/b.hone" | cmp -s - "$work/before" || fail "$1: other records"
}

expect 0 "merge" hone store merge "$work/b.hone" "$work/a.hone" --json
[ "$(json "$work/out" copied)" -ge 2 ] || fail "merge: too few segments"
same "merge"
expect 0 "compact" hone store compact "$work/b.hone" --json
[ "$(json "$work/out" made)" -eq 1 ] || fail "compact: not one segment"
same "compact"
expect 0 "merge again" hone store merge "$work/b.hone" "$work/a.hone" --json
[ "$(json "$work/out" copied)" -eq 0 ] || fail "merge again: copied what was known"

echo foreign > "$work/b.hone/x.h5"
expect 0 "query beside damage" hone store query "$work/b.hone" && says "query beside damage" store.damaged
expect_error 4 store.foreign "one file that is no store" hone store info "$work/b.hone/x.h5"
expect_error 4 store.damaged "verify" hone store verify "$work/b.hone"
expect 0 "repair" hone store repair "$work/b.hone" --json
[ "$(json "$work/out" renamed)" -eq 1 ] || fail "repair: not one file renamed"
[ -f "$work/b.hone/x.h5.damaged" ] || fail "repair: the damaged file is gone"
expect 0 "verify" hone store verify "$work/b.hone"
same "repair"

expect 0 "diff of equals" hone store diff "$work/a.hone" "$work/b.hone" --json
[ "$(json "$work/out" same)" -gt 200 ] || fail "diff: too few records are the same"
[ "$(json "$work/out" only_a)$(json "$work/out" only_b)$(json "$work/out" different)" = 000 ] || fail "diff: equals differ"
expect 0 "tune more" hone tune --data "$top" --operator matmul --size m=66,n=64,k=64 --dtype int8 --machine "$gemmini" \
  --store "$work/b.hone" --budget 20
expect 0 "diff" hone store diff "$work/a.hone" "$work/b.hone" --count 1 --json
[ "$(json "$work/out" only_b)" -gt 20 ] || fail "diff: lacks the new records"
[ "$(json "$work/out" differences.0.a)" = null ] || fail "diff: a record from nowhere"
expect_error 4 store.missing "diff with nothing" hone store diff "$work/a.hone" "$work/none.hone"

ask() {
  hone store why-miss "$work/a.hone" --data "$top" --operator matmul --dtype int8 --machine "$gemmini" "$@"
}
expect 0 "no miss" ask --size m=64,n=64,k=64 --json
[ "$(json "$work/out" miss)" = false ] || fail "why-miss: a miss where there is none"
expect 3 "another size" ask --size m=63,n=64,k=64 --json
[ "$(json "$work/out" field)" = operator ] || fail "why-miss: not the operator"
expect 3 "a schedule never tried" ask --size m=64,n=64,k=64 --json --schedule \
  "$(hone explain --data "$top" --operator matmul --size m=64,n=64,k=64 --dtype int8 --machine "$gemmini" | sed -n 's/^schedule *//p' | sed 's/depth.X.1=2/depth.X.1=7/')"
[ "$(json "$work/out" field)" = schedule ] || fail "why-miss: not the schedule"
expect_error 2 option.value "an unknown evaluator" ask --size m=64,n=64,k=64 --evaluator guess
expect_error 2 option.missing "why-miss of what" hone store why-miss "$work/a.hone"

expect 0 "specs" hone store info "$work/a.hone" --json
case $(json "$work/out" by_task.0.spec) in "matmul --size b=1,m="*"n=64,k=64 --dtype int8"*) ;; *) fail "info: no spec" ;; esac
expect 3 "no documents" hone store documents "$work/a.hone" --json
expect 0 "tune a range" hone tune --data "$top" --operator matmul --size m=1..12,n=24,k=40 --dtype bf16 \
  --machine "$top/data/machines/teaching.yaml" --budget 40 --entries 3 --top-k 2 --samples 1 --store "$work/range.hone"
expect 0 "documents" hone store documents "$work/range.hone" --kind range --json
[ "$(json "$work/out" documents.0.document.hi)" = 12 ] || fail "documents: not the range's"
expect 0 "documents" hone store info "$work/range.hone" --json
[ "$(json "$work/out" documents)" = 1 ] || fail "info: does not count the document"

expect_error 4 store.missing "nothing to compact" hone store compact "$work/none.hone"
[ ! -e "$work/none.hone" ] || fail "compact: made a store"
expect_error 2 cli.missing-argument "merge from where" hone store merge "$work/b.hone"
expect_error 2 cli.surplus-argument "one store only" hone store info "$work/a.hone" "$work/b.hone"
expect 0 "query" hone store query "$work/a.hone" --count 3 --json
expect 0 "top" hone store top "$work/a.hone" --count 2 --json
[ ! -e "$work/bad" ] || fail "not as the schema says: $(cat "$work/bad")"
finish
