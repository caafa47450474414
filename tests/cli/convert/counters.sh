# The launch at 20 us makes the queue longer, the start of its kernel at 100 us shorter; the same in every format.
for out in out.json out.json.gz out.json.zst out.kino; do
    "$KINO" convert "$ROOT/tests/data/cli/small.json" $out --counters --quiet
    "$KINO" query $out "SELECT c.name, c.ts, c.value, t.pid, t.tid FROM counter c JOIN track t ON t.id = c.track
                        WHERE c.name LIKE 'Queue%' ORDER BY c.event" --format csv
done
"$KINO" query out.kino "SELECT count(*) FROM event WHERE ph <> 'C'" --format csv
grep -c '"id": 7, "name": "Queue Length"' out.json
# as HTA: on the process, and nothing else
"$KINO" convert "$ROOT/tests/data/cli/small.json" hta.json --counters --compat hta
"$KINO" query hta.json "SELECT c.name, c.ts, c.value, t.pid, t.tid FROM counter c JOIN track t ON t.id = c.track" --format csv
