"$KINO" query - - <"$ROOT/tests/data/cli/small.json"
