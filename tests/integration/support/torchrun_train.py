#!/usr/bin/env python3
"""A tiny data-parallel training run (gloo) whose operators are marked by ITT; test_record_torchrun.py records it.

    torchrun --nproc-per-node 2 torchrun_train.py STEPS SECONDS

Rank 1 sleeps SECONDS in each step. A child of rank 0 marks a range of its own: a process that is no rank."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SLOW_RANK = 1


def help_out():
    """In a process of its own."""
    child = os.fork()
    if child == 0:
        torch.profiler.itt.range_push("helping")
        time.sleep(0.3)
        torch.profiler.itt.range_pop()
        os._exit(0)
    os.waitpid(child, 0)


def main():
    steps, seconds = int(sys.argv[1]), float(sys.argv[2])
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        help_out()
    model = DistributedDataParallel(nn.Linear(16, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.autograd.profiler.emit_itt():
        for _ in range(steps):
            time.sleep(seconds if dist.get_rank() == SLOW_RANK else 0)
            model(torch.randn(4, 16)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    dist.barrier()
    os._exit(0)  # PyTorch's threads sometimes abort the process when it ends in order


if __name__ == "__main__":
    main()
