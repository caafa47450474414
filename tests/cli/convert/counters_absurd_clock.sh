# A clock that begins at the last nanosecond there is: counters as HTA makes them do not go over it.
cat > trace.json <<'END'
{"baseTimeNanoseconds": 9223372036854775807, "traceEvents": [
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":100},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":1,"tid":1,"ts":100,"dur":100},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1,"dur":2,"args":{"correlation":5}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":20,"dur":5,"args":{"correlation":5,"device":0,"stream":7}}
]}
END
for compat in hta hta-ns; do
    "$KINO" convert trace.json out.json --counters --compat $compat --include-last-step
    "$KINO" query out.json "SELECT ph, count(*) AS events FROM event GROUP BY ph ORDER BY ph" --format csv
done
