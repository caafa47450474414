"$KINO" convert "$ROOT/tests/data/cli/small.json" -
