# Valid JSON in the documented form; the values are those of the file.
"$KINO" info --format json "$ROOT/tests/data/cli/small.json" >info.json
python3 - <<'EOF'
import json
info = json.load(open("info.json"))
print(info["kino"], info["analysis"], info["params"])
source = info["input"]
print(sorted(source), source["ranks"], source["events"], source["skipped"], source["origin_ns"], source["notes"])
for table in info["tables"]:
    print(table["name"], len(table["rows"]))
    names = [column["name"] for column in table["columns"]]
    for row in table["rows"]:
        assert len(row) == len(names)
    if table["name"] == "traces":
        row = dict(zip(names, table["rows"][0]))
        print(row["rank"], row["world_size"], row["duration"], row["worker"], row["skipped"])
    if table["name"] == "categories":
        for row in table["rows"]:
            print(row)
    if table["name"] == "metadata":
        print(dict((row[1], row[2]) for row in table["rows"])["distributedInfo"]["backend"])
EOF
