#!/bin/sh
# A signal in mid-run: exit 5, what was found is kept, --resume arrives where the
# whole run does.
. "${srcdir:-.}/tests/cli/lib.sh"
problem="--data $top --operator matmul --size m=96,n=80,k=112 --dtype int8 --machine $top/data/machines/gemmini-default.yaml"

for signal in INT TERM; do
  # (A shell starts background jobs with SIGINT ignored; hone catches it all the same.)
  store=$work/$signal.hone
  : > "$work/err" # there before it is read below
  # shellcheck disable=SC2086 # several words
  "$hone_binary" tune $problem --budget 1000000000 --store "$store" --progress json --json > "$work/out" 2> "$work/err" &
  pid=$!
  tries=0 # until the search has begun: the second progress line
  while [ "$(grep -c '"evaluated"' "$work/err")" -lt 2 ] && [ $tries -lt 1200 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  kill -$signal $pid
  # Should the signal be lost. (Short sleeps, for they outlive the kill below.)
  (for _ in $(seq 300); do sleep 1; done; kill -KILL $pid) >/dev/null 2>&1 &
  wait $pid
  have=$?
  kill $! 2>/dev/null
  [ $have -eq 5 ] || fail "SIG$signal: exit status $have"
  [ "$(json "$work/out" status)" = interrupted ] || fail "SIG$signal: status"
  json "$work/out" best.schedule > /dev/null || fail "SIG$signal: the best so far is not kept"
  json "$work/out" resume | grep -q -- '--resume' || fail "SIG$signal: does not say how to go on"
  grep -q 'go on with: hone tune' "$work/err" || fail "SIG$signal: stderr does not say how to go on"
  expect 0 "SIG$signal: store" hone store info "$store" --json
  [ "$(json "$work/out" records)" -gt 0 ] || fail "SIG$signal: nothing stored"
  expect 0 "SIG$signal: sound" hone store verify "$store"
done

# Resumed on the interrupted store and run whole: the same result.
# shellcheck disable=SC2086
expect 0 "whole" hone tune $problem --budget 400 --json && cp "$work/out" "$work/whole"
# shellcheck disable=SC2086
expect 0 "resumed" hone tune $problem --budget 400 --store "$work/INT.hone" --resume --json && cp "$work/out" "$work/resumed"
json "$work/resumed" resumed_from > /dev/null || fail "resumed: names no snapshot"
[ "$(json "$work/resumed" best.sim_cycles)" -le "$(json "$work/whole" best.sim_cycles)" ] || fail "resumed: worse than the whole run"
# Again on its own store, whose best is the winner now, and once more: nothing to
# simulate anew, the same document.
# shellcheck disable=SC2086
expect 0 "again" hone tune $problem --budget 400 --store "$work/INT.hone" --resume --json && cp "$work/out" "$work/again"
# shellcheck disable=SC2086
expect 0 "once more" hone tune $problem --budget 400 --store "$work/INT.hone" --resume --json
json --same "$work/again" "$work/out" elapsed_s resumed_from || fail "resumed again: documents differ"
finish
