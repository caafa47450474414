# Counters, the critical path, redaction and merging together.
mkdir run
for rank in 0 1; do
    sed "s/\"rank\": 3/\"rank\": $rank/" "$ROOT/tests/data/cli/small.json" >"run/rank-$rank.json"
done
"$KINO" convert run all.json --counters --critical-path --redact --merge
"$KINO" query all.json "SELECT ph, name, count(*), count(DISTINCT track), count(DISTINCT id) FROM event
                        WHERE cat = 'critical_path' OR ph = 'C' AND name LIKE 'Queue%' GROUP BY ph, name" --format csv
