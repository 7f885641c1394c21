#!/bin/sh
# docs/how-to-add-an-operator.md works as printed: its file is an operator that is
# tuned, compiled, verified and numerically right, with no C.
. "${srcdir:-.}/tests/cli/lib.sh"

page=$top/docs/how-to-add-an-operator.md
ln -s "$top/data" "$top/spaces" "$work/"
awk '/^```yaml$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$page" > "$work/two_layers.yaml"
awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$page" > "$work/commands"
[ "$(wc -l < "$work/commands")" -eq 3 ] || fail "the page has $(wc -l < "$work/commands") commands, not 3"
cd "$work" || exit 1
while read -r line; do
  case $line in "hone tune "*) line="$line --budget 300 --json" ;; esac
  # shellcheck disable=SC2086 # several words
  expect 0 "the page" $line < /dev/null
  case $line in
    "hone tune "*)
      bound=$(json out bound_cycles) best=$(json out best.sim_cycles) default=$(json out default.sim_cycles)
      { [ "$bound" -le "$best" ] && [ "$best" -le "$default" ]; } || fail "bound $bound, best $best, default $default"
      json out best.schedule > schedule
      ;;
    "hone simulate "*) grep -q '^numerics  passed' out || fail "the default schedule's numbers are not said to be right" ;;
  esac
done < commands

# The winner too, which fuses or not as the search found best.
expect 0 "the winner's numbers" hone simulate --operator ./two_layers.yaml --size m=96,d=40,h=72 --dtype bf16 \
  --machine data/machines/teaching.yaml --schedule @schedule --check-numerics --json
[ "$(json out numerics.passed)" = true ] || fail "the winner's numbers are not said to be right"
finish
