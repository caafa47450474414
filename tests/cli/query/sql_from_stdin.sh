echo "SELECT count(*) AS n FROM event" | "$KINO" query --format csv "$ROOT/tests/data/cli/small.json" -
