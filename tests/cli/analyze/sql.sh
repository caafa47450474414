# Analyses are table functions: the first table by the analysis' name, the others behind it, parameters in order.
query() { "$KINO" query --format csv "$ROOT/tests/data/cli/small.json" "$1"; }
query "SELECT kind, count, of, first FROM completeness"
query "SELECT kind FROM completeness('warning,missing_rank')"
query "SELECT kind FROM completeness_findings WHERE kinds = 'loss'"
query "SELECT kind, status, count, of FROM completeness_checks WHERE kind LIKE '%launch%'"
"$KINO" query .schema | grep -A 3 'TABLE completeness('
"$KINO" query --format csv "$ROOT/tests/data/cli/small.json" "SELECT * FROM completeness('colour')" || echo "$?"
