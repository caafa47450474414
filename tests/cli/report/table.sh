# One screen at 80 columns. Advice is left out here: its words are the rules' own.
cp "$ROOT/tests/data/cli/report.json" t.json
"$KINO" report t.json --width 80 --quiet | sed '/^What to do/,/^$/d'
