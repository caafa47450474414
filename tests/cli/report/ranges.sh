# Ranges that a program marked, and nothing else: no step, no operators, but where the program was.
# 40 + 30 us are covered of the 100 us from the first to the last; the inner range adds nothing.
echo '{"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "load", "pid": 1, "tid": 1, "ts": 0, "dur": 40},
{"ph": "X", "cat": "user_annotation", "name": "decode", "pid": 1, "tid": 1, "ts": 10, "dur": 20},
{"ph": "X", "cat": "user_annotation", "name": "load", "pid": 1, "tid": 2, "ts": 70, "dur": 30}]}' >ranges.json
echo "== ranges"
"$KINO" report ranges.json --width 72 --quiet
echo "== with samples"
sed 's/"traceEvents": \[/&{"ph": "X", "cat": "cpu_sample", "name": "main", "pid": 1, "tid": "1 samples", "ts": 0, "dur": 9},/' ranges.json >samples.json
"$KINO" report samples.json --width 72 --quiet | sed -n '/^There/,/^$/p'
echo "== in a step"
sed 's/"traceEvents": \[/&{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 100},/' ranges.json >step.json
"$KINO" report step.json --width 72 --quiet | sed -n '/^A step/,/^$/p; /^Ranges/,/^$/p'
