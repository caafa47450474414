#!/usr/bin/env python3
"""The interface of kino.profiler and kino.autograd.profiler beside PyTorch's: names, signatures, attributes, and what programs see of the profilers
(python/profile_same.py). The differences are listed here and in docs/python/profiler.md, and there are no others. Runs under the Python that has
torch."""
import os
import sys
import tempfile

from support import common, with_torch

with_torch.enter(__file__)

from python import profile_emit, profile_results, profile_same, profile_signatures  # noqa: E402 (they need torch)


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        profile_signatures.run(report)
        profile_same.run(report)
        profile_results.run(report)
        profile_emit.run(report)
        os.chdir("/")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
