# What is missing is an error with --require-all: a broken file, a part, a rank.
"$KINO" demo run --ranks 3 --steps 2 --size 200kB --no-info --quiet
"$KINO" summarize run --part 1/3 -o part-1.summary
"$KINO" summarize run --part 3/3 -o part-3.summary
"$KINO" report part-*.summary --require-all 2>&1 >/dev/null || echo "exit $?"
"$KINO" report part-*.summary --quiet | sed -n '2s/.*\(Ranks: [^·]*\).*/\1/p'
rm run/rank-1.json
"$KINO" report run --require-all 2>&1 >/dev/null || echo "exit $?"
echo nonsense >run/rank-1.json
"$KINO" analyze kernels run --require-all 2>&1 >/dev/null || echo "exit $?"
"$KINO" summarize run -o run.summary --quiet
"$KINO" check run.summary --require-all 2>&1 >/dev/null || echo "exit $?"
"$KINO" summarize run -o other.summary --require-all 2>&1 >/dev/null || echo "exit $?"
ls other.summary 2>/dev/null || true
