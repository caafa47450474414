# mm until the launch (10 us), the launch until its kernel (80), the kernel (300.125).
"$KINO" convert "$ROOT/tests/data/cli/small.json" out.json --critical-path
"$KINO" query out.json "SELECT name, json_extract(args, '$.critical') AS critical FROM event WHERE ph = 'X' ORDER BY id" --format csv
"$KINO" query out.json "SELECT ph, ts, pid, tid, json_extract(args, '$.weight') AS weight, json_extract(args, '$.type') AS type
                        FROM event WHERE cat = 'critical_path' ORDER BY id" --format csv
"$KINO" convert "$ROOT/tests/data/cli/small.json" all.kino --critical-path --all-edges --include-last-step --annotation "" --quiet
"$KINO" query all.kino "SELECT ts, json_extract(args, '$.weight') AS weight, json_extract(args, '$.critical') AS critical
                        FROM event WHERE cat = 'critical_path' AND ph = 's' ORDER BY id" --format csv
