#!/usr/bin/env python3
"""OpenCL through the layer, on a real runtime: the example's work is in the trace with its queues, calls and links; a
program that knows nothing of kino gives the same rows; the analyses agree with sums made here; and the program gets
the same answers from OpenCL with and without the layer."""
import bisect
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common, recorder  # noqa: E402

ROUNDS, COUNT, SIDE = 4, 1 << 16, 64  # as examples/opencl/example.c says
VECTOR, MATRIX = COUNT * 4, SIDE * SIDE * 4
COMPUTE, COPIES = 1, 2  # queues in the order of their creation
# What a round does: name, queue, bytes, grid, block, and the call that causes it.
ROUND = [
    ("Memcpy HtoD (Pageable -> Device)", COPIES, VECTOR, None, None, "clEnqueueWriteBuffer"),
    ("Memset (Device)", COMPUTE, VECTOR, None, None, "clEnqueueFillBuffer"),
    ("vector_add", COMPUTE, None, [COUNT // 64, 1, 1], [64, 1, 1], "clEnqueueNDRangeKernel"),
    ("Memcpy DtoH (Device -> Pageable)", COMPUTE, VECTOR, None, None, "clEnqueueReadBuffer"),
    ("Memset (Device)", COMPUTE, MATRIX, None, None, "clEnqueueFillBuffer"),
    ("Memset (Device)", COMPUTE, MATRIX, None, None, "clEnqueueFillBuffer"),
    ("matmul", COMPUTE, None, [SIDE // 8, SIDE // 8, 1], [8, 8, 1], "clEnqueueNDRangeKernel"),
    ("Memcpy DtoD (Device -> Device)", COMPUTE, MATRIX, None, None, "clEnqueueCopyBuffer"),
    ("Map (Device -> Pageable)", COPIES, None, None, None, "clEnqueueMapBuffer"),
    ("Unmap (Pageable -> Device)", COPIES, None, None, None, "clEnqueueUnmapMemObject"),
]
report = common.Report()


def row_of(event):
    args = event["args"]
    return (event["name"], event["tid"], args.get("bytes"), str(args.get("grid")), str(args.get("block")))


def check_rows(what, trace):
    wanted = collections.Counter((n, q, b, str(g), str(l)) for n, q, b, g, l, _ in ROUND for _ in range(ROUNDS))
    report.equal(f"{what}: rows of the device", collections.Counter(map(row_of, trace.work)), wanted)
    for e in trace.work:
        report.check(f"{what}: a row names its device and queue",
                     (e["pid"], e["args"]["device"], e["args"]["stream"]) == (0, 0, e["tid"]), e)
        queued, submitted = e["args"]["queued before start (ns)"], e["args"]["submitted before start (ns)"]
        report.check(f"{what}: queued, submitted, started in this order", queued >= submitted >= 0, e)
    for queue in (COMPUTE, COPIES):  # both are in order
        rows = sorted((e for e in trace.work if e["tid"] == queue), key=trace.start)
        report.check(f"{what}: queue {queue} does one thing at a time",
                     all(trace.end(a) <= trace.start(b) for a, b in zip(rows, rows[1:])))
    names = collections.Counter(e["name"] for e in trace.calls)
    for name, count in (("clFinish", 2), ("clFlush", 1)):
        report.equal(f"{what}: calls of {name}", names[name], count * ROUNDS)
    report.equal(f"{what}: nothing is lost", trace.all["kino_devices"],
                 [dict(trace.all["kino_devices"][0], name="opencl", devices=[0], activities=len(ROUND) * ROUNDS, lost=0)])
    report.check(f"{what}: the device is described", trace.all["deviceProperties"][0]["maxComputeUnits"] > 0)


def check_links(what, trace):
    caused_by = {(n, b): c for n, _, b, _, _, c in ROUND}
    starts, ends = trace.flows("s"), trace.flows("f")
    calls = {e["args"]["correlation"]: e for e in trace.calls if "correlation" in e["args"]}
    report.equal(f"{what}: as many arrows as rows", (len(starts), len(ends)), (len(trace.work), len(trace.work)))
    for e in trace.work:
        number = e["args"]["correlation"]
        call = calls.get(number)
        if not report.check(f"{what}: a row has its call", call is not None, e):
            continue
        report.equal(f"{what}: the right call", call["name"], caused_by[e["name"], e["args"].get("bytes")])
        report.check(f"{what}: work starts behind the begin of its call", trace.start(e) >= trace.start(call), (e, call))
        queued = trace.start(e) - e["args"]["queued before start (ns)"]
        slack = 1000  # of both clocks; they are the same here, and exact
        report.check(f"{what}: it was queued within its call",
                     trace.start(call) - slack <= queued <= trace.end(call) + slack, (e, call))
        report.check(f"{what}: the arrow joins both", starts[number]["ts"] == call["ts"] and ends[number]["ts"] == e["ts"])
    for call in trace.calls:
        if call["name"] == "clEnqueueReadBuffer":  # it waits
            work = next(e for e in trace.work if e["args"]["correlation"] == call["args"]["correlation"])
            report.check(f"{what}: a blocking read ends behind its work", trace.end(call) >= trace.end(work) - 1000)


def analysis(path, name, table, *more):
    done = common.run("analyze", name, path, "--format", "json", *more)
    if not report.equal(f"kino analyze {name}", done.returncode, 0):
        return []
    found = next(t for t in json.loads(done.stdout)["tables"] if t["name"] == table)
    columns = [c["name"] for c in found["columns"]]
    return [dict(zip(columns, row)) for row in found["rows"]]


def check_analyses(path, trace):
    calls = {e["args"]["correlation"]: e for e in trace.calls if "correlation" in e["args"]}
    launches = {r["correlation"]: r for r in analysis(path, "launch-stats", "launch_stats")}
    kernels = [e for e in trace.work if e["cat"] == "kernel"]
    report.equal("launch-stats: a row a kernel", set(launches), {e["args"]["correlation"] for e in kernels})
    for e in kernels:
        row, call = launches.get(e["args"]["correlation"], {}), calls[e["args"]["correlation"]]
        report.equal("launch-stats: durations", (row.get("cpu_duration"), row.get("gpu_duration")),
                     (recorder.ns(call["dur"]), recorder.ns(e["dur"])))
        report.equal("launch-stats: delay", row.get("launch_delay"), max(0, trace.start(e) - trace.end(call)))
    lengths = {r["stream"]: r for r in analysis(path, "queue-length", "queue_length_summary")}
    idle = collections.Counter()
    for r in analysis(path, "idle-time", "idle"):
        idle[r["stream"]] += r["idle_time"]
    for queue in (COMPUTE, COPIES):
        rows = sorted((e for e in trace.work if e["tid"] == queue), key=trace.start)
        points = sorted([(trace.start(calls[e["args"]["correlation"]]), -1) for e in rows] +
                        [(trace.start(e), 1) for e in rows])
        length = longest = shortest = 0
        for _, change in points:
            length -= change
            longest, shortest = max(longest, length), min(shortest, length)
        got = lengths.get(queue, {})
        report.equal(f"queue-length of {queue}", (got.get("count"), got.get("min"), got.get("max")),
                     (2 * len(rows), shortest, longest))
        gaps = sum(max(0, trace.start(b) - trace.end(a)) for a, b in zip(rows, rows[1:]))
        report.equal(f"idle-time of {queue}", idle[queue], gaps)
    text = common.run("report", path).stdout.decode()
    report.check("kino report names the kernels", "matmul" in text and "vector_add" in text, text[:200])
    done = common.run("check", path)
    report.check("kino check finds it sane", done.returncode == 0 and b"complete and valid" in done.stdout, done.stdout[:200])


def check_zones(trace):
    zones = [e for e in trace.spans if e["cat"] == "cpu_op"]
    report.equal("zones of the program", collections.Counter(e["name"] for e in zones),
                 {"vector add": ROUNDS, "matrix product": ROUNDS})
    zones.sort(key=trace.start)
    starts = [trace.start(z) for z in zones]
    for e in trace.calls:
        if e["name"].startswith("clEnqueue"):
            zone = zones[bisect.bisect_right(starts, trace.start(e)) - 1]
            report.check("calls lie in zones", trace.start(zone) <= trace.start(e) and trace.end(e) <= trace.end(zone), e)


def check_example(folder, layer):
    first = recorder.execute(folder / "plain")
    report.equal("the plain program works", (first.returncode, first.stdout), (0, "all results are right\n"))
    done = recorder.execute(folder / "recorded", folder / "r.json")
    report.equal("the recorded program works", (done.returncode, done.stdout, done.stderr),
                 (0, "all results are right\n", ""))
    with_layer = {"OPENCL_LAYERS": str(layer), "KINO_TRACE": str(folder / "p.json")}
    done = recorder.execute(folder / "plain", env=with_layer)
    report.equal("the plain program works with the layer", (done.returncode, done.stdout, done.stderr),
                 (0, "all results are right\n", ""))
    traces = {}
    for what, name in (("recorded", "r.json"), ("plain", "p.json")):
        traces[what] = recorder.Trace(folder / name)
        check_rows(what, traces[what])
        check_links(what, traces[what])
        check_analyses(folder / name, traces[what])
    check_zones(traces["recorded"])
    done = recorder.execute(folder / "plain", env=dict(with_layer, KINO_TRACE=str(folder / "p.kino")))
    report.equal("a .kino file can be written", done.returncode, 0)
    report.equal("and converted", common.run("convert", folder / "p.kino", folder / "k.json").returncode, 0)
    check_rows(".kino", recorder.Trace(folder / "k.json"))


def check_quiet(folder, layer):
    before = set(folder.iterdir())
    done = recorder.execute(folder / "plain", env={"OPENCL_LAYERS": str(layer), "KINO_TRACE": ""})
    report.equal("nothing is recorded unasked", (done.returncode, done.stderr, set(folder.iterdir())), (0, "", before))
    done = recorder.execute(folder / "plain", env={"OPENCL_LAYERS": str(layer), "KINO_TRACE": "/nowhere/t.json"})
    report.equal("a trace that cannot be written is said, and the program goes on", (done.returncode, done.stdout),
                 (0, "all results are right\n"))
    report.equal("in one line", done.stderr,
                 "kino: not recording: cannot write '/nowhere/t.json': no such file or directory\n")


def check_answers(folder, layer):
    source = common.ROOT / "tests" / "support" / "opencl_answers.c"
    built = recorder.execute(recorder.compiler(), "-O1", "-std=gnu11", source, "-o", folder / "answers", "-lOpenCL")
    if not report.equal("the questions compile", built.returncode, 0):
        return
    wanted = recorder.execute(folder / "answers")
    report.check("OpenCL answers", wanted.returncode == 0 and "with times" in wanted.stdout, wanted.stdout)
    for what, env in (("not recording", {}), ("recording", {"KINO_TRACE": str(folder / "a.json")})):
        for _ in range(3):
            got = recorder.execute(folder / "answers", env=dict(env, OPENCL_LAYERS=str(layer)))
            report.equal(f"the same answers with the layer, {what}", (got.returncode, got.stdout.splitlines()),
                         (0, wanted.stdout.splitlines()))
    failed = [e for e in recorder.Trace(folder / "a.json").calls if "error" in e["args"]]
    report.equal("calls that failed say so", collections.Counter((e["name"], e["args"]["error"]) for e in failed),
                 {("clEnqueueNDRangeKernel", -53): 10, ("clEnqueueReadBuffer", -38): 5, ("clEnqueueMapBuffer", -38): 10})


def check_fake(folder, layer):
    """The layer on a made-up runtime whose clock is 1000 s ahead: no OpenCL is needed but its headers."""
    libraries = layer.parent
    built = recorder.execute(recorder.compiler(), "-O1", "-std=gnu11", f"-I{common.ROOT / 'include'}",
                             common.ROOT / "tests" / "support" / "opencl_fake.c", "-o", folder / "fake", f"-L{libraries}",
                             "-lkino", f"-Wl,-rpath,{libraries}", "-ldl")
    if not report.equal("the made-up runtime compiles", (built.returncode, built.stderr), (0, "")):
        return
    done = recorder.execute(folder / "fake", layer, folder / "fake.json")
    report.equal("the layer on a made-up runtime", (done.returncode, done.stdout), (0, "well\n"))
    trace = recorder.Trace(folder / "fake.json")
    calls = {e["args"]["correlation"]: e for e in trace.calls}
    report.equal("sizes of a kernel", {(str(e["args"]["grid"]), str(e["args"]["block"])) for e in trace.work},
                 {("[13, 2, 1]", "[8, 5, 1]")})
    for e in trace.work:
        call, queued = calls[e["args"]["correlation"]], trace.start(e) - 2000
        report.check("the device's clock is brought to ours",
                     trace.start(call) - 1000 <= queued <= trace.end(call) + 1000, (e, call))
    report.equal("an error is an argument", [e["args"].get("error") for e in trace.calls if "error" in e["args"]], [-53])


def check_libraries(layer):
    for path in (layer, recorder.library("libkino.so")):
        needed = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=False).stdout
        report.check(f"{path.name} needs no OpenCL", "NEEDED" in needed and "OpenCL" not in needed, needed)
    names = subprocess.run(["nm", "-D", "--defined-only", str(layer)], capture_output=True, text=True, check=False).stdout
    exported = {line.split()[-1].split("@")[0] for line in names.splitlines()}
    report.equal("what the layer exports", exported,
                 {"clGetLayerInfo", "clInitLayer", "clInitLayerWithProperties", "clDeinitLayer", "kino_device_plugin_v1", "kino_record_begin",
                  "kino_opencl_enable", "InitializeInjection", "InitializeInjectionNvtx2", "__itt_api_init",
                  "__itt_api_fini", "rocprofiler_configure", "prctl", "syscall", "unshare", "setns"})


def check_as_plugin(folder, layer):
    report.equal("the example program builds", recorder.build("plugin", folder), "")
    done = recorder.execute(folder / "program", folder / "t.json", env={"KINO_PLUGINS": str(layer)})
    report.check("as a plug-in it says where it belongs", done.returncode == 0 and
                 "set OPENCL_LAYERS to this path" in done.stdout, done.stdout)


def leave(reason):
    """Skips the rest, unless something is wrong already."""
    return report.finish() if report.failures else common.skip(reason)


def main():
    recorder.library("libkino.so")
    layer = recorder.library("libkino_inject.so")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_libraries(layer)
        check_fake(folder, layer)
        said = recorder.build("opencl", folder)
        if "cannot find -lOpenCL" in said:
            return leave("ocl-icd-opencl-dev is not installed: only the made-up runtime was tested")
        if report.equal("the example builds without a word", said, ""):
            if recorder.execute(folder / "plain").returncode == 77:
                return leave("there is no OpenCL device (pocl-opencl-icd): only the made-up runtime was tested")
            check_example(folder, layer)
            check_quiet(folder, layer)
            check_answers(folder, layer)
            check_as_plugin(folder, layer)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
