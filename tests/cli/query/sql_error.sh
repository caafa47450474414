# What SQLite says, on one line.
code=0
"$KINO" query "$ROOT/tests/data/cli/small.json" "SELECT wrong FROM event" 2>message || code=$?
grep -c "^kino: .*no such column: wrong" message
wc -l <message
echo "$code"
