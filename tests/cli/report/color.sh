# Colours when asked for, none when piped or when NO_COLOR says so.
cp "$ROOT/tests/data/cli/report.json" t.json
"$KINO" report t.json --color always --width 40 --quiet | sed -n '/^.\[1mStep/,/^$/p' | sed 's/\x1b/E/g' | head -2
"$KINO" report t.json --quiet | grep -c "$(printf '\033')" || true
