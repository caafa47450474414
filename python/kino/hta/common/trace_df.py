"""Looking for rows in frames."""
from __future__ import annotations

from typing import Any

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .trace_symbol_table import TraceSymbolTable


def get_iterations(df: Any) -> list[int]:
    """The steps in a frame, in order.

    >>> from kino.hta.common.trace_df import get_iterations
    >>> import pandas
    >>> get_iterations(pandas.DataFrame({"iteration": [-1, 5, 4, 5]}))
    [4, 5]
    """
    if "iteration" not in df.columns:
        raise TypeError("The input DataFrame doesn't contain the `iteration` column.")
    if df.dtypes["iteration"].kind != "i":
        raise TypeError("The data type of `iteration` column in the input DataFrame is not integer.")
    return [int(number) for number in sorted(df["iteration"].unique()) if number != -1]


def find_op_occurrence(df: Any, op_name: str, position: int, name_column: str = "s_name") -> tuple[bool, Any]:
    """The n-th event of a name in time; negative positions count from the end.

    >>> from kino.hta.common.trace_df import find_op_occurrence
    >>> import pandas
    >>> found, row = find_op_occurrence(pandas.DataFrame({"ts": [5, 2], "s_name": ["a", "a"]}), "a", -1)
    >>> found, int(row["ts"])
    (True, 5)
    """
    if df.empty or not {"ts", name_column} <= set(df.columns):
        return False, pd.Series(dtype=object)
    events = df.loc[df[name_column].eq(op_name)].sort_values("ts", kind="stable")
    place = position if position >= 0 else len(events) + position
    if not 0 <= place < len(events):
        return False, pd.Series(dtype=object)
    return True, events.iloc[place]


def find_events_by_name_patterns_using_symbol_table(df: Any, list_name_patterns: list[str], symbol_table: TraceSymbolTable) -> Any:
    """The index of events whose names one of the patterns matches from the start.

    >>> from kino.hta.common.trace_df import find_events_by_name_patterns_using_symbol_table
    >>> len(find_events_by_name_patterns_using_symbol_table(analysis.t.get_trace(0), ["ProfilerStep"], analysis.t.symbol_table)) > 0
    True
    """
    names = symbol_table.get_sym_index_series()
    wanted: set[int] = set()
    for pattern in list_name_patterns:
        wanted.update(names[names.index.str.match(pattern)])
    return df.loc[df["name"].isin(wanted)]["index"]


def find_events_by_name_patterns_using_decoded_names(df: Any, list_name_patterns: list[str], name_column: str = "s_name") -> Any:
    """The same, for a frame that has names as texts.

    >>> import pandas
    >>> from kino.hta.common.trace_df import find_events_by_name_patterns_using_decoded_names
    >>> frame = pandas.DataFrame({"index": [0, 1], "s_name": ["aten::add", "gemm"]})
    >>> find_events_by_name_patterns_using_decoded_names(frame, ["aten"]).tolist()
    [0]
    """
    is_wanted = pd.Series(False, index=df.index)
    for pattern in list_name_patterns:
        is_wanted |= df[name_column].str.match(pattern)
    return df.loc[is_wanted]["index"]
