#!/bin/sh
# The examples of README.md and docs/*.md work as printed, block after block, each
# page in a scratch folder of its own that has data/, spaces/ and examples/; and the
# files that a page points to exist. What a fence says decides:
#
#   ```sh              run with sh -e
#   ```sh needs TOOL   likewise, where TOOL is installed
#   ```sh slow         run only with HONE_DOCS_FULL=1 (scripts/check --full)
#   ```python          run, where python3 has the modules it imports
#   ```LANGUAGE FILE   written to FILE before anything is run
#
# and other blocks are for reading. Without HONE_DOCS_FULL every `hone tune` gets a
# small budget unless it states one, and `hone emit` looks near tuned sizes only.
. "${srcdir:-.}/tests/cli/lib.sh"
full=${HONE_DOCS_FULL:-}

mkdir "$work/bin"
cat > "$work/bin/hone" << EOF
#!/bin/sh
if [ -z "$full" ] && [ "\$1" = tune ]; then
  case " \$* " in
    *" --budget "*) ;;
    *..*) set -- "\$@" --budget 10 --top-k 1 --samples 0 ;;
    *) set -- "\$@" --budget 10 --top-k 1 --samples 0 --max-k 1 ;;
  esac
fi
if [ -z "$full" ] && [ "\$1" = emit ]; then
  case " \$* " in *" --near "*) ;; *) set -- "\$@" --near 1 ;; esac
fi
exec "$hone_binary" "\$@"
EOF
chmod +x "$work/bin/hone"
PATH=$work/bin:$PATH
export PATH

# Blocks become files NN.sh and NN.py (NN: the line they begin at) with the fence's
# other words in NN.sh.word; named ones the file they name, below files/.
extract() { # page, folder
  mkdir -p "$2/files"
  awk -v to="$2" '
    /^```/ && open { open = 0; if (file) close(file); file = ""; next }
    /^```/ {
      open = 1
      n = split(substr($0, 4), word, " ")
      name = sprintf("%s/%04d.%s", to, NR, word[1] == "sh" ? "sh" : "py")
      if (word[1] == "sh" || word[1] == "python") {
        file = name
        print word[2], word[3] > (name ".word")
        close(name ".word")
      } else if (n == 2 && word[2] !~ /\//) file = to "/files/" word[2]
      if (file) printf "" > file
      next
    }
    open && file { print > file }' "$1"
}

# Exit status 0: to be run.
wanted() { # block
  read -r marker tool < "$1.word" || :
  case $marker in
    '') ;;
    slow) [ -n "$full" ] ;;
    needs) command -v "$tool" > /dev/null || { echo "skipped: $page:$line: $tool is not installed"; return 1; } ;;
    *) fail "$page:$line: unknown marker '$marker'" && return 1 ;;
  esac
}

run_block() { # block
  case $1 in
    *.sh) sh -e "$1" ;;
    *)
      python3 -c "$(grep -E '^(import|from) ' "$1")" 2> /dev/null || {
        echo "skipped: $page:$line: python3 lacks a module"
        return 0
      }
      python3 "$1"
      ;;
  esac < /dev/null > "$work/out" 2> "$work/err"
}

run_page() {
  folder=$work/$(basename "$page" .md)
  extract "$top/$page" "$folder"
  mkdir "$folder/run"
  for kind in data spaces examples; do
    [ -d "$top/$kind" ] && ln -s "$top/$kind" "$folder/run/"
  done
  find "$folder/files" -type f -exec cp {} "$folder/run/" \;
  for block in "$folder"/*.sh "$folder"/*.py; do
    [ -e "$block" ] || continue
    line=$(basename "${block%.*}" | sed 's/^0*//')
    wanted "$block" || continue
    if ! (cd "$folder/run" && run_block "$block"); then
      fail "$page:$line: the block that begins there"
      sed 's/^/    /' "$work/err" | tail -5
    fi
    blocks=$((blocks + 1))
  done
}

check_links() {
  for target in $(grep -o '](\([^)# ]*\)' "$top/$page" | sed 's/^](//' | grep -v -e '^http' -e '^$'); do
    [ -e "$top/$(dirname "$page")/$target" ] || fail "$page points to $target, which is not there"
  done
}

blocks=0
for page in README.md $(cd "$top" && ls docs/*.md); do
  check_links
  run_page
done
[ "$blocks" -ge 4 ] || fail "only $blocks blocks found"
finish
