#!/bin/sh
# scripts/layers accepts this tree and refuses planted violations.
set -eu
top=${srcdir:-$(dirname "$0")/../..}
layers=$(cd "$top" && pwd)/scripts/layers
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

plant() { # file line
  rm -rf "${tree:?}"/*
  mkdir -p "$tree/scripts" "$tree/$(dirname "$1")"
  cp "$top/scripts/layers.txt" "$tree/scripts"
  printf '/* a remark */\n%s\n' "$2" > "$tree/$1"
}
fail() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}
allowed() {
  plant "$1" "$2"
  "$layers" "$tree" || fail "$1 with '$2' must be allowed"
}
refused() { # file line message
  plant "$1" "$2"
  if "$layers" "$tree" > "$tree/out"; then fail "$1 with '$2' must be refused"; fi
  grep -qF "$1:2: $3" "$tree/out" || fail "$1 with '$2' must say '$3'; said '$(cat "$tree/out")'"
}

"$layers" "$top" || fail "this tree breaks the rules"

allowed src/ir/a.c '#include "base/status.h"'
allowed src/ir/a.c '#include "ir/ir_int.h"'
allowed sim/a.c '#include "backend/program.h"'
allowed src/cli/a.c '#include "store/store.h"'
allowed src/cli/a.c '  printf("%d", 1);'
allowed src/store/a.c '#include <hdf5.h>'
allowed search/a.c '#include <gsl/gsl_rng.h>'
allowed src/ir/a.c '  snprintf(buffer, sizeof buffer, "%d", 1);'
allowed src/ir/a.c '  hone_unit_print(&text); /* exits the loop */'
allowed tests/unit/a.c '#include "cost/model.h"'

refused src/base/a.c '#include "ir/machine.h"' 'base may not include ir/machine.h'
refused src/cost/a.c '#include "sim/simulator.h"' 'cost may not include sim/simulator.h'
refused sim/a.c '# include "cost/model.h"' 'sim may not include cost/model.h'
refused search/a.h '#include "cost/model.h"' 'search may not include cost/model.h'
refused search/a.c '#include "eval/evaluator.h"' 'search may not include eval/evaluator.h'
refused src/eval/a.c '#include "search/strategy.h"' 'eval may not include search/strategy.h'
refused tests/lib/a.c '#include "cost/model.h"' 'testlib may not include cost/model.h'
refused src/cli/a.c '#include "ir/ir_int.h"' 'cli may not include ir/ir_int.h: it is internal to ir'
refused src/ir/a.c '#include "machines/x.h"' '"machines/x.h" names no room: write "room/header"'
refused src/ir/a.c '#include "hone.h"' 'ir may not include hone.h'
refused src/cost/a.c '#include <hdf5_hl.h>' 'cost may not include <hdf5_hl.h>'
refused src/ir/a.c '#include <libfyaml.h>' 'ir may not include <libfyaml.h>'
refused src/ir/a.c '  printf("%d", 1);' 'ir may not print or exit'
refused src/ir/a.c '  fprintf(stderr, "no");' 'ir may not print or exit'
refused src/hone.c '  exit(1);' 'hone may not print or exit'

plant src/newroom/a.c '#include "base/status.h"'
if "$layers" "$tree" > "$tree/out"; then fail "a folder without a rule must be refused"; fi
grep -qF 'src/newroom/a.c:1: lies in no room' "$tree/out" || fail "a folder without a rule: $(cat "$tree/out")"

exit $((failures > 0))
