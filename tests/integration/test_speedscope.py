#!/usr/bin/env python3
"""Do our speedscope files open in speedscope? Its published importer reads them here, and must find every span that has a
length, at its time. The package is fetched with npm once, into the user's cache, never into the tree; without node, npm or the
network the test is skipped."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

from support import common, stacks

VERSION = "1.25.0"
IMPORTER = pathlib.Path(__file__).resolve().parent / "support" / "speedscope_import.js"
report = common.Report()


def find_package():
    """The unpacked package."""
    for tool in ("node", "npm"):
        if not shutil.which(tool):
            common.skip(f"SKIPPED: '{tool}' is not installed, so speedscope's importer cannot be tried")
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kino-tests"
    package = cache / f"speedscope-{VERSION}"
    if (package / "package.json").exists():
        return package
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as name:
            subprocess.run(["npm", "pack", f"speedscope@{VERSION}", "--pack-destination", name, "--silent"], check=True, timeout=120,
                           capture_output=True, cwd=name)
            with tarfile.open(next(pathlib.Path(name).glob("*.tgz"))) as archive:
                archive.extractall(name)
            if not package.exists():
                os.rename(pathlib.Path(name) / "package", package)
    except (OSError, StopIteration, tarfile.TarError, subprocess.SubprocessError) as error:
        detail = getattr(error, "stderr", None) or b""
        common.skip(f"SKIPPED: cannot fetch speedscope {VERSION} with npm: {error} {detail.decode(errors='replace')[-300:]}")
    return package


def open_in_speedscope(package, path):
    done = subprocess.run(["node", str(IMPORTER), str(package), str(path)], capture_output=True, timeout=120)
    if not report.check(f"{path.name} opens", done.returncode == 0, done.stderr.decode(errors="replace")[-500:]):
        return None
    return json.loads(done.stdout)


def check(package, path, folder, kind):
    what = f"{path.name} {kind}"
    out = folder / f"{path.stem}-{kind}.speedscope.json"
    if not report.equal(f"{what}: exit", common.run("convert", path, out, "--quiet", "--stacks", kind).returncode, 0):
        return
    group = open_in_speedscope(package, out)
    if group is None:
        return
    lanes = [lane for spans in stacks.spans_by_track(path).values() for lane in stacks.lanes_of(stacks.chosen(spans, kind))]
    start = min(s.start for lane in lanes for s in lane)
    end = max(s.end for lane in lanes for s in lane)
    want = sorted(sorted((s.name, s.start - start, s.end - start) for s in lane if s.end > s.start) for lane in lanes)
    got = sorted(sorted(map(tuple, profile["calls"])) for profile in group["profiles"])
    report.equal(f"{what}: spans", got, want)
    report.equal(f"{what}: length", {p["total"] for p in group["profiles"]}, {end - start})
    report.equal(f"{what}: 1500 is so many ns", {p["formatted"] for p in group["profiles"]}, {"1.50µs"})
    report.equal(f"{what}: name", group["name"], path.name)
    names = [p["name"] for p in group["profiles"]]
    report.equal(f"{what}: names are distinct", len(set(names)), len(names))


def main():
    common.program()
    package = find_package()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        common.run("demo", folder / "demo", "--ranks", "2", "--steps", "2", "--no-info", "--quiet")
        for kind in ("combined", "python", "op"):
            check(package, folder / "demo" / "rank-1.json", folder, kind)
        for seed in (1, 2):
            stacks.write_overlapping(folder / f"random-{seed}.json", seed)
            check(package, folder / f"random-{seed}.json", folder, "combined")
        check(package, common.ROOT / "tests/data/cli/small.json", folder, "op")
        common.run("convert", folder / "demo", folder / "run.speedscope.json", "--quiet")
        run = open_in_speedscope(package, folder / "run.speedscope.json")
        if run:
            ranks = {profile["name"].split(",")[0] for profile in run["profiles"]}
            report.equal("several ranks", ranks, {"rank 0", "rank 1"})
            report.check("a host thread is shown first", "python" in run["profiles"][run["indexToView"]]["name"])
        broken = json.loads((folder / "run.speedscope.json").read_text(encoding="utf-8"))
        broken["profiles"][0]["events"].pop()
        (folder / "broken.speedscope.json").write_text(json.dumps(broken), encoding="utf-8")
        done = subprocess.run(["node", str(IMPORTER), str(package), str(folder / "broken.speedscope.json")], capture_output=True)
        report.check("the importer refuses a broken file", done.returncode != 0 and b"non-empty stack" in done.stderr)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
