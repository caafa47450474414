"$KINO" query --limit 2 "$ROOT/tests/data/cli/small.json" "SELECT name FROM event WHERE ph = 'X' ORDER BY ts"
"$KINO" query --limit 2 --format csv "$ROOT/tests/data/cli/small.json" "SELECT name FROM event WHERE ph = 'X' ORDER BY ts"
