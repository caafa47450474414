# The same events, whatever the compression and the name.
"$KINO" info --format csv --table categories "$ROOT/tests/data/cli/small.json" >plain
for suffix in json.gz json.zst; do
    "$KINO" convert "$ROOT/tests/data/cli/small.json" "small.$suffix"
    mv "small.$suffix" "$suffix.renamed"
    "$KINO" info --format csv --table categories "$suffix.renamed" | cmp - plain
done
