#!/usr/bin/env python3
"""Perfetto's protobuf traces: the samples' counted facts, PyTorch's files against its JSON, files made by hand for what the samples do
not have, and damaged or hostile ones, which are read or refused in bounded time."""
import gzip
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import zlib

from support import common
from support.perfetto_file import packet, write_like_torch
from support.protobuf import data, fixed64, real, uint

FORMATS = common.ROOT.parent / "shared/formats/perfetto"
BERT = common.ROOT.parent / "shared/traces/hta/h100_bert/h100_gaunernst_bert-small-uncased__1016001.json.gz"
CPU_S, MEMORY = 20, 1 << 30


def events(path):
    """What a trace becomes in Kineto's JSON; ns instead of microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "made.json"
        done = common.run("convert", path, made, "--quiet")
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
        trace = common.parse(made.read_bytes())
    for event in trace["traceEvents"]:
        for key in ("ts", "dur"):
            if key in event:
                event[key] = int(event[key] * 1000)
    return trace


def counts(path):
    return {cat: (count, total) for cat, count, total in common.query(path, "select cat, count(*), sum(dur) from event where ph = 'X' group by 1")}


def info(path):
    return json.loads(common.run("info", path, "--format", "json", "--quiet").stdout)


def skipped(path):
    return info(path)["input"]["skipped"]


# -- facts that were counted by others

def test_bert(report):
    path = FORMATS / "torch214_h100_bert.pftrace"
    got = counts(path)
    report.equal("bert: slices", {cat: got[cat][0] for cat in got},
                 {"python_function": 1385, "cpu_op": 479, "cuda_runtime": 110, "cuda_driver": 22, "user_annotation": 1, "kernel": 60,
                  "gpu_memcpy": 1, "gpu_user_annotation": 1})
    report.equal("bert: durations of slices", sum(got[cat][1] for cat in ("python_function", "cpu_op", "cuda_runtime", "cuda_driver", "user_annotation")), 164923710)
    report.equal("bert: durations of kernels", got["kernel"][1], 307197)
    report.equal("bert: base", events(path)["baseTimeNanoseconds"], 1751410836000000000)
    report.equal("bert: all on one lane", common.query(path, "select distinct device, stream from event where cat in ('kernel', 'gpu_memcpy', 'gpu_user_annotation')"), [[0, 7]])
    report.equal("bert: nothing lost", skipped(path), 0)
    report.equal("bert: the step", common.query(path, "select dur from event where name = 'ProfilerStep#6' and cat = 'user_annotation'"), [[4426114]])
    if not report.has(BERT):
        return

    def spans(trace, kinds):
        return sorted((e["cat"], e["name"], e["ts"], e["dur"]) for e in trace["traceEvents"] if e["ph"] == "X" and e.get("cat") in kinds)

    kinds = {"python_function", "cpu_op", "cuda_runtime", "cuda_driver", "user_annotation", "kernel"}
    ours, theirs = events(path), events(BERT)
    report.equal("bert: name, start, duration and category of all spans", spans(ours, kinds) == spans(theirs, kinds), True)
    launches = "select k.name, k.ts, r.name, r.ts - k.ts from kernel k join runtime r on r.correlation = k.correlation order by 2"
    report.equal("bert: launches", [row[::2] for row in common.query(path, launches)], [row[::2] for row in common.query(BERT, launches)])
    report.equal("bert: diff", differences(path, BERT), [])


def test_samples(report):
    """../shared/formats/perfetto/README.md."""
    if not FORMATS.is_dir():
        print("not compared: no ../shared/formats/perfetto")
        report.skipped += 1
        return
    test_bert(report)
    features = FORMATS / "torch214_features.pftrace"
    got = counts(features)
    report.equal("features: host spans", sum(count for cat, (count, _) in got.items()), 2062)
    report.equal("features: lanes", common.query(features, "select stream, count(*) from event where ph = 'X' and device is not null and cat not in ('cuda_sync', 'overhead') group by 1 order by 1"),
                 [[7, 56], [500, 6]])
    report.equal("features: the lane's name", {e["args"]["name"] for e in events(features)["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name" and e["pid"] == 0} >= {"stream 7", "compute"}, True)
    report.equal("features: dependencies", common.query(features, "select count(*) from event where ph = 'f' and cat = 'dependency'"), [[5]])
    report.equal("features: counters", common.query(features, "select count(*) from event where ph = 'C'"), [[110]])
    report.equal("features: overheads", common.query(features, "select distinct pid from event where cat = 'overhead'"), [[-1]])

    tokio = FORMATS / "real_tokio_runtime.pftrace"
    report.equal("tokio: spans", counts(tokio), {"user_annotation": (227, 2654678629)})
    report.equal("tokio: marks", common.query(tokio, "select count(*) from event where ph = 'i'"), [[8]])
    first = min((e["ts"], e["name"], e["dur"]) for e in events(tokio)["traceEvents"] if e["ph"] == "X" and e["name"] == "park")
    report.equal("tokio: the first span", first, (1725126060561108803, "park", 36265972))

    ring = FORMATS / "real_sdk_ring_lost.pftrace"
    report.equal("ring buffer: events", common.query(ring, "select count(*) from event"), [[0]])
    report.equal("ring buffer: lost events", skipped(ring), 23127)


def check_sdk(report, path, cut):
    want = json.loads((FORMATS / "sdk_like.expected.json").read_text())
    trace = events(path)["traceEvents"]
    lanes = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace if e["ph"] == "M" and e["name"] == "thread_name"}
    slices = [e for e in want["slices"] if not (cut and e["name"] == "legacy complete")]
    for slice_ in slices:
        found = [e for e in trace if e["ph"] == "X" and e["name"] == slice_["name"] and e["ts"] == slice_["ts"]]
        if not report.equal(f"{path.name}: {slice_['name']} at {slice_['ts']}", len(found), 1):
            continue
        event = found[0]
        report.equal(f"{path.name}: category of {slice_['name']}", event["cat"], slice_["cat"])
        report.check(f"{path.name}: {slice_['name']} lasts", slice_.get("unfinished") or event["dur"] == slice_["dur"], event)
        report.check(f"{path.name}: {slice_['name']} is marked", event.get("args", {}).get("finished", True) is not slice_.get("unfinished", False), event)
        report.check(f"{path.name}: row of {slice_['name']}", event["tid"] == slice_.get("tid") or lanes[event["pid"], event["tid"]] == slice_.get("track"), event)
        for key, value in slice_.get("args", {}).items():
            report.equal(f"{path.name}: {key} of {slice_['name']}", event["args"][key], value)
    report.equal(f"{path.name}: nothing else", sum(e["ph"] == "X" for e in trace), len(slices))
    for counter in want["counters"]:
        report.equal(f"{path.name}: {counter['track']}", [[e["ts"], e["args"]["value"]] for e in trace if e["ph"] == "C" and e["name"] == counter["track"]], counter["values"])
    marks = [[e["name"], e["ts"], e["args"]["corr_id"]] for e in trace if e["ph"] == "i"]
    report.equal(f"{path.name}: marks", marks, [["mark", 2100, 5]])
    spans = {(e["pid"], e["tid"], e["ts"]): e["name"] for e in trace if e["ph"] == "X"}
    flow = {e["ph"]: spans[e["pid"], e["tid"], e["ts"]] for e in trace if e["ph"] in "stf" and e["id"] == 7}
    report.equal(f"{path.name}: the flow", flow, {"s": "hipLaunchKernel", "f": "gemm_kernel"})
    report.equal(f"{path.name}: lost", skipped(path), want["skipped_packets"]["lost_incremental_state"])
    base = events(path)["baseTimeNanoseconds"]
    report.equal(f"{path.name}: the clock", base, 1000000000000 + want["realtime_offset_ns"])


def test_sdk(report):
    if not FORMATS.is_dir():
        report.skipped += 1
        return
    check_sdk(report, FORMATS / "sdk_like.pftrace", False)
    check_sdk(report, FORMATS / "sdk_like_cut.pftrace", True)
    damage = common.run("info", FORMATS / "sdk_like_cut.pftrace").stderr.decode()
    report.check("the cut is told", "truncated" in damage and "byte 880" in damage, damage)


# -- PyTorch's files against its JSON

def differences(a, b):
    """Rows of `kino diff` that are not equal on both sides, and its notes."""
    done = common.run("diff", a, b, "--format", "json", "--quiet")
    if done.returncode:
        return [done.stderr.decode()]
    result = json.loads(done.stdout)
    rows = [(table["name"], row) for table in result["tables"] for row in table["rows"]
            for cells in [dict(zip([c["name"] for c in table["columns"]], row))]
            if cells.get("delta") not in (0, None) or cells.get("change", "both") != "both"]
    return rows + [note for note in result["input"].get("notes", []) if "recorded differently" in note]


def test_like_torch(report, folder):
    """The events of a training run in both forms are the same to every comparison."""
    run = folder / "demo"
    done = common.run("demo", run, "--ranks", 1, "--steps", 3, "--no-info", "--quiet")
    report.equal("demo", done.returncode, 0)
    source = sorted(run.glob("*.json"))[0]
    trace = json.loads(source.read_text())
    for target, compress in ((folder / "like_torch.pftrace", True), (folder / "like_torch_plain.pftrace", False)):
        write_like_torch(source, target, compress)
        report.equal(f"{target.name}: diff", differences(source, target), [])
        want = sorted((e["cat"], e["name"], round(e["ts"] * 1000), round(e["dur"] * 1000)) for e in trace["traceEvents"]
                      if e.get("ph") == "X" and isinstance(e["pid"], int))
        got = sorted((e["cat"], e["name"], e["ts"], e["dur"]) for e in events(target)["traceEvents"] if e["ph"] == "X")
        report.equal(f"{target.name}: number of spans", len(got), len(want))
        report.check(f"{target.name}: every span", got == want, [x for x in zip(got, want) if x[0] != x[1]][:2])
        launches = "select k.name, r.name, k.dur from kernel k join runtime r on r.correlation = k.correlation order by k.ts, k.name"
        report.check(f"{target.name}: launches", common.query(source, launches) == common.query(target, launches) != [])


# -- by hand

def thread(uuid, pid, tid, name):
    return packet(data(60, uint(1, uuid) + data(4, uint(1, pid) + uint(2, tid) + data(5, name))))


def half(ts, kind, *parts, track=1, sequence=1, flags=0):
    return packet(uint(8, ts), uint(10, sequence), uint(13, flags), data(11, uint(9, kind) + uint(11, track) + b"".join(parts)))


def spans_of(path):
    return sorted((e["ts"], e["dur"], e["name"]) for e in events(path)["traceEvents"] if e["ph"] == "X")


def write(folder, name, *parts):
    path = folder / name
    path.write_bytes(b"".join(parts))
    return path


def test_pairs(report, folder):
    """Which end belongs to which beginning."""
    name = lambda text: data(23, text)
    stack = write(folder, "stack.pftrace", thread(1, 7, 8, "t"), half(10, 1, name("a")), half(20, 1, name("b")), half(30, 2), half(40, 2))
    report.equal("a stack", spans_of(stack), [(10, 30, "a"), (20, 10, "b")])
    runs = write(folder, "runs.pftrace", thread(1, 7, 8, "t"), half(10, 1, name("a")), half(10, 1, name("b")), half(30, 1, name("c")),
                 half(50, 2), half(20, 2), half(30, 2))
    report.equal("runs in another order than time", spans_of(runs), [(10, 10, "b"), (10, 40, "a"), (30, 0, "c")])
    named = write(folder, "named.pftrace", thread(1, 7, 8, "t"), half(10, 1, name("a")), half(20, 1, name("b")), half(30, 2, name("a")), half(40, 2, name("b")))
    report.equal("ends with names", spans_of(named), [(10, 20, "a"), (20, 20, "b")])
    lost = write(folder, "lost.pftrace", thread(1, 7, 8, "t"), half(5, 2), half(10, 1, name("a")), half(30, 3, name("mark")))
    report.equal("a span without an end lasts to the end", spans_of(lost), [(10, 20, "a")])
    report.equal("an end without a beginning", skipped(lost), 1)
    args = lambda key, value: data(4, data(10, key) + uint(4, value))
    both = write(folder, "both.pftrace", thread(1, 7, 8, "t"), half(10, 1, name("a"), args("x", 1)), half(20, 2, args("y", 2)))
    report.equal("arguments of the end", [e["args"] for e in events(both)["traceEvents"] if e["ph"] == "X"], [{"x": 1, "y": 2}])
    states = write(folder, "states.pftrace", packet(data(60, uint(1, 1) + data(2, "power"))), half(10, 5, name("on")), half(30, 5, name("off")), half(60, 5))
    report.equal("states", spans_of(states), [(10, 20, "on"), (30, 30, "off")])


def test_values(report, folder):
    """Arguments of every type."""
    key = lambda text, value: data(4, data(10, text) + value)
    nested = data(11, data(10, "a") + uint(4, 1)) + data(11, data(10, "b") + data(12, uint(4, 2)) + data(12, data(6, "c")))
    path = write(folder, "values.pftrace", thread(1, 7, 8, "t"),
                 packet(uint(10, 1), uint(13, 1), data(12, data(3, uint(1, 5) + data(2, "interned")) + data(29, uint(1, 1) + data(2, "text")))),
                 half(10, 1, data(23, "a"), key("yes", uint(2, 1)), key("big", uint(3, 2 ** 64 - 1)), key("less", uint(4, -5)), key("real", real(5, 1.5)),
                      key("text", data(6, "x\"y")), key("address", uint(7, 4096)), key("json", data(9, "{\"k\":[null]}")), key("dict", nested),
                      key("list", data(12, uint(4, 1)) + data(12, uint(4, 2))), key("none", b""), key("nan", real(5, float("nan"))),
                      data(4, uint(1, 5) + uint(17, 1)), flags=2), half(20, 2))
    got = [e["args"] for e in events(path)["traceEvents"] if e["ph"] == "X"][0]
    report.equal("values", got, {"yes": True, "big": 2 ** 64 - 1, "less": -5, "real": common.decimal.Decimal("1.5"), "text": "x\"y", "address": "0x1000",
                                 "json": {"k": [None]}, "dict": {"a": 1, "b": [2, "c"]}, "list": [1, 2], "none": [], "nan": "NaN", "interned": "text"})


def test_names_by_generation(report, folder):
    """One number means one name before its sequence is cleared, and another one behind; arguments too, which are read later."""
    table = lambda text, arg: data(12, data(2, uint(1, 1) + data(2, text)) + data(3, uint(1, 1) + data(2, arg)))
    event = lambda ts: half(ts, 1, uint(10, 1), data(4, uint(1, 1) + uint(4, ts)), flags=2) + half(ts + 5, 2)
    clear = lambda *parts: packet(uint(10, 1), uint(13, 1), *parts)
    path = write(folder, "generations.pftrace", thread(1, 7, 8, "t"), half(1, 1, uint(10, 1), flags=2), *[
        clear(table(f"name {i}", f"key {i}")) + event(100 * i) for i in range(1, 40)], packet(uint(10, 1), uint(42, 1)), event(9000))
    got = [(e["name"], e["args"]) for e in events(path)["traceEvents"] if e["ph"] == "X"]
    report.equal("names by generation", got, [(f"name {i}", {f"key {i}": 100 * i}) for i in range(1, 40)])
    report.equal("events without their names", skipped(path), 2 + 1)  # two beginnings; the end behind the loss needs no name


def test_clocks(report, folder):
    """MONOTONIC to BOOTTIME by the latest snapshot, and delta clocks in units."""
    snapshot = lambda boot, mono: packet(data(6, data(1, uint(1, 6) + uint(2, boot)) + data(1, uint(1, 3) + uint(2, mono))))
    event = lambda ts, clock, seq=1: packet(uint(8, ts), uint(58, clock), uint(10, seq), data(11, uint(9, 3) + uint(11, 1) + data(23, "m")))
    deltas = packet(uint(10, 2), uint(13, 1), data(59, uint(58, 64)), data(6, data(1, uint(1, 6) + uint(2, 5000)) + data(1, uint(1, 64) + uint(2, 5) + uint(3, 1) + uint(4, 1000))))
    path = write(folder, "clocks.pftrace", thread(1, 7, 8, "t"), event(100, 3), snapshot(1000, 100), event(150, 3), snapshot(3000, 200), event(250, 3),
                 deltas, packet(uint(8, 2), uint(10, 2), data(60, uint(1, 9) + data(2, "unused"))), packet(uint(8, 3), uint(10, 2), data(11, uint(9, 3) + uint(11, 1) + data(23, "m"))))
    report.equal("times", sorted(e["ts"] for e in events(path)["traceEvents"] if e["ph"] == "i"), [1000, 1050, 3050, 10000])


def test_flows(report, folder):
    spans = [half(100 * i, 1, data(23, f"s{i}"), fixed64(48 if i == 3 else 47, 5), track=1 + i % 2) + half(100 * i + 50, 2, track=1 + i % 2) for i in range(1, 6)]
    path = write(folder, "flows.pftrace", thread(1, 7, 8, "t"), thread(2, 7, 9, "u"), *spans)
    report.equal("a flow ends where it says so, and its id is used again",
                 [(e["ph"], e["ts"], e["tid"]) for e in events(path)["traceEvents"] if e["ph"] in "stf"],
                 [("s", 100, 9), ("t", 200, 8), ("f", 300, 9), ("s", 400, 8), ("f", 500, 9)])


# -- damaged and hostile

def bounded():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY * 4, MEMORY * 4))


def outcome(path):
    done = subprocess.run([common.program(), "info", str(path), "--quiet"], capture_output=True, timeout=120, check=False, preexec_fn=bounded)
    return done.returncode, done.stderr.decode("utf-8", "replace")


def test_hostile(report, folder):
    head = thread(1, 7, 8, "t")
    deep = uint(4, 1)
    for _ in range(20000):
        deep = data(12, deep)
    circle = b"".join(packet(data(60, uint(1, i) + uint(5, i % 50 + 1) + data(2, "x"))) for i in range(1, 51)) + half(5, 3, data(23, "m"), track=7)
    bomb = packet(data(50, zlib.compress(bytes(1 << 28), 9)))
    inner = packet(data(50, zlib.compress(packet(data(50, zlib.compress(head, 9))), 9)))
    one = half(5, 3, data(23, "m"))
    files = {
        "deep.pftrace": head + half(5, 3, data(4, data(10, "k") + deep), data(23, "m")),
        "circle.pftrace": circle,
        "nested.pftrace": head + inner + one,
        "long.pftrace": head + b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + one * 5,
        "empty_packets.pftrace": head + b"\x0a\x00" * 2000000 + one,
        "many_sequences.pftrace": head + b"".join(packet(uint(10, i), uint(13, 1), data(12, data(2, uint(1, 1) + data(2, "n")))) for i in range(1, 50000)),
        "one_table.pftrace": head + packet(uint(10, 1), uint(13, 1), data(12, b"".join(data(2, uint(1, i * 7) + data(2, "n")) for i in range(1, 200000)))),
        "bad_number.pftrace": head + b"\x00\x01\x02" + one * 4,
        "counters.pftrace": head + packet(uint(8, 1), uint(10, 1), data(52, data(1, b"".join(data(1, uint(1, i) + data(2, "c")) for i in range(20000)))))
                            + b"".join(packet(uint(8, i), uint(10, 1), data(52, data(2, uint(1, i + 30000) + uint(2, i)))) for i in range(20000)),
    }
    for name, content in files.items():
        code, message = outcome(write(folder, name, content))
        report.check(f"{name} is read", code == 0, f"exit {code}: {message}")
    code, message = outcome(write(folder, "bomb.pftrace", head + bomb))
    report.check("a bomb is refused", code == 1 and "expand" in message and "bomb.pftrace" in message, f"exit {code}: {message}")
    depths = [e["args"] for e in events(folder / "deep.pftrace")["traceEvents"] if e["ph"] == "i"]
    report.check("deep arguments are cut", len(json.dumps(depths)) < 1000, depths)
    report.equal("events behind damage", len([e for e in events(folder / "long.pftrace")["traceEvents"] if e["ph"] == "i"]), 5)


def test_mutations(report, folder):
    """Any change to a few bytes: read or refused, in bounded time, without a crash."""
    rng = random.Random(5)
    tier = 40 if common.os.environ.get("KINO_TIER") == "test-all" else 8
    sources = [path.read_bytes() for path in sorted(folder.glob("*.pftrace")) if 0 < path.stat().st_size < 100000]
    sources += [common.read_bytes(path)[:20000] for path in sorted(FORMATS.glob("*.pftrace"))] if FORMATS.is_dir() else []
    target = folder / "mutated.bin"
    for source in sources:
        for _ in range(tier):
            made = bytearray(source)
            for _ in range(rng.randint(1, 8)):
                made[rng.randrange(len(made))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            target.write_bytes(made[:rng.randint(1, len(made))] if rng.random() < 0.3 else made)
            code, message = outcome(target)
            report.check("mutation", code in (0, 1), f"exit {code}: {message[:200]}")


def main():
    report = common.Report()
    test_samples(report)
    test_sdk(report)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        test_like_torch(report, folder)
        test_pairs(report, folder)
        test_values(report, folder)
        test_names_by_generation(report, folder)
        test_clocks(report, folder)
        test_flows(report, folder)
        test_hostile(report, folder)
        test_mutations(report, folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
