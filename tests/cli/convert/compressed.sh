# The suffix chooses the compression; the text inside is the same.
"$KINO" convert "$ROOT/tests/data/cli/small.json" a.json
"$KINO" convert "$ROOT/tests/data/cli/small.json" a.json.gz
gzip -dc a.json.gz | cmp - a.json
"$KINO" convert "$ROOT/tests/data/cli/small.json" a.json.zst
"$KINO" convert a.json.zst b.json
cmp a.json b.json
"$KINO" convert "$ROOT/tests/data/cli/small.json" - --to json | cmp - a.json
"$KINO" convert "$ROOT/tests/data/cli/small.json" - --to chrome-json.gz | gzip -dc | cmp - a.json
