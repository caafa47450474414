"""HTA's drawings of the kernels of ranks, which kino.hta does not have: each says so when it is called."""
from __future__ import annotations

from typing import Any

from .._needs import not_in_kino
from ..common.timeline import _INSTEAD, _REASON


def plot_timeline_gpu_kernels(*args: Any, **names: Any) -> None:
    """Not in kino.hta.

    >>> from kino.hta.analyzers.timeline import plot_timeline_gpu_kernels
    >>> plot_timeline_gpu_kernels("title", None, None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    NotImplementedError: plot_timeline_gpu_kernels is not in kino.hta: ...
    """
    raise not_in_kino("plot_timeline_gpu_kernels", _REASON, _INSTEAD)


def plot_timeline_gpu_kernels_from_trace(*args: Any, **names: Any) -> None:
    """Not in kino.hta.

    >>> from kino.hta.analyzers.timeline import plot_timeline_gpu_kernels_from_trace
    >>> plot_timeline_gpu_kernels_from_trace("title", None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    NotImplementedError: plot_timeline_gpu_kernels_from_trace is not in kino.hta: ...
    """
    raise not_in_kino("plot_timeline_gpu_kernels_from_trace", _REASON, _INSTEAD)
