# Every good event is kept, the damage is told once with its place, the exit code is 0.
cat >cut.json <<'END'
{"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 2},
{"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 9, "dur": 3}
END
"$KINO" info cut.json --format csv --table categories
"$KINO" info cut.json --quiet --format csv --table damage | cut -d, -f3-5
