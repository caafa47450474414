#!/usr/bin/env python3
"""What kino check counts in every trace under ../shared/traces, against a slow and obvious count of the same things in Python."""
import collections
import decimal
import json
import re
import sys

from support import common

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset", "mtia_ccp_events", "hpu_op"}
CALLS = {"cuda_runtime", "cuda_driver", "Runtime", "mtia_runtime", "xpu_runtime", "xpu_driver", "glow_runtime", "privateuse1_runtime",
         "privateuse1_driver"}
PYTHON = {"python_function", "Python"}
OWNERS = {"cpu_op", "user_annotation", "Operator", "User_annotation"}
LAUNCH = re.compile(r"^(cudaLaunchKernel(ExC)?|cudaLaunchCooperativeKernel(MultiDevice)?|cuLaunchKernel(Ex)?|cuLaunchCooperativeKernel|"
                    r"hipLaunchKernel|hipExtLaunchKernel|hip(Ext|Hcc)?ModuleLaunchKernel|hipLaunchCooperativeKernel|"
                    r"runFunction - job_prep_and_submit_for_execution|cudaGraphLaunch|cuGraphLaunch|hipGraphLaunch)(_v\d+|_ptsz)*$")
ITERATION = re.compile(r"Optimizer\.step#|enumerate\(DataLoader\)#|(DistributedDataParallel|FullyShardedDataParallel)\.forward$")
MOST_CROSSINGS = 30000  # spans of one thread that are compared with each other


def ns(value):
    return int((decimal.Decimal(value) * 1000).to_integral_value(decimal.ROUND_HALF_EVEN))


def number(event, key):
    value = (event.get("args") or {}).get(key)
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    return value if isinstance(value, int) and value > 0 else None


def crossings(spans):
    """Spans that start inside an earlier one and end after it; spans are (start, end, is Python) of one thread. Counts those that
    cross one of their own kind, and those that only cross the other kind: a habit of PyTorch, which times Python functions by another path."""
    spans.sort(key=lambda span: (span[0], -span[1]))
    open_spans, same, other = [], 0, 0
    for span in spans:
        start, end, is_python = span
        open_spans = [earlier for earlier in open_spans if earlier[1] > start]
        crossed = {earlier[2] for earlier in open_spans if earlier[1] < end}
        same += is_python in crossed
        other += crossed == {not is_python}
        open_spans.append(span)
    return same, other


class Expected:
    """Counts by kind; None where the check has nothing to look at."""

    def __init__(self, document):
        events = [e for e in common.events_of(document) if isinstance(e, dict)]
        self.spans = [e for e in events if e.get("ph") == "X" and "ts" in e and e.get("cat") != "Trace"]
        self.events = events
        self.counts = {}
        self.launches()
        self.external()
        self.durations(events)
        self.metadata(document if isinstance(document, dict) else {})

    def launches(self):
        calls = [e for e in self.spans if e.get("cat") in CALLS]
        works = [e for e in self.spans if e.get("cat") in DEVICE]
        launches = [e for e in calls if LAUNCH.match(str(e.get("name")))]
        if any(number(e, "correlation") is None for e in works):
            return  # joined by flows: not counted here
        called = {number(e, "correlation") for e in calls}
        worked = {number(e, "correlation") for e in works if number(e, "correlation") in called}
        alone = sum(number(e, "correlation") not in worked for e in launches)
        self.counts["no_device_activity"] = None if not launches else 0 if works else len(launches)
        both = bool(launches and works)
        self.counts["launch_without_device"] = alone if both else None
        self.counts["device_without_launch"] = sum(number(e, "correlation") not in called for e in works) if both else None

    def external(self):
        owners = [e for e in self.spans if e.get("cat") in OWNERS]
        users = [e for e in self.spans if e.get("cat") in CALLS | DEVICE]
        if any("external id" in (e.get("args") or {}) for e in owners + users):
            return  # files of 2021 write the key in small letters
        known = {number(e, "External id") for e in owners}
        users = [e for e in users if number(e, "External id")]
        missing = [e for e in users if number(e, "External id") not in known]
        own = sum(number(e, "External id") == number(e, "correlation") for e in missing)  # what Kineto writes when it knows no op
        self.counts["external_without_op"] = len(missing) - own if owners and users else None
        self.counts["external_is_correlation"] = own if owners and users else None

    def durations(self, events):
        spans = [(ns(e["ts"]), ns(e["dur"])) for e in self.spans if "dur" in e]
        if not self.spans:
            return
        self.counts["negative_duration"] = sum(dur < 0 for _, dur in spans)
        self.counts["missing_duration"] = len(self.spans) - len(spans)
        window = [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in events if e.get("cat") == "Trace" and e.get("ph") == "X"]
        if not window:
            self.counts["outside_window"] = None
            return
        ends = [ns(e["ts"]) for e in events if e.get("ph") == "i" and str(e.get("name")).startswith("Record Window End")]
        low, high = min(start for start, _ in window), max([end for _, end in window] + ends)
        self.counts["outside_window"] = sum(ts < low or ts + max(dur, 0) > high for ts, dur in spans)

    def metadata(self, document):
        phases = collections.Counter(e.get("ph") for e in self.events)
        if not phases["B"] and not phases["E"]:
            self.counts["unmatched_begin"] = self.counts["unmatched_end"] = None
        info = "\n".join(document.get("INFO", []))
        found = re.search(r"Out-of-range = (\d+)", info)
        self.counts["profiler_out_of_range"] = int(found.group(1)) if found else None
        kernels = any(e.get("cat") in ("kernel", "Kernel") for e in self.spans)
        self.counts["no_device_properties"] = int(not document.get("deviceProperties")) if kernels else None
        marked = any(re.match(r"ProfilerStep#\d+$", str(e.get("name"))) and e.get("cat") in OWNERS for e in self.spans)
        self.counts["no_steps"] = int(not marked and not self.has_iterations())

    def has_iterations(self):
        """Does a thread do twice, one behind the other, what a training loop does once in an iteration?"""
        ends = {}
        for e in sorted((e for e in self.spans if ITERATION.match(str(e.get("name"))) and e.get("cat") in OWNERS), key=lambda e: ns(e["ts"])):
            key = (str(e.get("pid")), str(e.get("tid")), e["name"])
            if ns(e["ts"]) >= ends.setdefault(key, ns(e["ts"]) + ns(e.get("dur", 0))):
                return True
        return False

    def overlaps(self):
        """None where that would take long here."""
        threads = collections.defaultdict(list)
        devices = {(str(e.get("pid")), str(e.get("tid"))) for e in self.spans
                   if e.get("cat") in DEVICE | {"gpu_user_annotation", "gpu_user_Annotation"}}
        hosts = {(str(e.get("pid")), str(e.get("tid"))) for e in self.spans
                 if e.get("cat") in OWNERS | CALLS | PYTHON} - devices
        for e in self.spans:
            key = (str(e.get("pid")), str(e.get("tid")))
            if key in hosts:
                threads[key].append((ns(e["ts"]), ns(e["ts"]) + max(ns(e.get("dur", 0)), 0), e.get("cat") in PYTHON))
        if any(len(spans) > MOST_CROSSINGS for spans in threads.values()):
            return None
        counts = [crossings(spans) for spans in threads.values()]
        return {"overlapping_spans": sum(same for same, _ in counts), "python_functions_cross": sum(other for _, other in counts)}


def check_trace(report, path):
    expected = Expected(common.parse(common.read_bytes(path)))
    done = common.run("check", path, "--format", "json", "--quiet", "--fail-on", "launch_without_device")
    failing = expected.counts.get("launch_without_device")
    if "launch_without_device" in expected.counts:
        report.equal(f"{path.name}: exit code", done.returncode, 3 if failing else 0)
    tables = {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    got = {row[0]: row[3] for row in tables["checks"]}
    for kind, count in expected.counts.items():
        report.equal(f"{path.name}: {kind}", got[kind], count)
    for kind, count in (expected.overlaps() or {}).items():
        if got[kind] is not None:
            report.equal(f"{path.name}: {kind}", got[kind], count)
    shown = collections.Counter()
    for row in tables["findings"]:
        shown[row[3]] += row[4]
    report.equal(f"{path.name}: findings and checks agree", dict(shown), {kind: count for kind, count in got.items() if count})


def check_folder(report):
    """Missing ranks of a folder, from the files' own words."""
    folder = common.SHARED / "traces/hta/sampled_2rank"
    if not folder.is_dir():
        return 1
    infos = [common.parse(common.read_bytes(path))["distributedInfo"] for path in sorted(folder.glob("*.json.gz"))]
    rows = common.query(folder, "SELECT count, of, severity FROM completeness('missing_rank')")
    world = infos[0]["world_size"]
    report.equal("missing ranks of a folder", rows, [[world - len({info["rank"] for info in infos}), world, "warning"]])
    return 0


def main():
    report = common.Report()
    for path in common.real_traces():
        if path.stat().st_size < 3000000:
            check_trace(report, path)
    return report.finish(check_folder(report))


if __name__ == "__main__":
    sys.exit(main())
