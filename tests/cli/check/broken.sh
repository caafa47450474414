# A cut file with a negative duration, a launch that goes nowhere and an unmatched end.
cat >broken.json <<'END'
{"distributedInfo": {"rank": 0, "world_size": 2}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 10, "dur": 2, "args": {"correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 20, "dur": 2, "args": {"correlation": 2}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 15, "dur": 2, "args": {"correlation": 1}},
{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 2, "ts": 30, "dur": -5},
{"ph": "E", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 2, "ts": 40},
{"ph": "X", "cat": "cpu_op", "na
END
"$KINO" check --quiet broken.json | sed '/^Notes/,$d'
for kinds in any loss truncated,no_steps warning note missing_rank overlapping_spans; do
    code=0
    "$KINO" check --quiet broken.json --fail-on "$kinds" >out || code=$?
    echo "$kinds $code"
done
"$KINO" check --quiet broken.json >same
cmp out same
