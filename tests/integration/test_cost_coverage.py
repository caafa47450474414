#!/usr/bin/env python3
"""How much of the device time of real traces has a known cost: at least nine tenths, also where the profiler did not record the values of arguments. What is
unknown has a reason."""
import collections
import json
import subprocess
import sys

from support import common

report = common.Report()
TRACES = ["tb/resnet50_num_workers_0", "hta/trace_diff_control", "hta/trace_diff_test", "hta/h100_bert"]


def check(path):
    tool = common.tool("kino_print_costs")
    done = subprocess.run([tool, path], capture_output=True, text=True, timeout=120, check=False)
    if not report.check(f"{path.name} is read", done.returncode == 0, done.stderr[:300]):
        return
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    ops, total = [line for line in lines if "family" in line], lines[-1]
    share = total["known_time"] / total["device_time"]
    missing = collections.Counter()
    for line in lines[:-1]:
        if line.get("flops", None) is None:
            missing[line.get("name") or line.get("kernel")] += line["device_time"]
    report.check(f"{path.name}: known cost", share >= 0.9, f"{share:.1%}; most of the rest: {missing.most_common(3)}")
    unexplained = [op["name"] for op in ops if None in (op["flops"], op["read"], op["written"]) and not op["reason"]]
    report.equal(f"{path.name}: what is unknown has a reason", unexplained, [])
    report.check(f"{path.name}: figures are not negative",
                 all((op[key] or 0) >= 0 for op in ops for key in ("flops", "read", "written")))


def main():
    if not common.HAS_SHARED:
        common.skip("needs ../shared/traces")
    if not common.tool("kino_print_costs"):
        common.skip("kino_print_costs is not built: KINO_TOOLS names its folder")
    for name in TRACES:
        for path in sorted((common.SHARED / "traces" / name).glob("*.json*")):
            check(path)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
