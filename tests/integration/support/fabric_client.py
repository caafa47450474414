#!/usr/bin/env python3
"""A process that speaks to a daemon exactly as libkineto does, without PyTorch: its datagrams, its file names.

    KINETO_IPC_SOCKET_DIR=DIR fabric_client.py [--seconds N] [--every N]

Polls (mask 2 when idle, 0 while it records), obeys the text that it gets, and writes a small trace of "steps" that really
took place, first under another name. Made from the description of the protocol alone."""
import argparse
import json
import os
import socket
import struct
import time
import uuid

HEADER = struct.Struct("<Q32s")
REPLY_SECONDS = 0.09  # libkineto waits no longer


def ancestors():
    """This process, its parent, and so on: at most 11, without process 1."""
    pids, pid = [], os.getpid()
    while pid > 1 and len(pids) < 11:
        pids.append(pid)
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            pid = int(file.read().rsplit(")", 1)[1].split()[1])
    return pids or [os.getpid()]


class Fabric:
    def __init__(self):
        folder = os.environ.get("KINETO_IPC_SOCKET_DIR")
        name = "dynoconfigclient" + str(uuid.uuid4())
        self.daemon = f"{folder}/dynolog" if folder else "\0dynolog\0"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(f"{folder}/{name}" if folder else f"\0{name}\0")
        self.socket.settimeout(REPLY_SECONDS)
        self.pids = ancestors()

    def poll(self, mask):
        job = int(os.environ.get("SLURM_JOB_ID") or 0)
        body = struct.pack(f"<iiq{len(self.pids)}i", mask, len(self.pids), job, *self.pids)
        try:
            self.socket.sendto(HEADER.pack(len(body), b"req") + body, self.daemon)
            reply = self.socket.recv(1 << 17)
        except OSError:
            return ""
        size, _ = HEADER.unpack_from(reply)
        return reply[HEADER.size:HEADER.size + size].decode()


def path_of(path):
    """libkineto's rule: the pid before the first .pt.trace.json, else before the first .json."""
    for mark in (".pt.trace.json", ".json"):
        if mark in path:
            return path.replace(mark, f"_{os.getpid()}{mark}", 1)
    return path


def write(path, settings, spans):
    base = int(spans[0][0] * 1e9) if spans else 0
    pid = os.getpid()
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::step", "pid": pid, "tid": pid, "args": {"External id": i + 1},
               "ts": round(begin * 1e6 - base / 1e3, 3), "dur": round((end - begin) * 1e6, 3)}
              for i, (begin, end) in enumerate(spans)]
    document = {"schemaVersion": 1, "trace_id": settings.get("REQUEST_TRACE_ID", ""), "displayTimeUnit": "ms",
                "baseTimeNanoseconds": base, "traceEvents": events, "traceName": path}
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        json.dump(document, file)
    os.rename(path + ".tmp", path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--every", type=float, default=1)
    given = parser.parse_args()
    fabric, end = Fabric(), time.monotonic() + given.seconds
    print(f"training in process {os.getpid()}", flush=True)
    next_poll, settings, spans, begin = 0, None, [], 0
    while time.monotonic() < end:
        if time.monotonic() >= next_poll:
            next_poll = time.monotonic() + given.every
            text = fabric.poll(0 if settings else 2)
            if text and not settings:
                settings = dict(line.strip().split("=", 1) for line in text.splitlines() if "=" in line)
                begin, spans = time.monotonic() + int(settings.get("ACTIVITIES_WARMUP_PERIOD_SECS", 5)), []
        step = time.time()
        time.sleep(0.02)
        if settings and time.monotonic() >= begin:
            spans.append((step, time.time()))
            steps = int(settings.get("ACTIVITIES_ITERATIONS", 0))
            seconds = int(settings.get("ACTIVITIES_DURATION_MSECS", 500)) / 1000
            if len(spans) >= steps if steps else time.monotonic() >= begin + seconds:
                write(path_of(settings["ACTIVITIES_LOG_FILE"]), settings, spans)
                settings = None


if __name__ == "__main__":
    main()
