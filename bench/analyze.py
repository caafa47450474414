#!/usr/bin/env python3
"""One `kino analyze NAME TRACE`, everything included: bench/analyze.py KINO NAME TRACE [--jobs N]. Prints a sample as the other
benchmarks do: wall and processor time, size of the file, peak memory of the process (own_memory.py)."""
import json
import os
import sys

from own_memory import measure


def main():
    kino, name, trace, *more = sys.argv[1:]
    found = measure([kino, "analyze", name, trace, "--quiet", *more])
    print(json.dumps({"bytes": os.path.getsize(trace), "wall_s": [found["wall_s"]], "cpu_s": [found["cpu_s"]],
                      "peak_bytes": found["peak_bytes"]}))


if __name__ == "__main__":
    main()
