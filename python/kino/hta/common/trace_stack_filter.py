"""Filters by operators: what happens under, after or before one, with the kernels it launched."""
from __future__ import annotations

from enum import Enum
from typing import Any, Optional

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .._needs import not_in_kino
from ..configs.config import logger
from ..utils.utils import get_symbol_column_names
from .trace_df import find_op_occurrence
from .trace_filter import Filter, FirstIterationFilter
from .trace_symbol_table import TraceSymbolTable
from .types import DEVICE_RUNTIME_CATEGORY_PATTERN


def get_matching_kernels(df_ops: Any, df_both: Any, cat_column: str = "s_cat") -> Any:
    """The device work that calls of the runtime among df_ops launched.

    >>> from kino.hta.common.trace_stack_filter import get_matching_kernels
    >>> frame = analysis.t.get_trace(0).copy(); analysis.t.symbol_table.decode_df(frame)
    >>> bool((get_matching_kernels(frame, frame)["stream"] >= 0).any())
    True
    """
    is_call = df_ops[cat_column].str.match(DEVICE_RUNTIME_CATEGORY_PATTERN.pattern)
    return df_both.loc[df_both["index_correlation"].isin(df_ops.loc[is_call, "index"])]


class OperatorFilterMethod(Enum):
    """What of an operator is meant.

    >>> from kino.hta.common.trace_stack_filter import OperatorFilterMethod
    >>> OperatorFilterMethod.Under.value
    0
    """

    Under = 0
    After = 1
    Before = 2
    Ancestors = 3
    Stack = 4


class OperatorFilter(Filter):
    """Events under, after or before the n-th occurrence of an operator, on its stream; negative positions count from the end.

    >>> from kino.hta.common.trace_stack_filter import OperatorFilter, OperatorFilterMethod
    >>> OperatorFilter("forward", 0, OperatorFilterMethod.Under).position
    0
    """

    def __init__(self, op_name: str, position: int, method: OperatorFilterMethod, include_gpu_kernels: bool = False,
                 name_column: Optional[str] = None) -> None:
        self.op_name, self.position, self.method = op_name, position, method
        self.include_gpu_kernels = include_gpu_kernels
        self.name_column: str = name_column or ""

    def _columns(self, df: Any) -> tuple[str, str]:
        if self.name_column:
            return self.name_column, self.name_column.replace("name", "cat")
        return get_symbol_column_names(df)

    def _is_chosen(self, df: Any, operator: Any) -> Any:
        if self.method is OperatorFilterMethod.Under:
            return df["ts"].ge(operator["ts"]) & df["end"].le(operator["end"])
        if self.method is OperatorFilterMethod.After:
            return df["ts"].ge(operator["end"])
        if self.method is OperatorFilterMethod.Before:
            return df["end"].le(operator["ts"])
        raise not_in_kino(f"OperatorFilterMethod.{self.method.name}", "neither has HTA it", "CallGraph.get_stack_of_node")

    def __call__(self, df: Any, symbol_table: Optional[TraceSymbolTable] = None) -> Any:
        columns = self._columns(df)
        if not all(column in df.columns and pd.api.types.is_string_dtype(df[column]) for column in columns):
            logger.error("df has no names and categories as texts (Trace.decode_symbol_ids)")
            return df
        found, operator = find_op_occurrence(df, self.op_name, self.position, columns[0])
        if not found:
            logger.warning("op %s/%s doesn't exist.", self.op_name, self.position)
            return pd.DataFrame()
        chosen = df.loc[self._is_chosen(df, operator) & df["stream"].eq(operator["stream"])]
        return pd.concat([chosen, get_matching_kernels(chosen, df, columns[1])]) if self.include_gpu_kernels else chosen


class AfterOperatorFilter(OperatorFilter):
    """Events after an operator.

    >>> from kino.hta.common.trace_stack_filter import AfterOperatorFilter
    >>> AfterOperatorFilter("forward", 0).method.name
    'After'
    """

    def __init__(self, op_name: str, position: int, include_gpu_kernels: bool = False, name_column: Optional[str] = None) -> None:
        super().__init__(op_name, position, OperatorFilterMethod.After, include_gpu_kernels, name_column)


class BeforeOperatorFilter(OperatorFilter):
    """Events before an operator.

    >>> from kino.hta.common.trace_stack_filter import BeforeOperatorFilter
    >>> BeforeOperatorFilter("forward", 0).method.name
    'Before'
    """

    def __init__(self, op_name: str, position: int, include_gpu_kernels: bool = False, name_column: Optional[str] = None) -> None:
        super().__init__(op_name, position, OperatorFilterMethod.Before, include_gpu_kernels, name_column)


class UnderOperatorFilter(OperatorFilter):
    """Events within an operator, and itself.

    >>> from kino.hta.common.trace_stack_filter import UnderOperatorFilter
    >>> UnderOperatorFilter("forward", 0).method.name
    'Under'
    """

    def __init__(self, op_name: str, position: int, include_gpu_kernels: bool = False, name_column: Optional[str] = None) -> None:
        super().__init__(op_name, position, OperatorFilterMethod.Under, include_gpu_kernels, name_column)


class CombinedOperatorFilter(Filter):
    """Of the first step: events under an operator, after the last one that comes before, before the first one that follows.

    >>> from kino.hta.common.trace_stack_filter import CombinedOperatorFilter
    >>> CombinedOperatorFilter("forward", "a", "b").stack_depths
    []
    """

    def __init__(self, root_op_name: str, preceding_op_name: str, following_op_name: str, include_gpu_kernels: bool = False,
                 stack_depths: Optional[list[int]] = None) -> None:
        self.root_op_name, self.preceding_op_name, self.following_op_name = root_op_name, preceding_op_name, following_op_name
        self.include_gpu_kernels = include_gpu_kernels
        self.stack_depths: list[int] = stack_depths or []

    def __call__(self, df: Any, symbol_table: Optional[TraceSymbolTable] = None) -> Any:
        name_column, cat_column = get_symbol_column_names(df)
        if not name_column or not cat_column:
            logger.error("df has no names and categories as texts (Trace.decode_symbol_ids)")
            return df
        result = FirstIterationFilter()(df)
        for one in (UnderOperatorFilter(self.root_op_name, 0, False, name_column),
                    AfterOperatorFilter(self.preceding_op_name, -1, False, name_column),
                    BeforeOperatorFilter(self.following_op_name, 0, False, name_column)):
            if find_op_occurrence(result, one.op_name, one.position, name_column)[0]:
                result = one(result)
        if self.include_gpu_kernels and not result.empty:
            result = pd.concat([get_matching_kernels(result, df, cat_column), result])
        if self.stack_depths and "depth" in result.columns:
            result = result.loc[result["stream"].gt(0) | result["depth"].isin(self.stack_depths)]
        return result
