# The first table, or the one that is named.
"$KINO" info --format csv "$ROOT/tests/data/cli/small.json" | head -1 | cut -d, -f1-7
"$KINO" info --format csv --table steps "$ROOT/tests/data/cli/small.json"
