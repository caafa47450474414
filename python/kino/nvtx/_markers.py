"""The texts of the ranges around a call, in PyProf's format: dictionaries as Python writes them."""
from __future__ import annotations

import math
import sys
from types import FrameType
from typing import Any, Optional

import torch

WRAPPER = "marked"  # the function around each function that is marked, which is not of the program
_PATCH = f"{__package__}._patch"
_SCALARS = (int, float, bool, str, type(None))


def trace_marker(frame: Optional[FrameType]) -> str:
    """Where the program is: file and line of each function, the outermost first."""
    lines = []
    while frame is not None:
        if frame.f_code.co_name != WRAPPER or frame.f_globals.get("__name__") != _PATCH:
            lines.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        frame = frame.f_back
    return str({"traceMarker": lines[::-1]})


def frame_of_caller() -> FrameType:
    """Of the function that called the wrapper."""
    return sys._getframe(2)


def module_marker(owner: type, module: Any) -> str:
    return str({"mod": owner.__name__, "strRepr": module.extra_repr()})


def _plain(value: Any) -> Any:
    """A scalar as a literal has it: infinities and NaN are texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def _tensor(name: str, tensor: torch.Tensor) -> dict[str, Any]:
    """A number on the CPU is a scalar; one on a device stays a tensor, because asking for it would wait for the device."""
    if len(tensor.shape) == 0 and tensor.device.type == "cpu" and not tensor.is_complex():
        return _scalar(name, tensor.item())
    return {"name": name, "type": "tensor", "shape": tuple(tensor.shape), "dtype": str(tensor.dtype).rpartition(".")[2]}


def _scalar(name: str, value: Any) -> dict[str, Any]:
    return {"name": name, "type": type(value).__name__, "value": _plain(value)}


def _described(name: str, value: Any) -> list[dict[str, Any]]:
    """What is no tensor, array, scalar or list of them is left out."""
    if isinstance(value, torch.Tensor):
        return [_tensor(name, value)]
    if type(value) in _SCALARS:
        return [_scalar(name, value)]
    if type(value).__name__ == "ndarray":
        return [{"name": name, "type": "ndarray", "shape": tuple(value.shape), "dtype": str(value.dtype)}]
    if isinstance(value, (list, tuple)):
        if any(isinstance(item, torch.Tensor) for item in value):
            return [_tensor(name, item) for item in value if isinstance(item, torch.Tensor)]
        if all(type(item) in _SCALARS for item in value):
            kind = "tuple" if isinstance(value, tuple) else "list"
            plain = [_plain(item) for item in value]
            return [{"name": name, "type": kind, "value": tuple(plain) if kind == "tuple" else plain}]
    return []


def argument_marker(owner: str, function: str, positional: tuple[Any, ...], named: dict[str, Any]) -> str:
    args = [item for value in positional for item in _described("", value)]
    args += [item for name, value in named.items() for item in _described(name, value)]
    return str({"mod": owner, "op": function, "args": args})
