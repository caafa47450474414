"$KINO" query --format json "$ROOT/tests/data/cli/small.json" "SELECT name, dur, 0.5 AS half, NULL AS absent FROM event WHERE cat = 'kernel'" >rows.json
python3 -c '
import json
answer = json.load(open("rows.json"))
print(answer["kino"], answer["analysis"], answer["input"]["events"], answer["input"]["ranks"])
table, = answer["tables"]
print(table["name"], [column["name"] for column in table["columns"]], table["rows"])'
