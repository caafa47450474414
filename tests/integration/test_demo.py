#!/usr/bin/env python3
"""Is the demo run what it says it is? Read with Python's json: spans nest, work has its launch, flows pair up, collectives
line up across ranks, and the planted stall and straggler are there."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from decimal import Decimal

RANKS, STEPS = 4, 6
STALL_STEP, STRAGGLER = STEPS // 2, RANKS // 2  # as src/demo/demo.h says
HOST = {"cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver"}
DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}
STARTS_FLOW = {"cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernelEx", "cudaMemcpyAsync", "cudaMemsetAsync",
               "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaStreamWaitEvent"}
failures = []


def check(held, what):
    if not held:
        failures.append(what)


def load(path):
    text = path.read_text(encoding="utf-8")
    trace = json.loads(text, parse_float=Decimal)
    return trace, len(text)


def of(events, *categories):
    return [e for e in events if e["ph"] == "X" and e.get("cat") in categories]


def check_frame(trace, rank):
    info = trace["distributedInfo"]
    check(info["rank"] == rank and info["world_size"] == RANKS, f"rank {rank}: distributedInfo")
    check(info["pg_config"][0]["ranks"] == list(range(RANKS)), f"rank {rank}: ranks of the process group")
    check(len(trace["deviceProperties"]) == 8, f"rank {rank}: devices")
    check(trace["schemaVersion"] == 1 and trace["with_stack"] == 1, f"rank {rank}: metadata")
    check(trace["baseTimeNanoseconds"] % (7889238 * 10**9) == 0, f"rank {rank}: base time")
    check(trace["traceEvents"][-1]["name"] == "Record Window End", f"rank {rank}: last event")
    labels = [e["args"]["labels"] for e in trace["traceEvents"] if e["name"] == "process_labels"]
    check(labels == ["CPU"] + [f"GPU {i}" for i in range(16)], f"rank {rank}: rows")


def check_mix(trace, size, rank):
    events = trace["traceEvents"]
    share = {ph: 100 * n / len(events) for ph, n in collections.Counter(e["ph"] for e in events).items()}
    check(60 <= share["X"] <= 75, f"rank {rank}: spans {share}")
    check(20 <= share["s"] + share["f"] <= 35, f"rank {rank}: flows {share}")
    check(1 <= share["i"] <= 6, f"rank {rank}: instants {share}")
    check(230 <= size / len(events) <= 330, f"rank {rank}: {size / len(events):.0f} bytes an event")
    names = {e["name"] for e in of(events, "kernel")}
    check(len(names) >= 30 and sum(100 <= len(n) <= 300 for n in names) >= 25, f"rank {rank}: kernel names")


def check_nesting(events, rank):
    """Slow and obvious: on one thread, of two spans that overlap one contains the other."""
    threads = collections.defaultdict(list)
    for e in of(events, *HOST):
        threads[e["tid"]].append((e["ts"], -e["dur"], e["name"]))
    check(len(threads) == 2, f"rank {rank}: threads")
    for spans in threads.values():
        open_ends = []
        for start, negative, name in sorted(spans):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            if open_ends and start - negative > open_ends[-1]:
                check(False, f"rank {rank}: {name} at {start} sticks out of its parent")
            open_ends.append(start - negative)


def check_python(events, rank):
    by_id = {e["args"]["Python id"]: e for e in of(events, "python_function")}
    check(len(by_id) == len(of(events, "python_function")), f"rank {rank}: Python ids")
    modules = 0
    for e in by_id.values():
        modules += e["name"].startswith("nn.Module: ") and "Python module id" in e["args"]
        parent = e["args"]["Python parent id"]
        if parent is not None:
            p = by_id[parent]
            check(p["ts"] <= e["ts"] and e["ts"] + e["dur"] <= p["ts"] + p["dur"], f"rank {rank}: Python parent of {e['name']}")
    check(modules > 100, f"rank {rank}: modules")


def check_launches(events, rank):
    calls = {e["args"]["correlation"]: e for e in of(events, "cuda_runtime", "cuda_driver")}
    ops = {e["args"]["External id"]: e for e in of(events, "cpu_op", "user_annotation")}
    work = of(events, *DEVICE)
    check(len(work) > 1000, f"rank {rank}: device work")
    for e in work:
        call = calls.get(e["args"]["correlation"])
        check(call is not None and call["ts"] <= e["ts"], f"rank {rank}: launch of {e['name']}")
        check(e["pid"] == e["args"]["device"] == rank % 8 and e["tid"] == e["args"]["stream"], f"rank {rank}: place of {e['name']}")
        op = ops.get(e["args"].get("External id"))
        check(op is not None and call["args"]["External id"] == e["args"]["External id"], f"rank {rank}: op of {e['name']}")
        check(op is not None and op["ts"] <= call["ts"] and call["ts"] + call["dur"] <= op["ts"] + op["dur"],
              f"rank {rank}: op around the launch of {e['name']}")
    streams = collections.defaultdict(list)
    for e in work:
        streams[e["tid"]].append((e["ts"], e["dur"]))
    check(len(streams) == 3, f"rank {rank}: streams {sorted(streams)}")
    for stream, spans in streams.items():
        spans.sort()
        check(all(a[0] + a[1] <= b[0] for a, b in zip(spans, spans[1:])), f"rank {rank}: overlap on stream {stream}")


def check_flows(events, rank):
    starts, ends = collections.Counter(), collections.Counter()
    for e in events:
        if e["ph"] in "sf":
            (starts if e["ph"] == "s" else ends)[e["cat"], e["id"]] += 1
            check(e["ph"] == "s" or e["bp"] == "e", f"rank {rank}: bp")
    check(set(starts.values()) == {1} and set(ends.values()) == {1}, f"rank {rank}: a flow id is used twice")
    check({k for k in starts if k[0] == "fwdbwd"} == {k for k in ends if k[0] == "fwdbwd"}, f"rank {rank}: fwdbwd pairs")
    work = {e["args"]["correlation"] for e in of(events, *DEVICE)}
    for e in of(events, "cuda_runtime", "cuda_driver"):
        key = "ac2g", e["args"]["correlation"]
        if e["args"]["correlation"] in work:
            check(key in starts and key in ends, f"rank {rank}: flow of {e['name']} {key}")
        else:  # as in real files: a call that launches nothing has one point without a partner
            check((key in starts) != (key in ends) and (key in starts) == (e["name"] in STARTS_FLOW), f"rank {rank}: flow of {e['name']}")


def check_autograd(events, rank):
    forward, backward = collections.defaultdict(list), collections.defaultdict(list)
    for e in of(events, "cpu_op"):
        if "Sequence number" in e["args"]:
            (backward if e["args"]["Fwd thread id"] else forward)[e["args"]["Sequence number"]].append(e)
    check(forward.keys() == backward.keys() and len(forward) > 100, f"rank {rank}: sequence numbers")
    for number, spans in backward.items():
        check(len(forward[number]) == 1 and len(spans) == 2 and "Backward" in spans[1]["name"], f"rank {rank}: sequence {number}")


def check_memory(events, rank):
    held, total = {}, None
    for e in sorted((e for e in events if e["name"] == "[memory]"), key=lambda e: (e["ts"], e["args"]["Ev Idx"])):
        a = e["args"]
        if a["Bytes"] > 0:
            check(a["Addr"] not in held, f"rank {rank}: allocated twice")
            held[a["Addr"]] = a["Bytes"]
        else:
            check(held.pop(a["Addr"], None) == -a["Bytes"], f"rank {rank}: freed what was not held")
        check(total is None or a["Total Allocated"] == total + a["Bytes"], f"rank {rank}: total allocated")
        total = a["Total Allocated"]
    check(total is not None and not held, f"rank {rank}: memory left")


def steps_of(events):
    steps = [e for e in of(events, "user_annotation") if e["name"].startswith("ProfilerStep#")]
    return sorted(steps, key=lambda e: e["ts"])


def check_stall(events, rank):
    steps = steps_of(events)
    check(len(steps) == STEPS, f"rank {rank}: {len(steps)} steps")
    others = [s["dur"] for i, s in enumerate(steps) if i != STALL_STEP]
    check(steps[STALL_STEP]["dur"] > max(others) * Decimal("1.5"), f"rank {rank}: no stall in step {STALL_STEP}")
    loads = sorted((e for e in of(events, "user_annotation") if "DataLoader" in e["name"]), key=lambda e: e["ts"])
    check(len(loads) == STEPS, f"rank {rank}: data loader")
    late = loads[STALL_STEP]["dur"] - max(e["dur"] for i, e in enumerate(loads) if i != STALL_STEP)
    longer = steps[STALL_STEP]["dur"] - max(others)
    check(late > longer * Decimal("0.8"), f"rank {rank}: the stall is not in the data loader")


def check_collectives(traces):
    """The same collective ends at the same time everywhere, and the straggler waits least."""
    base = {rank: t["baseTimeNanoseconds"] for rank, t in traces.items()}
    ends, waits = collections.defaultdict(dict), collections.Counter()
    for rank, trace in traces.items():
        for e in of(trace["traceEvents"], "kernel"):
            if "Collective name" in e["args"]:
                ends[e["args"]["Seq"]][rank] = base[rank] + 1000 * (e["ts"] + e["dur"])
                waits[rank] += e["dur"]
                check(e["args"]["Group size"] == RANKS and e["name"].startswith("nccl"), f"rank {rank}: collective")
    check(len(ends) > STEPS and sorted(ends) == list(range(len(ends))), "collective numbers")
    for number, by_rank in ends.items():
        check(len(by_rank) == RANKS and len(set(by_rank.values())) == 1, f"collective {number} does not line up")
    check(min(waits, key=waits.get) == STRAGGLER, f"waits {waits}")
    check(all(waits[r] > 2 * waits[STRAGGLER] for r in waits if r != STRAGGLER), f"nobody waits for the straggler: {waits}")
    compute = {rank: sum(e["dur"] for e in of(t["traceEvents"], "kernel") if "Collective name" not in e["args"])
               for rank, t in traces.items()}
    for rank in compute:
        if rank != STRAGGLER:
            check(Decimal("1.12") < compute[STRAGGLER] / compute[rank] < Decimal("1.18"), f"compute {compute}")


def main():
    kino = os.environ.get("KINO")
    if not kino:
        print("skipped: KINO is not set")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "demo"
        subprocess.run([kino, "demo", str(run), "--ranks", str(RANKS), "--steps", str(STEPS), "--no-info"], check=True,
                       stdout=subprocess.DEVNULL)
        traces = {}
        for rank in range(RANKS):
            traces[rank], size = load(run / f"rank-{rank}.json")
            events = traces[rank]["traceEvents"]
            check_frame(traces[rank], rank)
            check_mix(traces[rank], size, rank)
            check_nesting(events, rank)
            check_python(events, rank)
            check_launches(events, rank)
            check_flows(events, rank)
            check_autograd(events, rank)
            check_memory(events, rank)
            check_stall(events, rank)
        check_collectives(traces)
    for failure in failures[:20]:
        print("FAIL", failure)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
