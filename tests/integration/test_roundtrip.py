#!/usr/bin/env python3
"""Reading a trace and writing it again gives the same multiset of events, numbers equal as decimals, unknown keys kept, pairs
written as pairs; and the result is strict JSON."""
import gzip
import pathlib
import shutil
import subprocess
import sys
import tempfile

from support import common, same_events

DATA = common.ROOT / "tests/data/chrome"
EVERY_SUFFIX = ("kineto_2024", "odd_values", "pairs_and_async", "backward_thread", "event_sync_trace")


def read_written(path):
    if path.name.endswith(".zst"):
        done = subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True)
        return done.stdout
    return gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()


def check(report, path, suffix, folder):
    what = f"{path.name} as {suffix}"
    out = folder / f"out{suffix}"
    done = common.run("convert", path, out, "--quiet")
    if not report.check(f"{what}: converted", done.returncode == 0, done.stderr.decode()[:300]):
        return
    try:
        data = read_written(out)
        document = same_events.read(data, True)
    except ValueError as problem:
        report.check(f"{what}: strict JSON", False, str(problem))
        return
    source = same_events.read(common.read_bytes(path), False)
    report.equal(f"{what}: form", isinstance(document, list), isinstance(source, list))
    got = same_events.count(common.events_of(document))
    want = same_events.count(common.events_of(source))
    report.check(f"{what}: events", got == want, same_events.first_difference(got, want))
    if isinstance(source, dict):
        metadata = {key: value for key, value in source.items() if key != "traceEvents"}
        written = {key: value for key, value in document.items() if key != "traceEvents"}
        report.equal(f"{what}: top-level keys", written, metadata)
    if path.parent == DATA:
        tool = subprocess.run([sys.executable, "-m", "json.tool", "-", "/dev/null"], input=data, capture_output=True, check=False)
        report.check(f"{what}: json.tool", tool.returncode == 0, tool.stderr.decode()[:200])
        # reading what was written and writing it again changes nothing at all
        again = folder / f"again{suffix}"
        report.equal(f"{what}: converted again", common.run("convert", out, again, "--quiet").returncode, 0)
        report.equal(f"{what}: the same bytes again", read_written(again), data)
        again.unlink()
    out.unlink()


def main():
    common.program()
    report, skipped = common.Report(), 0
    paths = sorted(DATA.glob("*.json"))
    if (common.SHARED / "traces").exists():
        paths += common.real_traces()
    else:
        print("no ../shared/traces beside the repository: only tests/data", file=sys.stderr)
        skipped += 1
    with tempfile.TemporaryDirectory() as name:
        for path in paths:
            suffixes = [".json"]
            if path.name.startswith(EVERY_SUFFIX):
                suffixes += [".json.gz"] + ([".json.zst"] if shutil.which("zstd") else [])
            for suffix in suffixes:
                check(report, path, suffix, pathlib.Path(name))
    return report.finish(skipped)


if __name__ == "__main__":
    sys.exit(main())
