"""Filters: a frame in, a frame with the chosen rows out. CompositeFilter puts several in a row."""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Optional, Union

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ..configs.config import logger
from ..utils.utils import get_symbol_column_names
from .trace_symbol_table import TraceSymbolTable

_Numbers = Union[int, list[int]]


class Filter(ABC):
    """What all filters are: called with a frame, and the symbols where names or categories are looked at.

    >>> from kino.hta.common.trace_filter import Filter, RankFilter
    >>> isinstance(RankFilter(0), Filter)
    True
    """

    @abstractmethod
    def __call__(self, df: Any, symbol_table: Optional[TraceSymbolTable] = None) -> Any:
        """The rows that are chosen."""


def _numbers(value: _Numbers, what: str) -> list[int]:
    if not isinstance(value, (int, list)):
        raise TypeError(f"{what} must be an integer or a list of integers.")
    return [value] if isinstance(value, int) else value


def _has(df: Any, column: str) -> bool:
    if column not in df.columns:
        logger.warning("The DataFrame has no column named '%s'.", column)
    return column in df.columns


class IterationFilter(Filter):
    """Events of steps, by their numbers.

    >>> from kino.hta.common.trace_filter import IterationFilter
    >>> IterationFilter(2)(analysis.t.get_trace(0))["iteration"].unique().tolist()
    [2]
    """

    def __init__(self, iterations: _Numbers) -> None:
        self.iterations: list[int] = _numbers(iterations, "Iterations")

    def __call__(self, df: Any, symbol_table: Optional[TraceSymbolTable] = None) -> Any:
        return df.loc[df["iteration"].isin(self.iterations)] if _has(df, "iteration") else df


class IterationIndexFilter(Filter):
    """Events of steps, by their places: 0 is the first step of the frame.

    >>> from kino.hta.common.trace_filter import IterationIndexFilter
    >>> IterationIndexFilter([1])(analysis.t.get_trace(0))["iteration"].unique().tolist()
    [3]
    """

    def __init__(self, iteration_index: _Numbers) -> None:
        self.iteration_index: list[int] = _numbers(iteration_index, "iteration_index")

    def __call__(self, df: Any, symbol_table: Optional[TraceSymbolTable] = None) -> Any:
        if not _has(df, "iteration"):
            return df
        steps = [step for step in sorted(df["iteration"].unique()) if step != -1]
        if not steps:
            return df
        chosen = [step for place, step in enumerate(steps) if place in self.iteration_index]
        if not chosen:
            logger.warning("Indices %s select no iterations.", self.iteration_index)
            return pd.DataFrame()
        return df.loc[df["iteration"].isin(chosen)]


class FirstIterationFilter(IterationIndexFilter):
    """Events of the first step.

    >>> from kino.hta.common.trace_filter import FirstIterationFilter
    >>> FirstIterationFilter()(analysis.t.get_trace(0))["iteration"].unique().tolist()
    [2]
    """

    def __init__(self) -> None:
        super().__init__([0])


class RankFilter(Filter):
    """Events of ranks, in a frame that has a column rank.

    >>> import pandas
    >>> from kino.hta.common.trace_filter import RankFilter
    >>> len(RankFilter([1])(pandas.DataFrame({"rank": [0, 1, 1]})))
    2
    """

    def __init__(self, ranks: _Numbers) -> None:
        self.ranks: list[int] = _numbers(ranks, "ranks")

    def __call__(self, df: Any, symbol_table: Optional[TraceSymbolTable] = None) -> Any:
        return df.loc[df["rank"].isin(self.ranks)] if _has(df, "rank") else df


class TimeRangeFilter(Filter):
    """Events that lie within two times.

    >>> import pandas
    >>> from kino.hta.common.trace_filter import TimeRangeFilter
    >>> len(TimeRangeFilter((0, 10))(pandas.DataFrame({"ts": [0, 8], "dur": [5, 5]})))
    1
    """

    def __init__(self, time_range: tuple[int, int]) -> None:
        if (not isinstance(time_range, tuple) or len(time_range) != 2 or
                not all(isinstance(time, int) for time in time_range)):
            raise ValueError("time_range must be a tuple of two integers.")
        if time_range[0] > time_range[1]:
            raise ValueError("Start time must be less than or equal to end time.")
        self.time_start, self.time_end = time_range

    def __call__(self, df: Any, symbol_table: Optional[TraceSymbolTable] = None) -> Any:
        if not _has(df, "ts"):
            return df
        return df.loc[df["ts"].ge(self.time_start) & (df["ts"] + df["dur"]).le(self.time_end)]


class NameStringColumnFilter(Filter):
    """Events whose names, as texts, match a pattern from the start.

    >>> import pandas
    >>> from kino.hta.common.trace_filter import NameStringColumnFilter
    >>> len(NameStringColumnFilter("aten")(pandas.DataFrame({"s_name": ["aten::add", "gemm"]})))
    1
    """

    def __init__(self, name_pattern: str) -> None:
        self.name_pattern = name_pattern

    def __call__(self, df: Any, symbol_table: Optional[TraceSymbolTable] = None) -> Any:
        column, _ = get_symbol_column_names(df)
        if not column:
            logger.warning("The DataFrame doesn't have a name column of string type")
            return df
        return df.loc[df[column].str.match(self.name_pattern)]


class NameIdColumnFilter(Filter):
    """Events whose names, as numbers of a symbol table, match a pattern from the start.

    >>> from kino.hta.common.trace_filter import NameIdColumnFilter
    >>> len(NameIdColumnFilter("ProfilerStep")(analysis.t.get_trace(0), analysis.t.symbol_table)) > 0
    True
    """

    def __init__(self, name_pattern: str) -> None:
        self.name_pattern = name_pattern
        self.name_column = "name"

    def __call__(self, df: Any, symbol_table: Optional[TraceSymbolTable] = None) -> Any:
        if symbol_table is None:
            logger.warning("NameIdColumnFilter needs a symbol table")
            return df
        names = symbol_table.get_sym_index_series()
        return df.loc[df[self.name_column].isin(names[names.index.str.match(self.name_pattern)])]


class NameFilter(Filter):
    """Events whose names match a pattern from the start: numbers where there is a symbol table, else texts.

    >>> from kino.hta.common.trace_filter import NameFilter
    >>> len(NameFilter("^ProfilerStep", analysis.t.symbol_table)(analysis.t.get_trace(0))) > 0
    True
    """

    def __init__(self, name_pattern: str, symbol_table: Optional[TraceSymbolTable] = None, name_column: Optional[str] = None) -> None:
        self.name_pattern = name_pattern
        self.symbol_table = symbol_table
        self.name_column = name_column

    def __call__(self, df: Any, symbol_table: Optional[TraceSymbolTable] = None) -> Any:
        if df.empty:
            logger.warning("The DataFrame is empty.")
            return df
        symbols = symbol_table or self.symbol_table
        return NameIdColumnFilter(self.name_pattern)(df, symbols) if symbols else NameStringColumnFilter(self.name_pattern)(df)


class QueryFilter:
    """Events for which an expression of pandas holds.

    >>> from kino.hta.common.trace_filter import QueryFilter
    >>> bool((QueryFilter("dur > 10")(analysis.t.get_trace(0))["dur"] > 10).all())
    True
    """

    def __init__(self, query_str: str) -> None:
        self.filter_query = query_str

    def __call__(self, df: Any, symbol_table: Optional[TraceSymbolTable] = None) -> Any:
        return df.query(self.filter_query)


#: Events that take time.
ZeroDurationFilter = QueryFilter("dur > 0")


def _is_on_device(df: Any, symbol_table: Optional[TraceSymbolTable]) -> Any:
    """Work on streams; and synchronization of the whole device, which has no stream."""
    has_stream = (df["stream"] >= 0) & (df["correlation"] >= 0)
    if symbol_table is None:
        return has_stream
    return has_stream | df["name"].isin([symbol_table.sym_index.get(name, -1) for name in ("Event Sync", "Context Sync")])


class GPUKernelFilter(Filter):
    """Events of the device.

    >>> from kino.hta.common.trace_filter import GPUKernelFilter
    >>> bool((GPUKernelFilter()(analysis.t.get_trace(0), analysis.t.symbol_table)["stream"] >= 0).all())
    True
    """

    def __call__(self, df: Any, symbol_table: Optional[TraceSymbolTable] = None) -> Any:
        return df.loc[_is_on_device(df, symbol_table)] if _has(df, "stream") else df


class CPUOperatorFilter(Filter):
    """Events of the host.

    >>> from kino.hta.common.trace_filter import CPUOperatorFilter
    >>> bool((CPUOperatorFilter()(analysis.t.get_trace(0), analysis.t.symbol_table)["stream"] == -1).all())
    True
    """

    def __call__(self, df: Any, symbol_table: Optional[TraceSymbolTable] = None) -> Any:
        if not _has(df, "stream"):
            return df
        return df.loc[df["stream"] == -1] if symbol_table is None else df.loc[~_is_on_device(df, symbol_table)]


class CompositeFilter(Filter):
    """Several filters, one after the other.

    >>> from kino.hta.common.trace_filter import CompositeFilter, CPUOperatorFilter, IterationFilter
    >>> frame = CompositeFilter([IterationFilter(2), CPUOperatorFilter()])(analysis.t.get_trace(0))
    >>> frame["stream"].unique().tolist()
    [-1]
    """

    def __init__(self, filters: list[Filter]) -> None:
        for one in filters:
            if not isinstance(one, Filter):
                raise TypeError("All elements in 'filters' must be instances of Filter or its subclasses.")
            if one is self:
                raise ValueError("CompositeFilter cannot contain itself as a filter.")
        self.filters = filters

    def __call__(self, df: Any, symbol_table: Optional[TraceSymbolTable] = None) -> Any:
        for one in self.filters:
            df = one(df, symbol_table)
        return df


class MemCopyEventFilter(Filter):
    """Copies of one kind, by their name.

    >>> from kino.hta.common.trace_filter import MemCopyEventFilter
    >>> len(MemCopyEventFilter("Memcpy nowhere")(analysis.t.get_trace(0), analysis.t.symbol_table))
    0
    """

    def __init__(self, memory_copy_type: str, symbol_table: Optional[TraceSymbolTable] = None) -> None:
        self.memory_copy_type = memory_copy_type
        self.symbol_table = symbol_table

    def __call__(self, df: Any, symbol_table: Optional[TraceSymbolTable] = None) -> Any:
        if df.empty:
            logger.warning("The DataFrame is empty.")
            return df
        numbers = (symbol_table or self.symbol_table or TraceSymbolTable()).sym_index
        if self.memory_copy_type not in numbers:
            return pd.DataFrame()
        return df.loc[df["name"].eq(numbers[self.memory_copy_type]) & df["cat"].eq(numbers["gpu_memcpy"])]
