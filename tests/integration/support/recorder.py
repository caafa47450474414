"""What the scripts about device recording share: where the libraries are, building the examples, reading a trace."""
import json
import os
import pathlib
import shutil
import subprocess
from decimal import Decimal

from . import common

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}


def library(name):
    """A shared library beside the program under test; skips where it was not built."""
    path = pathlib.Path(os.environ.get("KINO_LIBRARIES") or pathlib.Path(common.program()).resolve().parent) / name
    if not path.exists():
        common.skip(f"{name} is not beside the program: nothing to test")
    if b"__asan_init" in path.read_bytes() or b"__tsan_init" in path.read_bytes():
        common.skip(f"{name} is built with a sanitizer: programs that load it would need one as well")
    return path


def compiler():
    found = shutil.which(os.environ.get("CC", "cc"))
    if not found or not shutil.which("make"):
        common.skip("no C compiler or no make: the examples cannot be built")
    return found


def build(example, out):
    """Builds examples/<example> by its own Makefile against the libraries under test; its compiler output on failure."""
    folder = library("libkino.so").parent
    done = subprocess.run(["make", "-s", "-C", str(common.ROOT / "examples" / example), f"OUT={out}", f"CC={compiler()}",
                           f"KINO_CFLAGS=-I{common.ROOT / 'include'}",
                           f"KINO_LIBS=-L{folder} -lkino -Wl,-rpath,{folder}"], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else done.stdout


def execute(*command, env=None, timeout=60):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout, check=False,
                          env=dict(os.environ, **(env or {})), stdin=subprocess.DEVNULL)


def ns(number):
    """A time of the file, microseconds with three decimals, as ns."""
    return int(Decimal(number) * 1000)


class Trace:
    def __init__(self, path):
        self.all = json.loads(pathlib.Path(path).read_text(encoding="utf-8"), parse_float=Decimal)
        self.events = self.all["traceEvents"]
        self.spans = [e for e in self.events if e["ph"] == "X" and e.get("cat") != "Trace"]
        self.work = [e for e in self.spans if e["cat"] in DEVICE]
        self.calls = [e for e in self.spans if e["cat"] == "privateuse1_runtime"]

    def start(self, event):
        return ns(event["ts"])

    def end(self, event):
        return ns(event["ts"]) + ns(event["dur"])

    def flows(self, point):
        return {e["id"]: e for e in self.events if e["ph"] == point and e.get("cat") == "ac2g"}
