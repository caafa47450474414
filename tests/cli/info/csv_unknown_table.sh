"$KINO" info --format csv --table nope "$ROOT/tests/data/cli/small.json"
