# The longer suffix decides: .speedscope.json is no Chrome JSON.
"$KINO" convert "$ROOT/tests/data/cli/small.json" out.speedscope.json
cat out.speedscope.json
"$KINO" convert "$ROOT/tests/data/cli/small.json" - --to speedscope | cmp - out.speedscope.json
"$KINO" convert "$ROOT/tests/data/cli/small.json" out.speedscope.json.zst
"$KINO" convert "$ROOT/tests/data/cli/small.json" plain.json && head -n 2 plain.json
