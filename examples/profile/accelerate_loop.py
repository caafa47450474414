"""Accelerate: what `accelerator.profile(...)` is around, recorded by Kino. python3 accelerate_loop.py FOLDER"""
import sys

import torch
from accelerate import Accelerator
from kino.integrations.accelerate import KinoProfileKwargs

accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(16, 4)
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
with accelerator.profile(KinoProfileKwargs(record_shapes=True, output_trace_dir=sys.argv[1])) as p:
    for _ in range(3):
        accelerator.backward(model(torch.randn(8, 16)).sum())
        optimizer.step()
        optimizer.zero_grad()
print(p.report())
