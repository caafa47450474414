#!/usr/bin/env python3
"""kino doctor tells the truth about this machine: each item is compared with what Python finds out by itself."""
import ctypes
import ctypes.util
import glob
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common  # noqa: E402

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}.get(os.uname().machine)
SOFTWARE, HARDWARE = 1, 0
CPU_CLOCK, CYCLES = 0, 0
libc = ctypes.CDLL(None, use_errno=True)


def items_of(*arguments, **more):
    done = common.run("doctor", *arguments, "--format", "json", **more)
    if done.returncode != 0:
        raise RuntimeError(f"kino doctor: exit {done.returncode}: {done.stderr.decode()[:300]}")
    table = json.loads(done.stdout)["tables"][0]
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row)) for row in table["rows"]]


def item(items, name):
    found = [one for one in items if one["item"] == name]
    return found[0] if found else {"state": None, "value": None, "found": "", "title": ""}


def read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def can_open(kind, config, pid=0, cpu=-1, flags=0):
    """Does perf_event_open give a counter? The attribute is 64 bytes, the first version of it; flags: its bits."""
    attr = (ctypes.c_ubyte * 64)()
    ctypes.memmove(attr, kind.to_bytes(4, "little") + (64).to_bytes(4, "little") + config.to_bytes(8, "little"), 16)
    ctypes.memmove(ctypes.addressof(attr) + 40, flags.to_bytes(8, "little"), 8)
    fd = libc.syscall(PERF_EVENT_OPEN, ctypes.byref(attr), pid, cpu, -1, 0)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


DISABLED, EXCLUDE_KERNEL, EXCLUDE_HV = 1, 1 << 5, 1 << 6


def check_clock(report, items):
    cpuinfo = read("/proc/cpuinfo") or ""
    tsc = item(items, "tsc")
    sources = read("/sys/devices/system/clocksource/clocksource0/available_clocksource") or "tsc"
    if os.uname().machine == "x86_64":
        trusted = "nonstop_tsc" in cpuinfo and "constant_tsc" in cpuinfo and "tsc" in sources.split()
        report.equal("tsc", tsc["state"], "ok" if trusted else "limited")
    if tsc["value"] and "cpu MHz" in cpuinfo:
        # The counter runs at the nominal speed: near the speed that is shown, whatever the governor does now.
        shown = max(float(line.split(":")[1]) for line in cpuinfo.splitlines() if line.startswith("cpu MHz")) * 1e6
        report.check("the rate is one of a processor", 0.2 * shown < float(tsc["value"]) < 5 * shown, tsc["value"])
        again = float(item(items_of("clock"), "tsc")["value"])
        report.check("the rate is steady", abs(again / float(tsc["value"]) - 1) < 1e-4, f"{again} {tsc['value']}")
    source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    report.check("clock source", source in item(items, "system-clock")["found"], source)
    slow = items_of("clock", env={"KINO_CLOCK": "monotonic"})
    report.equal("a recorder that may not use the counter", item(slow, "tsc")["state"], "limited")
    status = ctypes.create_string_buffer(1024)
    unsynchronised = libc.adjtimex(status) == 5 or ctypes.c_int.from_buffer(status, 40).value & 0x40
    report.equal("wall clock", item(items, "wall-clock")["state"], "limited" if unsynchronised else "ok")


def compare_counters(report, items, what=""):
    user = DISABLED | EXCLUDE_KERNEL | EXCLUDE_HV
    for title, name, opens in (
            ("samples", "sampling", can_open(SOFTWARE, CPU_CLOCK, flags=user)),
            ("hardware counters", "hardware-counters", can_open(HARDWARE, CYCLES, flags=user)),
            ("the kernel's side", "kernel-stacks", can_open(SOFTWARE, CPU_CLOCK, flags=DISABLED)),
            ("system-wide", "system-wide", can_open(SOFTWARE, CPU_CLOCK, pid=-1, cpu=0, flags=DISABLED))):
        state = item(items, name)["state"]
        report.check(title + what, (state in ("ok", "limited")) == opens, f"{state}, perf_event_open {'gives' if opens else 'refuses'} it")


def check_another_user(report):
    """The same as a user without rights: what perf_event_open says to a process of his."""
    if os.getuid() != 0 or PERF_EVENT_OPEN is None:
        return
    try:
        items = items_of("cpu", "system", user=65534, group=65534, extra_groups=[])
    except (OSError, RuntimeError) as error:
        print(f"NOT TESTED: another user cannot run the program: {error}")
        return
    report.equal("no privileges", item(items, "privileges")["value"], "")
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        inner = common.Report()
        compare_counters(inner, items, " of another user")
        print("\n".join(inner.failures), end="", flush=True)
        os._exit(len(inner.failures))
    report.equal("counters of another user", os.waitpid(child, 0)[1], 0)


def check_memory_limit(report):
    """A control group with little memory, and one without limit inside of it: the smaller one counts."""
    outer = pathlib.Path(f"/sys/fs/cgroup/memory/kino-doctor-{os.getpid()}")
    inner = outer / "inner"
    try:
        inner.mkdir(parents=True)
        (outer / "memory.limit_in_bytes").write_text("300000000")
    except OSError as error:
        print(f"NOT TESTED: no control group can be made: {error}")
        return
    try:
        done = subprocess.run(["sh", "-c", f'echo $$ > {inner}/cgroup.procs && exec "$0" doctor system --format json', common.program()],
                              capture_output=True, timeout=60, check=True)
        row = [row for row in json.loads(done.stdout)["tables"][0]["rows"] if row[1] == "memory"][0]
        report.check("the control group's limit", row[3] == "limited" and "limit of this control group: 286 MiB" in row[5], str(row))
    finally:
        inner.rmdir()
        outer.rmdir()


def check_cpu(report, items):
    report.equal("paranoid level", item(items, "perf-level")["value"], read("/proc/sys/kernel/perf_event_paranoid"))
    report.equal("mlock", item(items, "perf-buffers")["value"], read("/proc/sys/kernel/perf_event_mlock_kb"))
    report.equal("sample rate", item(items, "sample-rate")["value"], read("/proc/sys/kernel/perf_event_max_sample_rate"))
    ids = [path for path in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing") if read(f"{path}/events/sched/sched_switch/id")]
    if not ids:
        report.equal("no tracepoints", item(items, "tracepoints")["state"], "missing")
    if PERF_EVENT_OPEN is not None:
        compare_counters(report, items)


def loads(name):
    try:
        return ctypes.CDLL(name) is not None
    except OSError:
        return False


def cupti_enable():
    """What CUPTI says to the first honest question, asked in a process of its own."""
    script = ("import ctypes\nlib = ctypes.CDLL('libcupti.so')\nversion = ctypes.c_uint32()\n"
              "lib.cuptiGetVersion(ctypes.byref(version))\n"
              "keep = ctypes.CFUNCTYPE(None)(lambda: None)\nlib.cuptiActivityRegisterCallbacks(keep, keep)\n"
              "print(version.value, lib.cuptiActivityEnable(10))")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    return [int(word) for word in done.stdout.split()] if done.returncode == 0 else None


def check_devices(report, items):
    report.equal("CUDA's driver", item(items, "cuda")["state"] == "missing" and "no libcuda" in item(items, "cuda")["found"],
                 not loads("libcuda.so.1") and not glob.glob("/dev/nvidia[0-9]*"))
    for name, library in (("rocm", "librocprofiler-sdk.so.1"), ("xpu", "libpti_view.so.0"), ("opencl", "libOpenCL.so.1")):
        if not loads(library) and not loads(library.rsplit(".", 1)[0]):
            report.equal(f"{name} without its library", item(items, name)["state"], "missing")
    if loads("libcupti.so"):
        answer, cupti = cupti_enable(), item(items, "cupti")
        if answer:
            report.equal("CUPTI's version", cupti["value"], str(answer[0]))
            report.equal("CUPTI works", cupti["state"] == "ok", answer[1] == 0)
            if answer[1]:
                report.check("CUPTI's refusal is told", f"returned {answer[1]} " in cupti["found"], cupti["found"])
    if loads("libOpenCL.so.1"):
        count = ctypes.c_uint32()
        answer = ctypes.CDLL("libOpenCL.so.1").clGetPlatformIDs(0, None, ctypes.byref(count))
        report.equal("OpenCL platforms", item(items, "opencl")["value"], str(count.value if answer == 0 else 0))


def check_broken_libraries(report, folder):
    """Libraries that crash, hang or lack everything: said, and nothing else is harmed."""
    sources = {"crash": "int cuptiGetVersion(unsigned *v) { *v = 99; return *(volatile int *)0; }",
               "hang": "int cuptiGetVersion(unsigned *v) { extern int pause(void); *v = 1; for (;;) pause(); }",
               "empty": "int nothing;",
               "good": "int cuptiGetVersion(unsigned *v) { *v = 4711; return 0; }\n"
                       "int cuptiActivityRegisterCallbacks(void *a, void *b) { return !a || !b; }\n"
                       "int cuptiActivityEnable(int kind) { return kind != 10; }\n"
                       "int cuptiSubscribe(void **s, void *f, void *u) { *s = f; return u != 0; }",
               "taken": "int cuptiGetVersion(unsigned *v) { *v = 4711; return 0; }\n"
                        "int cuptiActivityRegisterCallbacks(void *a, void *b) { return !a || !b; }\n"
                        "int cuptiActivityEnable(int kind) { return kind != 10; }\n"
                        "int cuptiSubscribe(void **s, void *f, void *u) { return 39; }"}
    for name, text in sources.items():
        (folder / f"{name}.c").write_text(text)
        made = subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / f"{name}.so", folder / f"{name}.c"], check=False,
                              capture_output=True)
        if made.returncode != 0:
            common.skip("no C compiler")
    # One that hangs is the slow one: the others come while it runs.
    hang = subprocess.Popen([common.program(), "doctor", "device", "--format", "json"], stdout=subprocess.PIPE,
                            env=dict(os.environ, KINO_CUPTI_LIBRARY=str(folder / "hang.so")))
    started = time.monotonic()
    want = {"crash": ("unknown", "signal 11"), "empty": ("limited", "cuptiActivityEnable returned -1"),
            "good": ("ok", "API 4711"), "taken": ("limited", "another profiler")}
    for name, (state, text) in want.items():
        got = item(items_of("device", env={"KINO_CUPTI_LIBRARY": str(folder / f"{name}.so")}), "cupti")
        report.check(f"a library that is {name}", got["state"] == state and text in got["found"], str(got))
    missing = item(items_of("device", env={"KINO_CUPTI_LIBRARY": str(folder / "nowhere.so")}), "cupti")
    report.check("a library that is not there", missing["state"] == "missing" and "nowhere.so" in missing["found"], str(missing))
    out, _ = hang.communicate(timeout=60)
    row = [row for row in json.loads(out)["tables"][0]["rows"] if row[1] == "cupti"][0]
    report.check("a library that hangs", row[3] == "unknown" and "did not return" in row[5], str(row))
    report.check("which takes its time limit", time.monotonic() - started < 30)


def check_system(report, items):
    status = dict(line.split(":", 1) for line in (read("/proc/self/status") or "").splitlines() if ":" in line)
    report.equal("seccomp", item(items, "seccomp")["value"], status["Seccomp"].strip())
    report.equal("open files", item(items, "open-files")["value"], str(resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
    room = os.statvfs("/dev/shm")
    free = room.f_bavail * room.f_frsize
    report.check("/dev/shm", abs(int(item(items, "dev-shm")["value"]) - free) < free / 10 + 64e6, item(items, "dev-shm")["value"])
    available = next(int(line.split()[1]) for line in read("/proc/meminfo").splitlines() if line.startswith("MemAvailable")) * 1024
    report.check("memory", abs(int(item(items, "memory")["value"]) - available) < available / 3, item(items, "memory")["value"])
    capabilities = int(status["CapEff"], 16)
    report.equal("CAP_PERFMON", "CAP_PERFMON" in item(items, "privileges")["value"], bool(capabilities >> 38 & 1))
    if os.path.exists("/.dockerenv"):
        report.equal("a container", item(items, "container")["value"], "yes")
    scope = read("/proc/sys/kernel/yama/ptrace_scope")
    report.equal("ptrace", item(items, "ptrace")["value"], scope if scope is not None else "0")


def check_profilers(report):
    env = {"NVTX_INJECTION64_PATH": "/opt/x.so", "ROCP_TOOL_LIBRARIES": "/opt/libkino_inject.so"}
    items = {one["title"]: one for one in items_of("profiler", env=env)}
    report.equal("another tool", (items["NVTX_INJECTION64_PATH"]["state"], items["NVTX_INJECTION64_PATH"]["value"]),
                 ("limited", "/opt/x.so"))
    report.equal("our own", items["ROCP_TOOL_LIBRARIES"]["state"], "ok")
    clean = {name: "" for name in ("LD_PRELOAD", "OPENCL_LAYERS")}
    report.equal("none", item(items_of("profiler", env=clean), "injection")["state"], "ok")
    # A profiler that runs: known by its name.
    with tempfile.TemporaryDirectory() as folder:
        fake = pathlib.Path(folder) / "ncu"
        fake.symlink_to("/bin/sleep")
        running = subprocess.Popen([fake, "60"])
        try:
            time.sleep(0.1)
            found = [one for one in items_of("profiler") if one["item"] == "tool" and one["value"] == str(running.pid)]
            report.equal("a profiler that runs", [one["title"] for one in found], ["Nsight Compute"])
        finally:
            running.kill()
            running.wait()


def check_process(report):
    program = subprocess.Popen(["sleep", "60"], env=dict(os.environ, KINETO_USE_DAEMON="1", INTEL_LIBITTNOTIFY64="/opt/v.so"))
    try:
        time.sleep(0.1)
        items = items_of("--pid", program.pid)
        report.equal("the groups of --pid", {one["group"] for one in items}, {"process"})
        report.equal("it takes requests", item(items, "process-daemon")["state"], "ok")
        report.equal("what is in it", item(items, "process-injection")["value"], "/opt/v.so")
        report.equal("nobody traces it", item(items, "process-tracer")["value"], "0")
    finally:
        program.kill()
        program.wait()


def check_page(report, items):
    page = common.run("doctor").stdout.decode()
    report.check("no colours where there is no terminal", "\033" not in page)
    for one in items:
        if one["item"] not in ("tool", "tsc", "system-clock"):
            report.check(f"{one['item']} is on the page", one["title"][:20] in page, one["title"])
    report.check("lines fit", max(len(line) for line in page.splitlines()) <= 100)
    for one in items:
        report.check(f"{one['item']} that is {one['state']} says what that means",
                     one["state"] in ("ok", "unknown") or one["means"], str(one))


def main():
    report = common.Report()
    items = items_of()
    print("\n".join(f"{one['state']:8} {one['item']:18} {one['found']}" for one in items))
    check_clock(report, items)
    check_cpu(report, items)
    check_devices(report, items)
    check_another_user(report)
    check_system(report, items)
    check_memory_limit(report)
    check_profilers(report)
    check_process(report)
    check_page(report, items)
    with tempfile.TemporaryDirectory() as folder:
        check_broken_libraries(report, pathlib.Path(folder))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
