#!/bin/sh
# libhone exports exactly what hone.h declares, all of it named hone_*, and has
# no way to print or exit.
set -eu
top=${srcdir:-$(dirname "$0")/../..}
lib=.libs/libhone.so
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
bad=0

nm -D --defined-only "$lib" | awk '{ print $3 }' | sort > "$here/exported"
if grep -v '^hone_' "$here/exported"; then
  echo "FAILED: libhone exports the symbols above, which are not named hone_*"
  bad=1
fi

grep -o 'HONE_API .*' "$top/src/hone.h" | grep -o 'hone_[a-z0-9_]* *(' | tr -d ' (' | sort > "$here/declared"
if ! diff "$here/declared" "$here/exported" > "$here/diff" || [ ! -s "$here/declared" ]; then
  echo "FAILED: hone.h (<) and the symbols of libhone (>) differ:"
  cat "$here/diff"
  bad=1
fi

# The sanitizers bring their own; then only the names above are checked.
if ! nm -D --undefined-only "$lib" | grep -q '__asan_init'; then
  nm -D --undefined-only "$lib" | awk '{ print $2 }' | sed 's/@.*//' > "$here/used"
  if grep -xE '(printf|__printf_chk|vprintf|__vprintf_chk|puts|putchar|perror|exit|_exit|_Exit|quick_exit|stdout|stderr)' "$here/used"; then
    echo "FAILED: libhone uses the functions above, but must not print or exit"
    bad=1
  fi
fi
exit $bad
