#!/usr/bin/env python3
"""ROCm on a machine without one: a stand-in of rocprofiler-sdk and HIP (tests/standin/rocm) plays known work through the
real callbacks and buffers. The rows are those of Kineto; what is late, dropped, out of order or on another clock is dealt
with; each call that fails gives one line, and the program goes on."""
import collections
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common, recorder, standin  # noqa: E402

ROCM = standin.FOLDER / "rocm"
VECTOR_ADD, SCALE = "vector_add(float*, float*, float*, int)", "scale"
report = common.Report()


def pairs(text):
    return [tuple(part.split("=", 1)) for part in text.split("; ")] if text else []


# Scene "plain" of tests/standin/rocm/program.c, by hand. Calls: name, arguments in Kineto's order, does a flow start.
# Numbers: cid is the place in HIP_FUNCTION_MAP of vendor.h, correlation counts all calls (hipGetDevice is the first and
# not recorded, the tenth is scratch memory). "*": an address that differs from run to run.
CALLS = [
    ("hipMalloc", "bytes=1048576; cid=8; correlation=2; ptr=0x7f0000000000", True),
    ("hipMemcpyAsync", "cid=7; correlation=3; src=*; dst=0x7f0000000000; bytes=4096; kind=1", True),
    ("hipLaunchKernel",
     f"kernel={VECTOR_ADD}; cid=1; correlation=4; grid=[10, 1, 1]; block=[64, 1, 1]; shared memory=128", True),
    ("hipLaunchCooperativeKernel",
     f"kernel={SCALE}; cid=3; correlation=5; grid=[2, 3, 4]; block=[8, 4, 2]; shared memory=256", True),
    ("hipModuleLaunchKernel", "cid=4; correlation=6; grid=[5, 1, 1]; block=[32, 1, 1]; shared memory=512", True),
    ("hipExtModuleLaunchKernel", "cid=5; correlation=7; grid=[3, 2, 1]; block=[32, 1, 1]; shared memory=1024", True),
    ("hipGraphLaunch", "cid=10; correlation=8", True),
    ("hipMemcpy", "cid=6; correlation=9; src=0x7f0000000000; dst=*; bytes=2048; kind=2", True),
    ("hipDeviceSynchronize", "cid=11; correlation=11", False),
    ("hipFree", "cid=9; correlation=12; ptr=0x7f0000000000", True),
]
# Work: category, name, stream, duration (1000 ns a block, 1 ns a byte), arguments behind device and stream. Streams are
# numbered as they appear: 0x1000 is 1, 0x2000 is 2, the default one is 3. Queue = 100 + stream modulo 7: 101 and 102.
KERNEL = "hsa_queue={}; correlation={}; kind=Dispatch Kernel; grid={}; block={}"
COPY = "hsa_queue=0; correlation={}; kind={}; bytes={}; memory bandwidth (GB/s)=1"
WORK = [
    ("gpu_memcpy", "Memcpy HtoD (Host -> Device)", 1, 4096, COPY.format(3, "HtoD", 4096)),
    ("kernel", VECTOR_ADD, 1, 10000, KERNEL.format(101, 4, "[10, 1, 1]", "[64, 1, 1]")),
    ("kernel", SCALE, 2, 24000, KERNEL.format(102, 5, "[2, 3, 4]", "[8, 4, 2]")),
    ("kernel", VECTOR_ADD, 1, 5000, KERNEL.format(101, 6, "[5, 1, 1]", "[32, 1, 1]")),
    ("kernel", SCALE, 2, 6000, KERNEL.format(102, 7, "[3, 2, 1]", "[32, 1, 1]")),
    ("kernel", VECTOR_ADD, 2, 1000, KERNEL.format(102, 8, "[1, 1, 1]", "[32, 1, 1]")),
    ("kernel", VECTOR_ADD, 2, 2000, KERNEL.format(102, 8, "[2, 1, 1]", "[32, 1, 1]")),
    ("kernel", VECTOR_ADD, 2, 3000, KERNEL.format(102, 8, "[3, 1, 1]", "[32, 1, 1]")),
    ("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 2, 4000, COPY.format(8, "DtoD", 4000)),
    ("gpu_memcpy", "Memcpy DtoH (Device -> Host)", 3, 2048, COPY.format(9, "DtoH", 2048)),
]
# Kineto lets work begin a nanosecond later than rocprofiler does: rows are so much shorter.
WORK = [(cat, name, stream, length - 1, args) for cat, name, stream, length, args in WORK]
PROPERTIES = {"name": "AMD Instinct Stand-in", "totalGlobalMem": 64 << 30, "computeMajor": 9, "computeMinor": 4,
              "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048, "warpSize": 64, "sharedMemPerBlock": 65536,
              "numSms": 304, "maxSharedMemoryPerMultiProcessor": 65536}


def build(folder):
    standin.build_library(folder, "librocprofiler-sdk.so.1", [ROCM / "profiler.c"])
    standin.build_library(folder, "libamdhip64.so.7", [ROCM / "hip.c"], ["librocprofiler-sdk.so.1"])
    standin.build_library(folder, "libother_tool.so", [ROCM / "tool.c"])
    return standin.Program(report, folder, ROCM / "program.c", ["libamdhip64.so.7", "librocprofiler-sdk.so.1"])


def args_of(event, leave=("External id",)):
    return [(k, "1" if k == "memory bandwidth (GB/s)" and v == 1 else str(v)) for k, v in event["args"].items()
            if k not in leave]


def calls_of(trace):
    return sorted((e for e in trace.spans if e["cat"] == "cuda_runtime"), key=lambda e: e["args"]["correlation"])


def matches(got, want):
    return len(got) == len(want) and all(g[0] == w[0] and w[1] in ("*", g[1]) for g, w in zip(got, want))


def check_calls(trace):
    calls = calls_of(trace)
    report.equal("calls", [e["name"] for e in calls], [name for name, _, _ in CALLS])
    starts = trace.flows("s")
    for event, (name, want, has_flow) in zip(calls, CALLS):
        report.check(f"arguments of {name}, in Kineto's order", matches(args_of(event), pairs(want)), args_of(event))
        report.check(f"{name} is on the row of its thread", event["pid"] == event["tid"], event)
        flow = starts.pop(event["args"]["correlation"], None)
        report.equal(f"a flow starts at {name}", flow is not None, has_flow)
        if flow:
            report.equal(f"where {name} starts", (flow["pid"], flow["tid"], flow["ts"]),
                         (event["pid"], event["tid"], event["ts"]))
    report.equal("no other flows start", starts, {})


def row(event, stream=None):
    return (event["cat"], event["name"], event["tid"] if stream is None else stream, recorder.ns(event["dur"]),
            tuple(args_of(event, ("device", "stream", "External id"))))


def check_work(what, trace):
    want = collections.Counter((cat, name, stream, length, tuple(pairs(args))) for cat, name, stream, length, args in WORK)
    report.equal(f"{what}: rows of the device", collections.Counter(map(row, trace.work)), want)
    for event in trace.work:
        report.equal(f"{what}: device and stream come first, and are the row's", args_of(event)[:2],
                     [("device", str(event["pid"])), ("stream", str(event["tid"]))])
    ends = collections.Counter((e["id"], e["pid"], e["tid"], e["ts"]) for e in trace.events if e["ph"] == "f")
    others = [e for e in calls_of(trace) if e["args"]["correlation"] not in trace.flows("s")]
    report.equal(f"{what}: a flow ends at each of them and, as in Kineto's traces, at calls that start none", ends,
                 collections.Counter((e["args"]["correlation"], e["pid"], e["tid"], e["ts"])
                                     for e in [*trace.work, *others]))
    calls = {e["args"]["correlation"]: e for e in calls_of(trace)}
    for event in trace.work:  # the device begins 2000 ns after the call at the earliest
        late = trace.start(event) - trace.start(calls[event["args"]["correlation"]])
        report.check(f"{what}: {event['name']} starts behind its call", late >= 1000, late)


def check_rest(trace, said):
    report.equal("what the program says", said, f"rocm 1.2.3: 2 devices, {len(CALLS) + len(WORK) + 3} activities, 0 lost")
    report.equal("what the trace says", trace.all["kino_devices"],
                 [{"name": "rocm", "version": "1.2.3", "devices": [0, 1], "activities": len(CALLS) + len(WORK) + 3,
                   "lost": 0}])
    report.equal("properties", trace.all["deviceProperties"], [dict(PROPERTIES, id=0), dict(PROPERTIES, id=1)])
    report.equal("their order", list(trace.all["deviceProperties"][0]), ["id", *PROPERTIES])
    report.equal("versions", [str(trace.all.get(k)) for k in ("rocprofiler-sdk_version", "hip_runtime_version",
                                                              "hip_driver_version")], ["1.2", "70012345", "70012346"])
    memory = [(e["args"]["Addr"], e["args"]["Bytes"], e["args"]["Device Id"], e["args"]["Device Type"])
              for e in trace.events if e.get("name") == "[memory]"]
    report.equal("memory", memory, [(0x7f0000000000, 1 << 20, 0, 1), (0x7f0000000000, -(1 << 20), 0, 1)])
    overhead = [e for e in trace.spans if e["cat"] == "overhead"]
    report.equal("scratch memory is overhead", [(e["name"], e["pid"], e["tid"], recorder.ns(e["dur"])) for e in overhead],
                 [("Scratch Alloc", -1, 0, 700)])
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace.events
             if e["ph"] == "M" and e["name"] == "thread_name"}
    report.equal("names of rows", [names[0, n] for n in (1, 2, 3)], ["stream 1 ", "stream 2 ", "stream 3 "])


def check_disorder(rocm):
    trace, said = rocm.run("plain", STANDIN_ORDER="reverse")
    if trace:
        report.check("backwards: nothing is lost", "0 lost" in said, said)
        # Streams are numbered as they appear: the numbers are others, but each stands for one stream.
        numbers = {(e["args"]["correlation"], recorder.ns(e["dur"])): e["tid"] for e in trace.work}
        seen = {(stream, numbers.get((int(dict(pairs(args))["correlation"]), length)))
                for _, _, stream, length, args in WORK}
        report.equal("backwards: streams", (len(seen), len({n for _, n in seen})), (3, 3))
        again = dict(seen)
        want = collections.Counter((cat, name, again[stream], length, tuple(pairs(args)))
                                   for cat, name, stream, length, args in WORK)
        report.equal("backwards: the same rows", collections.Counter(map(row, trace.work)), want)


def check_clock(rocm):
    for skew, ppm in ((10**15, 0), (5 * 10**14, 80)):
        trace, _ = rocm.run("plain", STANDIN_SKEW=str(skew), STANDIN_PPM=str(ppm))
        if not trace:
            continue
        calls = {e["args"]["correlation"]: e for e in calls_of(trace)}
        window = next(e for e in trace.events if e.get("name") == "Kino (0)")
        for event in trace.work:
            late = trace.start(event) - trace.start(calls[event["args"]["correlation"]])
            report.check(f"clock {skew} ns ahead, {ppm} ppm fast: work is within the recording, behind its call",
                         late >= -3000 and trace.end(event) <= trace.end(window) + 3000, (event["name"], late))
        lengths = sorted((e["args"]["correlation"], recorder.ns(e["dur"])) for e in trace.work)
        wanted = sorted((int(dict(pairs(args))["correlation"]), length) for _, _, _, length, args in WORK)
        wrong = max(abs(got[1] - want[1]) for got, want in zip(lengths, wanted))
        report.check(f"clock {skew} ns ahead, {ppm} ppm fast: lengths", wrong <= 1000, wrong)


def check_late(rocm):
    trace, said = rocm.run("late")
    if trace:
        report.equal("late: what is done within 20 ms is there", sorted(recorder.ns(e["dur"]) for e in trace.work),
                     [999, 14999999])
        report.check("late: the other is lost, and said so", "5 activities, 1 lost" in said, said)
    trace, said = rocm.run("late", "pause")
    if trace:
        report.equal("late: it is not in the next trace", [recorder.ns(e["dur"]) for e in trace.work], [1999])
        report.check("late: nor counted there", "0 lost" in said, said)


def check_exit(rocm):
    trace, _ = rocm.run("exit")  # rocprofiler ends before the recording does
    if trace:
        check_work("exit", trace)


def check_capture(rocm):
    trace, said = rocm.run("capture")
    if trace:  # a graph is three kernels and a copy; what is captured only does not run, and is not missed
        rows = collections.Counter((e["cat"], e["args"]["correlation"]) for e in trace.work)
        report.equal("graphs: work has the number of the launch", rows,
                     {("kernel", 6): 3, ("gpu_memcpy", 6): 1, ("kernel", 7): 3, ("gpu_memcpy", 7): 1})
        report.check("graphs: nothing is lost", " 0 lost" in said, said)


def check_drops(rocm):
    trace, said = rocm.run("many", STANDIN_CAPACITY="150")
    if trace:
        # 150 are held; more come through where the machine is so slow that some are fetched before the end
        rows = len(trace.work)
        report.check("dropped: rows that are left", 150 <= rows < 200, rows)
        report.equal("dropped: all calls", len(calls_of(trace)), 201)
        report.check("dropped: the others are counted, once", f", {200 - rows} lost" in said, said)
        report.equal("dropped: in the trace", trace.all["kino_devices"][0]["lost"], 200 - rows)


def check_markers(rocm):
    trace, _ = rocm.run("markers")
    if not trace:
        return
    ranges = {e["name"]: e for e in trace.spans if e["cat"] == "user_annotation"}
    report.equal("ranges of ROCTX", sorted(ranges), ["anywhere", "here", "inner", "outer"])
    if len(ranges) == 4:
        outer, inner, here, anywhere = (ranges[n] for n in ("outer", "inner", "here", "anywhere"))
        for name, a, b in (("inner in outer", outer, inner), ("mark in inner", inner, here),
                           ("outer in the one that ends elsewhere", anywhere, outer)):
            report.check(name, trace.start(a) <= trace.start(b) and trace.end(b) <= trace.end(a), (a, b))
        report.check("all have an end", not any("finished" in e["args"] for e in ranges.values() if "args" in e))


def check_functions(rocm):
    trace, _ = rocm.run("functions")
    if not trace:
        return
    ids = {e["name"]: e["args"]["External id"] for e in trace.spans if e["cat"] in ("cpu_op", "user_annotation")}
    if not report.equal("functions have numbers", sorted(ids), ["aten::add", "forward"]):
        return
    for event in trace.work + calls_of(trace):
        inside = event["args"]["correlation"] in (3, 4, 5, 6)  # between the begin and the end of aten::add
        report.equal(f"External id of {event['cat']} {event['args']['correlation']}", event["args"].get("External id"),
                     ids["aten::add"] if inside else None)
        report.check("it comes first", not inside or list(event["args"])[0] == "External id", event["args"])
    spans = [e for e in trace.spans if e["cat"] == "gpu_user_annotation"]
    want = []
    for stream in (1, 2):
        rows = [e for e in trace.work if e["tid"] == stream and e["args"]["correlation"] in (3, 4, 6)]
        start, end = min(map(trace.start, rows)), max(map(trace.end, rows))
        want.append(("forward", 0, stream, start - 1, end - start + 2, {"External id": ids["forward"]}))
    report.equal("the range on each stream, 1 ns early and 2 ns longer", sorted(
        (e["name"], e["pid"], e["tid"], trace.start(e), recorder.ns(e["dur"]), e["args"]) for e in spans), want)


def check_collective(rocm):
    rocm.check_collective(VECTOR_ADD, SCALE)


# See standin.Program.check_failures.
FAILURES = [
    ("get_version:9", "rocprofiler_get_version failed: Stand-in error (9)", 0, 0, 0),
    ("is_initialized:9", "rocprofiler_is_initialized failed: Stand-in error (9)", 0, 0, 0),
    ("force_configure:9", "rocprofiler_force_configure failed: Stand-in error (9)", 0, 0, 0),
    ("query_available_agents:9", "rocprofiler_query_available_agents failed: Stand-in error (9)", 0, 0, 0),
    ("query_callback_tracing_kind_name:4", "the value of HIP_RUNTIME_API means nothing there", 0, 0, 0),
    ("query_buffer_tracing_kind_name:4", "the value of MEMORY_COPY means nothing there", 0, 0, 0),
    ("query_callback_tracing_kind_operation_name:5", "no HIP calls: rocprofiler does not name the functions", 0, 7, 3),
    ("create_context#1:9", "rocprofiler_create_context failed: Stand-in error (9)", 0, 0, 0),
    ("create_context#2:9", "no kernel names: rocprofiler_create_context failed", 10, 7, 3),
    ("create_buffer:9", "no device work: rocprofiler_create_buffer failed: Stand-in error (9)", 10, 0, 0),
    ("configure_callback_tracing_service#1:9", "no kernel names: rocprofiler_configure_callback_tracing_service failed",
     10, 7, 3),
    ("configure_callback_tracing_service#2:9", "no HIP calls: rocprofiler_configure_callback_tracing_service failed",
     0, 7, 3),
    ("configure_callback_tracing_service#3:9", "no ROCTX ranges: rocprofiler_configure_callback_tracing_service failed",
     10, 7, 3),
    ("configure_callback_tracing_service#4:9",
     "no count of running kernels: rocprofiler_configure_callback_tracing_service failed", 10, 7, 3),
    ("configure_buffer_tracing_service#1:9", "no kernels: rocprofiler_configure_buffer_tracing_service failed", 10, 0, 3),
    ("configure_buffer_tracing_service#2:9", "no copies: rocprofiler_configure_buffer_tracing_service failed", 10, 7, 0),
    ("configure_buffer_tracing_service#3:9", "no allocations: rocprofiler_configure_buffer_tracing_service failed",
     10, 7, 3),
    ("configure_buffer_tracing_service#4:9", "no scratch memory: rocprofiler_configure_buffer_tracing_service failed",
     10, 7, 3),
    ("start_context#1:9", "no kernel names: rocprofiler_start_context failed: Stand-in error (9)", 10, 7, 3),
    ("start_context#2:9", "cannot start: rocprofiler_start_context failed: Stand-in error (9)", 0, 0, 0),
    ("stop_context:9", "rocprofiler_stop_context failed", 10, 7, 3),
    ("flush_buffer:9", "rocprofiler_flush_buffer failed: Stand-in error (9)", 10, 0, 0),
    ("get_timestamp:9", "cannot start: rocprofiler_get_timestamp failed: Stand-in error (9)", 0, 0, 0),
]


def check_failures(rocm):
    rocm.check_failures(FAILURES, "cuda_runtime")


def check_refusals(rocm):
    other = {"LD_PRELOAD": str(rocm.folder / "libother_tool.so")}
    for what, env, pattern in (
            ("an old version", {"STANDIN_VERSION": "0.6.0"}, r"unsupported rocprofiler-sdk 0\.6\.0 \(supported: 1\.x"),
            ("a new version", {"STANDIN_VERSION": "2.0.1"}, r"unsupported rocprofiler-sdk 2\.0\.1 \(supported: 1\.x"),
            ("other numbers", {"STANDIN_KINDS": "1"}, r"value of HIP_RUNTIME_API means HSA_FINALIZE_EXT_API there"),
            ("others were first", {"STANDIN_LOCKED": "1"}, r"initialized before kino could register; use 'kino record'"),
            ("a tool was first", dict(other, STANDIN_LOCKED="1"), r"before kino could register, by libother_tool\.so;"),
            ("a tool is recording", dict(other, STANDIN_FAIL="start_context#2:12"),
             r"another tool is recording: libother_tool\.so"),
            ("no library", {"KINO_ROCPROFILER_LIBRARY": "/nowhere/lib.so"},
             r"KINO_ROCPROFILER_LIBRARY: /nowhere/lib\.so")):
        trace, said = rocm.run("plain", **env)
        if trace:
            report.check(f"{what}: a line that says it", re.search(pattern, said) is not None, said)
            report.equal(f"{what}: no rows", [e for e in trace.spans if e["cat"] in ("kernel", "cuda_runtime")], [])
    trace, said = rocm.run("plain", **other)
    if trace:
        report.equal("another tool beside kino is named", trace.all.get("rocprofiler_other_tool"), "libother_tool.so")
        report.check("and does no harm", "0 lost" in said and "lost:" not in said, said)
    trace, said = rocm.run("plain", STANDIN_SIZE="16")
    if trace:
        # 10 of work, 2 of memory, 1 of scratch memory
        report.check("records of another size are not read, but counted", re.search(
            r"activities, 13 lost: 13 records of rocprofiler-sdk 1\.2\.3 have an unknown format", said) is not None,
                     said)
        report.equal("and make no rows", trace.work, [])
    trace, said = rocm.run("plain", STANDIN_TWICE="1")
    if trace:
        report.equal("found twice: rows once", len(trace.work), len(WORK))
    trace, said = rocm.run("plain", STANDIN_GPUS="0")
    if trace:
        report.check("no GPU: not mentioned", said == "" and "kino_devices" not in trace.all, said)
    for kind, what in (("MARKER_CORE_API", "ROCTX ranges"), ("MEMORY_ALLOCATION", "allocations"),
                       ("SCRATCH_MEMORY", "scratch memory")):
        trace, said = rocm.run("plain", STANDIN_RENAMED=kind)
        if trace:
            report.check(f"another number for {kind}: said", f"no {what}: this rocprofiler-sdk uses another value" in
                         said, said)
            report.equal(f"another number for {kind}: work is there", len(trace.work), len(WORK))


def check_injected(rocm):
    """Programs that know nothing of kino, under 'kino record': HIP linked, and HIP loaded at run time."""
    if not (pathlib.Path(common.program()).resolve().parent / "libkino_inject.so").exists():
        print("libkino_inject.so is not beside the program: 'kino record' is not tested", file=sys.stderr)
        return
    standin.build("-o", rocm.folder / "loader", ROCM / "loader.c", "-ldl")
    path = rocm.folder / "injected.json"
    done = common.run("record", "--sampling", "off", "--output", path, "--", rocm.folder / "loader",
                      rocm.folder / "libamdhip64.so.7")
    if not report.equal("kino record: the program's exit code and output", (done.returncode, done.stdout), (7, b"done\n")):
        return
    trace = recorder.Trace(path)
    # rocprofiler takes the tool with the first call; libkino takes part from a moment later on
    report.check("kino record: kernels of a program that loads HIP", 100 <= len(trace.work) <= 250 and
                 {e["name"] for e in trace.work} <= {VECTOR_ADD, "_Z10vector_addPfS_S_i"}, len(trace.work))
    killed = rocm.folder / "killed.json"
    done = common.run("record", "--sampling", "off", "--output", killed, "--", rocm.folder / "loader",
                      rocm.folder / "libamdhip64.so.7", "9")
    report.equal("kino record: a program that is killed", done.returncode, -9)
    # of half a second, with a fetch every fifth of a second: what was done before the last of them is there
    report.check("kino record: its work, but for the last fifth of a second", 75 <= len(recorder.Trace(killed).work) < 250,
                 len(recorder.Trace(killed).work))
    report.check("kino record: nothing goes wrong", all("error" not in d for d in trace.all["kino_devices"]),
                 trace.all["kino_devices"])


def check_analyses(rocm):
    path = rocm.folder / "plain0.json"
    trace, _ = rocm.run("plain")
    if not trace:
        return
    text = common.run("report", path).stdout.decode()
    report.check("kino report shows the kernels and the device", VECTOR_ADD[:10] in text and "AMD Instinct" in text, text)
    done = common.run("query", path, "SELECT name, sum(dur), count(*) FROM kernel GROUP BY name ORDER BY name", "--format",
                      "csv")
    # 24 and 6 us; 10 and 5 us, and 1, 2, 3 us of the graph
    report.equal("kino query adds the kernels up", done.stdout.decode().split("\n")[1:3],
                 ["scale,29998,2", f'"{VECTOR_ADD}",20995,5'])
    done = common.run("query", path, "SELECT count(*) FROM kernel k JOIN event c ON c.cat = 'cuda_runtime' "
                      "AND c.correlation = k.correlation", "--format", "csv")
    report.equal("and finds the call of each", done.stdout.decode().split("\n")[1:2], ["7"])
    rocm.check_launches([999, 2999, 3999, 4999, 1999])


def main():
    recorder.library("libkino.so")
    with tempfile.TemporaryDirectory() as name:
        rocm = build(pathlib.Path(name))
        trace, said = rocm.run("plain")
        if trace:
            check_calls(trace)
            check_work("plain", trace)
            check_rest(trace, said)
        for check in (check_disorder, check_clock, check_late, check_exit, check_capture, check_drops, check_markers,
                      check_functions, check_collective, check_failures, check_refusals, check_injected, check_analyses):
            check(rocm)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
