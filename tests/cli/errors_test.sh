#!/bin/sh
# Bad input: code and exit status of each class, on the built command.
. "${srcdir:-.}/tests/cli/lib.sh"
gemmini=$top/data/machines/gemmini-default.yaml
on_gemmini="--data $top --operator matmul --size m=8,n=8,k=8 --dtype int8"

# Usage.
expect_error 2 cli.unknown-command "command" hone tunee && says command "tune"
expect_error 2 option.unknown "option" hone tune --bugdet 5 && says option "--budget"
expect_error 2 option.value "number" hone tune --budget many
expect_error 2 option.range "range" hone tune --budget 0
expect_error 2 option.missing "nothing" hone tune
# shellcheck disable=SC2086 # several words
expect_error 2 option.missing "no machine" hone tune $on_gemmini
# shellcheck disable=SC2086
expect_error 2 strategy.unknown "strategy" hone tune $on_gemmini --machine "$gemmini" --strategy evolutionery && says strategy "evolutionary"

# An option that would do nothing is refused, not ignored.
# shellcheck disable=SC2086
expect_error 2 tune.both "phase without model" hone tune $on_gemmini --machine "$gemmini" --phase decode
# shellcheck disable=SC2086
expect_error 2 tune.both "size with model" hone tune --data "$top" --model llama-3-8b --size m=1 --phase decode --context 8 --machine "$gemmini"
# One document under --json, whatever is asked.
expect_error 2 cli.unknown-command "no command" hone
for words in help --help --version "help tune" "tune --help"; do
  # shellcheck disable=SC2086
  expect 0 "$words" hone $words --json
  json --same "$work/out" "$work/out" || fail "$words --json: no document"
done

expect_error 2 option.unknown "short option" hone tune -x && says "short option" --help
expect_error 2 option.unused "verify counts nothing" hone store verify s.hone --count 5
expect_error 2 option.unused "show draws nothing" hone space show --seed 5
expect_error 2 cli.missing-argument "no machine to show" hone machine show
expect_error 2 cli.surplus-argument "two machines to show" hone machine show a b

# Operators, sizes and formats.
expect_error 2 operator.unknown "operator" hone tune --data "$top" --operator matmull --size m=8,n=8,k=8 --dtype int8 --machine "$gemmini"
says operator "matmul"
expect_error 2 "operator.*" "missing size" hone tune --data "$top" --operator matmul --size m=8,n=8 --dtype int8 --machine "$gemmini"
expect_error 2 "operator.*" "unknown size" hone tune --data "$top" --operator matmul --size m=8,n=8,k=8,kk=2 --dtype int8 --machine "$gemmini"
expect_error 2 operator.unknown-size "case of a size" hone tune --data "$top" --operator matmul --size M=8,n=8,k=8 --dtype int8 --machine "$gemmini"
says "case of a size" "'m'"
expect_error 2 "operator.*" "zero size" hone tune --data "$top" --operator matmul --size m=0,n=8,k=8 --dtype int8 --machine "$gemmini"
expect_error 2 "*overflow*" "overflow" hone tune --data "$top" --operator matmul \
  --size m=4000000000000,n=4000000000000,k=4000000000000 --dtype int8 --machine "$gemmini"
expect_error 2 option.value "beyond 64 bits" hone tune --data "$top" --operator matmul --size m=9223372036854775808,n=8,k=8 \
  --dtype int8 --machine "$gemmini"
expect_error 2 format.unknown "format" hone tune --data "$top" --operator matmul --size m=8,n=8,k=8 --dtype int88 --machine "$gemmini"
expect_error 3 "*" "lacks bf16" hone tune --data "$top" --operator matmul --size m=8,n=8,k=8 --dtype bf16 --machine "$gemmini"
says "lacks bf16" int8
[ "$(json "$work/out" status)" = infeasible ] || fail "lacks bf16: status is not infeasible"

# A model of which the machine can run nothing.
expect 3 "model in bf16" hone tune --data "$top" --model llama-3-8b --phase decode --context 64 --machine "$gemmini" --json
[ "$(json "$work/out" status)" = infeasible ] || fail "model in bf16: status is not infeasible"

# Machines: every edit of a good file below is refused at its place.
edit() { # edit NAME SED-SCRIPT
  sed "$2" "$gemmini" > "$work/machine.yaml"
  cmp -s "$gemmini" "$work/machine.yaml" && fail "$1: the edit changed nothing"
  # shellcheck disable=SC2086
  expect_error 2 "*" "$1" hone tune $on_gemmini --machine "$work/machine.yaml" &&
    { grep -q 'machine.yaml:[0-9]*:[0-9]*:' "$work/err" || fail "$1: no place in the file"; }
}
edit "unknown field" 's/^clock:/clokc:/' && says "unknown field" clock
edit "missing field" '/^clock:/d'
edit "wrong unit" 's/^clock:.*/clock: 24 MiB/'
edit "zero" 's/^clock:.*/clock: 0 MHz/'
edit "negative" 's/^clock:.*/clock: -5 MHz/'
edit "absurd" 's/^clock:.*/clock: 90000000 GHz/'
# shellcheck disable=SC2086
expect_error 2 "*" "machine name" hone tune $on_gemmini --machine gemmini-defualt && says "machine name" gemmini-default
# shellcheck disable=SC2086
expect_error 4 "*" "no such machine" hone tune $on_gemmini --machine "$work/none.yaml"
printf 'a: [1\n' > "$work/broken.yaml"
# shellcheck disable=SC2086
expect_error 2 "*" "broken YAML" hone tune $on_gemmini --machine "$work/broken.yaml"

# A space narrowed to nothing, said before any search.
cat > "$work/empty.yaml" <<'YAML'
space:
  constraints:
    - {name: nothing, require: "1 > 2", reason: a test that allows nothing}
YAML
# shellcheck disable=SC2086
expect 3 "empty space" hone tune $on_gemmini --machine "$gemmini" --space "$work/empty.yaml" --json
[ "$(json "$work/out" status)" = infeasible ] || fail "empty space: status is not infeasible"

# A store that cannot be written to is found before any budget is spent: the
# budget here would take hours.
touch "$work/file"
# shellcheck disable=SC2086
expect_error 2 "store.*" "store is a file" hone tune $on_gemmini --machine "$gemmini" --store "$work/file" --budget 1000000000
# shellcheck disable=SC2086
expect_error 4 "store.*" "no parent" hone tune $on_gemmini --machine "$gemmini" --store "$work/none/s.hone" --budget 1000000000
if [ "$(id -u)" -ne 0 ]; then # root may write anywhere
  mkdir "$work/readonly" && chmod a-w "$work/readonly"
  # shellcheck disable=SC2086
  expect_error 4 "store.*" "read-only" hone tune $on_gemmini --machine "$gemmini" --store "$work/readonly/s.hone" --budget 1000000000
fi
expect_error 4 "store.*" "no store" hone store info "$work/none.hone"

# Names of files that are no UTF-8 are told in documents that are.
odd=$work/$(printf 'odd\377')
mkdir -p "$odd/data/machines" && cp "$top/data/machines/teaching.yaml" "$odd/machine.yaml"
echo 'x: [' > "$odd/data/machines/$(printf 'bad\377').yaml"
expect 0 "odd name: machine" hone machine show "$odd/machine.yaml" --json
[ "$(json "$work/out" machine.name)" = teaching ] || fail "odd name: no machine in the document"
expect 0 "odd name: list" hone machine list --data "$odd" --json
json "$work/out" warnings.0.message > "$work/value" || fail "odd name: the broken file is not told"
# shellcheck disable=SC2086
expect 0 "odd name: tune" hone tune $on_gemmini --machine "$gemmini" --store "$odd/s.hone" --budget 20
echo rubbish > "$odd/s.hone/$(printf 'bad\377').h5"
expect 4 "odd name: damage" hone store verify "$odd/s.hone" --json
json "$work/out" damaged.0.file > "$work/value" || fail "odd name: the damaged file is not listed"
json "$work/out" store > "$work/value" || fail "odd name: no store in the document"

# A path too long is said to be so, not cut to another one.
long=$(printf '%0200d' 0)
mkdir -p "$work/$long/$long/$long" && cp "$gemmini" "$work/$long/$long/$long/machine.yaml"
expect_error 2 file.name-too-long "long path" hone machine check "$work/$long/$long/$long/machine.yaml" && says "long path" 0/machine.yaml

# Schedules.
# shellcheck disable=SC2086
expect_error 2 "schedule.*" "schedule name" hone simulate $on_gemmini --machine "$gemmini" --schedule "tile.9.m=4"
expect_error 2 "*" "subcommand" hone space shwo && says subcommand show
[ -e /dev/full ] && { hone --version > /dev/full 2>"$work/err"; [ $? -eq 4 ] || fail "full disk: exit status"; }
# Standard streams closed: a store takes none of their numbers.
# shellcheck disable=SC2086
"$hone_binary" tune $on_gemmini --machine "$gemmini" --store "$work/closed.hone" --budget 20 --progress json --json <&- >&- 2>&-
[ $? -eq 4 ] || fail "closed streams: exit status"
expect 0 "closed streams: store" hone store verify "$work/closed.hone"
finish
