#!/bin/sh
# No source over 1000 lines; no two files with one name.
set -eu
cd "${srcdir:-$(dirname "$0")/../..}"
bad=0

for folder in src spaces search sim tests scripts data; do
  if [ -d "$folder" ]; then find "$folder" -type f; fi
done | grep -E '\.([ch]|def|sh|ya?ml|txt|awk)$' | sort > "${TMPDIR:-/tmp}/hone-files.$$"
trap 'rm -f "${TMPDIR:-/tmp}/hone-files.$$"' EXIT

while read -r file; do
  case $file in *.yaml | *.txt) continue ;; esac
  lines=$(wc -l < "$file")
  if [ "$lines" -gt 1000 ]; then
    echo "FAILED: $file has $lines lines; at most 1000"
    bad=1
  fi
done < "${TMPDIR:-/tmp}/hone-files.$$"

twice=$(sed 's|.*/||' "${TMPDIR:-/tmp}/hone-files.$$" | sort | uniq -d)
if [ -n "$twice" ]; then
  echo "FAILED: file names used twice: $twice"
  bad=1
fi
exit $bad
