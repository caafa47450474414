"""A window as PyTorch's own event objects, so that everything they can do (averages, tables, trees) is there and looks the same."""
from __future__ import annotations

import ast
import bisect
import collections
import decimal
import functools
import inspect
import itertools
import json
import logging
import time
from collections.abc import Iterable
from typing import Any, Optional

from torch.autograd.profiler_util import FunctionEvent, _filter_name, _filter_stack_entry, _rewrite_name

from . import _config
from ._flops import flops_of
from ._results import Results, start_of

_TAKEN = frozenset(inspect.signature(FunctionEvent.__init__).parameters)  # versions of PyTorch differ
_RANGES = ("cpu_op", "user_annotation", "python_function")
_CPU = (0, 2, 4)  # devices whose memory is the host's
_BACKWARD, _USER = 1, 7  # of at::RecordScope
_EVALUATION = "autograd::engine::evaluate_function: "
_FORWARD_BACKWARD = 1  # a type of flow
# Arguments that are not keyword inputs.
_KNOWN = frozenset(("Record function id", "External id", "Ev Idx", "Fwd thread id", "Sequence number", "Input Dims", "Input Strides",
                    "Input type", "Concrete Inputs", "Call stack", "Module Hierarchy", "Python id", "Python parent id", "Python module id",
                    "Python thread", "CallFrom", "Collective name"))
_numbers = itertools.count(1)  # ids are those of one event in a process
_log = logging.getLogger("torch.autograd.profiler")  # PyTorch's own, to which programs may listen


class _Allocations:
    """Finds the allocations inside an interval."""

    def __init__(self, events: Iterable[dict[str, Any]]) -> None:
        self.events = sorted(events, key=lambda event: event["ts"])
        self.times = [event["ts"] for event in self.events]
        sizes = [_bytes(event) for event in self.events]
        self.cpu = list(itertools.accumulate((cpu for cpu, _ in sizes), initial=0))
        self.device = list(itertools.accumulate((device for _, device in sizes), initial=0))
        self.is_used = [False] * len(self.events)

    def inside(self, start: decimal.Decimal, end: decimal.Decimal) -> tuple[int, int]:
        first, last = bisect.bisect_left(self.times, start), bisect.bisect_right(self.times, end)
        for index in range(first, last):
            self.is_used[index] = True
        return self.cpu[last] - self.cpu[first], self.device[last] - self.device[first]

    def outside(self) -> list[dict[str, Any]]:
        return [event for event, is_used in zip(self.events, self.is_used) if not is_used]


def _bytes(event: dict[str, Any]) -> tuple[int, int]:
    args = event["args"]
    size = args["Bytes"]
    return (size, 0) if args["Device Type"] in _CPU else (0, size)


def _flat(shapes: list[Any]) -> list[Any]:
    """Lists of tensors are empty in `input_shapes`."""
    return [[] if shape and isinstance(shape[0], list) else shape for shape in shapes]


def _made(**values: Any) -> FunctionEvent:
    return FunctionEvent(**{key: value for key, value in values.items() if key in _TAKEN})


def _number(value: Any) -> Any:
    """Times are exact; other numbers are Python's."""
    return float(value) if isinstance(value, decimal.Decimal) else value


@functools.lru_cache(maxsize=4096)
def _concrete(text: str) -> Any:
    """The value of a scalar, or of a list of them, from its text in the trace; None: it has none (a tensor)."""
    try:
        return ast.literal_eval(text.replace("inf", "1e999")) if text else None
    except (ValueError, SyntaxError):
        return text


def _flows(events: list[dict[str, Any]]) -> dict[tuple[int, Any], tuple[int, bool]]:
    """By thread and time of an end: the forward-backward link, and whether it begins there."""
    return {(event["tid"], event["ts"]): (event["id"], event["ph"] == "s") for event in events if event.get("cat") == "fwdbwd"}


def _logical_threads(flows: dict[tuple[int, Any], tuple[int, bool]], ranges: list[dict[str, Any]]) -> dict[int, int]:
    """PyTorch numbers threads itself; which is which, the forward-backward links tell."""
    starts = {number: tid for (tid, _), (number, is_start) in flows.items() if is_start}
    found = {}
    for event in ranges:
        link, is_start = flows.get((event["tid"], event["ts"]), (0, True))
        number = event.get("args", {}).get("Fwd thread id", 0)
        if not is_start and link in starts and number:
            found[starts[link]] = number
    return found


def _stacks(ranges: list[dict[str, Any]]) -> dict[int, list[str]]:
    """By the identity of an operator's event: the Python functions around it, the innermost first."""
    open_on: dict[int, list[dict[str, Any]]] = collections.defaultdict(list)
    found = {}
    for event in sorted(ranges, key=lambda event: (event["ts"], -event.get("dur", 0))):
        around = open_on[event["tid"]]
        while around and around[-1]["ts"] + around[-1].get("dur", 0) <= event["ts"]:
            around.pop()
        if event["cat"] == "python_function":
            around.append(event)
        else:
            found[id(event)] = [function["name"] for function in reversed(around) if _filter_stack_entry(function["name"])]
    return found


class _Deadline:
    """Of post_processing_timeout_s; None: there is none."""

    def __init__(self, timeout: Optional[float]) -> None:
        self._end = None if timeout is None else time.monotonic() + timeout
        self.is_over = False

    def passed(self) -> bool:
        if self._end is not None and not self.is_over:
            self.is_over = time.monotonic() >= self._end
        return self.is_over


class _Reader:
    def __init__(self, document: dict[str, Any], profiler: Any, origin: decimal.Decimal) -> None:
        events = document["traceEvents"]
        self.profiler, self.origin = profiler, origin
        self.has_overloads = _config.is_set(profiler.experimental_config, "capture_overload_names")
        self.has_metadata = _config.is_set(profiler.experimental_config, "expose_kineto_event_metadata")
        self.ranges = [event for event in events if event.get("ph") == "X" and event.get("cat") in _RANGES]
        self.allocations = _Allocations(event for event in events if event["name"] == "[memory]")
        self.failures = [event for event in events if event["name"] == "[OutOfMemory]"]
        # The engine says which functions it evaluates; those without a sequence number are not known otherwise.
        self.backward = {event["name"][len(_EVALUATION):] for event in self.ranges if event["name"].startswith(_EVALUATION)}
        self.stacks = _stacks(self.ranges)
        self.flows = _flows(events)
        self.threads = _logical_threads(self.flows, self.ranges)

    def name_of(self, event: dict[str, Any]) -> tuple[str, str]:
        """Of the operator, and of its overload."""
        name, _, overload = event["name"].partition(".") if self.has_overloads and event["cat"] == "cpu_op" else (event["name"], "", "")
        return name, overload

    def flow_of(self, event: dict[str, Any]) -> dict[str, Any]:
        number, is_start = self.flows.get((event["tid"], event["ts"]), (0, False))
        is_linked = number and event["cat"] == "cpu_op"
        return {"flow_id": number, "flow_type": _FORWARD_BACKWARD, "flow_start": is_start} if is_linked else {"flow_id": 0, "flow_type": 0,
                                                                                                              "flow_start": False}

    def operator(self, event: dict[str, Any]) -> FunctionEvent:
        args, category = event.get("args", {}), event["cat"]
        name, overload = self.name_of(event)
        start = event["ts"]
        end = start + event.get("dur", 0)
        shapes, values = args.get("Input Dims", []), args.get("Concrete Inputs", [])
        cpu, device = self.allocations.inside(start, end)
        forward = args.get("Fwd thread id", 0)
        is_backward = name in self.backward and category == "cpu_op"
        is_annotation = category == "user_annotation"
        return _made(id=next(_numbers), name=_rewrite_name(name=name, with_wildcard=True),
                     trace_name=_rewrite_name(name=name, with_wildcard=False), overload_name=overload,
                     thread=self.threads.get(event["tid"], event["tid"]), start_us=float(start - self.origin), end_us=float(end - self.origin),
                     fwd_thread=forward, input_shapes=_flat(shapes), structured_input_shapes=shapes,
                     structured_input_strides=args.get("Input Strides", []), concrete_inputs=[_concrete(value) for value in values],
                     kwinputs={} if "Collective name" in args else {key: _number(value) for key, value in args.items() if key not in _KNOWN},
                     input_dtypes=args.get("Input type", []), stack=self.stacks.get(id(event), []),
                     scope=_BACKWARD if is_backward else _USER if is_annotation else 0, use_device=self.profiler.use_device,
                     cpu_memory_usage=cpu, device_memory_usage=device, sequence_nr=args.get("Sequence number", -1),
                     flops=flops_of(name, shapes, values) if self.profiler.with_flops else 0, activity_type=category,
                     device_index=event["pid"], is_user_annotation=is_annotation, is_python_function=category == "python_function",
                     metadata_json=json.dumps(args, default=float) if self.has_metadata else "", python_id=args.get("Python id", -1),
                     python_parent_id=args.get("Python parent id") or -1, python_module_id=args.get("Python module id", -1),
                     **self.flow_of(event))

    def allocation(self, event: dict[str, Any]) -> FunctionEvent:
        cpu, device = _bytes(event) if event["name"] == "[memory]" else (0, 0)  # what failed takes no memory
        time_us = float(event["ts"] - self.origin)
        return _made(id=next(_numbers), name=event["name"], overload_name="", thread=event["tid"], start_us=time_us, end_us=time_us,
                     fwd_thread=event["tid"], input_shapes=[], stack=[], use_device=self.profiler.use_device, cpu_memory_usage=cpu,
                     device_memory_usage=device)

    def read(self, deadline: _Deadline) -> list[FunctionEvent]:
        found = []
        for event in self.ranges:
            if deadline.passed():
                break
            if not _filter_name(event["name"]):
                found.append(self.operator(event))
        for event in [] if deadline.is_over else self.allocations.outside() + self.failures:
            if deadline.passed():
                break
            found.append(self.allocation(event))
        return sorted(found, key=lambda event: (event.time_range.start, -event.time_range.end))


def function_events(result: Results, profiler: Any, timeout: Optional[float]) -> list[FunctionEvent]:
    """The events of a window, as far as the timeout (seconds) lets them be read. Times of windows that are added to others count from
    the first one's start."""
    deadline = _Deadline(timeout)
    document = result.document()
    if profiler.origin is None:
        profiler.origin = start_of(document)
    found = _Reader(document, profiler, profiler.origin).read(deadline)
    if deadline.is_over:
        _log.warning("reading the profiler's events timed out after %.3f seconds: partial results, %d events", timeout, len(found))
    return found
