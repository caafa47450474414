#!/usr/bin/env python3
"""import kino, from the build tree: bench/import_kino.py PACKAGE TRACE. Prints a sample: wall_s is opening, six analyses and their
DataFrames; then what events, a call that is answered from memory, and Ctrl-C cost. Imports are not in the clock. To be run by the Python of
an environment that has pandas and pyarrow (tools/install-python)."""
import json
import os
import signal
import sys
import threading
import time

sys.path.insert(0, sys.argv[1])
import kino  # noqa: E402
import pandas  # noqa: E402,F401
import pyarrow  # noqa: E402,F401

ROUNDS, CALLS = 5, 2000


def frames(run):
    answers = (run.temporal_breakdown(), run.idle_time(), run.comm_overlap(), run.kernel_breakdown(), run.queue_length(),
               run.launch_stats(include_memory=True))
    return [table.to_pandas() for answer in answers for table in ([answer] if isinstance(answer, kino.Table) else answer)]


def best(call):
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def interrupt(path, after):
    """Seconds from the signal to the exception; None when the load was done before."""
    sent = []
    timer = threading.Timer(after, lambda: (sent.append(time.perf_counter()), os.kill(os.getpid(), signal.SIGINT)))
    timer.start()
    try:
        kino.open(path)
        timer.cancel()
    except KeyboardInterrupt:
        return time.perf_counter() - sent[0]
    return None


def main():
    path = sys.argv[2]
    begin, used = time.perf_counter(), time.process_time()
    run = kino.open(path)
    loaded = time.perf_counter()
    frames(run)
    wall, used = time.perf_counter() - begin, time.process_time() - used
    events = run.events(["ts", "dur", "name", "category"])
    count = events.to_arrow().num_rows
    begin_calls = time.perf_counter()
    for _ in range(CALLS):
        run.temporal_breakdown()
    call = (time.perf_counter() - begin_calls) / CALLS
    events_s = best(events.to_arrow)
    run.close()
    print(json.dumps({"bench": "import_kino", "bytes": os.path.getsize(path), "wall_s": [wall, loaded - begin], "cpu_s": [used],
                      "events": count, "events_ms": events_s * 1e3, "events_3m_ms": events_s * 1e3 * 3e6 / count,
                      "call_us": call * 1e6, "interrupt_s": interrupt(path, (loaded - begin) / 4), "load_s": loaded - begin}))


if __name__ == "__main__":
    main()
