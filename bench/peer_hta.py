#!/usr/bin/env python3
"""The same questions answered by HTA (on PyPI HolisticTraceAnalysis or traceinsight), used as its documentation says:
bench/peer_hta.py TRACE [PACKAGE]; with the folder of a build's package kino, by kino.hta instead. Prints a sample as bench_analyses does: wall_s is all of it, loading, then each analysis. Importing
it is not in the clock. To be run by the Python of an environment that has it."""
import contextlib
import importlib
import importlib.metadata
import json
import logging
import os
import re
import sys
import time


def find_hta(package):
    if package:
        sys.path.insert(0, package)
        kino = importlib.import_module("kino")
        return importlib.import_module("kino.hta.trace_analysis").TraceAnalysis, f"kino.hta {kino.__version__}"
    for package, module in (("HolisticTraceAnalysis", "hta"), ("traceinsight", "hta")):
        with contextlib.suppress(ImportError):
            analysis = importlib.import_module(f"{module}.trace_analysis")
            return analysis.TraceAnalysis, f"{package} {importlib.metadata.version(package)}"
    sys.exit("HTA is not installed")


def memory():
    """Highest resident memory so far: without mapped files (by what is mapped now, so rather too little), and with them."""
    with open("/proc/self/status", encoding="ascii") as text:
        size = {name: int(value) * 1024 for name, value in re.findall(r"^(\w+):\s*(\d+) kB$", text.read(), re.M)}
    return size["VmHWM"] - size["RssFile"], size["VmHWM"]


def whole(values):
    """Sum of times in us, as ns."""
    return int(values.sum()) * 1000


def checks(answers):
    """Sums that bench/analyses.c makes too. Not of queues: HTA 0.5.0 does not know all the launch calls that 0.6.1 does."""
    temporal, (idle, _), overlap, (types, _), _, launches = answers
    launch = launches[0]
    return {"idle_ns": whole(temporal["idle_time(us)"]), "compute_ns": whole(temporal["compute_time(us)"]),
            "kernel_ns": whole(temporal["kernel_time(us)"]), "gaps_ns": whole(idle["idle_time"]),
            "overlap_percent_x100": round(float(overlap["comp_comm_overlap_pctg"].iloc[0]) * 100),
            "types_ns": whole(types["sum"]),
            "launch_cpu_ns": whole(launch["cpu_duration"]), "launch_gpu_ns": whole(launch["gpu_duration"]),
            "launch_delay_ns": whole(launch["launch_delay"])}


def main():
    trace = os.path.abspath(sys.argv[1])
    logging.disable(logging.WARNING)
    analysis, name = find_hta(sys.argv[2] if len(sys.argv) > 2 else None)
    times, answers, used = [time.perf_counter()], [], time.process_time()
    hta = analysis(trace_files={0: trace}, trace_dir=os.path.dirname(trace))
    times.append(time.perf_counter())
    for ask in (lambda: hta.get_temporal_breakdown(visualize=False), lambda: hta.get_idle_time_breakdown(visualize=False),
                lambda: hta.get_comm_comp_overlap(visualize=False),
                lambda: hta.get_gpu_kernel_breakdown(visualize=False), hta.get_queue_length_summary,
                lambda: hta.get_cuda_kernel_launch_stats(visualize=False, include_memory_events=True)):
        answers.append(ask())
        times.append(time.perf_counter())
    used = time.process_time() - used
    peak, peak_mapped = memory()
    print(json.dumps({"bench": "hta", "with": name, "jobs": 1, "bytes": os.path.getsize(trace),
                      "wall_s": [times[-1] - times[0]] + [b - a for a, b in zip(times, times[1:])], "cpu_s": [used],
                      "peak_bytes": peak, "peak_mapped_bytes": peak_mapped, "checks": checks(answers)}))


if __name__ == "__main__":
    main()
