"""From Python's values to the engine's: texts, times, sizes, paths."""
from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Optional, Union

from ._errors import ArgumentError

PathLike = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Paths = Union[PathLike, Iterable[PathLike]]
#: A duration or a time: "30us", "1.5ms", nanoseconds, or a timedelta.
Time = Union[str, int, datetime.timedelta]
#: A size: "200MB", "1GiB", or bytes.
Size = Union[str, int]

NO_NUMBER = -(1 << 63)  # the engine's "not given"
_NUMBER = re.compile(r"^(-?\d+(?:\.\d+)?) ?([a-zµ]*)$", re.IGNORECASE)
_TIMES = {"": 1, "ns": 1, "us": 1000, "µs": 1000, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}
_SIZES = {"": 1, "B": 1, "kB": 1000, "KB": 1000, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def _number(text: str, units: dict[str, int], expected: str) -> int:
    found = _NUMBER.match(text.strip())
    if found and found[2] in units:
        value = Fraction(found[1]) * units[found[2]]
        if value.denominator == 1:
            return int(value)
    raise ArgumentError(f"invalid value '{text}' (expected: {expected})")


def nanoseconds(value: Optional[Time]) -> int:
    """A time in ns; None is the engine's "not given"."""
    if value is None:
        return NO_NUMBER
    if isinstance(value, datetime.timedelta):
        return (value.days * 86400 + value.seconds) * 10**9 + value.microseconds * 1000
    return value if isinstance(value, int) else _number(value, _TIMES, "a time such as 1.5s, 200ms, 37us or 12ns")


def size_in_bytes(value: Optional[Size]) -> int:
    if value is None:
        return 0
    return value if isinstance(value, int) else _number(value, _SIZES, "a size such as 4096, 200MB or 1GiB")


def steps_range(value: Union[None, int, str]) -> tuple[int, int]:
    """The first and last of "3", "3-5", "3-" and "-5"."""
    if value is None:
        return NO_NUMBER, NO_NUMBER
    if isinstance(value, int):
        return value, value
    found = re.match(r"^(\d*)(-?)(\d*)$", value)
    if not found or not (found[1] or found[3]) or (found[3] and not found[2]):
        raise ArgumentError(f"invalid steps '{value}' (expected: 3, 3-5, 3- or -5)")
    first = int(found[1]) if found[1] else NO_NUMBER
    return first, first if not found[2] else int(found[3]) if found[3] else NO_NUMBER


def param_text(value: Any) -> str:
    """The value of an analysis' parameter as the engine reads it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime.timedelta):
        return str(nanoseconds(value))
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(param_text(item) for item in value)
    return str(value)


def params_list(params: dict[str, Any]) -> list[tuple[bytes, bytes]]:
    """Those that are given. `from_` is `from`, which Python keeps for itself."""
    return [(name.rstrip("_").encode(), param_text(value).encode()) for name, value in params.items() if value is not None]


def path_list(paths: Paths) -> list[bytes]:
    given = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else list(paths)
    return [os.fsencode(path) for path in given]


def text_list(texts: Union[None, str, Iterable[str]]) -> list[bytes]:
    if texts is None:
        return []
    return [text.encode() for text in ([texts] if isinstance(texts, str) else texts)]


def cell_list(values: Iterable[Any]) -> list[Union[None, int, float, bytes]]:
    """Values for parameters of SQL."""
    cells: list[Union[None, int, float, bytes]] = []
    for value in values:
        if value is None or isinstance(value, (int, float)):
            cells.append(value)
        elif isinstance(value, str):
            cells.append(value.encode())
        elif isinstance(value, datetime.timedelta):
            cells.append(nanoseconds(value))
        else:
            raise TypeError(f"SQL takes None, int, float and str, not {type(value).__name__}")
    return cells
