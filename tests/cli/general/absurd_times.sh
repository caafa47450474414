# Times at both ends of what 64 bits hold, lengths that reach over the end, negative ones: every analysis and every writer
# answers, and the sanitizers (this case runs with them, too) have nothing to say.
run=$ROOT/tests/data/absurd/run
for name in $("$KINO" analyze --list --format csv | tail -n +2 | cut -d, -f1); do
    "$KINO" analyze "$name" "$run" --format json --quiet >out || echo "$name failed"
    if grep -q '"compat"' <("$KINO" analyze "$name" --help) || "$KINO" analyze "$name" --help | grep -q hta; then
        "$KINO" analyze "$name" "$run" --compat hta --format json --quiet >out || echo "$name failed like hta"
    fi
done
for format in table html json; do
    "$KINO" report "$run" --full --format $format --quiet >out || echo "report $format failed"
done
for command in info check; do
    "$KINO" $command "$run" --quiet >out || echo "$command failed"
done
"$KINO" diff "$run/rank-0.json" "$run/rank-1.json" --quiet >out || echo "diff failed"
for suffix in json kino sqlite speedscope.json folded csv; do
    "$KINO" convert "$run/rank-0.json" out.$suffix --quiet || echo "convert to $suffix failed"
done
"$KINO" convert "$run" merged.json --merge --quiet || echo "merge failed"
