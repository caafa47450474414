"$KINO" query --format csv "$ROOT/tests/data/cli/small.json" "SELECT name, dur, NULL AS absent, '' AS empty FROM event WHERE cat = 'kernel'"
