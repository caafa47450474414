"$KINO" query --format md "$ROOT/tests/data/cli/small.json" "SELECT name FROM event WHERE cat = 'kernel'"
