"""kino.profile where programs end badly or do odd things: processes that are killed, children, exceptions in operators and backward functions,
threads that come and go, windows of both profilers in each other."""
import ctypes
import json
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import threading

import kino
import torch
from kino import _recorder

from support import common

CPU = [torch.profiler.ProfilerActivity.CPU]
X = torch.ones(4, 4)

# Records, says so, and waits for its end.
DYING = """
import os, sys, time
import kino, torch
def work(x):
    return x.mul(2).add(1)
x = torch.ones(4, 4, requires_grad=True)
p = kino.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True, memory="8MB")
p.start()
for _ in range(50):
    work(x).sum().backward()
with kino.record_function("the last one"):
    work(x)
    print("recorded", flush=True)
    if sys.argv[1] == "exit":
        os._exit(3)
    time.sleep(300)
"""


def written(profiler):
    profiler.export_chrome_trace("robust.json")
    with open("robust.json", encoding="utf-8") as file:
        return json.load(file)["traceEvents"]


def names(profiler):
    return [event["name"] for event in written(profiler) if event.get("ph") == "X"]


# -- ends --

def check_end(report, how):
    """What was recorded until then is found in the buffers, which outlive the process."""
    folder = pathlib.Path(how).absolute()
    folder.mkdir()
    dying = subprocess.Popen([sys.executable, "-W", "ignore", "-c", DYING, how], stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "KINO_DIR": str(folder)}, preexec_fn=common.die_with_parent)
    report.equal(f"{how}: it records", dying.stdout.readline(), "recorded\n")
    if how == "kill":
        dying.send_signal(signal.SIGKILL)
    dying.stdout.close()
    report.equal(f"{how}: it ends so", dying.wait(60), 3 if how == "exit" else -signal.SIGKILL)
    left = list(folder.iterdir())
    if not report.equal(f"{how}: buffers are left", len(left), 1):
        return
    done = common.run("recover", left[0], folder / "t.json")
    if not report.equal(f"{how}: recovered", done.returncode, 0):
        return
    with open(folder / "t.json", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    count = [sum(event["name"] == name for event in events) for name in ("aten::add", "AddBackward0", "the last one")]
    report.equal(f"{how}: all operators are there", count, [51, 50, 1])
    adds = [event for event in events if event["name"] == "aten::add" and event["ph"] == "X"]
    report.equal(f"{how}: with their inputs", adds[-1]["args"]["Input Dims"][:1], [[4, 4]])
    report.check(f"{how}: and links", sum(event.get("cat") == "fwdbwd" for event in events) >= 100)
    report.check(f"{how}: and memory", any(event["name"] == "[memory]" for event in events))
    if "kino._tracer" in sys.modules:
        report.equal(f"{how}: and Python functions", sum(event["name"].endswith(": work") for event in events), 51)


# -- children --

def in_child(path):
    with kino.profile(activities=CPU, record_shapes=True) as p:
        X.sub(1)
    p.export_chrome_trace(path)


def check_spawn(report):
    """A new interpreter records by itself; the parent's window knows nothing of it."""
    with kino.profile(activities=CPU) as p:
        child = multiprocessing.get_context("spawn").Process(target=in_child, args=(os.path.abspath("spawned.json"),))
        child.start()
        child.join()
        X.add(1)
    report.equal("spawn: the child ends well", child.exitcode, 0)
    with open("spawned.json", encoding="utf-8") as file:
        report.check("spawn: it has its own trace", "aten::sub" in {event["name"] for event in json.load(file)["traceEvents"]})
    found = names(p)
    report.equal("spawn: the parent has its own", ["aten::add" in found, "aten::sub" in found], [True, False])


# -- exceptions --

class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise ValueError("planted")


def check_exceptions(report):
    x = torch.ones(3, requires_grad=True)
    with kino.profile(activities=CPU, record_shapes=True, profile_memory=True) as p:
        for _ in range(3):
            try:
                Failing.apply(x).sum().backward()
            except ValueError:
                pass
            try:
                torch.ones(2) @ torch.ones(3)
            except RuntimeError:
                pass
        (x * 2).sum().backward()
    events = written(p)
    spans = [event for event in events if event.get("ph") == "X"]
    report.equal("exceptions: the functions are there", [sum(event["name"] == name for event in spans) for name in ("FailingBackward", "aten::matmul")],
                 [3, 3])
    report.equal("exceptions: all of them have ended", [event["name"] for event in spans if event.get("args", {}).get("finished") is False], [])
    report.check("exceptions: the next backward is as ever", sum(event["name"] == "MulBackward0" for event in spans) == 1)


# -- threads --

def check_threads(report):
    """Threads that were there before the window, begin in it, end in it, and outlive it."""
    begin, over = threading.Event(), threading.Event()

    def early():
        begin.wait()
        X.exp()
        over.wait()

    def late():
        X.sin()
        over.wait()

    threads = [threading.Thread(target=early)]
    threads[0].start()
    with kino.profile(activities=CPU, record_shapes=True, profile_memory=True) as p:
        begin.set()
        threads.append(threading.Thread(target=late))
        threads[1].start()
        for _ in range(20):
            short = threading.Thread(target=X.cos)
            short.start()
            short.join()
        while len([name for name in ("aten::exp", "aten::sin") if name in so_far()]) < 2:
            pass
    over.set()
    for thread in threads:
        thread.join()
    found = names(p)
    report.equal("threads: all are recorded", [found.count(name) for name in ("aten::exp", "aten::sin", "aten::cos")], [1, 1, 20])


def so_far():
    """The operators so far: a dump of what is being recorded."""
    _recorder._call("kino_dump", os.fsencode(os.path.abspath("dump.json")), ctypes.c_uint64(0))
    with open("dump.json", encoding="utf-8") as file:
        return {event["name"] for event in json.load(file)["traceEvents"]}


# -- both profilers --

def check_both(report):
    """One after the other, and one in the other, in both orders."""
    for is_memory in (False, True):
        options = {"activities": CPU, "record_shapes": True, "profile_memory": is_memory}
        with kino.profile(**options) as ours:
            X.add(1)
        with torch.profiler.profile(**options) as theirs:
            X.mul(1)
        report.check(f"one behind the other, memory {is_memory}", "aten::add" in names(ours) and any(event.name == "aten::mul" for event in theirs.events()))
        with torch.profiler.profile(**options) as theirs, kino.profile(**options) as ours:
            X.sub(1)
        report.check(f"Kino's within PyTorch's, memory {is_memory}", "aten::sub" in names(ours) and any(event.name == "aten::sub" for event in theirs.events()))
    with kino.profile(activities=CPU) as ours:
        try:
            torch.profiler.profile(activities=CPU).start()
            message = ""
        except RuntimeError as error:  # as for two of its own
            message = str(error)
        X.div(1)
    report.check("PyTorch's within Kino's: PyTorch says no", "already enabled" in message, message)
    report.check("and Kino's goes on", "aten::div" in names(ours))
    with torch.profiler.profile(activities=CPU) as theirs:
        X.mul(1)
    report.check("and PyTorch's works afterwards", any(event.name == "aten::mul" for event in theirs.events()))


def check_twice(report):
    with kino.profile(activities=CPU) as p:
        try:
            kino.profile(activities=CPU).start()
            message = ""
        except RuntimeError as error:
            message = str(error)
        X.add(1)
    report.check("started twice: refused, with the reason", "already recording" in message, message)
    report.check("and the first goes on", "aten::add" in names(p))


# -- others who profile --

def check_taken(report):
    """Python's hook is somebody else's: it stays his, which is said, and operators are recorded."""
    if "kino._tracer" not in sys.modules or sys.version_info >= (3, 12):
        print("NOT TESTED: sys.setprofile is taken (kino._tracer does not use it)")
        return
    code = """
import sys, warnings
warnings.simplefilter("always")
seen = []
sys.setprofile(lambda frame, event, argument: seen.append(event))
import kino, torch
with kino.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True) as p:
    torch.ones(2).add(1)
is_his = sys.getprofile() is not None
sys.setprofile(None)
names = {event.name for event in p.events()}
print(is_his, "aten::add" in names, any("built-in" in name for name in names), len(seen) > 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    report.equal("sys.setprofile is taken: it stays, operators are there, functions are not", done.stdout.split(), ["True", "True", "False", "True"])
    report.check("and that is said", "Python functions are not recorded" in done.stderr, done.stderr[-300:])


def check_stress(report):
    """Windows of all kinds and a trace on request while threads train; what `--sanitized` runs, too."""
    folder = pathlib.Path("stress").absolute()
    folder.mkdir()
    paths = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(pathlib.Path(__file__).parent.parent)])
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "python.profile_stress", "fork"], cwd=folder, capture_output=True, text=True,
                          check=False, timeout=500, env={**os.environ, "PYTHONPATH": paths})
    if report.equal("stress: it ends well", done.returncode, 0):
        found = json.loads(done.stdout)
        report.check("stress: each window has operators", found["smallest_window"] > 0, found)
        report.equal("stress: the trace on request, the child of fork", (found["requested"], found["forked"]), (1, 0))
        report.check("stress: functions that end on another thread", found["collectives"] >= 50, found)


def run(report):
    for check in (check_exceptions, check_threads, check_both, check_twice, check_spawn, check_taken, check_stress):
        check(report)
    for how in ("exit", "kill"):
        check_end(report, how)
