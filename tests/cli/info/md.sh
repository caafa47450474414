"$KINO" info --format md "$ROOT/tests/data/cli/small.json" | sed -n "/^## Steps/,/^## Events/p"
