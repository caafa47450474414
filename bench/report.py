#!/usr/bin/env python3
"""One `kino report`, everything included: bench/report.py KINO TRACE [--jobs N]. Prints a sample as the other benchmarks do:
wall and processor time, size of the text, peak memory of the process."""
import gzip
import json
import os
import sys
import time


def text_size(path):
    if not path.endswith(".gz"):
        return os.path.getsize(path)
    size = 0
    with gzip.open(path) as text:
        while part := text.read(1 << 20):
            size += len(part)
    return size


def main():
    kino, trace, *more = sys.argv[1:]
    arguments = [kino, "report", trace, "--quiet", *more]
    begin = time.perf_counter()
    child = os.posix_spawn(kino, arguments, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, used = os.wait4(child, 0)
    wall = time.perf_counter() - begin
    if status != 0:
        sys.exit(f"kino report {trace}: status {status}")
    print(json.dumps({"bytes": text_size(trace), "wall_s": [wall], "cpu_s": [used.ru_utime + used.ru_stime],
                      "peak_bytes": used.ru_maxrss * 1024}))


if __name__ == "__main__":
    main()
