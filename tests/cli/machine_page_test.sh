#!/bin/sh
# docs/how-to-add-a-machine.md works as printed: its files are machines with the
# remarks and the figures it tells of, and one of them can be tuned for.
. "${srcdir:-.}/tests/cli/lib.sh"

page=$top/docs/how-to-add-a-machine.md
ln -s "$top/data" "$top/spaces" "$work/"
awk -v to="$work/" '/^```yaml [a-z]/ { file = to $2; next } /^```/ { file = ""; next } file { print > file }' "$page"
awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$page" > "$work/commands"
[ "$(wc -l < "$work/commands")" -eq 6 ] || fail "the page has $(wc -l < "$work/commands") commands, not 6"
cd "$work" || exit 1
while read -r line; do
  case $line in "hone tune "*) line="$line --budget 300 --json" ;; esac
  # shellcheck disable=SC2086 # several words
  expect 0 "the page: $line" $line < /dev/null
  case $line in
    "hone machine check first.yaml")
      for code in feed dma-rate load-exposed; do
        grep -q "warning: .*\[machine.$code\]" out || fail "the first file: no $code"
      done
      ;;
    "hone machine check "*) [ "$(grep -c 'warning:' out)" -eq 1 ] && grep -q 'machine.assumed' out || fail "the second file: $(cat out)" ;;
    "hone machine show "*)
      grep -q '^int8 x int8 -> int32 *2048 *2048 *4.096 *4.096 *64$' out || fail "the int8 peak: $(grep '^int8' out)"
      grep -q '^fp16 x fp16 -> fp32 *1024 ' out || fail "the fp16 peak"
      ;;
    "hone machine diff "*) grep -q 'fields differ; results may differ' out || fail "the difference" ;;
    "hone tune "*)
      bound=$(json out bound_cycles) best=$(json out best.sim_cycles) default=$(json out default.sim_cycles)
      { [ "$bound" -le "$best" ] && [ "$best" -le "$default" ]; } || fail "bound $bound, best $best, default $default"
      json out best.schedule > schedule
      ;;
    "hone simulate "*) grep -q '^numerics  passed' out || fail "the default schedule's numbers are not said to be right" ;;
  esac
done < commands

# What the page says about other words: the rename keeps the records, the winner's numbers are right.
expect 0 "the winner's numbers" hone simulate --operator matmul --size m=256,n=512,k=512 --dtype int8 --machine nv-full.yaml \
  --schedule @schedule --check-numerics --json
[ "$(json out numerics.passed)" = true ] || fail "the winner's numbers are not said to be right"
sed 's/^name: .*/name: renamed/; s/chosen by analogy/chosen/' nv-full.yaml > renamed.yaml
expect 0 "renamed" hone machine diff nv-full.yaml renamed.yaml --json
[ "$(json out same_identity)" = true ] || fail "a name changes the identity"
finish
