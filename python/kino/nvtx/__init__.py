"""Markers for Nsight Systems and other tools that listen to NVTX: what PyProf's `pyprof.init()` did.

    import kino.nvtx

    kino.nvtx.init()                             # before the model is used
    with kino.emit_nvtx():                       # operators with their sequence numbers: links forward and backward
        train()

Each call of a function of torch, torch.Tensor, torch.nn.functional and torch.distributed is a range with the function's name and the
types and shapes of its arguments, inside a range with the lines of the program that led to it (docs/python/nvtx.md).
"""
from __future__ import annotations

import warnings

from .._nvtx import nvtx as _nvtx

__all__ = ["init", "is_attached", "mark", "range_pop", "range_push", "stop"]


def is_attached() -> bool:
    """Does a tool listen?"""
    return _nvtx().is_attached


def range_push(text: str) -> int:
    """Begins a range of the calling thread; returns its depth, negative when nobody counts."""
    return _nvtx().push(text)


def range_pop() -> int:
    """Ends the innermost range of the calling thread."""
    return _nvtx().pop()


def mark(text: str) -> None:
    """A moment."""
    _nvtx().mark(text)


def init() -> bool:
    """From now on calls of PyTorch's functions are marked. Returns False, with a warning, when no tool listens: nothing is changed then."""
    if not is_attached():
        warnings.warn("kino.nvtx.init: no tool listens to NVTX (NVTX_INJECTION64_PATH is not set, or has no such library): nothing is "
                      "marked", stacklevel=2)
        return False
    from . import _patch
    _patch.patch()
    return True


def stop() -> None:
    """PyTorch's functions are as they were before init()."""
    from . import _patch
    _patch.restore()
