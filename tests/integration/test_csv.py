#!/usr/bin/env python3
"""kino convert to CSV gives what `SELECT * FROM event` gives, byte for byte: plain, compressed, several traces, any threads."""
import csv
import gzip
import io
import pathlib
import sys
import tempfile

from support import common

report = common.Report()


def check_same(path, folder, *options):
    out = folder / "out.csv"
    what = f"{path.name} {' '.join(options)}"
    done = common.run("convert", path, out, "--quiet", *options)
    if not report.equal(f"{what}: exit", done.returncode, 0):
        return
    want = common.run("query", path, "select * from event", "--format", "csv", "--quiet")
    report.equal(f"{what}: query", want.returncode, 0)
    report.check(f"{what}: the same bytes", out.read_bytes() == want.stdout)


def check_counts(path, folder):
    """Without SQL: what Python's csv reads is what Python's json reads."""
    common.run("convert", path, folder / "out.csv", "--quiet")
    rows = list(csv.DictReader(io.StringIO((folder / "out.csv").read_text(encoding="utf-8"), newline="")))
    events = common.events_of(common.parse(path.read_bytes()))
    report.equal(f"{path.name}: rows", len(rows), len(events))
    different = []
    for row in rows:
        event = events[int(row["id"])]
        same = row["ph"] == event["ph"] and row["name"] == event["name"] and row["cat"] == event.get("cat", "")
        same = same and (row["dur"] == "" if "dur" not in event else int(row["dur"]) == event["dur"] * 1000)
        same = same and (row["args"] == "" if "args" not in event else common.parse(row["args"].encode()) == event["args"])
        if not same:
            different.append(row)
    report.equal(f"{path.name}: values", different, [])


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        common.run("demo", folder / "demo", "--ranks", "2", "--steps", "2", "--no-info", "--quiet")
        for path in sorted((common.ROOT / "tests/data").glob("*/*.json")):
            check_same(path, folder)
        rank = folder / "demo" / "rank-0.json"
        packed = folder / "rank-0.json.gz"
        packed.write_bytes(gzip.compress(rank.read_bytes(), 1))
        check_same(folder / "demo", folder)
        check_same(rank, folder, "--jobs", "1")
        check_same(rank, folder, "--jobs", "3")
        check_same(packed, folder)
        damaged = folder / "damaged.json"
        damaged.write_bytes(b'[{"ph": "X", "name": "a, \\"b\\"", "pid": "1", "tid": 1.5, "ts": 1, "dur": 1, '
                            b'"args": {"x": N/A, "y": NaN, "z": , }},\n'
                            b'{"ph": "i", "name": "line\\nfeed \xff", "pid": "p,q", "tid": null, "ts": 2, "args": {"s": "\\q"}},')
        check_same(damaged, folder)
        check_counts(rank, folder)
        check_counts(common.ROOT / "tests/data/cli/small.json", folder)
        common.run("convert", rank, folder / "packed.csv.gz", "--quiet")
        common.run("convert", rank, folder / "out.csv", "--quiet")
        report.check("gzip", gzip.decompress((folder / "packed.csv.gz").read_bytes()) == (folder / "out.csv").read_bytes())
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
