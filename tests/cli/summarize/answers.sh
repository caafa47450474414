# Summaries made one by one, or in parts, answer as the traces do; a broken rank is named alike.
"$KINO" demo run --ranks 3 --steps 2 --size 200kB --no-info --quiet
echo nonsense >run/rank-3.json
for part in 1 2; do
    "$KINO" summarize run --part $part/2 -o part-$part.summary 2>&1
done
"$KINO" report run >want 2>want.err
"$KINO" report part-2.summary part-1.summary >got 2>got.err
cmp want got && cmp want.err got.err && cat got.err
"$KINO" check run --format json >want --quiet
"$KINO" check part-*.summary --format json >got --quiet
cmp want got
"$KINO" analyze kernels run --format csv >want --quiet
"$KINO" analyze kernels part-*.summary --format csv >got --quiet
cmp want got && [ "$(wc -l <got)" -gt 10 ] && echo same
