# One trace of a run of two ranks: which rank it is, and that the other is missing.
echo '{"distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 2}, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 30}]}' >rank0.json
"$KINO" report rank0.json --width 100 --quiet | sed -n 2p
