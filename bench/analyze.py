#!/usr/bin/env python3
"""One `kino analyze NAME TRACE`, everything included: bench/analyze.py KINO NAME TRACE [--jobs N]. Prints a sample as the other
benchmarks do: wall and processor time, size of the file, peak memory of the process (RssAnon + RssShmem: mapped files are not
counted, which ru_maxrss would do)."""
import json
import os
import subprocess
import sys
import threading
import time

PAUSE = 0.005  # seconds between two looks


def resident(pid):
    try:
        with open(f"/proc/{pid}/status") as status:
            return sum(int(line.split()[1]) * 1024 for line in status if line.startswith(("RssAnon:", "RssShmem:")))
    except (OSError, ValueError):  # it has ended
        return 0


def watch(pid, ended, peak):
    while not ended.wait(PAUSE):
        peak[0] = max(peak[0], resident(pid))


def main():
    kino, name, trace, *more = sys.argv[1:]
    begin = time.perf_counter()
    child = subprocess.Popen([kino, "analyze", name, trace, "--quiet", *more], stdout=subprocess.DEVNULL)
    ended, peak = threading.Event(), [0]
    watcher = threading.Thread(target=watch, args=(child.pid, ended, peak))
    watcher.start()
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - begin
    ended.set()
    watcher.join()
    if status != 0:
        sys.exit(f"kino analyze {name} {trace}: status {status}")
    print(json.dumps({"bytes": os.path.getsize(trace), "wall_s": [wall], "cpu_s": [used.ru_utime + used.ru_stime],
                      "peak_bytes": peak[0]}))


if __name__ == "__main__":
    main()
