"""Perfetto's protobuf traces as PyTorch 2.14 writes them, made of a trace in Kineto's JSON."""
import gzip
import json

from .protobuf import data, real, uint

STAGES = {"kernel": 1, "gpu_memcpy": 2, "gpu_memset": 3, "gpu_user_annotation": 4}
GROUPS = [{"cpu_op", "user_annotation", "python_function"}, {"cuda_runtime"}, {"cuda_driver"}, {"overhead"}, {"cuda_sync"}]


def packet(*parts):
    return data(1, b"".join(parts))


def annotation(value, name=None):
    head = data(10, name) if name is not None else b""
    if isinstance(value, bool):
        return head + uint(2, value)
    if isinstance(value, int):
        return head + uint(4, value)
    if isinstance(value, float):
        return head + real(5, value)
    if isinstance(value, list):
        return head + b"".join(data(12, annotation(item)) for item in value)
    if isinstance(value, dict):
        return head + b"".join(data(11, annotation(item, key)) for key, item in value.items())
    return head + data(6, "null" if value is None else value)


def ns(us):
    return round(float(us) * 1000)


class TorchTrace:
    """One process: the JSON's X events of the host, and of its devices."""

    def __init__(self, trace):
        self.base = int(trace.get("baseTimeNanoseconds", 0))
        self.spans = [e for e in trace["traceEvents"] if e.get("ph") == "X" and isinstance(e.get("pid"), int)]
        self.names = {(e["pid"], e.get("tid"), e["name"]): e["args"].get("name") for e in trace["traceEvents"]
                      if e.get("ph") == "M" and e["name"] in ("process_name", "thread_name")}
        self.out, self.iids, self.uuids = [], {"name": {}, "cat": {}, "kernel": {}, "lane": {}}, {}

    def iid(self, table, text):
        return self.iids[table].setdefault(text, len(self.iids[table]) + 1)

    def time(self, event):
        return self.base + ns(event["ts"])

    def describe(self):
        for event in self.spans:
            if event["cat"] in STAGES or (event["pid"], event["tid"]) in self.uuids:
                continue
            pid, tid = event["pid"], event["tid"]
            if pid not in self.uuids:
                self.uuids[pid] = len(self.uuids) + 1
                name = self.names.get((pid, None, "process_name")) or self.names.get((pid, 0, "process_name")) or "python"
                self.out.append(packet(data(60, uint(1, self.uuids[pid]) + data(3, uint(1, pid if pid >= 0 else 2147483647) + data(6, name)))))
            self.uuids[pid, tid] = len(self.uuids) + 1
            name = self.names.get((pid, tid, "thread_name")) or f"thread {tid}"
            self.out.append(packet(data(60, uint(1, self.uuids[pid, tid]) + uint(5, self.uuids[pid])
                                        + data(4, uint(1, pid) + uint(2, tid) + data(5, name)))))

    def halves(self, kind, launched):
        begins, ends = [], []
        for event in self.spans:
            if event["cat"] not in kind:
                continue
            args = b"".join(data(4, annotation(value, key)) for key, value in event.get("args", {}).items())
            correlation = event.get("args", {}).get("correlation")
            links = b"".join(uint(1, number) for number in launched.get(correlation, [])) if event["cat"] in ("cuda_runtime", "cuda_driver") else b""
            category = b"" if event["cat"] in ("overhead", "cuda_sync") else uint(3, self.iid("cat", event["cat"]))
            track = uint(11, self.uuids[event["pid"], event["tid"]])
            begins.append(packet(uint(8, self.time(event)), uint(10, 1), data(11, category + args + uint(9, 1) + uint(10, self.iid("name", event["name"]))
                                                                              + track + (data(3000, links) if links else b"")), uint(13, 2)))
            ends.append(packet(uint(8, self.time(event) + ns(event["dur"])), uint(10, 1), data(11, uint(9, 2) + track)))
        return begins + ends

    def stage(self, event, number):
        args = event.get("args", {})
        extra = {"device id": event["pid"], "context id": args.get("context", 0), "stream id": args.get("stream", event["tid"]),
                 "correlation": args.get("correlation", 0), "bytes": args.get("bytes", 0)}
        body = uint(1, number) + uint(2, ns(event["dur"])) + uint(11, event["pid"]) + uint(5, 1)
        body += uint(13, 100 + self.iid("lane", f"[{event['tid']}] stream {event['tid']}")) + uint(14, STAGES[event["cat"]])
        for key, value in extra.items():
            if value or key.endswith(" id"):
                body += data(6, data(1, key) + data(2, str(value)))
        if event["cat"] == "kernel":
            sizes = [b"".join(uint(i + 1, n) for i, n in enumerate(args.get(key, [1, 1, 1]))) for key in ("grid", "block")]
            launch = data(1, sizes[0]) + data(2, sizes[1])
            for iid, key in ((1, "registers per thread"), (2, "shared memory")):
                launch += data(3, uint(1, iid) + uint(4, args[key])) if args.get(key) else b""
            body += uint(19, self.iid("kernel", event["name"])) + data(21, launch)
        else:
            body += uint(20, self.iid("name", event["name"]))
        return packet(uint(8, self.time(event)), uint(10, 1), uint(13, 2), data(53, body))

    def interned(self):
        entries = b"".join(data(number, uint(1, iid) + data(2, text)) for table, number in (("cat", 1), ("name", 2), ("kernel", 1000))
                           for text, iid in self.iids[table].items())
        stages = ["Kernel", "Memcpy", "Memset", "Annotation"]
        entries += b"".join(data(24, uint(1, i + 1) + data(2, text) + (uint(4, 2) if i == 0 else b"")) for i, text in enumerate(stages))
        entries += b"".join(data(24, uint(1, 100 + iid) + data(2, text)) for text, iid in self.iids["lane"].items())
        entries += data(23, uint(1, 1) + uint(2, 1)) + data(1001, uint(1, 1) + data(2, "registers_per_thread")) + data(1001, uint(1, 2) + data(2, "shared_mem_dynamic"))
        return packet(uint(10, 1), uint(13, 1), data(12, entries))

    def bytes(self):
        clocks = data(1, uint(1, 6) + uint(2, self.base)) + data(1, uint(1, 1) + uint(2, self.base))
        head = [packet(uint(8, self.base), uint(10, 1), data(6, clocks))]
        work = [event for event in self.spans if event["cat"] in STAGES]
        launched = {}
        for number, event in enumerate(work, 1):
            launched.setdefault(event.get("args", {}).get("correlation"), []).append(number)
        self.describe()
        halves = [part for kind in GROUPS for part in self.halves(kind, launched)]
        stages = [self.stage(event, number) for number, event in enumerate(work, 1)]
        return b"".join([*head, *self.out, self.interned(), *halves, *stages])


def write_like_torch(source, target, compress=True):
    """What export_chrome_trace of PyTorch 2.14 makes of the events of a JSON file: gzip, whatever the name."""
    with (gzip.open(source) if str(source).endswith(".gz") else open(source, "rb")) as file:
        made = TorchTrace(json.load(file)).bytes()
    target.write_bytes(gzip.compress(made, 1) if compress else made)
