"""kino.profile against torch.profiler.profile, event by event."""
import collections
import json

import kino
import torch

from support import torch_models

STEPS = 4
# PyTorch writes these, and Kino does not (docs/python/profiler.md, "Differences").
ONLY_TORCH = {"External id", "Record function id", "Ev Idx"}
INPUTS = ("Input Dims", "Input Strides", "Input type", "Concrete Inputs")


def options(module):
    return {"activities": [module.ProfilerActivity.CPU], "record_shapes": True, "profile_memory": True, "with_flops": True,
            "schedule": module.schedule(wait=0, warmup=1, active=2, repeat=1)}


def recorded(module, name, path):
    profiler = torch_models.train(name, module.profile(**options(module)), STEPS, module.record_function)
    profiler.export_chrome_trace(path)
    with open(path, encoding="utf-8") as file:
        return profiler, json.load(file)


def spans(trace):
    """Of each thread in the order in which they begin, with their depth; threads in the order of their first span."""
    threads = {}
    found = [event for event in trace["traceEvents"] if event.get("ph") == "X" and event["cat"] in ("cpu_op", "user_annotation")]
    for event in sorted(found, key=lambda event: (event["ts"], -event["dur"])):
        threads.setdefault(event["tid"], []).append(event)
    return list(threads.values())


def nested(events):
    """(depth, category, name) of each."""
    ends, rows = [], []
    for event in events:
        while ends and event["ts"] >= ends[-1]:
            ends.pop()
        rows.append((len(ends), event["cat"], event["name"]))
        ends.append(event["ts"] + event["dur"])
    return rows


def numbered(threads):
    """Sequence numbers begin anywhere: counted from the smallest of the thread that ran the forward functions."""
    events = [event for thread in threads for event in thread if "Sequence number" in event.get("args", {})]
    first = min(event["args"]["Sequence number"] for event in events)
    return [(event["name"], event["args"]["Sequence number"] - first, event["args"]["Fwd thread id"] > 0) for event in events]


def links(trace):
    """Names at both ends of each forward-backward flow."""
    flows = collections.defaultdict(dict)
    for event in trace["traceEvents"]:
        if event.get("cat") == "fwdbwd":
            flows[event["id"]][event["ph"]] = event
    pairs = []
    for flow in flows.values():
        pairs.append(tuple(innermost(trace, flow[point]) for point in "sf"))
    return sorted(pairs)


def innermost(trace, point):
    """The span that begins where the flow's point is."""
    return [event["name"] for event in trace["traceEvents"] if event.get("ph") == "X" and event.get("tid") == point["tid"]
            and event["ts"] == point["ts"] and event["cat"] == "cpu_op"][-1:]


def allocations(trace):
    return [event["args"]["Bytes"] for event in sorted(trace["traceEvents"], key=lambda event: event.get("ts", 0))
            if event["name"] == "[memory]"]


def averages(profiler):
    return {(event.key, event.is_user_annotation): (event.count, event.flops or 0, event.cpu_memory_usage, event.self_cpu_memory_usage)
            for event in profiler.key_averages()}


def columns(profiler):
    table = profiler.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", row_limit=3)
    return table.splitlines()[1].split("  "), len(table.splitlines())


def compare(report, name):
    theirs, torch_trace = recorded(torch.profiler, name, f"torch-{name}.json")
    ours, kino_trace = recorded(kino, name, f"kino-{name}.json")
    want, got = spans(torch_trace), spans(kino_trace)
    report.equal(f"{name}: threads", len(got), len(want))
    report.check(f"{name}: something was recorded", len(want[0]) > 20)
    for number, (mine, other) in enumerate(zip(got, want)):
        rows, other_rows = nested(mine), nested(other)
        report.equal(f"{name}, thread {number}: how many", len(rows), len(other_rows))
        unequal = [pair for pair in zip(rows, other_rows) if pair[0] != pair[1]]
        report.equal(f"{name}, thread {number}: names and nesting", unequal[:3], [])
        for event, other_event in zip(mine, other):
            args, other_args = event.get("args", {}), other_event.get("args", {})
            report.equal(f"{name}: arguments of {event['name']}", set(other_args) - set(args) - ONLY_TORCH, set())
            report.equal(f"{name}: arguments of {event['name']} that only Kino has", set(args) - set(other_args), set())
            for key in INPUTS:
                report.equal(f"{name}: {key} of {event['name']}", args.get(key), other_args.get(key))
    report.equal(f"{name}: sequence numbers", numbered(got), numbered(want))
    report.equal(f"{name}: forward-backward pairs", links(kino_trace), links(torch_trace))
    report.check(f"{name}: there are pairs", len(links(kino_trace)) > 5)
    report.equal(f"{name}: allocations", allocations(kino_trace), allocations(torch_trace))
    report.equal(f"{name}: averages", averages(ours), averages(theirs))
    report.equal(f"{name}: columns of the table", columns(ours), columns(theirs))
    for key in ("record_shapes", "profile_memory", "with_flops"):
        report.equal(f"{name}: {key} in the trace", kino_trace.get(key), torch_trace.get(key))
    report.equal(f"{name}: trace id", kino_trace["trace_id"], ours.get_trace_id())


def run(report):
    for name in torch_models.MODELS:
        compare(report, name)
