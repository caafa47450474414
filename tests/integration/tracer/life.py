"""Start and stop: errors, others who profile, forks, sub-interpreters, a full buffer, many windows."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import threading

from kino import _tracer

from .recording import Calls, record, saved, session

WINDOWS = 10000
SMALL_BUDGET = 2 << 20


def one():
    return 1


def error_of(function, *args):
    try:
        function(*args)
    except RuntimeError as error:
        return str(error)
    return None


def states(report):
    report.equal("idle", _tracer.is_active(), False)
    _tracer.stop()
    _tracer.start()
    report.equal("active", _tracer.is_active(), True)
    report.check("started twice", "already" in (error_of(_tracer.start) or ""))
    report.equal("the first one goes on", _tracer.is_active(), True)
    _tracer.stop()
    report.equal("stopped", _tracer.is_active(), False)
    one()
    report.equal("stats are of the last window", set(_tracer.stats()), {"calls", "dropped"})


def counts(report):
    calls = record(lambda: [one() for _ in range(1000)], c_calls=False)
    stats = _tracer.stats()
    report.equal("stats count what is recorded", stats, {"calls": len(calls.all), "dropped": 0})
    calls = record(lambda: [one() for _ in range(200000)], budget=SMALL_BUDGET)
    stats = _tracer.stats()
    report.check("a full buffer is counted", stats["dropped"] > 0, stats)
    report.equal("and nothing else is missing", stats["calls"] - stats["dropped"], len(calls.all))


def another_profiler(report):
    if sys.version_info >= (3, 12):
        sys.monitoring.use_tool_id(sys.monitoring.PROFILER_ID, "somebody")
        error = error_of(_tracer.start)
        sys.monitoring.free_tool_id(sys.monitoring.PROFILER_ID)
        report.check("another tool profiles", "somebody" in (error or ""), error)
    else:
        sys.setprofile(lambda *_: None)
        error = error_of(_tracer.start)
        still = sys.getprofile()
        sys.setprofile(None)
        report.check("sys.setprofile is taken", "sys.setprofile is in use" in (error or ""), error)
        report.check("and stays", still is not None)
    report.equal("nothing was started", _tracer.is_active(), False)
    report.equal("afterwards it works", len(record(one).named("one")), 1)


def a_profiler_that_comes_later(report):
    """It may take our place on its thread; it stays when we stop, and the others are recorded on."""
    def other(*_):
        return None

    with session():
        _tracer.start()
        one()
        sys.setprofile(other)
        _tracer.stop()
    stays = sys.getprofile() is other
    sys.setprofile(None)
    calls = saved()
    report.check("a profiler that comes later stays", stays)
    report.check("calls before it are there, and nest", len(calls.named("one")) == 1 and not calls.faults(), calls.faults())


COVERAGE = """
import sys
sys.path[:0] = {paths!r}
import coverage
measured = coverage.Coverage(data_file=None, include=[{script!r}])
measured.start()
from tracer import recording
from kino import _tracer
import planted_module
with recording.session():
    _tracer.start()
    planted_module.covered()
    _tracer.stop()
planted_module.covered()
measured.stop()
calls = recording.saved("coverage.json")
_, lines, _, missing, _ = measured.analysis2(planted_module)
print(len(calls.named("covered")), len(calls.faults()), missing == [], len(lines))
"""


def coverage_beside_it(report):
    if importlib.util.find_spec("coverage") is None:
        print("not tested: coverage (it is not installed)")
        return
    script = pathlib.Path("planted_module.py").absolute()
    script.write_text("def covered():\n    x = 1\n    return x\n", encoding="ascii")
    package = pathlib.Path(_tracer.__file__).parent.parent
    paths = [str(script.parent), str(pathlib.Path(__file__).parent.parent), str(package)]
    done = subprocess.run([sys.executable, "-c", COVERAGE.format(paths=paths, script=str(script))], capture_output=True, text=True, check=False)
    report.equal("coverage measures and calls are recorded", (done.stdout.split(), done.stderr), (["1", "0", "True", "3"], ""))


def a_tracer_beside_it(report):
    seen = []
    sys.settrace(lambda frame, event, arg: seen.append(event))
    calls = record(one)
    sys.settrace(None)
    report.check("sys.settrace works beside it", seen and calls.named("one") and not calls.faults(), calls.faults())


def fork(report):
    ready, go = threading.Event(), threading.Event()
    other = threading.Thread(target=lambda: (ready.set(), go.wait()))
    with session():
        _tracer.start()
        other.start()
        ready.wait()
        pid = os.fork()
        if pid == 0:
            one()
            os._exit(3 if _tracer.is_active() or sys.getprofile() else 0)
        one()
        report.equal("the child does not record", os.waitpid(pid, 0)[1], 0)
        go.set()
        other.join()
    calls = saved()
    report.equal("the parent does", len(calls.named("one")), 1)
    report.equal("the child has changed nothing", calls.faults(), [])


SUB = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import sys
sys.path.insert(0, {package!r})
import kino._tracer
code = "import sys; sys.path.insert(0, {package!r})\\ntry:\\n    import kino._tracer\\nexcept ImportError: print('refused')"
interpreters.run_string(interpreters.create(), code)
kino._tracer.start(); kino._tracer.stop()
print("fine")
"""


EXIT = """
import atexit, sys, threading, time
sys.path[:0] = {paths!r}
from tracer import recording
from kino import _tracer
class Late:
    def __del__(self):
        len([])
keep = Late()
keep.itself = keep
def loop():
    while True:
        time.sleep(0)
threading.Thread(target=loop, daemon=True).start()
options = recording.Options(recording.ctypes.sizeof(recording.Options), 0, 0, None, b"exit.json", None)
recording.call("kino_prepare", recording.ctypes.byref(options))
recording.call("kino_start")
_tracer.start()
atexit.register(len, [])
"""


def exit_while_recording(report):
    package = pathlib.Path(_tracer.__file__).parent.parent
    paths = [str(pathlib.Path(__file__).parent.parent), str(package)]
    done = subprocess.run([sys.executable, "-c", EXIT.format(paths=paths)], capture_output=True, text=True, check=False)
    report.equal("the program ends while it is recorded", (done.returncode, done.stderr), (0, ""))
    report.check("and its trace is there", Calls("exit.json").named("<module>"))


def sub_interpreters(report):
    package = str(pathlib.Path(_tracer.__file__).parent.parent)
    done = subprocess.run([sys.executable, "-c", SUB.format(package=package)], capture_output=True, text=True, check=False)
    report.equal("sub-interpreters are refused", done.stdout.split(), ["refused", "fine"])


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE")


def window():
    _tracer.start()
    one()
    len([])
    _tracer.stop()


def windows(report):
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        print("not measured: memory of many windows (the sanitizer keeps what is freed)")
        return
    with session(SMALL_BUDGET):
        for _ in range(WINDOWS // 10):
            window()
        before = resident()
        for _ in range(WINDOWS):
            window()
        grown = resident() - before
    report.check(f"{WINDOWS} windows leak nothing", grown < 1 << 20, f"{grown} bytes")


def run(report):
    for part in (states, counts, another_profiler, a_profiler_that_comes_later, a_tracer_beside_it, coverage_beside_it, fork, exit_while_recording, sub_interpreters,
                 windows):
        part(report)
