"""A window as PyTorch's own event objects, so that everything they can do (averages, tables, trees) is there and looks the same."""
from __future__ import annotations

import bisect
import collections
import decimal
import inspect
import itertools
import json
from collections.abc import Iterable
from typing import Any, Optional

from torch.autograd.profiler_util import EventList, FunctionEvent, _filter_name, _rewrite_name

from ._flops import flops_of

_TAKEN = frozenset(inspect.signature(FunctionEvent.__init__).parameters)  # versions of PyTorch differ
_RANGES = ("cpu_op", "user_annotation", "python_function")
_CPU = (0, 2, 4)  # devices whose memory is the host's
_BACKWARD = 1


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


def _logical_threads(events: list[dict[str, Any]], ranges: list[dict[str, Any]]) -> dict[int, int]:
    """PyTorch numbers threads itself; which is which, the forward-backward links tell."""
    starts = {event["id"]: event["tid"] for event in events if event.get("cat") == "fwdbwd" and event["ph"] == "s"}
    ends = {(event["tid"], event["ts"]): event["id"] for event in events if event.get("cat") == "fwdbwd" and event["ph"] == "f"}
    found = {}
    for event in ranges:
        link = ends.get((event["tid"], event["ts"]))
        number = event.get("args", {}).get("Fwd thread id", 0)
        if link in starts and number:
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
            found[id(event)] = [function["name"] for function in reversed(around)]
    return found


class _Reader:
    def __init__(self, trace: dict[str, Any], use_device: Optional[str], with_flops: bool,
                 origin: Optional[decimal.Decimal]) -> None:
        events = trace["traceEvents"]
        self.use_device, self.with_flops = use_device, with_flops
        self.ranges = [event for event in events if event.get("ph") == "X" and event.get("cat") in _RANGES]
        self.allocations = _Allocations(event for event in events if event["name"] == "[memory]")
        self.failures = [event for event in events if event["name"] == "[OutOfMemory]"]
        times = [event["ts"] for event in self.ranges] + self.allocations.times[:1]
        self.stacks = _stacks(self.ranges)
        self.threads = _logical_threads(events, self.ranges)
        self.origin = min(times, default=decimal.Decimal(0)) if origin is None else origin

    def operator(self, number: int, event: dict[str, Any]) -> FunctionEvent:
        args = event.get("args", {})
        start, name = event["ts"], event["name"]
        end = start + event.get("dur", 0)
        shapes, values = args.get("Input Dims", []), args.get("Concrete Inputs", [])
        cpu, device = self.allocations.inside(start, end)
        forward = args.get("Fwd thread id", 0)
        return _made(id=number, name=_rewrite_name(name=name, with_wildcard=True), trace_name=_rewrite_name(name=name, with_wildcard=False),
                     overload_name="", thread=self.threads.get(event["tid"], event["tid"]), start_us=float(start - self.origin), end_us=float(end - self.origin),
                     fwd_thread=forward, input_shapes=_flat(shapes), structured_input_shapes=shapes,
                     structured_input_strides=args.get("Input Strides", []), concrete_inputs=values, kwinputs={},
                     input_dtypes=args.get("Input type", []), stack=self.stacks.get(id(event), []), scope=_BACKWARD if forward else 0, use_device=self.use_device,
                     cpu_memory_usage=cpu, device_memory_usage=device, sequence_nr=args.get("Sequence number", -1),
                     flops=flops_of(name, shapes, values) if self.with_flops else 0, activity_type=event["cat"],
                     is_user_annotation=event["cat"] == "user_annotation", is_python_function=event["cat"] == "python_function",
                     python_id=args.get("Python id", -1), python_parent_id=args.get("Python parent id") or -1,
                     python_module_id=args.get("Python module id", -1))

    def allocation(self, number: int, event: dict[str, Any]) -> FunctionEvent:
        cpu, device = _bytes(event)
        time = float(event["ts"] - self.origin)
        return _made(id=number, name=event["name"], overload_name="", thread=event["tid"], start_us=time, end_us=time,
                     fwd_thread=event["tid"], input_shapes=[], stack=[], use_device=self.use_device, cpu_memory_usage=cpu,
                     device_memory_usage=device)

    def read(self) -> list[FunctionEvent]:
        numbers = itertools.count(1)
        found = [self.operator(next(numbers), event) for event in self.ranges
                 if not _filter_name(event["name"])]
        found += [self.allocation(next(numbers), event) for event in self.allocations.outside() + self.failures]
        return sorted(found, key=lambda event: (event.time_range.start, -event.time_range.end))


def function_events(text: bytes, use_device: Optional[str], with_flops: bool,
                    origin: Optional[decimal.Decimal]) -> tuple[list[FunctionEvent], decimal.Decimal]:
    """The events of a trace as Chrome JSON, and what their times count from: the given one, for windows that are added to others."""
    reader = _Reader(json.loads(text, parse_float=decimal.Decimal), use_device, with_flops, origin)
    return reader.read(), reader.origin


def event_list(events: list[FunctionEvent], use_device: Optional[str], with_memory: bool, with_flops: bool) -> EventList:
    made = EventList(events, use_device=use_device, profile_memory=with_memory, with_flops=with_flops)
    made._build_tree()
    return made
