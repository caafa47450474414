"""How long things live, and who may use them meanwhile: threads, Ctrl-C, forks, runs that are closed, leaks."""
import gc
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import kino

CALLS = 10_000
INTERRUPTED = """
import os, signal, sys, kino
seen = []
def tell(what, done, total):
    seen.append((done, total))
    if len(seen) == 1:
        os.kill(os.getpid(), signal.SIGINT)
try:
    kino.open("big-run", progress=tell, jobs=1)
except KeyboardInterrupt:
    print("interrupted", seen[-1][0] < seen[-1][1])
"""

LONG_QUERY = """
import os, signal, threading, kino
run = kino.open("demo-run")
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    run.query("SELECT count(*) FROM event a, event b, event c")
except KeyboardInterrupt:
    print("interrupted", len(run.temporal_breakdown()))
"""
SHRUNK = """
import os, kino
run = kino.open("shrinks.json")
os.truncate("shrinks.json", 4096)
print("alive", len(run.query("SELECT count(args) FROM event")))
"""


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "PYTHONPATH": sys.path[0]})


def check_interrupt(report):
    kino.demo("big-run", ranks=1, steps=3, size="150MB")
    done = python(INTERRUPTED)
    report.equal("Ctrl-C while loading", done.stdout.strip(), "interrupted True")
    report.equal("Ctrl-C in a query, and the run is still good", python(LONG_QUERY).stdout.strip(), "interrupted 2")
    shutil.copy("demo-run/rank-0.json", "shrinks.json")
    done = python(SHRUNK)
    report.equal("a file that shrinks does not end the process", (done.returncode, done.stdout.strip()), (0, "alive 1"))
    stopped = []
    try:
        kino.open("big-run", jobs=1, progress=lambda *told: stopped.append(told) or False)
    except kino.CancelledError as error:
        stopped.append(error.code)
    report.check("a progress function that says no", stopped and stopped[-1] == "cancelled" and len(stopped) == 2, str(stopped))


def check_threads(report):
    """Two loads at the same time, and Python goes on meanwhile."""
    begun, ended, beats = [], [], 0

    def load():
        begun.append(time.monotonic())
        kino.open("big-run", jobs=1, progress=False)
        ended.append(time.monotonic())

    threads = [threading.Thread(target=load) for _ in range(2)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        beats += 1
        time.sleep(0.001)
    for thread in threads:
        thread.join()
    report.check("two threads load at once", len(ended) == 2 and max(begun) < min(ended), f"{begun} {ended}")
    report.check("Python goes on while C works", beats > 5, str(beats))


def check_shared(report, run):
    """One run, many threads, the same answers."""
    want, failures = run.query("SELECT count(*) FROM event").rows(), []

    def ask():
        for _ in range(20):
            if run.query("SELECT count(*) FROM event").rows() != want or len(run._engine.analyze("steps", [], 0, None).tables()) != 1:
                failures.append("differs")

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report.equal("threads share a run", failures, [])


def check_ends(report):
    run = kino.open("demo-run")
    table, result, whole = run.temporal_breakdown(), run.idle_time(), run.report()
    events = run.events(["ts", "name"])
    try:
        import pyarrow
        arrow = pyarrow.table(events)
        before = arrow.column("ts").to_pylist()
    except ImportError:
        arrow = before = None
    part = run.cut(steps=2)
    run.close()
    del run
    gc.collect()
    report.equal("tables live longer than their run", (len(table.rows()), len(result.idle), "Step time" in whole.text), (2, len(result.idle), True))
    report.check("a run made from another keeps it", part.temporal_breakdown()[0].kernel_time > 0)
    if arrow is not None:
        report.check("arrays live longer than their run", arrow.column("ts").to_pylist() == before)
        column = arrow.column("name").chunk(0)
        del arrow, events
        gc.collect()
        report.check("one array alone", len(column.dictionary) > 10 and column[0].as_py())
    report.check("a capsule nobody takes", table.__arrow_c_stream__() is not None)
    running = kino.open("demo-run")
    thread = threading.Thread(target=lambda: running.query("SELECT count(*) FROM event a JOIN kernel b ON a.ts > b.ts"))
    thread.start()
    running.close()  # while a query works with it, or just before
    thread.join()
    report.check("closing while a query works", not running._engine.is_open())


def check_fork(report, run):
    table = run.temporal_breakdown()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run.query("SELECT 1")
        except kino.ArgumentError as error:
            code = 0 if "forked" in str(error) and len(table.rows()) == 2 and kino.open("demo-run").ranks == [0, 1] else 2
        os._exit(code)
    report.equal("a run after fork is refused", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
    report.equal("the parent goes on", run.ranks, [0, 1])


def memory():
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def check_leaks(report, run):
    table = run.temporal_breakdown()

    def calls():
        table.rows()
        table.__arrow_c_stream__()
        table.__arrow_c_schema__()
        table._result.column(0, 1)
        table._result.column(0, 0)
        table._result.notes(), table._result.params(), table._result.render("csv", None, 0, 0)
        run.traces, run.warnings, run.origin
        run.temporal_breakdown()
        try:
            run._engine.analyze("nothing", [], 0, None)
        except kino.NotFoundError:
            pass
        try:
            kino._engine.open([object()], None, None, None, 0, 0, None, None)
        except TypeError:
            pass

    def heavy():
        run._engine.analyze("steps", [(b"compat", b"hta")], 1, None)
        run.query("SELECT name FROM event WHERE dur > ? LIMIT 3", 5)
        run.events(["ts", "name"]).__arrow_c_schema__()
        run.cut(steps=2)

    # A warm-up first: pools and caches of malloc and Python grow once. Or later, when threads of a busy machine overlap as they did not
    # before: so the half that grew less is judged. A leak is in both.
    for what, call, count, limit in (("answers", calls, CALLS, 2 << 20), ("work", heavy, 100, 16 << 20)):
        for _ in range(count // 10):
            call()
        objects, kinds = len(gc.get_objects()), [sys.getrefcount(getattr(kino._engine, name)) for name in ("Run", "Result")]
        grown = []
        for _ in range(2):
            before = memory()
            for _ in range(count // 2):
                call()
            grown.append(memory() - before)
        more = len(gc.get_objects()) - objects
        if "asan" not in os.environ.get("LD_PRELOAD", ""):  # which gives nothing back for a while
            report.check(f"{count} x {what} leave no memory", min(grown) < limit // 2, f"{grown} bytes")
        report.check(f"{count} x {what} leave no objects", more < 100, f"{more} objects")
        now = [sys.getrefcount(getattr(kino._engine, name)) for name in ("Run", "Result")]
        report.equal(f"{count} x {what} leave no references", now, kinds)


def run(report):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kino.demo("demo-run", ranks=2, steps=3)
    check_interrupt(report)
    check_threads(report)
    check_ends(report)
    with kino.open("demo-run") as demo:
        check_fork(report, demo)
        check_shared(report, demo)
        check_leaks(report, demo)
