#!/usr/bin/env python3
"""kino analyze memory --compat tensorboard against the recorded answers of the plugin; thinning of curves; what the default changes."""
import json
import pathlib
import random
import sys
import tempfile

from support import common, tensorboard

COLUMNS = ("calls", "size_increase", "self_size_increase", "allocation_count", "self_allocation_count", "allocation_size",
           "self_allocation_size")


def display(value):
    """The plugin's rounding for tables: two digits, or as many as the first significant one needs."""
    if value == 0 or abs(value) >= 0.01:
        return round(value, 2)
    digits, place = abs(value), 0
    while digits < 1:
        digits, place = digits * 10, place + 1
    return round(value, place)


def origin(path):
    """What has to be added to our times, in ns, to have those of the file."""
    events = common.parse(common.read_bytes(path))["traceEvents"]
    first = min(event["ts"] for event in events if event["name"] == "[memory]")
    return round(first * 1000) - common.query(path, "SELECT min(ts) FROM event WHERE name = '[memory]'")[0][0]


def in_ms(ns):
    """As the plugin computes it: which way 0.475 is rounded depends on it."""
    return ns / 1000 * 0.001


class Answer:
    """Tables of ours in the form of the plugin's answers: {device: rows}."""

    def __init__(self, tables, first_ns):
        self.tables, self.first_ns = tables, first_ns

    def group(self, table, make):
        rows = {}
        for row in self.tables[table]:
            rows.setdefault(row["device_name"], []).append(make(row))
        return rows

    def statistics(self, unit, is_rounded=True):
        shown = display if is_rounded else float
        return self.group("memory_statistics", lambda row: [row["operator_name"]] + [
            row[name] if name.endswith(("calls", "count")) else shown(row[name] / unit) for name in COLUMNS])

    def since(self, ns):
        return None if ns is None else in_ms(ns - self.first_ns)

    def events(self, shown):
        def shape(row):
            duration = None if row["duration"] is None else in_ms(row["duration"])
            times = [self.since(row["allocation_time"]), self.since(row["release_time"]), duration]
            return [row["operator"] or "<unknown>", shown(row["size"] / 1024)] + [None if t is None else shown(t) for t in times]
        return self.group("memory_events", shape)

    def curve(self):
        return self.group("memory_curve", lambda row: [self.since(row["time"]), row["allocated"] / 2 ** 20, row["reserved"] / 2 ** 20])

    def peaks(self, unit, name):
        return {row["device_name"]: f"Peak Memory Usage: {row['peak_allocated'] / unit:.1f}{name}"
                for row in self.tables["memory_peaks"] if row["peak_allocated"] is not None}


def same(got, want, is_exact, places=None):
    """Rows of cells: texts equal, numbers by the rules of the recorded answers."""
    if len(got) != len(want):
        return f"{len(got)} rows, want {len(want)}"
    for row, (mine, theirs) in enumerate(zip(got, want)):
        for cell, wanted in zip(mine, theirs):
            if isinstance(wanted, str) or wanted is None or cell is None:
                equal = cell == wanted
            else:
                equal = tensorboard.close(cell, wanted, is_exact, places)
            if not equal:
                return f"row {row}: {mine}, want {theirs}"
    return ""


def compare(report, what, got, want, is_exact, places=None, key=None):
    report.equal(f"{what}: devices", sorted(got), sorted(want))
    for device in set(got) & set(want):
        mine, theirs = got[device], want[device]
        if key:
            mine, theirs = sorted(mine, key=key), sorted(theirs, key=key)
        problem = same(mine, theirs, is_exact, places)
        report.check(f"{what} {device}", not problem, problem)


def check_profile(report, profile):
    memory, curve = profile.golden("memory"), profile.golden("memory_curve")
    if memory is None:
        return False
    is_exact = not profile.run.startswith("real_")
    start = origin(profile.trace)
    first_ns = round(curve["metadata"]["first_ts"] * 1000) - start
    answer = Answer(profile.analyze("memory"), first_ns)
    by_name = lambda row: row[0]
    compare(report, f"{profile.name} memory", answer.statistics(1024), memory["rows"], True, key=by_name)
    compare(report, f"{profile.name} memory_mb", answer.statistics(2 ** 20), profile.golden("memory_mb")["rows"], True, key=by_name)
    compare(report, f"{profile.name} curve", answer.curve(), curve["rows"], is_exact, 3)
    report.equal(f"{profile.name} peaks", answer.peaks(2 ** 20, "MB"), curve["metadata"]["peaks"])
    compare(report, f"{profile.name} events", answer.events(display), profile.golden("memory_events")["rows"], is_exact, 2)
    for name in ("memory_range", "memory_events_range"):
        ranged = profile.golden(name)
        window = [str(round(ranged[end] * 1000) - start) for end in ("start_ts", "end_ts")]
        part = Answer(profile.analyze("memory", "--from", window[0], "--to", window[1]), first_ns)
        if name == "memory_range":
            compare(report, f"{profile.name} {name}", part.statistics(1024), ranged["answer"]["rows"], True, key=by_name)
        else:
            compare(report, f"{profile.name} {name}", part.events(display), ranged["answer"]["rows"], is_exact, 2)
    return True


def write(folder, name, document):
    path = pathlib.Path(folder) / f"{name}.pt.trace.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def check_unit(report, folder, name):
    if not report.has(tensorboard.GOLDEN / "unit" / f"{name}.json"):
        return
    case = json.loads((tensorboard.GOLDEN / "unit" / f"{name}.json").read_text())
    expected = case["expected"]["worker0"]
    path = write(folder, "worker0", case["workers"][0]["trace"])
    answer = Answer(tensorboard.analyze([path], "memory", "--compat", "tensorboard"), expected["profiler_start_ts"] * 1000 - origin(path))
    compare(report, f"{name} memory", answer.statistics(1, False), expected["memory"], True, key=lambda row: row[0])
    in_us = lambda row: [row[0] * 1000] + [cell * 2 ** 20 for cell in row[1:]]
    curve = {device: [in_us(row) for row in rows] for device, rows in answer.curve().items()}
    compare(report, f"{name} curve", curve, expected["memory_curve"]["rows"], True)
    events = {device: [[row[0], row[1] * 1024] + [t and t * 1000 for t in row[2:]] for row in rows]
              for device, rows in answer.events(float).items()}
    compare(report, f"{name} events", events, expected["memory_events"]["rows"], True)
    report.equal(f"{name} peaks", answer.peaks(1, "B"), expected["memory_curve"]["metadata"]["peaks"])


def lttb(points, wanted):
    """The slow obvious version: largest triangle, three buckets."""
    if len(points) <= wanted:
        return points
    size, longer = divmod(len(points) - 2, wanted - 2)
    runs, at = [], 1
    for index in range(wanted - 2):
        end = at + size + (index < longer)
        runs.append(points[at:end])
        at = end
    kept = [points[0]]
    for index, run in enumerate(runs):
        after = runs[index + 1] if index + 1 < len(runs) else [points[-1]]
        x = sum(point[0] for point in after) / len(after)
        y = sum(point[1] for point in after) / len(after)
        a = kept[-1]
        areas = [0.5 * abs((a[0] - x) * (p[1] - a[1]) - (a[0] - p[0]) * (y - a[1])) for p in run]
        kept.append(run[areas.index(max(areas))])
    return kept + [points[-1]]


def check_functions(report):
    """The definitions that this script computes with, against the recorded pairs."""
    if not report.has(tensorboard.GOLDEN / "unit/functions.json"):
        return
    functions = json.loads((tensorboard.GOLDEN / "unit/functions.json").read_text())
    for case in functions["lttb_sample"]:
        report.equal("lttb as recorded", lttb(case["in"], case["n_out"]), case["out"])
    for case in functions["display_rounder"]:
        report.equal(f"display rounding of {case['in']}", display(case["in"]), case["out"])


def random_curve(seed, count):
    """A trace of one device whose memory goes up and down, and its points with those of the steps."""
    numbers, events, points = random.Random(seed), [], []
    time, total = 1000, 0
    for index in range(count):
        time += numbers.choice([1, 1, 2, 7, 100])
        size = numbers.choice([512, 1024, 2 ** 20, 3 * 2 ** 20]) if total == 0 or numbers.random() < 0.55 else -numbers.randint(1, total)
        total += size
        events.append({"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": time, "args": {
            "Device Type": 1, "Device Id": 0, "Addr": index, "Bytes": size, "Total Allocated": total, "Total Reserved": 2 ** 30}})
        new = [(time - events[0]["ts"]) * 0.001, total * 2 ** -20, 2.0 ** 10]
        if points:
            points.append([new[0]] + points[-1][1:])
        points.append(new)
    return {"traceEvents": events}, points


def check_thinning(report, folder):
    for seed, count, wanted in ((1, 300, 10), (2, 300, 101), (3, 1000, 3), (4, 40, 77), (5, 40, 79), (6, 6000, 10240)):
        document, points = random_curve(seed, count)
        path = write(folder, "curve", document)
        tables = tensorboard.analyze([path], "memory", "--compat", "tensorboard", "--points", wanted)
        first = 1000 * document["traceEvents"][0]["ts"] - origin(path)
        got = [[round(a, 9), b] for a, b, _ in Answer(tables, first).curve()["GPU0"]]
        report.equal(f"thinned curve {seed}", got, [[round(a, 9), b] for a, b, _ in lttb(points, wanted)])
        rows = tensorboard.analyze([path], "memory", "--points", "5")["memory_curve"]
        report.check(f"default curve {seed} keeps the peak", max(row["allocated"] for row in rows) / 2 ** 20 == max(p[1] for p in points))
        report.equal(f"default curve {seed} has the points asked for", len(rows), min(5, count))


def check_default(report):
    """What docs/analyses/differences.md does not list is the same in the default: sums of operators where no backward pass is moved,
    peaks, curve (without the points that make steps), blocks that were released."""
    for profile in tensorboard.profiles():
        if profile.golden("memory") is None:
            continue
        ours, theirs = (Answer(profile.analyze("memory", compat=compat), 0) for compat in (False, True))
        mine, plugin = ours.statistics(1, False), theirs.statistics(1, False)
        report.equal(f"{profile.name}: devices", sorted(mine), sorted(plugin))
        is_moved = any(node["name"].endswith(".backward") for node in nodes_of(profile.golden("tree")))
        for device, rows in plugin.items():
            counted = {row[0]: row for row in mine[device]}
            if not is_moved:
                report.equal(f"{profile.name}: operators of {device}", sorted(row[:1] + row[2:] for row in counted.values()),
                             sorted(row[:1] + row[2:] for row in rows))
            report.check(f"{profile.name}: all calls on {device} count (D24)", all(counted[row[0]][1] >= row[1] for row in rows))
        pick = lambda answer: [(row["device_name"], row["peak_allocated"], row["peak_time"]) for row in answer.tables["memory_peaks"]]
        report.equal(f"{profile.name}: peaks", pick(ours), pick(theirs))
        for device, rows in theirs.curve().items():
            report.equal(f"{profile.name}: curve of {device}", ours.curve()[device], rows[::2])
        released = lambda answer: sorted(tuple(row[1:]) for rows in answer.events(float).values() for row in rows if row[4] is not None)
        report.equal(f"{profile.name}: blocks that were released", released(ours), released(theirs))


def nodes_of(root):
    work = [root] if root else []
    while work:
        node = work.pop()
        work.extend(node["children"])
        yield node


def main():
    report, count = common.Report(), 0
    for profile in tensorboard.profiles():
        count += check_profile(report, profile)
    report.check("profiles with memory were found", count >= (8 if common.HAS_SHARED else 6), f"only {count}")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("memory_view", "memory_curve_step_plot"):
            check_unit(report, folder, name)
        check_thinning(report, folder)
    check_functions(report)
    check_default(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
