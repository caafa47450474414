#!/usr/bin/env python3
"""Units are the same everywhere: the web UI's list is the program's, and the texts that both are tested with are those of the definition."""
import importlib.util
import subprocess
import sys

from support import common

DATA = common.ROOT / "tests/data"


def main():
    report = common.Report()
    done = subprocess.run([common.ROOT / "tools/make-web-units", "--check"], capture_output=True, text=True, check=False)
    report.check("web/src/units.ts is what the lists of the program say", done.returncode == 0, done.stdout)
    spec = importlib.util.spec_from_file_location("units", DATA / "units.py")
    units = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(units)
    report.equal("tests/data/units.tsv is what tests/data/units.py makes", (DATA / "units.tsv").read_text(), "\n".join(units.lines()) + "\n")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
