#!/usr/bin/env python3
"""kino-mpi without MPI: what its processes send each other, and how long it takes, worked out by one process.

    bench/scale.py measure BUILD RUN N     what N processes need of a run: bytes of each message, seconds of each stage; as JSON
    bench/scale.py constants BUILD RUN     the same for one rank, from a run of 1,000: what bench/scale.json has; as JSON
    bench/scale.py compare BUILD [N...]    the same for runs made on the spot, beside kino-mpi --costs: a row for each N (1 2 4 8 16)
    bench/scale.py predict [HOSTS RANKS]   a cluster from CONSTANTS (10000 8)

The model is the protocol of src/mpi/kino_mpi.c: the first process gathers views and keys and scatters shares and places; then summaries
are merged in a binary tree. docs/architecture/scale.md explains the constants and what they lead to."""
import ctypes
import json
import math
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEAD, VIEW, SHARE, CHUNK = 8, 256, 12, 256 << 20  # bytes: of a message's size, of what a process sees, of its share; of one piece
SMALL_BODY = 4 << 20  # summaries below it are compressed with level 19 (src/engine/summary_bytes.c)
POLL_EVERY = 5  # seconds: libkineto and libkino
NETWORK = 1e9 / 8  # bytes per second: an assumption, one gigabit; there was one machine to measure on
# Measured (docs/architecture/scale.md): bytes and seconds of one rank, of a message, of a poll, of a call to a daemon.
CONSTANTS = json.loads((ROOT / "bench/scale.json").read_text())
COSTS = re.compile(r"process (\d+): (\d+) messages, (\d+) bytes sent, ([\d.]+) s until its share was summarized, ([\d.]+) s in all")


# ---- the library, as far as kino-mpi uses it ----------------------------------------------------------------------

class Text(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    def bytes(self):
        return ctypes.string_at(self.data, self.size) if self.size else b""


class LoadOptions(ctypes.Structure):
    """kino_load_options (kino/engine.h)"""
    _fields_ = [("size", ctypes.c_uint32), ("jobs", ctypes.c_uint), ("progress", ctypes.c_void_p), ("progress_context", ctypes.c_void_p),
                ("simd", ctypes.c_char_p), ("run", ctypes.c_char_p), ("span", ctypes.c_char_p), ("ranks", ctypes.c_void_p),
                ("rank_count", ctypes.c_size_t), ("memory", ctypes.c_uint64), ("about", ctypes.c_char_p), ("inside", ctypes.c_char_p),
                ("expansion", ctypes.c_uint64), ("label", ctypes.c_char_p), ("part", ctypes.c_uint), ("parts", ctypes.c_uint),
                ("takes_summaries", ctypes.c_bool), ("require_all", ctypes.c_bool)]


class SummarizeOptions(ctypes.Structure):
    """kino_summarize_options (kino/summary.h)"""
    _fields_ = [("size", ctypes.c_uint32), ("jobs", ctypes.c_uint), ("progress", ctypes.c_void_p), ("progress_context", ctypes.c_void_p),
                ("usual", ctypes.c_bool), ("report", ctypes.c_bool), ("all", ctypes.c_bool), ("how", ctypes.c_void_p),
                ("questions", ctypes.c_void_p), ("question_count", ctypes.c_size_t)]


WRITE = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Library:
    def __init__(self, build):
        self.engine = ctypes.CDLL(str(pathlib.Path(build) / "libkino_engine.so"))
        for name in ("kino_run_free", "kino_summary_free"):
            getattr(self.engine, name).argtypes, getattr(self.engine, name).restype = [ctypes.c_void_p], None
        self.engine.kino_summary_settle.argtypes = [ctypes.c_void_p, Text, ctypes.c_void_p]
        self.error = ctypes.create_string_buffer(1 << 16)  # kino_error is smaller
        self.free = ctypes.CDLL(None).free
        self.free.argtypes = [ctypes.c_void_p]

    def call(self, name, *arguments):
        code = getattr(self.engine, name)(*arguments, self.error)
        if code:
            raise RuntimeError(f"{name}: {self.error.raw[16:256].split(bytes(1))[0].decode()} (status {code})")

    def text_of(self, name, summary):
        parts = []
        take = WRITE(lambda _, data, size: parts.append(ctypes.string_at(data, size)) is None)
        self.call(name, summary, take, None)
        return b"".join(parts)

    def summarize(self, run, part, parts):
        """The summary for a report of one share, with one thread, as kino-mpi report --jobs 1 has it."""
        paths = (ctypes.c_char_p * 1)(os.fsencode(run))
        load = LoadOptions(size=ctypes.sizeof(LoadOptions), jobs=1, span=b"newest", part=part, parts=parts, takes_summaries=True)
        asks = SummarizeOptions(size=ctypes.sizeof(SummarizeOptions), jobs=1, report=True)
        opened, summary = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("kino_run_open", paths, ctypes.c_size_t(1), ctypes.byref(load), ctypes.byref(opened))
        try:
            self.call("kino_run_summarize", opened, ctypes.byref(asks), ctypes.byref(summary))
        finally:
            self.engine.kino_run_free(opened)
        return summary

    def places(self, keys):
        views = (Text * len(keys))(*(Text(ctypes.cast(ctypes.c_char_p(key), ctypes.c_void_p), len(key)) for key in keys))
        places = (Text * len(keys))()
        self.call("kino_summaries_place", views, ctypes.c_size_t(len(keys)), places)
        return places

    def load(self, text):
        out = ctypes.c_void_p()
        self.call("kino_summary_load", text, ctypes.c_size_t(len(text)), ctypes.byref(out))
        return out


# ---- the constants ------------------------------------------------------------------------------------------------

def tree(processes):
    """(level, from, to) in the order of kino_mpi.c's merge_tree."""
    step = 1
    while step < processes:
        yield from ((step, number, number - step) for number in range(step, processes, 2 * step))
        step *= 2


def timed(seconds, what, function, *arguments):
    begin = time.perf_counter()
    out = function(*arguments)
    seconds.setdefault(what, []).append(time.perf_counter() - begin)
    return out


def measure(build, run, processes):
    """Does what the processes do, one after the other: bytes of each payload, and seconds of each call."""
    library, seconds = Library(build), {}
    summaries = [timed(seconds, "map", library.summarize, run, i, processes) for i in range(processes)]
    keys = [library.text_of("kino_summary_keys", summary) for summary in summaries]
    places = timed(seconds, "place", library.places, keys)
    sent, bodies = [0] * processes, [0] * processes
    for summary, place in zip(summaries, places):
        timed(seconds, "settle", library.call, "kino_summary_settle", summary, place)
    for _, giver, taker in tree(processes):
        text = timed(seconds, "save", library.text_of, "kino_summary_save", summaries[giver])
        sent[giver], bodies[giver] = len(text), int.from_bytes(text[16:24], "little")
        more = timed(seconds, "load", library.load, text)
        timed(seconds, "add", library.call, "kino_summary_add", summaries[taker], more)
    out = {"processes": processes, "keys": [len(key) for key in keys], "places": [place.size for place in places], "summaries": sent, "bodies": bodies,
           "merged": len(library.text_of("kino_summary_save", summaries[0])), "seconds": seconds}
    for place in places:
        library.free(place.data)
    for summary in summaries:
        library.engine.kino_summary_free(summary)
    return out


def message_seconds():
    """Of a message of 8 bytes between two processes of this machine: half of a round trip through a socket, the median."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        while word := theirs.recv(HEAD):
            theirs.send(word)
            if word == b"the end.":
                break
        os._exit(0)
    times = []
    ours.settimeout(60)
    for word in [bytes(HEAD)] * 2000 + [b"the end."]:
        begin = time.perf_counter()
        ours.send(word)
        ours.recv(HEAD)
        times.append((time.perf_counter() - begin) / 2)
    os.waitpid(child, 0)
    return statistics.median(times)


def constants(build, run):
    """Eight ranks for each process, as on a host: the first level of the tree has small summaries, the last one large ones."""
    ranks = len(list(pathlib.Path(run).glob("rank-*.json")))
    count = ranks // 8
    found = measure(build, run, count)
    spent, givers = found["seconds"], [giver for _, giver, _ in tree(count)]
    first, last = givers[0], givers[-1]
    held = (count - last) * ranks / count  # ranks that the last giver has
    with tempfile.TemporaryDirectory() as top:
        subprocess.run([pathlib.Path(build) / "kino", "summarize", pathlib.Path(run) / "rank-0.json", "-o", f"{top}/summary", "--quiet"], check=True,
                       timeout=60)
        default = os.path.getsize(f"{top}/summary")
    return {"default_summary_bytes": default, "summary_bytes": found["merged"] / ranks, "body_bytes": found["bodies"][last] / held,
            "key_bytes": sum(found["keys"]) / ranks, "place_bytes": sum(found["places"]) / ranks, "map_s": sum(spent["map"]) / ranks,
            "place_s": spent["place"][0] / ranks, "save_small_s": spent["save"][givers.index(first)] / (ranks / count),
            "save_s": spent["save"][-1] / held, "load_s": spent["load"][-1] / held, "add_s": spent["add"][-1] / held,
            "message_s": message_seconds()}


# ---- the model ----------------------------------------------------------------------------------------------------

def pieces(size):
    return math.ceil(size / CHUNK)


def traffic(sizes):
    """(messages, bytes) that each process sends."""
    count = sizes["processes"]
    payloads = [[VIEW, sizes["keys"][i], sizes["summaries"][i]] for i in range(count)]
    payloads[0] = [SHARE] * (count - 1) + sizes["places"][1:]
    return [(sum(1 + pieces(size) for size in own), sum(HEAD + size for size in own)) for own in payloads]


def duration(sizes, cores):
    """Seconds until all shares are summarized, and seconds in all, on so many cores of one machine."""
    spent, count = sizes["seconds"], sizes["processes"]
    mapped = max(sum(spent["map"]) / min(count, cores), max(spent["map"]))
    merged = sum(spent["place"]) + sum(spent["settle"]) / min(count, cores)
    steps = [sum(spent[what][i] for what in ("save", "load", "add")) for i in range(count - 1)]
    levels = {}
    for (step, _, _), took in zip(tree(count), steps):
        levels.setdefault(step, []).append(took)
    merged += sum(max(sum(level) / min(len(level), cores), max(level)) for level in levels.values())
    return mapped, mapped + merged + sum(messages for messages, _ in traffic(sizes)) * CONSTANTS["message_s"]


def predict(hosts, ranks, known=None):
    """A process on each host, and its ranks: bytes and seconds, from constants of one rank. The way of the first process is the longest."""
    c, total = known or CONSTANTS, hosts * ranks
    levels = math.ceil(math.log2(hosts))
    taken = [min(hosts - (1 << level), 1 << level) * ranks for level in range(levels)]  # ranks in what the first one takes in
    gathered = (hosts - 1) * (4 * HEAD + VIEW + SHARE + (c["key_bytes"] + c["place_bytes"]) * ranks)
    save = [count * c["save_small_s" if count * c["body_bytes"] < SMALL_BODY else "save_s"] for count in taken]
    return {"ranks": total, "summary_files_bytes": total * c["default_summary_bytes"], "tree_levels": levels, "messages": 10 * (hosts - 1),
            "gathered_bytes": gathered, "first_takes_bytes": sum(taken) * c["summary_bytes"], "largest_message_bytes": max(taken, default=0) * c["summary_bytes"],
            "map_s": ranks * c["map_s"],
            "gather_s": 8 * (hosts - 1) * c["message_s"] + gathered / NETWORK + total * c["place_s"],
            "tree_s": sum(save) + sum(taken) * (c["load_s"] + c["add_s"] + c["summary_bytes"] / NETWORK),
            "tree_of_the_last_level_s": taken[-1] * (c["save_s"] + c["load_s"] + c["add_s"] + c["summary_bytes"] / NETWORK) if taken else 0,
            "polls_s": total / POLL_EVERY, "polls_host_s": ranks / POLL_EVERY, "daemon_host_percent": ranks / POLL_EVERY * c["poll_cpu_s"] * 100,
            "calls_from_one_machine_s": hosts * c["call_s"]}


# ---- beside real runs ---------------------------------------------------------------------------------------------

LOOP = "import time; b = time.perf_counter(); sum(i * i for i in range(3_000_000)); print(time.perf_counter() - b)"


def loops(count):
    """Seconds that the slowest of so many equal programs takes beside the others."""
    running = [subprocess.Popen([sys.executable, "-S", "-c", LOOP], stdout=subprocess.PIPE) for _ in range(count)]
    return max(float(one.communicate(timeout=120)[0]) for one in running)


def free_cores():
    """How many processors' worth of work is done here at a time: fewer than there are, where other programs run."""
    cores = len(os.sched_getaffinity(0))
    return max(1, cores * min(loops(1) / loops(cores) for _ in range(3)))


def costs_of(text):
    """{process: (messages, bytes, seconds until summarized, seconds in all)} from kino-mpi --costs."""
    return {int(m[1]): (int(m[2]), int(m[3]), float(m[4]), float(m[5])) for m in COSTS.finditer(text)}


def compare(build, counts):
    sys.path.insert(0, str(ROOT / "tests/integration"))
    os.environ.setdefault("KINO", str(pathlib.Path(build) / "kino"))
    from support import cluster
    reason = cluster.why_not()
    if reason:
        sys.exit(f"no real runs: {reason}")
    cores, problems = free_cores(), 0
    print(f"{cores:.2f} processors are free")
    print("processes  messages     bytes  sent  map: model    real  ratio  all: model    real  ratio")
    with tempfile.TemporaryDirectory() as top:
        run = pathlib.Path(top) / "run"
        subprocess.run([os.environ["KINO"], "demo", run, "--ranks", "64", "--size", "1MB", "--no-info", "--quiet", "--no-progress"], check=True, timeout=300)
        for count in counts:
            sizes, real = measure(build, run, count), []
            for _ in range(3):
                code, _, err = cluster.run(count, "report", run, "--jobs", "1", "--costs", "--quiet", seconds=300)
                real.append(costs_of(err.decode()))
                if code or len(real[-1]) != count:
                    sys.exit(f"kino-mpi with {count} processes: exit {code}: {err.decode()[-300:]}")
            model = traffic(sizes)
            is_same = all(model[i] == one[i][:2] for one in real for i in range(count))
            problems += not is_same
            times = [min(max(process[k] for process in one.values()) for one in real) for k in (2, 3)]
            print(f"{count:9} {sum(m for m, _ in model):9} {sum(b for _, b in model):9}  {'same' if is_same else 'NOT '}", end="")
            for model_s, real_s in zip(duration(sizes, cores), times):
                print(f"  {model_s:10.3f} {real_s:7.3f}  {real_s / model_s:5.2f}", end="")
            print(flush=True)
    return 1 if problems else 0


def main():
    words = sys.argv[1:]
    if words[:1] == ["measure"] and len(words) == 4:
        print(json.dumps(measure(words[1], words[2], int(words[3]))))
        return 0
    if words[:1] == ["constants"] and len(words) == 3:
        print(json.dumps(constants(words[1], words[2]), indent=1))
        return 0
    if words[:1] == ["compare"] and len(words) > 1:
        return compare(pathlib.Path(words[1]).resolve(), [int(word) for word in words[2:]] or [1, 2, 4, 8, 16])
    if words[:1] == ["predict"] and len(words) in (1, 3):
        print(json.dumps(predict(*map(int, words[1:] or (10000, 8))), indent=1))
        return 0
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
