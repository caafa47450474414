# Stacks that end too early: what functions take with callees is not available, and why is said.
cat > broken.json <<'END'
{"kino_sampling": {"stacks": "frame pointers", "samples": 10, "broken": 2, "broken_in": "lib.so"}, "traceEvents": [
{"ph": "X", "cat": "cpu_sample", "name": "main", "pid": 1, "tid": "1 samples", "ts": 0, "dur": 80, "args": {"module": "prog", "samples": 8}},
{"ph": "X", "cat": "cpu_sample", "name": "g", "pid": 1, "tid": "1 samples", "ts": 80, "dur": 20, "args": {"module": "lib.so", "samples": 2}}]}
END
"$KINO" report --width 70 broken.json
sed 's/"broken": 2/"broken": 1/' broken.json > good.json
"$KINO" report --width 70 good.json | grep -A4 Functions
