#!/usr/bin/env python3
"""kino.profile beside torch.profiler.profile: the same training loops with the same options give the same operators, counts, nesting, shapes,
types, sequence numbers, forward-backward pairs, allocations, averages, tables and step marks. The differences are those of docs/python/profiler.md, and
nothing else. Runs under the Python that has torch."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from support import common

PACKAGE = pathlib.Path(os.environ.get("KINO_TOOLS") or pathlib.Path(common.program()).parent) / "python"


def begin():
    """Under the Python with torch, with the package and a cache of its own."""
    python, _ = common.torch_python()
    if not python:
        common.skip("NOT TESTED: there is no Python with torch (tools/install-torch)")
    if not shutil.which("g++") and not shutil.which("c++"):
        common.skip("NOT TESTED: there is no C++ compiler for the bridge to PyTorch")
    if not (PACKAGE / "kino/_native/libkino.so.0").exists():
        common.skip("NOT TESTED: the Python package is not built with libkino")
    if os.environ.get("KINO_PROFILE_TEST") != "1":
        with tempfile.TemporaryDirectory() as cache:
            paths = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
            done = subprocess.run([python, __file__], check=False, env={**os.environ, "KINO_PROFILE_TEST": "1", "PYTHONPATH": paths,
                                                                       "XDG_CACHE_HOME": cache})
        sys.exit(done.returncode)


if __name__ == "__main__":
    begin()

from python import profile_compare, profile_docs, profile_life, profile_ranks  # noqa: E402 (they need torch)


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        profile_life.check_idle(report)  # first: nothing has been recorded yet
        profile_compare.run(report)
        profile_life.run(report)
        profile_ranks.run(report)
        profile_docs.run(report)
        os.chdir("/")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
