#!/usr/bin/env python3
"""Does the benchmark measure the program, and not itself? Programs of known size, started from a process that had far more."""
import importlib.machinery
import importlib.util
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MEGABYTE = 1_000_000
LARGE, SMALL, SIZES = 400, 20, (60, 150)  # MB


def load_bench():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("run_bench", str(ROOT / "tools/run-bench"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_bench", loader))
    loader.exec_module(module)
    return module


def check_peaks(bench, problems):
    """What a program holds is seen, whatever this process has had."""
    has_had = bytearray(LARGE * MEGABYTE)
    has_had[::4096] = b"x" * len(has_had[::4096])  # every page
    del has_had
    program = "data = bytearray({} * 10**6); data[::4096] = b'x' * len(data[::4096])"
    peaks = {size: bench.peak_megabytes([sys.executable, "-S", "-c", program.format(size)]) for size in (SMALL, *SIZES)}
    for size in SIZES:
        above = peaks[size] - peaks[SMALL]
        if abs(above - (size - SMALL)) > 3:
            problems.append(f"a program with {size - SMALL} MB more than another is seen with {above:.1f} MB more")
    if peaks[SMALL] > SMALL + 30:  # an interpreter beside
        problems.append(f"a program with {SMALL} MB is seen with {peaks[SMALL]:.1f} MB")


def main():
    problems = []
    bench = load_bench()
    check_peaks(bench, problems)
    try:
        bench.peak_megabytes(["false"])
        problems.append("a program that fails has a peak")
    except bench.Failure:
        pass
    print("\n".join(f"FAIL {problem}" for problem in problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
