"""torch.distributed: each process writes its trace, which together are one run.

    torchrun --standalone --nproc-per-node 2 distributed.py FOLDER
    kino report FOLDER
"""
import os
import sys

import kino
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with kino.profile(schedule=kino.schedule(wait=1, warmup=1, active=3, repeat=1), record_shapes=True,
                  on_trace_ready=kino.tensorboard_trace_handler(sys.argv[1], worker_name=f"rank{rank}")) as p:
    for _ in range(6):
        model(torch.randn(8, 16)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        p.step()
dist.barrier()
if rank == 0:
    with kino.open([os.path.join(sys.argv[1], name) for name in sorted(os.listdir(sys.argv[1]))], progress=False) as run:
        print(run.report())
dist.destroy_process_group()
