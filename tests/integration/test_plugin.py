#!/usr/bin/env python3
"""The example plug-in: it builds alone, is loaded by KINO_PLUGINS, its made-up work is in the trace with the right
times, links and counts; a plug-in that cannot work is named with the reason, and the program goes on."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common, recorder  # noqa: E402

KERNEL, COPY = 400_000, 200_000  # ns, as examples/plugin/plugin.c says
report = common.Report()


def check_rows(trace):
    kernels = [e for e in trace.work if e["name"] == "made_up_kernel"]
    copies = [e for e in trace.work if e["cat"] == "gpu_memcpy"]
    report.check("about a kernel a millisecond in 100 ms", 20 <= len(kernels) <= 105, len(kernels))
    report.equal("a copy with every fifth", len(copies), (len(kernels) + 4) // 5)
    for what, rows, stream, length in (("kernels", kernels, 1, KERNEL), ("copies", copies, 2, COPY)):
        report.equal(f"rows of {what}", {(e["pid"], e["tid"], e["args"]["device"], e["args"]["stream"]) for e in rows},
                     {(0, stream, 0, stream)})
        # The device's clock runs 50 ppm fast; the host's time is exact to what can be observed.
        wrong = max(abs(recorder.ns(e["dur"]) - length) for e in rows)
        report.check(f"length of {what}", wrong <= 2000, f"{wrong} ns off")
    report.equal("arguments of kernels", {str(e["args"]["grid"]) for e in kernels}, {"[16, 1, 1]"})
    report.equal("arguments of copies", {e["args"]["bytes"] for e in copies}, {4096})
    counters = [e for e in trace.events if e["ph"] == "C" and e["name"] == "made-up device busy %"]
    report.equal("a counter for each kernel", len(counters), len(kernels))
    report.equal("its values", {float(v) for e in counters for v in e["args"].values()}, {40.0})


def check_links(trace):
    starts, ends = trace.flows("s"), trace.flows("f")
    calls = {e["args"]["correlation"]: e for e in trace.calls}
    report.equal("every call has a number of its own", len(calls), len(trace.calls))
    for e in trace.work:
        number = e["args"]["correlation"]
        call = calls.get(number)
        if not report.check("work has its call", call is not None, number):
            continue
        wanted = "exLaunchKernel" if e["cat"] == "kernel" else "exMemcpyAsync"
        report.equal("the call is the right one", call["name"], wanted)
        # Begun on an idle queue, the work starts within its call; 3 us for both clocks.
        late = trace.start(e) - trace.start(call)
        report.check("work starts when it was launched, or behind the work before", late >= -3000, late)
        flow = report.check("both ends of the arrow are there", number in starts and number in ends, number)
        report.check("the arrow starts at the call", flow and starts[number]["tid"] == call["tid"] and
                     starts[number]["ts"] == call["ts"])
        report.check("and ends at the work", flow and ends[number]["ts"] == e["ts"] and ends[number]["tid"] == e["tid"])


def check_program(folder):
    path = folder / "t.json"
    done = recorder.execute(folder / "program", path, env={"KINO_PLUGINS": str(folder / "plugin.so")})
    if not report.equal("the program works with the plug-in", (done.returncode, done.stderr), (0, "")):
        return
    trace = recorder.Trace(path)
    report.equal("what the program says", done.stdout,
                 f"example 1.0: 1 devices, {len(trace.work)} activities, 0 lost\n")
    report.equal("what the trace says of it", trace.all["kino_devices"],
                 [{"name": "example", "version": "1.0", "devices": [0], "activities": len(trace.work), "lost": 0}])
    report.equal("properties of the device", trace.all["deviceProperties"],
                 [{"id": 0, "name": "made-up device", "totalGlobalMem": 1 << 30, "maxComputeUnits": 16,
                   "vendor": "nobody"}])
    check_rows(trace)
    check_links(trace)
    text = common.run("report", path).stdout.decode()
    report.check("kino report shows the kernel", "made_up_kernel" in text and "made-up device" in text)


def check_failures(folder):
    path = folder / "f.json"
    plugins = f"/nowhere/a.so:{folder / 'plugin.so'}:{folder / 'program.txt'}:libm.so.6"
    (folder / "program.txt").write_text("not a library")
    done = recorder.execute(folder / "program", path, env={"KINO_PLUGINS": plugins, "KINO_EXAMPLE_ABSENT": "1"})
    report.equal("the program goes on without plug-ins", done.returncode, 0)
    listed = {d["name"]: d.get("error", "") for d in recorder.Trace(path).all["kino_devices"]}
    report.equal("all are listed", set(listed), set(plugins.split(":")))
    for name, reason in (("/nowhere/a.so", "cannot be loaded: /nowhere/a.so: cannot open shared object file"),
                         (str(folder / "plugin.so"), "no device: KINO_EXAMPLE_ABSENT is set"),
                         (str(folder / "program.txt"), "cannot be loaded"),
                         ("libm.so.6", "it does not export 'kino_device_plugin_v1'")):
        report.check(f"the reason of {name}", reason in listed.get(name, ""), listed.get(name))
        report.check(f"the program can say it: {name}", reason in done.stdout, done.stdout)
    none = recorder.execute(folder / "program", path)
    report.equal("without plug-ins nothing is said", (none.returncode, none.stdout), (0, ""))
    report.check("nor written", "kino_devices" not in recorder.Trace(path).all)


def main():
    recorder.library("libkino.so")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        said = recorder.build("plugin", folder)
        if report.equal("the example builds without a word", said, ""):
            check_program(folder)
            check_failures(folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
