cp "$ROOT/tests/data/cli/report.json" t.json
"$KINO" report t.json --width 100 --full --quiet | sed '/^What to do/,/^$/d' | sed -n '/^Operators/,/^Is the/p'
