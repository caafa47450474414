"$KINO" info --limit 1 "$ROOT/tests/data/cli/small.json" | sed -n "/^Events/,/^\$/p"
