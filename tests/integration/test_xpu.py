#!/usr/bin/env python3
"""Intel GPUs on a machine without one: a stand-in of PTI and Level Zero (tests/standin/xpu) plays known work through the
real callbacks and buffers. The rows are those of Kineto; what is late, dropped, in another buffer or on another clock is
dealt with; each call that fails gives one line, and the program goes on."""
import collections
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common, recorder, standin  # noqa: E402

XPU = standin.FOLDER / "xpu"
report = common.Report()

# Scene "plain" of tests/standin/xpu/program.c, by hand. Work: category, name, device, stream, duration, and the
# arguments in Kineto's order; "@n" is a time that lies n ns from the start, as Kineto writes it.
C0, Q3, Q4 = "0x00000000000000c0", "0x000000000000f003", "0x000000000000f004"


def times(name, offset):
    return [(name, f"@{offset}"), (f"{name}_rel_to_start", f"{offset / 1000:.3f}")]


def kernel(correlation, number, queue, source=()):
    return [("correlation", correlation), *times("appended", -1500), *times("submitted", -500),
            *times("sycl_task_begin", -1800), ("device", 0), ("context", C0), ("sycl queue", queue),
            ("l0 queue", Q3 if queue == 3 else Q4), *source, ("kernel_id", number), ("sycl_node_id", 9),
            ("sycl_invocation_id", 3)]


def transfer(correlation, device, queue, call, number, size, bandwidth, when=()):
    return [("correlation", correlation), *when, ("device", device), ("context", C0), ("sycl queue", queue),
            ("l0 queue", Q3 if queue == 3 else Q4), ("l0 call", call), ("memory opration id", number), ("bytes", size),
            ("memory bandwidth (GB/s)", bandwidth)]


COPIED = [*times("appended", -700), *times("submitted", 250)]
COPY, FILL = "zeCommandListAppendMemoryCopy", "zeCommandListAppendMemoryFill"
WORK = [
    ("gpu_memcpy", "Memcpy H2D (Host -> Device)", 1, 3, 4096, transfer(1, 1, 3, COPY, 5, 4096, "1", COPIED)),
    ("kernel", "gemm", 0, 3, 7000, kernel(2, 1, 3, [("source_file_name", "model.cpp"), ("source_line_number", 42)])),
    ("kernel", "relu", 0, 4, 3000, kernel(3, 2, 4)),
    ("gpu_memset", "Memset (17 -> Device)", 0, 3, 2000, transfer(4, 0, 3, FILL, 7, 1000, "0.5")),
    ("gpu_memcpy", "Memcpy D2H (Device -> Host)", 1, 4, 2048, transfer(5, 1, 4, COPY, 5, 2048, "1", COPIED)),
    ("gpu_memcpy", "Memcpy D2D (Device -> Device)", 1, 4, 512, transfer(6, 1, 4, COPY, 6, 512, "1")),
    ("kernel", "node", 0, 4, 1000, kernel(7, 3, 4)),
    ("kernel", "node", 0, 4, 2000, kernel(7, 4, 4)),
    ("kernel", "node", 0, 4, 3000, kernel(7, 5, 4)),
]
CALLS = [("urEnqueueUSMMemcpy", 1), ("urEnqueueKernelLaunch", 2), ("urEnqueueKernelLaunch", 3), ("urEnqueueUSMFill", 4),
         ("urEnqueueUSMMemcpy", 5), ("urEnqueueUSMMemcpy", 6), ("urEnqueueCommandBufferExp", 7)]
DRIVER = [("zeCommandListAppendLaunchKernel", 2), ("zeCommandListAppendLaunchKernel", 3)]
ROWS = len(WORK) + len(CALLS) + len(DRIVER) + 3  # and overhead, a collective, a synchronization
PROPERTIES = {"name": "Stand-in Data Center GPU", "totalGlobalMem": 64 << 30, "maxComputeUnits": 8 * 16 * 4,
              "maxWorkGroupSize": 1024, "maxClockFrequency": 1600, "maxMemAllocSize": 48 << 30, "localMemSize": 131072,
              "vendor": "Intel(R) Corporation", "driverVersion": "1.3.27642"}


def build(folder):
    standin.build_library(folder, "libpti_view.so.0", [XPU / "pti.c"])
    standin.build_library(folder, "libze_loader.so.1", [XPU / "xpu.c"])
    standin.build_library(folder, "libother_profiler.so", [XPU / "other.c"], ["libpti_view.so.0"])
    return standin.Program(report, folder, XPU / "program.c", ["libze_loader.so.1", "libpti_view.so.0"])


def of_kind(trace, cat):
    return [e for e in trace.spans if e["cat"] == cat]


def plain_number(value):
    return f"{float(value):g}" if not isinstance(value, (int, str)) else str(value)


def check_args(event, start, want):
    got = [(k, plain_number(v)) for k, v in event["args"].items() if k != "External id"]
    if not report.equal(f"arguments of {event['name']}", [k for k, _ in got], [k for k, _ in want]):
        return
    for (key, value), (_, wanted) in zip(got, want):
        if str(wanted).startswith("@"):  # taken from the clock a moment apart from the row's: within 5 us
            off = abs(recorder.ns(value) - start - int(wanted[1:]))
            report.check(f"{key} of {event['name']}", off <= 5000 and re.fullmatch(r"\d+\.\d{3}", value), (value, off))
        else:
            report.equal(f"{key} of {event['name']}", value, str(wanted))


def check_work(trace):
    got = sorted(trace.work, key=lambda e: (e["args"]["correlation"], e["dur"]))
    report.equal("rows of devices", [(e["cat"], e["name"], e["pid"], e["tid"], recorder.ns(e["dur"])) for e in got],
                 [w[:5] for w in WORK])
    rows = {(e["pid"], e["tid"]) for e in got}
    report.equal("names of rows", {(e["pid"], e["tid"]): e["args"]["name"] for e in trace.events
                                   if e["name"] == "thread_name" and (e["pid"], e["tid"]) in rows},
                 {row: f"Stream {row[1]}" for row in rows})
    for event, want in zip(got, WORK):
        check_args(event, trace.start(event), want[5])
    ends = collections.Counter((e["id"], e["pid"], e["tid"], e["ts"]) for e in trace.events if e["ph"] == "f")
    report.equal("a flow ends at each of them and, as in Kineto's traces, at calls of the driver; nowhere else", ends,
                 collections.Counter((e["args"]["correlation"], e["pid"], e["tid"], e["ts"])
                                     for e in [*trace.work, *of_kind(trace, "xpu_driver")]
                                     if e["args"]["correlation"]))


def check_calls(trace):
    for cat, want in (("xpu_runtime", CALLS), ("xpu_driver", DRIVER)):
        rows = sorted(of_kind(trace, cat), key=lambda e: e["args"]["correlation"])
        report.equal(f"{cat}: calls", [(e["name"], e["args"]) for e in rows], [(n, {"correlation": c}) for n, c in want])
        report.check(f"{cat}: on the row of the thread", all(e["pid"] == e["tid"] > 0 for e in rows))
    starts = {e["id"]: (e["tid"], e["ts"]) for e in trace.events if e["ph"] == "s"}
    report.equal("a flow starts at each call of the runtime, at none of the driver", starts,
                 {e["args"]["correlation"]: (e["tid"], e["ts"]) for e in of_kind(trace, "xpu_runtime")})
    calls = {e["args"]["correlation"]: e for e in of_kind(trace, "xpu_runtime")}
    for event in trace.work:
        report.check("work starts behind its call",
                     trace.start(event) - trace.start(calls[event["args"]["correlation"]]) >= 1000, event)


def check_rest(trace, said):
    report.equal("what the program says", said, f"xpu 0.14.0: 2 devices, {ROWS} activities, 0 lost")
    report.equal("what the trace says", trace.all["kino_devices"],
                 [{"name": "xpu", "version": "0.14.0", "devices": [0, 1], "activities": ROWS, "lost": 0}])
    report.equal("properties", trace.all["deviceProperties"], [dict(PROPERTIES, id=0), dict(PROPERTIES, id=1)])
    report.equal("their order", list(trace.all["deviceProperties"][0]), ["id", *PROPERTIES])
    report.equal("the version", trace.all.get("xpupti_version"), "0.14.0")
    report.check("nobody else uses PTI", "xpupti_other_user" not in trace.all)
    thread = of_kind(trace, "xpu_runtime")[0]["tid"]
    report.equal("synchronization", [(e["name"], e["pid"], e["tid"], list(e["args"].items()))
                                     for e in of_kind(trace, "xpu_sync")],
                 [("zeEventHostSynchronize", -1, thread,
                   [("External id", 8), ("correlation", 8), ("Type", "HOST_EVENT"), ("Context_handle", C0),
                    ("Queue_handle", "0x0000000000000000"), ("Event_handle", "0x00000000000000e1"),
                    ("Number_wait_events", 2), ("Return_code", 0)])])
    report.equal("overhead", [(e["name"], e["pid"], e["tid"], recorder.ns(e["dur"]), list(e["args"].items()))
                              for e in of_kind(trace, "overhead")],
                 [("Buffer Flush", -1, thread, 1000,
                   [("overhead cost", 250), ("overhead occupancy", "25%"), ("overhead count", 12)])])
    report.equal("collectives", [(e["name"], e["pid"], e["tid"], recorder.ns(e["dur"]), e["args"])
                                 for e in of_kind(trace, "collective_comm")],
                 [("xccl::allreduce", thread, thread, 5000, {"Communicator_id": 77})])


def check_functions(xpu):
    for env in ({}, {"STANDIN_ORDER": "reverse"}, {"STANDIN_ROOM": "400"}):
        trace, said = xpu.run("functions", **env)
        if not trace:
            continue
        ids = {e["name"]: e["args"]["External id"] for e in trace.spans if e["cat"] in ("cpu_op", "user_annotation")}
        if not report.equal("functions have numbers", sorted(ids), ["aten::add", "forward"]):
            continue
        for event in trace.work:
            report.equal(f"{env}: External id of {event['name']}", event["args"].get("External id"),
                         ids["aten::add"] if event["name"] == "inside" else None)
        for event in of_kind(trace, "xpu_runtime"):
            inside = any(w["args"]["correlation"] == event["args"]["correlation"] and w["name"] == "inside"
                         for w in trace.work)
            report.equal(f"{env}: External id of calls", event["args"].get("External id"),
                         ids["aten::add"] if inside else None)
        want = []
        for stream in (3, 4):
            rows = [e for e in trace.work if e["tid"] == stream and e["name"] == "inside"]
            start, end = min(map(trace.start, rows)), max(map(trace.end, rows))
            want.append(("forward", 0, stream, start - 1, end - start + 2, {"External id": ids["forward"]}))
        report.equal(f"{env}: the range on each stream, 1 ns early and 2 ns longer", sorted(
            (e["name"], e["pid"], e["tid"], trace.start(e), recorder.ns(e["dur"]), e["args"])
            for e in of_kind(trace, "gpu_user_annotation")), want)
        report.check(f"{env}: nothing is lost", " 0 lost" in said, said)


def check_late(xpu):
    trace, said = xpu.run("late")
    if trace:
        report.equal("late: what is done within 20 ms is there", sorted(e["name"] for e in trace.work), ["middle", "short"])
        report.check("late: the other is lost, and said so", " 1 lost" in said, said)
    trace, said = xpu.run("late", "pause")
    if trace:
        report.equal("late: it is not in the next trace", [e["name"] for e in trace.work], ["next"])
        report.check("late: nor counted there", " 0 lost" in said, said)


def check_exit(xpu):
    trace, _ = xpu.run("exit")  # PTI ends before the recording does
    if trace:
        check_work(trace)


def check_buffers(xpu):
    # A record of a kernel takes 200 bytes or so: 2000 make hundreds of buffers, of which 64 are there at a time.
    trace, said = xpu.run("many", STANDIN_ROOM="2000")
    if trace:
        rows = collections.Counter(e["cat"] for e in trace.spans)
        report.check("small buffers: no more is missing than is said", rows["kernel"] <= 500 and
                     (rows["kernel"] == 500 or int(re.search(r"(\d+) lost", said).group(1)) > 0), (rows, said))
    trace, said = xpu.run("many", STANDIN_KEEP="60")
    if trace:
        report.equal("most buffers never come back: the others do", len(of_kind(trace, "kernel")), 500)
        report.check("and nothing is lost", " 0 lost" in said, said)
    trace, said = xpu.run("plain", STANDIN_KEEP="64")
    if trace:
        report.equal("no buffer left but spare ones: no rows", trace.work, [])
        report.check("what was in them is counted", f" {ROWS} lost" in said, said)
    trace, said = xpu.run("plain", STANDIN_KEEP="80")
    if trace:
        report.check("no buffer left at all: said", "PTI requested more than 80 buffers at a time" in said, said)


def check_clock(xpu):
    check_own_clock("PTI's own clock, ahead", xpu, STANDIN_FAIL="ptiViewSetTimestampCallback:200",
                    STANDIN_SKEW=str(10**15))
    check_own_clock("a clock that is taken and not used", xpu, STANDIN_DEAF="1", STANDIN_SKEW=str(10**15))
    folder = xpu.folder / "clockless"
    folder.mkdir()
    standin.build_library(folder, "libpti_view.so.0", ["-DSTANDIN_NO_CLOCK", XPU / "pti.c"])
    trace = check_own_clock("no function about times", xpu, LD_LIBRARY_PATH=str(folder))
    if trace:
        check_work(trace)


def check_own_clock(what, xpu, **env):
    trace, _ = xpu.run("plain", **env)
    if not trace:
        return None
    report.equal(f"{what}: all rows", len(trace.work), len(WORK))
    calls = {e["args"]["correlation"]: e for e in of_kind(trace, "xpu_runtime")}
    window = next(e for e in trace.events if e.get("name") == "Kino (0)")
    for event in trace.work + list(calls.values()):
        late = trace.start(event) - trace.start(calls[event["args"]["correlation"]])
        report.check(f"{what}: rows are in the recording, work behind its call",
                     trace.start(window) - 3000 <= trace.start(event) and trace.end(event) <= trace.end(window) + 3000
                     and late >= 0, (event["name"], late))
    return trace


def check_collective(xpu):
    xpu.check_collective("reduce", "other")


# See standin.Program.check_failures.
FAILURES = [
    ("zeInit:0x70000001", "no device: zeInit failed: 0x70000001", 0, 0, 0),
    ("zeDriverGet:0x70000001", "no device: zeDriverGet failed: 0x70000001", 0, 0, 0),
    ("ptiViewSetCallbacks:3", "cannot prepare: ptiViewSetCallbacks failed: PTI_ERROR_BAD_ARGUMENT (3)", 0, 0, 0),
    ("ptiViewGPULocalAvailable:200", "ptiViewGPULocalAvailable failed: PTI_ERROR_INTERNAL (200)", 7, 5, 3),
    ("ptiViewEnable#1:200", "no relations to functions: ptiViewEnable failed: PTI_ERROR_INTERNAL (200)", 7, 5, 3),
    ("ptiViewEnable#2:200", "no kernels: ptiViewEnable failed", 7, 0, 3),
    ("ptiViewEnable#3:200", "no copies: ptiViewEnable failed", 7, 5, 1),
    ("ptiViewEnable#4:200", "no copies between devices: ptiViewEnable failed", 7, 5, 2),
    ("ptiViewEnable#5:200", "no fills: ptiViewEnable failed", 7, 5, 3),
    ("ptiViewEnable#6:200", "no runtime calls: ptiViewEnable failed", 0, 5, 3),
    ("ptiViewEnable#7:200", "no driver calls: ptiViewEnable failed", 7, 5, 3),
    ("ptiViewEnable#8:200", "no synchronization: ptiViewEnable failed", 7, 5, 3),
    ("ptiViewEnable#9:200", "no overhead: ptiViewEnable failed", 7, 5, 3),
    ("ptiViewEnable#10:200", "no collectives: ptiViewEnable failed", 7, 5, 3),
    ("ptiViewEnable:200", "cannot start: PTI provides none of its views", 0, 0, 0),
    ("ptiViewEnableRuntimeApiClass:3", "no selection of calls: ptiViewEnableRuntimeApiClass failed", 7, 5, 3),
    ("ptiViewDisable:200", "ptiViewDisable failed: PTI_ERROR_INTERNAL (200)", 7, 5, 3),
    ("ptiFlushAllViews:200", "ptiFlushAllViews failed: PTI_ERROR_INTERNAL (200)", 0, 0, 0),
]


def check_failures(xpu):
    xpu.check_failures(FAILURES, "xpu_runtime")
    trace, _ = xpu.run("plain", STANDIN_FAIL="ptiViewGetApiIdName:7")
    if trace:
        report.equal("calls without a name", {e["name"] for e in of_kind(trace, "xpu_runtime")}, {"unknown"})
    trace, _ = xpu.run("functions", STANDIN_FAIL="ptiViewPushExternalCorrelationId:3,ptiViewPopExternalCorrelationId:5")
    if trace:
        report.check("no relation to functions, no number", not any("External id" in e["args"] for e in trace.work))


def check_refusals(xpu):
    for what, env, pattern in (
            ("an old version", {"STANDIN_VERSION": "0.10.1"}, r"unsupported PTI 0\.10\.1 \(supported: 0\.12 to 1\.x\)"),
            ("a new version", {"STANDIN_VERSION": "2.0.0"}, r"unsupported PTI 2\.0\.0 \(supported: 0\.12 to 1\.x\)"),
            ("no library", {"KINO_PTI_LIBRARY": "/nowhere/lib.so"}, r"KINO_PTI_LIBRARY: /nowhere/lib\.so"),
            ("another library", {"KINO_PTI_LIBRARY": str(xpu.folder / "libze_loader.so.1")},
             r"unsupported PTI: it has no ptiVersionString")):
        trace, said = xpu.run("plain", **env)
        if trace:
            report.check(f"{what}: a line that says it", re.search(pattern, said) is not None, said)
            report.equal(f"{what}: no rows", trace.work, [])
    trace, said = xpu.run("plain", STANDIN_VERSION="1.1.0")
    if trace:
        report.equal("version 1.1: rows", len(trace.work), len(WORK))
    trace, said = xpu.run("plain", STANDIN_SHIFT="8")
    if trace:
        report.equal("another layout of records: no rows", trace.work, [])
        odd = re.search(r"(\d+) records of PTI 0\.14\.0 have an unknown format", said)
        report.check("they are counted", odd and len(WORK) <= int(odd.group(1)) <= ROWS, said)
    trace, said = xpu.run("plain", LD_PRELOAD=str(xpu.folder / "libother_profiler.so"))
    if trace:
        report.equal("another user of PTI is named", trace.all.get("xpupti_other_user"), "libother_profiler.so")
    trace, said = xpu.run("plain", STANDIN_GPUS="0")
    if trace:
        report.check("no GPU: not mentioned", said == "" and "kino_devices" not in trace.all, said)
    trace, said = xpu.run("plain", STANDIN_GPUS="1")
    if trace:  # copies are the second device's: with one device they must be a tile of that one
        report.equal("one device: its tiles are it", {e["pid"] for e in trace.work}, {0})


def check_injected(xpu):
    """A program that knows nothing of kino, under 'kino record'."""
    if not (pathlib.Path(common.program()).resolve().parent / "libkino_inject.so").exists():
        print("libkino_inject.so is not beside the program: 'kino record' is not tested", file=sys.stderr)
        return
    standin.build("-o", xpu.folder / "unaware", XPU / "unaware.c", f"-L{xpu.folder}", "-l:libze_loader.so.1",
                  "-Wl,--no-as-needed", "-l:libpti_view.so.0", f"-Wl,-rpath,{xpu.folder}")
    path = xpu.folder / "injected.json"
    done = common.run("record", "--sampling", "off", "--output", path, "--", xpu.folder / "unaware")
    if not report.equal("kino record: the program's exit code and output", (done.returncode, done.stdout), (5, b"done\n")):
        return
    trace = recorder.Trace(path)
    report.equal("kino record: kernels", sorted((e["name"], recorder.ns(e["dur"])) for e in trace.work),
                 [("alone", 1000), ("alone", 2000), ("alone", 3000)])
    report.check("kino record: nothing goes wrong", all("error" not in d for d in trace.all["kino_devices"]),
                 trace.all["kino_devices"])


def check_analyses(xpu):
    trace, _ = xpu.run("plain")
    if not trace:
        return
    path = xpu.folder / "plain0.json"
    text = common.run("report", path).stdout.decode()
    report.check("kino report shows the kernels and the device", "gemm" in text and "Stand-in Data Center" in text, text)
    done = common.run("query", path, "SELECT name, sum(dur), count(*) FROM kernel GROUP BY name ORDER BY name", "--format",
                      "csv")
    report.equal("kino query adds the kernels up", done.stdout.decode().split("\n")[1:4],
                 ["gemm,7000,1", "node,6000,3", "relu,3000,1"])
    xpu.check_launches([1000, 3000, 4000, 5000, 2000])


def main():
    recorder.library("libkino.so")
    with tempfile.TemporaryDirectory() as name:
        xpu = build(pathlib.Path(name))
        trace, said = xpu.run("plain")
        if trace:
            check_work(trace)
            check_calls(trace)
            check_rest(trace, said)
        for check in (check_functions, check_collective, check_late, check_exit, check_buffers, check_clock,
                      check_failures, check_refusals, check_injected, check_analyses):
            check(xpu)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
