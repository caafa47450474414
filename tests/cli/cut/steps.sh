# Steps by number: one, from, up to; and what the run has when there is no such step.
small="$ROOT/tests/data/cli/small.json"
for steps in 6 6- -5 5-6; do
    "$KINO" cut "$small" out.json --steps $steps
    "$KINO" query out.json "SELECT group_concat(name, ', ') FROM event WHERE ph = 'X' ORDER BY ts" --format csv --quiet | tail -1
done
rm out.json
for steps in 7 5-x - 6-5; do
    code=0
    "$KINO" cut "$small" out.json --steps $steps || code=$?
    echo "$code"
done
[ ! -e out.json ]
