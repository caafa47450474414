"""Names and categories as numbers: one table for all ranks."""
from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any, Optional

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ..utils.utils import shorten_name
from .types import (CPU_EVENTS_CATEGORY_PATTERN, KERNEL_CATEGORY_PATTERN, KERNEL_LAUNCH_CATEGORY_PATTERN, GroupingPattern,
                    MemoryKernelGroupingPattern, ProfilerStepGroupingPattern)

# Calls that put work on a stream, as HTA knows them.
LAUNCH_NAMES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx", "cudaMemcpyAsync",
                "cudaMemsetAsync", "runFunction - job_prep_and_submit_for_execution", "hipLaunchKernel",
                "hipExtModuleLaunchKernel", "hipMemsetAsync", "hipMemcpyAsync", "hipMemcpyWithStream")


class TraceSymbolTable:
    """Texts and their numbers; ``sym_table`` has the texts, ``sym_index`` the numbers by text.

    >>> from kino.hta.common.trace_symbol_table import TraceSymbolTable
    >>> table = TraceSymbolTable()
    >>> table.add_symbols(["aten::add", "cpu_op"]); table.sym_index
    {'aten::add': 0, 'cpu_op': 1}
    """

    #: No symbol has it.
    NULL: int = -128

    def __init__(self) -> None:
        self.sym_table: list[str] = []
        self.sym_index: dict[str, int] = {}
        self._series: Optional[tuple[int, Any, Any]] = None

    def is_empty(self) -> bool:
        """Has it no symbol?

        >>> from kino.hta.common.trace_symbol_table import TraceSymbolTable
        >>> TraceSymbolTable().is_empty()
        True
        """
        return not self.sym_table

    def add_symbols(self, symbols: Iterable[str]) -> None:
        """Gives numbers to those that have none yet, in their order.

        >>> from kino.hta.common.trace_symbol_table import TraceSymbolTable
        >>> table = TraceSymbolTable()
        >>> table.add_symbols(["a", "b", "a"]); table.sym_table
        ['a', 'b']
        """
        for symbol in symbols:
            if symbol not in self.sym_index:
                self.sym_index[symbol] = len(self.sym_table)
                self.sym_table.append(symbol)

    def add_symbols_mp(self, symbols_list: list[Iterable[str]]) -> None:
        """add_symbols for several lists; HTA has processes for that, here it takes less than they would.

        >>> from kino.hta.common.trace_symbol_table import TraceSymbolTable
        >>> table = TraceSymbolTable()
        >>> table.add_symbols_mp([["a"], ["b"]]); table.sym_table
        ['a', 'b']
        """
        for symbols in symbols_list:
            self.add_symbols(symbols)

    def get_sym_id_map(self) -> dict[str, int]:
        """Numbers by text.

        >>> analysis.t.symbol_table.get_sym_id_map()["cpu_op"] >= 0
        True
        """
        return self.sym_index

    def get_sym_index(self) -> dict[str, int]:
        """Numbers by text.

        >>> "cpu_op" in analysis.t.symbol_table.get_sym_index()
        True
        """
        return self.sym_index

    def get_sym_table(self) -> list[str]:
        """Texts by number.

        >>> "cpu_op" in analysis.t.symbol_table.get_sym_table()
        True
        """
        return self.sym_table

    def find_matches(self, patterns: list[str]) -> list[int]:
        """Numbers of symbols that have one of these texts in them.

        >>> from kino.hta.common.trace_symbol_table import TraceSymbolTable
        >>> table = TraceSymbolTable(); table.add_symbols(["aten::add", "aten::mul", "gemm"])
        >>> table.find_matches(["add", "gemm"])
        [0, 2]
        """
        wanted = re.compile("|".join(map(re.escape, patterns)))
        return [number for number, symbol in enumerate(self.sym_table) if wanted.search(symbol)]

    def find_matched_symbols(self, patterns: list[str]) -> list[str]:
        """The symbols of find_matches.

        >>> from kino.hta.common.trace_symbol_table import TraceSymbolTable
        >>> table = TraceSymbolTable(); table.add_symbols(["aten::add", "gemm"])
        >>> table.find_matched_symbols(["aten"])
        ['aten::add']
        """
        return [self.sym_table[number] for number in self.find_matches(patterns)]

    def _both_series(self) -> tuple[int, Any, Any]:
        if self._series is None or self._series[0] != len(self.sym_table):
            self._series = (len(self.sym_table), pd.Series(self.sym_index, dtype="int64"), pd.Series(self.sym_table, dtype=str))
        return self._series

    def get_sym_index_series(self) -> Any:
        """Numbers by text, as a Series.

        >>> int(analysis.t.symbol_table.get_sym_index_series()["cpu_op"]) >= 0
        True
        """
        return self._both_series()[1]

    def get_sym_table_series(self) -> Any:
        """Texts by number, as a Series.

        >>> "cpu_op" in analysis.t.symbol_table.get_sym_table_series().tolist()
        True
        """
        return self._both_series()[2]

    def get_symbol_ids(self, symbol_pattern: GroupingPattern) -> dict[str, int]:
        """The symbols that a pattern matches, with their numbers.

        >>> from kino.hta.common.types import ProfilerStepGroupingPattern
        >>> sorted(analysis.t.symbol_table.get_symbol_ids(ProfilerStepGroupingPattern))[0]
        'ProfilerStep#2'
        """
        return {symbol: number for symbol, number in self.sym_index.items() if symbol_pattern.match(symbol)}

    def get_symbol_names(self, symbol_ids: list[int]) -> dict[int, str]:
        """Texts of numbers.

        >>> from kino.hta.common.trace_symbol_table import TraceSymbolTable
        >>> table = TraceSymbolTable(); table.add_symbols(["a", "b"])
        >>> table.get_symbol_names([1, 7])
        {1: 'b'}
        """
        return {number: self.sym_table[number] for number in sorted(set(symbol_ids)) if 0 <= number < len(self.sym_table)}

    def _to_csv_file(self, file_path: str) -> None:
        pd.DataFrame({"symbol": self.sym_table}).to_csv(file_path, index=True)

    @staticmethod
    def from_csv_file(file_path: str) -> TraceSymbolTable:
        """Of a file with a column "symbol".

        >>> from kino.hta.common.trace_symbol_table import TraceSymbolTable
        >>> _ = open("symbols.csv", "w").write("symbol\\naten::add\\n")
        >>> TraceSymbolTable.from_csv_file("symbols.csv").sym_table
        ['aten::add']
        """
        if not os.path.exists(file_path):
            raise FileNotFoundError(f"File {file_path} does not exist.")
        frame = pd.read_csv(file_path)
        if "symbol" not in frame.columns:
            raise ValueError(f"{file_path}: expect a column 'symbol' in the csv")
        table = TraceSymbolTable()
        table.add_symbols(frame["symbol"].tolist())
        return table

    @staticmethod
    def combine_symbol_tables(tables: list[TraceSymbolTable]) -> TraceSymbolTable:
        """One with the symbols of all.

        >>> from kino.hta.common.trace_symbol_table import TraceSymbolTable
        >>> TraceSymbolTable.combine_symbol_tables([analysis.t.symbol_table]).is_empty()
        False
        """
        result = TraceSymbolTable()
        for table in tables:
            result.add_symbols(table.sym_table)
        return result

    @staticmethod
    def clone(symbol_table: TraceSymbolTable) -> TraceSymbolTable:
        """A copy.

        >>> from kino.hta.common.trace_symbol_table import TraceSymbolTable
        >>> TraceSymbolTable.clone(TraceSymbolTable()).is_empty()
        True
        """
        return TraceSymbolTable.combine_symbol_tables([symbol_table])

    @staticmethod
    def create_from_df(df: Any) -> TraceSymbolTable:
        """The names and categories of a frame that has them as texts.

        >>> import pandas
        >>> from kino.hta.common.trace_symbol_table import TraceSymbolTable
        >>> TraceSymbolTable.create_from_df(pandas.DataFrame({"cat": ["cpu_op"], "name": ["aten::add"]})).sym_table
        ['cpu_op', 'aten::add']
        """
        if not all(column in df.columns and pd.api.types.is_string_dtype(df[column]) for column in ("name", "cat")):
            raise ValueError("Expect both name and cat columns of string types to be present in the dataframe")
        table = TraceSymbolTable()
        table.add_symbols([*df["cat"].unique(), *df["name"].unique()])
        return table

    @staticmethod
    def create_from_symbol_id_map(symbol_id_map: dict[str, int]) -> TraceSymbolTable:
        """Of numbers by text; numbers in between are "Undefined-N".

        >>> from kino.hta.common.trace_symbol_table import TraceSymbolTable
        >>> TraceSymbolTable.create_from_symbol_id_map({"a": 0, "b": 2}).sym_table
        ['a', 'Undefined-1', 'b']
        """
        texts = {number: text for text, number in symbol_id_map.items()}
        table = TraceSymbolTable()
        table.add_symbols(texts.get(number, f"Undefined-{number}") for number in range(max(texts) + 1))
        return table

    def encode_df(self, df: Any) -> None:
        """Names and categories of a frame become numbers.

        >>> import pandas
        >>> frame = pandas.DataFrame({"cat": ["cpu_op"]})
        >>> analysis.t.symbol_table.encode_df(frame); frame["cat"].dtype.kind
        'i'
        """
        for column in ("name", "cat"):
            if column in df.columns and pd.api.types.is_string_dtype(df[column]):
                df[column] = [self.sym_index[text] for text in df[column]]

    def decode_df(self, df: Any, create_new_columns: bool = True) -> None:
        """Their texts, in columns s_name and s_cat, or instead of the numbers.

        >>> frame = analysis.t.get_trace(0).head(2).copy()
        >>> analysis.t.symbol_table.decode_df(frame); "s_name" in frame.columns
        True
        """
        for column in ("name", "cat"):
            if column in df.columns and df[column].dtype.kind == "i":
                target = f"s_{column}" if create_new_columns else column
                df[target] = [self.sym_table[number] for number in df[column]]

    def update_encoded_df(self, df: Any, old_symbol_table: TraceSymbolTable) -> None:
        """Numbers of another table become those of this one.

        >>> table = analysis.t.symbol_table
        >>> frame = analysis.t.get_trace(0).head(2).copy(); names = frame["name"].tolist()
        >>> table.update_encoded_df(frame, table); frame["name"].tolist() == names
        True
        """
        numbers = [self.sym_index[text] for text in old_symbol_table.sym_table]
        for column in ("cat", "name"):
            df[column] = [numbers[number] for number in df[column]]

    def add_symbols_to_trace_df(self, trace_df: Any, col: str) -> None:
        """The texts of a column instead of its numbers; "" for others.

        >>> frame = analysis.t.get_trace(0).head(2).copy()
        >>> analysis.t.symbol_table.add_symbols_to_trace_df(frame, "cat"); isinstance(frame["cat"].iloc[0], str)
        True
        """
        count = len(self.sym_table)
        trace_df[col] = [self.sym_table[number] if 0 <= number < count else "" for number in trace_df[col]]

    def _numbers(self, texts: Iterable[str]) -> list[int]:
        return [self.sym_index[text] for text in texts if text in self.sym_index]

    def get_operator_or_cuda_runtime_mask(self, df: Any) -> Any:
        """Which rows are operators, or calls of runtime or driver?

        >>> bool(analysis.t.symbol_table.get_operator_or_cuda_runtime_mask(analysis.t.get_trace(0)).any())
        True
        """
        return df["cat"].isin(self._numbers(("cpu_op", "cuda_driver", "cuda_runtime")))

    def get_operator_or_device_runtime_mask(self, df: Any) -> Any:
        """Which rows are operators, or calls of the runtime or driver of any device?

        >>> bool(analysis.t.symbol_table.get_operator_or_device_runtime_mask(analysis.t.get_trace(0)).any())
        True
        """
        return df["cat"].isin(self._numbers(("cpu_op", "cuda_driver", "cuda_runtime", "mtia_runtime")))

    def get_runtime_launch_events_mask(self, df: Any) -> Any:
        """Which rows put work on a stream that is in the trace?

        >>> bool(analysis.t.symbol_table.get_runtime_launch_events_mask(analysis.t.get_trace(0)).any())
        True
        """
        return df["name"].isin(self._numbers(LAUNCH_NAMES)) & (df["index_correlation"] > 0)

    def get_events_mask(self, df: Any, events: Optional[list[str]]) -> Any:
        """Which rows have one of these texts in their names?

        >>> bool(analysis.t.symbol_table.get_events_mask(analysis.t.get_trace(0), None).any())
        False
        """
        return df["name"].isin(self.find_matches(events) if events is not None else [])

    def _group(self, pattern: GroupingPattern) -> list[int]:
        return list(self.get_symbol_ids(pattern).values())

    def get_cpu_event_cat_ids(self) -> list[int]:
        """Numbers of categories of the host.

        >>> len(analysis.t.symbol_table.get_cpu_event_cat_ids()) > 1
        True
        """
        return self._group(CPU_EVENTS_CATEGORY_PATTERN)

    def get_gpu_kernel_cat_ids(self) -> list[int]:
        """Numbers of categories of the device.

        >>> len(analysis.t.symbol_table.get_gpu_kernel_cat_ids()) > 0
        True
        """
        return self._group(KERNEL_CATEGORY_PATTERN)

    def get_profiler_step_ids(self) -> list[int]:
        """Numbers of ProfilerStep#N.

        >>> len(analysis.t.symbol_table.get_profiler_step_ids())
        3
        """
        return self._group(ProfilerStepGroupingPattern)

    def get_memory_name_ids(self) -> list[int]:
        """Numbers of copies and sets.

        >>> isinstance(analysis.t.symbol_table.get_memory_name_ids(), list)
        True
        """
        return self._group(MemoryKernelGroupingPattern)

    def get_kernel_launch_ids(self) -> list[int]:
        """Numbers of calls that launch kernels.

        >>> len(analysis.t.symbol_table.get_kernel_launch_ids()) > 0
        True
        """
        return self._group(KERNEL_LAUNCH_CATEGORY_PATTERN)


def decode_symbol_id_to_symbol_name(df: Any, symbol_table: TraceSymbolTable, use_shorten_name: bool) -> None:
    """Adds s_name, s_cat and, where there are annotations, s_user_annotation; -1 is "".

    >>> from kino.hta.common.trace_symbol_table import decode_symbol_id_to_symbol_name
    >>> frame = analysis.t.get_trace(0).head(2).copy()
    >>> decode_symbol_id_to_symbol_name(frame, analysis.t.symbol_table, True); isinstance(frame["s_cat"].iloc[0], str)
    True
    """
    texts = [shorten_name(text) for text in symbol_table.sym_table] if use_shorten_name else symbol_table.sym_table
    for column in ("name", "cat", "user_annotation"):
        if column in df.columns and df[column].dtype.kind == "i":
            df[f"s_{column}"] = [texts[number] if number >= 0 else "" for number in df[column]]
