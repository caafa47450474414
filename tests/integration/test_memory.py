#!/usr/bin/env python3
"""Runs larger than --memory: the same answers, byte by byte, as with all traces in memory, in every format; and memory that stays bounded
while the number of traces grows."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from support import common

SAMPLES = ("hta/synth_8rank", "hta/sampled_2rank", "tb/synthetic/ddp_nccl_s11", "tb/synthetic/lightning_s11")
# Of a demo only some: they read arguments and links, and make texts of their own.
SOME = ("completeness", "critical-path", "memory", "operators", "recommendations", "stragglers")


def check_same(report, what, path, command, *arguments):
    """The output of a command with all in memory, and with as little as can be: one trace for each thread."""
    made = []
    for limit in (("--memory", "0", "--jobs", "2"), ("--memory", "1", "--jobs", "1")):
        done = common.run(*command, path, "--format", "json", *limit, *arguments)
        made.append((done.returncode, done.stdout, done.stderr))
    report.check(what, made[0] == made[1], made[1][2].decode("utf-8", "replace")[:200])


def catalogue():
    done = common.run("analyze", "--list", "--format", "json")
    table = json.loads(done.stdout)["tables"][0]
    return [row[0] for row in table["rows"]]


def check_samples(report, names):
    """Returns how many are missing."""
    missing = 0
    for sample in SAMPLES:
        folder = common.SHARED / "traces" / sample
        if not folder.is_dir():
            missing += 1
            continue
        for name in names:
            check_same(report, f"{name} of {sample}", folder, ("analyze", name), "--span", "newest")
        check_same(report, f"report of {sample}", folder, ("report", "--full"))
    return missing


def check_formats(report, folder):
    for suffix in ("none", "gz", "zst"):
        run = folder / suffix
        common.run("demo", run, "--ranks", "3", "--steps", "2", "--size", "500kB", "--compress", suffix, "--no-info")
        for name in SOME:
            check_same(report, f"{name} of {suffix}", run, ("analyze", name))
        check_same(report, f"check of {suffix}", run, ("check",))
    for rank in range(3):
        common.run("convert", folder / "none" / f"rank-{rank}.json", folder / f"kino/rank-{rank}.kino")
    for name in SOME:
        check_same(report, f"{name} of kino", folder / "kino", ("analyze", name))


def peak(*arguments):
    """Megabytes at the highest."""
    child = subprocess.Popen([common.program(), *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss / 1024 if child.returncode == 0 else float("inf")


def check_bounds(report, folder):
    """The same trace many times: with a limit it makes no difference how often."""
    common.run("demo", folder / "one", "--ranks", "1", "--size", "6MB", "--no-info")
    trace = folder / "one" / "rank-0.json"
    for count in (4, 40):
        (folder / str(count)).mkdir()
        for rank in range(count):
            (folder / str(count) / f"rank-{rank}.json").symlink_to(trace)
    for command in (("analyze", "idle-time"), ("analyze", "memory"), ("report",), ("check",)):
        few = peak(*command, folder / "4", "--jobs", "2", "--memory", "2MB")
        many = peak(*command, folder / "40", "--jobs", "2", "--memory", "2MB")
        whole = peak(*command, folder / "40", "--jobs", "2", "--memory", "0")
        report.check(f"{' '.join(command)}: memory of 40 traces", many < few + 20 and whole > many + 20,
                     f"4 traces take {few:.0f} MB, 40 take {many:.0f} MB, without a limit {whole:.0f} MB")


def main():
    report = common.Report()
    missing = check_samples(report, catalogue())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "kino").mkdir()
        check_formats(report, folder)
        if "san" in os.environ.get("KINO", ""):
            print("memory is not measured with a sanitizer", file=sys.stderr)
        else:
            check_bounds(report, folder)
    if missing:
        print(f"{missing} samples of ../shared/traces are not there", file=sys.stderr)
    return report.finish(missing)


if __name__ == "__main__":
    sys.exit(main())
