#!/bin/sh
# The machine schema knows every field the loader knows, and no other.
set -eu
cd "${srcdir:-$(dirname "$0")/../..}"
bad=0
schema=data/schema/machine.schema.json
fields=$(sed -n 's/.*\.key = "\([a-z_]*\)".*/\1/p' src/ir/machine_field.c | sort -u)
# Names of properties: keys that open an object; keywords of JSON Schema aside.
known=$(sed -n 's/^ *"\([a-z_]*\)": {$/\1/p' "$schema" | sort -u)

for field in $fields; do
  if ! grep -q "\"$field\": {" "$schema"; then
    echo "FAILED: $schema lacks the field $field"
    bad=1
  fi
done

# shellcheck disable=SC2016 # $defs is JSON Schema's
definitions=$(sed -n 's/.*#\/\$defs\/\([a-z_]*\)".*/\1/p' "$schema" | sort -u)
for name in $known; do
  case " $(echo "$fields $definitions" | tr '\n' ' ') properties source sources assumed base value items " in
  *" $name "*) ;;
  *)
    echo "FAILED: $schema has the field $name; the loader does not"
    bad=1
    ;;
  esac
done
exit $bad
