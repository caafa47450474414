#!/usr/bin/env python3
"""pprof: what Kino writes, decoded here byte by byte as the format defines it, has the stacks, calls and self times of a slow reading of the trace's JSON,
and of a memory snapshot the allocations and blocks of its pickle."""
import collections
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile

from support import stacks

KINO = os.environ["KINO"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ROOT.parent / "shared/formats/memory_snapshot"
passed = failed = skipped = 0


def check(what, is_so, seen=""):
    global passed, failed
    if is_so:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {what}: {str(seen)[:1500]}")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def message(data):
    """field -> its values: integers, or bytes."""
    fields, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            assert tag & 7 == 2, f"wire type {tag & 7} at byte {at}"
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "cut off"
        fields[tag >> 3].append(value)
    return fields


def packed(values):
    numbers = []
    for data in values:
        at = 0
        while at < len(data):
            number, at = varint(data, at)
            numbers.append(number)
    return numbers


def decode(path):
    """(sample types, default, [(frames outermost first, values, labels)], functions): everything is found by its id."""
    profile = message(gzip.decompress(path.read_bytes()))
    texts = [text.decode() for text in profile[6]]
    check("the first text is empty, each is there once", texts[0] == "" and len(set(texts)) == len(texts))
    functions, locations = {}, {}
    for data in profile[5]:
        f = message(data)
        check("ids are not 0 and appear once", f[1][0] and f[1][0] not in functions)
        functions[f[1][0]] = tuple(texts[f[number][0]] for number in (2, 3, 4)) + (f[5][0],)
    for data in profile[4]:
        location = message(data)
        line = message(location[4][0])
        locations[location[1][0]] = functions[line[1][0]]
        check("a location has its function's line", line[2][0] == functions[line[1][0]][3])
    samples = []
    for data in profile[2]:
        sample = message(data)
        labels = {texts[message(label)[1][0]]: texts[message(label)[2][0]] for label in sample[3]}
        samples.append((tuple(locations[number][1] for number in reversed(packed(sample[1]))), tuple(packed(sample[2])), labels))
    types = [tuple(texts[message(data)[number][0]] for number in (1, 2)) for data in profile[1]]
    return types, texts[profile[14][0]], samples, set(functions.values()), profile


def convert(source, target, *more):
    done = subprocess.run([KINO, "convert", source, target, *more], capture_output=True, text=True, check=False, timeout=120)
    check(f"{source} {more}", done.returncode == 0, done.stderr)


def expected(path, kind):
    """Slowly, from the JSON: stack -> [calls, self time], without the frame of the track."""
    sums = collections.defaultdict(lambda: [0, 0])
    for spans in stacks.spans_by_track(path).values():
        for lane in stacks.lanes_of(stacks.chosen(spans, kind)):
            for stack, own in stacks.stacks_of(lane):
                sums[tuple(stack)][0] += 1
                sums[tuple(stack)][1] += own
    return dict(sums)


def seen_stacks(samples):
    sums = collections.defaultdict(lambda: [0, 0])
    for frames, (calls, own), _ in samples:
        sums[frames[1:]][0] += calls
        sums[frames[1:]][1] += own
    return dict(sums)


def test_traces(folder):
    subprocess.run([KINO, "demo", folder / "demo", "--ranks", "1", "--size", "1MB", "--no-info", "--no-progress"], check=True, capture_output=True, timeout=120)
    trace = next(path for path in sorted((folder / "demo").iterdir()) if ".json" in path.name)
    plain = folder / "demo.json"
    convert(trace, plain)
    for path in (plain, ROOT / "tests/data/cli/small.json"):
        for kind in ("combined", "op"):
            convert(path, folder / "out.pb.gz", "--stacks", kind)
            types, shown, samples, functions, _ = decode(folder / "out.pb.gz")
            (folder / "out.pb.gz").unlink()
            check("sample types", types == [("calls", "count"), ("time", "nanoseconds")] and shown == "time", types)
            wanted, found = expected(path, kind), seen_stacks(samples)
            check(f"{path.name}, {kind}: stacks", found == wanted, [(k, found.get(k), v) for k, v in wanted.items() if found.get(k) != v][:3])
            check("Python frames have a file and a line", all(f[0] == f[1].split("): ", 1)[1] and f"{f[2]}({f[3]}): " in f[1] for f in functions if f[2]))
    convert(ROOT / "tests/data/cli/small.json", folder / "plain.pb")
    check("uncompressed", (folder / "plain.pb").read_bytes()[:1] == b"\x0a")


def frame_text(frame):
    return frame["name"] if frame["filename"] in ("", "??") else f"{frame['filename']}({frame['line']}): {frame['name']}"


def test_snapshots(folder):
    global skipped
    import pickle
    paths = [ROOT / "tests/data/memory_snapshot/one_segment.pickle", *sorted(SAMPLES.glob("*.pickle"))]
    if len(paths) == 1:
        print("../shared is not there: its snapshots are not compared")
        skipped += 1
    for path in paths:
        snapshot, sums = pickle.loads(path.read_bytes()), collections.defaultdict(lambda: [0, 0, 0, 0])
        events = [(device, 0, e["size"], e["frames"]) for device, history in enumerate(snapshot["device_traces"]) for e in history if e["action"] == "alloc"]
        events += [(s["device"], 2, b["size"], b["frames"]) for s in snapshot["segments"] for b in s["blocks"] if b["state"].startswith("active")]
        for device, place, size, frames in events:
            one = sums[f"GPU{device}", tuple(frame_text(f) for f in reversed(frames))]
            one[place] += 1
            one[place + 1] += size
        convert(path, folder / f"{path.stem}.pb.gz")
        types, shown, samples, _, profile = decode(folder / f"{path.stem}.pb.gz")
        check("types of a heap", [t for t, _ in types] == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"] and shown == "inuse_space", types)
        found = {(labels["device"], frames): list(values) for frames, values, labels in samples}
        check(f"{path.name}: every stack once, with its sums", len(found) == len(samples) and found == dict(sums),
              [(k, found.get(k), v) for k, v in sums.items() if found.get(k) != v][:2])
        first = min(e["time_us"] for history in snapshot["device_traces"] for e in history)
        check(f"{path.name}: when", profile[9] == [first * 1000], profile[9])


def test_threads(folder):
    convert(ROOT / "tests/data/cli/small.json", folder / "a.pb.gz")
    convert(ROOT / "tests/data/cli/small.json", folder / "b.pb.gz", "--jobs", "2")
    check("the same bytes whatever the threads", gzip.decompress((folder / "a.pb.gz").read_bytes()) == gzip.decompress((folder / "b.pb.gz").read_bytes()))


with tempfile.TemporaryDirectory() as top:
    for test in (test_traces, test_snapshots, test_threads):
        place = pathlib.Path(top) / test.__name__
        place.mkdir()
        test(place)
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(failed > 0)
