# Shared by the shell tests of the hone command. Sourced, not run: sets hone, top,
# work (a folder removed at the end) and the checks below.
set -u
top=${srcdir:-$(dirname "$0")/../..}
top=$(cd "$top" && pwd)
hone_binary=${HONE:-$(pwd)/hone}
json_tool=${JSON_PATH:-$(pwd)/tests/cli/json_path}
work=$(mktemp -d "${TMPDIR:-/tmp}/hone-cli.XXXXXX")
trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT
failures=0

hone() { "$hone_binary" "$@"; }
json() { "$json_tool" "$@"; }

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# expect STATUS NAME COMMAND...: runs with stdout in $work/out, stderr in $work/err.
expect() {
  want=$1 name=$2
  shift 2
  "$@" >"$work/out" 2>"$work/err"
  have=$?
  [ "$have" -eq "$want" ] && return 0
  fail "$name: exit status $have, not $want: $*"
  sed 's/^/    /' "$work/err" | head -5
  return 1
}

# expect_error STATUS CODE NAME COMMAND...: also that the document carries the code
# and stderr names it.
expect_error() {
  want_status=$1 code=$2 title=$3
  shift 3
  expect "$want_status" "$title" "$@" --json || return 1
  have_code=$(json "$work/out" error.code) || { fail "$title: no error in the document"; return 1; }
  case $have_code in $code) ;; *) fail "$title: code $have_code, not $code" ;; esac
  grep -qF "[$have_code]" "$work/err" || fail "$title: stderr does not name the code"
}

# says NAME TEXT: the last command's stderr holds TEXT.
says() {
  grep -qF -- "$2" "$work/err" || { fail "$1: does not say '$2'"; sed 's/^/    /' "$work/err" | head -5; }
}

finish() {
  [ "$failures" -eq 0 ] && exit 0
  echo "$failures failed"
  exit 1
}
