"""The bridge to PyTorch, kino._tracer and libkino, all built with a sanitizer, under profile_stress.py. libkino is made of build/asan/libkino.a or build/tsan/libkino.a."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from support import common, sanitized, with_torch

LIBRARY = "libkino.so.0"
BUILD = """
import os, subprocess, sys, torch
from kino import _bridge
from support import sanitized
copy, kind = sys.argv[1:]
from pathlib import Path
sanitized.build_tracer(Path(copy), kind)
subprocess.run([*_bridge._command(torch, "kino_torch", f"{copy}/_native/kino_torch.so"), *sanitized.flags(kind)], check=True)
"""


def make_package(folder, kind, library):
    """Links, but the sanitizer's three libraries; _native is a folder of its own."""
    copy = sanitized.link_package(with_torch.PACKAGE, folder, "_tracer.c*", "_native")
    (copy / "_native").mkdir()
    for path in (with_torch.PACKAGE / "kino/_native").iterdir():
        if path.name not in (LIBRARY, "kino_torch.so"):
            (copy / "_native" / path.name).symlink_to(path.resolve())
    subprocess.run(["gcc", "-shared", *sanitized.flags(kind), "-Wl,--whole-archive", library, "-Wl,--no-whole-archive", f"-Wl,-soname,{LIBRARY}",
                    "-Wl,-z,nodelete", "-o", copy / "_native" / LIBRARY, "-lpthread", "-ldl", "-lm"], check=True)
    return copy


def run(kind):
    python = common.torch_python()[0]
    library = common.ROOT / "build" / kind / "libkino.a"
    if not python or not library.exists():
        common.skip(f"NOT TESTED: needs a Python with torch, and {library}")
    report = common.Report()
    with tempfile.TemporaryDirectory() as folder:
        copy = make_package(folder, kind, library)
        plain = {**os.environ, "PYTHONPATH": os.pathsep.join([str(copy.parent), str(pathlib.Path(__file__).parent.parent)])}
        subprocess.run([python, "-c", BUILD, str(copy), kind], check=True, env=plain)
        work = pathlib.Path(folder, "work")
        work.mkdir()
        done = subprocess.run([python, "-W", "ignore", "-m", "python.profile_stress", *(["fork"] if kind == "asan" else [])], cwd=work,
                              env=sanitized.environment(kind, folder), capture_output=True, text=True, check=False, timeout=1500)
    said = done.stderr.count("WARNING: ThreadSanitizer") + done.stderr.count("ERROR: AddressSanitizer") + done.stderr.count("runtime error")
    report.equal(f"{kind}: reports", said, 0)
    if not report.equal(f"{kind}: the program ends well", done.returncode, 0):
        print(done.stderr[-20000:], file=sys.stderr)
        return report.finish()
    answers = json.loads(done.stdout)
    report.check(f"{kind}: each window has operators", answers["smallest_window"] > 0, answers)
    report.equal(f"{kind}: the trace on request is there", answers["requested"], 1)
    report.check(f"{kind}: collectives", answers["collectives"] >= 50, answers)
    report.equal(f"{kind}: a child of fork", answers.get("forked", 0), 0)
    return report.finish()
