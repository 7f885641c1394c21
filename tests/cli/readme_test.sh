#!/bin/sh
# The commands of README.md work as printed (with a small budget, for time), and
# the files it points to exist.
. "${srcdir:-.}/tests/cli/lib.sh"

ln -s "$top/data" "$top/spaces" "$work/"
awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside && /^hone /' "$top/README.md" > "$work/commands"
[ "$(wc -l < "$work/commands")" -ge 6 ] || fail "README.md: only $(wc -l < "$work/commands") commands found"
cd "$work" || exit 1
while read -r line; do
  case $line in "hone tune "*) line="$line --budget 10 --top-k 1 --samples 0 --max-k 1" ;; esac
  # shellcheck disable=SC2086 # several words
  expect 0 "README.md" $line < /dev/null
done < "$work/commands"

for page in $(sed -n 's/.*](\([a-z]*\/[A-Za-z.\/]*\)).*/\1/p' "$top/README.md"); do
  [ -e "$top/$page" ] || fail "README.md points to $page, which is not there"
done
finish
