#!/usr/bin/env python3
"""Nothing is dropped in silence: for every analysis, rows used + rows left out for a reason that a note counts = rows of the categories that
its page names. What is in a trace is counted here from its JSON, without the program. Recorded traces, and what tends to make rows vanish:
launches taken away, correlations taken away, spans that cross each other, times rounded by a JSON library, no device at all."""
import concurrent.futures
import copy
import decimal
import gzip
import json
import pathlib
import re
import sys
import tempfile

from support import common, row_rules_device, row_rules_host
from support.row_rules_host import NO_OPERATOR
from support.rows import KINDS, Trace, analyze, total

HTA, TB = common.SHARED / "traces/hta", common.SHARED / "traces/tb"
RECORDED = [HTA / "nccl_2steps/nccl_data.json.gz", HTA / "h100_bert/h100_gaunernst_bert-small-uncased__1016001.json.gz",
            HTA / "sampled_2rank/sampled_rank-0.json.gz", HTA / "cuda_event_sync", HTA / "backward_thread", HTA / "cpu_only",
            TB / "synthetic/train_gpu_s11/worker0.pt.trace.json.gz", TB / "synthetic/cpu_only_s11/worker0.pt.trace.json.gz",
            TB / "synthetic/tail_dropped_s11/worker0.pt.trace.json.gz", TB / "synthetic/modules_deep_flow_s11/worker0.pt.trace.json.gz",
            TB / "synthetic/no_steps_s11/worker0.pt.trace.json.gz", TB / "synthetic/lightning_s11/worker0.1000.pt.trace.json.gz",
            TB / "synthetic/ddp_nccl_s11/node0_0.pt.trace.json.gz", HTA / "cupti_profiler", HTA / "negative_queue_length"]
CHANGED = {HTA / "sampled_2rank/sampled_rank-0.json.gz", HTA / "cuda_event_sync", HTA / "backward_thread", HTA / "cpu_only",
           TB / "synthetic/train_gpu_s11/worker0.pt.trace.json.gz", TB / "synthetic/modules_deep_flow_s11/worker0.pt.trace.json.gz"}
ROUND_TRIPS = [TB / "resnet50_num_workers_0", HTA / "nccl_2steps", HTA / "negative_queue_length", TB / "synthetic/tail_dropped_s11"]
RUNS = [TB / "synthetic/ddp_nccl_s11", TB / "synthetic/ddp_gloo_s11", HTA / "sampled_2rank"]
RULES = {**row_rules_host.RULES, **row_rules_device.RULES}
# What has no rows of its own that could be counted, and why.
ELSEWHERE = {
    "layers": "joins the same device work as op-costs, which is counted here, by module: unit test_costs",
    "roofline": "takes the rows of op-costs, which are counted here: unit test_costs",
    "fwd-bwd": "has a row for each backward operator that names its forward one, not for all: unit test_fwd_bwd",
    "hang": "reads flight-recorder dumps, not traces: test_hang counts their entries",
    "memory-snapshot": "reads memory snapshots, not traces: test_memory_snapshot adds up their blocks",
    "memory-leaks": "has a row for each allocation that is not freed, not for all: test_memory_snapshot walks the history in its own way",
    "peak-memory": "has what was allocated at one moment: test_memory_snapshot walks the history in its own way",
    "clock-alignment": "has a row for each rank; which calls it uses is counted by test_alignment, in its own way",
    "straggler-cause": "has the verdict of stragglers, and of each rank the first span that differs: test_straggler_cause",
    "what-if": "has a row for each change of the graph of critical-path: test_what_if makes the runs anew with the change",
    "stragglers": "takes the steps of overview, which are counted here; its page has their number for each rank: test_verdict, test_planted_truth",
    "recommendations": "takes the answers of other analyses; that it claims no time twice: test_rules_settle, test_findings",
}


def without_launches(document):
    """Device work stays, with correlations that nobody has."""
    document["traceEvents"] = [e for e in document["traceEvents"] if str(e.get("cat")).lower() not in ("cuda_runtime", "cuda_driver", "runtime")]


def without_correlations(document):
    for e in document["traceEvents"]:
        for key in ("correlation", "External id"):
            e.get("args", {}).pop(key, None) if isinstance(e.get("args"), dict) else None


def rounded(document):
    """As programs do that keep times as whole microseconds."""
    for e in document["traceEvents"]:
        if e.get("ph") == "X":
            e["ts"], e["dur"] = float(round(e["ts"])), float(round(e.get("dur", 0)))


def crossing(document):
    """Every tenth operator and every third module is half as long again."""
    count = {"cpu_op": 0, "python_function": 0}
    for e in document["traceEvents"]:
        kind = KINDS.get(str(e.get("cat")).lower(), e.get("cat"))
        if e.get("ph") != "X" or kind not in count or (kind == "cpu_op") == bool(NO_OPERATOR.match(e["name"])):
            continue
        count[kind] += 1
        if count[kind] % (10 if kind == "cpu_op" else 3) == 0:
            e["dur"] = e["dur"] * 1.5 + 5


def without_arguments(document):
    """Streams and devices alone are left: no bandwidths, no sizes, no metadata of collectives."""
    for e in document["traceEvents"]:
        if str(e.get("cat")).lower() in ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"):
            e["args"] = {key: value for key, value in e.get("args", {}).items() if key in ("stream", "device", "correlation")}


def host_only(document):
    document["traceEvents"] = [e for e in document["traceEvents"]
                               if str(e.get("cat")).lower() not in ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "gpu_user_annotation")]


CHANGES = {"as it is": lambda document: None, "without launches": without_launches, "without correlations": without_correlations,
           "rounded": rounded, "crossing": crossing, "without arguments": without_arguments, "host only": host_only}


def check(report, name, trace):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda rule: list(rule(trace)), RULES.values())
    for analysis, answer in zip(RULES, answers):
        for number, (counted, there) in enumerate(answer):
            report.equal(f"{name}: {analysis} [{number}]: rows used and noted are those there", counted, there)


def read(path):
    if path.is_dir():
        path = sorted(p for p in path.iterdir() if ".json" in p.name)[0]
    return path, json.loads((gzip.open if path.suffix == ".gz" else open)(path, "rb").read())


def written(path, document):
    text = json.dumps(document)
    path.write_text(text, encoding="utf-8")
    return Trace(path, json.loads(text, parse_float=decimal.Decimal))


def check_recorded(report, path):
    for recorded in RECORDED:
        source, document = read(recorded)
        is_changed = recorded in CHANGED
        for what, change in CHANGES.items():
            if what != "as it is" and not is_changed:
                continue
            changed = copy.deepcopy(document) if is_changed else document
            change(changed)
            check(report, f"{source.parent.name}/{source.name} {what}", written(path, changed))


def check_made_by_hand(report, path):
    """The inputs of tests/diff: small, and odd on purpose."""
    for case in sorted((common.ROOT / "tests/diff/analysis").glob("*.test")):
        text = case.read_text(encoding="utf-8")
        inputs = text.split("-- input\n")[1:]
        document = json.loads(inputs[0].split("\n-- ")[0]) if len(inputs) == 1 else None
        if isinstance(document, dict):
            check(report, case.name, written(path, document))


def check_round_trips(report, path):
    """Python's floats have fewer digits than some files: spans then end behind the one around them. No call may be lost by it."""
    for recorded in ROUND_TRIPS:
        source, document = read(recorded)
        written(path, document)
        before, after = (total(analyze(p, "operators")[0]["operators"], "calls") for p in (source, path))
        report.equal(f"{source.name}: as many calls of operators after json.load and json.dump", after, before)


def without_last_mark(document):
    steps = [e for e in document["traceEvents"] if str(e.get("name")).startswith("ProfilerStep#")]
    last = max(steps, key=lambda e: e["ts"])["name"]
    document["traceEvents"] = [e for e in document["traceEvents"] if e.get("name") != last]


def without_last_step(document):
    steps = [e for e in document["traceEvents"] if str(e.get("name")).startswith("ProfilerStep#")]
    start = max(e["ts"] for e in steps)
    document["traceEvents"] = [e for e in document["traceEvents"] if e.get("ph") != "X" or e["ts"] < start]


def check_partners(report, folder):
    """Two workers, one without the mark of its last step, or without all that it did there: each call has its partner, or is counted."""
    for run in RUNS:
        for change in (without_last_mark, without_last_step):
            documents = [read(path)[1] for path in sorted(run.iterdir())[:2]]
            change(documents[1])
            made = [written(folder / f"{run.name}_{change.__name__}_{i}.json", document) for i, document in enumerate(documents)]
            calls = [len(t.communication()) for t in made]
            what = f"{run.name} {change.__name__}"
            tables, notes = analyze(made[0].path, "distributed", made[1].path)
            lonely = sum(int(found.group(1)) for found in (re.match(r"(\d+) of \d+ collective calls have no match", note) for note in notes) if found)
            report.equal(f"{what}: distributed has all calls", total(tables["communication_ops"], "calls"), sum(calls))
            report.equal(f"{what}: distributed counts calls without a partner", lonely, abs(calls[0] - calls[1]))
            rows = analyze(made[0].path, "collectives", made[1].path)[0]["collectives"]
            report.equal(f"{what}: collectives has all calls", total(rows, "kernels"), sum(calls))
            if "send-recv" not in {row["operation"] for row in rows}:
                report.equal(f"{what}: collectives matches all that have a partner", total(rows, "matched"), 2 * min(calls))


def main():
    report = common.Report()
    if not HTA.is_dir():
        common.skip("the traces beside the repository are missing")
    names = [line.split(",")[0] for line in common.run("analyze", "--list", "--format", "csv", "--quiet").stdout.decode().splitlines()[1:]]
    for name in names:
        report.check(f"{name} is counted here, or it is said where", (name in RULES) != (name in ELSEWHERE))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json"
        check_recorded(report, path)
        check_made_by_hand(report, path)
        check_round_trips(report, path)
        check_partners(report, pathlib.Path(folder))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
