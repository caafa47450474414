#!/usr/bin/env python3
"""A small data-parallel training run (gloo, two ranks) with a planted straggler; test_four_ways.py records it in four ways.

    four_ways_train.py launch plain            two ranks train; nothing is recorded by them
    four_ways_train.py launch windows FOLDER   each records three windows: torch.profiler, kino.profile, and one on request

Rank 1 sleeps three times as long as rank 0 in each step: steps are long beside what a busy machine adds."""
import os
import pathlib
import socket
import subprocess
import sys
import time

RANKS, STEPS, WORK, SLOW_RANK = 2, 6, 0.06, 1


def launch(*words):
    """Without torch in this process: a launcher of a few lines. All ranks end with the first that fails."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {**os.environ, "WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    ranks = [subprocess.Popen([sys.executable, __file__, *words], env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)})
             for rank in range(RANKS)]
    codes = [rank.wait() for rank in ranks]
    sys.exit(max(abs(code) for code in codes))


class Training:
    def __init__(self):
        import torch
        import torch.distributed as dist
        from torch import nn
        from torch.nn.parallel import DistributedDataParallel
        torch.set_num_threads(1)
        dist.init_process_group("gloo")
        self.rank, self.dist, self.torch = dist.get_rank(), dist, torch
        self.model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def step(self):
        time.sleep(WORK * (3 if self.rank == SLOW_RANK else 1))
        self.optimizer.zero_grad()
        self.model(self.torch.randn(16, 64)).sum().backward()
        self.optimizer.step()

    def steps(self, count=STEPS):
        for _ in range(count):
            self.step()

    def end(self):
        self.dist.barrier()
        sys.stdout.flush()
        os._exit(0)  # PyTorch's threads sometimes abort the process when it ends in order


def record_windows(training, folder):
    import kino
    from kino import _recorder
    import torch.profiler
    for name, module in (("torch", torch.profiler), ("kino", kino)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        training.dist.barrier()
        with module.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as recorder:
            training.steps()
        recorder.export_chrome_trace(str(folder / name / f"rank{training.rank}.json"))
    (folder / "request").mkdir(exist_ok=True)
    kino.join_requests()
    del recorder  # what was recorded is not wanted any more: requests are served again
    _recorder.discard()
    training.dist.barrier()
    _recorder.request(f"ACTIVITIES_LOG_FILE={folder}/request/rank{training.rank}.json\nKINO_WARMUP_MSECS=0\nKINO_START_DELAY_MSECS=100\n"
                      f"ACTIVITIES_DURATION_MSECS={int(STEPS * WORK * 3000)}\n")
    training.steps(STEPS + 4)
    _recorder.request_wait()


def main():
    if sys.argv[1] == "launch":
        launch(*sys.argv[2:])
    training = Training()
    training.steps(2)  # the first steps make buckets
    if sys.argv[1] == "windows":
        record_windows(training, pathlib.Path(sys.argv[2]))
    else:
        training.steps()
    training.end()


if __name__ == "__main__":
    main()
