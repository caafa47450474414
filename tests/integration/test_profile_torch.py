#!/usr/bin/env python3
"""kino.profile beside torch.profiler.profile: the same training loops with the same options give the same operators, counts, nesting, shapes,
types, sequence numbers, forward-backward pairs, allocations, averages, tables and step marks. The differences are those of docs/python/profiler.md, and
nothing else. Runs under the Python that has torch. --sanitized asan|tsan: only threads and windows, with libraries built with that sanitizer."""
import os
import sys
import tempfile

from support import common, with_torch

if sys.argv[1:2] == ["--sanitized"]:
    from python import profile_sanitized
    sys.exit(profile_sanitized.run(sys.argv[2]))
with_torch.enter(__file__)

from python import profile_compare, profile_docs, profile_life, profile_ranks, profile_requests, profile_robust  # noqa: E402 (they need torch)


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        profile_life.check_idle(report)  # first: nothing has been recorded yet
        profile_compare.run(report)
        profile_life.run(report)
        profile_ranks.run(report)
        profile_docs.run(report)
        profile_robust.run(report)
        profile_requests.run(report)
        os.chdir("/")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
