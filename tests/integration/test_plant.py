#!/usr/bin/env python3
"""Are planted runs what they say they are? Read with Python's json: spans nest, work follows its launch, streams do one thing
at a time, collectives end at once on all ranks, and the sums of the truth are those of the files."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from decimal import Decimal

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = re.findall(r'^PLANT\(\w+, "([\w-]+)"', (ROOT / "src/demo/plant_kinds.def").read_text(), re.M)
HOST = {"cpu_op", "user_annotation", "python_function", "cuda_runtime", "Operator", "Python", "Runtime"}
KERNEL, COPY = {"kernel", "Kernel"}, {"gpu_memcpy", "Memcpy"}
failures = []


def check(held, what):
    if not held:
        failures.append(what)


def spans_nest(spans, what):
    open_ends = []
    for start, negative, name in sorted(spans):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        check(not open_ends or start - negative <= open_ends[-1], f"{what}: {name} at {start} sticks out of its parent")
        open_ends.append(start - negative)


def check_rank(what, events, truth):
    threads, streams, calls, sums = collections.defaultdict(list), collections.defaultdict(list), {}, collections.Counter()
    is_whole = any(e["cat"] == "Operator" for e in events) or all(e["ts"] == int(e["ts"]) for e in events)
    for e in events:
        check(e["dur"] >= 0, f"{what}: {e['name']} has {e['dur']}")
        if e["cat"] in HOST:
            threads[e["tid"]].append((e["ts"], -e["dur"], e["name"]))
        elif e["cat"] in KERNEL | COPY:
            streams[e["tid"]].append((e["ts"], e["ts"] + e["dur"], e["name"]))
            kind = "copy_time" if e["cat"] in COPY else "collective_time" if e["name"].startswith("nccl") else "kernel_time"
            sums[kind] += e["dur"] * 1000
        if "cbid" in e["args"]:
            calls[e["args"]["correlation"]] = e
        if e["name"].startswith("ProfilerStep#") and e["cat"] in HOST:
            sums["step_time"] += e["dur"] * 1000
            sums["steps"] += 1
    for spans in threads.values():
        spans_nest(spans, what)
    for spans in streams.values():
        spans.sort()
        check(all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), f"{what}: overlap on a stream")
    for e in events:
        if e["cat"] in KERNEL | COPY and "correlation" in e["args"]:
            call = calls.get(e["args"]["correlation"])
            is_early = call is None and e["args"]["correlation"] < min(calls)  # launched before the recording began
            check(is_early or (call is not None and call["ts"] <= e["ts"]), f"{what}: launch of {e['name']}")
    for key in ("steps", "step_time", "kernel_time", "collective_time", "copy_time"):
        room = 1000 * len(events) if is_whole and key != "steps" else 0  # whole microseconds
        check(abs(sums[key] - truth[key]) <= room, f"{what}: {key} is {sums[key]}, the truth {truth[key]}")


def check_ends(what, ranks):
    """Ends of the n-th collective of ranks that are in one group alone differ by the clocks alone."""
    ends = [[e["ts"] + e["dur"] for e in events if e["name"].startswith(("ncclDev", "ncclKernel", "gloo:"))] for events in ranks]
    count = min(map(len, ends))
    for mine in ends[1:]:  # from the last on: not all ranks have the same early ones
        apart = [a - b for a, b in zip(ends[0][-count:], mine[-count:])]
        check(max(apart) - min(apart) <= 2, f"{what}: ends of collectives differ by {min(apart)} to {max(apart)} us")


def check_run(kino, folder, kind, seed):
    what, run, truth_file = f"{kind} {seed}", folder / f"{kind}-{seed}", folder / "truth.json"
    subprocess.run([kino, "demo", run, "--plant", kind, "--seed", str(seed), "--truth", truth_file, "--no-info", "--quiet"], check=True)
    truth = json.loads(truth_file.read_text())
    ranks = []
    for rank in range(truth["ranks"]):
        trace = json.loads((run / f"rank-{rank}.json").read_text(), parse_float=Decimal)
        ranks.append([e for e in trace["traceEvents"] if e["ph"] == "X"])
        check_rank(f"{what} rank {rank}", ranks[-1], truth["of_ranks"][rank])
        info = trace.get("distributedInfo", {"rank": 0, "world_size": 1})
        check((info["rank"], info["world_size"]) == (rank, truth["ranks"]), f"{what} rank {rank}: distributedInfo")
    if truth["tensor_parallel"] == truth["pipeline_stages"] == 1 and kind != "missing-steps":
        check_ends(what, ranks)
    check(truth["straggler"] is None or 0 <= truth["straggler"] < truth["ranks"], f"{what}: straggler")
    check((truth["straggler"] is None) == (truth["cause"] is None), f"{what}: cause")


def main():
    kino = os.environ.get("KINO")
    if not kino:
        print("skipped: KINO is not set")
        return 77
    check(len(KINDS) >= 20, f"kinds: {KINDS}")
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            for seed in (3, 4):
                check_run(kino, pathlib.Path(folder), kind, seed)
    for failure in failures[:20]:
        print("FAIL", failure)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
