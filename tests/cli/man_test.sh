#!/bin/sh
# Man pages: one of hone, one of each command; every option stands in its
# command's page; roff finds nothing to complain about.
. "${srcdir:-.}/tests/cli/lib.sh"

# lint NAME: the page $work/NAME.
lint() {
  if command -v groff > /dev/null; then
    groff -man -ww -b -z -Tutf8 "$work/$1" > "$work/warnings" 2>&1
    [ -s "$work/warnings" ] && { fail "$1: groff warns"; head -5 "$work/warnings"; }
  fi
  if command -v mandoc > /dev/null; then
    mandoc -Tlint -Wwarning "$work/$1" > "$work/warnings" 2>&1
    # No date: pages are the same whenever they are built.
    grep -v "missing date" "$work/warnings" && fail "$1: mandoc warns"
  fi
  if command -v man > /dev/null && man --version 2> /dev/null | grep -q '^man '; then
    LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -l "$work/$1" > "$work/shown" 2> "$work/warnings" ||
      fail "$1: man does not show it"
    [ -s "$work/warnings" ] && { fail "$1: man warns"; head -5 "$work/warnings"; }
    grep -q '^NAME' "$work/shown" || fail "$1: man shows no NAME"
  fi
  :
}

expect 0 "overview" hone help --man && cp "$work/out" "$work/hone.1" && lint hone.1
grep -q '^\.SH EXIT STATUS' "$work/hone.1" || fail "hone.1: no exit status"
commands=$(sed -n 's/^HONE_COMMAND(\(.*\))$/\1/p' "$top/src/cli/command.def")
[ "$(echo "$commands" | wc -l)" -ge 7 ] || fail "command.def: hardly any commands"
for command in $commands; do
  page=hone-$command.1
  grep -q "^\.BR hone.-$command (1)" "$work/hone.1" || fail "hone.1 does not name $command"
  expect 0 "$command" hone help "$command" --man || continue
  cp "$work/out" "$work/$page"
  lint "$page"
  for section in NAME SYNOPSIS DESCRIPTION OPTIONS "EXIT STATUS" "SEE ALSO"; do
    grep -q "^\.SH $section" "$work/$page" || fail "$page: no $section"
  done
  expect 0 "$command" hone help "$command" --json
  n=$(json --length "$work/out" options)
  i=0
  while [ "$i" -lt "$n" ]; do
    option=$(json "$work/out" "options.$i.name" | sed 's/-/\\-/g')
    grep -qF "\\fB\\-\\-$option\\fR" "$work/$page" || fail "$page: no --$option"
    i=$((i + 1))
  done
  # What make installs is this page.
  if [ -e "$page" ]; then cmp -s "$page" "$work/$page" || fail "$page as built is another"; fi
done
finish
