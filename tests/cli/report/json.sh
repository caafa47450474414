# The same numbers for programs, with the events behind them.
cp "$ROOT/tests/data/cli/report.json" t.json
"$KINO" report t.json --format json --quiet >report.json
python3 - <<'END'
import json
with open("report.json", encoding="utf-8") as file:
    answer = json.load(file)
report = answer["report"]
print(list(answer), answer["kino"])
print(list(report))
print(report["step"]["time"], {p["name"]: p["time"] for p in report["step"]["parts"]}, report["step"]["evidence"])
print({p["name"]: p["evidence"] for p in report["step"]["parts"] if p["evidence"]})
print([(s["name"], s["time"]) for s in report["steps"]], report["ranks"])
print([(s["name"], s["is_available"], s["evidence"]) for s in report["sections"] if s["name"] in ("operators", "kernels", "memory")])
print([s["evidence"] for s in report["summary"]][1:3])
print([r["analysis"] for r in answer["results"]])
print([t["name"] for r in answer["results"] if r["analysis"] == "memory" for t in r["tables"]])
first = answer["recommendations"][0]
print(list(first))
print(first["rule"], first["gain_percent"], first["evidence"])
END
