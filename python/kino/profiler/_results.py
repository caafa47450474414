"""What a window recorded, in the place where PyTorch's profiler has Kineto's results (`p.profiler.kineto_results`)."""
from __future__ import annotations

import decimal
import json
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Optional

from ._owners import Owned
from ._window import Window


class Results:
    """Reads the window's trace when it is asked for."""

    def __init__(self, window: Window, profiler: Any, owned: Sequence[Owned] = ()) -> None:
        self._window = window
        self.owned = owned  # when the window ended
        self._profiler = weakref.ref(profiler)  # which has these results
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

    def events(self) -> list[KinetoEvent]:
        """Those of function_events, with the methods of PyTorch's."""
        profiler = self._profiler()
        return [KinetoEvent(event, self.trace_start_ns()) for event in profiler.function_events] if profiler is not None else []

    def experimental_event_tree(self) -> NoReturn:
        raise NotImplementedError("PyTorch's tree of its own records is not there; events() and p.run() have what was recorded")


def start_of(document: dict[str, Any]) -> decimal.Decimal:
    """When the first event with a time begins, in microseconds."""
    times = [event["ts"] for event in document["traceEvents"] if "ts" in event and event["ph"] in "Xi"]
    return decimal.Decimal(min(times, default=0))


# Methods of Kineto's events, and the fields of FunctionEvents that they give.
_FIELDS = {"name": "name", "overload_name": "overload_name", "correlation_id": "id", "start_thread_id": "thread", "end_thread_id": "thread",
           "fwd_thread_id": "fwd_thread", "shapes": "input_shapes", "dtypes": "input_dtypes", "concrete_inputs": "concrete_inputs", "kwinputs": "kwinputs",
           "stack": "stack", "scope": "scope", "sequence_nr": "sequence_nr", "is_async": "is_async", "device_type": "device_type",
           "device_index": "device_index", "flops": "flops", "is_user_annotation": "is_user_annotation", "is_python_function": "is_python_function",
           "activity_type": "activity_type", "flow_id": "flow_id", "flow_type": "flow_type", "flow_start": "flow_start", "nbytes": "cpu_memory_usage",
           "structured_input_shapes": "structured_input_shapes", "structured_input_strides": "structured_input_strides", "python_id": "python_id",
           "python_parent_id": "python_parent_id", "python_module_id": "python_module_id"}


class KinetoEvent:
    """An event with the methods that Kineto's have, of a FunctionEvent."""

    def __init__(self, event: Any, start_ns: int) -> None:
        self._event, self._start_ns = event, start_ns

    def __getattr__(self, name: str) -> Callable[[], Any]:
        if name not in _FIELDS:
            raise AttributeError(f"'KinetoEvent' has no method '{name}'")
        return lambda: getattr(self._event, _FIELDS[name])

    def start_ns(self) -> int:
        return self._start_ns + int(round(self._event.time_range.start * 1000))

    def end_ns(self) -> int:
        return self._start_ns + int(round(self._event.time_range.end * 1000))

    def duration_ns(self) -> int:
        return self.end_ns() - self.start_ns()
