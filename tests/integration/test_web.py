#!/usr/bin/env python3
"""The web UI: its size, its unit tests, and every page in a real browser against `kino serve`, its numbers compared with `kino analyze`.

Skipped, loudly, where npm, its packages or Chromium cannot be had."""
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from support import common

WEB = common.ROOT / "web"
START_SECONDS = 20
MOST_BYTES = 250_000  # of all scripts and styles, packed
# Options of `kino demo --plant` by the name of the run: few ranks and steps, and a straggler that is one.
PLANTED = {
    "device": ("device-straggler", "--ranks", "4", "--seed", "3", "--strength", "150"),
    "gloo": ("gloo-sleep", "--ranks", "2", "--steps", "8", "--seed", "4", "--strength", "300"),
    "clean": ("clean", "--ranks", "2", "--seed", "3"),
    "processes": ("processes", "--ranks", "2", "--seed", "3"),
    "pointwise": ("pointwise", "--seed", "3"),
    "missing": ("missing-steps", "--ranks", "4", "--seed", "3"),
    "nested": ("nested", "--ranks", "2", "--seed", "3"),
}


class Server:
    """`kino serve` on a free port."""

    def __init__(self, *paths):
        self.process = subprocess.Popen([common.program(), "serve", *map(str, paths), "--port", "0"], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+[^ ?]*(?=/)", line)
        if not found:
            raise RuntimeError(f"kino serve did not say where it is: {line!r}")
        self.url = found.group()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=START_SECONDS)


def node_path():
    """Where the Node that built the UI is, when the machine's own is too old (tools/build-web)."""
    return os.pathsep.join([*map(str, (common.ROOT / "build/web/node/node_modules").glob("*/bin")), os.environ["PATH"]])


def vitest(report, what, arguments, env=None):
    """Runs tests of Vitest and counts each."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [str(WEB / "node_modules/.bin/vitest"), "run", *arguments, "--reporter=default", "--reporter=json", f"--outputFile.json={out.name}"]
        done = subprocess.run(command, cwd=WEB, env=dict(os.environ, PATH=node_path(), **(env or {})), capture_output=True, text=True, timeout=900, check=False)
        answer = pathlib.Path(out.name).read_text()
    for line in done.stdout.splitlines():
        if "frames/s" in line or "scrolled" in line:
            print(re.sub(r"\x1b\[[0-9;]*m", "", line))
    if not report.check(f"{what}: the tests ran", bool(answer), done.stdout[-2000:] + done.stderr[-2000:]):
        return
    for file in json.loads(answer)["testResults"]:
        report.check(f"{what}: {file['name']} loads", file["status"] == "passed" or file["assertionResults"], file.get("message", "")[:600])
        for test in file["assertionResults"]:
            report.check(f"{what}: {test['fullName']}", test["status"] == "passed", " ".join(test["failureMessages"])[:1200])


def build():
    """The packages and the UI, as the build of the program makes them."""
    done = subprocess.run([common.ROOT / "tools/build-web", common.ROOT / "build/web"], capture_output=True, text=True, timeout=600, check=False)
    if done.returncode == 77:
        common.skip(done.stderr.strip())
    if done.returncode != 0:
        print(done.stdout + done.stderr)
        print("0 passed, 1 failed, 0 skipped")
        sys.exit(1)


def check_size(report):
    """The bundle is part of the program and of every first visit."""
    files = [f for f in (common.ROOT / "build/web/dist").rglob("*") if f.suffix in (".js", ".css", ".html")]
    size = sum(len(gzip.compress(f.read_bytes(), 9)) for f in files)
    print(f"the UI has {size} bytes, packed")
    report.check("the UI is there", len(files) > 2)
    report.check(f"the UI has at most {MOST_BYTES} bytes, packed", size <= MOST_BYTES, f"it has {size}")


def write_bare(path):
    """Operators of one thread, cut off before the end: no device, steps, memory or ranks."""
    events = [{"ph": "X", "cat": "cpu_op", "name": f"aten::op{i % 3}", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 8} for i in range(50)]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events})[:-40])


def plant(folder):
    """Runs with a known truth, for what the pages must agree on."""
    folder.mkdir()
    for name, options in PLANTED.items():
        done = common.run("demo", folder / name, "--plant", *options, "--truth", f"{folder / name}.truth", "--no-info", "--quiet")
        if done.returncode != 0:
            raise RuntimeError(f"kino demo --plant {options[0]}: {done.stderr.decode()}")


def main():
    report = common.Report()
    build()
    check_size(report)
    vitest(report, "unit", [])
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        print("SKIPPED: chromium is not installed: no page was opened in a browser")
        return report.finish(skipped=1)
    with tempfile.TemporaryDirectory() as folder:
        run, many, planted, wide = (pathlib.Path(folder) / name for name in ("run", "many", "planted", "wide"))
        many.mkdir()
        for path, options in ((run, ()), (wide, ("--ranks", "40", "--steps", "3", "--size", "400KB")), (many / "a", ("--ranks", "2")), (many / "b", ("--ranks", "2", "--seed", "7", "--steps", "5"))):
            common.run("demo", path, *options)
        plant(planted)
        bare = pathlib.Path(folder) / "bare.json"
        write_bare(bare)
        with Server(run) as one, Server(many) as two, Server(planted) as three, Server(wide) as four, Server(bare) as five, Server(run, "--base-path", "/team/kino/") as below:
            with_ui = common.json_of(one.url + "/api/v1/status")["ui"]
            if report.check("the program has the UI in it", with_ui, "built without npm? build again"):
                vitest(report, "browser", ["--config", "e2e/vitest.config.ts"],
                       {"KINO_URL": one.url, "KINO_RUN": str(run), "KINO_MANY_URL": two.url, "KINO_MANY": str(many), "KINO_PLANTED_URL": three.url, "KINO_BELOW_URL": below.url, "KINO_WIDE_URL": four.url, "KINO_WIDE": str(wide), "KINO_BARE_URL": five.url,
                        "KINO_PLANTED": str(planted), "KINO_CHROMIUM": chromium})
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
