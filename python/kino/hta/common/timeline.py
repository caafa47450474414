"""HTA's drawings of timelines, which kino.hta does not have: each says so when it is called."""
from __future__ import annotations

from typing import Any

from .._needs import not_in_kino

_REASON, _INSTEAD = "a picture of a timeline is too small for a trace", "kino serve, or kino.open(...).cut(...).convert('part.json') and Perfetto,"


def plot_events_timeline(*args: Any, **names: Any) -> None:
    """Not in kino.hta.

    >>> from kino.hta.common.timeline import plot_events_timeline
    >>> plot_events_timeline("title", None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    NotImplementedError: plot_events_timeline is not in kino.hta: ...
    """
    raise not_in_kino("plot_events_timeline", _REASON, _INSTEAD)


def prepare_timeline_events(*args: Any, **names: Any) -> Any:
    """Not in kino.hta.

    >>> from kino.hta.common.timeline import prepare_timeline_events
    >>> prepare_timeline_events(None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    NotImplementedError: prepare_timeline_events is not in kino.hta: ...
    """
    raise not_in_kino("prepare_timeline_events", _REASON, _INSTEAD)


def align_module_with_kernels(*args: Any, **names: Any) -> Any:
    """Not in kino.hta.

    >>> from kino.hta.common.timeline import align_module_with_kernels
    >>> align_module_with_kernels(None, [])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    NotImplementedError: align_module_with_kernels is not in kino.hta: ...
    """
    raise not_in_kino("align_module_with_kernels", _REASON, "kino.open(...).modules()")
