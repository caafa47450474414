"""Whose memory is whose when a window ends: parameters, gradients, and the state of optimizers."""
from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import torch

PARAMETER, OPTIMIZER_STATE, GRADIENT = 0, 1, 5  # columns of the memory timeline


class Owned(NamedTuple):
    """The memory of a tensor that is there when the window ends."""
    device: torch.device
    address: int
    size: int
    category: int


def _memory_of(tensor: Any, category: int) -> Iterator[Owned]:
    if not isinstance(tensor, torch.Tensor):
        return
    try:
        storage = tensor.untyped_storage()
        found = Owned(tensor.device, storage.data_ptr(), storage.nbytes(), category)
    except (RuntimeError, NotImplementedError):  # a tensor without memory of its own
        return
    if found.address:
        yield found


def _optimizers(parameters: set[int]) -> list[torch.optim.Optimizer]:
    """Those that have one of the parameters. Of all other objects nothing but the type is looked at: some run code of their own for more."""
    found = [one for one in gc.get_objects() if issubclass(type(one), torch.optim.Optimizer)]
    return [one for one in found if any(id(parameter) in parameters for group in one.param_groups for parameter in group["params"])]


def _all(parameters: list[torch.Tensor]) -> Iterator[Owned]:
    for optimizer in _optimizers({id(parameter) for parameter in parameters}):
        for state in optimizer.state.values():
            for value in state.values() if isinstance(state, dict) else ():
                yield from _memory_of(value, OPTIMIZER_STATE)
    for parameter in parameters:
        yield from _memory_of(parameter.grad, GRADIENT)
        yield from _memory_of(parameter, PARAMETER)


def of_modules(modules: Iterable[Any]) -> list[Owned]:
    """The memory of modules: each address once, of a parameter first."""
    parameters = [parameter for module in modules for parameter in module.parameters(recurse=False)]
    return list({(one.device, one.address): one for one in _all(parameters)}.values()) if parameters else []
