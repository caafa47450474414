# A folder: rows per rank and kind, ranks that are not there.
mkdir run
for rank in 0 3; do
    cat >run/rank-$rank.json <<END
{"distributedInfo": {"rank": $rank, "world_size": 4}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 2, "ts": 10, "dur": 10},
{"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 2, "ts": 15, "dur": 10}]}
END
done
"$KINO" check run --fail-on missing_rank,overlapping_spans | sed '/^Notes/,$d'
echo "${PIPESTATUS[0]}"
