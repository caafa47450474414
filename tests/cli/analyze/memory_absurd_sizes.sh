# Two allocations of 2^62 bytes are more than there are numbers: sums stay at the largest one.
cat > trace.json <<'END'
[{"ph":"X","cat":"cpu_op","name":"aten::empty","pid":1,"tid":1,"ts":0,"dur":100,"args":{}},
{"ph":"i","s":"t","name":"[memory]","pid":1,"tid":1,"ts":10,"args":{"Device Type":0,"Device Id":-1,"Addr":1,"Bytes":4611686018427387904}},
{"ph":"i","s":"t","name":"[memory]","pid":1,"tid":1,"ts":20,"args":{"Device Type":0,"Device Id":-1,"Addr":2,"Bytes":4611686018427387904}}]
END
"$KINO" analyze memory trace.json --format csv --table memory_statistics
