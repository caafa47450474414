mkdir run
cp "$ROOT/tests/data/cli/small.json" run/w0.1000.pt.trace.json
cp "$ROOT/tests/data/cli/small.json" run/w0.2000.pt.trace.json
"$KINO" info --span 2 run --format csv | cut -d, -f2,5,6
"$KINO" info run
