"""Samples of Python stacks. A planted function has its share of them: ratios in one program, no times."""
import os
import pathlib
import subprocess
import sys
import threading
import time

from kino import _tracer

from support import common

from .recording import Calls, query, saved, session

SECONDS = 1.2  # of processor time
SHARE, SLACK = 0.75, 0.15


def spin(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def hot():
    spin(40000)
    spin(40000)
    spin(40000)


def cold():
    spin(40000)


def mix(seconds=SECONDS):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        hot()
        cold()


def sampled():
    return {name.split("): ")[-1]: (float(time), count) for name, time, count in
            query("SELECT name, sum(dur), count(*) FROM event WHERE cat = 'python_sample' GROUP BY name")}


def share_of(times):
    both = times.get("hot", (0, 0))[0], times.get("cold", (0, 0))[0]
    return both[0] / max(sum(both), 1)


def shares(report):
    """Of a thread that was there, and of one that is started while samples are taken; one that sleeps has none."""
    asleep = threading.Event()
    sleeper = threading.Thread(target=waits, args=(asleep,))
    sleeper.start()
    with session():
        _tracer.sample_start()
        mix()
        later = threading.Thread(target=in_thread)
        later.start()
        later.join()
        _tracer.sample_stop()
    asleep.set()
    sleeper.join()
    stats = _tracer.sample_stats()
    saved()
    times = sampled()
    report.check("a planted hot function has its share", abs(share_of(times) - SHARE) < SLACK, (share_of(times), stats))
    report.check("a thread that came later is there, under the functions it is in", times.get("in_thread", (0, 0))[0] > 0, sorted(times))
    report.check("a thread that waits is not", times.get("waits", (0, 0))[0] < 0.05 * times["mix"][0], times.get("waits"))
    report.check("hardly any stack cannot be read", stats["samples"] > 50 and stats["broken"] <= stats["samples"] / 20, stats)
    inside = query("SELECT count(*) FROM event AS e WHERE cat = 'python_sample' AND name LIKE '%: spin' AND NOT EXISTS "
                   "(SELECT 1 FROM event AS o WHERE o.track = e.track AND (o.name LIKE '%: hot' OR o.name LIKE '%: cold') AND "
                   "o.ts <= e.ts AND o.ts + o.dur >= e.ts + e.dur)")
    report.equal("stacks nest as the calls did", inside, [[0]])
    loop = spin.__code__.co_firstlineno + 2
    where = {int(line) for (line,) in query("SELECT DISTINCT CAST(json_extract(args, '$.line') AS INT) FROM event "
                                            "WHERE name LIKE '%: spin' AND json_extract(args, '$.line') IS NOT NULL")}
    report.check("lines are those of the loop", where and where <= {loop - 1, loop, loop + 1, loop + 2} and where & {loop, loop + 1}, (where, loop))
    report.equal("names are those of calls", {name for (name,) in query("SELECT DISTINCT name FROM event WHERE name LIKE '%: hot'")},
                 {f"tracer/samples.py({hot.__code__.co_firstlineno}): hot"})


def waits(event):
    event.wait()


def in_thread():
    mix(0.4)


def states(report):
    errors = []
    for rate in (0, -1, 100000):
        try:
            _tracer.sample_start(rate)
        except ValueError as error:
            errors.append(str(error))
    report.equal("rates that are none", len(errors), 3)
    _tracer.sample_stop()
    _tracer.sample_start()
    try:
        _tracer.sample_start()
        report.check("started twice", False)
    except RuntimeError as error:
        report.check("started twice", "already" in str(error))
    _tracer.sample_stop()
    before = threading.active_count(), len(os.listdir("/proc/self/task"))
    for _ in range(20):
        _tracer.sample_start(1000)
        _tracer.sample_stop()
    report.equal("no thread stays", (threading.active_count(), len(os.listdir("/proc/self/task"))), before)


def short_threads(report):
    """Threads that come and go while the sampler looks at them."""
    with session():
        _tracer.sample_start(1000)
        end = time.monotonic() + 1
        while time.monotonic() < end:
            threads = [threading.Thread(target=spin, args=(2000,)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        pid = os.fork()
        if pid == 0:
            spin(1000)
            _tracer.sample_stop()
            os._exit(0)
        report.equal("a fork while samples are taken", os.waitpid(pid, 0)[1], 0)
        _tracer.sample_stop()
    saved()
    report.check("short threads: samples were taken", _tracer.sample_stats()["samples"] > 0, _tracer.sample_stats())


def both(report):
    """Calls and samples at once: they agree."""
    with session():
        _tracer.start(c_calls=False)
        _tracer.sample_start()
        mix()
        _tracer.sample_stop()
        _tracer.stop()
    calls = saved()
    called = {name: sum(float(e["dur"]) for e in calls.named(name)) for name in ("hot", "cold")}
    by_calls, by_samples = called["hot"] / sum(called.values()), share_of(sampled())
    report.check("samples and calls agree", abs(by_calls - by_samples) < SLACK, (by_calls, by_samples))
    report.equal("calls nest beside samples", calls.faults(), [])


EXIT = """
import sys, time
sys.path[:0] = {paths!r}
from tracer import recording
from kino import _tracer
options = recording.Options(recording.ctypes.sizeof(recording.Options), 0, 0, None, b"exit-samples.json", None)
recording.call("kino_prepare", recording.ctypes.byref(options))
recording.call("kino_start")
_tracer.sample_start(1000)
def busy():
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
busy()
"""


def exit_while_sampling(report):
    package = pathlib.Path(_tracer.__file__).parent.parent
    paths = [str(pathlib.Path(__file__).parent.parent), str(package)]
    done = subprocess.run([sys.executable, "-c", EXIT.format(paths=paths)], capture_output=True, text=True, check=False, timeout=60)
    report.equal("the program ends while samples are taken", (done.returncode, done.stderr), (0, ""))
    report.check("and its trace is there", Calls("exit-samples.json") is not None)


PROFILE = """
import warnings
import torch, kino
from kino import profile
def hot():
    for _ in range(300):
        torch.ones(64, 64) @ torch.ones(64, 64)
with profile(with_stack="sample") as p:
    for _ in range(40):
        hot()
names = {row["name"] for row in p.run().query("SELECT name FROM event WHERE cat = 'python_sample'").to_dicts()}
print(any(name.endswith(": hot") for name in names), p.run().query("SELECT count(*) AS n FROM event WHERE name = 'aten::mm'").to_dicts()[0]["n"])
try:
    with profile(with_stack="often"):
        pass
except ValueError as error:
    print(error)
import cProfile, sys
if sys.version_info < (3, 12):
    sys.setprofile(lambda *_: None)
else:
    sys.monitoring.use_tool_id(2, "other")
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    with profile(with_stack=True) as p:
        hot()
print(len([w for w in seen if "Python functions are not recorded" in str(w.message)]),
      p.run().query("SELECT count(*) AS n FROM event WHERE name = 'aten::mm'").to_dicts()[0]["n"])
"""


def in_profile(report):
    python, _ = common.torch_python()
    if not python:
        print("not tested: with_stack='sample' (no torch)")
        return
    package = str(pathlib.Path(_tracer.__file__).parent.parent)
    done = subprocess.run([python, "-c", PROFILE], capture_output=True, text=True, check=False, timeout=200,
                          env={**os.environ, "PYTHONPATH": package, "OMP_NUM_THREADS": "1"})
    report.equal("with_stack='sample', and a profiler that cannot have Python's hook", done.stdout.splitlines(),
                 ["True 12000", "invalid value 'often' for with_stack (expected: True, False or 'sample')", "1 300"])
    if done.returncode:
        print(done.stderr[-1000:])


def run(report):
    for part in (states, shares, short_threads, both, exit_while_sampling, in_profile):
        part(report)
