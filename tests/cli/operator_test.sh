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

# A tensor read by other dims than the first time: a tensor times its transpose, and
# an intermediate read turned, which must not be joined along loops that turn, nor cut.
cat > "$work/gram.yaml" << 'EOF'
operator:
  name: gram
  sizes: {m: {}, k: {}}
  dims: {m: m, n: m, k: k}
  tensors:
    X: {role: input, axes: [m, k], format: dtype}
    Y: {role: output, axes: [m, m], format: dtype}
  stages:
    - {name: product, kind: contract, write: "Y[m,n]", read: ["X[m,k]", "X[n,k]"]}
EOF
cat > "$work/turned.yaml" << 'EOF'
operator:
  name: turned
  sizes: {m: {}}
  dims: {m: m, n: m}
  tensors:
    X: {role: input, axes: [m, m], format: dtype}
    T: {role: intermediate, axes: [m, m], format: dtype}
    Y: {role: output, axes: [m, m], format: dtype}
  stages:
    - {name: first, kind: map, function: silu, write: "T[m,n]", read: ["X[m,n]"]}
    - {name: second, kind: map, function: add, write: "Y[m,n]", read: ["T[n,m]", "X[m,n]"]}
EOF
for problem in "gram.yaml --size m=65,k=40" "turned.yaml --size m=65"; do
  for machine in teaching napier-public; do
    arguments="--data $top --operator $work/$problem --dtype bf16 --machine $machine"
    # shellcheck disable=SC2086
    expect 0 "$problem" hone tune $arguments --budget 300 --json || continue
    [ "$(json "$work/out" counts.failed)" -eq 0 ] || fail "$problem on $machine: failures: $(json "$work/out" counts)"
    json "$work/out" default.sim_cycles > /dev/null || fail "$problem on $machine: no default"
    json "$work/out" best.schedule > "$work/schedule"
    for schedule in default "@$work/schedule"; do
      # shellcheck disable=SC2086
      expect 0 "numbers" hone simulate $arguments --schedule "$schedule" --check-numerics --json
      [ "$(json "$work/out" numerics.passed)" = true ] || fail "$problem on $machine, $schedule: the numbers are not said to be right"
    done
  done
done
finish
