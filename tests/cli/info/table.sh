"$KINO" info "$ROOT/tests/data/cli/small.json"
