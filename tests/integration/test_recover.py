#!/usr/bin/env python3
"""kill -9 of a program that records on several threads, at random moments: kino recover makes a valid trace, in which
everything is that had ended before, and no value is torn."""
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from support import recorded

RUNS = int(os.environ.get("KINO_KILLS", "20"))
THREADS = 3


def check_thread(events, progress, is_whole_from_start, dropped):
    """The recovered events of one thread, in order. Returns a complaint, or None."""
    numbers = []
    for place, event in enumerate(events):
        args = event.get("args", {})
        is_last = place == len(events) - 1
        if "i" not in args or "check" not in args:
            if not is_last:
                return f"event {place} of {len(events)} has lost its arguments: {event}"
            continue
        if args["check"] != 7 * args["i"] + 1:
            return f"a torn event: {event}"
        if args.get("finished") is False and not is_last:
            return f"event {place} of {len(events)} is open"
        if args["i"] % 16 == 0 and "text" in args and args["text"] != "a text that takes more than one record to be kept":
            return f"a torn text: {event}"
        numbers.append(args["i"])
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))) if numbers else progress > 1:
        return f"there are gaps: {numbers[:3]} ... {numbers[-3:]}"
    if is_whole_from_start and numbers and numbers[0] != 0:
        return f"the first event is {numbers[0]}"
    if not dropped and numbers and numbers[-1] + 1 < progress:
        return f"{progress} events had ended, the last one is {numbers[-1]}"
    starts = [event["ts"] for event in events]
    return None if starts == sorted(starts) else "times go back"


def check_trace(path, progress, is_flight):
    document = json.load(open(path))
    loss = document["kino_loss"]
    if loss.get("ended_without_stop") is not True or "damaged" in loss:
        return f"loss is {loss}"
    names = {e["tid"]: e["args"]["name"] for e in document["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
    threads = {}
    for event in document["traceEvents"]:
        if event["ph"] == "X" and event["name"] == "event":
            threads.setdefault(event["tid"], []).append(event)
    for tid, events in threads.items():
        done = progress[int(names[tid].split("(busy ")[1].rstrip(")"))]
        events.sort(key=lambda e: (e["ts"], -e["dur"]))
        complaint = check_thread(events, done, not is_flight, "buffer_full" in loss)
        if complaint:
            return f"thread {names[tid]}: {complaint}"
    return None


def one_run(test, program, folder, number, rng):
    is_flight = number % 2 == 0
    progress_file, dump = folder / "progress", folder / "dump.json"
    command = [program, "flight" if is_flight else "capture", "4", str(THREADS), progress_file]
    if number % 4 == 3:
        command.append(dump)
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, env={**os.environ, "KINO_DIR": str(folder)}, text=True)
    buffers = process.stdout.readline().strip()
    time.sleep(rng.uniform(0, 0.5 if number % 4 == 3 else 0.06))
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    progress = struct.unpack(f"{THREADS}Q", progress_file.read_bytes()[:8 * THREADS])
    out = folder / "out.json"
    done = subprocess.run([recorded.KINO, "recover", buffers, out], capture_output=True, text=True)
    test.check(done.returncode == 0, f"run {number}: exit code {done.returncode}: {done.stderr}")
    if done.returncode == 0:
        complaint = check_trace(out, progress, is_flight)
        test.check(complaint is None, f"run {number} ({' '.join(map(str, command[1:3]))}): {complaint}")
        test.check("recovered" in done.stderr, f"run {number}: says nothing: {done.stderr}")
    if dump.exists():
        test.check("traceEvents" in json.load(open(dump)), f"run {number}: the dump is not a trace")
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def main():
    test = recorded.Test()
    seed = int(os.environ.get("KINO_SEED", str(random.randrange(1 << 30))))
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=recorded.memory_folder()) as name:
        folder = pathlib.Path(name)
        program = test.compile("busy.c", folder.parent / f"busy-{os.getpid()}")
        try:
            for number in range(RUNS):
                one_run(test, program, folder, number, rng)
        finally:
            program.unlink()
    if test.failed:
        print(f"KINO_SEED={seed}")
    return test.end()


if __name__ == "__main__":
    sys.exit(main())
