#!/usr/bin/env python3
"""The shared model of a trace (operator trees, steps, ranges, device numbers) against the TensorBoard plugin's recorded values:
raw.json and tree.json of every profile, and the small traces of unit/*.json."""
import json
import pathlib
import subprocess
import sys
import tempfile

from support import common, tensorboard

report = common.Report()
ROLES = {"CpuOp": "CPU Exec"}
COSTS = ["Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CpuOp", "Other"]


def model(path, *arguments):
    program = common.tool("kino_print_profile")
    if not program:
        common.skip("kino_print_profile is not built: KINO_TOOLS names its folder")
    done = subprocess.run([program, "--compat", *arguments, path], capture_output=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{path}: {done.stderr.decode('utf-8', 'replace')[:300]}")
    return json.loads(done.stdout)


class Comparison:
    """One profile; whole microseconds are exact. Others are within 1e-6, or, because the plugin adds doubles of 1e12 us to durations
    of 2 us, within 0.01 us and 1e-5 of a ratio."""

    def __init__(self, name, is_exact):
        self.name, self.is_exact = name, is_exact

    def equal(self, what, got, want):
        report.equal(f"{self.name}: {what}", got, want)

    def near(self, what, got, want, slack=0.0):
        if want is None or got is None:
            return self.equal(what, got, want)
        limit = 1e-9 * max(1, abs(want)) if self.is_exact else max(slack, (1e-6 if slack else 1e-5) * abs(want))
        return report.check(f"{self.name}: {what}", abs(got - want) <= limit, f"got {got}, want {want}")

    def time(self, what, got_ns, want_us):
        return self.near(what, None if got_ns is None else got_ns / 1000, want_us, 0.01)


def compare_numbers(c, got, want, costs, overlaps):
    flags = want["flags"]
    for key in ("has_runtime", "has_kernel", "has_communication", "has_memcpy_or_memset", "use_dp", "use_ddp", "used_devices"):
        c.equal(key, got[key], flags[key])
    c.equal("libraries", [number for number, key in enumerate(("nccl", "gloo")) if got[key]], sorted(flags["comm_lib"]))
    c.time("first event", got["profiler_start_ts"], want["profiler_start_ts"])
    c.time("window start", got["window"][0], want["global_start_ts"])
    c.time("window end", got["window"][1], want["global_end_ts"])
    c.equal("names of steps", [step["name"] for step in got["steps"]], want["steps_names"])
    for step, (start, end), cost, overlap in zip(got["steps"], want["steps"], want[costs], want[overlaps]):
        c.time(f"step {step['name']} start", step["start"], start)
        c.time(f"step {step['name']} end", step["end"], end)
        for role in COSTS:
            c.time(f"step {step['name']} {role}", step[ROLES.get(role, role)], cost[role])
        for key in ("computation", "communication", "overlap"):
            c.time(f"step {step['name']} {key}", step[key], overlap[key])
    devices = {str(device["device"]): device for device in got["gpu"]}
    c.equal("devices", sorted(devices), sorted(want["gpu"]))
    for device in want["gpu"]:
        for key in ("gpu_utilization", "est_sm_efficiency", "est_achieved_occupancy_pct", "tensor_core_ratio"):
            c.near(f"device {device} {key}", devices[device][key], want["gpu"][device][key])
    c.near("tc_used_ratio", got["tc_used_ratio"], want["tc_used_ratio"])
    c.near("tc_eligible_ops_kernel_ratio", got["tc_eligible_ops_kernel_ratio"] or 0, want["tc_eligible_ops_kernel_ratio"])


def compare_sums(c, got, want):
    for role, count in want["role_range_counts"].items():
        ranges = got["ranges"][ROLES.get(role, role)]
        c.time(f"{role} ranges", sum(end - start for start, end in ranges), want["role_range_sums"][role])
        report.check(f"{c.name}: {role} count", len(ranges) <= count, f"{len(ranges)} ranges, at most {count}")


def flatten(node, depth=0):
    out = [(depth, node)]
    for child in node["children"]:
        out.extend(flatten(child, depth + 1))
    return out


def compare_tree(c, got, want):
    """/tree: names, places and times of one thread."""
    nodes = flatten(want)
    if not report.equal(f"{c.name}: shape of the tree",
                        [(n["depth"], name_of(n)) for n in got], [(depth, n["name"]) for depth, n in nodes]):
        return
    for mine, (_, theirs) in zip(got, nodes):
        if mine["depth"] == 0 and theirs["start_time"] is None:
            continue
        c.time(f"{mine['name']} start", mine["start"], theirs["start_time"])
        c.time(f"{mine['name']} end", mine["end"], theirs["end_time"])


def name_of(node):
    if node["class"] == "PLModuleNode":
        return node["name"].split(": ", 1)[1]
    return node["name"] + (".backward" if node["class"] == "BackwardNode" else "")


def compare_whole_trees(c, got, want):
    c.equal("threads", [str(thread["tid"]) for thread in got["threads"]], list(want))
    for thread in got["threads"]:
        nodes = flatten(want.get(str(thread["tid"]), {"children": [], "name": None}))
        if not report.equal(f"{c.name}: tree of {thread['tid']}", [(n["depth"], name_of(n), n["class"]) for n in thread["nodes"]],
                            [(depth, n["name"], n["class"]) for depth, n in nodes]):
            continue
        for mine, (depth, theirs) in zip(thread["nodes"], nodes):
            c.time(f"{mine['name']} start", mine["start"], theirs["start"])
            c.time(f"{mine['name']} end", mine["end"], theirs["end"])
            if depth == 0:  # the plugin's root counts some kernels twice; no view shows it
                continue
            for key in ("self_host_duration", "device_duration", "self_device_duration", "tc_self", "tc_total"):
                c.time(f"{mine['name']} {key}", mine[key], theirs[key])
            c.equal(f"{mine['name']} tc_eligible", mine["tc_eligible"], theirs["tc_eligible"])
            c.equal(f"{mine['name']} launches", [[r.get("name", "dummy"), sorted((d["name"], d["start"] / 1000) for d in r["device"])]
                                                 for r in mine["runtimes"]],
                    [[r["name"], sorted((d["name"], d["start"]) for d in r["device"])] for r in theirs["runtimes"]])


def check_profiles():
    for profile in tensorboard.profiles():
        want, tree = profile.golden("raw"), profile.golden("tree")
        c = Comparison(profile.name, "real_" not in profile.name)
        got = model(profile.trace, "--trees")
        compare_numbers(c, got, want, "steps_costs_us", "comm_overlap_costs_us")
        compare_sums(c, got, want)
        c.equal("threads", [str(thread["tid"]) for thread in got["threads"]], list(want["threads"]))
        if tree and got["threads"] and not want["flags"].get("is_pytorch_lightning"):
            compare_tree(c, got["threads"][0]["nodes"], tree)
        for thread in got["threads"]:
            root = want["threads"].get(str(thread["tid"]))
            if root:
                c.equal(f"children of {thread['tid']}", sum(n["depth"] == 1 for n in thread["nodes"]), root["root_children"])


def check_units(folder):
    for path in sorted((tensorboard.GOLDEN / "unit").glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if case.get("kind") != "trace":
            continue
        for worker in case["workers"]:
            want = case["expected"].get(worker["worker"])
            if not isinstance(want, dict) or "steps" not in want:
                continue
            if want["steps"][0][0] > want["steps"][0][1]:
                continue  # nothing but memory records: a step from the end of time to its beginning (D5)
            trace = pathlib.Path(folder) / "worker.pt.trace.json"
            trace.write_text(json.dumps(worker["trace"]), encoding="utf-8")
            c = Comparison(f"{case['case']}/{worker['worker']}", True)
            got = model(trace, "--trees")
            compare_numbers(c, got, want, "steps_costs", "comm_overlap_costs")
            for role, ranges in want["role_ranges"].items():
                c.equal(f"{role} ranges", [[s / 1000, e / 1000] for s, e in got["ranges"][ROLES.get(role, role)]],
                        [r for r in ranges if r[1] > r[0]])
            compare_whole_trees(c, got, want["tree"])


def span(cat, name, start, end, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": cat, "ts": start, "dur": end - start, "args": args}


def kernel(start, end, **args):
    return {**span("kernel", "k", start, end, device=0, stream=7, **{"External id": 1, **args}), "pid": 0, "tid": 7}


ROLE_EVENTS = {
    "Kernel": lambda s, e: kernel(s, e),
    "Memcpy": lambda s, e: span("gpu_memcpy", "c", s, e),
    "Memset": lambda s, e: span("gpu_memset", "s", s, e),
    "Communication": lambda s, e: {**span("cpu_op", "nccl:all_reduce", s, e, **{"External id": 1000 + s}), "tid": 3},
    "Runtime": lambda s, e: {**span("cuda_runtime", "cudaStreamSynchronize", s, e), "tid": 4},
    "DataLoader": lambda s, e: {**span("cpu_op", "enumerate(DataLoader)#X.__next__", s, e), "tid": 5},
    "CpuOp": lambda s, e: {**span("cpu_op", "aten::add", s, e), "tid": 6},
}


def model_of(folder, events):
    trace = pathlib.Path(folder) / "made.pt.trace.json"
    trace.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    return trace


def check_functions(folder):
    """Single rules with input and output, as traces that come down to them."""
    if not report.has(tensorboard.GOLDEN / "unit/functions.json"):
        return
    cases = json.loads((tensorboard.GOLDEN / "unit/functions.json").read_text(encoding="utf-8"))
    for number, case in enumerate(cases["merge_ranges"]):
        got = model(model_of(folder, [kernel(s, e) for s, e in case["in"]]))
        report.equal(f"merge_ranges {number}", [[s / 1000, e / 1000] for s, e in got["ranges"]["Kernel"]],
                     [r for r in case["out"] if r[1] > r[0]])
    for number, case in enumerate(cases["step_breakdown"]):
        events = [{**span("user_annotation", f"ProfilerStep#{i}", *step), "tid": 1} for i, step in enumerate(case["steps"])]
        for role, ranges in case["role_ranges"].items():
            events += [ROLE_EVENTS[role](*r) for r in ranges]
        got = model(model_of(folder, events))
        report.equal(f"step_breakdown {number}: steps", len(got["steps"]), len(case["steps_costs"]))
        for step, want in zip(got["steps"], case["steps_costs"]):
            report.equal(f"step_breakdown {number}: step {step['name']}", {role: step[ROLES.get(role, role)] / 1000 for role in COSTS},
                         {role: want[role] for role in COSTS})
    for number, case in enumerate(cases["gpu_utilization"]):
        events = [{**span("user_annotation", "ProfilerStep#0", *case["steps"]), "tid": 1},
                  span("Trace", "PyTorch Profiler (0)", *case["global"]), *(kernel(s, e) for s, e in case["kernels"])]
        trace = model_of(folder, events)
        got = model(trace)
        report.check(f"gpu_utilization {number}", abs(got["gpu"][0]["gpu_utilization"] - case["utilization"]) < 1e-12)
        series = tensorboard.analyze([trace], "overview", "--compat", "tensorboard")["utilization_series"]
        first = min(event["ts"] for event in events)
        mine = [(row["time"] / 1000 + first, row["gpu_utilization"] / 100) for row in series]
        report.equal(f"gpu_utilization {number}: buckets", len(mine), len(case["buckets"]))
        report.check(f"gpu_utilization {number}: values", all(abs(a - c) < 1e-9 and abs(b - d) < 1e-9 for (a, b), (c, d) in zip(mine, case["buckets"])))
    for number, case in enumerate(cases["merge_ranges_with_value"]):
        trace = model_of(folder, [{**span("cpu_op", "x", 0, 1), "tid": 1}, *(kernel(s, e, **{"blocks per SM": v}) for s, e, v in case["in"])])
        pieces = tensorboard.analyze([trace], "overview", "--compat", "tensorboard", "--sm-series")["sm_efficiency_series"]
        mine = [[row["start"] / 1000, row["end"] / 1000, row["est_sm_efficiency"] / 100] for row in pieces]
        want = [piece for piece in case["out"] if piece[2] >= 1e-9]
        report.check(f"merge_ranges_with_value {number}", len(mine) == len(want) and all(
            abs(a - b) < 1e-9 for x, y in zip(mine, want) for a, b in zip(x, y)), f"got {mine[:3]}, want {want[:3]}")
    check_names(folder, cases)


def check_names(folder, cases):
    events = [{**kernel(10 * i, 10 * i + 5), "name": case["name"]} for i, case in enumerate(cases["tensor_core_kernel"])]
    events += [{**span("cpu_op", case["name"], 10 * i, 10 * i + 5), "tid": 1} for i, case in enumerate(cases["tensor_core_op"])]
    tables = tensorboard.analyze([model_of(folder, events)], "tensor-cores", "--compat", "tensorboard")
    used = {row["name"]: row["used"] for row in tables["kernels"]}
    report.equal("tensor core kernels", used, {case["name"]: case["uses"] for case in cases["tensor_core_kernel"]})
    eligible = {row["name"] for row in tables["operators"] if row["eligible"]}
    report.equal("tensor core operators", eligible, {case["name"] for case in cases["tensor_core_op"] if case["eligible"]})


def main():
    check_profiles()
    with tempfile.TemporaryDirectory() as folder:
        check_units(folder)
        check_functions(folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
