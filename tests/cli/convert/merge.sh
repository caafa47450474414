# Two ranks in one file: same events, pids and correlations apart, ranks named.
mkdir run
for rank in 0 1; do
    sed "s/\"rank\": 3/\"rank\": $rank/" "$ROOT/tests/data/cli/small.json" >"run/rank-$rank.json"
done
"$KINO" convert run all.json --merge
"$KINO" query all.json "SELECT pid, name, ts, correlation, external_id FROM event WHERE ph = 'X' ORDER BY id" --format csv
"$KINO" query all.json "SELECT DISTINCT process_name FROM (SELECT json_extract(args, '\$.name') AS process_name
                        FROM event WHERE name = 'process_name')" --format csv
