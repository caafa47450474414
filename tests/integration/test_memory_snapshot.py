#!/usr/bin/env python3
"""PyTorch's memory snapshots: read as pickle and as JSON, whole, cut and hostile, with the numbers that a slow, obvious reading of the same file gives.

The facts of ../shared/formats/memory_snapshot were counted by its author; the hand-made snapshot is tests/data/memory_snapshot (make_hand_made), and the
others are made here by Python's own pickle."""
import copy
import gzip
import json
import os
import pathlib
import pickle
import random
import resource
import subprocess
import sys
import tempfile

KINO = os.environ["KINO"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ROOT.parent / "shared/formats/memory_snapshot"
DATA = ROOT / "tests/data/memory_snapshot"
SIGNS = {"alloc": 1, "free_completed": -1}
RESERVED = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
EVENTS = "SELECT ts, name, cat, dur, args FROM event WHERE ph != 'M' ORDER BY id"
passed = failed = skipped = 0


def check(what, is_so, seen=""):
    global passed, failed
    if is_so:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {what}: {str(seen)[:2000]}")


def run(*arguments, **more):
    return subprocess.run([KINO, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120, **more)


def rows(*arguments):
    done = run(*arguments, "--format", "json")
    check(f"{arguments[:2]} ends well", done.returncode == 0, done.stderr)
    if done.returncode:
        return []
    table = json.loads(done.stdout)["tables"][0]
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row)) if isinstance(row, list) else row for row in table["rows"]]


def events(path):
    answer = rows("query", path, EVENTS)
    for event in answer:
        event["args"] = json.loads(event["args"]) if isinstance(event["args"], str) else event["args"] or {}
    return answer


def frame_text(frame):
    return frame["name"] if frame["filename"] in ("", "??") else f"{frame['filename']}({frame['line']}): {frame['name']}"


def keys_of(path, folder):
    """The top-level keys of the trace, by way of JSON."""
    out = folder / "keys.json"
    out.unlink(missing_ok=True)
    check("converts", run("convert", path, out).returncode == 0)
    trace = json.loads(out.read_text())
    return {key: value for key, value in trace.items() if key != "traceEvents"}


def stack_of(table, node):
    """Innermost first, as the snapshot has it."""
    frames = []
    while node:
        caller, frame = table["nodes"][2 * node - 2:2 * node]
        frames.append(table["frames"][frame])
        node = caller
    return frames


def expected_history(snapshot):
    """(action, addr, signed size, ns, frames, total allocated, total reserved) of every entry, the obvious way: backwards from the end, then forwards."""
    answer = []
    for device, history in enumerate(snapshot["device_traces"]):
        segments = [s for s in snapshot["segments"] if s["device"] == device]
        active = sum(b["size"] for s in segments for b in s["blocks"] if b["state"].startswith("active"))
        reserved = sum(s["total_size"] for s in segments)
        totals = []
        for entry in reversed(history):
            totals.append((active, reserved))
            active -= SIGNS.get(entry["action"], 0) * entry["size"]
            reserved -= RESERVED.get(entry["action"], 0) * entry["size"]
        for entry, (active, reserved) in zip(history, reversed(totals)):
            sign = -1 if entry["action"] in ("free_completed", "segment_free", "segment_unmap") else 1
            answer.append((device, entry["action"], entry.get("addr"), sign * entry["size"], entry["time_us"] * 1000,
                           tuple(map(frame_text, entry["frames"])), active, reserved))
    return answer


def seen_history(path, folder):
    keys = keys_of(path, folder)
    table, base = keys.get("stackTable", {"frames": [], "nodes": []}), keys["baseTimeNanoseconds"]
    return [(e["args"]["Device Id"], e["args"]["Action"], e["args"].get("Addr"), e["args"]["Bytes"], base + e["ts"],
             tuple(stack_of(table, e["args"].get("Stack id", 0))), e["args"]["Total Allocated"], e["args"]["Total Reserved"])
            for e in events(path) if "Action" in e["args"]]


def compare_history(what, path, snapshot, folder):
    seen, wanted = seen_history(path, folder), expected_history(snapshot)
    check(f"{what}: history", seen == wanted, next(((a, b) for a, b in zip(seen, wanted) if a != b), (len(seen), len(wanted))))


def tables(*arguments):
    done = run(*arguments, "--format", "json")
    check(f"{arguments[:2]} ends well", done.returncode == 0, done.stderr)
    answer = {}
    for table in json.loads(done.stdout)["tables"]:
        names = [column["name"] for column in table["columns"]]
        answer[table["name"]] = [dict(zip(names, row)) if isinstance(row, list) else row for row in table["rows"]]
    return answer


def by_stack(rows_of_sites):
    return sorted((row["device"], row["stack"] or "", row["blocks"], row["bytes"]) for row in rows_of_sites)


def added_up(blocks):
    """(device, size, frames) by stack, outermost frame first, as the analyses write it."""
    sums = {}
    for device, size, frames in blocks:
        one = sums.setdefault((f"GPU{device}", ";".join(reversed([frame_text(f) for f in frames]))), [0, 0])
        one[0] += 1
        one[1] += size
    return sorted((*key, *value) for key, value in sums.items())


def compare_analyses(what, path, snapshot):
    """The three analyses against a reading of the snapshot that takes a sentence per number."""
    found = tables("analyze", "memory-snapshot", path)
    blocks = [(s, b) for s in snapshot["segments"] for b in s["blocks"]]
    active = [(s["device"], b["size"], b["frames"]) for s, b in blocks if b["state"].startswith("active")]
    check(f"{what}: active blocks by stack", by_stack(found["memory_snapshot_sites"]) == added_up(active), found["memory_snapshot_sites"][:3])
    in_use = {(s["device"], s["address"]) for s, b in blocks if b["state"].startswith("active")}
    for row in found["memory_snapshot"]:
        own = [(s, b) for s, b in blocks if f"GPU{s['device']}" == row["device"]]
        gaps = sum(b["size"] for s, b in own if b["state"] == "inactive" and (s["device"], s["address"]) in in_use)
        check(f"{what}: {row['device']}", (row["fragmented"], row["blocks"], row["largest_gap"]) ==
              (gaps, len(own), max([b["size"] for _, b in own if b["state"] == "inactive"], default=0)), row)
    leaks, peaks = tables("analyze", "memory-leaks", path)["memory_leaks"], tables("analyze", "peak-memory", path)
    left, wanted_peaks, wanted_sites = [], [], []
    for device, history in enumerate(snapshot["device_traces"]):
        open_blocks, best, at_best, total = {}, None, None, None
        totals = [t[6] for t in expected_history(snapshot) if t[0] == device]
        mentioned = {e["addr"] for e in history if e["action"] in SIGNS}
        for entry, total in zip(history, totals):
            if entry["action"] == "alloc":
                open_blocks[entry["addr"]] = entry
            if entry["action"] == "free_completed":
                open_blocks.pop(entry["addr"], None)
            if entry["action"] in SIGNS and (best is None or total > best):
                best, at_best = total, dict(open_blocks)
        requested = set()
        for entry in history:
            if entry["action"] == "free_requested":
                requested.add(entry["addr"])
            if entry["action"] == "alloc":
                requested.discard(entry["addr"])
        left += [(device, e["size"], e["frames"]) for a, e in open_blocks.items() if a not in requested]
        if best is not None:
            wanted_peaks.append((f"GPU{device}", best))
            wanted_sites += [(device, e["size"], e["frames"]) for e in at_best.values()]
            wanted_sites += [(device, b["size"], b["frames"]) for s, b in blocks
                             if s["device"] == device and b["state"].startswith("active") and b["address"] not in mentioned]
    check(f"{what}: leaks", by_stack(leaks) == added_up(left), (by_stack(leaks)[:3], added_up(left)[:3]))
    check(f"{what}: peaks", sorted((r["device"], r["peak"]) for r in peaks["peak_memory"]) == sorted(wanted_peaks), peaks["peak_memory"])
    check(f"{what}: who held the peak", by_stack(peaks["peak_memory_sites"]) == added_up(wanted_sites))


def test_samples(folder):
    global skipped
    if not SAMPLES.is_dir():
        print("../shared is not there: the samples are not compared")
        skipped += 1
        return
    facts = {
        "real_eager_fwd_windows.pickle": dict(
            segments=785, blocks=1418, allocated=1068, inactive=350, total=25_295_847_424, active=19_387_048_448, entries=6561, each=2187,
            first=1775299487763070, last=1775299487842725, annotations=[], distinct_frames=58),
        "real_train_step_annotated.pickle": dict(
            segments=96, blocks=550, allocated=447, inactive=103, total=4_238_344_192, active=3_072_871_424, entries=6486, each=2162,
            first=1773270053858957, last=1773270053909604,
            annotations=[("Optimizer.step#AdamW.step", 1773270053883781, 1773270053896695)], distinct_frames=443)}
    for name, fact in facts.items():
        path = SAMPLES / name
        all_events, keys = events(path), keys_of(path, folder)
        base, segments = keys["baseTimeNanoseconds"], [e for e in all_events if e["name"] == "segment"]
        blocks = [e["args"] for e in all_events if e["name"] == "block"]
        entries = [e for e in all_events if "Action" in e["args"]]
        check(f"{name}: segments", len(segments) == fact["segments"] and sum(e["args"]["Bytes"] for e in segments) == fact["total"], len(segments))
        check(f"{name}: allocated", sum(e["args"]["Allocated"] for e in segments) == fact["active"] == sum(e["args"]["Active"] for e in segments))
        check(f"{name}: blocks", (len(blocks), sum(b["State"] == "active_allocated" for b in blocks), sum(b["State"] == "inactive" for b in blocks)) ==
              (fact["blocks"], fact["allocated"], fact["inactive"]), len(blocks))
        check(f"{name}: entries", len(entries) == fact["entries"], len(entries))
        for action in ("alloc", "free_requested", "free_completed"):
            check(f"{name}: {action}", sum(e["args"]["Action"] == action for e in entries) == fact["each"])
        times = [base + e["ts"] for e in entries]
        check(f"{name}: times", (times[0], times[-1]) == (fact["first"] * 1000, fact["last"] * 1000) and times == sorted(times), (times[0], times[-1]))
        check(f"{name}: frames", len(keys["stackTable"]["frames"]) == fact["distinct_frames"], len(keys["stackTable"]["frames"]))
        spans = [(e["name"], (base + e["ts"]) // 1000, (base + e["ts"] + e["dur"]) // 1000) for e in all_events if e["cat"] == "user_annotation"]
        check(f"{name}: annotations", spans == fact["annotations"], spans)
        check(f"{name}: total at the end", entries[-1]["args"]["Total Allocated"] == fact["active"])
        compare_history(name, path, pickle.loads(path.read_bytes()), folder)
        compare_analyses(name, path, pickle.loads(path.read_bytes()))


def test_hand_made(folder):
    """tests/data/memory_snapshot: one segment with three blocks, seven entries, one annotation; the totals were worked out on paper."""
    seen = {}
    for path in sorted(DATA.glob("one_segment.*")):
        seen[path.name] = events(path)
        totals = [e["args"]["Total Allocated"] for e in seen[path.name] if "Action" in e["args"]]
        check(f"{path.name}: totals", totals == [0, 1048576, 1572864, 1572864, 1048576, 1572864, 1572864], totals)
        compare_history(path.name, path, json.loads((DATA / "one_segment.json").read_text()), folder)
    check("pickle and JSON are the same", seen["one_segment.pickle"] == seen["one_segment.json"])
    one = seen["one_segment.pickle"]
    check("metadata of the user's", [e["args"].get("user_metadata") for e in one if e["name"] == "[memory]"] == [None, "warm", None, None])
    check("an annotation", [(e["ts"], e["dur"]) for e in one if e["name"] == "Optimizer.step#SGD.step"] == [(15000, 20000)], one)
    check("what was asked for when memory was out", [(e["args"]["Bytes"], e["args"]["device_free"]) for e in one if e["name"] == "oom"] == [(8388608, 1000)])
    (folder / "s.pickle.gz").write_bytes(gzip.compress((DATA / "one_segment.pickle").read_bytes()))
    check("compressed", events(folder / "s.pickle.gz") == one)
    timeline = rows("analyze", "memory-timeline", DATA / "one_segment.pickle")
    check("Kineto's events: memory-timeline", max(r["total"] for r in timeline) == 1572864, timeline)
    (folder / "run").mkdir()
    (folder / "run/snapshot_rank1.pickle").write_bytes((DATA / "one_segment.pickle").read_bytes())
    (folder / "run/model.pickle").write_bytes(pickle.dumps({"weights": []}))
    check("found in a directory, with its rank", "rank        1" in run("info", folder / "run").stdout, run("info", folder / "run"))


def random_snapshot(chance):
    """An allocator at work: blocks come and go in segments, and the history forgets its beginning."""
    frames = [{"filename": f"file_{i}.py", "line": i, "name": f"f{i}"} for i in range(8)] + [{"filename": "??", "line": 0, "name": "c10::f(int, char)"}]
    stacks = [[chance.choice(frames) for _ in range(chance.randint(0, 6))] for _ in range(6)]
    now, devices, segments = 1_700_000_000_000_000, chance.randint(1, 3), []
    history = [[] for _ in range(devices)]
    blocks = {}

    def note(device, action, **more):
        nonlocal now
        now += chance.randint(0, 50)
        # sometimes the list of frames is shared with others, sometimes it is a copy
        frames = chance.choice(stacks)
        history[device].append({"action": action, "stream": chance.choice([0, 0, 94_000_000_000_000]), "time_us": now, "compile_context": "N/A",
                                "frames": frames if chance.random() < .3 else list(frames)} | more)

    for _ in range(chance.randint(1, 6)):
        device, address = chance.randrange(devices), (len(segments) + 1) << 24
        segments.append({"device": device, "address": address, "total_size": 1 << 20, "stream": 0, "segment_type": "large", "frames": [], "blocks": []})
        note(device, "segment_alloc", addr=address, size=1 << 20)
    for _ in range(chance.randint(0, 300)):
        segment, slot = chance.choice(segments), chance.randrange(16)
        addr, device = segment["address"] + slot * 65536, segment["device"]
        if addr in blocks:
            size = blocks.pop(addr)
            note(device, "free_requested", addr=addr, size=size)
            note(device, "free_completed", addr=addr, size=size)
        else:
            blocks[addr] = 512 * chance.randint(1, 128)
            note(device, "alloc", addr=addr, size=blocks[addr], user_metadata=chance.choice(["", "", "warm", "näher"]))
    for segment in segments:
        for slot in range(16):
            addr = segment["address"] + slot * 65536
            size = blocks.get(addr)
            if size:
                segment["blocks"].append({"address": addr, "size": size, "requested_size": size - 1, "state": "active_allocated", "frames": chance.choice(stacks)})
            segment["blocks"].append({"address": addr + (size or 0), "size": 65536 - (size or 0), "requested_size": 0, "state": "inactive", "frames": []})
    forgotten = chance.choice([0, 0, 20])
    return {"segments": segments, "device_traces": [h[forgotten:] for h in history], "allocator_settings": {}, "external_annotations": []}


def test_random(folder):
    chance = random.Random(11)
    for number in range(25 if os.environ.get("KINO_TIER") != "all" else 300):
        snapshot, protocol = random_snapshot(chance), chance.choice([2, 3, 4, 5])
        if not any(snapshot["device_traces"]):
            continue
        path = folder / f"random_{number}.pickle"
        path.write_bytes(pickle.dumps(snapshot, protocol))
        compare_history(f"random snapshot {number}, protocol {protocol}", path, snapshot, folder)
        if number % 4 == 0:
            compare_analyses(f"random snapshot {number}", path, snapshot)
        plain = folder / f"random_{number}.json"
        plain.write_text(json.dumps(snapshot))
        check(f"random snapshot {number} as JSON", events(path) == events(plain))


def test_old(folder):
    """Before PyTorch 2.1 nothing has a time, before 2.0 blocks have neither address nor frames."""
    frames = [{"filename": "a.py", "line": 1, "name": "f"}]
    old = {"segments": [{"device": 0, "address": 4096, "total_size": 1024,
                         "blocks": [{"size": 512, "state": "active_allocated", "history": [{"addr": 4096, "real_size": 500, "frames": frames}]},
                                    {"size": 512, "state": "inactive"}]}],
           "device_traces": [[{"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "frames": frames}, {"action": "free_requested", "addr": 4096, "size": 512}]]}
    path = folder / "old.pickle"
    path.write_bytes(pickle.dumps(old, 4))
    seen = events(path)
    check("entries in their order", [(e["ts"], e["name"]) for e in seen][:2] == [(0, "[memory]"), (1000, "free_requested")], seen)
    check("the trace says that its times are none", keys_of(path, folder)["memorySnapshot"] == {"time": "order"})
    blocks = [e["args"] for e in seen if e["name"] == "block"]
    check("addresses follow each other", [(b["Addr"], b.get("Stack id", 0) > 0) for b in blocks] == [(4096, True), (4608, False)], blocks)


def test_damage(folder):
    """Cut anywhere: what is there is read, or the error names the file. Totals are not available then."""
    whole, path, seen = (DATA / "one_segment.pickle").read_bytes(), folder / "snapshot.pickle", set()
    for size in range(1, len(whole), 7):
        path.write_bytes(whole[:size])
        done = run("query", path, "SELECT count(*), count(args->>'Total Allocated') FROM event WHERE args->>'Action' IS NOT NULL", "--format", "csv")
        if done.returncode == 0:
            entries, totals = map(int, done.stdout.split()[-1].split(","))
            seen.add(entries)
            check(f"cut at {size}: no totals", totals == 0, done.stdout)
        else:
            check(f"cut at {size}", str(path) in done.stderr and done.returncode == 1, done.stderr)
    check("cut snapshots keep their entries", {0, 3, 6} <= seen, seen)
    chance = random.Random(5)
    for number in range(60):
        broken = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        path.write_bytes(broken)
        done = run("info", path)
        check(f"mutation {number}", done.returncode in (0, 1), (done.returncode, done.stderr))


class Call:
    def __reduce__(self):
        return (os.system, ("touch " + str(MARK),))


def hostile(path, what, data, reason, limit=512 << 20):
    """Refused with file, place and reason, without running anything, in little memory and time."""
    path.write_bytes(data)
    done = run("info", path, preexec_fn=lambda: (resource.setrlimit(resource.RLIMIT_AS, (limit + (1 << 30), limit + (1 << 30))),
                                                 resource.setrlimit(resource.RLIMIT_CPU, (20, 20))))
    is_refused = done.returncode == 1 and str(path) in done.stderr and all(word in done.stderr for word in reason)
    check(f"{what}", is_refused if reason else done.returncode in (0, 1), (done.returncode, done.stderr))


def shared_lists():
    """A few hundred kB each, of which going through every reference to a list would take minutes, or all memory."""
    nothing, many = [None] * 300_000, [None] * 20_000
    frames = [{"filename": "a", "line": i, "name": "b"} for i in range(50_000)]
    lowest = {"action": "alloc", "addr": 1, "size": -(1 << 62), "stream": 0, "frames": []}
    return {"a history of one list": {"segments": [], "device_traces": [nothing] * 300_000},
            "segments with the same blocks": {"segments": [{"blocks": many} for _ in many], "device_traces": []},
            "one segment many times": {"segments": [{"blocks": many}] * 20_000, "device_traces": []},
            "blocks with the same stack": {"segments": [{"blocks": [{"frames": frames, "size": i} for i in range(50_000)]}], "device_traces": []},
            "entries with the same list": {"segments": [], "device_traces": [[{"action": "alloc", "size": 1, "x": nothing} for _ in range(10_000)]]},
            "the lowest sum of all": {"segments": [{"device": 0, "total_size": 4, "blocks": []}], "device_traces": [[lowest, dict(lowest)]]}}


def test_hostile(folder):
    path = folder / "snapshot.pickle"
    good = pickle.loads((DATA / "one_segment.pickle").read_bytes())
    for protocol in (2, 3, 4, 5):
        bad = copy.deepcopy(good)
        bad["device_traces"][0][0]["user_metadata"] = Call()
        hostile(path, f"calls, protocol {protocol}", pickle.dumps(bad, protocol), ["imports", "byte"])
    check("nothing was run", not MARK.exists())
    head = b"\x80\x04}(\x8c\x08segments"
    for opcode, name in ((b"R", "REDUCE"), (b"b", "BUILD"), (b"i", "INST"), (b"o", "OBJ"), (b"\x81", "NEWOBJ"), (b"\x92", "NEWOBJ_EX"), (b"P", "PERSID"),
                         (b"Q", "BINPERSID"), (b"\x82", "EXT1"), (b"\x97", "NEXT_BUFFER"), (b"c", "GLOBAL"), (b"\x93", "STACK_GLOBAL")):
        hostile(path, f"opcode {name}", head + opcode + b"x\nx\n.", [name, f"byte {len(head)}"])
    circle = []
    circle.append(circle)
    laughs = circle
    for _ in range(60):
        laughs = [laughs] * 10
    entry = {"action": "alloc", "addr": 1, "size": 2, "frames": circle, "user_metadata": circle, "pool_id": laughs}
    for what, value in (("a list in itself as history", {"segments": circle, "device_traces": circle}), ("shared lists as history", {"device_traces": laughs}),
                        ("shared lists in an entry", {"device_traces": [[entry] * 1000]}), ("an entry in many places", {"device_traces": [[entry] * 100_000]})):
        hostile(path, what, pickle.dumps(value, 4), [])
    # memo: 0 the text of 4 MB, 1 and 2 two keys; every entry has the text as its metadata
    many = b"}(" + b"h\x01h\x03h\x02h\0u"
    hostile(path, "a large text in 100,000 entries",
            b"\x80\x04}(\x8c\x08segments]X" + (4_000_000).to_bytes(4, "little") + b"x" * 4_000_000 + b"\x94\x8c\x06action\x94\x8c\x0duser_metadata\x94"
            + b"\x8c\x05alloc\x94000" + b"0\x8c\x0ddevice_traces](](" + many * 100_000 + b"eeu.", [])
    hostile(path, "a bomb", gzip.compress(b"\x80\x04}\x8c\x08segments](" + b"K\0" * 200_000_000 + b"es.", 9), ["expand"])
    hostile(path, "a text longer than the file", b"\x80\x04}\x8c\x08segmentsX\xff\xff\xff\xffabc.", [])
    hostile(path, "a number of the memo beyond all", b"\x80\x04}\x8c\x08segmentsr\xff\xff\xff\xff.", ["memo"])
    for what, value in shared_lists().items():
        path.write_bytes(pickle.dumps(value, 4))
        done = run("info", path, preexec_fn=lambda: (resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29)),
                                                     resource.setrlimit(resource.RLIMIT_CPU, (20, 20))))
        check(what, done.returncode == 0, (done.returncode, done.stderr))
    hostile(path, "a list of lists as JSON", b'{"segments": [], "device_traces": ' + b"[" * 100_000, ["byte"])


def test_redaction(folder):
    secret = json.loads((DATA / "one_segment.json").read_text())
    secret["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] = "token:hunter2"
    secret["device_traces"][0][1] |= {"user_metadata": "password hunter2", "compile_context": "hunter2/0"}
    secret["segments"][0]["frames"] = [{"filename": "/home/hunter2/train.py", "line": 3, "name": "hunter2"}]
    (folder / "s.pickle").write_bytes(pickle.dumps(secret))
    check("converts", run("convert", folder / "s.pickle", folder / "kept.json").returncode == 0)
    check("redacts", run("convert", folder / "s.pickle", folder / "redacted.json", "--redact").returncode == 0)
    kept, redacted = (folder / "kept.json").read_text(), (folder / "redacted.json").read_text()
    check("there were secrets", kept.count("hunter2") == 5, kept.count("hunter2"))
    check("secrets are replaced", "hunter2" not in redacted and "train.py" not in redacted)
    check("words of the allocator are kept", all(f'"{word}"' in redacted for word in ("alloc", "free_completed", "active_allocated", "segment", "allocator")), redacted)
    check("settings are shown only on request", "hunter2" not in run("info", folder / "s.pickle").stdout + run("report", folder / "s.pickle").stdout)


with tempfile.TemporaryDirectory() as top:
    MARK = pathlib.Path(top) / "ran"
    for test in (test_hand_made, test_samples, test_random, test_old, test_damage, test_hostile, test_redaction):
        place = pathlib.Path(top) / test.__name__
        place.mkdir()
        test(place)
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(failed > 0)
