# One file holds one trace.
mkdir run
for rank in 0 1; do
    sed "s/\"rank\": 3/\"rank\": $rank/" "$ROOT/tests/data/cli/small.json" >"run/rank-$rank.json"
done
"$KINO" convert run one.json --rank 1
"$KINO" info one.json --format csv | cut -d, -f3
"$KINO" convert run both.json
