#!/usr/bin/env python3
"""critical-path of planted CPU runs with gloo: the path is as long as operators and collectives together, the exposed part is communication."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from support import common

KINDS = ("gloo", "gloo-sleep", "gloo-compute", "gloo-loader")
STEP = 1


def union(spans):
    total, end = 0, None
    for start, stop in sorted(spans):
        start = start if end is None else max(start, end)
        total += max(0, stop - start)
        end = stop if end is None else max(end, stop)
    return total


def truth(path):
    """Of one step, in ns: operators and collectives together, collectives outside operators, the step."""
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e.get("ph") == "X"]
    steps = sorted((e for e in events if e["name"].startswith("ProfilerStep")), key=lambda e: e["ts"])
    first, last = steps[STEP]["ts"], steps[STEP]["ts"] + steps[STEP]["dur"]

    def spans(is_wanted):
        return [(e["ts"], min(last, e["ts"] + e["dur"])) for e in events if is_wanted(e) and first <= e["ts"] <= last]

    operators = spans(lambda e: e["cat"] == "cpu_op")
    collectives = spans(lambda e: e["name"].startswith("gloo:"))
    both = union(operators + collectives)
    return both * 1000, (both - union(operators)) * 1000, (last - first) * 1000


def check_trace(report, what, path):
    both, exposed, step = truth(path)
    done = common.run("analyze", "critical-path", path, "--instance", str(STEP), "--format", "json")
    tables = {}
    for table in json.loads(done.stdout)["tables"]:
        names = [column["name"] for column in table["columns"]]
        tables[table["name"]] = [dict(zip(names, row)) for row in table["rows"]]
    weight = tables["graph"][0]["path_weight"]
    found = sum(row["duration"] for row in tables["summary"] if row["bound_by"] == "cpu_communication_bound")
    report.check(f"{what}: the trace has exposed communication", exposed > 0)
    report.check(f"{what}: the path covers operators and collectives", abs(weight - both) <= both / 100, f"{weight} of {both}")
    report.check(f"{what}: no longer than the step", weight <= step, f"{weight} of {step}")
    report.check(f"{what}: exposed communication is on the path", found >= 0.99 * exposed, f"{found}, exposed {exposed}")


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            for seed in (3, 4):
                to = Path(folder) / f"{kind}-{seed}"
                subprocess.run([common.program(), "demo", str(to), "--plant", kind, "--seed", str(seed), "--no-info", "--quiet"], check=True,
                               capture_output=True)
                for path in sorted(to.glob("*.json")):
                    check_trace(report, f"{kind} {seed} {path.stem}", path)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
