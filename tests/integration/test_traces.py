#!/usr/bin/env python3
"""Every trace under ../shared/traces, read by kino and by Python's json with exact decimals: the same counts and sums; and the
same output whatever the number of threads and the vector instructions."""
import collections
import decimal
import hashlib
import sys

from support import common

SUMS = """SELECT ph, cat, count(*), count(ts), sum(ts), count(dur), sum(dur), count(correlation), sum(correlation),
          count(external_id), sum(external_id) FROM event GROUP BY ph, cat ORDER BY ph, cat"""
ALL = "SELECT id, ph, cat, name, ts, dur, pid, tid, correlation, external_id, args FROM event ORDER BY id"
WITH_ID = set("stfben")
DETAILED = ("h100_bert", "trace_diff_control", "resnet50", "train_gpu_legacy", "backward_thread")


def to_ns(value):
    """Decimal microseconds, number or text, as integer ns, half to even; None for anything else."""
    if isinstance(value, bool) or value is None or isinstance(value, (list, dict)):
        return None
    try:
        return int((decimal.Decimal(value) * 1000).to_integral_value(decimal.ROUND_HALF_EVEN))
    except decimal.InvalidOperation:
        return None


def to_int(value):
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            return int(value) if value.lstrip("-").isdigit() else None
        except ValueError:
            return None
    return value if isinstance(value, int) else None


def is_event(event):
    phase = event.get("ph") if isinstance(event, dict) else None
    return isinstance(phase, str) and len(phase) == 1 and (phase == "M" or to_ns(event.get("ts")) is not None)


def join_pairs(events):
    """B and E become X, as the manual says: an end closes the last open begin of its track, in order of time."""
    tracks = collections.defaultdict(list)
    for number, event in enumerate(events):
        if event["ph"] in "BE":
            tracks[str(event.get("pid")), str(event.get("tid"))].append((to_ns(event["ts"]), number))
    spans, gone = {}, set()
    for items in tracks.values():
        opened = []
        for when, number in sorted(items):
            if events[number]["ph"] == "B":
                opened.append((when, number))
            elif opened:
                start, begin = opened.pop()
                spans[begin] = when - start
                gone.add(number)
    for number, event in enumerate(events):
        if number in spans:
            yield dict(event, ph="X", dur=decimal.Decimal(spans[number]) / 1000)
        elif number not in gone:
            yield event


def expected(document):
    """What SUMS must give, times as written, keyed by phase and category."""
    groups = collections.defaultdict(lambda: [0] * 9)
    tracks = collections.Counter()
    events = [event for event in common.events_of(document) if is_event(event)]
    for event in join_pairs(events):
        args = event.get("args") if isinstance(event.get("args"), dict) else {}
        correlation = None if event["ph"] in WITH_ID else to_int(args.get("correlation"))
        external = to_int(args.get("External id", args.get("external id")))
        row = groups[event["ph"], event.get("cat")]
        tracks[str(event.get("pid")), str(event.get("tid"))] += 1
        row[0] += 1
        for at, value in ((1, to_ns(event.get("ts"))), (3, to_ns(event.get("dur"))), (5, correlation), (7, external)):
            if value is not None:
                row[at] += 1
                row[at + 1] += value
    return dict(groups), tracks


def check_file(report, path):
    document = common.parse(common.read_bytes(path))
    name = str(path.relative_to(common.SHARED))
    want, want_tracks = expected(document)
    base = document.get("baseTimeNanoseconds", 0) if isinstance(document, dict) else 0
    origin = common.query(path, "SELECT origin_ns FROM trace")[0][0]
    got = {}
    for phase, category, count, times, time_sum, *rest in common.query(path, SUMS):
        rest = [number or 0 for number in rest]
        got[phase, category] = [count, times, (time_sum or 0) + times * (int(origin) - base), *rest]
    report.equal(f"{name}: groups", sorted(map(str, got)), sorted(map(str, want)))
    for key in want:
        report.equal(f"{name}: {key}", got.get(key), want[key])
    rows = common.query(path, "SELECT pid, tid, count(*) FROM event GROUP BY pid, tid")
    tracks = collections.Counter()
    for pid, tid, count in rows:
        tracks[str(pid), str(tid)] += count
    report.equal(f"{name}: tracks", tracks, want_tracks)
    lost = common.query(path, "SELECT skipped FROM trace")[0][0]
    report.equal(f"{name}: skipped", lost, sum(not is_event(event) for event in common.events_of(document)))


def check_ways(report, path):
    """Threads and vector instructions change nothing."""
    hashes = {}
    for jobs in ("1", "2"):
        for level in ("scalar", "avx2", "avx512"):
            arguments = ["--jobs", jobs] + (["--simd", level] if jobs == "1" else [])
            env = {} if jobs == "1" else {"KINO_SIMD": level}
            for what, sql in (("sums", SUMS), ("events", ALL)):
                done = common.run("query", path, sql, "--format", "csv", "--quiet", *arguments, env=env)
                report.equal(f"{path.name}: {what} with {jobs} jobs, {level}: exit code", done.returncode, 0)
                hashes[what, jobs, level] = hashlib.sha256(done.stdout).hexdigest()
    for what in ("sums", "events"):
        distinct = {value for key, value in hashes.items() if key[0] == what}
        report.equal(f"{path.name}: {what} in all ways", len(distinct), 1)


def main():
    report = common.Report()
    paths = common.real_traces()
    for path in paths:
        try:
            check_file(report, path)
        except (RuntimeError, ValueError) as problem:
            report.check(str(path), False, str(problem))
    for path in paths:
        if any(part in str(path) for part in DETAILED):
            check_ways(report, path)
    for path in (common.SHARED / "traces").glob("**/*_et.json.gz"):
        done = common.run("query", path, "SELECT count(*) FROM event")
        report.equal("an execution trace is refused", done.returncode, 1)
        message = done.stderr.decode()
        report.check("and the message names file and reason", path.name in message and "traceEvents" in message, message)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
