#!/usr/bin/env python3
"""The peak memory of a program, mapped files not counted (RssAnon + RssShmem; ru_maxrss has both): bench/own_memory.py COMMAND
[ARGUMENT...]. Prints {"peak_bytes": N, "wall_s": S, "cpu_s": S}."""
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


def measure(command):
    """Runs the command; the figures, or an end with its status."""
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    ended, peak = threading.Event(), [0]
    watcher = threading.Thread(target=watch, args=(child.pid, ended, peak))
    watcher.start()
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - begin
    ended.set()
    watcher.join()
    if status != 0:
        sys.exit(f"{' '.join(command)}: status {status}")
    return {"peak_bytes": peak[0], "wall_s": wall, "cpu_s": used.ru_utime + used.ru_stime}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1:])))
