#!/usr/bin/env python3
"""Does straggler-cause name the planted rank, its cause and the first span that differs? Many seeds of every planted cause, and of runs
in which nobody is slow. Expected values come from the truth that the generator writes.

KINO_CAUSE_SEEDS=100 tries so many seeds of each kind (default 20, in make test-all 100), KINO_CAUSE_FIRST=500 begins with another one,
KINO_CAUSE_KINDS=gc-straggler,clean takes only these."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common  # noqa: E402

SEEDS = int(os.environ.get("KINO_CAUSE_SEEDS", "100" if os.environ.get("KINO_TIER") == "all" else "20"))
FIRST = int(os.environ.get("KINO_CAUSE_FIRST", "1"))
SLOW = ["device-straggler", "host-straggler", "loader-straggler", "copy-straggler", "kernel-straggler", "operator-straggler", "gc-straggler",
        "preempted-straggler", "gloo-sleep", "gloo-compute", "gloo-loader", "tensor-straggler", "pipeline-straggler"]
CLEAN = ["clean", "gloo", "tensor-parallel", "pipeline", "natural", "slow-network", "slow-loader", "out-of-phase"]
KINDS = [k for k in os.environ.get("KINO_CAUSE_KINDS", ",".join(SLOW + CLEAN)).split(",") if k]
CAUSES = {"kernels": "kernels", "loader": "data loader", "copies": "copies", "host": "host"}
STRENGTH = 150  # tenths of a percent of the step: enough to be accused, whatever the overlap


def rows_of(result, table):
    found = next(t for t in result["tables"] if t["name"] == table)
    names = [c["name"] for c in found["columns"]]
    return [dict(zip(names, row)) for row in found["rows"]]


def judge_span(truth, row):
    """The planted kind of span, and its name where one event per step is planted."""
    what, span = truth["span_kind"], truth["span"]
    if row["what"] != what:
        yield f"the span is a {row['what']} ({row['span']}), planted was a {what}"
    if span is not None and row["span"] != span:
        yield f"the span is {row['span']}, planted was {span}"
    if (row["event"] is None) != (row["what"] == "unknown"):
        yield f"event {row['event']}"


def judge_slow(truth, result):
    rows = rows_of(result, "straggler_cause")
    if [row["rank"] for row in rows] != [truth["straggler"]]:
        yield f"accuses {[row['rank'] for row in rows]}, planted was {truth['straggler']}"
        return
    if rows[0]["cause"] != CAUSES[truth["cause"]]:
        yield f"the cause is {rows[0]['cause']}, planted was {truth['cause']}"
    yield from judge_span(truth, rows[0])


def judge_numbers(truth, result):
    """A row for each rank and step, whose parts make up the step; what is waited for has a cause."""
    steps = rows_of(result, "rank_steps")
    if len(steps) != sum(r["steps"] for r in truth["of_ranks"]):
        yield f"{len(steps)} rows of rank_steps"
    for row in steps:
        parts = sum(row[k] for k in ("kernels", "data_loading", "copies", "host"))
        if row["own"] + row["exposed"] != row["time"] or parts + row["exposed"] != row["time"]:
            yield f"rank {row['rank']} step {row['step']}: parts {parts}, exposed {row['exposed']}, step {row['time']}"
            break
    caused, waited = sum(r["caused"] for r in rows_of(result, "waiting")), sum(r["waited"] for r in rows_of(result, "arrivals"))
    if caused != waited:
        yield f"waiting {waited}, with a cause {caused}"


def look(folder, kind, seed):
    run, truth_file = folder / f"{kind}-{seed}", folder / f"{kind}-{seed}.truth"
    strength = ["--strength", STRENGTH] if kind in SLOW else []
    done = common.run("demo", run, "--plant", kind, "--seed", seed, *strength, "--truth", truth_file, "--no-info", "--quiet")
    assert done.returncode == 0, done.stderr
    truth = json.loads(truth_file.read_text())
    done = common.run("analyze", "straggler-cause", run, "--format", "json", "--quiet", "--jobs", 1)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    shutil.rmtree(run)
    wrong, odd = [], list(judge_numbers(truth, result))
    if truth["straggler"] is not None:
        wrong = list(judge_slow(truth, result))
    elif truth["is_certain"] and rows_of(result, "straggler_cause"):
        wrong = [f"accuses {rows_of(result, 'straggler_cause')[0]['verdict']}"]
    return kind, seed, truth["straggler"] is not None, wrong, odd


def conclude(results):
    report = common.Report()
    for kind in KINDS:
        mine = [r for r in results if r[0] == kind]
        wrong = [r for r in mine if r[3]]
        for _, seed, _, what, _ in wrong[:5]:
            print(f"WRONG {kind} {seed}: {'; '.join(what)}")
        planted = sum(r[2] for r in mine)
        print(f"{kind:20} {len(mine) - len(wrong):3} of {len(mine)} right, {planted} with a straggler")
        most = len(mine) * (5 if kind in SLOW else 1) // 100
        report.check(f"{kind}: {'rank, cause and span' if kind in SLOW else 'nobody accused'}", len(wrong) <= most, f"{len(wrong)} of {len(mine)} wrong")
        if kind in SLOW:
            report.check(f"{kind}: most seeds have a straggler", planted * 2 > len(mine), f"{planted} of {len(mine)}")
    odd = [(r[0], r[1], r[4][0]) for r in results if r[4]]
    report.check("steps and waiting add up", not odd, str(odd[:3]))
    return report.finish()


def main():
    jobs = [(kind, seed) for kind in KINDS for seed in range(FIRST, FIRST + SEEDS)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        results = list(pool.map(lambda job: look(pathlib.Path(folder), *job), jobs))
    return conclude(results)


if __name__ == "__main__":
    sys.exit(main())
