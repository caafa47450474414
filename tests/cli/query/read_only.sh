# Nothing can be written.
code=0
"$KINO" query "$ROOT/tests/data/cli/small.json" "DELETE FROM event" 2>message || code=$?
wc -l <message
echo "$code"
