"""What a window recorded, in the place where PyTorch's profiler has Kineto's results (`p.profiler.kineto_results`)."""
from __future__ import annotations

import decimal
import json
from typing import Any, NoReturn, Optional

from ._window import Window


class Results:
    """Reads the window's trace when it is asked for."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._start: Optional[int] = None

    def document(self) -> dict[str, Any]:
        """The trace as Chrome JSON has it; times are exact."""
        found: dict[str, Any] = json.loads(self._window.text(), parse_float=decimal.Decimal)
        return found

    def save(self, path: str) -> None:
        self._window.write(path)

    def trace_start_ns(self) -> int:
        """What the times of the FunctionEvents count from, on the clock of the trace."""
        if self._start is None:
            document = self.document()
            self._start = int(start_of(document) * 1000) + int(document.get("baseTimeNanoseconds", 0))
        return self._start

    def experimental_event_tree(self) -> NoReturn:
        raise NotImplementedError("PyTorch's tree of its own records is not there; events() and p.run() have what was recorded")


def start_of(document: dict[str, Any]) -> decimal.Decimal:
    """When the first event with a time begins, in microseconds."""
    times = [event["ts"] for event in document["traceEvents"] if "ts" in event and event["ph"] in "Xi"]
    return decimal.Decimal(min(times, default=0))
