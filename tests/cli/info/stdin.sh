"$KINO" info --format csv - <"$ROOT/tests/data/cli/small.json" | cut -d, -f1-3
