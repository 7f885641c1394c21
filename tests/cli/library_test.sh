#!/bin/sh
# hone library on what hone emit writes: lookups exact, near and outside, what is
# stale, differences, checks; the header compiled and asked the same.
# shellcheck disable=SC2086 # $matmul and $tuning are several words
. "${srcdir:-.}/tests/cli/lib.sh"
: "${HONE_CC:=cc}"
cp -r "$top/data" "$top/spaces" "$work/"
chmod -R u+w "$work"
cd "$work" || exit 1
matmul="--operator matmul --dtype int8"
tuning="--budget 200 --top-k 2 --samples 2 --max-k 4"

schema() { json --schema "$top/data/schema/library-$1.schema.json" out || fail "$1: not as its schema says"; }
has() { # name path value
  have=$(json out "$2") || have=absent
  [ "$have" = "$3" ] || fail "$1: $2 is $have, not $3"
}

for m in 64 65 96; do
  expect 0 "tune m=$m" hone tune $matmul --size "m=$m,n=64,k=64" --machine teaching --store a.hone $tuning
done
expect 0 "emit" hone emit a.hone --output lib --near 5
expect 0 "check" hone library check lib --json && schema check
has "check" sound true
has "check" counts.entries 3

# ---- lookups
look() { # name m status more...
  name=$1 m=$2 status=$3
  shift 3
  expect "$status" "$name" hone library lookup lib $matmul --size "m=$m,n=64,k=64" --json "$@" && schema lookup
}
look exact 64 0
has exact kind exact
has exact used entry
has exact expected_loss_pct 0.0
[ "$(json out schedule)" = "$(json out entry.schedule)" ] || fail "exact: another schedule than the entry's"
[ "$(json out cost.model_cycles)" = "$(json out entry.model_cycles)" ] || fail "exact: the model gives other cycles than the library says"
look near 95 0 --machine teaching
has near kind near
has near used entry
has near entry.sizes.m 96
[ "$(json out cost.model_cycles)" -le "$(json out cost.default_model_cycles)" ] || fail "near: worse than the default"
schedule=$(json out schedule)
expect 0 "near, simulated" hone simulate $matmul --size m=95,n=64,k=64 --machine teaching --schedule "$schedule"
look outside 5000 0
has outside kind fallback
has outside entry null
has outside expected_loss_pct null
[ "$(json out cost.default_model_cycles)" -gt 0 ] || fail "outside: no default"
json out reason | grep -q 'm=5000 is outside .* tuned for b=1,n=64,k=64' || fail "outside: says $(json out reason)"
look options 64 3 --option bias=row
has options family null
has options schedule null
has options reason "asked was option bias=row, not bias=none as in the nearest family, matmul_int8_on_teaching"
expect 3 "another machine" hone library lookup lib $matmul --size m=64,n=64,k=64 --machine gemmini-default
expect 0 "people" hone library lookup lib/library.json $matmul --size m=64,n=64,k=64 && grep -q '^exact' out || fail "people: no exact"

# ---- the header answers the same
expect 0 "header" hone library header lib --output again.h --json && schema header
cmp -s again.h lib/lib.h || fail "header: not what hone emit wrote"
hone library header lib | cmp -s - again.h || fail "header: another on standard output"
cat > ask.c <<'END'
#include <stdio.h>
#include "lib/lib.h"
int main(void)
{
  const int64_t m[] = {64, 95, 5000};
  for (int i = 0; i < 3; i++) {
    char why[240];
    lib_answer a = lib_matmul_int8_on_teaching(1, m[i], 64, 64);
    lib_reason(&a, why, sizeof why);
    printf("%s: %s\n", lib_kind_word(a.kind), why);
  }
  return 0;
}
END
expect 0 "compile" "$HONE_CC" -std=c99 -Wall -Wextra -pedantic -Werror -I. ask.c -o ask && ./ask > asked
for m in 64 95 5000; do
  look same $m 0
  echo "$(json out kind): $(json out reason)"
done > wanted
cmp -s asked wanted || fail "header: answers differ: $(diff asked wanted | head -3)"

# ---- differences
cp -r a.hone b.hone
expect 0 "tune another" hone tune $matmul --size m=33,n=64,k=64 --machine teaching --store b.hone $tuning
expect 0 "emit" hone emit b.hone --output more --name lib --near 5
expect 0 "diff" hone library diff lib more --json && schema diff
[ "$(json out count)" -ge 1 ] || fail "diff: nothing changed"
expect 0 "diff, nothing" hone library diff lib lib --json && schema diff
has "diff, nothing" count 0
expect 0 "diff, people" hone library diff lib more && grep -q '+ entry b=1,m=33,n=64,k=64' out || fail "diff: no new entry"

# ---- back into a store and out again: the same answers
expect 0 "import" hone library import lib --store c.hone --json
has "import" entries 3
expect 0 "emit what was imported" hone emit c.hone --output imported --name lib --near 5
expect 0 "diff, imported" hone library diff lib imported --json
has "diff, imported" count 0

# ---- what is stale
sed -i 's/^\( *clock: *\)1 GHz/\1900 MHz/' data/machines/teaching.yaml
expect_error 3 library.stale-machine "stale machine" hone library lookup lib $matmul --size m=64,n=64,k=64
expect_error 2 library.unsound "check, stale machine" hone library check lib && has "stale machine" findings.0.code library.stale-machine
expect_error 2 library.stale "import, stale machine" hone library import lib --store d.hone
expect 2 "import, stale machine" hone library import lib --store d.hone
[ ! -s out ] || fail "import: speaks of what it did not do"
[ ! -e d.hone ] || [ "$(hone store info d.hone --json > out; json out records)" -eq 0 ] || fail "import: wrote what is stale"
expect 0 "check, machine by file" hone library check lib --machine "$top/data/machines/teaching.yaml"
rm data/machines/teaching.yaml
expect 2 "no machine of that name" hone library lookup lib $matmul --size m=64,n=64,k=64 --machine nowhere
cp "$top/data/machines/teaching.yaml" data/machines/
sed 's/"lo": [0-9]*/"lo": 1/; s/"loss_at": [0-9]*/"loss_at": 1/' lib/library.json > spoilt.json
expect_error 2 'library.*' "a spoilt interval" hone library check spoilt.json

sed 's/"machine": "teaching"/"machine": "elsewhere"/' lib/library.json > moved.json
expect 0 "a machine not at hand" hone library lookup moved.json $matmul --size m=64,n=64,k=64 --json && schema lookup
has "a machine not at hand" warnings.0.code library.machine-absent
has "a machine not at hand" kind exact
has "a machine not at hand" cost null
expect 0 "check, not at hand" hone library check moved.json --json && schema check
has "check, not at hand" counts.absent 1
has "check, not at hand" findings.0.code library.absent

# ---- usage
expect_error 2 cli.missing-argument "no library" hone library check
expect_error 2 cli.surplus-argument "two libraries" hone library check lib more
expect_error 2 cli.missing-argument "one library" hone library diff lib
expect_error 2 option.unused "an option of another" hone library diff lib more --machine teaching
expect_error 2 option.missing "no operator" hone library lookup lib
expect_error 2 option.missing "no store" hone library import lib
expect_error 4 file.unreadable "no such file" hone library check nowhere.json


# ---- the C program of docs/library.md, which is examples/lookup.c, on the library of scripts/demo in small
awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$top/docs/library.md" > example.c
sed -n '/^#include/,$p' "$top/examples/lookup.c" | cmp -s - example.c || fail "examples/lookup.c is not what docs/library.md shows"
expect 0 "tune for the demo" hone tune --operator matmul --size m=2048,n=14336,k=4096 --dtype bf16 --machine trainium2-core \
  --store demo.hone --budget 20 --top-k 1 --samples 0 --max-k 1
expect 0 "emit for the demo" hone emit demo.hone --output demo-library
expect 0 "compile the example" "$HONE_CC" -std=c99 -Wall -Wextra -pedantic -Werror -I demo-library example.c -o example
expect 0 "run the example" ./example
[ "$(sed 's/:.*//' out | tr '\n' ' ')" = "exact near fallback " ] || fail "example: answers $(cat out)"
finish
