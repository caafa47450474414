# Without a choice an error lists them.
mkdir -p logs/one logs/two
cp "$ROOT/tests/data/cli/small.json" logs/one/a.json
cp "$ROOT/tests/data/cli/small.json" logs/two/b.json
"$KINO" info --run two logs --format csv | cut -d, -f1-2
"$KINO" info logs
