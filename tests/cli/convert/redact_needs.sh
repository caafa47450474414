"$KINO" convert "$ROOT/tests/data/cli/small.json" out.json --redact-key k
