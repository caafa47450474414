#!/usr/bin/env python3
"""kino record on programs that know nothing of kino: NVTX, ITT, OpenCL, zones of libkino; processes by fork and exec;
exit codes, signals, crashes; what cannot be recorded and what is said of it; the window, the flight recorder, merging."""
import collections
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common, recorder  # noqa: E402

SOURCES = pathlib.Path(__file__).resolve().parent / "record"
CUDA = [pathlib.Path(p) for p in ("/usr/local/cuda/include", "/usr/local/cuda-13.0/include", "/usr/include")]
NOTHING = "nothing was recorded"
report = common.Report()
skipped = []


def compile_program(out, source, *more):
    folder = recorder.library("libkino_inject.so").parent
    libraries = () if "-c" in more else ("-ldl", "-lpthread", f"-L{folder}", f"-Wl,-rpath,{folder}")
    done = recorder.execute(recorder.compiler(), "-O1", "-g", "-fno-omit-frame-pointer", "-std=gnu11",
                            f"-I{common.ROOT / 'src'}", f"-I{common.ROOT / 'include'}", SOURCES / source, "-o", out, *more,
                            *libraries)
    report.equal(f"{source} compiles", (done.returncode, done.stderr), (0, ""))
    return out


def build_nvtx(folder, name, *more):
    """Two copies of NVTX in one process: the program's and a library's."""
    compile_program(folder / f"lib{name}.so", "nvtx.c", "-shared", "-fPIC", "-DAS_LIBRARY", *more)
    return compile_program(folder / name, "nvtx.c", *more, f"-L{folder}", f"-l{name}", f"-Wl,-rpath,{folder}")


def record(*arguments, **more):
    done = common.run("record", *arguments, **more)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def open_trace(path):
    return recorder.Trace(path)


def ranges(trace):
    return [e for e in trace.spans if e["cat"] == "user_annotation"]


def named(trace, name):
    return [e for e in ranges(trace) if e["name"] == name]


def check_nvtx(folder, program, what):
    code, out, err = record("-o", folder / f"{what}.json", "--", program)
    report.equal(f"{what}: the exit code is the program's", code, 5)
    # levels of push and pop: two stacks, the default domain's and the other's
    wanted = "same domain: 1\n" + "0 1\n1 0 0 1\n" * 3 + "1\n"
    report.equal(f"{what}: what push and pop return", out, wanted)
    report.check(f"{what}: the summary names the file and what to do next",
                 f"next: kino report {folder / f'{what}.json'}" in err, err)
    trace = open_trace(folder / f"{what}.json")
    names = collections.Counter(e["name"] for e in ranges(trace))
    report.equal(f"{what}: ranges", names, {"iteration 0": 1, "iteration 1": 1, "iteration 2": 1, "forward": 3, "load": 3,
                                            "registered": 3, "aten::mm": 1, "other thread": 1, "wide ä": 1,
                                            "from a library": 1})
    for i, e in enumerate(sorted(named(trace, "load"), key=trace.start)):
        report.equal(f"{what}: attributes", e["args"], {"category": "io", "payload": 1.5 * i, "color": "#00ff80"})
    for e in named(trace, "registered"):  # the category's name is the default domain's
        report.equal(f"{what}: attributes in a domain", (e["args"]["domain"], e["args"]["category"]), ("my domain", 7))
    args = named(trace, "aten::mm")[0]["args"]
    report.equal(f"{what}: what PyTorch appends to names",
                 (args["Sequence number"], args["op_id"], args["Input Dims"]), (5, 9, [[2, 3], [3, 4]]))
    marks = collections.Counter(e["name"] for e in trace.events if e["ph"] == "i" and e.get("cat") == "cpu_instant_event")
    report.equal(f"{what}: marks", marks, {"tick": 3, "registered": 3})
    for i in range(3):
        outer = named(trace, f"iteration {i}")[0]
        inner = [e for e in named(trace, "forward") if trace.start(outer) <= trace.start(e) <= trace.end(outer)]
        report.check(f"{what}: a forward of 20 ms in each iteration",
                     len(inner) == 1 and trace.end(inner[0]) <= trace.end(outer) and recorder.ns(inner[0]["dur"]) >= 20000000)
    threads = {e["tid"]: e["args"]["name"] for e in trace.events if e["ph"] == "M" and e["name"] == "thread_name"}
    main = named(trace, "iteration 0")[0]["tid"]
    report.check(f"{what}: the name of the thread", "main loop" in threads[main], threads)
    report.check(f"{what}: another thread", named(trace, "other thread")[0]["tid"] != main)
    check_samples(what, trace, err)


def check_samples(what, trace, err):
    """Samples lie on the timeline of the ranges: while the program is busy, it is seen in `busy`."""
    if "no samples" in err:
        skipped.append(f"samples: {err}")
        return
    for outer in named(trace, "forward"):
        inside = [e for e in trace.spans if e["cat"] == "cpu_sample" and e["name"].startswith("busy") and
                  trace.start(e) < trace.end(outer) and trace.end(e) > trace.start(outer)]
        report.check(f"{what}: samples within a range", bool(inside))
    # samples one behind the other with the same stack are one row, so it may go on from one range to the next
    first, last = min(map(trace.start, named(trace, "forward"))), max(map(trace.end, named(trace, "forward")))
    outside = [e for e in trace.spans if e["cat"] == "cpu_sample" and e["name"] == "busy" and e["args"]["samples"] and
               not first - 2000000 <= trace.start(e) <= trace.end(e) <= last + 2000000]
    report.equal(f"{what}: no sample of it elsewhere", [(e["ts"], e["dur"]) for e in outside], [])


def check_commands(path):
    for command, wanted in (("check", "valid"), ("info", "user_annotation"), ("report", "Recorded:")):
        done = common.run(command, path)
        report.check(f"kino {command} reads it", done.returncode == 0 and wanted in done.stdout.decode(), done.stderr.decode())
    done = common.run("check", path)
    report.check("kino check finds it complete and valid", done.stdout.decode().startswith("complete and valid"), done.stdout.decode()[:400])


def check_itt(folder):
    program = compile_program(folder / "itt", "itt.c")
    code, out, err = record("--sampling", "off", "-o", folder / "itt.json", "--", program)
    if not report.equal("itt: runs", (code, out), (0, "1 1 1\n")):
        return
    trace = open_trace(folder / "itt.json")
    names = collections.Counter((e["name"], e.get("args", {}).get("domain")) for e in ranges(trace))
    report.equal("itt: spans", names, {("outer", "test"): 3, ("inner", "test"): 3, ("in early", "early"): 1,
                                       ("first", "test"): 1, ("second", "test"): 1, ("test", None): 1,
                                       ("submitted", None): 1, ("event", None): 1})
    for i, e in enumerate(sorted(named(trace, "inner"), key=trace.start)):
        report.equal("itt: metadata", {k: v for k, v in e["args"].items() if k != "domain"},
                     {"numbers": [1, 2, i], "half": 0.5, "text": "hello"})
    first, second = named(trace, "first")[0], named(trace, "second")[0]
    report.check("itt: overlapped tasks", trace.start(first) <= trace.start(second) <= trace.end(first) <= trace.end(second))
    marks = collections.Counter(e["name"] for e in trace.events if e["ph"] == "i" and e.get("cat") == "cpu_instant_event")
    report.equal("itt: marks", marks, {"mark": 3, "event": 1})
    counters = [(e["name"], *e["args"].values()) for e in trace.events if e["ph"] == "C"]
    report.equal("itt: counters", counters, [("test: count", 5), ("test: count", 7), ("level", 2.25)])
    report.check("itt: the name of the thread",
                 any("itt main" in e["args"]["name"] for e in trace.events if e["name"] == "thread_name"))
    report.check("without samples nothing is said of them", "sample" not in err, err)
    check_pauses(folder, program)


def check_pauses(folder, program):
    """While a program has paused, nothing of it is recorded: neither its ranges nor its samples."""
    code, _, err = record("-o", folder / "pause.json", "--", program, "pause")
    trace = open_trace(folder / "pause.json")
    names = collections.Counter(e["name"] for e in ranges(trace))
    report.equal("pauses: ranges", (code, names), (0, {"before": 1, "across": 1, "between": 1}))
    report.equal("pauses: the trace says so", [e["name"] for e in sorted(trace.events, key=lambda e: e.get("ts", 0))
                                               if e["ph"] == "i" and e.get("cat") == "cpu_instant_event"],
                 ["recording paused (__itt_pause)", "recording resumed (__itt_resume)", "recording paused (__itt_pause)"])
    report.check("pauses: the range that was open has an end", "finished" not in named(trace, "across")[0].get("args", {}))
    report.check("pauses: names are taken meanwhile",
                 any("named in a pause" in e["args"]["name"] for e in trace.events if e["name"] == "thread_name"))
    told = re.search(r"process \d+ paused its recording 2 times, for (\d+\.\d+) s, the last time to its end", err)
    if report.check("pauses: kino record says so", told is not None, err):
        report.check("pauses: how long", 0.19 <= float(told.group(1)) < 20, told.group(1))
    _, _, told = record("--sampling", "off", "--merge", "-o", folder / "pause fork.json", "--", program, "fork")
    report.equal("pauses: a child by fork is paused, too", [e["name"] for e in ranges(open_trace(folder / "pause fork.json"))],
                 ["in the child"])
    report.equal("pauses: of both", (len(re.findall(r"paused its recording 1 time, for \d", told)),
                                     told.count("paused its recording 1 time, to its end")), (1, 1))
    if "no samples" in err:
        skipped.append(f"samples: {err}")
        return
    samples = collections.Counter(e["name"] for e in trace.spans if e["cat"] == "cpu_sample")
    report.check("pauses: samples", samples["busy_seen"] > 0 and samples["busy_hidden"] == 0, samples)


def check_opencl(folder):
    done = recorder.execute(recorder.compiler(), "-O1", common.ROOT / "examples" / "opencl" / "example.c", "-o",
                            folder / "plain", "-lOpenCL")
    if done.returncode or recorder.execute(folder / "plain").returncode == 77:
        skipped.append("OpenCL: no headers, loader or device (ocl-icd-opencl-dev, pocl-opencl-icd)")
        return
    code, out, err = record("-o", folder / "cl.json", "--", folder / "plain")
    report.equal("opencl: runs", (code, out), (0, "all results are right\n"))
    trace = open_trace(folder / "cl.json")
    report.equal("opencl: 10 pieces of work in each of 4 rounds", len(trace.work), 40)
    report.equal("opencl: each has its call", len(trace.flows("s")), 40)


def check_family(folder):
    """Ranges of a parent, its forked and its executed child, and of what it becomes: one trace each, the last two one."""
    program = compile_program(folder / "family", "family.c")
    code, _, err = record("--sampling", "off", "-o", folder / "all.json", "--", program)
    files, first = sorted((folder / "all").glob("*.json")), err
    report.equal("family: the exit code of what it became", code, 3)
    found = sorted(sorted(e["name"] for e in ranges(open_trace(f))) for f in files)
    report.equal("family: a trace for each process", found, [["became", "parent"], ["executed"], ["forked"]])
    code, _, err = record("--sampling", "off", "-o", folder / "packed.json.gz", "--", program)
    report.equal("family: the suffix is kept", len(list((folder / "packed").glob("family-*.json.gz"))), 3)
    report.check("family: the summary names them", f"next: kino report {folder / 'all'}" in first, first)
    code, _, err = record("--sampling", "off", "-o", folder / "family.json", "--", program)
    report.check("family: a file stands where the folder should", code == 3 and list(folder.glob("family-*/*.json")), err)
    code, _, err = record("--sampling", "off", "-o", folder / "all.json", "--", program)
    found = (code, sorted((folder / "all").glob("*.json")) == files, len(list(folder.glob("all-*/*.json"))))
    report.equal("family: traces of two runs are in two folders", found, (3, True, 3))
    code, _, err = record("--sampling", "off", "-o", f"{folder / 'all'}/", "--", program)
    report.check("family: unless the folder is named", "already contained other files" in err, err)
    code, _, err = record("--sampling", "off", "--merge", "--output", folder / "merged.json", "--", program)
    found = collections.Counter(e["name"] for e in ranges(open_trace(folder / "merged.json")))
    report.equal("family: merged", found, {"parent": 1, "became": 1, "executed": 1, "forked": 1})
    report.equal("family: as many processes", len({e["pid"] for e in ranges(open_trace(folder / "merged.json"))}), 3)


def check_zones(folder):
    program = compile_program(folder / "zones", "family.c", "-DWITH_KINO", "-lkino")
    record("--sampling", "off", "--merge", "-o", folder / "zones.json", "--", program)
    trace = open_trace(folder / "zones.json")
    zones = [e for e in trace.spans if e["name"] == "zone"]
    report.equal("zones of libkino, also in a forked child", len({e["pid"] for e in zones}), 2)


def check_ends(folder, program):
    for command, wanted in ((["sh", "-c", "exit 7"], 7), (["true"], 0), (["sh", "-c", "kill -9 $$"], -9)):
        report.equal(f"{command}: exit code", record("-o", folder / "end.kino", "--", *command)[0], wanted)
    code, _, err = record("--sampling", "off", "-o", folder / "crash.json", "--", program, "crash")
    report.equal("a crash is passed on", code, -signal.SIGSEGV)
    doomed = named(open_trace(folder / "crash.json"), "doomed")
    report.check("the range that was open is there", len(doomed) == 1 and "1 span not finished" in err, err)
    run = subprocess.Popen([common.program(), "record", "--sampling", "off", "-o", folder / "term.json", "--", program, "wait"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    report.equal("it runs", run.stdout.readline(), b"ready\n")
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=30)
    report.equal("a signal is handed on", run.returncode, 9)
    report.equal("_exit leaves a trace", len(named(open_trace(folder / "term.json"), "doomed")), 1)
    ignoring = [common.program(), "record", "--quiet", "--sampling", "off", "--", "grep", "SigIgn", "/proc/self/status"]
    done = subprocess.run([sys.executable, "-c", "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
                           " os.execv(sys.argv[1], sys.argv[1:])", *ignoring], capture_output=True, timeout=30, check=False)
    is_ignored = int(done.stdout.split()[1], 16) >> (signal.SIGCHLD - 1) & 1
    report.equal("who ignores the end of children still gets the exit code", (done.returncode, is_ignored), (0, 1))
    reader, writer = os.pipe()
    os.close(reader)
    work = folder / "pipe"
    work.mkdir()
    done = subprocess.run([common.program(), "record", "--sampling", "off", "--", "sh", "-c", "exit 6"], stderr=writer,
                          env=dict(os.environ, KINO_DIR=str(work), TMPDIR=str(work)), check=False)
    os.close(writer)
    report.equal("nobody reads what it says: nothing is left", (done.returncode, list(work.iterdir())), (6, []))
    done = subprocess.run([common.program(), "record", "--quiet", "--sampling", "off", "--", "cat"], input=b"through\n",
                          capture_output=True, check=False, cwd=folder)
    report.equal("standard input and output are the program's", (done.stdout, done.stderr), (b"through\n", b""))


def check_refusals(folder, program):
    def refused(what, wanted, code, *arguments):
        got, _, err = record(*arguments)
        report.check(what, got == code and wanted in err and err.startswith("kino: "), (got, err))

    refused("a program that is not there", "cannot run 'no-such-program': not found in PATH", 127,
            "--", "no-such-program")
    refused("a path that is not there", "cannot run './nowhere': no such file or directory", 127, "--", "./nowhere")
    refused("a file that is no program", "permission denied", 126, "--", SOURCES / "nvtx.c")
    refused("a folder", "not a regular file", 126, "--", folder)
    refused("no program", "missing argument: PROGRAM", 2, "-o", "x.kino")
    refused("a rate that is none", "expected: a rate from 1 to 100000, or off", 2, "--sampling", "often", "--", "true")
    refused("a folder that is not there", "no such file or directory", 1, "-o", folder / "no" / "x.kino", "--", "true")
    refused("a format that nobody writes", "--output: ", 2, "-o", "x.unknown", "--", "true")
    refused("no name at all", "--output: ", 2, "-o", "", "--", "true")
    refused("standard output", "standard output belongs to the program", 2, "-o", "-", "--", "true")
    refused("a category that nobody has", "nothing was recorded in categories 'kernal'", 0, "--sampling", "off",
            "--categories", "kernal", "--", "true")
    script = folder / "script"
    script.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    script.chmod(0o755)
    refused("a script without its interpreter", "in its first line not found", 127, "--", script)
    script.write_text(f"#!/bin/sh\nexec {program} ticks 3 0\n", encoding="utf-8")
    code, _, err = record("--sampling", "off", "-o", folder / "script.json", "--", script)
    report.equal("a script: recorded", (code, len(ranges(open_trace(folder / "script.json")))), (0, 3))
    check_setuid(folder, refused)
    check_static(folder)


def check_setuid(folder, refused):
    copy = folder / "privileged"
    shutil.copy(shutil.which("true"), copy)
    if os.geteuid() == 0:
        os.chown(copy, 65534, -1)
        copy.chmod(0o4755)
    elif shutil.which("su"):
        copy = pathlib.Path(shutil.which("su"))
    if os.statvfs(folder).f_flag & os.ST_NOSUID or not copy.stat().st_mode & 0o4000:
        skipped.append("set-user-ID: no such program here")
        return
    refused("a program with other rights", "it is set-user-ID", 126, "--", copy)


def check_static(folder):
    source = folder / "static.c"
    source.write_text("#include <time.h>\nint main(void) { clock_t e = clock() + CLOCKS_PER_SEC / 20;"
                      " while (clock() < e) ; return 4; }\n", encoding="utf-8")
    if recorder.execute(recorder.compiler(), "-static", "-O1", source, "-o", folder / "static").returncode:
        skipped.append("a static program: there is no static C library")
        return
    code, _, err = record("-o", folder / "static.json", "--", folder / "static")
    report.check("a static program: what cannot be seen", code == 4 and "statically linked" in err, (code, err))
    code, _, err = record("-o", folder / "child.json", "--", "sh", "-c", f"{folder / 'static'}; exit 3")
    report.check("a static child: what cannot be seen", code == 3 and ("only samples of static (process " in err or
                                                                       "no samples" in err), (code, err))
    if "no samples" not in err:
        trace = open_trace(folder / "static.json")
        report.check("a static program: samples", any(e.get("cat") == "cpu_sample" for e in trace.spans))


def check_window(folder, program):
    path = folder / "window.json"
    began, began_ns = time.monotonic(), time.time_ns()
    run = subprocess.Popen([common.program(), "record", "--sampling", "off", "--delay", "0.4", "--duration", "0.4",
                            "-o", path, "--", program, "ticks", "200", "20000"], stderr=subprocess.PIPE)
    while not path.exists() and time.monotonic() - began < 20 and run.poll() is None:
        time.sleep(0.02)
    report.check("the trace is written when the window is over", run.poll() is None, time.monotonic() - began)
    run.communicate(timeout=60)
    report.equal("the program goes on", (run.returncode, time.monotonic() - began >= 4), (0, True))
    trace = open_trace(path)
    ticks = sorted(ranges(trace), key=trace.start)
    numbers = [int(e["name"].split()[1]) for e in ticks]
    report.equal("all ranges of the window", numbers, list(range(numbers[0], numbers[0] + len(numbers))))
    # Whoever waits long for a processor begins late and ends late, but never begins early and never keeps the rest.
    delay = (trace.all["baseTimeNanoseconds"] + trace.start(ticks[0]) - began_ns) / 1e9
    length = (trace.end(ticks[-1]) - trace.start(ticks[0])) / 1e9
    report.check("only ranges of the window", delay >= 0.4 and length < 2 and numbers[-1] < 190, (delay, length, numbers))


    code, _, err = record("--sampling", "off", "--delay", "30", "-o", folder / "late.json", "--", program, "ticks", "1", "0")
    report.check("too short for the delay", code == 0 and NOTHING in err and "before --delay had passed" in err, (code, err))
    code, _, err = record("-o", folder / "left.json", "--", "sh", "-c", "sleep 8 >/dev/null 2>&1 & sleep 0.05")
    report.check("a child goes on", "1 process is still running" in err or "no samples" in err, err)


def check_kept(folder, program):
    """No room for temporary files: none are needed. Nowhere to write the trace: what was recorded is not lost."""
    ticks = ["tick 0", "tick 1", "tick 2"]
    (folder / "gone").mkdir()
    script = f"rm -rf '{folder}/gone'; exec '{program}' ticks 3 0"
    code, _, err = record("--sampling", "off", "-o", folder / "kept.json", "--", "sh", "-c", script,
                          env={"TMPDIR": str(folder / "gone")})
    found = [e["name"] for e in ranges(open_trace(folder / "kept.json"))] if code == 0 else []
    report.equal("no temporary folder: written all the same", (code, sorted(found)), (0, ticks))
    (folder / "gone").mkdir()
    code, _, err = record("--sampling", "off", "-o", folder / "gone" / "kept.json", "--", "sh", "-c", script)
    report.check("no output folder: said", code == 1 and "the buffers are kept" in err and NOTHING not in err, (code, err))
    kept = "the buffers are kept: use 'kino recover "
    work = pathlib.Path(err.split(kept)[1].split(" OUT'")[0]) if kept in err else None
    report.check("no output folder: how to recover", work, err)
    if work:
        codes = [common.run("recover", p, folder / f"{p.name}.json").returncode for p in work.glob("kino-*")]
        found = [e["name"] for p in folder.glob("kino-*.json") for e in ranges(open_trace(p))]
        report.equal("no output folder: recovered", (set(codes), sorted(found)), ({0}, ticks))
        done = common.run("recover", work, folder / "all kept.json")
        found = [e["name"] for e in ranges(open_trace(folder / "all kept.json"))]
        report.equal("no output folder: all at once", (done.returncode, sorted(found)), (0, ticks))
        shutil.rmtree(work)
    code, _, err = record("-o", folder / "large.json", "--", program, "ticks", "60000", "0",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    report.check("a limit of file sizes", code in (0, 1) and "exceeds the file size limit" in err, (code, err))
    (folder / "a b").mkdir()
    library = shutil.copy(recorder.library("libkino_inject.so"), folder / "a b")
    code, _, err = record("-o", folder / "blank.kino", "--", "true", env={"KINO_INJECT_LIBRARY": str(library)})
    report.check("a path that the loader cannot take", code == 0 and "a space or colon in the path" in err, (code, err))


def check_names(folder, program):
    worker = shutil.copy(program, folder / "my_worker")
    code, _, _ = record("--sampling", "off", "-o", f"{folder / 'names'}/", "--", worker, "ticks", "1", "0")
    done = common.run("query", folder / "names", "select rank from event where name = 'tick 0'", "--format", "csv")
    report.equal("the number of a process is no rank", (code, done.stdout.decode().split()), (0, ["rank"]))


def check_limits(folder, program):
    arguments = ("--sampling", "off", "--buffer", "2MiB")
    command = ("--", program, "ticks", "60000", "0")  # 32 bytes each: 1.92 MB, more than is left for them
    code, _, err = record(*arguments, "-o", folder / "full.json", *command)
    names = {e["name"] for e in ranges(open_trace(folder / "full.json"))}
    report.check("a full buffer keeps the first", code == 0 and "tick 0" in names and "tick 59999" not in names)
    report.check("and says what to do", "dropped: buffer full (use --buffer for a larger one" in err, err)
    code, _, err = record(*arguments, "--flight-recorder", "0", "-o", folder / "flight.json", *command)
    names = {e["name"] for e in ranges(open_trace(folder / "flight.json"))}
    report.check("a flight recorder keeps the last", code == 0 and "tick 59999" in names and "tick 0" not in names, len(names))
    report.check("and says what it wrote over", "overwritten by newer ones" in err, err)
    code, _, err = record("--sampling", "off", "--flight-recorder", "0.1", "-o", folder / "last.json", "--", program, "ticks",
                          "30", "10000")
    trace = open_trace(folder / "last.json")
    ends = {int(e["name"].split()[1]): trace.end(e) for e in ranges(trace)}
    report.check("the last 0.1 s of it", code == 0 and sorted(ends) == list(range(30 - len(ends), 30)) and len(ends) < 30 and
                 ends[29] - min(ends.values()) <= 100_000_000, ends)
    record("--categories", "cpu_instant_event", "-o", folder / "some.json", "--", program)
    cats = {e.get("cat") for e in open_trace(folder / "some.json").events if e["ph"] != "M"}
    report.equal("categories", cats, {"cpu_instant_event"})
    code, _, err = record("--categories", "off_cpu", "-o", folder / "waits.kino", "--", "sh", "-c",
                          "sleep 0.01; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
    report.check("samples that are left out are not counted", code == 0 and ", with " not in err, err)
    code, _, err = record("-o", folder / "own.json", "--", program, "ticks", "1", "0")
    own = [e["name"] for e in open_trace(folder / "own.json").spans if "madvise" in e["name"] or "fallocate" in e["name"]]
    report.equal("the making of buffers is not the program's time", (code, own), (0, []))


def check_make(folder, program):
    makefile = folder / "Makefile"
    makefile.write_text(f"all: a b\na b:\n\t@{program} ticks 2 0\n", encoding="utf-8")
    code, _, err = record("--sampling", "off", "-o", folder / "make.json", "--", "make", "-s", "-j2", "-C", folder)
    files = list((folder / "make").glob("*.json"))
    report.equal("make -j2: both programs", (code, [len(ranges(open_trace(f))) for f in files]), (0, [2, 2]))
    code, out, err = record("-o", folder / "py.kino", "--", sys.executable, "-c", "print('hello')")
    report.equal("python", (code, out), (0, "hello\n"))
    code, _, err = record("--sampling", "off", "-o", folder / "nil.kino", "--", "true")
    report.check("nothing at all", code == 0 and NOTHING in err and not (folder / "nil.kino").exists(), err)


def check_leftovers():
    left = [p for base in ("/dev/shm", tempfile.gettempdir()) for p in pathlib.Path(base).glob("kino-record-*")
            if p.stat().st_uid == os.geteuid() and time.time() - p.stat().st_ctime < 120]
    mine = [p for p in left if not any(p.iterdir())]
    report.equal("no work folder is left", mine, [])


def main():
    recorder.library("libkino_inject.so")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = build_nvtx(folder, "nvtx")
        if not report.failures:
            check_nvtx(folder, program, "nvtx")
            check_commands(folder / "nvtx.json")
            found = [p for p in CUDA if (p / "nvtx3" / "nvToolsExt.h").exists()]
            if found:
                compile_program(folder / "abi.o", "nvtx_abi.c", "-c", f"-I{found[0]}")
                check_nvtx(folder, build_nvtx(folder, "nvtx3", "-DWITH_NVTX", f"-I{found[0]}"), "nvtx3")
            else:
                skipped.append("NVTX of CUDA: its headers are not installed")
            check_itt(folder)
            check_opencl(folder)
            check_family(folder)
            check_zones(folder)
            check_ends(folder, program)
            check_refusals(folder, program)
            check_window(folder, program)
            check_kept(folder, program)
            check_names(folder, program)
            check_limits(folder, program)
            check_make(folder, program)
            check_leftovers()
    for reason in skipped:
        print(f"skipped: {reason.strip()}")
    return report.finish(len(skipped))


if __name__ == "__main__":
    sys.exit(main())
