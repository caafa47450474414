#!/usr/bin/env python3
"""kino.flight_recorder: the last seconds are kept in a ring of fixed size, and a slow step, an exception or a signal makes a trace of them.
Steps are given by the program, so no time but that of planted sleeps is judged; PyTorch's optimizer is tested where it is installed."""
import os
import pathlib
import subprocess
import sys
import tempfile

from support import common

PACKAGE = pathlib.Path(os.environ.get("KINO_TOOLS") or pathlib.Path(common.program()).parent) / "python"
SLOW_STEP = """
import sys, time, kino
recorder = kino.flight_recorder(seconds=60, on=["slow-step"], directory="slow", python="functions", slow=3)
def ordinary():
    time.sleep(0.05)
def planted():
    time.sleep(1)
for number in range(24):
    planted() if number == 20 else ordinary()
    recorder.step()
recorder.stop()
print(len(recorder.files), recorder.is_active)
"""
EXCEPTION = """
import sys, threading, kino
recorder = kino.flight_recorder(on=["exception"], directory="exception", python="functions")
def fails():
    return {}["planted"]
def in_thread():
    fails()
if sys.argv[1] == "thread":
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
elif sys.argv[1] == "with":
    with recorder:
        fails()
else:
    fails()
"""
SIGNAL = """
import os, signal, time, kino
seen = []
signal.signal(signal.SIGUSR2, lambda *_: seen.append(1))
own = signal.getsignal(signal.SIGUSR2)
recorder = kino.flight_recorder(on=["signal"], directory="signal", python=None)
os.kill(os.getpid(), signal.SIGUSR2)
while not recorder.files:
    time.sleep(0.01)
recorder.stop()
print(len(recorder.files), seen, signal.getsignal(signal.SIGUSR2) is own)
"""
RING = """
import kino
recorder = kino.flight_recorder(on=[], directory="ring", memory="4MB", python="functions", keep=2)
def leaf(n):
    return n
def old():
    return sum(leaf(i) for i in range(2000))
def new():
    return sum(leaf(i) for i in range(500))
old()
for _ in range(200):
    new()
from kino import _recorder
state = _recorder.state()
paths = [recorder.dump() for _ in range(3)]
print(state.budget_bytes, state.used_bytes <= state.budget_bytes, len(recorder.files), [__import__("os").path.exists(path) for path in paths])
try:
    kino.flight_recorder(on=["never"])
except ValueError as error:
    print(error)
try:
    kino.flight_recorder()
except kino.Error as error:
    print("refused:", type(error).__name__)
child = __import__("os").fork()
if child == 0:
    recorder.step()
    recorder.stop()
    __import__("os")._exit(0 if not recorder.is_active else 1)
print(__import__("os").waitpid(child, 0)[1], recorder.is_active)
recorder.stop()
"""
OPTIMIZER = """
import time, torch, kino
recorder = kino.flight_recorder(on=["slow-step"], directory="optimizer", python=None, slow=3)
weight = torch.ones(4, requires_grad=True)
first, second = torch.optim.SGD([weight], lr=0.1), torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
for number in range(14):
    time.sleep(1 if number == 12 else 0.05)
    (weight * 2).sum().backward()
    first.step()
    second.step()
recorder.stop()
from torch.optim.optimizer import _global_optimizer_post_hooks as hooks
print(len(recorder.files), len(hooks))
"""


def run(folder, code, *words, python=sys.executable):
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "KINO_PROGRAM": common.program()}
    environment.pop("RANK", None)
    path = pathlib.Path(folder) / "program.py"
    path.write_text(code, encoding="utf-8")
    return subprocess.run([python, path, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False)


def names(path):
    return dict(common.query(path, "SELECT name, count(*) FROM event WHERE cat = 'python_function' GROUP BY name"))


def calls(path, function):
    return sum(count for name, count in names(path).items() if name.endswith(f": {function}"))


def traces(folder, name):
    return sorted((folder / name).glob("flight-*.kino"))


def reason(path):
    return [row[0] for row in common.query(path, "SELECT value FROM metadata WHERE key = 'kino_flight'")]


def check_slow_step(report, folder):
    done = run(folder, SLOW_STEP)
    report.equal("a slow step: once", (done.returncode, done.stdout), (0, "1 False\n"))
    found = traces(folder, "slow")
    report.equal("its trace", len(found), 1)
    for path in found:
        report.check("what it is about is in it", calls(path, "planted") == 1 and calls(path, "ordinary") >= 8, names(path))
        report.check("and why", "slow-step" in str(reason(path)), reason(path))
        report.check("and where it is was said", str(path.name) in done.stderr, done.stderr)


def check_exceptions(report, folder):
    for count, how in enumerate(("plain", "thread", "with"), 1):
        done = run(folder, EXCEPTION, how)
        report.check(f"an exception ({how}): the traceback is there", 'return {}["planted"]' in done.stderr and "KeyError" in done.stderr, done.stderr)
        found = traces(folder, "exception")
        report.equal(f"an exception ({how}): its trace, once", len(found), count)
    report.equal("all of them have it", [calls(path, "fails") for path in traces(folder, "exception")], [1, 1, 1])


def check_ring(report, folder):
    done = run(folder, RING)
    lines = done.stdout.splitlines()
    report.equal("a ring of its size; the newest files are kept", lines[:1], ["4000000 True 2 [False, True, True]"])
    report.equal("wrong words", lines[1:2], ["invalid value 'never' for on (expected: slow-step, exception, signal)"])
    report.check("one at a time", lines[2:3] and lines[2].startswith("refused: "), done.stdout + done.stderr)
    report.equal("a child of fork does not record", lines[3:4], ["0 True"])
    for path in traces(folder, "ring"):
        report.check("the oldest is overwritten, the newest is there", calls(path, "old") == 0 and calls(path, "new") > 0, names(path))


def check_optimizer(report, folder):
    python, _ = common.torch_python()
    if not python:
        print("NOT TESTED: steps of PyTorch's optimizers (no PyTorch)")
        report.skipped += 1
        return
    done = run(folder, OPTIMIZER, python=python)
    report.equal("steps of the first optimizer", (done.returncode, done.stdout), (0, "1 0\n"))
    for path in traces(folder, "optimizer"):
        found = dict(common.query(path, "SELECT name, count(*) FROM event WHERE cat = 'cpu_op' GROUP BY name"))
        report.check("operators are in the trace", found.get("aten::mul", 0) >= 8, found)


def main():
    report = common.Report()
    if not (PACKAGE / "kino").is_dir():
        common.skip("NOT TESTED: the Python package is not built")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_slow_step(report, folder)
        check_exceptions(report, folder)
        done = run(folder, SIGNAL)
        report.equal("a signal: a trace; the handler that was there is called, and put back", (done.returncode, done.stdout), (0, "1 [1] True\n"))
        check_ring(report, folder)
        check_optimizer(report, folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
