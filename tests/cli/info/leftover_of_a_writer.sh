# What a writer that was killed has left beside the traces is none of them.
mkdir run
cp "$ROOT/tests/data/cli/small.json" run/rank-0.json
head -c 100 run/rank-0.json >run/rank-1.json.tmp.a1B2c3
"$KINO" info run --format csv --table traces | cut -d, -f2
