# A memory timeline is read, shown and converted; a folder leaves it out.
"$KINO" query "$ROOT/tests/data/memory_timeline/small.raw.json" "SELECT ts, name, args FROM event" --format csv
"$KINO" analyze memory-timeline "$ROOT/tests/data/memory_timeline/small.raw.json"
"$KINO" convert "$ROOT/tests/data/memory_timeline/damaged.raw.json" out.kino
"$KINO" query out.kino "SELECT name, count(*) FROM event GROUP BY name" --format csv
mkdir run
cp "$ROOT/tests/data/cli/small.json" "$ROOT/tests/data/memory_timeline/small.raw.json" run
"$KINO" query run "SELECT count(DISTINCT trace) FROM event" --format csv
