#!/usr/bin/env python3
"""Collapsed stacks and speedscope files against stacks that Python makes from the same JSON: every stack, its own time and its
calls; sums equal the trace's totals; every span is in a speedscope file once, whole, in strict order."""
import collections
import json
import pathlib
import sys
import tempfile

from support import common, stacks

CLEAN = {ord(";"): ",", **{c: " " for c in list(range(32)) + [127]}}
report = common.Report()


def collapsed(path, out, *options):
    done = common.run("convert", path, out, "--quiet", *options)
    if done.returncode != 0:
        return None
    totals = collections.Counter()
    for line in out.read_text(encoding="utf-8").splitlines():
        stack, number = line.rsplit(" ", 1)
        totals[tuple(stack.split(";")[1:])] += int(number)  # without the track's name
    return totals


def check_collapsed(path, folder):
    tracks = stacks.spans_by_track(path)
    for kind in ("combined", "python", "op"):
        lanes = [lane for spans in tracks.values() for lane in stacks.lanes_of(stacks.chosen(spans, kind))]
        time, calls = collections.Counter(), collections.Counter()
        for lane in lanes:
            for stack, own in stacks.stacks_of(lane):
                names = tuple(name.translate(CLEAN) for name in stack)
                time[names] += own
                calls[names] += 1
        what = f"{path.name} {kind}"
        got = collapsed(path, folder / "out.folded", "--stacks", kind)
        if not lanes:
            report.check(f"{what}: refused", got is None)
            continue
        report.equal(f"{what}: own times", got, +time)
        # The totals, from the spans alone: the bottom spans of each lane.
        bottom = 0
        for lane in lanes:
            end = None
            for span in lane:
                if end is None or span.start >= end:
                    bottom += span.end - span.start
                    end = span.end
        report.equal(f"{what}: sum of times", sum(got.values()), bottom)
        got = collapsed(path, folder / "out.collapsed", "--stacks", kind, "--weight", "count")
        report.equal(f"{what}: calls", got, calls)
        report.equal(f"{what}: sum of calls", sum(got.values()), sum(len(stacks.chosen(spans, kind)) for spans in tracks.values()))


def read_profile(profile, frames):
    """The spans of a profile as (name, start, end); every rule of the format is checked on the way."""
    spans, opened, last = [], [], profile["startValue"]
    for event in profile["events"]:
        assert last <= event["at"] <= profile["endValue"], "times go back"
        last = event["at"]
        if event["type"] == "O":
            opened.append(event)
        else:
            begun = opened.pop()
            assert event["type"] == "C" and begun["frame"] == event["frame"], "closes another frame"
            spans.append((frames[event["frame"]]["name"], begun["at"], event["at"]))
    assert not opened, "something is left open"
    return spans


def check_speedscope(path, folder):
    tracks = stacks.spans_by_track(path)
    out = folder / "out.speedscope.json"
    for kind in ("combined", "python", "op"):
        want = [[(s.name, s.start, s.end) for s in lane] for spans in tracks.values() for lane in
                stacks.lanes_of(stacks.chosen(spans, kind))]
        done = common.run("convert", path, out, "--quiet", "--stacks", kind)
        what = f"{path.name} speedscope {kind}"
        if not want:
            report.check(f"{what}: refused", done.returncode == 1 and b"no " in done.stderr)
            continue
        if not report.equal(f"{what}: exit", done.returncode, 0):
            continue
        document = json.loads(out.read_text(encoding="utf-8"))
        report.equal(f"{what}: schema", document["$schema"], "https://www.speedscope.app/file-format-schema.json")
        names = [frame["name"] for frame in document["shared"]["frames"]]
        report.equal(f"{what}: frames", len(names), len(set(names)))
        report.check(f"{what}: shown", 0 <= document["activeProfileIndex"] < len(document["profiles"]))
        got = [read_profile(profile, document["shared"]["frames"]) for profile in document["profiles"]]
        origin = min(start for lane in want for _, start, _ in lane)
        shift = origin - min(start for lane in got for _, start, _ in lane)
        report.equal(f"{what}: spans", sorted(sorted((n, a + shift, b + shift) for n, a, b in lane) for lane in got),
                     sorted(sorted(lane) for lane in want))
        report.equal(f"{what}: units", {profile["unit"] for profile in document["profiles"]}, {"nanoseconds"})


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        common.run("demo", folder / "demo", "--ranks", "1", "--steps", "2", "--no-info", "--quiet")
        paths = [folder / "demo" / "rank-0.json", common.ROOT / "tests/data/cli/small.json"]
        for seed in range(20):
            paths.append(folder / f"random-{seed}.json")
            stacks.write_overlapping(paths[-1], seed)
        for path in paths:
            check_collapsed(path, folder)
            check_speedscope(path, folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
