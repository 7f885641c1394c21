#!/bin/sh
# The range of docs/ranges.md, whole: the gate projection of Llama-3-8B for 1 to
# 4096 tokens on trainium2-core. Minutes long, so only with HONE_TEST_PERCENT of at
# least 1000 (scripts/check --full).
. "${srcdir:-.}/tests/cli/lib.sh"
[ "${HONE_TEST_PERCENT:-100}" -ge 1000 ] || { echo "only with HONE_TEST_PERCENT of at least 1000"; exit 77; }

line=$(sed -n 's/^\(hone tune .*m=1\.\.4096.*\)$/\1/p' "$top/docs/ranges.md" | head -1)
[ -n "$line" ] || fail "docs/ranges.md: no command"
cd "$top" || exit 1
# shellcheck disable=SC2086 # several words
expect 0 "docs/ranges.md" $line --json || finish
cd "$work" || exit 1
json --schema "$top/data/schema/tune-range.schema.json" out || fail "not as the schema says"

# at_most NAME VALUE LIMIT, not integers
at_most() { awk "BEGIN { exit !($2 <= $3) }" || fail "$1 is $2, more than $3"; }
entries=$(json --length out entries)
at_most "entries" "$entries" 16
at_most "the worst loss on the model" "$(json out model_worst_loss_pct)" 5
at_most "the worst loss in simulation" "$(json out sim_worst_loss_pct)" 8
at_most "what the check found" "$(json out reference_check.worst_pct)" 1
at_most "the worst gap to the bound" "$(json out bound_worst_gap_pct)" 7
at_most "0" 0 "$(json out model_margin_pct)"

# The page says what comes of it.
said="$entries entries lose at most $(LC_ALL=C awk "BEGIN { printf \"%.2f\", $(json out model_worst_loss_pct) }") % (m=$(json out model_worst_loss_at),"
grep -qF "$said" "$top/docs/ranges.md" || fail "docs/ranges.md does not say: $said"

# Every integer is in one entry; the schedules are as good at their high ends as stated.
next=1 k=0
while [ $k -lt "$entries" ]; do
  lo=$(json out entries.$k.lo) hi=$(json out entries.$k.hi)
  [ "$lo" -eq $next ] || fail "entry $k begins at $lo, not at $next"
  next=$((hi + 1))
  json out entries.$k.schedule > schedule
  hone explain --data "$top" --operator matmul --size "m=$hi,n=14336,k=4096" --dtype bf16 --machine trainium2-core --schedule @schedule \
    --json > explained || fail "entry $k: its schedule is refused at $hi"
  [ "$(json explained model_cycles)" -eq "$(json out entries.$k.model_cycles)" ] || fail "entry $k: other cycles at $hi"
  k=$((k + 1))
done
[ $next -eq 4097 ] || fail "the entries end at $((next - 1))"

finish
