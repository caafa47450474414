"""Python's json.load as a peer: reads a trace once, prints one line of JSON like the programs of this folder.

python3 bench/json_load.py FILE
"""
import json
import re
import sys
import time


def memory_bytes():
    with open("/proc/self/status") as status:
        fields = dict(re.findall(r"^(RssAnon|RssShmem):\s+(\d+) kB", status.read(), re.M))
    return sum(int(value) * 1024 for value in fields.values())


def main():
    path = sys.argv[1]
    with open(path, "rb") as file:  # warm, as for everybody else
        size = 0
        while chunk := file.read(1 << 20):
            size += len(chunk)
    wall, cpu = time.perf_counter(), time.process_time()
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    events = len(trace if isinstance(trace, list) else trace["traceEvents"])
    print(json.dumps({"bench": "json_load", "with": "Python " + sys.version.split()[0], "jobs": 1, "bytes": size,
                      "wall_s": [wall], "cpu_s": [cpu], "peak_bytes": memory_bytes(), "checks": {"events": events}}))


if __name__ == "__main__":
    main()
