"""What tests of notebooks and of TensorBoard share: the environment build/notebook, the package of the build tree in it, and a browser."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tomllib

from support import common

VENV = common.ROOT / "build/notebook"


def need():
    """Skips the script where its packages or Chromium are not there."""
    if os.environ.get("KINO_TIER") != "all":
        common.skip("only with KINO_TIER=all (make test-all): needs many packages")
    if not (VENV / "installed").exists():
        common.skip("NOT TESTED: TensorBoard, nbclient and Jupyter are not installed (tools/install-notebook)")


def environment(folder):
    """Variables for programs of build/notebook that find the package of the build tree as if it were installed, entry points included."""
    package = pathlib.Path(os.environ.get("KINO_TOOLS") or pathlib.Path(common.program()).parent) / "python"
    if not list((package / "kino").glob("_engine*.so")):
        common.skip("NOT TESTED: kino._engine is not built (tools/install-deps python)")
    project = tomllib.loads((common.ROOT / "python/pyproject.toml").read_text())["project"]
    info = pathlib.Path(folder) / "installed" / f"kino_profiler-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [line for group, entries in project["entry-points"].items() for line in (f"[{group}]", *(f"{k} = {v}" for k, v in entries.items()))]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return {**os.environ, "PYTHONPATH": f"{info.parent}{os.pathsep}{package}", "KINO_PROGRAM": common.program(), "MPLBACKEND": "",
            "PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ['PATH']}"}


class Program:
    """A server that says on standard error where it is: `found` is what matched, None when it ended before."""

    def __init__(self, command, where, **options):
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=common.die_with_parent, **options)
        self.said, self.found = [], None
        for line in self.process.stderr:
            self.said.append(line)
            self.found = re.search(where, line)
            if self.found:
                break

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(30)
        self.process.stderr.close()


def chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser")


def node():
    """The Node that built the UI, when the machine's own is too old (tools/build-web)."""
    found = sorted((common.ROOT / "build/web/node/node_modules").glob("*/bin/node"))
    return str(found[0]) if found else shutil.which("node")


def can_browse(report):
    """Is there a browser, and what drives it?"""
    if chromium() and node() and (common.ROOT / "web/node_modules/playwright-core").exists():
        return True
    print("NOT TESTED: no page was opened in a browser: chromium, node or web/node_modules is missing")
    report.skipped += 1
    return False


def browse(**what):
    """What a frame of a page shows; see frame.mjs."""
    task = {"web": str(common.ROOT / "web"), "chromium": chromium(), "shots": os.environ.get("KINO_SHOTS"), **what}
    done = subprocess.run([node(), common.ROOT / "tests/integration/support/frame.mjs", json.dumps(task)], capture_output=True, text=True,
                          timeout=600, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else {"failed": done.stderr[-1500:]}
