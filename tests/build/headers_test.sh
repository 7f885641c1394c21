#!/bin/sh
# Every header compiles alone, with our warnings as errors.
set -u
top=${srcdir:-$(dirname "$0")/../..}
: "${HONE_CC:=cc}" "${HONE_COMPILE_FLAGS:=-std=gnu17 -Wall -Wextra}"
failures=0

for header in $(cd "$top" && find src spaces search sim tests -name '*.h' | sort); do
  # shellcheck disable=SC2086 # the flags are several words
  echo "#include \"$top/$header\"" |
    $HONE_CC $HONE_COMPILE_FLAGS -I. -I"$top/src" -I"$top" -I"$top/tests" -DHONE_SRCDIR='"."' -DHONE_DATADIR='"."' -Werror -fsyntax-only -x c - || {
    echo "FAILED: $header does not compile alone"
    failures=$((failures + 1))
  }
done
exit $((failures > 0))
