#!/usr/bin/env python3
"""import kino, from the build tree: answers equal those of the program, through every DataFrame library; errors, threads, Ctrl-C, forks,
leaks, doc strings. Packages are those of build/python (tools/install-python); without them their part is left out, loudly."""
import os
import pathlib
import sys
import tempfile

from support import common

# Packages of others are not built for sanitizers: the extension is tested alone then.
IS_SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
VENV = common.ROOT / "build/python"
PACKAGE = pathlib.Path(os.environ.get("KINO_TOOLS") or pathlib.Path(common.program()).parent) / "python"

if (VENV / "installed").exists() and not IS_SANITIZED and pathlib.Path(sys.prefix).resolve() != VENV.resolve():
    os.execv(VENV / "bin/python", [str(VENV / "bin/python"), __file__])
if not list((PACKAGE / "kino").glob("_engine*.so")):
    common.skip("NOT TESTED: kino._engine is not built (tools/install-deps python)")
sys.path.insert(0, str(PACKAGE))
os.environ["KINO_PROGRAM"] = common.program()

from python import api, board, compare, docs, life, remote, serving  # noqa: E402 (the package must be found first)


def plain_program(folder):
    """The program without the sanitizer's library, which is for the extension: with it, libraries of others wait for ever at exit."""
    path = pathlib.Path(folder) / "kino"
    path.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec "{common.program()}" "$@"\n')
    path.chmod(0o755)
    return str(path)


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as programs:
        if IS_SANITIZED:
            os.environ["KINO_PROGRAM"] = plain_program(programs)
        os.chdir(folder)
        for module in (api, compare, life, docs, serving, remote, board):
            module.run(report)
        os.chdir("/")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
