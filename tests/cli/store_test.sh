#!/bin/sh
# hone store: merging, compacting and mending on the built command.
. "${srcdir:-.}/tests/cli/lib.sh"
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

expect_error 4 store.missing "nothing to compact" hone store compact "$work/none.hone"
[ ! -e "$work/none.hone" ] || fail "compact: made a store"
expect_error 2 cli.missing-argument "merge from where" hone store merge "$work/b.hone"
expect_error 2 cli.surplus-argument "one store only" hone store info "$work/a.hone" "$work/b.hone"
finish
