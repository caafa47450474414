"""pytest: a test that is recorded, and fails for what --kino-fail-on names.

    pytest test_speed.py --kino-save traces --kino-fail-on dataloader-workers
    pytest test_speed.py --kino-baseline traces --kino-fail-on 'op:aten::addmm>50%'
"""
import pytest
import torch


@pytest.mark.kino(record_shapes=True)
def test_step(kino_profile):
    model = torch.nn.Linear(64, 64)
    for _ in range(3):
        model(torch.randn(32, 64)).sum().backward()
        kino_profile.step()
