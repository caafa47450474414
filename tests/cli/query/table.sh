"$KINO" query "$ROOT/tests/data/cli/small.json" "SELECT name, ts, dur FROM event WHERE ph = 'X' ORDER BY ts"
