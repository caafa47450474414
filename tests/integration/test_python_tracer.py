#!/usr/bin/env python3
"""kino._tracer: calls of Python functions as spans. What was called is known here, so names, counts and callers are exact; and the spans
of each recording must nest. The part about nn.Module uses torch where it is installed. --asan: with a tracer that is built with ASan and UBSan."""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from support import common, sanitized

PACKAGE = pathlib.Path(os.environ.get("KINO_TOOLS") or pathlib.Path(common.program()).parent) / "python"


def run_sanitized():
    """This test again, in a package of links whose tracer is another one."""
    sys.path.insert(0, str(PACKAGE))
    with tempfile.TemporaryDirectory() as folder:
        sanitized.build_tracer(sanitized.link_package(PACKAGE, folder, "_tracer.c*"), "asan")
        return subprocess.run([sys.executable, __file__], env=sanitized.environment("asan", folder), check=False).returncode


if sys.argv[1:] == ["--asan"]:
    sys.exit(run_sanitized())
sys.path.insert(0, str(PACKAGE))
os.environ["KINO_PROGRAM"] = common.program()
try:
    import kino._tracer  # noqa: F401 (is it there for this Python?)
except ImportError as error:
    common.skip(f"NOT TESTED: kino._tracer is not built for this Python ({error})")

from kino import _recorder  # noqa: E402 (the package must be found first)
from tracer import calls, life, lines, modules, names, samples, threads  # noqa: E402 (the package must be found first)


def check_structs(report, folder):
    """What ctypes believes of kino_error is what the compiler says: a smaller one would be written past its end."""
    compiler = shutil.which("cc")
    if compiler:
        source, program = pathlib.Path(folder, "size.c"), pathlib.Path(folder, "size")
        source.write_text("#include <kino/kino.h>\n#include <stdio.h>\nint main(void) { return printf(\"%zu\", sizeof(kino_error)) < 0; }\n")
        subprocess.run([compiler, "-std=gnu11", "-I", common.ROOT / "include", source, "-o", program], check=True)
        size = int(subprocess.run([program], check=True, capture_output=True).stdout)
        report.equal("the size of kino_error", ctypes.sizeof(_recorder.CError), size)


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_structs(report, folder)
        for part in (names, calls, threads, life, modules, lines, samples):
            part.run(report)
        os.chdir("/")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
