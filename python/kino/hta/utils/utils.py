"""Kinds and names of kernels, intervals, and small helpers for frames."""
from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ..common.types import CommunicateKernelGroupingPattern, ComputeKernelGroupingPattern, MemoryKernelGroupingPattern
from ..configs.config import logger


class KernelType(Enum):
    """What a kernel does.

    >>> from kino.hta.utils.utils import KernelType
    >>> KernelType.COMPUTATION.name
    'COMPUTATION'
    """

    COMMUNICATION = 0
    MEMORY = 1
    COMPUTATION = 2
    OTHER = 3


class IdleTimeType(Enum):
    """What a stream waits for.

    >>> from kino.hta.utils.utils import IdleTimeType
    >>> IdleTimeType.HOST_WAIT.value
    0
    """

    HOST_WAIT = 0
    KERNEL_WAIT = 1
    OTHER = 2


def normalize_path(path: str) -> str:
    """A path that does not depend on where one is, or whose home it is.

    >>> from kino.hta.utils.utils import normalize_path
    >>> normalize_path("/tmp/trace")
    '/tmp/trace'
    """
    for start, base in (("./", Path.cwd), ("~/", Path.home)):
        if path.startswith(start):
            return str(base() / path[len(start):])
    return path


def is_comm_kernel(name: str) -> bool:
    """Does the kernel communicate?

    >>> from kino.hta.utils.utils import is_comm_kernel
    >>> is_comm_kernel("ncclDevKernel_AllReduce")
    True
    """
    return CommunicateKernelGroupingPattern.match(name)


def is_memory_kernel(name: str) -> bool:
    """Does it copy or set memory?

    >>> from kino.hta.utils.utils import is_memory_kernel
    >>> is_memory_kernel("Memcpy DtoH (Device -> Pageable)")
    True
    """
    return MemoryKernelGroupingPattern.match(name)


def is_compute_kernel(name: str) -> bool:
    """Is it neither communication nor memory nor synchronization?

    >>> from kino.hta.utils.utils import is_compute_kernel
    >>> is_compute_kernel("ampere_sgemm_128x64_nn")
    True
    """
    return ComputeKernelGroupingPattern.match(name)


#: An older spelling.
is_computer_kernel = is_compute_kernel


def get_kernel_type(name: str) -> str:
    """The name of its KernelType.

    >>> from kino.hta.utils.utils import get_kernel_type
    >>> get_kernel_type("ncclDevKernel_AllReduce"), get_kernel_type("Context Sync")
    ('COMMUNICATION', 'OTHER')
    """
    for is_one, kind in ((is_comm_kernel, KernelType.COMMUNICATION), (is_memory_kernel, KernelType.MEMORY),
                         (is_compute_kernel, KernelType.COMPUTATION)):
        if is_one(name):
            return kind.name
    return KernelType.OTHER.name


def get_memory_kernel_type(name: str) -> str:
    """What a copy or set does, without details.

    >>> from kino.hta.utils.utils import get_memory_kernel_type
    >>> get_memory_kernel_type("Memcpy DtoH (Device -> Pinned)")
    'Memcpy DtoH'
    """
    if name.startswith("Memset"):
        return "Memset"
    return name[:len("Memcpy DtoH")] if name.startswith("Memcpy") else "Memcpy Unknown"


def merge_kernel_intervals(kernel_df: Any) -> Any:
    """The time that rows cover, as intervals (ts, end) that do not touch.

    >>> import pandas
    >>> from kino.hta.utils.utils import merge_kernel_intervals
    >>> merge_kernel_intervals(pandas.DataFrame({"ts": [5, 0, 20], "dur": [10, 7, 1]})).values.tolist()
    [[0, 15], [20, 21]]
    """
    rows = kernel_df.sort_values(by="ts", kind="stable")
    rows = rows.assign(end=rows["ts"] + rows["dur"])
    covered_until = rows["end"].cummax().shift()
    group = (rows["ts"] > covered_until).cumsum()
    merged = rows.groupby(group).agg({"ts": "min", "end": "max"})
    return merged.sort_values(by="ts", kind="stable").reset_index(drop=True)


def _without_brackets(text: str) -> str:
    kept: list[str] = []
    opening = {">": "<", ")": "("}
    for letter in text:
        if letter not in opening:
            kept.append(letter)
            continue
        while kept and kept.pop() != opening[letter]:
            pass
    return "".join(kept)


def shorten_name(name: str) -> str:
    """The name of an operator or kernel without templates, arguments and what it returns.

    >>> from kino.hta.utils.utils import shorten_name
    >>> shorten_name("void at::native::fill<float>(float*, int)")
    'at::native::fill'
    """
    if is_memory_kernel(name) or not ("<" in name or "(" in name):
        return name
    return _without_brackets(name.replace("->", "")).rsplit(" ", 1)[-1]


def flatten_column_names(df: Any) -> None:
    """Makes one text of column names that have several levels.

    >>> import pandas
    >>> from kino.hta.utils.utils import flatten_column_names
    >>> frame = pandas.DataFrame([[1]], columns=pandas.MultiIndex.from_tuples([("dur", "sum")]))
    >>> flatten_column_names(frame); list(frame.columns)
    ['dur_sum']
    """
    if isinstance(df.columns, pd.MultiIndex):
        df.columns = ["_".join(levels).rstrip("_") for levels in df.columns]


def get_mp_pool_size(obj_size: int, num_objs: int) -> int:
    """How many objects of a size to work on at a time. kino.hta does not need it: the engine has threads.

    >>> from kino.hta.utils.utils import get_mp_pool_size
    >>> get_mp_pool_size(1, 1)
    1
    """
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(int(0.8 * free / obj_size), num_objs, os.cpu_count() or 1)


def _first_text_column(df: Any, names: tuple[str, str]) -> str:
    return next((name for name in names if name in df.columns and pd.api.types.is_string_dtype(df[name])), "")


def get_symbol_column_names(df: Any) -> tuple[str, str]:
    """The columns that have names and categories as texts; "" where none has.

    >>> import pandas
    >>> from kino.hta.utils.utils import get_symbol_column_names
    >>> get_symbol_column_names(pandas.DataFrame({"name": [3], "s_name": ["aten::add"], "cat": ["cpu_op"]}))
    ('s_name', 'cat')
    """
    return _first_text_column(df, ("name", "s_name")), _first_text_column(df, ("cat", "s_cat"))


def normalize_gpu_stream_numbers(df: Any) -> None:
    """Streams as integers; what is no number is -1.

    >>> import pandas
    >>> from kino.hta.utils.utils import normalize_gpu_stream_numbers
    >>> frame = pandas.DataFrame({"stream": [7, "20", "0x0"]})
    >>> normalize_gpu_stream_numbers(frame); frame["stream"].tolist()
    [7, 20, -1]
    """
    if "stream" not in df.columns:
        logger.error("No stream column found in the trace.")
        return
    df["stream"] = pd.to_numeric(df["stream"], errors="coerce").fillna(-1).astype(int)


def get_value_from_dict(d: object, key: str, default: object = None) -> object:
    """The value at "a.b.c" of nested dicts.

    >>> from kino.hta.utils.utils import get_value_from_dict
    >>> get_value_from_dict({"a": {"b": 1}}, "a.b"), get_value_from_dict({}, "a.b", 0)
    (1, 0)
    """
    for part in key.split("."):
        if not isinstance(d, dict) or part not in d:
            return default
        d = d[part]
    return d
