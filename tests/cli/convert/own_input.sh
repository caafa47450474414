# Under its own name or another one.
cp "$ROOT/tests/data/cli/small.json" a.json
ln a.json b.json
for out in a.json b.json; do
    code=0
    "$KINO" convert a.json $out || code=$?
    echo "$code"
done
cmp a.json "$ROOT/tests/data/cli/small.json"
