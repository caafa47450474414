# B and E events of one moment are the same spans and the same halves after they were written and read again; a B and an
# E of the same time are a span, even where the E has a duration.
cat >a.json <<'TRACE'
{"traceEvents": [
 {"ph": "E", "pid": 1, "tid": 1, "ts": 5, "name": "ends nothing"},
 {"ph": "B", "pid": 1, "tid": 1, "ts": 5, "name": "a"},
 {"ph": "E", "pid": 1, "tid": 1, "ts": 9},
 {"ph": "B", "pid": 1, "tid": 2, "ts": 5, "name": "never ends"},
 {"ph": "B", "pid": 1, "tid": 2, "ts": 5, "name": "b"},
 {"ph": "E", "pid": 1, "tid": 2, "ts": 8},
 {"ph": "B", "pid": 1, "tid": 3, "ts": 7, "name": "c"},
 {"ph": "E", "pid": 1, "tid": 3, "ts": 7, "dur": 4},
 {"ph": "E", "pid": 1, "tid": 4, "ts": 1, "name": "damaged", "x": "y"z": 3},
 {"ph": "B", "pid": 1, "tid": 4, "ts": 1, "name": "d"},
 {"ph": "E", "pid": 1, "tid": 4, "ts": 2}
]}
TRACE
"$KINO" convert a.json b.json --quiet
"$KINO" convert b.json c.json --quiet
for trace in a.json b.json c.json; do
    echo "$trace"
    "$KINO" query $trace "SELECT tid, ph, name, ts, dur FROM event ORDER BY tid, ts, ph, name" --format csv --quiet
done
