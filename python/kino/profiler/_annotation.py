"""Ranges that the program names."""
from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, Optional

from torch.autograd.profiler import record_function as _Recorded


class record_function:  # noqa: N801 (PyTorch's name)
    """A range of the program under a name, as context manager or decorator; shown as an annotation by Kino and by PyTorch's profiler,
    whichever records. May begin and end on different threads and among other tasks of an event loop.

    >>> with kino.profile() as p:
    ...     with kino.record_function("load"):
    ...         _ = torch.ones(2)
    >>> "load" in {event.name for event in p.events()}
    True
    >>> @kino.record_function("encode")
    ... async def encode(batch): ...
    """

    def __init__(self, name: str, args: Optional[str] = None) -> None:
        self.name = name
        self.args = args
        self._open: list[Any] = []  # one object may be entered again before it is left

    def __enter__(self) -> record_function:
        entered = _Recorded(self.name, self.args)
        entered.__enter__()
        self._open.append(entered)
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self._open.pop().__exit__(kind, error, traceback)

    def _again(self) -> contextlib.AbstractContextManager[Any]:
        return record_function(self.name, self.args)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def recorded_later(*arguments: Any, **named: Any) -> Any:
                with self._again():
                    return await function(*arguments, **named)

            return recorded_later

        @functools.wraps(function)
        def recorded(*arguments: Any, **named: Any) -> Any:
            with self._again():
                return function(*arguments, **named)

        return recorded
