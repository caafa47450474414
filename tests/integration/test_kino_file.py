#!/usr/bin/env python3
"""The .kino file: JSON -> .kino -> JSON gives the same events, the file is small, an independent reader finds the same in it,
questions have the same answers, a killed writer leaves the old file or the new one, and what is unknown is skipped."""
import decimal
import gzip
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from support import common, kino_reader, same_events

DATA = common.ROOT / "tests/data/chrome"
LARGE, SHARE = 5_000_000, decimal.Decimal("0.25")  # bytes of JSON from which on the size is judged, and its share of gzip -6
READ_BY_PYTHON = 600_000  # bytes of JSON: the reader is slow
KILLS = 12
QUERIES = ["SELECT count(*), sum(ts), sum(dur), min(ts), max(ts + dur) FROM event",
           "SELECT name, cat, count(*), sum(dur) FROM event GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 20",
           "SELECT id, name, ts, dur, cat, args FROM event ORDER BY id LIMIT 2000",
           "SELECT * FROM track", "SELECT key, value FROM metadata", "SELECT * FROM flow LIMIT 500"]


def convert(report, what, source, target, *more):
    done = common.run("convert", source, target, "--quiet", *more)
    return report.check(what, done.returncode == 0, done.stderr.decode()[:300])


# ---- the same events, small

def check_round_trip(report, path, folder):
    """Gives back the .kino file."""
    kino, out = folder / "trace.kino", folder / "back.json"
    if not convert(report, f"{path.name}: to .kino", path, kino) or not convert(report, f"{path.name}: back", kino, out):
        return None
    text = common.read_bytes(path)
    try:
        source, document = same_events.read(text, False), same_events.read(out.read_bytes(), True)
    except ValueError as problem:
        report.check(f"{path.name}: strict JSON", False, str(problem))
        return None
    got, want = (same_events.count(common.events_of(one)) for one in (document, source))
    report.check(f"{path.name}: the same events", got == want, same_events.first_difference(got, want))
    if isinstance(source, dict):
        for one in (document, source):
            del one["traceEvents"]
        report.equal(f"{path.name}: top-level keys", document, source)
    else:
        report.check(f"{path.name}: a bare array", isinstance(document, list))
    if len(text) >= LARGE:
        limit = SHARE * len(gzip.compress(text, 6))
        report.check(f"{path.name}: small", kino.stat().st_size <= limit, f"{kino.stat().st_size} bytes, at most {limit}")
    return kino


# ---- a reader that somebody else might have written

def as_ns(value):
    """Microseconds of a JSON event in ns, rounded as the reader of JSON does; None for none."""
    if value is None:
        return None
    try:
        return int((decimal.Decimal(value) * 1000).quantize(decimal.Decimal(1), rounding=decimal.ROUND_HALF_EVEN))
    except (decimal.InvalidOperation, ValueError, TypeError):
        return None


def check_event(got, want):
    """What is wrong with an event, "" when nothing is."""
    expected = {"ph": "X" if got["is_pair"] else want.get("ph"), "name": want.get("name"), "cat": want.get("cat"),
                "pid": want.get("pid"), "tid": want.get("tid"), "s": want.get("s", ""), "bp": want.get("bp") == "e"}
    found = {key: got[key] for key in expected}
    for which in ("pid", "tid"):  # null is a value and also what is absent
        if found[which] == {} or expected[which] is None:
            found[which] = expected[which] = None
    if got["text"] is not None:  # odd: the text is the truth
        return "" if common.parse(got["text"]) == want else f"text {got['text'][:100]}"
    if want["ph"] != "M":
        expected["ts"], found["ts"] = as_ns(want["ts"]), got["ts"]
    if want["ph"] == "X":
        expected["dur"], found["dur"] = as_ns(want.get("dur")), got["dur"]
    if want["ph"] in kino_reader.WITH_ID:
        expected["id"], found["id"] = want.get("id"), got["id"]
    arguments = want.get("args") or None
    expected["args"] = arguments
    found["args"] = common.parse(got["args"]) or None if got["args"] else None
    if isinstance(arguments, dict) and got["ph"] not in kino_reader.WITH_ID:
        for key, name in (("correlation", "correlation"), ("External id", "external")):
            value = arguments.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63:
                expected[name], found[name] = value, got[name]
    return "" if found == expected else f"got {found}, want {expected}"


def check_with_python(report, path, kino):
    try:
        file = kino_reader.KinoFile(kino.read_bytes())
    except kino_reader.Damaged as problem:
        report.check(f"{path.name}: read by the document", False, str(problem))
        return
    source = common.events_of(common.parse(common.read_bytes(path)))
    events, wrong, seen = list(file.events()), "", set()
    for event in events:
        wrong = wrong or check_event(event, source[event["number"]])
        seen.add(event["number"])
    report.check(f"{path.name}: every event, read by the document", not wrong, wrong)
    report.equal(f"{path.name}: number of events", (file.number_count, len(seen)), (len(source), file.event_count))
    ends = [event for event in events if event["is_pair"]]
    left = [number for number in range(len(source)) if number not in seen]
    report.check(f"{path.name}: the rest are ends of pairs or no events", len(ends) == file.pair_count and
                 all(source[number].get("ph") == "E" for number in left[:file.pair_count]), f"{len(left)} left")


# ---- the same answers

def info(path):
    tables = json.loads(common.run("info", path, "--format", "json", "--quiet").stdout)["tables"]
    out = {}
    for table in tables:
        names = [column["name"] for column in table["columns"]]
        own = {"path", "format", "compression", "file_bytes", "file"}  # of the file, not of the trace
        out[table["name"]] = [{name: value for name, value in zip(names, row) if name not in own} for row in table["rows"]]
    return out


def check_answers(report, path, kino):
    for sql in QUERIES:
        try:
            report.equal(f"{path.name}: {sql[:40]}", common.query(kino, sql), common.query(path, sql))
        except RuntimeError as problem:
            report.check(f"{path.name}: {sql[:40]}", False, str(problem))
    named = kino.with_name(f"{path.name.split('.json')[0]}.kino")  # the name may tell the rank
    shutil.copy(kino, named)
    report.equal(f"{path.name}: info", info(named), info(path))
    named.unlink()


# ---- kill -9

def litter(folder):
    return [path for path in folder.iterdir() if path.name not in ("out.kino", "one.json", "two.json")]


def check_kill(report, folder):
    """A writer killed at any moment leaves the old file or the new one, and at most one file of its own."""
    for name, size in (("one", "1MB"), ("two", "40MB")):
        demo = folder / name
        done = common.run("demo", demo, "--ranks", "1", "--size", size, "--no-info", "--no-progress")
        report.equal(f"demo of {size}", done.returncode, 0)
        next(demo.glob("*.json")).rename(folder / f"{name}.json")
        shutil.rmtree(demo)
    out = folder / "out.kino"
    convert(report, "the new file", folder / "two.json", out)
    new = out.read_bytes()
    begin = time.monotonic()
    convert(report, "the new file again", folder / "two.json", out)
    whole = time.monotonic() - begin
    report.equal("the same bytes again", out.read_bytes() == new, True)
    convert(report, "the old file", folder / "one.json", out)
    old = out.read_bytes()
    seen, moments = {"old": 0, "new": 0}, random.Random(3)
    for kill in range(KILLS):
        before = len(litter(folder))
        with subprocess.Popen([common.program(), "convert", folder / "two.json", out, "--quiet"],
                              stdin=subprocess.DEVNULL) as process:
            time.sleep(whole * (kill + moments.random()) / KILLS)
            process.send_signal(signal.SIGKILL)
        found = out.read_bytes()
        state = "old" if found == old else "new" if found == new else "torn"
        report.check(f"kill {kill}: the old file or the new one", state != "torn", f"{len(found)} bytes")
        seen[state] = seen.get(state, 0) + 1
        report.check(f"kill {kill}: one file left at most", len(litter(folder)) <= before + 1, str(litter(folder)))
        if state == "new":
            convert(report, "the old file again", folder / "one.json", out)
    report.check("some were killed before the end", seen["old"] > 0, str(seen))
    before = len(litter(folder))
    convert(report, "after all that", folder / "two.json", out)
    report.equal("after all that: the new file", out.read_bytes() == new, True)
    report.equal("after all that: no more files", len(litter(folder)), before)


# ---- odd files

def check_versions(report, source, folder):
    kino, other = folder / "trace.kino", folder / "other.kino"
    convert(report, "a file to change", source, kino)
    data = kino.read_bytes()
    chunks = kino_reader.read_chunks(data)
    report.equal("put together from its chunks", kino_reader.write_chunks(chunks) == data, True)
    raw = kino_reader.without_compression(chunks)
    strange = [kino_reader.Chunk(kind, 7, 0, b"nobody knows") for kind in (11, 99, 200)]
    metadata = next(chunk for chunk in raw if chunk.kind == kino_reader.METADATA)
    more = metadata.raw + b"\x1f\x00\x03\x00\x00\x00abc" + b"\xe8\x03\x08\x00\x00\x0012345678"
    fields = [kino_reader.Chunk(2, 0, 0, more) if chunk is metadata else chunk for chunk in raw]
    for what, changed, minor in (("nothing compressed", raw, 0), ("unknown kinds", strange[:1] + raw + strange[1:], 0),
                                 ("unknown kinds between", [one for chunk in raw for one in (chunk, strange[1])], 0),
                                 ("unknown fields of the metadata", fields, 0), ("a higher minor version", chunks, 9)):
        other.write_bytes(kino_reader.write_chunks(changed, 1, minor))
        for sql in QUERIES[:3]:
            report.equal(f"{what}: {sql[:30]}", common.query(other, sql), common.query(kino, sql))
        done = common.run("info", other, "--format", "json")
        report.check(f"{what}: no damage", b'"bad_index"' not in done.stdout and b'"lost_' not in done.stdout)
    for what, content, words in (("another major version", kino_reader.write_chunks(chunks, 2), "version"),
                                 ("gzip over it", gzip.compress(data), "decompress it first"),
                                 ("only its head", data[:16], "metadata"), ("a part of its head", data[:12], "head")):
        other.write_bytes(content)
        done = common.run("info", other)
        report.check(f"{what}: refused", done.returncode == 1 and words in done.stderr.decode() and not done.stdout,
                     f"exit {done.returncode}: {done.stderr.decode()[:200]}")
    flipped = bytearray(data)
    flipped[len(data) - 20] ^= 1  # in the index
    other.write_bytes(flipped)
    done = common.run("info", other)
    report.check("damage is shown", done.returncode == 0 and b"bad_index" in done.stdout, done.stdout.decode()[-300:])


def main():
    common.program()
    report, skipped = common.Report(), 0
    paths = sorted(DATA.glob("*.json"))
    if (common.SHARED / "traces").exists():
        paths += common.real_traces()
    else:
        print("no ../shared/traces beside the repository: only tests/data", file=sys.stderr)
        skipped += 1
    has_zstd = kino_reader.has_zstd()
    if not has_zstd:
        print("no program zstd: nothing is read by the reader in Python", file=sys.stderr)
        skipped += 1
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path in paths:
            kino = check_round_trip(report, path, folder)
            if not kino:
                continue
            if has_zstd and len(common.read_bytes(path)) <= READ_BY_PYTHON:
                check_with_python(report, path, kino)
            check_answers(report, path, kino)
        if has_zstd:
            for source in ("kineto_2024.json", "odd_values.json"):
                check_versions(report, DATA / source, folder)
        for path in folder.iterdir():
            path.unlink()
        check_kill(report, folder)
    return report.finish(skipped)


if __name__ == "__main__":
    sys.exit(main())
