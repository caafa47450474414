"""For scripts that need torch and the Python package: under the Python that has torch, with a cache of their own for what is built."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from support import common

PACKAGE = pathlib.Path(os.environ.get("KINO_TOOLS") or pathlib.Path(common.program()).parent) / "python"


def enter(script, python=None):
    """Returns under that Python; elsewhere the script runs again there, and this process ends with its exit code."""
    if os.environ.get("KINO_PROFILE_TEST") == "1":
        return
    python = python or common.torch_python()[0]
    if not python:
        common.skip("NOT TESTED: there is no Python with torch (tools/install-torch)")
    if not shutil.which("g++") and not shutil.which("c++"):
        common.skip("NOT TESTED: there is no C++ compiler for the bridge to PyTorch")
    if not (PACKAGE / "kino/_native/libkino.so.0").exists():
        common.skip("NOT TESTED: the Python package is not built with libkino")
    with tempfile.TemporaryDirectory() as cache:
        paths = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run([python, script, *sys.argv[1:]], check=False,
                              env={**os.environ, "KINO_PROFILE_TEST": "1", "PYTHONPATH": paths, "XDG_CACHE_HOME": cache, "KINETO_LOG_LEVEL": "99",
                                   "KINO_PROGRAM": common.program()})
    sys.exit(done.returncode)
