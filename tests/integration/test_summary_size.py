#!/usr/bin/env python3
"""What travels of a rank: the default summary has at most 32 kB for a rank of about 1 MB, and with KINO_TIER=all at most 2 % of the .json.gz
for a rank of 100 MB. What is asked for beyond it has no limit."""
import gzip
import os
import pathlib
import shutil
import sys
import tempfile

from support import common

SMALL, SHARE = 32_000, 0.02  # bytes; of the .json.gz
SMALLEST, LARGEST = 1_000_000, 1_600_000  # bytes of JSON: the demo's smallest rank is one step of its model


def run(*arguments):
    done = common.run(*arguments, timeout=240)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())


def check_small(report, top):
    run("demo", top / "small", "--ranks", 4, "--steps", 1, "--no-info", "--no-progress")
    for trace in sorted((top / "small").glob("rank-*.json")):
        size, out = trace.stat().st_size, top / f"{trace.stem}.summary"
        run("summarize", trace, "-o", out, "--quiet")
        report.check(f"{trace.name} is a rank of about 1 MB", SMALLEST <= size <= LARGEST, size)
        report.check(f"the summary of {trace.name}", out.stat().st_size <= SMALL, f"{out.stat().st_size} bytes for {size}")


def check_large(report, top):
    """Two ranks: what they tell about each other is in it."""
    run("demo", top / "large", "--ranks", 2, "--size", "100MB", "--no-info", "--no-progress")
    for trace in sorted((top / "large").glob("rank-*.json")):
        packed, out = trace.with_suffix(".json.gz"), top / f"large-{trace.stem}.summary"
        with open(trace, "rb") as text, gzip.GzipFile(packed, "wb", 6) as target:
            shutil.copyfileobj(text, target, 1 << 20)
        run("summarize", trace, "-o", out, "--quiet")
        share = out.stat().st_size / packed.stat().st_size
        print(f"100 MB, {trace.name}: {out.stat().st_size} bytes, {100 * share:.2f} % of {packed.stat().st_size}")
        report.check(f"{trace.name} is a rank of 100 MB", trace.stat().st_size >= 100e6, trace.stat().st_size)
        report.check(f"the summary of {trace.name}, 100 MB", share <= SHARE, f"{100 * share:.2f} %")


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as top:
        check_small(report, pathlib.Path(top))
        if os.environ.get("KINO_TIER") == "all":
            check_large(report, pathlib.Path(top))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
