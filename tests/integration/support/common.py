"""What the integration scripts share: the program under test, the traces beside the repository, JSON with exact numbers."""
import ctypes
import decimal
import gzip
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
# Traces and the reference implementations' answers: beside the repository, else our own copy of the synthetic ones.
HAS_SHARED = (ROOT.parent / "shared/traces").is_dir()
SHARED = ROOT.parent / "shared" if HAS_SHARED else ROOT / "tests/data/golden"
decimal.getcontext().prec = 60
PRCTL = ctypes.CDLL(None).prctl


def skip(reason):
    print(reason, file=sys.stderr)
    sys.exit(77)


def program():
    path = os.environ.get("KINO")
    if not path or not os.access(path, os.X_OK):
        skip("KINO does not name the program to test")
    return path


def tool(name):
    """A program of the tests: in the folder KINO_TOOLS, or beside the program under test. None when it is not there."""
    folder = pathlib.Path(os.environ.get("KINO_TOOLS") or pathlib.Path(program()).parent)
    return folder / name if os.access(folder / name, os.X_OK) else None


def torch_python():
    """A Python that has torch, and its version; None and None where there is none."""
    installed = ROOT / "build/torch/bin/python"
    python = os.environ.get("TORCH_PYTHON", str(installed) if installed.exists() else sys.executable)
    found = subprocess.run([python, "-c", "import importlib.metadata as m; print(m.version('torch'))"], capture_output=True,
                           text=True, check=False)
    return (python, found.stdout.strip()) if found.returncode == 0 else (None, None)


class Report:
    """Counts checks and remembers what failed."""

    def __init__(self):
        self.passed, self.failures, self.skipped = 0, [], 0

    def check(self, what, held, detail=""):
        if held:
            self.passed += 1
        else:
            self.failures.append(f"{what}: {detail}" if detail else what)
        return held

    def equal(self, what, got, want):
        return self.check(what, got == want, f"got {str(got)[:300]}, want {str(want)[:300]}")

    def has(self, path):
        """Is this recorded answer or trace there? Only ../shared has all of them: what is not compared is said and counted."""
        if not path.exists():
            print(f"not compared: {path.relative_to(SHARED)} is only in ../shared")
            self.skipped += 1
        return path.exists()

    def finish(self, skipped=0):
        skipped += self.skipped
        for failure in self.failures:
            print(f"FAIL {failure}")
        print(f"{self.passed} passed, {len(self.failures)} failed, {skipped} skipped")
        return 1 if self.failures else 0


def hear_interrupts():
    """For preexec_fn: tests may run in the background, whose programs do not hear Ctrl+C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def die_with_parent():
    """For preexec_fn and for children made by fork: a server of a test that failed must not outlive it."""
    PRCTL(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def wait_for_end(pidfd, seconds):
    """Has the process ended, which need not be a child, within so many seconds?"""
    ready, _, _ = select.select([pidfd], [], [], seconds)
    return bool(ready)


def run(*arguments, timeout=60, env=None, **more):
    return subprocess.run([program(), *map(str, arguments)], capture_output=True, timeout=timeout, check=False,
                          env=dict(os.environ, **(env or {})), stdin=subprocess.DEVNULL, **more)


def query(path, sql, *arguments, env=None):
    """The rows of a query as Python values; numbers exact."""
    done = run("query", path, sql, "--format", "json", "--quiet", *arguments, env=env)
    if done.returncode != 0:
        raise RuntimeError(f"kino query {path}: exit {done.returncode}: {done.stderr.decode('utf-8', 'replace')[:300]}")
    return json.loads(done.stdout, parse_float=decimal.Decimal)["tables"][0]["rows"]


def read_bytes(path):
    with (gzip.open(path) if str(path).endswith(".gz") else open(path, "rb")) as file:
        return file.read()


def parse(data):
    """A JSON document with every non-integer number as an exact decimal; NaN and infinities become texts."""
    return json.loads(data.decode("utf-8", "replace"), parse_float=decimal.Decimal, parse_constant=str, strict=False)


def is_execution_trace(path):
    return path.name.endswith("_et.json.gz")


def real_traces():
    """All Chrome JSON traces under ../shared/traces; the script is skipped where there are none."""
    found = sorted(path for path in (SHARED / "traces").glob("**/*") if path.name.endswith((".json", ".json.gz")))
    if not found:
        skip("no ../shared/traces beside the repository")
    return [path for path in found if not is_execution_trace(path)]


def events_of(document):
    return document if isinstance(document, list) else document["traceEvents"]


def json_of(url):
    """What a server of our own answers."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.loads(answer.read())
