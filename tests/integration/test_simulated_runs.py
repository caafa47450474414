#!/usr/bin/env python3
"""Does `kino report` conclude what is true of runs that `kino demo` did not make? support/simulated_runs.py simulates processes, devices and
collectives and knows who is slow, why, or what limits all. The report, SQL and HTTP say the same of each.

KINO_SIMULATED_SEEDS=40 tries 40 seeds of each kind (default 2, in make test-all 20), KINO_SIMULATED_FIRST=100 begins with seed 100,
KINO_SIMULATED_KINDS=slow_gloo takes only these, KINO_SIMULATED_KEEP=DIR keeps the runs that fail."""
import concurrent.futures
import json
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import test_planted_truth as planted  # noqa: E402
from support import common, simulated_runs  # noqa: E402

SEEDS = int(os.environ.get("KINO_SIMULATED_SEEDS", "20" if os.environ.get("KINO_TIER") == "all" else "2"))
FIRST = int(os.environ.get("KINO_SIMULATED_FIRST", "0"))
KINDS = [k for k in os.environ.get("KINO_SIMULATED_KINDS", ",".join(simulated_runs.KINDS)).split(",") if k]
VERDICT = ("SELECT r.rank, r.step_time, r.exposed_communication, r.is_straggler, r.own_time, s.own_time "
           "FROM stragglers_ranks r LEFT JOIN stragglers s ON s.rank = r.rank")


def judge(truth, ranks, answer):
    """What is wrong with the headline and the first advice."""
    said = [(m[1], s["text"]) for s in answer["report"]["summary"] for m in planted.ACCUSED.finditer(s["text"])]
    named = {int(n) for numbers, _ in said for n in re.findall(r"\d+", numbers)}
    rules = [found["rule"] for found in answer["recommendations"]]
    wanted = {truth.rank, truth.also} - {None}
    if named - wanted or bool(named) != bool(wanted):
        yield f"names {sorted(named)}, not {sorted(wanted)}"
    elif wanted and planted.CAUSES[truth.cause] not in said[0][1]:
        yield f"the cause is {truth.cause}: {said[0][1]}"
    if wanted and rules[:1] != ["straggler"]:
        yield f"first advice is {rules[:1]}"
    if not wanted and "straggler" in rules:
        yield "the rule 'straggler' speaks"
    if truth.limit and not set(rules[:1]) & planted.RULES[truth.limit]:
        yield f"first advice is {rules[:1]}, the limit is {truth.limit}"
    if ranks > 1 and len(answer["report"]["ranks"]) != ranks:
        yield f"{len(answer['report']['ranks'])} ranks, truly {ranks}"


def ask(run, sql):
    done = common.run("query", run, sql, "--format", "json", "--quiet", "--jobs", 1)
    return json.loads(done.stdout)["tables"][0]["rows"] if done.returncode == 0 else [[done.stderr.decode()]]


def compare_verdict(answer, rows):
    """Who is slow, a step and its exposed communication: the headline, the report's bars and the analysis stragglers agree."""
    named = {int(n) for s in answer["report"]["summary"] for m in planted.ACCUSED.finditer(s["text"]) for n in re.findall(r"\d+", m[1])}
    bars = {bar["name"]: bar for bar in answer["report"]["ranks"]}
    for rank, time, exposed, is_slow, own, own_of_slow in rows if bars else ():
        if own_of_slow not in ([own] if is_slow else [None]):
            yield f"rank {rank}: own time {own} among the ranks, {own_of_slow} among the stragglers"
        bar = bars.get(f"rank {rank}", {"time": -2, "parts": [{"name": "Communication", "time": -2}]})
        mine = (bar["time"], next(part["time"] for part in bar["parts"] if part["name"] == "Communication"))
        apart = max(abs(mine[0] - time), abs(mine[1] - exposed))  # parts are rounded so that they add up
        if bool(is_slow) != (rank in named) or apart > 1:
            yield f"rank {rank}: {mine} and {rank in named} in the report, {(time, exposed, is_slow)} in stragglers"


def look(folder, kind, seed):
    run = folder / f"{kind}-{seed}"
    truth, ranks = simulated_runs.make(kind, seed, run)
    done = common.run("report", run, "--format", "json", "--quiet", "--jobs", 1)
    result = {"kind": kind, "seed": seed, "run": run, "answer": None, "wrong": [done.stderr.decode()[:300]], "differences": []}
    if done.returncode == 0:
        result["answer"] = json.loads(done.stdout)
        result["wrong"] = [*judge(truth, ranks, result["answer"])]
        result["differences"] += planted.compare_sql(result["answer"], ask(run, planted.SQL))
        result["differences"] += compare_verdict(result["answer"], ask(run, VERDICT))
    return result


def main():
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ProcessPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
            waiting = [pool.submit(look, pathlib.Path(folder), kind, seed) for kind in KINDS for seed in range(FIRST, FIRST + SEEDS)]
            results = [job.result() for job in waiting]
        planted.compare_served(pathlib.Path(folder), results)
        planted.keep(results, os.environ.get("KINO_SIMULATED_KEEP"))
    return planted.conclude(results, KINDS)


if __name__ == "__main__":
    sys.exit(main())
