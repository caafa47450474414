# Events as CSV are what SQL gives, also of several traces.
"$KINO" convert "$ROOT/tests/data/cli/small.json" out.csv
"$KINO" query "$ROOT/tests/data/cli/small.json" 'SELECT * FROM event' --format csv | cmp - out.csv
mkdir run
for rank in 0 1; do
    sed "s/\"rank\": 3/\"rank\": $rank/" "$ROOT/tests/data/cli/small.json" >"run/rank-$rank.json"
done
"$KINO" convert run - --to csv | cut -d, -f1-6
