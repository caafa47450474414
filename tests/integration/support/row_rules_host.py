"""Rules of test_rows.py for analyses of what threads do: (rows used and noted, rows there are), as often as an analysis has something to count."""
import re

from support.rows import analyze, has_note, noted, ns, numbers, total

NO_OPERATOR = re.compile(r"ProfilerStep#|enumerate\(Data(Loader|Pipe)\)#|Optimizer\.|(Distributed)?DataParallel\.forward|nn\.Module: |\[pl\]\[")


def operators(t):
    tables, notes = analyze(t.path, "operators")
    there = [e for e in t.of("cpu_op") if not NO_OPERATOR.match(str(e["name"]))]
    yield total(tables["operators"], "calls") + noted(notes, "calls are counted with"), len(there)


def annotation_breakdown(t):
    for kind, gpu in (("gpu_user_annotation", "yes"), ("user_annotation", "no")):
        yield total(analyze(t.path, "annotation-breakdown", "--use-gpu", gpu)[0]["annotations"], "count"), len(t.of(kind))


def steps(t):
    tables, _ = analyze(t.path, "steps")
    yield len(tables["steps"]), len(t.steps())


def overview(t):
    tables, _ = analyze(t.path, "overview")
    of_steps = {row["step"]: row for row in analyze(t.path, "steps")[0]["steps"]}
    rows = tables["step_breakdown"]
    if not t.steps():  # samples of the processor are not what it looks at
        yield len(rows), 1 if len(t.of("cpu_sample", "off_cpu")) < len(t.spans) else 0
        return
    yield len(rows), len(t.steps())
    for row in rows:  # the same step in both
        step = of_steps[row["step"]]
        yield (row["host_start"], row["host_dur"], row["device_start"]), (step["start"], step["dur"], step["device_start"])


def call_graph(t):
    tables, notes = analyze(t.path, "call-graph")
    ranges = t.of("cuda_profiler_range")  # of hardware counters: on no thread
    yield len(tables["nodes"]) + noted(notes, "spans are not in any call stack"), len(t.host()) + len(t.device()) - len(ranges)


def python_stacks(t):
    tables, _ = analyze(t.path, "python-stacks", "--where", "device")
    yield total(tables["flame"], "calls"), len(t.device()) + len(t.of("gpu_user_annotation", "cuda_sync"))


def modules(t):
    tables, notes = analyze(t.path, "modules")
    if has_note(notes, "PyTorch Lightning modules"):
        return
    there = [e for e in t.of("python_function") if str(e["name"]).startswith("nn.Module: ")]
    yield total(tables["modules"], "occurrences") + noted(notes, "calls of modules cross"), len(there)


def lightning(t):
    tables, notes = analyze(t.path, "lightning")
    marked = [e for e in t.of("cpu_op", "user_annotation") if str(e["name"]).startswith("[pl][")]
    used = len(tables["lightning_actions"]) + total(tables["lightning"], "occurrences")
    yield used + noted(notes, "actions left out"), len(marked)


def memory(t):
    tables, notes = analyze(t.path, "memory", "--points", 0)
    there = len(t.records())
    yield total(tables["memory_peaks"], "records"), there
    if not has_note(notes, "memory_curve and peaks not available"):
        yield len(tables["memory_curve"]), there
    if not has_note(notes, "memory_events not available"):
        events = tables["memory_events"]
        yield len(numbers(events, "allocation_event") | numbers(events, "release_event")), there


def memory_timeline(t):
    tables, _ = analyze(t.path, "memory-timeline")
    yield total(tables["memory_peak"], "records"), len(t.records())


def kernel_sequences(t):
    tables, notes = analyze(t.path, "kernel-sequences", "--min-pattern-len", 1, "--top-k", 2)
    left_out = noted(notes, r"calls are left out \(top_k\)") + noted(notes, "calls are left out: deeper") + noted(notes, "calls are not in any call tree")
    there = [e for e in t.host() if "aten::" in str(e["name"])]
    is_device = not has_note(notes, "no device work was recorded")
    yield total(tables["kernel_sequences"], "count") + left_out, len(there) if is_device else 0


def ops_diff(t):
    """Every step on one side: what is in none of them is noted."""
    all_steps = ("--control-steps", "0-1000000000") if t.steps() else ()
    tables, notes = analyze(t.path, "ops-diff", *all_steps)
    yield total(tables["ops_diff"], "control_counts") + noted(notes, "spans outside steps"), len([e for e in t.spans if e["kind"] != "trace"])


def critical_path(t):
    """The whole trace as one region: all that takes time takes part, and so do all waits of streams."""
    tables, notes = analyze(t.path, "critical-path", "--annotation", "")
    there = [e for e in t.host() if ns(e.get("dur", 0)) > 0] + t.device() + [e for e in t.of("cuda_sync", "gpu_user_annotation") if takes_part(e)]
    used = total(tables["graph"], "events")
    yield used + noted(notes, "device and synchronization events have no launch"), len(there)


def functions(t):
    """A sample is in the span of its outermost function, and so is a wait."""
    tables, _ = analyze(t.path, "functions")
    samples, waits = (outermost(t.of(kind)) for kind in ("cpu_sample", "off_cpu"))
    yield total(tables["functions"], "samples"), sum(int(e.get("args", {}).get("samples", 0)) for e in samples)
    yield total(tables["waits"], "count"), len(waits)
    yield total(tables["waits"], "time"), sum(ns(e["dur"]) for e in waits)


def outermost(spans):
    ends, found = {}, []
    for e in sorted(spans, key=lambda e: (e["ts"], -e["dur"], e["number"])):
        thread = (e["pid"], e["tid"])
        if thread not in ends or e["ts"] >= ends[thread]:
            ends[thread] = e["ts"] + e["dur"]
            found.append(e)
    return found


def completeness(t):
    """What it looked at: all spans, all device work."""
    checks = {row["kind"]: row for row in analyze(t.path, "completeness")[0]["checks"]}
    yield checks["missing_duration"]["of"] or 0, len([e for e in t.spans if e["kind"] != "trace"])
    of_device = checks["device_without_launch"]
    yield of_device["of"] or 0, len(t.device()) if of_device["status"] != "not available" else 0


def takes_part(e):
    return ns(e.get("dur", 0)) > 0 or e["name"] == "Stream Wait Event"


RULES = {"operators": operators, "annotation-breakdown": annotation_breakdown, "steps": steps, "overview": overview, "call-graph": call_graph,
         "python-stacks": python_stacks, "modules": modules, "lightning": lightning, "memory": memory, "memory-timeline": memory_timeline,
         "kernel-sequences": kernel_sequences, "ops-diff": ops_diff, "critical-path": critical_path,
         "functions": functions, "completeness": completeness}
