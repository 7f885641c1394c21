#!/bin/sh
# The operator of docs/how-to-add-an-operator.md, with no C: its bound, default and
# best are in order, and the winner, which fuses or not as the search found best,
# computes the right numbers. (docs_test.sh runs the page's own commands.)
. "${srcdir:-.}/tests/cli/lib.sh"

awk '/^```yaml two_layers.yaml$/ { inside = 1; next } /^```/ { inside = 0 } inside' \
  "$top/docs/how-to-add-an-operator.md" > "$work/two_layers.yaml"
problem="--data $top --operator $work/two_layers.yaml --size m=96,d=40,h=72 --dtype bf16 --machine $top/data/machines/teaching.yaml"

# shellcheck disable=SC2086 # several words
expect 0 "tune" hone tune $problem --budget 300 --json
bound=$(json "$work/out" bound_cycles) best=$(json "$work/out" best.sim_cycles) default=$(json "$work/out" default.sim_cycles)
{ [ "$bound" -le "$best" ] && [ "$best" -le "$default" ]; } || fail "bound $bound, best $best, default $default"
json "$work/out" best.schedule > "$work/schedule"
for schedule in default "@$work/schedule"; do
  # shellcheck disable=SC2086
  expect 0 "numbers" hone simulate $problem --schedule "$schedule" --check-numerics --json
  [ "$(json "$work/out" numerics.passed)" = true ] || fail "$schedule: the numbers are not said to be right"
done
finish
