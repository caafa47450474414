"""export_memory_timeline: the memory of a device over time, by category.

PyTorch follows every tensor through its own records of the window. Here the category of an allocation is decided by whose it is when the
window ends, else by where it was made and where it ended, which the trace has (docs/python/profiler.md, "The memory timeline").
"""
from __future__ import annotations

import bisect
import collections
import gzip
import json
import os
from collections.abc import Iterable
from html import escape
from typing import Any, NamedTuple, Optional

import torch

from ._owners import Owned

# In the order of the files' columns; the numbers of the actions are PyTorch's.
CATEGORIES = ("PARAMETER", "OPTIMIZER_STATE", "INPUT", "TEMPORARY", "ACTIVATION", "GRADIENT", "AUTOGRAD_DETAIL", "Unknown")
_OPTIMIZER_STATE, _TEMPORARY, _ACTIVATION, _GRADIENT, _AUTOGRAD, _UNKNOWN = 1, 3, 4, 5, 6, 7
_PREEXISTING, _CREATE, _DESTROY = 0, 1, 3
_COLORS = ("darkgreen", "goldenrod", "black", "mediumpurple", "red", "mediumblue", "royalblue", "dimgrey")
_DEVICES = {0: "cpu", 1: "cuda", 12: "xpu", 17: "hpu", 18: "privateuseone"}  # c10::DeviceType
_EVALUATION = "autograd::engine::evaluate_function: "
_OPTIMIZER = "Optimizer.step#"


class _Life(NamedTuple):
    """Of an allocation; None: before, or after the window."""
    made: Optional[dict[str, Any]]
    ended: Optional[dict[str, Any]]
    size: int


class _Action(NamedTuple):
    time_ns: int  # -1: before the window
    action: int
    size: int
    category: int


def default_device(use_device: Optional[str]) -> str:
    if use_device and use_device != "cuda":
        return f"{use_device}:0"
    return "cuda:0" if torch.cuda.is_available() else "cpu"


def _device_of(event: dict[str, Any]) -> torch.device:
    args = event["args"]
    name = _DEVICES.get(args["Device Type"], "privateuseone")
    return torch.device(name) if name == "cpu" else torch.device(name, args["Device Id"])


def _lives(records: list[dict[str, Any]]) -> list[_Life]:
    """Each allocation with its end, by address."""
    found, alive = [], {}
    for record in records:
        address, size = record["args"]["Addr"], record["args"]["Bytes"]
        if size >= 0:
            alive[address] = record
        else:
            found.append(_Life(alive.pop(address, None), record, -size))
    return found + [_Life(made, None, made["args"]["Bytes"]) for made in alive.values()]


class _Outermost:
    """The outermost ranges of some kind on each thread, which do not overlap."""

    def __init__(self, ranges: list[dict[str, Any]]) -> None:
        self._starts: dict[int, list[Any]] = collections.defaultdict(list)
        self._ranges: dict[int, list[dict[str, Any]]] = collections.defaultdict(list)
        for event in sorted(ranges, key=lambda event: (event["ts"], -event.get("dur", 0))):
            last = self._ranges[event["tid"]][-1:]
            if not last or event["ts"] >= last[0]["ts"] + last[0].get("dur", 0):
                self._starts[event["tid"]].append(event["ts"])
                self._ranges[event["tid"]].append(event)

    def around(self, record: Optional[dict[str, Any]]) -> Optional[dict[str, Any]]:
        """The range that the record is in."""
        if record is None:
            return None
        at = bisect.bisect_right(self._starts[record["tid"]], record["ts"]) - 1
        found = self._ranges[record["tid"]][at] if at >= 0 else None
        return found if found and record["ts"] <= found["ts"] + found.get("dur", 0) else None


class _Places:
    """Where allocations are made and ended."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        ranges = [event for event in events if event.get("ph") == "X"]
        operators = [event for event in ranges if event.get("cat") == "cpu_op"]
        self._operators = _Outermost([event for event in operators if not event["name"].startswith(_EVALUATION)])
        self._backward = _Outermost([event for event in operators if "Fwd thread id" in event.get("args", {}) and
                                     event["args"]["Fwd thread id"] or event["name"].startswith(_EVALUATION)])
        self._optimizers = _Outermost([event for event in ranges if event["name"].startswith(_OPTIMIZER)])

    def category(self, life: _Life) -> int:
        """The first rule that fits."""
        if life.made is None:
            return _UNKNOWN
        operator = self._operators.around(life.made)
        if operator is not None and operator is self._operators.around(life.ended):
            return _TEMPORARY
        optimizer = self._optimizers.around(life.made)
        if optimizer is not None:
            return _TEMPORARY if optimizer is self._optimizers.around(life.ended) else _OPTIMIZER_STATE
        if self._backward.around(life.made) is not None:
            return _AUTOGRAD if self._backward.around(life.ended) is not None else _GRADIENT
        is_recorded = operator is not None and "Sequence number" in operator.get("args", {})
        return _ACTIVATION if is_recorded or self._backward.around(life.ended) is not None else _UNKNOWN


def _actions(document: dict[str, Any], owned: Iterable[Owned], device: str) -> list[_Action]:
    """In the order of their times, those from before the window first."""
    base = int(document.get("baseTimeNanoseconds", 0))
    wanted = torch.device(device)
    records = sorted((event for event in document["traceEvents"] if event["name"] == "[memory]" and _device_of(event) == wanted),
                     key=lambda event: event["ts"])
    places = _Places(document["traceEvents"])
    owners = {one.address: one for one in owned if one.device == wanted}
    found = []
    for life in _lives(records):
        owner = None if life.ended or life.made is None else owners.pop(life.made["args"]["Addr"], None)
        category = owner.category if owner else places.category(life)
        time = int(life.made["ts"] * 1000) + base if life.made else -1
        found.append(_Action(time, _CREATE if life.made else _PREEXISTING, life.size, category))
        if life.ended:
            found.append(_Action(int(life.ended["ts"] * 1000) + base, _DESTROY, -life.size, category))
    before = [_Action(-1, _PREEXISTING, one.size, one.category) for one in owners.values()]
    return sorted(found + before)


def _points(actions: list[_Action]) -> tuple[list[int], list[list[int]]]:
    """Times in microseconds, and at each the bytes by category, with a zero before them."""
    first = min((action.time_ns for action in actions if action.time_ns >= 0), default=0) // 1000
    times: list[int] = []
    sizes: list[list[int]] = []
    for action in actions:
        time = action.time_ns // 1000 if action.time_ns >= 0 else first
        if not times or time != times[-1]:
            times.append(time)
            sizes.append(list(sizes[-1]) if sizes else [0] * (len(CATEGORIES) + 1))
        sizes[-1][action.category + 1] += action.size
    return times, sizes


def _page(times: list[int], sizes: list[list[int]], device: str) -> str:
    """One picture: the categories on top of each other."""
    width, height = 1200, 600
    peak = max((sum(row) for row in sizes), default=0) or 1
    span = (times[-1] - times[0] if times else 0) or 1

    def line(count: int) -> list[str]:
        return [f"{(time - times[0]) / span * width:.1f},{height - max(sum(row[:count + 1]), 0) / peak * height:.1f}"
                for time, row in zip(times, sizes)]

    areas = [f'<polygon fill="{color}" fill-opacity="0.7" points="{" ".join(line(number) + line(number + 1)[::-1])}"/>'
             for number, color in enumerate(_COLORS)]
    legend = "".join(f'<span style="color: {color}">&#9632;</span> {name} ' for name, color in zip(CATEGORIES, _COLORS))
    return (f'<!DOCTYPE html><html><head><meta charset="utf-8"/><title>Memory of {escape(device)}</title></head><body>'
            f'<p>Memory of {escape(device)}: {span / 1000:.3f} ms, peak {peak / (1 << 20):.2f} MiB above the start of the window</p>'
            f'<svg width="{width}" height="{height}" role="img" aria-label="Memory by category">{"".join(areas)}</svg>'
            f'<p>{legend}</p></body></html>\n')


def export(document: dict[str, Any], owned: Iterable[Owned], path: str, device: str) -> None:
    """In the form that the name's end says."""
    actions = _actions(document, owned, device)
    if path.endswith("raw.json.gz"):
        text = json.dumps(actions)
    else:
        points = _points(actions)
        text = _page(*points, device) if path.endswith(".html") else json.dumps(points)
    part = f"{path}.{os.getpid()}.part"
    with gzip.open(part, "wt", encoding="utf-8") if path.endswith(".gz") else open(part, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(part, path)
