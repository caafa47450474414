#!/usr/bin/env python3
"""A training loop that runs until it is stopped, to be traced while it runs.

    kino daemon &
    KINETO_USE_DAEMON=1 python3 examples/train/train.py &      # needs torch 2.7 or later
    kino status                                                # it is listed a few seconds after 'import torch'
    kino trigger --all --duration 500ms                        # waits, and prints the file
    kino trigger --all --iterations 3
    kino report /tmp/...

Nothing in here knows of Kino: the variable alone makes PyTorch ask the daemon every 5 seconds. Iterations are counted by
the steps of torch.optim's optimizers; with --plain the weights are changed by hand, so that PyTorch sees no steps, and a
request for iterations becomes one for half a second.
"""
import argparse
import os
import time

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4))
        self.head = nn.Linear(8 * 4 * 4, 10)

    def forward(self, images):
        return self.head(self.features(images).flatten(1))


def step_by_hand(model, rate):
    with torch.no_grad():
        for weights in model.parameters():
            weights -= rate * weights.grad
            weights.grad = None


def train(seconds, plain):
    """Returns the number of steps."""
    torch.manual_seed(1)
    model, loss_of = Classifier(), nn.CrossEntropyLoss()
    optimizer = None if plain else torch.optim.SGD(model.parameters(), lr=1e-3)
    end, steps = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        images, labels = torch.randn(8, 3, 16, 16), torch.randint(0, 10, (8,))
        loss_of(model(images), labels).backward()
        if optimizer is None:
            step_by_hand(model, 1e-3)
        else:
            optimizer.step()
            optimizer.zero_grad()
        steps += 1
        if steps == 2:  # the first one imports half of PyTorch
            print(f"training in process {os.getpid()}", flush=True)
        time.sleep(0.02)  # where a real program waits for its data
    return steps


def main():
    parser = argparse.ArgumentParser(description="train until stopped")
    parser.add_argument("--seconds", type=float, default=3600, help="how long (default: an hour)")
    parser.add_argument("--plain", action="store_true", help="change the weights by hand: no steps for PyTorch to count")
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{train(given.seconds, given.plain)} steps")


if __name__ == "__main__":
    main()
