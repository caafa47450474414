#!/usr/bin/env python3
"""A small training run on the CPU, recorded with everything that kino can use.

    python3 examples/train_small.py trace.json      # needs torch, a few seconds
    kino report trace.json

The profiler skips one step, warms up for one and records three: shapes, Python stacks, memory and modules on.
"""
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, TensorDataset

STEPS = 5


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                                      nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
                                      nn.AdaptiveAvgPool2d(4))
        self.head = nn.Linear(32 * 4 * 4, 10)

    def forward(self, images):
        return self.head(self.features(images).flatten(1))


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "trace.json"
    torch.manual_seed(1)
    batch = 32
    data = TensorDataset(torch.randn(batch * STEPS, 3, 32, 32), torch.randint(0, 10, (batch * STEPS,)))
    model, loss_of = Classifier(), nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
                 record_shapes=True, with_stack=True, profile_memory=True, with_modules=True) as recorder:
        for images, labels in DataLoader(data, batch_size=batch):
            optimizer.zero_grad()
            loss = loss_of(model(images), labels)
            loss.backward()
            optimizer.step()
            recorder.step()
    recorder.export_chrome_trace(path)
    print(f"wrote {path}; now: kino report {path}")


if __name__ == "__main__":
    main()
