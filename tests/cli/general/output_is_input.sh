# No answer replaces a trace that it was made from, under its own name or another one.
cp "$ROOT/tests/data/cli/small.json" a.json
ln a.json b.json
ln -s a.json c.json
for out in a.json b.json c.json; do
    for command in "report a.json" "info a.json" "check a.json" "analyze steps a.json" "diff a.json a.json"; do
        code=0
        "$KINO" $command --output $out 2>err || code=$?
        echo "$command --output $out: $code $(cat err)"
    done
    code=0
    "$KINO" query a.json "SELECT 1" --output $out 2>err || code=$?
    echo "query --output $out: $code $(cat err)"
done
cmp a.json "$ROOT/tests/data/cli/small.json"
