#!/usr/bin/env python3
"""Perfetto's protobuf, as Kino writes it: a trace that goes there and back keeps every span, flow, counter and argument; the packets
keep the format's rules, by a reader written for this test and by Google's own classes where they are installed."""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from support import common
from support.protobuf import fields

RULES = """
import sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
trace = Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
begins = sum(p.track_event.type == 1 for p in trace.packet if p.HasField("track_event"))
ends = sum(p.track_event.type == 2 for p in trace.packet if p.HasField("track_event"))
names = {e.iid: e.name for p in trace.packet for e in p.interned_data.event_names}
first = next(p for p in trace.packet if p.HasField("track_event") and p.track_event.type == 1)
flows = sum(len(p.track_event.flow_ids) + len(p.track_event.terminating_flow_ids) for p in trace.packet)
print(len(trace.packet), begins, ends, names[first.track_event.name_iid], first.timestamp, flows)
"""


def to_ns(text):
    return round(common.decimal.Decimal(str(text)) * 1000)


def content(path):
    """Spans, flows, counters and marks of a JSON file, and names and order of its rows; in no order."""
    trace = common.parse(common.read_bytes(path))
    trace = trace if isinstance(trace, dict) else {"traceEvents": trace}
    out = {"X": [], "flow": [], "C": [], "other": [], "rows": set()}
    for e in trace["traceEvents"]:
        if "ph" not in e:
            continue
        place = [json.dumps(e.get("pid")), json.dumps(e.get("tid"))]
        times = [to_ns(e["ts"]) if "ts" in e else None, to_ns(e["dur"]) if "dur" in e else None]
        if e["ph"] == "M":
            if e["name"] in ("process_name", "thread_name", "process_labels", "process_sort_index", "thread_sort_index"):
                out["rows"].add((place[0], place[1] if e["name"].startswith("thread") else None, e["name"], json.dumps(e["args"])))
            continue
        kind = "flow" if e["ph"] in "stf" else e["ph"] if e["ph"] in "XC" else "other"
        out[kind].append((e["ph"], e.get("cat"), e.get("name"), *place, *times, e.get("id"), e.get("bp"), e.get("s") if e["ph"] == "i" else None,
                          json.dumps(e.get("args"), sort_keys=True, default=float)))
    for key in ("X", "flow", "C", "other"):
        out[key].sort(key=repr)
    out["keys"] = {key: value for key, value in trace.items() if key not in ("traceEvents", "perfetto")}
    return out


def there_and_back(report, folder, source, what):
    plain, packed, back = folder / "plain.json", folder / "there.pftrace", folder / "back.json"
    for step in (("convert", source, plain, "--quiet"), ("convert", source, packed, "--quiet"), ("convert", packed, back, "--quiet")):
        done = common.run(*step)
        if not report.equal(f"{what}: {step[0]} to {step[2].name}", (done.returncode, done.stderr[:300]), (0, b"")):
            return None
    want, got = content(plain), content(back)
    for key in ("X", "flow", "C", "other"):
        report.check(f"{what}: {len(want[key])} of {key}", got[key] == want[key], [pair for pair in zip(got[key], want[key]) if pair[0] != pair[1]][:1] or (len(got[key]), len(want[key])))
    missing = {row for row in want["rows"] if row[2] != "process_labels"} - got["rows"]
    report.check(f"{what}: names and order of rows", not missing, list(missing)[:3])
    report.equal(f"{what}: top-level keys", got["keys"], want["keys"])
    return packed


# -- the rules of the format, by its definition

def check_rules(report, path, what):
    """Every packet that needs state follows one that clears it, every number of a text resolves, times rise, and spans of a track nest."""
    tables, is_clear, open_, last, tracks = {}, False, {}, 0, set()
    for number, packet in fields(path.read_bytes()):
        f = dict(fields(packet))
        if 60 in f:
            tracks.add(dict(fields(f[60])).get(1, 0))
        if f.get(13, 0) & 1:
            tables, is_clear = {}, True
        if 12 in f:
            for table, entry in fields(f[12]):
                e = dict(fields(entry))
                tables[table, e[1]] = e[2]
        if 11 not in f:
            continue
        if not report.check(f"{what}: state is cleared before it is needed", is_clear or not f[13] & 2):
            return
        event = list(fields(f[11]))
        get = dict(event)
        ok = all((number, value) != (10, None) and (number != 10 or (2, value) in tables) and (number != 3 or (1, value) in tables) for number, value in event)
        notes = [dict(fields(value)) for number, value in event if number == 4]
        ok = ok and all((3, note[1]) in tables and (17 not in note or (29, note[17]) in tables) for note in notes)
        ok = ok and f[8] >= last and get[11] in tracks
        last = f[8]
        stack = open_.setdefault(get[11], [])
        if get.get(9) == 1:
            stack.append(f[8])
        elif get.get(9) == 2:
            ok = ok and bool(stack)
            stack and stack.pop()
        if not report.check(f"{what}: a packet keeps the rules", ok, (f, get)):
            return
    report.check(f"{what}: ends balance beginnings", not any(open_.values()))


def odd_trace():
    """What Chrome's JSON can say and a training run does not."""
    span = lambda ts, dur, name, tid=2, **more: {"ph": "X", "pid": 1, "tid": tid, "ts": ts, "dur": dur, "name": name, "cat": "cpu_op", **more}
    return {"schemaVersion": 1, "baseTimeNanoseconds": 1700000000000000000, "distributedInfo": {"rank": 3, "world_size": 4}, "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}, {"ph": "M", "name": "process_sort_index", "pid": 1, "args": {"sort_index": -5}},
        {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "CPU"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "main \u00e4\""}}, {"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 2, "args": {"sort_index": 7}},
        span(1, 10, "a", args={"int": 1, "less": -7, "big": 2 ** 63 - 1, "huge": 2 ** 64 - 1, "huger": 10 ** 25, "real": 0.1, "small": 1e-300, "yes": True, "no": False,
                               "none": None, "text": "x\ny\"", "empty": "", "list": [1, [2, "a", {}], [], None], "dict": {"k": {"l": [1.5]}}, "void": {}, "correlation": 12, "External id": 9,
                               "long": "z" * 1000}),
        span(2, 10, "overlaps a"), span(3, 1, "in both"), span(5, 20, "overlaps two"), span(11, 0, "no length"), span(11, 0, "no length either"), span(0.001, 0.001, "a nanosecond", cat="python_function"),
        {"ph": "X", "pid": 1, "tid": 2, "ts": 50, "name": "no duration", "cat": "cpu_op"}, {"ph": "X", "pid": 1, "tid": 2, "ts": 60, "dur": 1},
        {"ph": "X", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 0, "dur": 100, "name": "all", "cat": "Trace"}, {"ph": "X", "pid": -1, "tid": 0, "ts": 5, "dur": 1, "name": "o", "cat": "overhead"},
        {"ph": "X", "pid": 0, "tid": 7, "ts": 20, "dur": 2, "name": "kernel", "cat": "kernel", "args": {"correlation": 12, "grid": [1, 2, 3], "stream": 7}},
        {"ph": "s", "id": 12, "pid": 1, "tid": 2, "ts": 1, "cat": "ac2g", "name": "ac2g"}, {"ph": "f", "id": 12, "pid": 0, "tid": 7, "ts": 20, "cat": "ac2g", "name": "ac2g", "bp": "e"},
        {"ph": "s", "id": 12, "pid": 1, "tid": 2, "ts": 5, "cat": "fwdbwd", "name": "fwdbwd"}, {"ph": "f", "id": 12, "pid": 1, "tid": 2, "ts": 60, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"},
        {"ph": "s", "id": 5, "pid": 1, "tid": 2, "ts": 33, "cat": "lonely", "name": "not at a span"}, {"ph": "f", "id": 6, "pid": 1, "tid": 2, "ts": 3, "cat": "x", "name": "only the end"},
        {"ph": "C", "pid": 1, "tid": 0, "ts": 4, "name": "memory", "args": {"value": 5}}, {"ph": "C", "pid": 1, "tid": 0, "ts": 5, "name": "memory", "args": {"value": 6.5}},
        {"ph": "C", "pid": 1, "ts": 5, "name": "two", "args": {"b": 1, "a": 2}}, {"ph": "C", "pid": 1, "ts": 6, "name": "words", "args": {"b": "high"}},
        {"ph": "i", "pid": 1, "tid": 2, "ts": 8, "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "args": {"Bytes": -512}},
        {"ph": "i", "pid": 1, "tid": 2, "ts": 9, "s": "g", "name": "Record Window End"}, {"ph": "b", "id": 3, "pid": 1, "tid": 2, "ts": 8, "name": "async", "cat": "y"},
        {"ph": "e", "id": 3, "pid": 1, "tid": 2, "ts": 9, "name": "async", "cat": "y"}]}


def random_trace(rng):
    """Spans that overlap in every way."""
    spans = [{"ph": "X", "pid": 1, "tid": rng.randrange(3), "ts": rng.randrange(40), "dur": rng.randrange(12), "name": rng.choice("abc"), "cat": "cpu_op",
              "args": {rng.choice("xyz"): rng.choice([1, "t", [1, 2], None, 2.5])}} for _ in range(rng.randrange(60))]
    ends = [(rng.choice(spans), rng.choice(spans)) for _ in range(rng.randrange(8))] if spans else []
    flows = [{"ph": phase, "id": i % 5, "pid": s["pid"], "tid": s["tid"], "ts": s["ts"], "cat": "ac2g", "name": "ac2g", **({} if phase == "s" else {"bp": "e"})}
             for i, pair in enumerate(ends) for phase, s in zip("sf", pair)]
    return {"traceEvents": spans + flows}


def test_google(report, folder, path):
    python = common.ROOT / "build/jax/bin/python"
    python = os.environ.get("JAX_PYTHON", str(python))
    if not os.access(python, os.X_OK) or subprocess.run([python, "-c", "import perfetto"], capture_output=True, check=False).returncode:
        print("not decoded with Google's classes: the package perfetto is not installed (tools/install-jax)")
        report.skipped += 1
        return
    done = subprocess.run([python, "-c", RULES, str(path)], capture_output=True, text=True, timeout=120, check=False)
    if report.equal("Google's classes read it", done.returncode, 0):
        packets, begins, ends, name, ts, flows = done.stdout.split()
        report.equal("its spans", (begins, ends), ("11", "11"))
        report.equal("its first span", (name, ts), ("all", "1700000000000000000"))
        report.equal("its flows", flows, "4")
        assert int(packets) > 20
    else:
        print(done.stderr[-400:])


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        odd = folder / "odd.json"
        odd.write_text(json.dumps(odd_trace()))
        packed = there_and_back(report, folder, odd, "odd")
        if packed:
            check_rules(report, packed, "odd")
            test_google(report, folder, packed)
        done = common.run("demo", folder / "demo", "--ranks", 1, "--steps", 2, "--no-info", "--quiet")
        report.equal("demo", done.returncode, 0)
        packed = there_and_back(report, folder, next((folder / "demo").glob("*.json")), "a training run")
        if packed:
            check_rules(report, packed, "a training run")
        rng = random.Random(3)
        for i in range(200 if os.environ.get("KINO_TIER") == "test-all" else 20):
            source = folder / "random.json"
            source.write_text(json.dumps(random_trace(rng)))
            packed = there_and_back(report, folder, source, f"random {i}")
            if packed:
                check_rules(report, packed, f"random {i}")
        for path in sorted((common.ROOT / "tests/data/perfetto").glob("*.pftrace")):
            done = common.run("convert", path, folder / "again.pftrace", "--quiet")
            report.equal(f"{path.name}: written again", done.returncode, 0)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
