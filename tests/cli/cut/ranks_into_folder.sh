# A folder of ranks into a folder; one that has nothing of it is left out; never over the input.
mkdir run
for rank in 0 1; do
    sed "s/\"rank\": 3/\"rank\": $rank/; s/ProfilerStep#6/ProfilerStep#$((6 + rank))/" "$ROOT/tests/data/cli/small.json" >"run/rank-$rank.json"
done
"$KINO" cut run part/ --steps 7 --format json
ls part
"$KINO" cut run part/ --steps 5 --format json.gz
ls part
code=0
"$KINO" cut run run --steps 5 --format json || code=$?
echo "$code"
"$KINO" cut run one.json --steps 5 || code=$?
echo "$code"
