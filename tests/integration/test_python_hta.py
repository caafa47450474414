#!/usr/bin/env python3
"""kino.hta, HTA's interface on the engine: HTA's names, its recorded answers, side by side with HTA itself, doc strings. Runs in build/hta, which has HTA,
networkx and plotly (tools/install-hta), else in build/python, which has pandas; what is missing is left out, loudly."""
import os
import pathlib
import subprocess
import sys
import tempfile

from support import common

PACKAGE = pathlib.Path(os.environ.get("KINO_TOOLS") or pathlib.Path(common.program()).parent) / "python"
VENVS = [common.ROOT / "build" / name for name in ("hta", "python") if (common.ROOT / "build" / name / "installed").exists()]

if VENVS and not any(pathlib.Path(sys.prefix).resolve() == venv.resolve() for venv in VENVS):
    os.execv(VENVS[0] / "bin/python", [str(VENVS[0] / "bin/python"), __file__])
if not list((PACKAGE / "kino").glob("_engine*.so")):
    common.skip("NOT TESTED: kino._engine is not built (tools/install-deps python)")
try:
    import pandas  # noqa: F401
except ImportError:
    common.skip("NOT TESTED: pandas is not installed (tools/install-hta, tools/install-python)")
sys.path.insert(0, str(PACKAGE))

# Without KINO_TIER=all the traces of thousands of events are left out.
from python import hta_api, hta_docs, hta_golden, hta_interface, hta_peer  # noqa: E402 (the package must be found first)


def check_needs(report):
    """Without pandas there is an error that says so, and the rest of the package works."""
    code = f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); import kino, kino.hta"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False)
    report.check("without pandas", "ImportError: kino.hta needs pandas" in done.stderr, done.stderr[-300:])


def main():
    report = common.Report()
    check_needs(report)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for module in (hta_api, hta_interface, hta_golden, hta_peer, hta_docs):
            module.run(report)
        os.chdir("/")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
