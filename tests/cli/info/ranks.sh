# Ordered by rank, not by name; --rank chooses; what is no trace is left out with a warning.
mkdir run
for rank in 2 10 1; do
    sed "s/\"rank\": 3/\"rank\": $rank/" "$ROOT/tests/data/cli/small.json" >"run/$((20 - rank)).json"
done
echo '{"nothing": 1}' >run/other.json
"$KINO" info run --quiet --format csv | cut -d, -f1-3
"$KINO" info run --quiet --format csv --rank 2-9 | cut -d, -f1-3
"$KINO" info run --format csv --table steps >/dev/null
"$KINO" info run --quiet --rank 7
