"""Floating-point operations of an operator from its inputs, with the formulas of PyTorch's profiler, for the operators that it knows."""
from __future__ import annotations

import ast
import math
from typing import Any


def _pair(text: Any) -> list[int]:
    try:
        values = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return []
    return [int(value) for value in values] if isinstance(values, list) and len(values) == 2 else []


def _conv2d(shapes: list[Any], values: list[Any]) -> int:
    if len(shapes) < 7 or len(shapes[0]) != 4 or len(shapes[1]) != 4:
        return 0
    stride, padding, dilation = (_pair(value) for value in values[3:6])
    groups = int(values[6]) if str(values[6]).isdigit() else 0
    if not stride or not padding or not dilation or not groups or 0 in stride:
        return 0
    (count, channels, *size), (outputs, _, *kernel) = shapes[0], shapes[1]
    made = [(size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    return int(2 * count * math.prod(made) * math.prod(kernel) * channels * outputs // groups)


def _product(left: list[int], right: list[int], dims: int) -> int:
    if len(left) != dims or len(right) != dims or 0 in left:
        return 0
    shared = left[-1] * (left[0] if dims == 3 else 1)
    return 2 * math.prod(left) // shared * math.prod(right)


def flops_of(name: str, shapes: list[Any], values: list[Any]) -> int:
    """0: not known. Shapes and values as the trace has them."""
    if name == "aten::conv2d":
        return _conv2d(shapes, values)
    if name in ("aten::mul", "aten::add") and shapes and shapes[0]:
        return math.prod(shapes[0])
    first = {"aten::mm": 0, "aten::addmm": 1, "aten::bmm": 0, "aten::baddbmm": 1}.get(name)
    if first is None or len(shapes) < first + 2:
        return 0
    return _product(shapes[first], shapes[first + 1], 3 if "bmm" in name else 2)
