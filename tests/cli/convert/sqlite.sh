# A database that answers as kino query does; the name or --to says what it is.
"$KINO" convert "$ROOT/tests/data/cli/small.json" out.sqlite
"$KINO" convert "$ROOT/tests/data/cli/small.json" out.db
"$KINO" convert "$ROOT/tests/data/cli/small.json" out --to sqlite
cmp out.sqlite out.db
cmp out.sqlite out
sql="SELECT cat, count(*) AS events, sum(dur) AS dur FROM event GROUP BY cat ORDER BY cat"
"$KINO" query "$ROOT/tests/data/cli/small.json" "$sql" --format json |
    python3 -c 'import json, sys; [print(row) for row in json.load(sys.stdin)["tables"][0]["rows"]]' >by-kino
python3 - "$sql" >by-sqlite <<'END'
import sqlite3, sys
for row in sqlite3.connect("out.sqlite").execute(sys.argv[1]):
    print(list(row))
END
cmp by-kino by-sqlite
# What cannot be: standard output, a device, compression, the input.
"$KINO" convert "$ROOT/tests/data/cli/small.json" out.sqlite.gz 2>/dev/null || echo $?
for out in - /dev/null missing/out.sqlite; do
    code=0
    "$KINO" convert "$ROOT/tests/data/cli/small.json" "$out" --to sqlite || code=$?
    echo "$code"
done
cp "$ROOT/tests/data/cli/small.json" in.db
"$KINO" convert in.db in.db || echo $?
cmp in.db "$ROOT/tests/data/cli/small.json"
ls
