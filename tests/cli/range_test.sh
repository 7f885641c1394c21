#!/bin/sh
# hone tune --size m=1..96: the document, the text, the store, and what is refused.
. "${srcdir:-.}/tests/cli/lib.sh"
problem="--data $top --operator matmul --dtype bf16 --machine $top/data/machines/teaching.yaml"
quick="--budget 100 --entries 6 --top-k 2 --samples 1"

# shellcheck disable=SC2086 # several words
expect 0 "range" hone tune $problem --size m=1..48,n=24,k=40 $quick --store "$work/s.hone" --json && cp "$work/out" "$work/range"
json --schema "$top/data/schema/tune-range.schema.json" "$work/range" || fail "range: not as the schema says"
entries=$(json --length "$work/range" entries)
{ [ "$entries" -ge 1 ] && [ "$entries" -le 6 ]; } || fail "range: $entries entries"
next=1 k=0
while [ $k -lt "$entries" ]; do # every integer once
  [ "$(json "$work/range" entries.$k.lo)" -eq $next ] || fail "range: entry $k does not begin at $next"
  next=$(($(json "$work/range" entries.$k.hi) + 1))
  k=$((k + 1))
done
[ $next -eq 49 ] || fail "range: the entries end at $((next - 1))"
# The entries at their high ends are ordinary records, and lower to microcode there.
hi=$(json "$work/range" entries.0.hi)
expect 0 "records" hone store info "$work/s.hone" --json
[ "$(json "$work/out" records)" -ge $((2 * entries)) ] || fail "records: fewer than two for each entry"
expect 0 "explained" hone explain $problem --size "m=$hi,n=24,k=40" --schedule "$(json "$work/range" entries.0.schedule)" --json

# The same but for the time, whatever the threads.
# shellcheck disable=SC2086
expect 0 "threads" hone tune $problem --size m=1..48,n=24,k=40 $quick --threads 1 --json
json --same "$work/range" "$work/out" elapsed_s || fail "another number of threads, another document"

# The text has a row for each entry and ends with the worst loss.
# shellcheck disable=SC2086
expect 0 "text" hone tune $problem --size m=1..48,n=24,k=40 $quick
[ "$(grep -c '^ *[0-9]*\.\.[0-9]* ' "$work/out")" -eq "$entries" ] || fail "text: not $entries rows"
tail -1 "$work/out" | grep -q "^$entries entries lose at most [0-9.]* % (m=" || fail "text: does not end with the worst loss"

# A range of one is none.
# shellcheck disable=SC2086
expect 0 "7..7" hone tune $problem --size m=7..7,n=24,k=40 --budget 20 --json
[ "$(json "$work/out" problem.dims.m)" -eq 7 ] || fail "7..7 is not 7"
# shellcheck disable=SC2086
expect 0 "1..2" hone tune $problem --size m=1..2,n=24,k=40 $quick --json

# A signal ends it: exit 5, and what to do.
: > "$work/err"
# shellcheck disable=SC2086
"$hone_binary" tune $problem --size m=1..20000,n=24,k=40 --progress json --json > "$work/out" 2> "$work/err" &
pid=$!
tries=0
while [ "$(grep -c '"evaluated"' "$work/err")" -lt 2 ] && [ $tries -lt 1200 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
kill -INT $pid
(for _ in $(seq 300); do sleep 1; done; kill -KILL $pid) > /dev/null 2>&1 &
wait $pid
have=$?
kill $! 2> /dev/null
[ $have -eq 5 ] || fail "interrupt: exit status $have"
[ "$(json "$work/out" status)" = interrupted ] || fail "interrupt: status"
json --schema "$top/data/schema/tune-range.schema.json" "$work/out" || fail "interrupt: not as the schema says"
grep -q 'the same command starts again' "$work/err" || fail "interrupt: stderr does not say how to go on"

for command in explain compile simulate "space show"; do
  # shellcheck disable=SC2086
  expect_error 2 size.range "$command" hone $command $problem --size m=1..48,n=24,k=40
done
cat > "$work/window.yaml" << 'EOF'
operator:
  name: window
  sizes: {w: {}, r: {}, k: {}}
  dims: {x: w - r + 1, k: k}
  tensors:
    I: {role: input, axes: [w - r + 1, k], format: dtype}
    F: {role: input, axes: [k], format: dtype}
    O: {role: output, axes: [w - r + 1], format: dtype}
  stages:
    - {name: product, kind: contract, write: "O[x]", read: ["I[x,k]", "F[k]"]}
EOF
sed 's|w - r + 1|r / 2|; s/name: window/name: half/' "$work/window.yaml" > "$work/half.yaml"
# shellcheck disable=SC2086
{
  expect_error 2 range.one "two ranges" hone tune $problem --size m=1..48,n=1..24,k=40
  expect_error 2 range.long "long" hone tune $problem --size m=1..1099511627776,n=24,k=40
  expect_error 2 size.range "backwards" hone tune $problem --size m=5..1,n=24,k=40
  expect_error 2 size.range "from zero" hone tune $problem --size m=0..4,n=24,k=40
  expect_error 2 range.option "space" hone tune $problem --size m=1..4,n=24,k=40 --space x.yaml
  expect_error 2 range.option "time" hone tune $problem --size m=1..4,n=24,k=40 --time 1
  expect_error 2 range.shrinks "a dim that shrinks" hone tune --data "$top" --operator "$work/window.yaml" --dtype bf16 --machine teaching --size w=20,r=1..9,k=8
  expect_error 2 operator.range "no operator at the end" hone tune --data "$top" --operator "$work/window.yaml" --dtype bf16 --machine teaching --size w=20,r=1..21,k=8
  grep -q 'at r=21 of the range' "$work/err" || fail "no operator at the end: stderr does not say where"
  expect_error 2 operator.expression "no operator within" hone tune --data "$top" --operator "$work/half.yaml" --dtype bf16 --machine teaching --size w=1,r=2..4,k=8
  grep -q 'at r=3 of the range' "$work/err" || fail "no operator within: stderr does not say where"
  expect_error 2 range.entries "entries" hone tune $problem --size m=4,n=24,k=40 --entries 4
}
finish
