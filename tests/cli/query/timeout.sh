# A statement that never ends is stopped; the rows so far have been printed.
code=0
timeout 20 "$KINO" query --timeout 0.2 --format csv "$ROOT/tests/data/cli/small.json" "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n" >rows 2>message || code=$?
head -2 rows
grep -c '^kino: .*time' message
echo "$code"
