# Chosen steps: what they restrict is said; steps that are not there are an error.
cat > t.json <<END
{"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 0, "dur": 100},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 60},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 1, "tid": 1, "ts": 100, "dur": 50},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 110, "dur": 30}]}
END
"$KINO" report t.json --steps 4 | sed -n '/restricted/,/cover/p; /^A step/p'
code=0
"$KINO" report t.json --steps 7-9 || code=$?
echo "$code"
