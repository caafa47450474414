# What is not there is said; nothing is 0 or NaN because it is missing.
echo '{"traceEvents": []}' >empty.json
echo '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10, "dur": 5, "args": {"device": 0}},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 25, "dur": 5, "args": {"device": 0}}]}' >kernels.json
echo '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 30},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 50, "dur": 10}]}' >cpu.json
echo '{"traceEvents": [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 10, "dur": 0}]}' >zero.json
for trace in empty kernels cpu zero; do
    echo "== $trace"
    "$KINO" report $trace.json --width 72 --quiet | sed '/^What to do/,/^$/d; /^The recording/d'
done
