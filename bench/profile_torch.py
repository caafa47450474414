#!/usr/bin/env python3
"""kino.profile beside torch.profiler.profile: bench/profile_torch.py PACKAGE [ROUNDS]. Prints a sample: what an operator takes longer while it is
recorded (plain, with shapes, with shapes and memory, with stacks as well) in both, above the same loop without a profiler, in rounds that take turns;
beside it callbacks that do nothing; and what stop and export of 100,000 operators take. Medians, and the ratio of the best rounds. To be run by a Python that has torch (tools/install-torch)."""
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

sys.path.insert(0, sys.argv[1])
import kino  # noqa: E402
import torch  # noqa: E402
from kino import _bridge  # noqa: E402

LOOPS, OPS = 2000, 100_000
KINDS = {"plain": {}, "shapes": {"record_shapes": True}, "shapes and memory": {"record_shapes": True, "profile_memory": True},
         "shapes, stack and memory": {"record_shapes": True, "with_stack": True, "profile_memory": True}}
CPU = [torch.profiler.ProfilerActivity.CPU]
X = torch.ones(8)
LENT = torch.ones(1)


def loop(count):
    """CPU time of the thread, which a busy machine changes less than the clock on the wall."""
    begin = time.thread_time_ns()
    for _ in range(count):
        torch.add(X, LENT)
    return (time.thread_time_ns() - begin) / count


def recorded(module, options):
    with module.profile(activities=CPU, **options):
        loop(200)
        return loop(LOOPS)


def empty_callback(folder):
    """Switches the callbacks of bench/empty_callback.cpp."""
    made = os.path.join(folder, "empty_callback.so")
    source = str(pathlib.Path(__file__).with_name("empty_callback.cpp"))
    command = [source if word == _bridge._source("kino_torch") else word for word in _bridge._command(torch, "kino_torch", made)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(made).empty_callback


def observed(switch, options):
    switch(1, ("record_shapes" in options) + 2 * ("profile_memory" in options))
    try:
        loop(200)
        return loop(LOOPS)
    finally:
        switch(0, 0)


def added(switch, options, rounds):
    """ns per operator above the bare loop, (PyTorch, Kino, callbacks that do nothing): medians of the rounds, and of the fastest."""
    found = []
    for _ in range(rounds):
        found.append((loop(LOOPS), recorded(torch.profiler, options), recorded(kino, options), observed(switch, options)))
    columns = list(zip(*found))
    return [[take(column) - take(columns[0]) for column in columns[1:]] for take in (statistics.median, min)]


def finish(module, folder):
    """CPU seconds of stop, and of stop and export, of all threads; the operators in the file."""
    profiler = module.profile(activities=CPU)
    profiler.start()
    loop(OPS)
    begin = time.process_time()
    profiler.stop()
    stopped = time.process_time()
    path = os.path.join(folder, "t.json")
    profiler.export_chrome_trace(path)
    end = time.process_time()
    with open(path, "rb") as file:
        count = file.read().count(b'"aten::add"')
    return stopped - begin, end - begin, count


def main():
    warnings.simplefilter("ignore")
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 25
    torch.set_num_threads(1)
    recorded(kino, {}), recorded(torch.profiler, {})
    sample = {"bench": "profile_torch", "torch": torch.__version__}
    with tempfile.TemporaryDirectory() as folder:
        switch = empty_callback(folder)
        for name, options in KINDS.items():
            (theirs, ours, empty), best = added(switch, options, rounds)
            sample[name] = {"torch_ns": round(theirs), "kino_ns": round(ours), "empty_ns": round(empty), "ratio": round(ours / theirs, 3),
                            "best_ratio": round(best[1] / best[0], 3)}
        theirs = min(finish(torch.profiler, folder) for _ in range(3))
        ours = min(finish(kino, folder) for _ in range(3))
    sample["stop"] = {"torch_s": theirs[0], "kino_s": ours[0], "ratio": round(ours[0] / theirs[0], 4)}
    sample["stop and export"] = {"torch_s": theirs[1], "kino_s": ours[1], "ratio": round(ours[1] / theirs[1], 4)}
    sample["ops"] = [theirs[2], ours[2]]
    print(json.dumps(sample))


if __name__ == "__main__":
    main()
