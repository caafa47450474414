#!/usr/bin/env python3
"""kino cut, convert --merge and --redact, and folders as output: an independent look, in Python, at the rules that
docs/man/kino-cut.md, docs/man/kino-convert.md and docs/formats/merged.md state."""
import collections
import json
import pathlib
import re
import sqlite3
import sys
import tempfile
from decimal import Decimal

from support import common

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_sync"}
CALLS = {"cuda_runtime", "cuda_driver"}
report = common.Report()


def kino(*arguments):
    done = common.run(*arguments)
    report.check(f"kino {' '.join(map(str, arguments))}", done.returncode == 0, done.stderr.decode("utf-8", "replace"))
    return done.stderr.decode("utf-8", "replace")


def load(path):
    document = common.parse(common.read_bytes(path))
    events = common.events_of(document)
    return document, [e for e in events if isinstance(e, dict)]


def key(event):
    """A text that is the same for equal events: 0.13 and 0.130, 5 and 5.000 are equal."""
    def plain(value):
        if isinstance(value, dict):
            return {k: plain(v) for k, v in value.items()}
        if isinstance(value, list):
            return [plain(v) for v in value]
        if isinstance(value, Decimal):
            return int(value) if value == value.to_integral_value() else format(value.normalize(), "f")
        return value
    return json.dumps(plain(event), sort_keys=True)


def ns(value):
    return int((Decimal(value) * 1000).to_integral_value())


class Source:
    """A trace with what the rules need: origin, intervals, launches, ops."""

    def __init__(self, path):
        self.document, self.events = load(path)
        base = int(self.document.get("baseTimeNanoseconds", 0)) if isinstance(self.document, dict) else 0
        self.origin = base + min(ns(e["ts"]) for e in self.events if e["ph"] != "M")
        self.base = base
        self.calls, self.ops = {}, {}
        for e in self.events:
            args = e.get("args") or {}
            if e.get("cat") in CALLS and e["ph"] == "X" and args.get("correlation", 0) > 0:
                best = self.calls.get(args["correlation"])
                if best is None or ((e["cat"] != "cuda_runtime"), ns(e["ts"])) < ((best["cat"] != "cuda_runtime"), ns(best["ts"])):
                    self.calls[args["correlation"]] = e
            if e.get("cat") == "cpu_op" and e["ph"] == "X" and args.get("External id", 0) > 0:
                best = self.ops.get(args["External id"])
                if best is None or ns(e["ts"]) < ns(best["ts"]):
                    self.ops[args["External id"]] = e

    def window(self, event, origin):
        start = ns(event["ts"]) + self.base - origin
        return start, start + max(ns(event.get("dur", 0)), 0)

    def launch(self, event):
        return self.calls.get((event.get("args") or {}).get("correlation")) if event.get("cat") in DEVICE else None

    def op(self, event):
        if event.get("cat") not in DEVICE | CALLS:
            return None
        found = self.ops.get((event.get("args") or {}).get("External id"))
        call = self.launch(event)
        return found or (call and self.ops.get((call.get("args") or {}).get("External id")))


def overlaps(window, start, end):
    return window[0] < end and (window[1] > start or window[0] >= start)


def check_cut(name, source, path, fits):
    """fits: does an event (no flow, no metadata) fit by itself? Then the closure, and the rest as properties."""
    _, got_events = load(path)
    got = collections.Counter(map(key, got_events))
    have = collections.Counter(map(key, source.events))
    report.check(f"{name}: made up events", not got - have, str(list(got - have)[:1]))
    chosen = [e for e in source.events if e["ph"] not in "Mstfbne" and fits(e)]
    want = {key(e): e for e in chosen}
    for e in chosen:
        for other in (source.launch(e), source.op(e), source.launch(e) and source.op(source.launch(e))):
            if other is not None:
                want[key(other)] = other
    plain = {k for k in got if json.loads(k)["ph"] not in "Mstfbne"}
    report.equal(f"{name}: events not kept", list(set(want) - plain)[:1], [])
    # Where a call has no external id, its op is the one around it: allowed, if it is an op.
    extra = [json.loads(k) for k in plain - set(want)]
    report.equal(f"{name}: events too many", [e for e in extra if e.get("cat") not in ("cpu_op", "Operator")][:1], [])
    check_arrows(name, source, got_events)
    check_metadata(name, source, got_events)
    return len(got_events)


def groups(events):
    found = collections.defaultdict(list)
    for e in events:
        if e["ph"] in "stf":
            found[e.get("cat"), e.get("name"), str(e.get("id"))].append(e)
    return found


def check_arrows(name, source, events):
    """No arrow lost an end: a group that had starts and ends has both or nothing; launches with both ends kept have theirs."""
    before, after = groups(source.events), groups(events)
    for which, points in after.items():
        had, has = {p["ph"] for p in before[which]}, {p["ph"] for p in points}
        if {"s", "f"} <= had and not {"s", "f"} <= has:
            report.check(f"{name}: arrow {which} lost an end", False)
    kept_calls = {e["args"]["correlation"] for e in events if e.get("cat") in CALLS and "correlation" in e.get("args", {})}
    kept_work = {e["args"]["correlation"] for e in events if e.get("cat") in DEVICE and "correlation" in e.get("args", {})}
    for (cat, label, number), points in before.items():
        if cat != "ac2g" or {p["ph"] for p in points} != {"s", "f"} or not number.isdigit():
            continue
        both = int(number) in kept_calls and int(number) in kept_work
        if both != ((cat, label, number) in after):
            report.check(f"{name}: launch arrow {number}", False, f"kept: {not both}, both ends: {both}")


def check_metadata(name, source, events):
    threads = {(str(e.get("pid")), str(e.get("tid"))) for e in events if e["ph"] != "M"}
    pids = {pid for pid, _ in threads}
    want = [e for e in source.events if e["ph"] == "M" and str(e.get("pid")) in pids and
            (e["name"].startswith("process_") or (str(e.get("pid")), str(e.get("tid"))) in threads)]
    got = [e for e in events if e["ph"] == "M"]
    report.equal(f"{name}: metadata", collections.Counter(map(key, got)), collections.Counter(map(key, want)))


def check_time(name, path, folder):
    source = Source(path)
    windows = [source.window(e, source.origin) for e in source.events if e["ph"] != "M"]
    last = max(end for _, end in windows)
    start, end = last // 3, last // 2
    out = folder / "time.json"
    said = kino("cut", path, out, "--from", f"{start}ns", "--to", str(end))

    def fits(e):
        if overlaps(source.window(e, source.origin), start, end):
            return True
        call = source.launch(e)
        return call is not None and overlaps(source.window(call, source.origin), start, end)

    count = check_cut(f"{name} window", source, out, fits)
    numbers = re.search(r"kept (\d+) of (\d+) events", said)
    report.check(f"{name}: message", bool(numbers), said)
    # the same window from the end, and by names
    again = folder / "again.json"
    kino("cut", path, again, "--from", str(start - last), "--to", str(end - last), "--quiet")
    report.check(f"{name}: from the end", again.read_bytes() == out.read_bytes())
    report.check(f"{name}: is smaller", count < len(source.events))


def check_steps(name, path, folder):
    source = Source(path)
    steps = {}
    for e in source.events:
        if e.get("cat") == "user_annotation" and e.get("name", "").startswith("ProfilerStep#"):
            steps[int(e["name"][13:])] = source.window(e, source.origin)
    number = sorted(steps)[len(steps) // 2]
    out = folder / "steps.json"
    kino("cut", path, out, "--steps", number)
    start, end = steps[number]

    def fits(e):
        when = source.window(e, source.origin)
        if e.get("cat") in DEVICE:
            call = source.launch(e)
            return start <= (source.window(call, source.origin) if call else when)[0] < end
        return e.get("cat") != "gpu_user_annotation" and overlaps(when, start, end)

    _, events = load(out)
    beside = {key(e) for e in events if e.get("cat") == "gpu_user_annotation"}
    check_cut(f"{name} step {number}", source, out, lambda e: key(e) in beside or fits(e))
    device_steps = [e["name"] for e in source.events if e.get("cat") == "gpu_user_annotation" and "ProfilerStep#" in e["name"]]
    names = {e["name"] for e in events if e.get("cat") == "gpu_user_annotation"}
    report.check(f"{name}: annotations beside the work", not device_steps or f"ProfilerStep#{number}" in names, str(names))


def check_filters(name, path, folder):
    source = Source(path)
    kernels = collections.Counter(e["name"] for e in source.events if e.get("cat") == "kernel")
    most = kernels.most_common(1)[0][0]
    pattern = most[:20].replace("\\", "\\\\").replace("[", "\\[").replace("*", "\\*").replace("?", "\\?").replace(",", "\\,") + "*"
    out = folder / "names.json"
    kino("cut", path, out, "--name", pattern, "--category", "kernel")
    check_cut(f"{name} by name", source, out, lambda e: e.get("cat") == "kernel" and e["name"].startswith(most[:20]))
    kino("cut", path, out, "--drop", "cuda_runtime,ac2g", "--category", "kernel")
    _, events = load(out)
    report.equal(f"{name}: dropped", [e for e in events if e.get("cat") in ("cuda_runtime", "ac2g")][:1], [])
    report.equal(f"{name}: kernels", sum(e.get("cat") == "kernel" for e in events), sum(kernels.values()))


def check_identity(name, path, folder):
    """A window that holds everything takes nothing but the names of processes that have no events."""
    whole, same = folder / "whole.json", folder / "same.json"
    kino("convert", path, whole, "--quiet")
    kino("cut", path, same, "--from", "0", "--quiet")
    (before, events), (after, kept) = load(whole), load(same)
    pids = {str(e.get("pid")) for e in events if e["ph"] != "M"}
    want = [e for e in events if e["ph"] != "M" or str(e.get("pid")) in pids]
    left = [e for e in want if e["ph"] != "M"]
    report.equal(f"{name}: cutting nothing off", [e for e in kept if e["ph"] != "M"], left)
    report.check(f"{name}: names", len(kept) <= len(want))
    report.equal(f"{name}: top-level keys", {k: v for k, v in after.items() if k != "traceEvents"},
                 {k: v for k, v in before.items() if k != "traceEvents"})


# -- merge


def absolute(document, event):
    return int(document.get("baseTimeNanoseconds", 0)) + ns(event["ts"]) if "ts" in event else None


def check_merge(name, paths, folder, given):
    out = folder / "merged.json"
    kino("convert", given, out, "--merge", "--quiet")
    merged, events = load(out)
    sources = [load(path) for path in paths]
    report.equal(f"{name}: events", len(events), sum(len(e) for _, e in sources))
    report.equal(f"{name}: traces", len(merged["ranks"]), len(paths))
    owner, was = {}, {}
    for index, rank in enumerate(merged["ranks"]):
        for pid in rank["pids"]:
            report.check(f"{name}: pid {pid['pid']} twice", str(pid["pid"]) not in owner)
            owner[str(pid["pid"])], was[str(pid["pid"])] = index, pid["was"]
    ids = collections.defaultdict(set)
    for index, ((document, theirs), entry) in enumerate(zip(sources, merged["ranks"])):
        mine = [e for e in events if owner[str(e.get("pid"))] == index]
        report.equal(f"{name}: events of trace {index}", len(mine), len(theirs))
        report.equal(f"{name}: distributedInfo of trace {index}", entry["metadata"].get("distributedInfo"),
                     document.get("distributedInfo"))
        for e, old in zip(mine, theirs):  # in file order
            args, before = e.get("args", {}), old.get("args", {})
            same = (e["ph"], e.get("name"), e.get("cat"), e.get("tid"), was[str(e.get("pid"))], absolute(merged, e), e.get("dur"))
            want = (old["ph"], old.get("name"), old.get("cat"), old.get("tid"), old.get("pid"), absolute(document, old), old.get("dur"))
            if same != want:
                report.check(f"{name}: event changed", False, f"{same} {want}")
                break
            moved = {"correlation": "correlation_offset", "External id": "external_id_offset"}
            for argument, offset in moved.items():
                number = before.get(argument, 0)
                if number and number > 0 and args[argument] != number + entry[offset]:
                    report.check(f"{name}: {argument}", False, f"{args[argument]} was {number}")
            if e["ph"] in "stf":
                ids[e["cat"], e["name"], e["id"]].add(index)
            if e["ph"] == "M" and e["name"] == "process_name":
                rank = entry["rank"]
                report.equal(f"{name}: label", args["name"], f"{'rank' if rank is not None else 'trace'} "
                             f"{rank if rank is not None else index}: {before['name']}")
    report.equal(f"{name}: arrows between traces", [k for k, v in ids.items() if len(v) > 1][:1], [])
    links = "SELECT count(*), count(parent), sum(depth) FROM event"
    report.equal(f"{name}: nesting", common.query(out, links), common.query(given, links))
    flows = "SELECT count(*), count(from_event), count(to_event) FROM flow"
    report.equal(f"{name}: flows", common.query(out, flows), common.query(given, flows))


def odd_trace(base, start):
    """Events that are kept as texts, on a clock with its own base; times in us from the base, with digits below one ns."""
    return {"baseTimeNanoseconds": base, "own": base, "same": [1], "traceEvents": [
        {"ph": "X", "name": "text", "pid": 1, "tid": 1, "ts": f"{start}.0004567", "dur": 1, "color": "red"},
        {"ph": "X", "name": "no pid", "ts": start + 1, "dur": 1, "x": {"pid": 1}, "args": {"correlation": 7}},
        {"ph": "X", "name": "quoted", "pid": "1", "tid": "1", "ts": start + 2, "dur": 1, "args": {"correlation": "7", "External id": 3}},
        {"ph": "s", "name": "f", "cat": "c", "id": "0x1f", "pid": 1, "tid": 1, "ts": start + 3},
        {"ph": "f", "name": "f", "cat": "c", "id": "0x1f", "pid": 1, "tid": 1, "ts": start + 4, "bp": "e", "odd": 1},
        {"ph": "b", "name": "a", "cat": "c", "id": 5, "pid": "Spans", "tid": 1, "ts": start + 3},
        {"ph": "e", "name": "a", "cat": "c", "id": 5, "pid": "Spans", "tid": 1, "ts": start + 5, "odd": 1},
        {"ph": "B", "name": "pair", "pid": 2, "tid": 1, "ts": start + 1},
        {"ph": "E", "pid": 2, "tid": 1, "ts": start + 9, "args": {"Sequence number": 0}}]}


def check_odd_merge(folder):
    bases = (1700000000000000000, 1700000000500000123)
    for index, base in enumerate(bases):
        (folder / f"odd-{index}.json").write_text(json.dumps(odd_trace(base, 10 + index)), encoding="utf-8")
    out = folder / "odd.json"
    kino("convert", folder / "odd-0.json", folder / "odd-1.json", out, "--merge", "--quiet")
    merged, events = load(out)
    report.equal("odd: base", (merged["baseTimeNanoseconds"], merged["same"]), (bases[0], [1]))
    report.equal("odd: own keys", [r["metadata"]["own"] for r in merged["ranks"]], list(bases))
    names = [e.get("name") for e in odd_trace(0, 0)["traceEvents"]]
    report.equal("odd: order", [e.get("name") for e in events], names + names)
    for index, base in enumerate(bases):
        mine = events[index * 9:][:9]
        was = [Decimal(str(e["ts"])) * 1000 + base for e in odd_trace(base, 10 + index)["traceEvents"]]
        report.equal(f"odd: times of {index}", [Decimal(str(e["ts"])) * 1000 + bases[0] for e in mine], was)
    second = {(e["ph"], e.get("name")): e for e in events[9:]}
    stride = 10
    report.equal("odd: pid of a text", second["X", "text"]["pid"], 10000001)
    report.equal("odd: pid where there was none", second["X", "no pid"]["pid"], 10000000)
    report.equal("odd: quoted pid", second["X", "quoted"]["pid"], "10000001")
    report.equal("odd: quoted id", second["X", "quoted"]["args"]["correlation"], str(7 + stride))
    report.equal("odd: external id", second["X", "quoted"]["args"]["External id"], 3 + 10)
    report.equal("odd: unknown key", second["X", "no pid"]["x"], {"pid": 1})
    report.equal("odd: text ids", {second[ph, "f"]["id"] for ph in "sf"}, {"1:0x1f"})
    report.equal("odd: asynchronous ids", {second[ph, "a"]["id"] for ph in "be"}, {5 + stride})
    report.equal("odd: text pid", second["b", "a"]["pid"], "Spans (trace 1)")
    report.equal("odd: end of a pair", (second["E", None]["pid"], second["E", None]["args"]), (10000002, {"Sequence number": 10**10}))
    pairs = "SELECT count(*), sum(dur) FROM event WHERE ph = 'X'"
    report.equal("odd: pairs", common.query(out, pairs), [[8, 2 * (3000 + 8000)]])


# -- redact

SECRETS = ["joedoe", "/home/joedoe/proj/train.py", "train.py", "gpu-node-17", "gpu-node-17.acme.example", "10.20.30.40", "acme",
           "ProjectX", "load_prices", "SecretNet", "secret span", "s3cret", "/mnt/x", "C:\\\\tmp"]


def secret_trace():
    where = "/home/joedoe/proj/train.py"
    return {
        "schemaVersion": 1, "host_name": "gpu-node-17.acme.example", "traceName": where, "started": {"by": ["joedoe", "ProjectX"]},
        "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1, "store": "10.20.30.40:29500"},
        "wandb /mnt/x": "s3cret", "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}],
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python ProjectX"}},
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "thread 2 (python)"}},
            {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 2, "ts": 0, "dur": 100},
            {"ph": "X", "cat": "user_annotation", "name": "ProjectX epoch", "pid": 1, "tid": 2, "ts": 1, "dur": 90},
            {"ph": "X", "cat": "python_function", "name": where + "(3): load_prices", "pid": 1, "tid": 2, "ts": 2, "dur": 80,
             "args": {"Python id": 1}},
            {"ph": "X", "cat": "python_function", "name": "nn.Module: SecretNet_0", "pid": 1, "tid": 2, "ts": 3, "dur": 70},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": 4, "dur": 50, "args": {
                "External id": 5, "Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"],
                "Call stack": where + "(3): load_prices;" + where + "(9): <module>", "Module Hierarchy": "SecretNet",
                "Concrete Inputs": ["", "/mnt/x"]}},
            {"ph": "X", "cat": "cpu_op", "name": "acme::fused", "pid": 1, "tid": 2, "ts": 60, "dur": 5},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 5, "dur": 2,
             "args": {"correlation": 9, "External id": 5}},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20, "dur": 10,
             "args": {"correlation": 9, "External id": 5, "stream": 7, "grid": [1, 2, 3], "note": {"on": ["gpu-node-17", 4]}}},
            {"ph": "X", "name": "secret span", "cat": "mine", "pid": "joedoe", "tid": "stream 7", "ts": 30, "dur": 1,
             "color": "s3cret", "args": {"path": "C:\\tmp\\a", "n": 1.50}},
            {"ph": "B", "name": "load_prices", "cat": "python_function", "pid": 1, "tid": 3, "ts": 1},
            {"ph": "E", "pid": 1, "tid": 3, "ts": 2, "args": {"who": "joedoe"}},
            {"ph": "i", "name": "joedoe@gpu-node-17", "pid": 1, "tid": 2, "ts": 5, "s": "t"},
        ]}


def check_nothing_left(name, data, secrets):
    for secret in secrets:
        report.check(f"{name}: {secret!r} is left", secret.encode().lower() not in data.lower())


def check_secrets(folder):
    path = folder / "gpu-node-17_1.pt.trace.json"
    path.write_text(json.dumps(secret_trace()), encoding="utf-8")
    for form in ("json", "kino", "sqlite", "csv"):
        out = folder / f"redacted.{form}"
        kino("convert", path, out, "--redact", "--quiet")
        check_nothing_left(form, out.read_bytes(), SECRETS)
    back = folder / "back.json"
    kino("convert", folder / "redacted.kino", back, "--quiet")
    check_nothing_left("kino and back", back.read_bytes(), SECRETS)
    kino("convert", path, f"{folder}/redacted/", "--redact", "--to", "json", "--quiet")
    report.equal("file names", [p.name for p in (folder / "redacted").iterdir()], ["rank-0.json"])
    rows = sqlite3.connect(folder / "redacted.sqlite").execute("SELECT path FROM trace").fetchall()
    report.equal("paths in the database", rows, [("rank-0.json",)])
    check_structure("secrets", path, folder / "redacted.json")
    _, events = load(folder / "redacted.json")
    op = next(e for e in events if e.get("name") == "aten::mm")
    report.equal("shapes", op["args"]["Input Dims"], [[2, 3], [3, 4]])
    report.equal("types", op["args"]["Input type"], ["float", "float"])
    frames = op["args"]["Call stack"].split(";")
    frame = next(e["name"] for e in events if e.get("cat") == "python_function" and "(3)" in e["name"])
    report.equal("a frame is the same in names and stacks", frames[0], frame)
    report.check("lines stay", re.fullmatch(r"path_[0-9a-f]{12}\.py\(3\): fn_[0-9a-f]{12}", frame) is not None, frame)
    check_keys(path, folder)


def check_keys(path, folder):
    first = (folder / "redacted.json").read_bytes()
    other, same, word = folder / "other.json", folder / "same-key.json", folder / "word.json"
    kino("convert", path, other, "--redact", "--redact-key", "k1", "--quiet")
    kino("convert", path, same, "--redact", "--redact-key", "k1", "--quiet")
    report.check("another key, other tokens", other.read_bytes() != first)
    report.check("the same key, the same bytes", other.read_bytes() == same.read_bytes())
    kino("convert", path, word, "--redact", "--redact-words", "gemm,nccl", "--quiet")
    check_nothing_left("given words", word.read_bytes(), ["gemm", "nccl"])


SHAPE = """SELECT id, ph, cat IS NULL, ts, dur, tid IS NULL, track, depth, parent, step, correlation, external_id, device, stream
           FROM event ORDER BY id"""


def check_structure(name, before, after):
    for sql in (SHAPE, "SELECT trace, from_event, to_event FROM flow", "SELECT rank, number, ts, dur FROM step",
                "SELECT count(*), count(DISTINCT name) FROM event",
                "SELECT event, key, value FROM arg WHERE type = 'int' ORDER BY 1, 2"):
        report.check(f"{name}: {sql[:40]}", common.query(before, sql) == common.query(after, sql))


PATHS = re.compile(rb"(?:/[A-Za-z0-9_.+-]+){2,}")


def check_real_redaction(path, folder):
    out = folder / "real.json"
    kino("convert", path, out, "--redact", "--quiet")
    data = json.dumps(json.loads(common.read_bytes(path), strict=False), ensure_ascii=False).encode()
    shown = out.read_bytes()
    found = set(PATHS.findall(data)) | {f for f in re.findall(rb"[A-Za-z0-9_/.-]+\.py", data)}
    report.check(f"{path.name}: paths", not [p for p in found if p in shown], str([p for p in found if p in shown][:3]))
    check_structure(path.name, path, out)


# -- folders


def check_folders(run, folder):
    out = folder / "packed"
    kino("convert", run, f"{out}/", "--to", "json.gz", "--quiet")
    report.equal("folder", sorted(p.name for p in out.iterdir()), ["rank-0.json.gz", "rank-1.json.gz"])
    kino("cut", run, out, "--steps", "3-", "--format", "json", "--quiet")
    report.equal("cut into a folder", sorted(p.name for p in out.iterdir()),
                 ["rank-0.json", "rank-0.json.gz", "rank-1.json", "rank-1.json.gz"])
    done = common.run("convert", run, f"{run}/", "--to", "json", "--quiet")
    report.check("never over the input", done.returncode == 2 and b"it is the input" in done.stderr, done.stderr.decode())
    done = common.run("convert", run, f"{run}/", "--to", "json", "--redact", "--quiet")
    report.check("nor when redacted", done.returncode == 2 and b"it is the input" in done.stderr, done.stderr.decode())
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "t.json").write_bytes((run / f"rank-{'ab'.index(name)}.json").read_bytes())
    kino("convert", folder / "a/t.json", folder / "b/t.json", f"{folder}/c/", "--to", "json", "--quiet")
    report.equal("names that collide", sorted(p.name for p in (folder / "c").iterdir()), ["t-rank-1.json", "t.json"])


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run = folder / "run"
        kino("demo", run, "--ranks", "2", "--steps", "4", "--no-info", "--quiet")
        one = run / "rank-0.json"
        check_identity("demo", one, folder)
        check_time("demo", one, folder)
        check_steps("demo", one, folder)
        check_filters("demo", one, folder)
        check_merge("demo", [run / "rank-0.json", run / "rank-1.json"], folder, run)
        check_odd_merge(folder)
        check_folders(run, folder)
        check_secrets(folder)
        check_real_redaction(one, folder)
        traces = common.SHARED / "traces"
        skipped = 0 if traces.is_dir() else 1
        if skipped:
            print("no ../shared/traces beside the repository", file=sys.stderr)
            return report.finish(skipped)
        for path in ("hta/h100_bert/h100_gaunernst_bert-small-uncased__1016001.json.gz", "hta/sampled_2rank/sampled_rank-0.json.gz",
                     "hta/synth_8rank/rank-3.json.gz"):
            if (traces / path).exists():
                check_identity(path, traces / path, folder)
                check_time(path, traces / path, folder)
                check_real_redaction(traces / path, folder)
        eight = traces / "hta/synth_8rank"
        if eight.is_dir():
            check_steps("synth_8rank", eight / "rank-3.json.gz", folder)
            check_merge("synth_8rank", [eight / f"rank-{i}.json.gz" for i in range(8)], folder, eight)
        return report.finish()


sys.exit(main())
