"""Ranges that the program names."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Optional

from torch.autograd.profiler import record_function as _Recorded


class record_function(_Recorded):  # type: ignore[misc, unused-ignore] # noqa: N801 (PyTorch's name)
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
        super().__init__(name, args)
        self._open: list[Any] = []  # one object may be entered again before it is left

    def __enter__(self) -> record_function:
        super().__enter__()
        self._open.append(self.record)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        self.record = self._open.pop()
        super().__exit__(exc_type, exc_value, traceback)

    def _again(self) -> record_function:
        return type(self)(self.name, self.args)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(func):
            @functools.wraps(func)
            async def recorded_later(*arguments: Any, **named: Any) -> Any:
                with self._again():
                    return await func(*arguments, **named)

            return recorded_later

        @functools.wraps(func)
        def recorded(*arguments: Any, **named: Any) -> Any:
            with self._again():
                return func(*arguments, **named)

        return recorded
