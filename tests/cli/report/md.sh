cp "$ROOT/tests/data/cli/report.json" t.json
"$KINO" report t.json --format md --quiet | sed '/^## What to do/,/^## /{/^## O/!d}'
