#!/usr/bin/env python3
"""Traces that kino convert adds to, against HTA's recorded answers: --counters, --critical-path, --kernel-sequences; and memory-timeline."""
import collections
import json
import pathlib
import sys
import tempfile

from support import common, hta

OVERLAY = hta.TRACES / "critical_path_simple_add_overlay/overlaid_critical_path_trace.json.gz"
MEMORY = hta.TRACES / "memory_analysis/memory_timeline.raw.gz"
SMALL = "critical_path_alexnet"  # what is written to each format is looked at for this one


def convert(trace, out, *arguments):
    done = common.run("convert", trace, out, *arguments, "--quiet")
    if done.returncode != 0:
        raise RuntimeError(f"kino convert {trace} {arguments}: exit {done.returncode}: {done.stderr.decode('utf-8', 'replace')[:300]}")
    return done


def load(path):
    document = json.loads(common.read_bytes(path))
    return document["traceEvents"] if isinstance(document, dict) else document


def last_step(case):
    return ["--include-last-step"] if case.has_last_step else []


# -- counters

def same_counter(got, want):
    """Values within the nine decimals of the answers; times and labels exactly. Ours may not have keys that theirs has not."""
    args = got["args"].keys() == want["args"].keys() and all(
        hta.close(got["args"][key], value, absolute=1e-8) for key, value in want["args"].items())
    return args and {k: v for k, v in got.items() if k != "args"} == {k: v for k, v in want.items() if k != "args"}


def check_counters(report, folder, case):
    golden = case.golden("trace_with_counters")
    if golden is None or hta.is_error(golden):
        return
    by_name = {path.name.replace(".json", "_with_counters.json", 1): path for path in case.traces}
    for name, want in golden.items():
        what, out = f"{case.name} {name}", folder / "counters.json"
        convert(by_name[name], out, "--counters", "--compat", "hta", *last_step(case))
        events = load(out)
        counters = [event for event in events if event.get("ph") == "C"]
        report.equal(f"{what}: events", len(events), want["total_events"])
        report.equal(f"{what}: counters", len(counters), want["counter_events"])
        report.equal(f"{what}: names", collections.Counter(event["name"] for event in counters), want["by_name"])
        for got, there in list(zip(counters, want["first"])) + list(zip(counters[-len(want["last"]):], want["last"])):
            report.check(f"{what}: a counter", same_counter(got, there), f"got {got}, want {there}")
    if not golden:  # HTA has nothing to add: no more do we
        out = folder / "counters.json"
        for path in case.traces:
            convert(path, out, "--counters", "--compat", "hta")
            report.equal(f"{case.name}: nothing is added", len(load(out)), len(load(path)))


def check_counter_series(report, folder, case):
    """hta-ns: the counters are the series of exact times. The answers are doubles that count from the first event of the rank."""
    series = case.golden("queue_length_time_series", "exact_ns") or {}
    for path, rank in zip(case.traces, case.ranks):
        streams = series.get(str(rank), {}).get("per_stream", {})
        if not streams:
            continue
        out = folder / "exact.json"
        convert(path, out, "--counters", "--compat", "hta-ns", *last_step(case))
        got = collections.defaultdict(dict)  # of points at one time the last
        for event in common.parse(common.read_bytes(out))["traceEvents"]:
            if event.get("name") == "Queue Length":
                got[str(event["id"])][event["ts"]] = event["args"]["Queue Length"]
        report.equal(f"{case.name} rank {rank}: streams", sorted(got), sorted(streams))
        for stream, want in streams.items():
            what, mine, there = f"{case.name} rank {rank} stream {stream}", list(got[stream].items()), want["series"]
            report.equal(f"{what}: points", len(mine), want["distinct_ts"])
            report.equal(f"{what}: exact queue lengths", [length for _, length in mine[:len(there)]], [length for _, length in there])
            shift = float(mine[0][0]) - there[0][0]
            far = [pair for pair in zip(mine, there) if abs(float(pair[0][0]) - pair[1][0] - shift) > 0.6]
            report.check(f"{what}: exact times", not far, str(far[:1]))


def check_formats(report, folder, case):
    """The same counters whatever they are written to, and SQL shows them."""
    sql = "SELECT c.name, c.ts, c.value, t.pid, t.tid FROM counter c JOIN track t ON t.id = c.track ORDER BY c.event"
    want = None
    for suffix in ("json", "json.gz", "json.zst", "kino"):
        out = folder / f"formats.{suffix}"
        convert(case.traces[0], out, "--counters")
        rows = common.query(out, sql)
        want = want or rows
        report.equal(f"{case.name} {suffix}: counters", rows, want)
    names = {row[0] for row in want}
    report.check(f"{case.name}: SQL shows them", {"Queue Length.Queue Length", "Memset.Memcpy BW", "GPU 0 Utilization.GPU Utilization"} <= names, names)
    again = folder / "again.json"
    convert(folder / "formats.kino", again, "--counters")
    report.equal(f"{case.name}: nothing is added twice", common.query(again, sql), want)
    queue = [row for row in want if row[0].startswith("Queue")]
    report.equal(f"{case.name}: queue lengths stand on their streams", sorted({row[4] for row in queue}), [7, 20])


# -- the critical path

def flow_facts(events):
    """As the answers tell them."""
    starts = {event["id"]: event for event in events if event.get("cat") == "critical_path" and event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event.get("cat") == "critical_path" and event["ph"] == "f"}
    spans = [event for event in events if event.get("ph") == "X"]
    flows = sorted([s["args"]["type"].removeprefix("critical_path_"), s["args"]["weight"], s["pid"], s["tid"], s["ts"],
                    ends[key]["pid"], ends[key]["tid"], ends[key]["ts"]] for key, s in starts.items())
    return {
        "events": len(events),
        "flow_events": len(starts) + len(ends),
        "X_events": len(spans),
        "X_critical": sum(event.get("args", {}).get("critical", 0) for event in spans),
        "flow_by_type": dict(collections.Counter(event["args"]["type"] for event in starts.values())),
        "flow_critical": sum(bool(event["args"]["critical"]) for event in starts.values()),
        "flows": flows,
    }


FORMS = {"critical_only": [], "all_events_default_edges": ["--all-events"], "all_events_all_edges": ["--all-edges"]}


def path_arguments(request):
    instance = request["instance_id"]
    text = f"{instance[0]}-{instance[1]}" if isinstance(instance, list) else str(instance or 0)
    arguments = ["--critical-path", "--annotation", request["annotation"], "--instance", text]
    if request.get("data_load_events"):
        arguments += ["--data-load-events", ",".join(request["data_load_events"])]
    if request["add_zero_weight_launch_edges"]:
        arguments.append("--zero-weight-edges")
    return arguments


def check_overlay(report, folder, case, request, compat):
    path = case.traces[case.ranks.index(request["rank"])]
    what = f"{case.name} {compat}: '{request['annotation'][:20]}' {request['instance_id']}"
    for form, arguments in FORMS.items():
        want = request["overlay"].get(form)
        if want is None:
            continue
        out = folder / "overlay.json"
        convert(path, out, *path_arguments(request), *arguments, "--compat", compat, *last_step(case))
        got = flow_facts(load(out))
        for key, value in want.items():
            if key == "flows":  # the first 400
                report.equal(f"{what} {form}: flows", got["flows"][:len(value)], sorted(value))
            elif key == "flow_by_type" and compat == "hta-ns" and form == "all_events_all_edges":
                report.equal(f"{what} {form}: {key}", got[key], exact_types(case, request))
            elif key in got:
                report.equal(f"{what} {form}: {key}", got[key], value)


def exact_types(case, request):
    """Edges by type in integer ns: doubles order what falls together otherwise."""
    same = ("rank", "annotation", "instance_id", "add_zero_weight_launch_edges")
    exact = next(one for one in case.integer_ns()["critical_path"] if all(one[key] == request[key] for key in same))
    return {f"critical_path_{name}": count for name, count in exact["edges_by_type"].items() if count}


def check_overlay_file(report, folder, case):
    """An overlay written by HTA itself, event by event."""
    out = folder / "overlay.json"
    convert(case.traces[0], out, "--critical-path", "--annotation", "", "--all-events", "--compat", "hta")

    def key(event):
        kept = {k: v for k, v in event.items() if k != "id" or event.get("cat") != "critical_path"}
        return json.dumps(kept, sort_keys=True).replace(".0,", ",").replace(".0}", "}")

    got, want = sorted(map(key, load(out))), sorted(map(key, load(OVERLAY)))
    report.equal("HTA's own overlay: events", len(got), len(want))
    different = [pair for pair in zip(got, want) if pair[0] != pair[1]]
    report.check("HTA's own overlay: all events", not different, str(different[:1])[:400])


def check_default_overlay(report, folder, case):
    """By default both ends of every arrow lie within a span of their track that is on the path."""
    out = folder / "overlay.json"
    convert(case.traces[0], out, "--critical-path", "--annotation", "")
    rows = common.query(out, """SELECT f.id FROM event f WHERE f.cat = 'critical_path' AND NOT EXISTS (
        SELECT 1 FROM event s WHERE s.track = f.track AND s.dur IS NOT NULL AND s.ts <= f.ts AND f.ts <= s.ts + s.dur
        AND json_extract(s.args, '$.critical') = 1)""")
    report.equal(f"{case.name}: arrows that touch nothing", rows, [])
    report.check(f"{case.name}: there are arrows", common.query(out, "SELECT count(*) FROM event WHERE cat = 'critical_path'")[0][0] > 100)


# -- kernel sequences

def check_sequences(report, folder, case):
    """Members of the most frequent sequences. HTA also empties all other events to save space; ours keep what they have."""
    golden = case.golden("frequent_cuda_kernel_sequences")
    if golden is None or hta.is_error(golden):
        return
    for op, want in golden.items():
        facts, out, what = want.get("overlay"), folder / "sequences.json", f"{case.name} {op}"
        if not facts:
            done = common.run("convert", case.traces[0], out, "--kernel-sequences", op, "--compat", "hta", "--quiet")
            report.equal(f"{what}: no sequences", done.returncode, 1)
            continue
        convert(case.traces[0], out, "--kernel-sequences", op, "--compat", "hta", *last_step(case))
        events = load(out)
        members = [event for event in events if "Patterns" in event.get("args", {})]
        report.equal(f"{what}: events", len(events), facts["events"])
        report.equal(f"{what}: members", len(members), facts["events_with_Patterns"])
        top = {row[0]: row[1] for row in want["rows"][:5]}
        seen = {name: count for event in members for name, count in event["args"]["Patterns"].items()}
        report.equal(f"{what}: sequences and counts", seen, top)


# -- memory timeline

CATEGORIES = ["parameter", "optimizer_state", "input", "temporary", "activation", "gradient", "autograd", "unknown"]


def check_memory_timeline(report, folder):
    golden = hta.read_json(hta.GOLDEN / "memory_analysis/memory_timeline.json")
    packed = folder / "timeline.kino"
    convert(MEMORY, packed)
    as_json = folder / "timeline.json"
    convert(MEMORY, as_json)
    for path in (MEMORY, packed, as_json):
        what = f"memory timeline {path.suffix}"
        events = common.query(path, "SELECT count(*) FROM event")[0][0]
        report.equal(f"{what}: records", events, golden["raw_records"])
        tables = hta.analyze([path], "memory-timeline")
        points = tables["memory_timeline"]
        sizes = [[row[name] for name in CATEGORIES] for row in points]
        origin = int(common.query(path, "SELECT origin_ns FROM trace")[0][0])
        times = [row["ts"] + origin for row in points]
        report.equal(f"{what}: points", len(points), golden["points"])
        report.equal(f"{what}: first times", times[:5], golden["first_times"])
        report.equal(f"{what}: last time", times[-1], golden["last_time"])
        report.equal(f"{what}: point 744", sizes[744], golden["size_744"])
        report.equal(f"{what}: final", sizes[-1], golden["final_by_category"])
        report.equal(f"{what}: max", [max(column) for column in zip(*sizes)], golden["max_by_category"])
        report.equal(f"{what}: sums", [sum(column) for column in zip(*sizes)], golden["sum_of_sizes_by_category"])
        report.equal(f"{what}: samples", [[i, times[i], sizes[i]] for i, _, _ in golden["samples"]], golden["samples"])
        report.check(f"{what}: total", all(sum(size) == row["total"] for size, row in zip(sizes, points)))
        peak = {row["category"]: row for row in tables["memory_categories"]}
        report.equal(f"{what}: categories", list(peak), golden["categories"])
        report.equal(f"{what}: at the peak", [row["at_peak"] for row in peak.values()], golden["peak_by_category"])
        report.equal(f"{what}: most", [row["max"] for row in peak.values()], golden["max_by_category"])
        report.equal(f"{what}: at the end", [row["final"] for row in peak.values()], golden["final_by_category"])
        summary = tables["memory_peak"][0]
        report.equal(f"{what}: peak", [summary["peak"], summary["ts"] + origin, summary["points"]],
                     [golden["peak_total_bytes"], golden["peak_time"], golden["points"]])


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case in hta.cases():
            check_counters(report, folder, case)
            check_counter_series(report, folder, case)
            check_sequences(report, folder, case)
            for compat, where in (("hta", ""), ("hta-ns", "exact_ns")):
                for request in case.golden("critical_path", where) or ():
                    if "overlay" in request:
                        check_overlay(report, folder, case, request, compat)
            if case.name == SMALL:
                check_formats(report, folder, case)
            if case.name == "critical_path_simple_add":
                check_overlay_file(report, folder, case)
                check_default_overlay(report, folder, case)
        if MEMORY.exists():
            check_memory_timeline(report, folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
