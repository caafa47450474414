#!/usr/bin/env python3
"""Traces of libkino in the programs of others: json.tool reads them, and HTA finds in them what was recorded.

HTA_PYTHON names a Python that has HTA (default: that of tools/install-hta, else this one); without one that part is left out,
and the test says so at its end."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from support import recorded

STEPS = 5
SEEN = STEPS - 1  # HTA leaves the last step out
ASK_HTA = """
import json, logging, sys
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
temporal = analysis.get_temporal_breakdown(visualize=False)
types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
launches = analysis.get_cuda_kernel_launch_stats(visualize=False)[0]
queues = analysis.get_queue_length_summary(ranks=[0])
print(json.dumps({
    "temporal": {key: float(temporal[f"{key}_time(us)"].iloc[0]) for key in ("idle", "compute", "non_compute", "kernel")},
    "types": dict(zip(types["kernel_type"], types["sum"].astype(float))),
    "kernels": sorted(map(str, kernels["name"])),
    "launches": len(launches),
    "cpu_us": float(launches["cpu_duration"].max()),
    "delay_us": float(launches["launch_delay"].min()),
    "queue_max": float(queues.xs("max", axis=1, level=-1).max().max()),
}))
"""


def find_hta():
    """A Python that has it, or None."""
    installed = recorded.ROOT / "build/hta/bin/python"
    python = os.environ.get("HTA_PYTHON", str(installed) if installed.exists() else sys.executable)
    look = "import importlib.util as u, sys; sys.exit(not u.find_spec('hta'))"
    return python if subprocess.run([python, "-c", look], capture_output=True).returncode == 0 else None


def device_times(document):
    """Start and end of what the device did, in us, as the trace has it."""
    rows = [e for e in document["traceEvents"] if e.get("cat") in ("kernel", "gpu_memcpy")]
    return sorted((e["ts"], e["ts"] + e["dur"]) for e in rows)


def check_hta(test, python, trace, document):
    done = subprocess.run([python, "-W", "ignore", "-c", ASK_HTA, trace], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        test.check(False, f"HTA: {done.stderr[-800:]}")
        return
    answer = json.loads(done.stdout.splitlines()[-1])
    times = device_times(document)[:3 * SEEN]
    span = times[-1][1] - times[0][0]
    temporal = answer["temporal"]

    def near(what, got, want, tolerance):
        test.check(abs(got - want) <= tolerance, f"HTA: {what} {got} us, not {want}")

    # HTA counts whole microseconds: each beginning and each end may be one off
    near("compute", temporal["compute"], SEEN * 100, SEEN)
    near("other work", temporal["non_compute"], SEEN * 80, 2 * SEEN)
    near("all", temporal["kernel"], span, 2)
    near("idle", temporal["idle"], span - SEEN * 180, 4 * SEEN)
    near("communication", answer["types"]["COMMUNICATION"], SEEN * 50, SEEN)
    near("computation", answer["types"]["COMPUTATION"], SEEN * 100, SEEN)
    near("memory", answer["types"]["MEMORY"], SEEN * 30, SEEN)
    test.check(any("gemm" in name for name in answer["kernels"]), f"HTA: kernels {answer['kernels']}")
    test.check(answer["launches"] == 3 * SEEN, f"HTA: {answer['launches']} launches, not {3 * SEEN}")
    test.check(answer["delay_us"] >= 0, f"HTA: a kernel that began {-answer['delay_us']} us before its launch")
    test.check(1 <= answer["queue_max"] <= 3, f"HTA: a queue of {answer['queue_max']}")


def main():
    test = recorded.Test()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program, trace, own = test.compile("device.c", folder / "device"), folder / "trace.json", folder / "trace.kino"
        environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "1"}
        for out in trace, own:
            done = subprocess.run([program, out, str(STEPS)], capture_output=True, text=True, timeout=60, env=environment)
            test.check(done.returncode == 0, f"the program: {done}")
        document = json.load(open(trace, encoding="utf-8"))
        times = device_times(document)
        test.check(len(times) == 3 * STEPS, f"{len(times)} activities of the device")
        lengths = sorted(round((end - start) * 1000) for start, end in times)
        test.check(lengths == sorted([30000, 50000, 100000] * STEPS), f"their lengths in ns: {lengths}")
        converted = folder / "converted.json"
        done = subprocess.run([recorded.KINO, "convert", own, converted], capture_output=True, text=True)
        test.check(done.returncode == 0, f"convert: {done.stderr}")
        for path in trace, converted:
            done = subprocess.run([sys.executable, "-m", "json.tool", path, folder / "pretty.json"], capture_output=True, text=True)
            test.check(done.returncode == 0, f"json.tool: {path.name}: {done.stderr}")
            test.check(json.load(open(folder / "pretty.json", encoding="utf-8")) == json.load(open(path, encoding="utf-8")),
                       f"json.tool: {path.name}: another document")
        python = find_hta()
        if python:
            check_hta(test, python, trace, document)
        else:
            print("NOT TESTED: no Python here has HTA (tools/install-hta; HTA_PYTHON may name one that has)")
    return test.end()


if __name__ == "__main__":
    sys.exit(main())
