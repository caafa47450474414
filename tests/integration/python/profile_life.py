"""kino.profile by itself: schedules and their warnings, windows, exceptions, threads, tasks, files, metadata, what it refuses."""
import asyncio
import gzip
import importlib.util
import itertools
import json
import os
import subprocess
import sys
import threading
import time
import warnings

import kino
import torch
from kino import _bridge, _recorder

CRASH = ("RECORD", "WARMUP")  # torch 2.13 ends with SIGSEGV when the next thing is the end: it starts what it has not prepared
CPU = [torch.profiler.ProfilerActivity.CPU]
X = torch.ones(4, 4)


def names(path_or_text):
    text = path_or_text if isinstance(path_or_text, (bytes, str)) and path_or_text[:1] in (b"{", "{") else None
    if text is None:
        opened = gzip.open(path_or_text) if path_or_text.endswith(".gz") else open(path_or_text, "rb")
        with opened as file:
            text = file.read()
    return [event["name"] for event in json.loads(text)["traceEvents"] if event.get("ph") == "X"]


def written(profiler, path="t.json"):
    profiler.export_chrome_trace(path)
    return names(path)


def said(work):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        work()
    return [str(warning.message) for warning in found if "clears events" not in str(warning.message)]


def raised(kind, work):
    try:
        work()
    except kind as error:
        return str(error) or True
    return ""


# Says how many threads there are, whether libkino and the bridge are loaded, and whether anybody observes operators (at::hasCallbacks).
STATE = """
import ctypes, os, sys, torch, torch.profiler
def state():
    maps = open("/proc/self/maps").read()
    observed = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))._ZN2at12hasCallbacksEv
    observed.restype = ctypes.c_bool
    return [len(os.listdir("/proc/self/task")), "libkino.so" in maps, "kino_torch.so" in maps, observed()]
"""


def check_idle(report):
    """In processes of their own: importing changes nothing, and neither does taking part in requests until there is one."""
    def state(code):
        env = {key: value for key, value in os.environ.items() if not key.startswith("KINETO_")}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env)
        return json.loads(done.stdout.splitlines()[-1].lower()) if done.returncode == 0 else done.stderr[-300:]

    plain = state(f"{STATE}print(state())")
    report.equal("import kino: no library, no thread, no callback",
                 state(f"import kino, sys; assert 'torch' not in sys.modules\n{STATE}kino.schedule; print(state())"), plain)
    report.equal("what an idle process has", plain[1:], [False, False, False])
    report.equal("joined, and idle: no callback, no thread", state(f"{STATE}import kino; kino.join_requests(); print(state())"), [plain[0], True, True, False])
    report.equal("after a window: no callback, no thread",
                 state(f"{STATE}import kino\nwith kino.profile(activities=[kino.ProfilerActivity.CPU]) as p:\n  during = state()\nassert during[3]\nprint(state())"),
                 [plain[0], True, True, False])


# -- schedules --

def check_schedules(report):
    unequal = []
    for wait, warmup, active, repeat, skip, skip_wait in itertools.product((0, 2), (1, 2), (1, 3), (0, 1, 2), (0, 3), (0, 1)):
        arguments = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip, "skip_first_wait": skip_wait}
        ours, theirs = kino.schedule(**arguments), torch.profiler.schedule(**arguments)
        unequal += [(arguments, step) for step in range(30) if ours(step) != theirs(step)]
    report.equal("schedules are those of torch.profiler", unequal[:2], [])
    report.check("a schedule without active steps is refused", raised(AssertionError, lambda: kino.schedule(wait=0, warmup=1, active=0)))
    report.equal("no warm-up is warned of", len(said(lambda: kino.schedule(wait=0, warmup=0, active=1))), 1)


class Logged:
    """What a profiler of either module does, step by step: which of its windows' methods are called, and what it warns of."""

    def __init__(self, module, actions):
        self.calls = []
        Action = module.ProfilerAction
        listed = [Action[name] for name in actions]
        self.profiler = module.profile(activities=CPU, schedule=lambda step: listed[step], on_trace_ready=lambda _: self.calls.append("ready"))
        for name in ("prepare_trace", "start_trace", "stop_trace"):
            self._watch(name)

    def _watch(self, name):
        original = getattr(self.profiler, name)

        def called():
            self.calls.append(name)
            original()

        setattr(self.profiler, name, called)
        if hasattr(self.profiler, "action_map"):
            for key, steps in self.profiler.action_map.items():
                self.profiler.action_map[key] = [called if step == original else step for step in steps]

    def run(self, count):
        self.profiler.start()
        for _ in range(count - 1):
            self.profiler.step()
        self.profiler.stop()


def check_states(report):
    kinds = ("NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE")
    for actions in itertools.product(kinds, repeat=2):
        found = []
        for module in (torch.profiler, kino) if actions != CRASH else ():
            logged = Logged(module, actions)
            found.append((said(lambda: logged.run(2)), logged.calls))  # noqa: B023 (called at once)
        if not found:
            continue
        report.equal(f"the states {actions}: calls and warnings", found[-1], found[0])
    logged = Logged(kino, CRASH)
    warned = said(lambda: logged.run(2))
    report.equal("the states that end the process in torch.profiler: a warning", warned, ["Incorrect schedule: RECORD followed by WARMUP"])


# -- windows --

def check_windows(report):
    ready = []
    plan = kino.schedule(wait=1, warmup=1, active=2, repeat=2)
    with kino.profile(activities=CPU, schedule=plan, on_trace_ready=lambda p: ready.append((p.get_trace_id(), written(p)))) as p:
        for _ in range(9):
            X.add(1)
            p.step()
    steps = [[name for name in names if name.startswith("ProfilerStep")] for _, names in ready]
    report.equal("each window has its steps", steps, [["ProfilerStep#2", "ProfilerStep#3"], ["ProfilerStep#6", "ProfilerStep#7"]])
    report.check("each window has an id of its own", len({identity for identity, _ in ready}) == 2)
    counts = []
    for is_kept in (False, True):
        with kino.profile(activities=CPU, schedule=plan, acc_events=is_kept) as p:
            for _ in range(9):
                X.add(1)
                p.step()
        counts.append(sum(event.name == "aten::add" for event in p.events()))
    report.equal("acc_events keeps those of all windows", counts, [2, 4])
    steps = sorted((event.time_range.start, event.time_range.end) for event in p.events() if event.name == "ProfilerStep*")
    report.check("windows follow each other", len(steps) == 4 and all(one[1] <= two[0] for one, two in zip(steps, steps[1:])), steps)


def check_two(report):
    """A profiler keeps what it recorded when the next one begins."""
    with kino.profile(activities=CPU) as first:
        X.add(1)
    with kino.profile(activities=CPU, record_shapes=True) as second:
        X.mul(2)
    report.check("the first still has its own", "aten::add" in written(first) and "aten::mul" not in written(first))
    report.check("and the second has its own", "aten::mul" in written(second) and "aten::add" not in written(second))
    report.equal("metadata is that of the window", ["record_shapes" in json.load(open(path, encoding="utf-8")) for path in
                                                   (save(first, "a.json"), save(second, "b.json"))], [False, True])
    with kino.profile(activities=CPU):
        message = raised(RuntimeError, kino.profile(activities=CPU).start)
    report.check("two cannot record at once", "already recording" in message, message)
    with kino.profile(activities=CPU) as p:
        message = raised(RuntimeError, p.start)
        X.add(1)
    report.check("a profiler that records is not started again, and goes on", "recording already" in message and "aten::add" in written(p), message)


def save(profiler, path):
    profiler.export_chrome_trace(path)
    return path


def check_nested(report):
    with torch.profiler.profile(activities=CPU, profile_memory=True) as theirs, \
            kino.profile(activities=CPU, profile_memory=True, record_shapes=True) as ours:
        X.add(1)
    with torch.profiler.profile(activities=CPU):
        with kino.profile(activities=CPU):
            pass
        report.check("and PyTorch's goes on when ours ends", torch.autograd.profiler._is_profiler_enabled)
    report.check("until it ends", not torch.autograd.profiler._is_profiler_enabled)
    theirs.export_chrome_trace("theirs.json")
    report.check("inside torch.profiler: both have the operators", "aten::add" in names("theirs.json") and "aten::add" in written(ours))


def check_files(report):
    with kino.profile(activities=CPU, record_shapes=True) as p:
        X.add(1)
    for path in ("t.json", "t.json", "t.json.gz", "t.json.zst", "t.kino", "no-suffix"):
        p.export_chrome_trace(path)
        with kino.open(path, progress=False) as run:
            report.equal(f"{path}: can be opened", run.query("SELECT count(*) AS n FROM event WHERE name = 'aten::add'")[0].n, 1)
    for path in ("t.speedscope.json", "t.folded", "t.csv.gz", "t.sqlite"):
        p.export_chrome_trace(path)
        report.check(f"{path} is written", os.path.getsize(path) > 20)
    with open("t.speedscope.json", encoding="utf-8") as file:
        report.check("speedscope's own format", "speedscope" in json.load(file)["$schema"])
    report.equal("a run without a file", p.run().query("SELECT count(*) AS n FROM event WHERE name = 'aten::add'")[0].n, 1)
    report.check("a report", "aten::add" in p.report().text)
    kino.tensorboard_trace_handler("logs", use_gzip=True)(p)
    kino.tensorboard_trace_handler("logs", "me")(p)
    found = sorted(os.listdir("logs"))
    report.check("names for TensorBoard", len(found) == 2 and any(name.startswith("me.") and name.endswith(".pt.trace.json") for name in found)
                 and any(name.startswith(f"{os.uname().nodename}_{os.getpid()}.") and name.endswith(".pt.trace.json.gz") for name in found), found)


def check_metadata(report):
    p = kino.profile(activities=CPU, custom_trace_id_callback=lambda: "MINE")
    p.preset_metadata_json("preset", "[1]")
    with p:
        X.add(1)
        p.add_metadata("text", 'with "quotes"')
        p.add_metadata_json("number", "7")
    with open(save(p, "m.json"), encoding="utf-8") as file:
        trace = json.load(file)
    report.equal("metadata", [trace.get(key) for key in ("preset", "text", "number", "trace_id")], [[1], 'with "quotes"', 7, "MINE"])
    report.check("the trace has what recording costs", trace["kino_overhead"]["operator_calls"] >= 1, trace.get("kino_overhead"))
    report.equal("get_trace_id", p.get_trace_id(), "MINE")


# -- programs --

def check_exceptions(report):
    p = kino.profile(activities=CPU)
    try:
        with p:
            with kino.record_function("fails"):
                torch.ones(2) @ torch.ones(3)
    except RuntimeError:
        pass
    found = written(p)
    report.check("an exception leaves a complete trace", "fails" in found and "aten::matmul" in found, found)
    with kino.profile(activities=CPU) as p:
        X.add(1)
    report.check("and the next window works", "aten::add" in written(p))


def check_threads(report):
    for is_all, want in ((True, 2), (False, 1)):
        with kino.profile(activities=CPU, all_threads=is_all, profile_memory=True) as p:
            thread = threading.Thread(target=lambda: X.add(1))
            thread.start()
            thread.join()
            X.add(1)
        report.equal(f"threads, all_threads={is_all}", written(p).count("aten::add"), want)


def check_fork(report):
    """A child made in a window has its own windows, and leaves the parent's alone."""
    with kino.profile(activities=CPU) as p:
        X.add(1)
        child = os.fork()
        if child == 0:
            X.mul(1)
            with kino.profile(activities=CPU) as own:
                X.sub(1)
            found = written(own, "child.json")
            os._exit(0 if "aten::sub" in found and "aten::add" not in found else 1)
        _, status = os.waitpid(child, 0)
        X.div(1)
    report.equal("the child of a fork records by itself", os.waitstatus_to_exitcode(status), 0)
    found = written(p)
    report.equal("and its parent goes on", [name in found for name in ("aten::add", "aten::mul", "aten::sub", "aten::div")],
                 [True, False, False, True])


def check_requests(report):
    """A trace that is asked for from elsewhere has operators, without a profiler in the program."""
    kino.join_requests()
    kino.join_requests()
    with kino.profile(activities=CPU):  # a session of the program comes first
        report.check("a request during a window is refused", raised(kino.Error, lambda: _recorder.request("ACTIVITIES_DURATION_MSECS=100")))
    _recorder.discard()
    path = os.path.abspath("request.json")
    _recorder.request(f"KINO_START_DELAY_MSECS=0\nKINO_WARMUP_MSECS=0\nACTIVITIES_WARMUP_PERIOD_SECS=0\nACTIVITIES_DURATION_MSECS=300\n"
                      f"PROFILE_REPORT_INPUT_SHAPES=true\nPROFILE_PROFILE_MEMORY=true\nACTIVITIES_LOG_FILE={path}")
    waiting = threading.Thread(target=_recorder.request_wait)
    waiting.start()
    while waiting.is_alive():
        X.add(1)
        time.sleep(0.0005)  # a fast machine would fill the buffer
    found = [name for name in os.listdir(".") if name.startswith("request")]
    if not report.equal("a trace on request is written", len(found), 1):
        return
    with open(found[0], encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    operators = [event for event in events if event["name"] == "aten::add"]
    report.check("it has operators with their inputs", operators and all(e["args"].get("Input Dims", [0])[0] == [4, 4] for e in operators), operators[:1])
    report.check("and allocations", any(event["name"] == "[memory]" for event in events))


def check_annotations(report):
    @kino.record_function("decorated")
    def work():
        return X.add(1)

    @kino.record_function("task")
    async def task():
        await asyncio.sleep(0)
        return X.mul(1)

    async def tasks():
        await asyncio.gather(task(), task(), task())

    with kino.profile(activities=CPU) as p:
        work()
        asyncio.run(tasks())
        with kino.record_function("plain"):
            pass
    found = written(p)
    report.equal("annotations", [found.count(name) for name in ("decorated", "task", "plain")], [1, 3, 1])
    text = p.profiler._window.text()
    report.check("all of them have ended", b'"finished"' not in text)
    report.equal("they are annotations", {event["cat"] for event in json.loads(text)["traceEvents"] if event["name"] in ("task", "plain")},
                 {"user_annotation"})


def check_stacks(report):
    """With the tracer Python functions, without it a word about that."""
    def innermost(x):
        return x.exp()

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        p = kino.profile(activities=CPU, with_stack=True)
    with p:
        innermost(X.requires_grad_()).sum().backward()
    X.requires_grad_(False)
    if importlib.util.find_spec("kino._tracer") is None:
        print("NOT TESTED: stacks (kino._tracer is not built for this Python)")
        report.check("no tracer: it is said", any("kino._tracer" in str(warning.message) for warning in found))
        report.check("no tracer: no stacks", raised(NotImplementedError, lambda: p.export_stacks("s")))
        return
    stacks = {event.name: event.stack for event in p.events()}
    for name in ("aten::exp", "ExpBackward0"):  # backward functions have the stack of the forward ones
        report.check(f"the stack of {name}", any(frame.endswith(": innermost") for frame in stacks[name]), stacks[name])
    p.export_stacks("stacks.txt")
    with open("stacks.txt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    report.check("stacks for flame graphs", any(":_innermost;" in line and line.split()[-1].isdigit() for line in lines), lines[:2])
    grouped = p.key_averages(group_by_stack_n=5)
    report.check("averages by stack", any(event.key == "aten::exp" and len(event.stack) == 5 for event in grouped))


def check_toggle(report):
    with kino.profile(activities=CPU) as p:
        X.add(1)
        p.toggle_collection_dynamic(False, CPU)
        X.mul(1)
        p.toggle_collection_dynamic(True, CPU)
        X.sub(1)
    found = written(p)
    report.equal("collection is switched", [name in found for name in ("aten::add", "aten::mul", "aten::sub")], [True, False, True])


def check_refusals(report):
    p = kino.profile(activities=CPU)
    report.check("nothing is exported before", raised(AssertionError, lambda: p.export_chrome_trace("x.json")))
    with p:
        X.add(1)
    report.check("a device is not switched: it is said",
                 "CUDA" in raised(NotImplementedError, lambda: p.toggle_collection_dynamic(True, [torch.profiler.ProfilerActivity.CUDA])))
    report.check("no activities", raised(AssertionError, lambda: kino.profile(activities=[])))
    report.check("an activity twice", raised(ValueError, lambda: kino.profile(activities=CPU * 2)))
    report.check("a full recorder is said", any("did not fit" in text for text in said(fill)))


def fill():
    with kino.profile(activities=CPU, record_shapes=True, memory="4MB"):
        for _ in range(20_000):
            X.add(1)


def status_kilobytes(key):
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key))


def check_leak(report):
    """1,000 windows leave no memory, address space, threads and files behind, and the last one is whole."""
    def windows(count):
        for number in range(count):
            with kino.profile(activities=CPU, profile_memory=True, record_shapes=True, with_stack=True, memory="4MB") as p:
                X.add(1)
                p.add_metadata("number", f"{number:0300}")
        return p, (status_kilobytes("RssAnon:"), status_kilobytes("VmSize:")), (len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")))

    _, before, others = windows(100)
    p, after, others_after = windows(1000)
    report.check("1,000 windows: memory", after[0] - before[0] < 512, (before, after))
    report.check("1,000 windows: address space", after[1] - before[1] < 4096, (before, after))
    report.equal("1,000 windows: files and threads", others_after, others)
    with open(save(p, "last.json"), encoding="utf-8") as file:
        trace = json.load(file)
    report.equal("the last of them has its metadata", (trace["number"], "kino_overhead" in trace), (f"{999:0300}", True))
    report.check("and its operators", sum(event["name"] == "aten::add" for event in trace["traceEvents"]) == 1)


def check_bridge(report):
    """A bridge for another PyTorch is never loaded; the one in the package is used when it fits."""
    path = _bridge.built("kino_torch")
    stamp = {"torch": torch.__version__.split("+")[0], "cxx11abi": str(int(torch.compiled_with_cxx11_abi()))}
    report.equal("the bridge says what it is for", _bridge.stamp_of(path), stamp)
    with open(path, "rb") as file:
        code = file.read()
    package, native = os.path.abspath("package"), _recorder.NATIVE
    os.mkdir(package)
    ready = os.path.join(package, "kino_torch.so")
    cases = {"that fits": (b"", b"", True), "for another PyTorch": (f"torch={stamp['torch']} ".encode(), b"torch=1.2.3  ", False),
             "for another ABI": (f"cxx11abi={stamp['cxx11abi']}".encode(), b"cxx11abi=7", False), "without a stamp": (b"kino-torch-stamp", b"kino-torch-other", False)}
    for what, (old, new, is_used) in cases.items():
        with open(ready, "wb") as file:
            file.write(code.replace(old, new))
        _recorder.NATIVE = package
        try:
            found = _bridge._prebuilt(torch)
        finally:
            _recorder.NATIVE = native
        report.equal(f"a ready bridge {what}", found, ready if is_used else None)
    original, _bridge.built = _bridge.built, lambda name: ready
    try:
        message = raised(kino.UnavailableError, lambda: _bridge._load(torch))
    finally:
        _bridge.built = original
    report.check("one that does not fit is refused before it is loaded", "is not for the PyTorch that runs" in message, message)


def run(report):
    for check in (check_bridge, check_schedules, check_states, check_windows, check_two, check_nested, check_files, check_metadata, check_exceptions,
                  check_threads, check_requests, check_fork, check_annotations, check_stacks, check_toggle, check_refusals, check_leak):
        check(report)
