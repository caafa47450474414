"""Threads: those that were there, and those that come later, however they are started."""
import _thread
import pathlib
import queue
import subprocess
import sys
import threading

from kino import _tracer

from .recording import record, saved, session


def serve(inbox, outbox):
    while inbox.get() is not None:
        outbox.put(answer())


def answer():
    return 1


def older_thread(report):
    inbox, outbox = queue.Queue(), queue.Queue()
    thread = threading.Thread(target=serve, args=(inbox, outbox))
    thread.start()

    def work():
        for _ in range(3):
            inbox.put(1)
            outbox.get()

    calls = record(work)
    inbox.put(None)
    thread.join()
    answers = calls.named("answer")
    report.equal("a thread that was there: its calls", len(answers), 3)
    report.equal("a thread that was there: what it was in", {calls.parent(e)["name"].split(": ")[1] for e in answers}, {"serve"})
    report.equal("a thread that was there: once", len(calls.named("serve")), 1)
    report.equal("its calls nest", calls.faults(), [])


def later_threads(report):
    def work():
        for start in (lambda: threading.Thread(target=answer).start(), lambda: _thread.start_new_thread(last, ())):
            start()
        done.wait()
        for _ in range(20):
            thread = threading.Thread(target=answer)
            thread.start()
            thread.join()

    def last():
        answer()
        done.set()

    done = threading.Event()
    calls = record(work)
    report.equal("threads that come later", len(calls.named("answer")), 22)
    report.equal("threads that come later nest", calls.faults(), [])


def waits(ready, go):
    ready.set()
    go.wait()


def open_at_stop(report):
    ready, go = threading.Event(), threading.Event()
    thread = threading.Thread(target=waits, args=(ready, go))
    with session():
        _tracer.start()
        thread.start()
        ready.wait()
        _tracer.stop()
    calls = saved()
    go.set()
    thread.join()
    report.equal("a thread that waits at the stop", len(calls.named("waits")), 1)
    report.equal("its calls have ended", calls.faults(), [])


def busy(n):
    return sum(answer() for _ in range(n))


def many(report):
    count, n = 8, 2000

    def work():
        threads = [threading.Thread(target=busy, args=(n,)) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    calls = record(work)
    report.equal("many threads: calls", len(calls.named("answer")), count * n)
    report.equal("many threads nest", calls.faults(), [])
    report.equal("numbers are unique", len(calls.by_id), len(calls.all))


# Threads that Python has not made put themselves into its list without the GIL, while others look at it.
FROM_OUTSIDE = """
import ctypes, sys
sys.path[:0] = {paths!r}
from tracer import recording
from kino import _tracer
system = ctypes.CDLL(None)
work = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: None)
numbers = (ctypes.c_ulong * 16)()
with recording.session(64 << 20):
    _tracer.start()
    for _ in range(200):
        for i in range(16):
            assert system.pthread_create(ctypes.byref(numbers, 8 * i), None, work, None) == 0
        for number in numbers:
            system.pthread_join(ctypes.c_ulong(number), None)
    _tracer.stop()
print(len(recording.saved("outside.json").faults()))
"""


def threads_from_outside(report):
    package = pathlib.Path(_tracer.__file__).parent.parent
    paths = [str(pathlib.Path(__file__).parent.parent), str(package)]
    done = subprocess.run([sys.executable, "-c", FROM_OUTSIDE.format(paths=paths)], capture_output=True, text=True, check=False, timeout=300)
    report.equal("3,200 threads that Python has not made", (done.returncode, done.stdout, done.stderr), (0, "0\n", ""))


def run(report):
    for part in (older_thread, later_threads, open_at_stop, many, threads_from_outside):
        part(report)
