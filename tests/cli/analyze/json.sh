# The documented JSON form: parameters, input, notes, all tables with their columns.
"$KINO" analyze completeness --kinds note --format json "$ROOT/tests/data/cli/small.json" >answer.json
python3 - <<'END'
import json
answer = json.load(open("answer.json"))
print(answer["kino"], answer["analysis"], answer["params"])
print(answer["input"]["ranks"], answer["input"]["events"], answer["input"]["origin_ns"], len(answer["input"]["notes"]) > 0)
for table in answer["tables"]:
    print(table["name"], [column["name"] for column in table["columns"]])
print(answer["tables"][0]["rows"])
END
