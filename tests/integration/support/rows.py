"""What a trace's JSON says, counted without the program, and what an analysis says about it: for test_rows.py."""
import json
import re

from support import common

KERNEL, MEMORY = {"kernel"}, {"gpu_memcpy", "gpu_memset"}
KINDS = {"memcpy": "gpu_memcpy", "memset": "gpu_memset", "operator": "cpu_op", "runtime": "cuda_runtime", "python": "python_function"}
ITERATION = (r"Optimizer\.step#", r"enumerate\(DataLoader\)#", r"DistributedDataParallel\.forward$", r"FullyShardedDataParallel\.forward$")
HOST_LIBRARY = re.compile(r"(gloo|mpi|ucc):")


class Trace:
    """What its JSON says: spans by category, older spellings of which are known."""

    def __init__(self, path, document):
        self.path = path
        self.events = document["traceEvents"]
        for number, e in enumerate(self.events):
            e["number"] = number
        self.spans = [e for e in self.events if e.get("ph") == "X" and "ts" in e]
        for e in self.spans:
            kind = str(e.get("cat", "")).lower()
            e["kind"] = KINDS.get(kind, kind)

    def of(self, *kinds):
        return [e for e in self.spans if e["kind"] in kinds]

    def device(self):
        return self.of(*KERNEL, *MEMORY)

    def host(self):
        """Calls, operators, annotations: what threads do."""
        return [e for e in self.spans if e["kind"] not in KERNEL | MEMORY | {"trace", "gpu_user_annotation", "", "cuda_sync"}]

    def records(self):
        """Of the allocators."""
        return [e for e in self.events if e.get("name") == "[memory]" and e.get("ph") in ("i", "I")]

    def steps(self):
        names = {e["name"] for e in self.spans if re.fullmatch(r"ProfilerStep#\d+", str(e["name"])) and e["kind"] != "gpu_user_annotation"}
        return names or self.iterations()

    def iterations(self):
        """Pairs of neighbours among the marks of the first kind that a thread has twice; of several names the one that comes least often."""
        for kind in ITERATION:
            marks = {}
            for e in sorted(self.spans, key=lambda e: (e["ts"], -e.get("dur", 0))):
                if re.match(kind, str(e["name"])) and e["kind"] != "gpu_user_annotation":
                    marks.setdefault((str(e["pid"]), str(e["tid"])), []).append(e)
            groups = {}
            for thread, spans in marks.items():
                end = float("-inf")
                for e in spans:
                    if e["ts"] + e.get("dur", 0) > end:  # not inside of another
                        groups.setdefault((thread, e["name"]), []).append(e["ts"])
                        end = e["ts"] + e.get("dur", 0)
            enough = [times for times in groups.values() if len(times) >= 2]
            if enough:
                times = min(enough, key=len)
                return set(zip(times, times[1:]))
        return set()

    def communication(self):
        """Kernels of NCCL and calls that libraries carry out on the host; without any kernel, calls that would launch one."""
        kernels = [e for e in self.of("kernel") if re.match("nccl", str(e["name"]), re.IGNORECASE) or "Collective name" in e.get("args", {})]
        host = [e for e in self.of("cpu_op", "user_annotation") if HOST_LIBRARY.match(str(e["name"]))]
        calls = [] if self.of("kernel") else [e for e in self.of("cpu_op", "user_annotation") if str(e["name"]).startswith("nccl:")]
        return kernels + host + calls


def analyze(path, name, *arguments):
    done = common.run("analyze", name, path, *arguments, "--format", "json", "--quiet")
    if done.returncode != 0:
        raise RuntimeError(f"kino analyze {name} {path}: {done.stderr.decode('utf-8', 'replace')[:300]}")
    answer = json.loads(done.stdout)
    tables = {t["name"]: [dict(zip([c["name"] for c in t["columns"]], row)) for row in t["rows"]] for t in answer["tables"]}
    return tables, answer["input"]["notes"]


def noted(notes, pattern):
    """The number in a note, 0 where there is none."""
    return sum(int(found.group(1)) for found in (re.search(r"(\d+) " + pattern, note) for note in notes) if found)


def has_note(notes, text):
    return any(text in note for note in notes)


def total(rows, column):
    return sum(row[column] or 0 for row in rows)


def ns(us):
    return int(us * 1000)


def union(spans):
    """Time covered, and from the first start to the last end."""
    covered, reached = 0, None
    intervals = sorted((ns(e["ts"]), ns(e["ts"]) + max(ns(e.get("dur", 0)), 0)) for e in spans)
    for start, end in intervals:
        start = start if reached is None else max(start, reached)
        covered += max(end - start, 0)
        reached = end if reached is None else max(reached, end)
    return covered, (reached - intervals[0][0]) if intervals else 0


def idle(spans, argument):
    """Time between the spans of each group with one value of an argument."""
    groups = {}
    for e in spans:
        groups.setdefault(str(e.get("args", {}).get(argument)), []).append(e)
    return sum(span - covered for covered, span in map(union, groups.values()))


def numbers(rows, column):
    """The numbers in their file of the events that a column names."""
    return {row[column] & 0xffffffff for row in rows if row[column] is not None}
