#!/usr/bin/env python3
"""The CUPTI backend against a stand-in for CUPTI and the CUDA driver (tests/standin/cupti): what is played back through
the real callbacks and buffers must be exactly Kineto's rows, worked out here by hand. Then everything that can go
wrong: each function failing in turn, records that are late, lost, out of order or unfinished, a clock of its own,
too few buffers, another profiler. Last, the real CUPTI and its headers, where they are installed."""
import json
import pathlib
import re
import sys
import tempfile
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common, recorder, standin  # noqa: E402

SOURCES = standin.FOLDER / "cupti"
INT_MAX = 2147483647
report = common.Report()
skipped = 0


# ---- building and running

def build(folder):
    libraries = recorder.library("libkino.so").parent
    standin.build_library(folder, "libcupti.so.13", [SOURCES / f"{name}.c" for name in (
        "standin", "standin_cuda", "standin_pm")])
    (folder / "libcuda.so.1").symlink_to("libcupti.so.13")
    standin.build(f"-I{common.ROOT / 'include'}", SOURCES / "program.c", "-o", folder / "program", f"-L{libraries}", "-lkino",
                  folder / "libcupti.so.13", f"-Wl,-rpath,{libraries}:{folder}")


def functions_of(source):
    """Those of NVIDIA's that a source of the stand-in has."""
    return re.findall(r"^int (cu\w+)\(", (SOURCES / source).read_text(), re.MULTILINE)


def play(folder, scenario, *more, env=None, read=None):
    """The trace, and what the program says of the backend."""
    path = folder / "t.json"
    path.unlink(missing_ok=True)
    done = recorder.execute(folder / "program", scenario, path, *more,
                            env={"LD_LIBRARY_PATH": str(folder), "KINO_CUPTI_BUFFER_MB": "8",
                                 **(env or {})})
    if not report.equal(f"{scenario}: the program ends well {env or ''}", (done.returncode, done.stderr), (0, "")):
        raise SystemExit(report.finish())
    return (read or Played)(path), json.loads(done.stdout)


class Played:
    """A trace with events in file order; arguments as lists of pairs, because their order counts."""

    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        self.all = json.loads(text, parse_float=Decimal)
        self.events = json.loads(text, parse_float=Decimal, object_pairs_hook=self.pairs)["traceEvents"]
        self.events = [self.event(e) for e in self.events]
        self.devices = self.all.get("kino_devices", [])

    @staticmethod
    def pairs(pairs):
        keys = {key for key, _ in pairs}
        return dict(pairs) if keys & {"traceEvents", "ph"} else pairs

    @staticmethod
    def event(event):
        if "args" in event:
            event["args"] = list(event["args"])
        return event

    def rows(self, zero, *categories):
        """(category, name, pid, tid, begin, length, arguments) of spans, times in ns from `zero`."""
        return [(e["cat"], e["name"], e["pid"], e["tid"], recorder.ns(e["ts"]) - zero, recorder.ns(e["dur"]),
                 e.get("args")) for e in self.events
                if e["ph"] == "X" and (e["cat"] in categories if categories else
                                       e["cat"] not in ("Trace", "cpu_op", "user_annotation"))]

    def flows(self, zero):
        return [(e["ph"], e["id"], e["pid"], e["tid"], recorder.ns(e["ts"]) - zero) for e in self.events
                if e["ph"] in "sf"]

    def zero(self, name, offset):
        """The instant `base` of the program, from the first event of the name."""
        return next(recorder.ns(e["ts"]) for e in self.events if e.get("name") == name) - offset

    def error(self):
        return next((d.get("error", "") for d in self.devices if d["name"] == "cupti"), None)


# ---- everything there is: the rows of Kineto

GRAPHLESS = [("graph id", 0), ("graph node id", 0)]
# 256 threads are 8 warps; 32 registers x 32 threads = 1024 a warp, 8192 a block, of 65536: 8 blocks. 64 warps / 8: 8
# blocks. Shared memory 1024 + 512 + 1024 of the system's = 2560, a multiple of 128; 233472 / 2560: 91 blocks.
OCCUPANCY = [("activeBlocksPerMultiprocessor", 8), ("limitingFactors", "WARPS|REGS"), ("blockLimitRegs", 8),
             ("blockLimitSharedMem", 91), ("blockLimitWarps", 8), ("blockLimitBlocks", 32),
             ("blockLimitBarriers", INT_MAX), ("allocatedRegistersPerBlock", 8192),
             ("allocatedSharedMemPerBlock", 2560)]


def kernel_args(device, context, stream, correlation, external=None, graph=None, priority=True):
    """8 blocks on 4 multiprocessors: 2 each, of 8 that fit, 2 x 256 of 2048 threads: 25 %."""
    return ([("External id", external)] if external else []) + [
        ("queued", 0), ("device", device), ("context", context), ("stream", stream), ("correlation", correlation),
        ("registers per thread", 32), ("shared memory", 1536), ("blocks per SM", Decimal("2.0")),
        ("warps per SM", Decimal("16.0")), ("grid", [8, 1, 1]), ("block", [256, 1, 1]),
        ("est. achieved occupancy %", 25), ("occupancy", OCCUPANCY)] + (graph or GRAPHLESS) + (
        [("priority", -2)] if priority else []) + [("channel", 11), ("channel_type", 1)]


def call_args(cbid, correlation, external=None):
    return ([("External id", external)] if external else []) + [("cbid", cbid), ("correlation", correlation)]


def expected_rows(pid):
    """As tests/standin/cupti/program.c plays them; the annotation is function 1, the operator 2."""
    call = ("cuda_runtime",)
    return [
        (*call, "cudaLaunchKernel", pid, pid, 10000, 4100, call_args(211, 90, 2)),
        ("kernel", "gemm(int, float*)", 0, 7, 24500, 6000, kernel_args(0, 1, 7, 90, 2)),
        (*call, "cudaMemcpyAsync", pid, pid, 31000, 1000, call_args(41, 91)),
        ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0, 7, 33000, 2000,
         [("device", 0), ("context", 1), ("stream", 7), ("correlation", 91), ("bytes", 4096),
          ("memory bandwidth (GB/s)", Decimal("2.048")), *GRAPHLESS, ("channel", 12), ("channel_type", 2)]),
        (*call, "cudaMemsetAsync", pid, pid, 36000, 500, call_args(51, 92)),
        ("gpu_memset", "Memset (Device)", 0, 7, 37000, 0,
         [("device", 0), ("context", 1), ("stream", 7), ("correlation", 92), ("bytes", 1000), *GRAPHLESS,
          ("channel", 12), ("channel_type", 2)]),
        (*call, "cudaMemcpyPeerAsync", pid, pid, 38000, 500, call_args(161, 93)),
        ("gpu_memcpy", "Memcpy PtoP (Device -> Device)", 0, 7, 39000, 1000,
         [("fromDevice", 0), ("inDevice", 0), ("toDevice", 1), ("fromContext", 1), ("inContext", 1), ("toContext", 2),
          ("stream", 7), ("correlation", 93), ("bytes", 3000), ("memory bandwidth (GB/s)", Decimal("3.0")),
          *GRAPHLESS, ("channel", 13), ("channel_type", 2)]),
        ("cuda_driver", "cuLaunchKernel", pid, pid, 41000, 1000, call_args(307, 94)),
        ("kernel", "Kernel", 1, 20, 42500, 1000, kernel_args(1, 2, 20, 94)),
        (*call, "cudaEventRecord", pid, pid, 44000, 200, call_args(135, 95)),
        ("cuda_event", "cudaEvent", 0, 20, 44500, 1,
         [("External id", 95), ("event_id", 5), ("stream", 20), ("correlation", 95), ("device", 0), ("context", 1)]),
        (*call, "cudaStreamWaitEvent", pid, pid, 45000, 200, call_args(147, 96)),
        (*call, "cudaStreamWaitEvent", pid, pid, 45300, 100, call_args(147, 97)),
        (*call, "cudaEventSynchronize", pid, pid, 46000, 1000, call_args(137, 98)),
        ("cuda_sync", "Event Sync", 0, 1, 46000, 1000,
         [("External id", 98), ("cuda_sync_kind", "Event Sync"), ("wait_on_stream", -1),
          ("wait_on_cuda_event_record_corr_id", -1), ("wait_on_cuda_event_id", 6), ("stream", -1), ("correlation", 98),
          ("device", 0), ("context", 1)]),
        (*call, "cudaStreamSynchronize", pid, pid, 48000, 1000, call_args(131, 99)),
        ("cuda_sync", "Stream Sync", 0, 1000007, 48100, 800,
         [("External id", 99), ("cuda_sync_kind", "Stream Sync"), ("stream", 7), ("correlation", 99), ("device", 0),
          ("context", 1)]),
        (*call, "cudaDeviceSynchronize", pid, pid, 50000, 1000, call_args(165, 100)),
        ("cuda_sync", "Context Sync", 0, 1, 50100, 800,
         [("External id", 100), ("cuda_sync_kind", "Context Sync"), ("stream", -1), ("correlation", 100), ("device", 0),
          ("context", 1)]),
        ("overhead", "Buffer Flush", -1, 0, 52000, 1000, None),
        ("overhead", "JIT compile (PTX to cubin)", -1, 0, 53000, 1000, None),
        (*call, "cudaMalloc", pid, pid, 55000, 1000, call_args(20, 101)),
        (*call, "INVALID", pid, pid, 59000, 100, call_args(999, 104)),
        ("cuda_sync", "Stream Wait Event", 0, 1000007, 45000, 200,
         [("External id", 96), ("cuda_sync_kind", "Stream Wait Event"), ("wait_on_stream", 20),
          ("wait_on_cuda_event_record_corr_id", 95), ("wait_on_cuda_event_id", 5), ("stream", 7), ("correlation", 96),
          ("device", 0), ("context", 1)]),
        ("gpu_user_annotation", "step", 0, 7, 24499, 10502, [("External id", 1)]),
    ]


def expected_flows(rows):
    """Calls that launch, copy or wait start an arrow, every other row with a correlation ends one: also calls."""
    starting = {"cudaLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync", "cudaStreamWaitEvent",
                "cudaStreamSynchronize", "cudaDeviceSynchronize", "cuLaunchKernel"}
    flows = []
    for _, name, pid, tid, begin, _, args in rows:
        correlation = dict(args or []).get("correlation")
        if correlation:
            flows.append(("s" if name in starting else "f", correlation, pid, tid, begin))
    return flows


def check_names(trace):
    """Metadata of rows beside those of threads and streams."""
    said = {(e["name"], e["pid"], e["tid"]): e["args"][0][1] for e in trace.events if e["ph"] == "M"}
    for key, want in ((("process_name", -1, 0), "CUPTI Overhead"), (("process_sort_index", -1, 0), 0x100000A),
                      (("thread_name", 0, 1), "Device 0"), (("thread_sort_index", 0, 1), -1),
                      (("thread_name", 0, 7), "stream 7 "), (("thread_sort_index", 0, 7), 7),
                      (("thread_name", 0, 1000007), "stream 7 (sync)"), (("thread_sort_index", 0, 1000007), 7),
                      (("process_labels", 1, 0), "GPU 1"), (("process_sort_index", 1, 0), 5000001)):
        report.equal(f"metadata {key}", said.get(key), want)


def check_all(folder):
    trace, said = play(folder, "all")
    zero = trace.zero("cudaLaunchKernel", 10000)
    rows = expected_rows(said["pid"])
    got = trace.rows(zero)
    report.equal("number of rows", len(got), len(rows))
    for have, want in zip(got, rows):
        report.equal(f"row {want[0]} {want[1]}", have, want)
    report.equal("arrows, in order", trace.flows(zero), expected_flows(rows))
    check_names(trace)
    functions = {e["name"]: e["args"] for e in trace.events if e.get("cat") in ("cpu_op", "user_annotation")}
    report.equal("functions have their numbers", functions,
                 {"step": [("External id", 1)], "aten::mm": [("External id", 2)]})
    memory = [(recorder.ns(e["ts"]) - zero, e["tid"], e["args"]) for e in trace.events if e.get("name") == "[memory]"]
    report.check("an allocation", len(memory) == 1 and abs(memory[0][0] - 55500) <= 100 and memory[0][1:] == (
        said["tid"], [("Device Type", 1), ("Device Id", 0), ("Addr", 0x7000), ("Bytes", 256)]), memory)
    report.equal("metadata", [trace.all.get(k) for k in ("cupti_version", "cuda_driver_version")], [130100, 13010])
    report.equal("what became of records", trace.all["kino_cupti"],
                 {"records": 33, "calls_left_out": 2, "waits_on_idle_streams": 1, "unknown_records": 1})
    report.equal("the program hears the same", (said["activities"], said["lost"], said["error"], said["held"]),
                 (len(rows) + 1, 0, "", 0))
    check_properties(trace)
    return folder / "t.json"


def check_properties(trace):
    want = [("id", 0), ("name", 'Demo "GPU" 0'), ("totalGlobalMem", 1 << 30), ("computeMajor", 9), ("computeMinor", 0),
            ("maxThreadsPerBlock", 1024), ("maxThreadsPerMultiprocessor", 2048), ("regsPerBlock", 65536),
            ("warpSize", 32), ("sharedMemPerBlock", 49152), ("numSms", 4), ("regsPerMultiprocessor", 65536),
            ("sharedMemPerBlockOptin", 232448), ("sharedMemPerMultiprocessor", 233472)]
    report.equal("properties of devices, in Kineto's order", [list(d.items()) for d in trace.all["deviceProperties"]],
                 [want, [("id", 1), ("name", 'Demo "GPU" 1'), ("totalGlobalMem", 1 << 31)] + want[3:]])


def check_missing_property(folder):
    trace, _ = play(folder, "graph", env={"STANDIN_UNKNOWN": "16"})
    device = trace.all["deviceProperties"][0]
    report.check("an unknown property is missing, not 0", "numSms" not in device and "warpSize" in device, device)
    args = dict(trace.rows(0, "kernel")[0][6])
    report.equal("what depends on it", [args.get(k) for k in ("blocks per SM", "warps per SM", "occupancy",
                                                             "est. achieved occupancy %")], ["inf", "inf", None, -100])
    report.check("and it is said", "cuDeviceGetAttribute" in trace.error(), trace.error())


def check_versions(folder):
    """Records of other versions have other sizes; what they lack is not shown."""
    for version, has_graph, has_priority, has_event in ((13, False, False, False), (18, False, False, False),
                                                        (19, True, False, False), (28, True, False, False),
                                                        (130001, True, False, True)):
        trace, said = play(folder, "all", env={"STANDIN_VERSION": str(version)})
        want = []
        for row in expected_rows(said["pid"]):
            if (row[0] == "cuda_event" and not has_event) or (row[1].startswith("JIT") and version < 19):
                continue
            args = row[6]
            if row[0] in ("kernel", "gpu_memcpy", "gpu_memset"):
                args = [a for a in args if (has_graph or a[0] not in ("graph id", "graph node id", "channel",
                                                                      "channel_type")) and
                        (has_priority or a[0] != "priority")]
            want.append((*row[:6], args))
        got = trace.rows(trace.zero("cudaLaunchKernel", 10000))
        report.check(f"rows of version {version}", got == want,
                     next(((h, w) for h, w in zip(got, want) if h != w), (len(got), len(want))))
        report.equal(f"version {version} is named", trace.devices[0]["version"], str(version))
    for version in (12, 99999, 140000):
        trace, said = play(folder, "all", env={"STANDIN_VERSION": str(version)})
        report.check(f"version {version} is refused", f"unsupported CUPTI version {version} " in said["error"] and
                     said["error"] == trace.error() and not trace.rows(0), said)


def check_graph(folder):
    trace, said = play(folder, "graph")
    zero = trace.zero("cudaGraphLaunch", 10000)

    def node(number):
        return [("graph id", 9), ("graph node id", 4294967296 + number)]
    want = [("cuda_runtime", "cudaGraphLaunch", said["pid"], said["tid"], 10000, 2000, call_args(311, 50)),
            ("kernel", "add()", 0, 7, 13000, 1000, kernel_args(0, 1, 7, 50, graph=node(1))),
            ("kernel", "add()", 0, 7, 14000, 1000, kernel_args(0, 1, 7, 50, graph=node(2))),
            ("kernel", "mul()", 0, 8, 14500, 1000, kernel_args(0, 1, 8, 50, graph=node(3)))]
    report.equal("a graph: one call, three nodes", trace.rows(zero), want)
    report.equal("one arrow with three ends", trace.flows(zero),
                 [("s", 50, said["pid"], said["tid"], 10000), ("f", 50, 0, 7, 13000), ("f", 50, 0, 7, 14000),
                  ("f", 50, 0, 8, 14500)])


def check_disorder(folder):
    trace, said = play(folder, "disorder", env={"KINO_CUPTI_BUFFER_MB": "32"})
    zero = trace.zero("cudaLaunchKernel", 10000)
    got = sorted(trace.rows(zero), key=lambda row: (row[4], row[0]))
    report.equal("buffers in any order, late records", got, [
        ("cuda_runtime", "cudaLaunchKernel", said["pid"], said["tid"], 10000, 1000, call_args(211, 60, 77)),
        ("gpu_user_annotation", "(name lost)", 0, 7, 19999, 1002, [("External id", 78)]),
        ("kernel", "late", 0, 7, 20000, 1000, kernel_args(0, 1, 7, 60, 77)),
        ("cuda_event", "cudaEvent", 0, 9, 21500, 1,
         [("External id", 61), ("event_id", 3), ("stream", 9), ("correlation", 61), ("device", 0), ("context", 1)]),
        ("cuda_sync", "Stream Wait Event", 0, 1000007, 22000, 500,
         [("External id", 62), ("cuda_sync_kind", "Stream Wait Event"), ("wait_on_stream", 9),
          ("wait_on_cuda_event_record_corr_id", 61), ("wait_on_cuda_event_id", 3), ("stream", 7), ("correlation", 62),
          ("device", 0), ("context", 1)])])


def check_edges(folder):
    trace, said = play(folder, "edges")
    zero = trace.zero("first", 10)
    report.equal("only what lies in the recording", [(r[1], r[4], r[5]) for r in trace.rows(zero)],
                 [("first", 10, 10), ("backwards", 60, 0)])
    report.equal("the rest is counted", trace.all["kino_cupti"],
                 {"records": 6, "outside_of_window": 2, "incomplete": 1, "dropped_by_cupti": 1234})
    # 1234 that CUPTI dropped, one without an end, one of a device that does not exist
    report.equal("lost", (said["lost"], trace.devices[0]["lost"]), (1236, 1236))


def check_buffers(folder):
    """8 MiB hold two buffers of 4 MiB; a kernel has 224 bytes. The collector may empty some meanwhile."""
    count = 45000
    def read(path):
        """Number of kernels and what became of records; the document is large."""
        text = path.read_text(encoding="utf-8")
        return text.count('"cat": "kernel"'), json.loads(re.search(r'"kino_cupti": (\{.*?\})', text).group(1))

    (kept, loss), said = play(folder, "flood", count, read=read)
    report.equal("kept and lost are all", kept + said["lost"], count)
    report.check("all that the buffers hold, or more", kept >= 2 * ((4 << 20) // 224), kept)
    if said["lost"]:
        report.equal("losses are CUPTI's", loss["dropped_by_cupti"], said["lost"])
        report.check("and the buffers' fault", loss["without_buffer"] > 0, loss)
    report.equal("all buffers came back", said["held"], 0)
    # before CUDA 12.9 CUPTI crashes without a buffer: it gets one whose records are thrown away and counted
    (kept, loss), said = play(folder, "flood", count, env={"STANDIN_VERSION": "26"}, read=read)
    report.equal("old versions: kept and lost are all", kept + said["lost"], count)
    report.equal("lost are those that were thrown away", loss.get("spilled", 0), said["lost"])


def check_collective(folder):
    """What a kernel of NCCL says of its collective: names and lists as texts, counts as numbers, five only together,
    split sizes only both."""
    trace, _ = play(folder, "collective")
    zero = trace.zero("ncclDevKernel", 12000)
    report.equal("a kernel of a collective, and one of none", trace.rows(zero, "kernel"), [
        ("kernel", "ncclDevKernel", 0, 7, 12000, 1000, kernel_args(0, 1, 7, 5, 1) + [
            ("Collective name", "allreduce"), ("In msg nelems", 1024), ("Out msg nelems", 1024), ("Group size", 2),
            ("dtype", "Float"), ("Process Group Name", "0"), ("Process Group Ranks", "[0, 1]"), ("Seq", 41)]),
        ("kernel", "other", 0, 7, 16000, 1000, kernel_args(0, 1, 7, 6))])
    call = trace.rows(zero, "cuda_runtime")[0]
    report.equal("its call says nothing of it", call[6], call_args(211, 5, 1))


def check_threads(folder, fails=None):
    """Three threads, 600 operators with a kernel each, through buffers of a few records that are emptied meanwhile."""
    trace, said = play(folder, "threads", env={"STANDIN_BUFFER": "4096", "KINO_CUPTI_BUFFER_MB": "64",
                                               **({"STANDIN_FAIL": fails} if fails else {})})
    operators = {dict(e["args"])["External id"]: (e["name"], e["tid"]) for e in trace.events
                 if e.get("cat") == "cpu_op"}
    calls = {dict(row[6])["correlation"]: (dict(row[6]).get("External id"), row[3]) for row in
             trace.rows(0, "cuda_runtime")}
    report.equal("all operators", len(operators), 600)
    report.equal("calls and kernels, kept and lost", len(calls) + len(trace.rows(0, "kernel")) + 600 +
                 said["lost"], 3 * 600)
    wrong = [(correlation, external) for correlation, (external, tid) in calls.items()
             if operators.get(external) != (f"op {correlation}", tid)]
    report.equal("calls belong to their operators, on their threads", wrong[:3], [])
    wrong = [args for args in (dict(row[6]) for row in trace.rows(0, "kernel"))
             if operators.get(args.get("External id"), ("",))[0] != f"op {args['correlation']}"]
    report.equal("and kernels", wrong[:3], [])
    report.equal("nothing is lost", (said["lost"], bool(said["error"])), (0, bool(fails)))


def check_own_threads(folder):
    """CUPTI that does not tell the system's numbers: calls carry the low half of pthread_self."""
    check_threads(folder, "cuptiSetThreadIdType:15")


def distortion(trace, said):
    """By how many ns the distance of a row to the first one differs from what was played, at the most."""
    rows = trace.rows(0)
    return max(abs(r[4] - rows[0][4] - (w[4] - 10000)) for r, w in zip(rows, expected_rows(said["pid"])))


def check_clock(folder):
    """CUPTI has a clock of its own, 5 s ahead and 50 ppm fast; rows must be where they belong, to a few us.

    The rows lie within 49 us, of which 50 ppm are 2.5 ns. But the rate is known only as well as the two clocks could be read together:
    where the process loses the processor between two readings, the offset is known to some us only, and the rate between two such offsets
    may be 1,000 ppm off (52 ns, seen once). That is the machine's doing and differs from run to run, a wrong conversion does not: one of
    five runs must be right."""
    env = {"STANDIN_FAIL": "cuptiActivityRegisterTimestampCallback:27", "STANDIN_SKEW": "5000000000",
           "STANDIN_PPM": "50"}
    trace, said = play(folder, "all", env=env)
    window = [recorder.ns(e["ts"]) for e in trace.events if e.get("name") in ("Kino (0)", "Record Window End")]
    rows = trace.rows(0)
    report.equal("all rows are there", len(rows), len(expected_rows(said["pid"])))
    report.check("within the recording", all(window[0] <= r[4] <= window[1] for r in rows), window)
    wrong = [distortion(trace, said)]
    while wrong[-1] > 50 and len(wrong) < 5:
        wrong.append(distortion(*play(folder, "all", env=env)))
    report.check("calls and kernels keep their distances", wrong[-1] <= 50, f"{wrong} ns off")
    report.equal("one that does not exist is no problem", said["error"], "")
    env["STANDIN_FAIL"] = "cuptiActivityRegisterTimestampCallback:15"
    report.check("one that fails is said", "times are converted" in play(folder, "graph", env=env)[1]["error"])


def check_counters(folder):
    """Five samples a millisecond apart; the first is thrown away, sample 3 has no value of the first metric."""
    env = {"STANDIN_PM": "5", "KINO_CUPTI_PM_METRICS": "sm__cycles_active.avg,dram__bytes.sum",
           "KINO_CUPTI_PM_DEVICE": "1"}

    def counters(trace):
        return [e for e in trace.events if e["ph"] == "C"]
    trace, said = play(folder, "counters", env=env)
    rows = counters(trace)
    report.equal("counters", [(e["cat"], e["name"], e["pid"], e["tid"], [(k, float(v)) for k, v in e["args"]])
                              for e in rows],
                 [("hardware_counters", name, "GPU 1 Counters", 0, [("", value)]) for name, value in (
                     ("sm__cycles_active.avg", 1), ("dram__bytes.sum", 101), ("sm__cycles_active.avg", 2),
                     ("dram__bytes.sum", 102), ("dram__bytes.sum", 103), ("sm__cycles_active.avg", 4),
                     ("dram__bytes.sum", 104))])
    times = [recorder.ns(e["ts"]) for e in rows if e["name"] == "dram__bytes.sum"]
    report.check("a millisecond apart", all(abs(b - a - 1000000) <= 200 for a, b in zip(times, times[1:])), times)
    report.equal("nothing to complain", (said["error"], said["lost"]), ("", 0))
    for changed, wanted in (({"KINO_CUPTI_PM_METRICS": "a,b,c"}, "too many metrics for one pass"),
                            ({"KINO_CUPTI_PM_DEVICE": "2"}, "no such device"),
                            ({"KINO_CUPTI_PM_DEVICE": ""}, "no such device")):
        trace, said = play(folder, "counters", env={**env, **changed})
        report.check(f"refusal of counters {changed}", wanted in said["error"] and not counters(trace), said)
        report.equal("kernels all the same", len(trace.rows(0, "kernel")), 1)
    functions = functions_of("standin_pm.c")
    report.equal("functions of counters", len(functions), 21)
    for function in functions:
        trace, said = play(folder, "counters", env={**env, "STANDIN_FAIL": f"{function}:15"})
        report.check(f"{function}: said in one line", f"{function} failed: CUPTI_ERROR_NOT_INITIALIZED (15)" in
                     said["error"] and said["error"] == trace.error(), said["error"])
        report.equal(f"{function}: kernels all the same", len(trace.rows(0, "kernel")), 1)


# ---- what goes wrong

FATAL = {"cuptiGetVersion", "cuptiSubscribe", "cuptiSubscribe_v2", "cuptiActivityRegisterCallbacks",
         "cuptiActivityEnable", "cuDeviceGetCount", "cuDeviceGet", "cuptiActivityGetNextRecord",
         "cuptiActivityFlushAll"}
# Texts of errors; names of calls, which become "INVALID"; a clock that is not asked for; behind the last session.
SILENT = {"cuptiGetResultString", "cuptiGetCallbackName", "cuptiGetTimestamp", "cuptiFinalize", "cuptiUnsubscribe"}
PROGRAM = {"cuInit"}  # is the program's to call


def check_failures(folder):
    functions = functions_of("standin.c") + functions_of("standin_cuda.c")
    report.check("all functions are tried", len(functions) >= 30 and FATAL | SILENT | PROGRAM <= set(functions),
                 functions)
    for function in (f for f in functions if f not in PROGRAM):
        trace, said = play(folder, "all", env={"STANDIN_FAIL": f"{function}:15"})
        error = trace.error() or ""
        kernels = trace.rows(0, "kernel")
        named = "cuptiSubscribe" if function == "cuptiSubscribe_v2" else function
        if function not in SILENT:
            report.check(f"{function}: said in one line", named in error and "\n" not in error and
                         error == said["error"] and re.search(r"\b15\b", error), (error, said["error"]))
        else:
            report.equal(f"{function}: nothing to say", error, "")
        if function in FATAL:
            report.equal(f"{function}: no rows", kernels, [])
        else:
            report.equal(f"{function}: kernels are there", len(kernels), 2)
        report.equal(f"{function}: no buffer is left behind", said["held"], int(function == "cuptiActivityFlushAll"))


def check_refusals(folder):
    for env, wanted in (
            ({"STANDIN_OTHER": "CUPTI Tool: XProf"}, "another profiler is using CUPTI, which allows only one: CUPTI Tool: XProf"),
            ({"STANDIN_FAIL": "cuptiSubscribe:39", "STANDIN_OTHER": ""}, "another profiler is using CUPTI"),
            ({"STANDIN_FAIL": "cuptiActivityEnable:35"}, "NVreg_RestrictProfilingToAdminUsers=0"),
            ({"KINO_CUPTI_LIBRARY": "/nowhere/libcupti.so"}, "KINO_CUPTI_LIBRARY cannot be loaded"),
            ({"KINO_CUPTI_LIBRARY": "libm.so.6"}, "'libm.so.6' is not CUPTI: it has no cuptiGetVersion"),
            ({"STANDIN_DEVICES": "0", "KINO_CUPTI_LIBRARY": "libcupti.so.13"}, "CUDA sees no device")):
        trace, said = play(folder, "all", env=env)
        report.check(f"refusal {env}", wanted in said["error"] and said["error"] == trace.error(), said["error"])
    for env in ({"STANDIN_DEVICES": "0"}, {"STANDIN_FAIL": "cuDeviceGetCount:100"}):
        trace, said = play(folder, "all", env=env)
        report.equal(f"a machine without a GPU is not mentioned {env}",
                     (said["found"], trace.devices, trace.all["deviceProperties"]), (0, [], []))


def check_driverless(folder):
    """The driver is not found, but CUPTI works: devices are their numbers, which records have."""
    driver, away = folder / "libcuda.so.1", folder / "away"
    driver.rename(away)
    trace, said = play(folder, "all")
    away.rename(driver)
    report.equal("no driver: the same rows", [r[:6] for r in trace.rows(trace.zero("cudaLaunchKernel", 10000))],
                 [r[:6] for r in expected_rows(said["pid"])])
    report.equal("no driver: devices without properties", trace.all["deviceProperties"],
                 [{"id": 0, "name": "CUDA device 0"}, {"id": 1, "name": "CUDA device 1"}])
    args = dict(trace.rows(0, "kernel")[0][6])
    report.equal("no driver: what follows from them", [args.get(k) for k in (
        "device", "blocks per SM", "warps per SM", "est. achieved occupancy %")], [0, "inf", "inf", -100])
    report.check("no driver: said in one line", "libcuda.so.1" in said["error"], said["error"])


def check_lives(folder):
    trace, said = play(folder, "twice")
    report.equal("CUPTI is left at the end of the next call, once", said["finalized"], [0, 1, 1])
    report.equal("the second session works", [r[1] for r in trace.rows(0, "kernel")], ["two"])
    report.equal("one subscription at the end, waiting for a call", (said["subscribed"], said["held"]), (1, 0))
    _, said = play(folder, "twice", env={"KINO_CUPTI_DETACH": "0"})
    report.equal("unless one does not want that", (said["finalized"], said["subscribed"]), ([0, 0, 0], 0))
    trace, said = play(folder, "exit")
    report.equal("a program that exits: what CUPTI still had is there", [r[1] for r in trace.rows(0, "kernel")],
                 ["last words"])
    report.equal("CUPTI is not shut down in the middle of an exit", said,
                 {"finalized": 0, "unsubscribed": 1, "held": 0})
    trace, said = play(folder, "fork")
    report.equal("a forked child leaves CUPTI alone", said["child"], 0)
    report.equal("its parent goes on", [r[1] for r in trace.rows(0, "kernel")], ["parent"])
    trace, said = play(folder, "dump")
    report.equal("a dump of the flight recorder has what is done", [r[1] for r in trace.rows(0, "kernel")], ["one"])
    report.equal("and recording goes on", said["activities"], 2)
    trace, said = play(folder, "late")
    report.equal("CUDA that is initialised later", (len(trace.rows(0, "kernel")), said["devices"], said["error"]),
                 (3, 2, ""))
    report.equal("its devices are known all the same", len(trace.all["deviceProperties"]), 2)
    trace, said = play(folder, "markers", env={"NVTX_INJECTION64_PATH": "/somewhere/libcupti.so"})
    zero = trace.zero("inner", 2000)
    report.equal("NVTX through CUPTI", trace.rows(zero, "user_annotation"),
                 [("user_annotation", "inner", said["pid"], said["tid"], 2000, 1000, None),
                  ("user_annotation", "outer", said["pid"], said["tid"], 1000, 3000, None)])


def check_record(folder):
    """A program that knows nothing of kino: CUDA itself loads the injected library in the middle of cuInit, where the
    driver must not be called."""
    recorder.library("libkino_inject.so")
    path = folder / "recorded.json"
    done = common.run("record", "--output", path, "--", folder / "program", "plain", "-",
                      env={"LD_LIBRARY_PATH": str(folder)})
    if not report.equal("kino record passes the exit code on", done.returncode, 7):
        return
    trace = Played(path)
    zero = trace.zero("cudaGraphLaunch", 10000)
    report.equal("its kernels are recorded", [(r[1], r[3], r[4]) for r in trace.rows(zero, "kernel")],
                 [("add()", 7, 13000), ("add()", 7, 14000), ("mul()", 8, 14500)])
    report.equal("nothing went wrong", (trace.error(), len(trace.all["deviceProperties"])), ("", 2))


# ---- kino on the trace

def check_kino(path):
    text = common.run("report", path).stdout.decode()
    for word in ("gemm", 'Demo "GPU" 0', "CUPTI 130100", "aten::mm"):
        report.check(f"kino report shows {word}", word in text, text[:400])
    owners = common.query(path, "select o.name, k.name from kernel k join op o on o.external_id = k.external_id")
    report.equal("kernels belong to operators", [tuple(row) for row in owners], [("aten::mm", "gemm(int, float*)")])
    links = common.query(path, "select a.name, b.name from flow f join event a on a.id = f.from_event "
                               "join event b on b.id = f.to_event where b.cat in ('kernel', 'gpu_memcpy') "
                               "order by b.ts")
    report.equal("kino query follows launches", [tuple(row) for row in links],
                 [("cudaLaunchKernel", "gemm(int, float*)"), ("cudaMemcpyAsync", "Memcpy HtoD (Pinned -> Device)"),
                  ("cuLaunchKernel", "Kernel")])
    shapes = common.query(path, "select registers, shared_memory, occupancy, graph_id from kernel")
    report.equal("kino query knows the shapes", [[int(v) for v in row] for row in shapes], [[32, 1536, 25, 0]] * 2)


# ---- the real thing

def toolkit():
    for name in ("cuda", *sorted(p.name for p in pathlib.Path("/usr/local").glob("cuda-*"))):
        folder = pathlib.Path("/usr/local") / name
        for include in (folder / "include", folder / "extras" / "CUPTI" / "include"):
            if (include / "cupti.h").exists():
                return folder, include
    return None, None


def check_headers(folder, toolkit_folder, include):
    flags = [f"-I{folder_}" for folder_ in (include, toolkit_folder / "include", common.ROOT / "src",
                                            common.ROOT / "include")]
    (folder / "string").touch()  # one of the headers includes that of C++, and uses nothing of it
    flags.append(f"-idirafter{folder}")
    report.equal("our declarations are those of the real headers",
                 standin.compile_c("-Wno-deprecated-declarations", *flags, SOURCES / "check_abi.c", "-fsyntax-only"), "")
    said = standin.compile_c("-Wno-unused-function", *flags, SOURCES / "check_occupancy.c", common.ROOT / "src/base/cuda_occupancy.c", "-o", folder / "occupancy")
    if report.equal("the check of occupancies builds", said, ""):
        done = recorder.execute(folder / "occupancy")
        report.equal("occupancies are those of NVIDIA's calculator", (done.returncode, done.stderr), (0, ""))


def check_real(folder, toolkit_folder, include):
    libraries = [p for name in ("lib64", "lib", "extras/CUPTI/lib64") for p in
                 (toolkit_folder / name).glob("libcupti.so*")]
    if not libraries:
        return "libcupti.so is not installed"
    flags = [f"-I{include}", f"-I{toolkit_folder / 'include'}", f"-I{common.ROOT / 'src'}"]
    said = standin.compile_c("-Wno-deprecated-declarations", *flags, SOURCES / "real.c", "-o", folder / "real", "-ldl")
    if report.equal("the check of the real CUPTI builds", said, ""):
        done = recorder.execute(folder / "real", libraries[0])
        print(done.stdout, end="")
        report.equal("the real CUPTI does what we expect", (done.returncode, done.stderr), (0, ""))
    return None


def main():
    global skipped
    recorder.library("libkino.so")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        build(folder)
        check_kino(check_all(folder))
        for check in (check_missing_property, check_versions, check_graph, check_disorder, check_edges, check_buffers,
                      check_collective, check_threads, check_own_threads, check_clock, check_counters, check_failures,
                      check_refusals, check_driverless, check_lives, check_record):
            check(folder)
        toolkit_folder, include = toolkit()
        missing = "the CUDA toolkit's headers are not installed"
        if include:
            check_headers(folder, toolkit_folder, include)
            missing = check_real(folder, toolkit_folder, include)
        if missing:
            skipped += 1
            print(f"SKIPPED: {missing}: nothing was compared with the real CUPTI")
    return report.finish(skipped)


if __name__ == "__main__":
    sys.exit(main())
