#!/usr/bin/env python3
"""A tiny data-parallel training run on CPUs (gloo) with planted faults; test_torch_ddp.py runs it.

    torchrun --nproc-per-node 2 ddp_train.py [--profile FOLDER] [--wait FOLDER] [--steps N] FAULT...

It trains once for each fault. Every step of every rank takes --work seconds, so that what a busy machine adds is small beside
it. `none`; `sleep`: rank 1 sleeps before its forward pass; `loader`: on rank 1 every batch takes
long to come. With --profile the steps are recorded with torch.profiler, into FOLDER/FAULT/. With --wait it then trains on
until there is a file FOLDER/FAULT.done (and says so by FAULT.ready): time for a trace on demand."""
import argparse
import os
import pathlib
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, Dataset

FAULTY_RANK = 1
BATCH = 4
MOST_SECONDS = 240  # an abandoned run ends


class Samples(Dataset):
    def __init__(self, delay):
        self.delay = delay

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        time.sleep(self.delay)
        return torch.randn(64), index % 10


class Training:
    def __init__(self, fault, work, delay):
        is_faulty = dist.get_rank() == FAULTY_RANK
        self.model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.loss = nn.CrossEntropyLoss()
        self.sleep = work + (delay if fault == "sleep" and is_faulty else 0)
        self.batches = iter(DataLoader(Samples(delay / BATCH if fault == "loader" and is_faulty else 0), batch_size=BATCH))

    def step(self):
        inputs, labels = next(self.batches)
        time.sleep(self.sleep)
        self.optimizer.zero_grad()
        self.loss(self.model(inputs), labels).backward()
        self.optimizer.step()


def train_profiled(training, steps, folder):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{os.uname().nodename}_{os.getpid()}.pt.trace.json"
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=steps, repeat=1),
                 on_trace_ready=lambda recorder: recorder.export_chrome_trace(str(path))) as recorder:
        for _ in range(steps + 2):
            training.step()
            recorder.step()


def train_until(training, key, ready, done):
    """Rank 0 looks for the file and tells the others by the store in which step to end: no rank is more than one step ahead."""
    store = dist.distributed_c10d._get_default_store()
    started, step, last = time.monotonic(), 0, None
    while last is None or step < last:
        training.step()
        step += 1
        if step == 2 and dist.get_rank() == 0:
            ready.touch()
        if last is None and dist.get_rank() == 0 and (done.exists() or time.monotonic() - started > MOST_SECONDS):
            store.set(key, str(step + 3))
        if last is None and store.check([key]):
            last = int(store.get(key))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("faults", nargs="+", choices=["none", "sleep", "loader"])
    parser.add_argument("--work", type=float, default=0.2)
    parser.add_argument("--delay", type=float, default=0.3)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--profile", type=pathlib.Path)
    parser.add_argument("--wait", type=pathlib.Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for fault in given.faults:
        training = Training(fault, given.work, given.delay)
        if given.profile:
            train_profiled(training, given.steps, given.profile / fault)
        if given.wait:
            train_until(training, f"last step of {fault}", given.wait / f"{fault}.ready", given.wait / f"{fault}.done")
        if not given.profile and not given.wait:
            for _ in range(given.steps):
                training.step()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
