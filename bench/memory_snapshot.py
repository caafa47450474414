#!/usr/bin/env python3
"""Memory snapshots: bench/memory_snapshot.py make FILE BYTES writes one as PyTorch does (protocol 4; every entry has a list of references to
shared frames), and bench/memory_snapshot.py load FILE reads it with Python's pickle and prints a sample as the other benchmarks do.

The generator writes opcodes itself: pickling millions of dictionaries needs many times the memory of the file."""
import json
import pickle
import random
import resource
import struct
import sys
import time

FRAMES, STACKS, DEPTHS, BLOCKS, BATCH = 600, 3000, (10, 40), 4000, 1000
KEYS = ("action", "addr", "size", "stream", "time_us", "compile_context", "user_metadata", "frames", "alloc", "free_requested",
        "free_completed", "N/A", "")
FIRST_US = 1_773_270_053_858_957


def text(value):
    data = value.encode()
    return b"\x8c" + bytes([len(data)]) + data


def get(number):
    return b"h" + bytes([number]) if number < 256 else b"j" + struct.pack("<I", number)


class Snapshot:
    def __init__(self, file, seed=1):
        self.file, self.random, self.memo, self.written = file, random.Random(seed), 0, 0

    def write(self, data):
        self.file.write(data)
        self.written += len(data)

    def remember(self, data):
        self.write(data + b"\x94")
        self.memo += 1
        return self.memo - 1

    def head(self):
        """One segment, whose frames are all there are; keys and texts get their numbers."""
        self.write(b"\x80\x04")
        self.remember(b"}")
        self.write(b"(")
        self.remember(text("segments"))
        self.remember(b"]")
        self.remember(b"}")
        self.write(b"(")
        for key, value in (("device", 0), ("address", 1 << 40), ("total_size", 1 << 35), ("allocated_size", 0), ("active_size", 0), ("stream", 0)):
            self.remember(text(key))
            self.write(b"\x8a\x08" + struct.pack("<q", value))
        self.remember(text("segment_type"))
        self.remember(text("large"))
        self.remember(text("blocks"))
        self.remember(b"]")
        self.keys = {key: get(self.remember(text(key)) if key != "frames" else self.memo) for key in KEYS if key != "frames"}
        self.write(b"0" * (len(KEYS) - 1))
        self.keys["frames"] = get(self.remember(text("frames")))
        self.remember(b"]")
        self.write(b"(")
        names = [self.remember(text(key)) for key in ("filename", "line", "name")]
        self.write(b"000")
        frames = []
        for i in range(FRAMES):
            frames.append(self.remember(b"}"))
            self.write(b"(" + get(names[0]))
            self.remember(text(f"/work/model/layer_{i % 40}.py"))
            self.write(get(names[1]) + b"M" + struct.pack("<H", 10 + i) + get(names[2]))
            self.remember(text(f"function_{i}"))
            self.write(b"u")
        self.write(b"e" + b"ua")
        self.stacks = [b"".join(get(frames[self.random.randrange(FRAMES)]) for _ in range(self.random.randint(*DEPTHS))) for _ in range(STACKS)]

    def entry(self, action, block, size, us, stack):
        k = self.keys
        self.memo += 2
        return (b"}\x94(" + k["action"] + k[action] + k["addr"] + b"\x8a\x06" + struct.pack("<Q", (1 << 40) + block * (1 << 21))[:6]
                + k["size"] + b"J" + struct.pack("<i", size) + k["stream"] + b"K\0" + k["time_us"] + b"\x8a\x07" + struct.pack("<Q", us)[:7]
                + k["compile_context"] + k["N/A"] + k["user_metadata"] + k[""] + k["frames"] + b"]\x94(" + self.stacks[stack] + b"eu")

    def history(self, size):
        """Blocks come and go: every allocation is followed by both entries of the block it replaces."""
        sizes, us, entries = {}, FIRST_US, 0
        while self.written < size:
            batch = []
            while len(batch) < BATCH:
                block, stack = self.random.randrange(BLOCKS), self.random.randrange(STACKS)
                if block in sizes:
                    old = sizes.pop(block)
                    batch += [self.entry("free_requested", block, old, us, stack), self.entry("free_completed", block, old, us + 1, stack)]
                sizes[block] = 512 * self.random.randint(1, 4096)
                batch.append(self.entry("alloc", block, sizes[block], us + 2, stack))
                us += 5
            entries += len(batch)
            self.write(b"(" + b"".join(batch) + b"e")
        return entries


def make(path, size):
    with open(path, "wb") as file:
        snapshot = Snapshot(file)
        snapshot.head()
        snapshot.remember(text("device_traces"))
        snapshot.remember(b"]")
        snapshot.remember(b"]")
        entries = snapshot.history(size)
        snapshot.write(b"au.")
    print(json.dumps({"bytes": snapshot.written, "entries": entries}))


def load(path):
    with open(path, "rb") as file:  # warm, as for everybody else
        size = sum(len(chunk) for chunk in iter(lambda: file.read(1 << 20), b""))
    wall, cpu = time.perf_counter(), time.process_time()
    with open(path, "rb") as file:
        snapshot = pickle.load(file)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"bench": "memory_snapshot", "with": "Python " + sys.version.split()[0], "jobs": 1, "bytes": size, "wall_s": [wall],
                      "cpu_s": [cpu], "peak_bytes": peak, "checks": {"events": sum(map(len, snapshot["device_traces"]))}}))


if __name__ == "__main__":
    make(sys.argv[2], int(sys.argv[3])) if sys.argv[1] == "make" else load(sys.argv[2])
