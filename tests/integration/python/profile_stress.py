"""Windows of all kinds that begin and end while threads run operators, come and go: what sanitizers are to look at. Runs by itself, prints what
it saw as JSON: python -m python.profile_stress [fork]."""
import contextlib
import itertools
import json
import os
import sys
import tempfile
import threading

import kino
import torch
from kino import _recorder

CPU = [torch.profiler.ProfilerActivity.CPU]
OPTIONS = [{}, {"record_shapes": True}, {"profile_memory": True}, {"record_shapes": True, "profile_memory": True, "with_stack": True},
           {"with_stack": "sample"}, {"all_threads": False, "record_shapes": True}, {"with_modules": True, "memory": "16MB"}]
ROUNDS = 3


class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise ValueError("planted")


def step(net, x):
    net(x).sum().backward()
    with contextlib.suppress(ValueError):
        Failing.apply(x.requires_grad_()).sum().backward()
    with contextlib.suppress(RuntimeError):
        torch.ones(2) @ torch.ones(3)


def work(is_over, steps):
    """Operators, backward functions, exceptions, annotations, until the end; a thread of a moment now and then."""
    net, x = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), torch.ones(2, 4)
    for number in itertools.count():
        if is_over.is_set():
            return
        with kino.record_function("step"):
            step(net, x)
        if number % 16 == 0:
            short = threading.Thread(target=x.detach().exp)
            short.start()
            short.join()
        steps[0] += 1


def window(options, steps):
    """Until the threads have made some steps in it."""
    with kino.profile(activities=CPU, **options) as p:
        p.step()
        before = steps[0]
        while steps[0] < before + 8:
            torch.ones(3).add(1)
    p.export_chrome_trace("t.json")
    with open("t.json", encoding="utf-8") as file:
        return sum(event.get("cat") == "cpu_op" for event in json.load(file)["traceEvents"])


def requested():
    """A trace on request: libkino's thread switches the callbacks."""
    path = os.path.abspath("asked.json")
    _recorder.discard()
    _recorder.request("KINO_START_DELAY_MSECS=0\nKINO_WARMUP_MSECS=0\nACTIVITIES_WARMUP_PERIOD_SECS=0\nACTIVITIES_DURATION_MSECS=200\n"
                      "PROFILE_REPORT_INPUT_SHAPES=true\nPROFILE_PROFILE_MEMORY=true\nPROFILE_WITH_STACK=true\n"
                      f"ACTIVITIES_LOG_FILE={path}")
    _recorder.request_wait()
    return len([name for name in os.listdir(".") if name.startswith("asked")])


def collectives():
    """Functions that end on another thread than they began on."""
    with tempfile.NamedTemporaryFile() as store:
        torch.distributed.init_process_group("gloo", init_method=f"file://{store.name}-s", rank=0, world_size=1)
        with kino.profile(activities=CPU, record_shapes=True) as p:
            for _ in range(50):
                torch.distributed.all_reduce(torch.ones(4), async_op=True).wait()
        torch.distributed.destroy_process_group()
    return sum(event.name.startswith("gloo:") for event in p.events())


def forked():
    with kino.profile(activities=CPU):
        child = os.fork()
        if child == 0:
            with kino.profile(activities=CPU, memory="4MB") as own:
                torch.ones(2).add(1)
            os._exit(0 if any(event.name == "aten::add" for event in own.events()) else 1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main():
    torch.set_num_threads(1)
    is_over, steps = threading.Event(), [0]
    threads = [threading.Thread(target=work, args=(is_over, steps)) for _ in range(3)]
    for thread in threads:
        thread.start()
    kino.join_requests()
    counts = [window(options, steps) for _ in range(ROUNDS) for options in OPTIONS]
    answers = {"smallest_window": min(counts), "requested": requested(), "collectives": collectives()}
    is_over.set()
    for thread in threads:
        thread.join()
    if "fork" in sys.argv[1:]:
        answers["forked"] = forked()
    print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    main()
